"""A dask cluster gives byte-identical tables to this process and to subprocesses."""

import contextlib
import json
import logging
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.core.errors import InputError
from reidsim.core.tables import in_turn, read_distinct_rows
from reidsim.engine.batch.executors import DaskExecutor, ProcessExecutor, SerialExecutor
from reidsim.engine.batch.folder import JOURNAL
from reidsim.engine.batch.runner import run_batch_loaded
from reidsim.scenarios.scenario import Scenario

pytestmark = pytest.mark.deep

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town"
TABLES = ("runs", "statistics", "differences", "distributions")
# One of the points has no records: its runs fail on every executor.
CHANGES = {
    "replications": 2,
    "attributes.sex.draw": True,
    "sweep.values": {"release.path": [str(TOWN / "patients.csv"), str(TOWN / "missing.csv")]},
    "uncertainty.parameters": {"economics.cost": {"distribution": "uniform", "low": 1, "high": 30}},
    "uncertainty.samples": 3,
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask") / "town"
    shutil.copytree(TOWN, folder)
    return Scenario.load(folder / "town.toml", CHANGES)


@pytest.fixture(scope="module")
def serial(loaded, tmp_path_factory):
    return tables_of(loaded, SerialExecutor(), tmp_path_factory.mktemp("serial") / "out")


@pytest.fixture(scope="module")
def scheduler():
    """Return the address of a cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, protocol="tcp://", **options) as cluster:
        yield cluster.scheduler_address


def tables_of(loaded, executor, folder, **options):
    run_batch_loaded(loaded, executor, folder=folder, **options)
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


class Shuffled:
    """Passes tasks to an executor in random order.

    The executor stops after some groups of outcomes.
    """

    def __init__(self, executor, seed, stop_after=None):
        self.executor, self.stop_after = executor, stop_after
        self.random = random.Random(seed)  # noqa: S311 - order of runs

    def execute(self, work, tasks):
        tasks = self.random.sample(tasks, len(tasks))
        with contextlib.closing(self.executor.execute(work, tasks)) as groups:
            for number, group in enumerate(groups):
                if number == self.stop_after:
                    raise KeyboardInterrupt
                yield group


@pytest.mark.skipif(sys.platform == "win32", reason="starts processes")
def test_a_batch_goes_on_elsewhere(loaded, serial, scheduler, tmp_path):
    """The batch starts on a cluster, continues in subprocesses and ends here."""
    folder = tmp_path / "out"
    for executor, stop in ((DaskExecutor(scheduler), 1), (ProcessExecutor(1), 1)):
        with contextlib.suppress(KeyboardInterrupt):
            run_batch_loaded(loaded, Shuffled(executor, 0, stop), folder=folder, resume=folder.exists())
    assert (folder / JOURNAL).stat().st_size
    assert tables_of(loaded, SerialExecutor(), folder, resume=True) == serial


def test_one_table_is_read_and_shared_by_two_workers_and_gives_the_same_bytes(scheduler, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people, folder = np.random.default_rng(4), tmp_path / "people.parquet"
    folder.mkdir()
    for number in range(5):
        ages, sexes = people.integers(20, 60, 400).astype(str), people.choice(["F", "M"], 400)
        table = pd.DataFrame({"age": ages, "sex": sexes, "name": [f"{number} {each}" for each in range(400)]})
        table.to_parquet(folder / f"{number}.parquet", index=False)
    reidsim.new(folder, folder="draft")
    on_cluster = ("--executor", "dask", "--scheduler", scheduler)
    for output, options in (("here", ()), ("there", on_cluster)):
        done = CliRunner().invoke(app, ["run", "draft/people.toml", "-o", output, *options])
        assert done.exit_code == 0, done.output
    here, there = ({path.name: path for path in Path(output).glob("*.parquet")} for output in ("here", "there"))
    assert here.keys() == there.keys() >= {"records.parquet", "runs.parquet"}
    for name in here:
        assert here[name].read_bytes() == there[name].read_bytes()
    run = reidsim.Scenario.load("draft/people.toml").run(executor="dask", scheduler=scheduler)
    run.save("python")
    assert Path("python", "records.parquet").read_bytes() == there["records.parquet"].read_bytes()
    first, second = (json.loads(Path(output, "manifest.json").read_text()) for output in ("here", "there"))
    assert {key for key in first if first[key] != second[key]} <= {"timings_seconds"}
    for output, options in (("here.csv", ()), ("there.csv", on_cluster)):
        chosen = ("--policy", "no-attack", "--accept-risk", "--keep-identifier", "name", "--max-singled-out", "1")
        done = CliRunner().invoke(app, ["share", "here", "-o", output, *chosen, *options])
        assert done.exit_code == 0, done.output
    assert Path("here.csv").read_bytes() == Path("there.csv").read_bytes()
    sidecars = [json.loads(Path(f"{output}.csv.json").read_text()) for output in ("here", "there")]
    assert {key for key in sidecars[0] if sidecars[0][key] != sidecars[1][key]} == {"file", "sidecar_sha256"}
    shared = reidsim.share(run, "no-attack", accept_risk=True, executor="dask", scheduler=scheduler)
    assert shared.equals(reidsim.share("here", "no-attack", accept_risk=True))
    with pytest.raises(InputError, match="executor dask needs a scheduler"):
        reidsim.share(run, "no-attack", executor="dask")
    assert not [*tmp_path.glob(".*")]


def test_an_error_in_a_file_is_the_same_on_a_cluster(scheduler, tmp_path):
    folder = tmp_path / "people.parquet"
    folder.mkdir()
    for number in range(2):
        lists = pd.DataFrame({"age": [[1], [2]], "sex": ["F", "M"]})
        lists.to_parquet(folder / f"{number}.parquet", index=False)
    errors = []
    for over_files in (in_turn, DaskExecutor(scheduler).over_files):
        with pytest.raises(InputError, match="nested") as found:
            read_distinct_rows(folder, ["age"], over_files=over_files)
        errors.append(str(found.value))
    assert errors[0] == errors[1]
