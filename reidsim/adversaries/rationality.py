"""Adversaries who err: noisy decisions to attack, and prospect theory.

The precision of noisy decisions can be fitted to observed attacks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import scipy
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray
from pydantic import Field

from reidsim.adversaries.response import INDIFFERENCE, Linkage, Response, Weighing, declared_information
from reidsim.core.errors import InputError, locating, refuse_rows
from reidsim.core.tables import numbers, pandas_table, read_table, require_columns, text_table
from reidsim.core.validation import Section
from reidsim.releases.lattice import Floats, Rows

# Below this exponent, the weighting function of Tversky and Kahneman (1992) is not increasing: a likelier success could
# get a smaller weight.
_Weighting = Annotated[float, Field(ge=0.28, le=1)]
_Curvature = Annotated[float, Field(gt=0, le=1)]
# Quantile of the standard normal distribution for a two-sided 95 % interval.
_NORMAL_95 = 1.959963984540054
# Relative tolerance of the root search, close to the resolution of float64.
_TOLERANCE = 1e-15
# Columns of a table of observed decisions, and texts of its column `attacked`.
_COLUMNS = ("attacked", "success", "gain", "cost")
_DECISIONS = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}
# Smaller attack probabilities count as 0: the expected payoff divided by the probability must give back the payoff.
_NEVER = 1e-200


class ProspectTheory(Section):
    """Cumulative prospect theory of Tversky and Kahneman (1992).

    Defaults are the medians that they estimated.

    Attributes
    ----------
    gain_weighting
        gamma: exponent of the weighting function for probabilities of gains
    loss_weighting
        delta: exponent of the weighting function for probabilities of losses
    gain_curvature
        alpha: exponent of the value function for gains
    loss_curvature
        beta: exponent of the value function for losses
    loss_aversion
        weight of a loss relative to a gain of the same amount
    """

    gain_weighting: _Weighting = 0.61
    loss_weighting: _Weighting = 0.69
    gain_curvature: _Curvature = 0.88
    loss_curvature: _Curvature = 0.88
    loss_aversion: Annotated[float, Field(gt=0)] = 2.25

    def worth(self, chance: Floats, gain: float | Floats, price: float | Floats) -> Floats:
        """Return the value of an attempt, in units of prospect value.

        The reference point is not to attack, which has the value 0. An attempt succeeds with probability p and then
        yields ``gain - price``; otherwise it yields ``-price``. An amount x of 0 or more has the value
        ``x**gain_curvature``; a loss of x has the value ``-loss_aversion * x**loss_curvature``. The decision weight of
        a probability p is ``p**c / (p**c + (1 - p)**c)**(1 / c)``, where c is `gain_weighting` for amounts above 0 and
        `loss_weighting` for losses. If even a success is a loss, the larger loss is weighted first, and the smaller one
        gets the remaining weight.

        Parameters
        ----------
        chance : ndarray of float64, shape (n,)
            Success probability of the attempt.
        gain, price : float or ndarray of float64, shape (n,)
            Gain from a success and cost of the attempt, in currency units per record.

        Returns
        -------
        ndarray of float64, shape (n,)
            Negative for an attempt that is worth less than no attack.
        """
        hit = np.asarray(gain - price, dtype=np.float64)
        of_hit = np.where(hit >= 0, np.maximum(hit, 0.0) ** self.gain_curvature, -self.of_price(np.maximum(-hit, 0.0)))
        missed, of_miss = weighted(1.0 - chance, self.loss_weighting), -self.of_price(price)
        return np.where(hit >= 0, weighted(chance, self.gain_weighting), 1.0 - missed) * of_hit + missed * of_miss

    def of_price(self, price: float | Floats) -> Floats:
        """Return the absolute value of paying a price, in units of prospect value.

        It is ``loss_aversion * price**loss_curvature``, for a price of 0 or more in currency units. It is the scale for
        comparing the value of an attempt with 0.
        """
        return np.asarray(self.loss_aversion * np.asarray(price, dtype=np.float64) ** self.loss_curvature)


def weighted(chance: Floats, exponent: float) -> Floats:
    """Return the decision weights of probabilities, in the shape of `chance`.

    The weight of a probability p is ``p**c / (p**c + (1 - p)**c)**(1 / c)``, where c is `exponent`; 0 and 1 are
    unchanged, and with c = 1 all are.
    """
    above, below = chance**exponent, (1.0 - chance) ** exponent
    return np.asarray(above / (above + below) ** (1.0 / exponent))


def logistic(index: NDArray[np.floating[Any]]) -> Floats:
    """Return ``1 / (1 + exp(-index))``, in the shape of `index`, without overflow."""
    # Separate expressions for the two signs: exp of a large positive number would overflow.
    decay = np.exp(-np.abs(index))
    return np.asarray(np.where(index >= 0, 1.0, decay) / (1.0 + decay), dtype=np.float64)


@dataclass(frozen=True)
class PrecisionFit:
    """Fitted precision of logit decisions.

    Parameters
    ----------
    precision : float
        Estimate of lambda, per unit of worth.
    standard_error : float
        Standard error from the Fisher information; NaN if the precision is 0, the boundary of the parameter space.
    low, high : float
        95 % interval by the normal approximation, cut at 0; NaN without a standard error.
    log_likelihood : float
        Log-likelihood of the decisions at the fitted precision.
    decisions : int
        Number of observed decisions.
    against : int
        Number of decisions against the payoff: unprofitable attacks made, and profitable attacks not made.
    """

    precision: float
    standard_error: float
    low: float
    high: float
    log_likelihood: float
    decisions: int
    against: int


def fitted_precision(worth: Floats, attacked: NDArray[np.bool_]) -> PrecisionFit:
    """Return the maximum-likelihood estimate of the precision.

    The log-likelihood is the sum of ``-log(1 + exp(-lambda m))``, where m is the payoff of the observed decision less
    the payoff of the other decision. It is concave in lambda. Its maximum is above 0 if the decisions follow the payoff
    overall (the sum of all m is above 0) but not always (some m is below 0). If the decisions follow the payoff no
    better than coin tosses overall, the maximum is at 0.

    Parameters
    ----------
    worth : ndarray of float64, shape (n,)
        Expected payoff of attacking, as the adversary believes; the payoff of not attacking is 0.
    attacked : ndarray of bool, shape (n,)
        Whether the adversary attacked.

    Returns
    -------
    PrecisionFit

    Raises
    ------
    InputError
        If all payoffs are 0, or if no decision is against the payoff, so that the likelihood has no maximum.
    """
    margin = np.where(attacked, worth, -worth)
    against = int((margin < 0).sum())
    if not (worth != 0).any():
        raise InputError(
            "no precision can be estimated from these decisions",
            found=f"{len(worth)} decisions",
            expected="decisions with a positive or negative payoff",
        )
    if not against:
        raise InputError(
            "every decision follows the payoff, so the likelihood has no maximum",
            found=f"{len(worth)} decisions without an error",
            expected='some decisions against the payoff, or rationality = "perfect"',
        )
    precision = 0.0
    if margin.sum() > 0:
        # The slope of the log-likelihood decreases from above 0.
        def slope(precision: float) -> float:
            return float((margin * logistic(-precision * margin)).sum())

        low, high = 0.0, 1.0 / float(np.abs(margin).max())
        while slope(high) > 0:
            low, high = high, 2.0 * high
        precision = float(scipy.optimize.brentq(slope, low, high, xtol=high * _TOLERANCE, rtol=_TOLERANCE))
    chance = logistic(precision * worth)
    error = float(1.0 / np.sqrt((worth**2 * chance * (1.0 - chance)).sum())) if precision > 0 else np.nan
    return PrecisionFit(
        precision,
        error,
        max(precision - _NORMAL_95 * error, 0.0) if precision > 0 else np.nan,
        precision + _NORMAL_95 * error,
        float(-np.logaddexp(0.0, -precision * margin).sum()),
        len(worth),
        against,
    )


def fit_precision(attacks: IntoDataFrame | str | Path, *, prospect: ProspectTheory | None = None) -> PrecisionFit:
    """Fit the precision of logit decisions to observed attacks by maximum likelihood.

    Parameters
    ----------
    attacks : DataFrame, str or Path
        One row per decision, or a CSV or Parquet file. Column ``attacked`` is 1 or 0 (or true or false, yes or no);
        ``success`` is the adversary's estimate of the probability of a successful re-identification; ``gain`` and
        ``cost`` are the value of a success and the cost of an attack to the adversary, in currency units.
    prospect : ProspectTheory, optional
        Prospect theory whose values replace expected payoffs.

    Returns
    -------
    PrecisionFit
        Its `precision` applies to ``rationality = "logit"``, or with `prospect` to ``"prospect-logit"``.

    Raises
    ------
    InputError
        If a column is missing or a value is not allowed (the message names the file and the row); if all payoffs are 0;
        or if every decision follows the payoff.

    See Also
    --------
    run : run a scenario with the fitted precision.

    Examples
    --------
    >>> import pandas, reidsim
    >>> seen = pandas.DataFrame({"attacked": [1, 1, 0, 0, 1], "success": [1.0, 0.5, 0.1, 0.2, 0.1]})
    >>> fit = reidsim.fit_precision(seen.assign(gain=100.0, cost=20.0))
    >>> round(fit.precision, 4), fit.decisions, fit.against
    (0.0713, 5, 1)
    """
    seen = pandas_table(attacks)
    source = Path("attacks") if isinstance(seen, pd.DataFrame) else Path(seen)
    table = seen if isinstance(seen, pd.DataFrame) else read_table(source)
    require_columns(table, _COLUMNS, source)
    if table is seen:
        table = text_table(table[list(_COLUMNS)], "attacks")
    attacked = table["attacked"].str.lower().map(_DECISIONS)
    success, gain, cost = (np.asarray(numbers(table, name, source), dtype=np.float64) for name in _COLUMNS[1:])
    for column, wrong, expected in (
        ("attacked", attacked.isna().to_numpy(), "1 or 0, true or false, yes or no"),
        ("success", success > 1, "a probability, 0 to 1"),
    ):
        refuse_rows(wrong, "value not allowed", source=source, column=column, found=table[column], expected=expected)
    worth = gain * success - cost if prospect is None else prospect.worth(success, gain, cost)
    with locating(source):
        return fitted_precision(worth, attacked.to_numpy(dtype=np.bool_))


@dataclass(frozen=True)
class ErringAdversary:
    """Adversary who plans like another adversary, but errs in the decision to attack.

    Errors concern only the decision whether to attack a record, not the attack itself: a multi-stage attack uses the
    plan with the highest payoff, and all decisions of a sequential attack after access are optimal. Let W be the worth
    of the attack as the adversary believes: the expected payoff, or the value of the prospect. The adversary attacks
    with probability ``1 / (1 + exp(-precision * W))``: the quantal response of McKelvey and Palfrey (1995), where not
    attacking is worth 0. Without a precision, it attacks if W is above 0.

    Parameters
    ----------
    adversary : OneShotAdversary, MultistageAttack, SequentialAdversary or other Weighing
        Adversary without errors.
    precision : float, optional
        lambda, 0 or more, per currency unit or per unit of prospect value. Default: decisions without noise.
    prospect : ProspectTheory, optional
        Valuation of prospects. Default: expected payoffs.
    """

    adversary: Weighing
    precision: float | None = None
    prospect: ProspectTheory | None = None

    @property
    def decides_on(self) -> frozenset[str]:
        """Names of the `Linkage` fields on which the decision of `adversary` depends."""
        return declared_information(self.adversary)

    def respond(self, linkage: Linkage, rows: Rows | None = None) -> Response:
        """Return the `Response` to each record; see `Adversary.respond`.

        Without a precision, a record is attacked if the attack's worth is above 0. With a precision, every record with
        a positive attack probability counts as attacked, except where worth and believed success probability are both
        0. `frequency` is that probability, and `pays` is true where an attack is profitable.

        Raises
        ------
        InputError
            If prospect theory is used with an attack that is not a single attempt.
        """
        attempt = self.adversary.weigh(linkage, rows)
        worth, pays = attempt.worth, attempt.pays
        if self.prospect is not None:
            if attempt.price is None:
                raise InputError(
                    "prospect theory needs an attack of a single attempt that succeeds or fails",
                    found=type(self.adversary).__name__,
                )
            worth = self.prospect.worth(attempt.believed_success, attempt.gain, attempt.price)
            pays = worth > INDIFFERENCE * self.prospect.of_price(attempt.price)
        chance = pays.astype(np.float64) if self.precision is None else logistic(self.precision * worth)
        # An attack with zero worth and zero believed success probability is never made, not even by mistake.
        attacks = (chance > _NEVER) & ((worth != 0) | (attempt.believed_success > 0))
        chance = np.where(attacks, chance, 0.0)
        return replace(
            attempt.made(attacks),
            success=attempt.success,
            believed_success=attempt.believed_success,
            adversary_payoff=chance * attempt.payoff,
            exploits=chance * attempt.exploits,
            frequency=None if self.precision is None else np.where(attacks, chance, 1.0),
            pays=None if self.precision is None else pays,
        )
