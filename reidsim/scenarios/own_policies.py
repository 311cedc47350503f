"""Policies that do not come with the package: their names in scenarios, and their defenders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from reidsim.scenarios.given import made_policy
from reidsim.scenarios.policy import Policy

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender

P = TypeVar("P", bound=Policy)


def policy_among(policies: Mapping[str, P], made: type[P], name: str, where: str) -> P:
    """Return a policy by its name; any that is not among these is of a user's module or an installed package."""
    if name in policies:
        return policies[name]
    return made(name, name, "a policy of one's own", own_defender(name, where), by_agents=False)


def own_defender(name: str, where: str) -> Callable[[Any, int], Defender]:
    """Return what makes the defender of somebody's own policy, of a study and the number of a draw."""

    def defender(study: Any, draw: int) -> Defender:
        given = study.loaded.given
        part = given[name] if name in given else study.loaded.part("policies", name, where)
        return made_policy(part, name, where)

    return defender
