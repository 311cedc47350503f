"""Read the voter registration file of North Carolina.

It is distributed by the State Board of Elections.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from reidsim.core.errors import InputError, listed, reading, require_distinct
from reidsim.core.files import require_no_device
from reidsim.core.tables import require_columns
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.populations.recipe import Making, RecipeHead

# Names of the column with the age at the end of the year: since 9 February 2022, and before.
AGE_COLUMNS = ("age_at_year_end", "birth_age")

# Codes in the file and the corresponding census terms.
RACES = {"W": "White", "B": "Black", "I": "AIAN", "A": "API", "P": "API", "O": "Other", "M": "Other"}
SEXES = {"M": "Male", "F": "Female"}
_UNDESIGNATED = "U"
_REMOVED = "REMOVED"
# Oldest plausible age in years.
_OLDEST = 120
# Name of each column that is read, except the age; the file has the columns as keys.
_COLUMNS = {
    "status_cd": "status",
    "res_street_address": "address",
    "race_code": "race",
    "gender_code": "sex",
    "zip_code": "zip",
}

# Quotes are read as ordinary characters; otherwise an unbalanced quote could join values or lines.
_FORM: dict[str, Any] = {
    "sep": "\t",
    "lineterminator": "\n",
    "quoting": csv.QUOTE_NONE,
    "encoding": "latin-1",
    "header": None,
    "dtype": str,
    "na_filter": False,
}


def read_voter_file(
    path: Path,
    *,
    statuses: Collection[str] = ("A", "I", "S"),
    ages_missing: Collection[int] = (),
    within: Domain | None = None,
    name: str = "voters",
    source: str = "",
    block_size: int = 1 << 24,
) -> tuple[Population, Counter[str]]:
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
        Population over age, race, sex and zip, with counts of dtype int64. Its source reports the numbers of rows.
    left_out : Counter of str
        Number of dropped rows by reason. A row counts under the first reason that applies: "status removed" or "status
        not kept"; then, for age, race, sex and zip in this order, "missing" (blank, undesignated, or an age that
        denotes unknown), "implausible" (an age above 120) or "unreadable" (not in the documented form); then, for rows
        with all four values, the first value that is "not in the population".

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
    rows = _distinct_rows(path, block_size)
    age, race, sex, zip_code = rows["age"], rows["race"], rows["sex"], rows["zip"]
    # More than nine digits could not be an unknown age either.
    years = pd.to_numeric(age.where(age.str.fullmatch("[0-9]{1,9}")))
    # The first reason that applies to a row is reported.
    reasons: dict[str, pd.Series[bool]] = {
        "status removed": rows["status"].eq("R") | rows["address"].eq(_REMOVED),
        "status not kept": ~rows["status"].isin(statuses),
        "age missing": age.eq("") | years.isin(ages_missing),
        "age implausible": years > _OLDEST,
        "age unreadable": years.isna(),
        "race missing": race.isin(["", _UNDESIGNATED]),
        "race unreadable": ~race.isin(list(RACES)),
        "sex missing": sex.isin(["", _UNDESIGNATED]),
        "sex unreadable": ~sex.isin(list(SEXES)),
        "zip missing": zip_code.eq(""),
        "zip unreadable": ~zip_code.str.fullmatch("[0-9]{5}([0-9]{4})?"),
    }
    ages = years.fillna(0).astype(np.int64).astype("str")
    people = pd.DataFrame({"age": ages, "race": race.map(RACES), "sex": sex.map(SEXES), "zip": zip_code.str[:5]})
    if within is not None:
        for attribute in ("age", "race", "sex", "zip"):
            known = within[attribute].categories
            reasons[f"{attribute} not in the population"] = ~people[attribute].isin(known)
    reason = np.select(list(reasons.values()), list(reasons), "")
    left_out = Counter(rows["count"][reason != ""].groupby(reason[reason != ""]).sum().to_dict())
    people, counts = people[reason == ""], rows["count"][reason == ""].to_numpy(dtype=np.int64)
    reported = ", ".join(f"{each} {count:,}" for each, count in left_out.most_common()) or "none"
    report = f"{counts.sum():,} of {rows['count'].sum():,} rows kept; rows left out: {reported}"
    if not len(counts):
        raise InputError(f"the file has no usable row ({report})", source=path)
    categories = {
        "age": map(str, range(_OLDEST + 1)),
        "race": dict.fromkeys(RACES.values()),
        "sex": SEXES.values(),
        "zip": sorted(people["zip"].unique()),
    }
    if within is None:
        domain = Domain(tuple(Attribute(each, tuple(labels)) for each, labels in categories.items()))
    else:
        domain = within.select([each for each in within.names if each in categories])
    source = f"{source} ({report})"
    return Population.from_records(domain, domain.encode(people), counts, name=name, source=source), left_out


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
        """Return the `Population` of the voters in the file; see `read_voter_file`.

        It is over age, race, sex and ZIP code. With the key ``population``, categories are those of that population,
        and voters with other values are left out.
        """
        # Only the categories of this population are used, so a sample suffices even for expected counts.
        within = None if self.population is None else at.cells(self.population, expected=False).domain
        path, name, ages = at.folder / self.file, at.name, self.ages_missing
        return read_voter_file(
            path, statuses=self.statuses, ages_missing=ages, within=within, name=name, source=self.source
        )[0]


def _distinct_rows(path: Path, block_size: int) -> pd.DataFrame:
    """Return the distinct rows of the columns that are read, with their number.

    The result is a DataFrame of text with the columns ``status``, ``address``, ``race``, ``sex``, ``zip`` and ``age``,
    and the number of occurrences in ``count``. A row of one block can occur again for another block. An address is
    empty unless it contains `_REMOVED`. The file is read in blocks of about `block_size` bytes.

    Raises
    ------
    InputError
        If the file does not exist, cannot be read, is empty or has no rows; if a column is missing or named twice; or
        if a line has another number of fields than the header.
    """
    require_no_device(path)
    if not path.exists():
        raise InputError("no such file", source=path)
    with reading(path), path.open("rb") as file:
        line = file.readline().decode("latin-1")
        if not line:
            raise InputError("the file is empty", source=path, expected="a header line, then one line per voter")
        header = [name.strip().strip('"').strip() for name in line.split("\t")]
        age = next((column for column in AGE_COLUMNS if column in header), None)
        if age is None:
            expected = f"{' or '.join(map(repr, AGE_COLUMNS))} among the columns {listed(header)}"
            raise InputError("age column missing", source=path, where="line 1", expected=expected)
        columns = {**_COLUMNS, age: "age"}
        require_columns(header, columns, path)
        named = [name for name in header if name in columns]
        require_distinct("column named twice", named, source=path, where="line 1")
        places = {header.index(column): name for column, name in columns.items()}
        blocks = []
        for block in _blocks(file, path, len(header), block_size):
            frame = pd.read_csv(io.BytesIO(block), usecols=list(places), **_FORM).rename(columns=places)
            frame["address"] = frame["address"].where(frame["address"].str.contains(_REMOVED, regex=False), "")
            blocks.append(frame.value_counts(sort=False).reset_index())
    if not blocks:
        raise InputError("the file has no rows", source=path, expected="at least one row below the header")
    rows: pd.DataFrame = pd.concat(blocks, ignore_index=True)
    for name in columns.values():
        rows[name] = rows[name].str.strip().str.strip('"').str.strip()
    return rows


def _blocks(file: BinaryIO, path: Path, n_fields: int, size: int) -> Iterator[bytes]:
    """Yield blocks of about `size` bytes of the lines after the header.

    Blocks consist of whole lines; `path` is for messages.

    Raises
    ------
    InputError
        If a line does not have `n_fields` fields; the message names its number.
    """
    number, tab = 2, b"\t"
    while block := file.read(size):
        lines = (block + file.readline()).removesuffix(b"\n").split(b"\n")
        wrong = next((place for place, line in enumerate(lines) if line.count(tab) + 1 != n_fields), None)
        if wrong is not None:
            where, expected = f"line {number + wrong}", f"{n_fields} fields, as in the header, separated by tabs"
            problem, found = "line with the wrong number of fields", f"{lines[wrong].count(tab) + 1} fields"
            raise InputError(problem, source=path, where=where, found=found, expected=expected)
        number += len(lines)
        yield b"\n".join(lines)
