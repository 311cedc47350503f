"""Convert scenario content with tables, populations and objects in memory to content that names files and objects."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from reidsim.core.files import plain_name
from reidsim.core.plain_data import toml_text
from reidsim.errors import InputError
from reidsim.front.hierarchies import hierarchy_content
from reidsim.populations.population import Population
from reidsim.scenarios.load import RECIPE_KEYS
from reidsim.scenarios.python_objects import replies
from reidsim.tables import text_table

SOURCE = "Scenario"
_COUNT = "people"
# Last parts of key paths that do not distinguish a table from the others.
_UNSPECIFIC = ("file", "path", "recipe", "hierarchy")
# Tables of hierarchies have no header and semicolons between columns, as in ARX.
_LEVELS = ("*hierarch*.file", "trees.*.file")


class InMemory:
    """The tables and objects of a scenario built in Python.

    Tables are written to a temporary folder that only the user can read, so that other processes can read them.

    Parameters
    ----------
    place : TemporaryDirectory, optional
        Folder for tables; a new one if not given.
    absolute : bool
        Whether the scenario, which is in another folder, names tables by absolute paths.
    given : mapping of str to object
        User-defined adversaries and policies by name.
    """

    def __init__(
        self, place: TemporaryDirectory[str] | None, given: Mapping[str, Any], *, absolute: bool = False
    ) -> None:
        self.place, self.given, self._absolute = place, dict(given), absolute

    def plain(self, value: Any, key: str) -> Any:
        """Return the value at a key path as plain data.

        Raises
        ------
        InputError
            If TOML has no notation for the value, or a table or object cannot be used.
        """
        last = key.rpartition(".")[2]
        if last == "hierarchy" and not isinstance(value, Mapping):
            value = hierarchy_content(value, key)
        elif re.fullmatch(r"adversary|adversaries\.[^.]+", key) and not isinstance(value, Mapping):
            value = {"planner": value}
        if last == "planner" and not isinstance(value, str):
            return self._named(value, replies(value) or callable(value), key, "respond(linkage, rows)")
        if last == "policies":
            entries = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
            return [each if isinstance(each, str) else self._policy(each, key) for each in entries]
        if isinstance(value, Population) or (isinstance(value, pd.DataFrame) and _is_recipe(key)):
            return self._recipe(value, key)
        if isinstance(value, pd.DataFrame):
            levels = any(fnmatchcase(key, pattern) for pattern in _LEVELS)
            return self._write(text_table(value, f"{SOURCE}: {key}"), key, levels=levels)
        if isinstance(value, Mapping):
            return {str(name): self.plain(each, f"{key}.{name}") for name, each in value.items() if each is not None}
        if isinstance(value, list | tuple | range | np.ndarray | pd.Series | set):
            return [self.plain(each, f"{key}.{place}") for place, each in enumerate(value)]
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Path):
            return str(value)
        if not isinstance(value, str | int | float):
            expected = "a value of a scenario file"
            raise InputError("value not allowed", source=SOURCE, where=key, found=value, expected=expected)
        return value

    def _policy(self, policy: Any, key: str) -> str:
        usable = callable(getattr(policy, "choose", None)) and not isinstance(policy, type)
        return self._named(policy, usable, key, "choose(game)")

    def _named(self, part: Any, usable: bool, key: str, method: str) -> str:
        """Return the name of a user-defined object: its attribute ``name``, or that of its class or function."""
        if not usable:
            expected = f"a name, or an object with a method {method}"
            raise InputError("value not allowed", source=SOURCE, where=key, found=part, expected=expected)
        own = getattr(part, "__name__", type(part).__name__)
        name = str(getattr(part, "name", own)) if not isinstance(part, type) else own
        if self.given.setdefault(name, part) is not part:
            hint = "an attribute `name` distinguishes objects of one class"
            raise InputError("two objects have the same name", source=SOURCE, where=key, found=name, hint=hint)
        return name

    def _recipe(self, given: Population | pd.DataFrame, key: str) -> str:
        """Write a population as a recipe and a table of counted cells; return the name of the recipe."""
        name = [part for part in key.split(".") if part not in _UNSPECIFIC][-1]
        people = given if isinstance(given, Population) else Population.from_frame(given, name=name)
        names, count = people.domain.names, _COUNT
        while count in names:
            count = f"{count} counted"
        labels = people.domain.decode(people.cells).astype("str")
        table = self._write(labels.assign(**{count: list(map(repr, people.counts.tolist()))}), key)
        recipe = {
            "kind": "counts",
            "title": people.name,
            "source": people.source,
            "file": Path(table).name,
            "count": count,
            "missing_values": [],
            "columns": {name: name for name in names},
            "categories": {attribute.name: list(attribute.categories) for attribute in people.domain.attributes},
        }
        path = Path(self._folder, table).with_suffix(".toml")
        path.write_text(toml_text(recipe), encoding="utf-8")
        return str(path) if self._absolute else path.name

    def _write(self, table: pd.DataFrame, key: str, *, levels: bool = False) -> str:
        parts = [part for part in key.split(".") if part not in _UNSPECIFIC]
        name = plain_name("-".join(parts), {path.stem for path in self._folder.iterdir()})
        path = self._folder / f"{name}.csv"
        # Quote every cell, so that no column name is read as a comment.
        table.to_csv(
            path, header=not levels, sep=";" if levels else ",", index=False, quoting=csv.QUOTE_ALL, lineterminator="\n"
        )
        return str(path) if self._absolute else path.name

    @property
    def _folder(self) -> Path:
        self.place = self.place or TemporaryDirectory(prefix="reidsim-")
        return Path(self.place.name)


def _is_recipe(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in RECIPE_KEYS)
