"""The joining game in a large population.

Relatives are not known individually; only the number of participants matters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import binom

from reidsim.games.participation.game import Flags, Floats, Values
from reidsim.linkage.relatives import Ancestry, Matching, at_least

# Maximum number of best-response rounds.
_MOST_ROUNDS = 10_000
# Number of shares on the grid between whose points equilibria are bracketed, and bisection steps per bracket. More
# shares separate equilibria that are closer together, and take more time.
_TRIED = 400
_HALVINGS = 50
# The dynamics have converged if the participating share changes by at most this.
_STILL = 1e-9

# Participants: a flag per type, or the share of each type that joins.
Joined = Flags | Floats


@dataclass(frozen=True, eq=False)
class Crowd:
    """A population of equally large types that differ in payoffs; see `JoiningGame`.

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
        return replace(self, values=replace(self.values, concern=0.0))

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
        at_stake = binom(inside, short) * chance**short * np.exp((inside - short) * np.log1p(-chance))
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
            welfare.append(float((joined * self._own_gains(number / n)).sum() - self._exposed(number / n)))
        return self.keenest(int(np.argmax(welfare)) / n) > 0.5, True

    def _exposed(self, share: float) -> float:
        return float(self.chances_of(share)[1] * self.values.harm.sum())

    # Equilibria

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
        ahead = [self.wishing(share) - share for share in shares.tolist()]
        found = []
        for low, high, before, after in zip(shares[:-1].tolist(), shares[1:].tolist(), ahead, ahead[1:], strict=False):
            if before == 0:
                found.append(low)
            elif before * after < 0:
                for _ in range(_HALVINGS):
                    middle = (low + high) / 2
                    same = (self.wishing(middle) - middle) * before > 0
                    low, high = (middle, high) if same else (low, middle)
                found.append((low + high) / 2)
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
