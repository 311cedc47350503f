"""Populations by age, race, sex and area, from files of public authorities.

A recipe of kind ``census-cells`` combines two sets of counts. A recipe of kind ``sf1`` reads the 2010 Census Summary
File 1 (layout: technical documentation SF1/10-4 (RV), chapters 2 and 6). A recipe of kind ``voter-file`` counts the
voters in the registration file of North Carolina, which the State Board of Elections distributes. A recipe of kind
``voter-list`` draws the voter list of a state from a population, by the facts of the state's list.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import (
    InputError,
    listed,
    locating,
    nearest,
    reading,
    refuse_first,
    require_among,
    require_distinct,
)
from reidsim.core.files import bundled_folder, data_file, require_no_device
from reidsim.core.numerics import draw_binomial, draw_multinomial
from reidsim.core.tables import numbers, read_table, require_columns
from reidsim.core.validation import Section
from reidsim.core.wording import whole_number
from reidsim.populations.population import (
    Counts,
    Domain,
    Floats,
    Individuals,
    Integers,
    Making,
    Population,
    RecipeHead,
    Seed,
    Share,
    exactly_one,
    read_figures,
)
from reidsim.populations.resources import Coverage, coded_in, listing_chances

Percent = Annotated[float, Field(ge=0, le=100)]


class Areas(Section):
    """The file with the number of people of each area.

    Attributes
    ----------
    attribute
        name of the area attribute
    file
        CSV file with one row per area
    code
        column of the area file with the area
    people
        column of the area file with the number of people of all ages
    """

    attribute: str
    file: str
    code: str
    people: str


class Hispanic(Section):
    """Hispanic adults, who are counted without race, and their shares by race.

    Attributes
    ----------
    column
        column of the area file with the number of these adults
    percent
        percentage of these adults in each race; scaled to a sum of 100
    """

    column: str
    percent: dict[str, Percent]


class Race(Section):
    """The columns of adults that belong to each race.

    Attributes
    ----------
    attribute
        name of the race attribute
    adults
        columns of the area file whose sum is the number of adults of a race, by race
    hispanic
        adults who are counted without their race
    """

    attribute: str
    adults: dict[str, list[str]]
    hispanic: Hispanic | None = None


class Tail(Section):
    """Distribution of the people above the last single age in the data.

    The k-th year above it has the weight ``exp(-linear k - quadratic k**2)``.

    Attributes
    ----------
    linear
        coefficient in the weight exp(-linear k - quadratic k^2) of the k-th year above the last row of the file
        (kind `sf1`: above age 90)
    quadratic
        second coefficient of this weight
    """

    linear: Annotated[float, Field(ge=0)]
    quadratic: Annotated[float, Field(ge=0)]


class Age(Section):
    """The file with the number of people by single year of age.

    Its last row counts all people of this age and older.

    Attributes
    ----------
    attribute
        name of the age attribute
    file
        CSV file with one row per year of age, without gaps
    column
        column with the age in years; the last row includes all older people
    oldest
        highest age in the population, in years
    tail
        distribution of the people in the last row, by year of age
    """

    attribute: str
    file: str
    column: str
    oldest: int
    tail: Tail


class Sex(Section):
    """The columns of the age file for each sex and race.

    Attributes
    ----------
    attribute
        name of the sex attribute
    columns
        columns of the age file, by sex and race
    """

    attribute: str
    columns: dict[str, dict[str, list[str]]]


class CensusCellsRecipe(RecipeHead):
    """Recipe of people by area, race, sex and age.

    They are combined from counts by area and counts by age. People of an area are divided among races in the
    proportions of its adults; the people of each area and race then get age and sex in one random draw, in the
    proportions of the counts by age. An area without adults gets the distribution of races of all areas together.

    Attributes
    ----------
    kind
        kind of recipe
    seed
        seed of the random draw
    areas
        areas and their numbers of people
    race
        numbers of adults by race
    age
        numbers of people by year of age
    sex
        columns of the age file for each sex and race
    """

    kind: Literal["census-cells"]
    seed: Seed
    areas: Areas
    race: Race
    age: Age
    sex: Sex

    def make(self, at: Making) -> Population:
        """Return a population by age, race, sex and area.

        The people of an area are divided among races in the proportions of its adults (Hispanic adults by the recipe's
        percentages), in whole people by largest remainders. The people of an area and race are distributed over ages
        and sexes by one multinomial draw, in the proportions of this race in the counts by age. Expected numbers of
        people are not rounded.

        Returns
        -------
        Population
            Population over (age, race, sex, area); its total is the number of people in all areas.

        Raises
        ------
        InputError
            If a file cannot be used, ages are not consecutive years or go beyond the recipe's oldest age, or a race has
            no columns.
        """
        races, hispanic, by_sex = list(self.race.adults), self.race.hispanic, self.sex.columns
        frame, path = read_figures(self.areas.file, at.folder, [self.areas.code, self.areas.people])
        areas, people = frame[self.areas.code].tolist(), _sum(frame, [self.areas.people], path)
        adults = np.column_stack([_sum(frame, columns, path) for columns in self.race.adults.values()])
        if hispanic is not None:
            require_among("no column of adults for the race", hispanic.percent, races, where="race.hispanic.percent")
            percent = np.array([hispanic.percent.get(race, 0.0) for race in races])
            adults += np.outer(_sum(frame, [hispanic.column], path), percent / percent.sum())
        totals = adults.sum(axis=1, keepdims=True)
        # An area without adults gets the distribution of races of all areas together.
        overall = np.tile(adults.sum(axis=0) / adults.sum(), (len(areas), 1))
        race_shares = np.divide(adults, totals, out=overall, where=totals > 0)

        frame, path = read_figures(self.age.file, at.folder, [self.age.column])
        ages = numbers(frame, self.age.column, path).astype(int).tolist()
        gaps, problem = ages != list(range(ages[0], ages[0] + len(ages))), "ages are not consecutive single years"
        refuse_first((gaps, problem, f"column {self.age.column!r}", None, None), source=path)
        oldest, problem = self.age.oldest, "oldest age is below the last age in the file"
        refuse_first((oldest < ages[-1], problem, "age.oldest", oldest, None))
        for sex, by_race in by_sex.items():
            require_among("race missing", races, by_race, where=f"sex.columns.{sex}")
        # People by race, age and sex; the last row of the file is spread over the ages from its own to the oldest.
        counts = np.stack(
            [np.column_stack([_sum(frame, by_race[race], path) for by_race in by_sex.values()]) for race in races]
        )
        tail = counts[:, -1:, :] * tail_weights(self.age.tail, oldest - ages[-1] + 1)[None, :, None]
        spread = np.concatenate([counts[:, :-1], tail], axis=1)
        age_sex_shares = spread / spread.sum(axis=(1, 2), keepdims=True)

        if at.expected:
            table: Counts = np.einsum("z,zr,rax->arxz", people, race_shares, age_sex_shares)
        else:
            rng, whole = at.rng(), largest_remainders(people, race_shares).T
            drawn = [draw_multinomial(rng, n, s.ravel()) for n, s in zip(whole, age_sex_shares, strict=True)]
            table = np.reshape(drawn, (len(races), len(areas), *age_sex_shares.shape[1:])).transpose(2, 0, 3, 1)
        categories = {
            self.age.attribute: map(str, range(ages[0], oldest + 1)),
            self.race.attribute: races,
            self.sex.attribute: by_sex,
            self.areas.attribute: areas,
        }
        domain = Domain.from_categories(categories)
        return Population.from_dense(domain, table, name=at.name, source=self.source)


def tail_weights(tail: Tail, years: int) -> Floats:
    """Return the share of each of the first `years` years of an open-ended age group.

    They sum to 1, and have shape (years,). The share of year k (from 0) is proportional to
    ``exp(-linear k - quadratic k**2)``.
    """
    above = np.arange(years)
    weights = np.exp(-tail.linear * above - tail.quadratic * above**2)
    return np.asarray(weights / weights.sum())


def largest_remainders(people: Floats, shares: Floats) -> NDArray[np.int64]:
    """Return ``people x shares`` rounded to integers, shape (n, m).

    Row i sums to ``people[i]``: the columns with the largest remainders are rounded up, the others down. Among equal
    remainders, the first column is rounded up.

    Parameters
    ----------
    people : ndarray of float64, shape (n,)
        Whole numbers of people.
    shares : ndarray of float64, shape (n, m) or (1, m)
        Shares of each row, with sum 1.
    """
    exact = people[:, None] * shares
    whole = np.floor(exact).astype(np.int64)
    lacking = np.rint(people).astype(np.int64) - whole.sum(axis=1)
    return np.asarray(whole + (np.argsort(np.argsort(whole - exact, axis=1, kind="stable"), axis=1) < lacking[:, None]))


def _sum(frame: pd.DataFrame, columns: list[str], path: Path) -> Floats:
    require_columns(frame, columns, path)
    return np.asarray(np.sum([numbers(frame, column, path).to_numpy(dtype=np.float64) for column in columns], axis=0))


# Summary File 1.

# Segment (file number) of each table PCT12A to PCT12G, from the Census Bureau's packing list of a state's zip file
# (such as "pct12a|20:209|") and its table of data field descriptors. Each segment contains only this table.
SEGMENTS = dict(zip("ABCDEFG", range(20, 27), strict=True))

# White, Black, American Indian and Alaska Native, Asian, Pacific Islander, some other race, two or more races.
TABLES_BY_RACE = {"White": "A", "Black": "B", "AIAN": "C", "API": "DE", "Other": "FG"}
SEXES = ("Male", "Female")

# Number of fields (FILEID, STUSAB, CHARITER, CIFSN, LOGRECNO) before the cells in every line of a segment.
_LINKING_FIELDS = 5
# Cells of a table: the total, then for each sex its total and 103 ages: single years 0 to 99, 100-104, 105-109, 110+.
_SINGLE_AGES = 100
_GROUPED_AGES = (100, 105, 110)
_AGES = _SINGLE_AGES + len(_GROUPED_AGES)
_FIELDS = _LINKING_FIELDS + 1 + len(SEXES) * (1 + _AGES)

# The tail weights of a recipe count years from this age.
_TAIL_AGE = 90

# Fields of the geographic header (technical documentation, figure 2-5, where positions start at 1): summary level with
# geographic component; logical record number, ZCTA and number of people (POP100).
_LEVEL = slice(8, 13)
_WHOLE_ZCTA = "87100"
_HEADER = {"logrecno": slice(18, 25), "zcta": slice(171, 176), "people": slice(318, 327)}


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
            If the folder or one of its eight files is missing, a line is truncated or has a cell that is not a number,
            the cells of a table do not add up to its totals, or the seven tables do not add up to the people of the
            geographic header. The message names the file and the line or ZCTA.
        """
        files = data_file(self.folder, at.folder, "populations")
        unzipped = f"the unzipped files of {self.state}2010.sf1.zip"
        refuse_first((not files.is_dir(), "no such folder", None, None, unzipped), source=files)
        header = files / f"{self.state}geo2010.sf1"
        # Fields have fixed byte positions: each character is one byte.
        with reading(header), header.open(encoding="latin-1") as file:
            lines = [line for line in file if line[_LEVEL] == _WHOLE_ZCTA]
        expected = "lines of summary level 871 and geographic component 00"
        refuse_first((not lines, "the file has no ZCTA", None, None, expected), source=header)
        zctas = pd.DataFrame({name: [line[field].strip() for line in lines] for name, field in _HEADER.items()})
        zctas = zctas.assign(people=numbers(zctas, "people", header)).sort_values("zcta", ignore_index=True)
        by_race = np.zeros((len(zctas), len(TABLES_BY_RACE), len(SEXES), _AGES), dtype=np.int64)
        for race, tables in enumerate(TABLES_BY_RACE.values()):
            for table in tables:
                path = files / f"{self.state}000{SEGMENTS[table]}2010.sf1"
                by_race[:, race] += _read_table(path, f"PCT12{table}", zctas["logrecno"])
        # The totals within each table are consistent, so missing lines and exchanged tables are detected only here.
        wrong = by_race.sum(axis=(1, 2, 3)) != zctas["people"]
        if wrong.any():
            zcta = zctas.loc[wrong.idxmax()]
            raise InputError(
                "tables PCT12A to PCT12G do not sum to the population of the ZCTA",
                source=header,
                where=f"LOGRECNO {zcta['logrecno']} (ZCTA {zcta['zcta']})",
                found=int(by_race[wrong.idxmax()].sum()),
                expected=f"{zcta['people']:.0f} (POP100)",
                hint="use complete files of the same state and edition",
            )
        occupied = zctas["people"].to_numpy() > 0
        ages = _single_years(by_race[occupied], self.tail, self.oldest)
        years, zips = map(str, range(self.oldest + 1)), zctas["zcta"][occupied]
        domain = Domain.from_categories({"age": years, "race": TABLES_BY_RACE, "sex": SEXES, "zip": zips})
        return Population.from_dense(domain, ages.transpose(3, 1, 2, 0), name=at.name, source=self.source)


def _read_table(path: Path, table: str, logrecno: pd.Series[str]) -> Integers:
    """Return a table's people by ZCTA, sex and age, shape (n_zctas, 2, 103).

    They are 0 for a ZCTA without a line. Ages are 0 to 99, 100-104, 105-109, and 110 and over. Sexes are male and
    female. `table` is the name of the table in messages, and `logrecno` the logical record number of each ZCTA.

    Raises
    ------
    InputError
        If the file cannot be read, has another number of fields, or its cells do not add up to the totals.
    """
    frame = read_table(path, header=False, encoding="latin-1")
    n, expected = len(frame.columns), f"{_FIELDS} fields, the last from table {table}"
    refuse_first((n != _FIELDS, "the file has another table", None, f"{n} fields", expected), source=path)
    # Segments also have lines for tracts, places and other areas.
    lines = frame.set_index(_LINKING_FIELDS - 1).reindex(logrecno, fill_value="0").rename(columns=str)
    cells = np.column_stack([numbers(lines, str(column), path) for column in range(_LINKING_FIELDS, _FIELDS)])
    by_sex = cells[:, 1:].reshape(len(lines), len(SEXES), 1 + _AGES)
    totals, ages = by_sex[:, :, 0], by_sex[:, :, 1:]
    wrong = (cells[:, 0] != totals.sum(axis=1)) | (totals != ages.sum(axis=2)).any(axis=1)
    where, expected = f"LOGRECNO {logrecno[wrong.argmax()]}, {table}", "total = male + female, each the sum of its ages"
    refuse_first((wrong.any(), "cells do not sum to the totals", where, None, expected), source=path)
    return ages.astype(np.int64)


def _single_years(by_race: Integers, tail: Tail, oldest: int) -> Integers:
    """Return people by single year of age, shape (n, 5, 2, oldest + 1).

    `by_race`, shape (n, 5, 2, 103), has people by ZCTA, race, sex and age, with the ages of `_read_table`. Its last
    three ages (100-104, 105-109, 110 and over) are distributed over single years, in whole people, with the weights of
    `tail` counted from age 90.
    """
    parts = [by_race[..., :_SINGLE_AGES]]
    for group, (start, end) in enumerate(zip(_GROUPED_AGES, (*_GROUPED_AGES[1:], oldest + 1), strict=True)):
        people = by_race[..., _SINGLE_AGES + group]
        # Weights from a later year on equal the weights of a steeper tail whose first weight is 1, without underflow.
        steeper = Tail(linear=tail.linear + 2 * tail.quadratic * (start - _TAIL_AGE), quadratic=tail.quadratic)
        spread = largest_remainders(people.ravel().astype(np.float64), tail_weights(steeper, end - start)[None, :])
        parts.append(spread.reshape(*people.shape, end - start))
    return np.concatenate(parts, axis=-1)


# Voter registration file of North Carolina.

# Names of the column with the age at the end of the year: since 9 February 2022, and before.
AGE_COLUMNS = ("age_at_year_end", "birth_age")

# Codes in the file and the corresponding census terms.
RACE_OF_CODE = {"W": "White", "B": "Black", "I": "AIAN", "A": "API", "P": "API", "O": "Other", "M": "Other"}
SEX_OF_CODE = {"M": "Male", "F": "Female"}
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

# Number of bytes of a voter file to read at a time.
BLOCK_SIZE = 1 << 24


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
        """Return the voters of North Carolina by age, race, sex and ZIP code.

        They are counted in the registration file. Only voters with all four values are kept, like the records without
        missing values in Xia et al. 2015 (section 6.1). Memory is needed for one block of the file and a few bytes per
        voter. The file is ``ncvoter_Statewide.txt`` or a county's ``ncvoterNN.txt``, in the layout from 12 February
        2022 or the previous layout: tab separated, latin-1, with a header line. Quotes and white space around a value
        are dropped; quotes inside a value and backslashes have no special meaning. Removed voters (status R, or address
        ``REMOVED``) are always left out.

        Returns
        -------
        Population
            Population over age, race, sex and zip, with counts of dtype int64. Categories are those of the recipe's
            ``population``; without one, ages 0 to 120; White, Black, AIAN, API, Other; Male, Female; the ZIP codes that
            occur. Its source reports the number of rows left out by reason. A row counts under the first reason that
            applies: "status removed" or "status not kept"; then, for age, race, sex and zip in this order, "missing"
            (blank, undesignated, or an age that denotes unknown), "implausible" (an age above 120) or "unreadable" (not
            in the documented form); then, for rows with all four values, the first value that is "not in the
            population".

        Raises
        ------
        InputError
            If the file cannot be read, has no rows, lacks a column or has it twice, or has a line with more or fewer
            fields than its header (the message names the line); if no voter is kept; or if the population lacks an
            attribute.

        Notes
        -----
        Layout: ``layout_ncvoter.txt`` of the North Carolina State Board of Elections (11 February 2022). Asian and
        Pacific Islander are combined into one race (API), as are other and two or more races (Other). ZIP codes with
        nine digits are truncated to five.
        """
        # Only the categories of this population are used, so a sample suffices even for expected counts.
        within = None if self.population is None else at.cells(self.population, expected=False).domain
        path = at.folder / self.file
        rows = _distinct_rows(path)
        age, race, sex, zip_code = rows["age"], rows["race"], rows["sex"], rows["zip"]
        # More than nine digits could not be an unknown age either.
        years = pd.to_numeric(age.where(age.str.fullmatch("[0-9]{1,9}")))
        # The first reason that applies to a row is reported.
        reasons: dict[str, pd.Series[bool]] = {
            "status removed": rows["status"].eq("R") | rows["address"].eq(_REMOVED),
            "status not kept": ~rows["status"].isin(self.statuses),
            "age missing": age.eq("") | years.isin(self.ages_missing),
            "age implausible": years > _OLDEST,
            "age unreadable": years.isna(),
            "race missing": race.isin(["", _UNDESIGNATED]),
            "race unreadable": ~race.isin(list(RACE_OF_CODE)),
            "sex missing": sex.isin(["", _UNDESIGNATED]),
            "sex unreadable": ~sex.isin(list(SEX_OF_CODE)),
            "zip missing": zip_code.eq(""),
            "zip unreadable": ~zip_code.str.fullmatch("[0-9]{5}([0-9]{4})?"),
        }
        ages = years.fillna(0).astype(np.int64).astype("str")
        people = pd.DataFrame(
            {"age": ages, "race": race.map(RACE_OF_CODE), "sex": sex.map(SEX_OF_CODE), "zip": zip_code.str[:5]}
        )
        if within is not None:
            for attribute in ("age", "race", "sex", "zip"):
                reasons[f"{attribute} not in the population"] = ~people[attribute].isin(within[attribute].categories)
        reason = np.select(list(reasons.values()), list(reasons), "")
        left_out = Counter(rows["count"][reason != ""].groupby(reason[reason != ""]).sum().to_dict())
        people, counts = people[reason == ""], rows["count"][reason == ""].to_numpy(dtype=np.int64)
        reported = ", ".join(f"{each} {count:,}" for each, count in left_out.most_common()) or "none"
        report = f"{counts.sum():,} of {rows['count'].sum():,} rows kept; rows left out: {reported}"
        refuse_first((not len(counts), f"the file has no usable row ({report})", None, None, None), source=path)
        races, zips = dict.fromkeys(RACE_OF_CODE.values()), sorted(people["zip"].unique())
        domain = Domain.from_categories(
            {"age": map(str, range(_OLDEST + 1)), "race": races, "sex": SEX_OF_CODE.values(), "zip": zips}
            if within is None
            else {name: within[name].categories for name in within.names if name in people}
        )
        source = f"{self.source} ({report})"
        return Population.from_records(domain, domain.encode(people), counts, name=at.name, source=source)


def _distinct_rows(path: Path) -> pd.DataFrame:
    """Return the distinct rows of the columns that are read, with their number.

    The result is a DataFrame of text with the columns ``status``, ``address``, ``race``, ``sex``, ``zip`` and ``age``,
    and the number of occurrences in ``count``. A row of one block can occur again for another block. An address is
    empty unless it contains `_REMOVED`. The file is read in blocks of whole lines.

    Raises
    ------
    InputError
        If the file does not exist, cannot be read, is empty or has no rows; if a column is missing or named twice; or
        if a line has another number of fields than the header.
    """
    require_no_device(path)
    refuse_first((not path.exists(), "no such file", None, None, None), source=path)
    with reading(path), path.open("rb") as file:
        line = file.readline().decode("latin-1")
        header = [name.strip().strip('"').strip() for name in line.split("\t")]
        age = next((column for column in AGE_COLUMNS if column in header), "")
        expected = f"{' or '.join(map(repr, AGE_COLUMNS))} among the columns {listed(header)}"
        refuse_first(
            (not line, "the file is empty", None, None, "a header line, then one line per voter"),
            (not age, "age column missing", "line 1", None, expected),
            source=path,
        )
        columns = {**_COLUMNS, age: "age"}
        require_columns(header, columns, path)
        require_distinct("column named twice", (n for n in header if n in columns), source=path, where="line 1")
        places = {header.index(column): name for column, name in columns.items()}
        blocks = []
        for block in _blocks(file, path, len(header)):
            # Quotes are read as ordinary characters; otherwise an unbalanced quote could join values or lines.
            frame = pd.read_csv(
                io.BytesIO(block),
                sep="\t",
                lineterminator="\n",
                quoting=csv.QUOTE_NONE,
                encoding="latin-1",
                header=None,
                usecols=list(places),
                dtype=str,
                na_filter=False,
            ).rename(columns=places)
            frame["address"] = frame["address"].where(frame["address"].str.contains(_REMOVED, regex=False), "")
            blocks.append(frame.value_counts(sort=False).reset_index())
    refuse_first((not blocks, "the file has no rows", None, None, "at least one row below the header"), source=path)
    rows: pd.DataFrame = pd.concat(blocks, ignore_index=True)
    for name in columns.values():
        rows[name] = rows[name].str.strip().str.strip('"').str.strip()
    return rows


def _blocks(file: BinaryIO, path: Path, n_fields: int) -> Iterator[bytes]:
    """Yield blocks of about `BLOCK_SIZE` bytes of the lines after the header.

    Blocks consist of whole lines; `path` is for messages.

    Raises
    ------
    InputError
        If a line does not have `n_fields` fields; the message names its number.
    """
    number, tab = 2, b"\t"
    while block := file.read(BLOCK_SIZE):
        lines = (block + file.readline()).removesuffix(b"\n").split(b"\n")
        wrong = next((place for place, line in enumerate(lines) if line.count(tab) + 1 != n_fields), None)
        if wrong is not None:
            raise InputError(
                "line with the wrong number of fields",
                source=path,
                where=f"line {number + wrong}",
                found=f"{lines[wrong].count(tab) + 1} fields",
                expected=f"{n_fields} fields, as in the header, separated by tabs",
            )
        number += len(lines)
        yield b"\n".join(lines)


VOTING_AGE = 18


# Attributes that a list may have in addition to the birth, and their columns in the bundled table.
_FLAGS = {"sex": "sex", "race": "race", "ethnicity": "ethnicity", "party": "party", "address": "name_and_address"}
_REGISTERED, _ADULTS = "registered_eavs2018", "vap_2020"


class Assumption(NamedTuple):
    """An assumed value of a fact that was not found or had no clear answer.

    Attributes
    ----------
    fact : str
        Name of the fact, such as ``"birth"`` or ``"registered_share"``.
    found : str
        Entry of the table of facts.
    value : str
        Assumed value; ``"average"`` for the average registered share of all states.
    reason : str
        Reason for the assumption.
    """

    fact: str
    found: str
    value: str
    reason: str


class ProfileOverrides(Section):
    """Values that replace facts of the state's profile.

    Attributes
    ----------
    birth
        information on the birth in the list: full date, year, age or none
    sex
        whether the list has this information
    race
        whether the list has this information
    ethnicity
        whether the list has this information
    party
        whether the list has this information
    address
        whether the list has this information
    registered_share
        probability that an adult is in the list
    """

    birth: Literal["full", "year", "age", "none"] | None = None
    sex: bool | None = None
    race: bool | None = None
    ethnicity: bool | None = None
    party: bool | None = None
    address: bool | None = None
    registered_share: Share | None = None

    def applied_to(self, profile: VoterProfile) -> VoterProfile:
        """Return a `VoterProfile` with these facts replaced.

        Keys that are not set keep the profile's facts. Replaced facts no longer count as assumptions of the table.
        """
        changes = {fact: None if value == "none" else value for fact, value in self if value is not None}
        kept = tuple(assumption for assumption in profile.assumptions if assumption.fact not in changes)
        return profile.model_copy(update={"assumptions": kept, **changes})


class VoterProfile(ProfileOverrides):
    """The profile of one state's voter list.

    Attributes
    ----------
    state
        name, such as "Tennessee"; the District of Columbia counts as a state
    abbreviation
        postal abbreviation, such as "TN"
    birth
        full date of birth, year of birth or age; None if the list has none of them
    registered_share
        probability that an adult is listed: number of people registered in 2018 divided by the number of people of
        voting age in 2020; an assumed value if the ratio is unknown or above 1
    price
        price in US dollars (EAC 2020)
    access
        people who may obtain the list, in the words of EAC 2020
    assumptions
        assumed facts, with the reasons
    """

    state: str
    abbreviation: str
    registered_share: float
    price: float
    access: str
    assumptions: tuple[Assumption, ...]


def voter_profile(state: str) -> VoterProfile:
    """Return the `VoterProfile` of a state, by name or postal abbreviation.

    It has the attributes of the state's voter list, its price, and the share of adults listed. `state` must be spelled
    exactly, such as ``"Tennessee"`` or ``"TN"``.

    Raises
    ------
    InputError
        If there is no such state; the message names the state with the most similar name.
    """
    profiles = voter_profiles()
    names = {**{profile.abbreviation: profile for profile in profiles.values()}, **profiles}
    if state not in names:
        expected = "one of the 50 states or the District of Columbia, by name or postal abbreviation"
        raise InputError("no such state", found=state, expected=expected, hint=nearest(state, names))
    return names[state]


@lru_cache(maxsize=1)
def voter_profiles() -> Mapping[str, VoterProfile]:
    """Return the `VoterProfile` of each state by name, as a read-only mapping.

    It has the 50 states and the District of Columbia, in alphabetical order.
    """
    figures = bundled_folder("populations") / "figures"
    table = read_table(figures / "voter-lists-by-state.csv.gz", comment="#")
    assumed = read_table(figures / "voter-lists-assumed.csv.gz", comment="#")
    instead: dict[Any, Any] = {(row.state, row.fact): (row.value, row.reason) for row in assumed.itertuples()}
    people = table[[_REGISTERED, _ADULTS]].apply(pd.to_numeric, errors="coerce")
    table["ratio"] = people[_REGISTERED] / people[_ADULTS]
    known = people.dropna().sum()
    average = float(known[_REGISTERED] / known[_ADULTS])
    profiles = {}
    for row in table.to_dict("records"):
        state, ratio = row["state"], row["ratio"]
        facts = {"birth": row["birth"], **{flag: row[column] for flag, column in _FLAGS.items()}}
        facts["registered_share"] = row[_REGISTERED] if np.isnan(ratio) else f"{ratio:.4f}"
        found = [(fact, value, *instead[state, fact]) for fact, value in facts.items() if (state, fact) in instead]
        facts |= {"registered_share": ratio} | {fact: value for fact, _, value, _ in found}
        share = facts["registered_share"]
        profiles[state] = VoterProfile(
            state=state,
            abbreviation=row["abbr"],
            birth=None if facts["birth"] == "none" else facts["birth"],
            **{flag: facts[flag] == "yes" for flag in _FLAGS},
            price=float(row["price_usd_eac2020"]),
            access=row["access_eac2020"],
            registered_share=average if share == "average" else float(share),
            assumptions=tuple(Assumption(*each) for each in found),
        )
    return MappingProxyType(profiles)


class ListedAttributes(Section):
    """The population's attributes that a voter list may contain.

    Attributes
    ----------
    age
        attribute of the population with this information
    year_of_birth
        attribute of the population with this information
    sex
        attribute of the population with this information
    race
        attribute of the population with this information
    ethnicity
        attribute of the population with this information
    party
        attribute of the population with this information
    address
        attributes of the population that the address reveals, such as the ZIP code
    state
        attribute of the population with this information
    """

    age: str | None = None
    year_of_birth: str | None = None
    sex: str | None = None
    race: str | None = None
    ethnicity: str | None = None
    party: str | None = None
    address: tuple[str, ...] = ()
    state: str | None = None

    _one_birth = exactly_one("age", "year_of_birth", problem="the age is missing or given twice")

    def carried(self, profile: VoterProfile | None = None) -> tuple[str, ...]:
        """Return the names of the population's attributes that a state's list contains.

        They are in the order of the keys of this section. Without a profile, these are all attributes that the section
        names. The attribute with the state is included, because every list is about one state.
        """
        carried: list[str] = []
        for key, value in self:
            fact = "birth" if key in ("age", "year_of_birth") else key
            if value is not None and (profile is None or getattr(profile, fact)):
                carried += (value,) if isinstance(value, str) else value
        return tuple(carried)


class VoterListRecipe(RecipeHead):
    """Recipe of a state's voter list.

    The list has registered adults, with the attributes that the state's list contains. Exactly one of
    ``attributes.age`` and ``attributes.year_of_birth`` is required. An attribute that is not named in ``attributes`` is
    not in the list.

    Attributes
    ----------
    kind
        kind of recipe
    population
        population from which voters are drawn
    state
        name or postal abbreviation of the state
    seed
        seed of the random draw
    reference_year
        year of the list; needed with `attributes.year_of_birth`
    attributes
        attributes of the population that the list may have
    overrides
        values that replace facts of the state's profile
    coverage
        share of adults in the list: one number, or tables by attribute, which are multiplied; replaces the state's
        share
    """

    kind: Literal["voter-list"]
    population: str
    state: str
    seed: Seed
    reference_year: int | None = None
    attributes: ListedAttributes
    overrides: ProfileOverrides = ProfileOverrides()
    coverage: Coverage | None = None

    @model_validator(mode="after")
    def _has_year_of_list(self) -> VoterListRecipe:
        lacks = self.attributes.year_of_birth is not None and self.reference_year is None
        return self.unless((lacks, "key missing", "reference_year", "the year of the list"))

    def make(self, at: Making) -> Population:
        """Return the voter list of a state, drawn from the population.

        For `at` see `Making`. Each adult of the state is listed independently, with probability equal to the state's
        registered share or to the share of the adult's group. The draw is independent of a population that was drawn
        with the same seed.

        Returns
        -------
        Population
            Population over the attributes of the state's list, in the order of the population.

        Raises
        ------
        InputError
            If the state is unknown, the population lacks an attribute, the list would have no attribute or no people,
            or a draw is requested from a population with expected counts.
        """
        population = at.cells(self.population)
        with locating(where="state"):
            profile = self.overrides.applied_to(voter_profile(self.state))
        require_among("no such attribute", self.attributes.carried(), population.domain.names, where="attributes")
        adults = self._adults(population, profile.state)
        cells, counts = population.cells[adults], population.counts[adults]
        shares: float | Floats = profile.registered_share
        if self.coverage is not None:
            people = Individuals(population.domain, cells)
            shares = listing_chances(self.coverage, {}, people.n_people, coded_in(people))
        if at.expected:
            drawn = counts * shares
        else:
            whole = population.whole_counts("a voter list cannot be drawn from expected counts")[adults]
            drawn = draw_binomial(at.rng(self.kind), whole, shares)
        carried = self.attributes.carried(profile)
        problem, expected = "the voter list has no attribute", "a state whose list has an attribute of the population"
        refuse_first((not carried, f"{problem} of the population", "state", profile.state, expected))
        origin = [self.source, f"voter list of {profile.state}", f"${profile.price:,.0f} ({profile.access})"]
        origin += [f"{a.fact} assumed to be {a.value}: {a.reason}" for a in profile.assumptions]
        some, source = drawn > 0, "; ".join(filter(None, origin))
        voters = Population(population.domain, cells[some], drawn[some], name=at.name, source=source)
        return voters.marginal([attribute for attribute in population.domain.names if attribute in carried])

    def _adults(self, population: Population, state: str) -> NDArray[np.bool_]:
        """Return the mask of the population's cells with adults of a state, (n_cells,).

        `state` is the state's name. Adults are people of age 18 or older. People whose year of birth is known are of
        voting age if they turn 18 by the end of the reference year. If the population has no attribute for the state,
        all people count as people of the state.

        Raises
        ------
        InputError
            If an age or year of birth is not a whole number of 0 or more, or the state is not in the population.
        """
        names = self.attributes
        birth = population.domain[names.age or cast("str", names.year_of_birth)]
        years = [whole_number(category) for category in birth.categories]
        wrong = [category for category, year in zip(birth.categories, years, strict=True) if year is None or year < 0]
        problem = "not a whole number, so adults cannot be identified"
        refuse_first(*((True, problem, f"attribute {birth.name!r}", category, None) for category in wrong))
        ages = np.array(years) if names.age else cast("int", self.reference_year) - np.array(years)
        adults = (ages >= VOTING_AGE)[population.cells[:, population.domain.position(birth.name)]]
        if names.state is not None:
            states, position = population.domain[names.state].categories, population.domain.position(names.state)
            problem = f"state missing from population {population.name!r}"
            require_among(problem, (state,), states, where=f"attribute {names.state!r}")
            adults &= population.cells[:, position] == states.index(state)
        return np.asarray(adults)
