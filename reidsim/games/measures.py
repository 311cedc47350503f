"""Measures of an outcome: means over records, and people re-identified."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from reidsim.core.measures import Measure, Weights, measures_worded
from reidsim.games.equilibrium import Equilibrium
from reidsim.validation import read_toml


def _mean(attribute: str, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(getattr(outcome, attribute), weights=weights))


def _share(intensity: float, outcome: Equilibrium, weights: Weights) -> float:
    return float(np.average(outcome.generalization_intensity == intensity, weights=weights))


def _risk_if_attacked(outcome: Equilibrium, weights: Weights) -> float:
    attacks = weights * outcome.attack_probability
    return float(np.average(outcome.success_probability, weights=attacks)) if attacks.sum() > 0 else np.nan


PUBLISHER_PAYOFF = Measure(
    "publisher_payoff",
    "Publisher's payoff",
    "{:,.2f}",
    "mean payoff per record: benefit of the release, less the expected loss if the adversary attacks",
    partial(_mean, "publisher_payoff"),
)
ADVERSARY_PAYOFF = Measure(
    "adversary_payoff",
    "Adversary's payoff",
    "{:,.2f}",
    "mean payoff per record: expected gain less cost if the adversary attacks, otherwise 0",
    partial(_mean, "adversary_payoff"),
)
UTILITY = Measure(
    "utility",
    "Utility",
    "{:.4f}",
    "benefit of the release as a share of the benefit of unchanged records; 1 if all records are unchanged",
    partial(_mean, "utility"),
)
GENERALIZATION_INTENSITY = Measure(
    "generalization_intensity",
    "Generalization intensity",
    "{:.4f}",
    "mean generalization level, as a share of the highest level; 0 if all records are "
    "unchanged, 1 if all are suppressed",
    partial(_mean, "generalization_intensity"),
)
SHARE_ATTACKED = Measure(
    "share_attacked",
    "Records attacked",
    "{:.2%}",
    "share of records that the adversary attacks",
    partial(_mean, "attack_probability"),
)
RISK = Measure(
    "risk",
    "Re-identification risk",
    "{:.4f}",
    "mean over all records of the probability that the record is attacked and its person re-identified",
    partial(_mean, "risk"),
)
RISK_IF_ATTACKED = Measure(
    "risk_if_attacked",
    "Risk of attacked records",
    "{:.4f}",
    "mean over attacked records of the probability of re-identification; missing if no record is attacked",
    _risk_if_attacked,
)
SHARE_UNCHANGED = Measure(
    "share_unchanged",
    "Records shared unchanged",
    "{:.2%}",
    "share of records with generalization intensity 0",
    partial(_share, 0.0),
)
SHARE_SUPPRESSED = Measure(
    "share_suppressed",
    "Records suppressed",
    "{:.2%}",
    "share of records with generalization intensity 1, or withheld",
    partial(_share, 1.0),
)
# In the order in which tables print them (Wan et al. 2015, Table 7, and utility).
MEASURES = (
    PUBLISHER_PAYOFF,
    ADVERSARY_PAYOFF,
    UTILITY,
    GENERALIZATION_INTENSITY,
    SHARE_ATTACKED,
    RISK,
    RISK_IF_ATTACKED,
    SHARE_UNCHANGED,
    SHARE_SUPPRESSED,
)

_OTHERS = {part: measures_worded(words) for part, words in read_toml(Path(__file__).with_suffix(".toml")).items()}
REIDENTIFIED = tuple(_OTHERS["reidentified"].values())
ANY_REIDENTIFIED, *_, PUBLISHER_CVAR, ADVERSARY_CVAR = REIDENTIFIED
RISK_QUANTILE = _OTHERS["some"]["risk_quantile"]
HOUSEHOLD_RISK = _OTHERS["some"]["household_risk"]
REGRET = _OTHERS["some"]["regret"]
SUCCESS_PROBABILITY = _OTHERS["record"]["success_probability"]
RECORD_RISK = _OTHERS["record"]["risk"]


def averages(outcome: Equilibrium, weights: Weights) -> dict[str, float]:
    """Return each measure of `MEASURES` for an outcome, by column name.

    Payoffs are means per record, in currency units. ``risk_if_attacked`` is missing (NaN) if no record is attacked.

    Parameters
    ----------
    outcome : Equilibrium
        Arrays of shape (n_rows,); a row represents one or several equal records.
    weights : ndarray of int64, shape (n_rows,)
        Number of records of each row.
    """
    return {measure.column: measure.compute(outcome, weights) for measure in MEASURES if measure.compute}
