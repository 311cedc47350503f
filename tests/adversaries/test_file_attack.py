"""A whole file on one clock, against a dynamic program over joint states."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tiers import examples

from reidsim.adversaries.sequential import file_attack
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.exploit_values import exploit_values
from reidsim.adversaries.sequential.file_attack import plan_file
from reidsim.adversaries.sequential.planning import plan_known
from reidsim.errors import InputError

# Settings (a) and (c) of the paper's evaluation; the paper does not print the discount.
A = SequentialAttack(
    gain=8000, access_cost=100, exploit_cost=10, penalty=10000, detection_intercept=-4.59, prior=0.63, discount=0.9
)
C = replace(A, detection_slope=0.18)


def gittins_indices(attack, group_sizes):
    """Return Gittins indices by group size.

    One index of an unlinked record and one after each exploit that missed.
    """
    sizes = np.unique(file_attack.checked_file(attack, group_sizes))
    distinct, _ = file_attack.sizes_worth_linking(attack, sizes)
    steps = file_attack._steps(attack, int(distinct.max(initial=0)))
    gain = attack.discount * attack.gain
    return {size: file_attack._majorant(size, attack.prior, gain, steps)[-1] for size in distinct.tolist()}


def some(low, high):
    """Draw amounts that are often exactly the lower or the upper end."""
    return st.one_of(st.just(low), st.just(high), st.floats(low, high))


attacks = st.builds(
    SequentialAttack,
    gain=some(30.0, 100.0),
    access_cost=some(0.0, 5.0),
    link_cost=some(0.0, 3.0),
    exploit_cost=some(0.0, 2.0),
    penalty=some(0.0, 20.0),
    detection_intercept=st.floats(-5, 0),
    detection_slope=some(0.0, 1.0) | st.floats(-1, 0),
    prior=some(0.1, 1.0),
    discount=some(0.9, 1.0) | st.floats(0.5, 1),
    penalty_timing=st.sampled_from(["next-state", "at-action"]),
    detection_ends_attack=st.booleans(),
)
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
    assert plan.access_threshold == a.discount * plan.value_after_access
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
@given(a=attacks, sizes=st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_indices_are_the_best_ratios_of_reward_to_lost_discount(a, sizes):
    due = a.penalty * (a.discount if a.penalty_timing == "next-state" else 1)
    indices = gittins_indices(a, np.array(sizes))
    for size in sizes:
        worth = max(0, a.discount * single_program(a, size)[0] - a.link_cost)
        if abs(worth) < 1e-9:
            continue
        assert indices[size].shape == (size + 1,)
        for start in range(-1, size):
            best, reward, lost, weight = 0.0, 0.0, 0.0, 1.0
            for j in range(start, size):
                p, hit = (caught(a, j), 1 / (size / a.prior - j)) if j >= 0 else (0, 0)
                passed = a.discount * (1 - p if a.detection_ends_attack else 1)
                cost = a.exploit_cost + p * due if j >= 0 else a.link_cost
                reward += weight * (a.discount * hit * a.gain - cost)
                lost += weight * (1 - passed)
                weight *= passed * (1 - hit)
                if reward > 1e-12:
                    best = max(best, reward / lost if lost > 0 else math.inf)
            found = indices[size][start + 1]
            assert found == pytest.approx(best, rel=1e-9, abs=1e-9)


@examples(60)
@given(a=attacks, sizes=st.lists(st.integers(1, 6), min_size=1, max_size=40))
def test_files_too_large_for_a_joint_program_agree_with_whittles_integral(a, sizes):
    a = replace(a, discount=min(a.discount, 0.95))
    indices = gittins_indices(a, np.array(sizes))
    # For each size and step: the level down to which it is made, and the discount factor passed to other records.
    ways = {}
    for size in indices:
        level, way, passed = math.inf, [], a.discount
        reach, hits = a.discount, 0.0
        for j, index in enumerate(indices[size][1:]):
            level = min(level, indices[size][0], index) if j else indices[size][0]
            hit = 1 / (size / a.prior - j)
            on = a.discount * (1 - caught(a, j) if a.detection_ends_attack else 1)
            hits += reach * hit * on
            reach *= (1 - hit) * on
            passed = hits + reach
            way.append((level, passed))
        ways[size] = way

    def passed_on(size, level):
        return ([1.0] + [passed for at, passed in ways[size] if at > level])[-1] if size in ways else 1.0

    levels = sorted({0.0, *(level for way in ways.values() for level, _ in way)})
    integral = sum(
        (high - low) * (1 - math.prod(passed_on(size, low) for size in sizes)) for low, high in pairwise(levels)
    )
    assert plan_file(a, np.array(sizes)).value_after_access == pytest.approx(integral, rel=1e-8, abs=1e-8)


@examples(60)
@given(a=attacks, sizes=st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_what_more_records_and_higher_prices_do(a, sizes):
    plan = plan_file(a, np.array(sizes))
    fewer = plan_file(a, np.array(sizes[:-1] or [0]))
    assert plan.value >= fewer.value - 1e-9
    assert plan_file(replace(a, exploit_cost=a.exploit_cost + 1), np.array(sizes)).value <= plan.value + 1e-9
    assert plan_file(replace(a, access_cost=plan.access_threshold), np.array(sizes)).value == 0
    order = np.random.default_rng(len(sizes)).permutation(len(sizes))
    shuffled = plan_file(a, np.array(sizes)[order])
    assert shuffled.value == plan.value
    np.testing.assert_array_equal(shuffled.reidentified, plan.reidentified[order])
    assert (plan.reidentified <= a.prior + 1e-12).all()
    assert (plan.exploits <= np.array(sizes)).all()
    if not a.detection_ends_attack and plan.accesses:
        # Other records only cost time, so each record is attacked as if access were free.
        alone = plan_known(replace(a, access_cost=0.0), np.array(sizes))
        np.testing.assert_allclose(plan.reidentified, alone.reidentified, atol=1e-12)
        np.testing.assert_allclose(plan.exploits, alone.exploits, atol=1e-12)


@examples(60)
@given(a=attacks, sizes=files)
def test_without_discount_the_worth_is_what_is_reidentified_less_what_is_paid(a, sizes):
    plain = replace(a, discount=1.0, penalty=0.0, link_cost=0.0, access_cost=0.0)
    plan = plan_file(plain, np.array(sizes))
    earned = plain.gain * plan.reidentified.sum() - plain.exploit_cost * plan.exploits.sum()
    assert plan.value == pytest.approx(earned, rel=1e-9, abs=1e-9)


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


@examples(60)
@given(a=attacks, size=st.integers(1, 12))
def test_a_file_of_one_record_is_a_single_record(a, size):
    file, single = plan_file(a, np.array([size])), plan_known(a, np.array([size]))
    assert file.value == pytest.approx(single.value[0], rel=1e-9, abs=1e-9)
    if file.value > 1e-6:
        assert file.reidentified[0] == pytest.approx(single.reidentified[0], abs=1e-9)
        assert file.exploits[0] == pytest.approx(single.exploits[0], abs=1e-9)


@pytest.mark.parametrize(("attack", "alone", "in_file"), [(A, 45, 51), (C, 29, 46)])
def test_a_shared_access_price_moves_the_thresholds_to_the_sunk_ones(attack, alone, in_file):
    sizes = np.arange(1, 81)
    assert plan_known(attack, sizes).accesses.sum() == alone - 1
    plan = plan_file(attack, sizes)
    assert plan.size_threshold == in_file
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


def test_large_groups_that_all_pay_are_planned_without_underflow():
    cheap = SequentialAttack(gain=1e9, exploit_cost=0.0, discount=0.5, prior=0.5)
    plan = plan_file(cheap, np.array([5000, 4000]))
    assert plan.size_threshold is None
    np.testing.assert_allclose(plan.reidentified, 0.5)


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
    for plan in (plan_file, gittins_indices):
        with pytest.raises(InputError) as caught:
            plan(attack, np.array(sizes))
        assert caught.value.where == where
