"""Factored Markov decision processes, against hand and joint-state solutions."""

import math
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tiers import examples

from reidsim import Action, FactoredMDP
from reidsim.adversaries.factored_mdp import METHODS
from reidsim.core.errors import InputError

PROGRAMS = ("linear-program", "two-level")


def tossing(unit=1.0, **options):
    """Return a coin game for up to three points.

    A loss takes all, stopping pays 10 a point.

    The weather does not change. With V3 = 30: tossing is worth -1 + .9 (.6 V(k+1) + .4 V0). If V2 = 20 (stop),
    V1 = 9.8 + .36 V0 and .64 V0 = -1 + .54 V1, so V0 = 4.292 / .4456; and 15.2 + .36 V0 < 20, so stopping with two
    points is right.
    """
    return FactoredMDP(
        {"points": range(4), "over": (False, True), "weather": ("dry", "rain")},
        {
            "stop": Action({"over": True}, reward=lambda points: unit * 10 * points),
            "toss": Action(
                {"points": lambda points: {points + 1: 0.6, 0: 0.4}}, -unit, allowed=lambda points: points < 3
            ),
        },
        terminal=lambda over: over,
        **options,
    )


V0 = 4.292 / 0.4456
TOSSING = {0: V0, 1: 9.8 + 0.36 * V0, 2: 20.0, 3: 30.0}


@pytest.mark.parametrize("method", PROGRAMS)
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_a_process_solved_by_hand_in_any_unit_of_money(method, unit):
    solution = tossing(unit, start={"weather": "rain"}).solve(method)
    assert solution.value == pytest.approx(unit * V0, rel=1e-12)
    table = solution.table.set_index("points")
    assert (table["weather"] == "rain").all()
    assert table["action"].to_dict() == {0: "toss", 1: "toss", 2: "stop", 3: "stop"}
    assert table["value"].to_dict() == pytest.approx({points: unit * value for points, value in TOSSING.items()})


def test_backward_induction_refuses_a_process_that_returns_to_a_state():
    with pytest.raises(InputError, match="never returns to a state"):
        tossing().solve()
    with pytest.raises(InputError, match="discount"):
        tossing(discount=1.0).solve("linear-program")


def changes(*, start=None, **change):
    process = FactoredMDP(
        {name: range(-1, 11) for name in "xyz"}, {"change": Action(change)}, start=start, terminal=lambda: False
    )
    return lambda *state: process.successors("change", state)


def test_parameters_with_a_default_are_no_parents():
    steps = [changes(x=lambda x, step=step: x + step) for step in (1, 2)]
    assert [move(0, 0, 0) for move in steps] == [{(1, 0, 0): 1.0}, {(2, 0, 0): 1.0}]
    assert changes(y=lambda scale=2, x=0: scale * x)(3, 0, 0) == {(3, 6, 0): 1.0}


# Random processes, against dynamic programming over the joint state space.


def table_function(draw, random, names, domains, outcomes, most=2):
    """Draw a tabulated function of up to `most` names.

    Its source code names the parents.
    """
    parents = random.sample(names, draw(st.integers(0, min(most, len(names)))))
    cases = product(*(domains[name.removeprefix("next_")] for name in parents))
    table = {case: outcomes(random) for case in cases}
    arguments = ", ".join(parents)
    code = f"lambda {arguments}: table[({arguments}{',' if parents else ''})]"
    return eval(code, {"table": table}), parents, table  # noqa: S307


def distribution_over(domain):
    def drawn(random):
        weights = [random.choice([0.0, 1.0, 2.0, 5.0]) for _ in domain]
        weights[random.randrange(len(domain))] += 1.0
        return {value: weight / sum(weights) for value, weight in zip(domain, weights, strict=True)}

    return drawn


@st.composite
def random_processes(draw):
    """Draw a small process and its tables: factors, rewards and conditions by action."""
    random = draw(st.randoms(use_true_random=False))
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    domains = {name: tuple(range(draw(st.integers(1, 3)))) for name in names}
    clock = draw(st.sampled_from(["none", "none", "horizon", "variable"]))
    if clock == "variable":
        domains["t"] = tuple(range(4))
    every = list(domains)
    amounts = lambda random: random.choice([-5.0, -1.0, 0.0, 2.0, 7.0])  # noqa: E731
    flags = lambda random: random.random() < 0.7  # noqa: E731

    def term(outcomes):
        return table_function(draw, random, every, domains, outcomes)

    actions, plain = {}, {}
    for number in range(draw(st.integers(1, 3))):
        change, factors = {}, []
        for at, name in enumerate(names):
            if random.random() < 0.3:
                continue
            possible = every + [f"next_{before}" for before in names[:at]]
            function, parents, table = table_function(draw, random, possible, domains, distribution_over(domains[name]))
            change[name] = function
            factors.append((name, parents, table))
        if clock == "variable":
            change["t"] = lambda t: min(t + 1, 3)
            factors.append(("t", ["t"], {(t,): {min(t + 1, 3): 1.0} for t in range(4)}))
        reward, allowed = term(amounts), term(flags)
        action = f"action{number}"
        actions[action] = Action(change, reward[0], allowed[0] if number else None)
        plain[action] = (factors, [reward], allowed if number else None)
    shared = [term(amounts) for _ in range(draw(st.integers(0, 2)))]
    ends = term(lambda random: random.random() < 0.2)
    horizon = draw(st.integers(1, 4)) if clock == "horizon" else None
    discount = draw(st.sampled_from([0.3, 0.7, 0.9] if clock == "none" else [0.7, 0.9, 1.0]))

    def over(state):
        return read(ends, state) or state.get("t") == 3

    terminal = eval(  # noqa: S307
        f"lambda {', '.join(every)}: over(dict({', '.join(f'{name}={name}' for name in every)}))", {"over": over}
    )
    process = FactoredMDP(
        domains, actions, rewards=[item[0] for item in shared], terminal=terminal, discount=discount, horizon=horizon
    )
    return process, JointProgram(domains, plain, shared, over, discount, horizon)


def read(term, state, after=None):
    _, parents, table = term
    both = {**state, **{f"next_{name}": value for name, value in (after or {}).items()}}
    return table[tuple(both[name] for name in parents)]


class JointProgram:
    """Value iteration over all combinations of values, with explicit transitions."""

    def __init__(self, domains, actions, shared, over, discount, horizon):
        self.states = [dict(zip(domains, values, strict=True)) for values in product(*domains.values())]
        self.over = np.array([bool(over(state)) for state in self.states])
        self.discount, self.horizon = discount, horizon
        self.actions = {}
        for name, (factors, rewards, allowed) in actions.items():
            matrix = np.array([[self.chance(factors, x, y) for y in self.states] for x in self.states])
            np.testing.assert_allclose(matrix.sum(axis=1), 1)
            reward = np.array([sum(read(term, state) for term in [*shared, *rewards]) for state in self.states])
            can = np.array([allowed is None or read(allowed, state) for state in self.states])
            self.actions[name] = (matrix, reward, can)

    @staticmethod
    def chance(factors, state, after):
        changed = {name for name, _, _ in factors}
        if any(state[name] != after[name] for name in state if name not in changed):
            return 0.0
        shares = [read((None, parents, table), state, after).get(after[name], 0.0) for name, parents, table in factors]
        return math.prod(shares)

    def better(self, values):
        worth = [
            np.where(can, reward + self.discount * matrix @ values, -np.inf)
            for matrix, reward, can in self.actions.values()
        ]
        return np.where(self.over, 0.0, np.max(worth, axis=0))

    def values(self):
        """Return values by number of steps left.

        Without a horizon only the stationary values.
        """
        values = np.zeros(len(self.states))
        if self.horizon is not None:
            by_step = {0: values}
            for step in range(1, self.horizon + 1):
                by_step[step] = self.better(by_step[step - 1])
            return by_step
        for _ in range(600):
            values = self.better(values)
        return {None: values}

    def value_of(self, policy, start):
        """Return the value of a policy, by a linear system or backward in time.

        `policy(state, steps left)` returns an action.
        """
        n = len(self.states)

        def rows(step):
            matrix, reward = np.zeros((n, n)), np.zeros(n)
            for at, state in enumerate(self.states):
                action = policy(state, step)
                if action is not None and not self.over[at]:
                    assert self.actions[action][2][at]
                    matrix[at], reward[at] = self.actions[action][0][at], self.actions[action][1][at]
            return matrix, reward

        if self.horizon is None:
            matrix, reward = rows(None)
            values = np.linalg.solve(np.eye(n) - self.discount * matrix, reward)
        else:
            values = np.zeros(n)
            for step in range(1, self.horizon + 1):
                matrix, reward = rows(step)
                values = reward + self.discount * matrix @ values
        return values[start]

    def returns(self):
        """Return whether a reachable state can return to itself."""
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.states)))
        for matrix, _, can in self.actions.values():
            for x, y in np.argwhere(matrix > 0).tolist():
                if can[x] and not self.over[x]:
                    graph.add_edge(x, y)
        return not nx.is_directed_acyclic_graph(graph.subgraph({0} | nx.descendants(graph, 0)))


@given(given=random_processes())
@examples(150)
def test_every_method_gives_the_values_of_dynamic_programming_over_joint_states(given):
    process, joint = given
    expected = joint.values()
    returns = joint.horizon is None and joint.returns()
    event("returns to a state" if returns else "ends")
    for method in METHODS:
        if returns and method == "backward-induction":
            with pytest.raises(InputError, match="never returns"):
                process.solve(method)
            continue
        solution = process.solve(method)
        for state, value in solution.values.items():
            named = process.named(state)
            step = named.pop("steps_left", None)
            assert value == pytest.approx(expected[step][joint.states.index(named)], rel=1e-9, abs=1e-9), method

        def policy(state, step, solution=solution):
            return solution.policy.get(tuple(state.values()) if step is None else (*state.values(), step))

        assert solution.value == pytest.approx(joint.value_of(policy, 0), rel=1e-9, abs=1e-9)
        if joint.horizon is not None or not returns:
            followed = solution.follow()
            assert followed.value == pytest.approx(solution.value, rel=1e-9, abs=1e-9)
            assert sum(followed.uses.values()) == pytest.approx(
                sum(share for state, share in followed.visits.items() if not process.is_terminal(state))
            )
            assert solution.probability(lambda: True) == 1
            assert 0 <= solution.probability(lambda a: a == 1) <= 1 + 1e-12


@pytest.mark.parametrize("tail", [1e-9, 1e-11, 1e-13])
def test_unlikely_events_are_not_lost_by_the_solver(tail):
    """HiGHS drops matrix entries of at most 1e-9."""
    process = FactoredMDP(
        {"prize": (0, 1), "step": range(3)},
        {
            "stop": Action({"step": 2}, reward=lambda prize: 1.0 if prize else 0.0),
            "play": Action(
                {"prize": {1: tail, 0: 1 - tail}, "step": 1}, reward=-tail / 4, allowed=lambda step: step == 0
            ),
        },
        terminal=lambda step: step == 2,
        discount=0.5,
    )
    for method in METHODS:
        assert process.solve(method).value == pytest.approx(tail / 4, rel=1e-9)


SIDES = {"side": (0, 1)}


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: FactoredMDP({"side": (0, 0)}, {"stay": Action()}), r"variables.side: not a domain"),
        (lambda: FactoredMDP(SIDES, {}), "actions: no action"),
        (lambda: FactoredMDP(SIDES, {"stay": Action()}, discount=1.1), "discount: value out of range; found 1.1"),
        (lambda: FactoredMDP(SIDES, {"stay": Action()}, start={"side": 2}), "found 2"),
        (lambda: FactoredMDP(SIDES, {"stay": Action({"size": 1})}), r"actions.stay.changes: unknown variable"),
        (lambda: FactoredMDP(SIDES, {"stay": Action({"side": lambda size: size})}), "not a variable; found 'size'"),
        (lambda: FactoredMDP(SIDES, {"stay": Action(allowed=lambda next_side: True)}), "is not a variable"),
        (lambda: FactoredMDP(SIDES, {"stay": Action({"side": lambda next_side: next_side})}), "depend on each other"),
        (lambda: FactoredMDP(SIDES, {"stay": Action(allowed=lambda side: side)}).solve("two-level"), "no action is al"),
        (lambda: FactoredMDP(SIDES, {"flip": Action({"side": {0: 0.5, 1: 0.6}})}, horizon=1).solve(), "not a prob"),
        (lambda: FactoredMDP(SIDES, {"flip": Action({"side": 7})}, horizon=0), "horizon: value out of range; found 0"),
        (lambda: FactoredMDP(SIDES, {"flip": Action({"side": 7})}, horizon=2).solve(), "outside the domain of side"),
        (lambda: FactoredMDP(SIDES, {"stay": Action(reward=math.nan)}, horizon=2).solve(), "reward is not finite"),
        (lambda: FactoredMDP(SIDES, {"stay": Action(reward=lambda side: 1 / side)}, horizon=2).solve(), "ZeroDivision"),
        (lambda: FactoredMDP(SIDES, {"stay": Action()}, horizon=2).solve("simplex"), "method: unknown method"),
        (lambda: FactoredMDP(SIDES, {"stay": Action()}).solve("linear-program").follow(), "policy never reaches"),
    ],
)
def test_an_impossible_process_is_refused(make, problem, monkeypatch):
    monkeypatch.setattr("reidsim.adversaries.factored_mdp._MOST_STEPS", 100)
    with pytest.raises(InputError, match=problem):
        make()


def test_a_process_of_too_many_states_is_refused(monkeypatch):
    monkeypatch.setattr("reidsim.adversaries.factored_mdp._MOST_STATES", 100)
    counting = FactoredMDP({"n": range(1000)}, {"up": Action({"n": lambda n: min(n + 1, 999)})})
    with pytest.raises(InputError, match="too many states"):
        counting.solve("linear-program")
