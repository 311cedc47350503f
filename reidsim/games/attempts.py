"""What adversaries attempt under a choice, apart by who comes: what the number of people re-identified is made of.

Given who comes, attempts on different people are independent of each other; who comes is not, as it is the same for all
of them. The distribution over everything is therefore a mixture, over who comes, of sums of independent attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from reidsim.adversaries.response import Presence, Response
from reidsim.linkage.poisson_binomial import Successes
from reidsim.linkage.weighted_sums import Sums, sum_of_amounts, sum_of_attempts
from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True, eq=False)
class Tries:
    """Independent attempts, alike ones together; arrays of shape (n,).

    Parameters
    ----------
    chance : ndarray of float64
        Of success.
    numbers : ndarray of int64
        How many attempts have it.
    amounts : ndarray of float64
        What each success is worth, in currency units.
    attempted : ndarray of float64, optional
        Probability that each attempt is made; all are, if not given.
    failure : ndarray of float64, optional
        With `attempted`: payoff of an attempt that is made and fails, to which `amounts` is added if it succeeds.
    """

    chance: Floats
    numbers: Counts
    amounts: Floats
    attempted: Floats | None = None
    failure: Floats | None = None

    @property
    def expected(self) -> float:
        """What all successes are expected to be worth together, with failed attempts where these may not be made."""
        of_successes = float((self.numbers * self.chance * self.amounts).sum())
        if self.attempted is None or self.failure is None:
            return of_successes
        return of_successes + float((self.numbers * self.attempted * self.failure).sum())

    def payoffs(self, rng: Callable[[], np.random.Generator], known: Successes | None = None) -> Sums:
        """Return the distribution of what the attempts pay; see `sum_of_amounts` and `sum_of_attempts`."""
        if self.attempted is None or self.failure is None:
            return sum_of_amounts(self.chance, self.numbers, self.amounts, rng, known)
        return sum_of_attempts(self.attempted, self.chance, self.numbers, self.failure, self.amounts, rng)

    def is_alike(self, other: Tries) -> bool:
        """Tell whether as many attempts have the same chances, whatever they pay; those that cannot succeed aside."""
        if self.chance is other.chance and self.numbers is other.numbers:
            return True
        mine, theirs = ((each.chance > 0) & (each.numbers > 0) for each in (self, other))
        return np.array_equal(self.chance[mine], other.chance[theirs]) and np.array_equal(
            self.numbers[mine], other.numbers[theirs]
        )


@dataclass(frozen=True, eq=False)
class Case:
    """What happens if certain adversaries come; money in currency units over all people.

    Parameters
    ----------
    probability : float
        That these come, and no others.
    people : Tries
        Whether each person is re-identified, by whomever, and the publisher's loss.
    hits : Tries or None
        Whether each attempt succeeds, and what that pays the adversary who makes it; None where nothing tells that.
    kept : float
        The publisher's payoff if nobody is re-identified.
    earned : float
        What the adversaries' attempts are expected to pay them, less what they cost.
    """

    probability: float
    people: Tries
    hits: Tries | None
    kept: float
    earned: float


@dataclass(frozen=True, eq=False)
class Attempts:
    """What each of several adversaries attempts if it comes.

    Parameters
    ----------
    presence : Presence
    risk, payoff : ndarray of float64, shape (n_types, n_rows)
        Probability that the adversary re-identifies a person of each row, and its expected payoff; 0 without an attack.
    attempted : ndarray of float64, shape (n_types, n_rows)
        Probability that it attacks.
    gain : ndarray of float64, shape (n_types, n_rows), optional
        By how much a success pays more than a failure, if that is known.
    loss : ndarray of float64, shape (n_rows,)
        The publisher's, per person re-identified.
    """

    presence: Presence
    risk: Floats
    payoff: Floats
    attempted: Floats
    gain: Floats | None
    loss: Floats

    @classmethod
    def of_one(cls, risk: Floats, payoff: Floats, gain: float | Floats | None, loss: float | Floats) -> Attempts:
        """Return what one adversary attempts, who always comes; amounts by row (n_rows,), or one for all.

        Rows are attacked for certain, or not at all.
        """
        gains = None if gain is None else np.broadcast_to(gain, risk.shape)[None]
        certain = np.ones((1, *risk.shape))
        return cls(Presence(), risk[None], payoff[None], certain, gains, np.broadcast_to(loss, risk.shape))

    def expand(self, rows: Rows) -> Attempts:
        """Return the same of the records that `rows` stand for; -1 for one that is not shared."""
        there = rows >= 0

        def of_rows(values: Floats) -> Floats:
            spread = np.zeros((*values.shape[:-1], len(rows)))
            spread[..., there] = values[..., rows[there]]
            return spread

        gain = None if self.gain is None else of_rows(self.gain)
        risk, payoff, attempted = (of_rows(values) for values in (self.risk, self.payoff, self.attempted))
        return Attempts(self.presence, risk, payoff, attempted, gain, of_rows(self.loss))

    def cases(self, numbers: Counts, kept: float) -> Iterator[Case]:
        """Yield what happens in each case of who comes.

        Parameters
        ----------
        numbers : ndarray of int64, shape (n_rows,)
            People of each row.
        kept : float
            The publisher's payoff if nobody is re-identified.
        """
        for probability, coming in self.presence.cases():
            who = list(coming)
            found = 1.0 - np.prod(1.0 - self.risk[who], axis=0) if len(who) != 1 else self.risk[who[0]]
            hits = None if self.gain is None else self._hits(who, self.gain[who], numbers)
            # Sums, as the threads of a dot product that short take many times as long on a busy machine.
            earned = float((self.payoff[who] * numbers).sum())
            yield Case(probability, Tries(found, numbers, self.loss), hits, kept, earned)

    def _hits(self, who: list[int], gain: Floats, numbers: Counts) -> Tries:
        """Return the attempts of those who come, `gain` (n_coming, n_rows) being theirs."""
        risk, attempted, each = self.risk[who], self.attempted[who], np.tile(numbers, len(who))
        by_chance = (attempted > 0) & (attempted < 1)
        if not by_chance.any():
            return Tries(risk.ravel(), each, gain.ravel())
        paid = np.divide(self.payoff[who] - gain * risk, attempted, out=np.zeros_like(risk), where=by_chance)
        return Tries(risk.ravel(), each, gain.ravel(), attempted.ravel(), paid.ravel())


@dataclass
class AttemptsSoFar:
    """Attempts put together from replies to some rows after the others.

    Parameters
    ----------
    loss : ndarray of float64, shape (n_rows,)
    """

    loss: Floats
    _presence: Presence = field(default_factory=Presence)
    _arrays: list[Floats] = field(default_factory=list)
    _knows_gain: bool = True

    def add(self, response: Response, rows: Rows) -> None:
        """Take the reply to some rows."""
        replies = response.by_type
        if not self._arrays:
            self._presence = response.presence
            self._arrays = [np.zeros((len(replies), len(self.loss))) for _ in range(4)]
        risk, payoff, attempted, gain = self._arrays
        for number, reply in enumerate(replies):
            risk[number, rows] = reply.reidentified
            payoff[number, rows] = reply.adversary_payoff
            attempted[number, rows] = reply.attack_probability
            if reply.gain is None:
                self._knows_gain = False
            else:
                gain[number, rows] = reply.gain

    def done(self) -> Attempts:
        """Return them all; rows without a reply are not attacked."""
        risk, payoff, attempted, gain = self._arrays or [np.zeros((1, len(self.loss))) for _ in range(4)]
        return Attempts(self._presence, risk, payoff, attempted, gain if self._knows_gain else None, self.loss)
