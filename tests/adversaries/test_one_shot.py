"""The one-shot adversary of Table 3."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Linkage
from reidsim.core.errors import InputError

group_sizes = st.lists(st.integers(1, 10_000), min_size=1, max_size=8).map(np.array)
money = st.floats(0, 1e6, allow_nan=False)


def linked(sizes, believed=None):
    return Linkage(sizes, sizes if believed is None else believed)


@given(sizes=group_sizes, gain=money, cost=money)
def test_the_reply_is_that_of_table_3(sizes, gain, cost):
    response = OneShotAdversary(gain, cost).respond(linked(sizes))
    for i, n in enumerate(sizes.tolist()):
        attack = gain * (1 / n) > cost * (1 + 1e-12)
        assert response.success[i] == response.believed_success[i] == 1 / n
        assert response.attacks[i] == attack
        assert response.exploits[i] == attack
        assert response.reidentified[i] == (1 / n if attack else 0)
        assert response.adversary_payoff[i] == (gain * (1 / n) - cost if attack else 0)


def test_decisions_rest_on_belief_and_payoffs_on_truth():
    adversary = OneShotAdversary(10.0, 4.0)
    response = adversary.respond(linked(np.array([10, 2]), believed=np.array([2, 10])))
    assert response.attacks.tolist() == [True, False]
    assert response.success.tolist() == [0.1, 0.5]
    assert response.believed_success.tolist() == [0.5, 0.1]
    assert response.adversary_payoff.tolist() == [10 * 0.1 - 4, 0]
    assert response.reidentified.tolist() == [0.1, 0]


@pytest.mark.parametrize("name", ["gain", "cost"])
@pytest.mark.parametrize("amount", [-1.0, np.array([1.0, -1.0]), float("nan")])
def test_negative_and_missing_amounts_are_rejected(name, amount):
    with pytest.raises(InputError, match=f"{name} of the adversary is negative"):
        OneShotAdversary(**{"gain": 1.0, "cost": 1.0, name: amount})
