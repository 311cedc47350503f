"""Infer the concept of a column from its values, such as sex, age or country."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from reidsim.audit.identifier_names import is_numbered
from reidsim.drafts.names import Hint, Names, letters_of
from reidsim.drafts.regions import regions_of
from reidsim.drafts.values import NUMBER, SAMPLE, WHOLE_NUMBER, as_number
from reidsim.validation import read_toml

# Separators between several values in one cell.
SEPARATORS = ("|", ";", ",")
# A column holds sets if at least this share of rows contains a separator, and at least this share of the parts also
# occurs as a whole cell or in another position.
_FEWEST_SEVERAL, _MOSTLY_PARTS = 0.05, 0.75
# Minimum share of rows, and of distinct values, that must match the concept.
_MOST_ROWS, _MOST_WORDS = 0.8, 0.6
# Concepts with several spellings, and the maximum number of other, non-numeric values in the column.
_OPPOSITES = (("yes", "no"), ("male", "female"))
_MOST_OTHERS = 2
# Columns with more distinct values are not compared with the vocabulary: there are 249 countries in several spellings.
_MOST_CATEGORIES = 1_000
# Maximum number of categories in a column of sexes.
_MOST_SEXES = 8
# Minimum number of two-letter codes for a country column; fewer may be codes of anything.
_FEWEST_CODES = 5
# Bounds on the youngest and oldest age, the number of distinct ages, and the share of years between them that occur.
_YOUNGEST, _OLDEST, _LAST_AGE, _FEWEST_AGES, _COVERED = 25, 60, 120, 40, 0.8
# Minimum span in years of birth dates, and minimum years from the median to the latest birth date; dates of other
# events span less.
_YEARS_OF_BIRTHS, _LONG_AGO = 40, 15
_POSTAL_CODES = [
    re.compile(pattern)
    for pattern in (
        r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}",  # British
        r"[A-Z]\d[A-Z] ?\d[A-Z]\d",  # Canadian
        r"[1-9]\d{3} ?[A-Z]{2}",  # Dutch
        r"\d{4}-\d{3}|\d{5}-\d{3}",  # Portuguese, Brazilian
        r"\d{5}",  # many countries; codes with leading zeros only
    )
]
_FEWEST_POSTAL_CODES = 3
_PARTS = re.compile(r"[/(),;:]| - ")
_COUNTRIES = read_toml(Path(__file__).with_name("countries.toml"))
_ALPHA_2, _ALPHA_3 = (frozenset(_COUNTRIES[key].split()) for key in ("alpha_2", "alpha_3"))
_NATIONS = frozenset(map(letters_of, [*_COUNTRIES["names"], *_COUNTRIES["nationalities"]]))


def hint_by_values(
    name: str, rows: Mapping[str, int], names: Names, *, is_date: bool, is_quantity: bool, has_age: bool
) -> Hint | None:
    """Return the concept inferred from the values of a column; None if there is none.

    Parameters
    ----------
    name : str
        Column name, which suggests no concept; at most it shows that the column is a number (``case_no``).
    rows : mapping of str to int
        Number of rows with each value, without missing ones; dates as ``2024-06-30``.
    names : Names
        Vocabulary for values.
    is_date, is_quantity : bool
        Whether the values are dates, and whether the column name indicates a count or measurement.
    has_age : bool
        Whether another column holds ages or dates of birth.
    """
    concept = _concept(name, rows, names, is_date=is_date, is_quantity=is_quantity, has_age=has_age)
    return None if concept is None else Hint(concept, "known", names.rank_of(concept), source="values")


def _concept(
    name: str, rows: Mapping[str, int], names: Names, *, is_date: bool, is_quantity: bool, has_age: bool
) -> str | None:
    if len(rows) < 2:
        return None
    if is_date:
        return "birth date" if not has_age and _are_births(rows) else None
    if len(rows) <= _MOST_CATEGORIES:
        if _are_sexes(rows, names):
            return "sex"
        for concept, words in names.values.items():
            if _mostly(rows, {value for value in rows if _is_among(value, words)}):
                return concept
        place = _place(rows)
        if place:
            return place
    if is_numbered(name):
        return None
    if _are_postal_codes(rows):
        return "postal code"
    return "age" if not (has_age or is_quantity) and _are_ages(rows) else None


def separator_of(rows: Mapping[str, int]) -> str | None:
    """Return the separator of cells with several values, as in ``I10|E11``; else None.

    At least 5 % of the rows must contain the separator, and most parts of such cells must also occur as whole cells or
    in other positions. This excludes addresses and names such as ``Miller, Ada``.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value, without missing ones.
    """
    total = sum(rows.values())
    for sign in SEPARATORS:
        several = {
            value: [part.strip() for part in value.split(sign)]
            for value in rows
            if sign in value and not NUMBER.fullmatch(value)
        }
        if sum(rows[value] for value in several) < max(_FEWEST_SEVERAL * total, 2):
            continue
        places: dict[str, set[int]] = defaultdict(set)
        for value in rows:
            if value not in several:
                places[value.strip()].add(-1)
        for parts in several.values():
            for place, part in enumerate(filter(None, parts)):
                places[part].add(place)
        used = [(part, rows[value]) for value, parts in several.items() for part in filter(None, parts)]
        roaming = sum(number for part, number in used if len(places[part]) > 1)
        if len(several) > 1 and roaming >= _MOSTLY_PARTS * sum(number for _, number in used):
            return sign
    return None


def merged_spellings(rows: Mapping[str, int], names: Names) -> dict[str, str]:
    """Return ``yes``, ``no``, ``male`` or ``female`` for each variant spelling.

    Parameters
    ----------
    rows : mapping of str to int
        Number of rows with each value, without missing ones.
    names : Names
        Spellings in several languages.

    Returns
    -------
    dict of str to str
        Standard spelling by variant; empty if each meaning has one spelling, a meaning does not occur, or the column
        holds other values (more than two, numbers, or in more than a fifth of the rows).
    """
    for pair in _OPPOSITES if len(rows) <= _MOST_CATEGORIES else ():
        spelled = {meaning: [value for value in rows if names.means(value, meaning)] for meaning in pair}
        several = len(rows) > len(pair) and max(map(len, spelled.values())) > 1
        others = rows.keys() - {value for values in spelled.values() for value in values}
        few = len(others) <= _MOST_OTHERS and not any(map(NUMBER.fullmatch, others))
        if several and few and all(spelled.values()) and _rows(rows, others) <= (1 - _MOST_ROWS) * _rows(rows, rows):
            return {value: meaning for meaning, values in spelled.items() for value in values if value != meaning}
    return {}


def _rows(rows: Mapping[str, int], values: Iterable[str]) -> int:
    return sum(rows[value] for value in values)


def _mostly(rows: Mapping[str, int], found: set[str]) -> bool:
    enough = len(found) >= max(2, _MOST_WORDS * len(rows))
    return enough and _rows(rows, found) >= _MOST_ROWS * _rows(rows, rows)


def _is_among(value: str, words: frozenset[str]) -> bool:
    return letters_of(value) in words or any(letters_of(part) in words for part in _PARTS.split(value) if part.strip())


def _are_sexes(rows: Mapping[str, int], names: Names) -> bool:
    meanings = {names.meaning(value) for value in rows}
    return len(rows) <= _MOST_SEXES and {"male", "female"} <= meanings <= {"male", "female", "neither sex"}


def _place(rows: Mapping[str, int]) -> str | None:
    """Return the concept of countries or states of the United States; None if neither."""
    known = regions_of(rows)
    if known is not None:
        return "origin" if "continent" in known.levels else "place"
    if _mostly(rows, {value for value in rows if _is_among(value, _NATIONS)}):
        return "origin"
    codes = {value for value in rows if value in _ALPHA_2 or value in _ALPHA_3}
    return "origin" if len(codes) >= _FEWEST_CODES and _mostly(rows, codes) else None


def _are_postal_codes(rows: Mapping[str, int]) -> bool:
    if len(rows) < _FEWEST_POSTAL_CODES:
        return False
    rows = dict(islice(rows.items(), SAMPLE))
    padded = any(re.fullmatch(r"0\d{4}", value) for value in rows)
    patterns = _POSTAL_CODES if padded else _POSTAL_CODES[:-1]
    return any(_mostly(rows, set(filter(pattern.fullmatch, rows))) for pattern in patterns)


def _are_ages(rows: Mapping[str, int]) -> bool:
    if not _FEWEST_AGES <= len(rows) <= _LAST_AGE + 1 or not all(map(WHOLE_NUMBER.fullmatch, rows)):
        return False
    ages = list(map(as_number, rows))
    youngest, oldest = min(ages), max(ages)
    in_range = 0 <= youngest <= _YOUNGEST and _OLDEST <= oldest <= _LAST_AGE
    return in_range and len(rows) >= _COVERED * (oldest - youngest + 1)


def _are_births(rows: Mapping[str, int]) -> bool:
    years = sorted(int(value[:4]) for value in rows if value[:4].isdecimal())
    if len(years) < _FEWEST_AGES:
        return False
    return years[-1] - years[0] >= _YEARS_OF_BIRTHS and years[-1] - years[len(years) // 2] >= _LONG_AGO
