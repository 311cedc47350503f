"""Closed forms, against sums term by term."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.linkage.uniqueness.sums import (
    log_gamma_ratio,
    sum_of_logs,
    sum_of_reciprocals,
    sum_of_weighted_reciprocals,
)

starts = st.floats(-8, 12).map(lambda exponent: 10**exponent)
steps = st.one_of(st.just(0.0), st.floats(-14, 0).map(lambda exponent: 10**exponent))


@given(start=starts, step=steps, terms=st.integers(0, 500))
def test_sums_over_a_progression_are_those_of_its_terms(start, step, terms):
    values = [start + i * step for i in range(terms)]
    scale = sum(abs(math.log(value)) for value in values) + terms
    assert sum_of_logs(start, step, terms) == pytest.approx(math.fsum(map(math.log, values)), abs=1e-12 * scale)
    assert sum_of_reciprocals(start, step, terms) == pytest.approx(math.fsum(1 / v for v in values), rel=1e-11)
    weighted = math.fsum(i / v for i, v in enumerate(values))
    assert sum_of_weighted_reciprocals(start, step, terms) == pytest.approx(weighted, rel=1e-9)


@given(x=starts.filter(lambda start: start > 1e-3), d=st.integers(0, 300))
def test_a_ratio_of_gamma_functions_is_a_product_of_factors(x, d):
    logs = [math.log(x + i) for i in range(d)]
    assert float(log_gamma_ratio(x, d)) == pytest.approx(math.fsum(logs), abs=1e-13 * (1 + sum(map(abs, logs))))


def test_a_ratio_is_exact_where_the_gamma_functions_themselves_are_not():
    # Two half steps are one step, log x.
    for x in (1e3, 1e8, 1e13):
        halves = log_gamma_ratio(x, 0.5) + log_gamma_ratio(x + 0.5, 0.5)
        assert float(halves) == pytest.approx(math.log(x), rel=1e-14)
