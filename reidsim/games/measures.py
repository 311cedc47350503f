"""Measures of an outcome: means over records, and people re-identified.

Labels, formats and definitions are in the TOML file beside this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.core.validation import read_toml
from reidsim.core.wording import measures_worded
from reidsim.games.equilibrium import Equilibrium

Weights = NDArray[np.int64]


def _mean(attribute: str, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(getattr(outcome, attribute), weights=weights))


def _share(intensity: float, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(outcome.generalization_intensity == intensity, weights=weights))


def _risk_if_attacked(outcome: Equilibrium, weights: Weights) -> float:
    attacks = weights * outcome.attack_probability
    return float(np.average(outcome.success_probability, weights=attacks)) if attacks.sum() > 0 else np.nan


# Other averages are means of the outcome's attribute of the same name.
_COMPUTED: dict[str, Callable[[Any, Weights], float]] = {
    "share_attacked": partial(_mean, "attack_probability"),
    "risk_if_attacked": _risk_if_attacked,
    "share_unchanged": partial(_share, 0.0),
    "share_suppressed": partial(_share, 1.0),
}
_WORDED = {part: measures_worded(words) for part, words in read_toml(Path(__file__).with_suffix(".toml")).items()}
MEASURES = tuple(
    replace(measure, compute=_COMPUTED.get(column, partial(_mean, column)))
    for column, measure in _WORDED["averages"].items()
)
PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, UTILITY, GENERALIZATION_INTENSITY, SHARE_ATTACKED, RISK, *_ = MEASURES
REIDENTIFIED = tuple(_WORDED["reidentified"].values())
ANY_REIDENTIFIED, *_, PUBLISHER_CVAR, ADVERSARY_CVAR = REIDENTIFIED
RISK_QUANTILE, HOUSEHOLD_RISK, REGRET = _WORDED["some"].values()
SUCCESS_PROBABILITY, RECORD_RISK = _WORDED["record"].values()


def averages(outcome: Equilibrium, weights: Weights) -> dict[str, float]:
    """Return each measure of `MEASURES` for an outcome, by column name.

    Values are averages over records, one number per measure. Payoffs are in currency units per record.
    ``risk_if_attacked`` is missing (NaN) if no record is attacked.

    Parameters
    ----------
    outcome : Equilibrium
        Arrays of shape (n_rows,); a row represents one or several equal records.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.

    Returns
    -------
    dict of str to float
    """
    return {measure.column: measure.compute(outcome, weights) for measure in MEASURES if measure.compute}
