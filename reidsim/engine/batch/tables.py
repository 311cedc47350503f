"""The tables of a batch, put together from what came of its runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.design import Design, scenario_columns
from reidsim.engine.batch.gathered import Gathered
from reidsim.engine.batch.one_run import GROUP_COLUMNS
from reidsim.engine.batch.tasks import RunOutcome

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
    gathered = outcomes if isinstance(outcomes, Gathered) else Gathered(outcomes)
    found = gathered.tables()
    _, runs, number = next(found)
    runs.insert(0, "scenario", name)
    for column, of_each in _per_run(gathered).items():
        runs[column] = of_each[number]
    measures = [column for column in runs if column not in (*GROUP_COLUMNS, *_LAST, "scenario", "point", "replication")]
    groups = [column for column in GROUP_COLUMNS if column in runs]
    runs = runs[["scenario", "point", "replication", *groups, *measures, *_LAST]]
    at_points = scenario_columns(design)
    values = at_points.iloc[runs["point"].to_numpy()].reset_index(drop=True)
    return {"runs": pd.concat([runs, values], axis=1), **{table: rows for table, rows, _ in found}}


def _per_run(outcomes: Gathered) -> dict[str, NDArray[Any]]:
    text = {
        "state": [outcome.state for outcome in outcomes],
        "error": [outcome.error for outcome in outcomes],
        "run": [outcome.task.key for outcome in outcomes],
    }
    columns: dict[str, NDArray[Any]] = {name: np.array(values, dtype=object) for name, values in text.items()}
    columns["seed"] = np.array([outcome.task.seed for outcome in outcomes])
    return columns
