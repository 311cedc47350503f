"""The sequential adversary, against the decision process of Xia et al. 2015."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import assume, event, example, given
from hypothesis import strategies as st
from sequential_programs.attacks import attacks
from sequential_programs.paper_attack import paper_of
from tiers import examples

from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.attack import SequentialAttack, exploit_values
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    SequentialAdversary,
    attack_threshold,
    exploits_undetected,
    plan_baseline,
    plan_known,
    plan_unknown,
)
from reidsim.core.errors import InputError

# The decision process.


@given(attack=attacks(), g=st.integers(0, 10), accesses=st.sampled_from([None, True]))
@examples(300)
def test_a_known_group_is_attacked_as_the_decision_process_says(attack, g, accesses):
    paper = paper_of(attack)
    assume(g == 0 or paper.margin(g) > 1e-9 * attack.gain)
    value = paper.v_outset({g: 1.0})
    plan = plan_known(attack, np.array([g]), accesses=None if accesses is None else np.array([accesses]))
    goes = value > 0 if accesses is None else accesses
    p_reid, made, payoff = paper.play(g, goes)
    event(f"accesses: {goes}, exploits: {made > 0}, all: {p_reid > 0.999 * attack.prior}")
    close = {"rel": 1e-9, "abs": 1e-12 * attack.gain}
    assert plan.value[0] == pytest.approx(value, **close)
    assert plan.accesses[0] == goes
    assert plan.reidentified[0] == pytest.approx(p_reid, rel=1e-9)
    assert plan.exploits[0] == pytest.approx(made, rel=1e-9)
    assert plan.true_payoff[0] == pytest.approx(payoff, rel=1e-9, abs=1e-10 * attack.gain)
    if accesses is None:  # The true payoff equals the expected one.
        assert plan.true_payoff[0] == pytest.approx(value, **close)


@given(attack=attacks(), n=st.integers(0, 9), p=st.floats(0.01, 0.99), true=st.lists(st.integers(0, 10), min_size=1))
@examples(100)
def test_a_group_known_in_distribution_is_attacked_as_the_decision_process_says(attack, n, p, true):
    paper, true = paper_of(attack), true[:3]
    assume(all(g == 0 or paper.margin(g) > 1e-9 * attack.gain for g in [*range(n + 1), *true]))
    value = paper.v_outset(dict(enumerate(scipy.stats.binom.pmf(range(n + 1), n, p).tolist())))
    assume(value == 0 or value > 1e-9 * attack.gain)
    event("accesses" if value > 0 else "stays out")
    plan = plan_unknown(attack, np.array(true), BinomialBelief(n, np.full(len(true), p)))
    np.testing.assert_allclose(plan.value, value, rtol=1e-9, atol=1e-12 * attack.gain)
    assert (plan.accesses == (value > 0)).all()
    outcomes = np.array([paper.play(g, value > 0) for g in true])
    np.testing.assert_allclose(plan.reidentified, outcomes[:, 0], rtol=1e-9)
    np.testing.assert_allclose(plan.exploits, outcomes[:, 1], rtol=1e-9)
    np.testing.assert_allclose(plan.true_payoff, outcomes[:, 2], rtol=1e-9, atol=1e-10 * attack.gain)


@given(attack=attacks(), g=st.integers(1, 10))
@examples(150)
def test_each_exploit_is_made_as_the_decision_process_says(attack, g):
    paper = paper_of(attack)
    assume(paper.margin(g) > 1e-9 * attack.gain)
    _, exploits = paper.solve(g)
    run = 0
    while run < g and exploits(g - run):
        run += 1
    assert exploits_undetected(attack, np.array([g])).tolist() == [run]


def test_nobody_is_exploited_by_an_adversary_who_is_indifferent():
    even = SequentialAttack(gain=8, exploit_cost=4, discount=0.5)
    assert plan_known(even, np.array([1])).accesses.tolist() == [False]
    assert exploits_undetected(even, np.array([1])).tolist() == [0]
    # Worth 2 once linked and 1 before, without the price.
    for cost in ({"access_cost": 0.5}, {"link_cost": 1.0}):
        attack = replace(even, exploit_cost=2, **cost)
        assert plan_known(attack, np.array([1])).accesses.tolist() == [False]
        cheaper = replace(attack, gain=8.01)
        assert plan_known(cheaper, np.array([1])).accesses.tolist() == [True]
        assert attack_threshold(attack) == 1


@given(attack=attacks(dearest=0.1))
@examples(60, fast=4)
def test_larger_groups_are_never_worth_more_and_the_table_ends_where_nothing_is_left(attack):
    paper = paper_of(attack)
    worth = np.array([paper.v_start(g) for g in range(1, 65)])
    assert (np.diff(worth) <= 1e-12 * attack.gain).all()
    values = exploit_values(attack, 64)
    table = values.value[1:]
    event("cut" if values.complete else "never worth nothing")
    np.testing.assert_allclose(table, worth[: len(table)], rtol=1e-9, atol=1e-12 * attack.gain)
    assert (worth[len(table) :] <= 1e-12 * attack.gain).all()
    assert (table[:-1] > 0).all()
    assert values.complete == (table[-1] == 0)
    assert values.complete == (worth[-1] <= 1e-12 * attack.gain)
    sizes = np.arange(61)
    plan = plan_known(attack, sizes)
    assert (plan.accesses[values.largest + 1 :] == False).all()  # noqa: E712 - an array
    access = [paper.v_access(g) for g in range(61)]
    outset = np.maximum(0, attack.discount * np.array(access) - attack.access_cost)
    np.testing.assert_allclose(plan.value, outset, rtol=1e-9, atol=1e-12 * attack.gain)


def test_there_is_no_threshold_for_an_adversary_who_pays_nothing():
    assert attack_threshold(SequentialAttack(gain=100), largest=5000) is None
    assert attack_threshold(SequentialAttack(gain=100, exploit_cost=1), largest=5) is None
    assert attack_threshold(SequentialAttack(gain=0)) == 1


@given(attack=attacks(slopes=st.just(0.0), limits=(None,), dearest=0.03))
@examples(100)
def test_constant_detection_and_a_penalty_every_time_mean_all_or_nothing(attack):
    # Finding 2, for every discount.
    attack = replace(attack, detection_ends_attack=False)
    values = exploit_values(attack, 60)
    clear = np.flatnonzero(values.value > 1e-9 * attack.gain)
    assert values.exploits_undetected[clear].tolist() == clear.tolist()
    np.testing.assert_allclose(values.exploits_if_missing[clear], clear)
    plan = plan_known(attack, clear)
    exploited = plan.reidentified > 0
    np.testing.assert_allclose(plan.reidentified[exploited], attack.prior, rtol=1e-12)


@st.composite
def patient_attacks(draw):
    """Draw an attack of many exploits, most with a discounted worth near zero."""
    half_detected_at = draw(st.integers(50, 500))
    slope = draw(st.sampled_from([0.0, 0.02, 0.05, 0.1, 0.3, -0.01]))
    attack = SequentialAttack(
        gain=100,
        exploit_cost=draw(st.sampled_from([0.0, 0.001, 0.02])),
        penalty=draw(st.sampled_from([0.0, 0.1, 10.0, 1000.0])),
        detection_intercept=-half_detected_at * slope if slope > 0 else draw(st.floats(-12, -2)),
        detection_slope=slope,
        prior=draw(st.one_of(st.just(1.0), st.floats(0.05, 1))),
        discount=draw(st.floats(0.6, 0.95)),
        detection_ends_attack=draw(st.integers(0, 2)) == 0,
    )
    return attack, draw(st.integers(100, 500))


GROWING = SequentialAttack(
    gain=100, exploit_cost=0.001, penalty=1000, detection_intercept=-40.0, detection_slope=0.1, prior=0.8
)


@given(drawn=patient_attacks())
@example(drawn=(GROWING, 500))
@example(drawn=(replace(GROWING, discount=0.7), 450))
@example(drawn=(replace(GROWING, detection_ends_attack=True, penalty=5000, discount=0.8), 400))
@examples(150)
def test_late_exploits_are_made_as_seen_when_their_turn_comes(drawn):
    attack, g = drawn
    going_on, reached, undetected = [0.0], 1.0, 1.0
    hits = 1 / (g / attack.prior - np.arange(g))
    caught = 1 / (1 + np.exp(-(attack.detection_intercept + attack.detection_slope * np.arange(g))))
    for hit, p in zip(hits[::-1], caught[::-1], strict=True):
        later = (1 - p if attack.detection_ends_attack else 1) * max(0.0, going_on[-1])
        gain = hit * attack.gain - p * attack.penalty + (1 - hit) * later
        going_on.append(attack.discount * gain - attack.exploit_cost)
    worth = np.array(going_on[:0:-1])
    m = int(np.flatnonzero(worth <= 0)[0]) if (worth <= 0).any() else g
    assume((np.abs(worth[: m + 1]) > 1e-6 * attack.gain).all())
    event(f"exploits: {m > 0}, all: {m == g}, so late as to be lost in rounding: {attack.discount**m < 1e-16}")
    tries = mean = 0.0
    for hit, p in zip(hits[:m], caught[:m], strict=True):
        tries += undetected
        mean += reached
        undetected *= 1 - p if attack.detection_ends_attack else 1
        reached *= (1 - hit) * (1 - p if attack.detection_ends_attack else 1)
    assert exploits_undetected(attack, np.array([g])).tolist() == [m]
    plan = plan_known(attack, np.array([g]))
    assert plan.reidentified[0] == pytest.approx(attack.prior / g * tries, rel=1e-9)
    assert plan.exploits[0] == pytest.approx(mean, rel=1e-9)


def test_detection_neither_overflows_nor_leaves_its_bounds():
    attack = SequentialAttack(gain=1, detection_intercept=-1000, detection_slope=20)
    probability = attack.detection(120)
    assert probability.shape == (120,)
    assert probability[0] == 0
    assert probability[50] == 0.5
    assert probability[-1] == 1
    assert (np.diff(probability) >= 0).all()
    falling = SequentialAttack(gain=1, detection_intercept=1000, detection_slope=-20).detection(120)
    np.testing.assert_allclose(falling, 1 - probability, atol=1e-15)
    assert attack.detection(0).shape == (0,)


@given(attack=attacks(), sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6))
def test_the_baseline_is_equation_7(attack, sizes):
    plan = plan_baseline(attack, np.array(sizes))
    outlay = attack.access_cost + attack.link_cost + attack.exploit_cost
    p = 1 / (1 + math.exp(-attack.detection_intercept))
    for i, g in enumerate(sizes):
        payoff = (attack.gain * attack.prior / g if g else 0) - p * attack.penalty - outlay
        assume(abs(payoff) > 1e-12 * attack.gain)
        assert plan.accesses[i] == (payoff > 0)
        assert plan.value[i] == plan.true_payoff[i] == pytest.approx(max(payoff, 0), rel=1e-9)
        assert plan.reidentified[i] == (pytest.approx(attack.prior / g) if payoff > 0 else 0)
        assert plan.exploits[i] == (payoff > 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, -1.0) for name in ("gain", "access_cost", "link_cost", "exploit_cost", "penalty")),
        ("gain", math.inf),
        ("penalty", math.nan),
        *((name, value) for name in ("prior", "discount") for value in (0.0, 1.0000001, math.nan)),
        ("detection_intercept", math.nan),
        ("detection_slope", math.inf),
        *(("max_penalties", value) for value in (0, 1.5, math.inf)),
        ("penalty_timing", "later"),
    ],
)
def test_parameters_out_of_range_are_named(name, value):
    with pytest.raises(InputError) as caught:
        SequentialAttack(**{"gain": 100.0, name: value})
    assert caught.value.where == name
    assert caught.value.found is value
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)
    assert caught.value.expected


@pytest.mark.parametrize("bad", [-1, 2.5, math.nan, math.inf])
@pytest.mark.parametrize(
    "planner",
    [
        plan_known,
        plan_baseline,
        exploits_undetected,
        lambda attack, sizes: plan_unknown(attack, sizes, BinomialBelief(10, np.full(sizes.shape, 0.1))),
    ],
    ids=["known", "baseline", "exploits", "unknown"],
)
def test_group_sizes_that_are_none_are_named(planner, bad):
    with pytest.raises(InputError) as caught:
        planner(SequentialAttack(gain=100), np.array([3, bad]))
    assert caught.value.where == "group sizes"
    assert caught.value.found == pytest.approx(bad, nan_ok=True)


@pytest.mark.parametrize("bad", [-1e-9, 1.0000001, math.nan, math.inf])
def test_match_probabilities_out_of_range_are_named(bad):
    with pytest.raises(InputError) as caught:
        BinomialBelief(10, np.array([0.2, bad, 1.0]))
    assert caught.value.where == "match probability"
    assert caught.value.found == pytest.approx(bad, nan_ok=True)


def test_an_adversary_who_does_not_know_groups_plans_by_match_probability_for_effective_group_sizes():
    attack, share = SequentialAttack(gain=100.0, exploit_cost=20.0), np.array([0.02, 1.0])
    linkage = Linkage(np.array([1.5, 4.0]), np.array([1.5, 4.0]), share, by_chance=True)
    reply = SequentialAdversary(attack, 100).respond(linkage)
    expected = plan_unknown(attack, np.array([2, 4]), BinomialBelief(100, share))
    assert reply.attacks.tolist() == expected.accesses.tolist() == [True, False]
    np.testing.assert_array_equal(reply.success, expected.reidentified)
