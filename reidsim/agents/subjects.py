"""Data subjects as mesa agents: objects that read and write the columns of a model."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
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

    def write(self, model: ReidentificationModel, rows: int | slice, value: object) -> None:
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
        return self if subject is None else self.of(subject.model)[subject.row].item()

    def __set__(self, subject: Subject, value: object) -> None:
        self.write(subject.model, subject.row, value)


class Subject(mesa.Agent):
    """A data subject of a model.

    The object holds no values of its own: the attributes below read and write arrays of the model. An attribute is
    missing (`AttributeError`) if the model does not have it: `harm` and `expected_risk` without the scenario's section
    ``agents.participation``, `strategy` and `risk` before the first round.

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
        Harm of a breach, in currency units.
    expected_risk : float
        Probability of a breach that the data subject expects.
    strategy : int
        Strategy of the record in the latest round; -1 if it was withheld or its data subject did not take part.
        Read-only.
    risk : float
        Probability that the record was re-identified in the latest round. Read-only.
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

    `len`, `get`, `agg` and `set` use the arrays of the model. Any other method makes an object for each data subject
    first; the model then keeps these objects. Subsets, such as those of `select`, are ordinary sets of agents.
    """

    _model: ReidentificationModel
    _registered: tuple[mesa.Agent, ...]

    @classmethod
    def of(cls, model: ReidentificationModel, registered: Iterable[mesa.Agent] = ()) -> Self:
        """Return a set of some agents that are registered with a model, and all its data subjects."""
        agents = cls.__new__(cls)
        agents._model, agents._registered, agents.random = model, tuple(registered), model.random
        return agents

    # The inherited methods use this attribute, in all versions of mesa from 3.3 to 3.5.
    @functools.cached_property
    def _agents(self) -> weakref.WeakKeyDictionary[mesa.Agent, None]:  # type: ignore[override]
        return weakref.WeakKeyDictionary(dict.fromkeys([*self._registered, *self._model.subject_objects]))

    @property
    def _has_no_objects(self) -> bool:
        return "_agents" not in vars(self)

    def __len__(self) -> int:
        if self._has_no_objects:
            return len(self._registered) + self._model.setting.n_subjects
        return super().__len__()

    def get(self, attr_names: Any, handle_missing: Any = "error", default_value: Any = None) -> list[Any]:
        """Return an attribute of each agent, or a list of attributes of each; see mesa's `AgentSet.get`."""
        names = [attr_names] if isinstance(attr_names, str) else attr_names
        columns = [column for name in names if isinstance(column := getattr(Subject, name, None), Column)]
        if len(columns) < len(names) or not (
            self._has_no_objects and all(hasattr(self._model, column.array) for column in columns)
        ):
            return list(super().get(attr_names, handle_missing, default_value))
        of_registered = AgentSet(self._registered, self.random).get(attr_names, handle_missing, default_value)
        values = [column.of(self._model).tolist() for column in columns]
        return [*of_registered, *(values[0] if isinstance(attr_names, str) else map(list, zip(*values, strict=True)))]

    def set(self, attr_name: str, value: Any) -> Self:
        """Set an attribute of each agent to one value; see mesa's `AgentSet.set`."""
        column = getattr(Subject, attr_name, None)
        if not (isinstance(column, Column) and self._has_no_objects):
            super().set(attr_name, value)
            return self
        AgentSet(self._registered, self.random).set(attr_name, value)
        column.write(self._model, slice(None), value)
        return self
