"""Inaccurate resources: their effect on linkage, and learning of their accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.games.record_game import Linker
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Rows

Floats = NDArray[np.float64]

# Grid on which the density of the accuracy is evaluated: 2,000 midpoints in (0, 1).
_POINTS = (np.arange(2000) + 0.5) / 2000


@dataclass(frozen=True)
class InaccurateLinker:
    """Linker whose resources have some wrong entries; see `Linkage.inaccurate`.

    Parameters
    ----------
    linker : Linker
        Linker for resources without wrong entries.
    accuracy : float
        True share of correct entries, in (0, 1].
    expected_accuracy : float
        Share of correct entries that the adversary expects, in (0, 1].
    """

    linker: Linker
    accuracy: float
    expected_accuracy: float

    @property
    def looked_at(self) -> tuple[str, ...] | None:
        """Attributes on which linkage depends; None if the linker does not list them."""
        return getattr(self.linker, "looked_at", None)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or only `rows`, released with `strategy`; see `Linker`."""
        return self.linker.link(strategy, rows).inaccurate(self.accuracy, self.expected_accuracy)


class AccuracyBelief:
    """Belief of an adversary about the accuracy of its resources.

    The prior is a Beta distribution. Each attack outcome updates it by Bayes' rule. An attack can fail although the
    entry is correct, so the posterior is not always a Beta distribution; its density is therefore stored on a grid in
    (0, 1). If attacks fail only because of wrong entries, the posterior is the Beta distribution that counts successes
    and failures.

    Parameters
    ----------
    expected : float
        Mean of the Beta prior, in (0, 1).
    experience : float
        Number of attempts that the prior is worth, above 0.
    """

    def __init__(self, expected: float, experience: float) -> None:
        right, wrong = expected * experience, (1.0 - expected) * experience
        self._log_density = (right - 1.0) * np.log(_POINTS) + (wrong - 1.0) * np.log1p(-_POINTS)

    @property
    def mean(self) -> float:
        """Expected share of correct entries."""
        density = np.exp(self._log_density - self._log_density.max())
        return dot(density, _POINTS) / float(density.sum())

    def learn(self, success_if_right: Floats, attempts: Floats, successes: Floats) -> None:
        """Update the belief with the outcomes of attempts.

        Parameters
        ----------
        success_if_right : ndarray of float64, shape (n_cells,)
            Probability that an attempt succeeds if the entry is correct.
        attempts, successes : ndarray of float64, shape (n_cells,)
            Number of attempts and of successes per cell; expected numbers are allowed.
        """
        self._log_density += successes.sum() * np.log(_POINTS)
        distinct, position = np.unique(success_if_right, return_inverse=True)
        failures = np.bincount(position.ravel(), weights=attempts - successes)
        for share, number in zip(distinct.tolist(), failures.tolist(), strict=True):
            if number > 0.0 and share > 0.0:
                self._log_density += number * np.log1p(-share * _POINTS)
