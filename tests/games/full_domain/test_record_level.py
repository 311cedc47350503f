"""Record-level generalization and local recoding with a dataset's class sizes."""

from dataclasses import replace

import numpy as np
import pytest
from full_domain_oracle import SmallDataset, datasets, game_of, variants
from hypothesis import assume, given
from hypothesis import strategies as st

from reidsim.adversaries.response import OneShotAdversary, RandomAttacks
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.full_domain.game import AnyAdversaryGame
from reidsim.games.full_domain.search import every_node, local_recoding, record_level, search, sizes_in_rounds
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population


@given(variants(datasets()))
def test_each_record_gets_its_best_payout_over_all_nodes(small):
    game = game_of(small)
    solution = record_level(game)
    assert solution.payoff.tolist() == pytest.approx([small.best_of_record(i) for i in range(small.n)], abs=1e-7)
    for i, strategy in enumerate(solution.strategies.tolist()):
        if strategy >= 0:
            node = game.lattice.levels(strategy)
            assert small.record(i, node)[0] == pytest.approx(solution.payoff[i], abs=1e-7)


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
    rounds = [game.lattice.levels(solution.node) for solution in recoded.rounds]
    total, left = paid(small, rounds)
    if len(left) > game.most_suppressed:
        assert recoded.payout == 0
        assert (recoded.strategies == -1).all()
        return
    assert recoded.payout == pytest.approx(total, abs=1e-7)
    assert np.flatnonzero(recoded.strategies == -1).tolist() == left


@given(datasets())
def test_sizes_in_rounds_count_who_is_left(small):
    """Prosecutor sizes count the remaining records, whichever risk chose the rounds.

    Journalist sizes do not change between rounds.
    """
    recoded = local_recoding(game_of(small))
    nodes = [solution.node for solution in recoded.rounds]
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


def test_attacks_made_now_and_then_count_as_often_as_they_are_made():
    """Four records attacked with probability 1/2: alone worth 8 of 10, as one class 0."""
    small = SmallDataset(
        (((0, 1, 2, 3), (0, 0, 0, 0)),), ((0,), (1,), (2,), (3,)), None, (10,) * 4, (4,) * 4, (5,) * 4, (1,) * 4
    )
    game = game_of(small)
    linker = PopulationLinker(
        GroupSizes(Population.from_records(game.lattice.domain, game.lattice.codes), game.lattice)
    )
    random = RandomAttacks(np.full(4, 5.0), np.full(4, 1.0), rate=0.5)
    played = AnyAdversaryGame.from_record_game(
        game, RecordGame(game.lattice, linker, random, np.full(4, 10.0), np.full(4, 4.0))
    )
    found = every_node(played)
    assert found.payout.tolist() == [32.0, 0.0]
    assert found.attacked.tolist() == [2, 0]
    assert found.suppressed.tolist() == [0, 4]
    assert found.adversary_payoff.tolist() == [8.0, 0.0]


@given(
    variants(datasets(same_prices=True)),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=3),
    st.sampled_from(["one-of", "all", "worst"]),
)
def test_types_who_reply_to_sizes_of_classes_are_searched_by_classes(small, amounts, together):
    """The result equals a search that replies to every record at every node."""
    game = game_of(small)
    assume(game.by_class)
    weights = np.array([weight for _, _, weight in amounts], dtype=float)
    weights = weights / weights.sum() if weights.any() else np.full(len(weights), 1 / len(weights))
    people = game.population or Population(game.lattice.domain, game.lattice.codes, game.released)
    linker = PopulationLinker(GroupSizes(people, game.lattice))
    types = [
        AdversaryType(f"{number}", float(weight), linker, OneShotAdversary(gain, cost))
        for number, ((gain, cost, _), weight) in enumerate(zip(amounts, weights, strict=True))
    ]
    n = game.lattice.n_records
    benefit, loss = (np.full(n, float(array[0])) for array in (game.prices.benefit, game.prices.loss))
    record_game = TypesGame(game.lattice, types, benefit, loss, together)
    one_by_one = AnyAdversaryGame.from_record_game(game, record_game)
    by_class = AnyAdversaryGame.from_record_game(game, record_game, by_size=True)
    assert by_class.by_class
    assert not one_by_one.by_class
    expected, found = every_node(one_by_one), every_node(by_class)
    assert found.payout.tolist() == pytest.approx(expected.payout.tolist(), abs=1e-9)
    assert found.suppressed.tolist() == expected.suppressed.tolist()
    assert found.attacked.tolist() == expected.attacked.tolist()
    assert found.adversary_payoff.tolist() == pytest.approx(expected.adversary_payoff.tolist(), abs=1e-9)
    best, solution = search(one_by_one), search(by_class)
    assert solution.node == best.node
    assert solution.payout == pytest.approx(best.payout, abs=1e-9)
    assert solution.exact
