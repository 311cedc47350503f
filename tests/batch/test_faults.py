"""After any fault, a batch resumes to equal tables or reports a one-line error."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from child_signals import has_content, processes_with
from tiers import points

from reidsim.engine.batch.batch_run import run_batch_loaded
from reidsim.engine.batch.executors.choice import SerialExecutor
from reidsim.errors import InputError
from reidsim.scenarios.load import load_scenario

TESTS = Path(__file__).resolve().parents[1]
TABLES = ("runs", "statistics", "differences", "distributions")
SWEEP = 'sweep.values={"economics.loss"={from=1,to=200,points=400}}'
POINTS = {"sweep.values": {"economics.loss": {"from": 1, "to": 200, "points": 400}}}
RUN = [sys.executable, "-m", "reidsim", "run", "town.toml", "--set", SWEEP]
pytestmark = [pytest.mark.deep, pytest.mark.skipif(os.name != "posix", reason="signals and limits of processes")]


@pytest.fixture
def work(tmp_path, monkeypatch):
    shutil.copytree(TESTS / "scenarios" / "town", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return the tables of an undisturbed batch."""
    folder = tmp_path_factory.mktemp("plain") / "work"
    shutil.copytree(TESTS / "scenarios" / "town", folder)
    subprocess.run([*RUN, "-o", "out", "--executor", "serial"], cwd=folder, capture_output=True, check=True)
    return tables_of(folder / "out")


def tables_of(folder):
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def begin(*arguments, **more):
    return subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def ended(process):
    """Return the exit code and standard error of a process, once it has ended."""
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def assert_goes_on(work, plain):
    code, said = ended(begin("-o", "out", "--resume", "--executor", "serial"))
    assert code == 0, said
    assert tables_of(work / "out") == plain
    assert json.loads((work / "out" / "manifest.json").read_text(encoding="utf-8"))["state"] == "complete"


def wait_for_runs(process, folder, number=1):
    deadline = time.monotonic() + 120
    journal = folder / "journal.jsonl"
    while not has_content(journal) or journal.read_bytes().count(b"\n") < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_batch_that_is_killed_again_and_again_loses_nothing(work, plain, monkeypatch, executor):
    mark = f"REIDSIM_TEST_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv(mark, "1")
    chance = random.Random(executor)  # noqa: S311 - moments of a test
    workers = ["--workers", "2"] if executor == "processes" else []
    # Processes take seconds to start.
    for moment in range(points(4 if workers else 10)):
        go_on = ["--resume"] if (work / "out").exists() else []
        process = begin("-o", "out", "--executor", executor, *workers, *go_on)
        before = (work / "out" / "journal.jsonl").read_bytes().count(b"\n") if go_on else 0
        if moment % 2:
            wait_for_runs(process, work / "out", min(before + chance.randrange(1, 30), 390))
        else:
            # Includes interrupts before the first run ends.
            time.sleep(chance.uniform(0, 3))
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 30
        while left := processes_with(mark):
            assert time.monotonic() < deadline, left
            time.sleep(0.02)
    assert_goes_on(work, plain)


def test_a_batch_that_is_stopped_for_a_while_goes_on(work, plain):
    process = begin("-o", "out", "--executor", "processes", "--workers", "2")
    wait_for_runs(process, work / "out")
    process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    process.send_signal(signal.SIGCONT)
    assert ended(process)[0] == 0
    assert tables_of(work / "out") == plain


def test_of_two_that_go_on_with_a_batch_one_is_refused(work, plain):
    process = begin("-o", "out", "--executor", "serial")
    wait_for_runs(process, work / "out", 5)
    process.kill()
    process.communicate()
    both = [begin("-o", "out", "--resume", "--executor", "serial") for _ in range(2)]
    found = [ended(process) for process in both]
    # A late command may find the batch complete.
    assert sorted(code for code, _ in found) in ([0, 0], [0, 2])
    for code, said in found:
        assert code == 0 or (said.count("\n") == 1 and "another batch is writing" in said), said
    assert tables_of(work / "out") == plain


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_folder_that_is_removed_is_told_in_a_line(work, executor):
    process = begin("-o", "out", "--executor", executor)
    wait_for_runs(process, work / "out", 5)
    shutil.rmtree(work / "out")
    code, said = ended(process)
    assert (code, said.count("\n")) == (2, 1), said
    assert said.startswith("reidsim: out")
    assert not list(work.glob("out/*.parquet"))


def test_a_scheduler_that_is_killed_is_told_in_a_line(work, plain):
    pytest.importorskip("distributed")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"], **quiet
    )
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--nthreads", "1"], **quiet
    )
    try:
        process = begin("-o", "out", "--executor", "dask", "--scheduler", address)
        wait_for_runs(process, work / "out", 5)
        scheduler.kill()
        code, said = ended(process)
    finally:
        for each in (worker, scheduler):
            each.kill()
            each.wait()
    errors = [line for line in said.splitlines() if line.startswith("reidsim: ")]
    assert code == 2, said
    assert len(errors) == 1, said
    assert "the dask cluster was lost" in errors[0]
    assert "Traceback" not in said
    assert_goes_on(work, plain)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_folder_that_may_only_be_read_is_told_in_a_line(work, plain, disk):
    process = begin("-o", "disk/out", "--executor", "serial")
    wait_for_runs(process, work / "disk" / "out", 5)
    process.kill()
    process.communicate()
    before = everything_in(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for arguments in (["-o", "disk/out", "--resume"], ["-o", "disk/new"]):
        code, said = ended(begin(*arguments, "--executor", "serial"))
        assert (code, said.count("\n")) == (2, 1), said
        assert said.startswith(f"reidsim: {arguments[1]}"), said
    assert everything_in(disk) == before
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    code, said = ended(begin("-o", "disk/out", "--resume", "--executor", "serial"))
    assert code == 0, said
    assert tables_of(disk / "out") == plain


def everything_in(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def disk(work):
    """Return a folder mounted as a separate 4 MB disk in memory."""
    folder = work / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("no disk may be mounted")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


STRESS = [*RUN[:3], "stress", "town.toml", "-o", "disk/out", "--set", "stress.robustness.samples=8", "--set",
          'uncertainty.parameters={"economics.loss"={distribution="uniform", low=30, high=90}}']  # fmt: skip
WRITERS = {
    "batch": ([*RUN[:5], "--set", 'sweep.values={"economics.loss"={from=1,to=200,points=40}}', "-o", "disk/out",
               "--executor", "serial"], ["--resume"]),
    "run": ([*RUN[:5], "-o", "disk/out"], []),
    "stress": (STRESS, []),
    "report": ([*RUN[:3], "report", "before", "-o", "disk/report.html"], []),
    "share": ([*RUN[:3], "share", "before", "--policy", "no-attack", "--accept-risk", "-o", "disk/shared.csv"], []),
}  # fmt: skip


def written_by(command, disk):
    """Return the tables and pages that a command writes, by name, without timings."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    files = {str(path): content for path, content in everything_in(disk).items() if path.suffix in (".parquet", ".csv")}
    return done, files


@pytest.mark.parametrize("writer", WRITERS)
def test_a_disk_that_fills_at_any_point_loses_nothing(work, disk, writer):
    shares = np.linspace(0, 1, points(20 if writer == "batch" else 7))
    command, go_on = WRITERS[writer]
    subprocess.run([*RUN[:5], "-o", "before"], capture_output=True, check=True)
    done, whole = written_by(command, disk)
    assert done.returncode == 0, done.stderr
    # In whole pages; some commands write next to the files that they replace.
    room = 2 * shutil.disk_usage(disk).used
    seen = set()
    for share in shares:
        for path in [*disk.iterdir()]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        ballast = work / "disk" / "ballast"
        ballast.write_bytes(bytes(4 * 2**20 - int(room * share) // 4096 * 4096))
        done, found = written_by(command, disk)
        seen.add(done.returncode)
        assert done.returncode in (0, 2), done.stderr
        assert "Traceback" not in done.stderr
        errors = [line for line in done.stderr.splitlines() if line.startswith("reidsim: ")]
        assert len(errors) == (done.returncode == 2), done.stderr
        # Remaining files equal an undisturbed run's, never a first half of them.
        assert all(found[name] == whole[name] for name in found if name in whole)
        assert not any(part.startswith(".") for path in everything_in(disk) for part in path.parts)
        ballast.unlink()
        if done.returncode:
            again = go_on if (disk / "out" / "journal.jsonl").exists() else []
            if not again:
                for path in [*disk.iterdir()]:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            done, found = written_by([*command, *again], disk)
            assert done.returncode == 0, done.stderr
            assert found == whole
    assert seen == {0, 2}


# Most runs are repeated after each cut of a journal.
@pytest.mark.parametrize(
    ("name", "cuts"), [("journal.jsonl", 10), ("runs.parquet", 50), ("statistics.parquet", 50), ("manifest.json", 50)]
)
def test_a_file_cut_at_any_byte_is_repeated_or_told(work, plain, name, cuts):
    process = begin("-o", "out", "--executor", "serial")
    if name == "journal.jsonl":
        wait_for_runs(process, work / "out", 60)
        process.kill()
    process.communicate()
    whole = (work / "out" / name).read_bytes()
    shutil.copytree(work / "out", work / "kept")
    loaded, executor = load_scenario("town.toml", POINTS), SerialExecutor()
    chance = random.Random(name)  # noqa: S311 - bytes
    told = 0
    for place in sorted(chance.sample(range(len(whole)), points(cuts))):
        shutil.rmtree(work / "out")
        shutil.copytree(work / "kept", work / "out")
        (work / "out" / name).write_bytes(whole[:place])
        if said := error_of(lambda: run_batch_loaded(loaded, executor, folder=work / "out", resume=True)):
            told += 1
            assert name in said
            assert "\n" not in said
        else:
            assert tables_of(work / "out") == plain, place
    assert told < points(cuts) if name == "journal.jsonl" else told > 0


def error_of(do):
    try:
        do()
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("megabytes", [100, 300, 500, 600, 650, 700, 750, 800, 900, 1200, 2000])
def test_a_limit_of_addresses_ends_a_batch_in_a_line_or_not_at_all(work, plain, megabytes):
    command = ["bash", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "limited", *RUN, "-o", "out"]
    found = subprocess.run([*command, "--executor", "serial"], capture_output=True, text=True, check=False, timeout=300)
    errors = [line for line in found.stderr.splitlines() if line.startswith("reidsim: ")]
    assert found.returncode in ((2,) if megabytes < 750 else (0,) if megabytes >= 1200 else (0, 2)), found.stderr
    assert len(errors) == (found.returncode == 2), found.stderr
    assert "Traceback" not in found.stderr
    if (work / "out").exists():
        assert_goes_on(work, plain)
