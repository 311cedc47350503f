"""Full-domain games against adversaries of any model."""

import numpy as np
import pytest
from full_domain_oracle import SmallDataset, datasets, game_of, variants
from hypothesis import assume, given
from hypothesis import strategies as st

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.simple_behaviours import RandomAttacks
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.full_domain.any_adversary import AnyAdversaryGame
from reidsim.games.full_domain.nodes import every_node
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population


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
    played = AnyAdversaryGame.of(game, RecordGame(game.lattice, linker, random, np.full(4, 10.0), np.full(4, 4.0)))
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
    benefit, loss = (np.full(n, float(array[0, 0])) for array in (game.prices.benefit, game.prices.loss))
    record_game = TypesGame(game.lattice, types, benefit, loss, together)
    one_by_one = AnyAdversaryGame.of(game, record_game)
    by_class = AnyAdversaryGame.of(game, record_game, by_size=True)
    assert by_class.outcomes_of_classes
    assert not one_by_one.outcomes_of_classes
    expected, found = every_node(one_by_one), every_node(by_class)
    assert found.payout.tolist() == pytest.approx(expected.payout.tolist(), abs=1e-9)
    assert found.suppressed.tolist() == expected.suppressed.tolist()
    assert found.attacked.tolist() == expected.attacked.tolist()
    assert found.adversary_payoff.tolist() == pytest.approx(expected.adversary_payoff.tolist(), abs=1e-9)
    best, solution = search(one_by_one), search(by_class)
    assert solution.nodes.tolist() == best.nodes.tolist()
    assert solution.payout.tolist() == pytest.approx(best.payout.tolist(), abs=1e-9)
    assert solution.exact
