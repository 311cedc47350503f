"""Released tables with suppressed records, and their equivalence classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Strategies


def released_table(
    lattice: GeneralizationLattice, strategies: Strategies, cell_of_record: NDArray[np.intp]
) -> pd.DataFrame:
    """Return the released quasi-identifiers, in the order of the records.

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
    for name in labels.columns:
        column = labels[name].cat
        known = labels[name] if SUPPRESSED in column.categories else column.add_categories([SUPPRESSED])
        labels[name] = known.fillna(SUPPRESSED)
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


def common_levels(lattice: GeneralizationLattice, strategies: Strategies) -> tuple[int, ...]:
    """Return the lowest level of each attribute that generalizes all strategies (n,)."""
    return tuple(int(level) for level in lattice.all_levels(strategies).max(axis=0))
