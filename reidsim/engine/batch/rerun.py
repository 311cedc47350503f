"""Repeating one run of a batch alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from reidsim.core.measures import Measure
from reidsim.engine.batch.data_files import changed_files, data_files
from reidsim.engine.batch.design import Design, at_point, content_of_run, design_of, has_numbered_replications
from reidsim.engine.batch.folder import files_of, read_manifest, read_runs, scenario_of
from reidsim.engine.batch.gathered import batch_tables
from reidsim.engine.batch.one_run import GROUP_COLUMNS, ScenarioWork
from reidsim.engine.batch.runner import tasks_of
from reidsim.engine.batch.statistics import ERROR
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome, RunTask, code_version
from reidsim.engine.run_result import RunResult
from reidsim.errors import InputError, listed
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.study import Progress


@dataclass(frozen=True, eq=False)
class Repeated:
    """A run of a batch, repeated.

    Parameters
    ----------
    name : str
        Scenario.
    task : RunTask
    runs : DataFrame
        Its rows, as in ``runs.parquet``.
    verdict : str
        How it compares with what the folder holds.
    warnings : tuple of str
    measures : tuple of Measure
        Of the scenario's kind.
    result : RunResult, optional
        All that a single run leaves, if it was asked for.
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
        """Measures by policy, or by size of the release and adversary."""
        groups = [column for column in GROUP_COLUMNS if column in self.runs and column != "sample"]
        numeric = self.runs.select_dtypes("number").columns.difference(["point", "replication", "seed", "sample"])
        measures = [column for column in self.runs.columns if column in numeric and column not in groups]
        measures = [measure for measure in measures if not measure.endswith(ERROR)]
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
        Results of the batch, complete or not.
    key : str
        What the column ``run`` says, or its first digits; or ``POINT/REPLICATION``.
    progress : callable, optional
    with_records : bool
        Whether to keep all that a single run leaves; not for replications of the masking game but the first.
    allow_code : bool
        Whether modules that the scenario names may run.

    Raises
    ------
    InputError
        If the folder holds no batch, or the batch no such run. An error of the run itself is raised as it is.
    """
    report = progress or (lambda task, done, total: None)
    manifest = read_manifest(folder)
    if "cross_play" in manifest:
        problem, expected = "runs of cross-play are not repeated alone", "the folder of a batch of reidsim run"
        raise InputError(problem, source=folder, expected=expected)
    loaded = scenario_of(manifest, allow_code=allow_code)
    design = design_of(loaded)
    task = _task(tasks_of(loaded, design, content_of_run(loaded)), _stored_key(folder, key), design, folder)
    at_point(loaded, task.values, task.seed).refuse_code()
    report("running", 0, 1)
    work = ScenarioWork(replace(loaded, path=loaded.path.absolute()), design)
    tables, warnings = work(task)
    runs = batch_tables(loaded.name, design, [RunOutcome(task, COMPLETE, tables)])["runs"]
    result = None
    if with_records:
        if has_numbered_replications(loaded.scenario) and task.replication:
            raise InputError(
                "records are kept of the first replication only", where="--run", found=key,
                expected="a run of replication 0, or no option -o",
            )  # fmt: skip
        from reidsim.engine.single_run import run_once

        result = run_once(at_point(loaded, task.values, task.seed), progress=progress)
    measures = kind_of(loaded.scenario).measures_of(loaded.content)
    changed = changed_files(files_of(manifest), data_files(loaded, design))
    verdict = _verdict(read_runs(folder), runs, task, str(manifest.get("code_version")), changed)
    return Repeated(loaded.name, task, runs, verdict, warnings, measures, result)


def _stored_key(folder: Path, key: str) -> str:
    """Return point and replication of a run that is named by its key, as the folder's tables hold it."""
    if "/" in key:
        return key
    runs = read_runs(folder)
    found = runs.loc[runs["run"].str.startswith(key), ["run", "point", "replication"]].drop_duplicates()
    if len(found.drop_duplicates("run")) != 1:
        problem = "no such run" if found.empty else "more than one run begins so"
        raise InputError(
            problem, source=folder, where="--run", found=key, expected="a key of column run, or POINT/REPLICATION"
        )
    return f"{found['point'].iloc[0]}/{found['replication'].iloc[0]}"


def _task(tasks: Sequence[RunTask], place: str, design: Design, folder: Path) -> RunTask:
    point, _, replication = place.partition("/")
    for task in tasks:
        if (str(task.point), str(task.replication)) == (point, replication):
            return task
    expected = f"points 0 to {len(design.points) - 1}, replications 0 to {design.replications - 1}"
    raise InputError("no such run", source=folder, where="--run", found=place, expected=expected)


def _verdict(stored: pd.DataFrame, runs: pd.DataFrame, task: RunTask, version: str, changed: Sequence[str]) -> str:
    before = stored[(stored["point"] == task.point) & (stored["replication"] == task.replication)]
    if before.empty:
        return "The folder does not hold this run yet."
    if (before["state"] != COMPLETE).any():
        return f"In the folder it ended as {before['state'].iloc[0]!r}: {before['error'].iloc[0]}"
    compared = [column for column in runs.columns if column not in ("run", "error") and column in before]
    same = before[compared].reset_index(drop=True).astype(object).equals(runs[compared].astype(object))
    if same:
        return "The same numbers as in the folder."
    by = "" if version == code_version() else f", which another version of the program made ({version})"
    since = f"; since then, data files changed: {listed(changed)}" if changed else ""
    return f"Other numbers than in the folder{by}{since}."
