"""Which columns of a table say whose a row is, and to which household the person belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reidsim.audit.identifier_names import words_of
from reidsim.drafts.profile import ColumnProfile
from reidsim.validation import read_toml
from reidsim.wording import counted

_NAMES = read_toml(Path(__file__).with_name("names.toml"))["keys"]
# What is the same in all rows of a person, and the share of people of whom it has to be.
_STABLE, _MOSTLY = ("sex", "race", "birth date"), 0.95
# Of a column whose name says nothing: people that there are at least, as a share of the rows.
_FEWEST = 0.2

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
    person, household : str or None
        Columns.
    n_rows, n_people : int
        Rows of the table, and people whom the key tells apart.
    """

    person: str | None
    household: str | None
    n_rows: int
    n_people: int

    @property
    def keys(self) -> dict[str, str]:
        """The columns by their key in the section ``release``."""
        given = {"person": self.person, "household": self.household}
        return {key: column for key, column in given.items() if column is not None}

    def warnings(self) -> Iterator[str]:
        """Yield what to know of the keys."""
        if self.person is not None:
            yield (
                f"column {self.person!r} repeats: {counted(self.n_rows, 'row')} of "
                f"{counted(self.n_people, 'person', 'people')}; people are counted, not rows (release.person)"
            )


def people_keys(frame: pd.DataFrame, profiles: Sequence[ColumnProfile], taken: Sequence[str]) -> PeopleKeys:
    """Return the columns that say whose each row is, if some people have several, and the person's household.

    A key of persons is known by its name; or it is a number or code with a value in every row by which rows agree in
    sex, race and birth date, as far as the table has them, though there are many values.

    Parameters
    ----------
    frame : DataFrame
        The table, as text.
    profiles : sequence of ColumnProfile
        Of all columns.
    taken : sequence of str
        Columns that are quasi-identifiers.
    """
    free = [
        profile
        for profile in profiles
        if profile.name not in taken and not profile.missing and 1 < profile.distinct < len(frame)
    ]
    stable = [profile.name for profile in profiles if profile.concept in _STABLE and not profile.missing]
    named = sorted(
        (_NAMES["person"].index(name), profile.name)
        for profile in free
        if (name := _words(profile)) in _NAMES["person"]
    )
    person = named[0][1] if named else None
    if person is None and stable:
        possible = (profile.name for profile in free if _may_be_key(profile, len(frame)))
        person = next((name for name in possible if _agree(frame, name, stable)), None)
    households = [p.name for p in free if _words(p) in _NAMES["household"] and p.name != person]
    household = next((name for name in households if person is None or _agree(frame, person, [name], 1.0)), None)
    n_people = len(frame) if person is None else frame[person].str.strip().nunique()
    return PeopleKeys(person, household, len(frame), n_people)


def _words(profile: ColumnProfile) -> str:
    return " ".join(words_of(profile.name))


def _may_be_key(profile: ColumnProfile, n_rows: int) -> bool:
    known = profile.hint is not None and profile.hint.role == "known"
    coded = profile.kind in ("identifier", "code", "whole number")
    return coded and not (known or _words(profile) in _NAMES["household"]) and profile.distinct >= _FEWEST * n_rows


def _agree(frame: pd.DataFrame, key: str, columns: Sequence[str], share: float = _MOSTLY) -> bool:
    """Tell whether so many of those who have several rows have the same in all of them, in every one of the columns."""
    several = frame[frame[key].duplicated(keep=False)]
    same = (
        several.groupby(several[key].str.strip(), sort=False, observed=True)[list(columns)].nunique().eq(1).all(axis=1)
    )
    return len(same) > 0 and float(same.mean()) >= share
