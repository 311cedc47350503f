"""State of a simulation that its agents read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reidsim.agents.profile import Setting

Floats = NDArray[np.float64]


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
    participates: NDArray[np.bool_]
    harm: Floats | None = None
    expected_risk: Floats | None = None

    def __len__(self) -> int:
        return len(self.cell)


class ModelState(Protocol):
    """The attributes of `ReidentificationModel` that its agents use.

    Attributes
    ----------
    setting : Setting
        Parameters of the present round.
    columns : SubjectColumns
        State of the data subjects.
    publisher : Publisher
        The publisher agent.
    adversaries : sequence of Adversary
        The adversary agents, one per type.
    round_number : int
        Number of the present round, from 1; 0 before the first.
    participants : ndarray of int64, shape (n_cells,)
        Number of participating subjects of each cell.
    """

    setting: Setting
    columns: SubjectColumns
    publisher: Any
    adversaries: Sequence[Any]
    round_number: int
    participants: NDArray[np.int64]

    @property
    def exposed(self) -> NDArray[np.int64]: ...  # noqa: D102 - documented in ReidentificationModel
    @property
    def needs_all_plans(self) -> bool: ...  # noqa: D102
