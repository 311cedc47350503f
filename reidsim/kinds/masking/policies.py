"""Every policy of data subjects who mask: its name, its words, and the defender that follows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from reidsim.palette import BLACK, BLUE, GREEN, GREY, ORANGE, SKY_BLUE, VERMILION
from reidsim.scenarios.given import policy_among
from reidsim.scenarios.part_names import PartName
from reidsim.scenarios.policy import ANONYMITY_PATTERN, K_ANONYMITY, Look, Policies, Policy

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender
    from reidsim.kinds.masking.study import MaskingStudy

WHERE = "subjects.policies"
# How strategies are picked: as a rule says, or the best of all, of everything and nothing, or of what all could share.
Way = Literal["rule", "k-anonymity", "opt-in", "same", "search"]
# Which search a policy asks for: that of the scenario, or one of its own.
Search = Literal["scenario", "greedy", "anytime"]


@dataclass(frozen=True)
class MaskingPolicy(Policy):
    """A policy of data subjects who mask.

    The other parameters are those of `Policy`.

    Parameters
    ----------
    way : {"rule", "k-anonymity", "opt-in", "same", "search"}
        How it picks strategies.
    search : {"scenario", "greedy", "anytime"}
        Whose search that is.
    without_inference : bool
        Whether it is played against the same adversary without inference.
    masks : bool
        Whether it decides attribute by attribute, so that a map of its strategies tells something.
    """

    way: Way = "rule"
    search: Search = "scenario"
    without_inference: bool = False
    masks: bool = False


def _defender(name: str, *, plans: bool) -> Callable[[MaskingStudy, int], Defender]:
    def defender(study: MaskingStudy, draw: int) -> Defender:
        from reidsim.kinds.masking.solving import MaskingDefender

        return MaskingDefender(name, plans, study, draw)

    return defender


def _policy(
    name: str, label: str, words: str, *, is_rule: bool = False, without_inference: bool = False, **more: Any
) -> MaskingPolicy:
    return MaskingPolicy(
        name, label, words, _defender(name, plans=not is_rule), is_rule, in_another_game=without_inference,
        without_inference=without_inference, **more,
    )  # fmt: skip


# In the order of figures: that of the paper's scenarios, baselines before games.
POLICIES: Policies[MaskingPolicy] = Policies(
    (
        _policy("no-protection", "No protection", "every attribute is shared", is_rule=True),
        _policy(
            "demographics-only", "Demographics only", "only the attributes that are linked on are shared", is_rule=True,
            without_inference=True, look=Look(GREY, "D"),
        ),
        _policy(
            "random-opt-in", "Random opt-in", "everything or nothing, at random", is_rule=True, look=Look(ORANGE, "<")
        ),
        _policy(
            "random-masking", "Random masking", "each attribute is shared at random", is_rule=True, masks=True,
            look=Look(BLACK, "P"),
        ),
        _policy(
            K_ANONYMITY, "k-anonymity", "cells suppressed until every record has k alike, the cheapest first",
            is_rule=True, way="k-anonymity", masks=True, look=Look(GREY, "h"),
        ),
        _policy("opt-in", "Opt-in game", "everything if that pays, else nothing", way="opt-in", look=Look(GREEN, "o")),
        _policy(
            "masking", "Masking game", "the attributes that pay most", way="search", masks=True, look=Look(BLUE, "^")
        ),
        _policy(
            "no-attack-masking", "No-attack masking game", "the attributes that pay most without an attack",
            forbids_attacks=True, way="search", masks=True, look=Look(SKY_BLUE, ">"),
        ),
        _policy(
            "one-stage-masking", "One-stage masking game", "the masking game against an adversary who infers nothing",
            way="search", without_inference=True, masks=True, look=Look(VERMILION, "X"),
        ),
        _policy(
            "same-strategy", "Same strategy for all",
            "the attributes that pay most if all subjects share the same ones", way="same", masks=True,
            look=Look(BLACK, "*"),
        ),
        _policy(
            "greedy-masking", "Greedy masking", "the masking game by greedy search", by_agents=False, way="search",
            search="greedy",
        ),
        _policy(
            "anytime-masking", "Anytime masking", "the masking game with a limited number of strategies tried",
            by_agents=False, way="search", search="anytime",
        ),
    ),
    lambda name: _defender(name, plans=False),
)  # fmt: skip
# The policies in the order of rows of cross-play.
OF_SUBJECTS = (
    "masking", "no-attack-masking", "greedy-masking", "anytime-masking", "same-strategy", "opt-in", "no-protection",
    "demographics-only", "random-opt-in", "random-masking", "k-anonymity",
)  # fmt: skip


def policy_named(name: str) -> MaskingPolicy:
    """Return a policy by its name; any that the package does not have is somebody's own."""
    return policy_among(POLICIES, MaskingPolicy, name, WHERE)


PolicyName = Annotated[str, PartName(POLICIES, ANONYMITY_PATTERN)]
