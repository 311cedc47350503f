"""A whole file on one clock, against a dynamic program over joint states."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from sequential_programs.attacks import small_attacks
from tiers import examples

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.exploit_values import exploit_values
from reidsim.adversaries.sequential.file_attack import plan_file
from reidsim.adversaries.sequential.planning import plan_known
from reidsim.core.errors import InputError

# Settings (a) and (c) of the paper's evaluation; the paper does not print the discount.
A = SequentialAttack(
    gain=8000, access_cost=100, exploit_cost=10, penalty=10000, detection_intercept=-4.59, prior=0.63, discount=0.9
)
C = replace(A, detection_slope=0.18)


attacks = small_attacks(detection_ends_attack=st.booleans())
files = st.lists(st.integers(0, 4), min_size=1, max_size=3)


def caught(a, j):
    return 1 / (1 + math.exp(-(a.detection_intercept + a.detection_slope * j)))


def joint_program(a, sizes):
    """Return the registry's value, and P_reid and expected exploits of each record.

    The recursion is over joint states; a record's state is "new", the number of exploits made, or "hit". The result
    also includes the smallest margin of the second-best choice, because probabilities are only comparable if the best
    plan is unique.
    """
    due = a.penalty * (a.discount if a.penalty_timing == "next-state" else 1)
    n = len(sizes)

    @cache
    def solve(state):
        options = [(0.0, (0.0,) * 2 * n)]
        for r, (size, now) in enumerate(zip(sizes, state, strict=True)):
            if now in ("hit", size) or size == 0:
                continue

            def after(new, r=r):
                return solve((*state[:r], new, *state[r + 1 :]))

            if now == "new":
                worth, sums = after(0)
                options.append((-a.link_cost + a.discount * worth, sums))
                continue
            p, hit = caught(a, now), 1 / (size / a.prior - now)
            goes_on = 1 - p if a.detection_ends_attack else 1
            won, lost = after("hit"), after(now + 1)
            worth = -a.exploit_cost - p * due + a.discount * hit * a.gain
            worth += a.discount * goes_on * (hit * won[0] + (1 - hit) * lost[0])
            sums = [goes_on * (hit * w + (1 - hit) * x) for w, x in zip(won[1], lost[1], strict=True)]
            sums[r] += hit
            sums[n + r] += 1
            options.append((worth, tuple(sums)))
        return max(options, key=lambda option: option[0] - 1e-10 * (option[0] != 0))

    worth, sums = solve(("new",) * n)
    return worth, np.array(sums[:n]), np.array(sums[n:])


def single_program(a, size):
    """Return V(x_start), P_reid and expected exploits of one linked record."""
    due = a.penalty * (a.discount if a.penalty_timing == "next-state" else 1)
    worth = reidentified = exploits = 0.0
    for j in reversed(range(size)):
        p, hit = caught(a, j), 1 / (size / a.prior - j)
        goes_on = (1 - hit) * (1 - p if a.detection_ends_attack else 1)
        worth = -a.exploit_cost - p * due + a.discount * (hit * a.gain + goes_on * worth)
        reidentified, exploits = hit + goes_on * reidentified, 1 + goes_on * exploits
        if worth <= 1e-12:
            worth = reidentified = exploits = 0.0
    return worth, reidentified, exploits


@examples(60)
@given(a=attacks, sizes=files)
def test_a_file_is_worth_what_the_joint_program_says(a, sizes):
    worth, reidentified, exploits = joint_program(a, tuple(sizes))
    plan = plan_file(a, np.array(sizes))
    assert plan.value_after_access == pytest.approx(worth, rel=1e-11, abs=1e-9)
    assert plan.value == pytest.approx(max(0, a.discount * worth - a.access_cost), rel=1e-9, abs=1e-9)
    assert plan.accesses == (plan.value > 0)
    event(f"accesses: {plan.accesses}")
    if not plan.accesses:
        assert not plan.reidentified.any()
        assert not plan.exploits.any()
        return
    # Records of one size have the joint program's values in some order.
    for size in set(sizes):
        same = np.array(sizes) == size
        assert np.ptp(plan.reidentified[same]) == 0
        assert plan.reidentified[same].sum() == pytest.approx(reidentified[same].sum(), abs=1e-9)
        assert plan.exploits[same].sum() == pytest.approx(exploits[same].sum(), abs=1e-9)


@examples(60)
@given(a=attacks, largest=st.integers(1, 12))
def test_single_records_whose_attack_may_end_by_detection(a, largest):
    a = replace(a, detection_ends_attack=True, access_cost=0.0)
    sizes = np.arange(1, largest + 1)
    plan, values = plan_known(a, sizes), exploit_values(a, largest)
    for size in sizes:
        worth, reidentified, exploits = single_program(a, size)
        found = values.value[size] if size <= values.largest else 0.0
        assert found == pytest.approx(worth, rel=1e-9, abs=1e-9)
        linked = a.discount * worth - a.link_cost
        assert plan.value[size - 1] == pytest.approx(max(0, a.discount * linked), rel=1e-9, abs=1e-9)
        if linked > 1e-9:
            assert plan.reidentified[size - 1] == pytest.approx(reidentified, abs=1e-9)
            assert plan.exploits[size - 1] == pytest.approx(exploits, abs=1e-9)


@pytest.mark.parametrize(("attack", "alone", "in_file"), [(A, 45, 51), (C, 29, 46)])
def test_a_shared_access_price_moves_the_thresholds_to_the_sunk_ones(attack, alone, in_file):
    sizes = np.arange(1, 81)
    assert plan_known(attack, sizes).accesses.sum() == alone - 1
    plan = plan_file(attack, sizes)
    assert np.flatnonzero(plan.reidentified).tolist() == list(range(in_file - 1))


def test_five_thousand_records_with_a_hit_of_every_kind():
    sizes = np.minimum(np.random.default_rng(1).geometric(0.03, 5000), 400)
    plan = plan_file(A, sizes)
    # With h1 = 0 all candidates of a record are exploited or none (Finding 2).
    np.testing.assert_allclose(plan.reidentified, np.where(sizes < 51, 0.63, 0.0), atol=1e-12)
    ending = plan_file(replace(A, detection_ends_attack=True), sizes)
    assert ending.value < plan.value
    assert ending.reidentified.max() < 0.63
    # On average about 1 / p exploits are made before one is detected.
    assert ending.exploits.sum() == pytest.approx(1 / A.detection(1)[0], rel=1e-3)


@pytest.mark.parametrize(
    ("attack", "sizes", "where"),
    [
        (A, [], "group sizes"),
        (A, [[1, 2], [3, 4]], "group sizes"),
        (A, [1, -2], "group sizes"),
        (A, [1.5], "group sizes"),
        (replace(A, max_penalties=1), [1], "max_penalties"),
    ],
)
def test_what_cannot_be_planned_as_a_file(attack, sizes, where):
    with pytest.raises(InputError) as caught:
        plan_file(attack, np.array(sizes))
    assert caught.value.where == where
