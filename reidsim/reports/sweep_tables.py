"""Lay out one measure of a sweep as terminal tables of 80 characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from reidsim.core.measures import Measure
from reidsim.reports.terminal_table import WIDTH, columns_that_fit, text_with_interval, titled_table
from reidsim.scenarios.design_schema import SweepSection, rows_along, value_labels
from reidsim.validation import validated

# Width of the rules between columns, and of the outer edges.
_RULE = 3
_EDGES = 1
# Maximum number of points printed per block.
_MOST_POINTS = 20
# Maximum number of characters of a key's value.
_LONGEST = 24


@dataclass(frozen=True)
class _Block:
    """Block of points: values of keys, and cell texts by policy.

    `means` holds texts without confidence interval, `intervals` texts with it.
    """

    keys: dict[str, list[str]]
    means: pd.DataFrame
    intervals: pd.DataFrame


def sweep_tables(
    measure: Measure, means: pd.DataFrame, halves: pd.DataFrame, content: Mapping[str, Any], title: str
) -> Iterator[Table]:
    """Lay out a measure of a sweep as one or several tables.

    If keys vary one at a time, each group of keys has a block; otherwise, one block has all keys. A block has one row
    per point, for its first 20 points, and one column per policy. If the policies do not fit side by side, a block with
    one key has one row per policy instead, with values of the key spread evenly from the first to the last, as many as
    fit, and without intervals; a block with several keys is split into tables with some of the policies each.

    Parameters
    ----------
    measure : Measure
    means, halves : DataFrame
        The measure and the half-widths of its confidence intervals, indexed by the swept keys, with one column per
        policy (or per size of the release and adversary).
    content : mapping
        The scenario as plain data.
    title : str
        Title of the first table.

    Yields
    ------
    Table
        Tables in order. The last one has the caption, which counts the points beyond the first 20 of each block.
    """
    repeated = not halves.isna().all(axis=None)
    tables: list[Table] = []
    left = 0
    for block in _blocks(measure, means, halves, content):
        heading = measure.label if len(block.keys) > 1 else f"{measure.label} by {next(iter(block.keys))}"
        left += max(0, len(block.means) - _MOST_POINTS)
        for columns, rows in _laid_out(block):
            shown = heading if tables else f"{title}\n{heading}"
            tables.append(titled_table(shown, columns, left=list(block.keys), rows=rows))
    caption = "means, with the half-width of their 95% interval if there is space; " if repeated else ""
    tables[-1].caption = f"{caption}other measures in statistics.parquet" + (
        f", with {left:,} more points" if left else ""
    )
    yield from tables


def key_names(keys: Sequence[str]) -> dict[str, str]:
    """Return the shortest unambiguous ending of each key path.

    Parameters
    ----------
    keys : sequence of str
        Key paths, such as ``"economics.loss"``.
    """
    names = {}
    for key in keys:
        parts = key.split(".")
        ends = [".".join(parts[start:]) for start in reversed(range(len(parts)))]
        alone = (end for end in ends if sum(f".{other}".endswith(f".{end}") for other in keys) == 1)
        names[key] = next(alone, key)
    return names


def _blocks(
    measure: Measure, means: pd.DataFrame, halves: pd.DataFrame, content: Mapping[str, Any]
) -> Iterator[_Block]:
    """Yield the points along each group of keys that vary together.

    Keys that are constant within a block are not part of it.
    """
    keys = [str(name) for name in means.index.names]
    policies = [", ".join(map(str, name if isinstance(name, tuple) else (name,))) for name in means.columns]
    table = means.index.to_frame(index=False)
    texts, bare = (
        pd.DataFrame(
            [
                [text_with_interval(measure, *pair) for pair in zip(*row, strict=True)]
                for row in zip(means.to_numpy(), of.to_numpy(), strict=True)
            ],
            columns=policies,
        )
        for of in (halves, halves * np.nan)
    )
    in_turn = next((axis for axis in validated(SweepSection, content["sweep"], "sweep").axes if len(axis) > 1), ())
    names = key_names(keys)
    for group in in_turn or [tuple(keys)]:
        others = {key for other in in_turn if other != group for key in other}
        rows = rows_along(table, in_turn, group, content)
        own = [key for key in keys if key not in others]
        if in_turn and pd.api.types.is_numeric_dtype(rows[group[0]].dtype):
            # The scenario's own value is a point of the first key only; other keys stay in their order.
            places = [np.asarray(pd.factorize(rows[key])[0]) for key in reversed(own) if key not in group]
            rows = rows.iloc[np.lexsort([rows[group[0]].to_numpy(), *places])]
        varying = [key for key in own if len(rows[key].unique()) > 1] or own[:1]
        labels = dict(_values(rows[key], names[key]) for key in varying)
        yield _Block(labels, bare.loc[rows.index], texts.loc[rows.index])


def _values(column: pd.Series[Any], name: str) -> tuple[str, list[str]]:
    """Return a key and its values as text, truncated to leave room for the measure."""
    if pd.api.types.is_float_dtype(column.dtype):
        return name, [f"{value:,.10g}" for value in column]
    if pd.api.types.is_integer_dtype(column.dtype):
        return name, [f"{value:,}" for value in column]
    texts, what = value_labels(column)
    return name + what, [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in texts]


def _laid_out(block: _Block) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield columns and rows of tables at most 80 characters wide, where possible."""
    columns = {name: [name, *block.intervals[name].iloc[:_MOST_POINTS]] for name in block.intervals}
    keys = [[name, *values[:_MOST_POINTS]] for name, values in block.keys.items()]
    texts = list(columns.values())
    if len(keys) == 1 and sum(map(_width, [*keys, *texts])) > WIDTH - _EDGES:
        yield _turned(block)
        return
    for shown in columns_that_fit(sum(map(_width, keys)) - _RULE, [max(map(len, text)) for text in texts]):
        yield _table([*keys, *texts[shown]])


def _turned(block: _Block) -> tuple[list[str], list[list[str]]]:
    """Return a table with one row per policy and as many value columns as fit.

    The values are spread evenly from the first to the last.
    """
    ((name, values),) = block.keys.items()
    policies = [name, *block.means.columns]
    every = [[value, *row] for value, row in zip(values, block.means.to_numpy().tolist(), strict=True)]
    chosen = every
    for shown in range(len(every), 1, -1):
        chosen = [every[place] for place in np.linspace(0, len(every) - 1, shown).round().astype(int)]
        if sum(map(_width, [policies, *chosen])) <= WIDTH - _EDGES:
            break
    return _table([policies, *chosen])


def _width(column: Sequence[str]) -> int:
    return _RULE + max(map(len, column))


def _table(columns: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the column headings and the rows."""
    heads, *rows = zip(*columns, strict=True)
    return list(heads), [list(row) for row in rows]
