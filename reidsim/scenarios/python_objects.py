"""Python objects that replace the modules of a scenario, and the tables and recipes that a scenario names.

If the name of an adversary (``adversary.planner``) or of a policy is a key of the objects passed in Python, the object
is used: an adversary or policy, or a class or function that makes one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.adversaries.planners import Amount, Register, planners
from reidsim.adversaries.response import Adversary
from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError, locating, refuse_first
from reidsim.games.defenders.defender import Defender, Game, record_game_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import Population
from reidsim.scenarios.adversary_schema import PlannerSection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.policy import Policy, PolicyDefender
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
    name, where = section.planner, "adversary" if section.planner in loaded.given else "adversary.planner"
    own: Any
    if name in planners and name not in loaded.given:
        own = planners[name].make(section, gain, cost, Register(coverage, registry_size))
    else:
        own = loaded.part("adversaries", name, where)
        if not replies(own):
            with one_line_errors("cannot be made", name, where):
                own = own(gain=gain, cost=cost, **section.parameters)
        if not replies(own):
            expected = "an object with respond(linkage, rows)"
            raise InputError("not an adversary", where=where, found=name, expected=expected)
    return section.erring(own, "adversary.rationality")


def replies(part: object) -> bool:
    """Return whether an object is an adversary, not a factory of adversaries."""
    return not isinstance(part, type) and callable(getattr(part, "respond", None))


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
        self.part: Any = None

    def defender(self, study: Any, draw: int) -> Defender:
        """Return the policy with the user's object, bound to a study.

        Raises
        ------
        InputError
            If the object cannot be made, or is not a policy.
        """
        made, own = copy.copy(self), study.loaded.part("policies", self.name, self.where)
        if isinstance(own, type) or not callable(getattr(own, "choose", None)):
            with one_line_errors("cannot be made", self.name, self.where):
                own = own()
        if not callable(getattr(own, "choose", None)):
            raise InputError("not a policy", where=self.where, found=self.name, expected="an object with choose(game)")
        made.part, made.is_rule = own, not getattr(own, "plans", True)
        return PolicyDefender(made, study, draw)

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return the checked choice of the user's policy.

        Raises
        ------
        InputError
            If the policy does not return a strategy, or -1 (withheld), for each record.
        """
        if self.part is None:
            return self.defender(study, draw).choose(game)
        chosen = self.part.choose(game)
        strategies = np.asarray(chosen.strategies if isinstance(chosen, Choice) else chosen)
        n, size = game.n_records, record_game_of(game).space.size
        found, expected = f"{strategies.dtype} of shape {strategies.shape}", f"whole numbers of shape ({n},)"
        is_odd = strategies.shape != (n,) or strategies.dtype.kind not in "iu"
        with locating(f"policy {self.name!r}", "choose"):
            refuse_first((is_odd, "not a release for each record", None, found, expected))
            wrong = strategies[(strategies < WITHHELD) | (strategies >= size)].tolist()
            expected = f"0 to {size - 1}, or {WITHHELD} to withhold a record"
            refuse_first((wrong, "no such release", None, next(iter(wrong), None), expected))
        if isinstance(chosen, Choice):
            return chosen
        return Choice(strategies.astype(np.int64), self.name, np.zeros(n, dtype=np.int64), exact=False)
