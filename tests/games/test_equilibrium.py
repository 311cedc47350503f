"""Results of choices against adversaries who attack with a probability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games

from reidsim.adversaries.response import Response
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.games.equilibrium import evaluate
from reidsim.games.measures import averages
from reidsim.games.record_game import WITHHELD, Choice, RecordGame


@given(small_games(), st.floats(0.01, 1), st.data())
def test_attacks_made_now_and_then_lie_between_those_always_and_never_made(small, rate, data):
    game, n = small.game(), small.n_records
    picked = data.draw(st.lists(st.integers(WITHHELD, game.space.size - 1), min_size=n, max_size=n))
    choice = Choice(np.array(picked), "by hand", np.zeros(n, dtype=np.int64), exact=False)

    def outcome(adversary):
        return evaluate(RecordGame(game.space, game.linker, adversary, game.benefit, game.loss), choice)

    gain, cost = np.array(small.gain), np.array(small.cost)
    now_and_then = outcome(RandomAttacks(gain, cost, rate))
    always, never = outcome(AlwaysAttacks(gain, cost)), outcome(NeverAttacks())
    for name in ("publisher_payoff", "adversary_payoff", "attack_probability", "risk"):
        between = rate * getattr(always, name) + (1 - rate) * getattr(never, name)
        assert getattr(now_and_then, name) == pytest.approx(between, rel=1e-9, abs=1e-9 * small.scale.max()), name
    shared = choice.strategies != WITHHELD
    assert now_and_then.withheld.tolist() == (~shared).tolist()
    assert now_and_then.attack_probability == pytest.approx(np.where(shared, rate, 0.0))
    weights = np.arange(1, n + 1)
    found = averages(now_and_then, weights)
    assert found["share_attacked"] == pytest.approx(rate * weights[shared].sum() / weights.sum())
    # The success probability of an attack does not depend on its frequency.
    if shared.any():
        expected = np.average(always.success_probability[shared], weights=weights[shared])
        assert found["risk_if_attacked"] == pytest.approx(expected)
    else:
        assert np.isnan(found["risk_if_attacked"])


@pytest.mark.parametrize(("frequency", "often"), [(None, 1.0), (np.array([0.4, 0.4]), 0.4)])
def test_only_who_is_attacked_is_reidentified(frequency, often):
    success, none = np.array([0.5, 0.5]), np.zeros(2)
    reply = Response(np.array([True, False]), success, success, none, none, frequency=frequency)
    assert reply.attack_probability.tolist() == [often, 0.0]
    assert reply.reidentified.tolist() == [often * 0.5, 0.0]
