"""Choose quasi-identifiers and hierarchies for a draft within solver limits.

Variant spellings of values are found, and columns are matched to the attributes of a population, before hierarchies are
drafted.
"""

from __future__ import annotations

import itertools
import math
import re
import shlex
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz.distance import OSA
from rapidfuzz.process import extractOne

from reidsim.audit.identifiers import why_values_identify
from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among, require_distinct
from reidsim.core.rows import combined
from reidsim.core.tables import MISSING_MARKS, coded, require_columns, sniff_delimiter
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.profile import (
    NAMES,
    NUMBER,
    WHOLE_NUMBER,
    ColumnProfile,
    Names,
    are_places,
    as_number,
    bands_of,
    find_reading,
    letters_of,
    regions_of,
    rows_by,
    rows_with,
    sample_of,
    wider_bands,
)
from reidsim.populations.counted import MISSING
from reidsim.populations.population import Attribute, Population, natural_categories
from reidsim.releases.hierarchy import NOT_A_DATE, SUPPRESSED, date_levels, hierarchy_from_rows, read_hierarchy_rows
from reidsim.scenarios.hierarchies import DateReading

# Maximum number of quasi-identifiers chosen automatically, and of those chosen or named by the user. Each column at
# least doubles the number of strategies.
MOST_TAKEN, MOST_NAMED = 8, 12
# Rank-3 columns are added if fewer than 4 columns are chosen so far. Columns without a concept are added if fewer than
# 2 are chosen and the user names none.
_ENOUGH, _ENOUGH_NAMED = 4, 2
# Limits on strategies, and on strategies times distinct cells (less than a second of work). Large tables may take about
# a minute and a half for each policy, so that tables of 10,000 and of 5 million distinct records have the same
# hierarchies: 400 strategies on 3.9 million distinct records took 24 seconds (iceberg: 69).
_MOST_STRATEGIES, _MOST_WORK = 10_000, 12_000_000
_MOST_OF_LARGE, _MOST_WORK_OF_LARGE = 1_200, 6_000_000_000
# The same limits for the case that columns would otherwise lose every level between the value and its suppression and
# the solver can skip strategies: 300,000 records with 69,984 strategies took 45 seconds on one core; 20,000 records
# with 531,441 strategies took three seconds.
_MOST_SEARCHED, _MOST_WORK_OF_SEARCH = 600_000, 30_000_000_000
# With more strategies than of a large table, skipping is faster from this number of strategies times distinct cells on.
_MOST_EVALUATED = 600_000_000
# Ranks of attributes known from voter lists and by acquaintances (see names.toml).
_KNOWN_RANKS = (1, 2)
# Maximum number of distinct values of a column chosen automatically; higher for codes with a concept, because they
# have few distinct prefixes.
_MOST_VALUES, _MOST_CODES = 50_000, 2_000_000
# Minimum mean number of rows per distinct value for a column without a concept.
_FEWEST_ROWS_PER_VALUE = 5
# Advice for a column whose cells hold several values.
SET_ADVICE = (
    "split it into columns with one value per cell, such as yes or no, and name the columns that outsiders may know"
)
# Reasons why a column that others may know is not chosen.
_NOT_NEEDED = "outsiders may know this column, but other quasi-identifiers are chosen"
_NOT_KNOWN = "nothing in its name or values suggests that outsiders know it"
_TELLING = ("whole number", "date", "code", "category")
_UNUSABLE = {"empty": "no value", "constant": "one value for all", "free text": "free text, which may name people"}
# Levels between the value and its suppression, most useful first; the first ones that fit the limit are used.
_WIDTHS = {"age": (10, 5, 20, 40), "birth year": (10, 5, 20)}
_POSTAL_DIGITS = (3, 2, 4, 1)
_US_POSTAL_LENGTH = 5
_OF_BIRTHS = ("year", "10 years", "5 years", "month")
_OF_EVENTS = ("month", "year", "5 years", "10 years")
# Maximum, minimum and preferred number of intervals in the range of a numeric column.
_MOST_PARTS, _FEWEST_PARTS, _GOOD_PARTS = 100, 3, 10
# Categories below this share or this number of rows are rare. With many categories, a further level also groups
# categories below the larger share.
_RARE_SHARE, _RARE_ROWS, _UNCOMMON_SHARE = 0.01, 5, 0.05
_MANY_CATEGORIES = 10
# Characters kept of an ICD-10 code: category, and letter of the chapter.
_ICD_CODE, _ICD_PARTS = re.compile(r"[A-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?"), (3, 1)
# Maximum length of a group label that lists the group's members.
_LONGEST_GROUP = 60


@dataclass(frozen=True)
class DraftHierarchy:
    """Drafted hierarchy of a column, with its rule as in a scenario file.

    Parameters
    ----------
    rule : dict
        Hierarchy of the attribute as in the scenario, such as ``{"rule": "prefix", "digits": [3, 1]}``; without the
        file name of rule ``"table"``.
    n_levels : int
        Number of levels, including the unchanged value and suppression.
    comment : str
        Description of the levels for readers.
    rows : tuple of tuple of str
        Rows of the hierarchy file in ARX format, one per value; empty if a rule defines the hierarchy.
    unlike : tuple of str
        Values that do not fit the column's type; they form one group at every level above the unchanged value.
    left_out : int
        Number of levels dropped to reduce the number of strategies.
    """

    rule: dict[str, Any]
    n_levels: int
    comment: str
    rows: tuple[tuple[str, ...], ...] = ()
    unlike: tuple[str, ...] = ()
    left_out: int = 0


def draft_hierarchy(column: ColumnProfile, most_between: int | None = None) -> DraftHierarchy:
    """Draft the hierarchy of a column.

    Parameters
    ----------
    column : ColumnProfile
        Profile with at least one value. Missing values stay separate up to the suppression of all values; values that
        do not fit the column's type form one group.
    most_between : int, optional
        Maximum number of levels between the value and its suppression; default: the preferred number of the column's
        kind, and one more for more than 10 categories.

    Returns
    -------
    DraftHierarchy
        With no level between the value and its suppression (rule ``"suppress"``) if `most_between` is 0 or less, or the
        column's type or values offer none.
    """
    make, preferred = _DRAFTS.get(column.kind, (lambda *_: None, 0))
    if most_between is None:
        most_between = preferred + (column.kind == "category" and column.distinct > _MANY_CATEGORIES)
    drafted = make(column, most_between) if most_between > 0 else None
    return drafted or DraftHierarchy({"rule": "suppress"}, 2, "suppressed")


def read_hierarchy(column: ColumnProfile, path: Path) -> DraftHierarchy:
    """Read the hierarchy of a column from a file with one row per value.

    The file has one column per level, as in ARX. A header is ignored, as is the row of a value that the column lacks.
    The result has rule ``"table"`` and the rows of the file.

    Raises
    ------
    InputError
        If the file cannot be read, a value of the column has no row, or groups are not nested.
    """
    rows = read_hierarchy_rows(path, delimiter=sniff_delimiter(path))
    with locating(path):
        categories = natural_categories(pd.Series(list(column.rows), dtype="str"))
        hierarchy = hierarchy_from_rows(Attribute(column.name, categories), rows)
    return DraftHierarchy({"rule": "table"}, hierarchy.n_levels, f"as in {path.name}", tuple(map(tuple, rows)))


def _of_numbers(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    """Return a hierarchy of intervals for a column of numbers; None if no width fits.

    For example, no width fits if all values are equal. Whole numbers have round widths; see `_round_widths`. Ages and
    birth years have the widths of `_WIDTHS` that are below the range of values, if there are any. Other numbers have
    two widths. At most `most` widths are used. Values that are neither numbers nor missing form one group.
    """
    whole = column.kind == "whole number"
    pattern = WHOLE_NUMBER if whole else NUMBER
    numbers = {label: as_number(label) for label in filter(pattern.fullmatch, column.rows)}
    lowest, span = min(numbers.values()), max(numbers.values()) - min(numbers.values()) + whole
    if whole:
        preferred = [width for width in _WIDTHS.get(column.concept or "", ()) if width < span] or _round_widths(span)
    else:
        # Two to twenty intervals, and half as many.
        preferred = [factor * 10.0 ** (math.floor(math.log10(span)) - 1) for factor in (10, 5) if span > 0]
    widths = sorted(preferred[:most])
    if not widths:
        return None
    width, start = widths[0], math.floor(lowest / widths[-1]) * widths[-1]
    comment = f"intervals of {listed(f'{each:.12g}' for each in widths)}"
    if whole and len(numbers) == len(column.rows) - ("" in column.rows):
        rule = {"rule": "intervals", "widths": widths, "start": start}
        return DraftHierarchy(rule, len(widths) + 2, f"{comment}, suppressed")
    between: dict[str, list[str]] = {}
    # The interval of a top category such as 90+ has no upper bound.
    top = min((number for value, number in numbers.items() if value.endswith("+")), default=math.inf)
    for value, number in numbers.items():
        # Wider intervals are computed from the finer ones, so that rounding cannot break the nesting.
        part = math.floor((min(number, top) - start) / width)
        steps = [round(each / width) for each in widths]
        ends = [(start + part // step * step * width, start + (part // step + 1) * step * width) for step in steps]
        between[value] = [
            f"{low}+" if high > top else f"{low}-{high - 1}" if whole else f"[{low:.12g}, {high:.12g})"
            for low, high in ends
        ]
    return _table(column, between, comment, pools=True)


def _round_widths(span: float) -> list[float]:
    """Return round widths that give 3 to 100 intervals of whole numbers in a range.

    The width that gives closest to 10 intervals comes first. Widths are 5, 10, 50, 100 and so on. For a `span` below
    15, they are 2 and 4 from 9 on, 2 from 6 on, and none below. Each width is a multiple of the smaller ones.
    """
    if span < 5 * _FEWEST_PARTS:
        return [2, 4] if span >= 3 * _FEWEST_PARTS else [2] if span >= 2 * _FEWEST_PARTS else []
    chain = [step * 10**power for power in range(16) for step in (1, 5)]
    widths = [width for width in chain if width >= 2 and span / _MOST_PARTS <= width <= span / _FEWEST_PARTS]
    return sorted(widths, key=lambda width: abs(math.log(span / width / _GOOD_PARTS)))


def _of_dates(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    useful = _OF_BIRTHS if column.concept == "birth date" else _OF_EVENTS
    periods = {level: date_levels(Attribute(column.name, tuple(column.rows)), [level])[0] for level in useful}
    telling = [
        level
        for level, labels in periods.items()
        if len(set(labels) - {"", NOT_A_DATE}) > 1 and (column.found.certain or level != "month")
    ]
    levels = sorted(telling[:most], key=_OF_EVENTS.index)
    if not levels:
        return None
    unlike = tuple(value for value, year in zip(column.rows, periods["year"], strict=True) if year == NOT_A_DATE)
    others = f"; {len(unlike)} other values in one group" if unlike else ""
    comment = f"{listed(levels)}, suppressed{others}"
    return DraftHierarchy({"rule": "dates", "levels": levels}, len(levels) + 2, comment, unlike=unlike)


def _of_codes(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    values, postal = column.values, column.concept == "postal code"
    longest = max(map(len, values))
    parts = [longest * part // (most + 1) or 1 for part in range(1, most + 1)]
    useful = _POSTAL_DIGITS if postal else _ICD_PARTS if all(map(_ICD_CODE.fullmatch, values)) else parts
    digits = sorted([kept for kept in dict.fromkeys(useful) if kept < longest][:most], reverse=True)
    if not digits:
        return None
    if min(map(len, values)) == longest and len(values) == len(column.rows) - ("" in column.rows):
        comment = f"first {listed(digits)} characters, suppressed"
        return DraftHierarchy({"rule": "prefix", "digits": digits}, len(digits) + 2, comment)
    # Spreadsheets drop the leading zeros of postal codes.
    shortened = postal and longest == _US_POSTAL_LENGTH and all(map(str.isdecimal, values))
    codes = {value: value.zfill(longest) if shortened else value for value in values}
    between = {v: [f"{code[:kept]}*" if len(code) >= kept else code for kept in digits] for v, code in codes.items()}
    return _table(column, between, f"first {listed(digits)} characters")


def _of_categories(column: ColumnProfile, most: int) -> DraftHierarchy | None:
    if (regions := regions_of(column.values)) is not None:
        labels = {value: found[-most:] for value, found in regions[1].items()}
        return _table(column, labels, f"{listed(regions[0][-most:])} by name", pools=True)
    widths, wider = wider_bands(bands_of(column.values) or {}, most)
    if widths:
        return _table(column, wider, f"bands of {listed(widths)}")
    groups = _rare_groups(column, most)
    if not groups:
        return None
    comment = f"by frequency: {listed(f'{len(members)} rare values in one group' for members in groups)}"
    if len(groups) == 1 and sum(map(len, groups[0])) <= _LONGEST_GROUP:
        return DraftHierarchy({"rule": "groups", "groups": [groups]}, 3, f"{comment}, suppressed")
    name = _other_than(column.rows)
    between = {value: [name if value in members else value for members in groups] for value in groups[-1]}
    return _table(column, between, comment)


def _rare_groups(column: ColumnProfile, most: int) -> list[list[str]]:
    """Return the groups into which rare categories are merged: two, one or none.

    The first group has the categories with fewer than 5 rows or 1 % of the rows. With more than 10 categories, a
    second, larger group also has the categories below 5 %. A group is used only if it has at least two categories and
    leaves at least two others. If neither is used and there are more than 10 categories, the only group has the rarest
    categories that together have less than half of the rows, under the same condition.

    Parameters
    ----------
    column : ColumnProfile
        Column of categories; suspected misspellings are not counted as rare.
    most : int
        Maximum number of groups.

    Returns
    -------
    list of list of str
        Members of each group, sorted, from the smallest group to the largest; empty if there is no group.
    """
    # Suspected misspellings do not count as rare categories.
    counts = {value: column.rows[value] for value in column.values if value not in column.spellings}
    rows, many = sum(column.rows.values()), column.distinct > _MANY_CATEGORIES
    limits = [max(_RARE_ROWS, share * rows) for share in (_RARE_SHARE, _UNCOMMON_SHARE)[: most if many else 1]]
    rare = [sorted(label for label, count in counts.items() if count < limit) for limit in limits]
    groups = [each for at, each in enumerate(rare) if 1 < len(each) < column.distinct - 1 and each not in rare[:at]]
    if groups or not many:
        return groups
    # If all categories or none are rare, group the rarest categories that together have less than half of the rows.
    rarest = sorted(counts, key=lambda label: (counts[label], label))
    below = sum(sum(counts[label] for label in rarest[: at + 1]) < rows / 2 for at in range(len(rarest)))
    return [sorted(rarest[:below])] if 1 < below < column.distinct - 1 else []


def _table(
    column: ColumnProfile, between: Mapping[str, Sequence[str]], comment: str, *, pools: bool = False
) -> DraftHierarchy:
    """Create a hierarchy as a table with one row per value of the column.

    Values without labels in `between` stay separate until all are suppressed. If `pools` is true, this applies
    only to missing values, and other such values form one group if there are at least two of them.

    Parameters
    ----------
    column : ColumnProfile
        The column.
    between : mapping of str to sequence of str
        Labels of a value at the levels between it and its suppression, finest first, by value; at least one value.
    comment : str
        Description of these levels; suppression is added.
    pools : bool
        Whether values without labels are grouped.
    """
    values = natural_categories(pd.Series(list(column.rows), dtype="str"))
    of_group: dict[str, list[str]] = {}
    for labels in between.values():
        for level, label in enumerate(labels):
            of_group.setdefault(label, [label] * level + [*labels[level:]])
    # A value that is written like a group, such as an age of 10-19, belongs to it.
    between = {value: of_group[value] for value in values if value in of_group} | dict(between)
    groups, name = set(of_group), {value: value for value in values if value not in between}
    unlike = tuple(value for value in name if pools and value not in MISSING_MARKS)
    comment += ", suppressed"
    if len(unlike) > 1:
        name |= dict.fromkeys(unlike, _other_than({*values, *groups, *name.values()}))
        comment += f"; {len(unlike)} other values in one group"
    n_between = len(next(iter(between.values())))
    rows = tuple((value, *between.get(value, [name.get(value, "")] * n_between), SUPPRESSED) for value in values)
    return DraftHierarchy({"rule": "table"}, n_between + 2, comment, rows, unlike)


def _other_than(labels: Collection[str]) -> str:
    """Return a label for the remaining values that is not in use.

    It is "other", followed by " values" as often as needed to differ from `labels`.
    """
    return next(name for times in itertools.count() if (name := "other" + " values" * times) not in labels)


# Function that drafts the hierarchy of a column of each kind, and the preferred number of levels.
_DRAFTS: dict[str, tuple[Callable[[ColumnProfile, int], DraftHierarchy | None], int]] = {
    "whole number": (_of_numbers, 3),
    "number": (_of_numbers, 2),
    "date": (_of_dates, 4),
    "code": (_of_codes, 3),
    "category": (_of_categories, 1),
}


@dataclass(frozen=True, eq=False)
class ChosenColumn:
    """Quasi-identifier of the draft.

    Parameters
    ----------
    profile : ColumnProfile
        Profile of the table column.
    hierarchy : DraftHierarchy
        Drafted hierarchy, or the hierarchy from a file.
    match : ColumnMatch or None
        Matching population attribute; None without a population.
    """

    profile: ColumnProfile
    hierarchy: DraftHierarchy
    match: ColumnMatch | None = None

    @property
    def basis(self) -> ColumnProfile:
        """Profile whose values the hierarchy covers.

        It is the profile of `match`, with the population's categories, or `profile` without a match.
        """
        return self.profile if self.match is None else self.match.profile

    @property
    def renamed(self) -> dict[str, str]:
        """Text that replaces a value of the records, by value; only for replaced values.

        It is a category of the population, or the usual spelling of the value.
        """
        category = {} if self.match is None else self.match.values
        values = {value: category.get(usual, usual) for value, usual in self.profile.merged.items()}
        return {value: read_as for value, read_as in (category | values).items() if value != read_as}


@dataclass(frozen=True, eq=False)
class Choice:
    """Quasi-identifiers chosen for a draft.

    Parameters
    ----------
    chosen : tuple of ChosenColumn
        The quasi-identifiers, in table order.
    left_out : dict of str to str
        Reason for the exclusion of each other column, by column name.
    possible : tuple of str
        Names of the excluded columns whose values outsiders may know.
    cells : int
        Number of distinct combinations of quasi-identifier values, as written in the table.
    """

    chosen: tuple[ChosenColumn, ...]
    left_out: dict[str, str]
    possible: tuple[str, ...]
    cells: int

    @property
    def names(self) -> list[str]:
        """Names of the chosen columns."""
        return [column.profile.name for column in self.chosen]

    @property
    def strategies(self) -> int:
        """Number of strategies per record: the product of the columns' numbers of levels."""
        return math.prod(column.hierarchy.n_levels for column in self.chosen)

    @property
    def is_large(self) -> bool:
        """Whether a solver that skips strategies is faster than exhaustive evaluation."""
        return self.strategies > _MOST_OF_LARGE and self.strategies * self.cells > _MOST_EVALUATED

    @property
    def left_out_levels(self) -> str:
        """Columns with dropped levels and the number dropped, as text; empty if none.

        An example is "age (2), zip (1)".
        """
        return ", ".join(f"{c.profile.name} ({c.hierarchy.left_out})" for c in self.chosen if c.hierarchy.left_out)


def choose(
    profiles: Sequence[ColumnProfile],
    frame: pd.DataFrame,
    options: DraftOptions,
    uses: Mapping[str, str] = {},
    population: Population | None = None,
    names: Names = NAMES,
    hierarchies: Mapping[str, Path] = {},
    *,
    searched: bool = True,
) -> Choice:
    """Choose the quasi-identifiers of a table and their hierarchies.

    Chosen are the columns named by the user and the columns whose concept, by name or values, others may know.
    Columns known from voter lists come first. If few columns qualify and the user names none, columns with few values
    are added. Levels of drafted hierarchies are dropped until the game can be solved in about a minute, as far as
    possible. Levels of hierarchies from files are never dropped, so these can make the game slower.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of all columns.
    frame : DataFrame
        The rows of the table, as text; its distinct rows in the chosen columns are counted.
    options : DraftOptions
        Columns to choose or to exclude.
    uses : mapping of str to str, optional
        Description of each column with another use, such as a person key, by column name; such a column is chosen only
        if the user names it.
    population : Population, optional
        Population whose attributes the quasi-identifiers must match.
    names : Names
        Vocabulary for values.
    hierarchies : mapping of str to Path, optional
        Hierarchy files of quasi-identifiers, in ARX format; the other hierarchies are drafted.
    searched : bool
        Whether the solver can skip most strategies, which requires one record per person and counted people.

    Returns
    -------
    Choice
        The chosen columns with their hierarchies, in table order, and the reason for the exclusion of each other one.

    Raises
    ------
    InputError
        If a named or dropped column is missing; if a column is named twice, or both named and dropped; if more than 12
        columns are named, or none with `only_named`; if a named column has no name, no values or several values in a
        cell; if no column can be chosen; if a named column, or (unless `only_named`) one that outsiders may know, does
        not match the population; if a column not in `unmatched_unique` has a value outside the population's categories;
        if `unmatched_unique` or `hierarchies` names a column that is not chosen; or if a hierarchy file cannot be used.
    """
    _check_named(profiles, frame, options)
    left_out = {profile.name: uses.get(profile.name) or _reason(profile, options) for profile in profiles}
    matches: Mapping[str, ColumnMatch] = {}
    if population is not None:
        matches, reasons = match_columns(profiles, population, names)
        _require_matches([profile for profile in profiles if not left_out[profile.name]], reasons, options)
        left_out |= {name: left_out[name] or reason for name, reason in reasons.items()}
    taken = [profile for profile in profiles if profile.name in options.quasi_identifier]
    if not options.only_named:
        others = [profile for profile in profiles if not left_out[profile.name] and profile not in taken]
        taken += _likely(others, len(taken))
    if not taken:
        problem = "no column looks like a quasi-identifier"
        expected = "a column such as age, sex or postal code, with at least two values"
        header = "the first row looks like values: add a row with the column names"
        hint = header if names_look_like_values(profiles) else "name columns with --quasi-identifier"
        found = listed(f"{name} ({reason})" if reason else name for name, reason in left_out.items())
        raise InputError(problem, found=found, expected=expected, hint=hint)
    chosen = [profile.name for profile in taken]
    matches = {name: match for name, match in matches.items() if name in chosen}
    problem = "not a quasi-identifier of the population"
    require_among(problem, options.unmatched_unique, matches, where="--unmatched-unique")
    for name, matched in matches.items():
        if name not in options.unmatched_unique and (strange := matched.strange):
            problem = "values outside the categories of the population"
            categories = [label for label in matched.profile.values if label not in strange]
            option = f"--unmatched-unique {shlex.quote(name)} to count these values as unique"
            expected = f"one of {listed(categories, 4)}, {option}, or --drop {shlex.quote(name)}"
            raise InputError(problem, where=f"column {name!r}", found=listed(strange, 3), expected=expected)
    require_among("not a quasi-identifier", hierarchies, chosen, where="--hierarchy")
    cells, columns = int(combined([coded(frame[name])[0] for name in chosen]).max()) + 1, []
    for profile in taken:
        match = matches.get(profile.name)
        column = spelled(profile) if match is None else replace(profile, found=match.profile.found)
        basis, path = column if match is None else match.profile, hierarchies.get(profile.name)
        hierarchy = draft_hierarchy(basis) if path is None else read_hierarchy(basis, path)
        columns.append(ChosenColumn(column, hierarchy, match))
    people = 0 if population is None else len(population.cells)
    columns = _within_limits(columns, hierarchies, cells, people, searched=searched)
    left_out, possible = {name: reason for name, reason in left_out.items() if name not in chosen}, []
    for profile in [profile for profile in profiles if left_out.get(profile.name) == ""]:
        # Do not suggest a column that identifies most people unless it has a concept that others may know.
        name, rows = profile.name, profile.rows
        why = "" if profile.hint else why_values_identify(name, list(rows), list(rows.values()))
        left_out[name] = f"it could identify most people: {why}" if why else _NOT_NEEDED if profile.hint else _NOT_KNOWN
        possible += [] if why else [name]
    columns.sort(key=lambda column: list(frame).index(column.profile.name))
    return Choice(tuple(columns), left_out, tuple(possible), cells)


def _check_named(profiles: Sequence[ColumnProfile], frame: pd.DataFrame, options: DraftOptions) -> None:
    """Check that the columns named and dropped by the user exist and can be used.

    Raises
    ------
    InputError
        If a column is missing, named twice, or both named and dropped; if more than 12 columns are named, or none with
        `only_named`; or if a named column has no name, no values or several values in a cell.
    """
    where, named, most = "--quasi-identifier", options.quasi_identifier, f"at most {MOST_NAMED}"
    require_columns(frame, [*named, *options.drop])
    require_distinct("column named twice", named, where=where)
    refuse_first(
        (options.only_named and not named, "no column named", "--only-named", None, f"{where} COLUMN in addition"),
        *((c in options.drop, "column both named and dropped", f"{where} and --drop", c, None) for c in named),
        (len(named) > MOST_NAMED, "too many quasi-identifiers to solve", where, len(named), most),
    )
    several = "cells hold several values, so each combination would be a separate category"
    for profile in [profile for profile in profiles if profile.name in named]:
        column = f"column {profile.name!r}"
        refuse_first(
            (not profile.name, "the column has no name", column, None, None),
            (profile.kind == "empty", "the column has no value", column, None, None),
            (profile.kind == "set", several, column, profile.example[:40], f"one value in each cell: {SET_ADVICE}"),
        )


def _require_matches(candidates: Sequence[ColumnProfile], reasons: Mapping[str, str], options: DraftOptions) -> None:
    """Check that some columns match an attribute of the population.

    They are the columns named by the user and the columns that outsiders know.

    Parameters
    ----------
    candidates : sequence of ColumnProfile
        Columns that may be chosen. Those of rank 1 or 2 must match, unless only named columns are used.
    reasons : mapping of str to str
        Reason of each column without a match, by column name.
    options : DraftOptions
        Columns named by the user, and whether only these are used.

    Raises
    ------
    InputError
        If such a column has no match.
    """
    problem, expected = "the population has no matching attribute", "an attribute of the population"
    named = options.quasi_identifier
    refuse_first(*((name in reasons, problem, f"column {name!r}", reasons.get(name), expected) for name in named))
    unmatched = [profile for profile in candidates if profile.name in reasons]
    lost = [profile.name for profile in unmatched if profile.hint is not None and profile.hint.rank in _KNOWN_RANKS]
    if lost and not options.only_named:
        problem = "outsiders may know columns that match no attribute of the population"
        where = f"column{'s' * (len(lost) > 1)} {listed(lost)}"
        drops = " ".join(f"--drop {shlex.quote(name)}" for name in lost)
        expected = f"an attribute of the population with the same values, or {drops}"
        raise InputError(problem, where=where, found=reasons[lost[0]], expected=expected)


def _reason(profile: ColumnProfile, options: DraftOptions) -> str:
    """Return why a column cannot be a quasi-identifier by default; "" if it can.

    If there are several reasons, the first is returned. Reasons are, for example, that the user drops it, that it is a
    direct identifier, or that it has too many values.
    """
    most = _MOST_CODES if profile.hint is not None and profile.kind == "code" else _MOST_VALUES
    reasons = {
        "dropped by the user": profile.name in options.drop,
        "no name": not profile.name,
        f"direct identifier, {profile.reason}": profile.is_direct,
        _UNUSABLE.get(profile.kind, ""): profile.kind in _UNUSABLE,
        f"several values in a cell, separated by {profile.separator!r}": profile.kind == "set",
        f"more than {most:,} values": profile.distinct > most,
        "not a date": profile.concept == "date of an event" and profile.kind != "date",
        "a measurement": profile.hint is None and profile.kind == "number",
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _likely(candidates: Sequence[ColumnProfile], named: int = 0) -> list[ColumnProfile]:
    """Return the columns to choose in addition to the user's, most likely first.

    These are the columns of ranks 1 and 2 (see `Hint`); those of rank 3 if fewer than 4 columns are chosen so far; and,
    if fewer than 2 are chosen and none is named, columns without a concept with at least 5 rows per distinct value, up
    to 4 columns. At most 8 columns are returned, or fewer if the user names more than 4: in total, at most 12 are
    chosen.

    Parameters
    ----------
    candidates : sequence of ColumnProfile
        Columns that may be chosen, without columns that the user names.
    named : int
        Number of quasi-identifiers named by the user.
    """
    by_rank = {rank: [each for each in candidates if each.hint and each.hint.rank == rank] for rank in (1, 2, 3)}
    taken = by_rank[1] + by_rank[2]
    if len(taken) + named < _ENOUGH:
        taken += by_rank[3]
    if len(taken) < _ENOUGH_NAMED and not named:
        others = [each for each in candidates if each.hint is None and each.kind in _TELLING]
        repeating = [each for each in others if sum(each.rows.values()) >= _FEWEST_ROWS_PER_VALUE * each.distinct]
        taken += repeating[: _ENOUGH - len(taken)]
    return taken[: min(MOST_TAKEN, MOST_NAMED - named)]


def names_look_like_values(profiles: Sequence[ColumnProfile]) -> bool:
    """Return whether the column names are a row of values, as in a file without a header.

    Each name has no letter, is a value of its column, or has digits and letters at the same places as a value. If one
    of the names is a word among its column's values, columns of identifiers and of free text do not count.
    """

    def is_value(profile: ColumnProfile) -> bool:
        name, digits = profile.name, any(map(str.isdecimal, profile.name))
        alike = digits and _shape(name) in map(_shape, sample_of(profile.values))
        return name in profile.rows or alike or not any(map(str.isalpha, name))

    has_word = any(profile.name in profile.rows and any(map(str.isalpha, profile.name)) for profile in profiles)
    varied = ("identifier", "free text") if has_word else ()
    return all(is_value(profile) for profile in profiles if profile.kind not in varied)


def _shape(value: str) -> str:
    """Return a value with ``a`` in place of letters, and 0 in place of digits."""
    return "".join("a" if each.isalpha() else "0" if each.isdecimal() else each for each in value)


def _within_limits(
    columns: Sequence[ChosenColumn], fixed: Collection[str], cells: int, people: int, *, searched: bool
) -> list[ChosenColumn]:
    """Drop levels of hierarchies until the solver limits are met.

    Every column with a level between the value and its suppression keeps at least one such level, unless even the
    search of a large lattice would take too long or cannot be used. A level is dropped from the column with the most
    levels, the last of several. If no more level can be dropped, the limits may stay exceeded.

    Parameters
    ----------
    columns : sequence of ChosenColumn
        Quasi-identifiers, most likely first.
    fixed : collection of str
        Names of columns that keep all their levels.
    cells, people : int
        Number of distinct records, and number of distinct combinations of values in the population; 0 without one.
    searched : bool
        Whether the solver can skip most strategies; see `choose`.

    Returns
    -------
    list of ChosenColumn
        The columns in the same order, with new hierarchies whose `left_out` is the number of dropped levels.
    """
    small, large = min(_MOST_STRATEGIES, _MOST_WORK // cells), min(_MOST_OF_LARGE, _MOST_WORK_OF_LARGE // cells)
    most = max(small, large, 2 ** len(columns))
    most_searched = max(most, searched * min(_MOST_SEARCHED, _MOST_WORK_OF_SEARCH // (cells + people)))
    drafts = [column.hierarchy for column in columns]
    for fewest, limit in ((3, most), (2, most_searched)):
        while math.prod(levels := [draft.n_levels for draft in drafts]) > limit:
            # Drop a level from the least likely of the columns with the most levels.
            free = [(n, at) for at, n in enumerate(levels) if n > fewest and columns[at].profile.name not in fixed]
            if not free:
                break
            n_levels, widest = max(free)
            drafts[widest] = draft_hierarchy(columns[widest].basis, n_levels - 3)
    return [
        replace(column, hierarchy=replace(draft, left_out=column.hierarchy.n_levels - draft.n_levels))
        for column, draft in zip(columns, drafts, strict=True)
    ]


_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[-\s_.,/']+(?=[^\W\d_])")
# Minimum number of letters and digits for one slip (a letter inserted, deleted, replaced or swapped with the next), and
# for two slips. Shorter values may be codes that differ in one letter and have different meanings, such as AIAN and
# Asian.
_ONE_SLIP, _TWO_SLIPS = 5, 9
# A misspelling is at least this many times rarer than the intended spelling.
_RARER = 5
# Maximum number of values compared in pairs. Beyond it, only differences in case, accents and punctuation are found.
_MOST_COMPARED = 3_000


def spelled(profile: ColumnProfile, *, merge: bool = False) -> ColumnProfile:
    """Return the profile of a column with variant spellings listed or merged.

    Parameters
    ----------
    profile : ColumnProfile
        Profile of a column; returned unchanged if its kind is not "category".
    merge : bool
        Whether to merge variants into the usual spelling (in `rows` and `merged`) instead of listing them in
        `spellings`; see `near_spellings`.
    """
    if profile.kind != "category":
        return profile
    near = near_spellings({value: profile.rows[value] for value in profile.values})
    if not merge:
        return replace(profile, spellings=near)
    together = rows_by(profile.rows, lambda value: near.get(value, value))
    merged = {value: near.get(usual, usual) for value, usual in profile.merged.items()} | near
    return replace(profile, rows=together, merged=merged)


def near_spellings(rows: Mapping[str, int]) -> dict[str, str]:
    """Return the usual spelling of each variant spelling.

    Values that differ only in case, accents, and spaces or punctuation between letters are the same word. In addition,
    a rare value is a variant of a value at least five times as frequent, if one slip turns one into the other and both
    have at least five letters. A slip inserts, deletes or replaces a letter or swaps it with the next. Two slips are
    allowed from nine letters on. Numbers and punctuation must agree, and two countries or states are never variants.
    Slips are not searched for among more than 3,000 different words.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value, without missing ones.

    Returns
    -------
    dict of str to str
        Usual spelling by variant; usual spellings are not keys.
    """
    order = sorted(rows, key=lambda value: (-rows[value], value))
    same: dict[str, list[str]] = defaultdict(list)
    for value in order:
        same[_plain(value)].append(value)
    usual = {value: group[0] for group in same.values() for value in group[1:]}
    number = {word: rows_with(rows, group) for word, group in same.items()}
    alike: dict[str, list[str]] = defaultdict(list)
    long = [word for word in same if len(word) >= _ONE_SLIP and len(same) <= _MOST_COMPARED]
    for word in sorted(long, key=lambda word: (-number[word], word)):
        signs = "".join(character for character in word if not character.isalpha())
        # The words before a word are more frequent, and their own usual spellings are known.
        others = [other for other in alike[signs] if number[other] >= _RARER * number[word]]
        alike[signs].append(word)
        found = extractOne(word, others, scorer=OSA.distance, score_cutoff=1 + (len(word) >= _TWO_SLIPS))
        if found is not None and not are_places(same[word][0], same[found[0]][0]):
            meant = same[found[0]][0]
            usual |= dict.fromkeys(same[word], usual.get(meant, meant))
    return {value: usual[value] for value in order if value in usual}


def _plain(value: str) -> str:
    """Return a value in lower case, without accents and removable punctuation.

    Spaces and the characters ``-_.,/'`` between letters, and spaces, points, commas and semicolons at the end, are
    removed.
    """
    parts = unicodedata.normalize("NFKD", value.casefold())
    plain = "".join(character for character in parts if not unicodedata.combining(character))
    return _BETWEEN_LETTERS.sub("", plain).rstrip(" .,;")


@dataclass(frozen=True, eq=False)
class ColumnMatch:
    """Column matched to an attribute of the population.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    profile : ColumnProfile
        Profile of the column with the population's categories in place of its values, as the basis of hierarchies. Its
        `rows` hold the number of people of each category, and 0 for each unknown value.
    values : dict of str to str
        Category of each value with a different spelling.
    unknown : tuple of str
        Values, with missing ones, that match no category of the population.
    """

    attribute: str
    profile: ColumnProfile
    values: dict[str, str]
    unknown: tuple[str, ...] = ()

    @property
    def strange(self) -> tuple[str, ...]:
        """Values of the column that match no population category and are not missing."""
        return tuple(value for value in self.unknown if value not in MISSING_MARKS)


def match_columns(
    profiles: Sequence[ColumnProfile], population: Population, names: Names = NAMES
) -> tuple[dict[str, ColumnMatch], dict[str, str]]:
    """Match columns to attributes by name or meaning, and values to categories.

    An attribute matches at most one column: the first with its name, in upper or lower case, else with its concept,
    such as age. Values and categories are read by the same rule, with dates in the same order of day and month. A value
    matches a category with the same letters, or with the same meaning in another language. It also matches the only
    category that begins with it (``M`` for ``Male``). Missing values match the category ``missing`` of a population.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of all columns.
    population : Population
        Population whose attributes are matched.
    names : Names
        Vocabulary for names and values.

    Returns
    -------
    matches : dict of str to ColumnMatch
        Match by column name. At least half of the rows with a value must have a category of the population.
    reasons : dict of str to str
        Reason why each other column matches no attribute of the population.
    """
    matches: dict[str, ColumnMatch] = {}
    reasons = {profile.name: f"no matching attribute in {population.name}" for profile in profiles}
    for each, codes in zip(population.domain.attributes, population.cells.T, strict=True):
        counts = np.bincount(codes, population.counts, each.size).tolist()
        attribute, people = each.name, dict(zip(each.categories, counts, strict=True))
        hint = names.hint_of(attribute)
        # A match by name takes precedence over a match by concept.
        same = [profile for profile in profiles if profile.name.casefold() == attribute.casefold()]
        alike = [profile for profile in profiles if hint is not None and profile.concept == hint.concept]
        for profile in [profile for profile in [*same, *alike] if profile.name not in matches]:
            match = _match(attribute, profile, people, names)
            # Strange values of half of the rows or more are another attribute with the same name.
            if 2 * rows_with(profile.rows, match.strange) <= sum(profile.rows.values()) - profile.missing:
                matches[profile.name] = match
                reasons.pop(profile.name)
                break
            shown = listed([value or "missing values" for value in match.unknown], 3)
            reasons[profile.name] = (
                f"values {shown} are not among the values of {population.name} ({listed(filter(None, people), 3)}); in "
                f"a scenario, [attributes.{attribute}.values] maps values to categories"
            )
    return matches, reasons


def _match(attribute: str, profile: ColumnProfile, people: Mapping[str, float], names: Names) -> ColumnMatch:
    """Return the match of a column to an attribute of the population.

    Values of the column are matched to categories of the attribute; see `match_columns`. If the column holds dates, and
    none of them depends on the order of day and month, the order of the population's dates is used.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    profile : ColumnProfile
        Profile of the column.
    people : mapping of str to float
        Number of people in the population with each category.
    names : Names
        Vocabulary for the meanings of values.
    """
    found = profile.found
    if isinstance(found.reading, DateReading) and not found.ordered:
        theirs = find_reading(dict.fromkeys(people, 1), profile.hint).reading
        if isinstance(theirs, DateReading):
            found = replace(found, reading=found.reading.model_copy(update={"order": theirs.order}))
    read = rows_by(people, found.reading.label)
    by_letters, by_meaning = _single(read, letters_of), _single(read, names.meaning)
    values: dict[str, str] = {}
    for label in [label for label in profile.values if label not in read and any(map(str.isalpha, label))]:
        letters = letters_of(label)
        begins = [category for plain, category in by_letters.items() if plain.startswith(letters)]
        only = begins[0] if len(begins) == 1 else None
        meant = by_letters.get(letters) or by_meaning.get(names.meaning(label)) or only
        values |= {} if meant is None else {label: meant}
    if MISSING in read:
        values |= dict.fromkeys(MISSING_MARKS.intersection(profile.rows), MISSING)
    unknown = tuple(label for label in profile.rows if label not in read and label not in values)
    # The hierarchy covers all categories of the population.
    rows = {label: round(number) for label, number in read.items()} | dict.fromkeys(unknown, 0)
    written = {value: values.get(usual, usual) for value, usual in profile.merged.items()}
    values |= {value: category for value, category in written.items() if value != category}
    return ColumnMatch(attribute, replace(profile, found=found, rows=rows), values, unknown)


def _single(categories: Iterable[str], key: Callable[[str], str]) -> dict[str, str]:
    """Return the category of each key, without keys that several categories have.

    `key` computes the key of a category, such as its letters. Categories without letters, and keys that are "", are
    omitted.
    """
    keys = {category: key(category) for category in categories if any(map(str.isalpha, category))}
    times = Counter(keys.values())
    return {name: category for category, name in keys.items() if name and times[name] == 1}
