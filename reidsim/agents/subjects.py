"""Data subjects as mesa agents: objects that read and write the columns of a model."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import mesa
import numpy as np
from mesa.agent import AgentSet
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.core.validation import Section, revalidated
from reidsim.populations.population import Money, Share

if TYPE_CHECKING:
    from reidsim.agents.model import ReidentificationModel


class SubjectState(Section):
    """Values of a data subject that a user may set between rounds; see `Subject`."""

    participates: bool = True
    harm: Money = 0.0
    expected_risk: Share = 0.0


class Column:
    """Attribute of data subjects, stored as one array of the model.

    Parameters
    ----------
    array : str
        Name of the model's attribute, an ndarray of shape (n_subjects,).
    """

    name: str

    def __init__(self, array: str) -> None:
        self.array = array

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def of(self, model: ReidentificationModel) -> NDArray[Any]:
        """Return the values of all data subjects of a model, shape (n_subjects,)."""
        values: NDArray[Any] = getattr(model, self.array)
        return values

    def write(self, model: ReidentificationModel, rows: int | NDArray[np.intp], value: object) -> None:
        """Set the attribute of some data subjects of a model to one value.

        Raises
        ------
        AttributeError
            If the attribute cannot be set, or the model does not have it.
        InputError
            If the value is not allowed.
        """
        if self.name not in SubjectState.model_fields:
            raise AttributeError(f"{self.name} of a data subject is a result and cannot be set")
        plain = value.item() if isinstance(value, np.generic) else value
        checked = revalidated(SubjectState, {self.name: plain}, "data subject")
        self.of(model)[rows] = getattr(checked, self.name)

    def __get__(self, subject: Subject | None, owner: type) -> Any:
        return self if subject is None else self.of(subject.model).item(subject.row)

    def __set__(self, subject: Subject, value: object) -> None:
        self.write(subject.model, subject.row, value)


class Subject(mesa.Agent):
    """A data subject of a model.

    The object holds no values of its own: the attributes below read and write arrays of the model. An attribute is
    missing (`AttributeError`) if the model does not have it: `harm` and `expected_risk` without the scenario's section
    ``agents.participation``.

    Parameters
    ----------
    model : ReidentificationModel
        The model to which the data subject belongs.
    row : int
        Position in the arrays of the model, from 0.

    Attributes
    ----------
    participates : bool
        Whether the data subject takes part in the next round; a new value holds until the data subjects decide again
        at the end of that round.
    harm : float
        Harm of a re-identification, in currency units.
    expected_risk : float
        Probability of a re-identification that the data subject expects.
    strategy : int
        Strategy of the record in the latest round; -1 if it was withheld, its data subject did not take part, or no
        round was played. Read-only.
    risk : float
        Probability that the record was re-identified in the latest round; 0 before the first. Read-only.
    unique_id : int
        `row` + 1.
    """

    participates = Column("participates")
    harm = Column("harm")
    expected_risk = Column("expected_risk")
    strategy = Column("strategies")
    risk = Column("risks")
    model: ReidentificationModel

    def __init__(self, model: ReidentificationModel, row: int) -> None:
        # The constructor of mesa would register the agent, and models have millions of data subjects.
        self.model, self.row, self.unique_id, self.pos = model, row, row + 1, None

    def remove(self) -> None:
        """Refuse to remove the data subject from the model.

        Raises
        ------
        InputError
            Always.
        """
        expected = "`participates` set to False"
        raise InputError("a data subject cannot be removed", source="data subject", found=self.row, expected=expected)


class Agents(AgentSet):
    """Agents of a model, with data subjects that become objects only when single ones are needed.

    `len`, `select`, `get`, `agg` and `set` use the arrays of the model, and indexing makes the objects that it returns;
    the model keeps these. Any other method or iteration, `set` of an attribute without an array, and `select` in place
    first make an object for each data subject of the set. The function of `select` is called with one object that moves
    from data subject to data subject, so that it must not store its argument.
    """

    # Agents with an object, followed in order by the data subjects of the rows; mesa makes subsets without rows.
    _objects: weakref.WeakKeyDictionary[mesa.Agent, None]
    _rows: Sequence[int]
    _model: Any = None

    @classmethod
    def of(cls, model: ReidentificationModel, agents: Iterable[mesa.Agent], rows: Sequence[int]) -> Self:
        """Return a set of some agents of a model, followed by the data subjects of some rows."""
        found = cls(agents, model.random)
        found._model, found._rows = model, rows
        return found

    # The inherited methods use this attribute, in all versions of mesa from 3.3 to 3.5.
    @property
    def _agents(self) -> weakref.WeakKeyDictionary[mesa.Agent, None]:
        for row in self._rows:
            self._objects[self._model.subject(row)] = None
        self._rows = range(0)
        return self._objects

    @_agents.setter
    def _agents(self, agents: weakref.WeakKeyDictionary[mesa.Agent, None]) -> None:
        self._objects, self._rows = agents, range(0)

    def __len__(self) -> int:
        return len(self._objects) + len(self._rows)

    def __getitem__(self, item: Any) -> Any:
        position, agents = range(len(self))[item], list(self._objects)
        if isinstance(position, range):
            return [self[each] for each in position]
        return agents[position] if position < len(agents) else self._model.subject(self._rows[position - len(agents)])

    def select(
        self, filter_func: Any = None, at_most: float = np.inf, inplace: bool = False, agent_type: Any = None
    ) -> AgentSet:
        """Return the agents that satisfy a function, or are of a type; see mesa's `AgentSet.select`."""
        if inplace or not self._rows:
            return super().select(filter_func, at_most, inplace, agent_type)

        def is_chosen(agent: mesa.Agent) -> bool:
            return (not filter_func or filter_func(agent)) and (not agent_type or isinstance(agent, agent_type))

        share = isinstance(at_most, float) and at_most <= 1
        limit = max(0, math.ceil(int(len(self) * at_most) if share else min(at_most, len(self))))
        agents = list(islice(filter(is_chosen, self._objects), limit))
        rows = [each.row for each in islice(filter(is_chosen, self._views()), limit - len(agents))]
        return self.of(self._model, agents, rows)

    def get(self, attr_names: Any, handle_missing: Any = "error", default_value: Any = None) -> list[Any]:
        """Return an attribute of each agent, or a list of attributes of each; see mesa's `AgentSet.get`."""
        # The inherited method reads the values of one agent after the other, and uses no other attribute of a set.
        moving: Any = SimpleNamespace(_agents=chain(self._objects, self._views()))
        return list(AgentSet.get(moving, attr_names, handle_missing, default_value))

    def set(self, attr_name: str, value: Any) -> Self:
        """Set an attribute of each agent to one value; see mesa's `AgentSet.set`."""
        column = getattr(Subject, attr_name, None)
        if not (self._rows and isinstance(column, Column)):
            super().set(attr_name, value)
            return self
        AgentSet(self._objects, self.random).set(attr_name, value)
        column.write(self._model, np.array(self._rows), value)
        return self

    def _views(self) -> Iterator[Subject]:
        """Yield the data subjects of the rows; all without an object share one, which moves from row to row."""
        view = Subject(self._model, 0)
        for row in self._rows:
            view.row, view.unique_id = row, row + 1
            yield self._model.subject_objects.get(row, view)
