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
        "the release of each record: its best reply under the policy",
        "beliefs about the adversaries and their payoff parameters, and what each of them held when the round began",
    ),
    Phase(
        "attack",
        "adversaries",
        "which resources to buy, and which records to attack within the budget",
        "the records as shared, the resources held, what it expects of them",
        ("presence",),
    ),
    Phase(
        "resolve",
        "environment",
        "which exploits hit, and what that is worth to everybody",
        "true probabilities",
        ("exploits",),
    ),
    Phase(
        "enforce",
        "environment",
        "which exploits are detected: fines, and exclusion from the coming rounds",
        "the exploits of the round",
        ("detections",),
    ),
    Phase(
        "learn",
        "publisher, adversaries, data subjects",
        "what to believe from now on, and who takes part in the next round",
        "publisher: attacks noticed; adversaries: own successes; subjects: own re-identification, and those heard of",
        ("notices", "hearing"),
    ),
)
# Random decisions drawn once, before the first round.
FIRST_STREAMS = ("valuations",)
