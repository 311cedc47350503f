"""Find the columns that identify people and households, from the data first and from column names second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifier_names import is_numbered, plain_words
from reidsim.drafts.names import NAMES, Names
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.values import MISSING_MARKS
from reidsim.wording import counted

# Attributes that do not change during a person's life, the most informative first.
_LIFELONG = ("birth date", "birth year", "sex", "race")
# Direct identifiers that several people may share, so that they are no keys of persons.
_SHARED_IDENTIFIERS = ("name", "address", "telephone number", "e-mail address")
# A column is constant within people if so many of the people with several rows have one value (the rest are typing
# errors), and is not if fewer than the second share have one.
_MOSTLY, _HARDLY = 0.95, 0.5
# Evidence needs so many people with several rows, and a column that random groups of rows would rarely agree in.
_FEWEST_GROUPS, _MOST_BY_CHANCE = 10, 0.75
# Without a telling name, a person key has at most so many rows per value on average, and a household so many people.
_MOST_ROWS_PER_PERSON, _MOST_PEOPLE_PER_HOUSEHOLD = 100, 8
# Pairs of columns are tried only among so few columns: hospital and patient number, household and member number.
_MOST_IN_PAIRS = 12

# Why the columns of keys are no quasi-identifiers.
KEY_REASONS = {
    "person": "identifies the person: rows with the same value belong to one person",
    "household": "identifies the household: people with the same value live together",
}


@dataclass(frozen=True)
class PeopleKeys:
    """Keys that a draft proposes.

    Parameters
    ----------
    person : tuple of str
        The column, or the pair of columns, whose values identify a person; empty if each row is a person.
    household : str or None
        Column whose values identify a household.
    n_rows, n_people : int
        Rows of the table, and people that the key distinguishes.
    undecided : tuple of str
        Columns that may identify people with several rows: the user has to choose one, or none.
    """

    person: tuple[str, ...]
    household: str | None
    n_rows: int
    n_people: int
    undecided: tuple[str, ...] = ()

    @property
    def keys(self) -> dict[str, str | list[str]]:
        """The value of each key of the section ``release``."""
        keys: dict[str, str | list[str]] = {}
        if self.person:
            keys["person"] = self.person[0] if len(self.person) == 1 else list(self.person)
        if self.household is not None:
            keys["household"] = self.household
        return keys

    @property
    def reasons(self) -> dict[str, str]:
        """Why each key column is no quasi-identifier."""
        household = {} if self.household is None else {self.household: KEY_REASONS["household"]}
        return household | dict.fromkeys(self.person, KEY_REASONS["person"])

    def warnings(self) -> Iterator[str]:
        """Yield the unit of analysis, if it is not the row."""
        if self.person:
            named = " and ".join(map(repr, self.person))
            columns = f"column {named} repeats" if len(self.person) == 1 else f"columns {named} repeat together"
            yield (
                f"{columns}: {counted(self.n_rows, 'row')} of "
                f"{counted(self.n_people, 'person', 'people')}; people are counted, not rows (release.person)"
            )


def people_keys(
    frame: pd.DataFrame,
    profiles: Sequence[ColumnProfile],
    taken: Sequence[str] = (),
    *,
    person: Sequence[str] = (),
    one_row_per_person: bool = False,
    names: Names = NAMES,
) -> PeopleKeys:
    """Return the columns that identify people with several rows, and their households.

    A column identifies people if its values repeat and the rows of a value agree in lifelong attributes (birth date,
    sex), whatever its name. Of several such columns, the one with the fewest values does: a person has several cases,
    a case has one person. A column that is called a patient number needs no lifelong attributes. An identifier that
    repeats without this evidence is undecided.

    Parameters
    ----------
    frame : DataFrame
        The table, as text.
    profiles : sequence of ColumnProfile
        One per column.
    taken : sequence of str
        Columns that the user named as quasi-identifiers.
    person : sequence of str
        The key that the user named, instead of finding one.
    one_row_per_person : bool
        Whether the user declared each row to be a person.
    names : Names
        Words that names of columns are compared with.
    """
    finder = _Finder(frame, profiles, taken, names.keys)
    undecided: tuple[str, ...] = ()
    if not person and not one_row_per_person:
        person = finder.person()
        undecided = () if person else finder.undecided()
    household = finder.household(tuple(person))
    n_people = int(finder.groups(person).max()) + 1 if person and len(frame) else len(frame)
    return PeopleKeys(tuple(person), household, len(frame), n_people, undecided)


@dataclass(frozen=True, eq=False)
class _Finder:
    """Searches a table for keys; values are numbered once per column."""

    frame: pd.DataFrame
    profiles: Sequence[ColumnProfile]
    taken: Sequence[str]
    keys: Mapping[str, Sequence[str]]
    _codes: dict[str, NDArray[np.intp]] = field(default_factory=dict)

    def codes(self, column: str) -> NDArray[np.intp]:
        """Return the numbers of a column's values as the draft reads them, -1 where missing, shape (n_rows,)."""
        if column not in self._codes:
            found = next(profile.found for profile in self.profiles if profile.name == column)
            written, values = pd.factorize(self.frame[column].str.strip())
            labels = pd.Series([found.label(value) for value in values], dtype="str")
            read = pd.factorize(labels.where(~labels.isin(MISSING_MARKS)))[0]
            self._codes[column] = read[written]
        return self._codes[column]

    def groups(self, key: Sequence[str]) -> NDArray[np.intp]:
        """Return the number of each row's combination of values of the key columns, shape (n_rows,)."""
        return np.asarray(
            self.frame.groupby([self.frame[name].str.strip() for name in key], sort=False, observed=True).ngroup()
        )

    @cached_property
    def free(self) -> list[ColumnProfile]:
        """Columns that may be keys: their values repeat, and outsiders neither know nor share them."""
        return [
            profile
            for profile in self.profiles
            if profile.name not in self.taken
            and 1 < profile.distinct < len(self.frame) - profile.missing
            and profile.kind in ("identifier", "code", "whole number", "category")
            and profile.concept not in _SHARED_IDENTIFIERS
            and (profile.hint is None or profile.hint.role == "direct" or profile.hint.source == "values")
        ]

    @cached_property
    def lifelong(self) -> list[str]:
        """Columns of lifelong attributes; race, which is often entered anew, only if there is no other."""
        found = [profile for profile in self.profiles if profile.concept in _LIFELONG and profile.distinct > 1]
        lasting = [profile for profile in found if profile.concept != "race"]
        return [profile.name for profile in lasting or found]

    def person(self) -> tuple[str, ...]:
        """Return the column or pair of columns that identifies people with several rows; empty if none does."""
        named = sorted(
            (self.keys["person"].index(_words(profile)), profile.name)
            for profile in self.free
            if _words(profile) in self.keys["person"] and not profile.missing
        )
        for _, name in named:
            if not self.contradicted((name,)):
                return (name,)
        complete = [profile for profile in self.free if not profile.missing and self._may_be_person(profile)]
        shown = [profile for profile in complete if self.shown((profile.name,))]
        if shown:
            return (min(shown, key=lambda profile: profile.distinct).name,)
        return self._pair()

    def _pair(self) -> tuple[str, ...]:
        """Return a pair of columns that identifies people together: a site and a number that starts anew there."""
        numbers = [
            profile.name
            for profile in self.free
            if not profile.missing and (profile.kind != "category" or is_numbered(profile.name))
        ]
        if not 2 <= len(numbers) <= _MOST_IN_PAIRS:
            return ()
        pairs = [(int(self.groups(pair).max()) + 1, pair) for pair in combinations(numbers, 2)]
        repeating = [(number, pair) for number, pair in pairs if number < len(self.frame)]
        return next((pair for _, pair in sorted(repeating) if self.shown(pair)), ())

    def undecided(self) -> tuple[str, ...]:
        """Return identifiers that repeat and may be people's, though nothing else in the table shows it."""
        found = []
        for profile in self.free:
            by_name = _words(profile) in self.keys["person"] or profile.concept in (
                "record number",
                "social security or tax number",
                "insurance number",
                "account, card or licence number",
            )
            may_be = self._may_be_person(profile)
            named = by_name or profile.kind == "identifier" or (may_be and is_numbered(profile.name))
            of_household = _words(profile) in self.keys["household"]
            # A key whose values are missing in some rows cannot be taken without the user.
            incomplete = profile.missing > 0 and may_be and self.shown((profile.name,))
            if incomplete or (named and not of_household and not self.contradicted((profile.name,))):
                found.append(profile.name)
        return tuple(found)

    def household(self, person: tuple[str, ...]) -> str | None:
        """Return the column that identifies households, by its name or by what its people have in common."""
        candidates = [profile for profile in self.free if not profile.missing and profile.name not in person]
        for profile in candidates:
            if _words(profile) in self.keys["household"] and (
                not person or _constant(self.groups(person), self.codes(profile.name))[0] == 1
            ):
                return profile.name
        if person:
            return None
        for profile in candidates:
            rows = len(self.frame) / profile.distinct
            few = profile.kind != "category" and rows <= _MOST_PEOPLE_PER_HOUSEHOLD
            if few and is_numbered(profile.name) and self._is_shared_by_relatives(profile.name):
                return profile.name
        return None

    def _is_shared_by_relatives(self, key: str) -> bool:
        """Tell whether values of the key differ in lifelong attributes, but agree in two others beyond chance."""
        groups = self.codes(key)
        if not self.contradicted((key,)):
            return False
        agreed = 0
        for profile in self.profiles:
            if profile.name != key and profile.name not in self.lifelong and profile.distinct > 1:
                share, chance, number = _constant(groups, self.codes(profile.name))
                agreed += share >= _MOSTLY and chance <= _MOST_BY_CHANCE and number >= _FEWEST_GROUPS
        return agreed > 1

    def contradicted(self, key: tuple[str, ...]) -> bool:
        """Tell whether the rows of a key's values differ in a lifelong attribute."""
        groups = self.groups(key)
        return any(_constant(groups, self.codes(name))[0] < _HARDLY for name in self.lifelong)

    def shown(self, key: tuple[str, ...]) -> bool:
        """Tell whether the rows of a key's values agree in all lifelong attributes, beyond chance in one of them."""
        groups, beyond = self.groups(key), False
        for name in self.lifelong:
            share, chance, number = _constant(groups, self.codes(name))
            if share < _MOSTLY:
                return False
            beyond |= chance <= _MOST_BY_CHANCE and number >= _FEWEST_GROUPS
        return beyond

    def _may_be_person(self, profile: ColumnProfile) -> bool:
        coded = profile.kind != "category" or is_numbered(profile.name)
        few = len(self.frame) <= _MOST_ROWS_PER_PERSON * profile.distinct
        return coded and few and _words(profile) not in self.keys["household"]


def _words(profile: ColumnProfile) -> str:
    return plain_words(profile.name)


def _constant(groups: NDArray[np.intp], codes: NDArray[np.intp]) -> tuple[float, float, int]:
    """Return in how many groups of several rows a column has one value, and in how many it would have by chance.

    Parameters
    ----------
    groups : ndarray of int, shape (n_rows,)
    codes : ndarray of int, shape (n_rows,)
        Values; -1 where missing, which agrees with every value.

    Returns
    -------
    share : float
        Of the groups with at least two values that are not missing; 1 if there is none.
    chance : float
        Expected share if the values were assigned to rows at random.
    number : int
        Such groups.
    """
    present = (codes >= 0) & (groups >= 0)
    if not present.any():
        return 1.0, 1.0, 0
    group, code = groups[present], codes[present]
    sizes = np.bincount(group)
    pairs = pd.unique(group.astype(np.int64) * (int(code.max()) + 1) + code)
    values = np.bincount(pairs // (int(code.max()) + 1), minlength=len(sizes))
    several = sizes > 1
    if not several.any():
        return 1.0, 1.0, 0
    frequency = np.bincount(code) / len(code)
    size, number = np.unique(sizes[several], return_counts=True)
    chance = sum(float((frequency**n).sum()) * k for n, k in zip(size.tolist(), number.tolist(), strict=True))
    return float((values[several] == 1).mean()), chance / int(several.sum()), int(several.sum())
