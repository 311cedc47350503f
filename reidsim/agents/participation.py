"""Participation of data subjects: harm of a breach, expected risk, and learning from a round."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.agents.profile import ParticipationRule

if TYPE_CHECKING:
    from reidsim.agents.subjects import SubjectColumns

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Decided(NamedTuple):
    """Decisions of subjects about the next round.

    Attributes
    ----------
    participates : ndarray of bool, shape (n,)
        Whether the subject takes part.
    joined, left : int
        Subjects who take part after a round without, and the other way round.
    """

    participates: Bools
    joined: int
    left: int


def draw_harm(rule: ParticipationRule, n: int, rng: np.random.Generator) -> Floats:
    """Draw the harm of a breach to each subject: lognormal with the rule's mean and spread, shape (n,)."""
    if rule.spread == 0:
        return np.full(n, rule.harm)
    logarithm = rng.standard_normal(n)
    logarithm *= rule.spread
    logarithm -= rule.spread**2 / 2
    return np.asarray(rule.harm * np.exp(logarithm, out=logarithm))


def takes_part(rule: ParticipationRule, harm: Floats, expected_risk: Floats) -> Bools:
    """Return which subjects take part: their reward is at least the expected harm."""
    return np.asarray(harm * expected_risk <= rule.reward)


def newly_exposed(cells: NDArray[np.intp], is_out: Bools, attacked: Bools, was_exposed: Bools) -> int:
    """Count the subjects whose record is out and may be attacked for the first time, and mark them.

    Parameters
    ----------
    cells : ndarray of int, shape (n,)
    is_out : ndarray of bool, shape (n,)
    attacked : ndarray of bool, shape (n_cells,)
        Records of which cells may be attacked.
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
    """Move expected risks towards the outcome of a round, in place, and decide on participation in the next round.

    Participants observe whether they were breached themselves. Subjects who hear of the breaches of a round learn the
    share of participants who were breached; participants who hear of them take the mean of both.

    Parameters
    ----------
    rule : ParticipationRule
    columns : SubjectColumns
        With harm and expected risk, which is changed.
    risk : ndarray of float64, shape (n_cells,)
        Probability of a breach of a participant.
    rate : float
        Share of participants who were breached.
    drawn : pair of ndarray of bool, shape (n,), optional
        Subjects who were breached and subjects who hear of breaches, if that is drawn.
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
    """Write expected risk and participation; `rule` holds the share who hear, the learning rate and the reward."""
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
