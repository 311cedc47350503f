"""The total amount of independent attempts, against enumeration and draws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.linkage.totals import DRAWS, Distribution, Tries, mixture


def no_draws():
    raise AssertionError("nothing has to be drawn")


def enumerated(chances, amounts):
    """Return the probability of each sum, by sum in cents."""
    found = {}
    for hits in itertools.product((0, 1), repeat=len(chances)):
        total = round(100 * sum(a for a, hit in zip(amounts, hits, strict=True) if hit))
        mass = math.prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
        found[total] = found.get(total, 0.0) + mass
    return found


@examples(60)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.25, 3.0, 10.5, 300.0, -2.0]), st.integers(1, 2)), max_size=5
    )
)
def test_sums_of_round_amounts_are_what_enumeration_gives(attempts):
    p, amounts, numbers = (np.array([each[k] for each in attempts], dtype=float) for k in range(3))
    numbers = numbers.astype(np.int64)
    found = Tries(p, numbers, amounts).payoffs(no_draws)
    expected = enumerated(np.repeat(p, numbers), np.repeat(amounts, numbers))
    masses = {}
    for value, mass in zip(found.values, found.masses, strict=True):
        masses[round(100 * value)] = masses.get(round(100 * value), 0.0) + mass
    assert found.drawn == 0
    for total in expected.keys() | masses.keys():
        assert masses.get(total, 0.0) == pytest.approx(expected.get(total, 0.0), abs=1e-12)
    for share in (0.05, 0.5, 1.0):
        left, worst = share, 0.0
        for total in sorted(expected):
            worst += min(left, expected[total]) * total / 100
            left -= min(left, expected[total])
        assert found.mean_of_lowest(share) == pytest.approx(worst / share, abs=1e-8)


def test_amounts_without_a_unit_are_drawn_and_say_how_far_off_they_may_be():
    rng = np.random.default_rng(1)
    p, numbers = rng.random(9), np.ones(9, dtype=np.int64)
    amounts = rng.random(9) * np.pi
    found = Tries(p, numbers, amounts).payoffs(lambda: np.random.default_rng(5))
    assert found.drawn == DRAWS
    sums = [
        (sum(a for a, hit in zip(amounts, hits, strict=True) if hit),
         math.prod(q if hit else 1 - q for q, hit in zip(p, hits, strict=True)))
        for hits in itertools.product((0, 1), repeat=9)
    ]  # fmt: skip
    exact = Distribution(*map(np.array, zip(*sums, strict=True)))
    error = found.standard_error(0.05)
    # Five standard errors: once in a million.
    assert 0 < error < 0.05
    assert abs(found.mean_of_lowest(0.05) - exact.mean_of_lowest(0.05)) < 5 * error
    assert exact.standard_error(0.05) == 0
    again = Tries(p, numbers, amounts).payoffs(lambda: np.random.default_rng(5))
    assert (again.values == found.values).all()


def test_many_different_amounts_are_summed_exactly_as_far_as_there_is_room():
    p, numbers = np.full(3, 0.5), np.array([100, 100, 100])
    found = Tries(p, numbers, np.array([1.0, 100.0, 2.0])).payoffs(no_draws)
    assert found.values @ found.masses == pytest.approx(50 * 103, rel=1e-12)
    variance = found.masses @ (found.values - 5150) ** 2
    assert variance == pytest.approx(25 * (1 + 10_000 + 4), rel=1e-9)
    # A cent next to a million, or too many amounts, give too many sums.
    for amounts in ([0.01, 1e6, 2.0], [0.01, 0.02, 1e5]):
        assert Tries(p, numbers, np.array(amounts)).payoffs(lambda: np.random.default_rng(1)).drawn
    rng = np.random.default_rng(2)
    many = Tries(rng.random(40), np.ones(40, np.int64), np.arange(1.0, 41.0)).payoffs(lambda: rng)
    assert many.drawn


def test_a_mixture_and_a_shift_keep_the_probabilities():
    low, high = (
        Distribution(np.array([0.0, 1.0]), np.array([0.5, 0.5])),
        Distribution(np.array([10.0]), np.ones(1), 100),
    )
    found = mixture([0.1, 0.9], [low.shifted(2.0, -1.0), high])
    assert found.drawn == 100
    assert found.mean_of_lowest(0.05) == pytest.approx(1.0)
    assert found.mean_of_lowest(0.1) == pytest.approx(1.5)
    assert found.mean_of_lowest(1.0) == pytest.approx(9.15)


ENDS = st.tuples(
    st.sampled_from([0.0, 0.3, 1 / 3, 1.0]),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([0.0, -20.0, -2.25, 3.0]),
    st.sampled_from([0.0, 60.0, 2.25, 0.5]),
    st.integers(0, 2),
)


@examples(100)
@given(st.lists(ENDS, max_size=4))
def test_attempts_made_at_random_are_what_enumeration_gives(attempts):
    attempted, success, failure, gain, numbers = np.array(attempts, dtype=float).reshape(-1, 5).T
    numbers = numbers.astype(np.int64)
    # Costs computed as differences of expected amounts have a rounding error.
    paid = (attempted * success * gain + attempted * failure - attempted * success * gain) / np.maximum(attempted, 0.1)
    found = Tries(attempted * success, numbers, gain, attempted, paid).payoffs(no_draws)
    expected = {0: 1.0}
    for often, hit, lost, won, number in attempts:
        for _ in range(number):
            ends = [(1 - often, 0.0), (often * (1 - hit), lost), (often * hit, lost + won)]
            before, expected = expected, {}
            for (total, mass), (chance, amount) in itertools.product(before.items(), ends):
                place = total + round(100 * amount)
                expected[place] = expected.get(place, 0.0) + mass * chance
    masses = dict(zip(np.round(100 * found.values).astype(int).tolist(), found.masses.tolist(), strict=True))
    assert found.drawn == 0
    assert len(masses) == len(found.values)
    for total in expected.keys() | masses.keys():
        assert masses.get(total, 0.0) == pytest.approx(expected.get(total, 0.0), abs=1e-12)


def test_many_attempts_made_at_random_have_the_transform_of_their_characteristic_function():
    attempted, success, numbers = np.array([0.3, 0.6]), np.array([0.01, 0.05]), np.array([20_000, 700])
    found = Tries(attempted * success, numbers, np.full(2, 300.0), attempted, np.full(2, -4.0)).payoffs(no_draws)
    # In units of 4: the largest possible sum is far below the number of frequencies.
    n = 1 << 16
    w = 2 * np.pi * np.arange(n) / n
    transform = np.ones(n, dtype=complex)
    for q, s, number in zip(attempted, success, numbers, strict=True):
        transform *= (1 - q + q * (1 - s) * np.exp(-1j * w) + q * s * np.exp(74j * w)) ** number
    masses = np.fft.fft(transform).real / n
    places = np.round(found.values / 4).astype(int)
    assert len(places) < n
    assert np.abs(masses[places % n] - found.masses).max() < 1e-12
    mean = numbers @ (attempted * (300 * success - 4))
    assert found.values @ found.masses == pytest.approx(mean, rel=1e-9)
