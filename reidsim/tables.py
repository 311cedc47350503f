"""Reading delimited text files as text, with errors that name the file and the row or column."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from reidsim.errors import InputError, listed, nearest


def read_table(path: Path, *, delimiter: str = ",", header: bool = True, comment: str | None = None) -> pd.DataFrame:
    """Read a delimited text file, every value as text (nothing is guessed, empty stays empty).

    Parameters
    ----------
    path : Path
        May be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zip``).
    delimiter : str
        One character.
    header : bool
        Whether the first row holds column names; else columns are numbered from 0.
    comment : str, optional
        Character that starts a comment.

    Raises
    ------
    InputError
        If the file cannot be read, is not text, has no rows, rows of different lengths or repeated column names.
    """
    try:
        if path.is_dir():
            raise InputError("is a folder", source=path, expected="a file")
        frame = pd.read_csv(
            path,
            sep=delimiter,
            header=0 if header else None,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            comment=comment,
            encoding="utf-8-sig",
            on_bad_lines="error",
            index_col=False,
        )
        if header:
            _check_header(path, delimiter, comment)
    except FileNotFoundError:
        raise InputError("no such file", source=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=path) from None
    except UnicodeDecodeError:
        raise InputError("not a text file in UTF-8", source=path) from None
    except pd.errors.EmptyDataError:
        raise InputError("the file is empty", source=path) from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise InputError(f"rows cannot be told apart: {reason}", source=path) from None
    if frame.empty:
        raise InputError("the file has no rows", source=path, expected="at least one")
    short = frame.isna().any(axis=1).to_numpy()
    if short.any():
        row = int(short.argmax())
        found = int(frame.iloc[row].notna().sum())
        raise InputError(
            "row of another length",
            source=path,
            where=f"row {row + 1}",
            found=found,
            expected=f"{frame.shape[1]} columns",
        )
    return frame


def _check_header(path: Path, delimiter: str, comment: str | None) -> None:
    # pandas renames repeated columns without a word, so they are looked for in the bare first row.
    first = pd.read_csv(
        path, sep=delimiter, header=None, dtype=str, nrows=1, keep_default_na=False, skipinitialspace=True,
        comment=comment, encoding="utf-8-sig",
    ).iloc[0]  # fmt: skip
    repeated = first[first.duplicated()]
    if len(repeated):
        raise InputError("column named twice", source=path, found=repeated.iloc[0])


def require_columns(frame: pd.DataFrame, columns: Iterable[str], source: Path) -> None:
    """Check that a table has some columns.

    Raises
    ------
    InputError
        For the first one missing; names the file, the column and the nearest one there is.
    """
    for column in columns:
        if column not in frame.columns:
            raise InputError(
                "column missing",
                source=source,
                where=f"column {column!r}",
                expected=f"it among the columns, which are {listed(frame.columns, 20)}",
                hint=nearest(column, map(str, frame.columns)),
            )


def numbers(frame: pd.DataFrame, column: str, source: Path) -> pd.Series[float]:
    """Return a column of text as non-negative numbers.

    Raises
    ------
    InputError
        For the first value that is not one; names the file, row and value.
    """
    values = pd.to_numeric(frame[column], errors="coerce")
    wrong = ~(values >= 0) | (values == float("inf"))
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(
            "not a number of 0 or more",
            source=source,
            where=f"row {row + 1}, column {column!r}",
            found=frame[column].iloc[row],
        )
    return values
