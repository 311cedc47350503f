"""Baseline planners, which weigh no payoffs: ``always``, ``never`` and ``random``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from reidsim.adversaries.planners import CAPABILITIES, EXPECTED_PAYOFF, GAINS, SINGLE_ATTEMPT, Planner, planners
from reidsim.adversaries.response import (
    Attempt,
    Linkage,
    PlanLinkage,
    Response,
    chance_of_guess,
    check_amounts,
    of_rows,
)
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True)
class _Baseline(Planner):
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

    gain: float | Floats
    cost: float | Floats

    def __post_init__(self) -> None:
        check_amounts(self.gain, self.cost)

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
