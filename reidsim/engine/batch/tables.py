"""The tables of a batch, put together from what came of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.one_run import GROUP_COLUMNS
from reidsim.engine.batch.tasks import COMPLETE, RunOutcome

# How a run ended and which one it was, after its measures.
_LAST = ("state", "error", "seed", "run")


def batch_tables(name: str, design: Design, outcomes: Iterable[RunOutcome]) -> dict[str, pd.DataFrame]:
    """Return the tables of a batch, the same whatever the order in which its runs ended.

    Parameters
    ----------
    name : str
        Scenario.
    design : Design
    outcomes : iterable of RunOutcome

    Returns
    -------
    dict of str to DataFrame
        ``runs``: a row per run and policy (per run alone, without measures, if it did not end well), sorted by point,
        replication and the scenario's order of policies; and the other tables that runs of the game leave, with
        columns ``point`` and ``replication``.
    """
    ordered = sorted(outcomes, key=lambda outcome: (outcome.task.point, outcome.task.replication))
    runs = _stacked(ordered, "runs", whatever_ended=True)
    position = runs.pop("position").to_numpy(dtype=np.int64)
    runs.insert(0, "scenario", name)
    for column, values in _per_run(ordered).items():
        runs[column] = values[position]
    measures = [column for column in runs if column not in (*GROUP_COLUMNS, *_LAST, "scenario", "point", "replication")]
    groups = [column for column in GROUP_COLUMNS if column in runs]
    runs = runs[["scenario", "point", "replication", *groups, *measures, *_LAST]]
    at_points = scenario_columns(design)
    values = at_points.iloc[runs["point"].to_numpy()].reset_index(drop=True)
    tables = {"runs": pd.concat([runs, values], axis=1)}
    for table in dict.fromkeys(table for outcome in ordered for table in outcome.tables):
        if table != "runs":
            tables[table] = _stacked(ordered, table).drop(columns="position")
    return tables


def _stacked(outcomes: Sequence[RunOutcome], table: str, *, whatever_ended: bool = False) -> pd.DataFrame:
    """Put one table of all runs below each other, with the number of each row's outcome as `position`."""
    parts = [outcome.tables.get(table, {}) for outcome in outcomes]
    heights = [len(next(iter(part.values()), [])) for part in parts]
    if whatever_ended:
        heights = [height or int(outcome.state != COMPLETE) for height, outcome in zip(heights, outcomes, strict=True)]
    names = dict.fromkeys(name for part in parts for name in part)
    columns: dict[str, Any] = {}
    position = np.repeat(np.arange(len(parts)), heights)
    columns["position"] = position
    for key in ("point", "replication"):
        columns[key] = np.array([getattr(outcome.task, key) for outcome in outcomes], dtype=np.int64)[position]
    for name in names:
        values: list[Any] = []
        for part, height in zip(parts, heights, strict=True):
            values += part[name] if name in part else [None] * height
        columns[name] = _typed(values)
    return pd.DataFrame(columns)


def _typed(values: list[Any]) -> pd.Series[Any]:
    """Return a column whose type depends on its values alone, not on which of them come first."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int, float}:
        exact = kinds == {int} and None not in values
        return pd.Series(values, dtype="int64" if exact else "float64")
    if kinds == {bool} and None not in values:
        return pd.Series(values, dtype="bool")
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")


def _per_run(outcomes: Sequence[RunOutcome]) -> dict[str, Any]:
    text = {
        "state": [outcome.state for outcome in outcomes],
        "error": [outcome.error for outcome in outcomes],
        "run": [outcome.task.key for outcome in outcomes],
    }
    columns: dict[str, Any] = {name: np.array(values, dtype=object) for name, values in text.items()}
    columns["seed"] = np.array([outcome.task.seed for outcome in outcomes])
    return columns
