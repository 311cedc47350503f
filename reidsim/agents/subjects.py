"""Data subjects: their state in columns, and agents that are thin views of a row."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mesa
import numpy as np
from mesa.agent import AgentSet
from numpy.typing import NDArray

if TYPE_CHECKING:
    from reidsim.agents.model import ReidentificationModel

Floats = NDArray[np.float64]


@dataclass(eq=False)
class SubjectColumns:
    """State of all data subjects, one row each.

    Parameters
    ----------
    cell : ndarray of int, shape (n,)
        Which of the distinct records the subject's is.
    participates : ndarray of bool, shape (n,)
        Whether the subject takes part in the round.
    harm : ndarray of float64, shape (n,), optional
        What a breach is to the subject, in currency units; where taking part is a decision.
    expected_risk : ndarray of float64, shape (n,), optional
        Probability of a breach that the subject expects.
    """

    cell: NDArray[np.intp]
    participates: NDArray[np.bool_]
    harm: Floats | None = None
    expected_risk: Floats | None = None

    def __len__(self) -> int:
        return len(self.cell)


class DataSubject(mesa.Agent):
    """One person whose record may be shared: a view of a row of the subjects' columns.

    Parameters
    ----------
    model : ReidentificationModel
    number : int
        Of the row, from 0.
    """

    model: ReidentificationModel

    def __init__(self, model: ReidentificationModel, number: int) -> None:
        super().__init__(model)
        self.number = number

    @property
    def participates(self) -> bool:
        """Whether the subject takes part in the round."""
        return bool(self.model.columns.participates[self.number])

    @property
    def harm(self) -> float | None:
        """What a breach is to the subject; None where taking part is not a decision."""
        harm = self.model.columns.harm
        return None if harm is None else float(harm[self.number])

    @property
    def expected_risk(self) -> float | None:
        """Probability of a breach that the subject expects; None where taking part is not a decision."""
        expected = self.model.columns.expected_risk
        return None if expected is None else float(expected[self.number])

    @property
    def strategy(self) -> int:
        """Form in which the record is shared by whoever takes part; -1 if it is withheld."""
        return int(self.model.publisher.strategies[self.model.columns.cell[self.number]])


class SubjectSet(AgentSet):
    """All data subjects of a model, as an `AgentSet` that does not make its agents until they are asked for.

    `apply` hands the columns of all subjects to one vectorised call. The methods of mesa's sets work as well, but make
    an agent for every subject first.

    Parameters
    ----------
    model : ReidentificationModel
    """

    def __init__(self, model: ReidentificationModel) -> None:
        self._model = weakref.ref(model)
        self._views: Any = None
        super().__init__([], random=model.random)
        self._views = None

    def apply(self, decide: Callable[..., Any], *arguments: Any) -> Any:
        """Let all subjects decide in one call: ``decide(columns, *arguments)``; return what it returns."""
        return decide(self._columns, *arguments)

    def column(self, name: str) -> Any:
        """Return a column of all subjects, such as ``participates``."""
        return getattr(self._columns, name)

    def select(self, *arguments: Any, **options: Any) -> AgentSet:
        """Return some of the subjects as an ordinary set of agents; see mesa's `AgentSet.select`."""
        return copy.copy(self).select(*arguments, **options)

    def groupby(self, *arguments: Any, **options: Any) -> Any:
        """Return the subjects in ordinary sets by a property; see mesa's `AgentSet.groupby`."""
        return copy.copy(self).groupby(*arguments, **options)

    def __copy__(self) -> AgentSet:
        return AgentSet(self[:], random=self.random)

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[DataSubject]:
        return iter(self._agents.keys())

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            return [self._subject(number) for number in range(*item.indices(len(self)))]
        return self._subject(range(len(self))[item])

    def _subject(self, number: int) -> DataSubject:
        model = self._model()
        assert model is not None  # noqa: S101 # the model holds this set
        return model.subject(number)

    @property
    def _columns(self) -> SubjectColumns:
        model = self._model()
        assert model is not None  # noqa: S101 # the model holds this set
        return model.columns

    # mesa keeps the agents of a set under this name; they are made when it first reads it.
    @property
    def _agents(self) -> Any:
        if self._views is None:
            self._views = weakref.WeakKeyDictionary(dict.fromkeys(self[:]))
        return self._views

    @_agents.setter
    def _agents(self, agents: Any) -> None:
        self._views = agents
