"""Factored Markov decision processes, solved exactly (Xia et al. 2015, 4 and 5).

A process is a 4-tuple (X, A, R, P). Its state assigns a value to each of the variables X_0, ..., X_m, each with a
finite domain. An action a of A earns the reward R(x, a) in state x. The next value of each variable is distributed as
P(X'_i | parents of X_i, a): one dynamic Bayesian network per action. A planner maximizes the expected sum of rewards,
where a reward t steps later is discounted by gamma^t.

A process is declared by ordinary functions whose parameters name the variables they depend on:

    FactoredMDP(
        variables={"tried": range(4), "over": (False, True), "hit": (False, True)},
        actions={
            "stop": Action({"over": True}),
            "exploit": Action(
                {
                    "tried": lambda tried: tried + 1,
                    "hit": lambda tried: {True: 1 / (5 - tried), False: 1 - 1 / (5 - tried)},
                },
                reward=-1,
                allowed=lambda tried, hit: tried < 3 and not hit,
            ),
        },
        rewards=[lambda hit: 20 if hit else 0],
        terminal=lambda over: over,
    )

Only the states that are reachable from the start are enumerated.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import fsum, inf, isfinite
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import connected_components

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError

__all__ = ["Action", "FactoredMDP", "Followed", "Method", "Solution", "State"]

Method = Literal["backward-induction", "linear-program", "two-level"]
METHODS: tuple[Method, ...] = get_args(Method)
# The values of all variables, in the order in which the process lists them.
State = tuple[Hashable, ...]
# A constant, or a function whose parameters name variables.
Term = Any
Floats = NDArray[np.float64]

# Prefix of parameters for the next value of a variable instead of the present one.
_NEXT = "next_"
_STEPS_LEFT = "steps_left"
# Probabilities are decimal inputs, so their sum is 1 only up to rounding.
_ROUNDING = 1e-9
# Maximum number of reachable states: about a minute of computation and 2 GiB.
_MOST_STATES = 1_000_000
# Maximum number of steps of a followed plan, and probability below which a state is no longer followed.
_MOST_STEPS = 1_000_000
_LOST = 1e-18


@dataclass(frozen=True)
class Action:
    """An action: its effects, its reward and the states in which it is allowed.

    Parameters
    ----------
    changes : mapping of str to value or function
        The action's dynamic Bayesian network. For each variable that the action changes, its next value, or a
        dictionary of probabilities by next value, or a function that returns either. The parameters of the function
        are the variable's parents: ``tried`` is the present value of variable ``tried``, ``next_tried`` its next
        value. Variables that are not named keep their values.
    reward : number, function, or sequence of numbers and functions
        R(x, a), the sum of these terms; costs are negative. Parameters of functions name variables of the present
        state.
    allowed : function, optional
        Returns whether the action can be taken, given variables of the present state. Default: always.
    """

    changes: Mapping[str, Term] = field(default_factory=dict)
    reward: Term = 0.0
    allowed: Callable[..., Any] | None = None


class FactoredMDP:
    """A planning problem: variables, actions, rewards and a discount.

    Parameters
    ----------
    variables : mapping of str to iterable
        The finite domain of each variable.
    actions : mapping of str to Action
        Actions by name. Among equally good actions, the planner takes the first.
    rewards : sequence of number or function
        Terms of the reward that depend only on the state, not on the action (R_g and R_p of Eq. 2). They are earned
        when an action is taken, so never in a terminal state.
    terminal : function, optional
        Returns whether the process is over, given variables; no reward is earned from then on.
    discount : float
        gamma, discount factor per step, in (0, 1].
    horizon : int, optional
        Number of actions after which the process is over. Default: unlimited. It adds the variable ``steps_left``.
    start : mapping of str to value, optional
        x_0, the initial values. Default: the first value of each domain.

    Raises
    ------
    InputError
        If the discount or horizon is out of range, there are no actions, a domain is empty or repeats a value, or a
        name or an initial value is unknown. Functions are checked when they are first called.
    """

    def __init__(
        self,
        variables: Mapping[str, Iterable[Hashable]],
        actions: Mapping[str, Action],
        *,
        rewards: Sequence[Term] = (),
        terminal: Callable[..., Any] | None = None,
        discount: float = 0.9,
        horizon: int | None = None,
        start: Mapping[str, Hashable] | None = None,
    ) -> None:
        domains = {name: tuple(domain) for name, domain in variables.items()}
        if not 0 < discount <= 1:
            raise InputError("value out of range", where="discount", found=discount, expected="above 0, at most 1")
        if not actions:
            raise InputError("no action", where="actions", expected="at least one action")
        self._steps: int | None = None
        if horizon is not None:
            if not (isinstance(horizon, int) and horizon >= 1):
                expected = "a whole number of 1 or more"
                raise InputError("value out of range", where="horizon", found=horizon, expected=expected)
            if _STEPS_LEFT in domains:
                raise InputError("variable name reserved for the horizon", where="variables", found=_STEPS_LEFT)
            domains[_STEPS_LEFT] = tuple(range(horizon, -1, -1))
        for name, domain in domains.items():
            if not domain or len(set(domain)) < len(domain):
                expected = "one or more distinct values"
                raise InputError("not a domain", where=f"variables.{name}", found=domain, expected=expected)
        self.variables: dict[str, tuple[Hashable, ...]] = domains
        self.discount = float(discount)
        self.horizon = horizon
        self._position = {name: at for at, name in enumerate(domains)}
        self._canonical = {name: {value: value for value in domain} for name, domain in domains.items()}
        self._rewards = [_Function(term, self._position, f"rewards[{at}]") for at, term in enumerate(rewards)]
        self._terminal = _Function(False if terminal is None else terminal, self._position, "terminal")
        self._actions = {name: _Network(name, action, self) for name, action in actions.items()}
        self.start: State = self.state(**(start or {}))

    def state(self, **values: Hashable) -> State:
        """Return the state with the given values, by variable name.

        Other variables have the first value of their domain.

        Raises
        ------
        InputError
            If a name or a value is unknown.
        """
        for name, value in values.items():
            if name not in self.variables:
                expected = f"one of {', '.join(self.variables)}"
                raise InputError("unknown variable", where="state", found=name, expected=expected)
            self._checked(name, value, "state")
        return tuple(self._canonical[name][values.get(name, domain[0])] for name, domain in self.variables.items())

    def is_terminal(self, state: State) -> bool:
        """Return whether the process is over in a state."""
        if self.horizon is not None and state[-1] == 0:
            return True
        return bool(self._terminal.at(state))

    def allowed(self, state: State) -> list[str]:
        """Return the actions that can be taken in a state that is not terminal.

        Raises
        ------
        InputError
            If no action is allowed.
        """
        names = [name for name, network in self._actions.items() if network.allowed.at(state)]
        if not names:
            expected = "an allowed action in every state that is not terminal"
            raise InputError("no action is allowed", where="actions", found=self.named(state), expected=expected)
        return names

    def reward(self, action: str, state: State) -> float:
        """Return R(x, a), the reward of an action in a state."""
        total = sum(float(term.at(state)) for term in self._rewards)
        total += sum(float(term.at(state)) for term in self._actions[action].rewards)
        if not isfinite(total):
            raise InputError("reward is not finite", where=f"actions.{action}", found=self.named(state))
        return total

    def successors(self, action: str, state: State) -> dict[State, float]:
        """Return the probability of each next state.

        It is the product of P(X'_i | parents of X_i, a) over the variables.
        """
        return self._actions[action].successors(state)

    def named(self, state: State) -> dict[str, Hashable]:
        """Return the value of each variable in a state, by name."""
        return dict(zip(self.variables, state, strict=True))

    def solve(
        self,
        method: Method = "backward-induction",
        *,
        starts: Iterable[State] | None = None,
        known: Mapping[State, float] | None = None,
    ) -> Solution:
        """Compute the optimal value and the optimal action of every reachable state.

        - ``"backward-induction"`` goes from the last states to the first, so it needs a process that never returns to a
          state, such as one with a horizon.
        - ``"linear-program"`` minimizes the sum of V(x) subject to V(x) >= R(x, a) + gamma sum_x' P(x' | x, a) V(x')
          for every state x and action a.
        - ``"two-level"`` solves one small linear program for each sink cluster, which no transition leaves, and then
          one for the remaining states, in which the values of the clusters are constants (section 5.1.1).

        A linear program's optimum is accurate to about 1e-10 of the largest reward. The plan that it implies is then
        evaluated exactly and, where an action turns out to be better within that accuracy, improved.

        Parameters
        ----------
        method : {"backward-induction", "linear-program", "two-level"}
            Solution method.
        starts : iterable of State, optional
            States at which the process can begin. Default: `start`.
        known : mapping of State to float, optional
            Values of states that were computed before, such as the first states of clusters. They are not expanded.

        Returns
        -------
        Solution

        Raises
        ------
        InputError
            If the method cannot solve the process, or the process has too many states.
        """
        if method not in METHODS:
            raise InputError("unknown method", where="method", found=method, expected=f"one of {', '.join(METHODS)}")
        first = tuple([self.start] if starts is None else starts)
        table = _expanded(self, first, known or {})
        if method == "backward-induction":
            values, choices = _backward_induction(table)
        else:
            if table.discount == 1 and table.order is None:
                raise InputError(
                    "the process can return to a state, so it has no finite value without discounting",
                    where="discount",
                    found=1.0,
                    expected="a discount below 1, or a horizon",
                )
            values = table.fixed.copy()
            for members in _clusters(table) if method == "two-level" else []:
                _solve_program(table, members, values)
            _solve_program(table, np.isnan(values), values)
            values, choices = _refined(table, values)
        policy = {table.states[table.state_of[choice]]: table.actions[choice] for choice in choices}
        return Solution(self, method, first, dict(zip(table.states, values.tolist(), strict=True)), policy)

    def follow(
        self, policy: Mapping[State, str], start: State | None = None, *, until: Callable[..., Any] | None = None
    ) -> Followed:
        """Evaluate a policy by following its Markov chain step by step (Eq. 5).

        If the policy has no allowed action for a state, the first allowed action is taken.

        Parameters
        ----------
        policy : mapping of State to str
            Action of each state.
        start : State, optional
            First state. Default: the start of the process.
        until : function, optional
            Returns whether an event has occurred, given variables; the chain ends at the event.

        Returns
        -------
        Followed

        Raises
        ------
        InputError
            If the chain has not ended after a million steps.
        """
        ends = _Function(until or False, self._position, "until")
        present = {self.start if start is None else start: 1.0}
        visits: dict[State, float] = defaultdict(float)
        uses: dict[str, float] = defaultdict(float)
        earned: list[float] = []
        weight = 1.0
        for _ in range(_MOST_STEPS):
            following: dict[State, float] = defaultdict(float)
            for state, share in present.items():
                visits[state] += share
                if self.is_terminal(state) or ends.at(state):
                    continue
                allowed = self.allowed(state)
                action = policy.get(state, allowed[0])
                action = action if action in allowed else allowed[0]
                uses[action] += share
                earned.append(weight * share * self.reward(action, state))
                for after, probability in self.successors(action, state).items():
                    following[after] += share * probability
            present = {state: share for state, share in following.items() if share > _LOST}
            weight *= self.discount
            if not present:
                return Followed(fsum(earned), dict(visits), dict(uses))
        raise InputError(
            "the policy never reaches a terminal state",
            where="policy",
            expected="a policy that reaches a terminal state",
        )

    def probability(self, event: Callable[..., Any], policy: Mapping[State, str], start: State | None = None) -> float:
        """Return the probability that an event ever occurs under a policy (Eq. 5).

        `event` is a function of variables; see `follow`.
        """
        happens = _Function(event, self._position, "event")
        followed = self.follow(policy, start, until=event)
        return fsum(share for state, share in followed.visits.items() if happens.at(state))

    def _checked(self, name: str, value: Any, where: str) -> None:
        if value not in self._canonical[name]:
            expected = f"a value of the domain, such as {self.variables[name][0]!r}"
            raise InputError(f"value outside the domain of {name}", where=where, found=value, expected=expected)


@dataclass(frozen=True)
class Followed:
    """Outcome of a policy.

    Parameters
    ----------
    value : float
        Expected discounted sum of rewards.
    visits : dict of State to float
        Expected number of time steps spent in each state: the sum over t of M^t[x_0, x] in Eq. 5.
    uses : dict of str to float
        Expected number of times that each action is taken.
    """

    value: float
    visits: dict[State, float]
    uses: dict[str, float]


@dataclass(frozen=True)
class Solution:
    """Optimal values and an optimal policy of a process.

    Parameters
    ----------
    process : FactoredMDP
        The process solved.
    method : str
        Name of the solution method.
    starts : tuple of State
        States at which the process can begin.
    values : dict of State to float
        V(x), the expected discounted sum of rewards from state x on.
    policy : dict of State to str
        The optimal action of each state that is not terminal: the first among equally good ones.
    """

    process: FactoredMDP
    method: str
    starts: tuple[State, ...]
    values: dict[State, float]
    policy: dict[State, str]

    @property
    def value(self) -> float:
        """V(x_0), the value of the first start."""
        return self.values[self.starts[0]]

    def action_value(self, action: str, state: State | None = None) -> float:
        """Return the value of an action followed by the optimal policy.

        The default state is the first start.
        """
        at = self.starts[0] if state is None else state
        later = (share * self.values[after] for after, share in self.process.successors(action, at).items())
        return self.process.reward(action, at) + self.process.discount * fsum(later)

    def follow(self, start: State | None = None) -> Followed:
        """Evaluate the optimal policy from a state on; see `FactoredMDP.follow`.

        The default state is the first start.
        """
        return self.process.follow(self.policy, self.starts[0] if start is None else start)

    def probability(self, event: Callable[..., Any], start: State | None = None) -> float:
        """Return the probability that an event occurs under the optimal policy (Eq. 5).

        `event` is a function of variables.
        """
        return self.process.probability(event, self.policy, self.starts[0] if start is None else start)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table with one row per non-terminal state: variables, ``action``, ``value``."""
        rows = [(*state, action, self.values[state]) for state, action in self.policy.items()]
        return pd.DataFrame(rows, columns=[*self.process.variables, "action", "value"])


class _Function:
    """A constant or a function, with the variables on which it depends."""

    def __init__(self, term: Term, position: Mapping[str, int], where: str, *, primed: bool = False) -> None:
        self.parents: list[str] = []
        parameters = _parameters(term, where) if callable(term) else {}
        for name, parameter in parameters.items():
            known = name in position or (primed and name.removeprefix(_NEXT) in position)
            if known and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                self.parents.append(name)
            elif known or parameter.default is parameter.empty:
                raise InputError(
                    "a parameter of the function is not a variable",
                    where=where,
                    found=name,
                    expected=f"an ordinary parameter with the name of a variable: {', '.join(position)}",
                )
        self.call: Callable[..., Any] = term if callable(term) else lambda: term
        self.where = where
        self._at = [position.get(name, -1) for name in self.parents]
        self._kept: dict[State, Any] = {}

    def of(self, given: State) -> Any:
        """Return the value, given the parents' values; cached by combination."""
        if given not in self._kept:
            named = dict(zip(self.parents, given, strict=True))
            try:
                self._kept[given] = self.call(**named)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, InputError):
                    raise
                problem = f"function failed: {type(error).__name__}: {error}"
                raise InputError(problem, where=self.where, found=named) from error
        return self._kept[given]

    def at(self, state: State) -> Any:
        """Return the value in a state."""
        return self.of(tuple(state[at] for at in self._at))


def _parameters(term: Callable[..., Any], where: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function, by name."""
    try:
        return inspect.signature(term).parameters
    except (TypeError, ValueError):
        expected = "a function with named parameters"
        raise InputError(
            "the parameters of the function cannot be read", where=where, found=term, expected=expected
        ) from None


class _Network:
    """The dynamic Bayesian network of an action, with its rewards and condition."""

    def __init__(self, name: str, action: Action, process: FactoredMDP) -> None:
        where, position = f"actions.{name}", process._position
        rewards = action.reward if isinstance(action.reward, (list, tuple)) else [action.reward]
        self.rewards = [_Function(term, position, f"{where}.reward") for term in rewards]
        self.allowed = _Function(True if action.allowed is None else action.allowed, position, f"{where}.allowed")
        changes = dict(action.changes)
        if process.horizon is not None:
            changes[_STEPS_LEFT] = lambda steps_left: steps_left - 1
        unknown = [variable for variable in changes if variable not in position]
        if unknown:
            expected = f"one of {', '.join(position)}"
            raise InputError("unknown variable", where=f"{where}.changes", found=unknown[0], expected=expected)
        nodes = {
            variable: _Function(term, position, f"{where}.changes.{variable}", primed=True)
            for variable, term in changes.items()
        }
        # A variable that depends on the next value of another variable must be computed after it.
        before = {
            variable: {parent.removeprefix(_NEXT) for parent in node.parents if parent not in position} & set(nodes)
            for variable, node in nodes.items()
        }
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as error:
            raise InputError(
                "next values depend on each other in a cycle", where=f"{where}.changes", found=error.args[1]
            ) from None
        self._nodes = [(variable, position[variable], nodes[variable]) for variable in order]
        # Position of each parent in the concatenation of present and next state.
        n = len(position)
        self._parents = [
            [position[name] if name in position else n + position[name.removeprefix(_NEXT)] for name in node.parents]
            for _, _, node in self._nodes
        ]
        self._process = process
        self._distributions: list[dict[State, list[tuple[Hashable, float]]]] = [{} for _ in order]

    def successors(self, state: State) -> dict[State, float]:
        branches: list[tuple[list[Hashable], float]] = [([*state, *state], 1.0)]
        n = len(state)
        for number, (_, at, _) in enumerate(self._nodes):
            grown = []
            for both, probability in branches:
                shares = self._distribution(number, tuple(both[parent] for parent in self._parents[number]))
                for value, share in shares:
                    after = both if len(shares) == 1 else both.copy()
                    after[n + at] = value
                    grown.append((after, probability * share))
            branches = grown
        following: dict[State, float] = {}
        for both, probability in branches:
            after_state = tuple(both[n:])
            following[after_state] = following.get(after_state, 0.0) + probability
        return following

    def _distribution(self, number: int, parents: State) -> list[tuple[Hashable, float]]:
        """Return the possible next values of a variable and their probabilities.

        Each combination of the parents' values is checked once.
        """
        kept = self._distributions[number]
        if parents not in kept:
            variable, _, node = self._nodes[number]
            found = node.of(parents)
            shares = dict(found) if isinstance(found, Mapping) else {found: 1.0}
            for value in shares:
                self._process._checked(variable, value, node.where)
            total = fsum(shares.values())
            if not (all(share >= 0 for share in shares.values()) and abs(total - 1) <= _ROUNDING):
                raise InputError(
                    "not a probability distribution",
                    where=node.where,
                    found=shares,
                    expected="probabilities of 0 or more that sum to 1",
                )
            canonical = self._process._canonical[variable]
            kept[parents] = [(canonical[value], float(share)) for value, share in shares.items() if share > 0]
        return kept[parents]


@dataclass(frozen=True)
class _Table:
    """The reachable part of a process as tables.

    A choice is a state with an action allowed in it.

    Parameters
    ----------
    states : list of State
        Reachable states.
    fixed : ndarray of float64, shape (n_states,)
        Values of terminal and known states; NaN for other states.
    state_of : ndarray of int, shape (n_choices,)
        Number of each choice's state, ascending.
    actions : list of str, length n_choices
        Action of each choice.
    reward : ndarray of float64, shape (n_choices,)
        Reward of each choice.
    transition : csr_array of float64, shape (n_choices, n_states)
        Probability of each next state, by choice.
    discount : float
        gamma, discount factor per step.
    """

    states: list[State]
    fixed: Floats
    state_of: NDArray[np.intp]
    actions: list[str]
    reward: Floats
    transition: csr_array
    discount: float

    @cached_property
    def scale(self) -> float:
        """The largest reward or known value, to which tolerances are relative."""
        largest = max(np.abs(self.reward).max(initial=0.0), np.abs(self.fixed[~np.isnan(self.fixed)]).max(initial=0.0))
        return float(largest) or 1.0

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """First choice of each state that has choices, in order."""
        return np.flatnonzero(np.diff(self.state_of, prepend=-1)).astype(np.intp)

    @cached_property
    def graph(self) -> csr_array:
        """Transitions between states under any action, shape (n_states, n_states)."""
        n = len(self.states)
        choices = csr_array(
            (np.ones(len(self.state_of)), (self.state_of, np.arange(len(self.state_of)))), shape=(n, len(self.state_of))
        )
        return csr_array(choices @ self.transition)

    @cached_property
    def order(self) -> list[int] | None:
        """Numbers of the states, each after its successors; None if there is a cycle."""
        graph = self.graph
        indices, ends = graph.indices.tolist(), graph.indptr.tolist()
        following = {at: indices[ends[at] : ends[at + 1]] for at in range(len(self.states))}
        try:
            return list(TopologicalSorter(following).static_order())
        except CycleError:
            return None

    def choice_values(self, values: Floats) -> Floats:
        """Return the value of each choice, given the values of all states."""
        return np.asarray(self.reward + self.discount * (self.transition @ values))

    def greedy(self, values: Floats) -> NDArray[np.intp]:
        """Return the best choice of each state with choices; the first one among ties."""
        worth = self.choice_values(values)
        counts = np.diff(np.append(self.first, len(worth)))
        best = np.repeat(np.maximum.reduceat(worth, self.first), counts)
        good = np.flatnonzero(worth >= best - INDIFFERENCE * self.scale)
        return good[np.flatnonzero(np.diff(self.state_of[good], prepend=-1))]


def _expanded(process: FactoredMDP, starts: Sequence[State], known: Mapping[State, float]) -> _Table:
    """Return the reachable states with their choices."""
    states = list(dict.fromkeys(starts))
    position = {state: at for at, state in enumerate(states)}
    fixed: list[float] = []
    state_of: list[int] = []
    actions: list[str] = []
    reward: list[float] = []
    ends, columns, shares = [0], [], []
    # The loop appends new states to the list over which it iterates.
    for at, state in enumerate(states):
        if state in known or process.is_terminal(state):
            fixed.append(known.get(state, 0.0))
            continue
        fixed.append(np.nan)
        for action in process.allowed(state):
            for after, share in process.successors(action, state).items():
                if after not in position:
                    position[after] = len(states)
                    states.append(after)
                columns.append(position[after])
                shares.append(share)
            ends.append(len(columns))
            state_of.append(at)
            actions.append(action)
            reward.append(process.reward(action, state))
        if len(states) > _MOST_STATES:
            raise InputError("too many states", found=len(states), expected=f"at most {_MOST_STATES:,}")
    transition = csr_array(
        (np.array(shares, dtype=np.float64), np.array(columns, dtype=np.int64), np.array(ends, dtype=np.int64)),
        shape=(len(reward), len(states)),
    )
    chosen = np.array(state_of, dtype=np.intp)
    return _Table(states, np.array(fixed), chosen, actions, np.array(reward), transition, process.discount)


def _backward_induction(table: _Table) -> tuple[Floats, NDArray[np.intp]]:
    """Return the value of each state, and the best choice of each state with choices."""
    if table.order is None:
        raise InputError(
            "backward induction needs a process that never returns to a state",
            where="method",
            found="backward-induction",
            expected="method linear-program or two-level, or a horizon",
        )
    values = table.fixed.tolist()
    columns, shares = table.transition.indices.tolist(), table.transition.data.tolist()
    ends, reward = table.transition.indptr.tolist(), table.reward.tolist()
    bounds = np.searchsorted(table.state_of, np.arange(len(values) + 1)).tolist()
    chosen = []
    for state in table.order:
        best, choice = -inf, -1
        for row in range(bounds[state], bounds[state + 1]):
            later = sum(shares[at] * values[columns[at]] for at in range(ends[row], ends[row + 1]))
            worth = reward[row] + table.discount * later
            if choice < 0 or worth > best + INDIFFERENCE * table.scale:
                best, choice = worth, row
        if choice >= 0:
            values[state] = best
            chosen.append(choice)
    return np.array(values), np.sort(np.array(chosen, dtype=np.intp))


def _clusters(table: _Table) -> list[NDArray[np.bool_]]:
    """Return the sink clusters of a process.

    A sink cluster is a set of states that no transition leaves, except to states with a fixed value. States are added
    to the top level in the order in which they are reached, step by step, until the other states split into two
    clusters or more. In the paper's attack, the clusters are the groups that access can reveal: X_g never changes
    afterwards.
    """
    free = np.isnan(table.fixed)
    following = table.graph
    top = np.zeros(len(free), dtype=np.bool_)
    frontier = free & ~np.asarray(following.sum(axis=0) > 0).ravel()
    frontier[0] = free[0]
    while frontier.any():
        top |= frontier
        below = free & ~top
        numbers = np.flatnonzero(below)
        _, label = connected_components(following[numbers][:, numbers], directed=True, connection="weak")
        to_top = np.asarray(following[:, np.flatnonzero(top)].sum(axis=1) > 0).ravel()
        # A component from which the top level can be reached belongs to it.
        apart = [numbers[label == one] for one in range(label.max(initial=-1) + 1)]
        apart = [members for members in apart if not to_top[members].any()]
        if len(apart) > 1:
            return [np.isin(np.arange(len(free)), members) for members in apart]
        frontier = below & (np.asarray(following[np.flatnonzero(frontier)].sum(axis=0)).ravel() > 0)
    return []


def _solve_program(table: _Table, members: NDArray[np.bool_], values: Floats) -> None:
    """Compute the values of the states in `members` by a linear program, in place.

    The values of all other successors of these states must be known. The program minimizes the sum of V(x) subject to
    V(x) - gamma sum_x' P(x' | x, a) V(x') >= R(x, a) over states x and actions a.
    """
    rows = np.flatnonzero(members[table.state_of])
    if not len(rows):
        return
    own = csr_array((np.ones(len(rows)), (np.arange(len(rows)), table.state_of[rows])), shape=(len(rows), len(members)))
    transition = table.transition[rows]
    left = csr_array((own - table.discount * transition)[:, np.flatnonzero(members)])
    right = table.reward[rows] + table.discount * (transition @ np.where(members, 0.0, values))
    # Amounts are scaled to about 1, so that the solver's absolute tolerances act as relative ones.
    unit = float(np.abs(right).max()) or 1.0
    result = scipy.optimize.linprog(
        np.ones(left.shape[1]),
        A_ub=-left,
        b_ub=-right / unit,
        bounds=(None, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise InputError(
            "the linear program was not solved",
            where="method",
            found=result.message,
            expected="another method, or amounts of similar size",
        )
    values[members] = unit * result.x


def _refined(table: _Table, solved: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return exact values and best choices, given values from a linear program.

    A plan is evaluated exactly by solving V = R + gamma P V. It is improved until no action is better. This takes one
    or two evaluations, because the linear program's plan is optimal up to the solver's tolerance.
    """
    values, choices = solved, table.greedy(solved) if len(table.first) else np.zeros(0, dtype=np.intp)
    free = np.flatnonzero(np.isnan(table.fixed))
    for _ in range(len(free)):
        constants = np.where(np.isnan(table.fixed), 0.0, table.fixed)
        own = table.transition[choices]
        right = table.reward[choices] + table.discount * (own @ constants)
        system = eye_array(len(free), format="csr") - table.discount * own[:, free]
        values = constants
        values[free] = scipy.sparse.linalg.spsolve(system.tocsc(), right)
        better = table.greedy(values)
        if (better == choices).all():
            break
        choices = better
    return values, choices
