"""Data subjects: their state in columns, harm of a breach, expected risk and participation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.profile import ParticipationRule

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(eq=False)
class SubjectColumns:
    """State of all data subjects, one row each.

    Parameters
    ----------
    cell : ndarray of int, shape (n,)
        Cell (distinct record) of each subject's record.
    participates : ndarray of bool, shape (n,)
        Whether the subject takes part in the round.
    harm : ndarray of float64, shape (n,), optional
        Harm of a breach to the subject, in currency units; None if participation is not a decision.
    expected_risk : ndarray of float64, shape (n,), optional
        Probability of a breach that the subject expects; None if participation is not a decision.
    """

    cell: NDArray[np.intp]
    participates: Bools
    harm: Floats | None = None
    expected_risk: Floats | None = None


def draw_harm(rule: ParticipationRule, n: int, rng: np.random.Generator) -> Floats:
    """Draw each subject's harm of a breach, in currency units, shape (n,).

    The harm is lognormal with the rule's mean; `spread` is the standard deviation of its logarithm.
    """
    if rule.spread == 0:
        return np.full(n, rule.harm)
    return np.asarray(rule.harm * np.exp(rng.standard_normal(n) * rule.spread - rule.spread**2 / 2))


def takes_part(rule: ParticipationRule, harm: Floats, expected_risk: Floats) -> Bools:
    """Return which subjects take part: the reward is at least the expected harm."""
    return np.asarray(harm * expected_risk <= rule.reward)


def learn_and_decide(
    rule: ParticipationRule,
    columns: SubjectColumns,
    risk: Floats,
    rate: float,
    drawn: tuple[Bools, Bools] | None = None,
) -> Bools:
    """Update the expected risks; return which subjects take part in the next round.

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
    breached, hears = (risk[columns.cell], rule.hears) if drawn is None else drawn
    met = np.where(columns.participates, breached + 0.5 * hears * (rate - breached), rate)
    weight = np.where(columns.participates, rule.learning_rate, rule.learning_rate * hears)
    columns.expected_risk = columns.expected_risk + weight * (met - columns.expected_risk)
    return takes_part(rule, columns.harm, columns.expected_risk)
