"""Repeat a single run of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.core.measures import Measure
from reidsim.engine.batch.data_files import DataFiles, changed_files
from reidsim.engine.batch.design import at_point, content_of_run, design_of, has_numbered_replications
from reidsim.engine.batch.folder import read_manifest, read_runs, scenario_of
from reidsim.engine.batch.result import batch_tables
from reidsim.engine.batch.statistics import ERROR
from reidsim.engine.batch.tasks import (
    COMPLETE,
    GROUP_COLUMNS,
    RunOutcome,
    RunTask,
    ScenarioWork,
    code_version,
    tasks_of,
)
from reidsim.engine.results import RunResult
from reidsim.engine.single_run import run_once
from reidsim.errors import InputError, listed
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.study import Progress


@dataclass(frozen=True, eq=False)
class Repeated:
    """A repeated run of a batch.

    Parameters
    ----------
    name : str
        Name of the scenario.
    task : RunTask
    runs : DataFrame
        Rows of the repeated run, one per policy; same columns as ``runs.parquet``.
    verdict : str
        Result of the comparison with the stored run, as a sentence.
    warnings : tuple of str
    measures : tuple of Measure
        Measures of the scenario's kind.
    result : RunResult, optional
        Result of the single run with its records, if requested.
    """

    name: str
    task: RunTask
    runs: pd.DataFrame
    verdict: str
    warnings: tuple[str, ...]
    measures: tuple[Measure, ...]
    result: RunResult | None

    @property
    def summary(self) -> pd.DataFrame:
        """Measures by policy; for assessments, by size of the release and adversary.

        They are averages over the releases that an assessment draws in the run.
        """
        groups = [column for column in GROUP_COLUMNS if column in self.runs and column != "sample"]
        others = {"point", "replication", "seed", "sample", *groups}
        numeric = [column for column in self.runs.select_dtypes("number").columns if column not in others]
        measures = [column for column in numeric if not column.endswith(ERROR)]
        return self.runs.groupby(groups, sort=False, observed=True)[measures].mean()


def rerun_one(
    folder: Path,
    key: str,
    *,
    progress: Progress | None = None,
    with_records: bool = False,
    allow_code: bool = False,
) -> Repeated:
    """Repeat one run of a batch, in this process.

    Parameters
    ----------
    folder : Path
        Results folder of the batch, which may be incomplete.
    key : str
        Value of column ``run``, or its first digits; or ``POINT/REPLICATION``.
    progress : callable, optional
        Called with the task, the completed steps and all steps.
    with_records : bool
        Whether to return the result of the single run with its records; for masking scenarios, only possible for the
        first replication.
    allow_code : bool
        Whether to import Python modules that the scenario names.

    Raises
    ------
    InputError
        If the folder does not hold a batch, or the batch does not have this run. An error of the run itself is raised
        unchanged.
    """
    report = progress or (lambda task, done, total: None)
    manifest = read_manifest(folder)
    if "cross_play" in manifest:
        problem, expected = (
            "a run of cross-play cannot be repeated alone",
            "a results folder of a batch from reidsim run",
        )
        raise InputError(problem, source=folder, expected=expected)
    loaded = scenario_of(manifest, allow_code=allow_code)
    design = design_of(loaded)
    stored, where = read_runs(folder), "--run"
    place = key if "/" in key else _place(stored, key, folder)
    tasks = {f"{each.point}/{each.replication}": each for each in tasks_of(loaded, design, content_of_run(loaded))}
    if place not in tasks:
        expected = f"points 0 to {len(design.points) - 1}, replications 0 to {design.replications - 1}"
        raise InputError("no such run", source=folder, where=where, found=place, expected=expected)
    task = tasks[place]
    single = at_point(loaded, task.values, task.seed)
    single.refuse_code()
    if with_records and has_numbered_replications(loaded.scenario) and task.replication:
        problem, expected = "records are kept only for the first replication", "a run of replication 0, or no option -o"
        raise InputError(problem, where=where, found=key, expected=expected)
    report("running", 0, 1)
    tables, warnings = ScenarioWork(replace(loaded, path=loaded.path.absolute()))(task)
    runs = batch_tables(loaded.name, design, [RunOutcome(task, COMPLETE, tables)])["runs"]
    result = run_once(single, progress=progress) if with_records else None
    changed = changed_files(manifest["design"].get("files", {}), DataFiles(loaded, design).hashes)
    measures = kind_of(loaded.scenario).measures_of(loaded.content)
    return Repeated(
        loaded.name, task, runs, _verdict(stored, runs, task, manifest, changed), warnings, measures, result
    )


def _place(stored: pd.DataFrame, key: str, folder: Path) -> str:
    """Return ``POINT/REPLICATION`` of the run whose key begins with `key`."""
    found = stored.loc[stored["run"].str.startswith(key), ["run", "point", "replication"]].drop_duplicates()
    if len(found.drop_duplicates("run")) != 1:
        problem = "no such run" if found.empty else "several runs have keys that begin with this text"
        expected = "a key from column run, or POINT/REPLICATION"
        raise InputError(problem, source=folder, where="--run", found=key, expected=expected)
    return f"{found['point'].iloc[0]}/{found['replication'].iloc[0]}"


def _verdict(
    stored: pd.DataFrame, runs: pd.DataFrame, task: RunTask, manifest: Mapping[str, Any], changed: Sequence[str]
) -> str:
    before = stored[(stored["point"] == task.point) & (stored["replication"] == task.replication)]
    if before.empty:
        return "The folder does not contain this run yet."
    if (before["state"] != COMPLETE).any():
        return f"The run in the folder ended as {before['state'].iloc[0]!r}: {before['error'].iloc[0]}"
    compared = [column for column in runs.columns if column not in ("run", "error") and column in before]
    if before[compared].reset_index(drop=True).astype(object).equals(runs[compared].astype(object)):
        return "All values equal the values in the folder."
    version = str(manifest.get("code_version"))
    by = "" if version == code_version() else f", which was written by another version of the program ({version})"
    since = f"; data files changed since then: {listed(changed)}" if changed else ""
    return f"Some values differ from the folder{by}{since}."
