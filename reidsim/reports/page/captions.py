"""What figures and tables of results folders show, in words."""

from __future__ import annotations

import re

# By file name without ending; NUMBER stands for any number.
_FIGURES = {
    "payoffs": "Payoffs of both players by policy",
    "risks": "Share of records whose risk of re-identification is at least so high, by policy",
    "strategies": "Both players' payoffs for every form in which one record could be shared, attacked or not",
    "payoff-differences": "Distribution over records of each game's payoffs less those of Safe Harbor",
    "payoff-scatter": "Each record's payoffs under each game against those under Safe Harbor",
    "search-deviation": "Distance of lattice-based search from the optimum while one price changes",
    "risk-by-group-size": "Probability of re-identification over group size, for the planning adversary and a baseline",
    "payoff-by-group-size": "Adversary's payoff over group size, for the planning adversary and a baseline",
    "exploits-by-group-size": "Exploits made over group size, for the planning adversary and a baseline",
    "belief-risks": "Probability of re-identification where the group size is known, and where it is not",
    "attack-thresholds": "Smallest group that is not attacked, while one deterrent grows",
    "payout-curves-loss": "Publisher's payoff by policy while loss and gain grow",
    "payout-curves-benefit": "Publisher's payoff by policy while the benefit grows",
    "payout-curves-cost": "Publisher's payoff by policy while the cost of an attack grows",
    "payout-front": "Publisher's payout against share of records attacked, nodes that nothing else beats in both",
    "full-domain-runtimes": "Seconds that the search takes with and without pruning, over loss and gain",
    "effectiveness": "Distribution of the subjects' payoff by policy, and privacy against utility",
    "strategy-map": "Which attributes each subject masks, by policy; subjects who are attacked stand on the right",
    "lines-payoff": "Subjects' mean payoff by policy along each line of changed values",
    "lines-privacy": "Subjects' mean privacy by policy along each line of changed values",
    "lines-utility": "Mean utility by policy along each line of changed values",
    "risk-maps": "Each person's risks under partial knowledge against those of the worst case",
    "risk-reductions": "How far partial knowledge lowers risks against the worst case, by number of records",
    "sensitivity": "How much each uncertain value matters for each outcome, by policy",
    "regrets": "How far each policy stays below the best one, over the points of uncertain values",
    "beliefs-NUMBER": "What a publisher with mistaken beliefs gets, by policy",
    "policy-map": "Which policy is best over two values of the scenario",
    "sweep-lines": "Payoffs by policy while one value of the scenario changes",
    "sweep-lines-NUMBER": "Payoffs by policy while one value of the scenario changes",
    "sweep-map": "Generalization, attacks and payoffs over two values of the scenario",
    "sweep-map-NUMBER": "Generalization, attacks and payoffs over two values of the scenario",
    "rounds": "What happens round by round, by policy",
    "waves": "What happens release by release, by policy",
    "cross-play": "Outcome of every defender against every adversary",
    "capability-reductions": "How far partial knowledge lowers the overall risk, over capabilities of the adversary",
}
_TABLES = {
    "attacks": "The sequential planner by group size",
    "beliefs": "Known against unknown group sizes",
    "file_attack": "The whole file attacked at once",
    "runtimes": "Seconds taken",
    "optima": "Optimum by policy, sums over records",
    "top_nodes": "The best nodes of the lattice, as the publisher plans",
    "front": "Nodes that nothing else beats in both payout and share attacked",
    "reductions": "How far partial knowledge lowers risks against the worst case, in percent",
    "settings": "Overall risk over settings of the adversary's capabilities",
    "sources": "What sources of knowledge cost and pay",
    "knowledge_sets": "What may be known of a person, and how likely that is",
    "rounds": "What happens round by round",
    "waves": "What happens release by release",
    "adversaries": "What each adversary does round by round",
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
    "statistics": "Means over runs with their confidence intervals",
    "differences": "Paired differences between policies with their confidence intervals",
    "distributions": "How outcomes are distributed over runs and records",
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


def figure_caption(name: str) -> str:
    """Return what a figure shows; of figures unknown here, their name in words."""
    plain = re.sub(r"\d+", "NUMBER", name)
    number = re.search(r"\d+", name)
    if plain in _FIGURES:
        return _FIGURES[plain] + (f" (number {number[0]})" if number else "")
    return _in_words(name)


def table_caption(name: str) -> str:
    """Return what a table holds; of tables unknown here, their name in words."""
    return _TABLES.get(name, _in_words(name))


def _in_words(name: str) -> str:
    words = re.sub(r"[-_\s]+", " ", name).strip()
    return words[:1].upper() + words[1:] if words else "Untitled"
