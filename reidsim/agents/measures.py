"""What is collected of a round: averages over all records, and who takes part."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

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
    REIDENTIFIED,
    RISK,
    RISK_IF_ATTACKED,
    SHARE_ATTACKED,
    SHARE_SUPPRESSED,
    SHARE_UNCHANGED,
    UTILITY,
)
from reidsim.games.record_game import WITHHELD, Choice, shared_rows
from reidsim.measures import measures_worded
from reidsim.portable_math import dot
from reidsim.releases.strategy_space import Strategies
from reidsim.validation import read_toml

Floats = NDArray[np.float64]

# Of a round, besides those of every game, in the order of columns.
_OWN = measures_worded(read_toml(Path(__file__).with_suffix(".toml")))
PARTICIPATION, BREACHES = _OWN["participation"], _OWN["breaches"]
# Quantiles of the risk of records shared, by column.
RISK_QUANTILES = {"risk_median": 0.5, "risk_90": 0.9, "risk_99": 0.99}
# What tables of runs may hold, whatever the kind of scenario; those from participation on, with agents.
RUN_MEASURES = (*MEASURES, *REIDENTIFIED, PARTICIPATION, BREACHES, _OWN["risk_90"], _OWN["risk_99"])
# Measures of a round, in the order of columns.
ROUND_MEASURES = (*MEASURES, *_OWN.values(), *REIDENTIFIED)


def release_of(setting: Setting, strategies: Strategies) -> tuple[Floats, Floats]:
    """Return utility and generalization intensity of the strategy of each cell, two arrays of shape (n_cells,)."""
    utility = np.zeros(len(strategies))
    # Of rows that are of cells, by what the space of these has ready.
    space, known = setting.space if setting.known is None else setting.known.alone.space, setting.known
    for strategy, rows in shared_rows(strategies):
        utility[rows] = space.utility(strategy, rows if known is None else known.cells[rows])
    intensity = setting.space.generalization_intensity(np.maximum(strategies, 0))
    return utility, np.where(strategies == WITHHELD, 1.0, intensity)


def record_measures(
    setting: Setting,
    release: tuple[Floats, Floats],
    participants: NDArray[np.int64],
    outcome: RoundOutcome,
    adversary_payoff: float,
) -> dict[str, float]:
    """Average the outcomes of a round over all records.

    The record of somebody who does not take part is withheld: payoff and utility 0, generalization intensity 1.

    Parameters
    ----------
    setting : Setting
    release : tuple of ndarray of float64, shape (n_cells,)
        Utility and generalization intensity; see `release_of`.
    participants : ndarray of int64, shape (n_cells,)
    outcome : RoundOutcome
    adversary_payoff : float
        Of all adversaries together, in currency units.
    """
    n = setting.n_subjects
    utility, intensity = release
    absent = n - int(participants.sum())
    gained = dot(participants, setting.benefit * utility) - dot(outcome.breaches, setting.loss)
    breaches, attacked = float(outcome.breaches.sum()), float(outcome.records_attacked.sum())
    return {
        PUBLISHER_PAYOFF.column: float(gained) / n,
        ADVERSARY_PAYOFF.column: adversary_payoff / n,
        UTILITY.column: dot(participants, utility) / n,
        GENERALIZATION_INTENSITY.column: (dot(participants, intensity) + absent) / n,
        SHARE_ATTACKED.column: attacked / n,
        RISK.column: breaches / n,
        RISK_IF_ATTACKED.column: breaches / attacked if attacked > 0 else np.nan,
        SHARE_UNCHANGED.column: dot(participants, intensity == 0) / n,
        SHARE_SUPPRESSED.column: (dot(participants, intensity == 1) + absent) / n,
    }


def risk_quantiles(risk: Floats, participants: NDArray[np.int64]) -> dict[str, float]:
    """Return quantiles of the probability of re-identification over the records shared; missing if none is."""
    return dict(zip(RISK_QUANTILES, weighted_quantiles(risk, participants, RISK_QUANTILES.values()), strict=True))


def weighted_quantiles(values: Floats, weights: NDArray[np.int64], levels: Iterable[float]) -> list[float]:
    """Return at each level the lowest value that at least such a share of the weight does not exceed; NaN of none."""
    total = int(weights.sum())
    if not total:
        return [np.nan for _ in levels]
    # Most risks are 0, and need not be sorted.
    least = values[weights > 0].min()
    above = np.flatnonzero((weights > 0) & (values > least))
    above = above[np.argsort(values[above])]
    ordered = np.append(least, values[above])
    reached = np.cumsum(np.append(total - weights[above].sum(), weights[above]))
    return [float(ordered[np.searchsorted(reached, level * total)]) for level in levels]


def outcomes_of_records(
    setting: Setting, utility: Floats, outcome: RoundOutcome, adversary: Floats
) -> dict[str, Floats]:
    """Return the outcomes of single records whose distribution is kept, by column, shape (n_cells,) each."""
    return {
        PUBLISHER_PAYOFF.column: setting.benefit * utility - setting.loss * outcome.risk,
        ADVERSARY_PAYOFF.column: adversary,
        RISK.column: outcome.risk,
    }


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
