"""Parts of population recipes: common keys, data files, and groups of values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from reidsim.core.bundled import data_file
from reidsim.core.errors import InputError, listed, locating, nearest, refuse_first
from reidsim.core.tables import read_table, require_columns
from reidsim.core.validation import LARGEST_SEED, Section
from reidsim.core.wording import whole_number
from reidsim.populations.population import Attribute, Individuals, Population, natural_categories

Floats = NDArray[np.float64]
# Published shares are rounded; a sum that differs from 1 by more than this is an error.
SUM_TOLERANCE = 1e-6

Share = Annotated[float, Field(ge=0, le=1)]
# Above the limit, differences between payoffs are smaller than rounding errors.
Money = Annotated[float, Field(ge=0, le=1e15, description="currency units per record")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


def _ends_no_cell(delimiter: str) -> str:
    expected = 'one character other than ", a null character and a line break'
    refuse_first((delimiter in '"\r\n\0', "invalid delimiter", None, delimiter, expected))
    return delimiter


Delimiter = Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_ends_no_cell)]


@dataclass(frozen=True)
class Making:
    """The means by which a recipe makes its population.

    Parameters
    ----------
    folder : Path
        Folder of the recipe's files.
    name : str
        Name of the population.
    seed : int
        Seed of the draw.
    expected : bool
        Whether to return expected counts (float64) instead of a draw, if the recipe has them.
    other : callable, optional
        Returns the population or individuals of another recipe, given its name and `expected`; only for recipes that
        name another one.
    progress : callable, optional
        Called with the task, the number of completed steps and their total number; only for genealogies.
    """

    folder: Path
    name: str
    seed: int
    expected: bool = False
    other: Any = None
    progress: Callable[[str, int, int], None] | None = None

    def cells(self, recipe: str, *, expected: bool | None = None) -> Population:
        """Return the `Population` of another recipe, counted by cell.

        `recipe` is its name or file. Expected counts are requested if `expected` is true, by default if they are
        requested from this recipe.
        """
        made: Population | Individuals = self.other(recipe, self.expected if expected is None else expected)
        return made if isinstance(made, Population) else made.population()

    def people(self, recipe: str) -> Individuals:
        """Return the `Individuals` of another recipe, given by name or file.

        Raises
        ------
        InputError
            If it cannot be made, has counts that are not whole numbers, or does not fit into memory.
        """
        made: Population | Individuals = self.other(recipe, False)
        return Individuals.from_population(made) if isinstance(made, Population) else made

    def rng(self, kind: str = "") -> np.random.Generator:
        """Return the random generator of a draw; it depends on the seed and `kind` only.

        With `kind`, it is a separate stream: a population drawn with the same seed does not reveal the people drawn.
        """
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=tuple(kind.encode())))


class RecipeHead(Section):
    """The keys that every recipe has.

    Attributes
    ----------
    title
        title shown by `reidsim list`
    source
        origin of the figures
    """

    title: str = ""
    source: str = ""


def read_figures(
    file: str, folder: Path, columns: Iterable[str], *, delimiter: str = ",", encoding: str | None = None
) -> tuple[pd.DataFrame, Path]:
    """Return a recipe's data file as a table of text.

    The table must have the required columns.

    Parameters
    ----------
    file : str
        Path relative to the recipe's folder, or ``bundled:`` and a path. Lines at the top of the file that start with
        ``#`` are skipped.
    folder : Path
        Folder of the recipe.
    columns : iterable of str
        Required columns.
    delimiter, encoding
        Delimiter and encoding of a CSV file.

    Returns
    -------
    frame : DataFrame
        Content of the file; every value is text.
    path : Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a column.
    """
    path = data_file(file, folder, "populations")
    frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding)
    require_columns(frame, columns, path)
    return frame, path


def exactly_one(*keys: str, problem: str) -> Any:
    """Return a pydantic validator of a section that requires exactly one of some keys.

    A key that is None counts as not set. The validator raises InputError with the text `problem` if none or several of
    `keys` are set.
    """

    def check(section: Section) -> Section:
        given = [key for key in keys if getattr(section, key) is not None]
        expected = f"either {keys[0]} or {keys[1]}" if len(keys) == 2 else f"one of {listed(keys)}"
        refuse_first((len(given) != 1, problem, None, listed(given) or None, expected))
        return section

    return model_validator(mode="after")(check)


def normalised(shares: Floats, where: str | Callable[[int], str], source: Path | None = None) -> Floats:
    """Return shares, (n_rows, n_values), with each row divided by its sum.

    Raises
    ------
    InputError
        If a sum differs from 1 by more than `SUM_TOLERANCE`, one in a million. For the message, `where` is its place,
        or returns the place of a row, and `source` is the file.
    """
    sums = shares.sum(axis=1)
    wrong = np.abs(sums - 1) > SUM_TOLERANCE
    if wrong.any():
        row = int(wrong.argmax())
        found, expected = round(float(sums[row]), 9), f"1, within {SUM_TOLERANCE:g}"
        place = where if isinstance(where, str) else where(row)
        raise InputError("shares do not sum to 1", source=source, where=place, found=found, expected=expected)
    return np.asarray(shares / sums[:, None])


# Groups of values, such as age groups. Members of a group are values, ranges of integers ("18..24", "75..", "..17"), or
# "otherwise" for all other values.
Members = Annotated[tuple[str, ...], Field(min_length=1)]
Groups = dict[str, Members]

REST = "otherwise"
_RANGE = re.compile(r"(\d{0,18})\.\.(\d{0,18})")
# Maximum number of combinations of groups; arrays with one entry or row per combination are stored.
_TOO_MANY_COMBINATIONS = 10**7


class Combinations:
    """Numbering of all combinations of groups of some attributes.

    The last attribute changes fastest.

    Parameters
    ----------
    attributes : sequence of Attribute
        The attributes.
    groups : mapping of str to mapping of str to sequence of str
        Groups of values by attribute, see `group_codes`. Each value of the other attributes is a group of its own.

    Raises
    ------
    InputError
        If there are more than 10 million combinations, or groups are invalid.
    """

    def __init__(
        self, attributes: Sequence[Attribute], groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    ) -> None:
        groups = groups or {}
        self.names = [each.name for each in attributes]
        # Names of the groups of each attribute, and group of each of its values.
        self.labels = [tuple(groups.get(each.name, each.categories)) for each in attributes]
        self.group_of = [
            group_codes(each, groups[each.name]) if each.name in groups else np.arange(each.size) for each in attributes
        ]
        self.shape = tuple(map(len, self.labels))
        self.size = math.prod(self.shape)
        if self.size > _TOO_MANY_COMBINATIONS:
            where, expected = ", ".join(self.names), f"at most {_TOO_MANY_COMBINATIONS:,}"
            problem, hint = "too many combinations of values", "group the values of an attribute"
            raise InputError(problem, where=where, found=self.size, expected=expected, hint=hint)

    def of_codes(self, columns: Sequence[NDArray[np.integer]], n: int) -> NDArray[np.int64]:
        """Return the combination number of each of `n` people, given their codes.

        `columns` holds the codes of each attribute, shape (n,). The result has shape (n,); all 0 without attributes.
        """
        return self._numbers([of[codes] for of, codes in zip(self.group_of, columns, strict=True)], n)

    def of_labels(self, columns: Sequence[pd.Series[str]], n: int) -> NDArray[np.int64]:
        """Return the combination number of each of `n` rows of a table, shape (n,).

        `columns` holds the group names of each attribute. The result is -1 where a name is unknown.
        """
        pairs = zip(self.labels, columns, strict=True)
        return self._numbers([pd.Index(labels).get_indexer(pd.Index(column)) for labels, column in pairs], n)

    def _numbers(self, groups: Sequence[NDArray[np.integer]], n: int) -> NDArray[np.int64]:
        numbers = np.zeros(n, dtype=np.int64)
        for codes, size in zip(groups, self.shape, strict=True):
            numbers = np.where((codes < 0) | (numbers < 0), -1, numbers * size + codes)
        return numbers

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Mask of the combinations in which every group contains a value, shape (size,).

        A combination with a group without values cannot have people.
        """
        possible = np.ones(1, dtype=np.bool_)
        for labels, group_of in zip(self.labels, self.group_of, strict=True):
            possible = np.outer(possible, np.isin(np.arange(len(labels)), group_of)).ravel()
        return possible

    def label(self, number: int) -> str:
        """Return the name of the combination with a number, for messages.

        An example is ``"sex = Male, age = 18-24"``; the name is empty without attributes.
        """
        groups = zip(self.names, self.labels, np.unravel_index(number, self.shape), strict=True)
        return ", ".join(f"{name} = {labels[group]}" for name, labels, group in groups)


def values_in_order(column: pd.Series[str]) -> tuple[str, ...]:
    """Return the distinct values of a column of text, in order.

    The order is numerical if all values consist of digits only, else that of first occurrence.
    """
    values = tuple(map(str, column.unique()))
    return natural_categories(column) if all(map(str.isdecimal, values)) else values


def number_range(text: str) -> tuple[int, float] | None:
    """Return the first and last integer of a range; None if the text is not a range.

    Spaces around the text are ignored. ``"18..24"`` gives (18, 24), ``"..17"`` gives (0, 17), ``"75.."`` gives (75,
    infinity).

    Raises
    ------
    InputError
        If the last number is smaller than the first.
    """
    match = _RANGE.fullmatch(text.strip())
    if match is None or text.strip() == "..":
        return None
    first, last = int(match[1] or 0), int(match[2]) if match[2] else math.inf
    refuse_first((last < first, "the range ends before it begins", None, text, None))
    return first, last


def group_codes(
    attribute: Attribute, groups: Mapping[str, Sequence[str]], *, complete: bool = True
) -> NDArray[np.int32]:
    """Return the group of each value of an attribute.

    Parameters
    ----------
    attribute : Attribute
        The attribute.
    groups : mapping of str to sequence of str
        Members of each group: values of the attribute; ranges of integers such as ``"18..24"``, ``"75.."`` and
        ``"..17"``; or ``"otherwise"`` for the values that belong to no other group.
    complete : bool
        Whether each value must be in a group; otherwise, the code of a value in no group is -1.

    Returns
    -------
    ndarray of int32, shape (n_values,)
        Index of each value's group in `groups`; a group may be empty.

    Raises
    ------
    InputError
        If a member is neither a value of the attribute nor a range, a value belongs to two groups, ``"otherwise"`` is
        in two groups, or (with `complete`) a value belongs to no group.
    """
    where = f"groups of {attribute.name!r}"
    codes = np.full(attribute.size, -1, dtype=np.int32)
    rest = []
    for code, (group, members) in enumerate(groups.items()):
        for member in members:
            if member == REST and REST not in attribute.categories:
                rest.append(code)
                continue
            positions = positions_of(attribute, member, f"group {group!r} of {attribute.name!r}")
            other = next((each for each in positions if codes[each] not in (-1, code)), None)
            if other is not None:
                hint = f"it is in {list(groups)[codes[other]]!r} and in {group!r}"
                raise InputError("value in two groups", where=where, found=attribute.categories[other], hint=hint)
            codes[positions] = code
    twice = [list(groups)[code] for code in rest[1:]]
    refuse_first((twice, f"{REST!r} in two groups", where, ", ".join(twice), None))
    codes[codes < 0] = rest[0] if rest else -1
    if complete and (codes < 0).any():
        found, expected = attribute.categories[codes.argmin()], f"the value in one of the groups {listed(groups)}"
        raise InputError("value in no group", where=where, found=found, expected=expected)
    return codes


def positions_of(attribute: Attribute, member: str, where: str) -> list[int]:
    """Return the positions of the values denoted by a value or by a range of integers.

    The list is empty if no value is in the range. A text that is a value of the attribute is not read as a range.

    Parameters
    ----------
    attribute : Attribute
        Attribute with the values.
    member : str
        A value, or a range such as ``"18..24"``.
    where : str
        Location to name in error messages.

    Raises
    ------
    InputError
        If `member` is neither a value nor a range, or the range ends before it begins.
    """
    if member in attribute.categories:
        return [attribute.categories.index(member)]
    with locating(where=where):
        bounds = number_range(member)
    if bounds is None:
        expected = f"one of {listed(attribute.categories)}, or a range such as '18..24'"
        problem, hint = f"not a value of {attribute.name!r}", nearest(member, attribute.categories)
        raise InputError(problem, where=where, found=member, expected=expected, hint=hint)
    numbers = map(whole_number, attribute.categories)
    return [place for place, number in enumerate(numbers) if number is not None and bounds[0] <= number <= bounds[1]]
