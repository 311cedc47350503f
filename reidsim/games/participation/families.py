"""The joining game: people who may join a genomic database, in which relatives identify them.

The relatives of each person are known (`Families`), or the population is random (`Crowd`). Both games have the methods
`chances`, `gains`, `replies` (best-response dynamics) and `best_plan`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.core.numerics import compiled
from reidsim.linkage.relatives import Ancestry, Matching, at_least

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

# Amounts that differ by at most this fraction of the largest amount count as equal. An indifferent person does not
# change the current choice.
TIE = 1e-12


class Values(NamedTuple):
    """Payoff parameters of each person; arrays (n_people,), in currency units.

    Attributes
    ----------
    benefit : ndarray of float64
        Benefit of finding a relative (b).
    services : ndarray of float64
        Net value of all other effects of joining (v).
    harm : ndarray of float64
        Loss from being identified (c).
    concern : float
        Weight of relatives' payoffs, multiplied by relatedness; 0 for selfish people.
    """

    benefit: Floats
    services: Floats
    harm: Floats
    concern: float = 0.0

    @property
    def tie(self) -> float:
        """Largest gain or loss, in currency units, at which a person is still indifferent.

        It is 1e-12 times the largest absolute benefit, value of services or harm of any person.
        """
        return TIE * float(max(np.abs(each).max(initial=0.0) for each in (self.benefit, self.services, self.harm)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcomes of a set of participants; arrays of shape (n_people,).

    Parameters
    ----------
    payoff : ndarray of float64
        The person's own payoff without the concern for relatives, in currency units.
    found : ndarray of float64
        Probability that the person is in the database and finds a relative there.
    identified : ndarray of float64
        Probability that the person is identified; 1 for participants.
    """

    payoff: Floats
    found: Floats
    identified: Floats


# Maximum number of best-response rounds: among types of people, and among people who may each change once per round.
_MOST_ROUNDS, _MOST_TURNS = 10_000, 1_000
# Number of shares on the grid between whose points equilibria are bracketed. More shares separate equilibria that are
# closer together, and take more time.
_TRIED = 400
# The dynamics have converged if the participating share changes by at most this.
_STILL = 1e-9

# Participants: a flag per type, or the share of each type that joins.
Joined = Flags | Floats


@dataclass(frozen=True, eq=False)
class Crowd:
    """A population of equally large types that differ in payoffs.

    The population is so large that one person's choice does not change the probabilities of others; only the number of
    participants matters.

    Parameters
    ----------
    values : Values
        Payoff parameters of each type.
    ancestry : Ancestry
        Probability that two people drawn at random share ancestors, by generation.
    matching : Matching
        Probability that two relatives match by their genomes.
    found_within, traced_within : int
        Generations back to the shared ancestors of relatives who are worth finding, and of relatives through whom a
        person can be identified.
    needed : int
        Number of matches that identify a person.
    """

    values: Values
    ancestry: Ancestry
    matching: Matching
    found_within: int = 3
    traced_within: int = 5
    needed: int = 2

    def __len__(self) -> int:
        return len(self.values.benefit)

    def without_concern(self) -> Crowd:
        """Return the same `Crowd` without concern for relatives (concern 0)."""
        return replace(self, values=self.values._replace(concern=0.0))

    def match(self, generations: int) -> tuple[Floats, Floats]:
        """Return match probability and relatedness by generations to the shared ancestor.

        Parameters
        ----------
        generations : int
            Largest number of generations back.

        Returns
        -------
        matched : ndarray of float64, shape (generations,)
            Probability that a person drawn at random is a relative of this degree and matches.
        relatedness : ndarray of float64, shape (generations,)
            Coefficient of relationship of these relatives: 1/2, 1/8, ...
        """
        meioses = 2.0 * np.arange(1, generations + 1)
        relatedness: Floats = np.exp2(1.0 - meioses)
        matched = self.matching.probability(meioses, relatedness)
        return np.asarray(self.ancestry.sharing(generations) * matched, dtype=np.float64), relatedness

    def chances_of(self, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the probabilities of finding a relative and of being identified.

        The first is the probability that a participant finds a relative worth finding, the second the probability that
        a person who stays out is identified through matches in the database. `share` is the participating share of the
        people, in [0, 1]: a number or an array; the results have its shape.
        """
        inside = np.asarray(share) * self.ancestry.people
        found = -np.expm1(inside * np.log1p(-self.match(self.found_within)[0].sum()))
        return found, at_least(self.needed, inside, self.match(self.traced_within)[0].sum())

    def chances(self, joined: Joined) -> tuple[Floats, Floats]:
        """Return each type's probabilities of finding a relative and being identified.

        Both have shape (n_types,), and are equal for all types; see `chances_of`. `joined` (n_types,) is a flag per
        type, or the share of each type that joins; only its mean matters.
        """
        found, traced = self.chances_of(joined.mean())
        return np.full(len(self), found), np.full(len(self), traced)

    def gains(self, joined: Joined) -> Floats:
        """Return each type's gain from being in rather than out of the database.

        Gains, shape (n_types,), are in currency units and include the concern for relatives. `joined` (n_types,) is a
        flag per type, or the share of each type that joins.
        """
        own = self._own_gains(joined.mean())
        return own + self.values.concern * self._to_relatives(joined) if self.values.concern else own

    def _own_gains(self, share: float) -> Floats:
        found, traced = self.chances_of(share)
        values = self.values
        return np.asarray(values.benefit * found + values.services - values.harm * (1.0 - traced))

    def _to_relatives(self, joined: Joined) -> float:
        """Return the effect of one new participant on the sum of relatives' payoffs.

        Payoffs, in currency units, are weighted by relatedness. Participants are more likely to find a relative, and
        other people more likely to be identified.

        The concern for relatives is not applied. `joined` (n_types,) is a flag per type, or the share of each type that
        joins.
        """
        people = self.ancestry.people
        inside = float(joined.mean()) * people
        near, near_weight = self.match(self.found_within)
        far, far_weight = self.match(self.traced_within)
        gladdened = people * float(near @ near_weight) * np.exp(inside * np.log1p(-near.sum()))
        # One more match identifies a person who lacks exactly one of the needed matches.
        short, chance = self.needed - 1, far.sum()
        at_stake = scipy.special.binom(inside, short) * chance**short * np.exp((inside - short) * np.log1p(-chance))
        exposed = people * float(far @ far_weight) * (at_stake if inside >= short else 0.0)
        glad, sorry = (self.values.benefit * joined).mean(), (self.values.harm * (1.0 - joined)).mean()
        return float(gladdened * glad - exposed * sorry)

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Run best-response dynamics of the types from `joined`.

        In each round, of the types who gain by changing, the half (rounded up) with the largest gains changes. `rng` is
        not used.

        Parameters
        ----------
        joined : ndarray of bool, shape (n_types,)
            Types that participate at the start; not changed.
        rng : numpy.random.Generator, optional
            Not used.

        Returns
        -------
        joined : ndarray of bool, shape (n_types,)
            Types that participate at the end.
        settled : bool
            Whether no type gains by changing; False if 10,000 rounds were not enough.
        """
        joined, tie = joined.copy(), self.values.tie
        for _ in range(_MOST_ROUNDS):
            gains = self.gains(joined)
            wishing = np.flatnonzero(np.where(joined, gains < -tie, gains > tie))
            if not len(wishing):
                return joined, True
            changing = wishing[np.argsort(-np.abs(gains[wishing]), kind="stable")][: (len(wishing) + 1) // 2]
            joined[changing] = ~joined[changing]
        return joined, False

    def best_plan(self, starts: list[Flags]) -> tuple[Flags, bool]:
        """Return the types whose participation maximizes the sum of payoffs, and True.

        The types are flags, shape (n_types,). True means that the optimum is proved; `starts` is not used. Other
        people's payoffs depend only on the number of participants. So for each number the types with the largest gains
        are the best choice, and only the number is searched.
        """
        n, welfare = len(self), []
        for number in range(n + 1):
            joined = self.keenest(number / n)
            exposed = float(self.chances_of(number / n)[1] * self.values.harm.sum())
            welfare.append(float((joined * self._own_gains(number / n)).sum() - exposed))
        return self.keenest(int(np.argmax(welfare)) / n) > 0.5, True

    def keenest(self, share: float) -> Floats:
        """Return the share of each type that joins, shape (n_types,).

        `share` is the share of all people who join, in [0, 1]; gains are computed at this share. Types with larger
        gains, computed without the concern for relatives, join first, until the given share of the people is in. Part
        of the last type may join.
        """
        order = np.argsort(-self._own_gains(share), kind="stable")
        joined = np.empty(len(self))
        joined[order] = np.clip(share * len(self) - np.arange(len(self)), 0.0, 1.0)
        return joined

    def wishing(self, share: float) -> float:
        """Return the share of people who gain by being in, given the participating share.

        The participants are the people with the largest gains; see `keenest`. Both shares are of all people, in [0, 1].
        Gains include the concern for relatives; indifferent people are not counted.
        """
        return float((self.gains(self.keenest(share)) > self.values.tie).mean())

    def equilibria(self) -> list[float]:
        """Return the participating shares that are equilibria, in ascending order.

        They are bracketed between 401 shares from 0 to 1; two equilibria in the same bracket may be missed. If more
        people want to join than are in on one side of a share, and fewer on the other side, one type is indifferent at
        that share and only part of it joins.

        The participating share is the share of all people who join, in [0, 1].
        """
        shares = np.concatenate([[0.0], np.geomspace(1.0 / self.ancestry.people, 1.0, _TRIED)])

        def beyond(share: float) -> float:
            return self.wishing(share) - share

        ahead = list(map(beyond, shares.tolist()))
        found = []
        for low, high, before, after in zip(shares[:-1].tolist(), shares[1:].tolist(), ahead, ahead[1:], strict=False):
            if before == 0:
                found.append(low)
            elif before * after < 0:
                found.append(scipy.optimize.bisect(beyond, low, high, xtol=1e-16, rtol=1e-15))
        return [*found, 1.0] if ahead[-1] == 0 else found

    def returns(self, share: float, lost: float) -> float:
        """Return the participating share after drop-outs and reactions of all people.

        In each round, the share moves half of the way to the share of people who want to be in (`wishing`), until it
        changes by at most 1e-9 or 10,000 rounds are done.

        Parameters
        ----------
        share : float
            Participating share in an equilibrium, in [0, 1].
        lost : float
            Fraction of the participants who drop out, in [0, 1].
        """
        now = share * (1.0 - lost)
        for _ in range(_MOST_ROUNDS):
            then = (now + self.wishing(now)) / 2
            if abs(then - now) <= _STILL:
                return then
            now = then
        return now


class Families(NamedTuple):
    """People who may join a database, and their relatives.

    Compiled functions accept the tuple as an argument.

    Attributes
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

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.starts) - 1

    def chances(self, joined: Flags) -> tuple[Floats, Floats]:
        """Return each person's probabilities of finding a relative and being identified.

        Both have shape (n_people,). The first is the probability that the person, if in the database, matches a near
        relative there; the second, that it is identified through relatives in the database, if it stays out. `joined`
        (n_people,) marks the participants.
        """
        found, traced = _chances(self, joined)
        return found, traced

    def gains(self, joined: Flags) -> Floats:
        """Return each person's gain from being in the database rather than out.

        Gains, shape (n_people,), are in currency units, given the choices of all others, and include the concern for
        relatives. `joined` (n_people,) marks the participants.
        """
        return np.asarray(_gains(self, joined))

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
        order = np.arange(self.n_people) if rng is None else rng.permutation(self.n_people)
        end, settled = _replies(self, self.values.tie, joined.copy(), order)
        return end, bool(settled)

    def best_plan(self, starts: list[Flags]) -> tuple[Flags, bool]:
        """Return the participants that maximize the sum of payoffs of all people.

        The participants are flags, shape (n_people,). The second result is whether the optimum is proved: no family has
        more than `largest` people. Smaller families are solved by enumeration of all profiles (sets of participants);
        of equal sums, the lowest number is kept. Larger families are improved from each of `starts` (sets of
        participants, one or more) by changes of one person that raise the sum, and the best end point is kept without
        proof.
        """
        values = self.values._replace(concern=1.0)
        planned = self._replace(values=values, relatedness=np.ones_like(self.relatedness))
        ends = [planned.replies(start)[0] for start in starts]
        paid = [outcome(self, end).payoff for end in ends]
        joined, proved = np.zeros(self.n_people, dtype=np.bool_), True
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
        shape = (self.n_people, self.n_people)
        graph = scipy.sparse.csr_array((np.ones(len(self.other)), self.other, self.starts), shape=shape)
        _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
        order = np.argsort(label, kind="stable")
        return [part for part in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(part)]

    def among(self, people: Ints) -> Families:
        """Return the game restricted to `people`, a family independent of all others.

        `people` holds person numbers, ascending; in the result, people are renumbered from 0 in this order.
        """
        kept = np.concatenate([np.arange(self.starts[each], self.starts[each + 1]) for each in people.tolist()])
        lengths = (self.starts[1:] - self.starts[:-1])[people]
        values = self.values
        return self._replace(
            values=Values(values.benefit[people], values.services[people], values.harm[people], values.concern),
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
        equilibria, welfare = _profiles(self, self.values.tie)
        return equilibria, welfare


def profile(number: int, n: int) -> Flags:
    """Return the participants of a profile by its number, ndarray of bool, shape (n,).

    Person i participates if bit i of `number` is set; `n` is the number of people. See `Families.profiles`.
    """
    return np.asarray((number >> np.arange(n)) & 1 == 1)


@compiled()
def _few_matches(game: Families, person: int, without: int, joined: Flags) -> Floats:
    """Return the probability of each number of matches too low to identify a person.

    The numbers 0 to `needed` - 1 count matches with relatives in the database, shape (needed,). Only participants
    (`joined`) count; the relative `without` is ignored (none if -1).
    """
    few = np.zeros(game.needed)
    few[0] = 1.0
    for pair in range(game.starts[person], game.starts[person + 1]):
        if joined[game.other[pair]] and game.other[pair] != without:
            match = game.match[pair]
            for count in range(game.needed - 1, 0, -1):
                few[count] = few[count] * (1.0 - match) + few[count - 1] * match
            few[0] *= 1.0 - match
    return few


@compiled()
def _nobody_near(game: Families, person: int, without: int, joined: Flags) -> float:
    """Return the probability that a person matches no participating near relative.

    A near relative is one whom the person benefits from finding. `joined` (n_people,) marks the participants. The
    relative `without` is ignored (none if -1). The result is 1 if no near relative participates.
    """
    none = 1.0
    for pair in range(game.starts[person], game.starts[person + 1]):
        if game.near[pair] and joined[game.other[pair]] and game.other[pair] != without:
            none *= 1.0 - game.match[pair]
    return none


@compiled()
def _chances(game: Families, joined: Flags) -> tuple[Floats, Floats]:
    n = len(game.starts) - 1
    found, traced = np.empty(n), np.empty(n)
    for person in range(n):
        found[person] = 1.0 - _nobody_near(game, person, -1, joined)
        traced[person] = max(0.0, 1.0 - _few_matches(game, person, -1, joined).sum())
    return found, traced


@compiled()
def _gain(game: Families, person: int, joined: Flags) -> float:
    found = 1.0 - _nobody_near(game, person, -1, joined)
    # Joining adds harm only where other participants would not have exposed the person anyway.
    unseen = _few_matches(game, person, -1, joined).sum()
    gain = game.values.benefit[person] * found + game.values.services[person] - game.values.harm[person] * unseen
    if game.values.concern > 0.0:
        for pair in range(game.starts[person], game.starts[person + 1]):
            relative = game.other[pair]
            if not joined[relative]:
                short = _few_matches(game, relative, person, joined)[game.needed - 1]
                change = -game.values.harm[relative] * game.match[pair] * short
            elif game.near[pair]:
                change = game.values.benefit[relative] * game.match[pair] * _nobody_near(game, relative, person, joined)
            else:
                change = 0.0
            gain += game.values.concern * game.relatedness[pair] * change
    return float(gain)


@compiled()
def _gains(game: Families, joined: Flags) -> Floats:
    return np.array([_gain(game, person, joined) for person in range(len(joined))])


@compiled()
def _wishes(game: Families, tie: float, person: int, joined: Flags) -> bool:
    """Return whether a person would gain by joining or leaving the database.

    The gain must exceed the tie tolerance, `tie`, in currency units. `joined` (n_people,) marks the participants; the
    person joins if it is not marked, and leaves otherwise.
    """
    gain = _gain(game, person, joined)
    return bool(gain < -tie if joined[person] else gain > tie)


@compiled()
def _replies(game: Families, tie: float, joined: Flags, order: Ints) -> tuple[Flags, bool]:
    for _ in range(_MOST_TURNS):
        changed = False
        for person in order:
            if _wishes(game, tie, person, joined):
                joined[person] = not joined[person]
                changed = True
        if not changed:
            return joined, True
    return joined, False


@compiled()
def _profiles(game: Families, tie: float) -> tuple[Flags, Floats]:
    n, values = len(game.starts) - 1, game.values
    equilibria, welfare = np.ones(2**n, dtype=np.bool_), np.zeros(2**n)
    joined = np.zeros(n, dtype=np.bool_)
    for number in range(2**n):
        for person in range(n):
            joined[person] = (number >> person) & 1
        found, traced = _chances(game, joined)
        for person in range(n):
            if joined[person]:
                welfare[number] += values.benefit[person] * found[person] + values.services[person]
            welfare[number] -= values.harm[person] * (1.0 if joined[person] else traced[person])
            if equilibria[number] and _wishes(game, tie, person, joined):
                equilibria[number] = False
    return equilibria, welfare


JoiningGame = Crowd | Families


def outcome(game: JoiningGame, joined: Flags) -> Outcome:
    """Return each person's payoff and probabilities for a set of participants.

    The result is an `Outcome`; payoffs exclude the concern for relatives. `joined` (n_people,) marks the participants.
    A participant is identified with certainty; a person who stays out finds no relative.
    """
    found, traced = game.chances(joined)
    values = game.values
    inside = values.benefit * found + values.services - values.harm
    payoff = np.where(joined, inside, -values.harm * traced)
    return Outcome(payoff, np.where(joined, found, 0.0), np.where(joined, 1.0, traced))


def unsettled(game: JoiningGame, joined: Flags) -> Flags:
    """Return whether each person would gain by changing; all False in an equilibrium.

    A person changes by joining or leaving; `joined` (n_people,) marks the participants, and the result has the same
    shape. An indifferent person does not gain.
    """
    gains, tie = game.gains(joined), game.values.tie
    return np.asarray(np.where(joined, gains < -tie, gains > tie))
