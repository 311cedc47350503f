"""Reading the files that population recipes name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from reidsim.bundled import data_file
from reidsim.tables import read_table, require_columns


def read_figures(
    file: str, folder: Path, columns: Iterable[str], *, delimiter: str = ",", encoding: str | None = None
) -> tuple[pd.DataFrame, Path]:
    """Read a file that a recipe names as text, and check that it has some columns.

    Parameters
    ----------
    file : str
        Relative to the recipe's folder, or ``bundled:`` and a path; lines that start with ``#`` at its top are skipped.
    folder : Path
        Of the recipe.
    columns : iterable of str
    delimiter, encoding
        Of a CSV file.

    Returns
    -------
    frame : DataFrame
    path : Path
        Of the file, for messages.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a column.
    """
    path = data_file(file, folder, "populations")
    frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding)
    require_columns(frame, columns, path)
    return frame, path
