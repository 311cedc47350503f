"""On what of a linkage an adversary says that it decides.

An adversary may declare `decides_on`: the fields of the linkage that its decision to attack depends on, by name. What
it decides cannot depend on the truth, `group_sizes` and the like, which only what comes of an attack may.
"""

from __future__ import annotations

from dataclasses import fields

from reidsim.adversaries.multistage.attack import PlanLinkage
from reidsim.adversaries.response import Adversary
from reidsim.errors import InputError

# Fields that say what is true rather than what the adversary believes or can know.
TRUTH = frozenset({"group_sizes", "plan_success", "among"})
# Says what the other fields mean.
_MEANING = frozenset({"by_chance"})
KNOWABLE = frozenset(item.name for item in fields(PlanLinkage)) - TRUTH - _MEANING


def declared_information(adversary: Adversary) -> frozenset[str]:
    """Return the fields of a linkage that an adversary decides on: all that can be known, if it declares nothing.

    Raises
    ------
    InputError
        If it declares the truth, or something that no linkage has.
    """
    declared = getattr(adversary, "decides_on", None)
    if declared is None:
        return KNOWABLE
    wrong = frozenset(declared) - KNOWABLE
    if wrong:
        raise InputError(
            "an adversary cannot decide on this",
            where=f"{type(adversary).__name__}.decides_on",
            found=min(wrong),
            expected=f"some of {', '.join(sorted(KNOWABLE))}",
        )
    return frozenset(declared)
