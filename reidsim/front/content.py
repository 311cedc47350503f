"""Convert a Python game to scenario content with named objects in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reidsim.errors import InputError, require_among
from reidsim.front.adversaries import Amount
from reidsim.front.arguments import GAME
from reidsim.front.opponents import Opponents
from reidsim.front.records import Records
from reidsim.overrides import override
from reidsim.populations.population import Population
from reidsim.scenarios.load import anchored

UNITS = ("record", "table")
_AMOUNTS = ("benefit", "loss", "gain", "cost")


@dataclass(frozen=True, eq=False)
class Parts:
    """Scenario content as plain data, and the objects that its names refer to.

    Parameters
    ----------
    content : dict
    tables : dict of str to DataFrame
    populations : dict of str to Population
    planners : dict of str to object
        User-defined adversaries, or callables that create them, by planner name.
    policies : dict of str to object
        User-defined policies by name.
    """

    content: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    populations: dict[str, Population]
    planners: dict[str, Any]
    policies: dict[str, Any]

    @property
    def given(self) -> dict[str, Any]:
        """All objects in memory, by name."""
        return {**self.tables, **self.populations, **self.planners, **self.policies}


def parts_of(
    records: Records,
    population: Population | str | None,
    opponents: Opponents,
    amounts: Mapping[str, Amount | None],
    unit: str,
    policies: Sequence[object],
    overrides: Mapping[str, object],
    prefix: str = "",
) -> Parts:
    """Convert a game to scenario content.

    Parameters
    ----------
    records, population, unit, policies, overrides
        As in `Game`.
    opponents : Opponents
    amounts : mapping of str to Amount or None
        Benefit and loss, in currency units.
    prefix : str
        Prefix of table and population names.
    """
    economics, columns = _economics({**amounts, **opponents.amounts}, records, unit)
    content, tables = records.content(prefix, columns)
    populations: dict[str, Population] = {}
    if isinstance(population, Population):
        populations[f"{prefix}people.toml"] = population
        content["population"] = {"recipe": f"{prefix}people.toml"}
    elif population is not None:
        content["population"] = {"recipe": population}
    risk = "prosecutor" if population is None else "journalist"
    own = own_policies(policies)
    content = {
        **content,
        "economics": economics,
        **opponents.content(risk, populations, prefix),
        "publisher": {
            "unit": unit,
            "policies": [policy if isinstance(policy, str) else name_of(policy) for policy in policies],
        },
    }
    given = {*tables, *populations}
    content = _anchored(content, given)
    override(content, {key: _plain(value) for key, value in overrides.items()})
    return Parts(content, tables, populations, opponents.planners, own)


def own_policies(policies: Sequence[object]) -> dict[str, Any]:
    """Return the user-defined policies, by name.

    Raises
    ------
    InputError
        If an object is not a policy, or two policies have the same name.
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
            raise InputError("two policies have the same name", source=GAME, where="argument 'policies'", found=name)
        found[name] = policy
    return found


def name_of(policy: object) -> str:
    """Return the name of a policy in results."""
    return str(getattr(policy, "name", type(policy).__name__))


def _economics(
    amounts: Mapping[str, Amount | None], records: Records, unit: str
) -> tuple[dict[str, Any], dict[str, pd.Series[str]]]:
    """Return the economics section, and new record columns for array amounts."""
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
            # The scenario also needs one amount, which is displayed; computations use the column.
            section[name] = 0.0 if values is None else float(np.mean(amount))  # type: ignore[arg-type]
        else:
            section[name] = _plain(amount)
    return section | ({"columns": columns} if columns else {}), added


def _column(amount: Any, name: str, records: Records, argument: str) -> tuple[str, pd.Series[str] | None]:
    """Return the column name of an amount, and its values if the column is new."""
    own = records.columns or ()
    if isinstance(amount, str):
        if records.columns is not None:
            require_among("no such column", (amount,), own, source=GAME, where=argument, shown=20)
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
    """Make paths absolute, except names of objects in memory."""
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
    """Return a value as a type that TOML can hold."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, range | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value
