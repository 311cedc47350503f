"""Population of recipes of kind ``sf1``, from the 2010 Census.

It has people by ZCTA, single year of age, sex and race. Layout: 2010 Census Summary File 1, technical documentation
SF1/10-4 (RV), chapters 2 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reidsim.bundled import data_file
from reidsim.errors import InputError
from reidsim.populations.census_cells import Tail, largest_remainders, tail_weights
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.populations.recipe import Making, RecipeHead

Integers = NDArray[np.int64]

# Segment (file number) of each table, from the Census Bureau's packing list of a state's zip file (such as
# "pct12a|20:209|") and its table of data field descriptors. Each segment contains only this table.
SEGMENTS = {"PCT12A": 20, "PCT12B": 21, "PCT12C": 22, "PCT12D": 23, "PCT12E": 24, "PCT12F": 25, "PCT12G": 26}

# White, Black, American Indian and Alaska Native, Asian, Pacific Islander, some other race, two or more races.
TABLES_BY_RACE = {
    "White": ("PCT12A",),
    "Black": ("PCT12B",),
    "AIAN": ("PCT12C",),
    "API": ("PCT12D", "PCT12E"),
    "Other": ("PCT12F", "PCT12G"),
}
SEXES = ("Male", "Female")

# Number of fields (FILEID, STUSAB, CHARITER, CIFSN, LOGRECNO) before the cells in every line of a segment.
_LINKING_FIELDS = 5
# Cells of a table: the total, then for each sex its total and 103 ages: single years 0 to 99, 100-104, 105-109, 110+.
_SINGLE_AGES = 100
_GROUPED_AGES = (100, 105, 110)
_AGES = _SINGLE_AGES + len(_GROUPED_AGES)
_CELLS = 1 + len(SEXES) * (1 + _AGES)
# Maximum number of digits of a cell, from the data dictionary of the technical documentation.
_CELL_DIGITS = 9

# The tail weights of a recipe count years from this age.
_TAIL_AGE = 90

# Fields of the geographic header (technical documentation, figure 2-5, where positions start at 1).
_SUMLEV, _GEOCOMP, _LOGRECNO, _ZCTA5, _POP100 = (
    slice(start - 1, start - 1 + length) for start, length in ((9, 3), (12, 2), (19, 7), (172, 5), (319, 9))
)
_STATE_ZCTA, _WHOLE_AREA = "871", "00"


class _Zcta(NamedTuple):
    """A ZCTA in the geographic header; `people` is the count in the header (POP100)."""

    zcta: str
    logrecno: str
    people: int

    def __str__(self) -> str:
        return f"LOGRECNO {self.logrecno} (ZCTA {self.zcta})"


class Sf1Recipe(RecipeHead):
    """Recipe for the 2010 Census Summary File 1.

    It reads a geography file and the segments with tables PCT12A to PCT12G.

    Attributes
    ----------
    kind
        kind of recipe
    folder
        folder with the unzipped files
    state
        postal abbreviation of the state in lower case, as in the file names
    oldest
        highest age in the population, in years
    tail
        distribution of people of age 100 and older, by year of age
    """

    kind: Literal["sf1"]
    folder: str
    state: str = Field(pattern="^[a-z]{2}$")
    # The last age group of the tables is 110 and over.
    oldest: Annotated[int, Field(ge=110, le=150)] = 120
    tail: Tail = Tail(linear=0.13, quadratic=0.0055)

    def make(self, at: Making) -> Population:
        """Return the people of a state from tables PCT12A to PCT12G.

        The tables are in the 2010 Census Summary File 1. Only the single years of people aged 100 and over are
        estimated: the people of one ZCTA, race and sex aged 100-104, 105-109 or 110 and over are distributed over
        single years with the recipe's tail weights, in whole people by largest remainders. Asian and Pacific Islander
        are combined into one race (API), as are some other race and two or more races (Other).

        Returns
        -------
        Population
            Population over (age, race, sex, zip) with counts of dtype int64; ``zip`` has the ZCTAs with people, in
            order. Of a ZCTA that crosses the state's border, only the part inside the state is included.

        Raises
        ------
        InputError
            If the folder or one of its eight files is missing, a line is truncated or has a cell that is not a whole
            number, a ZCTA has no line in a segment, the cells of a table do not add up to its totals, or the seven
            tables do not add up to the people of the geographic header. The message names the file and the line or
            LOGRECNO.
        """
        files = data_file(self.folder, at.folder, "populations")
        if not files.is_dir():
            raise InputError("no such folder", source=files, expected=f"the unzipped files of {self.state}2010.sf1.zip")
        header = files / f"{self.state}geo2010.sf1"
        records = _read_header(header)
        by_race = np.zeros((len(records), len(TABLES_BY_RACE), len(SEXES), _AGES), dtype=np.int64)
        for race, tables in enumerate(TABLES_BY_RACE.values()):
            for table in tables:
                by_race[:, race] += _read_table(files / f"{self.state}000{SEGMENTS[table]}2010.sf1", table, records)
        # The totals within each table are consistent, so exchanged tables are detected only here.
        for record, people in zip(records, by_race.sum(axis=(1, 2, 3)).tolist(), strict=True):
            if people != record.people:
                raise InputError(
                    "tables PCT12A to PCT12G do not sum to the population of the ZCTA",
                    source=header,
                    where=str(record),
                    found=people,
                    expected=f"{record.people} (POP100)",
                    hint="use files of the same state and edition",
                )
        occupied = [row for row, record in enumerate(records) if record.people > 0]
        ages = _single_years(by_race[occupied], self.tail, self.oldest)
        categories = {
            "age": map(str, range(self.oldest + 1)),
            "race": TABLES_BY_RACE,
            "sex": SEXES,
            "zip": (records[row].zcta for row in occupied),
        }
        domain = Domain(tuple(Attribute(name, tuple(labels)) for name, labels in categories.items()))
        return Population.from_dense(domain, ages.transpose(3, 1, 2, 0), name=at.name, source=self.source)


def _read_header(path: Path) -> list[_Zcta]:
    """Return the ZCTAs of the geographic header, in order of their codes."""
    records = []
    for number, line in _lines(path):
        where = f"line {number}"
        if len(line) < _POP100.stop:
            found, expected = f"{len(line)} characters", "500 characters, or at least the first 327"
            raise InputError("line too short", source=path, where=where, found=found, expected=expected)
        if line[_SUMLEV] == _STATE_ZCTA and line[_GEOCOMP] == _WHOLE_AREA:
            zcta, people = line[_ZCTA5], line[_POP100].strip()
            _whole_number(zcta, "ZCTA5 is not a number", path, where)
            records.append(_Zcta(zcta, line[_LOGRECNO], _whole_number(people, "POP100 is not a number", path, where)))
    if not records:
        expected = f"lines of summary level {_STATE_ZCTA} and geographic component {_WHOLE_AREA}"
        raise InputError("the file has no ZCTA", source=path, expected=expected)
    return sorted(records)


def _read_table(path: Path, table: str, records: list[_Zcta]) -> Integers:
    """Return a table's people by ZCTA, sex and age, shape (n_records, 2, 103).

    Ages are 0 to 99, 100-104, 105-109, and 110 and over. Raises InputError if the cells do not add up to the totals.
    """
    # Segments also have lines for tracts, places and other areas; only the lines of ZCTAs are parsed.
    rows = {record.logrecno: row for row, record in enumerate(records)}
    cells = np.zeros((len(records), _CELLS), dtype=np.int64)
    for number, line in _lines(path):
        n_fields = line.count(",") + 1
        if n_fields != _LINKING_FIELDS + _CELLS:
            expected = f"{_LINKING_FIELDS + _CELLS} fields, the last {_CELLS} from table {table}"
            problem, found = "line is incomplete or belongs to another table", f"{n_fields} fields"
            raise InputError(problem, source=path, where=f"line {number}", found=found, expected=expected)
        *_, logrecno, values = line.split(",", _LINKING_FIELDS)
        if logrecno in rows:
            where = f"line {number}, LOGRECNO {logrecno}, {table}, cell "
            cells[rows.pop(logrecno)] = [
                _whole_number(cell, "not a whole number", path, f"{where}{position}")
                for position, cell in enumerate(values.split(","), start=1)
            ]
    if rows:
        hint = (
            "the file may be incomplete: download it again"
            if len(rows) < len(records)
            else "use files of the same state and edition"
        )
        where = f"{records[next(iter(rows.values()))]}, {table}"
        raise InputError("no line for a ZCTA of the geographic header", source=path, where=where, hint=hint)
    by_sex = cells[:, 1:].reshape(len(records), len(SEXES), 1 + _AGES)
    totals, ages = by_sex[:, :, 0], by_sex[:, :, 1:]
    wrong = (cells[:, 0] != totals.sum(axis=1)) | (totals != ages.sum(axis=2)).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        (male, female), (male_ages, female_ages) = totals[row], ages[row].sum(axis=1)
        raise InputError(
            "cells do not sum to the totals",
            source=path,
            where=f"{records[row]}, {table}",
            found=f"total {cells[row, 0]}, male {male} (ages {male_ages}), female {female} (ages {female_ages})",
            expected="total = male + female, each the sum of its ages",
        )
    return ages


def _whole_number(text: str, problem: str, path: Path, where: str) -> int:
    if not text.isdecimal() or len(text) > _CELL_DIGITS:
        raise InputError(problem, source=path, where=where, found=text, expected="a whole number of 0 or more")
    return int(text)


def _single_years(by_race: Integers, tail: Tail, oldest: int) -> Integers:
    """Return people by single year of age, shape (n, 5, 2, oldest + 1).

    `by_race`, shape (n, 5, 2, 103), has people by ZCTA, race, sex and age, with the ages of `_read_table`.
    """
    parts = [by_race[..., :_SINGLE_AGES]]
    ends = (*_GROUPED_AGES[1:], oldest + 1)
    for group, (start, end) in enumerate(zip(_GROUPED_AGES, ends, strict=True)):
        people = by_race[..., _SINGLE_AGES + group]
        # Weights from a later year on equal the weights of a steeper tail whose first weight is 1, without underflow.
        steeper = Tail(linear=tail.linear + 2 * tail.quadratic * (start - _TAIL_AGE), quadratic=tail.quadratic)
        shares = tail_weights(steeper, end - start)
        spread = largest_remainders(people.ravel().astype(np.float64), shares[None, :])
        parts.append(spread.reshape(*people.shape, end - start))
    return np.concatenate(parts, axis=-1)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file.

    Each character is one byte, because fields have fixed byte positions.
    """
    try:
        with path.open(encoding="latin-1") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\n")
    except FileNotFoundError:
        raise InputError(
            "no such file", source=path, expected="a file among the unzipped SF1 files of the state"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=path) from None
