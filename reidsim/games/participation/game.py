"""The game of joining a genomic database.

Follows Guo et al. 2023, doi:10.1038/s41598-023-33177-0.

Each person joins or stays out. A participant receives `benefit` if a relative is found in the database, receives
`services` in any case, and is identified with certainty. A person who stays out is identified if enough relatives in
the database match:

    payoff of joining       b F + v - c
    payoff of staying out   - c I

with F the probability of finding a relative and I the probability of being identified through relatives. With a
concern above 0, a person's gain from joining also includes the change of each relative's payoff, weighted by
relatedness and by the concern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Amounts that differ by at most this fraction of the largest amount count as equal. An indifferent person does not
# change the current choice.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Values:
    """Payoff parameters of each person; arrays (n_people,), in currency units.

    Parameters
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


class JoiningGame(Protocol):
    """People who may join a genomic database, and the consequences of their choices."""

    @property
    def values(self) -> Values:
        """Payoff parameters of each person; see `Values`."""
        ...

    def chances(self, joined: Flags) -> tuple[Floats, Floats]:
        """Return each person's probabilities of finding a relative and being identified.

        Both have shape (n_people,). The first holds if the person joins, the second (through relatives in the database)
        if the person stays out. They depend only on the choices of other people. `joined` (n_people,) marks the
        participants.
        """
        ...

    def gains(self, joined: Flags) -> Floats:
        """Return each person's gain from being in rather than out, given the others.

        Gains are in currency units and include the concern for relatives.

        The result has shape (n_people,); `joined` (n_people,) marks the participants.
        """
        ...

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Run best-response dynamics from `joined` until no person gains by changing.

        `joined` (n_people,) marks the participants at the start. `rng` draws the order of the people, where it matters.

        Returns
        -------
        joined : ndarray of bool, shape (n_people,)
            The participants at the end.
        settled : bool
            Whether the dynamics reached an equilibrium within the limit on rounds.
        """
        ...

    def best_plan(self, starts: list[Flags]) -> tuple[Flags, bool]:
        """Return the participants with the largest sum of all people's payoffs.

        The participants are flags, shape (n_people,). `starts` holds sets of participants (such flags) to start from,
        if a search is needed. The second result is whether this optimum is proved.
        """
        ...


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
