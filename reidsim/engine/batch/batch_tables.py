"""Tables of a batch, combined from the tables of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.one_run import GROUP_COLUMNS
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome

# Columns that come after the measures in the table of runs.
_LAST = ("state", "error", "seed", "run")


def batch_tables(name: str, design: Design, outcomes: Iterable[RunOutcome]) -> dict[str, pd.DataFrame]:
    """Return the tables of a batch.

    They do not depend on the order in which the runs finished.

    Parameters
    ----------
    name : str
        Name of the scenario.
    design : Design
    outcomes : iterable of RunOutcome

    Returns
    -------
    dict of str to DataFrame
        ``runs`` has one row per run and policy, sorted by point, replication and the scenario's order of policies, and
        one row without measures for each failed run. Its columns are ``scenario``, ``point``, ``replication``, the
        group (such as ``policy``), the measures, ``state``, ``error``, ``seed``, ``run`` (key) and one column per key
        path of the points. The other tables hold the rows of all successful runs, with additional columns ``point`` and
        ``replication``.
    """
    ordered = sorted(outcomes, key=lambda outcome: (outcome.task.point, outcome.task.replication))
    names = dict.fromkeys(chain(("runs",), *(outcome.tables for outcome in ordered)))
    tables = {table: _stacked(table, ordered) for table in names}
    runs, number = tables["runs"]
    runs.insert(0, "scenario", name)
    of_run: dict[str, list[Any]] = {
        "state": [outcome.state for outcome in ordered],
        "error": [outcome.error for outcome in ordered],
        "run": [outcome.task.key for outcome in ordered],
    }
    for column, values in of_run.items():
        runs[column] = np.array(values, dtype=object)[number]
    runs["seed"] = np.array([outcome.task.seed for outcome in ordered])[number]
    measures = [column for column in runs if column not in (*GROUP_COLUMNS, *_LAST, "scenario", "point", "replication")]
    groups = [column for column in GROUP_COLUMNS if column in runs]
    runs = runs[["scenario", "point", "replication", *groups, *measures, *_LAST]]
    at_points = scenario_columns(design).iloc[runs["point"].to_numpy()].reset_index(drop=True)
    return {**{table: rows for table, (rows, _) in tables.items()}, "runs": pd.concat([runs, at_points], axis=1)}


def _stacked(table: str, outcomes: Sequence[RunOutcome]) -> tuple[pd.DataFrame, Any]:
    """Return one table with the rows of all runs, and the run of each row.

    The run is an index in `outcomes`. In table ``runs``, a failed run has one row of missing values.
    """
    parts = [outcome.tables.get(table, {}) for outcome in outcomes]
    heights = [len(next(iter(part.values()), ())) for part in parts]
    if table == "runs":
        heights = [height or int(each.state != COMPLETE) for height, each in zip(heights, outcomes, strict=True)]
    number = np.repeat(np.arange(len(outcomes)), heights)
    place = np.array([(each.task.point, each.task.replication) for each in outcomes], dtype=np.int64).reshape(-1, 2)
    columns: dict[str, Any] = {"point": place[number, 0], "replication": place[number, 1]}
    for column in dict.fromkeys(chain(*parts)):
        cells = (part.get(column) or [None] * height for part, height in zip(parts, heights, strict=True))
        columns[column] = _typed([*chain.from_iterable(cells)])
    return pd.DataFrame(columns), number


def _typed(values: list[Any]) -> pd.Series[Any]:
    """Return a column with a type that depends only on the types of its values.

    The type is int64, float64 (None becomes NaN), bool or text (None stays missing).
    """
    types = set(map(type, values))
    if types <= {int, float, type(None)}:
        return pd.Series(values, dtype=np.int64 if types == {int} else np.float64)
    if types == {bool}:
        return pd.Series(values, dtype=np.bool_)
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")
