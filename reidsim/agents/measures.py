"""Measures of a round: averages over records, participation and quantiles of risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.attack import RoundOutcome
from reidsim.agents.profile import Setting
from reidsim.core.measures import measures_worded
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import MEASURES, REIDENTIFIED, averages
from reidsim.games.record_game import WITHHELD, Choice, shared_rows
from reidsim.releases.lattice import NO_BENEFIT, GeneralizationLattice
from reidsim.releases.strategy_space import Strategies
from reidsim.validation import read_toml

Floats = NDArray[np.float64]

# Measures that exist only for rounds, in column order.
_OWN = measures_worded(read_toml(Path(__file__).with_suffix(".toml")))
PARTICIPATION, BREACHES, DISTINCT = _OWN["participation"], _OWN["breaches"], _OWN["distinct_reidentified"]
# Levels of the quantiles of risk over released records, by column.
RISK_QUANTILES = {"risk_median": 0.5, "risk_90": 0.9, "risk_99": 0.99}
# Measures of all run tables; the measures from participation on exist only in models with agents.
RUN_MEASURES = (*MEASURES, *REIDENTIFIED, PARTICIPATION, BREACHES, DISTINCT, _OWN["risk_90"], _OWN["risk_99"])
# Measures of a round, in column order.
ROUND_MEASURES = (*MEASURES, *_OWN.values(), *REIDENTIFIED)


def release_of(setting: Setting, strategies: Strategies) -> tuple[Floats, Floats]:
    """Return the utility and the generalization intensity of each cell's strategy.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell; -1 for withheld records.

    Returns
    -------
    utility, intensity : ndarray of float64, shape (n_cells,)
        Withheld records have utility 0 and generalization intensity 1.
    """
    # If adversaries remember releases, rows replace cells; the loss tables of the original cells are reused.
    space, known = setting.space if setting.known is None else setting.known.alone.space, setting.known
    cells, withheld = np.arange(len(strategies)) if known is None else known.cells, strategies == WITHHELD
    utility = np.zeros(len(strategies))
    if isinstance(space, GeneralizationLattice) and space.size <= len(strategies):
        for levels, losses in zip(space.level_columns[:, strategies], space.record_losses, strict=True):
            utility += np.where(levels > 0, losses[levels, cells], 0.0)
        utility = np.where((utility > NO_BENEFIT) | withheld, 0.0, 1.0 - utility)
    else:
        for strategy, rows in shared_rows(strategies):
            utility[rows] = space.utility(strategy, cells[rows])
    return utility, np.where(withheld, 1.0, setting.space.generalization_intensity(np.maximum(strategies, 0)))


def record_measures(
    setting: Setting,
    released: Equilibrium,
    participants: NDArray[np.int64],
    outcome: RoundOutcome,
    adversary_payoff: float,
) -> dict[str, float]:
    """Return the measures of a round, averaged over all records.

    The averages are computed by the functions for games without rounds. The record of a data subject who does not take
    part is withheld: utility 0, generalization intensity 1. It can still be attacked if it was released in an earlier
    round.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    released : Equilibrium
        Outcome for the released records of each cell; see `equilibrium_of`.
    participants : ndarray of int64, shape (n_cells,)
        Number of released records of each cell.
    outcome : RoundOutcome
        Outcome of the round's attacks.
    adversary_payoff : float
        Total payoff of all adversaries, in currency units.

    Returns
    -------
    dict of str to float
        Value of each measure, by column.
    """
    n, exposed = setting.n_subjects, setting.exposed(participants)
    # Two rows per cell, for records released now and records released only earlier; one row for all other records.
    weights = np.concatenate([participants, exposed - participants, [n - int(exposed.sum())]])
    attacked, breaches = outcome.records_attacked, outcome.breaches
    frequency = np.divide(attacked, exposed, out=np.zeros_like(attacked), where=exposed > 0)
    success = np.divide(breaches, attacked, out=np.zeros_like(breaches), where=attacked > 0)
    lost, utility = setting.loss * frequency * success, released.utility

    def rows(now: Any, before: Any, never: float) -> NDArray[Any]:
        return np.concatenate([now, np.broadcast_to(before, now.shape), [never]])

    shared = replace(
        released,
        strategies=rows(released.strategies, WITHHELD, WITHHELD).astype(np.int64),
        publisher_payoff=rows(setting.benefit * utility - lost, -lost, 0.0),
        # A purchase belongs to no single record, so the payoff is divided evenly among all records.
        adversary_payoff=np.full(len(weights), adversary_payoff / n),
        attacked=rows(attacked > 0, attacked > 0, 0).astype(np.bool_),
        success_probability=rows(success, success, 0.0),
        utility=rows(utility, 0.0, 0.0),
        generalization_intensity=rows(released.generalization_intensity, 1.0, 1.0),
        frequency=rows(frequency, frequency, 0.0),
    )
    return averages(shared, weights)


def weighted_quantiles(values: Floats, weights: NDArray[np.int64], levels: Iterable[float]) -> list[float]:
    """Return weighted lower quantiles at some levels; NaN if all weights are 0.

    The quantile at level q is the lowest value at which the cumulative weight is at least q times the total.
    """
    order = np.argsort(values)
    order = order[weights[order] > 0]
    if not len(order):
        return [np.nan for _ in levels]
    reached = np.cumsum(weights[order])
    return [float(values[order[np.searchsorted(reached, level * reached[-1])]]) for level in levels]


def equilibrium_of(setting: Setting, choice: Choice, outcome: RoundOutcome, adversary_payoff: Floats) -> Equilibrium:
    """Return the outcome of a round for the released records of each cell.

    If records of the cell are attacked, `success_probability` is the probability that an attack succeeds. Otherwise,
    it is the probability that an attack by the adversaries present would succeed.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    choice : Choice
        Strategies of the publisher.
    outcome : RoundOutcome
        Outcome of the round's attacks.
    adversary_payoff : ndarray of float64, shape (n_cells,)
        Expected payoff of all adversaries from a record, without purchases, in currency units.

    Returns
    -------
    Equilibrium
        Its arrays have shape (n_cells,).
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
