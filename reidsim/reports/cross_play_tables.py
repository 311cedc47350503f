"""Lay out the results of cross-play as terminal tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import pandas as pd
from rich.table import Table

from reidsim.engine.cross_play.equilibria import BEST, MAXIMIN, MINIMAX_REGRET, WORST
from reidsim.engine.cross_play.run import CrossPlayResult
from reidsim.games.cross_play import row_name
from reidsim.games.measures import PUBLISHER_PAYOFF
from reidsim.reports.terminal_table import columns_that_fit, titled_table
from reidsim.reports.writer import render
from reidsim.scenarios.people import counted_units
from reidsim.wording import counted

# Intervals that are narrower than this, relative to the value, come from runs without random draws and are not shown.
_DRAWN = 1e-9
_CRITERIA = {
    "maximin": ("least_payoff", "Maximin", "pays at least", ""),
    "minimax_regret": ("largest_regret", "Minimax regret", "is at most", " below the best response"),
}


def cross_play_tables(result: CrossPlayResult, measure: str) -> Iterator[Table]:
    """Lay out a measure by defender and adversary, as tables of at most 80 characters.

    One row per defender with the adversary planned against, one column per adversary met; further adversaries follow in
    further tables. Values are means over successful runs, ``-`` if missing. There is no table if every run failed.
    """
    if result.runs.empty:
        return
    matrix, title = result.matrix(measure), _title(result)
    told = result.measures[measure]
    # Round first, so that -0.001 is not printed as -0.00.
    shown = matrix.map(lambda value: "-" if pd.isna(value) else told.text(round(value, 6))).replace(
        r"^-(0\.0+%?)$", r"\1", regex=True
    )
    widths = (max(len(str(adversary)), int(shown[adversary].str.len().max())) for adversary in shown.columns)
    for some in columns_that_fit(max(len(str(name)) for name in matrix.index), widths):
        columns = shown.iloc[:, some]
        rows = ([str(defender), *row] for defender, row in columns.iterrows())
        yield titled_table(f"{title}: {told.in_text}", ["defender", *columns], rows=rows)


def cross_play_verdict(result: CrossPlayResult) -> list[str]:
    """Return one sentence each on the best worst case and on the smallest regret.

    The first names the defender with the highest least payoff (maximin), the second the one with the lowest largest
    regret, over all adversaries and swept values; see `worst_cases_table`. Of equally good defenders, the first is
    named and the others are counted. A criterion without a defender has no sentence.
    """
    if result.runs.empty:
        return []
    found = []
    for criterion, (value, label, words, end) in _CRITERIA.items():
        best = result.worst_cases[result.worst_cases[criterion]]
        if best.empty:
            continue
        row = best.iloc[0]
        low, high = row[f"{value}_low"], row[f"{value}_high"]
        found.append(
            {
                "criterion": label,
                "defender": row_name(row["defender"], row["plans_against"]),
                "others": len(best) - 1,
                "words": words,
                "value": _money(row[value]),
                "interval": (_money(low), _money(high)) if high - low > _DRAWN * max(1.0, abs(row[value])) else None,
                "end": end,
                "worst": row[f"{value}_at"],
            }
        )
    unit, _ = counted_units(result.manifest["content"])
    context = {"found": found, "unit": unit, "on_average": result.design is not None}
    return str(render("cross_play_verdict", context, "text")).splitlines()


def _money(value: float) -> str:
    return PUBLISHER_PAYOFF.text(round(value, 6) + 0.0)


def _title(result: CrossPlayResult) -> str:
    if result.design is None:
        return result.name
    return f"{result.name}, mean of {counted(result.design.n_runs, 'run')}"


_CONCEPTS = {
    MAXIMIN: "guarantees {:,.2f} against every adversary",
    MINIMAX_REGRET: "mean regret of at most {:,.2f} against every adversary",
    BEST: "the best equilibrium for the defender, with payoff {:,.2f}",
    WORST: "the worst equilibrium for the defender, with payoff {:,.2f}",
}
# Minimum probability of the strategies that are printed.
_SHOWN = 0.0005
# Maximum number of points of a sweep that are printed.
_MOST_POINTS = 4
# Width of the text in the first column, which the terminal never wraps.
_WIDTH = 24


def equilibrium_tables(result: CrossPlayResult) -> Iterator[Table]:
    """Lay out equilibrium mixtures by concept, and defenders by exploitability.

    Strategies with a probability below `_SHOWN` are left out. Of a sweep, only the first `_MOST_POINTS` points are
    shown.
    """
    if "equilibria" not in result.equilibria:
        return
    swept = [] if result.design is None else list(result.design.swept)
    one, _ = counted_units(result.manifest["content"])
    for number, (place, tables) in enumerate(_by_point(result.equilibria, swept)):
        if number == _MOST_POINTS:
            return
        title = f"{result.name}{place}: mixtures, payoffs per {one}"
        more = "other points in equilibria.parquet" if swept else ""
        values = tables["equilibria"].set_index("concept")["value"]
        rows = []
        for concept, value in values.items():
            mixture = tables["mixtures"][tables["mixtures"]["concept"] == concept]
            players = [_told(mixture[mixture["player"] == player]) for player in ("defender", "adversary")]
            words = wrap(_CONCEPTS[str(concept)].format(value + 0.0), _WIDTH)
            rows.append(["\n".join([str(concept), *words]), *players])
        yield titled_table(title, ("", "defender", "adversary"), more, ("defender", "adversary"), rows)
        yield _exploitability(tables["exploitability"], f"{result.name}{place}: exploitability per {one}")


def double_oracle_tables(result: CrossPlayResult) -> Iterator[Table]:
    """Lay out the double-oracle iterations of a run, and the final mixtures.

    For several runs, mean, minimum and maximum of their last iterations are shown instead.
    """
    if "double_oracle" not in result.replies:
        return
    found, one = result.replies["double_oracle"], counted_units(result.manifest["content"])[0]
    if result.design is not None:
        last = found.groupby(["point", "replication"], sort=False, observed=True).last()
        told = {
            "iteration": "iterations",
            "publisher_payoff": "publisher's payoff",
            "best_exploitability": "remaining exploitability",
        }
        over = last[list(told)].agg(["mean", "min", "max"])
        rows = [[words, *(f"{value + 0.0:,.4g}" for value in over[column])] for column, words in told.items()]
        title = f"{result.name}: best responses added, payoffs per {one}"
        yield titled_table(title, ("", "mean", "least", "most"), rows=rows)
        return
    columns = ("", "plans", "adversaries", "payoff", "to gain", "least", "added")
    caption = "to gain: sum of both players' gains from best responses; least: smallest sum so far"
    title = f"{result.name}: best responses added, publisher's payoff per {one}"
    rows = []
    for row in found.to_dict("records"):
        added = "\n".join(name for name in (row["added_defender"], row["added_adversary"]) if name)
        money = [f"{row[name] + 0.0:,.4f}" for name in ("publisher_payoff", "exploitability", "best_exploitability")]
        rows.append([*(str(row[name]) for name in ("iteration", "defenders", "adversaries")), *money, added])
    yield titled_table(title, columns, caption, ("added",), rows)
    mixtures = result.replies["double_oracle_mixtures"]
    rows = [[player, _told(mixtures[mixtures["player"] == player])] for player in ("defender", "adversary")]
    yield titled_table("", ("", "mixture"), left=("mixture",), rows=rows)


def _by_point(tables: dict[str, pd.DataFrame], swept: list[str]) -> Iterator[tuple[str, dict[str, pd.DataFrame]]]:
    """Yield the name of each point of the sweep, and its part of each table."""
    if not swept:
        yield "", tables
        return
    for _, values in tables["equilibria"][swept].drop_duplicates().iterrows():
        here = {name: table[(table[swept] == values).all(axis=1)] for name, table in tables.items()}
        yield ", " + ", ".join(f"{key} = {value}" for key, value in values.items()), here


def _told(mixture: pd.DataFrame) -> str:
    """Return a mixture as text, one strategy with its probability per line.

    The most likely strategy comes first; strategies with a probability below `_SHOWN` are left out.
    """
    rows = mixture[mixture["probability"] >= _SHOWN].sort_values("probability", ascending=False, kind="stable")
    return "\n".join(
        f"{row['probability']:.3f} {row_name(row['strategy'], row['plans_against'])}" for row in rows.to_dict("records")
    )


def _exploitability(table: pd.DataFrame, title: str) -> Table:
    columns = ("defender", "least", "below maximin", "best reply", "pays then")
    caption = "below maximin: difference from the maximin mixture; best reply: adversary with the largest gain"
    rows = [
        [
            row_name(row["defender"], row["plans_against"]),
            _money(row["least_payoff"]),
            _money(row["exploitability"]),
            row["best_reply"],
            _money(row["payoff_then"]),
        ]
        for row in table.to_dict("records")
    ]
    return titled_table(title, columns, caption, ("best reply",), rows)
