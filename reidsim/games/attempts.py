"""What adversaries attempt under a choice, apart by who comes: what the number of people re-identified is made of.

Given who comes, attempts on different people are independent of each other; who comes is not, as it is the same for all
of them. The distribution over everything is therefore a mixture, over who comes, of sums of independent attempts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from reidsim.adversaries.response import Presence, Response
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
    """

    chance: Floats
    numbers: Counts
    amounts: Floats

    @property
    def expected(self) -> float:
        """What all successes are expected to be worth together."""
        return float((self.numbers * self.chance * self.amounts).sum())

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
        Probability that the adversary re-identifies a person of each row, and what it expects of that; 0 without an
        attack.
    gain : ndarray of float64, shape (n_types, n_rows), optional
        By how much a success pays more than a failure, if that is known.
    loss : ndarray of float64, shape (n_rows,)
        The publisher's, per person re-identified.
    """

    presence: Presence
    risk: Floats
    payoff: Floats
    gain: Floats | None
    loss: Floats

    @classmethod
    def of_one(cls, risk: Floats, payoff: Floats, gain: float | Floats | None, loss: float | Floats) -> Attempts:
        """Return what one adversary attempts, who always comes; amounts by row (n_rows,), or one for all."""
        gains = None if gain is None else np.broadcast_to(gain, risk.shape)[None]
        return cls(Presence(), risk[None], payoff[None], gains, np.broadcast_to(loss, risk.shape))

    def expand(self, rows: Rows) -> Attempts:
        """Return the same of the records that `rows` stand for; -1 for one that is not shared."""
        there = rows >= 0

        def of_rows(values: Floats) -> Floats:
            spread = np.zeros((*values.shape[:-1], len(rows)))
            spread[..., there] = values[..., rows[there]]
            return spread

        gain = None if self.gain is None else of_rows(self.gain)
        return Attempts(self.presence, of_rows(self.risk), of_rows(self.payoff), gain, of_rows(self.loss))

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
            hits = None
            if self.gain is not None:
                each = np.tile(numbers, len(who))
                hits = Tries(self.risk[who].ravel(), each, self.gain[who].ravel())
            # Sums, as the threads of a dot product that short take many times as long on a busy machine.
            earned = float((self.payoff[who] * numbers).sum())
            yield Case(probability, Tries(found, numbers, self.loss), hits, kept, earned)


@dataclass
class AttemptsSoFar:
    """Attempts that are put together from replies to some rows after the others, in several threads or one.

    Parameters
    ----------
    loss : ndarray of float64, shape (n_rows,)
    """

    loss: Floats
    _presence: Presence = field(default_factory=Presence)
    _arrays: list[Floats] = field(default_factory=list)
    _knows_gain: bool = True
    _making: Lock = field(default_factory=Lock)

    def add(self, response: Response, rows: Rows) -> None:
        """Take the reply to some rows."""
        replies = response.by_type
        with self._making:
            if not self._arrays:
                self._presence = response.presence
                self._arrays = [np.zeros((len(replies), len(self.loss))) for _ in range(3)]
        risk, payoff, gain = self._arrays
        for number, reply in enumerate(replies):
            risk[number, rows] = reply.reidentified
            payoff[number, rows] = reply.adversary_payoff
            if reply.gain is None:
                self._knows_gain = False
            else:
                gain[number, rows] = reply.gain

    def done(self) -> Attempts:
        """Return them all; rows without a reply are not attacked."""
        risk, payoff, gain = self._arrays or [np.zeros((1, len(self.loss))) for _ in range(3)]
        return Attempts(self._presence, risk, payoff, gain if self._knows_gain else None, self.loss)
