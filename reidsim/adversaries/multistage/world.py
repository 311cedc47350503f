"""The tables of a multistage attack: the targets, and the resources an adversary holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, nearest, not_among
from reidsim.linkage.number_checks import check_whole

Integers = NDArray[np.int64]

# What messages call the people that rows stand for; no attribute has a name like it.
_COUNTS = "(people)"


@dataclass(frozen=True, eq=False)
class PersonTable:
    """People by rows, attributes by columns, every value a whole number of 0 or more.

    What a number means is the attribute's affair: years of age, the code of a state or surname, repeats at a locus
    (where 0 is missing).

    Parameters
    ----------
    name : str
        For messages.
    columns : mapping of str to ndarray of int, shape (n_rows,)
    counts : ndarray of int, shape (n_rows,), optional
        People that each row stands for; one each, if not given.

    Raises
    ------
    InputError
        If columns differ in length or a value is not a whole number of 0 or more; names the table, column and row.
    """

    name: str
    columns: Mapping[str, Integers]
    counts: Integers | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("table has no columns", source=self.name)
        checked = {}
        given = {**self.columns} if self.counts is None else {**self.columns, _COUNTS: self.counts}
        for column, values in given.items():
            if np.ndim(values) != 1:
                raise InputError("column is not a list", source=self.name, where=column, found=np.shape(values))
            try:
                checked[column] = check_whole(column, values)
            except InputError as error:
                raise error.located(self.name) from None
        lengths = {column: len(values) for column, values in checked.items()}
        if len(set(lengths.values())) > 1:
            raise InputError("columns differ in length", source=self.name, found=lengths)
        object.__setattr__(self, "counts", checked.pop(_COUNTS, None))
        object.__setattr__(self, "columns", MappingProxyType(checked))

    def __reduce__(self) -> tuple[type[PersonTable], tuple[str, dict[str, Integers], Integers | None]]:
        """Copy and pickle as it was made: what protects the columns from changes cannot be pickled."""
        return type(self), (self.name, dict(self.columns), self.counts)

    @classmethod
    def from_array(cls, name: str, attributes: Sequence[str], values: NDArray[np.generic]) -> PersonTable:
        """Make a table from an array of shape (n_rows, n_attributes)."""
        if np.ndim(values) != 2 or np.shape(values)[1] != len(attributes):
            expected = f"one column for each of {len(attributes)} attributes"
            raise InputError("array has another shape", source=name, found=np.shape(values), expected=expected)
        return cls(name, dict(zip(attributes, np.asarray(values).T, strict=True)))

    @property
    def n_rows(self) -> int:
        """Number of rows: of people, unless there are counts."""
        return len(next(iter(self.columns.values())))

    def column(self, attribute: str) -> Integers:
        """Return the values of an attribute, shape (n_rows,).

        Raises
        ------
        InputError
            If the table has no such column.
        """
        if attribute not in self.columns:
            raise InputError(
                "column missing",
                source=self.name,
                where=attribute,
                expected=f"it among the columns, which are {listed(self.columns, 20)}",
                hint=nearest(attribute, self.columns),
            )
        return self.columns[attribute]

    def matrix(self, attributes: Sequence[str]) -> Integers:
        """Return several columns, shape (n_rows, n_attributes)."""
        columns = [self.column(attribute) for attribute in attributes]
        return np.stack(columns, axis=1) if columns else np.zeros((self.n_rows, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class MultistageWorld:
    """What is true of the targets and what the adversary can look up.

    Parameters
    ----------
    targets : PersonTable
        The people who decide what to share, with the true values of everything that may be released or inferred.
    resources : mapping of str to PersonTable
        Such as a genealogy, a voter list, a registry.
    registered : ndarray of bool, shape (n_targets,), optional
        Who really is in the registry on which the attack ends. By default all must be.

    Raises
    ------
    InputError
        If there is nobody in a table, or `registered` is not one value per target.
    """

    targets: PersonTable
    resources: Mapping[str, PersonTable]
    registered: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        for table in (self.targets, *self.resources.values()):
            if table.n_rows == 0:
                raise InputError("nobody in the table", source=table.name, expected="at least one row")
        if self.registered is not None:
            registered = np.asarray(self.registered)
            if registered.shape != (self.n_targets,) or registered.dtype != np.bool_:
                expected = f"true or false for each of {self.n_targets} targets"
                raise InputError(
                    "unusable list of registered targets", found=(registered.shape, registered.dtype), expected=expected
                )
        object.__setattr__(self, "resources", MappingProxyType(dict(self.resources)))

    def __reduce__(
        self,
    ) -> tuple[type[MultistageWorld], tuple[PersonTable, dict[str, PersonTable], NDArray[np.bool_] | None]]:
        """Copy and pickle as it was made; see `PersonTable`."""
        return type(self), (self.targets, dict(self.resources), self.registered)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.targets.n_rows

    def resource(self, name: str) -> PersonTable:
        """Return a resource.

        Raises
        ------
        InputError
            If the adversary has none of that name.
        """
        if name not in self.resources:
            raise not_among("resource unknown", name, self.resources)
        return self.resources[name]
