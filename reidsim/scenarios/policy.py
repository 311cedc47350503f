"""Interface and registries of policies.

Policies of k-anonymity may exist for several values of k.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import numpy as np
from pydantic import Field, PlainValidator

from reidsim.core.errors import InputError, listed, locating, refuse_first
from reidsim.core.registry import Registry
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.scenarios.read_keys import Count, ReadIf
from reidsim.scenarios.registry import one_line_errors

# A scenario may compare this policy for several values of k; the name of each then contains its k.
K_ANONYMITY = "k-anonymity"
ANONYMITY_PATTERN = rf"{K_ANONYMITY}-[1-9]\d*"


def _checked_k(value: Any) -> Any:
    is_list = isinstance(value, list | tuple)
    for k in (list(value) or [value]) if is_list else [value]:
        if type(k) is not int or k < 1:
            expected = "a whole number of 1 or more, or a list of such numbers"
            raise InputError("value not allowed", found=k, expected=expected)
    return tuple(value) if is_list else value


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

    def defender(self, study: Any, draw: int) -> BoundPolicy:
        """Return the policy bound to a study and the number of a draw; see `BoundPolicy`."""
        return BoundPolicy(
            self.name, not self.is_rule, partial(self.choose, study, draw=draw), partial(self.paid_in, study)
        )


@dataclass(frozen=True, eq=False)
class BoundPolicy:
    """A policy bound to a study and a draw; a `Defender`.

    Parameters
    ----------
    name : str
        Name of the policy.
    plans : bool
        Whether the choice depends on the adversary.
    choose : callable
        Returns the choice, given the game in which the decision maker plans.
    paid_in : callable
        Returns the game in which a choice is evaluated, given the true game and the choice.
    """

    name: str
    plans: bool
    choose: Callable[[Game], Choice]
    paid_in: Callable[[Game, Choice], Game]


class OwnPolicy(Policy):
    """A user-defined policy, with its choice checked.

    It is passed in Python, or found in a module or an installed package. It has a method ``choose(game)`` that returns
    a `Choice`, or an array of strategies, shape (n_records,). The choice depends on the adversary unless the policy has
    the attribute ``plans`` with value False.

    Parameters
    ----------
    name : str
    where : str
        Key path of the scenario that names the policy.
    """

    description = "user-defined policy"
    by_agents = False

    def __init__(self, name: str, where: str) -> None:
        self.name, self.label, self.where = name, name, where

    def defender(self, study: Any, draw: int) -> BoundPolicy:
        """Return the policy with the user's object, bound to a study.

        Raises
        ------
        InputError
            If the object cannot be made, or is not a policy.
        """
        own = study.loaded.part("policies", self.name, self.where)
        if isinstance(own, type) or not callable(getattr(own, "choose", None)):
            with one_line_errors("cannot be made", self.name, self.where):
                own = own()
        if not callable(getattr(own, "choose", None)):
            raise InputError("not a policy", where=self.where, found=self.name, expected="an object with choose(game)")
        bound = super().defender(study, draw)
        return replace(bound, plans=getattr(own, "plans", True), choose=partial(self._checked, own))

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the checked choice of the user's policy in a game; see `Policy.choose`.

        Raises
        ------
        InputError
            If the user's object is not a policy, or its choice is not one valid strategy per record.
        """
        return self.defender(study, draw).choose(game)

    def _checked(self, policy: Any, game: Game) -> Choice:
        """Return the choice of the user's policy in a game, after a check.

        An array of strategies becomes a `Choice` that is not proved optimal.

        Raises
        ------
        InputError
            If it is not an array of whole numbers, shape (n_records,), each a strategy or -1 (withheld).
        """
        chosen = policy.choose(game)
        strategies = np.asarray(chosen.strategies if isinstance(chosen, Choice) else chosen)
        n, size = game.n_records, record_game_of(game).space.size
        with locating(f"policy {self.name!r}", "choose"):
            if strategies.shape != (n,) or strategies.dtype.kind not in "iu":
                found, expected = f"{strategies.dtype} of shape {strategies.shape}", f"whole numbers of shape ({n},)"
                raise InputError("not a release for each record", found=found, expected=expected)
            wrong = strategies[(strategies < WITHHELD) | (strategies >= size)].tolist()
            expected = f"0 to {size - 1}, or {WITHHELD} to withhold a record"
            refuse_first((wrong, "no such release", None, next(iter(wrong), None), expected))
        if isinstance(chosen, Choice):
            return chosen
        return Choice(strategies.astype(np.int64), self.name, np.zeros(n, dtype=np.int64), exact=False)


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
        return super().__contains__(K_ANONYMITY if _k_in(name) else name)

    def __getitem__(self, name: str) -> P:
        k = _k_in(name)
        policy = super().__getitem__(K_ANONYMITY if k else name)
        if k:
            policy = copy.copy(policy)
            policy.name, policy.label, policy.k = name, f"{k}-anonymity", k
            policy.description = policy.description.replace(" k ", f" {k:,} ")
        return policy

    def _entry(self, name: str, part: Any) -> P:
        policy: P = part()
        policy.name = name
        return policy


def require_by_agents(policy: Policy, among: Iterable[Policy], where: str, source: Path | None = None) -> None:
    """Check that a policy can be played in repeated rounds.

    `among` are the policies of the kind; `where` and `source` are key and file in the message.

    Raises
    ------
    InputError
        If it cannot; lists the policies that can.
    """
    if not policy.by_agents:
        expected = f"one of {listed((each.name for each in among if each.by_agents), 20)}"
        problem = "the policy is not supported in rounds of agents"
        raise InputError(problem, source=source, where=where, found=policy.name, expected=expected)


def with_policy(*names: str) -> ReadIf:
    """Return the condition that a section compares at least one of these policies."""
    return ReadIf(
        lambda section, scenario: any(name in section.policies for name in names), f"with policy {' or '.join(names)}"
    )


WITH_K_ANONYMITY = ReadIf(
    lambda section, scenario: any(
        name == K_ANONYMITY if isinstance(section.k, int) else _k_in(name) in section.k for name in section.policies
    ),
    f"with policy {K_ANONYMITY}",
)


def with_each_k(names: Sequence[str], k: int | Sequence[int]) -> tuple[str, ...]:
    """Return policy names with ``k-anonymity`` replaced by one name per k.

    Names are unchanged if `k` is a single number.
    """
    each = [K_ANONYMITY] if isinstance(k, int) else [f"{K_ANONYMITY}-{one}" for one in k]
    return tuple(named for name in names for named in (each if name == K_ANONYMITY else [name]))


def k_of(policy: Policy, k: int | Sequence[int], where: str) -> int:
    """Return the k of a k-anonymity policy.

    It comes from the policy's name if that contains one, else it is `k`, the value of the scenario's key `where`.

    Raises
    ------
    InputError
        If the name contains no k and the scenario gives several.
    """
    if policy.k is None and not isinstance(k, int):
        expected = "a policy for each value, such as k-anonymity-5"
        raise InputError("several values of k", where=where, found=list(k), expected=expected)
    return policy.k or int(k)  # type: ignore[arg-type] # an int, as checked


def _k_in(name: object) -> int | None:
    """Return the k in a name such as ``k-anonymity-5``; None for any other name."""
    return int(str(name).rpartition("-")[2]) if re.fullmatch(ANONYMITY_PATTERN, str(name)) else None
