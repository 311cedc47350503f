"""Departures from maximization of the expected payoff: noise and prospect theory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

# Below this exponent, the weighting function of Tversky and Kahneman (1992) is not increasing: a likelier success could
# get a smaller weight.
LEAST_WEIGHTING = 0.28


@dataclass(frozen=True)
class ProspectTheory:
    """Value of an attempt by cumulative prospect theory.

    The source is Tversky and Kahneman (1992). The reference point is not to attack. An attempt succeeds with
    probability p and then yields ``gain - price``; otherwise it yields ``-price``. An amount x of 0 or more has the
    value ``x**gain_curvature``; a loss of x has the value ``-loss_aversion * x**loss_curvature``. The decision weight
    of a probability p is ``p**c / (p**c + (1 - p)**c)**(1 / c)``, where c is `gain_weighting` for amounts above 0 and
    `loss_weighting` for losses. If even a success is a loss, the larger loss is weighted first, and the smaller one
    gets the remaining weight.

    Parameters
    ----------
    gain_weighting, loss_weighting : float
        gamma and delta, from 0.28 to 1; 1 means that decision weights equal probabilities.
    gain_curvature, loss_curvature : float
        alpha and beta, above 0, at most 1; 1 means that values are linear in amounts.
    loss_aversion : float
        Weight of a loss relative to a gain of equal size; above 0.

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
        """Return the value of an attempt, in units of prospect value.

        The value of not attacking is 0.

        Parameters
        ----------
        chance : ndarray of float64, shape (n,)
            Success probability of the attempt.
        gain, price : float or ndarray of float64, shape (n,)
            Gain from a success and cost of the attempt, in currency units per record.
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
        """Return the absolute value of paying a price, in units of prospect value.

        It is the scale for comparing the value of an attempt with 0.
        """
        return np.asarray(self.loss_aversion * np.asarray(price, dtype=np.float64) ** self.loss_curvature)


def weighted(chance: Floats, exponent: float) -> Floats:
    """Return the decision weights of probabilities; 0 and 1 are unchanged."""
    above, below = chance**exponent, (1.0 - chance) ** exponent
    return np.asarray(above / (above + below) ** (1.0 / exponent))


def logit_choice(worth: Floats, precision: float) -> Floats:
    """Return the probability of attacking, by a logit decision.

    It is ``1 / (1 + exp(-precision * worth))``; the payoff of not attacking is 0.

    Parameters
    ----------
    worth : ndarray of float64
        Expected payoff of the attack.
    precision : float
        lambda, per unit of payoff; 0 or more.
    """
    return logistic(precision * worth)


def logistic(index: NDArray[np.floating[Any]]) -> Floats:
    """Return ``1 / (1 + exp(-index))``."""
    # Separate expressions for the two signs: exp of a large positive number would overflow.
    decay = np.exp(-np.abs(index))
    return np.asarray(np.where(index >= 0, 1.0, decay) / (1.0 + decay), dtype=np.float64)
