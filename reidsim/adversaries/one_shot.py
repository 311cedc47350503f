"""The planner ``one-shot``: an adversary who attacks if gain exceeds cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reidsim.adversaries.response import (
    CAPABILITIES,
    Attempt,
    Linkage,
    Planner,
    Response,
    check_amounts,
    of_rows,
    planners,
)
from reidsim.releases.lattice import Floats, Rows


@planners.register("one-shot")
@dataclass(frozen=True)
class OneShotAdversary(Planner):
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
    decides_on: ClassVar[frozenset[str]] = frozenset({"believed_group_sizes"})

    gain: float | Floats
    cost: float | Floats

    def __post_init__(self) -> None:
        check_amounts(self.gain, self.cost)

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt:
        """Return an `Attempt`: one attempt per record, with its expected payoff.

        Success probabilities are one over the true and the believed group sizes. Unprofitable attempts are included.
        For the parameters see `Adversary.respond`.
        """
        success, believed = (
            np.reciprocal(sizes, dtype=np.float64) for sizes in (linkage.group_sizes, linkage.believed_group_sizes)
        )
        return Attempt.single(success, believed, of_rows(self.gain, rows), of_rows(self.cost, rows))

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the `Response` to each record: profitable attempts are made.

        For the parameters see `Adversary.respond`.
        """
        return self.weigh(linkage, rows).made()
