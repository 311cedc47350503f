"""Select the points of a sweep along one group of keys, and format values as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reidsim.overrides import value_at


def rows_along(
    table: pd.DataFrame, in_turn: Sequence[Sequence[str]], group: Sequence[str], content: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the rows of a sweep along one group of keys that change one at a time.

    In these rows, the keys of all other groups in `in_turn` have the scenario's own values.

    Parameters
    ----------
    table : DataFrame
        One row per point, one column per key.
    in_turn : sequence of sequence of str
        Groups of keys that change one at a time.
    group : sequence of str
        The group in `in_turn` along which rows are selected.
    content : mapping
        The scenario as plain data.
    """
    for key in (key for other in in_turn if list(other) != list(group) for key in other):
        own = value_at(content, key)
        # The table stores values other than text as JSON, unless the whole column is numeric.
        if not pd.api.types.is_numeric_dtype(table[key].dtype) and not isinstance(own, str):
            own = json.dumps(own, default=str)
        table = table[table[key] == own]
    return table


def value_labels(column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """Return the values of a key as text, and a suffix for the key's name.

    If all values are lists of different lengths, the text is the length and the suffix is " (how many)". Otherwise the
    suffix is empty and the text is the value. Values that are sections of the scenario are shown as "given", with a
    number if there are several.
    """
    texts = column.astype(str)
    tables = [text for text in texts.unique() if text.startswith("{")]
    texts = texts.replace({text: f"given {n}" if len(tables) > 1 else "given" for n, text in enumerate(tables, 1)})
    lists = {text: json.loads(text) for text in texts.unique() if text.startswith("[")}
    lengths = {text: str(len(entries)) for text, entries in lists.items()}
    if len(set(lengths.values())) == texts.nunique():
        return texts.map(lengths), " (how many)"
    return texts, ""
