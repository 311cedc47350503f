"""Departures from maximizing the expected payoff: noise in the decision, and prospects in place of expectations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

# Below this exponent the weighting of Tversky and Kahneman (1992) is not increasing: a likelier hit could count less.
LEAST_WEIGHTING = 0.28


@dataclass(frozen=True)
class ProspectTheory:
    """How much an attempt is worth by cumulative prospect theory (Tversky and Kahneman 1992).

    The reference point is not to attack. An attempt that names the right person with probability p brings
    ``gain - price``, else ``-price``. An amount x of 0 or more has the value ``x**gain_curvature``, a loss of x the
    value ``-loss_aversion * x**loss_curvature``. A probability p counts as ``p**c / (p**c + (1 - p)**c)**(1 / c)``, c
    being `gain_weighting` for amounts above 0 and `loss_weighting` for losses. Where even a hit is a loss, the larger
    loss is weighted first, and the smaller one has the weight that is left.

    Parameters
    ----------
    gain_weighting, loss_weighting : float
        gamma and delta, from 0.28 to 1; 1 takes probabilities as they are.
    gain_curvature, loss_curvature : float
        alpha and beta, above 0, at most 1; 1 takes amounts as they are.
    loss_aversion : float
        How much more a loss counts than as large a gain; above 0.

    Raises
    ------
    InputError
        If a parameter is out of range.
    """

    gain_weighting: float = 0.61
    loss_weighting: float = 0.69
    gain_curvature: float = 0.88
    loss_curvature: float = 0.88
    loss_aversion: float = 2.25

    def __post_init__(self) -> None:
        for name in ("gain_weighting", "loss_weighting"):
            if not LEAST_WEIGHTING <= (given := getattr(self, name)) <= 1:
                raise InputError("exponent out of range", where=name, found=given, expected=f"{LEAST_WEIGHTING} to 1")
        for name in ("gain_curvature", "loss_curvature"):
            if not 0 < (given := getattr(self, name)) <= 1:
                raise InputError("exponent out of range", where=name, found=given, expected="above 0, at most 1")
        if not 0 < self.loss_aversion < np.inf:
            raise InputError("loss aversion out of range", found=self.loss_aversion, expected="above 0, finite")

    def worth(self, chance: Floats, gain: float | Floats, price: float | Floats) -> Floats:
        """Return the value of an attempt, in units of value; 0 is that of not attacking.

        Parameters
        ----------
        chance : ndarray of float64, shape (n,)
            Probability of a hit.
        gain, price : float or ndarray of float64, shape (n,)
            In currency units per record.
        """
        hit = np.asarray(gain - price, dtype=np.float64)
        of_hit = np.where(
            hit >= 0,
            np.maximum(hit, 0.0) ** self.gain_curvature,
            -self.loss_aversion * np.maximum(-hit, 0.0) ** self.loss_curvature,
        )
        missed = weighted(1.0 - chance, self.loss_weighting)
        of_miss = -self.loss_aversion * np.asarray(price, dtype=np.float64) ** self.loss_curvature
        return np.where(hit >= 0, weighted(chance, self.gain_weighting), 1.0 - missed) * of_hit + missed * of_miss

    def of_price(self, price: float | Floats) -> Floats:
        """Return by how much a price counts, in units of value: the scale of what an attempt is worth."""
        return np.asarray(self.loss_aversion * np.asarray(price, dtype=np.float64) ** self.loss_curvature)


def weighted(chance: Floats, exponent: float) -> Floats:
    """Return the decision weights of probabilities; 0 and 1 keep theirs."""
    above, below = chance**exponent, (1.0 - chance) ** exponent
    return np.asarray(above / (above + below) ** (1.0 / exponent))


def logit_choice(worth: Floats, precision: float) -> Floats:
    """Return the probability of attacking, ``1 / (1 + exp(-precision * worth))``, the payoff of not attacking being 0.

    Parameters
    ----------
    worth : ndarray of float64
        Payoff expected of the attack.
    precision : float
        lambda, per unit of payoff; 0 or more.
    """
    return logistic(precision * worth)


def logistic(index: NDArray[np.floating[Any]]) -> Floats:
    """Return ``1 / (1 + exp(-index))``."""
    # Written for each sign, as exp of a large positive number overflows.
    decay = np.exp(-np.abs(index))
    return np.asarray(np.where(index >= 0, 1.0, decay) / (1.0 + decay), dtype=np.float64)
