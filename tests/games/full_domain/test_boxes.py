"""Bounds of boxes of nodes and of games without limits, against the payouts of all nodes."""

from dataclasses import replace

import numpy as np
import pytest
from full_domain_oracle import datasets, game_of, variants
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.adversaries.response import OneShotAdversary
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.full_domain.boxes import begin_walk, bounds_of, box_walk, boxed_rows, parts_below, split_boxes
from reidsim.games.full_domain.game import AnyAdversaryGame, AverageRiskGame
from reidsim.games.full_domain.search import every_node, explore, search
from reidsim.games.record_game import PopulationLinker
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population


def with_types(small, admissible=None, *, by_size=True):
    """Return the game against two one-shot types, one of which gains half as much."""
    game = game_of(small)
    people = game.population or Population(game.lattice.domain, game.lattice.codes, game.released)
    linker, ones = PopulationLinker(GroupSizes(people, game.lattice)), np.ones(small.n)
    types = [
        AdversaryType(name, 0.5, linker, OneShotAdversary(share * small.gain[0], float(small.cost[0])))
        for name, share in (("all", 1.0), ("half", 0.5))
    ]
    played = TypesGame(game.lattice, types, small.benefit[0] * ones, small.loss[0] * ones)
    return AnyAdversaryGame.from_record_game(game, played, by_size=by_size, admissible=admissible)


def with_average_risk(small):
    ones = (1,) * small.n
    small = replace(small, people=None, no_attack=True, benefit=ones, loss=ones, gain=ones, cost=ones)
    return AverageRiskGame(**vars(game_of(small)), max_average_risk=0.4)


@st.composite
def games(draw):
    kind = draw(st.sampled_from([game_of, with_types, with_average_risk]))
    return kind(draw(variants(datasets(same_prices=True if kind is with_types else None))))


def levels_of(game, nodes):
    """Return the levels of nodes, shape (n_nodes, n_attributes)."""
    return np.array([game.lattice.levels(node) for node in nodes], dtype=np.int16).reshape(len(nodes), -1)


@examples(200)
@given(games(), st.data())
def test_no_node_of_a_box_pays_more_than_its_bound(game, data):
    nodes = every_node(game)
    levels, tie = levels_of(game, nodes.nodes.tolist()), 1e-9 * max(game.best_case, 1.0)
    pairs = st.lists(st.tuples(*[st.integers(0, len(nodes) - 1)] * 2), min_size=1, max_size=5)
    first, second = levels[np.array(data.draw(pairs)).T]
    low, high = np.minimum(first, second), np.maximum(first, second)
    bounds = bounds_of(boxed_rows(game), low, high)
    for lowest, highest, bound in zip(low, high, bounds, strict=True):
        inside = ((levels >= lowest) & (levels <= highest)).all(axis=1)
        paid = nodes.payout[inside & nodes.feasible]
        assert (paid <= bound + tie).all()
        if inside.sum() == 1 and len(paid) and game.by_class and not isinstance(game, AverageRiskGame):
            assert paid.iloc[0] == pytest.approx(bound, abs=tie)


@examples(100)
@given(games(), st.floats(0, 1), st.integers(1, 10))
def test_a_walk_through_boxes_bounds_all_nodes_whenever_it_is_interrupted(game, share, splits):
    rows, target = boxed_rows(game), share * game.best_case
    low, high = np.array(game.lowest, np.int16), np.array(game.lattice.shape, np.int16) - 1
    walk, found = box_walk(rows), []
    for most in (splits, 10_000):
        begin_walk(rows, walk, low, high)
        parts = []
        while walk.depth[0] >= 0:
            parts.append(split_boxes(rows, walk, target, (-1e300, 0.0, 0, 0), most))
            assert parts[-1][2] <= most
        nodes, bounds = (np.concatenate([part[at][1:] for part in parts]) for at in (0, 1))
        found.append((nodes, bounds, max(part[3] for part in parts)))
    for interrupted, whole in zip(*found, strict=True):
        np.testing.assert_array_equal(interrupted, whole)
    (nodes, bounds, highest), every = found[0], every_node(game)
    assert highest <= target
    left = every[every.feasible & ~every.nodes.isin(game.lattice.number(nodes.astype(np.int64)))]
    assert (left.payout <= highest + 1e-9 * max(game.best_case, 1.0)).all()


@examples(100)
@given(games(), st.data())
def test_nodes_one_level_below_have_the_bounds_of_boxes_of_one_node(game, data):
    rows, lowest = boxed_rows(game), np.array(game.lowest, np.int16)
    here = levels_of(game, [data.draw(st.sampled_from(every_node(game).nodes.tolist()))])[0]
    nodes, bounds = parts_below(rows, here, lowest)
    expected = [here - step for step in np.eye(len(here), dtype=np.int16) if (here - step >= lowest).all()]
    assert nodes.tolist() == [node.tolist() for node in expected]
    np.testing.assert_allclose(bounds, bounds_of(rows, nodes, nodes), rtol=1e-9, atol=1e-9)


@examples(50)
@given(games())
def test_anytime_search_with_a_large_budget_is_the_exact_search(game):
    found, expected = explore(game, nodes=100_000)[0], search(game)
    assert found.exact
    assert found.node == expected.node
    assert found.payout == pytest.approx(expected.payout)


class DrawnLimits:
    """Limits that forbid some records, drawn for each node."""

    def __init__(self, seed, n):
        self.seed, self.n = seed, n

    def at(self, strategy, rows=None):
        within = np.random.default_rng([self.seed, strategy]).random(self.n) < 0.6
        return within if rows is None else within[rows]


@examples(150)
@given(variants(datasets(same_prices=True)), st.integers(0, 1000))
def test_limits_on_sensitive_values_leave_the_best_of_all_nodes(small, seed):
    """The search bounds nodes by the game without limits; the walk of the other game does not."""
    limits = DrawnLimits(seed, small.n)
    bounded, plain = with_types(small, limits), with_types(small, limits, by_size=False)
    assert plain.relaxed is None
    expected = search(plain, prune=False)
    for found in (search(bounded), explore(bounded, nodes=100_000)[0]):
        assert found.node == expected.node
        assert found.payout == pytest.approx(expected.payout)
        assert found.suppressed == expected.suppressed
        assert found.exact
