"""Data subjects: their state in columns, and agents that are views of a row."""

from __future__ import annotations

import mesa

from reidsim.agents.model_state import ModelState


class DataSubject(mesa.Agent):
    """Agent for one data subject: a view of a row of the subjects' columns.

    Parameters
    ----------
    model : ReidentificationModel
        The model to which the agent belongs.
    number : int
        Number of the row, from 0.
    """

    model: ModelState

    def __init__(self, model: ModelState, number: int) -> None:
        super().__init__(model)
        self.number = number

    @property
    def participates(self) -> bool:
        """Whether the subject takes part in the round."""
        return bool(self.model.columns.participates[self.number])

    @property
    def harm(self) -> float | None:
        """Harm of a breach, in currency units; None if participation is not a decision."""
        harm = self.model.columns.harm
        return None if harm is None else float(harm[self.number])

    @property
    def expected_risk(self) -> float | None:
        """Expected probability of a breach; None if participation is not a decision."""
        expected = self.model.columns.expected_risk
        return None if expected is None else float(expected[self.number])

    @property
    def strategy(self) -> int:
        """Strategy of the record if the subject takes part; -1 if it is withheld."""
        return int(self.model.publisher.strategies[self.model.columns.cell[self.number]])
