"""A budget of exploits for a whole file, against a dynamic program."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from sequential_programs.attacks import A, C, small_attacks
from tiers import examples

from reidsim.adversaries.sequential.file_attack import plan_file, plan_with_budget
from reidsim.adversaries.sequential.planning import plan_known
from reidsim.core.errors import InputError

MANY = np.minimum(np.random.default_rng(1).geometric(0.03, 5000), 400)


attacks = small_attacks()
files = st.lists(st.integers(0, 4), min_size=1, max_size=3)


def plan(a, sizes, budget, draws=1000):
    return plan_with_budget(a, np.array(sizes), budget, np.random.default_rng(0), draws=draws)


def best_within_budget(a, sizes, budget):
    """Return the value of the registry by recursion over states and exploits left."""
    due = a.penalty * (a.discount if a.penalty_timing == "next-state" else 1)

    @cache
    def solve(state, left):
        best = 0.0
        for r, (size, now) in enumerate(zip(sizes, state, strict=True)):
            if now in ("hit", size) or size == 0:
                continue

            def after(new, left, r=r):
                return solve((*state[:r], new, *state[r + 1 :]), left)

            if now == "new":
                best = max(best, -a.link_cost + after(0, left))
            elif left:
                p = 1 / (1 + math.exp(-(a.detection_intercept + a.detection_slope * now)))
                hit = 1 / (size / a.prior - now)
                earned = a.discount ** (1 + now) * (a.discount * hit * a.gain - a.exploit_cost - p * due)
                later = hit * after("hit", left - 1) + (1 - hit) * after(now + 1, left - 1)
                best = max(best, earned + later)
        return best

    return solve(("new",) * len(sizes), budget)


@pytest.mark.deep
@examples(20)
@given(a=attacks, sizes=files, budget=st.integers(1, 10))
def test_the_best_plan_lies_between_the_policy_and_the_bound(a, sizes, budget):
    best = best_within_budget(a, tuple(sizes), budget)
    found = plan(a, sizes, budget)
    tolerance = 1e-9 * a.gain
    assert found.standard_error == 0
    assert 0 <= found.value_after_access <= best + tolerance
    assert best <= found.upper_bound + tolerance
    assert found.value == pytest.approx(max(0, a.discount * found.value_after_access - a.access_cost))
    assert found.exploits.sum() <= budget + 1e-9
    event(f"policy is best: {found.value_after_access >= best - tolerance}")
    if budget >= sum(sizes):
        assert found.value_after_access == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.deep
@examples(60)
@given(a=attacks, sizes=st.lists(st.integers(0, 12), min_size=1, max_size=30), spare=st.integers(0, 5))
def test_a_budget_for_everyone_is_none(a, sizes, spare):
    budget = max(sum(sizes), 1) + spare
    found = plan(a, sizes, budget)
    alone = plan_known(replace(a, access_cost=0.0), np.array(sizes))
    # Each record has its value as a single record, once access (one step) is paid.
    assert found.value_after_access == pytest.approx(alone.value.sum() / a.discount, rel=1e-9, abs=1e-9)
    assert found.upper_bound == found.value_after_access
    assert found.standard_error == 0
    if found.accesses and found.value_after_access > 1e-6:
        np.testing.assert_allclose(found.reidentified, alone.reidentified, atol=1e-9)
        np.testing.assert_allclose(found.exploits, alone.exploits, atol=1e-9)
    plain = replace(a, discount=1.0)
    assert plan(plain, sizes, budget).value == pytest.approx(
        plan_file(plain, np.array(sizes)).value, rel=1e-9, abs=1e-9
    )


@pytest.mark.deep
@examples(60)
@given(a=attacks, sizes=st.lists(st.integers(0, 8), min_size=1, max_size=20))
def test_more_budget_never_hurts(a, sizes):
    plans = [plan(a, sizes, budget, draws=2) for budget in range(1, 20)]
    bounds = np.array([found.upper_bound for found in plans])
    added = np.diff(bounds)
    assert (added >= -1e-9).all()
    # Each exploit adds less than the one before, and the shadow price is between the last and the next addition.
    assert (np.diff(added) <= 1e-9 * a.gain).all()
    prices = np.array([found.price for found in plans])
    assert (prices[:-1] >= added - 1e-9 * a.gain).all()
    assert (prices[1:] <= added + 1e-9 * a.gain).all()


@examples(40)
@given(a=attacks, sizes=st.lists(st.integers(1, 4), min_size=3, max_size=3), budget=st.integers(1, 8))
def test_draws_agree_with_going_through_all_cases(a, sizes, budget):
    a = replace(a, access_cost=0.0)
    exact, drawn = plan(a, sizes, budget, draws=1000), plan(a, sizes, budget, draws=7)
    event(f"drawn: {drawn.standard_error > 0}")
    assert drawn.upper_bound == exact.upper_bound
    many = [
        plan_with_budget(a, np.array(sizes), budget, np.random.default_rng(seed), draws=7).value_after_access
        for seed in range(60)
    ]
    spread = np.std(many) / math.sqrt(len(many))
    assert abs(np.mean(many) - exact.value_after_access) <= 4.5 * spread + 1e-9


@pytest.mark.parametrize(
    ("attack", "budget"), [(A, 10), (C, 1000), (replace(A, discount=1.0), 10_000), (replace(C, link_cost=50.0), 1000)]
)
def test_five_thousand_records_are_planned_to_within_a_few_tenths_of_a_percent(attack, budget):
    found = plan(attack, MANY, budget, draws=100)
    assert found.value_after_access >= (1 - 0.004) * found.upper_bound
    assert found.value_after_access <= found.upper_bound + 5 * found.standard_error
    assert found.standard_error < 0.001 * found.upper_bound
    assert found.exploits.sum() == pytest.approx(budget, rel=0.01)
    # The same seed gives the same plan.
    again = plan(attack, MANY, budget, draws=100)
    assert again.value == found.value
    np.testing.assert_array_equal(again.reidentified, found.reidentified)
    assert (found.reidentified <= attack.prior + 1e-9).all()


@pytest.mark.parametrize(
    ("attack", "sizes", "where"),
    [
        (A, [], "group sizes"),
        (A, [-1], "group sizes"),
        (replace(A, max_penalties=2), [3], "max_penalties"),
        (replace(A, detection_ends_attack=True), [3], "detection_ends_attack"),
    ],
)
def test_what_cannot_be_planned_within_a_budget(attack, sizes, where):
    with pytest.raises(InputError) as caught:
        plan(attack, sizes, 5, draws=10)
    assert caught.value.where == where
