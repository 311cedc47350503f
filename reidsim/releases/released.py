"""Released tables: labels, equivalence classes, and the values that a cell may stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.audit.notation import ColumnReader, Positions
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Strategies

Members = NDArray[np.bool_]

# Notations of suppressed cells in files of other programs, in addition to a star.
_MISSING = ("", "NA")
_SET = re.compile(r"\{(.*)\}", re.DOTALL)


def released_table(
    lattice: GeneralizationLattice, strategies: Strategies, cell_of_record: NDArray[np.intp]
) -> pd.DataFrame:
    """Return the released quasi-identifiers as labels, in the order of the records.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice over the distinct cells (combinations of values).
    strategies : ndarray of int64, shape (n_records,)
        Node of each record, -1 if it is suppressed. Under full-domain generalization, all released records have the
        same node.
    cell_of_record : ndarray of int, shape (n_records,)
        Row of the lattice with the values of each record.

    Returns
    -------
    DataFrame
        One row per record and one categorical column per attribute; suppressed records have ``*`` in every column.
    """
    labels = lattice.released(strategies, cell_of_record)
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
    columns = list(labels.columns)
    groups = labels.groupby(columns, sort=False, observed=True)[columns[0]]
    if person is None:
        sizes = groups.transform("size").to_numpy()
    else:
        number = groups.ngroup().to_numpy()
        sizes = np.bincount(np.unique(np.column_stack([number, person]), axis=0)[:, 0])[number]
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
    renamed : mapping of str to str, optional
        Category that a value in files denotes, by value in files.
    """

    def __init__(self, hierarchy: Hierarchy, renamed: Mapping[str, str] | None = None) -> None:
        self._categories, self._renamed = hierarchy.attribute.categories, dict(renamed or {})
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

    def _positions(self, text: str) -> Positions:
        named = next((name for name in (text, self._renamed.get(text)) if name in self._reader.labels), None)
        if set(text) == {SUPPRESSED} or (named is None and text in _MISSING):
            return np.arange(len(self._categories))
        if named is not None:
            return self._reader.labels[named]
        if found := _SET.fullmatch(text):
            elements = [self.read(element) for element in re.split(r"[,;]", found[1])]
            readable = [members for members in elements if members is not None]
            # An element that cannot be read could denote any value, so the whole set counts as not readable.
            return np.flatnonzero(np.any(readable, axis=0)) if len(readable) == len(elements) else np.arange(0)
        fitting = self._reader.fitting(text)
        start = text.rstrip(SUPPRESSED)
        if not len(fitting) and start != text and SUPPRESSED not in start:
            # The number of stars at the end may exceed the number of masked characters.
            fitting = np.flatnonzero([category.startswith(start) for category in self._categories])
        return fitting
