"""Running a scenario at given points."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.engine.batch.data_files import data_files
from reidsim.engine.batch.design import Design, check_points
from reidsim.engine.batch.executors import Executor
from reidsim.engine.batch.executors.automatic import AutomaticExecutor
from reidsim.engine.batch.job import content_of_job
from reidsim.engine.batch.lock import only_writer
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.engine.batch.runner import run_tasks, tasks_of
from reidsim.engine.batch.tables import batch_tables
from reidsim.engine.batch.tasks import Work
from reidsim.engine.results import make_folder
from reidsim.errors import InputError
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Progress


def run_points(
    loaded: LoadedScenario[ScenarioHead],
    points: pd.DataFrame,
    *,
    replications: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> pd.DataFrame:
    """Run a scenario at given points, with the same random draws at each of them.

    Parameters
    ----------
    loaded : LoadedScenario
        What it says about replications, sweeps, uncertainty and analysis is left out.
    points : DataFrame
        One row per point, one column per key path, such as ``economics.loss``.
    replications : int
        Runs at each point.
    executor : Executor, optional
        Where runs are done; if not given, here, or on all cores if that takes long.
    progress : callable, optional
        Called with what is being done, how many runs ended, and how many there are.
    folder : Path, optional
        Made if it is not there. Runs that ended are kept in it, and not done again when the call is repeated with the
        same scenario and data.

    Returns
    -------
    DataFrame
        One row per run and policy, sorted by point and replication: ``scenario``, ``point`` (row number), and so on as
        in ``runs.parquet``, then one column per key path. A run that did not end well is one row whose ``state`` is
        not ``complete``, without measures.

    Raises
    ------
    InputError
        If the scenario cannot have the values of a point (before the first run), or the folder cannot be written.
    """
    return point_tables(loaded, points, replications=replications, executor=executor, progress=progress, folder=folder)[
        "runs"
    ]


def point_tables(
    loaded: LoadedScenario[ScenarioHead],
    points: pd.DataFrame,
    *,
    replications: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
    work: Work | None = None,
    options: Mapping[str, Any] | None = None,
    known: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """Run a scenario at given points as `run_points` does, and return every table that its runs leave, by name.

    Parameters
    ----------
    loaded, points, replications, executor, progress, folder
        As of `run_points`.
    work : callable, optional
        Does the runs; by default they play the scenario's policies.
    options : mapping, optional
        What tells these runs from those of other work.
    known : sequence of str
        Columns that are no keys of the scenario, but known to the work.
    """
    if replications < 1:
        raise InputError("not a number of runs", where="replications", found=replications, expected="1 or more")
    if points.empty and len(points.columns):
        raise InputError("no points", expected="at least one row")
    design = Design(points.reset_index(drop=True), replications)
    of_scenario = Design(design.points.drop(columns=list(known)), replications)
    check_points(loaded, of_scenario)
    # The folder has no manifest, so what runs were made of is part of what tells them apart.
    content = {**content_of_job(loaded, options or {}), "files": data_files(loaded, of_scenario)}
    tasks = tasks_of(loaded, design, content)
    with contextlib.ExitStack() as stack:
        if folder is not None:
            make_folder(folder)
            stack.enter_context(only_writer(folder))
        executor = executor or AutomaticExecutor()
        outcomes = run_tasks(work or ScenarioWork(loaded, design), tasks, executor, progress=progress, folder=folder)
    return batch_tables(loaded.name, design, outcomes)
