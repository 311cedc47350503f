"""k-anonymity by cell suppression, a baseline without an adversary model.

It is a baseline of Wan et al. 2021.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.releases.strategy_space import Floats


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


@numba.njit(cache=True)
def _clusters(values: NDArray[np.int64], k: int, weights: Floats) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return the attributes in which each cluster's records agree, and clusters of records."""
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


@numba.njit(cache=True)
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
