"""From equivalence-group sizes to the probability that a linkage attack names the right person."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.population import Counts


class RiskModel(Protocol):
    """Turns the sizes of the groups that records hide in into success probabilities."""

    def success_probability(self, group_sizes: Counts) -> NDArray[np.float64]:
        """Return the probability of naming the right person, same shape as `group_sizes`, in [0, 1]."""
        ...


def chance_of_guess(group_sizes: Counts) -> NDArray[np.float64]:
    """Return the probability that a uniform guess names the right person, 0 in a group that holds nobody."""
    return np.where(group_sizes > 0, 1.0 / np.maximum(group_sizes, 1), 0.0)


class UniformGuess:
    """The attacker picks one member of the group at random: 1 / group size (Wan et al. 2015, Eq. 4).

    With group sizes counted in the population this is the journalist risk, with sizes counted in the released
    records themselves the prosecutor risk.
    """

    def success_probability(self, group_sizes: Counts) -> NDArray[np.float64]:
        """Return ``1 / group_sizes``."""
        return np.reciprocal(group_sizes, dtype=np.float64)
