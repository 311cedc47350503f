"""Tables of a batch: sorted rows, column types by all values, failed runs."""

import pandas as pd

from reidsim.engine.batch.design import COMPLETE, FAILED, Design, RunOutcome, RunTask
from reidsim.engine.batch.statistics import batch_tables


def outcome(point, tables, state=COMPLETE):
    return RunOutcome(RunTask(f"key {point}", point, 0, 10 + point, {}), state, tables, "" if tables else "no luck")


def test_rows_are_sorted_and_a_failed_run_is_a_row_without_measures():
    first = {"runs": {"policy": ["a", "b"], "count": [1, 2], "payoff": [0.5, 2]}, "rounds": {"round": [1]}}
    last = {"runs": {"policy": ["a"], "payoff": [7], "count": [3], "late": [True]}, "rounds": {}}
    design = Design(pd.DataFrame({"economics.loss": [10, 20, 30]}))
    tables = batch_tables("town", design, [outcome(2, last), outcome(1, {}, FAILED), outcome(0, first)])
    runs = tables["runs"]
    assert runs.columns.tolist() == [
        "scenario", "point", "replication", "policy", "count", "payoff", "late", "state", "error", "seed", "run",
        "economics.loss",
    ]  # fmt: skip
    assert runs["point"].tolist() == [0, 0, 1, 2]
    assert runs["economics.loss"].tolist() == [10, 10, 20, 30]
    assert runs["state"].tolist() == ["complete", "complete", "failed", "complete"]
    assert runs["error"].tolist() == ["", "", "no luck", ""]
    assert runs["policy"].isna().tolist() == [False, False, True, False]
    # A missing value turns integers into floats, and truth values into text.
    assert (runs["count"].dtype, runs["payoff"].dtype) == ("float64", "float64")
    assert runs["late"].dropna().tolist() == ["True"]
    assert tables["rounds"].to_dict("list") == {"point": [0], "replication": [0], "round": [1]}


def test_whole_numbers_and_truth_values_keep_their_types():
    parts = [{"runs": {"policy": ["a"], "count": [n], "good": [n > 0]}} for n in (0, 1)]
    runs = batch_tables("town", Design(pd.DataFrame(index=range(2))), map(outcome, (0, 1), parts))["runs"]
    assert (runs["count"].dtype, runs["good"].dtype) == ("int64", "bool")
