"""What is collected of a round: averages over all records, and who takes part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.outcomes import RoundOutcome
from reidsim.agents.profile import Setting
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.record_game import WITHHELD, Choice, shared_rows
from reidsim.releases.strategy_space import Strategies

Floats = NDArray[np.float64]

# Quantiles of the risk of records shared, by column.
RISK_QUANTILES = {"risk_median": 0.5, "risk_90": 0.9, "risk_99": 0.99}
# Measures of a round, in the order of columns.
ROUND_MEASURES = (
    "publisher_payoff",
    "adversary_payoff",
    "utility",
    "generalization_intensity",
    "share_attacked",
    "risk",
    "risk_if_attacked",
    "share_unchanged",
    "share_suppressed",
    "participation",
    "joined",
    "left",
    "changed",
    "attacks",
    "exploits",
    "detections",
    "breaches",
    *RISK_QUANTILES,
)


def release_of(setting: Setting, strategies: Strategies) -> tuple[Floats, Floats]:
    """Return utility and generalization intensity of the strategy of each cell, two arrays of shape (n_cells,)."""
    utility = np.zeros(len(strategies))
    for strategy, rows in shared_rows(strategies):
        utility[rows] = setting.space.utility(strategy, rows)
    intensity = setting.space.generalization_intensity(np.maximum(strategies, 0))
    return utility, np.where(strategies == WITHHELD, 1.0, intensity)


def record_measures(
    setting: Setting,
    strategies: Strategies,
    participants: NDArray[np.int64],
    outcome: RoundOutcome,
    adversary_payoff: float,
) -> dict[str, float]:
    """Average the outcomes of a round over all records.

    The record of somebody who does not take part is withheld: payoff and utility 0, generalization intensity 1.

    Parameters
    ----------
    setting : Setting
    strategies : ndarray of int64, shape (n_cells,)
    participants : ndarray of int64, shape (n_cells,)
    outcome : RoundOutcome
    adversary_payoff : float
        Of all adversaries together, in currency units.
    """
    n = setting.n_subjects
    utility, intensity = release_of(setting, strategies)
    absent = n - int(participants.sum())
    gained = participants @ (setting.benefit * utility) - outcome.breaches @ setting.loss
    breaches, attacked = float(outcome.breaches.sum()), float(outcome.records_attacked.sum())
    return {
        "publisher_payoff": float(gained) / n,
        "adversary_payoff": adversary_payoff / n,
        "utility": float(participants @ utility) / n,
        "generalization_intensity": (float(participants @ intensity) + absent) / n,
        "share_attacked": attacked / n,
        "risk": breaches / n,
        "risk_if_attacked": breaches / attacked if attacked > 0 else np.nan,
        "share_unchanged": float(participants @ (intensity == 0)) / n,
        "share_suppressed": (float(participants @ (intensity == 1)) + absent) / n,
    }


def risk_quantiles(risk: Floats, participants: NDArray[np.int64]) -> dict[str, float]:
    """Return quantiles of the probability of re-identification over the records shared; missing if none is.

    The quantile at level q is the lowest risk that at least a share q of records does not exceed.
    """
    total = int(participants.sum())
    if not total:
        return dict.fromkeys(RISK_QUANTILES, np.nan)
    order = np.argsort(risk)
    reached = np.cumsum(participants[order])
    return {name: float(risk[order[np.searchsorted(reached, level * total)]]) for name, level in RISK_QUANTILES.items()}


def equilibrium_of(setting: Setting, choice: Choice, outcome: RoundOutcome, adversary_payoff: Floats) -> Equilibrium:
    """Return what a round leads to for each cell's records that are shared, arrays of shape (n_cells,).

    `success_probability` is that of an attack by whoever is there, whether or not it is made.

    Parameters
    ----------
    setting : Setting
    choice : Choice
    outcome : RoundOutcome
    adversary_payoff : ndarray of float64, shape (n_cells,)
        Expected payoff of all adversaries together from a record, purchases apart.
    """
    utility, intensity = release_of(setting, choice.strategies)
    attacked = outcome.attacked > 0
    success = np.divide(outcome.risk, outcome.attacked, out=outcome.exposure.copy(), where=attacked)
    return Equilibrium(
        strategies=choice.strategies,
        publisher_payoff=setting.benefit * utility - setting.loss * outcome.risk,
        adversary_payoff=adversary_payoff,
        attacked=attacked,
        success_probability=success,
        utility=utility,
        generalization_intensity=intensity,
        solver=choice.solver,
        evaluated=choice.evaluated,
        exact=choice.exact,
    )
