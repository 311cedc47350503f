"""Shapley shares, against the mean over all orders."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.engine.attributes import exact_shares, sampled_shares


def over_all_orders(value, n):
    """Return each part's added value, averaged over every order."""
    orders = list(itertools.permutations(range(n)))
    shares = np.zeros((n, len(value(0))))
    for order in orders:
        members = 0
        for part in order:
            before, members = value(members), members | 1 << part
            shares[part] += value(members) - before
    return shares / len(orders)


def random_values(n, seed):
    table = np.random.default_rng(seed).normal(size=(2**n, 2))
    return lambda members: table[members]


@examples(60)
@given(st.integers(1, 5), st.integers(0, 1000))
def test_shares_are_averages_over_all_orders_and_add_up(n, seed):
    value = random_values(n, seed)
    found = exact_shares(value, n)
    np.testing.assert_allclose(found, over_all_orders(value, n), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), value(2**n - 1) - value(0), atol=1e-12)


@examples(30)
@given(st.integers(2, 6), st.integers(0, 1000))
def test_drawn_shares_add_up_and_are_as_exact_as_they_say(n, seed):
    value = random_values(n, seed)
    exact = exact_shares(value, n)
    drawn, errors = sampled_shares(value, n, 400, np.random.default_rng(seed))
    np.testing.assert_allclose(drawn.sum(axis=0), value(2**n - 1) - value(0), atol=1e-12)
    # Five standard errors, of at most 12 numbers.
    assert (np.abs(drawn - exact) <= 5 * errors + 1e-12).all()
    _, fewer = sampled_shares(value, n, 100, np.random.default_rng(seed))
    assert fewer.mean() == pytest.approx(2 * errors.mean(), rel=0.4)


def test_one_order_has_no_standard_error():
    with pytest.raises(InputError, match="orders: too few orderings; found 1; expected 2 or more"):
        sampled_shares(lambda members: np.zeros(1), 2, 1, np.random.default_rng(0))
