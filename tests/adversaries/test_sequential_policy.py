"""The sequential adversary, against the decision process of Xia et al. 2015."""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, event, example, given
from hypothesis import strategies as st
from sequential_programs.any_belief import plan_distribution
from simulated_attacks import exploit_policy, simulate_attacks
from tiers import examples

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.exploit_values import exploit_values
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    attack_threshold,
    exploits_undetected,
    plan_baseline,
    plan_known,
    plan_unknown,
)
from reidsim.errors import InputError


@dataclass(frozen=True)
class PaperAttack:
    """The attack as a decision process in the paper's symbols, without reidsim.

    States of the chain are (X_t, X_d, X_p, X_s, X_a, X_l, X_g, X_r). X_p counts the penalties levied before the last
    exploit (up to n_f). The penalties incurred are X_p, plus one if the last exploit was detected.
    """

    G: float
    Cd: float
    Cl: float
    Ce: float
    Cp: float
    nf: float
    h0: float
    h1: float
    prior: float
    gamma: float
    penalty_at_action: bool
    detection_ends: bool

    def p_suc(self, g, r):  # Eq. 3
        return 1 / ((1 - self.prior) / self.prior * g + r)

    def p_det(self, g, r):  # Eq. 4
        return 1 / (1 + math.exp(-(self.h0 + self.h1 * (g - r))))

    def exploit(self, w, g, r, m):
        """Return the worth of an exploit with r candidates left and m penalties incurred.

        w is the worth of the following state.
        """
        hit, caught = self.p_suc(g, r), self.p_det(g, r)
        levied = 1 if m < self.nf else 0
        penalty = caught * self.Cp * levied * (1 if self.penalty_at_action else self.gamma)
        if_caught = 0 if self.detection_ends else w(r - 1, min(m + 1, self.nf))
        return (
            -self.Ce
            - penalty
            + self.gamma * (hit * self.G + (1 - hit) * ((1 - caught) * w(r - 1, m) + caught * if_caught))
        )

    def solve(self, g):
        """Return W(r, m) of a group of g and whether to exploit.

        r is the number of candidates left, m the number of penalties incurred.
        """

        @cache
        def w(r, m):
            return 0.0 if r == 0 else max(0.0, self.exploit(w, g, r, m))

        def exploits(r, m):
            return r > 0 and self.exploit(w, g, r, m) > 0

        # With a penalty every time, the number incurred does not matter.
        count = (lambda m: 0) if self.nf == math.inf else (lambda m: m)
        return (lambda r, m=0: w(r, count(m))), (lambda r, m=0: exploits(r, count(m)))

    def margin(self, g):
        """Return the smallest distance of decisions in a group of g from indifference.

        Penalties never exceed exploits.
        """
        w, _ = self.solve(g)
        values = [abs(self.exploit(w, g, g - j, m)) for j in range(g) for m in range(int(min(self.nf, j, g)) + 1)]
        return min([*values, abs(self.gamma * w(g) - self.Cl), abs(self.gamma * self.v_access(g) - self.Cd)])

    def v_start(self, g):
        return self.solve(g)[0](g) if g else 0.0

    def v_access(self, g):
        return max(0.0, -self.Cl + self.gamma * self.v_start(g)) if g else 0.0

    def v_outset(self, belief):
        return max(0.0, -self.Cd + self.gamma * sum(share * self.v_access(g) for g, share in belief.items()))

    def play(self, g, accesses):
        """Propagate the Markov chain of Eq. 5 with a true group size of g.

        Returns P_reid, the expected number of exploits and the expected discounted payoff.
        """
        w, exploits = self.solve(g) if g else (lambda r, m=0: 0.0, lambda r, m=0: False)
        chain = {(0, 0, 0, 0, 0, 0, 0, 0): 1.0}
        p_reid = made = payoff = 0.0
        worth = 1.0
        while any(not x[0] for x in chain):
            following = {}
            for x, probability in chain.items():
                t, d, p, s, a, linked, group, r = x
                if t:
                    continue  # absorbed
                if s:
                    p_reid += probability
                    payoff += worth * probability * self.G
                if d and p < self.nf and not self.penalty_at_action:
                    payoff -= worth * probability * self.Cp
                incurred = min(p + d, self.nf)
                over = s or (linked and r == 0) or (d and self.detection_ends)
                if not a and accesses:
                    moves = [((0, 0, 0, 0, 1, 0, g, g), 1.0)]
                    payoff -= worth * probability * self.Cd
                elif a and not linked and self.gamma * w(group) > self.Cl:
                    moves = [((0, 0, 0, 0, 1, 1, group, r), 1.0)]
                    payoff -= worth * probability * self.Cl
                elif linked and not over and exploits(r, incurred):
                    made += probability
                    payoff -= worth * probability * self.Ce
                    hit, caught = self.p_suc(group, r), self.p_det(group, r)
                    if self.penalty_at_action and incurred < self.nf:
                        payoff -= worth * probability * caught * self.Cp
                    # Not counted if the penalty is levied every time, so that the chain stays small.
                    count = 0 if self.nf == math.inf else incurred
                    moves = [
                        (
                            (0, d2, count, s2, 1, 1, group, r - 1),
                            (hit if s2 else 1 - hit) * (caught if d2 else 1 - caught),
                        )
                        for s2 in (0, 1)
                        for d2 in (0, 1)
                    ]
                else:
                    moves = [((1, d, p, s, a, linked, group, r), 1.0)]
                for state, share in moves:
                    following[state] = following.get(state, 0.0) + probability * share
            chain = following
            worth *= self.gamma
        return p_reid, made, payoff


def paper_of(attack):
    return PaperAttack(
        G=attack.gain,
        Cd=attack.access_cost,
        Cl=attack.link_cost,
        Ce=attack.exploit_cost,
        Cp=attack.penalty,
        nf=math.inf if attack.max_penalties is None else attack.max_penalties,
        h0=attack.detection_intercept,
        h1=attack.detection_slope,
        prior=attack.prior,
        gamma=attack.discount,
        penalty_at_action=attack.penalty_timing == "at-action",
        detection_ends=attack.detection_ends_attack,
    )


def shares_of(gain, most):
    """Draw zero, or an amount up to `most` times the gain."""
    return st.one_of(st.just(0.0), st.floats(1e-3, most).map(lambda share: share * gain))


any_slope = st.one_of(st.just(0.0), st.floats(-0.7, 0.7))
no_slope = st.just(0.0)


@st.composite
def attacks(draw, slopes=any_slope, limits=(None, 1, 2, 3), dearest=0.1):
    gain = draw(st.sampled_from([1.0, 100.0, 8000.0]))
    return SequentialAttack(
        gain=gain,
        access_cost=draw(shares_of(gain, 2 * dearest)),
        link_cost=draw(shares_of(gain, dearest)),
        exploit_cost=draw(shares_of(gain, dearest)),
        penalty=draw(shares_of(gain, 30 * dearest)),
        max_penalties=draw(st.sampled_from(limits)),
        detection_intercept=draw(st.floats(-6, 1)),
        detection_slope=draw(slopes),
        prior=draw(st.one_of(st.just(1.0), st.floats(0.05, 1))),
        discount=draw(st.one_of(st.just(1.0), st.floats(0.5, 1))),
        penalty_timing=draw(st.sampled_from(["next-state", "at-action"])),
        detection_ends_attack=draw(st.integers(0, 3)) == 0,
    )


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


@given(
    attack=attacks(),
    belief=st.dictionaries(st.integers(0, 9), st.floats(0.01, 1), min_size=1, max_size=5),
    true=st.lists(st.integers(0, 10), min_size=1, max_size=3),
)
@examples(100)
def test_a_group_known_in_distribution_is_attacked_as_the_decision_process_says(attack, belief, true):
    paper = paper_of(attack)
    belief = {g: weight / sum(belief.values()) for g, weight in belief.items()}
    assume(all(g == 0 or paper.margin(g) > 1e-9 * attack.gain for g in [*belief, *true]))
    value = paper.v_outset(belief)
    assume(value == 0 or value > 1e-9 * attack.gain)
    event("accesses" if value > 0 else "stays out")
    plan = plan_distribution(
        attack, np.array(true), np.array(list(belief)), np.tile(list(belief.values()), (len(true), 1))
    )
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
    policy = exploit_policy(attack, g)
    assert policy.shape == (g, min(attack.max_penalties or 0, g) + 1 if attack.counts_penalties else 1)
    run = 0
    while run < g and exploits(g - run):
        run += 1
    assert exploits_undetected(attack, np.array([g])).tolist() == [run]
    for j in range(g):
        for m in range(min(policy.shape[1], j + 1)):  # no more penalties than exploits
            assert policy[j, m] == exploits(g - j, m)


@pytest.mark.parametrize(
    ("timing", "ends", "value"),
    [
        # One of two is the person; the first exploit hits in 1 of 2 cases, the second in the other: 100, one or two
        # steps on. Each exploit costs 1 at once and, when detected (1 of 2 cases), 8.
        ("next-state", False, 0.5 * 50 - 1 - 2 + 0.5 * (0.5 * (0.5 * 100 - 1 - 2))),
        ("at-action", False, 0.5 * 50 - 1 - 4 + 0.5 * (0.5 * (0.5 * 100 - 1 - 4))),
        ("next-state", True, 0.5 * 50 - 1 - 2 + 0.5 * (0.25 * (0.5 * 100 - 1 - 2))),
        ("at-action", True, 0.5 * 50 - 1 - 4 + 0.5 * (0.25 * (0.5 * 100 - 1 - 4))),
    ],
)
def test_a_pair_worked_out_by_hand(timing, ends, value):
    attack = SequentialAttack(
        gain=100,
        exploit_cost=1,
        penalty=8,
        detection_intercept=0.0,
        discount=0.5,
        access_cost=1,
        link_cost=2,
        penalty_timing=timing,
        detection_ends_attack=ends,
    )
    assert exploit_values(attack, 2).value[2] == pytest.approx(value, rel=1e-14)
    plan = plan_known(attack, np.array([2]))
    assert plan.value[0] == pytest.approx(0.5 * (0.5 * value - 2) - 1, rel=1e-14)
    assert plan.reidentified[0] == pytest.approx(0.75 if ends else 1, rel=1e-14)
    assert plan.exploits[0] == pytest.approx(1.25 if ends else 1.5, rel=1e-14)
    limited = replace(attack, max_penalties=1)
    # Half of the second exploits follow a penalty and cost no further penalty.
    saved = 0 if ends else 0.5 * 0.5 * 0.5 * (2 if timing == "next-state" else 4)
    assert exploit_values(limited, 2).value[2] == pytest.approx(value + saved, rel=1e-14)


def test_nobody_is_exploited_by_an_adversary_who_is_indifferent():
    even = SequentialAttack(gain=8, exploit_cost=4, discount=0.5)
    assert plan_known(even, np.array([1])).accesses.tolist() == [False]
    assert exploits_undetected(even, np.array([1])).tolist() == [0]
    assert not exploit_policy(even, 1).any()
    # Worth 2 once linked and 1 before, without the price.
    for cost in ({"access_cost": 0.5}, {"link_cost": 1.0}):
        attack = replace(even, exploit_cost=2, **cost)
        assert plan_known(attack, np.array([1])).accesses.tolist() == [False]
        cheaper = replace(attack, gain=8.01)
        assert plan_known(cheaper, np.array([1])).accesses.tolist() == [True]
        assert attack_threshold(attack) == 1


@pytest.mark.parametrize("limit", [None, 1])
def test_whoever_is_indifferent_about_going_on_stops(limit):
    # Never detected at first; then detected in half of the cases: -2 - 12/2 + 8 = 0.
    attack = SequentialAttack(
        gain=8,
        exploit_cost=2,
        penalty=12,
        max_penalties=limit,
        discount=1.0,
        detection_intercept=-1000.0,
        detection_slope=1000.0,
    )
    assert exploit_policy(attack, 2)[:, 0].tolist() == [True, False]
    assert exploits_undetected(attack, np.array([2])).tolist() == [1]
    plan = plan_known(attack, np.array([2]))
    assert (plan.value[0], plan.reidentified[0], plan.exploits[0]) == (2, 0.5, 1)
    better = replace(attack, penalty=11.99)
    assert plan_known(better, np.array([2])).reidentified.tolist() == [1]


@pytest.mark.parametrize("limit", [None, 1])
def test_exploits_that_would_pay_only_after_others_that_do_not_are_not_made(limit):
    # The first of ten exploits is undetected, all others are detected, and the last would certainly hit.
    attack = SequentialAttack(
        gain=100,
        exploit_cost=1,
        penalty=90,
        max_penalties=limit,
        detection_intercept=-1000.0,
        detection_slope=2000.0,
    )
    undetected = exploit_policy(attack, 10)[:, 0]
    assert undetected[[0, 1, 9]].tolist() == [True, False, True]
    assert exploits_undetected(attack, np.array([10])).tolist() == [1]
    plan = plan_known(attack, np.array([10]))
    assert plan.value[0] == pytest.approx(0.9 * 0.9 * (0.9 * 10 - 1))
    assert plan.reidentified[0] == pytest.approx(0.1)
    assert plan.exploits[0] == 1


# Group sizes.


@given(attack=attacks(dearest=0.1))
@examples(60)
def test_larger_groups_are_never_worth_more_and_the_table_ends_where_nothing_is_left(attack):
    paper = paper_of(attack)
    worth = np.array([paper.v_start(g) for g in range(1, 61)])
    assert (np.diff(worth) <= 1e-12 * attack.gain).all()
    values = exploit_values(attack, 60)
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


@given(attack=attacks(dearest=0.02))
def test_the_threshold_is_the_first_group_that_is_left_alone(attack):
    assume(attack.exploit_cost > 0)
    threshold = attack_threshold(attack)
    plan = plan_known(attack, np.arange(1, threshold + 50))
    assert plan.accesses.tolist() == [g < threshold for g in range(1, threshold + 50)]


def test_there_is_no_threshold_for_an_adversary_who_pays_nothing():
    assert attack_threshold(SequentialAttack(gain=100), largest=5000) is None
    assert attack_threshold(SequentialAttack(gain=100, exploit_cost=1), largest=5) is None
    assert attack_threshold(SequentialAttack(gain=0)) == 1


@given(attack=attacks(slopes=no_slope, limits=(None,), dearest=0.03))
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
    policy = exploit_policy(attack, g)[:, 0]
    assert policy[:m].all()
    assert m == g or not policy[m]


# Parameters that raise or lower the value.

# Raising the detection probability of an exploit by dp costs dp times the penalty, and the exploit leads to a state
# with one more penalty incurred. With a limit on penalties that state is worth more, by at most the one penalty it
# saves later; if detection ends the attack, the value of later exploits is lost. So detection never helps, even without
# a penalty.
DETERRENTS = ("access_cost", "link_cost", "exploit_cost", "penalty", "detection_intercept", "detection_slope")
INCENTIVES = ("gain", "prior", "discount")


def values_of(attack):
    """Return V(x0) of known groups, of an unknown one, and V(x_start)."""
    belief = BinomialBelief(20, np.array([0.01, 0.1, 0.5]))
    linked = exploit_values(attack, 15).value
    return np.concatenate(
        [
            plan_known(attack, np.arange(13)).value,
            plan_unknown(attack, np.ones(3, dtype=int), belief).value,
            np.pad(linked, (0, 16 - len(linked))),
        ]
    )


@pytest.mark.parametrize("name", DETERRENTS)
@given(attack=attacks(), by=st.floats(0.001, 1))
def test_deterrence_never_raises_the_value(name, attack, by):
    scale = 1.0 if name.startswith("detection") else 0.3 * attack.gain
    raised = replace(attack, **{name: getattr(attack, name) + by * scale})
    assert (values_of(raised) <= values_of(attack) + 1e-12 * attack.gain).all()


@pytest.mark.parametrize("name", INCENTIVES)
@given(attack=attacks(), by=st.floats(0.001, 1))
def test_incentives_never_lower_the_value(name, attack, by):
    before = getattr(attack, name)
    raised = replace(attack, **{name: before * (1 + by) if name == "gain" else before + by * (1 - before)})
    assert (values_of(raised) >= values_of(attack) - 1e-12 * raised.gain).all()


@given(attack=attacks(limits=(1, 2, 3)))
def test_more_penalties_never_raise_the_value(attack):
    values = [values_of(replace(attack, max_penalties=limit)) for limit in (1, 2, 3, 15, None)]
    assert (np.diff(values, axis=0) <= 1e-12 * attack.gain).all()


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


# Simulation.

PLAYED = {
    "all of them": (SequentialAttack(gain=8000, exploit_cost=10, penalty=10_000, prior=0.63), 20),
    "growing detection": (
        SequentialAttack(gain=8000, exploit_cost=10, penalty=10_000, prior=0.63, detection_slope=0.18),
        18,
    ),
    "one penalty": (
        SequentialAttack(
            gain=8000, exploit_cost=5, penalty=2000, max_penalties=1, detection_intercept=-2.0, prior=0.3, discount=1.0
        ),
        40,
    ),
    "two penalties at once": (
        SequentialAttack(
            gain=1000,
            exploit_cost=20,
            penalty=400,
            max_penalties=2,
            detection_intercept=-2.0,
            detection_slope=0.3,
            prior=0.7,
            discount=0.95,
            penalty_timing="at-action",
        ),
        9,
    ),
    "over when detected": (
        SequentialAttack(
            gain=1000,
            exploit_cost=10,
            penalty=100,
            detection_intercept=-1.5,
            prior=0.8,
            discount=0.8,
            detection_ends_attack=True,
        ),
        8,
    ),
    "more penalties than people": (
        SequentialAttack(gain=1000, exploit_cost=1, penalty=100, max_penalties=9, detection_intercept=-1.0, prior=0.5),
        4,
    ),
    "nobody": (SequentialAttack(gain=1000, exploit_cost=300), 8),
}


@pytest.mark.parametrize("name", PLAYED)
def test_attacks_played_out_go_as_planned(name):
    attack, g = PLAYED[name]
    n = 100_000
    played = simulate_attacks(attack, g, n, np.random.default_rng(2015))
    plan = plan_known(attack, np.array([g]), accesses=np.array([True]))
    values = exploit_values(attack, g)
    worth = values.value[g] if g <= values.largest else 0.0
    for outcomes, expected in (
        (played.payoff, worth),
        (played.succeeded, plan.reidentified[0]),
        (played.exploits, plan.exploits[0]),
    ):
        assert outcomes.shape == (n,)
        error = outcomes.std() / math.sqrt(n)
        assert abs(outcomes.mean() - expected) <= 4 * error + 1e-12
        assert name == "nobody" or error > 0
    assert (played.succeeded <= (played.exploits > 0)).all()
    assert (played.detections <= played.exploits).all()
    assert played.exploits.max() <= g
    if attack.detection_ends_attack:
        assert played.detections.max() == 1


@pytest.mark.parametrize("timing", ["next-state", "at-action"])
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_the_payoff_of_each_attack_is_that_of_what_happened_in_it(timing, limit):
    attack = SequentialAttack(
        gain=100,
        exploit_cost=1,
        penalty=3,
        max_penalties=limit,
        detection_intercept=40.0,  # always detected
        discount=0.5,
        prior=0.75,
        penalty_timing=timing,
    )
    played = simulate_attacks(attack, 3, 2000, np.random.default_rng(1))
    assert sorted(set(played.exploits.tolist())) == [1, 2, 3]
    assert (played.detections == played.exploits).all()
    assert (played.succeeded | (played.exploits == 3)).all()
    for succeeded, exploits, payoff in zip(played.succeeded, played.exploits, played.payoff, strict=True):
        expected = 0.0
        for j in range(exploits):
            fined = limit is None or j < limit
            expected -= 0.5**j * (1 + fined * 3 * (0.5 if timing == "next-state" else 1))
        if succeeded:
            expected += 0.5**exploits * 100
        assert payoff == pytest.approx(expected, rel=1e-12)


# Bad input.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("gain", "access_cost", "link_cost", "exploit_cost", "penalty")
            for value in (-1.0,)
        ),
        ("gain", math.inf),
        ("penalty", math.nan),
        ("exploit_cost", -1e-300),
        *((name, value) for name in ("prior", "discount") for value in (0.0, -0.1, 1.0000001, math.nan, math.inf)),
        ("detection_intercept", math.nan),
        ("detection_intercept", -math.inf),
        ("detection_slope", math.inf),
        ("max_penalties", 0),
        ("max_penalties", -1),
        ("penalty_timing", "later"),
        *(pytest.param("max_penalties", value) for value in (1.5, math.inf, math.nan)),
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


@pytest.mark.parametrize(
    "bad",
    [
        -1,
        2.5,
        -0.5,
        pytest.param(math.nan),
        pytest.param(math.inf),
    ],
)
@pytest.mark.parametrize(
    "planner",
    [
        plan_known,
        plan_baseline,
        exploits_undetected,
        lambda attack, sizes: plan_unknown(attack, sizes, BinomialBelief(10, np.full(sizes.shape, 0.1))),
        lambda attack, sizes: plan_distribution(attack, sizes, np.array([1]), np.ones((len(sizes), 1))),
        lambda attack, sizes: plan_distribution(attack, np.array([1]), sizes, np.full((1, 2), 0.5)),
    ],
    ids=["known", "baseline", "exploits", "unknown", "distribution", "possible"],
)
def test_group_sizes_that_are_none_are_named(planner, bad):
    with pytest.raises(InputError) as caught:
        planner(SequentialAttack(gain=100), np.array([3, bad]))
    assert caught.value.where == "group sizes"
    assert caught.value.found == pytest.approx(bad, nan_ok=True)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ([0.5, 0.4], 0.9),
        ([1.5, -0.5], 1.0),
        ([0.0, 0.0], 0.0),
        pytest.param([math.nan, 1.0], None),
    ],
)
def test_beliefs_that_are_no_distribution_are_named_by_row(row, found):
    with pytest.raises(InputError, match="not a distribution") as caught:
        plan_distribution(SequentialAttack(gain=100), np.array([1, 1]), np.array([1, 2]), np.array([[0.5, 0.5], row]))
    assert caught.value.where == "row 2"
    assert found is None or caught.value.found == pytest.approx(found)


@pytest.mark.parametrize("bad", [-1e-9, 1.0000001, math.nan, math.inf])
def test_match_probabilities_out_of_range_are_named(bad):
    with pytest.raises(InputError) as caught:
        BinomialBelief(10, np.array([0.2, bad, 1.0]))
    assert caught.value.where == "match probability"
    assert caught.value.found == pytest.approx(bad, nan_ok=True)
