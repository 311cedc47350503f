"""Python objects that replace the files, recipes and modules of a scenario.

A scenario refers to everything by name. If a name is a key of the objects passed in Python, the object is used:

- a table of text for ``release.path`` and for the file of a hierarchy,
- a `Population` for ``population.recipe`` and ``adversary.sequential.registry``,
- an adversary, or a class or function that makes one, for ``adversary.planner``,
- a policy for an entry of ``publisher.policies``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel

from reidsim.adversaries.response import Adversary
from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import Population
from reidsim.releases.hierarchy_file import read_hierarchy_rows
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.adversary_defaults import spelled_out
from reidsim.scenarios.asked import section
from reidsim.scenarios.hierarchy_schema import Table
from reidsim.scenarios.parts import told_in_a_line
from reidsim.scenarios.policy import Policy
from reidsim.validation import Section, validated

if TYPE_CHECKING:
    from reidsim.scenarios.load import Scenario

Given = Mapping[str, Any]
Amount = float | Floats
S = TypeVar("S", bound=BaseModel)

# A policy that every kind with a publisher has; replaces the policies passed in Python during validation.
_ANY_POLICY = "suppress-all"


def validated_with(given: Given, model: type[S], content: Mapping[str, Any], source: str | Path) -> S:
    """Return a validated scenario.

    Its adversaries and policies may be names of objects passed in Python.

    Raises
    ------
    InputError
        As `validated`, and if the kind has no key for the object.
    """
    content = spelled_out(content)
    named = section(content, "adversaries")
    own = [name for name in named if section(named, name).get("planner") in given]
    alone = section(content, "adversary").get("planner") in given
    policies = section(content, "publisher").get("policies", ())
    if not (alone or own or any(policy in given for policy in policies)):
        return validated(model, content, source)
    known = dict(content)
    changes: dict[str, dict[str, Any]] = {}
    if alone:
        known["adversary"] = _unplanned(content["adversary"])
        changes["adversary"] = {"planner": content["adversary"]["planner"]}
    if own:
        known["adversaries"] = {name: _unplanned(named[name]) if name in own else named[name] for name in named}
    if any(policy in given for policy in policies):
        others = [policy for policy in policies if policy not in given]
        known["publisher"] = {**content["publisher"], "policies": others or [_ANY_POLICY]}
        changes["publisher"] = {"policies": tuple(policies)}
    scenario = validated(model, known, source)
    sections: dict[str, Any] = {
        name: _with(getattr(scenario, name, None), values, name, source) for name, values in changes.items()
    }
    if own:
        adversaries = getattr(scenario, "adversaries")  # noqa: B009 - only some kinds have it; validated above
        sections["adversaries"] = adversaries | {
            name: adversaries[name].model_copy(update={"planner": named[name]["planner"]}) for name in own
        }
    return scenario.model_copy(update=sections)


def _unplanned(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key not in ("planner", "rate")}


def people_named(name: str, loaded: Scenario[Any], **made: Any) -> Population:
    """Return a population by name.

    It is a Python object, bundled, or made from a recipe file; see `load_population`.

    Raises
    ------
    InputError
        If no population has this name, or its recipe cannot be used.
    """
    if name in loaded.given:
        population: Population = loaded.given[name]
        return population
    return load_population(resolve(name, "populations", "population", base=loaded.folder), **made)


def table_named(
    name: str, loaded: Scenario[Any], where: str, read: Callable[[Path], pd.DataFrame]
) -> tuple[Path, pd.DataFrame]:
    """Return the path and rows of the table at the key `where`.

    The table is a Python object, or read from its file.

    Raises
    ------
    InputError
        If the file cannot be used; names the key unless the error already names a position in the file.
    """
    if name in loaded.given:
        return Path(name), loaded.given[name]
    path = data_file(name, loaded.folder, "scenarios")
    try:
        return path, read(path)
    except InputError as error:
        raise error if error.where else error.located(where=where) from None


def table_rows(section: Table, folder: Path, given: Given) -> list[list[str]]:
    """Return the rows of a hierarchy's table: a Python object, or read from its file."""
    if section.file in given:
        rows: list[list[str]] = given[section.file].to_numpy().tolist()
        return rows
    return read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)


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
        with told_in_a_line("cannot be made", name, where):
            own = part(gain=gain, cost=cost, **parameters)
    if not replies(own):
        raise InputError("not an adversary", where=where, found=name, expected="an object with respond(linkage, rows)")
    adversary: Adversary = own
    return adversary


def made_policy(part: Any, name: str, where: str) -> GivenPolicy:
    """Return a user-defined policy as a defender.

    It is the object itself, or the result of calling it.

    Raises
    ------
    InputError
        If the call fails, or the result is not a policy.
    """
    own = part
    if isinstance(part, type) or not callable(getattr(part, "choose", None)):
        with told_in_a_line("cannot be made", name, where):
            own = part()
    if not callable(getattr(own, "choose", None)):
        raise InputError("not a policy", where=where, found=name, expected="an object with choose(game)")
    return GivenPolicy(name, own)


def replies(part: object) -> bool:
    """Return whether an object is an adversary, not a factory of adversaries."""
    return not isinstance(part, type) and callable(getattr(part, "respond", None))


@dataclass(frozen=True)
class GivenPolicy:
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
        n, size = game.n_records, record_game_of(game).space.size
        if strategies.shape != (n,) or strategies.dtype.kind not in "iu":
            raise InputError(
                "not a release for each record", source=f"policy {self.name!r}", where="choose",
                found=f"{strategies.dtype} of shape {strategies.shape}", expected=f"whole numbers of shape ({n},)",
            )  # fmt: skip
        wrong = (strategies < WITHHELD) | (strategies >= size)
        if wrong.any():
            raise InputError(
                "no such release", source=f"policy {self.name!r}", where="choose", found=int(strategies[wrong][0]),
                expected=f"0 to {size - 1}, or {WITHHELD} to withhold a record",
            )  # fmt: skip
        if isinstance(chosen, Choice):
            return chosen
        return Choice(strategies.astype(np.int64), self.name, np.zeros(n, dtype=np.int64), exact=False)


def _with(section: Section | None, values: Mapping[str, Any], name: str, source: str | Path) -> Section:
    """Return a section with some values replaced, without validation.

    Keys that the section does not have are refused.
    """
    for key in values:
        if section is None or key not in type(section).model_fields:
            raise InputError("unknown key", source=source, where=f"{name}.{key}", expected="a game that has this key")
    assert section is not None  # noqa: S101 - values are never empty
    return section.model_copy(update=dict(values))


P = TypeVar("P", bound=Policy)


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

    def defender(self, study: Any, draw: int) -> GivenPolicy:
        """Return the user's policy as a defender."""
        given = study.loaded.given
        part = given[self.name] if self.name in given else study.loaded.part("policies", self.name, self.where)
        return made_policy(part, self.name, self.where)


def policy_among(policies: Mapping[str, P], own: Callable[[str, str], P], name: str, where: str) -> P:
    """Return a policy by name.

    `own` makes a user-defined policy from the name and its key path.
    """
    return policies[name] if name in policies else own(name, where)
