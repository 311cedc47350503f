"""Find columns that identify people and households, from data and column names."""

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

# Lifelong attributes, which do not change, most informative first.
_LIFELONG = ("birth date", "birth year", "sex", "race")
# Direct identifiers that several people may share, so they cannot be person keys.
_SHARED_IDENTIFIERS = ("name", "address", "telephone number", "e-mail address")
# A column is constant within people if at least the first share of the people with several rows have one value (the
# rest are typing errors). It is not constant if fewer than the second share have one.
_MOSTLY, _HARDLY = 0.95, 0.5
# Evidence needs at least this many people with several rows, and at most this probability of agreement by chance.
_FEWEST_GROUPS, _MOST_BY_CHANCE = 10, 0.75
# Without a telling name: maximum mean number of rows per person key value, and of people per household key value.
_MOST_ROWS_PER_PERSON, _MOST_PEOPLE_PER_HOUSEHOLD = 100, 8
# Pairs of columns, such as hospital and patient number or household and member number, are tried only among at most
# this many columns.
_MOST_IN_PAIRS = 12

# Reasons why key columns are not quasi-identifiers.
KEY_REASONS = {
    "person": "identifies the person: rows with the same value belong to one person",
    "household": "identifies the household: people with the same value live together",
}


@dataclass(frozen=True)
class PeopleKeys:
    """Person and household keys proposed for a draft.

    Parameters
    ----------
    person : tuple of str
        Column or pair of columns whose values identify a person; empty if each row is a person.
    household : str or None
        Column whose values identify a household.
    n_rows, n_people : int
        Number of table rows, and number of people that the key distinguishes; without a person key, the number of rows.
    undecided : tuple of str
        Columns that may identify people with several rows; the user has to choose one or none.
    """

    person: tuple[str, ...]
    household: str | None
    n_rows: int
    n_people: int
    undecided: tuple[str, ...] = ()

    @property
    def keys(self) -> dict[str, str | list[str]]:
        """Key columns in the form of scenario section ``release``."""
        keys: dict[str, str | list[str]] = {}
        if self.person:
            keys["person"] = self.person[0] if len(self.person) == 1 else list(self.person)
        if self.household is not None:
            keys["household"] = self.household
        return keys

    @property
    def reasons(self) -> dict[str, str]:
        """Reason why each key column is not a quasi-identifier."""
        household = {} if self.household is None else {self.household: KEY_REASONS["household"]}
        return household | dict.fromkeys(self.person, KEY_REASONS["person"])

    def warnings(self) -> Iterator[str]:
        """Yield a warning if people are counted instead of rows."""
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

    Whatever its name, a column identifies people if its values repeat and rows with the same value agree in lifelong
    attributes (birth date, sex). Among several such columns, the one with the fewest values is the key: a person has
    several cases, but a case has one person. A column named as a patient number needs no lifelong attributes. An
    identifier that repeats without this evidence is undecided.

    Parameters
    ----------
    frame : DataFrame
        The table, as text.
    profiles : sequence of ColumnProfile
        One profile per column.
    taken : sequence of str
        Columns named by the user as quasi-identifiers.
    person : sequence of str
        Person key named by the user; if empty, a key is searched for.
    one_row_per_person : bool
        Whether the user declared each row to be a person.
    names : Names
        Vocabulary for column names.
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
    """Search of a table for keys; each column is coded once."""

    frame: pd.DataFrame
    profiles: Sequence[ColumnProfile]
    taken: Sequence[str]
    keys: Mapping[str, Sequence[str]]
    _codes: dict[str, NDArray[np.intp]] = field(default_factory=dict)

    def codes(self, column: str) -> NDArray[np.intp]:
        """Return the integer code of each cell as read, -1 if missing, shape (n_rows,)."""
        if column not in self._codes:
            found = next(profile.found for profile in self.profiles if profile.name == column)
            written, values = pd.factorize(self.frame[column].str.strip())
            labels = pd.Series([found.label(value) for value in values], dtype="str")
            read = pd.factorize(labels.where(~labels.isin(MISSING_MARKS)))[0]
            self._codes[column] = read[written]
        return self._codes[column]

    def groups(self, key: Sequence[str]) -> NDArray[np.intp]:
        """Return the group number of each row by its key values, shape (n_rows,)."""
        return np.asarray(
            self.frame.groupby([self.frame[name].str.strip() for name in key], sort=False, observed=True).ngroup()
        )

    @cached_property
    def free(self) -> list[ColumnProfile]:
        """Candidate key columns.

        Their values repeat, outsiders do not know them, and each value belongs to a single person or household.
        """
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
        """Columns of lifelong attributes.

        Race is used only if there is no other, because it is often entered anew.
        """
        found = [profile for profile in self.profiles if profile.concept in _LIFELONG and profile.distinct > 1]
        lasting = [profile for profile in found if profile.concept != "race"]
        return [profile.name for profile in lasting or found]

    def person(self) -> tuple[str, ...]:
        """Return the column or pair that identifies people with several rows, if any."""
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
        """Return a pair of columns that identifies people, such as site and number."""
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
        """Return the repeating identifiers that the user must decide about.

        They may identify people, but other evidence is lacking, or some rows have no value.
        """
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
            # A key with missing values is used only if the user confirms it.
            incomplete = profile.missing > 0 and may_be and self.shown((profile.name,))
            if incomplete or (named and not of_household and not self.contradicted((profile.name,))):
                found.append(profile.name)
        return tuple(found)

    def household(self, person: tuple[str, ...]) -> str | None:
        """Return the household key, by its name or by attributes that members share."""
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
        """Return whether rows with one key value look like a household.

        Such rows differ in a lifelong attribute, but agree in at least two other attributes beyond chance.
        """
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
        """Return whether rows with one key value differ in a lifelong attribute."""
        groups = self.groups(key)
        return any(_constant(groups, self.codes(name))[0] < _HARDLY for name in self.lifelong)

    def shown(self, key: tuple[str, ...]) -> bool:
        """Return whether rows with one key value agree in all lifelong attributes.

        At least one attribute must agree beyond chance.
        """
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
    """Return the observed and expected share of groups with one value of a column.

    Parameters
    ----------
    groups : ndarray of int, shape (n_rows,)
        Group number of each row; -1 if it has none.
    codes : ndarray of int, shape (n_rows,)
        Value codes; -1 if missing, which agrees with every value.

    Returns
    -------
    share : float
        Share of the groups with at least two non-missing values in which the values are equal; 1 if there are none.
    chance : float
        Expected share if values were assigned to rows at random.
    number : int
        Number of groups with at least two non-missing values.
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
