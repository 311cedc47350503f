"""The tables of a multistage attack: the targets, and the resources an adversary holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, locating, nearest, require_among
from reidsim.linkage.number_checks import check_whole
from reidsim.releases.strategy_space import Rows

Integers = NDArray[np.int64]

# Name of the counts in messages; no attribute has a name like it.
_COUNTS = "(people)"


@dataclass(frozen=True, eq=False)
class PersonTable:
    """People by rows, attributes by columns, every value a whole number of 0 or more.

    The meaning of a number depends on the attribute: years of age, the code of a state or surname, repeats at a locus
    (where 0 is missing).

    Parameters
    ----------
    name : str
        For messages.
    columns : mapping of str to ndarray of int, shape (n_rows,)
    counts : ndarray of int, shape (n_rows,), optional
        People that each row represents; one each, if not given.
    missing : mapping of str to ndarray of bool, shape (n_rows,), optional
        Of columns that lack values: where. The number there means nothing.

    Raises
    ------
    InputError
        If columns differ in length or a value is not a whole number of 0 or more; names the table, column and row.
    """

    name: str
    columns: Mapping[str, Integers]
    counts: Integers | None = None
    missing: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("table has no columns", source=self.name)
        checked = {}
        given = {**self.columns} if self.counts is None else {**self.columns, _COUNTS: self.counts}
        for column, values in given.items():
            if np.ndim(values) != 1:
                raise InputError("column is not a list", source=self.name, where=column, found=np.shape(values))
            with locating(self.name):
                checked[column] = check_whole(column, values)
        lengths = {column: len(values) for column, values in (*checked.items(), *self.missing.items())}
        if len(set(lengths.values())) > 1:
            raise InputError("columns differ in length", source=self.name, found=lengths)
        object.__setattr__(self, "counts", checked.pop(_COUNTS, None))
        object.__setattr__(self, "columns", MappingProxyType(checked))
        lacking = {column: where for column, where in self.missing.items() if where.any()}
        object.__setattr__(self, "missing", MappingProxyType(lacking))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle from the constructor's arguments: a read-only mapping cannot be pickled."""
        return type(self), (self.name, dict(self.columns), self.counts, dict(self.missing))

    @classmethod
    def from_array(cls, name: str, attributes: Sequence[str], values: NDArray[np.generic]) -> PersonTable:
        """Make a table from an array of shape (n_rows, n_attributes)."""
        return cls(name, dict(zip(attributes, np.asarray(values).T, strict=True)))

    def of_rows(self, rows: Rows | slice) -> PersonTable:
        """Return the table of some of the rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        missing = {name: where[rows] for name, where in self.missing.items()}
        return PersonTable(self.name, columns, None if self.counts is None else self.counts[rows], missing)

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

    def known(self, attributes: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether each row has a value in all of some columns, shape (n_rows,)."""
        known = np.ones(self.n_rows, dtype=np.bool_)
        for attribute in attributes:
            if attribute in self.missing:
                known &= ~self.missing[attribute]
        return known

    def matrix(self, attributes: Sequence[str]) -> Integers:
        """Return several columns, shape (n_rows, n_attributes)."""
        columns = [self.column(attribute) for attribute in attributes]
        return np.stack(columns, axis=1) if columns else np.zeros((self.n_rows, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ListedTargets:
    """Membership of the targets in a list drawn from people; unknown to the adversary.

    Parameters
    ----------
    row : ndarray of int64, shape (n_targets,)
        Each target's own row of the table, -1 for none. Its values may be wrong or missing.
    coverage : float
        Probability that a target is in the list, as the adversary believes.
    """

    row: Integers
    coverage: float


@dataclass(frozen=True, eq=False)
class MultistageWorld:
    """The truth about the targets, and the resources of the adversary.

    Parameters
    ----------
    targets : PersonTable
        The people who decide on sharing, with the true values of all attributes that may be released or inferred.
    resources : mapping of str to PersonTable
        Such as a genealogy, a voter list, a registry.
    registered : ndarray of bool, shape (n_targets,), optional
        Who really is in the registry on which the attack ends. By default all must be.
    lists : mapping of str to ListedTargets
        Of resources that were drawn as lists. Where the attack ends in one, a missing value agrees with every other,
        and it succeeds only on targets whose own row is among the rows that agree.
    by_coverage : bool
        Whether only the coverage of these lists is known, not their members: a plan that uses one then succeeds as the
        adversary believes, on whomever.

    Raises
    ------
    InputError
        If there is nobody in a table, or `registered` is not one value per target.
    """

    targets: PersonTable
    resources: Mapping[str, PersonTable]
    registered: NDArray[np.bool_] | None = None
    lists: Mapping[str, ListedTargets] = field(default_factory=dict)
    by_coverage: bool = False

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle from the constructor's arguments; see `PersonTable`."""
        return type(self), (self.targets, dict(self.resources), self.registered, dict(self.lists), self.by_coverage)

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.targets.n_rows

    def of_targets(self, rows: Rows) -> MultistageWorld:
        """Return the world of some of the targets."""
        registered = None if self.registered is None else self.registered[rows]
        lists = {name: replace(each, row=each.row[rows]) for name, each in self.lists.items()}
        return replace(self, targets=self.targets.of_rows(rows), registered=registered, lists=lists)

    def resource(self, name: str) -> PersonTable:
        """Return a resource.

        Raises
        ------
        InputError
            If the adversary has none of that name.
        """
        require_among("resource unknown", (name,), self.resources)
        return self.resources[name]

    def is_guessed(self, name: str) -> bool:
        """Return whether a resource is a list known by its coverage alone."""
        return self.by_coverage and name in self.lists

    def agrees(self, name: str, attribute: str, said: Integers, values: Integers, rows: Integers) -> NDArray[np.bool_]:
        """Return whether each target's own row of a list has a given value, or none; False without a row.

        Parameters
        ----------
        name, attribute : str
            Of a list, and one of its columns.
        said : ndarray of int64, shape (n_rows,)
            That column in the form in which `values` are.
        values : ndarray of int64, shape (n,)
            Released or inferred.
        rows : ndarray of int, shape (n,)
            Targets.
        """
        missing, own = self.resource(name).missing, self.lists[name].row[rows]
        agreeing = np.asarray(said[own] == values)
        if attribute in missing:
            agreeing |= missing[attribute][own]
        return agreeing & (own >= 0)
