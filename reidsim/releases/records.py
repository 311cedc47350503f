"""Records to be shared: labels from a file or table, values above a top code, UCI Adult."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.core.errors import InputError, listed, refuse_rows
from reidsim.core.tables import read_table, require_columns
from reidsim.populations.population import UNKNOWN, Codes, Individuals, Population, complete_records
from reidsim.releases.hierarchy import whole_numbers

# Columns of the UCI Adult files.
COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)

# Label of each race of the file, in census terms: Asian and Pacific Islander are one race, as in the file.
RACES = {
    "White": "White",
    "Black": "Black",
    "Amer-Indian-Eskimo": "AIAN",
    "Asian-Pac-Islander": "API",
    "Other": "Other",
}


def records_of(table: Population) -> pd.DataFrame:
    """Return one row of labels per person of a population, as a DataFrame.

    It holds text and has one column per attribute. Rows are in the order of the population's cells (combinations of
    values).

    Raises
    ------
    InputError
        If a number of people is not whole, or the rows do not fit into memory.
    """
    return Individuals.from_population(table).to_frame().astype("str")


def select_columns(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    values: Mapping[str, Mapping[str, str]],
    source: str | Path,
    readings: Mapping[str, Callable[[str], str]] | None = None,
) -> pd.DataFrame:
    """Return the columns of the quasi-identifiers, with the domain's labels.

    Columns have the names of the attributes, and rows are those of `frame`.

    Parameters
    ----------
    frame : DataFrame
        Table of text; spaces around values are ignored.
    columns : mapping of str to str
        Column of each attribute in `frame`.
    values : mapping of str to mapping of str to str
        For some attributes, the label of each value; other values keep their text. Applied after `readings`.
    source : str or Path
        Name of the table in messages.
    readings : mapping of str to callable, optional
        For some attributes, a function that returns the text as which a value is read.

    Raises
    ------
    InputError
        If a column is missing; or if a value cannot be read, with the first row (from 1) that has it.
    """
    chosen = {}
    require_columns(frame, columns.values(), source)
    for attribute, column in columns.items():
        labels, names, label_of = frame[column].str.strip(), values.get(attribute, {}), dict[str, str]()
        reading = (readings or {}).get(attribute, str)
        for value in labels.unique():
            try:
                read = reading(value)
            except InputError as error:
                row = int(labels.eq(value).to_numpy().argmax()) + 1
                raise error.located(source, f"row {row}, column {column!r}") from None
            label_of[value] = names.get(read, read)
        chosen[attribute] = labels.map(label_of).astype("str")
    return pd.DataFrame(chosen)


def redraw_top_code(population: Population, codes: Codes, attribute: str, top: int, rng: np.random.Generator) -> Codes:
    """Redraw values at or above a top code from people of a population.

    A value is drawn from the people with a value of `top` or more who agree with the record in the other known
    attributes.

    Parameters
    ----------
    population : Population
        People whose values are drawn, with probability proportional to the people in a cell.
    codes : ndarray of int32, shape (n_records, n_attributes)
        Values of the records over the population's domain; ``UNKNOWN`` (-1) values stay unknown.
    attribute : str
        Attribute with whole numbers as categories, such as ages in years.
    top : int
        Values of `top` and more are redrawn.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    ndarray of int32, shape (n_records, n_attributes)
        Copy of `codes` with the values redrawn; `codes` itself if there is no value of `top` or more.

    Raises
    ------
    InputError
        If a category is not a whole number, or no such person agrees with a record.
    """
    position = population.domain.position(attribute)
    reaches_top = np.array(whole_numbers(population.domain.attributes[position])) >= top
    rows = np.flatnonzero((codes[:, position] != UNKNOWN) & reaches_top[codes[:, position]])
    if not len(rows):
        return codes
    blank = codes[rows].copy()
    blank[:, position] = UNKNOWN
    drawn = complete_records(population, blank, rng, among=reaches_top[population.cells[:, position]])
    redrawn = codes.copy()
    redrawn[rows, position] = drawn[:, position]
    return redrawn


def read_adult(path: Path) -> pd.DataFrame:
    """Return the records in ``adult.data`` or ``adult.test`` of UCI Adult.

    Parameters
    ----------
    path : Path
        Path of the file.

    Returns
    -------
    DataFrame
        The 15 columns (`COLUMNS`) as text, one row per record; races have the labels of `RACES`. Missing values stay
        ``?``; they occur only in work class, occupation and native country.

    Raises
    ------
    InputError
        If the file has another number of columns or another race.
    """
    # The first line of adult.test starts with a bar and is not a record.
    frame = read_table(path, header=False, comment="|")
    if frame.shape[1] != len(COLUMNS):
        found, expected = f"{frame.shape[1]} columns", f"{len(COLUMNS)} columns"
        raise InputError("not a file of the Adult data set", source=path, found=found, expected=expected)
    frame.columns = pd.Index(COLUMNS)
    race, problem, expected = frame["race"], "unknown race in the Adult data set", f"one of {listed(RACES)}"
    refuse_rows(~race.isin(RACES), problem, source=path, column="race", found=race, expected=expected)
    return frame.assign(race=race.map(RACES))
