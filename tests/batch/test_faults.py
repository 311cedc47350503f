"""After any fault, a batch resumes to equal tables or reports a one-line error."""

import gc
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from child_signals import has_content, processes_with
from tiers import points

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import attempt
from reidsim.engine.batch.executors import SerialExecutor
from reidsim.engine.batch.runner import run_batch_loaded
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town"
TABLES = ("runs", "statistics", "differences", "distributions")
SWEEP = 'sweep.values={"economics.loss"={from=1,to=200,points=400}}'
POINTS = {"sweep.values": {"economics.loss": {"from": 1, "to": 200, "points": 400}}}
FEW_POINTS = {"sweep.values": {"economics.loss": {"from": 1, "to": 200, "points": 40}}}
RUN = [sys.executable, "-m", "reidsim", "run", "town.toml", "--set", SWEEP]
DISK = "4m"
pytestmark = [pytest.mark.deep, pytest.mark.skipif(os.name != "posix", reason="signals and limits of processes")]


def undisturbed(folder, changes):
    """Return the tables of an undisturbed batch."""
    shutil.copytree(TOWN, folder / "work")
    run_batch_loaded(Scenario.load(folder / "work" / "town.toml", changes), SerialExecutor(), folder=folder / "out")
    return tables_of(folder / "out")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("plain"), POINTS)


@pytest.fixture(scope="module")
def plain_few(tmp_path_factory):
    return undisturbed(tmp_path_factory.mktemp("few"), FEW_POINTS)


def tables_of(folder):
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def everything_in(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def begin(*arguments, **more):
    return subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def ended(process):
    """Return the exit code and standard error of a process, once it has ended."""
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def assert_goes_on(work, plain):
    run_batch_loaded(Scenario.load("town.toml", POINTS), SerialExecutor(), folder=work / "out", resume=True)
    assert tables_of(work / "out") == plain
    assert json.loads((work / "out" / "manifest.json").read_text(encoding="utf-8"))["state"] == "complete"


def wait_for_runs(process, folder, number=1):
    deadline = time.monotonic() + 120
    journal = folder / "journal.jsonl"
    while not has_content(journal) or journal.read_bytes().count(b"\n") < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


# Processes that are killed, stopped or limited.


@pytest.mark.parametrize(("executor", "times"), [("serial", 6), ("processes", 2)])
def test_a_batch_that_is_killed_again_and_again_loses_nothing(work, plain, monkeypatch, executor, times):
    mark = f"REIDSIM_TEST_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv(mark, "1")
    chance = random.Random(executor)  # noqa: S311 - moments of a test
    workers = ["--workers", "2"] if executor == "processes" else []
    for moment in range(min(times, points(times))):
        go_on = ["--resume"] if (work / "out").exists() else []
        process = begin("-o", "out", "--executor", executor, *workers, *go_on)
        before = (work / "out" / "journal.jsonl").read_bytes().count(b"\n") if go_on else 0
        if moment % 2 == 0:
            wait_for_runs(process, work / "out", min(before + chance.randrange(1, 30), 390))
        else:
            # Includes interrupts before the first run ends.
            time.sleep(chance.uniform(0, 2))
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 30
        while left := processes_with(mark):
            assert time.monotonic() < deadline, left
            time.sleep(0.02)
    assert_goes_on(work, plain)


def test_of_two_that_go_on_with_a_batch_one_is_refused(work, plain):
    with pytest.raises(KeyboardInterrupt):
        run_batch_loaded(Scenario.load("town.toml", POINTS), Stopping(5), folder=work / "out")
    both = [begin("-o", "out", "--resume", "--executor", "serial") for _ in range(2)]
    found = [ended(process) for process in both]
    # A late command may find the batch complete.
    assert sorted(code for code, _ in found) in ([0, 0], [0, 2])
    for code, said in found:
        assert code == 0 or (said.count("\n") == 1 and "another batch is writing" in said), said
    assert tables_of(work / "out") == plain


def test_a_scheduler_that_is_killed_is_reported_in_a_line(work, plain):
    pytest.importorskip("distributed")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    programs = [("dask_scheduler", "--host", address), ("dask_worker", address, "--nthreads", "1")]
    started = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *options, "--no-dashboard"], **quiet)
        for name, *options in programs
    ]
    try:
        process = begin("-o", "out", "--executor", "dask", "--scheduler", address)
        wait_for_runs(process, work / "out", 5)
        started[0].kill()
        code, said = ended(process)
    finally:
        for each in reversed(started):
            each.kill()
            each.wait()
    errors = [line for line in said.splitlines() if line.startswith("reidsim: ")]
    assert code == 2, said
    assert len(errors) == 1, said
    assert "the dask cluster was lost" in errors[0]
    assert "Traceback" not in said
    assert_goes_on(work, plain)


@pytest.mark.parametrize("megabytes", [300, 700, 800, 1200])
def test_a_limit_of_addresses_ends_a_batch_in_a_line_or_not_at_all(work, plain, megabytes):
    command = ["bash", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "limited", *RUN, "-o", "out"]
    found = subprocess.run([*command, "--executor", "serial"], capture_output=True, text=True, check=False, timeout=300)
    errors = [line for line in found.stderr.splitlines() if line.startswith("reidsim: ")]
    assert found.returncode in ((2,) if megabytes < 750 else (0,) if megabytes >= 1200 else (0, 2)), found.stderr
    assert len(errors) == (found.returncode == 2), found.stderr
    assert "Traceback" not in found.stderr
    if (work / "out").exists():
        assert_goes_on(work, plain)


# Folders and files that are removed, read-only, full or cut.


def test_a_folder_that_is_removed_is_reported_in_a_line(work):
    process = begin("-o", "out", "--executor", "serial")
    wait_for_runs(process, work / "out", 5)
    shutil.rmtree(work / "out")
    code, said = ended(process)
    assert (code, said.count("\n")) == (2, 1), said
    assert said.startswith("reidsim: out")
    assert not list(work.glob("out/*.parquet"))


class Stopping:
    """Executes a number of runs and is then interrupted."""

    def __init__(self, runs):
        self.runs = runs

    def execute(self, work, tasks):
        yield [attempt(work, task) for task in tasks[: self.runs]]
        raise KeyboardInterrupt


def test_a_folder_that_may_only_be_read_is_reported_in_a_line(disk, plain_few):
    loaded, executor = Scenario.load("town.toml", FEW_POINTS), SerialExecutor()
    with pytest.raises(KeyboardInterrupt):
        run_batch_loaded(loaded, Stopping(5), folder=disk / "out")
    before = everything_in(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for name in ("out", "new"):
        with pytest.raises(InputError) as error:
            run_batch_loaded(loaded, executor, folder=disk / name, resume=name == "out")
        assert str(error.value).startswith(str(disk / name))
        assert "\n" not in str(error.value)
    assert everything_in(disk) == before
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    run_batch_loaded(loaded, executor, folder=disk / "out", resume=True)
    assert tables_of(disk / "out") == plain_few


FEW = SWEEP.replace("points=400", "points=40")
UNCERTAIN = 'uncertainty.parameters={"economics.loss"={distribution="uniform", low=30, high=90}}'
WRITERS = {
    "batch": ["run", "town.toml", "--set", FEW, "-o", "disk/out", "--executor", "serial"],
    "run": ["run", "town.toml", "-o", "disk/out"],
    "stress": ["stress", "town.toml", "-o", "disk/out", "--set", "stress.robustness.samples=8", "--set", UNCERTAIN],
    "report": ["report", "before", "-o", "disk/report.html"],
    "share": ["share", "before", "--policy", "no-attack", "--accept-risk", "-o", "disk/shared.csv"],
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_disk_that_fills_at_any_point_loses_nothing(work, disk, reidsim_, writer):
    command = WRITERS[writer]

    def written(*more):
        """Return the result, and the tables and pages by name, without timings."""
        code, _, said = reidsim_(*command, *more)
        gc.collect()
        files = everything_in(disk)
        return code, said, {path: content for path, content in files.items() if path.suffix in (".parquet", ".csv")}

    def clear():
        for path in [*disk.iterdir()]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    if "before" in command:
        assert reidsim_("run", "town.toml", "-o", "before")[0] == 0
    code, said, whole = written()
    assert code == 0, said
    # In whole pages; some commands write next to the files that they replace.
    room = 2 * shutil.disk_usage(disk).used
    seen = set()
    for share in np.linspace(0, 1, points(12 if writer == "batch" else 6)):
        clear()
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(4 * 2**20 - int(room * share) // 4096 * 4096))
        code, said, found = written()
        seen.add(code)
        assert code in (0, 2), said
        assert len([line for line in said.splitlines() if line.startswith("reidsim: ")]) == (code == 2), said
        # Remaining files equal an undisturbed run's, never a first half of them.
        assert all(found[name] == whole[name] for name in found if name in whole)
        assert not any(part.startswith(".") for path in everything_in(disk) for part in path.parts)
        ballast.unlink()
        if code:
            resume = ["--resume"] if writer == "batch" and (disk / "out" / "journal.jsonl").exists() else []
            if not resume:
                clear()
            code, said, found = written(*resume)
            assert code == 0, said
            assert found == whole
    assert seen == {0, 2}


@pytest.mark.parametrize("name", ["journal.jsonl", "runs.parquet", "statistics.parquet", "manifest.json"])
def test_a_file_cut_at_any_byte_is_repeated_or_reported(work, plain_few, name):
    loaded, executor = Scenario.load("town.toml", FEW_POINTS), SerialExecutor()
    if name == "journal.jsonl":
        with pytest.raises(KeyboardInterrupt):
            run_batch_loaded(loaded, Stopping(30), folder=work / "out")
    else:
        run_batch_loaded(loaded, executor, folder=work / "out")
    whole = (work / "out" / name).read_bytes()
    shutil.copytree(work / "out", work / "kept")
    places = random.Random(name).sample(range(len(whole)), points(30))  # noqa: S311 - bytes
    reported = 0
    for place in places:
        shutil.rmtree(work / "out")
        shutil.copytree(work / "kept", work / "out")
        (work / "out" / name).write_bytes(whole[:place])
        if said := error_of(loaded, executor, work / "out"):
            reported += 1
            assert name in said
            assert "\n" not in said
        else:
            assert tables_of(work / "out") == plain_few, place
    assert reported < len(places) if name == "journal.jsonl" else reported > 0


def error_of(loaded, executor, folder):
    """Return the error with which a batch is resumed, or an empty text."""
    try:
        run_batch_loaded(loaded, executor, folder=folder, resume=True)
    except InputError as error:
        return str(error)
    return ""
