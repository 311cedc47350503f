"""Python objects that replace the modules of a scenario, and the tables and recipes that a scenario names.

If the name of an adversary (``adversary.planner``) or of a policy is a key of the objects passed in Python, the object
is used: an adversary or policy, or a class or function that makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.planners import Amount, Register, planners
from reidsim.adversaries.response import Adversary
from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError, locating, refuse_first
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import Population
from reidsim.scenarios.adversary_schema import PlannerSection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.policy import Policy
from reidsim.scenarios.user_defined import one_line_errors


def people_named(name: str, loaded: Scenario[Any], **made: Any) -> Population:
    """Return a population, bundled or made from a recipe file; see `load_population`.

    Raises
    ------
    InputError
        If no population has this name, or its recipe cannot be used.
    """
    return load_population(resolve(name, "populations", "population", base=loaded.folder), **made)


def table_named(
    name: str, loaded: Scenario[Any], where: str, read: Callable[[Path], pd.DataFrame]
) -> tuple[Path, pd.DataFrame]:
    """Return the path and rows of the table at the key `where`.

    Raises
    ------
    InputError
        If the file cannot be used; names the key unless the error already names a position in the file.
    """
    path = data_file(name, loaded.folder, "scenarios")
    try:
        return path, read(path)
    except InputError as error:
        raise error if error.where else error.located(where=where) from None


def planner(
    section: PlannerSection,
    gain: Amount,
    cost: Amount,
    *,
    loaded: Scenario[Any],
    coverage: float = 1.0,
    registry_size: int | None = None,
) -> Adversary:
    """Return the adversary that a section describes, with its bounded rationality.

    Parameters
    ----------
    section : PlannerSection
    gain, cost : float or ndarray of float64, shape (n_records,)
        Currency units per record.
    loaded : Scenario
        Finds user-defined planners: Python objects, installed parts, and modules in the scenario's folder.
    coverage : float
        Probability that a record's person is in the adversary's register.
    registry_size : int, optional
        Number of people in the register, for a sequential attack that does not know group sizes before access.

    Raises
    ------
    InputError
        If the gain or cost of a sequential attack differs between records, or a user-defined planner cannot be made or
        does not support bounded rationality.
    """
    name = section.planner
    if name in planners and name not in loaded.given:
        perfect = planners[name].make(section, gain, cost, Register(coverage, registry_size))
    else:
        where = "adversary" if name in loaded.given else "adversary.planner"
        part = loaded.given[name] if name in loaded.given else loaded.part("adversaries", name, where)
        perfect = made_adversary(part, gain, cost, section.parameters, where=where, name=name)
    return section.erring(perfect, "adversary.rationality")


def made_adversary(
    part: Any, gain: Amount, cost: Amount, parameters: Mapping[str, Any], *, where: str, name: str
) -> Adversary:
    """Return a user-defined adversary.

    It is the object itself, or the result of calling it with gain and cost.

    Parameters
    ----------
    part : object
        An adversary, or a class or function that makes one.
    gain, cost : float or ndarray of float64, shape (n_records,)
        Currency units per record.
    parameters : mapping of str to object
        Further keyword arguments of the class or function.
    where, name : str
        Key path and name of the adversary, for error messages.

    Raises
    ------
    InputError
        If the call fails, or the result is not an adversary.
    """
    if replies(part):
        own = part
    else:
        with one_line_errors("cannot be made", name, where):
            own = part(gain=gain, cost=cost, **parameters)
    if not replies(own):
        raise InputError("not an adversary", where=where, found=name, expected="an object with respond(linkage, rows)")
    adversary: Adversary = own
    return adversary


def made_policy(part: Any, name: str, where: str) -> UserPolicy:
    """Return a user-defined policy as a defender.

    It is the object itself, or the result of calling it.

    Raises
    ------
    InputError
        If the call fails, or the result is not a policy.
    """
    own = part
    if isinstance(part, type) or not callable(getattr(part, "choose", None)):
        with one_line_errors("cannot be made", name, where):
            own = part()
    if not callable(getattr(own, "choose", None)):
        raise InputError("not a policy", where=where, found=name, expected="an object with choose(game)")
    return UserPolicy(name, own)


def replies(part: object) -> bool:
    """Return whether an object is an adversary, not a factory of adversaries."""
    return not isinstance(part, type) and callable(getattr(part, "respond", None))


@dataclass(frozen=True)
class UserPolicy:
    """A user-defined policy as a defender, with its choice checked.

    Parameters
    ----------
    name : str
    policy : object
        Has a method ``choose(game)`` that returns a `Choice`, or an array of strategies, shape (n_records,).
    """

    name: str
    policy: Any

    @property
    def plans(self) -> bool:
        """Whether the choice depends on the adversary.

        It is the policy's attribute `plans`, or True without this attribute.
        """
        return bool(getattr(self.policy, "plans", True))

    def choose(self, game: Game) -> Choice:
        """Return the strategy of each record; see `Defender`.

        Raises
        ------
        InputError
            If the policy does not return a strategy, or -1 (withheld), for each record.
        """
        chosen = self.policy.choose(game)
        strategies = np.asarray(chosen.strategies if isinstance(chosen, Choice) else chosen)
        n, size, where = game.n_records, record_game_of(game).space.size, "choose"
        found, expected = f"{strategies.dtype} of shape {strategies.shape}", f"whole numbers of shape ({n},)"
        is_odd = strategies.shape != (n,) or strategies.dtype.kind not in "iu"
        with locating(f"policy {self.name!r}"):
            refuse_first((is_odd, "not a release for each record", where, found, expected))
            wrong = strategies[(strategies < WITHHELD) | (strategies >= size)].tolist()
            expected = f"0 to {size - 1}, or {WITHHELD} to withhold a record"
            refuse_first((wrong, "no such release", where, next(iter(wrong), None), expected))
        if isinstance(chosen, Choice):
            return chosen
        return Choice(strategies.astype(np.int64), self.name, np.zeros(n, dtype=np.int64), exact=False)


class OwnPolicy(Policy):
    """A user-defined policy.

    It is passed in Python, or found in a module or an installed package.

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

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the checked choice of the user's policy."""
        return self.defender(study, draw).choose(game)

    def defender(self, study: Any, draw: int) -> UserPolicy:
        """Return the user's policy as a defender."""
        given = study.loaded.given
        part = given[self.name] if self.name in given else study.loaded.part("policies", self.name, self.where)
        return made_policy(part, self.name, self.where)
