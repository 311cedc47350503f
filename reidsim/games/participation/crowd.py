"""The game of joining in a population so large that nobody knows who the relatives are, only how many join."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import binom

from reidsim.games.participation.game import Flags, Floats, Values
from reidsim.linkage.relatives import Ancestry, Matching, at_least

# Rounds in which people change their minds, at most.
_MOST_ROUNDS = 10_000
# Shares between which equilibria are looked for, and halvings that close in on one.
_TRIED = 400
_HALVINGS = 50
_STILL = 1e-9

# Who joins: flags, or a share of each type.
Joined = Flags | Floats


@dataclass(frozen=True, eq=False)
class Crowd:
    """People of equally large types, who differ in what joining is worth to them; see `JoiningGame`.

    Joining or not, a single person changes nothing for the crowd: what counts is the number of others in the database.

    Parameters
    ----------
    values : Values
        Of each type.
    ancestry : Ancestry
        Who is related to whom, on average.
    matching : Matching
    found_within, traced_within : int
        Generations back to the ancestors of relatives whom one is glad to find, and through whom one is identified.
    needed : int
        Matches that identify somebody.
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
        """Return the same people, each caring for nobody else."""
        return replace(self, values=replace(self.values, concern=0.0))

    def match(self, generations: int) -> tuple[Floats, Floats]:
        """Return for 1, 2, ... generations back how likely a person drawn at random is a match, and its relatedness."""
        meioses = 2.0 * np.arange(1, generations + 1)
        relatedness: Floats = np.exp2(1.0 - meioses)
        matched = self.matching.probability(meioses, relatedness)
        return np.asarray(self.ancestry.sharing(generations) * matched, dtype=np.float64), relatedness

    def chances_of(self, share: Floats | float) -> tuple[Floats, Floats]:
        """Return how likely a relative is found, and a person identified, where such shares of the people joined."""
        inside = np.asarray(share) * self.ancestry.people
        found = -np.expm1(inside * np.log1p(-self.match(self.found_within)[0].sum()))
        return found, at_least(self.needed, inside, self.match(self.traced_within)[0].sum())

    def chances(self, joined: Joined) -> tuple[Floats, Floats]:
        """Return how likely each person finds a relative, and is identified through others; see `JoiningGame`."""
        found, traced = self.chances_of(joined.mean())
        return np.full(len(self), found), np.full(len(self), traced)

    def gains(self, joined: Joined) -> Floats:
        """Return what each person gains by being in rather than out; see `JoiningGame`."""
        own = self._own_gains(joined.mean())
        return own + self.values.concern * self._to_relatives(joined) if self.values.concern else own

    def _own_gains(self, share: float) -> Floats:
        found, traced = self.chances_of(share)
        values = self.values
        return np.asarray(values.benefit * found + values.services - values.harm * (1.0 - traced))

    def _to_relatives(self, joined: Joined) -> float:
        """Return what a person's joining brings all relatives together, weighted by relatedness."""
        people = self.ancestry.people
        inside = float(joined.mean()) * people
        near, near_weight = self.match(self.found_within)
        far, far_weight = self.match(self.traced_within)
        gladdened = people * float(near @ near_weight) * np.exp(inside * np.log1p(-near.sum()))
        # One more match identifies who has all but one of those needed.
        short, chance = self.needed - 1, far.sum()
        at_stake = binom(inside, short) * chance**short * np.exp((inside - short) * np.log1p(-chance))
        exposed = people * float(far @ far_weight) * (at_stake if inside >= short else 0.0)
        glad, sorry = (self.values.benefit * joined).mean(), (self.values.harm * (1.0 - joined)).mean()
        return float(gladdened * glad - exposed * sorry)

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Let that half of the types change who gain most by it, round after round; see `JoiningGame`."""
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
        """Return the best number of types, the keenest of them: whoever joins, only their number counts for others."""
        n, welfare = len(self), []
        for number in range(n + 1):
            joined = self.keenest(number / n)
            welfare.append(float((joined * self._own_gains(number / n)).sum() - self._exposed(number / n)))
        return self.keenest(int(np.argmax(welfare)) / n) > 0.5, True

    def _exposed(self, share: float) -> float:
        return float(self.chances_of(share)[1] * self.values.harm.sum())

    # Equilibria

    def keenest(self, share: float) -> Floats:
        """Return the share of each type that joins, if those are in who gain most by it, shape (n_types,)."""
        order = np.argsort(-self._own_gains(share), kind="stable")
        joined = np.empty(len(self))
        joined[order] = np.clip(share * len(self) - np.arange(len(self)), 0.0, 1.0)
        return joined

    def wishing(self, share: float) -> float:
        """Return what share of the people would join where a given share of them is in, the keenest."""
        return float((self.gains(self.keenest(share)) > self.values.tie).mean())

    def equilibria(self) -> list[float]:
        """Return the shares of people at which nobody wants to change, in rising order.

        Where more would join than are in on one side, and fewer on the other, a type is indifferent and splits.
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
        """Return the share of people who are in at last, after a part of those in an equilibrium dropped out."""
        now = share * (1.0 - lost)
        for _ in range(_MOST_ROUNDS):
            then = (now + self.wishing(now)) / 2
            if abs(then - now) <= _STILL:
                return then
            now = then
        return now
