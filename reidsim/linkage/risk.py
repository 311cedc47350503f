"""Success probability of a linkage attack, given group sizes."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.population import Counts


class RiskModel(Protocol):
    """A rule that converts group sizes to success probabilities."""

    def success_probability(self, group_sizes: Counts) -> NDArray[np.float64]:
        """Return the success probability, in [0, 1], for each of `group_sizes`."""
        ...


def chance_of_guess(group_sizes: Counts) -> NDArray[np.float64]:
    """Return the success probability of a uniform guess; 0 in an empty group.

    It is 1 / group size, and 1 for sizes between 0 and 1.
    """
    return np.where(group_sizes > 0, 1.0 / np.maximum(group_sizes, 1), 0.0)


class UniformGuess:
    """Success probability of a uniform guess: 1 / group size (Wan et al. 2015, Eq. 4).

    With group sizes counted in the population this is the journalist risk. With group sizes counted in the released
    records it is the prosecutor risk.
    """

    def success_probability(self, group_sizes: Counts) -> NDArray[np.float64]:
        """Return ``1 / group_sizes``; sizes are above 0."""
        return np.reciprocal(group_sizes, dtype=np.float64)
