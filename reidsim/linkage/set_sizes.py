"""How many people fit records that are released as sets of values, whatever hierarchies the sets are from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.linkage.people import distinct_people
from reidsim.populations.population import Population
from reidsim.releases.cell_sets import Members
from reidsim.releases.strategy_space import Floats


def people_fitting(
    population: Population, names: Sequence[str], sets: Sequence[Sequence[Members]], rows: NDArray[np.int64]
) -> Floats:
    """Count the people whose values are in the sets of each row; who has several records, by any of them, once.

    Parameters
    ----------
    population : Population
        Has these attributes.
    names : sequence of str
    sets : sequence of sequences of ndarray of bool, shape (n_values,)
        Per attribute, sets of its values.
    rows : ndarray of int64, shape (n_rows, n_attributes)
        Which set each row has in each attribute.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
    """
    people = population.marginal(tuple(names))
    cells = np.array(people.cells, dtype=np.int64)
    inside = []
    for position, members in enumerate(sets):
        # Values that are in the same sets need not be told apart.
        table = np.stack(members, axis=1)
        signatures, code = np.unique(table, axis=0, return_inverse=True)
        cells[:, position] = code.ravel()[cells[:, position]]
        inside.append(signatures)
    cells, place = np.unique(cells, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=people.counts.astype(np.float64), minlength=len(cells))
    several = distinct_people(people)
    onto = None if several is None else several.onto(place.ravel())
    distinct, row = np.unique(rows, axis=0, return_inverse=True)
    sizes = np.zeros(len(distinct))

    def count(first: int, last: int, position: int, fitting: NDArray[np.intp]) -> None:
        """Count for the distinct rows from `first` on, which agree in the attributes before `position`."""
        if position == len(sets):
            if onto is None:
                sizes[first] = counts[fitting].sum()
            else:
                others = np.ones(len(cells), dtype=np.int64)
                others[fitting] = 0
                sizes[first] = onto.in_classes(others, 2)[0]
            return
        column = distinct[first:last, position]
        starts = [*np.flatnonzero(np.diff(column, prepend=-1)).tolist(), last - first]
        for begin, end in itertools.pairwise(starts):
            fits = inside[position][cells[fitting, position], column[begin]]
            count(first + begin, first + end, position + 1, fitting[fits])

    if len(distinct):
        count(0, len(distinct), 0, np.arange(len(cells)))
    return sizes[row.ravel()]
