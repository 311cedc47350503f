"""k-anonymity by cell suppression, a baseline without an adversary model.

It is a baseline of Wan et al. 2021.
"""

from __future__ import annotations

from typing import Any

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
    n, n_attributes = values.shape
    worth = np.ones(n_attributes) if weights is None else np.asarray(weights, dtype=np.float64)
    # First record of each cluster, and the attributes in which its records agree.
    seeds: list[int] = []
    same: list[NDArray[np.bool_]] = []
    cluster_of = np.full(n, -1)
    while len(left := np.flatnonzero(cluster_of < 0)) >= k:
        agree = np.ones(n_attributes, dtype=np.bool_)
        for size in range(k):
            rows = left[cluster_of[left] < 0]
            nearest = rows[_added(values[rows] != values[left[0]], worth, agree, size).argmin()]
            agree &= values[nearest] == values[left[0]]
            cluster_of[nearest] = len(seeds)
        seeds.append(left[0])
        same.append(agree)
    shared, sizes = np.array(same), np.full((len(seeds), 1), k)
    for row in left:
        nearest = _added(values[row] != values[seeds], worth, shared, sizes).argmin()
        shared[nearest] &= values[row] == values[seeds[nearest]]
        sizes[nearest] += 1
        cluster_of[row] = nearest
    return np.asarray(shared[cluster_of])


def _added(differ: NDArray[np.bool_], weights: Floats, same: NDArray[np.bool_], size: Any) -> Floats:
    """Return the weight of the cells newly suppressed if a record joins a cluster, shape (n,).

    Parameters
    ----------
    differ : ndarray of bool, shape (n, n_attributes)
        Whether the values of a record and of the first record of the cluster differ.
    weights : ndarray of float64, shape (n_attributes,)
        Weight of a suppressed cell.
    same : ndarray of bool, shape (n_attributes,) or (n, n_attributes)
        Attributes in which the records of the cluster agree.
    size : int, or ndarray of int, shape (n, 1)
        Number of records of the cluster.
    """
    # Cumulative sums add in the order of the attributes, with every version of numpy.
    return np.asarray(np.where(same, differ * weights * (size + 1), weights).cumsum(axis=-1)[:, -1])
