"""The joining game among people whose individual relatives are known."""

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

# Maximum number of best-response rounds; each person may change once per round.
_MOST_TURNS = 1_000


class _Joining(NamedTuple):
    """Arrays of a joining game for compiled functions; see `Families` and `Values`.

    `few`, ndarray of float64, shape (needed,), is a work array; `tie` is the tie tolerance in currency units.
    """

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
    """People who may join a database, and their relatives (a `JoiningGame`).

    Parameters
    ----------
    values : Values
        Payoff parameters of each person.
    starts : ndarray of int64, shape (n_people + 1,)
        The relatives of person i are pairs ``starts[i]`` to ``starts[i + 1] - 1``. Each two relatives form two pairs,
        one for each of them.
    other : ndarray of int64, shape (n_pairs,)
        The relative of each pair.
    match : ndarray of float64, shape (n_pairs,)
        Probability that the two match.
    near : ndarray of bool, shape (n_pairs,)
        Whether finding the relative brings the `benefit`.
    relatedness : ndarray of float64, shape (n_pairs,)
        Weight of the relative's payoff in the person's gain; multiplied by the concern.
    needed : int
        Number of matches that identify a person.
    largest : int
        Largest size, in people, of a family whose profiles (sets of participants) are all enumerated by `best_plan`.
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
            self.starts,
            self.other,
            self.match,
            self.near,
            self.relatedness,
            values.benefit,
            values.services,
            values.harm,
            float(values.concern),
            self.needed,
            values.tie,
            np.zeros(self.needed),
        )

    def chances(self, joined: Flags) -> tuple[Floats, Floats]:
        """Return each person's probabilities of finding a relative and being identified.

        Both have shape (n_people,). The first is the probability that the person, if in the database, matches a near
        relative there; the second, that it is identified through relatives in the database, if it stays out. `joined`
        (n_people,) marks the participants.
        """
        found, traced = _chances(self._joining, joined)
        return found, traced

    def gains(self, joined: Flags) -> Floats:
        """Return each person's gain from being in the database rather than out.

        Gains, shape (n_people,), are in currency units, given the choices of all others, and include the concern for
        relatives. `joined` (n_people,) marks the participants.
        """
        return np.asarray(_gains(self._joining, joined))

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Run best-response dynamics of the people from `joined`.

        People who gain by changing change one after the other, in index order or, with `rng`, in an order drawn once.
        The dynamics end after at most 1,000 rounds over all people.

        Parameters
        ----------
        joined : ndarray of bool, shape (n_people,)
            Participants at the start; not changed.
        rng : numpy.random.Generator, optional
            Source of the order.

        Returns
        -------
        joined : ndarray of bool, shape (n_people,)
            Participants at the end.
        settled : bool
            Whether no person gains by changing; False if the rounds were not enough.
        """
        order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
        end, settled = _replies(self._joining, joined.copy(), order)
        return end, bool(settled)

    def best_plan(self, starts: list[Flags]) -> tuple[Flags, bool]:
        """Return the participants that maximize the sum of payoffs of all people.

        The participants are flags, shape (n_people,). The second result is whether the optimum is proved: no family has
        more than `largest` people. Smaller families are solved by enumeration of all profiles (sets of participants);
        of equal sums, the lowest number is kept. Larger families are improved from each of `starts` (sets of
        participants, one or more) by changes of one person that raise the sum, and the best end point is kept without
        proof.
        """
        values = replace(self.values, concern=1.0)
        planned = replace(self, values=values, relatedness=np.ones_like(self.relatedness))
        ends = [planned.replies(start)[0] for start in starts]
        paid = [outcome(self, end).payoff for end in ends]
        joined, proved = np.zeros(len(self), dtype=np.bool_), True
        for people in self.families():
            if len(people) <= self.largest:
                _, welfare = self.among(people).profiles()
                joined[people] = profile(int(welfare.argmax()), len(people))
            else:
                proved = False
                best = int(np.argmax([payoff[people].sum() for payoff in paid]))
                joined[people] = ends[best][people]
        return joined, proved

    def families(self) -> list[Ints]:
        """Return the people of each family (connected component of relatives).

        Each family is an array of person numbers, ascending. A person without relatives is a family.
        """
        shape = (len(self), len(self))
        graph = sparse.csr_array((np.ones(len(self.other)), self.other, self.starts), shape=shape)
        _, label = connected_components(graph, directed=False)
        order = np.argsort(label, kind="stable")
        return [part for part in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(part)]

    def among(self, people: Ints) -> Families:
        """Return the game restricted to `people`, a family independent of all others.

        `people` holds person numbers, ascending; in the result, people are renumbered from 0 in this order.
        """
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
        """Enumerate every profile (set of participants) of the people.

        Profiles are in the order of their numbers; bit i of a number is set if person i joins.

        Returns
        -------
        equilibria : ndarray of bool, shape (2 ** n_people,)
            Whether the profile is an equilibrium.
        welfare : ndarray of float64, shape (2 ** n_people,)
            Sum of payoffs, in currency units.
        """
        equilibria, welfare = _profiles(self._joining)
        return equilibria, welfare


def profile(number: int, n: int) -> Flags:
    """Return the participants of a profile by its number, ndarray of bool, shape (n,).

    Person i participates if bit i of `number` is set; `n` is the number of people. See `Families.profiles`.
    """
    return np.asarray((number >> np.arange(n)) & 1 == 1)


@njit(cache=True)
def _few_matches(game: _Joining, person: int, without: int, joined: Flags) -> float:
    """Return the probability that a person has too few matches to be identified.

    These are fewer than `needed` matches with relatives in the database. Only participants (`joined`) count; the
    relative `without` is ignored (none if -1). The probability of each number of matches below `needed` is written into
    ``game.few``.
    """
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
    """Return the probability that a person matches no participating near relative.

    A near relative is one whom the person benefits from finding. `joined` (n_people,) marks the participants. The
    relative `without` is ignored (none if -1). The result is 1 if no near relative participates.
    """
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
    # Joining adds harm only where other participants would not have exposed the person anyway.
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
    """Return whether a person would gain by joining or leaving the database.

    The gain must exceed the tie tolerance. `joined` (n_people,) marks the participants; the person joins if it is not
    marked, and leaves otherwise.
    """
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
