"""The runner and its journal: no completed run is lost, and faults leave no trace."""

import contextlib
import random
import resource
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import FAILED, Design, attempt
from reidsim.engine.batch.executors import SerialExecutor
from reidsim.engine.batch.folder import JOURNAL, damaged_lines, only_writer, read_journal
from reidsim.engine.batch.runner import run_tasks
from reidsim.engine.batch.statistics import batch_tables
from reidsim.engine.results import write_parquet

from fake_runs import Square, tasks  # isort: skip


class Shuffled:
    """Executes runs in random order and random groups, until it is interrupted."""

    def __init__(self, seed, stop_after):
        self.random, self.stop_after = random.Random(seed), stop_after  # noqa: S311 - order of runs

    def execute(self, work, tasks):
        left = list(tasks)
        self.random.shuffle(left)
        for number in range(len(left)):
            if number == self.stop_after:
                raise KeyboardInterrupt
            yield [attempt(work, left.pop()) for _ in range(min(len(left), self.random.randint(0, 3)))]
            if not left:
                return
        yield [attempt(work, task) for task in left]


def bytes_of(outcomes, folder):
    design = Design(pd.DataFrame(index=range(len(outcomes))))
    folder.mkdir(exist_ok=True)
    write_parquet(folder / "runs.parquet", batch_tables("fake", design, outcomes)["runs"])
    return (folder / "runs.parquet").read_bytes()


@examples(25)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 6), max_size=4))
def test_tables_are_the_same_bytes_however_often_a_batch_is_interrupted(tmp_path_factory, seed, stops):
    folder = tmp_path_factory.mktemp("batch")
    work = Square(raises=(2, 5))
    plain = bytes_of(run_tasks(work, tasks(12), SerialExecutor()), folder / "plain")
    for number, stop in enumerate(stops):
        with contextlib.suppress(KeyboardInterrupt):
            run_tasks(work, tasks(12), Shuffled(seed + number, stop), folder=folder)
    done_before = len(list(read_journal(folder / JOURNAL, tasks(12))))
    counted = Counting(work)
    outcomes = run_tasks(counted, tasks(12), Shuffled(seed, None), folder=folder)
    assert counted.runs == 12 - done_before
    assert bytes_of(outcomes, folder / "resumed") == plain


class Counting:
    def __init__(self, work):
        self.work, self.runs = work, 0

    def __call__(self, task):
        self.runs += 1
        return self.work(task)


def test_failed_runs_are_done_again_only_if_asked_for(tmp_path):
    run_tasks(Square(raises=(1, 2)), tasks(4), SerialExecutor(), folder=tmp_path)
    mended = Counting(Square())
    assert [o.state for o in run_tasks(mended, tasks(4), SerialExecutor(), folder=tmp_path)].count(FAILED) == 2
    assert mended.runs == 0
    outcomes = run_tasks(mended, tasks(4), SerialExecutor(), folder=tmp_path, again=(FAILED,))
    assert {outcome.state for outcome in outcomes} == {"complete"}
    assert mended.runs == 2
    # The last entry of a run counts.
    assert {o.state for o in run_tasks(mended, tasks(4), SerialExecutor(), folder=tmp_path)} == {"complete"}


def test_equal_runs_are_done_once():
    twice = [*tasks(2), *(task.__class__(task.key, task.point + 2, 0, task.seed, {}) for task in tasks(2))]
    work = Counting(Square())
    outcomes = run_tasks(work, twice, SerialExecutor())
    assert work.runs == 2
    assert [outcome.task.point for outcome in outcomes] == [0, 1, 2, 3]


@pytest.mark.parametrize("damage", [b"null\n", b"{}\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n"])
def test_a_damaged_line_costs_its_own_run_alone(tmp_path, damage):
    run_tasks(Square(), tasks(6), SerialExecutor(), folder=tmp_path)
    path = tmp_path / JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], damage, *lines[3:]]))
    work = Counting(Square())
    outcomes = run_tasks(work, tasks(6), SerialExecutor(), folder=tmp_path)
    assert work.runs == damaged_lines(path) == 1
    assert bytes_of(outcomes, tmp_path / "mended") == bytes_of(
        run_tasks(Square(), tasks(6), SerialExecutor()), tmp_path
    )


@examples(50)
@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=3),
    st.floats(0, 1) | st.just(1.0),
)
def test_no_changed_byte_of_a_journal_changes_a_table(tmp_path_factory, changes, kept):
    folder = tmp_path_factory.mktemp("batch")
    plain = bytes_of(run_tasks(Square(), tasks(5), SerialExecutor(), folder=folder), folder)
    path = folder / JOURNAL
    journal = bytearray(path.read_bytes())
    for place, change in changes:
        journal[int(place * len(journal))] ^= change
    path.write_bytes(journal[: int(kept * len(journal))])
    assert bytes_of(run_tasks(Square(), tasks(5), SerialExecutor(), folder=folder), folder / "again") == plain


def test_a_reader_sees_whole_runs_only(tmp_path):
    run_tasks(Square(), tasks(3), SerialExecutor(), folder=tmp_path)
    path = tmp_path / JOURNAL
    lines = path.read_bytes().splitlines(keepends=True)
    for length in range(len(lines[0]) + len(lines[1]) + 1):
        path.write_bytes(b"".join(lines)[:length])
        found = list(read_journal(path, tasks(3)))
        assert len(found) == (length >= len(lines[0])) + (length >= len(lines[0]) + len(lines[1]))


def test_each_place_is_read_once_though_its_run_was_done_under_two_keys(tmp_path):
    """The order of the scenario's names was changed, and later changed back."""
    old = [replace(task, key=f"old {task.key}") for task in tasks(3)]
    run_tasks(Square(), old, SerialExecutor(), folder=tmp_path)
    run_tasks(Square(raises=(1,)), tasks(2), SerialExecutor(), folder=tmp_path)
    for planned, states in ((tasks(3), ["complete", "failed", "complete"]), (old, ["complete"] * 3)):
        found = sorted(read_journal(tmp_path / JOURNAL, planned, by_place=True), key=lambda outcome: outcome.task.point)
        assert [outcome.task.point for outcome in found] == [0, 1, 2]
        assert [outcome.state for outcome in found] == states


def test_a_full_disk_stops_the_batch_which_can_go_on(tmp_path):
    """A file size limit simulates a full disk; the system reports both to the writer."""
    plain = bytes_of(run_tasks(Square(), tasks(200), Grouped()), tmp_path / "plain")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, hard))
    try:
        with pytest.raises(InputError, match=r"the disk is full.*--resume"):
            run_tasks(Square(), tasks(200), Grouped(), folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = len((tmp_path / JOURNAL).read_bytes().splitlines())
    assert 0 < kept < 200
    assert (tmp_path / JOURNAL).read_bytes().endswith(b"\n")
    work = Counting(Square())
    assert bytes_of(run_tasks(work, tasks(200), Grouped(), folder=tmp_path), tmp_path / "resumed") == plain
    assert work.runs == 200 - kept


class Grouped:
    def execute(self, work, tasks):
        for start in range(0, len(tasks), 7):
            yield [attempt(work, task) for task in tasks[start : start + 7]]


def test_a_folder_has_one_writer(tmp_path):
    with only_writer(tmp_path), pytest.raises(InputError, match="another batch is writing"), only_writer(tmp_path):
        pass
    with only_writer(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.deep
def test_the_lock_ends_with_the_process_that_holds_it(tmp_path):
    code = "import sys, time; from pathlib import Path; from reidsim.engine.batch.folder import only_writer\n"
    code += f"with only_writer(Path({str(tmp_path)!r})): print('held', flush=True); time.sleep(3600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        try:
            with pytest.raises(InputError, match="another batch is writing"), only_writer(tmp_path):
                pass
        finally:
            holder.kill()
        holder.wait()
        with only_writer(tmp_path):
            pass
