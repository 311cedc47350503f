"""Three solvers of the sequential attack agree; numerics of backward induction."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from sequential_programs.attacks import attacks
from sequential_programs.paper_attack import paper_of
from tiers import examples

from reidsim.adversaries.factored_mdp import METHODS
from reidsim.adversaries.sequential.attack import SequentialAttack, attack_process, exploit_values, program_values
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    attack_threshold,
    expected_after_access,
    exploits_undetected,
    plan_known,
    plan_listed,
    plan_unknown,
    value_after_access,
)
from reidsim.core.errors import InputError

PROGRAMS = ("linear-program", "two-level")
LARGEST = 8  # of the possible group sizes
XIA = SequentialAttack(gain=8000, exploit_cost=10, penalty=10_000, access_cost=100, prior=0.63)


@st.composite
def beliefs(draw):
    weights = draw(
        st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1)), min_size=LARGEST + 1, max_size=LARGEST + 1).filter(any)
    )
    return np.array(weights) / sum(weights)


def as_mapping(belief):
    return {size: float(weight) for size, weight in enumerate(belief)}


def assert_same_plan(plan, expected, gain):
    """Assert that plans agree, unless the adversary is almost indifferent."""
    close = {"rtol": 1e-9, "atol": 1e-9 * gain}
    np.testing.assert_allclose(plan.value, expected.value, **close)
    np.testing.assert_allclose(plan.worth, expected.worth, **close)
    clear = np.abs(expected.worth) > 1e-9 * gain
    for name in ("accesses", "pays", "reidentified", "exploits", "true_payoff"):
        np.testing.assert_allclose(getattr(plan, name)[clear], getattr(expected, name)[clear], err_msg=name, **close)


@given(attack=attacks(dearest=0.2), belief=beliefs())
@examples(6)
def test_the_attack_as_a_process_is_worth_what_the_oracle_says_by_every_method(attack, belief):
    process = attack_process(attack, as_mapping(belief))
    expected = paper_of(attack).v_outset(as_mapping(belief))
    for method in METHODS:
        solution = process.solve(method)
        assert solution.value == pytest.approx(expected, rel=1e-8, abs=1e-8 * attack.gain)
        # Eq. 5: P_reid is the probability that a successful state is ever reached.
        followed = solution.follow()
        assert followed.value == pytest.approx(solution.value, rel=1e-9, abs=1e-9 * attack.gain)
        reached = sum(share for state, share in followed.visits.items() if state[3] and not state[0])
        assert solution.probability(lambda x_s: x_s) == pytest.approx(reached, rel=1e-12)
        assert (reached > 0) == (followed.uses.get("exploit", 0.0) > 0)


@pytest.mark.parametrize("solver", PROGRAMS)
@given(attack=attacks(dearest=0.2), sizes=st.lists(st.integers(0, 9), min_size=1, max_size=3))
@examples(6)
def test_linear_programs_and_backward_induction_plan_the_same_for_known_groups(solver, attack, sizes):
    at = np.array(sizes)
    program = replace(attack, solver=solver)
    assert_same_plan(plan_known(program, at), plan_known(attack, at), attack.gain)
    accesses = np.ones(len(at), dtype=bool)
    held, expected = (plan_known(each, at, accesses=accesses) for each in (program, attack))
    assert_same_plan(held, expected, attack.gain)
    among = np.arange(len(at)) % 2 == 0
    assert_same_plan(
        plan_listed(program, at, among, held), plan_listed(attack, at, among, expected), attack.gain / attack.prior
    )
    np.testing.assert_array_equal(exploits_undetected(program, at), exploits_undetected(attack, at))
    values = program_values(program, at)
    for size in set(sizes):
        linked = values.value[sizes.index(size)]
        expected_value = paper_of(attack).v_start(size)
        assert linked == pytest.approx(expected_value, rel=1e-8, abs=1e-8 * attack.gain)


@pytest.mark.deep
@pytest.mark.parametrize("solver", PROGRAMS)
@given(
    attack=attacks(dearest=0.2),
    n=st.sampled_from([3, 30, 10**6]),
    means=st.lists(st.floats(-4, 0.5).map(lambda x: 10**x), min_size=1, max_size=4),
)
@examples(6, fast=4)
def test_linear_programs_and_backward_induction_plan_the_same_for_unknown_groups(solver, attack, n, means):
    # Only an attack that stops at some size can be planned for the up to 80 people of the belief.
    attack = replace(attack, exploit_cost=max(attack.exploit_cost, attack.gain / 4), max_penalties=1)
    share = np.minimum(np.array(means) / n, 1.0)
    sizes = np.arange(len(share))
    belief = BinomialBelief(n, share)
    program = replace(attack, solver=solver)
    if solver == "linear-program" and n > 30:
        return
    assert_same_plan(plan_unknown(program, sizes, belief), plan_unknown(attack, sizes, belief), attack.gain)


@pytest.mark.parametrize("solver", PROGRAMS)
def test_programs_of_too_many_states_are_refused_with_advice(solver):
    # This attack is profitable in groups of any size.
    attack = SequentialAttack(gain=100, discount=1, solver=solver)
    for plan in (
        lambda: plan_known(attack, np.array([100_000])),
        lambda: plan_unknown(attack, np.array([1]), BinomialBelief(10**6, np.array([0.1]))),
    ):
        with pytest.raises(InputError, match=r"sequential.solver: the linear programs have too many states") as caught:
            plan()
        assert "backward-induction" in caught.value.hint


def free(discount, prior=1.0):
    return SequentialAttack(gain=100, discount=discount, prior=prior)


BOUNDARIES = (1, 1023, 1024, 1025, 8193)


@pytest.mark.parametrize("largest", BOUNDARIES)
@pytest.mark.parametrize(("discount", "prior"), [(1.0, 1.0), (0.9, 0.63)])
def test_free_attacks_exploit_groups_of_any_size(largest, discount, prior):
    attack = free(discount, prior)
    values = exploit_values(attack, largest)
    assert values.largest >= largest
    assert not values.complete
    values = values.at(np.arange(largest + 1))
    g = np.arange(1, largest + 1)
    # The person is the j-th exploited with probability prior / g, and is found then.
    geometric = g.astype(float) if discount == 1 else (1 - discount**g) / (1 - discount)
    np.testing.assert_allclose(values.value[1:], prior / g * 100 * discount * geometric, rtol=1e-10)
    assert values.value[0] == 0
    assert (values.exploits_undetected[1:] == g).all()
    assert (values.exploits_if_missing[1:] == g).all()
    np.testing.assert_allclose(values.expected_exploits[1:], g - prior * (g - 1) / 2, rtol=1e-12)


@pytest.mark.parametrize("cut", [1, 2, 1024, 1025, 8192])
@pytest.mark.parametrize("extra", [0, 5000])
def test_the_table_by_the_envelope_ends_at_the_first_group_worth_nothing(cut, extra):
    # All members of a group of g are exploited, for gain - 2 (g + 1) / 2, or none.
    attack = SequentialAttack(gain=cut + 0.5, exploit_cost=2, discount=1)
    values = exploit_values(attack, cut + extra)
    assert values.complete
    assert values.largest == cut
    g = np.arange(1, cut)
    np.testing.assert_allclose(values.value[1:-1], cut + 0.5 - (g + 1), rtol=1e-9)
    assert values.value[-1] == values.exploits_if_missing[-1] == values.exploits_undetected[-1] == 0
    assert attack_threshold(attack) == cut
    sizes = np.array([max(cut - 1, 1), cut, cut + 1, 10**9])
    plan = plan_known(replace(attack, max_penalties=1), sizes)
    assert plan.accesses.tolist() == [cut > 1, False, False, False]
    assert exploits_undetected(attack, sizes).tolist() == [cut - 1, 0, 0, 0]


def worth_with_one_penalty(attack, g):
    """Return V(x_start(g)) for n_f = 1 by plain loops."""
    p = 1 / (1 + math.exp(-attack.detection_intercept))
    due = attack.discount * attack.penalty
    none_paid = paid = 0.0
    for j in range(g - 1, -1, -1):
        hit = 1 / (g / attack.prior - j)
        gain = hit * attack.gain
        going_on = (1 - p) * none_paid + p * paid
        none_paid = max(0.0, -attack.exploit_cost - p * due + attack.discount * (gain + (1 - hit) * going_on))
        paid = max(0.0, -attack.exploit_cost + attack.discount * (gain + (1 - hit) * paid))
    return none_paid


def test_the_table_by_states_grows_beyond_its_first_size():
    attack = SequentialAttack(gain=1500, exploit_cost=2, penalty=100, max_penalties=1, discount=1)
    values = exploit_values(attack, 4000)
    assert values.complete
    assert values.largest > 1024
    for g in (1, 2, 500, 1023, 1024, 1025, values.largest - 1):
        assert values.value[g] == pytest.approx(worth_with_one_penalty(attack, g), rel=1e-9, abs=1e-9)
        assert values.value[g] > 0
    assert worth_with_one_penalty(attack, values.largest) == 0
    np.testing.assert_array_equal(exploit_values(attack, 1024).value, values.value[:1025])
    np.testing.assert_array_equal(exploit_values(attack, 1025).value[:2049], values.value[:2049])


def test_a_table_too_large_to_fill_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr("reidsim.adversaries.sequential.attack._MOST_STATES", 10**6)
    attack = SequentialAttack(gain=100, penalty=1e-3, max_penalties=10**6, discount=1)
    with pytest.raises(InputError, match="too large for a plan with a limit on penalties") as caught:
        exploit_values(attack, 4096)
    assert caught.value.found == 4096
    assert "remove max_penalties" in caught.value.hint


def binomial_sum(attack, n, p):
    """Return the mean of V_access from scipy's terms and exact addition."""
    mean = n * p
    sizes = np.arange(min(n, math.ceil(mean + 14 * math.sqrt(mean) + 80)) + 1)
    values = exploit_values(attack, int(sizes[-1]))
    worth = value_after_access(attack, values.at(sizes))
    return math.fsum((scipy.stats.binom.pmf(sizes, n, p) * worth)[worth > 0].tolist())


def mean_worth(attack, n, *p):
    return expected_after_access(attack, BinomialBelief(n, np.array(p)))


SUMMED = {
    "paper": XIA,
    "linking has its price": replace(XIA, link_cost=300),
    "one penalty": replace(XIA, max_penalties=1),
    "free": free(0.9, 0.5),
    "free without discount": free(1.0),
}


@pytest.mark.parametrize("name", SUMMED)
@given(
    n=st.one_of(st.integers(1, 200), st.floats(0, 9).map(lambda x: int(10**x))),
    mean=st.one_of(st.floats(-6, 3.5).map(lambda x: 10**x), st.floats(1, 100)),
)
@examples(40)
def test_binomial_sums_are_accurate(name, n, mean):
    p = min(mean / n, 0.999)
    assert mean_worth(SUMMED[name], n, p)[0] == pytest.approx(binomial_sum(SUMMED[name], n, p), rel=1e-12, abs=1e-290)


@pytest.mark.parametrize("mean", [746.0, 20_000.0])
@pytest.mark.parametrize("n", [10**6, 10**9])
def test_binomial_sums_do_not_underflow(n, mean):
    # exp(-746) is 0: a sum that starts at zero matches would lose all terms.
    attack = free(1.0)
    assert mean_worth(attack, n, mean / n)[0] == pytest.approx(100, rel=1e-12)  # the person is always found
    assert mean_worth(XIA, n, mean / n)[0] == pytest.approx(binomial_sum(XIA, n, mean / n), rel=1e-12, abs=1e-290)


def test_nobody_matches_with_probability_0_or_in_an_empty_registry():
    assert mean_worth(XIA, 1000, 0.0)[0] == 0
    assert mean_worth(XIA, 0, 0.0, 0.3, 1.0).tolist() == [0, 0, 0]
    plan = plan_unknown(XIA, np.array([0, 0]), BinomialBelief(0, np.array([0.3, 1.0])))
    assert not plan.accesses.any()
    assert mean_worth(XIA, 1000).tolist() == []
