"""Hierarchy files as ARX writes them: one row per value, one column per level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, hierarchy_from_rows
from reidsim.tables import read_table


def read_hierarchy_rows(path: Path, *, delimiter: str = ";") -> list[list[str]]:
    """Read the rows of a hierarchy file (no header), every value as text."""
    frame = read_table(path, delimiter=delimiter, header=False)
    rows: list[list[str]] = frame.to_numpy().tolist()
    return rows


def read_hierarchy(
    attribute: Attribute,
    path: Path,
    *,
    delimiter: str = ";",
    suppress: bool = False,
    costless_levels: Sequence[int] = (),
) -> Hierarchy:
    """Read the hierarchy of an attribute.

    Parameters
    ----------
    attribute : Attribute
    path : Path
    delimiter : str
        Between columns; ``;`` as ARX writes it.
    suppress : bool
        Add a level that suppresses every value.
    costless_levels : sequence of int
        See `Hierarchy`.

    Raises
    ------
    InputError
        If the file cannot be used; names it, the row or value, and for levels that do not nest the two values.
    """
    rows = read_hierarchy_rows(path, delimiter=delimiter)
    if suppress:
        rows = [[*row, SUPPRESSED] for row in rows]
    try:
        return hierarchy_from_rows(attribute, rows, costless_levels=costless_levels)
    except InputError as error:
        raise error.located(path) from None
