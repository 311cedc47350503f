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
from reidsim.reports.terminal_table import columns_that_fit, texts_of, titled_table
from reidsim.reports.writer import render
from reidsim.scenarios.people import counted_units
from reidsim.wording import counted

# Intervals that are narrower than this, relative to the value, come from runs without random draws and are not shown.
_DRAWN = 1e-9
_CRITERIA = {
    "maximin": ("least_payoff", "Maximin", "pays at least", ""),
    "minimax_regret": ("largest_regret", "Minimax regret", "is at most", " below the best response"),
}
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


def cross_play_tables(result: CrossPlayResult, measure: str) -> Iterator[Table]:
    """Lay out a measure by defender and adversary, as tables of at most 80 characters.

    One row per defender with the adversary planned against, one column per adversary met; further adversaries follow in
    further tables. Values are means over successful runs, ``-`` if missing. There is no table if every run failed.
    """
    if result.runs.empty:
        return
    matrix, shown = result.matrix(measure), result.measures[measure]
    runs = "" if result.design is None else f", mean of {counted(result.design.n_runs, 'run')}"
    # Round first, so that -0.001 is not printed as -0.00.
    texts = matrix.round(6).map(shown.text).replace(r"^-(0\.0+%?)$", r"\1", regex=True)
    widths = (max(len(str(adversary)), int(texts[adversary].str.len().max())) for adversary in texts.columns)
    for some in columns_that_fit(max(len(str(name)) for name in matrix.index), widths):
        rows = ([str(defender), *row] for defender, row in texts.iloc[:, some].iterrows())
        title = f"{result.name}{runs}: {shown.in_text}"
        yield titled_table(title, ["defender", *texts.columns[some]], rows=rows)


def cross_play_verdict(result: CrossPlayResult) -> list[str]:
    """Return one sentence each on the best worst case and on the smallest regret.

    The first names the defender with the highest least payoff (maximin), the second the one with the lowest largest
    regret, over all adversaries and swept values; see `worst_cases_table`. Of equally good defenders, the first is
    named and the others are counted. A criterion without a defender has no sentence.
    """
    found = []
    for criterion, (value, label, words, end) in ({} if result.runs.empty else _CRITERIA).items():
        best = result.worst_cases[result.worst_cases[criterion]]
        for row in best.head(1).to_dict("records"):
            low, high = row[f"{value}_low"], row[f"{value}_high"]
            is_drawn = high - low > _DRAWN * max(1.0, abs(row[value]))
            defender, interval = row_name(row["defender"], row["plans_against"]), (_money(low), _money(high))
            facts = {"criterion": label, "words": words, "end": end, "worst": row[f"{value}_at"]}
            facts |= {"defender": defender, "others": len(best) - 1, "value": _money(row[value])}
            found.append(facts | {"interval": interval if is_drawn else None})
    unit, _ = counted_units(result.manifest["content"])
    context = {"found": found, "unit": unit, "on_average": result.design is not None}
    return str(render("cross_play_verdict", context, "text")).splitlines()


def equilibrium_tables(result: CrossPlayResult) -> Iterator[Table]:
    """Lay out equilibrium mixtures by concept, and defenders by exploitability.

    Strategies with a probability below `_SHOWN` are left out. Of a sweep, only the first `_MOST_POINTS` points are
    shown.
    """
    if "equilibria" not in result.equilibria:
        return
    swept = [] if result.design is None else list(result.design.swept)
    unit, _ = counted_units(result.manifest["content"])
    more = "other points in equilibria.parquet" if swept else ""
    points = result.equilibria["equilibria"][swept].drop_duplicates().head(_MOST_POINTS)
    for point in points.to_dict("records") if swept else [{}]:
        tables = {
            name: table[(table[swept] == pd.Series(point, dtype=object)).all(axis=1)] if point else table
            for name, table in result.equilibria.items()
        }
        place = "".join(f", {key} = {value}" for key, value in point.items())
        rows = []
        for concept, value in tables["equilibria"].set_index("concept")["value"].items():
            words = wrap(_CONCEPTS[str(concept)].format(value + 0.0), _WIDTH)
            mixture = tables["mixtures"][tables["mixtures"]["concept"] == concept]
            rows.append(["\n".join([str(concept), *words]), *_mixtures(mixture)])
        title = f"{result.name}{place}: mixtures, payoffs per {unit}"
        yield titled_table(title, ("", "defender", "adversary"), more, ("defender", "adversary"), rows)
        table = tables["exploitability"].round(6)
        names = list(map(row_name, table["defender"], table["plans_against"]))
        forms = ("{name}", "{least_payoff:,.2f}", "{exploitability:,.2f}", "{best_reply}", "{payoff_then:,.2f}")
        rows = texts_of(table.assign(name=names), *forms)
        columns = ("defender", "least", "below maximin", "best reply", "pays then")
        caption = "below maximin: difference from the maximin mixture; best reply: adversary with the largest gain"
        title = f"{result.name}{place}: exploitability per {unit}"
        yield titled_table(title, columns, caption, ("best reply",), rows)


def double_oracle_tables(result: CrossPlayResult) -> Iterator[Table]:
    """Lay out the double-oracle iterations of a run, and the final mixtures.

    For several runs, mean, minimum and maximum of their last iterations are shown instead.
    """
    if "double_oracle" not in result.replies:
        return
    found, unit = result.replies["double_oracle"], counted_units(result.manifest["content"])[0]
    title = f"{result.name}: best responses added, "
    if result.design is not None:
        last = found.groupby(["point", "replication"], sort=False, observed=True).last()
        headings = {
            "iteration": "iterations",
            "publisher_payoff": "publisher's payoff",
            "best_exploitability": "remaining exploitability",
        }
        over = last[list(headings)].agg(["mean", "min", "max"]).rename(columns=headings).T.reset_index(names="words")
        rows = texts_of(over, "{words}", "{mean:,.4g}", "{min:,.4g}", "{max:,.4g}")
        yield titled_table(f"{title}payoffs per {unit}", ("", "mean", "least", "most"), rows=rows)
        return
    added = found[["added_defender", "added_adversary"]].fillna("").agg("\n".join, axis=1).str.strip("\n")
    money = (f"{{{name}:,.4f}}" for name in ("publisher_payoff", "exploitability", "best_exploitability"))
    counts = ("{iteration}", "{defenders}", "{adversaries}")
    rows = texts_of(found.assign(added=added), *counts, *money, "{added}")
    columns = ("", "plans", "adversaries", "payoff", "to gain", "least", "added")
    caption = "to gain: sum of both players' gains from best responses; least: smallest sum so far"
    yield titled_table(f"{title}publisher's payoff per {unit}", columns, caption, ("added",), rows)
    mixtures = _mixtures(result.replies["double_oracle_mixtures"])
    rows = [list(row) for row in zip(("defender", "adversary"), mixtures, strict=True)]
    yield titled_table("", ("", "mixture"), left=("mixture",), rows=rows)


def _money(value: float) -> str:
    return PUBLISHER_PAYOFF.text(round(value, 6) + 0.0)


def _mixtures(table: pd.DataFrame) -> list[str]:
    """Return the mixtures of defender and adversary as text, one strategy with its probability per line.

    The most likely strategy comes first; strategies with a probability below `_SHOWN` are left out.
    """
    rows = table[table["probability"] >= _SHOWN].sort_values("probability", ascending=False, kind="stable")
    lines: dict[str, list[str]] = {"defender": [], "adversary": []}
    for row in rows.to_dict("records"):
        name = row_name(row["strategy"], row["plans_against"])
        lines[row["player"]].append(f"{row['probability']:.3f} {name}")
    return ["\n".join(of_player) for of_player in lines.values()]
