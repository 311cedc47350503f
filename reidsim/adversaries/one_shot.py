"""The one-shot adversary of Wan et al. 2015: attack a record when the expected gain exceeds the cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from reidsim.adversaries.attempt import Attempt, check_amounts, of_rows
from reidsim.adversaries.response import Linkage, Response
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
        check_amounts(self.gain, self.cost)

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return what an attempt at each record would be worth; see `Weighing`."""
        success = self.risk.success_probability(linkage.group_sizes)
        if linkage.believed_group_sizes is linkage.group_sizes:
            believed = success
        else:
            believed = self.risk.success_probability(linkage.believed_group_sizes)
        return Attempt(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        attempt = self.weigh(linkage, rows)
        return attempt.made(attempt.pays)
