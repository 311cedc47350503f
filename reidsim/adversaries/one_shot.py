"""Adversaries who make at most one attempt per record.

The planners are ``one-shot``, which attacks if an attempt is profitable, and the baselines ``always``, ``never`` and
``random``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reidsim.adversaries.response import (
    CAPABILITIES,
    EXPECTED_PAYOFF,
    GAINS,
    SINGLE_ATTEMPT,
    Attempt,
    Linkage,
    PlanLinkage,
    Planner,
    Response,
    Weighing,
    chance_of_guess,
    of_rows,
    planners,
)
from reidsim.core.errors import InputError
from reidsim.releases.lattice import Floats, Rows


@dataclass(frozen=True)
class _OneAttempt(Planner):
    """Adversary who makes at most one attempt per record.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    gain: float | Floats
    cost: float | Floats

    def __post_init__(self) -> None:
        for name, amount in (("gain", self.gain), ("cost", self.cost)):
            if not np.min(amount) >= 0:
                found = float(np.min(amount))
                raise InputError(f"{name} of the adversary is negative", found=found, expected="0 or more")


@planners.register("one-shot")
class OneShotAdversary(_OneAttempt, Weighing):
    """Adversary who makes one attempt per record if it is profitable.

    It attacks if the expected gain exceeds the cost, and does not attack if indifferent (Wan et al. 2015, Table 3). The
    attempt is a uniform guess in the record's group, so it succeeds with probability 1 / group size (Eq. 4). With group
    sizes counted in the population this is the journalist risk, with group sizes counted in the released records the
    prosecutor risk.

    Parameters
    ----------
    gain : float or ndarray of shape (n_records,)
        Gain from a successful re-identification, in currency units per record.
    cost : float or ndarray of shape (n_records,)
        Cost of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the one-shot adversary"
    provides = CAPABILITIES
    decides_on = frozenset({"believed_group_sizes"})

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: one attempt per record, with its expected payoff.

        Success probabilities are one over the true and the believed group sizes. Unprofitable attempts are included.
        For the parameters see `Adversary.respond`.
        """
        success = np.reciprocal(linkage.group_sizes, dtype=np.float64)
        believed = np.reciprocal(linkage.believed_group_sizes, dtype=np.float64)
        return Attempt.single(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))


class _Baseline(_OneAttempt):
    """Adversary who attacks each record with probability `rate`, whatever is released.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    provides = CAPABILITIES - {EXPECTED_PAYOFF, SINGLE_ATTEMPT}
    decides_on: ClassVar[frozenset[str]] = frozenset()
    rate = 1.0

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the `Response` to each record; see `Adversary.respond`.

        With a rate of 0 no record is attacked, else every record is. Payoff and exploits are multiplied by the rate,
        which is the `frequency` of attacks. Of a multi-stage attack, the plan without inference is used.
        """
        if isinstance(linkage, PlanLinkage):
            # The first plan has no inference stage; its success probability accounts for people outside the registry.
            success, believed = linkage.plan_success[0], linkage.plan_believed[0]
        else:
            success, believed = chance_of_guess(linkage.group_sizes), chance_of_guess(linkage.believed_group_sizes)
        attempt = Attempt.single(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))
        made = attempt.made(np.full(len(success), self.rate > 0))
        if self.rate in (0.0, 1.0):
            return made
        return replace(
            made,
            adversary_payoff=self.rate * made.adversary_payoff,
            exploits=self.rate * made.exploits,
            frequency=np.full(len(success), self.rate),
        )


@planners.register("always")
class AlwaysAttacks(_Baseline):
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

    label = "the adversary who attacks every record"


@planners.register("never")
@dataclass(frozen=True)
class NeverAttacks(_Baseline):
    """Adversary who attacks no record.

    Parameters
    ----------
    gain, cost : float or ndarray of shape (n_records,)
        Gain from a success and cost of an attempt, in currency units per record; they have no effect on the payoff.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the adversary who attacks no record"
    provides = _Baseline.provides - {GAINS}
    rate = 0.0

    gain: float | Floats = 0.0
    cost: float | Floats = 0.0


@planners.register("random")
@dataclass(frozen=True)
class RandomAttacks(_Baseline):
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
        If a gain or cost is negative.
    """

    label = "the adversary who attacks at random"
    keys = ("rate",)

    rate: float = 0.5
