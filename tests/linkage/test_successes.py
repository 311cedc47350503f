"""The distribution of the number of successes, against enumeration and term sums."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.linkage.totals import successes

CHANCES = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1 - 1e-12, 5e-324])), min_size=0, max_size=40
)


def by_recursion(probabilities):
    masses = np.array([1.0])
    for p in probabilities:
        masses = np.append(masses * (1 - p), 0.0) + np.append(0.0, masses * p)
    return masses


def spread(found, n):
    """Return the probability of each number from 0 to n."""
    masses = np.zeros(n + 1)
    masses[found.values] = found.masses
    return masses


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9, 15])
def test_it_is_what_enumeration_gives(n):
    rng = np.random.default_rng(n)
    p = rng.choice([0.0, 1.0, 0.5, 1 / 3, *rng.random(4)], n)
    masses = np.zeros(n + 1)
    for hits in itertools.product((0, 1), repeat=n):
        masses[sum(hits)] += math.prod(q if hit else 1 - q for q, hit in zip(p, hits, strict=True))
    found = successes(p)
    assert np.abs(spread(found, n) - masses).sum() < 1e-13
    for level in (0.05, 0.5, 0.95, 0.999):
        assert found.quantile(level) == np.searchsorted(np.cumsum(masses), level - 1e-9)
    assert found.any == pytest.approx(1 - math.prod(1 - p), abs=1e-13)


@examples(100)
@given(CHANCES)
def test_it_sums_to_one_has_the_expected_number_and_its_variance(chances):
    p = np.array(chances)
    found = successes(p)
    assert found.masses.min() >= 0
    assert found.masses.sum() == pytest.approx(1, abs=1e-12)
    mean = found.values @ found.masses
    assert mean == pytest.approx(p.sum(), abs=1e-10)
    variance = found.masses @ (found.values - mean) ** 2
    assert variance == pytest.approx((p * (1 - p)).sum(), abs=1e-9)
    assert (np.diff(found.at_most) >= 0).all()
    assert 0 <= found.values[0] <= found.values[-1] <= len(p)
    # Larger success probabilities shift the distribution to larger numbers.
    more = successes(np.minimum(p + 0.1, 1.0))
    assert (np.cumsum(spread(more, len(p))) <= np.cumsum(spread(found, len(p))) + 1e-12).all()


@pytest.mark.parametrize("chances", ["any", "rare", "certain", "groups", "halves", "both ends"])
def test_many_attempts_are_exact_to_a_trillionth(chances):
    rng = np.random.default_rng(1)
    u = rng.random(3_000)
    p = {
        "any": u,
        "rare": u**8,
        "certain": 1 - u**8,
        "groups": 1 / rng.integers(1, 200, 3_000),
        "halves": np.full(3_000, 0.5),
        "both ends": np.where(u < 0.5, 1e-9, 1 - 1e-9),
    }[chances]
    assert np.abs(spread(successes(p), len(p)) - by_recursion(p)).sum() < 1e-12
