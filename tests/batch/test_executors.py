"""Executors: every run has an outcome, and no process is left."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from child_signals import processes_with

from reidsim import run_batch
from reidsim.core import interrupts
from reidsim.core.errors import InputError
from reidsim.engine.batch.design import attempt
from reidsim.engine.batch.executors import (
    AutomaticExecutor,
    DaskExecutor,
    ProcessExecutor,
    SerialExecutor,
    executor_named,
)
from reidsim.engine.batch.worker import READY

from fake_runs import NeverStarts, Square, tasks  # isort: skip


@pytest.fixture
def no_process_left(monkeypatch):
    """Check after a test that none of its processes is left, even if reparented."""
    mark = f"REIDSIM_TEST_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv(mark, "1")
    yield mark
    deadline = time.monotonic() + 30
    while left := processes_with(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def outcomes_of(executor, work, n):
    found = [outcome for group in executor.execute(work, tasks(n)) for outcome in group]
    assert sorted(outcome.task.point for outcome in found) == list(range(n))
    return {outcome.task.point: outcome for outcome in found}


def check_squares(found, but=()):
    for number, outcome in found.items():
        if number not in but:
            assert outcome.state == "complete", (number, outcome.error)
            assert outcome.tables["runs"]["square"] == [number**2, number / 7]


def test_a_run_that_raises_is_one_outcome():
    found = outcomes_of(SerialExecutor(), Square(raises=(1, 3)), 5)
    check_squares(found, but=(1, 3))
    assert (found[3].state, found[3].error) == ("failed", "ValueError: no square of 3")


class Interrupted:
    """Squares a task's number.

    At one task, compiled code turns an interrupt into an error.
    """

    def __call__(self, task):
        if task.point == 3:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as interrupt:
                raise SystemError("returned a result with an exception set") from interrupt
        return Square()(task)


def test_a_run_that_fails_by_an_interrupt_is_no_outcome_and_the_last():
    groups = SerialExecutor().execute(Interrupted(), tasks(6))
    assert [outcome.task.point for outcome in next(groups)] == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        next(groups)


def test_an_interrupt_that_a_library_makes_a_failure_of_ends_the_batch(monkeypatch):
    """The error does not mention the interrupt; the program recorded the signal."""
    monkeypatch.setattr(interrupts, "_interrupts", [])

    def work(task):
        if task.point == 3:
            interrupts._interrupts.append(signal.SIGTERM)
            raise ValueError("no such part")
        return Square()(task)

    groups = SerialExecutor().execute(work, tasks(6))
    assert [outcome.task.point for outcome in next(groups)] == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        next(groups)


class ThreadOfPipes:
    """A worker process whose program is a thread of this process."""

    def __init__(self, command, **_):
        (inbox, stdin), (stdout, outbox) = os.pipe(), os.pipe()
        self.stdin, self.stdout, self.outbox = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), os.fdopen(outbox, "wb")
        threading.Thread(target=self.run, args=(os.fdopen(inbox, "rb"), self.outbox), daemon=True).start()

    def run(self, inbox, outbox):
        with inbox, outbox, contextlib.suppress(EOFError, SystemExit):
            work, message = pickle.load(inbox), READY  # noqa: S301 - written by this process
            while True:
                pickle.dump(message, outbox)
                outbox.flush()
                message = attempt(work, pickle.load(inbox))  # noqa: S301

    def kill(self):
        self.stdin.close()
        self.outbox.close()

    def wait(self):
        return 0


@pytest.mark.parametrize(("workers", "runs", "processes"), [(2, 7, 2), (3, 2, 2)])
def test_there_are_as_many_processes_as_workers_or_runs(monkeypatch, workers, runs, processes):
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(ThreadOfPipes(*a, **k)) or started[-1])
    check_squares(outcomes_of(ProcessExecutor(workers), Square(), runs))
    assert len(started) == processes


POSIX = pytest.mark.skipif(os.name != "posix", reason="kills processes by signals")


@pytest.mark.parametrize(
    ("timeout", "end"),
    [(0.5, "ended with code 0"), pytest.param(2, "was ended by SIGKILL", marks=(pytest.mark.deep, POSIX))],
    ids=["threads", "processes"],
)
def test_processes_that_are_killed_or_hang_cost_nobody_else(tmp_path, no_process_left, monkeypatch, timeout, end):
    if end == "ended with code 0":
        monkeypatch.setattr(subprocess, "Popen", ThreadOfPipes)
        monkeypatch.setattr(os, "kill", lambda *_: sys.exit())
    work = Square(raises=(3,), kills=(5,), kills_once=(7,), hangs=(9,), folder=str(tmp_path))
    found = outcomes_of(ProcessExecutor(2, timeout=timeout), work, 16)
    check_squares(found, but=(3, 5, 9))
    assert {number: found[number].state for number in (3, 5, 9)} == {3: "failed", 5: "killed", 9: "timeout"}
    assert found[5].error == f"the process that executed the run {end}, twice"
    assert (found[9].error, found[9].seconds) == (f"the run took more than {timeout} s", timeout)
    # Only tasks whose worker died were started twice.
    begun = Counter((tmp_path / "begun.txt").read_text().split())
    assert {number: times for number, times in begun.items() if times > 1} == {"5": 2, "7": 2}


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="looks for processes")
def test_stopping_in_the_middle_leaves_no_process(tmp_path, no_process_left):
    groups = ProcessExecutor(2).execute(Square(hangs=(1,), folder=str(tmp_path)), tasks(2))
    assert [outcome.task.point for outcome in next(groups)] == [0]
    assert processes_with(no_process_left)
    groups.close()


STARTER = """
import sys
from fake_runs import Square, tasks
from reidsim.engine.batch.executors import executor_named
list(executor_named(sys.argv[1], workers=2).execute(Square(hangs=(0, 1), folder=sys.argv[2]), tasks(2)))
"""


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="kills processes by signals")
def test_no_worker_outlives_a_program_that_is_killed(tmp_path, no_process_left):
    """The program is killed (SIGKILL) during runs that would take an hour."""
    script = tmp_path / "starter.py"
    script.write_text(f"if __name__ == '__main__':\n{textwrap.indent(STARTER, '    ')}", encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen([sys.executable, str(script), "processes", str(tmp_path)], env=environment) as program:
        begun = tmp_path / "begun.txt"
        deadline = time.monotonic() + 120
        while not begun.exists() or len(begun.read_text().split()) < 2:
            assert program.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        # The program and at least two workers, all in the middle of a run.
        assert len(processes_with(no_process_left)) >= 3
        program.kill()
    # The fixture waits for the workers to end.


@pytest.mark.deep
def test_processes_that_do_not_start_are_told():
    with pytest.raises(InputError, match=r"worker processes do not start.*ended with code 3"):
        list(ProcessExecutor(1).execute(NeverStarts(), tasks(2)))


def test_few_quick_runs_are_done_here(monkeypatch):
    monkeypatch.setattr(ProcessExecutor, "execute", lambda *arguments: pytest.fail("started processes"))
    check_squares(outcomes_of(AutomaticExecutor(2), Square(), 50))


def test_long_ones_are_handed_over(monkeypatch):
    clock = iter(range(0, 10_000, 4))
    monkeypatch.setattr("reidsim.engine.batch.design.time.perf_counter", lambda: float(next(clock)))
    handed = []

    def execute(self, work, left):
        handed.extend(left)
        return SerialExecutor().execute(work, left)

    monkeypatch.setattr(ProcessExecutor, "execute", execute)
    check_squares(outcomes_of(AutomaticExecutor(2), Square(), 10))
    # Two runs of four seconds each give enough timing data.
    assert [task.point for task in handed] == list(range(2, 10))


@pytest.mark.deep
def test_a_dask_worker_that_sees_the_files_gives_the_same_runs(work):
    distributed = pytest.importorskip("distributed")
    changes = {"sweep.values": {"economics.loss": [30, 60]}}
    options = {"processes": False, "protocol": "tcp://", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        batch = run_batch("town.toml", overrides=changes, executor="dask", scheduler=cluster.scheduler_address)
    assert batch.runs.equals(run_batch("town.toml", overrides=changes).runs)


@pytest.mark.deep
@pytest.mark.parametrize("seconds", [0, 60], ids=["one run at a time", "whole groups"])
def test_runs_in_groups_are_done_once_each_on_a_dask_worker(tmp_path, monkeypatch, seconds):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("reidsim.engine.batch.executors.HAND_OVER_SECONDS", seconds)
    options = {"processes": False, "protocol": "tcp://", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster:
        groups = [*DaskExecutor(cluster.scheduler_address).execute(Square(folder=str(tmp_path)), tasks(40))]
    assert sorted(outcome.task.point for group in groups for outcome in group) == [*range(40)]
    assert (max(map(len, groups)) > 1) == bool(seconds)


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="kills processes by signals")
def test_a_dask_cluster_survives_a_poisonous_run(tmp_path, no_process_left):
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    work = Square(raises=(3,), kills=(5,), folder=str(tmp_path))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        found = outcomes_of(DaskExecutor(cluster.scheduler_address), work, 8)
    check_squares(found, but=(3, 5))
    assert (found[3].state, found[5].state) == ("failed", "killed")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("proceses", {}, "unknown executor.*did you mean 'processes'"),
        ("serial", {"workers": 2}, "number of processes"),
        ("dask", {"scheduler": "tcp://a:1", "workers": 2}, "number of processes"),
        ("processes", {"scheduler": "tcp://a:1"}, "a scheduler needs executor dask"),
        ("dask", {"scheduler": "tcp://a:1", "timeout": 1}, "this executor does not support a time limit"),
        ("dask", {}, "executor dask needs a scheduler"),
        ("auto", {"timeout": 0}, "time limit out of range; found 0"),
        ("auto", {"workers": 0}, "number of processes out of range"),
        ("processes", {"workers": 99_999_999_999_999_999_999}, "too many processes.*at most"),
        ("dask", {"workers": 100_000}, "too many processes.*at most"),
    ],
)
def test_options_that_do_not_fit(name, options, message):
    with pytest.raises(InputError, match=message):
        executor_named(name, **options)


@pytest.mark.deep
def test_workers_do_not_mind_an_interrupt_that_is_meant_for_their_starter(monkeypatch):
    """Workers are in a separate session and ignore the signal as well."""
    from reidsim.engine.batch import executors

    started = []
    start = executors.subprocess.Popen
    monkeypatch.setattr(executors.subprocess, "Popen", lambda *a, **k: started.append(start(*a, **k)) or started[-1])
    groups = ProcessExecutor(1).execute(Square(), tasks(40))
    first = next(groups)
    os.kill(started[0].pid, signal.SIGINT)
    rest = [outcome for group in groups for outcome in group]
    assert len(first) + len(rest) == 40
    assert len(started) == 1
