"""Checking a table of results before it is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reidsim.errors import InputError, listed, refuse_rows
from reidsim.tables import require_columns


def checked(
    frame: pd.DataFrame,
    table: str,
    *,
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the columns that a figure needs, with rows numbered from 0.

    Parameters
    ----------
    frame : DataFrame
    table : str
        What to call it in an error, such as ``"strategies"``.
    text, numbers, flags : sequence of str
        Names of the columns to return as str (categorical if given so), float64 (finite) and bool (given as such or as
        0 and 1).

    Raises
    ------
    InputError
        If the table has no rows, or a column is missing or holds something else.
    """
    if len(frame) == 0:
        raise InputError("the table has no rows", source=f"{table} table", expected="at least one")
    require_columns(frame, (*text, *numbers, *flags), f"{table} table")
    columns: dict[str, object] = {}
    for column in text:
        refuse(frame, column, frame[column].isna().to_numpy(), table, "a name")
        if isinstance(frame[column].dtype, pd.CategoricalDtype):
            columns[column] = frame[column].cat.rename_categories(str).array
        else:
            columns[column] = frame[column].astype(str).to_numpy(dtype=object)
    for column in (*numbers, *flags):
        values = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if column in flags:
            refuse(frame, column, (values != 0) & (values != 1), table, "true or false")
            columns[column] = values == 1
        else:
            refuse(frame, column, ~np.isfinite(values), table, "a finite number")
            columns[column] = values
    return pd.DataFrame(columns)


def only_value(table: pd.DataFrame, column: str, name: str) -> str:
    """Return the one value of a column of text.

    Raises
    ------
    InputError
        If it has several.
    """
    values = table[column].unique()
    if len(values) > 1:
        raise InputError(
            f"the figure shows one {column}",
            source=f"{name} table",
            where=f"column {column!r}",
            found=listed(values, 3),
            expected="the same value in every row",
        )
    return str(values[0])


def refuse_repeated(table: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    """Check that no two rows agree in all of some columns.

    Raises
    ------
    InputError
        For the first row that repeats another.
    """
    repeated = table.duplicated(list(columns)).to_numpy()
    if repeated.any():
        row = int(repeated.argmax())
        raise InputError(
            f"two rows for the same {', '.join(columns)}",
            source=f"{name} table",
            where=f"row {row + 1}",
            found=listed(table.iloc[row][list(columns)]),
            expected="one",
        )


def refuse(frame: pd.DataFrame, column: str, wrong: np.ndarray, name: str, expected: str) -> None:
    """Raise an error about the first row in which a column is wrong, if it is in any."""
    refuse_rows(
        wrong, "value cannot be drawn", source=f"{name} table", column=column, found=frame[column], expected=expected
    )
