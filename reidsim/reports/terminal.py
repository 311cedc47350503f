"""Lay out tables for the terminal: of any kind, and of the measures of a run, a batch or a sweep."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from reidsim.core.validation import validated
from reidsim.core.wording import Measure, measures_among
from reidsim.engine.batch.statistics import BatchResult
from reidsim.games.outcomes import PUBLISHER_PAYOFF
from reidsim.scenarios.kind import GAIN, LOSS, counted_units, gain_goes_with_loss
from reidsim.scenarios.schema import SweepSection, rows_along, value_labels

_SHORTEST_VALUE, _SHORTEST_INTERVAL = 8, 17
# Maximum number of points printed per block of a sweep, and of characters of a key's value.
_MOST_POINTS, _LONGEST = 20, 24
# Number of characters per line.
_WIDTH = 80


def columns_that_fit(first: int, widths: Iterable[int]) -> Iterator[slice]:
    """Yield slices of columns that fit on one line next to a first column.

    Slices are consecutive; a line has 80 characters. `first` and `widths` are numbers of characters of the first and of
    the other columns; slices refer to the others. A column that is too wide has a slice of its own. Without other
    columns, there is one empty slice.
    """
    start, used = 0, 0
    for position, width in enumerate(widths):
        # Three characters between columns, and two at each end.
        if first + used + 3 + width > _WIDTH - 4 and position > start:
            yield slice(start, position)
            start, used = position, 0
        used += 3 + width
    yield slice(start, None)


def titled_table(
    title: str,
    columns: Iterable[object],
    caption: str = "",
    left: Collection[str] = ("",),
    rows: Iterable[Iterable[str | Text]] = (),
) -> Table:
    """Return a terminal table with left-aligned text and right-aligned numbers.

    Parameters
    ----------
    title : str
        Title above the table.
    columns : iterable of object
        Headings of the columns.
    caption : str
        Text below the table.
    left : collection of str
        Headings of columns that hold text, in addition to the first column. By default, columns without a heading.
    rows : iterable of iterable of str or Text
        Cells of each row.
    """
    table = Table(title=Text(title), title_justify="left", caption=caption or None, caption_justify="left")
    for number, column in enumerate(map(str, columns)):
        table.add_column(column, justify="right" if number and column not in left else "left", no_wrap=not number)
    for row in rows:
        table.add_row(*row)
    return table


def table_of(title: str, table: pd.DataFrame, layout: str, caption: str = "", left: Collection[str] = ("",)) -> Table:
    """Return a terminal table of the rows of a DataFrame.

    See `texts_of` for the formats of cells. The layout has the heading and format of each column, such as ``"policy
    {policy} | loss {loss:,.2f}"``; a heading may be empty. For `title`, `caption` and `left`, see `titled_table`.
    """
    columns = [re.fullmatch(r"\s*([^{]*?)\s*({.*?)\s*", column) for column in layout.split("|")]
    headings, forms = zip(*(column.groups() for column in columns if column), strict=True)
    return titled_table(title, headings, caption, left, texts_of(table, *forms))


def text_with_interval(measure: Measure, value: float, half: float | None) -> str:
    """Return a value of a measure as text, with the half-width of its interval.

    An example is "0.12 ± 0.01". Without a half-width (None or NaN), or if the value is missing, the text is that of the
    value alone.
    """
    if pd.isna(value) or half is None or pd.isna(half):
        return measure.text(value)
    return f"{measure.text(value)} ± {measure.text(half)}"


class _Missing:
    """Missing value, which every format writes as a dash."""

    def __format__(self, form: str) -> str:
        return "-"


def texts_of(table: pd.DataFrame, *forms: str) -> list[list[str]]:
    """Return each row of a table as a list of texts; a missing value is a dash.

    `forms` are the formats of a row's cells, such as ``"{loss:,.2f}"``, with the names of columns of the table.
    """
    missing, texts = _Missing(), []
    for row in table.to_dict("records"):
        # Adding 0.0 turns a negative zero into zero.
        values = {name: value + 0.0 if isinstance(value, float) else value for name, value in row.items()}
        known = {str(name): missing if pd.isna(value) else value for name, value in values.items()}
        texts.append([form.format_map(known) for form in forms])
    return texts


def summary_tables(
    summary: pd.DataFrame,
    title: str,
    measures: Iterable[Measure],
    *,
    half_widths: pd.DataFrame | None = None,
    units: tuple[str, str] = ("record", "records"),
) -> Iterator[Table]:
    """Lay out the measures of a run; a table has as many policies as fit on a line.

    A table has one row per measure and one column per policy (in assessments, per adversary, with separate tables for
    each size of the release).

    Parameters
    ----------
    summary : DataFrame
        Measures indexed by policy, or by size of the release and adversary.
    title : str
        Title of each table.
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
    """Yield tables of the means of a batch, with confidence intervals.

    Half-widths of 95 % intervals are shown. Without a sweep, they are those of `summary_tables`. Of a sweep, only the
    first measure is shown; see `sweep_tables`. There is no table if no run is successful.
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
    tables = sweep_tables(measures[first], wide, intervals, content, title)
    if gain_goes_with_loss(content, swept):
        tables[-1].caption = f"{tables[-1].caption}\n{GAIN} is not set: the gain equals {LOSS} at each point"
    yield from tables


def sweep_tables(
    measure: Measure, means: pd.DataFrame, halves: pd.DataFrame, content: Mapping[str, Any], title: str
) -> list[Table]:
    """Lay out a measure of a sweep as one or several tables of 80 characters.

    If keys vary one at a time, each group of keys has a block; otherwise, one block has all keys. A block has one row
    per point, for its first 20 points, and one column per policy. If the policies do not fit side by side, the block is
    split into tables with some of the policies each.

    Parameters
    ----------
    measure : Measure
        Measure to show, for its label and number format.
    means, halves : DataFrame
        The measure and the half-widths of its confidence intervals, indexed by the swept keys, with one column per
        policy (or per size of the release and adversary).
    content : mapping
        The scenario as plain data.
    title : str
        Title of the first table.

    Returns
    -------
    list of Table
        Tables in order. The last one has the caption, which counts the points beyond the first 20 of each block.
    """
    policies = [", ".join(map(str, name if isinstance(name, tuple) else (name,))) for name in means.columns]
    cells = [_texts(measure, *row) for row in zip(means.to_numpy(), halves.to_numpy(), strict=True)]
    tables: list[Table] = []
    left = 0
    for keys, places in _blocks(means.index.to_frame(index=False), content):
        heading = measure.label if len(keys) > 1 else f"{measure.label} by {next(iter(keys))}"
        left += max(0, len(places) - _MOST_POINTS)
        values = list(zip(*keys.values(), strict=True))[:_MOST_POINTS]
        rows = [[*heads, *cells[place]] for heads, place in zip(values, places, strict=False)]
        widths = [max(map(len, column)) for column in zip([*keys, *policies], *rows, strict=True)]
        n_keys = len(keys)
        for some in columns_that_fit(sum(widths[:n_keys]) + 3 * (n_keys - 1), widths[n_keys:]):
            shown = [[*row[:n_keys], *row[n_keys:][some]] for row in rows]
            of_table = heading if tables else f"{title}\n{heading}"
            tables.append(titled_table(of_table, [*keys, *policies[some]], left=list(keys), rows=shown))
    more = f", with {left:,} more points" if left else ""
    repeated = "" if halves.isna().all(axis=None) else "means, with the half-width of their 95% interval; "
    tables[-1].caption = f"{repeated}other measures in statistics.parquet{more}"
    return tables


def _blocks(table: pd.DataFrame, content: Mapping[str, Any]) -> Iterator[tuple[dict[str, list[str]], list[int]]]:
    """Yield the blocks of a sweep: values of keys, and positions, of its points.

    Values are texts, by key path without ``economics.``. If keys vary one at a time, there is a block for each group of
    keys, else one for all keys. Keys that are constant within a block are not part of it, unless all are.

    Parameters
    ----------
    table : DataFrame
        Values of the swept keys, one row per point and one column per key.
    content : mapping
        The scenario as plain data.
    """
    keys = [str(name) for name in table.columns]
    in_turn = next((axis for axis in validated(SweepSection, content["sweep"], "sweep").axes if len(axis) > 1), ())
    for group in in_turn or [tuple(keys)]:
        others = {key for other in in_turn if other != group for key in other}
        rows = rows_along(table, in_turn, group, content)
        own = [key for key in keys if key not in others]
        if in_turn and pd.api.types.is_numeric_dtype(rows[group[0]].dtype):
            # The scenario's own value is a point of the first key only; other keys stay in their order.
            places = [np.asarray(pd.factorize(rows[key])[0]) for key in reversed(own) if key not in group]
            rows = rows.iloc[np.lexsort([rows[group[0]].to_numpy(), *places])]
        varying = [key for key in own if len(rows[key].unique()) > 1] or own[:1]
        yield dict(_values(rows[key], key.removeprefix("economics.")) for key in varying), rows.index.tolist()


def _values(column: pd.Series[Any], name: str) -> tuple[str, list[str]]:
    """Return a heading for a key, named `name`, and its values as texts.

    Values that are not numbers are truncated to 24 characters, to leave room for the measure.
    """
    if pd.api.types.is_float_dtype(column.dtype):
        return name, [f"{value:,.10g}" for value in column]
    if pd.api.types.is_integer_dtype(column.dtype):
        return name, [f"{value:,}" for value in column]
    texts, what = value_labels(column)
    return name + what, [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in texts]
