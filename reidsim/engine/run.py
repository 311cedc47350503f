"""Run or check a scenario."""

from __future__ import annotations

from reidsim.engine.batch import Executor
from reidsim.engine.batch.batch_run import run_batch_loaded
from reidsim.engine.batch.design import at_point, check_points, design_of, has_several_runs, is_batch
from reidsim.engine.run_result import RunResult
from reidsim.engine.single_run import check_once, run_once
from reidsim.engine.stress.run import check_stress
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import without_adversary_uncertainty
from reidsim.scenarios.study import Progress
from reidsim.wording import counted


def run_loaded(
    loaded: Scenario[ScenarioHead], *, executor: Executor | None = None, progress: Progress | None = None
) -> RunResult:
    """Run a scenario, in memory; `executor` does the runs of a batch."""
    if is_batch(loaded.scenario):
        return run_batch_loaded(loaded, executor, progress=progress)
    return run_once(loaded, progress=progress, explain=True)


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
