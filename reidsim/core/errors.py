"""Report mistakes in a user's input as `InputError`.

Every user mistake (a scenario key, a file, a value in a row) raises an `InputError` with the location of the mistake,
the value found and the value expected. The command line prints it as one line and exits with code 2.
"""

from __future__ import annotations

import difflib
import errno
import functools
import inspect
import itertools
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Maximum number of characters of a value in a message.
_LONGEST = 120
# Prefix of the names of temporary folders with a user's data.
PRIVATE = "reidsim-private-"
# Command-line options in messages, and the Python arguments with a different name.
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_ARGUMENTS = {"set": "overrides", "quasi-identifier": "quasi_identifiers"}


class InputError(ValueError):
    """Error for user input that cannot be used.

    Parameters
    ----------
    problem : str
        Short description of the problem.
    source : str or path, optional
        File (or bundled item) that contains the problem.
    where : str, optional
        Key path, row or column inside `source`.
    found : object, optional
        Invalid value.
    expected : str, optional
        Description of valid values.
    hint : str, optional
        Suggestion, such as the nearest valid name.

    See Also
    --------
    Scenario.check : examine a scenario without a run.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.run("wan2016")
    Traceback (most recent call last):
    reidsim.core.errors.InputError: ...
    """

    def __init__(
        self,
        problem: str,
        *,
        source: str | Path | None = None,
        where: str | None = None,
        found: object = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem, self.source, self.where = problem, None if source is None else str(source), where
        self.found, self.expected, self.hint = found, expected, hint
        message = ": ".join(part for part in (self.source, where, problem) if part)
        if found is not None:
            message += f"; found {_shortened(found)}"
        message += "" if expected is None else f"; expected {expected}"
        message += "" if hint is None else f" ({hint})"
        # Names in the message may contain line breaks or control characters; the message must stay on one line. An
        # accent that is a character of its own (Unicode NFD) would look like a part of its letter (NFC).
        apart = "" if unicodedata.is_normalized("NFC", message) else "".join(filter(unicodedata.combining, message))
        super().__init__(
            "".join(ascii(sign)[1:-1] if sign in apart or not sign.isprintable() else sign for sign in message)
        )

    def located(self, source: str | Path | None = None, where: str | None = None) -> InputError:
        """Return a copy of the error with a source file, a key, or both added.

        An existing source is kept; `where` is put in front of the existing key.
        """
        place = ": ".join(part for part in (where, self.where) if part) or None
        return self.but(source=self.source or source, where=place)

    def but(self, **changes: Any) -> InputError:
        """Return a copy of the error with some fields replaced; see `InputError`."""
        parts = ("problem", "source", "where", "found", "expected", "hint")
        return InputError(**{name: getattr(self, name) for name in parts} | changes)


def _shortened(found: object) -> str:
    """Return a value as text; of a long list, in text or not, the first entries and the number of the others."""
    text, rest = repr(found), "... ({} more)"
    if len(text) <= _LONGEST:
        return text
    entries = found.split(", ") if isinstance(found, str) else text.split(", ")
    entries = [*map(repr, found)] if isinstance(found, list | tuple) else entries
    lengths = itertools.accumulate(len(entry) + 2 for entry in entries)
    n_shown = sum(length <= _LONGEST - len(rest) for length in lengths)
    if n_shown == 0:
        words = text[: _LONGEST - 3]
        return f"{words.rpartition(' ')[0] or words}..."
    # Texts of `listed` end with the number of all entries.
    rest = entries[-1] if entries[-1].startswith("... (") else rest.format(len(entries) - n_shown)
    shown = ", ".join([*entries[:n_shown], rest])
    return repr(shown) if isinstance(found, str) else shown


def naming_arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function so that its errors name arguments and tables, not CLI options and temporary folders.

    In the texts of an `InputError`, an option such as ``--min-size`` becomes the argument's name, such as ``min_size``,
    and a path in a temporary folder becomes the name of its file. An unknown or missing argument is such an error.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def named(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            known = f"arguments {listed(signature.parameters, 20)}"
            raise InputError(str(error), source=function.__name__, expected=known) from None
        try:
            return function(*args, **kwargs)
        except InputError as error:
            folder = re.compile(re.escape(os.path.join(gettempdir(), PRIVATE)) + r"\w+[/\\]")
            texts: dict[str, str] = {}
            for name in ("problem", "source", "where", "found", "expected", "hint"):
                if isinstance(text := getattr(error, name), str):
                    texts[name] = folder.sub("", text)
            for name in {"source", "where", "expected", "hint"} & {*texts}:
                texts[name] = _OPTION.sub(
                    lambda option: _ARGUMENTS.get(option[1], option[1].replace("-", "_")), texts[name]
                )
            raise error.but(**texts) from None

    return named


@contextmanager
def locating(source: str | Path | None = None, where: str | None = None) -> Iterator[None]:
    """Return a context that adds a source file, a key, or both to an `InputError`.

    See `InputError.located`; other exceptions are unchanged.
    """
    try:
        yield
    except InputError as error:
        raise error.located(source, where) from None


@contextmanager
def reading(source: str | Path) -> Iterator[None]:
    """Return a context in which an `OSError` becomes an `InputError`.

    The error states that `source`, a file or folder, cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=source) from None


@contextmanager
def writing(source: str | Path) -> Iterator[None]:
    """Return a context in which an `OSError` becomes an `InputError`; see `not_written`.

    `source` is the file or folder that the context writes.
    """
    try:
        yield
    except OSError as error:
        raise not_written(source, error) from None


def not_written(source: str | Path, error: OSError) -> InputError:
    """Return, without raising it, the error for a file or folder that cannot be written.

    `error` is the system's error, whose text the message has; a full disk has a message of its own.
    """
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    other = f"cannot be written: {error.strerror or error}"
    return InputError("the disk is full; nothing was written" if is_full else other, source=source)


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """Return a "did you mean" hint for a misspelt name; None if no name is close.

    The hint names the most similar of the `valid` names; case is ignored.
    """
    by_lower = {candidate.lower(): candidate for candidate in valid}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[close[0]]!r}?" if close else None


def require_among(
    problem: str, found: Iterable[object], known: Collection[object], *, otherwise: str | None = None, **place: Any
) -> None:
    """Check that every name is a known name.

    If there are no known names, the error gives `otherwise` as the expected value. `problem` is the text of the
    message; for `place`, see the keyword arguments of `not_among`.

    Raises
    ------
    InputError
        For the first unknown name.
    """
    for name in found:
        if name not in known:
            error = not_among(problem, name, known, **place)
            raise error.but(expected=otherwise) if otherwise and not len(known) else error


def not_among(
    problem: str,
    found: object,
    known: Iterable[object],
    *,
    shown: int = 8,
    source: str | Path | None = None,
    where: str | None = None,
) -> InputError:
    """Return the error for an unknown name; it lists known names and the nearest.

    `found` is the unknown name, `shown` the largest number of known names in the message; `problem` is its text;
    for `source` and `where`, see `InputError`.
    """
    names = [str(name) for name in known]
    expected, hint = f"one of {listed(names, shown)}", nearest(str(found), names)
    return InputError(problem, source=source, where=where, found=found, expected=expected, hint=hint)


def require_distinct(problem: str, names: Iterable[object], **place: Any) -> None:
    """Check that no name occurs twice.

    `place` are ``source``, ``where`` and ``expected`` of the message; see `InputError`.

    Raises
    ------
    InputError
        For the first repeated name.
    """
    repeated = next((name for name, times in Counter(names).items() if times > 1), None)
    if repeated is not None:
        raise InputError(problem, found=repeated, **place)


def refuse_rows(
    wrong: Any,
    problem: str,
    *,
    column: object = None,
    source: str | Path | None = None,
    found: Any = None,
    expected: str | Callable[[int], str] | None = None,
    known: Iterable[str] = (),
) -> None:
    """Check that no row of a table is invalid.

    Parameters
    ----------
    wrong : ndarray or Series of bool, shape (n_rows,)
        True for invalid rows. The index of a Series has the positions of the rows.
    problem, column, source
        Description of the problem, column name and file, for the message.
    found : sequence, optional
        Values of the column, one per row; the message shows the value of the invalid row.
    expected : str or callable, optional
        Description of valid values, or a function that returns it for a row position.
    known : iterable of str
        Valid values; the message names the one nearest to the invalid value.

    Raises
    ------
    InputError
        For the first invalid row; the message counts rows from 1.
    """
    if not wrong.any():
        return
    row = int(wrong.argmax())
    position = getattr(wrong, "index", range(len(wrong)))[row] + 1
    where = f"row {position}" if column is None else f"row {position}, column {column!r}"
    value: Any = None if found is None else getattr(found, "iloc", found)[row]
    value = value.item() if hasattr(value, "item") else value
    expected = expected(row) if callable(expected) else expected
    hint = nearest(str(value), known)
    raise InputError(problem, source=source, where=where, found=value, expected=expected, hint=hint)


def listed(names: Iterable[object], limit: int = 8) -> str:
    """Return names as one text for an error message, separated by commas.

    Of more than `limit` names, only the first ones and their total number are shown.
    """
    items = [str(name) for name in names]
    shown = ", ".join(items[:limit])
    return shown if len(items) <= limit else f"{shown}, ... ({len(items)} in all)"


# Condition, problem, key, value found and value expected.
Case = tuple[object, str, str | None, object, str | None]


def refuse_first(*cases: Case, source: str | Path | None = None) -> None:
    """Raise the error of the first case whose condition is true.

    Parameters
    ----------
    cases : tuple
        Condition, problem, key, value found and value expected; the last three may be None.
    source : str or path, optional
        File that contains the problem.

    Raises
    ------
    InputError
        If a condition is true.
    """
    for holds, problem, where, found, expected in cases:
        if holds:
            raise InputError(problem, source=source, where=where, found=found, expected=expected)
