"""What figures and tables of results folders show, in words."""

from __future__ import annotations

import re

from reidsim.scenarios.kind import Kind

# Those that every kind has, by file name without ending; NUMBER stands for any number.
_FIGURES = {
    "payoffs": "Payoffs of both players by policy",
    "risks": "Share of records whose risk of re-identification is at least so high, by policy",
    "reidentified": "Probability that at most so many people are re-identified, by policy",
    "switch": "What these releases would pay at other losses, attacked as they are; marked is where another pays most",
    "sensitivity": "How much each uncertain value matters for each outcome, by policy",
    "regrets": "How far each policy stays below the best one, over the points of uncertain values",
    "beliefs-NUMBER": "What a publisher with mistaken beliefs gets, by policy",
    "policy-map": "Which policy is best over two values of the scenario",
    "sweep-lines": "Payoffs by policy while one value of the scenario changes",
    "sweep-lines-NUMBER": "Payoffs by policy while one value of the scenario changes",
    "sweep-map": "Generalization, attacks and payoffs over two values of the scenario",
    "sweep-map-NUMBER": "Generalization, attacks and payoffs over two values of the scenario",
    "rounds": "What happens round by round, by policy",
    "through": "People whom adversaries re-identify through which resources, round by round and by policy",
    "waves": "What happens release by release, by policy",
    "cross-play": "Outcome of every defender against every adversary",
}
# Those that show the decision; others are for who checks it.
DECISION_FIGURES = ("payoffs", "risks", "reidentified", "switch", "rounds", "regrets", "cross-play", "risk-maps")

_TABLES = {
    "rounds": "What happens round by round",
    "waves": "What happens release by release",
    "adversaries": "What each adversary does round by round",
    "through": "How many records each adversary attacks and re-identifies through which resources, round by round",
    "sensitivity": "How much each uncertain value matters for each outcome",
    "samples": "Outcomes at the points of the sensitivity analysis",
    "robustness": "Policies over all points of uncertain values",
    "regrets": "Payoff and regret of each policy at each point of uncertain values",
    "robust_strategies": "Strategies that are best under uncertainty",
    "boxes": "Where in the uncertain values an outcome is bad",
    "belief_curves": "What a publisher with mistaken beliefs gets",
    "policy_map": "The best policy over two values",
    "guarantee": "How large an error breaks the guarantee that nobody attacks",
    "cross_play": "Every defender against every adversary",
    "worst_cases": "What each defender gets at worst and regrets at most, whichever adversary comes",
    "equilibria": "Optimal mixtures and equilibria of defenders and adversaries",
    "mixtures": "How likely each strategy is in these",
    "exploitability": "What comes of each defender once the adversary knows it",
    "double_oracle": "Best replies added to the game, one iteration after the other",
    "double_oracle_mixtures": "The mixtures of the iteration with least to gain",
    "statistics": "Means over runs with their confidence intervals",
    "differences": "Paired differences between policies with their confidence intervals",
    "distributions": "How outcomes are distributed over runs and records",
    "reidentified": "Distribution of the number of people re-identified, by policy",
}

# Columns of wide tables that a page shows.
MAIN_COLUMNS = {
    "rounds": (
        "policy", "round", "publisher_payoff", "adversary_payoff", "share_attacked", "risk", "risk_99",
        "participation", "attacks", "detections", "breaches",
    ),
    # Rounds that have names.
    "waves": (
        "policy", "wave", "participation", "joined", "left", "publisher_payoff", "utility", "share_attacked", "risk",
        "newly_exposed", "breaches",
    ),
    "adversaries": (
        "policy", "round", "adversary", "weight", "belief", "payoff", "attacks", "exploits", "breaches", "detections",
    ),
}  # fmt: skip


def figure_caption(name: str, kind: Kind | None) -> str:
    """Return what a figure of a kind shows; of one that nobody describes, its name in words."""
    plain = re.sub(r"\d+", "NUMBER", name)
    number = re.search(r"\d+", name)
    if plain in _FIGURES:
        return _FIGURES[plain] + (f" (number {number[0]})" if number else "")
    return _of_kind(name, kind)


def table_caption(name: str, kind: Kind | None) -> str:
    """Return what a table of a kind holds; of one that nobody describes, its name in words."""
    return _TABLES.get(name) or _of_kind(name, kind)


def _of_kind(name: str, kind: Kind | None) -> str:
    return (kind.captions.get(name) if kind else None) or _in_words(name)


def _in_words(name: str) -> str:
    words = re.sub(r"[-_\s]+", " ", name).strip()
    return words[:1].upper() + words[1:] if words else "Untitled"
