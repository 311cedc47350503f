"""k-anonymity by cell suppression: guarantee, and distance from the optimum."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reidsim.releases.records import k_anonymous_cells


@st.composite
def tables(draw, most_rows=9):
    k = draw(st.integers(1, 3))
    n, m = draw(st.integers(k, most_rows)), draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(st.integers(0, 2), min_size=m, max_size=m), min_size=n, max_size=n))
    return np.array(rows), k


def clustered(values, k, weights):
    """Cluster by the documented heuristic, comparing every record with every cluster."""
    n = len(values)
    cluster_of, clusters = np.full(n, -1), []

    def added(rows, seed, same, size):
        differ = values[rows] != values[seed]
        return np.where(same, differ * weights * (size + 1), weights).sum(axis=-1)

    for seed in range(n):
        left = np.flatnonzero(cluster_of < 0)
        if cluster_of[seed] >= 0 or len(left) < k:
            continue
        members, same = [seed], np.ones(values.shape[1], dtype=bool)
        cluster_of[seed] = len(clusters)
        while len(members) < k:
            left = np.flatnonzero(cluster_of < 0)
            members.append(left[added(left, seed, same, len(members)).argmin()])
            cluster_of[members[-1]] = len(clusters)
            same &= values[members[-1]] == values[seed]
        clusters.append((members, same))
    for row in np.flatnonzero(cluster_of < 0):
        members, same = min(clusters, key=lambda each: added(row, each[0][0], each[1], len(each[0])))
        members.append(row)
        same &= values[row] == values[members[0]]
    shared = np.zeros(values.shape, dtype=bool)
    for members, same in clusters:
        shared[members] = same
    return shared


@given(tables(most_rows=40), st.lists(st.sampled_from([0.0, 1.0, 1.5, 4.0]), min_size=4, max_size=4))
def test_records_are_put_in_the_clusters_where_they_add_least(table, weights):
    values, k = table
    worth = np.array(weights[: values.shape[1]])
    np.testing.assert_array_equal(k_anonymous_cells(values, k, worth), clustered(values, k, worth))
