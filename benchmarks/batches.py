"""Cost of a batch: against a bare loop, on two processes, on dask, resumed, with a million rows, and many tiny runs.

Run by hand on a computer with two free cores: ``python benchmarks/batches.py``. Ratios are of times measured in the
same run. Needs `distributed`, but for ``--skip-dask``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from figures import figure, grown
from instant_runs import batch_of
from needs import require_file, require_package

from reidsim.engine.batch.design import Design, RunOutcome, RunTask, ScenarioWork, at_point, tasks_of
from reidsim.engine.batch.executors import DaskExecutor, ProcessExecutor, SerialExecutor
from reidsim.engine.batch.folder import JOURNAL
from reidsim.engine.batch.runner import run_tasks
from reidsim.engine.batch.statistics import batch_tables, differences_table, measured, statistics_table
from reidsim.engine.results import write_parquet
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).resolve().parents[1] / "tests" / "scenarios" / "town" / "town.toml"


def seconds_of(action: Callable[[], object]) -> float:
    """Return how long something takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def work_and_tasks(name: str | Path, n: int) -> tuple[ScenarioWork, list[RunTask]]:
    """Return a batch of n points of a scenario that differ in the loss."""
    loaded: Scenario[Any] = Scenario.load(name, {"figures": {}})
    design = Design(pd.DataFrame({"economics.loss": np.linspace(50, 600, n)}))
    return ScenarioWork(loaded), tasks_of(loaded, design, at_point(loaded, {}).content)


def tiny_runs(n: int) -> None:
    """Do runs of some milliseconds as a batch with its journal, and in a loop that keeps the outcomes."""
    work, tasks = work_and_tasks(TOWN, n)
    work(tasks[0])
    blocks = [tasks[start : start + 100] for start in range(0, n, 100)]
    loop = batch = 0.0
    with tempfile.TemporaryDirectory() as folder:
        # In turns, so that other work on the computer slows both.
        for block in blocks:
            loop += seconds_of(partial(in_a_loop, work, block))
            batch += seconds_of(partial(run_tasks, work, block, SerialExecutor(), folder=Path(folder)))
        whole = (Path(folder) / JOURNAL).read_bytes()
        resumed = seconds_of(lambda: run_tasks(work, tasks, SerialExecutor(), folder=Path(folder)))
        (Path(folder) / JOURNAL).write_bytes(b"".join(whole.splitlines(keepends=True)[: n // 2]))
        half = seconds_of(lambda: run_tasks(work, tasks, SerialExecutor(), folder=Path(folder)))
        rest = seconds_of(lambda: run_tasks(work, tasks[n // 2 :], SerialExecutor()))
    print(f"{n:,} tiny runs: bare loop {loop:.2f} s, batch {batch:.2f} s, ratio {batch / loop:.3f}")
    figure(f"{n:,} tiny runs as a batch", batch, "bare loop", loop, 1.15, at_most=True)
    print(f"resumed: {resumed:.2f} s when complete; when half done, {half / rest:.3f} of the half that is missing")


def in_a_loop(work: ScenarioWork, tasks: list[RunTask]) -> list[object]:
    """Do runs without anything around them."""
    return [work(task) for task in tasks]


def medium_runs(n: int, *, on_dask: bool) -> None:
    """Do runs of a fraction of a second in one process, in two, and on two workers of dask."""
    work, tasks = work_and_tasks("wan2015", n)
    serial = seconds_of(lambda: run_tasks(work, tasks, SerialExecutor()))
    local = seconds_of(lambda: run_tasks(work, tasks, ProcessExecutor(2)))
    print(f"{n:,} medium runs: serial {serial:.1f} s, two processes {local:.1f} s ({serial / local:.2f} times as fast)")
    if not on_dask:
        return
    distributed = import_module("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1) as cluster:
        dask = seconds_of(lambda: run_tasks(work, tasks, DaskExecutor(cluster.scheduler_address)))
    print(f"dask on two workers: {dask:.1f} s, {dask / local:.2f} of two processes")


def many_tiny_runs(n: int, executors: list[str]) -> None:
    """Run a tenth of n runs and then n that take no time, each batch in a process of its own, and take the slope."""
    context = multiprocessing.get_context("spawn")
    for executor in executors:
        found = []
        for size in (n // 10, n):
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                found.append(pool.submit(batch_of, TOWN, size, executor).result())
        few, many = found
        each = (many["seconds"] - few["seconds"]) / (n - n // 10)
        runs, tables = ((many[at] - few[at]) / (n - n // 10) * 1024 for at in ("ended", "written"))
        print(f"{n:,} instant runs, {executor}: {many['seconds']:.1f} s, {1e3 * each:.3f} ms for each further run")
        print(
            f"peak when {n // 10:,} and {n:,} ended: {few['ended']:.0f}, {many['ended']:.0f} MiB, {runs:.1f} KiB each"
        )
        print(f"with their tables: {few['written']:.0f}, {many['written']:.0f} MiB, {tables:.1f} KiB each")
        print(f"resumed when complete: {many['resumed']:.1f} s")
        figure(f"overhead per run, {n:,} runs, {executor}", each, "a limit of 2 ms", 0.002, 1.0)


def growth_in_runs(sizes: Sequence[int]) -> None:
    """Time a batch of ever more runs that take no time, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    for n in sizes:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            grown("batch of instant runs over runs", n, pool.submit(batch_of, TOWN, n, "serial").result()["seconds"])


def many_rows(n_replications: int) -> None:
    """Put rows together (a thousand for each replication), write, read and summarise them."""
    n_points, policies = 250, ["a", "b", "c", "d"]
    rng = np.random.default_rng(1)
    design = Design(pd.DataFrame({"economics.loss": np.arange(n_points)}), n_replications, ("economics.loss",))
    outcomes = [
        RunOutcome(
            RunTask(f"{point:08x}{replication:08x}", point, replication, replication, {}),
            "complete",
            {"runs": {"policy": policies, **dict(zip("uvwxyz", drawn, strict=True))}},
        )
        for point in range(n_points)
        for replication, drawn in enumerate(rng.normal(size=(n_replications, 6, 4)).tolist())
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.parquet"
        made = seconds_of(lambda: write_parquet(path, batch_tables("many", design, outcomes)["runs"]))
        size = path.stat().st_size / 1e6
        begun = time.perf_counter()
        runs = pd.read_parquet(path)
        read = time.perf_counter() - begun
        summarised = seconds_of(lambda: tables_of(runs, design))
    print(f"{len(runs):,} rows: put together and written {made:.1f} s ({size:.0f} MB), read {read:.2f} s, "
          f"summarised {summarised:.1f} s")  # fmt: skip


def tables_of(runs: pd.DataFrame, design: Design) -> str:
    """Work out statistics and differences."""
    found = measured(runs, design)
    return json.dumps([len(statistics_table(found)), len(differences_table(found))])


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", type=int, default=1000, help="runs of some milliseconds")
    parser.add_argument("--medium", type=int, default=200, help="runs of a fraction of a second")
    parser.add_argument("--replications", type=int, default=1000, help="a thousand rows of results each")
    parser.add_argument("--many", type=int, default=100_000, help="runs that take no time")
    parser.add_argument("--skip-dask", action="store_true", help="without dask")
    chosen = parser.parse_args()
    require_file(TOWN, "the town that tests have")
    if not chosen.skip_dask:
        require_package("distributed", 'pip install "distributed>=2024.5"', "--skip-dask")
    tiny_runs(chosen.tiny)
    many_rows(chosen.replications)
    many_tiny_runs(chosen.many, ["serial", "processes", *(() if chosen.skip_dask else ("dask",))])
    medium_runs(chosen.medium, on_dask=not chosen.skip_dask)


if __name__ == "__main__":
    main()
