"""Run or check a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from reidsim.engine.batch.design import (
    COMPLETE,
    ScenarioWork,
    at_point,
    check_points,
    design_of,
    has_numbered_replications,
    has_several_runs,
    is_batch,
)
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.runner import Ended, run_job
from reidsim.engine.batch.statistics import BatchResult, batch_analysis
from reidsim.engine.results import RunResult
from reidsim.engine.single_run import check_once, run_once
from reidsim.engine.stress.run import check_stress
from reidsim.scenarios.agents import without_adversary_uncertainty
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress
from reidsim.wording import counted


def run_loaded(
    loaded: Scenario[ScenarioHead], *, executor: Executor | None = None, progress: Progress | None = None
) -> RunResult:
    """Run a scenario, in memory; `executor` does the runs of a batch."""
    if is_batch(loaded.scenario):
        return run_batch_loaded(loaded, executor, progress=progress)
    return run_once(loaded, progress=progress, explain=True)


def run_batch_loaded(loaded: Scenario[ScenarioHead], executor: Executor | None = None, **keeping: Any) -> RunResult:
    """Return the result of all points and replications of a loaded scenario.

    See `reidsim.run_batch`.
    """
    return run_job(ScenarioWork(loaded), batch_result, executor, **keeping)


def batch_result(ended: Ended) -> RunResult:
    """Return the result of a batch, with measures and statistics."""
    scenario, tables = ended.loaded.scenario, ended.tables
    if has_numbered_replications(scenario) and not is_batch(scenario):
        return _with_first_draw(ended)
    analysis = batch_analysis(tables, None if ended.stored else ended.design)
    common = (ended.loaded.name, tables["runs"], pd.DataFrame(), analysis, ended.manifest, ended.warnings)
    return BatchResult(*common, design=ended.design)


def _with_first_draw(ended: Ended) -> RunResult:
    """Return the result of replications that a single run could draw itself.

    It equals the result of that run: records and figure tables are from the first replication, which is played again.
    If runs failed, the table of runs keeps the columns that describe the failures.
    """
    tables = ended.tables
    single = run_once(ended.loaded.with_sections(replications=1), progress=ended.report)
    runs = tables["runs"].drop(columns="run", errors="ignore")
    if (runs["state"] == COMPLETE).all():
        runs = runs[list(single.runs.columns)]
    analysis = single.analysis
    if "runtimes" in tables:
        analysis = replace(analysis, runtimes=tables["runtimes"].drop(columns="point", errors="ignore"))
    warnings = tuple(dict.fromkeys((*single.warnings, *ended.warnings)))
    return replace(
        single, runs=runs, analysis=analysis, manifest={**single.manifest, **ended.manifest}, warnings=warnings
    )


def describe(loaded: Scenario[ScenarioHead]) -> str:
    """Check the inputs of a scenario; return one line on its size.

    For a batch, the values of every point are checked, but data files are read for the first point only. No game is
    solved.

    Raises
    ------
    InputError
        If a file, value, hierarchy, adversary or policy cannot be used, or section ``stress`` requests an output or
        analysis that the game does not have.
    """
    if loaded.scenario.stress is not None:
        check_stress(loaded)
    loaded = without_adversary_uncertainty(loaded)
    if not is_batch(loaded.scenario):
        if has_several_runs(loaded.scenario):
            design_of(loaded)
        return check_once(loaded)
    design = design_of(loaded)
    check_points(loaded, design)
    first = check_once(at_point(loaded, design.values(0)))
    points = f"{counted(len(design.points), 'point')}, {counted(design.replications, 'replication')} of each"
    return f"{points}; the first: {first}"
