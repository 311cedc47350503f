"""Recognize direct identifiers by the format of values.

The identifiers are addresses, and telephone, account, card and insurance numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_TELEPHONES = "telephone numbers"
# Minimum share of values with a format. One in ten numbers has a correct check digit by chance.
_MOST = 0.5

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}")
_WEB = re.compile(r"(https?://|www\.)\S+")
_IP = re.compile(r"(\d{1,3}\.){3}\d{1,3}|([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_SSN = re.compile(r"\d{3}-\d{2}-\d{4}")
_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]")
_MBI = re.compile(r"[1-9][AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-Y]{2}\d{2}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[0-9A-Z]{11,30}")
_KVNR = re.compile(r"[A-Z]\d{9}")
_NIR = re.compile(r"[1-478]\d{4}[0-9AB]\d{8}(\d)?")
_DNI = re.compile(r"[0-9XYZ]\d{7}[A-Z]")
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}([T ].*)?")
_TELEPHONE = re.compile(r"(\+\d{1,3}[ .-]?)?(\(\d{1,5}\)|\d{2,5})([ ./-]?\d{2,5}){1,4}|\+\d{8,15}")
_RECORD = re.compile(r"\d{6,}|[A-Za-z]{1,5}[-_/ ]?\d{3,}|\d{2,}[-_/]\d{3,}([-_/]\d+)?")


def format_of(values: Sequence[str], *, telephones: bool = False) -> str:
    """Return the kind of direct identifier that values are by format; empty if none.

    At least half of the distinct values must have the format. Check digits must be correct. Telephone numbers are
    recognized only if `telephones` is true.
    """
    return _first(values, _STRONG | ({_TELEPHONES: _telephone} if telephones else {}))


def number_format_of(values: Sequence[str]) -> str:
    """Return the kind of telephone or record number, like `format_of`.

    Other numbers can have these formats, too, so the function is only for columns in which few rows share a value.
    """
    return _first(values, _WEAK)


def _first(values: Sequence[str], formats: dict[str, Callable[[str], bool]]) -> str:
    least = _MOST * max(len(values), 1)
    return next((name for name, fits in formats.items() if sum(map(fits, values)) >= least), "")


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


def _iban(value: str) -> bool:
    """Return whether a value is an IBAN with correct check digits (ISO 13616).

    With country and check digits moved to the end and letters replaced by numbers from 10 on, the remainder modulo 97
    must be 1.
    """
    text = re.sub(r"\s", "", value).upper()
    if not _IBAN.fullmatch(text):
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def _insurance(value: str) -> bool:
    """Return whether a value is an insurance number.

    It may be a German, Swiss, French, British or Medicare number.
    """
    text = re.sub(r"[ .-]", "", value).upper()
    return _german(text) or _swiss(text) or _french(text) or bool(_NINO.fullmatch(text) or _MBI.fullmatch(text))


def _german(text: str) -> bool:
    """Return whether a text is a German health insurance number (KVNR).

    The check digit must be correct. Digits have alternating weights 1 and 2; the letter counts as two digits.
    """
    if not _KVNR.fullmatch(text):
        return False
    digits = [int(digit) for digit in f"{ord(text[0]) - 64:02}{text[1:9]}"]
    weighted = (digit * (1 + place % 2) for place, digit in enumerate(digits))
    return sum(sum(divmod(number, 10)) for number in weighted) % 10 == int(text[9])


def _swiss(text: str) -> bool:
    """Return whether a text is a Swiss AHV number.

    It is an EAN-13 with the country code 756.
    """
    if not re.fullmatch(r"756\d{10}", text):
        return False
    return sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(text)) % 10 == 0


def _french(text: str) -> bool:
    """Return whether a text is a French NIR with a correct key.

    The key is 97 minus the remainder of the number modulo 97; Corsican departments 2A and 2B count as 19 and 18.
    """
    if len(text) != 15 or not _NIR.fullmatch(text):
        return False
    number = text[:13].replace("2A", "19").replace("2B", "18")
    return number.isdecimal() and text[13:].isdecimal() and 97 - int(number) % 97 == int(text[13:])


def _national(value: str) -> bool:
    """Return whether a value is a US social security number or a Spanish DNI.

    A DNI must have the correct letter.
    """
    if _SSN.fullmatch(value):
        return True
    text = re.sub(r"[ .-]", "", value).upper()
    if not _DNI.fullmatch(text):
        return False
    # In foreigners' numbers, the first letter stands for a digit.
    number = int(text[:8].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == text[8]


def _card(value: str) -> bool:
    """Return whether a value is a payment card number with a correct Luhn check digit."""
    text = re.sub(r"[ -]", "", value)
    if not re.fullmatch(r"[3-6]\d{12,18}", text):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(text)))
    return sum(sum(divmod(number, 10)) for number in doubled) % 10 == 0


def _telephone(value: str) -> bool:
    digits = sum(character.isdecimal() for character in value)
    formatted = any(character in "+()/ .-" for character in value)
    return 7 <= digits <= 15 and formatted and not _DATE.fullmatch(value) and bool(_TELEPHONE.fullmatch(value))


_STRONG: dict[str, Callable[[str], bool]] = {
    "e-mail addresses": _matches(_EMAIL),
    "bank accounts (IBAN)": _iban,
    "insurance numbers": _insurance,
    "social security or identity card numbers": _national,
    "payment cards": _card,
    "web addresses": _matches(_WEB),
    "network addresses": _matches(_IP),
    "record numbers (UUID)": _matches(_UUID),
}
_WEAK: dict[str, Callable[[str], bool]] = {
    _TELEPHONES: _telephone,
    "record numbers": lambda value: bool(_RECORD.fullmatch(value)) and not _DATE.fullmatch(value),
}
