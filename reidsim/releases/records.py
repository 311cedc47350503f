"""Records to be shared, as read from a file or table, and released tables: classes and values of their cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.release import ColumnReader, Positions, denotes_numbers, is_all_numbers
from reidsim.core.errors import InputError, listed, refuse_rows
from reidsim.core.numerics import compiled
from reidsim.core.tables import coded, read_table, require_columns
from reidsim.populations.population import UNKNOWN, Codes, Individuals, Population, complete_records
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, whole_numbers
from reidsim.releases.lattice import Floats, GeneralizationLattice, Strategies

if TYPE_CHECKING:
    # Avoids a circular import through the models of noise, which import this module.
    from reidsim.releases.perturbation import PerturbationSpace

Members = NDArray[np.bool_]

# Notations of suppressed cells in files of other programs, in addition to a star.
_MISSING = ("", "NA")
_SET = re.compile(r"\{(.*)\}", re.DOTALL)

# Columns of the UCI Adult files.
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
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
    labels: Mapping[str, Callable[[str], str]],
    source: str | Path,
) -> pd.DataFrame:
    """Return the columns of the quasi-identifiers, with the domain's labels, as categorical columns of text.

    Columns have the names of the attributes, and rows are those of `frame`.

    Parameters
    ----------
    frame : DataFrame
        Table of text; spaces around values are ignored.
    columns : mapping of str to str
        Column of each attribute in `frame`.
    labels : mapping of str to callable
        For some attributes, a function that returns the label of a value; values of the others keep their text.
    source : str or Path
        Name of the table in messages.

    Raises
    ------
    InputError
        If a column is missing; or if a value cannot be read, with the first row (from 1) that has it.
    """
    chosen = {}
    require_columns(frame, columns.values(), source)
    for attribute, column in columns.items():
        (codes, texts), label_of, found = coded(frame[column]), labels.get(attribute, str), list[str]()
        for value in texts:
            try:
                found.append(label_of(value))
            except InputError as error:
                row = frame.index[(codes == len(found)).argmax()] + 1
                raise error.located(source, f"row {row}, column {column!r}") from None
        number, distinct = pd.factorize(pd.Index(found, dtype="str"))
        number = number.astype(codes.dtype)
        chosen[attribute] = pd.Categorical.from_codes(number[codes], distinct)
    return pd.DataFrame(chosen, index=frame.index)


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
    reaches_top = np.array(whole_numbers(population.domain[attribute], population.domain[attribute].categories)) >= top
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


def released_table(
    space: GeneralizationLattice | PerturbationSpace, strategies: Strategies, cell_of_record: NDArray[np.intp]
) -> pd.DataFrame:
    """Return the released quasi-identifiers as labels, in the order of the records.

    Parameters
    ----------
    space : GeneralizationLattice or PerturbationSpace
        Strategies of the distinct cells (combinations of values).
    strategies : ndarray of int64, shape (n_records,)
        Node of each record, -1 if it is suppressed. Under full-domain generalization, all released records have the
        same node.
    cell_of_record : ndarray of int, shape (n_records,)
        Row of the space with the values of each record.

    Returns
    -------
    DataFrame
        One row per record and one categorical column per attribute; suppressed records have ``*`` in every column.
    """
    labels = space.released(strategies, cell_of_record)
    for name, column in labels.items():
        categories = column.cat.categories.union([SUPPRESSED], sort=False)
        labels[name] = column.cat.set_categories(categories).fillna(SUPPRESSED)
    return labels


def released_class_sizes(released: pd.DataFrame, person: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
    """Return the size of each record's equivalence class in a released table.

    Parameters
    ----------
    released : DataFrame
        Labels; a record with ``*`` in every column is suppressed. (A record kept at a top node of ``*`` alone looks the
        same, and has no utility either, unless attributes are excluded from the information loss.)
    person : ndarray of int, shape (n_records,), optional
        Person of each record; the size of a class is the number of different people in it. Default: each record is
        another person.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Number of records, or people, with the same labels; 0 for suppressed records.
    """
    labels = released.astype("str")
    shared = ~(labels == SUPPRESSED).all(axis=1).to_numpy()
    people = pd.Series(np.arange(len(labels)) if person is None else person, index=labels.index)
    sizes = people.groupby([labels[name] for name in labels], sort=False, observed=True).transform("nunique")
    return np.where(shared, sizes, 0).astype(np.int64)


class CellReader:
    """Reader of the cells of a column of a released file.

    A cell can be a value or a label of the scenario's hierarchy, ``*``, an interval in the notation of ARX, sdcMicro or
    this package (``[20, 30[``, ``[20,30)``, ``(20,30]``, ``20-29``, ``>=90``, ``90+``), a set (``{a, b}``), or a value
    with masked characters (``372**``). A label that several groups share denotes the values of all these groups.

    Parameters
    ----------
    hierarchy : Hierarchy
        Hierarchy of the column's attribute.
    label : callable, optional
        Function that returns the category for a value as it is written in files.
    """

    def __init__(self, hierarchy: Hierarchy, label: Callable[[str], str] = str) -> None:
        self._categories, self._label = hierarchy.attribute.categories, label
        levels = zip(hierarchy.groups.tolist(), hierarchy.labels, strict=True)
        labels = [[labels[group] for group in groups] for groups, labels in levels]
        self._reader = ColumnReader(self._categories, list(zip(*labels, strict=True)))
        self._read: dict[str, Members | None] = {}

    def read(self, text: str) -> Members | None:
        """Return whether a cell may denote each category, shape (n_categories,), or None.

        Spaces around the text are ignored. The result is None if the cell cannot be read or no category fits. A
        suppressed cell may denote any category: stars only, or empty or ``NA`` if this is no label of the hierarchy.
        """
        text = text.strip()
        if text not in self._read:
            members = np.zeros(len(self._categories), dtype=np.bool_)
            members[self._positions(text)] = True
            self._read[text] = members if members.any() else None
        return self._read[text]

    def unknown(self, text: str) -> list[str]:
        """Return the elements of a set that cannot be read; the result is empty for other cells.

        In a column of numbers, an element may be a number or an interval that no category fits.
        """
        elements = [element for element in _elements(text) if self.read(element) is None]
        return [each for each in elements if not (denotes_numbers(each) and is_all_numbers(self._categories))]

    def _positions(self, text: str) -> Positions:
        spellings = text, self._label(text)
        named = next((name for name in spellings if name in self._reader.labels), None)
        if set(text) == {SUPPRESSED} or (named is None and not {*spellings}.isdisjoint(_MISSING)):
            return np.arange(len(self._categories))
        if named is not None:
            return self._reader.labels[named]
        if _SET.fullmatch(text):
            readable = [members for members in map(self.read, _elements(text)) if members is not None]
            # An element that cannot be read could denote any value, so the whole set counts as not readable.
            return np.arange(0) if self.unknown(text) or not readable else np.flatnonzero(np.any(readable, axis=0))
        fitting = self._reader.fitting(text)
        start = text.rstrip(SUPPRESSED)
        if not len(fitting) and start != text and SUPPRESSED not in start:
            # The number of stars at the end may exceed the number of masked characters.
            fitting = np.flatnonzero([category.startswith(start) for category in self._categories])
        return fitting


def _elements(text: str) -> list[str]:
    found = _SET.fullmatch(text.strip())
    return [element.strip() for element in re.split(r"[,;]", found[1])] if found else []


def k_anonymous_cells(values: NDArray[np.int64], k: int = 2, weights: Floats | None = None) -> NDArray[np.bool_]:
    """Return the cells to share so that every record equals at least k - 1 others.

    Records are put in clusters of k or a few more; within a cluster the attributes in which its records differ are
    suppressed. Each cluster starts from the first record left and adds, one by one, the record that adds the least
    weight of suppressed cells, the earlier one among equals. If fewer than k records are left over, each joins the
    cluster where it adds least. The smallest suppression is hard to find (NP-hard from k = 3); this is a heuristic.
    Time grows with the square of the number of records.

    Parameters
    ----------
    values : ndarray of int, shape (n, n_attributes)
        Values of the records, as codes; only equality counts.
    k : int
        Minimum number of equal records, 1 or more.
    weights : ndarray of float64, shape (n_attributes,), optional
        Weight of a suppressed cell of each attribute; 1 by default.

    Returns
    -------
    ndarray of bool, shape (n, n_attributes)
        True for cells that are shared, False for suppressed cells.
    """
    worth = np.ones(values.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    same, cluster_of = _clusters(np.ascontiguousarray(values, dtype=np.int64), k, worth)
    return np.asarray(same[cluster_of])


@compiled()
def _clusters(values: NDArray[np.int64], k: int, weights: Floats) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the agreement of each cluster's records, and the cluster of each record.

    The first array has shape (n, n_attributes), one row per cluster number: whether all records of the cluster have the
    same value in each attribute (true for unused numbers). The second has shape (n,). For the arguments and the method
    see `k_anonymous_cells`.
    """
    n, n_attributes = values.shape
    cluster_of, left = np.full(n, -1), np.arange(n)
    # First record and size of each cluster, and the attributes in which its records agree.
    seeds, sizes, same = np.empty(n, np.int64), np.zeros(n, np.int64), np.ones((n, n_attributes), np.bool_)
    n_clusters = 0
    while len(left) >= k:
        seeds[n_clusters] = left[0]
        for _ in range(k):
            nearest, least = left[0], np.inf
            for row in left:
                added = _added(values, row, left[0], weights, same[n_clusters], sizes[n_clusters])
                if added < least and cluster_of[row] < 0:
                    nearest, least = row, added
            same[n_clusters] &= values[nearest] == values[left[0]]
            sizes[n_clusters] += 1
            cluster_of[nearest] = n_clusters
        left = left[cluster_of[left] < 0]
        n_clusters += 1
    for row in left:
        least = np.inf
        for number in range(n_clusters):
            added = _added(values, row, seeds[number], weights, same[number], sizes[number])
            if added < least:
                cluster_of[row], least = number, added
        same[cluster_of[row]] &= values[row] == values[seeds[cluster_of[row]]]
        sizes[cluster_of[row]] += 1
    return same, cluster_of


@compiled()
def _added(
    values: NDArray[np.int64], row: Any, seed: Any, weights: Floats, same: NDArray[np.bool_], size: Any
) -> float:
    """Return the weight of the cells newly suppressed if a record joins a cluster.

    The cluster has `size` records and the first record `seed`; its records agree in the attributes `same`.
    """
    added = 0.0
    for j in range(len(weights)):
        if not same[j]:
            added += weights[j]
        elif values[row, j] != values[seed, j]:
            added += weights[j] * (size + 1)
    return added
