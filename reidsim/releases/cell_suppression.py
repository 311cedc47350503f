"""k-anonymity by cell suppression, a baseline without an adversary model.

It is a baseline of Wan et al. 2021.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

Integers = NDArray[np.int64]

# Number of records compared at a time, so that they stay in the processor's cache. Candidates are listed again if fewer
# than this share of them are left: a larger share lists them more often, a smaller share compares more records in vain.
_AT_ONCE, _SPARSE = 2048, 0.8


def k_anonymous_cells(values: Integers, k: int = 2, weights: Floats | None = None) -> NDArray[np.bool_]:
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

    Raises
    ------
    InputError
        If k is below 1, there are fewer than k records, or the weights have another shape.
    """
    n, n_attributes = values.shape
    if k < 1:
        raise InputError("k of k-anonymity too small", found=k, expected="1 or more")
    if n < k:
        raise InputError("too few records for k-anonymity", found=n, expected=f"at least k = {k}")
    worth = np.ones(n_attributes) if weights is None else np.asarray(weights, dtype=np.float64)
    if worth.shape != (n_attributes,):
        raise InputError("weights have the wrong shape", found=worth.shape, expected=f"({n_attributes},)")
    return _cluster(np.ascontiguousarray(values, dtype=np.int64), k, worth)


@numba.njit(cache=True)
def _cluster(values: Integers, k: int, weights: Floats) -> NDArray[np.bool_]:
    n, n_attributes = values.shape
    shared = np.ones((n, n_attributes), np.bool_)
    cluster_of = np.full(n, -1, np.int64)
    # For each cluster, the values of its first record and the attributes in which its records agree.
    seeds = np.zeros(n, np.int64)
    same = np.ones((n, n_attributes), np.bool_)
    sizes = np.zeros(n, np.int64)
    # Candidates for the nearest record and their values by attribute; some candidates may already be in clusters.
    rows, columns = np.arange(n), np.ascontiguousarray(values.T)
    n_clusters, left = 0, n
    for seed in range(n):
        if cluster_of[seed] >= 0 or left < k:
            continue
        if left < _SPARSE * len(rows):
            rows = np.flatnonzero(cluster_of < 0)
            columns = np.ascontiguousarray(values[rows].T)
        c = n_clusters
        n_clusters += 1
        seeds[c], cluster_of[seed], sizes[c] = seed, c, 1
        left -= 1
        while sizes[c] < k:
            nearest, least = -1, np.inf
            for begin in range(0, len(rows), _AT_ONCE):
                of_each = _added_by_each(columns[:, begin : begin + _AT_ONCE], weights, values[seed], same[c], sizes[c])
                for i in range(len(of_each)):
                    if of_each[i] < least and cluster_of[rows[begin + i]] < 0:
                        nearest, least = rows[begin + i], of_each[i]
            _join(values, nearest, seed, same[c])
            cluster_of[nearest] = c
            sizes[c] += 1
            left -= 1
    for row in range(n):
        if cluster_of[row] < 0:
            nearest, least = 0, np.inf
            for c in range(n_clusters):
                added = _added(values, weights, row, seeds[c], same[c], sizes[c])
                if added < least:
                    nearest, least = c, added
            _join(values, row, seeds[nearest], same[nearest])
            cluster_of[row] = nearest
            sizes[nearest] += 1
    for row in range(n):
        shared[row] = same[cluster_of[row]]
    return shared


@numba.njit(cache=True)
def _added_by_each(columns: Integers, weights: Floats, seed: Integers, same: NDArray[np.bool_], size: int) -> Floats:
    """Return `_added` of many records; computed by attribute, several times as fast."""
    added = np.zeros(columns.shape[1])
    for j in range(len(weights)):
        if same[j]:
            for i in range(len(added)):
                added[i] += weights[j] * (size + 1) * (columns[j, i] != seed[j])
        else:
            added += weights[j]
    return added


@numba.njit(cache=True)
def _added(values: Integers, weights: Floats, row: int, seed: int, same: NDArray[np.bool_], size: int) -> float:
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


@numba.njit(cache=True)
def _join(values: Integers, row: int, seed: int, same: NDArray[np.bool_]) -> None:
    for j in range(len(same)):
        if values[row, j] != values[seed, j]:
            same[j] = False
