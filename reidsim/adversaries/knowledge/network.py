"""The network of Xia et al. 2021 (Fig. 1): three routes to a re-identification, and their overall probability."""

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
        That it is disclosed that the person is in the data.
    p_fm : float
        That the adversary finds this out, once it is disclosed.
    p_cu : float
        That it can confirm that a person is unique in the population.
    p_c : float
        That it can confirm that a record picked at random is the person's.

    """

    p_m: float
    p_fm: float
    p_cu: float
    p_c: float

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """Weights of prosecutor, journalist and marketer risk in the overall probability.

        Given the known values, with a the size of the group, u = [a = 1] and b the probability of being unique in the
        population, the routes are independent and the person is re-identified with probability
        ``1 - (1 - u p_m p_fm) (1 - u b p_cu) (1 - p_c / a)``. It is ``p_c / a`` for a > 1 and ``1 - A + A b p_cu``
        with ``A = (1 - p_m p_fm) (1 - p_c)`` for a = 1, hence linear in u, u b and 1 / a: so its expectation needs
        the three risks only.
        """
        missed = (1 - self.p_m * self.p_fm) * (1 - self.p_c)
        return 1 - missed - self.p_c, missed * self.p_cu, self.p_c

    def overall(self, prosecutor: Floats, journalist: Floats, marketer: Floats) -> Floats:
        """Return the expected probability of re-identification from the three risks, arrays of one shape."""
        of_prosecutor, of_journalist, of_marketer = self.coefficients
        overall = of_prosecutor * prosecutor + of_journalist * journalist + of_marketer * marketer
        return np.asarray(np.clip(overall, 0.0, 1.0))
