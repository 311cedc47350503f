"""Choose quasi-identifiers and hierarchies for a draft within solver limits."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from reidsim.audit.identifiers import why_values_identify
from reidsim.drafts.hierarchies import DraftHierarchy, draft_hierarchy, levels_wanted, read_hierarchy
from reidsim.drafts.names import NAMES, Names
from reidsim.drafts.population_match import ColumnMatch, match_columns
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.spellings import spelled
from reidsim.errors import InputError, listed, require_distinct
from reidsim.populations.population import Population
from reidsim.tables import require_columns

# Maximum number of quasi-identifiers chosen automatically, and of those chosen or named by the user. Each column at
# least doubles the number of strategies.
MOST_TAKEN, MOST_NAMED = 8, 12
# Rank-3 columns are added if fewer than 4 columns are chosen so far. Columns without a concept are added if fewer than
# 2 are chosen and the user names none.
_ENOUGH, _ENOUGH_NAMED = 4, 2
# Limits on strategies, and on strategies times distinct cells (about one second of work). Large tables may take about
# a minute, to leave them enough strategies.
_MOST_STRATEGIES, _MOST_WORK = 10_000, 12_000_000
_MOST_OF_LARGE, MOST_EVALUATED = 600, 600_000_000
# The same limits for the case that columns would otherwise lose every level between the value and its suppression and
# the solver can skip strategies: 300,000 records with 69,984 strategies took 45 seconds on one core; 20,000 records
# with 531,441 strategies took three seconds.
_MOST_SEARCHED, _MOST_WORK_OF_SEARCH = 600_000, 30_000_000_000
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
_TELLING = ("whole number", "date", "code", "category")


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


@dataclass(frozen=True, eq=False)
class Choice:
    """Quasi-identifiers chosen for a draft.

    Parameters
    ----------
    chosen : tuple of ChosenColumn
        The quasi-identifiers, in table order.
    left_out : dict of str to str
        Reason for the exclusion of each other column.
    possible : tuple of str
        Excluded columns that an adversary may know nevertheless.
    cells : int
        Number of distinct combinations of quasi-identifier values, as written in the table.
    all_strategies : int
        Number of strategies per record before any hierarchy level is dropped.
    """

    chosen: tuple[ChosenColumn, ...]
    left_out: dict[str, str]
    possible: tuple[str, ...]
    cells: int
    all_strategies: int = 0

    @property
    def strategies(self) -> int:
        """Number of strategies per record."""
        return math.prod(column.hierarchy.n_levels for column in self.chosen)

    @property
    def is_large(self) -> bool:
        """Whether exhaustive evaluation would take more than about a minute."""
        return self.strategies * self.cells > MOST_EVALUATED

    @property
    def left_out_levels(self) -> str:
        """Columns with dropped levels and the number dropped, as text; empty if none."""
        short = [column for column in self.chosen if column.hierarchy.left_out]
        return ", ".join(f"{column.profile.name} ({column.hierarchy.left_out})" for column in short)


def choose(
    profiles: Sequence[ColumnProfile],
    frame: pd.DataFrame,
    source: Path,
    *,
    named: Sequence[str] = (),
    only_named: bool = False,
    dropped: Sequence[str] = (),
    population: Population | None = None,
    unmatched_unique: Sequence[str] = (),
    names: Names = NAMES,
    hierarchies: Mapping[str, Path] | None = None,
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
        The table.
    source : Path
        Path shown in error messages.
    named : sequence of str
        Columns to choose, at most 12.
    only_named : bool
        Whether to choose only the columns in `named`.
    dropped : sequence of str
        Columns to exclude.
    population : Population, optional
        Population whose attributes the quasi-identifiers must match.
    unmatched_unique : sequence of str
        Chosen columns whose values may be outside the population's categories; a record with such a value counts as
        unique.
    names : Names
        Vocabulary for values.
    hierarchies : mapping of str to Path, optional
        Hierarchy files by chosen column. Default: the hierarchy is drafted.
    searched : bool
        Whether the solver can skip most strategies, which requires one record per person and counted people.

    Raises
    ------
    InputError
        If a column in `named` or `dropped` is missing; if a column is named twice, or both named and dropped; if too
        many columns are named, or none with `only_named`; if a named column has no values or several values in a cell;
        if no column can be chosen; if a named column, or one that outsiders may know, does not match the population; if
        a column not in `unmatched_unique` has a value outside the population's categories; if `unmatched_unique` or
        `hierarchies` names a column that is not chosen; or if a hierarchy file cannot be used.
    """
    require_columns(frame, [*named, *dropped], source)
    _check_named(named, dropped, source, only_named=only_named)
    left_out = {profile.name: _reason(profile, dropped) for profile in profiles}
    matches: Mapping[str, ColumnMatch] = {}
    if population is not None:
        matches, reasons = match_columns(profiles, population, names)
        usable = {name for name, reason in left_out.items() if not reason}
        left_out |= {name: left_out[name] or reason for name, reason in reasons.items()}
        unmatched = next((name for name in named if name in reasons), None)
        if unmatched is not None:
            raise InputError(
                "the population has no matching attribute",
                source=source,
                where=f"column {unmatched!r}",
                found=reasons[unmatched],
                expected=f"an attribute among {listed(population.domain.names)}",
            )
        if not only_named:
            _require_matched([profile for profile in profiles if profile.name in usable], reasons, source)
    taken = [_require_values(profile, source) for profile in profiles if profile.name in named]
    if not only_named:
        others = [profile for profile in profiles if not left_out[profile.name] and profile.name not in named]
        taken = [*taken, *_likely(others, len(taken))]
    if not taken:
        raise InputError(
            "no column looks like a quasi-identifier",
            source=source,
            found=listed(map(str, frame.columns)),
            expected="a column such as age, sex or postal code",
            hint=_why_none(profiles, left_out),
        )
    for name in unmatched_unique:
        if name not in matches or name not in [profile.name for profile in taken]:
            problem, expected = "not a quasi-identifier of the population", f"one of {listed(matches)}"
            raise InputError(problem, source=source, where="--unmatched-unique", found=name, expected=expected)
    for profile in taken:
        if profile.name in matches and profile.name not in unmatched_unique:
            _require_categories(profile, matches[profile.name], source)
    cells = len(frame[[profile.name for profile in taken]].drop_duplicates())
    taken = [
        replace(profile, found=matches[profile.name].profile.found) if profile.name in matches else spelled(profile)
        for profile in taken
    ]
    # With a population, hierarchies must cover the values of all its people.
    everybody = [matches[profile.name].profile if matches else profile for profile in taken]
    files = dict(hierarchies or {})
    for name in files:
        if name not in [profile.name for profile in taken]:
            expected = f"one of {listed(profile.name for profile in taken)}"
            raise InputError(
                "not a quasi-identifier", source=source, where="--hierarchy", found=name, expected=expected
            )
    given = [
        read_hierarchy(of, files[profile.name]) if profile.name in files else None
        for profile, of in zip(taken, everybody, strict=True)
    ]
    people = 0 if population is None else len(population.cells)
    drafts, all_strategies = _levels(everybody, given, cells, people, searched=searched)
    levels = dict(zip((profile.name for profile in taken), drafts, strict=True))
    with_spellings = {profile.name: profile for profile in taken}
    chosen = tuple(
        ChosenColumn(with_spellings[profile.name], levels[profile.name], matches.get(profile.name))
        for profile in profiles
        if profile.name in levels
    )
    others = [profile for profile in profiles if profile.name not in levels]
    # Do not suggest a column that identifies most people unless it has a concept that others may know.
    possible = tuple(
        profile.name
        for profile in others
        if not left_out[profile.name]
        and (profile.hint is not None or not why_values_identify(profile.name, profile.labels, profile.counts))
    )
    return Choice(
        chosen,
        {p.name: left_out[p.name] or _why_not_taken(p, possible) for p in others},
        possible,
        cells,
        all_strategies,
    )


def _require_matched(profiles: Sequence[ColumnProfile], reasons: Mapping[str, str], source: Path) -> None:
    """Check that the population has every usable column that outsiders may know.

    Raises
    ------
    InputError
        If an attribute is unmatched; the message names the columns and the reason.
    """
    lost = [
        profile.name
        for profile in profiles
        if profile.name in reasons and profile.hint is not None and profile.hint.rank in _KNOWN_RANKS
    ]
    if lost:
        raise InputError(
            "outsiders may know columns that match no attribute of the population",
            source=source,
            where=f"column{'s' * (len(lost) > 1)} {listed(lost)}",
            found=reasons[lost[0]],
            expected="an attribute of the population with the same values, or "
            + " ".join(f"--drop {shlex.quote(name)}" for name in lost),
        )


def _require_categories(profile: ColumnProfile, match: ColumnMatch, source: Path) -> None:
    """Check that every value of a quasi-identifier is a category of the population.

    Raises
    ------
    InputError
        If a value is not a category; the message names the values.
    """
    if match.strange:
        categories = [label for label in match.profile.labels if label and label not in match.unknown]
        name = shlex.quote(profile.name)
        raise InputError(
            "values outside the categories of the population",
            source=source,
            where=f"column {profile.name!r}",
            found=listed(match.strange, 3),
            expected=f"one of {listed(categories, 4)}, --unmatched-unique {name} to count these values as unique, "
            f"or --drop {name}",
        )


def _check_named(named: Sequence[str], dropped: Sequence[str], source: Path, *, only_named: bool) -> None:
    where = "--quasi-identifier"
    if only_named and not named:
        raise InputError("no column named", source=source, where="--only-named", expected=f"{where} COLUMN in addition")
    both = [name for name in named if name in dropped]
    if both:
        problem = "column both named and dropped"
        raise InputError(problem, source=source, where=f"{where} and --drop", found=both[0])
    require_distinct("column named twice", named, source=source, where=where)
    if len(named) > MOST_NAMED:
        problem, expected = "too many quasi-identifiers to solve", f"at most {MOST_NAMED}"
        raise InputError(problem, source=source, where=where, found=len(named), expected=expected)


def _why_none(profiles: Sequence[ColumnProfile], left_out: Mapping[str, str]) -> str:
    if names_look_like_values(profiles):
        return "the first row looks like values: add a row with the column names"
    hinted = [p.name for p in profiles if p.hint is not None and p.hint.role == "known" and left_out[p.name]]
    if hinted:
        return f"column {hinted[0]!r} is not taken: {left_out[hinted[0]]}"
    return "name columns with --quasi-identifier"


def _why_not_taken(profile: ColumnProfile, possible: Sequence[str]) -> str:
    """Return the reason why an eligible column was not chosen."""
    if profile.name not in possible:
        why = why_values_identify(profile.name, profile.labels, profile.counts)
        return f"it could identify most people: {why}"
    if profile.hint is None:
        return "nothing in its name or values suggests that outsiders know it"
    return "outsiders may know this column, but the draft has enough quasi-identifiers"


def names_look_like_values(profiles: Sequence[ColumnProfile]) -> bool:
    """Return whether no column name contains a letter, as in a file without a header."""
    return not any(character.isalpha() for profile in profiles for character in profile.name)


def _reason(profile: ColumnProfile, dropped: Sequence[str]) -> str:
    """Return the reason why a column cannot be chosen automatically; empty if it can."""
    if profile.name in dropped:
        return "dropped by the user"
    if not profile.name:
        return "no name"
    if profile.is_direct:
        return f"direct identifier, {profile.reason}"
    if profile.kind == "empty":
        return "no value"
    if profile.kind == "constant":
        return "one value for all"
    if profile.kind == "free text":
        return "free text, which may name people"
    if profile.kind == "set":
        return f"several values in a cell, separated by {profile.separator!r}"
    most = _MOST_CODES if profile.hint is not None and profile.kind == "code" else _MOST_VALUES
    if profile.distinct > most:
        return f"more than {most:,} values"
    if profile.concept == "date of an event" and profile.kind != "date":
        return "not a date"
    if profile.hint is None and profile.kind == "number":
        return "a measurement"
    return ""


def _require_values(profile: ColumnProfile, source: Path) -> ColumnProfile:
    if profile.kind == "empty" or not profile.name:
        problem = "the column has no value" if profile.name else "the column has no name"
        raise InputError(problem, source=source, where=f"column {profile.name!r}")
    if profile.kind == "set":
        example = next(value for value in profile.values if profile.separator in value)
        raise InputError(
            "cells hold several values, so each combination would be a separate category",
            source=source,
            where=f"column {profile.name!r}",
            found=example[:40],
            expected="one value in each cell",
            hint=SET_ADVICE,
        )
    return profile


def _likely(candidates: Sequence[ColumnProfile], named: int = 0) -> list[ColumnProfile]:
    """Return the columns to choose in addition to the `named` ones, most likely first.

    These are the columns of ranks 1 and 2; those of rank 3 if fewer than 4 columns are chosen so far; and, if fewer
    than 2 are chosen and none is named, columns without a concept that have few values.
    """
    by_rank: dict[int, list[ColumnProfile]] = {1: [], 2: [], 3: [], 4: []}
    for profile in candidates:
        if profile.hint is not None:
            by_rank[profile.hint.rank].append(profile)
        elif profile.kind in _TELLING and sum(profile.counts) >= _FEWEST_ROWS_PER_VALUE * profile.distinct:
            by_rank[4].append(profile)
    taken = by_rank[1] + by_rank[2]
    if len(taken) + named < _ENOUGH:
        taken += by_rank[3]
    if len(taken) < _ENOUGH_NAMED and not named:
        taken += by_rank[4][: _ENOUGH - len(taken)]
    return taken[: min(MOST_TAKEN, MOST_NAMED - named)]


def _levels(
    taken: Sequence[ColumnProfile], given: Sequence[DraftHierarchy | None], cells: int, people: int, *, searched: bool
) -> tuple[list[DraftHierarchy], int]:
    """Draft hierarchies within the solver limits, and count all their strategies.

    The count includes dropped levels. Every column with a level between the value and its suppression keeps at least
    one such level, unless even the search of a large lattice would take too long or cannot be used.

    Parameters
    ----------
    taken : sequence of ColumnProfile
        Candidate quasi-identifiers, most likely first.
    given : sequence of DraftHierarchy or None
        Hierarchies from files, which keep all their levels; None for columns without a file.
    cells, people : int
        Number of distinct records, and number of population cells.
    searched : bool
        Whether the solver can skip most strategies; see `choose`.
    """
    most = max(
        min(_MOST_STRATEGIES, _MOST_WORK // cells), min(_MOST_OF_LARGE, MOST_EVALUATED // cells), 2 ** len(taken)
    )
    most_searched = max(most, min(_MOST_SEARCHED, _MOST_WORK_OF_SEARCH // (cells + people))) if searched else most
    full = [of or draft_hierarchy(profile, levels_wanted(profile)) for profile, of in zip(taken, given, strict=True)]
    drafts = list(full)
    for fewest, limit in ((3, most), (2, most_searched)):
        while math.prod(levels := [draft.n_levels for draft in drafts]) > limit:
            # Drop a level from the least likely of the columns with the most levels.
            free = [at for at, of in enumerate(given) if of is None and levels[at] > fewest]
            if not free:
                break
            widest = max(free, key=lambda at: (levels[at], at))
            drafts[widest] = draft_hierarchy(taken[widest], levels[widest] - 3)
    drafts = [replace(one, left_out=all_.n_levels - one.n_levels) for one, all_ in zip(drafts, full, strict=True)]
    return drafts, math.prod(draft.n_levels for draft in full)
