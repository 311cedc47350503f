"""Released tables and their equivalence classes.

Each record has a strategy.
"""

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
        Lattice over the distinct cells.
    strategies : ndarray of int64, shape (n_records,)
        Node of each record; -1 if the record is suppressed. Under full-domain generalization, all released records have
        the same node.
    cell_of_record : ndarray of int, shape (n_records,)
        Cell of each record.

    Returns
    -------
    DataFrame
        One categorical column per attribute; suppressed records have ``*`` in every column.
    """
    labels = lattice.released(strategies, cell_of_record)
    for name in labels.columns:
        column = labels[name].cat
        known = labels[name] if SUPPRESSED in column.categories else column.add_categories([SUPPRESSED])
        labels[name] = known.fillna(SUPPRESSED)
    return labels


def released_class_sizes(released: pd.DataFrame, person: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
    """Return the size of each record's equivalence class in a released table.

    The result is 0 for suppressed records.

    Parameters
    ----------
    released : DataFrame
        Released labels; a row in which every label is ``*`` counts as suppressed. (A record released at the top node
        looks the same, and has no utility either, unless attributes are excluded from the information loss.)
    person : ndarray of int, shape (n_records,), optional
        Person of each record; the size of a class is the number of different people in it. Default: each record is
        another person.

    Returns
    -------
    ndarray of int64, shape (n_records,)
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
    """Return each attribute's lowest level at or above the levels of strategies.

    `strategies` has shape (n,).
    """
    return tuple(int(level) for level in lattice.all_levels(strategies).max(axis=0))
