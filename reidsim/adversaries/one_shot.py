"""The one-shot adversary of Wan et al. 2015: attack a record when the expected gain exceeds the cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from reidsim.adversaries.attempt import Attempt
from reidsim.adversaries.response import Linkage, Response
from reidsim.errors import InputError
from reidsim.linkage.risk import RiskModel, UniformGuess
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True)
class OneShotAdversary:
    """Links a record once if that pays, and does nothing when indifferent (Wan et al. 2015, Table 3).

    Parameters
    ----------
    gain : float or ndarray of shape (n_records,)
        What a successful re-identification is worth, in currency units per record.
    cost : float or ndarray of shape (n_records,)
        Price of one attempt.
    risk : RiskModel
        Success probability from group sizes.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    decides_on: ClassVar[frozenset[str]] = frozenset({"believed_group_sizes"})

    gain: float | Floats
    cost: float | Floats
    risk: RiskModel = field(default_factory=UniformGuess)

    def __post_init__(self) -> None:
        for name, amount in (("gain", self.gain), ("cost", self.cost)):
            lowest = np.min(amount)
            if not lowest >= 0:
                raise InputError(f"{name} of the adversary is negative", found=float(lowest), expected="0 or more")

    def of(self, rows: slice) -> OneShotAdversary:
        """Return the adversary of some of the records."""
        return replace(self, gain=_of_rows(self.gain, rows), cost=_of_rows(self.cost, rows))

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return what an attempt at each record would be worth; see `Weighing`."""
        success = self.risk.success_probability(linkage.group_sizes)
        if linkage.believed_group_sizes is linkage.group_sizes:
            believed = success
        else:
            believed = self.risk.success_probability(linkage.believed_group_sizes)
        return Attempt(success, believed, _of_rows(self.gain, rows), _of_rows(self.cost, rows))

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        attempt = self.weigh(linkage, rows)
        attacks = attempt.pays
        return Response(
            attacks=attacks,
            success=attempt.success,
            believed_success=attempt.believed_success,
            adversary_payoff=np.where(attacks, attempt.payoff, 0.0),
            exploits=attacks.astype(np.float64),
            gain=attempt.gain,
        )


def _of_rows(amount: float | Floats, rows: Rows | slice | None) -> float | Floats:
    return amount if rows is None or np.ndim(amount) == 0 else np.asarray(amount)[rows]
