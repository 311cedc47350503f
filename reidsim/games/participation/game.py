"""The game of joining a genomic database (after Guo et al. 2023, doi:10.1038/s41598-023-33177-0).

Each person joins or stays out. Who joins gets `benefit` if a relative is found in the database, and `services` in any
case, and is identified. Who stays out is identified through relatives in it, if enough of them match:

    payoff of joining       b F + v - c
    payoff of staying out   - c I

with F the probability of finding a relative, I that of being identified. Who cares for relatives adds to what joining
brings them what it brings each relative, weighted by relatedness and by the concern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Amounts that differ by less than this part of the largest one are equal; who is indifferent stays out.
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Values:
    """What joining is worth to each person; arrays of shape (n_people,), in currency units.

    Parameters
    ----------
    benefit : ndarray of float64
        Of finding a relative (b).
    services : ndarray of float64
        Net value of everything else that joining brings (v).
    harm : ndarray of float64
        Of being identified (c).
    concern : float
        Weight of relatives' payoffs, besides their relatedness; 0 of who cares for nobody else.
    """

    benefit: Floats
    services: Floats
    harm: Floats
    concern: float = 0.0

    @property
    def tie(self) -> float:
        """Gain up to which a person is indifferent."""
        return TIE * float(max(np.abs(each).max(initial=0.0) for each in (self.benefit, self.services, self.harm)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes of who joined; arrays of shape (n_people,).

    Parameters
    ----------
    payoff : ndarray of float64
        The person's own, relatives' left out.
    found : ndarray of float64
        Probability that the person is in the database and finds a relative there.
    identified : ndarray of float64
        Probability that the person is identified: 1 of who joined.
    """

    payoff: Floats
    found: Floats
    identified: Floats


class JoiningGame(Protocol):
    """Who may join, and what that leads to."""

    @property
    def values(self) -> Values:
        """What joining is worth."""
        ...

    def chances(self, joined: Flags) -> tuple[Floats, Floats]:
        """Return how likely each person finds a relative, and is identified through others; without its own choice."""
        ...

    def gains(self, joined: Flags) -> Floats:
        """Return what each person gains by being in rather than out, given what all others do."""
        ...

    def replies(self, joined: Flags, rng: np.random.Generator | None = None) -> tuple[Flags, bool]:
        """Let people change to what pays them more until nobody wants to; return who is in, and whether that ended."""
        ...

    def best_plan(self, starts: list[Flags]) -> tuple[Flags, bool]:
        """Return who should join for the largest sum of payoffs, and whether that is proved."""
        ...


def outcome(game: JoiningGame, joined: Flags) -> Outcome:
    """Return what comes of who joined."""
    found, traced = game.chances(joined)
    values = game.values
    inside = values.benefit * found + values.services - values.harm
    payoff = np.where(joined, inside, -values.harm * traced)
    return Outcome(payoff, np.where(joined, found, 0.0), np.where(joined, 1.0, traced))


def unsettled(game: JoiningGame, joined: Flags) -> Flags:
    """Tell who would gain by changing; nobody, in an equilibrium."""
    gains, tie = game.gains(joined), game.values.tie
    return np.asarray(np.where(joined, gains < -tie, gains > tie))
