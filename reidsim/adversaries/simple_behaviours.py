"""Baseline adversaries without planning: attack always, never or at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """Adversary who attacks every record once, whether or not it is profitable.

    The adversary links on the released values only, without inference stages, and guesses like the one-shot adversary.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.

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
    """Adversary who attacks no record.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record; they have no effect on the payoff.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset()

    gain: float | Floats = 0.0
    cost: float | Floats = 0.0

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return _attempts(self, linkage, rows, np.zeros(len(linkage.group_sizes), dtype=np.bool_))


@dataclass(frozen=True)
class RandomAttacks:
    """Adversary who attacks each record with a fixed probability.

    The probability does not depend on the release. The reply is the expected one: the mean of `AlwaysAttacks` and
    `NeverAttacks` with weights `rate` and ``1 - rate``.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.
    rate : float
        Probability of an attack, in [0, 1].

    Raises
    ------
    InputError
        If a gain or cost is negative, or the rate is not in [0, 1].
    """

    decides_on: ClassVar[frozenset[str]] = frozenset()

    gain: float | Floats
    cost: float | Floats
    rate: float = 0.5

    def __post_init__(self) -> None:
        check_amounts(self.gain, self.cost)
        check_share("rate", self.rate)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        n = len(linkage.group_sizes)
        expected = _attempts(self, linkage, rows, np.full(n, self.rate > 0))
        return replace(
            expected,
            adversary_payoff=self.rate * expected.adversary_payoff,
            exploits=self.rate * expected.exploits,
            frequency=np.full(n, self.rate) if self.rate > 0 else None,
        )


def _attempts(
    adversary: AlwaysAttacks | NeverAttacks | RandomAttacks,
    linkage: Linkage,
    rows: Rows | None,
    attacks: NDArray[np.bool_],
) -> Response:
    """Return the reply of an adversary who attacks the records in `attacks`, (n,)."""
    if isinstance(linkage, PlanLinkage):
        # The first plan has no inference stage; its success probability accounts for people outside the registry.
        success, believed = linkage.plan_success[0], linkage.plan_believed[0]
    else:
        success, believed = chance_of_guess(linkage.group_sizes), chance_of_guess(linkage.believed_group_sizes)
    return Attempt(success, believed, of_rows(adversary.gain, rows), of_rows(adversary.cost, rows)).made(attacks)
