"""Build tables for the terminal."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import pandas as pd
from rich.table import Table
from rich.text import Text

from reidsim.core.measures import Measure

# Number of characters per line.
WIDTH = 80


def columns_that_fit(first: int, widths: Iterable[int]) -> Iterator[slice]:
    """Yield slices of columns that fit on one line next to a first column.

    `first` and `widths` are numbers of characters of the first and of the other columns. A column that is too wide has
    a slice of its own.
    """
    # Three characters between columns, and two at each end.
    room = WIDTH - 4 - first
    start, used = 0, 0
    for position, width in enumerate(widths):
        if used + 3 + width > room and position > start:
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
    """Return a table with left-aligned text and right-aligned numbers.

    The first column and the columns in `left` hold text.
    """
    table = Table(title=Text(title), title_justify="left", caption=caption or None, caption_justify="left")
    for number, column in enumerate(map(str, columns)):
        table.add_column(column, justify="right" if number and column not in left else "left", no_wrap=not number)
    for row in rows:
        table.add_row(*row)
    return table


def table_of(title: str, table: pd.DataFrame, layout: str, caption: str = "", left: Collection[str] = ("",)) -> Table:
    """Return a table of the rows of a DataFrame; see `texts_of` for the formats of cells.

    The layout has the heading and format of each column, such as ``"policy {policy} | loss {loss:,.2f}"``.
    """
    columns = [re.fullmatch(r"\s*([^{]*?)\s*({.*?)\s*", column) for column in layout.split("|")]
    headings, forms = zip(*(column.groups() for column in columns if column), strict=True)
    return titled_table(title, headings, caption, left, texts_of(table, *forms))


def text_with_interval(measure: Measure, value: float, half: float | None) -> str:
    """Return a value of a measure, with the half-width of its interval if any."""
    if pd.isna(value) or half is None or pd.isna(half):
        return measure.text(value)
    return f"{measure.text(value)} ± {measure.text(half)}"


class _Missing:
    """Missing value, which every format writes as a dash."""

    def __format__(self, form: str) -> str:
        return "-"


def texts_of(table: pd.DataFrame, *forms: str) -> list[list[str]]:
    """Return each row of a table as cells of text; a missing value is a dash.

    `forms` are the formats of the cells, such as ``"{loss:,.2f}"``, with the names of columns.
    """
    missing, texts = _Missing(), []
    for row in table.to_dict("records"):
        # Adding 0.0 turns a negative zero into zero.
        values = {name: value + 0.0 if isinstance(value, float) else value for name, value in row.items()}
        known = {str(name): missing if pd.isna(value) else value for name, value in values.items()}
        texts.append([form.format_map(known) for form in forms])
    return texts
