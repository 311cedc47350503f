"""Python objects and tables in place of a scenario's modules and files.

If the name of an adversary (``adversary.planner``) or of a policy is a key of the objects passed in Python, the object
is used: an adversary or policy, or a class or function that makes one.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from reidsim.adversaries.response import Adversary, Amount, Register, planners
from reidsim.core.bundled import data_file, resolve
from reidsim.core.errors import InputError
from reidsim.core.files import plain_name
from reidsim.core.tables import sniff_delimiter, text_table
from reidsim.core.validation import plain, toml_text, validated
from reidsim.populations.catalogue import load_population
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.scenarios.adversary_schema import PlannerSection
from reidsim.scenarios.hierarchies import Groups, Intervals, LevelsWithTop, Prefix, Suppress
from reidsim.scenarios.load import RECIPE_KEYS, Scenario
from reidsim.scenarios.registry import one_line_errors


def people_named(name: str, loaded: Scenario[Any], **made: Any) -> Population:
    """Return a population, bundled or made from a recipe file; see `load_population`.

    `name` is a bundled name or a path, relative to the folder of the scenario `loaded`. `made` are further arguments of
    `load_population`.

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

    `name` is the value of the key: a path relative to the scenario's folder, or ``bundled:...``. `read` is called with
    the path and returns the rows.

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
    name, where = section.planner, "adversary" if section.planner in loaded.objects else "adversary.planner"
    own: Any
    if name in planners and name not in loaded.objects:
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
    """Return whether an object is an adversary, not a factory of adversaries.

    It is one if it is not a class and has a method ``respond``.
    """
    return not isinstance(part, type) and callable(getattr(part, "respond", None))


SOURCE = "Scenario"
# Last parts of key paths that do not distinguish a table from the others.
_UNSPECIFIC = ("file", "path", "recipe", "hierarchy")
# Tables of hierarchies have no header and semicolons between columns, as in ARX.
_LEVELS = ("*hierarch*.file", "trees.*.file")

R = TypeVar("R", bound=LevelsWithTop)


def intervals(
    *widths: int,
    start: int | None = None,
    absorb_remainder: bool = True,
    suppress: bool = True,
    costless_levels: Sequence[int] = (),
) -> Intervals:
    """Generalize whole numbers to intervals of increasing width.

    Parameters
    ----------
    *widths : int
        Interval width at each level; each width is a multiple of the previous one.
    start : int, optional
        Lower bound of the first interval; the smallest category if not given.
    absorb_remainder : bool
        Whether the last full interval also includes the remaining values at the top.
    suppress : bool
        Whether the last level is full suppression (``*``).
    costless_levels : sequence of int
        Levels, counted from 1, at which generalization adds no loss.

    Raises
    ------
    InputError
        If there is no width, or a width is not a whole number of 2 or more.

    See Also
    --------
    prefix : generalize codes to prefixes.
    groups : generalize categories to listed groups.
    suppress : keep or suppress a value.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.intervals(5, 10).widths
    (5, 10)
    """
    own = {"widths": widths, "start": start, "absorb_remainder": absorb_remainder}
    return _rule(Intervals, "intervals", suppress, costless_levels, **own)


def prefix(
    *digits: int, pool: Sequence[str] = (), suppress: bool = True, costless_levels: Sequence[int] = ()
) -> Prefix:
    """Generalize codes of equal length to increasingly shorter prefixes.

    Parameters
    ----------
    *digits : int
        Number of characters kept at each level, decreasing.
    pool : sequence of str
        Prefixes of equal length. All codes that start with one of these prefixes form a single group at every level
        that keeps at most as many characters as a prefix has.
    suppress : bool
        Whether the last level is full suppression (``*``).
    costless_levels : sequence of int
        Levels at which generalization adds no loss; level 1 is the first of `digits`.

    Raises
    ------
    InputError
        If there is no level, or a value has the wrong type.

    See Also
    --------
    intervals : generalize whole numbers to intervals.
    groups : generalize categories to listed groups.
    suppress : keep or suppress a value.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.prefix(3, 1).digits
    (3, 1)
    """
    return _rule(Prefix, "prefix", suppress, costless_levels, digits=digits, pool=pool)


def groups(*levels: Sequence[Sequence[str]], suppress: bool = True, costless_levels: Sequence[int] = ()) -> Groups:
    """Generalize categories to listed groups.

    Parameters
    ----------
    *levels : sequence of sequence of str
        Groups of categories at each level. Categories that are not listed keep their label from the level below.
    suppress : bool
        Whether the last level is full suppression (``*``).
    costless_levels : sequence of int
        Levels, counted from 1, at which generalization adds no loss.

    Raises
    ------
    InputError
        If there is no level, or a value has the wrong type.

    See Also
    --------
    intervals : generalize whole numbers to intervals.
    prefix : generalize codes to prefixes.
    suppress : keep or suppress a value.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.groups([["nurse", "doctor"], ["baker", "cook"]], suppress=True).groups
    ((('nurse', 'doctor'), ('baker', 'cook')),)
    """
    return _rule(Groups, "groups", suppress, costless_levels, groups=levels)


def suppress() -> Suppress:
    """Keep or suppress a value, without levels in between.

    See Also
    --------
    intervals : generalize whole numbers to intervals.
    prefix : generalize codes to prefixes.
    groups : generalize categories to listed groups.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.suppress().rule
    'suppress'
    """
    return Suppress(rule="suppress")


def _rule(model: type[R], name: str, suppress: bool, costless_levels: Sequence[int], **own: Any) -> R:
    """Return a rule of several levels, validated.

    `model` is its class, `name` its value of the key ``rule``, and `own` holds its other keys. An `InputError` is
    raised if a key is invalid.
    """
    return validated(model, {"rule": name, "suppress": suppress, "costless_levels": list(costless_levels)} | own, name)


class InMemory:
    """The tables and objects of a scenario built in Python.

    Tables are written to a temporary folder that only the user can read, so that other processes can read them.

    Parameters
    ----------
    place : TemporaryDirectory, optional
        Folder for tables; a new one if not given.
    absolute : bool
        Whether the scenario, which is in another folder, names tables by absolute paths.
    objects : mapping of str to object
        User-defined adversaries and policies by name.
    """

    def __init__(
        self, place: TemporaryDirectory[str] | None, objects: Mapping[str, Any], *, absolute: bool = False
    ) -> None:
        self.place, self.objects, self._absolute = place, dict(objects), absolute

    def plain(self, value: Any, key: str) -> Any:
        """Return the value at a key path as plain data.

        A table or population is written to a file, and a user-defined object is kept in `objects`; the result then has
        the name of the file or object in its place.

        Raises
        ------
        InputError
            If TOML has no notation for the value, or a table or object cannot be used.
        """
        last = key.rpartition(".")[2]
        if last == "hierarchy" and not isinstance(value, Mapping):
            value = _hierarchy(value, key)
        elif re.fullmatch(r"adversary|adversaries\.[^.]+", key) and not isinstance(value, Mapping):
            value = {"planner": value}
        if last == "planner" and not isinstance(value, str):
            return self._named(value, key, "respond(linkage, rows)", or_maker=True)
        if last == "policies":
            entries = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else list(value)
            return [each if isinstance(each, str) else self._named(each, key, "choose(game)") for each in entries]
        if isinstance(value, Population) or (isinstance(value, pd.DataFrame) and _matches(key, RECIPE_KEYS)):
            return self._recipe(value, key)
        if isinstance(value, pd.DataFrame):
            return self._write(text_table(value, f"{SOURCE}: {key}"), key, levels=_matches(key, _LEVELS))
        if isinstance(value, Mapping):
            return {str(name): self.plain(each, f"{key}.{name}") for name, each in value.items() if each is not None}
        if isinstance(value, list | tuple | range | np.ndarray | pd.Series | set):
            return [self.plain(each, f"{key}.{place}") for place, each in enumerate(value)]
        if isinstance(value, np.generic | Path):
            return plain(value)
        if not isinstance(value, str | int | float):
            expected = "a value of a scenario file"
            raise InputError("value not allowed", source=SOURCE, where=key, found=value, expected=expected)
        return value

    def _named(self, part: Any, key: str, method: str, *, or_maker: bool = False) -> str:
        """Return the name of a user-defined object, and keep it in `objects`.

        The name is its attribute ``name``, or that of its class or function. The object has a method or, with
        `or_maker`, may also be a class or function that makes such an object. `method` is its name and arguments, such
        as ``choose(game)``; `key` is for messages.

        Raises
        ------
        InputError
            If the object has no such method, or another object has its name.
        """
        has_method = not isinstance(part, type) and callable(getattr(part, method.partition("(")[0], None))
        if not has_method and not (or_maker and callable(part)):
            expected = f"a name, or an object with a method {method}"
            raise InputError("value not allowed", source=SOURCE, where=key, found=part, expected=expected)
        own = getattr(part, "__name__", type(part).__name__)
        name = str(getattr(part, "name", own)) if not isinstance(part, type) else own
        if self.objects.setdefault(name, part) is not part:
            hint = "an attribute `name` distinguishes objects of one class"
            raise InputError("two objects have the same name", source=SOURCE, where=key, found=name, hint=hint)
        return name

    def _recipe(self, population: Population | pd.DataFrame, key: str) -> str:
        """Write a population as a recipe and a table of counts; return the recipe's name.

        The name is that of the file, or its absolute path if the scenario names tables by absolute paths.
        """
        name = [part for part in key.split(".") if part not in _UNSPECIFIC][-1]
        people = population if isinstance(population, Population) else Population.from_frame(population, name=name)
        names, count = people.domain.names, "people"
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
        """Write a table to a new file named after the key; return the name of the file.

        With `levels`, it has no header and semicolons between columns, as files of hierarchies have. The name is an
        absolute path if the scenario names tables by absolute paths.
        """
        own = "-".join(part for part in key.split(".") if part not in _UNSPECIFIC)
        name = plain_name(own, {path.stem for path in self._folder.iterdir()})
        path, separator = self._folder / f"{name}.csv", ";" if levels else ","
        # Quote every cell, so that no column name is read as a comment.
        table.to_csv(path, header=not levels, sep=separator, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
        return str(path) if self._absolute else path.name

    @property
    def _folder(self) -> Path:
        self.place = self.place or TemporaryDirectory(prefix="reidsim-")
        return Path(self.place.name)


def _matches(key: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def _hierarchy(hierarchy: object, key: str) -> dict[str, Any]:
    """Return the scenario section of a hierarchy at a key path.

    Its entry ``file`` may be a table in memory.

    Raises
    ------
    InputError
        If the argument is not an accepted form of a hierarchy.
    """
    if isinstance(hierarchy, Suppress | LevelsWithTop):
        # Include only keys that the user set, as in a scenario file.
        return hierarchy.model_dump(exclude_defaults=True, by_alias=True)
    if isinstance(hierarchy, str) and hierarchy == "suppress":
        return {"rule": "suppress"}
    if isinstance(hierarchy, str | Path) and Path(hierarchy).suffix:
        path = Path(hierarchy).absolute()
        return {"rule": "table", "file": str(path), "delimiter": sniff_delimiter(path)}
    if isinstance(hierarchy, pd.DataFrame):
        return {"rule": "table", "file": hierarchy}
    if isinstance(hierarchy, Hierarchy):
        levels = enumerate(zip(hierarchy.labels, hierarchy.groups, strict=True))
        # One row per value and one column per level.
        table = {level: np.array(labels, dtype=object)[groups] for level, (labels, groups) in levels}
        costless = {"costless_levels": sorted(hierarchy.costless_levels)} if hierarchy.costless_levels else {}
        return {"rule": "table", "file": pd.DataFrame(table), **costless}
    expected = 'intervals(...), prefix(...), groups(...), "suppress", a DataFrame, a Hierarchy or a file'
    raise InputError("not a hierarchy", source=SOURCE, where=key, found=hierarchy, expected=expected)
