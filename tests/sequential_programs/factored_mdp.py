"""Factored Markov decision processes: declarations and expansion to tables.

Actions are dynamic Bayesian networks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

State = tuple[int, ...]
# Probability by value, as a function of the values of the parents.
Distribution = Mapping[int, float]
Conditional = Callable[..., Distribution]

NEXT = "'"


@dataclass(frozen=True)
class Factor:
    """One node of an action's dynamic Bayesian network: a variable's next value.

    Parameters
    ----------
    variable : str
    parents : tuple of str
        Variables of the present state; a trailing ``'`` names the next state's value, which an earlier factor gives.
    conditional : callable
        From the parents' values to the distribution of the next value.
    """

    variable: str
    parents: tuple[str, ...]
    conditional: Conditional


@dataclass(frozen=True)
class Term:
    """A part of a reward or condition: a function of a few present variables."""

    parents: tuple[str, ...]
    function: Callable[..., float]


@dataclass(frozen=True)
class Action:
    """An action of a planner.

    Parameters
    ----------
    name : str
    condition : Term
        Non-zero where the action can be taken.
    reward : tuple of Term
        Earned by taking the action; costs are negative.
    factors : tuple of Factor
        Changes of variables; other variables keep their values.
    """

    name: str
    condition: Term
    reward: tuple[Term, ...]
    factors: tuple[Factor, ...]


@dataclass(frozen=True)
class FactoredMdp:
    """A planning problem over discrete variables.

    Parameters
    ----------
    variables : tuple of str
        In the order of the values in a state.
    actions : tuple of Action
        The first one wins ties.
    reward : tuple of Term
        Earned in a state whatever the action.
    absorbing : Term
        Non-zero in states without further actions; such states have value 0.
    discount : float
        Value of a reward one step later.
    """

    variables: tuple[str, ...]
    actions: tuple[Action, ...]
    reward: tuple[Term, ...]
    absorbing: Term
    discount: float

    def term(self, term: Term, state: State) -> float:
        """Return the value of a term in a state."""
        return float(term.function(*(state[self.variables.index(name)] for name in term.parents)))

    def reward_of(self, action: Action, state: State) -> float:
        """Return an action's reward in a state."""
        return sum(self.term(part, state) for part in (*self.reward, *action.reward))

    def successors(self, action: Action, state: State) -> dict[State, float]:
        """Return the probability of each next state."""
        branches: list[tuple[dict[str, int], float]] = [({}, 1.0)]
        for factor in action.factors:
            grown = []
            for changed, probability in branches:
                values = [self._value(parent, state, changed) for parent in factor.parents]
                for value, share in factor.conditional(*values).items():
                    if share > 0:
                        grown.append(({**changed, factor.variable: value}, probability * share))
            branches = grown
        following: dict[State, float] = {}
        for changed, probability in branches:
            after = tuple(changed.get(name, value) for name, value in zip(self.variables, state, strict=True))
            following[after] = following.get(after, 0.0) + probability
        return following

    def _value(self, parent: str, state: State, changed: Mapping[str, int]) -> int:
        if parent.endswith(NEXT):
            return changed[parent.removesuffix(NEXT)]
        return state[self.variables.index(parent)]


@dataclass(frozen=True)
class TabularMdp:
    """The reachable part of a factored process, as tables.

    Parameters
    ----------
    states : tuple of State
        The initial state first.
    state_of : ndarray of int, shape (n_choices,)
        The state in which each choice (state and action) is made.
    action_of : ndarray of int, shape (n_choices,)
        Position of the choice's action in the process.
    reward : ndarray of float64, shape (n_choices,)
    transition : csr_array of float64, shape (n_choices, n_states)
        Probability of the next state.
    fixed_value : ndarray of float64, shape (n_states,)
        Value of states that are not expanded (absorbing states and states with a known value); NaN elsewhere.
    discount : float
    """

    states: tuple[State, ...]
    state_of: NDArray[np.intp]
    action_of: NDArray[np.intp]
    reward: NDArray[np.float64]
    transition: csr_array
    fixed_value: NDArray[np.float64]
    discount: float


def expand(
    process: FactoredMdp, initial: Iterable[State], known_value: Callable[[State], float | None] | None = None
) -> TabularMdp:
    """List the reachable states with their choices.

    Parameters
    ----------
    process : FactoredMdp
    initial : iterable of State
    known_value : callable, optional
        Returns the value of a state that need not be expanded, and None for other states.

    Returns
    -------
    TabularMdp
    """
    states = list(dict.fromkeys(initial))
    position = {state: at for at, state in enumerate(states)}
    fixed: list[float] = []
    state_of: list[int] = []
    action_of: list[int] = []
    reward: list[float] = []
    rows: list[int] = []
    columns: list[int] = []
    shares: list[float] = []
    at = 0
    while at < len(states):
        state = states[at]
        value = 0.0 if process.term(process.absorbing, state) else None
        if value is None and known_value is not None:
            value = known_value(state)
        fixed.append(np.nan if value is None else value)
        if value is None:
            for number, action in enumerate(process.actions):
                if not process.term(action.condition, state):
                    continue
                for after, share in process.successors(action, state).items():
                    if after not in position:
                        position[after] = len(states)
                        states.append(after)
                    rows.append(len(reward))
                    columns.append(position[after])
                    shares.append(share)
                state_of.append(at)
                action_of.append(number)
                reward.append(process.reward_of(action, state))
        at += 1
    transition = csr_array((shares, (rows, columns)), shape=(len(reward), len(states)))
    return TabularMdp(
        tuple(states),
        np.array(state_of, dtype=np.intp),
        np.array(action_of, dtype=np.intp),
        np.array(reward, dtype=np.float64),
        transition,
        np.array(fixed),
        process.discount,
    )
