"""Record-level generalization and local recoding with a dataset's class sizes."""

from dataclasses import replace

import numpy as np
import pytest
from full_domain_oracle import AMOUNTS, datasets, game_of, variants
from hypothesis import given
from hypothesis import strategies as st

from reidsim.games.full_domain.local_recoding import local_recoding, sizes_in_rounds
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.search import search


@given(variants(datasets()))
def test_each_record_gets_its_best_payout_over_all_nodes(small):
    game = game_of(small)
    solution = record_level(game)
    assert solution.payoff[0].tolist() == pytest.approx([small.best_of_record(i) for i in range(small.n)], abs=1e-7)
    for i, strategy in enumerate(solution.strategies[0].tolist()):
        if strategy >= 0:
            node = game.lattice.levels(strategy)
            assert small.record(i, node)[0] == pytest.approx(solution.payoff[0, i], abs=1e-7)
            assert solution.sizes[0, i] == max(small.class_size(small.records[i], node), 1)


@given(datasets(same_prices=True), st.lists(st.tuples(*[AMOUNTS] * 4), min_size=2, max_size=5), st.booleans())
def test_many_points_are_the_points_one_by_one(small, rows, no_attack):
    prices = Prices(*np.array(rows, dtype=float).T)
    game = replace(game_of(replace(small, no_attack=no_attack)), prices=prices)
    together = record_level(game)
    for point in range(len(rows)):
        alone = record_level(replace(game, prices=prices.point(point)))
        assert together.payoff[point] == pytest.approx(alone.payoff[0], abs=1e-9)
        assert (together.strategies[point] == alone.strategies[0]).all()


# Local recoding.


def paid(small, rounds):
    """Return payoffs of records released at the node of their round.

    Records of earlier rounds are removed.
    """
    left, total = list(range(small.n)), 0.0
    for node in rounds:
        part = replace(
            small,
            records=tuple(small.records[i] for i in left),
            **{name: tuple(getattr(small, name)[i] for i in left) for name in ("benefit", "loss", "gain", "cost")},
        )
        kept = [i for at, i in enumerate(left) if part.record(at, node)[2]]
        total += part.node(node)[0]
        left = [i for i in left if i not in kept]
    return total, left


@given(variants(datasets()))
def test_local_recoding_plays_each_round_on_what_is_left(small):
    game = game_of(small)
    recoded = local_recoding(game)
    rounds = [game.lattice.levels(int(solution.nodes[0])) for solution in recoded.rounds]
    total, left = paid(small, rounds)
    if len(left) > game.most_suppressed:
        assert recoded.payout == 0
        assert (recoded.strategies == -1).all()
        return
    assert recoded.payout == pytest.approx(total, abs=1e-7)
    assert np.flatnonzero(recoded.strategies == -1).tolist() == left
    assert recoded.suppressed(game.released) == len(left)


@given(datasets())
def test_sizes_in_rounds_count_who_is_left(small):
    """Prosecutor sizes count the remaining records, whichever risk chose the rounds.

    Journalist sizes do not change between rounds.
    """
    recoded = local_recoding(game_of(small))
    nodes = [int(solution.nodes[0]) for solution in recoded.rounds]
    among = replace(small, people=None)
    sizes = sizes_in_rounds(game_of(among), nodes, recoded.strategies)
    people = sizes_in_rounds(game_of(small), nodes, recoded.strategies)
    lattice, left = game_of(small).lattice, list(range(small.n))
    for number, node in enumerate(nodes):
        levels = lattice.levels(node)
        part = replace(among, records=tuple(small.records[i] for i in left))
        last = number == len(nodes) - 1
        for i in left:
            if last or recoded.strategies[i] == node:
                assert sizes[i] == part.class_size(small.records[i], levels)
                if small.people is not None:
                    assert people[i] == small.class_size(small.records[i], levels)
        left = [i for i in left if recoded.strategies[i] != node]


@given(datasets())
def test_local_recoding_pays_at_least_as_much_and_no_more_in_fewer_rounds(small):
    game = game_of(small)
    whole = search(game).payout[0]
    one, several = local_recoding(game, rounds=1), local_recoding(game)
    assert one.payout == pytest.approx(whole, abs=1e-9)
    assert several.payout >= whole - 1e-9
    # The remaining records cannot be released profitably.
    if several.suppressed(game.released):
        remaining = np.where(several.strategies == -1, game.released, 0)
        assert search(replace(game, released=remaining, suppression_limit=1.0)).payout[0] == 0
