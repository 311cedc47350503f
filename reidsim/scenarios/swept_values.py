"""Points of a sweep as readers see them: those along one key, and values as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from reidsim.overrides import value_at


def rows_along(
    table: pd.DataFrame, in_turn: Sequence[Sequence[str]], group: Sequence[str], content: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the rows in which the keys that change in turn with a group have the scenario's own values.

    Parameters
    ----------
    table : DataFrame
        One column per key.
    in_turn : sequence of sequence of str
        Groups of keys of which one changes at a time.
    group : sequence of str
        One of them.
    content : mapping
        The scenario as plain data.
    """
    for key in (key for other in in_turn if list(other) != list(group) for key in other):
        own = value_at(content, key)
        # Tables hold as JSON what is neither number nor text, and numbers among text.
        if not pd.api.types.is_numeric_dtype(table[key].dtype) and not isinstance(own, str):
            own = json.dumps(own, default=str)
        table = table[table[key] == own]
    return table


def value_labels(column: pd.Series[Any]) -> tuple[pd.Series[Any], str]:
    """Return the values of a key as text, and what that text is if not the value itself.

    Lists are told by how much is in them, where that tells them apart; tables are "given".
    """
    texts = column.astype(str)
    tables = [text for text in texts.unique() if text.startswith("{")]
    texts = texts.replace({text: f"given {n}" if len(tables) > 1 else "given" for n, text in enumerate(tables, 1)})
    lists = {text: json.loads(text) for text in texts.unique() if text.startswith("[")}
    lengths = {text: str(len(entries)) for text, entries in lists.items()}
    if len(set(lengths.values())) == texts.nunique():
        return texts.map(lengths), " (how many)"
    return texts, ""
