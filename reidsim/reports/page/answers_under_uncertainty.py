"""Answers of results that compare under uncertainty: stress tests, and every defender against every adversary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from reidsim.reports.page.blocks import Block, paragraph
from reidsim.reports.page.stored_run import StoredRun
from reidsim.reports.verdict import stress_verdict
from reidsim.wording import Code, Inline

_ROBUSTNESS = {"policy", "mean_payoff", "worst_payoff", "largest_regret", "points"}
_CROSS_PLAY = {"defender", "plans_against", "adversary", "publisher_payoff"}


def uncertain_answer(run: StoredRun) -> Iterator[Block]:
    """Yield the answer of a results folder without policies that were played once.

    Raises
    ------
    InputError
        If a table cannot be read.
    """
    if "robustness" in run.tables:
        tables = {name: run.table(name) for name in ("robustness", "sensitivity", "guarantee") if name in run.tables}
        robustness = tables["robustness"]
        if set(robustness.columns) >= _ROBUSTNESS and len(robustness):
            yield paragraph(stress_verdict(tables, run.units[0]), kind="answer")
            return
    if "cross_play" in run.tables:
        table = run.table("cross_play")
        if set(table.columns) >= _CROSS_PLAY and len(table):
            yield from _cross_play(run, table)
            return
    yield paragraph("No table of these results compares policies under uncertainty; their tables and figures follow.")


def _cross_play(run: StoredRun, table: pd.DataFrame) -> Iterator[Block]:
    parts: list[Inline] = []
    if "state" in table:
        # Of a batch, what there is in every cell is its mean over runs.
        ended = table[table["state"] == "complete"]
        cells = ["defender", "plans_against", "adversary"]
        parts += [f"Mean of {ended['run'].nunique():,} runs. "]
        table = ended.groupby(cells, sort=False, observed=True)["publisher_payoff"].mean().reset_index()
    own = table[table["adversary"] == run.manifest.get("own_adversary")]
    if len(own):
        best = _by_payoff(own).iloc[0]
        parts += ["Against the scenario's own adversary, ", Code(str(best["adversary"])), ", the best defender is "]
        parts += [*_defender(best), f": it pays {best['publisher_payoff']:,.2f} per record. "]
    # The least that each defender gets, and the most of that.
    least = _by_payoff(table).groupby(["defender", "plans_against"], sort=False, observed=True).tail(1)
    safest = _by_payoff(least).iloc[0]
    parts += ["Whichever adversary comes, ", *_defender(safest), f" pays at least {safest['publisher_payoff']:,.2f}"]
    parts += [", which is what it gets from ", Code(str(safest["adversary"])), "."]
    if "worst_cases" in run.tables:
        cases = run.table("worst_cases")
        least_regret = cases[cases["minimax_regret"]]
        if len(least_regret):
            row = least_regret.iloc[0]
            parts += [" ", *_defender(row), f" is never more than {row['largest_regret']:,.2f} below the best reply."]
    yield paragraph(*parts, kind="answer")


def _by_payoff(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values("publisher_payoff", ascending=False, kind="stable")


def _defender(row: pd.Series[Any]) -> tuple[Inline, ...]:
    """Return a defender's name; rules plan against nobody."""
    name, against = Code(str(row["defender"])), row["plans_against"]
    return (name, " (which plans against ", Code(str(against)), ")") if against and not pd.isna(against) else (name,)
