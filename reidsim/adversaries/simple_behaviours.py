"""Adversaries who do not plan: always, never, or at random. Yardsticks for those who do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.attempt import Attempt, check_amounts, of_rows
from reidsim.adversaries.multistage.attack import PlanLinkage
from reidsim.adversaries.response import Linkage, Response
from reidsim.linkage.number_checks import check_share
from reidsim.linkage.risk import chance_of_guess
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True)
class AlwaysAttacks:
    """Attacks every record once, whether or not that pays.

    It links on what is released alone, and guesses like the one-shot adversary.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Worth of naming the right person and price of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset()

    gain: float | Floats
    cost: float | Floats

    def __post_init__(self) -> None:
        check_amounts(self.gain, self.cost)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return _attempts(self, linkage, rows, np.ones(len(linkage.group_sizes), dtype=np.bool_))


@dataclass(frozen=True)
class NeverAttacks:
    """Attacks nothing.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        What an attack would be worth and cost; nothing depends on them.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset()

    gain: float | Floats = 0.0
    cost: float | Floats = 0.0

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return _attempts(self, linkage, rows, np.zeros(len(linkage.group_sizes), dtype=np.bool_))


@dataclass(frozen=True)
class RandomAttacks:
    """Attacks each record with a fixed probability, whatever the form in which it is shared.

    Without a seed the reply is what is to be expected: the mean of `AlwaysAttacks` and `NeverAttacks` with weights
    `rate` and ``1 - rate``. With one, a number is drawn for each record, the same whatever is asked about it, so that a
    publisher who shares a record otherwise does not change whether it is attacked.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Worth of naming the right person and price of an attempt, in currency units per record.
    rate : float
        Probability of an attack.
    seed : int, optional
        Root of the draws.

    Raises
    ------
    InputError
        If a gain or cost is negative, or the rate not a share.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset()

    gain: float | Floats
    cost: float | Floats
    rate: float = 0.5
    seed: int | None = None

    def __post_init__(self) -> None:
        check_amounts(self.gain, self.cost)
        check_share("rate", self.rate)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        n = len(linkage.group_sizes)
        if self.seed is None:
            expected = _attempts(self, linkage, rows, np.full(n, self.rate > 0))
            return replace(
                expected,
                adversary_payoff=self.rate * expected.adversary_payoff,
                exploits=self.rate * expected.exploits,
                frequency=np.full(n, self.rate) if self.rate > 0 else None,
            )
        records = np.arange(n) if rows is None else np.asarray(rows)
        drawn = _uniform(self.seed, 1 << int(records.max(initial=0)).bit_length())
        return _attempts(self, linkage, rows, np.asarray(drawn[records] < self.rate))


@lru_cache(maxsize=8)
def _uniform(seed: int, n: int) -> Floats:
    """Return one number in [0, 1) for each of the first n records; those of few are the first of those of many."""
    return np.random.default_rng(np.random.SeedSequence(seed)).random(n)


def _attempts(
    adversary: AlwaysAttacks | NeverAttacks | RandomAttacks,
    linkage: Linkage,
    rows: Rows | None,
    attacks: NDArray[np.bool_],
) -> Response:
    """Return the reply of whoever attempts each record once where `attacks` (n,) says so."""
    if isinstance(linkage, PlanLinkage):
        # The first plan infers nothing; it also knows who is not in the registry.
        success, believed = linkage.plan_success[0], linkage.plan_believed[0]
    else:
        success, believed = chance_of_guess(linkage.group_sizes), chance_of_guess(linkage.believed_group_sizes)
    return Attempt(success, believed, of_rows(adversary.gain, rows), of_rows(adversary.cost, rows)).made(attacks)
