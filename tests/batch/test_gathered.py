"""Tables of runs, gathered as runs end: the same as from lists of all values, in a fraction of the memory."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.engine.batch import gathered as module
from reidsim.engine.batch.gathered import Gathered
from reidsim.engine.batch.tasks import COMPLETE, FAILED, RunOutcome, RunTask

VALUES = {
    "float": st.floats(allow_infinity=True),
    "int": st.integers(-(2**63), 2**63 - 1),
    "large": st.integers(0, 2**70),
    "bool": st.booleans(),
    "text": st.sampled_from(["a", "b", "", "é"]),
    "none": st.none(),
    "list": st.lists(st.integers(0, 3), max_size=2),
}


@st.composite
def outcomes(draw):
    kinds = {name: draw(st.lists(st.sampled_from([*VALUES]), min_size=1, max_size=2)) for name in "uvw"}
    places = draw(st.permutations([(point, number) for point in range(draw(st.integers(1, 4))) for number in range(2)]))
    found = []
    for point, number in places:
        tables = {}
        if good := draw(st.booleans()):
            for table in draw(st.permutations(["runs", *draw(st.sets(st.sampled_from(["rounds", "more"])))])):
                height = draw(st.integers(1 if table == "runs" else 0, 3))
                # Not every run has every column, nor in the same order.
                names = draw(st.permutations(["u", *draw(st.sets(st.sampled_from("vw")))]))
                tables[table] = {
                    name: [draw(VALUES[draw(st.sampled_from(kinds[name]))]) for _ in range(height)] for name in names
                }
        task = RunTask(f"{point}-{number}", point, number, number, {})
        found.append(RunOutcome(task, COMPLETE if good else FAILED, tables))
    return found


def plain_tables(found):
    """Return the same tables, from lists."""
    ordered = sorted(found, key=lambda outcome: (outcome.task.point, outcome.task.replication))
    tables = {}
    for name in dict.fromkeys(["runs", *(table for outcome in ordered for table in outcome.tables)]):
        parts = [outcome.tables.get(name, {}) for outcome in ordered]
        heights = [len(next(iter(part.values()), [])) for part in parts]
        if name == "runs":
            heights = [height or (outcome.state != COMPLETE) for height, outcome in zip(heights, ordered, strict=True)]
        columns = {
            key: pd.Series([getattr(outcome.task, key) for outcome, height in zip(ordered, heights, strict=True)
                            for _ in range(height)], dtype="int64")
            for key in ("point", "replication")
        }  # fmt: skip
        for column in dict.fromkeys(column for part in parts for column in part):
            values = [value for part, height in zip(parts, heights, strict=True)
                      for value in part.get(column, [None] * height)]  # fmt: skip
            columns[column] = typed(values)
        tables[name] = pd.DataFrame(columns)
    return tables


def typed(values):
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int, float}:
        return pd.Series(values, dtype="int64" if kinds == {int} and None not in values else "float64")
    if kinds == {bool} and None not in values:
        return pd.Series(values, dtype="bool")
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")


@examples(60)
@given(found=outcomes(), block=st.sampled_from([1, 3, 500]))
def test_columns_are_those_of_all_values_together(found, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        gathered = Gathered(found)
        try:
            plain = plain_tables(found)
        except OverflowError:
            with pytest.raises(OverflowError):
                list(gathered.tables())
            return
        tables = {name: table for name, table, _ in gathered.tables()}
        numbers = next(gathered.tables())[2]
    assert [*tables] == [*plain]
    for name, table in plain.items():
        pd.testing.assert_frame_equal(tables[name], table, check_exact=True)
    told = [gathered[number].task for number in numbers]
    assert [(task.point, task.replication) for task in told] == [
        *map(tuple, plain["runs"][["point", "replication"]].to_numpy())
    ]
    assert all(outcome.tables == {} for outcome in gathered)


def test_a_run_that_was_done_once_stands_for_all_of_its_key():
    tables = {"runs": {"policy": ["a", "b"], "payoff": [1.5, 2.5]}}
    done = Gathered([RunOutcome(RunTask("x", 0, 0, 1, {}), COMPLETE, tables)])
    twice = done.of_tasks([RunTask("x", 1, 0, 1, {}), RunTask("x", 0, 0, 1, {})])
    ((_, runs, numbers),) = twice.tables()
    assert runs["point"].tolist() == [0, 0, 1, 1]
    assert numbers.tolist() == [1, 1, 0, 0]
    assert runs["payoff"].tolist() == [1.5, 2.5] * 2


def test_runs_take_little_more_than_their_numbers():
    """Twenty numbers and a name, of two policies: 368 bytes of numbers in each run."""
    rng, n = np.random.default_rng(1), 1_000
    tracemalloc.start()
    gathered = Gathered()
    for point in range(n):
        drawn = {f"measure {column}": rng.random(2).tolist() for column in range(20)}
        names = {"policy": ["".join(("ba", "sic")), "".join(("no-", "attack"))]}
        gathered.add(RunOutcome(RunTask(str(point), point, 0, 1, {}), COMPLETE, {"runs": {**names, **drawn}}))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    of_outcome = sum(map(sys.getsizeof, (gathered[0], gathered[0].task, gathered[0].task.key, {}, 10**6)))
    assert kept / n < 368 + of_outcome + 250
