"""Detect columns that identify most people.

Reasons are the column's name, the format of its values, or their uniqueness.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.release import is_all_numbers
from reidsim.core.tables import MISSING_MARKS, text_column

Meaning = TypeVar("Meaning")

_WORDS = tomllib.loads(Path(__file__).with_name("identifier_names.toml").read_text(encoding="utf-8"))
_CONNECTING = frozenset(_WORDS["connecting"])
# Minimum length of words that also match the end of compounds; shorter words match too many compounds by chance.
_LONG_WORD = 8
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})

# Texts that denote missing values; a suppressed value is one.
_MISSING = MISSING_MARKS | {"*"}
# A column is identifying if it identifies more than this share of the people, or at least this share of the values has
# the format of an identifier; one in ten numbers has a correct check digit by chance.
_MOST = 0.5
# Values are shared by few people if the average number of people per value is at most this.
_FEW_PEOPLE = 5.0
# A column with at most this many distinct values in many rows is not identifying by the number of its values.
_FEW_VALUES = 10
# With fewer people, a large share of distinct values is not evidence of an identifying column.
_ENOUGH_PEOPLE = 20
# If at most this share of the people have several rows, such as repeated entries, equal values in them are no key.
_SEVERAL = 0.05
# Number of values whose format is examined.
_SAMPLE = 5_000

_TELEPHONES = "telephone numbers"
_CORSICA = {"2A": "19", "2B": "18"}
_SSN = re.compile(r"\d{3}-\d{2}-\d{4}")
_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]")
_MBI = re.compile(r"[1-9][AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-Y]{2}\d{2}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[0-9A-Z]{11,30}")
_KVNR = re.compile(r"[A-Z]\d{9}")
_AHV = re.compile(r"756\d{10}")
_NIR = re.compile(r"([1-478]\d{4})(\d\d|2[AB])(\d{6})(\d\d)")
_CARD = re.compile(r"[3-6]\d{12,18}")
_DNI = re.compile(r"[0-9XYZ]\d{7}[A-Z]")
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ].*)?")
_TELEPHONE = re.compile(r"(\+\d{1,3}[ .-]?)?(\(\d{1,5}\)|\d{2,5})([ ./-]?\d{2,5}){1,4}|\+\d{8,15}")
_RECORD = re.compile(r"\d{6,}|[A-Za-z]{1,5}[-_/ ]?\d{3,}|\d{2,}[-_/]\d{3,}([-_/]\d+)?")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name or another text in lower case without accents.

    Words consist of letters and digits; ``camelCase`` is split, except in names in capitals. German umlauts are written
    as two letters, such as ``ae``.
    """
    spelled = unicodedata.normalize("NFC", name).translate(_UMLAUTS)
    plain = unicodedata.normalize("NFKD", spelled.upper() if name.isupper() else spelled)
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", plain)
    return tuple(re.findall(r"[^\W_]+", parted.lower()))


def plain_words(name: str) -> str:
    """Return the words of a name, see `words_of`, as one text separated by spaces.

    Connecting words such as ``of`` are removed, unless the name has no others.
    """
    words = words_of(name)
    return " ".join([word for word in words if word not in _CONNECTING] or words)


def named_identifier(name: str) -> str:
    """Return the kind of direct identifier that a column's name indicates.

    The result is empty if there is none.

    Examples
    --------
    >>> named_identifier("InsuranceNo")
    'insurance number'
    >>> named_identifier("page")
    ''
    """
    return meaning_of(name, IDENTIFIERS) or ""


def is_numbered(name: str) -> bool:
    """Return whether a name ends like a record number, such as ``household_id``.

    Its last word must be in a list of words such as ``id``, ``key`` and ``number``.
    """
    words = words_of(name)
    return bool(words) and words[-1] in _WORDS["numbered"]


def delimited(phrases: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Return pairs of phrase and meaning, in the format for `meaning_of`.

    Parameters
    ----------
    phrases : mapping of str to sequence of str
        Phrases by meaning. A phrase consists of neighbouring words, without connecting words such as ``of`` and
        ``de``; with a leading ``=``, it must be the whole name. A single long word also matches the end of compounds,
        such as ``geburtsdatum``.
    """
    found = []
    for meaning, synonyms in phrases.items():
        for phrase in synonyms:
            plain = plain_words(phrase)
            is_compound = " " not in plain and len(plain) >= _LONG_WORD
            whole = phrase.startswith("=")
            found.append((f"= {plain} =" if whole else f"{plain} " if is_compound else f" {plain} ", meaning))
    return found


def meaning_of(name: str, phrases: Iterable[tuple[str, Meaning]]) -> Meaning | None:
    """Return the meaning of the first phrase that occurs in a column's name.

    `phrases` are pairs of phrase and meaning, in the format of `delimited`. The result is None if no phrase occurs.
    """
    text = f"= {plain_words(name)} ="
    return next((meaning for phrase, meaning in phrases if phrase in text), None)


# Phrases that name direct identifiers, each with its meaning.
IDENTIFIERS = delimited(_WORDS["identifiers"])


def why_identifying(
    name: str,
    column: pd.Series[str],
    persons: NDArray[np.generic] | None = None,
    *,
    unique: bool = True,
    represented: NDArray[np.int64] | None = None,
) -> str:
    """Return the reason why a column identifies most people; "" if it does not.

    The reasons are, in this order: the column's name; the format of its values; unique values, which no other person
    has, of more than half of the people; and, with 20 people or more, at least half as many distinct values as people.
    Next come a name or format of record numbers, if a value has at most 5 people on average. The last is a value that
    links all rows of a person, as no other person has it, for more than half of the people with several rows, if these
    are more than 5 % of the people. Marks of missing values, such as ``NA``, are ignored. Only its name or format can
    make a column identifying that has a single distinct value, or at most 10 distinct values, each shared by more than
    5 people on average.

    Parameters
    ----------
    name : str
        Name of the column.
    column : Series of str
        One value per record.
    persons : ndarray, shape (n_records,), optional
        Person of each record; default: each record is another person.
    unique : bool
        Whether unique values, and a name or format of record numbers, count.
    represented : ndarray of int64, shape (n_people,), optional
        Number of people with equal rows whom each person represents, in the order of their first records; default: 1.

    Examples
    --------
    >>> why_identifying("savings", pd.Series(["310", "311", "312", "313", "313"]))
    '3 of 5 people have a number that no other person has, among 4 distinct values'
    """
    text = text_column(column)
    present = ~text.isin(_MISSING).to_numpy()
    person = np.arange(len(text)) if persons is None else pd.factorize(np.asarray(persons))[0]
    codes, values = pd.factorize(text[present])
    # Count each value once per person.
    n_rows = max(len(text), 1)
    value, holder = np.divmod(np.unique(codes.astype(np.int64) * n_rows + person[present]), n_rows)
    n_people = int(person.max(initial=-1)) + 1
    of_person = np.ones(n_people, np.int64) if represented is None else represented
    holders = np.bincount(value, of_person[holder], len(values)).astype(np.int64)
    alone, people = np.unique(holder[holders[value] == 1]), int(of_person[np.unique(holder)].sum())
    why = why_values_identify(name, list(values), holders.tolist(), people, len(alone), unique=unique)
    several = np.bincount(person[present], minlength=n_people) > 1
    linked = several[alone] & (np.bincount(holder, minlength=n_people)[alone] == 1)
    if not why and several.sum() > _SEVERAL * n_people and linked.sum() > _MOST * several.sum():
        return f"like a key, it links all rows of {linked.sum():,} of {several.sum():,} people with several rows"
    return why


def why_values_identify(
    name: str,
    values: Sequence[str],
    holders: Sequence[int],
    people: int | None = None,
    alone: int | None = None,
    *,
    unique: bool = True,
) -> str:
    """Return the reason why counted values identify most people; "" if they do not.

    The reason is a text. For the reasons, see `why_identifying`.

    Parameters
    ----------
    name : str
        Name of the column.
    values : sequence of str
        Distinct values; marks of missing values, such as ``NA``, are ignored.
    holders : sequence of int
        Number of people with each value.
    people, alone : int, optional
        Number of people with a value, and number of people with a unique value; default: computed from `holders`.
    unique : bool
        Whether reasons other than a name or format of direct identifiers count, such as unique values of most people.
    """
    counted = [(value, count) for value, count in zip(values, holders, strict=True) if value not in _MISSING]
    distinct, held = [value for value, _ in counted], sum(count for _, count in counted)
    people = held if people is None else people
    alone = sum(count == 1 for _, count in counted) if alone is None else alone
    few_share = held <= _FEW_PEOPLE * len(distinct)
    if not counted:
        return ""
    if called := named_identifier(name):
        return f"its name suggests {called}"
    sample = distinct if len(distinct) <= _SAMPLE else distinct[:: len(distinct) // _SAMPLE]
    if looks := format_of(sample):
        return f"its values look like {looks}"
    # A single distinct value is not evidence.
    if len(distinct) == 1 or not unique or (not few_share and len(distinct) <= _FEW_VALUES):
        return ""
    amounts = is_all_numbers(sample)
    own = f"{alone:,} of {people:,} people have one that no other person has, among {len(distinct):,} distinct values"
    if alone > _MOST * people or (people >= _ENOUGH_PEOPLE and len(distinct) >= _MOST * people):
        return own.replace("one", "a number" if amounts else "a value", 1)
    if few_share and is_numbered(name):
        return f"its name ends like the name of a record number, and {own}"
    # Amounts have different numbers of digits; assigned numbers have the same number.
    looks = "" if not few_share or (amounts and len(set(map(len, sample))) > 1) else _first(sample, _WEAK)
    return f"its values look like {looks}, and {own}" if looks else ""


def format_of(values: Sequence[str], *, telephones: bool = False) -> str:
    """Return the kind of direct identifier that values are by format; "" if none.

    A kind is a text such as "payment cards". At least half of the values, which should be distinct, must have the
    format. Check digits must be correct. Telephone numbers are recognized only if `telephones` is true.
    """
    return _first(values, _STRONG | ({_TELEPHONES: _is_telephone} if telephones else {}))


def _first(values: Sequence[str], formats: Mapping[str, Callable[[str], object]]) -> str:
    least = _MOST * max(len(values), 1)
    return next((name for name, fits in formats.items() if sum(map(bool, map(fits, values))) >= least), "")


def _is_iban(value: str) -> bool:
    """Return whether a value is an IBAN with correct check digits (ISO 13616).

    With country and check digits moved to the end and letters replaced by numbers from 10 on, the remainder modulo 97
    must be 1.
    """
    text = re.sub(r"\s", "", value).upper()
    return bool(_IBAN.fullmatch(text)) and int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def _is_insurance_number(value: str) -> bool:
    """Return whether a value is an insurance number with correct check digits.

    It may be a German (KVNR; the letter counts as two digits), Swiss (AHV, an EAN-13 with the country code 756), French
    (NIR), British or Medicare number. The key of a NIR is 97 minus the remainder of the number modulo 97; the Corsican
    departments 2A and 2B count as 19 and 18.
    """
    text = re.sub(r"[ .-]", "", value).upper()
    if _KVNR.fullmatch(text):
        return _luhn(f"{ord(text[0]) - 64:02}{text[1:9]}") == int(text[9])
    if _AHV.fullmatch(text):
        return sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(text)) % 10 == 0
    if french := _NIR.fullmatch(text):
        born, department, number, key = french.groups()
        return 97 - int(f"{born}{_CORSICA.get(department, department)}{number}") % 97 == int(key)
    return bool(_NINO.fullmatch(text) or _MBI.fullmatch(text))


def _is_national_number(value: str) -> bool:
    """Return whether a value is a US social security number or a Spanish DNI.

    A social security number has hyphens (123-45-6789). A DNI must have the correct letter; in foreigners' numbers, the
    first letter (X, Y, Z) stands for a digit.
    """
    text = re.sub(r"[ .-]", "", value).upper()
    if not _DNI.fullmatch(text):
        return bool(_SSN.fullmatch(value))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(text[:8].translate(str.maketrans("XYZ", "012"))) % 23] == text[8]


def _is_card(value: str) -> bool:
    """Return whether a value is a payment card number with a correct check digit.

    Such a number has 13 to 19 digits, the first one 3 to 6; spaces and hyphens are ignored.
    """
    text = re.sub(r"[ -]", "", value)
    return bool(_CARD.fullmatch(text)) and _luhn(text[::-1]) == 0


def _luhn(digits: str) -> int:
    """Return the last digit of the sum of all digits, as in the Luhn algorithm.

    The second digit, the fourth and so on are doubled before; a doubled digit above 9 counts as the sum of its digits.
    """
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(digits))
    return sum(sum(divmod(number, 10)) for number in doubled) % 10


def _is_telephone(value: str) -> bool:
    digits = sum(character.isdecimal() for character in value)
    formatted = any(character in "+()/ .-" for character in value)
    return 7 <= digits <= 15 and formatted and not _DATE.fullmatch(value) and bool(_TELEPHONE.fullmatch(value))


_STRONG: dict[str, Callable[[str], object]] = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}").fullmatch,
    "bank accounts (IBAN)": _is_iban,
    "insurance numbers": _is_insurance_number,
    "social security or identity card numbers": _is_national_number,
    "payment cards": _is_card,
    "web addresses": re.compile(r"(https?://|www\.)\S+").fullmatch,
    "network addresses": re.compile(r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}").fullmatch,
    "record numbers (UUID)": re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}").fullmatch,
}
# Other numbers can have these formats, too, so they are evidence only in columns in which few rows share a value.
_WEAK: dict[str, Callable[[str], object]] = {
    _TELEPHONES: _is_telephone,
    "record numbers": lambda value: _RECORD.fullmatch(value) and not _DATE.fullmatch(value),
}
