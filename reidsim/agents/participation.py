"""Participation of data subjects: harm of a breach, expected risk and learning."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.model_state import SubjectColumns
from reidsim.agents.profile import ParticipationRule

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Decided(NamedTuple):
    """Decisions of subjects about the next round.

    Attributes
    ----------
    participates : ndarray of bool, shape (n,)
        Whether the subject takes part.
    joined, left : int
        Number of subjects who take part after a round without participation, and number who stop.
    """

    participates: Bools
    joined: int
    left: int


def draw_harm(rule: ParticipationRule, n: int, rng: np.random.Generator) -> Floats:
    """Draw each subject's harm of a breach, in currency units, shape (n,).

    The harm is lognormal with the rule's mean; `spread` is the standard deviation of its logarithm.
    """
    if rule.spread == 0:
        return np.full(n, rule.harm)
    logarithm = rng.standard_normal(n)
    logarithm *= rule.spread
    logarithm -= rule.spread**2 / 2
    return np.asarray(rule.harm * np.exp(logarithm, out=logarithm))


def takes_part(rule: ParticipationRule, harm: Floats, expected_risk: Floats) -> Bools:
    """Return which subjects take part: the reward is at least the expected harm."""
    return np.asarray(harm * expected_risk <= rule.reward)


def newly_exposed(cells: NDArray[np.intp], is_out: Bools, attacked: Bools, was_exposed: Bools) -> int:
    """Count and mark the subjects whose record may be attacked for the first time.

    Parameters
    ----------
    cells : ndarray of int, shape (n,)
        Cell of each subject's record.
    is_out : ndarray of bool, shape (n,)
        Whether the subject's record is exposed: released now, or earlier and remembered.
    attacked : ndarray of bool, shape (n_cells,)
        Whether records of the cell may be attacked.
    was_exposed : ndarray of bool, shape (n,)
        Subjects already marked; changed in place.
    """
    new = is_out & attacked[cells] & ~was_exposed
    was_exposed |= new
    return int(np.count_nonzero(new))


def learn_and_decide(
    rule: ParticipationRule,
    columns: SubjectColumns,
    risk: Floats,
    rate: float,
    drawn: tuple[Bools, Bools] | None = None,
) -> Decided:
    """Update the expected risks in place; decide on participation in the next round.

    A participant observes whether its own record was breached. A subject who hears of the round's breaches learns the
    share of participants who were breached. A participant who also hears of the breaches uses the mean of both. The
    expected risk moves towards the observed value by the learning rate.

    Parameters
    ----------
    rule : ParticipationRule
        Parameters of the subjects' decision.
    columns : SubjectColumns
        State of the subjects, with harm and expected risk; the expected risk is changed.
    risk : ndarray of float64, shape (n_cells,)
        Probability of a breach of a participant.
    rate : float
        Share of participants who were breached.
    drawn : pair of ndarray of bool, shape (n,), optional
        Whether each subject was breached, and whether each subject hears of breaches, if outcomes are drawn.
    """
    assert columns.harm is not None and columns.expected_risk is not None  # noqa: S101, PT018 # as subjects decide
    breached, heard = drawn or (np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_))
    worth = np.empty(len(columns), dtype=np.bool_)
    _learn_and_decide(
        columns.cell,
        columns.participates,
        columns.harm,
        columns.expected_risk,
        risk + 0.5 * rule.hears * (rate - risk),
        breached,
        heard,
        rate,
        np.array([rule.hears, rule.learning_rate, rule.reward], dtype=np.float64),
        worth,
    )
    joined, left = worth & ~columns.participates, columns.participates & ~worth
    return Decided(worth, int(np.count_nonzero(joined)), int(np.count_nonzero(left)))


@numba.njit(cache=True)
def _learn_and_decide(
    cell: NDArray[np.intp],
    participates: Bools,
    harm: Floats,
    expected_risk: Floats,
    met_by_cell: Floats,
    breached: Bools,
    heard: Bools,
    rate: float,
    rule: Floats,
    worth: Bools,
) -> None:
    """Write each subject's expected risk and decision to `expected_risk` and `worth`.

    `rule` holds the probability of hearing of breaches, the learning rate and the reward. `met_by_cell` is the expected
    observation of a participant, used if outcomes are not drawn.
    """
    hears, learning_rate, reward = rule
    for i in range(len(cell)):
        was = expected_risk[i]
        if len(breached):
            met = breached[i] + 0.5 * heard[i] * (rate - breached[i])
            weight = learning_rate * heard[i]
        else:
            met, weight = met_by_cell[cell[i]], learning_rate * hears
        expected_risk[i] = was + learning_rate * (met - was) if participates[i] else was + weight * (rate - was)
        worth[i] = harm[i] * expected_risk[i] <= reward
