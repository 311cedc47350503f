"""Which runs of a sweep lie on a line: one key changes, the others stay as in the scenario."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reidsim.overrides import value_at
from reidsim.scenarios.design_schema import SweepSection


def is_own(column: pd.Series[Any], content: Mapping[str, Any], key: str) -> pd.Series[bool]:
    """Tell where a key has the value that the scenario itself gives it."""
    value = value_at(content, key)
    # Tables hold as JSON what is neither number nor text, and numbers among text.
    is_text = not pd.api.types.is_numeric_dtype(column.dtype)
    return column == (json.dumps(value, default=str) if is_text and not isinstance(value, str) else value)


def lines_of_runs(runs: pd.DataFrame, sweep: SweepSection, content: Mapping[str, Any]) -> pd.DataFrame:
    """Return the runs on each line of a sweep, one line below the other.

    Lines follow the axis with most values; of keys that change in turn there is a line for each. What other axes are
    at tells lines along the same key apart.

    Parameters
    ----------
    runs : DataFrame
        One row per run and policy, with a column for each key.
    sweep : SweepSection
    content : mapping
        The scenario as plain data.

    Returns
    -------
    DataFrame
        The rows of `runs` that ended well, with columns ``line``, and ``value`` as text: of lists their length, where
        that tells them apart.
    """
    runs = runs[runs["state"] == "complete"]
    sizes = {axis: sum(sweep.values[group[0]].size for group in axis) for axis in sweep.axes}
    longest = max(sweep.axes, key=lambda axis: sizes[axis])
    others = [key for axis in sweep.axes if axis != longest for group in axis for key in group]
    parts = []
    for group in longest:
        rows = runs
        for other in itertools.chain.from_iterable(own for own in longest if own != group):
            rows = rows[is_own(rows[other], content, other)]
        settings = ["".join(f", {_last(key)} {value}" for key, value in zip(others, row, strict=True))
                    for row in rows[others].itertuples(index=False)]  # fmt: skip
        labels, what = _labels(rows[group[0]])
        part = rows.assign(line=[f"{group[0]}{what}{setting}" for setting in settings], value=labels)
        numbers = pd.to_numeric(part["value"], errors="coerce")
        parts.append(part if numbers.isna().any() else part.iloc[np.argsort(numbers.to_numpy(), kind="stable")])
    return pd.concat(parts, ignore_index=True)


def _labels(column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """Return values as text, and what that text is if not the value itself."""
    texts = column.astype(str)
    lists = {text: json.loads(text) for text in texts.unique() if text.startswith("[")}
    lengths = {text: str(len(entries)) for text, entries in lists.items()}
    if len(set(lengths.values())) == texts.nunique():
        return texts.map(lengths), " (how many)"
    return texts, ""


def _last(key: str) -> str:
    return key.rpartition(".")[2]
