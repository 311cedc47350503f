import numpy as np
from full_domain_oracle import datasets, game_of
from hypothesis import given
from hypothesis import strategies as st

from reidsim.releases.full_domain import common_levels, released_class_sizes, released_table


@given(datasets(same_prices=True, risk="prosecutor"), st.data())
def test_a_released_table_tells_the_class_sizes_at_its_node(small, data):
    lattice = game_of(small).lattice
    node = data.draw(st.integers(0, lattice.size - 1))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=small.n, max_size=small.n)))
    table = released_table(lattice, np.where(kept, node, -1), np.arange(small.n))
    assert (table.astype("str")[~kept] == "*").all(axis=None)
    levels = lattice.levels(node)
    expected = [
        sum(small.generalized(small.records[j], levels) == small.generalized(row, levels) for j in np.flatnonzero(kept))
        if keep
        else 0
        for row, keep in zip(small.records, kept, strict=True)
    ]
    assert released_class_sizes(table).tolist() == expected


@given(datasets(same_prices=True))
def test_common_levels_are_the_lowest_above_all_strategies(small):
    lattice = game_of(small).lattice
    strategies = np.arange(lattice.size)[:: max(1, lattice.size // 5)]
    levels = [lattice.levels(strategy) for strategy in strategies.tolist()]
    assert common_levels(lattice, strategies) == tuple(max(column) for column in zip(*levels, strict=True))
