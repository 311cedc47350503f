"""The lattice, against the paper's formulas in plain loops."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games


@given(small=small_games())
def test_strategies_are_numbered_in_lexicographic_order_of_their_levels(small):
    lattice = small.lattice()
    every = list(itertools.product(*(range(len(levels)) for levels in small.hierarchies)))
    assert lattice.size == len(every)
    assert lattice.most_specific == every.index((0,) * len(small.sizes)) == 0
    assert [lattice.levels(strategy) for strategy in range(lattice.size)] == every
    assert [lattice.index(levels) for levels in every] == list(range(lattice.size))
    np.testing.assert_array_equal(lattice.all_levels(np.arange(lattice.size)), every)
    assert [lattice.describe(strategy) for strategy in range(lattice.size)] == [",".join(map(str, g)) for g in every]


@given(small=small_games())
def test_utility_is_one_minus_the_normalised_information_loss_of_equations_1_to_3(small):
    lattice = small.lattice()
    for i in range(small.n_records):
        paper = small.paper(i)
        paper.V = 1.0
        for strategy, g in enumerate(paper.strategies):
            assert lattice.utility(strategy)[i] == pytest.approx(paper.v(g), abs=1e-12)
            assert 0 <= lattice.utility(strategy)[i] <= 1


@given(small=small_games())
def test_generalization_intensity_is_equation_5(small):
    lattice = small.lattice()
    expected = [small.paper(0).intensity(g) for g in small.paper(0).strategies]
    np.testing.assert_allclose(lattice.generalization_intensity(np.arange(lattice.size)), expected, rtol=1e-15)


@given(small=small_games())
def test_successors_and_predecessors_are_one_level_away(small):
    lattice = small.lattice()
    for strategy in range(lattice.size):
        levels = np.array(lattice.levels(strategy))
        for neighbours, step in ((lattice.successors, 1), (lattice.predecessors, -1)):
            found = list(neighbours(strategy))
            expected = [
                other
                for other in range(lattice.size)
                if sorted((np.array(lattice.levels(other)) - levels) * step) == [0] * (len(levels) - 1) + [1]
            ]
            assert sorted(found) == expected
            # First attribute first.
            moved = [int(np.argmax(np.array(lattice.levels(other)) != levels)) for other in found]
            assert moved == sorted(moved)


@given(small=small_games(), data=st.data())
def test_records_are_released_under_the_labels_of_their_levels(small, data):
    lattice = small.lattice()
    rows = np.array(data.draw(st.lists(st.integers(0, small.n_records - 1), min_size=1, max_size=5)))
    strategies = np.array([data.draw(st.integers(-1, lattice.size - 1)) for _ in rows])
    released = lattice.released(strategies, rows)
    assert list(released.columns) == list(small.names)
    for at, (row, strategy) in enumerate(zip(rows, strategies, strict=True)):
        for f, name in enumerate(small.names):
            label = released[name].iloc[at]
            if strategy < 0:
                assert pd.isna(label)
                continue
            level, value = lattice.levels(strategy)[f], small.records[row][f]
            expected = f"{name}{value}" if level == 0 else f"{name}/{level}/{small.hierarchies[f][level][value]}"
            assert label == expected
