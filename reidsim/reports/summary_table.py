"""Lay out the measures of a run, a batch or a sweep as terminal tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.batch.statistics import BatchResult
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.terminal_table import WIDTH, columns_that_fit, text_with_interval, titled_table
from reidsim.scenarios.design_schema import SweepSection, rows_along, value_labels
from reidsim.scenarios.kind import GAIN, LOSS, gain_goes_with_loss
from reidsim.scenarios.people import counted_units
from reidsim.validation import validated

_SHORTEST_VALUE, _SHORTEST_INTERVAL = 8, 17
# Width of the rules between columns, and of the outer edges.
_RULE, _EDGES = 3, 1
# Maximum number of points printed per block of a sweep, and of characters of a key's value.
_MOST_POINTS, _LONGEST = 20, 24


def summary_tables(
    summary: pd.DataFrame,
    title: str,
    measures: Iterable[Measure],
    *,
    half_widths: pd.DataFrame | None = None,
    units: tuple[str, str] = ("record", "records"),
) -> Iterator[Table]:
    """Lay out the measures of a run, with as many policies per table as fit.

    A table has one row per measure and one column per policy.

    Parameters
    ----------
    summary : DataFrame
        Measures indexed by policy, or by size of the release and adversary.
    title : str
    measures : iterable of Measure
        Measures of the scenario's kind; other columns are not shown.
    half_widths : DataFrame, optional
        Half-widths of confidence intervals, with the same shape as `summary`; shown next to the values.
    units : tuple of str
        Unit of counts, singular and plural.
    """
    shown = measures_among(measures, summary.columns)
    halves = pd.DataFrame(np.nan, summary.index, list(shown)) if half_widths is None else half_widths
    if summary.index.nlevels > 1:
        for size, rows in summary.groupby(level=0, sort=False, observed=True):
            own = None if half_widths is None else half_widths.loc[rows.index].droplevel(0)
            of_size = f"{title}, {size:,} records"
            yield from summary_tables(rows.droplevel(0), of_size, shown.values(), half_widths=own, units=units)
        return
    shortest = _SHORTEST_VALUE if half_widths is None else _SHORTEST_INTERVAL
    caption = f"means over all {units[1]}" + (f"; payoffs per {units[0]}" if PUBLISHER_PAYOFF.column in summary else "")
    caption += "" if halves.isna().all(axis=None) else "\n± half-width of the 95% confidence interval"
    longest = max((len(measure.label) for measure in shown.values()), default=0)
    for some in columns_that_fit(longest, (max(len(str(policy)), shortest) for policy in summary.index)):
        table = [
            [measure.label, *_texts(measure, summary[column].iloc[some], halves[column].iloc[some])]
            for column, measure in shown.items()
        ]
        yield titled_table(title, ["", *summary.index[some]], caption, rows=table)


def _texts(measure: Measure, values: Iterable[float], halves: Iterable[float]) -> list[str]:
    return [text_with_interval(measure, value, half) for value, half in zip(values, halves, strict=True)]


def batch_tables(result: BatchResult, title: str) -> Iterator[Table]:
    """Lay out the means of a batch with confidence intervals.

    Of a sweep, only the first measure is shown; see `sweep_tables`. There is no table if no run is complete.
    """
    found, content, swept = result.statistics, result.manifest["content"], list(result.design.swept)
    if found.empty:
        return
    groups = [column for column in ("policy", "records", "knowledge") if column in found]
    measures, keys = measures_among(result.measures, found["measure"].unique()), [*swept, *groups]
    found = found.assign(half_width=(found["high"] - found["low"]) / 2)
    points = found.set_index(keys).index.unique()
    means, halves = (
        found.pivot(index=keys, columns="measure", values=value)[list(measures)].loc[points]
        for value in ("mean", "half_width")
    )
    if not swept:
        units = counted_units(content)
        yield from summary_tables(means, title, measures.values(), half_widths=halves, units=units)
        return
    first = next(iter(measures))
    wide, intervals = (of[first].unstack(groups, sort=False) for of in (means, halves))
    tables = list(sweep_tables(measures[first], wide, intervals, content, title))
    if gain_goes_with_loss(content, swept):
        tables[-1].caption = f"{tables[-1].caption}\n{GAIN} is not set: the gain equals {LOSS} at each point"
    yield from tables


def sweep_tables(
    measure: Measure, means: pd.DataFrame, halves: pd.DataFrame, content: Mapping[str, Any], title: str
) -> Iterator[Table]:
    """Lay out a measure of a sweep as one or several tables of 80 characters.

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
    policies = [", ".join(map(str, name if isinstance(name, tuple) else (name,))) for name in means.columns]
    bare, texts = (
        pd.DataFrame([_texts(measure, *row) for row in zip(means.to_numpy(), of.to_numpy(), strict=True)])
        for of in (halves * np.nan, halves)
    )
    bare.columns = texts.columns = pd.Index(policies)
    tables: list[Table] = []
    left = 0
    for keys, rows in _blocks(means.index.to_frame(index=False), content):
        heading = measure.label if len(keys) > 1 else f"{measure.label} by {next(iter(keys))}"
        left += max(0, len(rows) - _MOST_POINTS)
        for heads, *lines in _tables(keys, bare.loc[rows], texts.loc[rows]):
            shown = heading if tables else f"{title}\n{heading}"
            tables.append(titled_table(shown, heads, left=list(keys), rows=lines))
    more = f", with {left:,} more points" if left else ""
    words = "means, with the half-width of their 95% interval if there is space; "
    repeated = "" if halves.isna().all(axis=None) else words
    tables[-1].caption = f"{repeated}other measures in statistics.parquet{more}"
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
        ends = (".".join(parts[start:]) for start in reversed(range(len(parts))))
        names[key] = next((end for end in ends if sum(f".{other}".endswith(f".{end}") for other in keys) == 1), key)
    return names


def _blocks(table: pd.DataFrame, content: Mapping[str, Any]) -> Iterator[tuple[dict[str, list[str]], pd.Index[Any]]]:
    """Yield values of keys, and positions, of the points along each group of keys.

    Keys that are constant within a block are not part of it.
    """
    keys = [str(name) for name in table.columns]
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
        yield dict(_values(rows[key], names[key]) for key in varying), rows.index


def _values(column: pd.Series[Any], name: str) -> tuple[str, list[str]]:
    """Return a key and its values as text, truncated to leave room for the measure."""
    if pd.api.types.is_float_dtype(column.dtype):
        return name, [f"{value:,.10g}" for value in column]
    if pd.api.types.is_integer_dtype(column.dtype):
        return name, [f"{value:,}" for value in column]
    texts, what = value_labels(column)
    return name + what, [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in texts]


def _tables(keys: Mapping[str, list[str]], bare: pd.DataFrame, texts: pd.DataFrame) -> Iterator[list[list[str]]]:
    """Yield tables at most 80 characters wide, where possible, as rows of texts; the first row has the headings.

    `bare` has the texts without confidence interval.
    """
    rows = [[*heads, *cells] for heads, cells in zip(zip(*keys.values(), strict=True), texts.to_numpy(), strict=True)]
    shown = [[*keys, *texts], *rows[:_MOST_POINTS]]
    n_keys, widths = len(keys), _widths(shown)
    if n_keys > 1 or sum(widths) <= WIDTH - _EDGES:
        for some in columns_that_fit(sum(widths[:n_keys]) - _RULE, [width - _RULE for width in widths[n_keys:]]):
            yield [[*row[:n_keys], *row[n_keys:][some]] for row in shown]
        return
    ((name, values),) = keys.items()
    columns = [[value, *row] for value, row in zip(values, bare.to_numpy().tolist(), strict=True)]
    for number in range(len(columns), 0, -1):
        chosen = [columns[place] for place in np.linspace(0, len(columns) - 1, number).round().astype(int)]
        shown = list(map(list, zip([name, *bare], *chosen, strict=True)))
        if number <= 2 or sum(_widths(shown)) <= WIDTH - _EDGES:
            break
    yield shown


def _widths(rows: Iterable[Sequence[str]]) -> list[int]:
    """Return the width of each column of a table, with its rule."""
    return [_RULE + max(map(len, column)) for column in zip(*rows, strict=True)]
