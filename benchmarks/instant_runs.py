"""Runs that take no time but leave the tables of a run, to measure the overhead of a batch in `batches.py`."""

from __future__ import annotations

import contextlib
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from memory import peak_mib

from reidsim.engine.batch.design import Design, RunTask, ScenarioWork, Tables, at_point, design_of, tasks_of
from reidsim.engine.batch.executors import executor_named
from reidsim.engine.batch.runner import batch_result, run_job
from reidsim.scenarios.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Instant(ScenarioWork):
    """Leaves the tables of a run without solving anything."""

    tables: Tables

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Return the tables with other numbers."""
        by = task.point * 1e-9
        return {
            name: {
                column: [value + by if isinstance(value, float) else value for value in values]
                for column, values in table.items()
            }
            for name, table in self.tables.items()
        }, ()

    def fingerprint(self, task: RunTask) -> None:
        """Read nothing."""


def instant(loaded: Scenario[Any]) -> Any:
    """Return the callable that does such runs, after one real run."""
    task = tasks_of(loaded, Design(design_of(loaded).points[:1]), at_point(loaded, {}).content)[0]
    return Instant(loaded, tables=ScenarioWork(loaded)(task)[0])


def swept(scenario: Path, n: int) -> Scenario[Any]:
    """Return a scenario with n points that differ in the loss."""
    return Scenario.load(scenario, {"sweep.values": {"economics.loss": {"from": 1, "to": 200, "points": n}}})


def batch_of(scenario: Path, n: int, executor: str) -> dict[str, float]:
    """Run n such runs into a folder and ask for them again, in this process, which does nothing else.

    Returns
    -------
    dict of str to float
        `seconds`, `resumed` (seconds to see that nothing is left to do), and peak memory in MiB: `before` the runs,
        once they `ended`, and with all tables `written`.
    """
    loaded, found = swept(scenario, n), {"before": peak_mib()}

    def note(doing: str, done: int, total: int) -> None:
        if doing == "running":
            found["before" if done == 0 else "ended"] = peak_mib()

    workers = None if executor == "serial" else 2
    with contextlib.ExitStack() as stack:
        folder, address = stack.enter_context(tempfile.TemporaryDirectory()), None
        begun = time.perf_counter()
        if executor == "dask":
            cluster = import_module("distributed").LocalCluster(n_workers=2, threads_per_worker=1)
            address, workers = stack.enter_context(cluster).scheduler_address, None
        named = executor_named(executor, workers=workers, scheduler=address)
        run_job(instant(loaded), batch_result, named, folder=Path(folder, "out"), progress=note)
        found |= {"seconds": time.perf_counter() - begun, "written": peak_mib()}
        begun = time.perf_counter()
        run_job(instant(loaded), batch_result, folder=Path(folder, "out"), resume=True)
        found["resumed"] = time.perf_counter() - begun
    return found
