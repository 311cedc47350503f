"""What may befall a batch while it runs: afterwards it goes on to the same tables, or says in one line why not."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from child_signals import has_content, processes_with

TESTS = Path(__file__).resolve().parents[1]
TABLES = ("runs", "statistics", "differences", "distributions")
SWEEP = 'sweep.values={"economics.loss"={from=1,to=200,points=400}}'
RUN = [sys.executable, "-m", "reidsim", "run", "town.toml", "--set", SWEEP]
pytestmark = [pytest.mark.deep, pytest.mark.skipif(os.name != "posix", reason="signals and limits of processes")]


@pytest.fixture
def work(tmp_path, monkeypatch):
    shutil.copytree(TESTS / "scenarios" / "town", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return the tables of a batch that nothing befalls."""
    folder = tmp_path_factory.mktemp("plain") / "work"
    shutil.copytree(TESTS / "scenarios" / "town", folder)
    subprocess.run([*RUN, "-o", "out", "--executor", "serial"], cwd=folder, capture_output=True, check=True)
    return tables_of(folder / "out")


def tables_of(folder):
    return {name: (folder / f"{name}.parquet").read_bytes() for name in TABLES}


def begin(*arguments, **more):
    return subprocess.Popen([*RUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def ended(process):
    """Return exit code and what was said of errors, once a process has ended."""
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
    for moment in range(4 if workers else 10):
        go_on = ["--resume"] if (work / "out").exists() else []
        process = begin("-o", "out", "--executor", executor, *workers, *go_on)
        before = (work / "out" / "journal.jsonl").read_bytes().count(b"\n") if go_on else 0
        if moment % 2:
            wait_for_runs(process, work / "out", min(before + chance.randrange(1, 30), 390))
        else:
            # Before its first run ends, too.
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
    # One that came late finds the batch complete.
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
