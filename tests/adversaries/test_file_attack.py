"""A whole file on one clock, against a dynamic program over joint states."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from sequential_programs.attacks import A, C, small_attacks
from tiers import examples

from reidsim.adversaries.sequential.file_attack import plan_file
from reidsim.adversaries.sequential.planning import plan_known
from reidsim.core.errors import InputError

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


@pytest.mark.parametrize(("attack", "alone", "in_file"), [(A, 45, 51), (C, 29, 46)])
def test_a_shared_access_price_moves_the_thresholds_to_the_sunk_ones(attack, alone, in_file):
    sizes = np.arange(1, 81)
    assert plan_known(attack, sizes).accesses.sum() == alone - 1
    plan = plan_file(attack, sizes)
    assert np.flatnonzero(plan.reidentified).tolist() == list(range(in_file - 1))


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
