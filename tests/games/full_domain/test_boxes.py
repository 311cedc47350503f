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
from reidsim.games.full_domain.boxes import Boxes, boxed_rows, split_boxes
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


def whole(game):
    return Boxes(
        np.array([game.lowest], dtype=np.int16),
        np.array([[levels - 1 for levels in game.lattice.shape]], dtype=np.int16),
        np.array([game.bound(game.lowest)]),
    )


@examples(200)
@given(games(), st.integers(0, 40))
def test_no_node_of_a_box_pays_more_than_its_bound(game, splits):
    nodes = every_node(game)
    levels = np.array([game.lattice.levels(node) for node in nodes.nodes.tolist()])
    boxes, done = split_boxes(boxed_rows(game), whole(game), -np.inf, -np.inf, splits)
    assert done <= splits
    tie = 1e-9 * max(game.best_case, 1.0)
    covered = np.zeros(len(nodes), dtype=np.int64)
    for low, high, bound in zip(*boxes, strict=True):
        inside = ((levels >= low) & (levels <= high)).all(axis=1)
        covered += inside
        paid = nodes.payout[inside & nodes.feasible]
        assert (paid <= bound + tie).all()
        if inside.sum() == 1 and len(paid) and game.by_class and not isinstance(game, AverageRiskGame):
            assert paid.iloc[0] == pytest.approx(bound, abs=tie)
    assert (covered == 1).all()


@examples(100)
@given(games(), st.floats(0, 1), st.integers(1, 10))
def test_boxes_split_together_are_those_split_apart(game, share, splits):
    """Boxes that share the classes of their first attributes have the bounds that each has alone."""
    rows = boxed_rows(game)
    boxes, _ = split_boxes(rows, whole(game), -np.inf, -np.inf, splits)
    target = share * game.best_case
    together, _ = split_boxes(rows, boxes, target, -np.inf, 10_000)
    apart = [split_boxes(rows, boxes.part([at]), target, -np.inf, 10_000)[0] for at in range(len(boxes.bound))]
    for found, expected in zip(together, map(np.concatenate, zip(*apart, strict=True)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


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
