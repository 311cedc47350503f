"""The network of Xia et al. 2021 (Fig. 1): three routes to a re-identification."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """Capabilities of the adversary, each a probability (Xia et al. 2021, Table 1).

    Parameters
    ----------
    p_m : float
        Probability that the person's membership in the data is disclosed.
    p_fm : float
        Probability that the adversary finds a disclosed membership.
    p_cu : float
        Probability that the adversary can confirm that a person is unique in the population.
    p_c : float
        Probability that the adversary can confirm that a record chosen at random is the person's.

    """

    p_m: float
    p_fm: float
    p_cu: float
    p_c: float

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """Weights of prosecutor, journalist and marketer risk in the overall probability.

        Given the known values, let a be the group size, u = [a = 1], and b the probability of being unique in the
        population. The routes are independent, so the person is re-identified with probability
        ``1 - (1 - u p_m p_fm) (1 - u b p_cu) (1 - p_c / a)``. This is ``p_c / a`` for a > 1, and ``1 - A + A b p_cu``
        with ``A = (1 - p_m p_fm) (1 - p_c)`` for a = 1. It is therefore linear in u, u b and 1 / a, and its expectation
        depends only on the three risks.
        """
        missed = (1 - self.p_m * self.p_fm) * (1 - self.p_c)
        return 1 - missed - self.p_c, missed * self.p_cu, self.p_c

    def overall(self, prosecutor: Floats, journalist: Floats, marketer: Floats) -> Floats:
        """Return the overall probability of re-identification, given the three risks.

        The arrays have equal shape.
        """
        of_prosecutor, of_journalist, of_marketer = self.coefficients
        overall = of_prosecutor * prosecutor + of_journalist * journalist + of_marketer * marketer
        return np.asarray(np.clip(overall, 0.0, 1.0))
