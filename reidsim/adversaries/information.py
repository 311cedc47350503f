"""Fields of a linkage on which an adversary's decision may depend.

An adversary can declare `decides_on`: the names of the linkage fields on which its decision to attack depends. The
decision cannot depend on true quantities such as `group_sizes`; only the outcome of an attack depends on them.
"""

from __future__ import annotations

from dataclasses import fields

from reidsim.adversaries.multistage.attack import PlanLinkage
from reidsim.adversaries.response import Adversary
from reidsim.errors import InputError

# Fields with true quantities, which the adversary cannot know.
TRUTH = frozenset({"group_sizes", "plan_success", "among"})
# Fields that only describe how to read the other fields.
_MEANING = frozenset({"by_chance"})
KNOWABLE = frozenset(item.name for item in fields(PlanLinkage)) - TRUTH - _MEANING


def declared_information(adversary: Adversary) -> frozenset[str]:
    """Return the linkage fields on which an adversary's decision depends.

    Without a declaration, these are all fields that an adversary can know.

    Raises
    ------
    InputError
        If the adversary declares a field with a true quantity, or an unknown field.
    """
    declared = getattr(adversary, "decides_on", None)
    if declared is None:
        return KNOWABLE
    wrong = frozenset(declared) - KNOWABLE
    if wrong:
        raise InputError(
            "an adversary cannot base its decision on this field",
            where=f"{type(adversary).__name__}.decides_on",
            found=min(wrong),
            expected=f"fields among {', '.join(sorted(KNOWABLE))}",
        )
    return frozenset(declared)
