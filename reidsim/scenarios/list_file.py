"""A list of people that a scenario reads from a file, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from reidsim.errors import InputError, listed
from reidsim.populations.people_lists import PeopleList
from reidsim.populations.sampling import UNKNOWN
from reidsim.scenarios.people_values import Integers, People
from reidsim.tables import read_table, require_columns


def list_in_file(
    name: str, path: Path, people: People, person: str, columns: Mapping[str, str], *, delimiter: str
) -> PeopleList:
    """Read a list.

    Parameters
    ----------
    name : str
    path : Path
        CSV or Parquet file with a row per entry.
    people : People
    person : str
        Column that says whom each row is about: a row of the population, from 0, or nothing.
    columns : mapping of str to str
        Column of each attribute that the list carries.
    delimiter : str

    Raises
    ------
    InputError
        If the file cannot be used: names the row and column.
    """
    frame = read_table(path, delimiter=delimiter, comment="#")
    require_columns(frame, [person, *columns.values()], path)
    rows = people.rows if people.rows is not None else np.arange(people.n_people)
    about = _positions(frame[person].tolist(), rows, path, person)
    values = {
        attribute: _read_values(frame[column].tolist(), people.labels.get(attribute), path, column)
        for attribute, column in columns.items()
    }
    return PeopleList(name, about, values, people.n_people)


def _positions(cells: Sequence[str], rows: Integers, path: Path, column: str) -> Integers:
    """Return whom each row of a file is about, as a position among the people; -1 for nobody of them."""
    number = np.full(len(cells), -1, dtype=np.int64)
    for row, text in enumerate(cells):
        if not text.strip():
            continue
        if not text.strip().isdecimal():
            raise InputError(
                "not a row of the population", source=path, where=f"row {row + 1}, column {column!r}", found=text,
                expected="a whole number from 0, or nothing",
            )  # fmt: skip
        number[row] = int(text)
    given = np.flatnonzero(number >= 0)
    twice = given[np.unique(number[given], return_index=True)[1]]
    if len(twice) < len(given):
        row = int(np.setdiff1d(given, twice)[0])
        raise InputError(
            "a person has two rows", source=path, where=f"row {row + 1}, column {column!r}", found=int(number[row]),
            expected="one row for each person",
        )  # fmt: skip
    place = np.minimum(np.searchsorted(rows, number), len(rows) - 1)
    return np.where((number >= 0) & (rows[place] == number), place, -1)


def _read_values(cells: Sequence[str], labels: Sequence[str] | None, path: Path, column: str) -> Integers:
    """Return a column of a file as the people's values; ``UNKNOWN`` where a cell is empty."""
    place = None if labels is None else {label: position for position, label in enumerate(labels)}
    values = np.full(len(cells), UNKNOWN, dtype=np.int64)
    for row, text in enumerate(cells):
        if not text.strip():
            continue
        found = (int(text) if text.isdecimal() else None) if place is None else place.get(text)
        if found is None:
            raise InputError(
                "not a value of the people", source=path, where=f"row {row + 1}, column {column!r}", found=text,
                expected="a whole number" if labels is None else f"one of {listed(labels)}",
            )  # fmt: skip
        values[row] = found
    return values
