"""State the results of repeated rounds: people re-identified, broken guarantees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from reidsim.agents.measures import BREACHES, DISTINCT
from reidsim.games.measures import PUBLISHER_PAYOFF, SHARE_ATTACKED
from reidsim.reports.writer import said


def distinct_people(rounds: pd.DataFrame, policies: Sequence[str], name: Callable[[str], str] = str) -> str:
    """State the number of distinct people re-identified over all rounds, by policy.

    Beside it stands the number of re-identifications, in which a person counts once per round. Both are means over
    draws.

    Parameters
    ----------
    rounds : DataFrame
        One row per draw, policy and round; see `reidsim.engine.rounds.AgentAnalysis`.
    policies : sequence of str
    name : callable
        Function that returns the display name of a policy.

    Returns
    -------
    str
        Sentence; empty for a single round, or a table without the required columns.
    """
    if not {"subjects", BREACHES.column, DISTINCT.column} <= set(rounds) or rounds["round"].nunique() < 2:
        return ""
    by = rounds.astype({"policy": str}).groupby(["policy", "round"])
    last = int(rounds["round"].max())
    distinct = by[DISTINCT.column].mean().xs(last, level="round")
    breaches = by[BREACHES.column].mean().groupby("policy").sum()
    found = [(name(each), DISTINCT.text(distinct[each]), BREACHES.text(breaches[each])) for each in policies]
    return said("distinct_people", number=last, subjects=int(rounds["subjects"].max()), policies=found)


def broken_guarantee_sentences(
    broken: pd.DataFrame, name: Callable[[str], str] = str, payoff: str = PUBLISHER_PAYOFF.label
) -> str:
    """State the wrong beliefs that let adversaries attack despite a guarantee.

    For each policy that ruled out attacks but was attacked, the text gives its outcome and the outcome with corrected
    beliefs. It is empty if no guarantee was broken.

    Parameters
    ----------
    broken : DataFrame
        See `reidsim.engine.rounds.broken_guarantees`.
    name : callable
        Function that returns the display name of a policy.
    payoff : str
        Label of the publisher's payoff.
    """
    if broken.empty:
        return ""
    policies = []
    for policy, rows in broken.astype({"policy": str}).groupby("policy", sort=False):
        played, informed = rows.iloc[0], rows.iloc[-1]
        policies.append(
            {
                "name": name(str(policy)),
                "corrected": None if len(rows) == 1 else informed["corrected"],
                "payoff": PUBLISHER_PAYOFF.text(played[PUBLISHER_PAYOFF.column]),
                "payoff_informed": PUBLISHER_PAYOFF.text(informed[PUBLISHER_PAYOFF.column]),
                "people": DISTINCT.text(played[DISTINCT.column]),
                "people_informed": DISTINCT.text(informed[DISTINCT.column]),
                "attacks_remain": informed[SHARE_ATTACKED.column] != 0,
            }
        )
    return said("broken_guarantees", policies=policies, payoff=payoff[:1].lower() + payoff[1:])
