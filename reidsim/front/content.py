"""What a game in Python says as a scenario file would: plain data, and what in it is given in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.errors import InputError, listed, nearest
from reidsim.front.adversaries import Amount, AnyAdversary, Own, Random, Sequential
from reidsim.front.arguments import GAME
from reidsim.front.records import Records
from reidsim.overrides import override
from reidsim.populations.population import Population
from reidsim.scenarios.load import anchored

UNITS = ("record", "table")
_AMOUNTS = ("benefit", "loss", "gain", "cost")


@dataclass(frozen=True, eq=False)
class Parts:
    """A scenario as plain data, and what names in it stand for.

    Parameters
    ----------
    content : dict
    tables : dict of str to DataFrame
    populations : dict of str to Population
    adversary : dict of str to object
        Empty, or the planner's name and what makes it.
    policies : dict of str to object
        The user's own policies by name.
    """

    content: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    populations: dict[str, Population]
    adversary: dict[str, Any]
    policies: dict[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        """All that is given in memory, by name."""
        return {**self.tables, **self.populations, **self.adversary, **self.policies}


def parts_of(
    records: Records,
    population: Population | str | None,
    adversary: AnyAdversary,
    amounts: Mapping[str, Amount | None],
    unit: str,
    policies: Sequence[object],
    overrides: Mapping[str, object],
    prefix: str = "",
) -> Parts:
    """Write a game down.

    Parameters
    ----------
    records, population, adversary, unit, policies, overrides
        As of `Game`.
    amounts : mapping of str to Amount or None
        Benefit, loss, gain and cost.
    prefix : str
        Of the names of tables and populations.
    """
    economics, columns = _economics(amounts, records, unit)
    content, tables = records.content(prefix, columns)
    populations: dict[str, Population] = {}
    if isinstance(population, Population):
        populations[f"{prefix}people.toml"] = population
        content["population"] = {"recipe": f"{prefix}people.toml"}
    elif population is not None:
        content["population"] = {"recipe": population}
    risk = adversary.risk or ("prosecutor" if population is None else "journalist")
    section: dict[str, Any] = {"risk": risk}
    section |= {} if adversary.direction == "record" else {"direction": adversary.direction}
    if isinstance(adversary, Sequential):
        plan = adversary.section()
        if adversary.registry is not None:
            registry = population_of(adversary.registry, "registry", "argument 'adversary', registry")
            plan["registry"] = registry if isinstance(registry, str) else f"{prefix}registry.toml"
            if isinstance(registry, Population):
                populations[f"{prefix}registry.toml"] = registry
        section |= {"sequential": plan} if plan else {}
    if adversary.planner != "one-shot":
        section["planner"] = adversary.planner
    if isinstance(adversary, Random):
        section["rate"] = adversary.rate
    for name in ("knowledge", "stages"):
        value = getattr(adversary, name)
        section |= {} if value is None else {name: path_text(value)}
    own = own_policies(policies)
    content = {
        **content,
        "economics": economics,
        "adversary": section,
        "publisher": {
            "unit": unit,
            "policies": [policy if isinstance(policy, str) else name_of(policy) for policy in policies],
        },
    }
    given = {*tables, *populations}
    content = _anchored(content, given)
    override(content, {key: _plain(value) for key, value in overrides.items()})
    made = {adversary.planner: adversary.make} if isinstance(adversary, Own) else {}
    return Parts(content, tables, populations, made, own)


def own_policies(policies: Sequence[object]) -> dict[str, Any]:
    """Return the policies that are objects, by name.

    Raises
    ------
    InputError
        If something is no policy, or two have one name.
    """
    found: dict[str, Any] = {}
    names = [policy for policy in policies if isinstance(policy, str)]
    for policy in policies:
        if isinstance(policy, str):
            continue
        if isinstance(policy, type) or not callable(getattr(policy, "choose", None)):
            raise InputError(
                "not a policy", source=GAME, where="argument 'policies'", found=policy,
                expected="a name, or an object with a method choose(game)",
            )  # fmt: skip
        name = name_of(policy)
        if name in names or name in found:
            raise InputError("two policies of one name", source=GAME, where="argument 'policies'", found=name)
        found[name] = policy
    return found


def name_of(policy: object) -> str:
    """Return what results call a policy."""
    return str(getattr(policy, "name", type(policy).__name__))


def population_of(given: object, name: str, argument: str) -> Population | str:
    """Return people: as given, counted from a table, or the name or file of a recipe.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if isinstance(given, Population):
        return given
    if isinstance(given, pd.DataFrame):
        return Population.from_frame(given, name=name)
    if isinstance(given, str | Path):
        return path_text(given)
    raise InputError(
        "no population", source=GAME, where=argument, found=type(given).__name__,
        expected="a Population, a DataFrame, or the name or file of a recipe",
    )  # fmt: skip


def path_text(given: str | Path) -> str:
    """Return a path as absolute text; a name as it is."""
    is_file = isinstance(given, Path) or bool(re.search(r"[/\\]|\.(toml|parquet)$", given))
    return str(Path(given).absolute()) if is_file else str(given)


def _economics(
    amounts: Mapping[str, Amount | None], records: Records, unit: str
) -> tuple[dict[str, Any], dict[str, pd.Series[str]]]:
    """Return the section of amounts, and the columns of those that differ by record and are no column yet."""
    section: dict[str, Any] = {}
    columns: dict[str, str] = {}
    added: dict[str, pd.Series[str]] = {}
    for name in _AMOUNTS:
        amount = amounts[name]
        argument = f"argument '{name}'" if name in ("benefit", "loss") else f"argument 'adversary', {name}"
        if amount is None:
            continue
        if isinstance(amount, str) or np.ndim(amount):
            columns[name], values = _column(amount, name, records, argument)
            if values is not None:
                added[columns[name]] = values
            # A scenario has one amount besides, which is shown where one is; the columns decide.
            section[name] = 0.0 if values is None else float(np.mean(amount))  # type: ignore[arg-type]
        else:
            section[name] = _plain(amount)
    return section | ({"columns": columns} if columns else {}), added


def _column(amount: Any, name: str, records: Records, argument: str) -> tuple[str, pd.Series[str] | None]:
    """Return the column that holds an amount, and its values if the records do not have it yet."""
    own = records.columns or ()
    if isinstance(amount, str):
        if records.columns is not None and amount not in own:
            raise InputError(
                "no such column", source=GAME, where=argument, found=amount, expected=f"one of {listed(own, 20)}",
                hint=nearest(amount, own),
            )  # fmt: skip
        return amount, None
    values = np.asarray(amount)
    if values.shape != (records.n_records,) or values.dtype.kind not in "iuf":
        raise InputError(
            "not an amount for each record", source=GAME, where=argument,
            found=f"{values.dtype} of shape {values.shape}", expected=f"numbers of shape ({records.n_records},)",
        )  # fmt: skip
    column = name
    while column in own:
        column = f"{column} of the game"
    return column, pd.Series([repr(float(value)) for value in values], dtype="str")


def _anchored(content: dict[str, Any], given: set[str]) -> dict[str, Any]:
    """Make paths absolute, but for names of what is given."""
    absolute: dict[str, Any] = anchored(content, Path())
    names = {str(Path(name).absolute()): name for name in given}

    def restored(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: restored(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [restored(entry) for entry in value]
        return names.get(value, value) if isinstance(value, str) else value

    return {key: restored(value) for key, value in absolute.items()}


def _plain(value: object) -> Any:
    """Return a value as TOML has it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, range | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value
