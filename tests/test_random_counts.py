"""Random counts against exact fractions and scipy, around every threshold."""

from fractions import Fraction
from itertools import accumulate
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tiers import examples

from reidsim.core.numerics import (
    _binomial,
    _hypergeometric,
    _inverse,
    _law,
    draw_binomial,
    draw_multinomial,
    draw_multivariate_hypergeometric,
)

# Rounding error of a threshold, as a share of total probability.
ROUNDING = 1e-14


class Uniforms:
    """A generator that returns given uniform numbers."""

    def __init__(self, *uniforms):
        self.uniforms = np.array(uniforms, dtype=np.float64)

    def random(self, size):
        return self.uniforms.reshape(size)


def counts_at(uniforms, number, probability):
    uniforms = np.array(uniforms, dtype=np.float64)
    return draw_binomial(Uniforms(*uniforms), np.full(len(uniforms), number), probability).tolist()


def around(threshold):
    """Return numbers just below and above a threshold, limited to [0, 1)."""
    near = (float(threshold) - ROUNDING, float(threshold) + ROUNDING)
    return [min(max(number, 0.0), 1 - 2.0**-53) for number in near]


@pytest.mark.parametrize("number", [0, 1, 2, 5, 12])
@pytest.mark.parametrize("probability", [Fraction(1, 1024), Fraction(3, 16), Fraction(1, 2), Fraction(127, 128)])
def test_binomial_counts_change_at_the_exact_cumulated_probabilities(number, probability):
    masses = [comb(number, k) * probability**k * (1 - probability) ** (number - k) for k in range(number + 1)]
    for k, cumulated in enumerate(accumulate(masses)):
        below, above = counts_at(around(cumulated), number, float(probability))
        if masses[k] > 2 * ROUNDING:
            assert below == k
        if k < number and masses[k + 1] > 2 * ROUNDING:
            assert above == k + 1


@pytest.mark.parametrize(("of_cell", "others", "size"), [(3, 4, 2), (5, 2, 6), (1, 1, 1), (6, 6, 6), (4, 9, 12)])
def test_hypergeometric_counts_change_at_the_exact_cumulated_probabilities(of_cell, others, size):
    low, high = max(0, size - others), min(of_cell, size)
    cumulated = Fraction(0)
    for k in range(low, high + 1):
        mass = Fraction(comb(of_cell, k) * comb(others, size - k), comb(of_cell + others, size))
        cells = np.array([of_cell, others])
        inside = [float(cumulated) + ROUNDING, float(cumulated + mass) - ROUNDING]
        for uniform in inside:
            drawn = draw_multivariate_hypergeometric(Uniforms(uniform, 0.5), cells, size)
            assert drawn.tolist() == [k, size - k]
        cumulated += mass
    assert cumulated == 1


@examples(60)
@given(
    counts=st.lists(st.integers(0, 500), min_size=1, max_size=5).filter(any),
    share=st.floats(0, 1),
    uniforms=st.lists(st.floats(0, 1, exclude_max=True), min_size=5, max_size=5),
)
def test_cells_are_drawn_one_after_the_other_as_scipy_has_their_quantiles(counts, share, uniforms):
    people, size = sum(counts), int(share * sum(counts))
    drawn = draw_multivariate_hypergeometric(Uniforms(*uniforms[: len(counts)]), np.array(counts), size).tolist()
    assert sum(drawn) == size
    left = size
    for count, of_cell, uniform in zip(counts, drawn, uniforms, strict=False):
        assert 0 <= of_cell <= count
        if people:
            exact = stats.hypergeom(people, count, left)
            assert exact.cdf(of_cell - 1) <= uniform + 1e-9
            assert exact.sf(of_cell) <= 1 - uniform + 1e-9
        people, left = people - count, left - of_cell


def test_compiled_sums_are_rounded_as_those_of_plain_python():
    """Plain Python has neither fused multiply-adds nor a different order of sums."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        n, p = float(rng.integers(1, 10**6)), rng.random()
        mode = np.floor((n + 1) * p)
        arguments = (mode, 0.0, n, n, p, 1 - p, 0.0)
        law = _law(*arguments)
        assert law == _law.py_func(*arguments)
        assert law == _binomial(int(n), p)
        for uniform in rng.random(3):
            assert _inverse(uniform, law) == _inverse.py_func(uniform, law)
    law = _hypergeometric(700, 1000, 500)
    assert law == _law.py_func(law[0], 200.0, 500.0, 700.0, 500.0, -200.0, 1.0)


def test_a_seed_gives_the_same_counts_with_every_version_of_numpy():
    rng = np.random.default_rng(7)
    assert draw_binomial(rng, [3, 40, 10**6, 10**8], [0.5, 0.1, 0.3, 1e-6]).tolist() == [2, 6, 300347, 92]
    assert draw_multinomial(rng, 1000, np.array([5.0, 0.0, 1.0, 2.0])).tolist() == [617, 0, 104, 279]
    assert draw_multivariate_hypergeometric(rng, np.array([50, 10**6, 0, 10**9]), 10**8).tolist() == [
        7,
        99876,
        0,
        99900117,
    ]


@pytest.mark.parametrize(
    ("number", "probability"), [(-1, 0.5), (5, -0.1), (5, 1.1), (5, float("nan")), ([5, -5], [0.5, 0.5])]
)
def test_no_such_binomial(number, probability):
    with pytest.raises(ValueError, match="negative number of trials, or probability outside"):
        draw_binomial(np.random.default_rng(1), number, probability)


@pytest.mark.parametrize(
    ("number", "weights"), [(-1, [1.0]), (5, [0.0, 0.0]), (5, [2.0, -1.0]), (5, [[1.0], [np.nan]]), (5, [np.inf, 1.0])]
)
def test_no_such_multinomial(number, weights):
    with pytest.raises(ValueError, match="negative number of trials, or weights that are negative"):
        draw_multinomial(np.random.default_rng(1), number, np.array(weights))
