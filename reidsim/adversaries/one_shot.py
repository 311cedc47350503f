"""The planner ``one-shot``: an adversary who attacks if gain exceeds cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from reidsim.adversaries.planners import CAPABILITIES, Planner, planners
from reidsim.adversaries.response import Attempt, Linkage, Response, check_amounts, of_rows
from reidsim.populations.population import Counts
from reidsim.releases.strategy_space import Floats, Rows


class RiskModel(Protocol):
    """A rule that converts group sizes to success probabilities."""

    def success_probability(self, group_sizes: Counts) -> Floats:
        """Return the success probability, in [0, 1], for each of `group_sizes`."""
        ...


class UniformGuess:
    """Success probability of a uniform guess: 1 / group size (Wan et al. 2015, Eq. 4).

    With group sizes counted in the population this is the journalist risk. With group sizes counted in the released
    records it is the prosecutor risk.
    """

    def success_probability(self, group_sizes: Counts) -> Floats:
        """Return ``1 / group_sizes``; sizes are above 0."""
        return np.reciprocal(group_sizes, dtype=np.float64)


@planners.register("one-shot")
@dataclass(frozen=True)
class OneShotAdversary(Planner):
    """Adversary who makes one attempt per record if it is profitable.

    It attacks if the expected gain exceeds the cost, and does not attack if indifferent (Wan et al. 2015, Table 3).

    Parameters
    ----------
    gain : float or ndarray of shape (n_records,)
        Gain from a successful re-identification, in currency units per record.
    cost : float or ndarray of shape (n_records,)
        Cost of an attempt, in currency units per record.
    risk : RiskModel
        Model of the success probability, given the group size.

    Raises
    ------
    InputError
        If a gain or cost is negative.
    """

    label = "the one-shot adversary"
    provides = CAPABILITIES
    decides_on: ClassVar[frozenset[str]] = frozenset({"believed_group_sizes"})

    gain: float | Floats
    cost: float | Floats
    risk: RiskModel = field(default_factory=UniformGuess)

    def __post_init__(self) -> None:
        check_amounts(self.gain, self.cost)

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return the attempt at each record with its expected payoff; see `Weighing`."""
        believed = success = self.risk.success_probability(linkage.group_sizes)
        if linkage.believed_group_sizes is not linkage.group_sizes:
            believed = self.risk.success_probability(linkage.believed_group_sizes)
        return Attempt.single(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the reply to each record; see `Adversary`."""
        return self.weigh(linkage, rows).made()
