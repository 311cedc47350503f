"""Group sizes of records released as sets of values.

The sets may come from any hierarchy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reidsim.linkage.people import distinct_people
from reidsim.populations.population import Population
from reidsim.releases.released import Members
from reidsim.releases.strategy_space import Floats


def people_fitting(
    population: Population, names: Sequence[str], sets: Sequence[Sequence[Members]], rows: NDArray[np.int64]
) -> Floats:
    """Return the number of people whose values are in the sets of each row.

    A person with several records counts once if any of the records is in the sets.

    Parameters
    ----------
    population : Population
        Population with the attributes `names`.
    names : sequence of str
        The attributes.
    sets : sequence of sequences of ndarray of bool, shape (n_values,)
        The sets of values of each attribute, as masks.
    rows : ndarray of int64, shape (n_rows, n_attributes)
        Position in `sets` of the set of each row and attribute.

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Number of people.
    """
    people = population.marginal(tuple(names))
    cells = np.array(people.cells, dtype=np.int64)
    inside = []
    for position, members in enumerate(sets):
        # Values that are in the same sets are interchangeable and become one value.
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
        """Count people for the distinct rows `first` to `last`.

        These rows agree in the attributes before `position`.
        """
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
