"""A pedigree of a user's own, as a table of people and their parents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, require_among
from reidsim.linkage.relatives import NO_PARENT
from reidsim.tables import read_table, require_columns

Ints = NDArray[np.int64]
_PARENTS = ("father", "mother")
_ANSWERS = {"yes": True, "no": False}


def read_pedigree(path: Path) -> tuple[Ints, Ints, Ints]:
    """Return the rows of fathers and of mothers (-1 if unknown), and the rows of the people who decide.

    Raises
    ------
    InputError
        If a column is missing, a person is named twice, a parent has no row, or somebody is an own ancestor.
    """
    table = read_table(path)
    require_columns(table, ["person", *_PARENTS], path)
    names = table["person"].tolist()
    row: dict[str, int] = {}
    for number, name in enumerate(names):
        if not name or row.setdefault(name, number) != number:
            problem = "person given twice" if name else "person without a name"
            raise InputError(problem, source=path, where=f"row {number + 1}, column 'person'", found=name or None)
    parents = []
    for column in _PARENTS:
        known = table[column].tolist()
        for number, name in enumerate(known):
            if name and name not in row:
                where = f"row {number + 1}, column {column!r}"
                raise InputError("no such person", source=path, where=where, found=name, expected="a person, or empty")
        parents.append(np.array([row[name] if name else NO_PARENT for name in known], dtype=np.int64))
    _refuse_circles(parents, names, path)
    decides = table["decides"].tolist() if "decides" in table else ["yes"] * len(names)
    for number, answer in enumerate(decides):
        where = f"row {number + 1}, column 'decides'"
        require_among("value not allowed", (answer,), _ANSWERS, source=path, where=where)
    rows = np.flatnonzero([_ANSWERS[answer] for answer in decides]).astype(np.int64)
    if not len(rows):
        raise InputError("nobody decides", source=path, where="column 'decides'", expected="yes in one row at least")
    return parents[0], parents[1], rows


def _refuse_circles(parents: list[Ints], names: list[str], path: Path) -> None:
    """Refuse a pedigree in which somebody descends from themselves: one whose founders cannot be peeled off."""
    left = np.ones(len(names), dtype=np.bool_)
    while left.any():
        waits = np.zeros(len(names), dtype=np.bool_)
        for parent in parents:
            waits |= (parent != NO_PARENT) & left[parent]
        peeled = left & ~waits
        if not peeled.any():
            row = int(left.argmax())
            raise InputError("descends from itself", source=path, where=f"row {row + 1}", found=names[row])
        left &= waits
