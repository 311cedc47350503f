"""Find columns that identify people and households, and columns of sampling weights."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifier_names import is_numbered, plain_words, words_of
from reidsim.drafts.names import NAMES, Names
from reidsim.drafts.profile import ColumnProfile
from reidsim.drafts.values import MISSING_MARKS
from reidsim.wording import counted

# Lifelong attributes, which do not change, most informative first.
_LIFELONG = ("birth date", "birth year", "sex", "race")
# Direct identifiers that several people may share, so they cannot be person keys.
_SHARED_IDENTIFIERS = ("name", "address", "telephone number", "e-mail address")
_PERSONAL_NUMBERS = (
    "record number",
    "social security or tax number",
    "insurance number",
    "account, card or licence number",
)
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

# Single words (without trailing digits) and pairs of words that name a survey weight.
_WORD = re.compile(
    r"(?:p|r|f|i|a|h|hh|fin|final|fnl|per|asec|earn|base|samp|sampl|sampling|sample|survey|design|cal|calib|person|pop)"
    r"(?:weight|wgt|wt)s?p?|wgts?p?|wt(?:finl|supp|mec|int)|fexp|facexp|fexpansion|expfactor|ponderaci?on|hrf"
)
_PAIRS = re.compile(
    r"\b(sampling|sample|survey|design|base|final|person|household|population|calibrated|calibration|grossing|"
    r"expansion|replicate|analysis|inverse probability) (weight|weights|factor)\b"
)
# Names of survey weights that are also names of body measurements.
_AMBIGUOUS = frozenset({"weight", "weights", "wt", "wts", "gewicht", "peso", "poids"})
_OF_THE_BODY = frozenset({"height", "ht", "bmi", "groesse", "talla", "taille", "waist", "kg", "lb", "lbs", "pounds"})
_WEIGHED = frozenset({*_OF_THE_BODY, "birth", "body", "current", "ideal"})
# Survey weights differ at least by this factor, or have at least this median number of decimals.
_SPREAD, _DECIMALS = 6.0, 3
# Relative tolerance between the sum of the weights and the population size.
_NEAR = 0.02


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
    finder = _Finder(frame, profiles, taken, names)
    undecided: tuple[str, ...] = ()
    if not person and not one_row_per_person:
        person = finder.person()
        undecided = () if person else tuple(profile.name for profile in finder.free if finder.is_undecided(profile))
    household = finder.household(tuple(person))
    n_people = int(finder.groups(person).max()) + 1 if person and len(frame) else len(frame)
    return PeopleKeys(tuple(person), household, len(frame), n_people, undecided)


@dataclass(frozen=True, eq=False)
class _Finder:
    """Search of a table for keys."""

    frame: pd.DataFrame
    profiles: Sequence[ColumnProfile]
    taken: Sequence[str]
    names: Names

    def groups(self, key: Sequence[str]) -> NDArray[np.intp]:
        """Return the group number of each row by its key values, shape (n_rows,)."""
        columns = [self.frame[name].str.strip() for name in key]
        return np.asarray(self.frame.groupby(columns, sort=False, observed=True).ngroup())

    def codes(self, profile: ColumnProfile) -> NDArray[np.intp]:
        """Return the integer code of each cell as read, -1 if missing, shape (n_rows,)."""
        written, values = pd.factorize(self.frame[profile.name].str.strip())
        labels = pd.Series(list(map(profile.found.reading.label, values)), dtype="str")
        return pd.factorize(labels.where(~labels.isin(MISSING_MARKS)))[0][written]

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
    def lifelong(self) -> dict[str, NDArray[np.intp]]:
        """Codes of lifelong attributes.

        Race is used only if there is no other, because it is often entered anew.
        """
        found = [profile for profile in self.profiles if profile.concept in _LIFELONG and profile.distinct > 1]
        lasting = [profile for profile in found if profile.concept != "race"]
        return {profile.name: self.codes(profile) for profile in lasting or found}

    def person(self) -> tuple[str, ...]:
        """Return the column or pair that identifies people with several rows, if any."""
        complete = [profile for profile in self.free if not profile.missing]
        order = self.names.keys["person"]
        named = [profile.name for profile in complete if plain_words(profile.name) in order]
        for name in sorted(named, key=lambda name: (order.index(plain_words(name)), name)):
            if not self.contradicted((name,)):
                return (name,)
        shown = [profile for profile in complete if self._may_be_person(profile) and self.shown((profile.name,))]
        if shown:
            return (min(shown, key=lambda profile: profile.distinct).name,)
        numbers = [profile.name for profile in complete if profile.kind != "category" or is_numbered(profile.name)]
        pairs = combinations(numbers if len(numbers) <= _MOST_IN_PAIRS else (), 2)
        people = sorted((int(self.groups(pair).max()) + 1, pair) for pair in pairs)
        return next((pair for number, pair in people if number < len(self.frame) and self.shown(pair)), ())

    def is_undecided(self, profile: ColumnProfile) -> bool:
        """Return whether the user must decide about a repeating identifier.

        It may identify people, but other evidence is lacking, or some rows have no value.
        """
        words, may_be = plain_words(profile.name), self._may_be_person(profile)
        if profile.missing and may_be and self.shown((profile.name,)):
            # A key with missing values is used only if the user confirms it.
            return True
        personal = words in self.names.keys["person"] or profile.concept in _PERSONAL_NUMBERS
        identifier = personal or profile.kind == "identifier" or (may_be and is_numbered(profile.name))
        return identifier and words not in self.names.keys["household"] and not self.contradicted((profile.name,))

    def household(self, person: tuple[str, ...]) -> str | None:
        """Return the household key, by its name or by attributes that members share."""
        candidates = [profile for profile in self.free if not profile.missing and profile.name not in person]
        for profile in candidates:
            if plain_words(profile.name) in self.names.keys["household"] and (
                not person or _agreement(self.groups(person), self.codes(profile))[0] == 1
            ):
                return profile.name
        for profile in candidates if not person else ():
            few = len(self.frame) <= _MOST_PEOPLE_PER_HOUSEHOLD * profile.distinct
            numbered = profile.kind != "category" and is_numbered(profile.name)
            if few and numbered and self._is_shared_by_relatives(profile):
                return profile.name
        return None

    def _is_shared_by_relatives(self, key: ColumnProfile) -> bool:
        """Return whether rows with one key value look like a household.

        Such rows differ in a lifelong attribute, but agree in at least two other attributes beyond chance.
        """
        if not self.contradicted((key.name,)):
            return False
        groups = self.codes(key)
        others = [profile for profile in self.profiles if profile.name not in (key.name, *self.lifelong)]
        found = [_agreement(groups, self.codes(profile)) for profile in others if profile.distinct > 1]
        return sum(share >= _MOSTLY and beyond_chance for share, beyond_chance in found) > 1

    def contradicted(self, key: tuple[str, ...]) -> bool:
        """Return whether rows with one key value differ in a lifelong attribute."""
        groups = self.groups(key)
        return any(_agreement(groups, codes)[0] < _HARDLY for codes in self.lifelong.values())

    def shown(self, key: tuple[str, ...]) -> bool:
        """Return whether rows with one key value agree in all lifelong attributes.

        At least one attribute must agree beyond chance.
        """
        groups = self.groups(key)
        found = [_agreement(groups, codes) for codes in self.lifelong.values()]
        return all(share >= _MOSTLY for share, _ in found) and any(beyond_chance for _, beyond_chance in found)

    def _may_be_person(self, profile: ColumnProfile) -> bool:
        coded = profile.kind != "category" or is_numbered(profile.name)
        few = len(self.frame) <= _MOST_ROWS_PER_PERSON * profile.distinct
        return coded and few and plain_words(profile.name) not in self.names.keys["household"]


def _agreement(groups: NDArray[np.intp], codes: NDArray[np.intp]) -> tuple[float, bool]:
    """Return the share of groups with one value of a column.

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
    beyond_chance : bool
        Whether there are enough such groups, and random values would rarely be equal.
    """
    rows = pd.DataFrame({"group": groups, "code": codes})[(codes >= 0) & (groups >= 0)]
    sizes = rows["group"].value_counts()
    sizes = sizes[sizes > 1]
    if sizes.empty:
        return 1.0, False
    n_values = rows.drop_duplicates()["group"].value_counts()
    frequency = rows["code"].value_counts(normalize=True).to_numpy()
    size, n_groups = np.unique(sizes, return_counts=True)
    chance = float(np.average([(frequency**n).sum() for n in size.tolist()], weights=n_groups))
    share = float((n_values[sizes.index] == 1).mean())
    return share, bool(chance <= _MOST_BY_CHANCE and len(sizes) >= _FEWEST_GROUPS)


def names_weight(name: str) -> bool:
    """Return whether a column name clearly denotes sampling weights.

    Examples
    --------
    >>> [name for name in ("sampling_weight", "PWGTP", "wt", "birth weight") if names_weight(name)]
    ['sampling_weight', 'PWGTP', 'wt']
    """
    words = [re.sub(r"\d+$", "", word) for word in words_of(name)]
    return any(map(_WORD.fullmatch, words)) or words in (["wt"], ["weights"]) or bool(_PAIRS.search(" ".join(words)))


def may_name_weight(name: str) -> bool:
    """Return whether a column name denotes weights, of a survey or of the body."""
    words = set(words_of(name))
    return names_weight(name) or bool(words & _AMBIGUOUS and not words & _WEIGHED)


def weight_column(
    profiles: Sequence[ColumnProfile], named: Collection[str] = (), total: float | None = None
) -> tuple[str | None, tuple[str, ...]]:
    """Find the column of sampling weights of a table.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of all columns.
    named : collection of str
        Columns that the user assigned to another use.
    total : float, optional
        Number of people in the population of the table.

    Returns
    -------
    str or None
        Name of the column; the first if there are several, such as replicate weights.
    tuple of str
        Warnings about columns that look like weights but cannot be used, and about several weight columns.
    """
    of_the_body = {profile.name for profile in profiles if _OF_THE_BODY.intersection(words_of(profile.name))}
    found, warnings = [], []
    for profile in profiles:
        has_body = bool(of_the_body - {profile.name})
        if profile.name in named or not profile.values or not _are_weights(profile, has_body, total):
            continue
        if _usable_weights(profile.rows) is not None:
            found.append(profile.name)
            continue
        why = f"weights are missing in {counted(profile.missing, 'row')}"
        if _usable_weights(profile.values) is None:
            why = "not all values are numbers of 1 or more (people in the population that a record represents)"
        warnings.append(f"column {profile.name!r} looks like sampling weights, but {why}")
    if len(found) > 1:
        warnings.append(f"{len(found)} columns look like sampling weights: {found[0]!r} is used")
    return (found[0] if found else None), tuple(warnings)


def _are_weights(profile: ColumnProfile, has_body: bool, total: float | None) -> bool:
    """Return whether a column holds sampling weights.

    The decision uses the name, or the values: their sum if the population size is given, and their spread and decimals
    if the name is ambiguous. Values that are all whole, or of which one is below 1 or no number, count as weights only
    by the name.

    Parameters
    ----------
    profile : ColumnProfile
        Profile of the column.
    has_body : bool
        Whether another column is a height, so that an ambiguous weight is a body weight.
    total : float or None
        Number of people in the population.
    """
    words = set(words_of(profile.name))
    ambiguous = bool(words & _AMBIGUOUS) and not words & _WEIGHED
    if names_weight(profile.name) and not (ambiguous and has_body):
        return True
    weights = _usable_weights(profile.rows) if ambiguous or total is not None else None
    if weights is None or (weights == np.rint(weights)).all():
        return False
    rows = list(profile.rows.values())
    if total is not None and abs(weights @ rows - total) <= _NEAR * total:
        return True
    # The decimals of the first values suffice.
    decimals = np.repeat([len(value.partition(".")[2]) for value in profile.rows], rows)[:1000]
    spread = bool(weights.max() >= _SPREAD * weights.min())
    return ambiguous and not has_body and (spread or bool(np.median(decimals) >= _DECIMALS))


def _usable_weights(values: Collection[str]) -> NDArray[np.float64] | None:
    """Return the values as numbers if all are finite and at least 1, else None."""
    try:
        weights = np.array([float(value) for value in values])
    except ValueError:
        return None
    return weights if len(weights) and np.isfinite(weights).all() and (weights >= 1).all() else None
