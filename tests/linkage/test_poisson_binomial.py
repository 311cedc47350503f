"""The distribution of the number of successes, against enumeration and a term-by-term sum."""

import itertools
import math
import time

import numpy as np
import pytest

from reidsim.linkage.poisson_binomial import quantile_of_successes


def by_recursion(probabilities):
    masses = np.array([1.0])
    for p in probabilities:
        masses = np.append(masses * (1 - p), 0.0) + np.append(0.0, masses * p)
    return masses


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_enumeration_gives(seed):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 1.0, 0.5, 1 / 3, *rng.random(4)], int(rng.integers(0, 10)))
    masses = dict.fromkeys(range(len(p) + 1), 0.0)
    for hits in itertools.product((0, 1), repeat=len(p)):
        masses[sum(hits)] += math.prod(q if hit else 1 - q for q, hit in zip(p, hits, strict=True))
    for level in (0.05, 0.5, 0.95, 0.999):
        total, expected = 0.0, 0
        for expected, mass in masses.items():  # noqa: B007 - the first at which the sum is enough
            total += mass
            if total >= level - 1e-9:
                break
        assert quantile_of_successes(p, level) == expected


def test_many_attempts_of_many_probabilities():
    rng = np.random.default_rng(1)
    p = np.concatenate([1 / rng.integers(1, 200, 3_000), rng.random(500)])
    cumulative = np.cumsum(by_recursion(p))
    for level in (0.05, 0.5, 0.95):
        assert quantile_of_successes(p, level) == np.searchsorted(cumulative, level)


def test_a_large_file_takes_a_second():
    rng = np.random.default_rng(2)
    p = 1 / rng.integers(1, 400, 200_000)
    begun = time.process_time()
    found = quantile_of_successes(p, 0.95)
    assert time.process_time() - begun < 5
    mean, spread = p.sum(), math.sqrt((p * (1 - p)).sum())
    assert abs(found - (mean + 1.6449 * spread)) < 2
