"""Resources that are not always right: what a wrong entry does to linkage, and what an adversary learns from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.games.record_game import Linker
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Rows

Floats = NDArray[np.float64]

# Accuracies at which a density is kept.
_POINTS = (np.arange(2000) + 0.5) / 2000


@dataclass(frozen=True)
class InaccurateLinker:
    """Links through resources of which a share says what is right; see `Linkage.inaccurate`.

    Parameters
    ----------
    linker : Linker
        With everything right.
    accuracy : float
        Share of right entries in truth, above 0.
    expected_accuracy : float
        The same as the adversary believes, above 0.
    """

    linker: Linker
    accuracy: float
    expected_accuracy: float

    @property
    def looked_at(self) -> tuple[str, ...] | None:
        """Attributes on which linkage depends, if the linker says so."""
        return getattr(self.linker, "looked_at", None)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or those of `rows`, shared as `strategy`; see `Linker`."""
        return self.linker.link(strategy, rows).inaccurate(self.accuracy, self.expected_accuracy)


class AccuracyBelief:
    """What an adversary believes of the accuracy of its resources: a Beta distribution, and what attempts told since.

    The density is kept at points of (0, 1), so that it is exact for attempts that may also fail with a right entry; if
    none may, it is the Beta distribution that counts successes and failures.

    Parameters
    ----------
    expected : float
        Mean of the Beta distribution, in (0, 1).
    experience : float
        Number of attempts that it counts as, above 0.
    """

    def __init__(self, expected: float, experience: float) -> None:
        right, wrong = expected * experience, (1.0 - expected) * experience
        self._log_density = (right - 1.0) * np.log(_POINTS) + (wrong - 1.0) * np.log1p(-_POINTS)

    @property
    def mean(self) -> float:
        """Share of right entries to expect."""
        density = np.exp(self._log_density - self._log_density.max())
        return dot(density, _POINTS) / float(density.sum())

    def learn(self, success_if_right: Floats, attempts: Floats, successes: Floats) -> None:
        """Learn from attempts.

        Parameters
        ----------
        success_if_right : ndarray of float64, shape (n_cells,)
            Probability that an attempt succeeds if the entry is right.
        attempts, successes : ndarray of float64, shape (n_cells,)
            How many there were; expected numbers will do.
        """
        self._log_density += successes.sum() * np.log(_POINTS)
        distinct, position = np.unique(success_if_right, return_inverse=True)
        failures = np.bincount(position.ravel(), weights=attempts - successes)
        for share, number in zip(distinct.tolist(), failures.tolist(), strict=True):
            if number > 0.0 and share > 0.0:
                self._log_density += number * np.log1p(-share * _POINTS)
