"""Find columns that identify people and households, and columns of sampling weights."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.identifiers import is_numbered, plain_words, words_of
from reidsim.core.rows import Numbers, combined
from reidsim.core.tables import MISSING_MARKS, CountedTable, coded
from reidsim.core.wording import counted
from reidsim.drafts.options import DraftOptions
from reidsim.drafts.profile import NAMES, ColumnProfile, Names

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
# Maximum number of pairs of columns that are tried, such as hospital and patient number or household and member number.
_MOST_PAIRS = 66
# Number of rows of the sample by which most pairs are rejected.
_MOST_SAMPLED = 50_000

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


class PeopleKeys(NamedTuple):
    """Person and household keys proposed for a draft.

    Attributes
    ----------
    person : tuple of str
        Column or pair of columns whose values identify a person; empty if each row is a person.
    household : str or None
        Column whose values identify a household.
    n_people : int
        Number of people that the key distinguishes; without a person key, the number of rows.
    undecided : tuple of str
        Columns that may identify people with several rows; the user has to choose one or none.
    """

    person: tuple[str, ...]
    household: str | None
    n_people: int
    undecided: tuple[str, ...]


def people_keys(
    table: CountedTable, profiles: Sequence[ColumnProfile], options: DraftOptions, names: Names = NAMES
) -> PeopleKeys:
    """Return the columns that identify people with several rows, and their households.

    Whatever its name, a column identifies people if its values repeat and rows with the same value agree in lifelong
    attributes (birth date, sex). Among several such columns, the one with the fewest values is the key: a person has
    several cases, but a case has one person. A column named as a patient number needs no lifelong attributes. An
    identifier that repeats without this evidence is undecided. A household key is found by its name, if all rows of a
    person have the same value; without a person key, also by attributes that its members share.

    Parameters
    ----------
    table : CountedTable
    profiles : sequence of ColumnProfile
        One profile per column.
    options : DraftOptions
        Columns named by the user as quasi-identifiers, and the person key. A key is searched for if the user names none
        and does not declare each row to be a person.
    names : Names
        Vocabulary for column names.

    Returns
    -------
    PeopleKeys
        The column, or pair of columns, that identifies people, and that of households. Undecided columns are listed
        only if no person key is found.
    """
    finder = _Finder(table, profiles, options.quasi_identifier, names)
    search = not options.person and not options.one_row_per_person
    person = finder.person() if search else tuple(options.person)
    undecided = tuple(each.name for each in finder.free if finder.is_undecided(each)) if search and not person else ()
    candidates = [profile for profile in finder.free if not profile.missing and profile.name not in person]
    named = [profile for profile in candidates if finder.names_household(profile.name)]
    groups = finder.groups(person) if person else np.arange(len(table.counts))
    households = [profile.name for profile in named if finder.agreement(groups, finder.codes(profile))[0] == 1]
    if not households and not person:
        households = [profile.name for profile in candidates if finder.is_household(profile)]
    n_people = int(groups.max()) + 1 if person else len(table)
    return PeopleKeys(person, next(iter(households), None), n_people, undecided)


def people_numbers(profiles: Sequence[ColumnProfile], names: Names) -> list[str]:
    """Return the columns without missing values that are named as a number of people."""
    return [each.name for each in profiles if not each.missing and plain_words(each.name) in names.keys["person"]]


@dataclass(frozen=True, eq=False)
class _Finder:
    """Search of a table for the columns that identify people and households.

    Parameters
    ----------
    table : CountedTable
    profiles : sequence of ColumnProfile
        One profile per column.
    taken : sequence of str
        Columns named by the user as quasi-identifiers, which cannot be keys.
    names : Names
        Vocabulary for column names.
    """

    table: CountedTable
    profiles: Sequence[ColumnProfile]
    taken: Sequence[str]
    names: Names

    def groups(self, key: Sequence[str]) -> NDArray[np.int64]:
        """Return the group number of each row of the frame, shape (n_rows,).

        Rows with the same values in the columns `key`, without surrounding spaces, have the same number, from 0 in the
        order of first occurrence.
        """
        return combined([coded(self.table.frame[name])[0] for name in key])

    def codes(self, profile: ColumnProfile) -> NDArray[np.intp]:
        """Return the code of each cell of a column of the frame, shape (n_rows,); -1 if it is missing.

        Cells have the same code if they are equal after reading by the profile's rule, such as two spellings of a date.
        """
        written, values = coded(self.table.frame[profile.name])
        labels = pd.Series(list(map(profile.found.reading.label, values)), dtype="str")
        number = pd.factorize(labels.where(~labels.isin(MISSING_MARKS)))[0]
        codes: NDArray[np.intp] = number[written]
        return codes

    @cached_property
    def free(self) -> list[ColumnProfile]:
        """Profiles of the columns that may be keys, in table order.

        Such a column has at least two values, and some repeat. It is an identifier, code, whole number or category, the
        user does not name it as a quasi-identifier, its name suggests no attribute that outsiders know, except the
        household, and it holds no names, addresses, telephone numbers or e-mail addresses, which several people may
        share.
        """
        return [
            profile
            for profile in self.profiles
            if profile.name not in self.taken
            and 1 < profile.distinct < len(self.table) - profile.missing
            and profile.kind in ("identifier", "code", "whole number", "category")
            and profile.concept not in _SHARED_IDENTIFIERS
            and (
                profile.hint is None
                or profile.hint.role == "direct"
                or profile.hint.source == "values"
                or profile.concept == "household"
            )
        ]

    @cached_property
    def lifelong(self) -> dict[str, NDArray[np.intp]]:
        """Codes of each lifelong attribute of a person, shape (n_rows,), by column.

        These are birth date, birth year and sex. Race is used only if there is none of these, because it is often asked
        again and may be entered differently.
        """
        found = [profile for profile in self.profiles if profile.concept in _LIFELONG and profile.distinct > 1]
        lasting = [profile for profile in found if profile.concept != "race"]
        return {profile.name: self.codes(profile) for profile in lasting or found}

    def person(self) -> tuple[str, ...]:
        """Return the column or pair that identifies people with several rows; () if none.

        The first of these is returned: a column named as a patient number, unless the `evidence` is "against" it; the
        column with the fewest values among the columns that may identify people (`_may_be_person`) and have evidence
        "for" it; the pair that distinguishes the fewest people, fewer than rows, among the pairs with evidence "for"
        it. A category is a key only in a pair with another column, and only if both alone have evidence "against" them.
        At most 66 pairs are tried. A column with missing values is never used.
        """
        complete = [profile for profile in self.free if not profile.missing]
        order = self.names.keys["person"]
        named = [profile.name for profile in complete if plain_words(profile.name) in order]
        for name in sorted(named, key=lambda name: (order.index(plain_words(name)), name)):
            if self.evidence(name) != "against":
                return (name,)
        shown = [each for each in complete if self._may_be_person(each) and self.evidence(each.name) == "for"]
        if shown:
            return (min(shown, key=lambda profile: profile.distinct).name,)
        numbers = [each.name for each in complete if each.kind != "category" or is_numbered(each.name)]
        # Most pairs are rejected by a sample of the rows, which takes less time.
        sample = replace(self, table=self.table.sample(_MOST_SAMPLED))
        several = [each.name for each in complete if sample.evidence(each.name) == "against"]
        categories = [name for name in several if name not in numbers]
        pairs = [*combinations(numbers, 2), *product(categories, filter(several.__contains__, numbers))][:_MOST_PAIRS]
        possible = [pair for pair in pairs if sample.evidence(*pair) != "against"]
        people = sorted((int(self.groups(pair).max()) + 1, pair) for pair in possible)
        return next((pair for n, pair in people if n < len(self.table) and self.evidence(*pair) == "for"), ())

    def is_undecided(self, profile: ColumnProfile) -> bool:
        """Return whether the user must decide about a repeating identifier.

        There are two cases. First, the column may identify people and the evidence is "for" it (see `evidence`), but
        some rows have no value. Second, the column is an identifier by its name, kind or concept, is not named as a
        household key, and the evidence is not "against" it.
        """
        evidence, may_be = self.evidence(profile.name), self._may_be_person(profile)
        personal = plain_words(profile.name) in self.names.keys["person"] or profile.concept in _PERSONAL_NUMBERS
        identifier = personal or profile.kind == "identifier" or (may_be and is_numbered(profile.name))
        # A key with missing values is used only if the user confirms it.
        return bool(profile.missing and may_be and evidence == "for") or (
            identifier and not self.names_household(profile.name) and evidence != "against"
        )

    def names_household(self, column: str) -> bool:
        """Return whether the name of a column is the name of a household key.

        A name that ends with such a name counts, too.
        """
        return f" {plain_words(column)}".endswith(tuple(f" {key}" for key in self.names.keys["household"]))

    def is_household(self, key: ColumnProfile) -> bool:
        """Return whether rows with the same value of a column look like a household.

        The name of the column must denote a number, its kind must not be "category", and a value must have at most 8
        rows on average. Lifelong attributes must be evidence "against" one person per value (see `evidence`). At least
        two other columns that are not lifelong attributes must be equal in 95 % of the groups of rows with one value,
        beyond chance; see `agreement`.
        """
        few = len(self.table) <= _MOST_PEOPLE_PER_HOUSEHOLD * key.distinct
        if not (few and key.kind != "category" and is_numbered(key.name) and self.evidence(key.name) == "against"):
            return False
        others = [profile for profile in self.profiles if profile.name not in (key.name, *self.lifelong)]
        found = [self.agreement(self.codes(key), self.codes(profile)) for profile in others if profile.distinct > 1]
        return sum(share >= _MOSTLY and beyond_chance for share, beyond_chance in found) > 1

    def evidence(self, *key: str) -> Literal["for", "against", "none"]:
        """Return whether lifelong attributes show that columns identify people.

        `key` names one column, or several whose combined values are the key. Lifelong attributes are birth date, birth
        year and sex; race, if the table has none of these. Only key values with several rows count. The result is
        "against" if fewer than half of them agree in some lifelong attribute, that is, their rows have one value of it.
        It is "for" if at least 95 % agree in each lifelong attribute, and the agreement in one of these is beyond
        chance; see `agreement`. Otherwise it is "none".
        """
        groups = self.groups(key)
        found = [self.agreement(groups, codes) for codes in self.lifelong.values()]
        if any(share < _HARDLY for share, _ in found):
            return "against"
        agree = all(share >= _MOSTLY for share, _ in found) and any(beyond_chance for _, beyond_chance in found)
        return "for" if agree else "none"

    def agreement(self, groups: Numbers, codes: NDArray[np.intp]) -> tuple[float, bool]:
        """Return the share of groups with one value of a column.

        Parameters
        ----------
        groups : ndarray of int, shape (n_rows,)
            Group number of each row of the frame.
        codes : ndarray of int, shape (n_rows,)
            Value codes; -1 if missing, which agrees with every value.

        Returns
        -------
        share : float
            Share of the groups with at least two non-missing values in which the values are equal; 1 if there are none.
        beyond_chance : bool
            Whether there are at least 10 such groups, and random values would be equal in at most 75 % of them.
        """
        present = codes >= 0
        groups, codes, counts = groups[present], codes[present], self.table.counts[present]
        sizes = np.bincount(groups, counts)
        several = sizes > 1
        if not several.any():
            return 1.0, False
        pairs = pd.DataFrame({"group": groups, "code": codes}).drop_duplicates()
        n_values = np.bincount(pairs["group"])[several]
        frequency = np.bincount(codes, counts) / counts.sum()
        size, n_groups = np.unique(sizes[several], return_counts=True)
        chance = float(np.average([(frequency**n).sum() for n in size.tolist()], weights=n_groups))
        beyond_chance = chance <= _MOST_BY_CHANCE and np.count_nonzero(several) >= _FEWEST_GROUPS
        return float((n_values == 1).mean()), bool(beyond_chance)

    def _may_be_person(self, profile: ColumnProfile) -> bool:
        coded = profile.kind != "category" or is_numbered(profile.name)
        few = len(self.table) <= _MOST_ROWS_PER_PERSON * profile.distinct
        return coded and few and not self.names_household(profile.name)


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
    """Return whether a column name may denote sampling weights.

    A name such as ``weight`` may, although it may also be the weight of the body. A name that shows a body weight, such
    as ``birth weight``, does not.
    """
    words = set(words_of(name))
    return names_weight(name) or bool(words & _AMBIGUOUS and not words & _WEIGHED)


def weight_column(
    profiles: Sequence[ColumnProfile], other_use: Collection[str] = (), total: float | None = None
) -> tuple[str | None, tuple[str, ...]]:
    """Find the column of sampling weights of a table.

    It is found by its name or by the sum of its values.

    A column named ``weight`` may hold body weights. It counts as sampling weights if no column is a height or another
    measure of the body, some values have decimals, and the values differ by a factor of 6 or more or have a median of
    at least 3 decimals. A column with another name holds sampling weights if some values have decimals and the sum over
    rows is within 2 % of `total`. Weights must be numbers of 1 or more in all rows.

    Parameters
    ----------
    profiles : sequence of ColumnProfile
        Profiles of all columns.
    other_use : collection of str
        Names of columns that the user assigned to another use; they are skipped.
    total : float, optional
        Number of people in the population of the table.

    Returns
    -------
    str or None
        Name of the column; the first if there are several, such as replicate weights. None if there is none.
    tuple of str
        Warnings about columns that look like weights but cannot be used, and about several weight columns.
    """
    has_body = any(_OF_THE_BODY.intersection(words_of(profile.name)) for profile in profiles)
    found, warnings = [], []
    for profile in profiles:
        words = set(words_of(profile.name))
        ambiguous = bool(words & _AMBIGUOUS) and not words & _WEIGHED
        is_named = names_weight(profile.name) and not (ambiguous and has_body)
        if profile.name in other_use or not profile.values or not (is_named or ambiguous or total):
            continue
        weights = pd.to_numeric(pd.Series(profile.values), errors="coerce").to_numpy()
        problem = f"weights are missing in {counted(profile.missing, 'row')}" if profile.missing else ""
        if not (np.isfinite(weights) & (weights >= 1)).all():
            problem = "not all values are numbers of 1 or more (people in the population that a record represents)"
        if not problem:
            decimals = [len(value.partition(".")[2]) for value in profile.values]
            varied = weights.max() >= _SPREAD * weights.min() or np.median(decimals) >= _DECIMALS
            represented = sum(float(value) * rows for value, rows in profile.rows.items())
            adds_up = total is not None and abs(represented - total) <= _NEAR * total
            if is_named or (any(decimals) and (adds_up or (ambiguous and not has_body and varied))):
                found.append(profile.name)
        elif is_named:
            warnings.append(f"column {profile.name!r} looks like sampling weights, but {problem}")
    if len(found) > 1:
        warnings.append(f"{len(found)} columns look like sampling weights: {found[0]!r} is used")
    return (found[0] if found else None), tuple(warnings)
