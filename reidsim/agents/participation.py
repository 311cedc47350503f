"""When data subjects take part: what a breach is to each, what each expects, and what it learns from a round."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.profile import ParticipationRule

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def draw_harm(rule: ParticipationRule, n: int, rng: np.random.Generator) -> Floats:
    """Draw what a breach is to each subject: lognormal with the rule's mean and spread, shape (n,)."""
    if rule.spread == 0:
        return np.full(n, rule.harm)
    logarithm = rng.standard_normal(n)
    logarithm *= rule.spread
    logarithm -= rule.spread**2 / 2
    return np.asarray(rule.harm * np.exp(logarithm, out=logarithm))


def takes_part(rule: ParticipationRule, harm: Floats, expected_risk: Floats) -> Bools:
    """Tell who takes part: those to whom it is worth at least the harm expected."""
    return np.asarray(_is_worth(harm, expected_risk, rule.reward))


@numba.njit(cache=True)
def _is_worth(harm: Floats, expected_risk: Floats, reward: float) -> Bools:
    # Without an array of products.
    worth = np.empty(len(harm), dtype=np.bool_)
    for subject in range(len(harm)):
        worth[subject] = harm[subject] * expected_risk[subject] <= reward
    return worth


@numba.njit(cache=True)
def count_by_cell(cells: NDArray[np.intp], participates: Bools, n_cells: int) -> NDArray[np.int64]:
    """Count how many subjects of each cell take part, shape (n_cells,)."""
    counts = np.zeros(n_cells, dtype=np.int64)
    for subject in range(len(cells)):
        counts[cells[subject]] += participates[subject]
    return counts


def learn_risk(
    rule: ParticipationRule,
    expected_risk: Floats,
    participates: Bools,
    breached: Floats | Bools,
    rate: float,
    hears: Floats | Bools | float,
) -> None:
    """Move what subjects expect towards what they met in a round, in place.

    Who takes part sees whether it was breached itself; who hears of the breaches of a round also learns the share of
    participants who were. Who does neither learns nothing.

    Parameters
    ----------
    rule : ParticipationRule
    expected_risk : ndarray of float64, shape (n,)
    participates : ndarray of bool, shape (n,)
    breached : ndarray, shape (n,)
        Whether the subject was breached, or the probability of it.
    rate : float
        Share of participants who were breached.
    hears : ndarray, shape (n,), or float
        Whether the subject hears of it, or the probability of it.
    """
    # As floats, or what is drawn would be compiled for apart.
    weight = np.broadcast_to(np.asarray(hears, dtype=np.float64), expected_risk.shape)
    _learn_risk(expected_risk, participates, np.asarray(breached, dtype=np.float64), rate, weight, rule.learning_rate)


@numba.njit(cache=True)
def _learn_risk(
    expected_risk: Floats,
    participates: Bools,
    breached: Floats,
    rate: float,
    hears: Floats,
    learning_rate: float,
) -> None:
    for i in range(len(expected_risk)):
        if participates[i]:
            # Who hears takes the mean of both.
            met = breached[i] + 0.5 * hears[i] * (rate - breached[i])
            expected_risk[i] += learning_rate * (met - expected_risk[i])
        else:
            expected_risk[i] += learning_rate * hears[i] * (rate - expected_risk[i])
