"""Which columns of a table are quasi-identifiers, and how far each is generalized, so that the game stays solvable."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from reidsim.audit.identifiers import why_values_identify
from reidsim.drafts.hierarchies import DraftHierarchy, draft_hierarchy, given_hierarchy, levels_wanted
from reidsim.drafts.names import NAMES, Names
from reidsim.drafts.population_match import ColumnMatch, match_columns
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.spellings import spelled
from reidsim.errors import InputError, listed, require_distinct
from reidsim.populations.population import Population
from reidsim.tables import require_columns

# Quasi-identifiers taken by themselves, and taken if named: each at least doubles the strategies.
MOST_TAKEN, MOST_NAMED = 8, 12
# Columns of the last rank, and those whose name says nothing, are taken only where there are fewer than that.
_ENOUGH, _ENOUGH_NAMED = 4, 2
# Strategies of a draft, and strategies times distinct cells: a second of work. Large tables may take a minute, so
# that they have strategies enough.
_MOST_STRATEGIES, _MOST_WORK = 10_000, 12_000_000
_MOST_OF_LARGE, MOST_EVALUATED = 600, 600_000_000
# The same where columns would otherwise keep no level between a value and its suppression, and the solver need not
# evaluate all: 300,000 records with 69,984 strategies took 45 seconds of one core, 20,000 with 531,441 three.
_MOST_SEARCHED, _MOST_WORK_OF_SEARCH = 600_000, 30_000_000_000
# Ranks of columns that voter lists and acquaintances know (see names.toml).
_KNOWN_RANKS = (1, 2)
# Different values of a column that is taken by itself; of codes that others know, whose beginnings are few.
_MOST_VALUES, _MOST_CODES = 50_000, 2_000_000
# Of columns whose name says nothing: the least average number of rows with a value.
_FEWEST_ROWS_PER_VALUE = 5
# What to do about a column whose cells hold several values.
SET_ADVICE = (
    "split it into columns of one value each, such as yes or no for each value, and name those outsiders may know"
)
_TELLING = ("whole number", "date", "code", "category")


@dataclass(frozen=True, eq=False)
class ChosenColumn:
    """A quasi-identifier of the draft.

    Parameters
    ----------
    profile : ColumnProfile
        Of the column of the table.
    hierarchy : DraftHierarchy
    match : ColumnMatch or None
        What the population has of it, if there is one.
    """

    profile: ColumnProfile
    hierarchy: DraftHierarchy
    match: ColumnMatch | None = None


@dataclass(frozen=True, eq=False)
class Choice:
    """What a draft takes of a table.

    Parameters
    ----------
    chosen : tuple of ChosenColumn
        The quasi-identifiers, in the order of the table.
    left_out : dict of str to str
        Why each of the other columns is not one.
    possible : tuple of str
        Those among them that an adversary may know all the same.
    cells : int
        Different combinations of values of the quasi-identifiers.
    all_strategies : int
        Ways to share a record if no level were left out.
    """

    chosen: tuple[ChosenColumn, ...]
    left_out: dict[str, str]
    possible: tuple[str, ...]
    cells: int
    all_strategies: int = 0

    @property
    def strategies(self) -> int:
        """Ways to share a record."""
        return math.prod(column.hierarchy.n_levels for column in self.chosen)

    @property
    def is_large(self) -> bool:
        """Whether evaluating every strategy of every record would take more than about a minute."""
        return self.strategies * self.cells > MOST_EVALUATED

    @property
    def left_out_levels(self) -> str:
        """Which columns do without how many levels, in a phrase; empty if none does."""
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

    Taken are the columns that the user named, and columns whose names or values speak of what others know of a person,
    what is on voter lists first; where there are few and none is named, also columns of few values. Levels are left out
    until the game is solvable in about a minute.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Of all columns.
    frame : DataFrame
        The table.
    source : Path
        For messages.
    named : sequence of str
        Columns to take.
    only_named : bool
        Whether to take no others.
    dropped : sequence of str
        Columns not to take.
    population : Population, optional
        Whose attributes quasi-identifiers have to be.
    unmatched_unique : sequence of str
        Columns whose values outside the population count as unique.
    names : Names
        Words that values are compared with.
    hierarchies : mapping of str to Path, optional
        Hierarchy files by column.
    searched : bool
        Whether the solver can leave out most strategies: one record per person, and people counted.

    Raises
    ------
    InputError
        If a column is missing or named twice, too many are named, none can be taken, or what outsiders may know does
        not match the population.
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
                "not an attribute of the population",
                source=source,
                where=f"column {unmatched!r}",
                found=reasons[unmatched],
                expected=f"one of {listed(population.domain.names)}",
            )
        if not only_named:
            _require_matched([profile for profile in profiles if profile.name in usable], reasons, source)
    taken = [_require_values(profile, source) for profile in profiles if profile.name in named]
    if not only_named:
        others = [profile for profile in profiles if not left_out[profile.name] and profile.name not in named]
        taken = [*taken, *_likely(others, len(taken))]
    if not taken:
        raise InputError(
            "no column looks like something that others know of a person",
            source=source,
            found=listed(map(str, frame.columns)),
            expected="one such as age, sex or postal code",
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
    # Hierarchies are over everybody's values, where there is a population.
    everybody = [matches[profile.name].profile if matches else profile for profile in taken]
    files = dict(hierarchies or {})
    for name in files:
        if name not in [profile.name for profile in taken]:
            expected = f"one of {listed(profile.name for profile in taken)}"
            raise InputError(
                "not a quasi-identifier", source=source, where="--hierarchy", found=name, expected=expected
            )
    given = [
        given_hierarchy(of, files[profile.name]) if profile.name in files else None
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
    # Nobody is invited to take a column by which most people could be named, unless its name says that others know it.
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
    """Check that no quasi-identifier is lost because the population does not have it.

    Raises
    ------
    InputError
        Names the columns that outsiders may know and that do not match, with the reason.
    """
    lost = [
        profile.name
        for profile in profiles
        if profile.name in reasons and profile.hint is not None and profile.hint.rank in _KNOWN_RANKS
    ]
    if lost:
        raise InputError(
            "outsiders may know these columns, and the population does not match them",
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
        Names the values that are not.
    """
    if match.strange:
        categories = [label for label in match.profile.labels if label and label not in match.unknown]
        name = shlex.quote(profile.name)
        raise InputError(
            "values are not among the categories of the population",
            source=source,
            where=f"column {profile.name!r}",
            found=listed(match.strange, 3),
            expected=f"one of {listed(categories, 4)}, --unmatched-unique {name} to count them as unique, "
            f"or --drop {name}",
        )


def _check_named(named: Sequence[str], dropped: Sequence[str], source: Path, *, only_named: bool) -> None:
    where = "--quasi-identifier"
    if only_named and not named:
        raise InputError("no column named", source=source, where="--only-named", expected=f"{where} COLUMN as well")
    both = [name for name in named if name in dropped]
    if both:
        problem = "column both to be taken and to be left out"
        raise InputError(problem, source=source, where=f"{where} and --drop", found=both[0])
    require_distinct("column named twice", named, source=source, where=where)
    if len(named) > MOST_NAMED:
        problem, expected = "too many quasi-identifiers to solve", f"at most {MOST_NAMED}"
        raise InputError(problem, source=source, where=where, found=len(named), expected=expected)


def _why_none(profiles: Sequence[ColumnProfile], left_out: Mapping[str, str]) -> str:
    if names_look_like_values(profiles):
        return "the first row must hold the names of the columns, and looks like values"
    hinted = [p.name for p in profiles if p.hint is not None and p.hint.role == "known" and left_out[p.name]]
    if hinted:
        return f"column {hinted[0]!r} is not taken: {left_out[hinted[0]]}"
    return "name some with --quasi-identifier"


def _why_not_taken(profile: ColumnProfile, possible: Sequence[str]) -> str:
    """Say why a column that could be taken is not."""
    if profile.name not in possible:
        why = why_values_identify(profile.name, profile.labels, profile.counts)
        return f"it could identify most people: {why}"
    if profile.hint is None:
        return "nothing in its name or values suggests that outsiders know it"
    return "others may know it, but the draft has enough quasi-identifiers"


def names_look_like_values(profiles: Sequence[ColumnProfile]) -> bool:
    """Tell whether no column has a letter in its name, as where a file has no header."""
    return not any(character.isalpha() for profile in profiles for character in profile.name)


def _reason(profile: ColumnProfile, dropped: Sequence[str]) -> str:
    """Say why a column cannot be taken by itself; nothing if it can."""
    if profile.name in dropped:
        return "dropped, as asked"
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
        problem = "no value in the column" if profile.name else "column without a name"
        raise InputError(problem, source=source, where=f"column {profile.name!r}")
    if profile.kind == "set":
        example = next(value for value in profile.values if profile.separator in value)
        raise InputError(
            "cells hold several values, so each combination would be a category of its own", source=source,
            where=f"column {profile.name!r}", found=example[:40], expected="one value in each cell",
            hint=SET_ADVICE,
        )  # fmt: skip
    return profile


def _likely(candidates: Sequence[ColumnProfile], named: int = 0) -> list[ColumnProfile]:
    """Return the columns to take besides those that the user named, the most likely first."""
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
    """Draft the hierarchies, with so many levels that the game can be solved; return the strategies of all levels, too.

    Every column keeps a level between a value and its suppression if it has one, unless even the search of a large
    lattice would take too long, or cannot be used.

    Parameters
    ----------
    taken : sequence of ColumnProfile
        The most likely quasi-identifiers first.
    given : sequence of DraftHierarchy or None
        Hierarchies from files, which keep all their levels.
    cells, people : int
        Different records, and cells of the population.
    searched : bool
        See `choose`.
    """
    most = max(
        min(_MOST_STRATEGIES, _MOST_WORK // cells), min(_MOST_OF_LARGE, MOST_EVALUATED // cells), 2 ** len(taken)
    )
    most_searched = max(most, min(_MOST_SEARCHED, _MOST_WORK_OF_SEARCH // (cells + people))) if searched else most
    full = [of or draft_hierarchy(profile, levels_wanted(profile)) for profile, of in zip(taken, given, strict=True)]
    drafts = list(full)
    for fewest, limit in ((3, most), (2, most_searched)):
        while math.prod(levels := [draft.n_levels for draft in drafts]) > limit:
            # The least likely of those with the most levels gives one up.
            free = [at for at, of in enumerate(given) if of is None and levels[at] > fewest]
            if not free:
                break
            widest = max(free, key=lambda at: (levels[at], at))
            drafts[widest] = draft_hierarchy(taken[widest], levels[widest] - 3)
    drafts = [replace(one, left_out=all_.n_levels - one.n_levels) for one, all_ in zip(drafts, full, strict=True)]
    return drafts, math.prod(draft.n_levels for draft in full)
