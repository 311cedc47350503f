"""A policy as one object, from which runs, tables, reports and figures take all that they know about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

from pydantic import Field, PlainValidator, WithJsonSchema

from reidsim.core.registry import Registry
from reidsim.errors import InputError, listed
from reidsim.scenarios.amounts import Count
from reidsim.scenarios.read_keys import ReadIf

if TYPE_CHECKING:
    from reidsim.games.defenders.defender import Defender

# The policy of which a scenario may ask for several, each with a k of its own in its name.
K_ANONYMITY = "k-anonymity"
ANONYMITY_PATTERN = rf"{K_ANONYMITY}-[1-9]\d*"


def _checked_k(given: object) -> int | tuple[int, ...]:
    several = list(given) if isinstance(given, list | tuple) else [given]
    checked: list[int] = []
    for k in several or [given]:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InputError("value not allowed", found=k, expected="a whole number of 1 or more, or a list of some")
        checked.append(k)
    return tuple(checked) if isinstance(given, list | tuple) else checked[0]


_AtLeastOne = Count
_K_SCHEMA: dict[str, Any] = {"type": "integer", "minimum": 1}
# One k, or several.
AnonymityK = Annotated[
    _AtLeastOne | tuple[_AtLeastOne, ...],
    # Of a union the error would say of which part.
    PlainValidator(_checked_k),
    WithJsonSchema({"anyOf": [_K_SCHEMA, {"type": "array", "items": _K_SCHEMA, "minItems": 1}]}),
    Field(description="of policy `k-anonymity`; a list makes several, such as `k-anonymity-5`"),
]


@dataclass(frozen=True)
class Look:
    """How figures draw a policy whose look is always the same.

    Parameters
    ----------
    colour : str
        As ``#rrggbb``.
    marker : str
        As matplotlib names it.
    """

    colour: str
    marker: str


@dataclass(frozen=True)
class Policy:
    """A way of deciding what is shared; all that any part of the package knows about it.

    Parameters
    ----------
    name : str
        As scenarios and tables write it.
    label : str
        As figures write it.
    words : str
        What it does, in one sentence.
    defender : callable
        Makes the `Defender` that follows it, of a study and the number of a draw.
    is_rule : bool
        Whether it shares the same whoever attacks; else it is a best reply.
    forbids_attacks : bool
        Whether it shares only what nobody attacks.
    needs_safe_harbor : bool
        Whether the scenario must say what Safe Harbor restricts.
    by_agents : bool
        Whether it can be played round after round.
    in_another_game : bool
        Whether its payoffs accrue against another adversary than those of the others, so that they do not compare.
    look : Look, optional
        How figures draw it; they find a look for a policy that has none.
    k : int, optional
        Of k-anonymity, where its name says it; else the scenario does.
    """

    name: str
    label: str
    words: str
    defender: Callable[[Any, int], Defender]
    is_rule: bool = False
    forbids_attacks: bool = False
    needs_safe_harbor: bool = False
    by_agents: bool = True
    in_another_game: bool = False
    look: Look | None = None
    k: int | None = None


P = TypeVar("P", bound=Policy)


class Policies(Registry[P], Generic[P]):
    """The policies of a kind by name; besides those listed, ``k-anonymity-5`` and the like for any k.

    Parameters
    ----------
    policies : iterable of Policy
    anonymous : callable
        Makes the policy of k-anonymity of a name and a k.
    """

    def __init__(
        self, policies: Iterable[P], anonymous: Callable[[str], Callable[[Any, int], Defender]] | None = None
    ) -> None:
        super().__init__("policy", "reidsim.policies")
        self._anonymous = anonymous
        for policy in policies:
            self.register(policy.name)(policy)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (
            isinstance(name, str) and self._anonymous is not None and _k_in(name) is not None
        )

    def __getitem__(self, name: str) -> P:
        if super().__contains__(name):
            return super().__getitem__(name)
        k = _k_in(name)
        if k is None or self._anonymous is None:
            raise KeyError(name)
        plain = self[K_ANONYMITY]
        words = plain.words.replace(" k ", f" {k:,} ")
        return replace(plain, name=name, label=f"{k}-anonymity", words=words, defender=self._anonymous(name), k=k)


def require_by_agents(policy: Policy, among: Iterable[Policy], where: str, source: Path | None = None) -> None:
    """Check that a policy can be played with agents.

    Raises
    ------
    InputError
        If it cannot; names those that can.
    """
    if not policy.by_agents:
        playable = [each.name for each in among if each.by_agents]
        raise InputError(
            "not a policy of scenarios with agents", source=source, where=where, found=policy.name,
            expected=f"among {listed(playable, 20)}",
        )  # fmt: skip


def _has_k(section: Any, scenario: Any) -> bool:
    names = section.policies
    return K_ANONYMITY in names if isinstance(section.k, int) else any(_k_in(name) in section.k for name in names)


WITH_K_ANONYMITY = ReadIf(_has_k, f"with policy {K_ANONYMITY}")


def with_policy(*names: str) -> ReadIf:
    """Return the condition that the section of a key compares one of some policies."""
    return ReadIf(
        lambda section, scenario: any(name in section.policies for name in names),
        f"with policy {' or '.join(names)}",
    )


def with_each_k(names: Sequence[str], k: int | Sequence[int]) -> tuple[str, ...]:
    """Put a policy for each k in the place of ``k-anonymity``, if there are several."""
    each = [K_ANONYMITY] if isinstance(k, int) else [f"{K_ANONYMITY}-{one}" for one in k]
    return tuple(named for name in names for named in (each if name == K_ANONYMITY else [name]))


def k_of(policy: Policy, k: int | Sequence[int], where: str) -> int:
    """Return the k of a policy of k-anonymity: that of its name, or the one that a scenario gives at a key.

    Raises
    ------
    InputError
        If the scenario gives several.
    """
    if policy.k is not None:
        return policy.k
    if not isinstance(k, int):
        expected = "a policy for each, such as k-anonymity-5"
        raise InputError("several k", where=where, found=list(k), expected=expected)
    return k


def _k_in(name: str) -> int | None:
    return int(name.rpartition("-")[2]) if re.fullmatch(ANONYMITY_PATTERN, name) else None
