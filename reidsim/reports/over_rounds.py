"""Sentences about rounds of agents: distinct people re-identified, and guarantees that did not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from reidsim.agents.measures import BREACHES, DISTINCT
from reidsim.games.measures import PUBLISHER_PAYOFF, SHARE_ATTACKED


def distinct_people(rounds: pd.DataFrame, policies: Sequence[str], name: Callable[[str], str] = str) -> str:
    """Say how many distinct people are re-identified over all rounds, of how many, under some policies.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round; see `reidsim.engine.rounds.AgentAnalysis`.
    policies : sequence of str
    name : callable
        Returns what a policy is called.

    Returns
    -------
    str
        Empty for a single round, or a table without these columns.
    """
    if not {"subjects", BREACHES.column, DISTINCT.column} <= set(rounds) or rounds["round"].nunique() < 2:
        return ""
    table = rounds.astype({"policy": str})
    number, subjects = int(table["round"].max()), int(table["subjects"].max())
    ends = table[table["round"] == number].groupby("policy", observed=True)[DISTINCT.column].mean()
    total = (
        table.groupby(["policy", "round"], observed=True)[BREACHES.column].mean().groupby("policy", observed=True).sum()
    )
    people, counted = (
        ", ".join(f"{measure.text(values[each])} under {name(each)}" for each in policies)
        for measure, values in ((DISTINCT, ends), (BREACHES, total))
    )
    return (
        f"Over {number:,} rounds the expected number of the {subjects:,} people who are re-identified at least once is "
        f"{people}. In the number of re-identifications a person counts in every round: {counted}."
    )


def guarantees_told(
    broken: pd.DataFrame, name: Callable[[str], str] = str, payoff: str = PUBLISHER_PAYOFF.label
) -> str:
    """Say which wrong beliefs let adversaries attack where a policy rules attacks out; empty if none did.

    Parameters
    ----------
    broken : DataFrame
        See `reidsim.engine.rounds.broken_guarantees`.
    name : callable
        Returns what a policy is called.
    payoff : str
        What the publisher's payoff is called.
    """
    if broken.empty:
        return ""
    told = []
    for policy, rows in broken.astype({"policy": str}).groupby("policy", sort=False, observed=True):
        played, informed = rows.iloc[0], rows.iloc[-1]
        start = f"{name(str(policy))} rules out attacks under the publisher's beliefs"
        if len(rows) == 1:
            told.append(f"{start}, but the rounds differ from what it plans for.")
            continue
        people = [DISTINCT.text(row[DISTINCT.column]) for row in (informed, played)]
        amounts = [PUBLISHER_PAYOFF.text(row[PUBLISHER_PAYOFF.column]) for row in (informed, played)]
        failed = "" if informed[SHARE_ATTACKED.column] == 0 else ", though attacks would remain"
        told.append(
            f"{start}, which lack a fact: {informed['corrected']}. With this fact the {payoff[:1].lower()}{payoff[1:]} "
            f"would be {amounts[0]} instead of {amounts[1]}, and {people[0]} instead of {people[1]} people would be "
            f"re-identified{failed}."
        )
    return " ".join(told)
