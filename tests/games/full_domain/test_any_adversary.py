"""Games of whole tables against an adversary of any model."""

import numpy as np
from full_domain_oracle import SmallDataset, game_of

from reidsim.adversaries.simple_behaviours import RandomAttacks
from reidsim.games.full_domain.any_adversary import AnyAdversaryGame
from reidsim.games.full_domain.nodes import every_node
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population


def test_attacks_made_now_and_then_count_as_often_as_they_are_made():
    """Four records, each attacked with a probability of a half: alone for 8 of 10, as one class for nothing."""
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
