"""Which adversaries and policies of a scenario do not come with the package."""

from __future__ import annotations

from typing import NamedTuple

from reidsim.scenarios.adversary_schema import PLANNERS
from reidsim.scenarios.kind import kind_named
from reidsim.scenarios.parts import Group
from reidsim.scenarios.schema import ScenarioHead


class OwnPart(NamedTuple):
    """An adversary or policy of an installed package, of a user's module, or given in memory.

    Parameters
    ----------
    group : {"adversaries", "policies"}
    name : str
        As the scenario names it.
    where : str
        The key that names it.
    """

    group: Group
    name: str
    where: str


# Sections that name policies, in one kind of scenario or another.
_DECIDING = ("publisher", "subjects")


def own_parts_of(scenario: ScenarioHead) -> tuple[OwnPart, ...]:
    """Return the parts of a scenario that do not come with the package, each name once."""
    found: dict[str, OwnPart] = {}
    adversary = getattr(scenario, "adversary", None)
    agents = getattr(scenario, "agents", None)
    planners = {"adversary.planner": getattr(adversary, "planner", None)}
    types = agents.types if agents else {}
    planners |= {f"agents.types.{name}.planner": section.planner for name, section in types.items()}
    for where, planner in planners.items():
        if planner is not None and planner not in PLANNERS:
            found.setdefault(planner, OwnPart("adversaries", planner, where))
    for section in _DECIDING:
        for policy in getattr(getattr(scenario, section, None), "policies", ()):
            if policy not in kind_named(getattr(scenario, "game", None)).policies:
                found.setdefault(policy, OwnPart("policies", policy, f"{section}.policies"))
    return tuple(found.values())
