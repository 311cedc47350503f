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
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import fsum, isfinite
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Attempt, Linkage, Weighing, whole_candidates
from reidsim.core.errors import InputError, not_among, refuse_first, require_among
from reidsim.releases.lattice import Rows

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
# Maximum expected number of steps of a followed plan in one state.
_MOST_STEPS = 1_000_000


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

    See Also
    --------
    FactoredMDP : the process that consists of actions.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    >>> import reidsim
    >>> search = reidsim.Action({"found": {True: 0.25, False: 0.75}}, reward=-10)
    >>> search.reward
    -10
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
        name or an initial value is unknown; if there is a horizon, and a variable is named ``steps_left``; if a
        parameter of a function is not a variable; or if next values depend on each other in a cycle. Results of
        functions are checked when they are first called.

    See Also
    --------
    Action : an action of the process.
    FactoredMDPAdversary : adversary who plans by such a process.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    A search that succeeds with probability 1/4 and costs 10; a person who is found is worth 100. The process ends after
    two actions, so that the second one must find the person's reward:

    >>> import reidsim
    >>> process = reidsim.FactoredMDP(
    ...     {"found": [False, True]},
    ...     {"stop": reidsim.Action(), "search": reidsim.Action({"found": {True: 0.25, False: 0.75}}, reward=-10)},
    ...     rewards=[lambda found: 100 if found else 0],
    ...     horizon=2,
    ...     discount=1.0,
    ... )
    >>> process.solve().value
    15.0
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
        is_valid = horizon is None or (isinstance(horizon, int) and horizon >= 1)
        reserved = horizon is not None and _STEPS_LEFT in domains
        refuse_first(
            (not 0 < discount <= 1, "value out of range", "discount", discount, "above 0, at most 1"),
            (not actions, "no action", "actions", None, "at least one action"),
            (not is_valid, "value out of range", "horizon", horizon, "a whole number of 1 or more"),
            (reserved, "variable name reserved for the horizon", "variables", _STEPS_LEFT, None),
        )
        if horizon is not None:
            domains[_STEPS_LEFT] = tuple(range(horizon, -1, -1))
        for name, domain in domains.items():
            if not domain or len(set(domain)) < len(domain):
                expected = "one or more distinct values"
                raise InputError("not a domain", where=f"variables.{name}", found=domain, expected=expected)
        self.variables: dict[str, tuple[Hashable, ...]] = domains
        self.discount, self.horizon = float(discount), horizon
        position = {name: at for at, name in enumerate(domains)}
        self._position, self._domains = position, {name: frozenset(domain) for name, domain in domains.items()}
        self._rewards = [_Function(term, position, f"rewards[{at}]") for at, term in enumerate(rewards)]
        self._terminal = _Function(False if terminal is None else terminal, position, "terminal")
        self._actions = {name: _Network(f"actions.{name}", action, self) for name, action in actions.items()}
        self.start: State = self.state(**(start or {}))

    def state(self, **values: Hashable) -> State:
        """Return the state with the given values, by variable name, as a tuple.

        It has one value per variable, in the order of the process. Other variables have the first value of their
        domain.

        Raises
        ------
        InputError
            If a name or a value is unknown.
        """
        require_among("unknown variable", values, self.variables, where="state")
        for name, value in values.items():
            self._check(name, value, "state")
        return tuple(values.get(name, domain[0]) for name, domain in self.variables.items())

    def is_terminal(self, state: State) -> bool:
        """Return whether the process is over in a state.

        It is over if no step of the horizon is left, or if the function `terminal` returns a true value.
        """
        return bool((self.horizon is not None and state[-1] == 0) or self._terminal.at(state))

    def allowed(self, state: State) -> list[str]:
        """Return the names of the actions that can be taken in a state, as a list.

        They are in the order of the process's actions. The state is taken to be not terminal.

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
        """Return R(x, a), the reward of an action in a state.

        It is the sum of the reward terms of the process and of the action.

        Raises
        ------
        InputError
            If the reward is infinite or NaN, or a function fails.
        """
        total = sum(float(term.at(state)) for term in (*self._rewards, *self._actions[action].rewards))
        if not isfinite(total):
            raise InputError("reward is not finite", where=f"actions.{action}", found=self.named(state))
        return total

    def successors(self, action: str, state: State) -> dict[State, float]:
        """Return the probability of each possible next state after an action, by state.

        It is the product of P(X'_i | parents of X_i, a) over the variables.

        Raises
        ------
        InputError
            If the probabilities of a variable's next value do not sum to 1 or one is negative, a next value is outside
            the variable's domain, or a function fails.
        """
        return self._actions[action].successors(state)

    def named(self, state: State) -> dict[str, Hashable]:
        """Return the value of each variable in a state, as a dict by name of the variable."""
        return dict(zip(self.variables, state, strict=True))

    def solve(self, method: Method = "backward-induction") -> Solution:
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

        Returns
        -------
        Solution

        Raises
        ------
        InputError
            If the method is unknown; if the process can return to a state, and the method is backward induction or the
            discount is 1; if more than 1,000,000 states are reachable; or if a linear program is not solved.
        """
        if method not in METHODS:
            raise not_among("unknown method", method, METHODS, where="method")
        table = _Table(self)
        if table.returns and (method == "backward-induction" or self.discount == 1):
            needs = "method linear-program or two-level, or a horizon"
            endless = "the process can return to a state, so it has no finite value without discounting"
            refuse_first(
                (method != "backward-induction", endless, "discount", 1.0, "a discount below 1, or a horizon"),
                (True, "backward induction needs a process that never returns to a state", "method", method, needs),
            )
        if method == "backward-induction":
            values = table.induced()
            choices = table.greedy(values)
        else:
            values = np.where(table.is_free, np.nan, 0.0)
            for members in _clusters(table) if method == "two-level" else []:
                _solve_program(table, members, values)
            _solve_program(table, np.flatnonzero(np.isnan(values)), values)
            values, choices = _refined(table, values)
        policy = {table.states[table.state_of[choice]]: table.actions[choice] for choice in choices}
        return Solution(self, method, dict(zip(table.states, values.tolist(), strict=True)), policy)

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
            If the expected number of steps in some state is infinite, or 1,000,000 or more.
        """
        table = _Table(self, start, policy, until)
        visits, discounted = table.visits(1.0), table.visits(self.discount)
        if not (visits < _MOST_STEPS).all():
            problem, expected = "the policy never reaches a terminal state", "a policy that reaches a terminal state"
            raise InputError(problem, where="policy", expected=expected)
        uses: dict[str, float] = defaultdict(float)
        for action, state in zip(table.actions, table.state_of.tolist(), strict=True):
            uses[action] += float(visits[state])
        earned = fsum((discounted[table.state_of] * table.reward).tolist())
        return Followed(earned, dict(zip(table.states, visits.tolist(), strict=True)), dict(uses))

    def probability(self, event: Callable[..., Any], policy: Mapping[State, str], start: State | None = None) -> float:
        """Return the probability that an event ever occurs under a policy (Eq. 5).

        `event` is a function that returns whether the event has occurred, given variables. The probability is 1 if the
        event has occurred at the start. For `policy`, `start` and errors see `follow`.
        """
        happens = _Function(event, self._position, "event")
        followed = self.follow(policy, start, until=event)
        return fsum(share for state, share in followed.visits.items() if happens.at(state))

    def _check(self, name: str, value: Any, where: str) -> None:
        """Raise InputError if a value is outside the domain of the variable `name`.

        `where` is the place of the value in the message.
        """
        if value not in self._domains[name]:
            expected = f"a value of the domain, such as {self.variables[name][0]!r}"
            raise InputError(f"value outside the domain of {name}", where=where, found=value, expected=expected)


@dataclass(frozen=True)
class Followed:
    """Outcome of following a policy from a start state.

    Parameters
    ----------
    value : float
        Expected discounted sum of rewards.
    visits : dict of State to float
        Expected number of time steps spent in each state, without discount. This is the sum over t of M^t[x_0, x] in
        Xia et al. 2015, Eq. 5, where M holds the transition probabilities under the policy and x_0 is the start state.
    uses : dict of str to float
        Expected number of times that each action is taken, without discount.
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
    values : dict of State to float
        V(x), the expected discounted sum of rewards from state x on.
    policy : dict of State to str
        The optimal action of each state that is not terminal: the first among equally good ones.
    """

    process: FactoredMDP
    method: str
    values: dict[State, float]
    policy: dict[State, str]

    @property
    def value(self) -> float:
        """V(x_0): the expected discounted sum of rewards of the optimal policy, from the start of the process."""
        return self.values[self.process.start]

    def action_value(self, action: str, state: State | None = None) -> float:
        """Return the value of an action followed by the optimal policy.

        It is the expected discounted sum of rewards if the action is taken in `state`, by default at the start.
        """
        process, at = self.process, self.process.start if state is None else state
        later = (share * self.values[after] for after, share in process.successors(action, at).items())
        return process.reward(action, at) + process.discount * fsum(later)

    def follow(self, start: State | None = None) -> Followed:
        """Evaluate the optimal policy from a state on, by default from the start.

        The result is a `Followed`: value, and expected visits of states and uses of actions; see `FactoredMDP.follow`.
        """
        return self.process.follow(self.policy, start)

    def probability(self, event: Callable[..., Any], start: State | None = None) -> float:
        """Return the probability that an event ever occurs under the optimal policy.

        `event` is a function that returns whether the event has occurred, given variables; `start` is the first state,
        by default the start of the process. See `FactoredMDP.probability`.
        """
        return self.process.probability(event, self.policy, start)

    @property
    def table(self) -> pd.DataFrame:
        """DataFrame with one row per non-terminal state that can be reached.

        The columns are the variables, the optimal ``action`` and the ``value`` of the state.
        """
        rows = [(*state, action, self.values[state]) for state, action in self.policy.items()]
        return pd.DataFrame(rows, columns=[*self.process.variables, "action", "value"])


class _Function:
    """A constant or a function of variables, with the positions of these variables.

    Results are cached by the values of these variables.

    Parameters
    ----------
    term : object or function
        Constant, or function whose parameters name variables. Its other parameters must have defaults.
    position : mapping of str to int
        Position of each variable in a state.
    where : str
        Place of the term in messages.
    then : function
        Converts each result once, before it is cached. Default: no conversion.

    Raises
    ------
    InputError
        If a parameter without a default is not a variable, or a parameter that names a variable is not ordinary (such
        as a keyword-only one).
    """

    def __init__(
        self, term: Term, position: Mapping[str, int], where: str, then: Callable[[Any], Any] = lambda found: found
    ) -> None:
        self.where, self._call, self._then = where, term if callable(term) else lambda: term, then
        self._kept: dict[State, Any] = {}
        self.parents: list[str] = []
        for name, parameter in inspect.signature(self._call).parameters.items():
            if name in position and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                self.parents.append(name)
            elif name in position or parameter.default is parameter.empty:
                raise InputError(
                    "a parameter of the function is not a variable",
                    where=where,
                    found=name,
                    expected=f"an ordinary parameter with the name of a variable: {', '.join(position)}",
                )
        self._at = [position[name] for name in self.parents]

    def at(self, state: State) -> Any:
        """Return the constant, or the function's result in a state, converted by `then`.

        The result is computed once for each combination of the values of the function's variables.

        Raises
        ------
        InputError
            If the function fails.
        """
        values = tuple([state[at] for at in self._at])
        if values not in self._kept:
            named = dict(zip(self.parents, values, strict=True))
            self._kept[values] = self._then(_called(self._call, self.where, named, **named))
        return self._kept[values]


def _called(function: Callable[..., Any], where: str, found: object, /, *values: Any, **named: Any) -> Any:
    """Return the result of a user's function, called with `values` and `named`.

    An ArithmeticError, LookupError, TypeError or ValueError of the function becomes an `InputError`; other errors are
    raised as they are. The message contains `where` (place of the function) and `found` (description of its arguments).
    """
    try:
        return function(*values, **named)
    except InputError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"function failed: {type(error).__name__}: {error}", where=where, found=found) from error


class _Network:
    """The dynamic Bayesian network of an action, with its rewards and condition.

    Parameters
    ----------
    where : str
        Place of the action in messages, such as ``actions.stop``.
    action : Action
        The action.
    process : FactoredMDP
        Process with the action's variables.

    Raises
    ------
    InputError
        If a changed variable is unknown, a function's parameter is no variable, or next values depend on each other in
        a cycle.
    """

    def __init__(self, where: str, action: Action, process: FactoredMDP) -> None:
        position, n = process._position, len(process._position)
        rewards = action.reward if isinstance(action.reward, (list, tuple)) else [action.reward]
        self.rewards = [_Function(term, position, f"{where}.reward") for term in rewards]
        self.allowed = _Function(True if action.allowed is None else action.allowed, position, f"{where}.allowed")
        changes, where = dict(action.changes), f"{where}.changes"
        if process.horizon is not None:
            changes[_STEPS_LEFT] = lambda steps_left: steps_left - 1
        require_among("unknown variable", changes, position, where=where)
        # Positions in the concatenation of present and next state.
        both = position | {_NEXT + name: n + at for name, at in position.items() if _NEXT + name not in position}

        def node(variable: str, term: Term) -> _Function:
            place = f"{where}.{variable}"
            return _Function(term, both, place, lambda found: _distribution(process, variable, found, place))

        nodes = {variable: node(variable, term) for variable, term in changes.items()}
        # A variable that depends on the next value of another variable must be computed after it.
        before = {
            variable: {parent.removeprefix(_NEXT) for parent in node.parents if parent not in position} & set(nodes)
            for variable, node in nodes.items()
        }
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as error:
            raise InputError("next values depend on each other in a cycle", where=where, found=error.args[1]) from None
        self._nodes = [(n + position[variable], nodes[variable]) for variable in order]

    def successors(self, state: State) -> dict[State, float]:
        branches = {(*state, *state): 1.0}
        for at, node in self._nodes:
            branches = {
                (*both[:at], value, *both[at + 1 :]): probability * share
                for both, probability in branches.items()
                for value, share in node.at(both)
            }
        return {both[len(state) :]: probability for both, probability in branches.items()}


def _distribution(process: FactoredMDP, variable: str, found: Any, where: str) -> list[tuple[Hashable, float]]:
    """Return the possible next values of a variable and their probabilities, as pairs.

    `found` is a single value, which has probability 1, or a mapping of values to probabilities. Values with probability
    0 are omitted. `where` is the place of the value in messages.

    Raises
    ------
    InputError
        If a value is outside the variable's domain, a probability is negative, or the probabilities do not sum to 1.
    """
    shares = dict(found) if isinstance(found, Mapping) else {found: 1.0}
    for value in shares:
        process._check(variable, value, where)
    if not (all(share >= 0 for share in shares.values()) and abs(fsum(shares.values()) - 1) <= _ROUNDING):
        expected = "probabilities of 0 or more that sum to 1"
        raise InputError("not a probability distribution", where=where, found=shares, expected=expected)
    return [(value, float(share)) for value, share in shares.items() if share > 0]


class _Table:
    """The reachable part of a process as tables, under all policies or one.

    A choice is a pair of a state and an action: each action allowed in the state or, under a policy, only the policy's
    action (the first allowed action if the policy has none that is allowed). The process begins at `start` (by default,
    its own start) and ends at the event `until`, if any.

    Attributes
    ----------
    states : list of State
        Reachable states.
    is_free : ndarray of bool, shape (n_states,)
        Whether the state is not terminal.
    actions : list of str, length n_choices
        Action of each choice.
    state_of : ndarray of int, shape (n_choices,)
        Number of each choice's state, ascending.
    first : ndarray of int
        Number of the first choice of each state that has choices, in the order of the states.
    reward : ndarray of float64, shape (n_choices,)
        Reward of each choice.
    own, transition : csr_array of float64, shape (n_choices, n_states)
        Rows are choices: `own` is 1 in the column of the choice's state, else 0; `transition` is the probability of
        each next state.
    graph : csr_array of float64, shape (n_states, n_states)
        Transitions between states under any action.
    discount : float
        gamma, discount factor per step.
    scale : float
        Largest absolute reward of a choice, to which tolerances are relative; 1 if all rewards are 0.
    """

    def __init__(
        self,
        process: FactoredMDP,
        start: State | None = None,
        policy: Mapping[State, str] | None = None,
        until: Callable[..., Any] | None = None,
    ) -> None:
        ends = _Function(until or False, process._position, "until")
        self.states = [process.start if start is None else start]
        position = {self.states[0]: 0}
        choices: list[tuple[int, str, float]] = []
        entries: list[tuple[int, int, float]] = []
        # The loop appends new states to the list over which it iterates.
        for at, state in enumerate(self.states):
            actions = [] if process.is_terminal(state) or ends.at(state) else process.allowed(state)
            if policy is not None:
                actions = [name for name in actions if name == policy.get(state)] or actions[:1]
            for action in actions:
                for after, share in process.successors(action, state).items():
                    if position.setdefault(after, len(self.states)) == len(self.states):
                        self.states.append(after)
                    entries.append((len(choices), position[after], share))
                choices.append((at, action, process.reward(action, state)))
            if len(self.states) > _MOST_STATES:
                raise InputError("too many states", found=len(self.states), expected=f"at most {_MOST_STATES:,}")
        shape = (len(choices), len(self.states))
        self.discount, self.actions = process.discount, [action for _, action, _ in choices]
        self.state_of = np.array([at for at, _, _ in choices], dtype=np.intp)
        self.reward = np.array([reward for _, _, reward in choices], dtype=np.float64)
        self.first = np.flatnonzero(np.diff(self.state_of, prepend=-1))
        self.is_free = np.bincount(self.state_of, minlength=len(self.states)) > 0
        rows, columns, shares = np.array(entries, dtype=np.float64).reshape(-1, 3).T
        self.transition = scipy.sparse.csr_array(
            (shares, (rows.astype(np.int64), columns.astype(np.int64))), shape=shape
        )
        self.own = scipy.sparse.csr_array((np.ones(shape[0]), (np.arange(shape[0]), self.state_of)), shape=shape)
        self.graph = scipy.sparse.csr_array(self.own.T @ self.transition)
        self.scale = float(np.abs(self.reward).max(initial=0.0)) or 1.0

    @property
    def returns(self) -> bool:
        """Whether the process can return to a state that it was in, also by staying there."""
        n_components, _ = scipy.sparse.csgraph.connected_components(self.graph, connection="strong")
        return bool(n_components < len(self.states) or self.graph.diagonal().any())

    def induced(self) -> Floats:
        """Return the value of each state by backward induction, shape (n_states,).

        The process must never return to a state. Terminal states have value 0.

        After k passes, the values of all states that are at most k steps from the end are exact.
        """
        values = np.zeros(len(self.states))
        for _ in range(len(self.states)):
            before = values.copy()
            values[self.is_free] = np.maximum.reduceat(self.choice_values(before), self.first)
            if (values == before).all():
                break
        return values

    def visits(self, discount: float) -> Floats:
        """Return the expected discounted number of visits of each state, (n_states,).

        The table must have one choice per state that is not terminal. The numbers are not finite if the chain of states
        never ends and `discount` is 1.
        """
        system = scipy.sparse.eye_array(len(self.states), format="csc") - discount * self.graph.T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.sparse.linalg.MatrixRankWarning)
            return np.asarray(scipy.sparse.linalg.spsolve(system.tocsc(), np.eye(1, len(self.states))[0]))

    def choice_values(self, values: Floats) -> Floats:
        """Return the value of each choice, (n_choices,), given the values of all states.

        It is the choice's reward plus the discounted expected value of the next state.
        """
        return np.asarray(self.reward + self.discount * (self.transition @ values))

    def greedy(self, values: Floats) -> NDArray[np.intp]:
        """Return the number of the best choice of each state that has choices.

        `values` are the values of all states, shape (n_states,). Among choices that are best up to the tie tolerance,
        the first one is returned.
        """
        worth = self.choice_values(values)
        best = np.maximum.reduceat(worth, self.first)
        counts = np.diff(np.append(self.first, len(worth)))
        good = np.flatnonzero(worth >= np.repeat(best, counts) - INDIFFERENCE * self.scale)
        return good[np.unique(self.state_of[good], return_index=True)[1]]


def _clusters(table: _Table) -> list[NDArray[np.intp]]:
    """Return the numbers of the states of each sink cluster of a process.

    A sink cluster is a set of states that no transition leaves, except to terminal states. States are added to the top
    level in the order in which they are reached, step by step, until the other states split into two clusters or more.
    The list is empty if they never split. In the paper's attack, the clusters are the groups that access can reveal:
    X_g never changes afterwards.
    """
    top, frontier = np.zeros(len(table.states), dtype=np.bool_), table.is_free & (np.arange(len(table.states)) == 0)
    while frontier.any():
        top |= frontier
        numbers = np.flatnonzero(table.is_free & ~top)
        below = table.graph[numbers]
        _, label = scipy.sparse.csgraph.connected_components(below[:, numbers], connection="weak")
        # A component from which the top level can be reached belongs to it.
        to_top = np.asarray(below[:, np.flatnonzero(top)].sum(axis=1)).ravel() > 0
        clusters = [numbers[label == one] for one in np.setdiff1d(label, label[to_top])]
        if len(clusters) > 1:
            return clusters
        frontier = table.is_free & ~top & (np.asarray(table.graph[np.flatnonzero(frontier)].sum(axis=0)).ravel() > 0)
    return []


def _solve_program(table: _Table, members: NDArray[np.intp], values: Floats) -> None:
    """Compute the values of the states `members` by a linear program, in place.

    The values of all other successors of these states must be known. The program minimizes the sum of V(x) subject to
    V(x) - gamma sum_x' P(x' | x, a) V(x') >= R(x, a) over states x and actions a.

    Parameters
    ----------
    table : _Table
        Reachable states and choices of the process.
    members : ndarray of int
        Numbers of the states to solve; nothing is done if they have no choices.
    values : ndarray of float64, shape (n_states,)
        Value of each state; changed at `members`.

    Raises
    ------
    InputError
        If the linear program is not solved.
    """
    rows = np.flatnonzero(np.isin(table.state_of, members))
    if not len(rows):
        return
    own, transition, others = table.own[rows], table.transition[rows], values.copy()
    others[members] = 0.0
    right = table.reward[rows] + table.discount * (transition @ others)
    # Amounts are scaled to about 1, so that the solver's absolute tolerances act as relative ones.
    unit = float(np.abs(right).max()) or 1.0
    result = scipy.optimize.linprog(
        np.ones(len(members)),
        A_ub=(table.discount * transition - own)[:, members],
        b_ub=-right / unit,
        bounds=(None, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        problem, expected = "the linear program was not solved", "another method, or amounts of similar size"
        raise InputError(problem, where="method", found=result.message, expected=expected)
    values[members] = unit * result.x


def _refined(table: _Table, solved: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return exact values and best choices, given values from a linear program.

    The first array holds the value of each state, shape (n_states,); the second holds the number of the best choice of
    each state that is not terminal.

    A plan is evaluated exactly by solving V = R + gamma P V. It is improved until no action is better. This takes one
    or two evaluations, because the linear program's plan is optimal up to the solver's tolerance.
    """
    values, choices, free = solved, table.greedy(solved), np.flatnonzero(table.is_free)
    for _ in range(len(free)):
        values = np.zeros(len(table.states))
        system = scipy.sparse.eye_array(len(free), format="csr") - table.discount * table.transition[choices][:, free]
        values[free] = scipy.sparse.linalg.spsolve(system.tocsc(), table.reward[choices])
        better = table.greedy(values)
        if (better == choices).all():
            break
        choices = better
    return values, choices


class FactoredMDPAdversary(Weighing):
    """Adversary who attacks each record by a user-defined `FactoredMDP`.

    The adversary plans with the believed group size. It attacks if the optimal policy starts with an action other than
    the first one, which means no attack. The outcome is computed with the true group size: the adversary follows its
    plan, and takes the first allowed action in states for which the plan has no allowed action. A record is not
    attacked if its believed group size is 0 or only one action is allowed at the start. Each group size is solved once.

    Parameters
    ----------
    attack : function of int
        Returns the process for a group size, believed or true. A true group size is 0 if the adversary believes in a
        match but there is none. The start of the process must not depend on the group size.
    success : function
        Returns whether the right person was found, given variables of the process.
    gain : float
        Payoff of a success less payoff of a failure, in currency units per record. It is used to report distributions
        of payoffs; the plan depends only on the rewards of the process.
    exploit : str or iterable of str
        Actions that act against one person each; their expected number is reported.
    method : {"backward-induction", "linear-program", "two-level"}
        Solution method; see `FactoredMDP.solve`.

    See Also
    --------
    FactoredMDP : the process of a group size.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    An adversary who can call one of the people in the group, at a cost of 10:

    >>> import numpy, reidsim
    >>> from reidsim.adversaries.response import Linkage
    >>> def attack(people):
    ...     right = 1 / max(people, 1)
    ...     call = reidsim.Action({"found": {True: right, False: 1 - right}}, reward=[-10, lambda: 60 * right])
    ...     return reidsim.FactoredMDP({"found": [False, True]}, {"stop": reidsim.Action(), "call": call}, horizon=1)
    >>> adversary = reidsim.FactoredMDPAdversary(attack, success=lambda found: found, exploit="call", gain=60)
    >>> sizes = numpy.array([1, 3, 20])
    >>> adversary.respond(Linkage(sizes, sizes)).attacks.tolist()
    [True, True, False]
    """

    decides_on = frozenset({"believed_group_sizes"})

    def __init__(
        self,
        attack: Callable[[int], FactoredMDP],
        *,
        success: Callable[..., Any],
        gain: float,
        exploit: str | Iterable[str] = "exploit",
        method: Method = "backward-induction",
    ) -> None:
        if not isfinite(gain):
            raise InputError("value out of range", where="gain", found=gain, expected="a finite amount")
        self.attack, self.success, self.gain = attack, success, float(gain)
        self.exploit = (exploit,) if isinstance(exploit, str) else tuple(exploit)
        self.method: Method = method
        self._solutions: dict[int, Solution] = {}
        self._outcomes: dict[tuple[int, int], tuple[float, ...]] = {}

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return the planned attack on each record and its payoff, as an `Attempt`.

        The attack begins with the best first action other than no attack, even if no attack is better; payoffs are
        expected values. For the parameters see `Adversary.respond`; `rows` has no effect.
        """
        sizes = (whole_candidates(linkage.believed_group_sizes), whole_candidates(linkage.group_sizes))
        pairs, position = np.unique(np.stack(sizes), axis=1, return_inverse=True)
        outcomes = np.array([self._outcome(int(believed), int(true)) for believed, true in pairs.T]).reshape(-1, 6)
        pays, worth, believed_success, success, payoff, exploits = outcomes[position.ravel()].T
        return Attempt(success, believed_success, worth, payoff, pays > 0, exploits, self.gain)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for copying and pickling, without cached solutions.

        Solutions can contain unnamed functions, which cannot be pickled.
        """
        return {**vars(self), "_solutions": {}, "_outcomes": {}}

    def solution(self, group_size: int) -> Solution:
        """Return the `Solution` of the attack on a group of this size, from a cache.

        Raises
        ------
        InputError
            If `attack` fails or does not return a `FactoredMDP`, or the process cannot be solved.
        """
        if group_size not in self._solutions:
            self._solutions[group_size] = self._process(group_size).solve(self.method)
        return self._solutions[group_size]

    def _process(self, group_size: int) -> FactoredMDP:
        process = _called(self.attack, "attack", group_size, group_size)
        if not isinstance(process, FactoredMDP):
            raise InputError("the attack is not a process", where="attack", found=process, expected="a FactoredMDP")
        return process

    def _outcome(self, believed: int, true: int) -> tuple[float, ...]:
        """Return the outcome of an attack, given the believed and the true group size.

        The six numbers are: whether the attack is profitable; the believed payoff of the best first action that is an
        attack, less the payoff of no attack; believed and true success probability; true payoff; and true expected
        number of exploits. All are 0 if the believed group size is 0 or only one action is allowed at the start.

        Raises
        ------
        InputError
            If `attack` fails, a process cannot be solved, or its start state depends on the group size.
        """
        if believed == 0:
            return (0.0,) * 6
        if (believed, true) not in self._outcomes:
            plan = self.solution(believed)
            start, (nothing, *others) = plan.process.start, plan.process.allowed(plan.process.start)
            if not others:
                return (0.0,) * 6
            best = max(others, key=plan.action_value)
            # The plan of an attack is needed also if the attack is unprofitable: an adversary who errs may make it.
            policy = plan.policy | {start: best}
            pays, worth = plan.policy[start] != nothing, plan.action_value(best) - plan.action_value(nothing)
            process = plan.process if true == believed else self._process(true)
            if process.start not in policy:
                raise InputError(
                    "the start state depends on the group size",
                    where="attack",
                    found=process.named(process.start),
                    expected="a start state independent of the group size",
                )
            hoped, success = (each.probability(self.success, policy) for each in (plan.process, process))
            followed = process.follow(policy)
            exploits = sum(followed.uses.get(name, 0.0) for name in self.exploit)
            self._outcomes[believed, true] = (float(pays), worth, hoped, success, followed.value, exploits)
        return self._outcomes[believed, true]
