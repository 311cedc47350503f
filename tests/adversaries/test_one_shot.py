"""The one-shot adversary of Table 3."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reidsim.adversaries.response import Linkage, OneShotAdversary

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
