"""Labels of the records of a release, from a file or a table of counts.

The module also redraws top-coded values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.errors import InputError
from reidsim.populations.domain import Codes
from reidsim.populations.individuals import Individuals
from reidsim.populations.population import Population
from reidsim.populations.sampling import UNKNOWN, complete_records
from reidsim.releases.hierarchy_rules import whole_numbers
from reidsim.tables import require_columns


def records_of(table: Population) -> pd.DataFrame:
    """Return a table of labels with one row per person of a population.

    Rows are in the order of its cells.
    """
    return Individuals.of(table).to_frame().astype("str")


def select_columns(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    values: Mapping[str, Mapping[str, str]],
    source: str | Path,
    readings: Mapping[str, Callable[[str], str]] | None = None,
) -> pd.DataFrame:
    """Return the columns of the quasi-identifiers, with the domain's labels.

    Columns are renamed to the attributes.

    Parameters
    ----------
    frame : DataFrame
    columns : mapping of str to str
        Column name of each attribute.
    values : mapping of str to mapping of str to str
        Labels that replace values, by attribute; other values are unchanged.
    source : str or Path
        Path of the file, for messages.
    readings : mapping of str to callable, optional
        Function that converts a value to its label, by attribute; attributes without a function are not converted.

    Raises
    ------
    InputError
        If a column is missing, or a value cannot be read.
    """
    chosen = {}
    require_columns(frame, columns.values(), source)
    for attribute, column in columns.items():
        labels = frame[column].str.strip()
        if readings and attribute in readings:
            labels = read_labels(labels, readings[attribute], source, column)
        renamed = values.get(attribute)
        chosen[attribute] = read_labels(labels, partial(_renamed, renamed), source, column) if renamed else labels
    return pd.DataFrame(chosen)


def _renamed(names: Mapping[str, str], value: str) -> str:
    return names.get(value, value)


def read_labels(
    values: pd.Series[str], reading: Callable[[str], str], source: str | Path, column: str
) -> pd.Series[str]:
    """Return the label of each value of a column.

    Raises
    ------
    InputError
        At the first value that cannot be read; the message names the file, row and column.
    """
    labels = {}
    for value in values.unique():
        try:
            labels[value] = reading(value)
        except InputError as error:
            row = int(values.eq(value).to_numpy().argmax()) + 1
            raise error.located(source, f"row {row}, column {column!r}") from None
    return values.map(labels).astype("str")


def redraw_top_code(population: Population, codes: Codes, attribute: str, top: int, rng: np.random.Generator) -> Codes:
    """Redraw top-coded values from people at or above the top code.

    These people have the same other known attributes.

    Parameters
    ----------
    population : Population
    codes : ndarray of int32, shape (n_records, n_attributes)
        Codes over the population's domain; ``UNKNOWN`` values stay unknown.
    attribute : str
        Attribute with integer values, such as age in years.
    top : int
        Values of `top` and more are redrawn.
    rng : numpy.random.Generator
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
