"""What is collected of a round: averages over all records, and who takes part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.outcomes import RoundOutcome
from reidsim.agents.profile import Setting
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import (
    ADVERSARY_PAYOFF,
    GENERALIZATION_INTENSITY,
    MEASURES,
    PUBLISHER_PAYOFF,
    RISK,
    RISK_IF_ATTACKED,
    SHARE_ATTACKED,
    SHARE_SUPPRESSED,
    SHARE_UNCHANGED,
    UTILITY,
)
from reidsim.games.record_game import WITHHELD, Choice, shared_rows
from reidsim.measures import Measure
from reidsim.releases.strategy_space import Strategies

Floats = NDArray[np.float64]

PARTICIPATION = Measure("participation", "Participation", "{:.2%}", "share of data subjects who take part")
# Quantiles of the risk of records shared, by column.
RISK_QUANTILES = {"risk_median": 0.5, "risk_90": 0.9, "risk_99": 0.99}
_COUNT = "{:,.1f}"
# Measures of a round, in the order of columns.
ROUND_MEASURES = (
    *MEASURES,
    PARTICIPATION,
    Measure("joined", "Joined", "{:.2%}", "share of data subjects who take part and did not in the round before"),
    Measure("left", "Left", "{:.2%}", "share of data subjects who took part in the round before and no longer do"),
    Measure("changed", "Releases changed", "{:.2%}", "share of records whose release differs from the round before"),
    Measure("attacks", "Attacks", _COUNT, "records attacked; one attacked by two adversaries counts once"),
    Measure("exploits", "Exploits", _COUNT, "exploits, of all adversaries"),
    Measure("detections", "Detections", _COUNT, "detected exploits; records with one where outcomes are drawn"),
    Measure("breaches", "Re-identifications", _COUNT, "successful re-identifications"),
    Measure(
        "newly_exposed",
        "Newly exposed",
        "{:.2%}",
        "share of data subjects whose record may be attacked, for the first time",
    ),
    *(
        Measure(
            column,
            f"Risk, {level:.0%} quantile",
            "{:.4f}",
            f"probability of re-identification that {level:.0%} of the records shared do not exceed",
        )
        for column, level in RISK_QUANTILES.items()
    ),
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
        PUBLISHER_PAYOFF.column: float(gained) / n,
        ADVERSARY_PAYOFF.column: adversary_payoff / n,
        UTILITY.column: float(participants @ utility) / n,
        GENERALIZATION_INTENSITY.column: (float(participants @ intensity) + absent) / n,
        SHARE_ATTACKED.column: attacked / n,
        RISK.column: breaches / n,
        RISK_IF_ATTACKED.column: breaches / attacked if attacked > 0 else np.nan,
        SHARE_UNCHANGED.column: float(participants @ (intensity == 0)) / n,
        SHARE_SUPPRESSED.column: (float(participants @ (intensity == 1)) + absent) / n,
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
