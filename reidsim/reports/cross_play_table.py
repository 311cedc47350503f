"""The tables that cross-play prints, and its verdict."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from rich.table import Table

from reidsim.engine.cross_play import CrossPlayResult
from reidsim.games.cross_play import row_name
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.terminal_table import columns_that_fit, titled_table
from reidsim.scenarios.people import counted_units
from reidsim.wording import counted

# An interval that is narrower, as a share of the value, is of runs that do not differ.
_DRAWN = 1e-9
_CRITERIA = {"maximin": "Maximin", "minimax_regret": "Minimax regret"}


def cross_play_tables(result: CrossPlayResult, measure: str) -> Iterator[Table]:
    """Lay out a measure in tables of as many adversaries as fit 80 characters."""
    matrix, title = result.matrix(measure), _title(result)
    told = result.measures[measure]
    # Rounded first, so that -0.001 is not printed as minus nothing.
    shown = matrix.map(lambda value: "-" if pd.isna(value) else told.text(round(value, 6))).replace(
        r"^-(0\.0+%?)$", r"\1", regex=True
    )
    widths = (max(len(str(adversary)), int(shown[adversary].str.len().max())) for adversary in shown.columns)
    for some in columns_that_fit(max(len(str(name)) for name in matrix.index), widths):
        columns = shown.iloc[:, some]
        rows = ([str(defender), *row] for defender, row in columns.iterrows())
        yield titled_table(f"{title}: {told.in_text}", ["defender", *columns], rows=rows)


def cross_play_verdict(result: CrossPlayResult) -> Iterator[str]:
    """Yield, a line each, the defender who gets most at worst, and the one who regrets least."""
    table, (one, _) = result.worst_cases, counted_units(result.manifest["content"])
    several = "" if result.design is None else " on average"
    for criterion, value, words in (
        ("maximin", "least_payoff", "pays at least {}" + f" per {one}{several}"),
        ("minimax_regret", "largest_regret", "is at most {}" + f" per {one}{several} below the best reply"),
    ):
        best = table[table[criterion]]
        if best.empty:
            continue
        row = best.iloc[0]
        name = row_name(row["defender"], row["plans_against"])
        others = f" (and {counted(len(best) - 1, 'other')})" if len(best) > 1 else ""
        interval = ""
        if row[f"{value}_high"] - row[f"{value}_low"] > _DRAWN * max(1.0, abs(row[value])):
            interval = f" (95% interval {_money(row[f'{value}_low'])} to {_money(row[f'{value}_high'])})"
        told = words.format(f"{_money(row[value])}{interval}")
        yield f"{_CRITERIA[criterion]}: {name}{others} {told}; worst case: {row[f'{value}_at']}"


def _money(value: float) -> str:
    return PUBLISHER_PAYOFF.text(round(value, 6) + 0.0)


def _title(result: CrossPlayResult) -> str:
    if result.design is None:
        return result.name
    return f"{result.name}, mean of {counted(result.design.n_runs, 'run')}"
