"""The overall probability, against the joint distribution of Fig. 1."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.adversaries.knowledge.network import Network

shares = st.floats(0, 1)


def joint(p_m, p_fm, p_cu, p_c, size, unique_in_population):
    """Return P(X_r) as the sum over all values of the six other variables."""
    total = 0.0
    chances = (p_m, p_fm, unique_in_population if size == 1 else 0.0, p_cu, 1 / size, p_c)
    for x_m, x_fm, x_up, x_cu, x_s, x_c in itertools.product((False, True), repeat=6):
        p = np.prod([q if x else 1 - q for x, q in zip((x_m, x_fm, x_up, x_cu, x_s, x_c), chances, strict=True)])
        x_ud = size == 1
        prosecutor, journalist, marketer = x_ud and x_m and x_fm, x_up and x_cu, x_s and x_c
        total += p * (prosecutor or journalist or marketer)
    return total


@given(p_m=shares, p_fm=shares, p_cu=shares, p_c=shares, b=shares, size=st.integers(1, 20))
def test_overall_probability_of_one_knowledge_set(p_m, p_fm, p_cu, p_c, b, size):
    network = Network(p_m=p_m, p_fm=p_fm, p_cu=p_cu, p_c=p_c)
    alone = np.array([float(size == 1)])
    ours = network.overall(alone, alone * b, np.array([1 / size]))
    assert ours[0] == pytest.approx(joint(p_m, p_fm, p_cu, p_c, size, b), abs=1e-12)


def test_printed_example():
    # Network of Table 4, second row, for a person unique among the records with b = .66, by hand:
    # 1 - (1 - .25) (1 - .33) (1 - .5).
    risk = Network(0.5, 0.5, 0.5, 0.5).overall(np.ones(1), np.full(1, 0.66), np.ones(1))
    assert risk[0] == pytest.approx(1 - 0.75 * 0.67 * 0.5)
