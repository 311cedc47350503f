"""Count people singled out by combinations of columns in a shared file.

The module also finds the smallest sets of columns that single out people.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.populations.domain import distinct_rows

Codes = NDArray[np.integer[Any]]

# Maximum number of sets of columns to try; each takes about 2 ms for 20,000 rows.
_MOST_SETS = 2_000


def people_singled_out(columns: Sequence[Codes], person: Codes) -> int:
    """Return the number of people with a row whose combination of values is unique.

    The combination must not occur in rows of other people.

    Parameters
    ----------
    columns : sequence of ndarray of int, each of shape (n_rows,)
        Codes of the values in each column.
    person : ndarray of int, shape (n_rows,)
        Person of each row.
    """
    pairs = pd.DataFrame({"group": distinct_rows(columns, len(person))[1], "person": person}).drop_duplicates()
    return pairs["person"][~pairs.duplicated("group", keep=False)].nunique()


def revealing_sets(
    quasi_identifiers: Sequence[Codes], kept: Mapping[str, Codes], person: Codes, most: float, declared: Collection[str]
) -> list[tuple[str, ...]]:
    """Return the smallest sets of kept columns that single out too many people.

    A set always includes the quasi-identifiers; see `people_singled_out`. Sets are tried in order of the number of
    their kept columns. Once a set singles out too many people, its supersets are not tried, because they single out at
    least as many. This also applies to a set of declared columns only, which is not returned. The search ends at the
    first size at which a set with an undeclared column singles out too many people, and returns all such sets of this
    size.

    After 2,000 sets, another method replaces the search: columns are removed from the set of all undeclared columns,
    one by one, as long as the remaining columns single out too many people. This gives one set from which no column can
    be removed, or none if all undeclared columns together do not single out too many people.

    Parameters
    ----------
    quasi_identifiers : sequence of ndarray of int, each of shape (n_rows,)
        Codes of the released values of the quasi-identifiers.
    kept : mapping of str to ndarray of int, each of shape (n_rows,)
        Codes of the values of each kept column.
    person : ndarray of int, shape (n_rows,)
        Person of each row.
    most : float
        Largest accepted increase in the number of people singled out, compared with the quasi-identifiers alone, as a
        share of all people, in [0, 1].
    declared : collection of str
        Kept columns that are declared as unknown to outsiders.

    Returns
    -------
    list of tuple of str
        Sets with at least one undeclared column, all of the same size; empty if none was found.
    """
    n_people = len(np.unique(person))
    released = distinct_rows(quasi_identifiers, len(person))[1]
    allowed = people_singled_out([released], person) + most * n_people

    def reveals(names: Sequence[str]) -> bool:
        return people_singled_out([released, *(kept[name] for name in names)], person) > allowed

    if not n_people or not reveals(list(kept)):
        return []
    smallest: list[tuple[str, ...]] = []
    tried = 0
    for size in range(1, len(kept) + 1):
        found = []
        for names in combinations(kept, size):
            if any(set(names) >= set(within) for within in smallest):
                continue
            tried += 1
            if tried > _MOST_SETS:
                undeclared = [name for name in kept if name not in declared]
                return [_irreducible(undeclared, reveals)] if reveals(undeclared) else []
            if reveals(names):
                smallest.append(names)
                found.append(names)
        undeclared_sets = [names for names in found if not set(names) <= set(declared)]
        if undeclared_sets:
            return undeclared_sets
    return []


def numbered(columns: pd.DataFrame) -> dict[str, Codes]:
    """Return the codes of each column's values, shape (n_rows,), by column."""
    return {str(name): pd.factorize(columns[name].str.strip())[0].astype(np.int64) for name in columns}


def _irreducible(names: Sequence[str], reveals: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    rest = tuple(names)
    for name in names:
        without = tuple(other for other in rest if other != name)
        rest = without if reveals(without) else rest
    return rest
