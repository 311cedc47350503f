"""Interface and registries of policies.

Policies of k-anonymity may exist for several values of k.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import Field, PlainValidator

from reidsim.core.registry import Registry
from reidsim.errors import InputError, listed, locating, refuse_first
from reidsim.games.defenders.defender import Defender, Game
from reidsim.games.record_game import Choice
from reidsim.scenarios.read_keys import Count, ReadIf

# A scenario may compare this policy for several values of k; the name of each then contains its k.
K_ANONYMITY = "k-anonymity"
ANONYMITY_PATTERN = rf"{K_ANONYMITY}-[1-9]\d*"


def _checked_k(given: object) -> Any:
    several = tuple(given) if isinstance(given, list | tuple) else (given,)
    wrong = [k for k in several or [given] if type(k) is not int or k < 1]
    expected = "a whole number of 1 or more, or a list of such numbers"
    refuse_first((wrong, "value not allowed", None, next(iter(wrong), None), expected))
    return several if isinstance(given, list | tuple) else given


# One k, or several.
AnonymityK = Annotated[
    Count | tuple[Count, ...],
    # The error message for a union type would name the member of the union in the key path.
    PlainValidator(_checked_k, json_schema_input_type=Count | Annotated[tuple[Count, ...], Field(min_length=1)]),
    Field(
        description="with policy `k-anonymity`: smallest number of records in an equivalence class; a list "
        "adds one policy per number, such as `k-anonymity-5`"
    ),
]


@dataclass(frozen=True)
class Look:
    """Colour and marker of a policy in all figures.

    Parameters
    ----------
    colour : str
        Colour as ``#rrggbb``.
    marker : str
        Name of the marker in matplotlib.
    """

    colour: str
    marker: str


class Policy(ABC):
    """A rule by which a publisher or data subjects choose strategies.

    Attributes
    ----------
    name : str
        Name in scenarios and tables; the registry sets it.
    label : str
        Name in figures.
    description : str
        One sentence without a full stop.
    is_rule : bool
        Whether the choice ignores the adversary; otherwise it is a best reply to the believed adversary.
    forbids_attacks : bool
        Whether the policy shares only records that no adversary attacks.
    by_agents : bool
        Whether the policy can be played in rounds.
    in_another_game : bool
        Whether payoffs are computed against another adversary and are therefore not comparable with other policies.
    needs : frozenset of str
        Capabilities that the scenario must provide.
    look : Look, optional
        Colour and marker in figures; by default, figures assign one.
    k : int, optional
        k of k-anonymity if the policy's name contains it; otherwise the scenario's k applies.
    """

    name: str = ""
    label: str = ""
    description: str = ""
    is_rule: bool = False
    forbids_attacks: ClassVar[bool] = False
    by_agents: ClassVar[bool] = True
    in_another_game: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset()
    look: ClassVar[Look | None] = None
    k: int | None = None

    @abstractmethod
    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the strategy of each record.

        Parameters
        ----------
        study : Study
        game : RecordGame or MaskingGame
            Game that the decision maker believes to be played.
        draw : int
            Number of the study's draw.

        Raises
        ------
        InputError
            If the policy cannot be played in this game.
        """

    def paid_in(self, study: Any, game: Game, choice: Choice) -> Game:
        """Return the game in which a choice is evaluated; by default the true one, `game`."""
        return game

    def defender(self, study: Any, draw: int) -> Defender:
        """Return the policy bound to a study and the number of a draw."""
        return PolicyDefender(self, study, draw)


@dataclass(frozen=True, eq=False)
class PolicyDefender:
    """A policy bound to a study and a draw; see `Defender`."""

    policy: Policy
    study: Any
    draw: int

    @property
    def name(self) -> str:
        """Name of the policy."""
        return self.policy.name

    @property
    def plans(self) -> bool:
        """Whether the choice depends on the adversary."""
        return not self.policy.is_rule

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each record."""
        return self.policy.choose(self.study, game, self.draw)

    def paid_in(self, game: Game, choice: Choice) -> Game:
        """Return the game in which a choice is evaluated."""
        return self.policy.paid_in(self.study, game, choice)


P = TypeVar("P", bound=Policy)


class Policies(Registry[P], Generic[P]):
    """The policies of a kind, by name.

    Classes are registered; a lookup returns an instance.

    If ``k-anonymity`` is registered, names with a k such as ``k-anonymity-5`` are policies too.

    Parameters
    ----------
    modules : str
        Names of the modules that register the policies.
    """

    def __init__(self, *modules: str) -> None:
        super().__init__("policy", "reidsim.policies", *modules)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (
            isinstance(name, str) and _k_in(name) is not None and super().__contains__(K_ANONYMITY)
        )

    def __getitem__(self, name: str) -> P:
        k = _k_in(name)
        if k is None:
            return super().__getitem__(name)
        policy: Any = copy.copy(super().__getitem__(K_ANONYMITY))
        policy.name, policy.label, policy.k = name, f"{k}-anonymity", k
        policy.description = policy.description.replace(" k ", f" {k:,} ")
        found: P = policy
        return found

    def _entry(self, name: str, part: Any) -> P:
        policy: P = part()
        policy.name = name
        return policy


def require_by_agents(policy: Policy, among: Iterable[Policy], where: str, source: Path | None = None) -> None:
    """Check that a policy can be played in repeated rounds.

    Raises
    ------
    InputError
        If it cannot; lists the policies that can.
    """
    expected = f"one of {listed((each.name for each in among if each.by_agents), 20)}"
    problem = "the policy is not supported in rounds of agents"
    with locating(source):
        refuse_first((not policy.by_agents, problem, where, policy.name, expected))


def with_policy(*names: str) -> ReadIf:
    """Return the condition that a section compares at least one of these policies."""
    return ReadIf(
        lambda section, scenario: any(name in section.policies for name in names), f"with policy {' or '.join(names)}"
    )


def _has_k(section: Any, scenario: Any) -> bool:
    names = section.policies
    return K_ANONYMITY in names if isinstance(section.k, int) else any(_k_in(name) in section.k for name in names)


WITH_K_ANONYMITY = ReadIf(_has_k, f"with policy {K_ANONYMITY}")


def with_each_k(names: Sequence[str], k: int | Sequence[int]) -> tuple[str, ...]:
    """Return policy names with ``k-anonymity`` replaced by one name per k.

    Names are unchanged if `k` is a single number.
    """
    each = [K_ANONYMITY] if isinstance(k, int) else [f"{K_ANONYMITY}-{one}" for one in k]
    return tuple(named for name in names for named in (each if name == K_ANONYMITY else [name]))


def k_of(policy: Policy, k: int | Sequence[int], where: str) -> int:
    """Return the k of a k-anonymity policy.

    It comes from the policy's name, or from the scenario's key `where`.

    Raises
    ------
    InputError
        If the scenario gives several k.
    """
    if policy.k is None and not isinstance(k, int):
        expected = "a policy for each value, such as k-anonymity-5"
        raise InputError("several values of k", where=where, found=list(k), expected=expected)
    return policy.k or int(k)  # type: ignore[arg-type] # an int, as checked


def _k_in(name: str) -> int | None:
    return int(name.rpartition("-")[2]) if re.fullmatch(ANONYMITY_PATTERN, name) else None
