"""Read the voter registration file of North Carolina.

It is distributed by the State Board of Elections.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.core.files import require_no_device
from reidsim.errors import InputError, listed, reading, require_distinct
from reidsim.populations.domain import Attribute, Codes, Domain, mixed_radix_keys
from reidsim.populations.population import Population
from reidsim.populations.recipe import Making, RecipeHead
from reidsim.tables import require_columns

# Names of the column with the age at the end of the year: since 9 February 2022, and before.
AGE_COLUMNS = ("age_at_year_end", "birth_age")

# Codes in the file and the corresponding census terms.
RACES = {"W": "White", "B": "Black", "I": "AIAN", "A": "API", "P": "API", "O": "Other", "M": "Other"}
SEXES = {"M": "Male", "F": "Female"}
_UNDESIGNATED = "U"

# Oldest plausible age in years.
_OLDEST = 120
# Maximum number of digits of an age; the layout has three, but numbers that denote an unknown age may be longer.
_AGE_DIGITS = 9
# Categories of all attributes except the last, the ZIP code, which is read as a number.
_CATEGORIES = {
    "age": tuple(str(age) for age in range(_OLDEST + 1)),
    "race": tuple(dict.fromkeys(RACES.values())),
    "sex": tuple(SEXES.values()),
}
_ATTRIBUTES = (*_CATEGORIES, "zip")
_SHAPE = (*(len(labels) for labels in _CATEGORIES.values()), 100_000)

# Quotes are read as ordinary characters; otherwise an unbalanced quote could join values or lines.
_FORM: dict[str, Any] = {"sep": "\t", "lineterminator": "\n", "quoting": csv.QUOTE_NONE, "encoding": "latin-1"}
_FORM |= {"header": None, "dtype": str, "na_filter": False}
# Reasons why a value has no code; its code is then the negative index of the reason.
_REASONS = ("", "missing", "implausible", "unreadable", "removed", "not kept")
_MISSING, _IMPLAUSIBLE, _UNREADABLE, _REMOVED, _NOT_KEPT = range(-1, -6, -1)


@dataclass(frozen=True)
class VoterFileReport:
    """The numbers of kept and dropped rows of a voter file.

    Dropped rows are counted by reason.

    Parameters
    ----------
    rows : int
        Number of rows below the header.
    kept : int
        Number of people in the population.
    left_out : Counter of str
        Number of dropped rows by reason. A row counts under the first reason that applies: "status removed" or "status
        not kept"; then, for age, race, sex and zip in this order, "missing" (blank, undesignated, or an age that
        denotes unknown), "implausible" (an age above 120) or "unreadable" (not in the documented form); then, for rows
        with all four values, the first value that is "not in the population".
    """

    rows: int
    kept: int
    left_out: Counter[str]

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.left_out.most_common())
        return f"{self.kept:,} of {self.rows:,} rows kept; rows left out: {reasons or 'none'}"


def read_voter_file(
    path: Path,
    *,
    statuses: Collection[str] = ("A", "I", "S"),
    ages_missing: Collection[int] = (),
    within: Domain | None = None,
    name: str = "voters",
    source: str = "",
    block_size: int = 1 << 24,
) -> tuple[Population, VoterFileReport]:
    """Return the voters of North Carolina by age, race, sex and ZIP code.

    They are counted in the registration file. Only voters with all four values are kept, like the records without
    missing values in Xia et al. 2015 (section 6.1). The function needs memory for one block of the file and a few bytes
    per voter.

    Parameters
    ----------
    path : Path
        ``ncvoter_Statewide.txt`` or a county's ``ncvoterNN.txt``, in the layout from 12 February 2022 or the previous
        layout: tab separated, latin-1, with a header line. Quotes and white space around a value are dropped; quotes
        inside a value and backslashes have no special meaning.
    statuses : collection of str
        Status codes of the voters to keep: A (active), I (inactive), S (temporary) or D (denied). Removed voters
        (status R, or address ``REMOVED``) are always dropped.
    ages_missing : collection of int
        Ages that denote an unknown age.
    within : Domain, optional
        Domain whose attributes age, race, sex and zip define the categories and their order; voters outside are
        dropped. Default: ages 0 to 120; White, Black, AIAN, API, Other; Male, Female; the ZIP codes that occur.
    name, source : str
        Name and source of the population.
    block_size : int
        Number of bytes to read at a time.

    Returns
    -------
    population : Population
        Population over age, race, sex and zip, with counts of dtype int64.
    report : VoterFileReport

    Raises
    ------
    InputError
        If the file cannot be read, has no rows, lacks a column or has it twice, or has a line with more or fewer fields
        than its header (the message names the line); if no voter is kept; or if `within` lacks an attribute.

    Notes
    -----
    Layout: ``layout_ncvoter.txt`` of the North Carolina State Board of Elections (11 February 2022). Asian and Pacific
    Islander are combined into one race (API), as are other and two or more races (Other). ZIP codes with nine digits
    are truncated to five.
    """
    if within is not None:
        positions = sorted(within.position(attribute) for attribute in _ATTRIBUTES)
        within = Domain(tuple(within.attributes[position] for position in positions))
    require_no_device(path)
    if not path.exists():
        raise InputError("no such file", source=path)
    with reading(path), path.open("rb") as file:
        keys, left_out = _read_rows(file, path, statuses, ages_missing, block_size)
    rows = len(keys) + left_out.total()
    if rows == 0:
        raise InputError("the file has no rows", source=path, expected="at least one row below the header")
    cells, counts = np.unique(keys, return_counts=True)
    codes = np.column_stack(np.unravel_index(cells, _SHAPE)).astype(np.int32)
    zips, codes[:, -1] = np.unique(codes[:, -1], return_inverse=True)
    categories = {**_CATEGORIES, "zip": tuple(f"{code:05d}" for code in zips)}
    if within is not None:
        codes, outside = _recode(codes, categories, within)
        for attribute, rows_outside in zip(_ATTRIBUTES, outside, strict=True):
            left_out[f"{attribute} not in the population"] += int(counts[rows_outside].sum())
        inside = ~outside.any(axis=0)
        codes, counts = codes[inside], counts[inside]
    report = VoterFileReport(rows, int(counts.sum()), +left_out)
    if report.kept == 0:
        raise InputError(f"the file has no usable row ({report})", source=path)
    domain = Domain(tuple(Attribute(*item) for item in categories.items())) if within is None else within
    return Population.from_records(domain, codes, counts.astype(np.int64), name=name, source=source), report


class VoterFileRecipe(RecipeHead):
    """Recipe for the voter registration file of North Carolina.

    Attributes
    ----------
    kind
        kind of recipe
    file
        path of the voter registration file
    statuses
        registration statuses to keep: `A` active, `D` denied, `I` inactive, `S` temporary
    ages_missing
        ages in the file that mean an unknown age
    population
        population whose categories are used
    """

    kind: Literal["voter-file"]
    file: str
    statuses: tuple[Literal["A", "D", "I", "S"], ...] = Field(default=("A", "I", "S"), min_length=1)
    ages_missing: tuple[Annotated[int, Field(ge=0)], ...] = ()
    population: str | None = None

    def make(self, at: Making) -> Population:
        """Return the voters in the file; see `read_voter_file`.

        The population's source reports the numbers of kept and dropped rows.
        """
        # Only the categories of this population are used, so a sample suffices even for expected counts.
        within = None if self.population is None else at.cells(self.population, expected=False).domain
        path, ages = at.folder / self.file, self.ages_missing
        voters, report = read_voter_file(path, statuses=self.statuses, ages_missing=ages, within=within, name=at.name)
        return replace(voters, source=f"{self.source} ({report})")


def _read_rows(
    file: BinaryIO, path: Path, statuses: Collection[str], ages_missing: Collection[int], block_size: int
) -> tuple[NDArray[np.int32], Counter[str]]:
    """Return the cell of each kept row, and the number of dropped rows by reason.

    Cells are numbered within ``_SHAPE``.
    """
    line = file.readline().decode("latin-1")
    header = [_bare(name) for name in line.split("\t")]
    if not line:
        raise InputError("the file is empty", source=path, expected="a header line, then one line per voter")
    age = next((column for column in AGE_COLUMNS if column in header), None)
    if age is None:
        expected = f"{' or '.join(map(repr, AGE_COLUMNS))} among the columns {listed(header)}"
        raise InputError("age column missing", source=path, where="line 1", expected=expected)
    # Columns with their attributes and parsers, in the order in which they are checked for reasons to drop a row.
    columns: list[tuple[str, str, Callable[[str], int]]] = [
        ("status_cd", "status", lambda text: _REMOVED if text == "R" else 0 if text in statuses else _NOT_KEPT),
        ("res_street_address", "status", lambda text: _REMOVED if text == "REMOVED" else 0),
        (age, "age", partial(_age, unknown=ages_missing)),
        ("race_code", "race", partial(_label, labels=RACES, categories=_CATEGORIES["race"])),
        ("gender_code", "sex", partial(_label, labels=SEXES, categories=_CATEGORIES["sex"])),
        ("zip_code", "zip", _zip),
    ]
    wanted = [column for column, _, _ in columns]
    require_columns(header, wanted, path)
    require_distinct("column named twice", [name for name in header if name in wanted], source=path, where="line 1")
    places = [header.index(column) for column in wanted]
    keys = [np.empty(0, dtype=np.int32)]
    left_out: Counter[str] = Counter()
    for block in _blocks(file, path, len(header), block_size):
        frame = pd.read_csv(io.BytesIO(block), usecols=places, **_FORM)
        codes = np.column_stack([_codes(frame[at], read) for at, (_, _, read) in zip(places, columns, strict=True)])
        wrong = codes < 0
        incomplete = wrong.any(axis=1)
        keys.append(mixed_radix_keys(codes[~incomplete, -len(_SHAPE) :], _SHAPE).astype(np.int32))
        first = wrong[incomplete].argmax(axis=1)
        reasons = Counter(zip(first.tolist(), codes[incomplete, first].tolist(), strict=True))
        for (column, reason), number in reasons.items():
            left_out[f"{columns[column][1]} {_REASONS[-reason]}"] += number
    return np.concatenate(keys), left_out


def _blocks(file: BinaryIO, path: Path, n_fields: int, size: int) -> Iterator[bytes]:
    """Yield blocks of about `size` bytes of the lines after the header.

    Check that each line has `n_fields` fields.
    """
    line = 2
    while block := file.read(size):
        block += file.readline()
        if not block.endswith(b"\n"):
            block += b"\n"
        characters = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(characters == ord("\n"))
        tabs = np.flatnonzero(characters == ord("\t"))
        fields = np.diff(np.searchsorted(tabs, ends), prepend=0) + 1
        broken = fields != n_fields
        if broken.any():
            row = int(broken.argmax())
            where, expected = f"line {line + row}", f"{n_fields} fields, as in the header, separated by tabs"
            problem = "line with the wrong number of fields"
            raise InputError(problem, source=path, where=where, found=f"{fields[row]} fields", expected=expected)
        line += len(ends)
        yield block


def _recode(codes: Codes, categories: Mapping[str, tuple[str, ...]], domain: Domain) -> tuple[Codes, NDArray[np.bool_]]:
    """Return the cells' codes over `domain`, and the cells outside it.

    The second result is a mask by attribute, shape (4, n_cells). A cell with several values outside the domain is
    marked only for the first attribute, so that its people are counted once.
    """
    recoded = np.empty_like(codes)
    outside = np.zeros(codes.T.shape, dtype=np.bool_)
    for position, attribute in enumerate(_ATTRIBUTES):
        new = domain[attribute].labels.get_indexer(pd.Index(categories[attribute]))[codes[:, position]]
        outside[position] = (new < 0) & ~outside.any(axis=0)
        recoded[:, domain.position(attribute)] = new
    return recoded, outside


def _codes(values: pd.Series[str], read: Callable[[str], int]) -> Codes:
    """Return the code of each value; equal values are parsed once."""
    which, distinct = pd.factorize(values)
    return np.array([read(_bare(value)) for value in distinct], dtype=np.int32)[which]


def _bare(text: str) -> str:
    return text.strip().strip('"').strip()


def _age(text: str, unknown: Collection[int]) -> int:
    if not text:
        return _MISSING
    if not text.isdecimal() or len(text) > _AGE_DIGITS:
        return _UNREADABLE
    age = int(text)
    if age in unknown:
        return _MISSING
    return age if age <= _OLDEST else _IMPLAUSIBLE


def _label(text: str, labels: Mapping[str, str], categories: tuple[str, ...]) -> int:
    if text in ("", _UNDESIGNATED):
        return _MISSING
    return categories.index(labels[text]) if text in labels else _UNREADABLE


def _zip(text: str) -> int:
    if not text:
        return _MISSING
    return int(text[:5]) if text.isdecimal() and len(text) in (5, 9) else _UNREADABLE
