"""The tables that cross-play prints, and its figures."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich.table import Table

from reidsim.engine.cross_play import CrossPlayResult
from reidsim.measures import Measure
from reidsim.reports.terminal_table import titled_table

_WIDTH = 80


def cross_play_tables(result: CrossPlayResult, measure: str) -> Iterator[Table]:
    """Lay out a measure in tables of as many adversaries as fit 80 characters."""
    matrix = result.matrix(measure)
    told = result.measures[measure]
    # Rounded first, so that -0.001 is not printed as minus nothing.
    shown = matrix.map(lambda value: told.text(round(value, 6))).replace(r"^-(0\.0+%?)$", r"\1", regex=True)
    room = _WIDTH - 4 - max(len(str(name)) for name in matrix.index)
    start, used = 0, 0
    for position, adversary in enumerate(shown.columns):
        width = 3 + max(len(str(adversary)), int(shown[adversary].str.len().max()))
        if used + width > room and position > start:
            yield _table(shown.iloc[:, start:position], result.name, told)
            start, used = position, 0
        used += width
    yield _table(shown.iloc[:, start:], result.name, told)


def _table(shown: pd.DataFrame, name: str, measure: Measure) -> Table:
    table = titled_table(f"{name}: {measure.in_text}", ["defender", *shown.columns])
    for defender, row in shown.iterrows():
        table.add_row(str(defender), *row)
    return table
