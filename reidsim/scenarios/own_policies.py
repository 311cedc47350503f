"""Policies that do not come with the package: their names in scenarios, and their defenders."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from reidsim.errors import InputError, listed, nearest
from reidsim.scenarios.adversary_schema import names_object
from reidsim.scenarios.given import made_policy
from reidsim.scenarios.parts import installed

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender


def known_policy(names: Collection[str]) -> Callable[[str], str]:
    """Return what refuses a policy that is none of these, of no installed package and no ``module:object``."""

    def known(name: str) -> str:
        if name in names or names_object(name):
            return name
        every = (*names, *installed("policies"))
        if name in every:
            return name
        expected, hint = f"one of {listed(every, 20)}", nearest(name, every)
        raise InputError("value not allowed", found=name, expected=expected, hint=hint)

    return known


def own_defender(name: str, where: str) -> Callable[[Any, int], Defender]:
    """Return what makes the defender of somebody's own policy, of a study and the number of a draw."""

    def defender(study: Any, draw: int) -> Defender:
        given = study.loaded.given
        part = given[name] if name in given else study.loaded.part("policies", name, where)
        return made_policy(part, name, where)

    return defender
