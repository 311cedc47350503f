"""Which adversaries, policies and kinds that a scenario names do not come with the package."""

from __future__ import annotations

from typing import NamedTuple

from reidsim.scenarios.adversary_schema import PLANNERS
from reidsim.scenarios.parts import Group
from reidsim.scenarios.registry import is_of_package, kind_of
from reidsim.scenarios.schema import ScenarioHead


class OwnPart(NamedTuple):
    """An adversary, policy or kind of an installed package, of a user's module, or given in memory.

    Parameters
    ----------
    group : {"adversaries", "policies", "kinds"}
    name : str
        As the scenario names it.
    where : str
        The key that names it.
    """

    group: Group
    name: str
    where: str


def own_parts_of(scenario: ScenarioHead) -> tuple[OwnPart, ...]:
    """Return the parts of a scenario that do not come with the package, each name once."""
    found: dict[str, OwnPart] = {}
    kind = kind_of(scenario)
    game = str(getattr(scenario, "game", kind.name))
    if not is_of_package(game):
        found[game] = OwnPart("kinds", game, "game")
    adversary = getattr(scenario, "adversary", None)
    planners = {"adversary.planner": getattr(adversary, "planner", None)}
    several = getattr(scenario, "adversaries", {})
    planners |= {f"adversaries.{name}.planner": section.planner for name, section in several.items()}
    for where, planner in planners.items():
        if planner is not None and planner not in PLANNERS:
            found.setdefault(planner, OwnPart("adversaries", planner, where))
    for policy in kind.policies_of(scenario) if kind.decides else ():
        if policy not in kind.policies:
            found.setdefault(policy, OwnPart("policies", policy, f"{kind.decider}.policies"))
    return tuple(found.values())
