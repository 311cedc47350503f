"""Read the data files of population recipes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from reidsim.bundled import data_file
from reidsim.tables import read_table, require_columns


def read_figures(
    file: str, folder: Path, columns: Iterable[str], *, delimiter: str = ",", encoding: str | None = None
) -> tuple[pd.DataFrame, Path]:
    """Return a recipe's data file as a table of text.

    The table must have the required columns.

    Parameters
    ----------
    file : str
        Path relative to the recipe's folder, or ``bundled:`` and a path. Lines at the top of the file that start with
        ``#`` are skipped.
    folder : Path
        Folder of the recipe.
    columns : iterable of str
        Required columns.
    delimiter, encoding
        Delimiter and encoding of a CSV file.

    Returns
    -------
    frame : DataFrame
        Content of the file; every value is text.
    path : Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a column.
    """
    path = data_file(file, folder, "populations")
    frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding)
    require_columns(frame, columns, path)
    return frame, path
