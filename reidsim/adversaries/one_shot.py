"""The one-shot adversary of Wan et al. 2015: attack a record when the expected gain exceeds the cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from reidsim.adversaries.response import INDIFFERENCE, Linkage, Response
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

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        gain, cost = _of_rows(self.gain, rows), _of_rows(self.cost, rows)
        success = self.risk.success_probability(linkage.group_sizes)
        if linkage.believed_group_sizes is linkage.group_sizes:
            believed = success
        else:
            believed = self.risk.success_probability(linkage.believed_group_sizes)
        attacks = gain * believed > cost * (1 + INDIFFERENCE)
        return Response(
            attacks=attacks,
            success=success,
            believed_success=believed,
            adversary_payoff=np.where(attacks, gain * success - cost, 0.0),
            exploits=attacks.astype(np.float64),
            gain=gain,
        )


def _of_rows(amount: float | Floats, rows: Rows | None) -> float | Floats:
    return amount if rows is None or np.ndim(amount) == 0 else np.asarray(amount)[rows]
