"""Unconfirmed success, against a dynamic program over beliefs about each person."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from sequential_programs.attacks import A, small_attacks, some
from tiers import examples

from reidsim.adversaries.sequential.attack import UnconfirmedSuccess, exploit_values, unconfirmed_values
from reidsim.adversaries.sequential.planning import plan_known
from reidsim.core.errors import InputError
from reidsim.core.validation import validated

CONFIRMED = UnconfirmedSuccess(sensitivity=1.0, specificity=1.0)


attacks = small_attacks(max_penalties=st.none() | st.integers(1, 3), detection_ends_attack=st.booleans())
signals = st.builds(
    UnconfirmedSuccess,
    sensitivity=some(0.55, 1.0) | st.floats(0.5001, 1),
    specificity=some(0.5, 1.0),
    false_claim_cost=some(0.0, 50.0),
)


def program(a, signal, size):
    """Return V(x_start), right and wrong claim probabilities and expected exploits.

    These are for one linked record. The belief has a weight for each candidate and one for all people elsewhere;
    candidates are exploited in their order, and Bayes' rule is applied to each.
    """
    due = a.penalty * (a.discount if a.penalty_timing == "next-state" else 1)
    most = math.inf if a.max_penalties is None else a.max_penalties

    def solve(belief, elsewhere, j, paid):
        if j == size:
            return 0.0, 0.0, 0.0, 0.0
        p = 1 / (1 + math.exp(-(a.detection_intercept + a.detection_slope * j)))
        right = belief[j] / (sum(belief) + elsewhere)
        hit, false = right * signal.sensitivity, (1 - right) * (1 - signal.specificity)
        worth = -a.exploit_cost - (p * due if paid < most else 0)
        worth += a.discount * (hit * a.gain - false * signal.false_claim_cost)
        sums = [hit, false, 1.0]
        if hit + false < 1:
            told = [w * (1 - signal.sensitivity if i == j else signal.specificity) for i, w in enumerate(belief)]
            for caught, chance in ((True, p), (False, 1 - p)):
                if caught and a.detection_ends_attack:
                    continue
                later = solve(told, elsewhere * signal.specificity, j + 1, min(paid + caught, size + 1))
                weight = chance * (1 - hit - false)
                worth += a.discount * weight * later[0]
                sums = [mine + weight * its for mine, its in zip(sums, later[1:], strict=True)]
        return (worth, *sums) if worth > 1e-10 else (0.0, 0.0, 0.0, 0.0)

    return solve([1.0] * size, size / a.prior - size, 0, 0)


def claims(a, signal, values):
    """Return the probabilities of a right and of a false claim by group size."""
    right = a.prior / np.maximum(np.arange(values.largest + 1), 1) * values.exploits_if_missing
    return right, (1 - signal.specificity) * (values.expected_exploits - right / signal.sensitivity)


@examples(60)
@given(a=attacks, signal=signals, largest=st.integers(1, 5))
def test_groups_are_worth_what_the_belief_program_says(a, signal, largest):
    values = unconfirmed_values(a, signal, largest)
    plan = plan_known(a, np.arange(largest + 1), signal=signal)
    assert plan.value[0] == 0
    event(f"cut: {values.complete}")
    for size in range(1, largest + 1):
        worth, right, false, exploits = program(a, signal, size)
        if size > values.largest:
            assert worth == pytest.approx(0, abs=1e-8)
            continue
        assert values.value[size] == pytest.approx(worth, rel=1e-9, abs=1e-8)
        outset = max(0, a.discount * max(0, a.discount * worth - a.link_cost) - a.access_cost)
        assert plan.value[size] == plan.true_payoff[size] == pytest.approx(outset, rel=1e-9, abs=1e-8)
        if worth > 1e-7:
            assert [each[size] for each in claims(a, signal, values)] == pytest.approx([right, false], abs=1e-9)
            assert values.expected_exploits[size] == pytest.approx(exploits, abs=1e-9)
        if outset > 1e-7:
            assert plan.accesses[size]
            assert plan.reidentified[size] == pytest.approx(right, abs=1e-9)
            assert plan.exploits[size] == pytest.approx(exploits, abs=1e-9)


@examples(60)
@given(a=attacks, largest=st.integers(0, 40))
def test_a_perfect_signal_is_confirmation(a, largest):
    found, expected = unconfirmed_values(a, CONFIRMED, largest), exploit_values(a, largest)
    np.testing.assert_array_equal(found.value, expected.value)
    np.testing.assert_array_equal(found.exploits_undetected, expected.exploits_undetected)
    np.testing.assert_allclose(found.expected_exploits, expected.expected_exploits, rtol=1e-12)
    assert (found.largest, found.complete) == (expected.largest, expected.complete)
    sizes = np.arange(largest + 5)
    ours, theirs = plan_known(a, sizes, signal=CONFIRMED), plan_known(a, sizes)
    for name in ("value", "accesses", "reidentified", "exploits", "true_payoff"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)


def test_the_sunk_threshold_falls_from_51_to_39():
    signal = UnconfirmedSuccess(sensitivity=0.9, specificity=0.99, false_claim_cost=2000.0)
    sunk = replace(A, access_cost=0.0)
    sizes = np.arange(1, 80)
    assert np.flatnonzero(~plan_known(sunk, sizes, signal=CONFIRMED).accesses)[0] + 1 == 51
    assert np.flatnonzero(~plan_known(sunk, sizes, signal=signal).accesses)[0] + 1 == 39
    values = unconfirmed_values(A, signal, 1000)
    assert (values.largest, values.complete) == (39, True)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"sensitivity": 1.1}, "sensitivity"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"specificity": 1.1}, "specificity"),
        ({"sensitivity": 0.3, "specificity": 0.6}, "sensitivity"),
        ({"false_claim_cost": -1.0}, "false_claim_cost"),
    ],
)
def test_signals_that_cannot_be(changes, where):
    with pytest.raises(InputError) as caught:
        validated(UnconfirmedSuccess, {"sensitivity": 0.9, "specificity": 0.9, **changes}, "scenario")
    assert caught.value.where == where
