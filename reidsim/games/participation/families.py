"""The game of joining among people whose relatives are known, each by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from reidsim.games.participation.game import Flags, Floats, Values, outcome

Ints = NDArray[np.int64]

# People change so many times each, at most.
_MOST_TURNS = 1_000


@dataclass(frozen=True, eq=False)
class Families:
    """People and their relatives; see `JoiningGame`.

    Parameters
    ----------
    values : Values
    starts : ndarray of int64, shape (n_people + 1,)
        Where the relatives of each person start.
    other : ndarray of int64, shape (n_pairs,)
        The relative.
    match : ndarray of float64, shape (n_pairs,)
        Probability that the two match.
    near : ndarray of bool, shape (n_pairs,)
        Whether one is glad to find the other.
    relatedness : ndarray of float64, shape (n_pairs,)
        By which a relative's payoff is weighted, times the concern.
    needed : int
        Matches that identify somebody.
    largest : int
        People of a family whose every profile is looked at.
    """

    values: Values
    starts: Ints
    other: Ints
    match: Floats
    near: Flags
    relatedness: Floats
    needed: int = 2
    largest: int = 12

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def _pairs(self) -> tuple[Ints, Ints, Floats, Flags, Floats]:
        return self.starts, self.other, self.match, self.near, self.relatedness

    @property
    def _amounts(self) -> tuple[Floats, Floats, Floats, float]:
        values = self.values
        return values.benefit, values.services, values.harm, values.concern

    def chances(self, joined: Flags) -> tuple[Floats, Floats]:
        """Return how likely each person finds a relative, and is identified through others; see `JoiningGame`."""
        found, traced = _chances(*self._pairs[:4], self.needed, joined)
        return found, traced

    def gains(self, joined: Flags) -> Floats:
        """Return what each person gains by being in rather than out; see `JoiningGame`."""
        return np.asarray(_gains(*self._pairs, *self._amounts, self.needed, joined))

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Let people change in turn, in their order or one that is drawn; see `JoiningGame`."""
        order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
        end, settled = _replies(*self._pairs, *self._amounts, self.needed, self.values.tie, joined.copy(), order)
        return end, bool(settled)

    def best_plan(self, starts: list[Flags]) -> tuple[Flags, bool]:
        """Return the best of all profiles of small families, and of single changes from each start of others."""
        values = replace(self.values, concern=1.0)
        planned = replace(self, values=values, relatedness=np.ones_like(self.relatedness))
        ends = [planned.replies(start)[0] for start in starts]
        paid = [outcome(self, end).payoff for end in ends]
        joined, proved = np.zeros(len(self), dtype=np.bool_), True
        for people in self.families():
            if len(people) <= self.largest:
                _, welfare = self.of(people).profiles()
                joined[people] = profile(int(welfare.argmax()), len(people))
            else:
                proved = False
                best = int(np.argmax([payoff[people].sum() for payoff in paid]))
                joined[people] = ends[best][people]
        return joined, proved

    def families(self) -> list[Ints]:
        """Return the people of each family: whoever is connected by relatives, in rising order."""
        shape = (len(self), len(self))
        graph = sparse.csr_array((np.ones(len(self.other)), self.other, self.starts), shape=shape)
        _, label = connected_components(graph, directed=False)
        order = np.argsort(label, kind="stable")
        return [part for part in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(part)]

    def of(self, people: Ints) -> Families:
        """Return the game of one family, which others do not touch."""
        kept = np.concatenate([np.arange(self.starts[each], self.starts[each + 1]) for each in people.tolist()])
        lengths = (self.starts[1:] - self.starts[:-1])[people]
        values = self.values
        amounts = Values(values.benefit[people], values.services[people], values.harm[people], values.concern)
        return replace(
            self,
            values=amounts,
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            other=np.searchsorted(people, self.other[kept]).astype(np.int64),
            match=self.match[kept],
            near=self.near[kept],
            relatedness=self.relatedness[kept],
        )

    def profiles(self) -> tuple[Flags, Floats]:
        """Look at every profile: bit i of its number tells whether person i joins.

        Returns
        -------
        equilibria : ndarray of bool, shape (2 ** n_people,)
        welfare : ndarray of float64, shape (2 ** n_people,)
            Sum of payoffs.
        """
        equilibria, welfare = _profiles(*self._pairs, *self._amounts, self.needed, self.values.tie)
        return equilibria, welfare


def profile(number: int, n: int) -> Flags:
    """Return who joins in a profile, by its number."""
    return np.asarray((number >> np.arange(n)) & 1 == 1)


@njit(cache=True)
def _matches(person, without, starts, other, match, joined, needed):  # type: ignore[no-untyped-def]
    """Return how likely 0, 1, ... matches of a person are among those who joined, with one of them left out."""
    few = np.zeros(needed)
    few[0] = 1.0
    for pair in range(starts[person], starts[person + 1]):
        if joined[other[pair]] and other[pair] != without:
            for count in range(needed - 1, 0, -1):
                few[count] = few[count] * (1.0 - match[pair]) + few[count - 1] * match[pair]
            few[0] *= 1.0 - match[pair]
    return few


@njit(cache=True)
def _nobody_near(person, without, starts, other, match, near, joined):  # type: ignore[no-untyped-def]
    """Return how likely a person finds none of the near relatives who joined, with one of them left out."""
    none = 1.0
    for pair in range(starts[person], starts[person + 1]):
        if near[pair] and joined[other[pair]] and other[pair] != without:
            none *= 1.0 - match[pair]
    return none


@njit(cache=True)
def _chances(starts, other, match, near, needed, joined):  # type: ignore[no-untyped-def]
    n = len(starts) - 1
    found, traced = np.empty(n), np.empty(n)
    for person in range(n):
        found[person] = 1.0 - _nobody_near(person, -1, starts, other, match, near, joined)
        traced[person] = max(0.0, 1.0 - _matches(person, -1, starts, other, match, joined, needed).sum())
    return found, traced


@njit(cache=True)
def _gain(  # type: ignore[no-untyped-def]
    person, starts, other, match, near, relatedness, benefit, services, harm, concern, needed, joined
):
    found = 1.0 - _nobody_near(person, -1, starts, other, match, near, joined)
    # What stays of the harm that joining adds, as others may expose the person anyway.
    unseen = _matches(person, -1, starts, other, match, joined, needed).sum()
    gain = benefit[person] * found + services[person] - harm[person] * unseen
    if concern > 0.0:
        for pair in range(starts[person], starts[person + 1]):
            relative = other[pair]
            if not joined[relative]:
                few = _matches(relative, person, starts, other, match, joined, needed)
                change = -harm[relative] * match[pair] * few[needed - 1]
            elif near[pair]:
                none = _nobody_near(relative, person, starts, other, match, near, joined)
                change = benefit[relative] * match[pair] * none
            else:
                change = 0.0
            gain += concern * relatedness[pair] * change
    return gain


@njit(cache=True)
def _gains(  # type: ignore[no-untyped-def]
    starts, other, match, near, relatedness, benefit, services, harm, concern, needed, joined
):
    n = len(starts) - 1
    gains = np.empty(n)
    for person in range(n):
        gains[person] = _gain(
            person, starts, other, match, near, relatedness, benefit, services, harm, concern, needed, joined
        )
    return gains


@njit(cache=True)
def _replies(  # type: ignore[no-untyped-def]
    starts, other, match, near, relatedness, benefit, services, harm, concern, needed, tie, joined, order
):
    for _ in range(_MOST_TURNS):
        changed = False
        for person in order:
            gain = _gain(
                person, starts, other, match, near, relatedness, benefit, services, harm, concern, needed, joined
            )
            if (joined[person] and gain < -tie) or (not joined[person] and gain > tie):
                joined[person] = not joined[person]
                changed = True
        if not changed:
            return joined, True
    return joined, False


@njit(cache=True)
def _profiles(  # type: ignore[no-untyped-def]
    starts, other, match, near, relatedness, benefit, services, harm, concern, needed, tie
):
    n = len(starts) - 1
    equilibria, welfare = np.ones(2**n, dtype=np.bool_), np.zeros(2**n)
    joined = np.zeros(n, dtype=np.bool_)
    for number in range(2**n):
        for person in range(n):
            joined[person] = (number >> person) & 1
        found, traced = _chances(starts, other, match, near, needed, joined)
        for person in range(n):
            if joined[person]:
                welfare[number] += benefit[person] * found[person] + services[person] - harm[person]
            else:
                welfare[number] -= harm[person] * traced[person]
            if equilibria[number]:
                gain = _gain(
                    person, starts, other, match, near, relatedness, benefit, services, harm, concern, needed, joined
                )
                if (joined[person] and gain < -tie) or (not joined[person] and gain > tie):
                    equilibria[number] = False
    return equilibria, welfare
