"""Running a scenario: from its name or file to a result in memory or in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.experiments.analysis import Analysis, analyse
from reidsim.experiments.record_level import record_table, solve_policies, summarise
from reidsim.experiments.results import make_manifest, write_json, write_parquet, write_results
from reidsim.scenarios.build import RecordStudy, build_study
from reidsim.scenarios.load import LoadedScenario, load_scenario

# Called with what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
# Draws the figures of a result into a folder; returns the files' names.
Illustrator = Callable[["RunResult", Path], list[str]]


@dataclass(frozen=True, eq=False)
class RunResult:
    """What a run of a scenario found.

    Parameters
    ----------
    name : str
        Scenario.
    summary : DataFrame
        Averages over records, indexed by policy; see `reidsim.experiments.record_level.MEASURES`.
    records : DataFrame
        One row per record and policy.
    analysis : Analysis
        Tables behind the figures.
    manifest : dict
        What made the result.
    warnings : tuple of str
        What a reader of the result should know.
    """

    name: str
    summary: pd.DataFrame
    records: pd.DataFrame
    analysis: Analysis
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def runs(self) -> pd.DataFrame:
        """The summary in the form that results folders keep: one row per replication and policy."""
        table = self.summary.reset_index()
        table.insert(0, "scenario", self.name)
        table.insert(1, "point", 0)
        table.insert(2, "replication", 0)
        return table.assign(state="complete", seed=self.manifest["seed"])

    def save(self, folder: str | Path, *, illustrate: Illustrator | None = None) -> Path:
        """Write the results folder: manifest, tables, and figures if `illustrate` is given.

        Raises
        ------
        InputError
            If the folder holds something or cannot be written; then nothing is left behind.
        """
        folder = Path(folder)

        def write(into: Path) -> None:
            write_parquet(into / "runs.parquet", self.runs)
            write_parquet(into / "records.parquet", self.records)
            for name, table in self.analysis.tables().items():
                write_parquet(into / f"{name}.parquet", table)
            figures = [] if illustrate is None else illustrate(self, into / "figures")
            write_json(into / "manifest.json", {**self.manifest, "figures": figures, "warnings": list(self.warnings)})

        write_results(folder, write)
        return folder


def run(
    scenario: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run a scenario.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario, such as ``"wan2015"``, or a TOML file.
    set : mapping of str to object, optional
        Values by key path that replace the scenario's, such as ``{"economics.loss": 600}``.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    progress : callable, optional
        Called with what is being done, how much is done and how much there is.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used.

    Examples
    --------
    >>> import reidsim
    >>> result = reidsim.run("wan2015", set={"economics.loss": 600})  # doctest: +SKIP
    >>> result.summary["publisher_payoff"]  # doctest: +SKIP
    """
    return run_loaded(load_scenario(scenario, set, seed=seed), progress=progress)


def run_loaded(loaded: LoadedScenario, *, progress: Progress | None = None) -> RunResult:
    """Run a scenario that has been read; see `run`."""
    report = progress or (lambda task, done, total: None)
    clock = _Clock()
    report("reading", 0, 1)
    study = build_study(loaded)
    clock.lap("build")
    equilibria = solve_policies(study, progress=lambda done, total: report("solving", done, total))
    clock.lap("solve")
    summary, records = summarise(study, equilibria), record_table(study, equilibria)
    clock.lap("tables")
    analysis = analyse(study, progress=lambda done, total: report("analysing", done, total))
    clock.lap("analysis")
    solvers = {
        policy: {
            "solver": equilibrium.solver,
            "proved_optimal": equilibrium.exact,
            "strategies_evaluated_per_record": round(float(equilibrium.evaluated[study.cell_of_record].mean()), 3),
            "withheld": int(equilibrium.withheld[study.cell_of_record].sum()),
        }
        for policy, equilibrium in equilibria.items()
    }
    facts = {
        "records": study.n_records,
        "distinct_cells": study.lattice.n_records,
        "strategies": study.lattice.size,
        "population": study.linked_population.name,
        "people": study.linked_population.total,
        "data_hash": study.fingerprint,
        "policies": solvers,
    }
    manifest = make_manifest(loaded.name, loaded.content, loaded.scenario.seed, clock.laps, facts)
    return RunResult(loaded.name, summary, records, analysis, manifest, _warnings(study, solvers, analysis))


class _Clock:
    """Seconds spent between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now


def _warnings(study: RecordStudy, solvers: Mapping[str, Mapping[str, Any]], analysis: Analysis) -> tuple[str, ...]:
    warnings = list(analysis.left_out)
    outside = int(study.multiplicity[study.group_sizes.outside].sum())
    # A registry need not hold everybody.
    if outside and study.registry is None:
        warnings.append(
            f"{outside} of {study.n_records} records have values that nobody in population "
            f"{study.linked_population.name!r} has; each counts as the only such person"
        )
    for policy, solver in solvers.items():
        if solver["withheld"]:
            warnings.append(
                f"{policy}: {solver['withheld']} records have no strategy that satisfies the constraint and are "
                "withheld (payoff 0)"
            )
    return tuple(warnings)
