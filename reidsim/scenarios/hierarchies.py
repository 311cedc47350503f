"""Labels of a column's values, and hierarchies from rules, files or Python objects.

Values are converted as text, numbers or dates before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np
import pandas as pd
from pydantic import Field, PlainSerializer

from reidsim.core.errors import InputError, locating
from reidsim.core.tables import delimiter_key
from reidsim.core.validation import Section, validated, with_csv_file
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import (
    SUPPRESSED,
    DayOrder,
    Hierarchy,
    age_on,
    check_header,
    date_levels,
    group_levels,
    hierarchy_from_rows,
    interval_levels,
    prefix_levels,
    read_day,
    read_hierarchy_rows,
    require_rows_of_values,
)
from reidsim.scenarios.schema import Delimiter

_WHOLE = re.compile(r"([+-]?\d+)[.,]0+")
# Signs between groups of three digits; the last two are non-breaking spaces.
Thousands = Literal[",", ".", "'", " ", "\u00a0", "\u202f"]
THOUSANDS: tuple[Thousands, ...] = get_args(Thousands)


@cache
def grouped_number(sign: Thousands) -> re.Pattern[str]:
    """Return the regular expression of numbers with digits in groups of three.

    The groups are separated by `sign`. Numbers with at most three digits before the decimals match too.
    """
    marks = ".,".replace(sign, "")
    return re.compile(rf"[+-]?([1-9]\d{{0,2}}({re.escape(sign)}\d{{3}})+|\d{{1,3}})([{marks}]\d+)?")


class Reading(Section):
    """Keys shared by all types of reading.

    Attributes
    ----------
    missing
        values that mark a missing value; they are read and released as empty
    """

    missing: tuple[str, ...] = ()

    def label(self, value: str) -> str:
        """Return the label of a value; empty for a missing value.

        A value is missing if it, or its label, is in `missing`. For dates, an `InputError` is raised if a year has two
        digits and the century is not given.
        """
        label = value if value in self.missing else self._label(value)
        return "" if label in self.missing else label

    def _label(self, value: str) -> str:
        return value


class TextReading(Reading):
    """Values of a column read unchanged.

    Attributes
    ----------
    type
        values are read unchanged
    """

    type: Literal["text"]


class NumberReading(Reading):
    """Numbers and codes of a column.

    Zero decimals (`1.0` is read as `1`) and signs between groups of digits are removed.

    Attributes
    ----------
    type
        numbers are read without zero decimals (`1.0` as `1`); other values are read unchanged
    thousands
        separator between groups of three digits; with `","`, `1,012` is read as `1012`
    """

    type: Literal["number"]
    thousands: Thousands | None = None

    def _label(self, value: str) -> str:
        if self.thousands is not None and grouped_number(self.thousands).fullmatch(value):
            value = value.replace(self.thousands, "")
        found = _WHOLE.fullmatch(value)
        return value if found is None else found[1]


class DateReading(Reading):
    """Dates in any mixture of formats, read as ISO dates, years or ages.

    Attributes
    ----------
    type
        dates in any common format, spreadsheet day numbers and years are read as `1970-10-07` or `1970`; other values
        are read unchanged
    order
        order of day and month in dates with `/` or `-` that are valid in both orders
    two_digit_years_from
        first of the hundred years to which two-digit years belong
    age_on
        day, such as `"2024-06-30"`, on which dates of birth are converted to ages in whole years
    """

    type: Literal["date"]
    order: DayOrder = "day-month"
    two_digit_years_from: Annotated[int, Field(ge=1800, le=2100)] | None = None
    age_on: Annotated[date | None, PlainSerializer(str, when_used="unless-none")] = None

    def _label(self, value: str) -> str:
        day = read_day(value, self.order, self.two_digit_years_from)
        if day is None and self.two_digit_years_from is None and read_day(value, two_digit_years_from=2000):
            expected = "key two_digit_years_from in reading, which sets the century"
            raise InputError("year of two digits", found=value, expected=expected)
        # A person born after the day `age_on` has no age on that day.
        age = None if day is None or self.age_on is None else age_on(day.calendar, self.age_on)
        return str(age) if age is not None else value if day is None else day.calendar


ReadingSection = Annotated[TextReading | NumberReading | DateReading, Field(discriminator="type")]


class Suppress(Section):
    """A hierarchy with two levels: the value and its suppression.

    Attributes
    ----------
    rule
        rule with two levels: the value and `*`
    """

    rule: Literal["suppress"]


class LevelsWithTop(Section):
    """Keys shared by rules with several levels.

    Attributes
    ----------
    suppress
        whether the last level replaces all values by `*`
    costless_levels
        levels, counted from 1, without information loss
    """

    suppress: bool = True
    costless_levels: tuple[int, ...] = ()


class Intervals(LevelsWithTop):
    """Generalization of whole numbers to intervals of growing width.

    Attributes
    ----------
    rule
        rule for whole numbers, generalized to intervals; categories may end in `+`, as in `90+`
    widths
        width of the intervals at each level, each a multiple of the previous width; with a category such as `90+`, the
        last interval has no upper bound
    start
        lower bound of the first interval; default: the smallest category
    absorb_remainder
        whether the last full interval includes the values that remain after it
    """

    rule: Literal["intervals"]
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(min_length=1)
    start: int | None = None
    absorb_remainder: bool = True


class Prefix(LevelsWithTop):
    """Generalization of codes, such as postal codes, to shorter prefixes.

    Attributes
    ----------
    rule
        rule for codes of one length, generalized to shorter prefixes
    digits
        number of characters kept at each level, decreasing
    pool
        prefixes, all of one length, whose codes are combined into one group
    """

    rule: Literal["prefix"]
    digits: tuple[int, ...] = Field(min_length=1)
    pool: tuple[str, ...] = ()


class Groups(LevelsWithTop):
    """Generalization of categories to the groups listed for each level.

    Attributes
    ----------
    rule
        rule for categories, generalized to listed groups
    groups
        groups of categories at each level; a category without a group keeps its label
    """

    rule: Literal["groups"]
    groups: tuple[tuple[tuple[str, ...], ...], ...] = Field(min_length=1)


class Dates(LevelsWithTop):
    """Generalization of dates to months, years or several years.

    Attributes
    ----------
    rule
        rule for dates in a column read as `"date"`, generalized by the calendar; other values share one group
    levels
        period at each level: `"month"`, `"year"` or a number of years such as `"5 years"`, each a multiple of the
        previous one
    """

    rule: Literal["dates"]
    levels: tuple[str, ...] = Field(min_length=1)


class Table(LevelsWithTop):
    """A hierarchy in a file with one row per value and one column per level.

    Attributes
    ----------
    rule
        rule in a file in the format of ARX: one row per value, one column per level
    file
        path of the hierarchy file
    delimiter
        column separator of the hierarchy file
    header
        whether the first row contains names of levels
    suppress
        whether to add a last level that replaces all values by `*`
    """

    rule: Literal["table"]
    file: str
    delimiter: Annotated[Delimiter, with_csv_file("file")] = ";"
    header: bool = False
    suppress: bool = False


HierarchySection = Annotated[Suppress | Intervals | Prefix | Groups | Dates | Table, Field(discriminator="rule")]


class GeneralizedSection(Section):
    """A quasi-identifier: its column in the records and its hierarchy.

    Attributes
    ----------
    hierarchy
        generalization hierarchy of the values, defined by a `rule`
    column
        column of the records; default: the attribute's name
    """

    hierarchy: HierarchySection
    column: str | None = None


def hierarchy_rows(section: Table, folder: Path, used: set[str], names: set[str], where: str) -> list[list[str]]:
    """Return the rows of a hierarchy file, without its header.

    Parameters
    ----------
    section : Table
        Section of the hierarchy: ``file`` (relative to `folder`), ``delimiter`` and ``header``.
    folder : Path
        Folder of the scenario.
    used : set of str
        Values that occur in the records or the population, to detect a wrong setting of ``header``.
    names : set of str
        Names that the header may give to the column of values.
    where : str
        Key of the file, for error messages.

    Raises
    ------
    InputError
        If the file cannot be used, or ``header`` does not agree with its first row.
    """
    try:
        rows = read_hierarchy_rows(folder / section.file, delimiter=section.delimiter)
        if section.header and len(rows) < 2:
            raise InputError("the file has no rows after its header")
        check_header(rows, header=section.header, used=used, names=names)
        rows = rows[1:] if section.header else rows
        require_rows_of_values(rows)
    except InputError as error:
        # An error that names no row of the file names the key of the scenario.
        raise error.located(folder / section.file, None if error.where else where) from None
    return rows


def over_domain(domain: Domain, people: Population, attributes: Mapping[str, GeneralizedSection]) -> Population:
    """Return the population recoded to the categories of the hierarchies.

    It is returned unchanged if its domain is `domain`.

    Parameters
    ----------
    domain : Domain
        Attributes and categories of the hierarchies.
    people : Population
    attributes : mapping of str to GeneralizedSection
        Section of each attribute, for error messages.

    Raises
    ------
    InputError
        If a person has a value that its hierarchy lacks.
    """
    if people.domain == domain:
        return people
    codes = np.empty_like(people.cells)
    for position, attribute in enumerate(people.domain.attributes):
        categories, cells = pd.Index(list(attribute.categories), dtype="str"), people.cells[:, position]
        known = domain.attributes[position].labels.get_indexer(categories)[cells]
        if (known < 0).any():
            hierarchy, expected = attributes[attribute.name].hierarchy, "a value of the records or the population"
            raise InputError(
                "value missing from its hierarchy",
                source=people.name,
                where=f"attribute {attribute.name!r}",
                found=attribute.categories[int(cells[known < 0].min())],
                expected=f"a row for the value in {hierarchy.file}" if isinstance(hierarchy, Table) else expected,
            )
        codes[:, position] = known
    return Population.from_records(domain, codes, people.counts, name=people.name, source=people.source)


def hierarchy_of(
    attribute: Attribute, section: HierarchySection, folder: Path, where: str, rows: list[list[str]] | None = None
) -> Hierarchy:
    """Return the hierarchy of an attribute.

    Parameters
    ----------
    attribute : Attribute
    section : Suppress, Intervals, Prefix, Groups, Dates or Table
        Rule of the hierarchy.
    folder : Path
        Folder of the scenario, for error messages.
    where : str
        Key path of the section, for error messages.
    rows : list of list of str, optional
        Rows of the file; required if the section is a `Table`.

    Raises
    ------
    InputError
        If the rule does not fit the categories of the attribute, or a category has no row.
    """
    with locating(folder / section.file if isinstance(section, Table) else None, where):
        if isinstance(section, Table):
            assert rows is not None  # noqa: S101 - read before; for the type checker
            whole = [[*row, SUPPRESSED] for row in rows] if section.suppress else rows
            return hierarchy_from_rows(attribute, whole, costless_levels=section.costless_levels)
        top = [[SUPPRESSED] * attribute.size] if isinstance(section, Suppress) or section.suppress else []
        levels = [*_levels_of(section, attribute), *top]
        return Hierarchy.from_labels(attribute, levels, costless_levels=getattr(section, "costless_levels", ()))


def _levels_of(section: HierarchySection, attribute: Attribute) -> list[list[str]]:
    """Return the label of each category at each level of a rule.

    A last level of full suppression is not included.

    Raises
    ------
    InputError
        If the rule does not fit the categories of the attribute.
    """
    match section:
        case Intervals():
            return interval_levels(
                attribute, section.widths, start=section.start, absorb_remainder=section.absorb_remainder
            )
        case Prefix():
            return prefix_levels(attribute, section.digits, pool=section.pool)
        case Groups():
            return group_levels(attribute, section.groups)
        case Dates():
            return date_levels(attribute, section.levels)
    return []


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


def hierarchy_section(hierarchy: object, source: str, key: str) -> dict[str, Any]:
    """Return the scenario section of a hierarchy at the key path `key`.

    Its entry ``file`` may be a table in memory. `source` is for messages.

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
        return {"rule": "table", "file": str(path), **delimiter_key(path)}
    if isinstance(hierarchy, pd.DataFrame):
        return {"rule": "table", "file": hierarchy}
    if isinstance(hierarchy, Hierarchy):
        costless = {"costless_levels": sorted(hierarchy.costless_levels)} if hierarchy.costless_levels else {}
        return {"rule": "table", "file": hierarchy.table, **costless}
    expected = 'intervals(...), prefix(...), groups(...), "suppress", a DataFrame, a Hierarchy or a file'
    raise InputError("not a hierarchy", source=source, where=key, found=hierarchy, expected=expected)
