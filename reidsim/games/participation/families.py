"""The game of joining among people whose relatives are known, each by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from reidsim.games.participation.game import Flags, Floats, Values, outcome

Ints = NDArray[np.int64]

# People change so many times each, at most.
_MOST_TURNS = 1_000


class _Joining(NamedTuple):
    """A game as compiled functions read it; see `Families` and `Values`. Work is done in `few`, shape (needed,)."""

    starts: Ints
    other: Ints
    match: Floats
    near: Flags
    relatedness: Floats
    benefit: Floats
    services: Floats
    harm: Floats
    concern: float
    needed: int
    tie: float
    few: Floats


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
    def _joining(self) -> _Joining:
        values = self.values
        return _Joining(
            self.starts, self.other, self.match, self.near, self.relatedness, values.benefit, values.services,
            values.harm, float(values.concern), self.needed, values.tie, np.zeros(self.needed),
        )  # fmt: skip

    def chances(self, joined: Flags) -> tuple[Floats, Floats]:
        """Return how likely each person finds a relative, and is identified through others; see `JoiningGame`."""
        found, traced = _chances(self._joining, joined)
        return found, traced

    def gains(self, joined: Flags) -> Floats:
        """Return what each person gains by being in rather than out; see `JoiningGame`."""
        return np.asarray(_gains(self._joining, joined))

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Let people change in turn, in their order or one that is drawn; see `JoiningGame`."""
        order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
        end, settled = _replies(self._joining, joined.copy(), order)
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
        equilibria, welfare = _profiles(self._joining)
        return equilibria, welfare


def profile(number: int, n: int) -> Flags:
    """Return who joins in a profile, by its number."""
    return np.asarray((number >> np.arange(n)) & 1 == 1)


@njit(cache=True)
def _few_matches(game: _Joining, person: int, without: int, joined: Flags) -> float:
    """Return how likely too few matches of a person joined, with one of them left out; of each number into `few`."""
    few = game.few
    for count in range(game.needed):
        few[count] = 1.0 if count == 0 else 0.0
    for pair in range(game.starts[person], game.starts[person + 1]):
        if joined[game.other[pair]] and game.other[pair] != without:
            match = game.match[pair]
            for count in range(game.needed - 1, 0, -1):
                few[count] = few[count] * (1.0 - match) + few[count - 1] * match
            few[0] *= 1.0 - match
    total = 0.0
    for count in range(game.needed):
        total += few[count]
    return total


@njit(cache=True)
def _nobody_near(game: _Joining, person: int, without: int, joined: Flags) -> float:
    """Return how likely a person finds none of the near relatives who joined, with one of them left out."""
    none = 1.0
    for pair in range(game.starts[person], game.starts[person + 1]):
        if game.near[pair] and joined[game.other[pair]] and game.other[pair] != without:
            none *= 1.0 - game.match[pair]
    return none


@njit(cache=True)
def _chances(game: _Joining, joined: Flags) -> tuple[Floats, Floats]:
    n = len(game.starts) - 1
    found, traced = np.empty(n), np.empty(n)
    for person in range(n):
        found[person] = 1.0 - _nobody_near(game, person, -1, joined)
        traced[person] = max(0.0, 1.0 - _few_matches(game, person, -1, joined))
    return found, traced


@njit(cache=True)
def _gain(game: _Joining, person: int, joined: Flags) -> float:
    found = 1.0 - _nobody_near(game, person, -1, joined)
    # What stays of the harm that joining adds, as others may expose the person anyway.
    unseen = _few_matches(game, person, -1, joined)
    gain = game.benefit[person] * found + game.services[person] - game.harm[person] * unseen
    if game.concern > 0.0:
        for pair in range(game.starts[person], game.starts[person + 1]):
            relative = game.other[pair]
            if not joined[relative]:
                _few_matches(game, relative, person, joined)
                change = -game.harm[relative] * game.match[pair] * game.few[game.needed - 1]
            elif game.near[pair]:
                change = game.benefit[relative] * game.match[pair] * _nobody_near(game, relative, person, joined)
            else:
                change = 0.0
            gain += game.concern * game.relatedness[pair] * change
    return float(gain)


@njit(cache=True)
def _gains(game: _Joining, joined: Flags) -> Floats:
    return np.array([_gain(game, person, joined) for person in range(len(joined))])


@njit(cache=True)
def _wishes(game: _Joining, person: int, joined: Flags) -> bool:
    """Tell whether a person would gain by changing."""
    gain = _gain(game, person, joined)
    return bool(gain < -game.tie if joined[person] else gain > game.tie)


@njit(cache=True)
def _replies(game: _Joining, joined: Flags, order: Ints) -> tuple[Flags, bool]:
    for _ in range(_MOST_TURNS):
        changed = False
        for person in order:
            if _wishes(game, person, joined):
                joined[person] = not joined[person]
                changed = True
        if not changed:
            return joined, True
    return joined, False


@njit(cache=True)
def _profiles(game: _Joining) -> tuple[Flags, Floats]:
    n = len(game.starts) - 1
    equilibria, welfare = np.ones(2**n, dtype=np.bool_), np.zeros(2**n)
    joined = np.zeros(n, dtype=np.bool_)
    for number in range(2**n):
        for person in range(n):
            joined[person] = (number >> person) & 1
        found, traced = _chances(game, joined)
        for person in range(n):
            if joined[person]:
                welfare[number] += game.benefit[person] * found[person] + game.services[person] - game.harm[person]
            else:
                welfare[number] -= game.harm[person] * traced[person]
            if equilibria[number] and _wishes(game, person, joined):
                equilibria[number] = False
    return equilibria, welfare
