"""When data subjects take part: what a breach is to each, what each expects, and what it learns from a round."""

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
Bytes = NDArray[np.uint8]
Counts = NDArray[np.int64]

# Subjects who are told at once what they met: what is kept of them stays in the nearest cache.
_BLOCK = 1024


class Decided(NamedTuple):
    """What subjects decided about the next round.

    Attributes
    ----------
    cell : ndarray of int, shape (n,)
        Which of the distinct records each one's is.
    participates : ndarray of bool, shape (n,)
        Whether each takes part.
    participants : ndarray of int64, shape (n_cells,)
        How many of each cell do.
    joined, left : int
        How many do and did not in the round before, and the other way round.
    """

    cell: NDArray[np.intp]
    participates: Bools
    participants: Counts
    joined: int
    left: int


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
    worth = np.empty(len(harm), dtype=np.bool_)
    _tell_worth(harm, expected_risk, rule.reward, worth.view(np.uint8))
    return worth


@numba.njit(cache=True)
def count_by_cell(cells: NDArray[np.intp], participates: Bools, n_cells: int) -> NDArray[np.int64]:
    """Count how many subjects of each cell take part, shape (n_cells,)."""
    counts = np.zeros(n_cells, dtype=np.int64)
    for subject in range(len(cells)):
        counts[cells[subject]] += participates[subject]
    return counts


def newly_exposed(cells: NDArray[np.intp], is_out: Bools, attacked: Bools, was_exposed: Bools) -> int:
    """Count the subjects whose record is out and may be attacked, and mark them; only those not marked count.

    Parameters
    ----------
    cells : ndarray of int, shape (n,)
    is_out : ndarray of bool, shape (n,)
    attacked : ndarray of bool, shape (n_cells,)
        Records of which cells may be attacked.
    was_exposed : ndarray of bool, shape (n,)
        Who is marked.
    """
    return _mark_exposed(cells, is_out.view(np.uint8), attacked.view(np.uint8), was_exposed.view(np.uint8))


@numba.njit(cache=True)
def _mark_exposed(cells: NDArray[np.intp], is_out: Bytes, attacked: Bytes, was_exposed: Bytes) -> int:
    # Without branches, which nobody foretells, and without indices that may be negative.
    first = 0
    for subject in range(len(cells)):
        new = is_out[subject] & attacked[np.uint64(cells[subject])] & ~was_exposed[subject]
        first += new
        was_exposed[subject] |= new
    return first


def learn_and_decide(
    rule: ParticipationRule,
    columns: SubjectColumns,
    participants: Counts,
    risk: Floats,
    rate: float,
    drawn: tuple[Bools, Bools] | None = None,
) -> Decided:
    """Move what subjects expect towards what they met in a round, in place, and have them decide on the next.

    Who takes part sees whether it was breached itself; who hears of the breaches of a round also learns the share of
    participants who were. Who does neither learns nothing.

    Parameters
    ----------
    rule : ParticipationRule
    columns : SubjectColumns
        With harm and expected risk, which is moved.
    participants : ndarray of int64, shape (n_cells,)
        How many of each cell take part in the round.
    risk : ndarray of float64, shape (n_cells,)
        Probability of a breach of whoever takes part.
    rate : float
        Share of participants who were breached.
    drawn : pair of ndarray of bool, shape (n,), optional
        Who was breached and who hears of breaches, where that is drawn.
    """
    assert columns.harm is not None  # noqa: S101 # as subjects decide
    assert columns.expected_risk is not None  # noqa: S101
    breached, heard = drawn or (np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_))
    worth, counts = np.empty(len(columns), dtype=np.bool_), participants.copy()
    joined, left = _learn_and_decide(
        columns.cell, columns.participates.view(np.uint8), columns.harm, columns.expected_risk, risk,
        breached, heard, drawn is not None, rate, float(rule.hears), float(rule.learning_rate), float(rule.reward),
        worth.view(np.uint8), counts,
    )  # fmt: skip
    return Decided(columns.cell, worth, counts, joined, left)


@numba.njit(cache=True)
def _learn_and_decide(
    cell: NDArray[np.intp],
    participates: Bytes,
    harm: Floats,
    expected_risk: Floats,
    risk: Floats,
    breached: Bools,
    heard: Bools,
    is_drawn: bool,
    rate: float,
    hears: float,
    learning_rate: float,
    reward: float,
    worth: Bytes,
    counts: Counts,
) -> tuple[int, int]:
    """Write who takes part next and how many of each cell; return how many joined and left.

    Block after block, each in the cache: what depends on the subject's cell is gathered, and the loops over what is
    then in order have neither branches nor indices that may be negative, so that several subjects are done at once.
    """
    met_by_cell = risk + 0.5 * hears * (rate - risk)
    met, weight = np.empty(_BLOCK), np.full(_BLOCK, learning_rate * hears)
    movers = np.empty(_BLOCK, dtype=np.uint64)
    joined, moved = 0, 0
    for begin in range(0, len(cell), _BLOCK):
        end = min(begin + _BLOCK, len(cell))
        of, before, after, expected = (
            cell[begin:end],
            participates[begin:end],
            worth[begin:end],
            expected_risk[begin:end],
        )
        if is_drawn:
            was_breached, hear = breached[begin:end], heard[begin:end]
            for i in range(len(of)):
                # Who hears takes the mean of both.
                met[i] = was_breached[i] + 0.5 * hear[i] * (rate - was_breached[i])
                weight[i] = learning_rate * hear[i]
        else:
            for i in range(len(of)):
                met[i] = met_by_cell[np.uint64(of[i])]
        for i in range(len(expected)):
            was = expected[i]
            if_here, if_away = was + learning_rate * (met[i] - was), was + weight[i] * (rate - was)
            expected[i] = if_here if before[i] != 0 else if_away
        _tell_worth(harm[begin:end], expected, reward, after)
        moved_here = 0
        for i in range(len(before)):
            moved_here += after[i] ^ before[i]
        if moved_here:
            place = 0
            for i in range(len(before)):
                # Each is overwritten unless it moved.
                movers[place] = i
                place += after[i] ^ before[i]
            for i in movers[:moved_here]:
                if after[i] != 0:
                    joined += 1
                    counts[np.uint64(of[i])] += 1
                else:
                    counts[np.uint64(of[i])] -= 1
        moved += moved_here
    return joined, moved - joined


@numba.njit(cache=True)
def _tell_worth(harm: Floats, expected_risk: Floats, reward: float, worth: Bytes) -> None:
    # Without an array of products.
    for subject in range(len(harm)):
        worth[subject] = harm[subject] * expected_risk[subject] <= reward
