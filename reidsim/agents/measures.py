"""Measures of a round: averages over records, participation and quantiles of risk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.outcomes import RoundOutcome
from reidsim.agents.profile import Setting
from reidsim.core.measures import measures_worded
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import (
    ADVERSARY_PAYOFF,
    MEASURES,
    PUBLISHER_PAYOFF,
    REIDENTIFIED,
    RISK,
    averages,
)
from reidsim.games.record_game import WITHHELD, Choice, shared_rows
from reidsim.releases.lattice import NO_BENEFIT, GeneralizationLattice
from reidsim.releases.strategy_space import Rows, Strategies
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
    cells = np.arange(len(strategies)) if known is None else known.cells
    if isinstance(space, GeneralizationLattice) and space.size <= len(strategies):
        utility = _utility_in_lattice(space, strategies, cells)
    else:
        utility = np.zeros(len(strategies))
        for strategy, rows in shared_rows(strategies):
            utility[rows] = space.utility(strategy, cells[rows])
    intensity = setting.space.generalization_intensity(np.maximum(strategies, 0))
    return utility, np.where(strategies == WITHHELD, 1.0, intensity)


def _utility_in_lattice(lattice: GeneralizationLattice, strategies: Strategies, cells: Rows) -> Floats:
    """Return the utility of cells, each generalized to its own lattice node.

    The utility of a withheld record is 0. See the lattice's `utility`.
    """
    loss = np.zeros(len(strategies))
    for levels, losses in zip(lattice.level_columns, lattice.record_losses, strict=True):
        _add_losses(levels, losses, strategies, cells, loss)
    return np.where((loss > NO_BENEFIT) | (strategies == WITHHELD), 0.0, 1.0 - loss)


@numba.njit(cache=True)
def _add_losses(levels: NDArray[np.int64], losses: Floats, strategies: Strategies, cells: Rows, loss: Floats) -> None:
    """Add the information loss of one attribute to `loss`, in place."""
    for place in range(len(strategies)):
        if strategies[place] >= 0 and levels[strategies[place]] > 0:
            loss[place] += losses[levels[strategies[place]], cells[place]]


def record_measures(
    setting: Setting,
    strategies: Strategies,
    release: tuple[Floats, Floats],
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
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell.
    release : tuple of ndarray of float64, shape (n_cells,)
        Utility and generalization intensity; see `release_of`.
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
    lost = setting.loss * frequency * success

    def rows(now: Any, before: Any, never: float) -> NDArray[Any]:
        return np.concatenate([now, np.broadcast_to(before, now.shape), [never]])

    utility, intensity = release
    shared = Equilibrium(
        strategies=rows(strategies, WITHHELD, WITHHELD).astype(np.int64),
        publisher_payoff=rows(setting.benefit * utility - lost, -lost, 0.0),
        # A purchase belongs to no single record, so the payoff is divided evenly among all records.
        adversary_payoff=np.full(len(weights), adversary_payoff / n),
        attacked=rows(attacked > 0, attacked > 0, 0).astype(np.bool_),
        success_probability=rows(success, success, 0.0),
        utility=rows(utility, 0.0, 0.0),
        generalization_intensity=rows(intensity, 1.0, 1.0),
        solver="rounds",
        evaluated=np.zeros(len(weights), dtype=np.int64),
        exact=False,
        frequency=rows(frequency, frequency, 0.0),
    )
    return averages(shared, weights)


def risk_quantiles(risk: Floats, participants: NDArray[np.int64]) -> dict[str, float]:
    """Return quantiles of the re-identification probability of exposed records.

    Parameters
    ----------
    risk : ndarray of float64, shape (n_cells,)
        Re-identification probability of the records of each cell.
    participants : ndarray of int64, shape (n_cells,)
        Number of exposed records of each cell; see `Setting.exposed`.

    Returns
    -------
    dict of str to float
        Median, 90 % and 99 % quantile by column; NaN if no record is exposed.
    """
    return dict(zip(RISK_QUANTILES, weighted_quantiles(risk, participants, RISK_QUANTILES.values()), strict=True))


def weighted_quantiles(values: Floats, weights: NDArray[np.int64], levels: Iterable[float]) -> list[float]:
    """Return weighted lower quantiles at some levels; NaN if all weights are 0.

    The quantile at level q is the lowest value at which the cumulative weight is at least q times the total.
    """
    total = int(weights.sum())
    if not total:
        return [np.nan for _ in levels]
    found: list[float] = _weighted_quantiles(values, weights, np.array([level * total for level in levels])).tolist()
    return found


@numba.njit(cache=True)
def _weighted_quantiles(values: Floats, weights: NDArray[np.int64], reached: Floats) -> Floats:
    """Return the lowest values at which the cumulative weight is at least `reached`.

    Uses selection, because only a few quantiles are needed and sorting all values takes longer.
    """
    lowest, of_lowest, n = np.inf, 0, 0
    for place in range(len(values)):
        if weights[place] > 0:
            n += 1
            if values[place] < lowest:
                lowest, of_lowest = values[place], 0
            of_lowest += weights[place] * (values[place] == lowest)
    # Most risks are 0, the lowest value: counting these first leaves few values to search.
    above, of_above = np.empty(n), np.empty(n, dtype=np.int64)
    n = 0
    for place in range(len(values)):
        if weights[place] > 0 and values[place] > lowest:
            above[n], of_above[n] = values[place], weights[place]
            n += 1
    quantiles = np.full(len(reached), lowest)
    for number in range(len(reached)):
        if of_lowest < reached[number] and n:
            quantiles[number] = _selected(above[:n].copy(), of_above[:n].copy(), reached[number] - of_lowest)
    return quantiles


@numba.njit(cache=True)
def _selected(values: Floats, weights: NDArray[np.int64], reached: float) -> float:
    """Return one quantile by quickselect; the arrays are overwritten."""
    below, n = 0, len(values)
    while True:
        first, middle, last = values[0], values[n // 2], values[n - 1]
        pivot: float = max(min(first, middle), min(max(first, middle), last))
        lower, equal = 0, 0
        for place in range(n):
            lower += weights[place] * (values[place] < pivot)
            equal += weights[place] * (values[place] == pivot)
        is_lower = below + lower >= reached and lower > 0
        if not is_lower:
            below += lower + equal
            if below >= reached:
                return pivot
        kept = 0
        for place in range(n):
            value, weight = values[place], weights[place]
            values[kept], weights[kept] = value, weight
            kept += value < pivot if is_lower else value > pivot
        if not kept:
            return pivot
        n = kept


def outcomes_of_records(
    setting: Setting, utility: Floats, outcome: RoundOutcome, adversary: Floats
) -> dict[str, Floats]:
    """Return the per-cell outcomes whose distribution is stored.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    utility : ndarray of float64, shape (n_cells,)
        Utility of the released record of each cell.
    outcome : RoundOutcome
        Outcome of the round's attacks.
    adversary : ndarray of float64, shape (n_cells,)
        Expected payoff of all adversaries from a record of each cell, in currency units.

    Returns
    -------
    dict of str to ndarray of float64, shape (n_cells,)
        Per record, by column: payoff of the publisher, payoff of the adversaries, re-identification probability.
    """
    return {
        PUBLISHER_PAYOFF.column: setting.benefit * utility - setting.loss * outcome.risk,
        ADVERSARY_PAYOFF.column: adversary,
        RISK.column: outcome.risk,
    }


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
