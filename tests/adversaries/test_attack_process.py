"""Factored decision processes: expansion to tables and linear program, and the sequential attack declared as one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sequential_programs.attack_process import OUTSET, VARIABLES, attack_process, linked_state
from sequential_programs.factored_mdp import Action, Factor, FactoredMdp, Term, expand
from sequential_programs.linear_program import solve_linear_program

from reidsim.adversaries.sequential.attack import SequentialAttack

ALWAYS = Term((), lambda: True)


def tossing(discount=0.9):
    """Toss a biased coin for up to three points, or lose them all; stopping pays 10 a point. It may rain throughout.

    With V3 = 30: tossing is worth -1 + .9 (.6 V(k+1) + .4 V0). If V2 = 20 (stop), V1 = 9.8 + .36 V0 and
    .64 V0 = -1 + .54 V1, so V0 = 4.292 / .4456; and 15.2 + .36 V0 < 20, so stopping with two points is right.
    """
    toss = Action(
        "toss",
        Term(("points", "over"), lambda points, over: points < 3 and not over),
        (Term((), lambda: -1.0),),
        (Factor("points", ("points",), lambda points: {points + 1: 0.6, 0: 0.4}),),
    )
    stop = Action(
        "stop",
        ALWAYS,
        (Term(("points",), lambda points: 10.0 * points),),
        (Factor("over", (), lambda: {1: 1.0}),),
    )
    over = Term(("over",), lambda over: over)
    return FactoredMdp(("over", "points", "rain"), (stop, toss), (), over, discount)


V0 = 4.292 / 0.4456
TOSSING = {0: V0, 1: 9.8 + 0.36 * V0, 2: 20.0, 3: 30.0}


def worth_of(mdp):
    return dict(zip(mdp.states, solve_linear_program(mdp).tolist(), strict=True))


def test_a_process_worked_out_by_hand_is_solved():
    mdp = expand(tossing(), [(0, 0, 1)])
    worth = worth_of(mdp)
    assert len(worth) == 8  # four numbers of points, over or not; it rains in all
    for (over, points, rain), value in worth.items():
        assert rain == 1
        assert value == pytest.approx(0 if over else TOSSING[points], rel=1e-9, abs=1e-9)


def test_states_that_cannot_be_reached_are_not_listed():
    assert set(expand(tossing(), [(0, 3, 0)]).states) == {(0, 3, 0), (1, 3, 0)}
    assert len(expand(tossing(), [(0, 1, 0)]).states) == 8
    assert len(expand(tossing(), [(0, 1, 0), (0, 0, 1), (0, 1, 0)]).states) == 16
    assert expand(tossing(), [(1, 2, 0)]).states == ((1, 2, 0),)


def test_initial_states_come_first():
    states = expand(tossing(), [(0, 2, 0), (0, 3, 1), (0, 2, 0)]).states
    assert states[:2] == ((0, 2, 0), (0, 3, 1))
    assert len(set(states)) == len(states)


def test_a_table_holds_the_choices_of_each_state():
    mdp = expand(tossing(), [(0, 2, 0)])
    choices = {}
    for row, (at, action) in enumerate(zip(mdp.state_of, mdp.action_of, strict=True)):
        start, end = mdp.transition.indptr[row : row + 2]
        following = {
            mdp.states[column]: share
            for column, share in zip(mdp.transition.indices[start:end], mdp.transition.data[start:end], strict=True)
        }
        choices[mdp.states[at], mdp_action(action)] = (mdp.reward[row], following)
    assert choices[(0, 2, 0), "toss"] == (-1, {(0, 3, 0): 0.6, (0, 0, 0): 0.4})
    assert choices[(0, 2, 0), "stop"] == (20, {(1, 2, 0): 1.0})
    assert ((0, 3, 0), "toss") not in choices
    assert not any(state[0] for state, _ in choices)  # nothing is chosen any more
    assert len(choices) == 7
    assert mdp.transition.shape == (7, 8)
    assert mdp.discount == 0.9


def mdp_action(number):
    return tossing().actions[number].name


def test_worth_that_is_known_stands_for_a_state():
    asked = []

    def known(state):
        asked.append(state)
        return 50.0 if state[1] == 1 else None

    mdp = expand(tossing(), [(0, 0, 0)], known)
    # Beyond one point nothing is expanded; what is over is worth nothing without asking.
    assert set(mdp.states) == {(0, 0, 0), (0, 1, 0), (1, 0, 0)}
    assert set(asked) == {(0, 0, 0), (0, 1, 0)}
    fixed = dict(zip(mdp.states, mdp.fixed_value, strict=True))
    assert math.isnan(fixed.pop((0, 0, 0)))
    assert fixed == {(0, 1, 0): 50, (1, 0, 0): 0}
    assert worth_of(mdp)[0, 0, 0] == pytest.approx((-1 + 0.54 * 50) / 0.64, rel=1e-9)


def test_a_known_worth_of_nothing_is_known():
    mdp = expand(tossing(), [(0, 0, 0)], lambda state: 0.0 if state[1] == 1 else None)
    assert worth_of(mdp) == {(0, 0, 0): pytest.approx(0, abs=1e-9), (0, 1, 0): 0, (1, 0, 0): 0}


def test_known_worth_of_a_cluster_is_as_good_as_the_cluster():
    worth = worth_of(expand(tossing(), [(0, 0, 0)], lambda state: TOSSING[2] if state[1] == 2 else None))
    for points in (0, 1):
        assert worth[0, points, 0] == pytest.approx(TOSSING[points], rel=1e-9)


def test_nothing_to_solve_is_solved():
    mdp = expand(tossing(), [(1, 2, 0), (0, 1, 1)], lambda state: 7.0)
    assert solve_linear_program(mdp).tolist() == [0, 7]


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_solutions_do_not_depend_on_the_unit_of_money(unit):
    process = tossing()
    money = tuple(
        Action(
            action.name,
            action.condition,
            tuple(
                Term(term.parents, lambda *values, term=term: unit * term.function(*values)) for term in action.reward
            ),
            action.factors,
        )
        for action in process.actions
    )
    mdp = expand(FactoredMdp(process.variables, money, (), process.absorbing, 0.9), [(0, 0, 0)])
    assert worth_of(mdp)[0, 0, 0] == pytest.approx(unit * V0, rel=1e-9)


# Transitions.


def changes(*factors):
    action = Action("change", ALWAYS, (), factors)
    process = FactoredMdp(("x", "y", "z"), (action,), (), Term((), lambda: 0), 1.0)
    return lambda *state: process.successors(action, state)


def test_variables_that_no_factor_names_persist():
    assert changes()(4, 5, 6) == {(4, 5, 6): 1.0}
    assert changes(Factor("y", (), lambda: {0: 1.0}))(4, 5, 6) == {(4, 0, 6): 1.0}


def test_parents_are_of_the_present_state_unless_primed():
    draw = Factor("x", (), lambda: {1: 0.25, 2: 0.75})
    present = changes(draw, Factor("y", ("x",), lambda x: {10 * x: 1.0}))
    assert present(5, 0, 0) == {(1, 50, 0): 0.25, (2, 50, 0): 0.75}
    after = changes(draw, Factor("y", ("x'",), lambda x: {10 * x: 1.0}))
    assert after(5, 0, 0) == {(1, 10, 0): 0.25, (2, 20, 0): 0.75}


def test_a_factor_may_depend_on_both_slices():
    draw = Factor("x", ("x",), lambda x: {x: 0.5, x + 1: 0.5})
    rises = Factor("y", ("x", "x'", "z"), lambda before, after, z: {z: 0.9, -1: 0.1} if after > before else {0: 1.0})
    assert changes(draw, rises)(3, 8, 7) == {(3, 0, 7): 0.5, (4, 7, 7): 0.45, (4, -1, 7): 0.05}


def test_factors_that_are_independent_multiply():
    coin = Factor("x", (), lambda: {0: 0.5, 1: 0.5})
    die = Factor("y", (), lambda: {0: 0.25, 1: 0.75})
    assert changes(coin, die)(9, 9, 9) == {
        (0, 0, 9): 0.125,
        (0, 1, 9): 0.375,
        (1, 0, 9): 0.125,
        (1, 1, 9): 0.375,
    }


def test_what_is_impossible_is_left_out_and_what_is_the_same_added_up():
    never = Factor("x", (), lambda: {0: 1.0, 1: 0.0})
    assert changes(never)(0, 0, 0) == {(0, 0, 0): 1.0}
    # y is overwritten, so both branches of it end in one state.
    twice = changes(Factor("y", (), lambda: {1: 0.5, 2: 0.5}), Factor("y", (), lambda: {0: 1.0}))
    assert twice(0, 0, 0) == {(0, 0, 0): 1.0}


# The attack as a process.


def attack(**changes):
    amounts = {"gain": 100.0, "access_cost": 5.0, "link_cost": 3.0, "exploit_cost": 1.0, "penalty": 20.0, "prior": 0.5}
    return SequentialAttack(**{**amounts, "detection_slope": 0.3, **changes})


def named(state):
    return dict(zip(VARIABLES, state, strict=True))


@st.composite
def processes(draw):
    belief = draw(st.dictionaries(st.integers(0, 4), st.floats(0.1, 1), min_size=1))
    parameters = attack(
        max_penalties=draw(st.sampled_from([None, 1, 2])),
        penalty_timing=draw(st.sampled_from(["next-state", "at-action"])),
        detection_ends_attack=draw(st.booleans()),
    )
    return parameters, {g: weight / sum(belief.values()) for g, weight in belief.items()}


@given(given_process=processes())
def test_probabilities_of_every_choice_sum_to_1(given_process):
    mdp = expand(attack_process(*given_process), [OUTSET])
    np.testing.assert_allclose(mdp.transition.sum(axis=1), 1, rtol=1e-12)
    assert (mdp.transition.data > 0).all()


@given(given_process=processes())
def test_an_attack_can_be_ended_anywhere_and_ends(given_process):
    process = attack_process(*given_process)
    assert process.actions[0].name == "terminate"
    mdp = expand(process, [OUTSET])
    open_states = {at for at, state in enumerate(mdp.states) if not named(state)["X_t"]}
    assert set(mdp.state_of.tolist()) == open_states
    assert set(mdp.state_of[mdp.action_of == 0].tolist()) == open_states
    for row in np.flatnonzero(mdp.action_of == 0):
        start = mdp.transition.indptr[row]
        after = mdp.states[mdp.transition.indices[start]]
        assert after == (1, *mdp.states[mdp.state_of[row]][1:])


def n_states(belief, **changes):
    return len(expand(attack_process(attack(**changes), belief), [OUTSET]).states)


@pytest.mark.parametrize("g", [1, 2, 5, 9])
def test_the_states_of_a_known_group_are_those_counted_by_hand(g):
    # Outset, accessed and linked; then detected or not, successful or not after each exploit; each terminated or not.
    assert n_states({g: 1.0}) == 2 * (3 + 4 * g)
    # Once penalized from the second exploit on; where the last one counts at once, detected implies penalized.
    assert n_states({g: 1.0}, max_penalties=1) == 2 * (3 + 4 * g + 4 * (g - 1))
    assert n_states({g: 1.0}, max_penalties=1, penalty_timing="at-action") == 2 * (3 + 4 * g + 2 * (g - 1))
    # After j exploits, 0 to j - 1 penalties before the last one.
    assert n_states({g: 1.0}, max_penalties=100) == 2 * (3 + 4 * g * (g + 1) // 2)
    # Nothing comes after a detection, so there is never an earlier penalty.
    for limit in (None, 1, 3):
        assert n_states({g: 1.0}, detection_ends_attack=True, max_penalties=limit) == 2 * (3 + 4 * g)
    assert n_states({0: 1.0}) == 2 * 3


def test_the_states_of_a_belief_are_those_of_its_group_sizes():
    assert n_states({0: 0.2, 2: 0.3, 3: 0.5}) == 2 + (4 + 0) + (4 + 16) + (4 + 24)
    assert n_states({2: 0.5, 3: 0.5, 4: 0.0}) == 2 + (4 + 16) + (4 + 24)  # impossible sizes are not reached


def moves(process, state):
    """Return reward and following states by action, as variables that changed."""
    found = {}
    for action in process.actions:
        if process.term(action.condition, state):
            following = {
                tuple((name, after[i]) for i, name in enumerate(VARIABLES) if after[i] != state[i]): share
                for after, share in process.successors(action, state).items()
            }
            found[action.name] = (process.reward_of(action, state), following)
    return found


def test_access_and_link_are_two_steps_with_a_price_each():
    process = attack_process(attack(), {0: 0.25, 2: 0.75})
    outset = moves(process, OUTSET)
    assert set(outset) == {"terminate", "access"}
    assert outset["terminate"] == (0, {(("X_t", 1),): 1.0})
    assert outset["access"] == (
        -5,
        {(("X_a", 1),): 0.25, (("X_a", 1), ("X_g", 2), ("X_r", 2)): 0.75},
    )
    accessed = (0, 0, 0, 0, 1, 0, 2, 2)
    assert moves(process, accessed) == {
        "terminate": (0, {(("X_t", 1),): 1.0}),
        "link": (-3, {(("X_l", 1),): 1.0}),
    }
    assert linked_state(2) == (0, 0, 0, 0, 1, 1, 2, 2)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_an_exploit_hits_by_equation_3_and_is_detected_by_equation_4():
    process = attack_process(attack(), {3: 1.0})
    # One of three was exploited: two are left, and three outside the registry; the second exploit follows.
    reward, following = moves(process, (0, 0, 0, 0, 1, 1, 3, 2))["exploit"]
    hit, caught = 1 / 5, sigmoid(-4.59 + 0.3)
    assert reward == -1
    assert following == {
        (("X_r", 1),): pytest.approx((1 - hit) * (1 - caught)),
        (("X_d", 1), ("X_r", 1)): pytest.approx((1 - hit) * caught),
        (("X_s", 1), ("X_r", 1)): pytest.approx(hit * (1 - caught)),
        (("X_d", 1), ("X_s", 1), ("X_r", 1)): pytest.approx(hit * caught),
    }


def test_gain_and_penalty_are_collected_in_the_state_they_lead_to():
    process = attack_process(attack(max_penalties=1), {3: 1.0})
    assert moves(process, (0, 1, 0, 1, 1, 1, 3, 2)) == {"terminate": (80, {(("X_t", 1),): 1.0})}
    assert moves(process, (0, 0, 0, 1, 1, 1, 3, 2)) == {"terminate": (100, {(("X_t", 1),): 1.0})}
    caught = moves(process, (0, 1, 0, 0, 1, 1, 3, 2))
    assert caught["terminate"][0] == -20
    assert caught["exploit"][0] == -21
    # The penalty counts once its state is left, and is not levied again.
    assert all(("X_p", 1) in change for change in caught["exploit"][1])
    again = moves(process, (0, 1, 1, 0, 1, 1, 3, 1))
    assert again["terminate"][0] == 0
    assert again["exploit"][0] == -1
    assert not any("X_p" in dict(change) for change in again["exploit"][1])
    # Nobody is left, or the attack is over.
    assert set(moves(process, (0, 0, 0, 0, 1, 1, 3, 0))) == {"terminate"}
    absorbed = (1, 1, 0, 1, 1, 1, 3, 2)
    assert process.term(process.absorbing, absorbed) == 1
    assert sum(process.term(term, absorbed) for term in process.reward) == 0


def test_a_penalty_at_the_action_is_charged_as_expected_and_counts_at_once():
    process = attack_process(attack(max_penalties=1, penalty_timing="at-action"), {3: 1.0})
    reward, following = moves(process, (0, 0, 0, 0, 1, 1, 3, 2))["exploit"]
    assert reward == pytest.approx(-1 - 20 * sigmoid(-4.59 + 0.3))
    assert all((("X_p", 1) in change) == (("X_d", 1) in change) for change in following)
    caught = moves(process, (0, 1, 1, 0, 1, 1, 3, 2))
    assert caught["terminate"][0] == 0
    assert caught["exploit"][0] == -1
    assert moves(process, (0, 1, 1, 1, 1, 1, 3, 2))["terminate"][0] == 100


def test_penalties_that_are_levied_every_time_are_not_counted():
    process = attack_process(attack(), {3: 1.0})
    caught = moves(process, (0, 1, 0, 0, 1, 1, 3, 2))
    assert caught["exploit"][0] == -21
    assert not any("X_p" in dict(change) for change in caught["exploit"][1])


def test_nobody_is_exploited_after_a_detection_that_ends_the_attack():
    process = attack_process(attack(detection_ends_attack=True), {3: 1.0})
    assert moves(process, (0, 1, 0, 0, 1, 1, 3, 2)) == {"terminate": (-20, {(("X_t", 1),): 1.0})}
    assert moves(process, (0, 1, 0, 1, 1, 1, 3, 2)) == {"terminate": (80, {(("X_t", 1),): 1.0})}  # a hit still counts
    assert set(moves(process, (0, 0, 0, 0, 1, 1, 3, 2))) == {"terminate", "exploit"}


def test_the_process_of_one_candidate_is_worth_what_it_is_by_hand():
    parameters = attack(prior=1.0, discount=0.5)
    caught = sigmoid(-4.59)
    start = -1 + 0.5 * (100 - 20 * caught)
    worth = worth_of(expand(attack_process(parameters, {1: 1.0}), [OUTSET]))
    assert worth[linked_state(1)] == pytest.approx(start, rel=1e-9)
    assert worth[0, 0, 0, 0, 1, 0, 1, 1] == pytest.approx(0.5 * start - 3, rel=1e-9)
    assert worth[OUTSET] == pytest.approx(0.5 * (0.5 * start - 3) - 5, rel=1e-9)
    assert worth[0, 1, 0, 1, 1, 1, 1, 0] == pytest.approx(80, rel=1e-9)
    assert worth[1, 1, 0, 1, 1, 1, 1, 0] == 0
