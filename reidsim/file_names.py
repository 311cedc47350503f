"""Endings of file names, and safe file names from names that a user gave."""

from __future__ import annotations

from collections.abc import Container

from reidsim.errors import InputError

# Endings of tables with types, by program.
STATA, SPSS, SAS, EXCEL = (".dta",), (".sav", ".zsav", ".por"), (".sas7bdat", ".xpt"), (".xlsx", ".xlsm")
TYPED_ENDINGS = (*STATA, *SPSS, *SAS, *EXCEL)

_MOST_SIGNS = 40


def plain_name(name: str, taken: Container[str] = ()) -> str:
    """Return a name as part of a file's name: letters, digits, ``-`` and ``_`` of it, anything else as ``-``.

    Parameters
    ----------
    name : str
    taken : container of str
        Names that are in use; one that is among them gets a number.
    """
    plain = first = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name[:_MOST_SIGNS]) or "-"
    number = 1
    while plain in taken:
        number += 1
        plain = f"{first}-{number}"
    return plain


def require_plain(name: str, where: str) -> None:
    """Check that a name is not the path of something else.

    Raises
    ------
    InputError
        If it is empty, has separators of folders, or cannot be that of a file; names the key or argument `where`.
    """
    if not name.strip(". ") or not name.isprintable() or any(sign in name for sign in "/\\:"):
        raise InputError("not a name", where=where, found=name, expected="letters and digits, without / or \\")
