"""List file name endings, and make safe file names from users' names."""

from __future__ import annotations

from collections.abc import Container

from reidsim.errors import InputError

# Endings of files with typed columns, by program.
STATA, SPSS, SAS, EXCEL = (".dta",), (".sav", ".zsav", ".por"), (".sas7bdat", ".xpt"), (".xlsx", ".xlsm")
TYPED_ENDINGS = (*STATA, *SPSS, *SAS, *EXCEL)

_MOST_SIGNS = 40


def plain_name(name: str, taken: Container[str] = ()) -> str:
    """Return a safe file name: characters except letters, digits, - and _ become -.

    Only the first 40 characters are used; an empty name becomes ``-``.

    Parameters
    ----------
    name : str
    taken : container of str
        Names in use; a number is added to a name among them.
    """
    plain = first = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name[:_MOST_SIGNS]) or "-"
    number = 1
    while plain in taken:
        number += 1
        plain = f"{first}-{number}"
    return plain


def require_plain(name: str, where: str) -> None:
    """Check that a name is not a path.

    Raises
    ------
    InputError
        If the name is empty, contains path separators, or is not a valid file name. The message names the key or
        argument `where`.
    """
    if not name.strip(". ") or not name.isprintable() or any(sign in name for sign in "/\\:"):
        raise InputError("not a valid name", where=where, found=name, expected="letters and digits, without / or \\")
