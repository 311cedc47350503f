"""Phases of a round in order: actors, decision, information and random streams."""

from __future__ import annotations

from typing import NamedTuple


class Phase(NamedTuple):
    """One phase of a round.

    Attributes
    ----------
    name : str
        Name of the phase and of the model's method.
    actors : str
        Agents who act.
    decision : str
        Decision that they make.
    information : str
        Information on which the decision is based.
    streams : tuple of str
        Random decisions of the phase. Each agent has a separate random stream for each of them in every round.
    """

    name: str
    actors: str
    decision: str
    information: str
    streams: tuple[str, ...] = ()


PHASES = (
    Phase(
        "publish",
        "publisher",
        "the release of each record: the best response under the policy",
        "beliefs about adversaries and their payoff parameters, and the resources of each at the start of the round",
    ),
    Phase(
        "attack",
        "adversaries",
        "which resources to buy, and which records to attack within the budget",
        "released records, resources held, and the expected payoff",
        ("presence",),
    ),
    Phase(
        "resolve",
        "environment",
        "which exploits succeed, and the payoffs of all agents",
        "true probabilities",
        ("exploits",),
    ),
    Phase(
        "enforce",
        "environment",
        "which exploits are detected; fines, and exclusion from later rounds",
        "the exploits of the round",
        ("detections",),
    ),
    Phase(
        "learn",
        "publisher, adversaries, data subjects",
        "updated beliefs, and participation in the next round",
        "publisher: attacks noticed; adversaries: own successes; subjects: re-identifications experienced or heard of",
        ("notices", "hearing"),
    ),
)
# Random decisions drawn once, before the first round.
FIRST_STREAMS = ("valuations",)
