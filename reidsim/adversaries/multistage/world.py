"""The tables of a multi-stage attack: targets and the adversary's resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, listed, locating, nearest, require_among
from reidsim.releases.strategy_space import Rows

Integers = NDArray[np.int64]

# Name of the counts in messages; no attribute has this name.
_COUNTS = "(people)"


@dataclass(frozen=True, eq=False)
class PersonTable:
    """Table with people as rows, attributes as columns and whole numbers as values.

    Values are 0 or more. The meaning of a value depends on the attribute: age in years, the code of a state or surname,
    repeats at a locus (where 0 means missing).

    Parameters
    ----------
    name : str
        Name of the table in messages.
    columns : mapping of str to ndarray of int, shape (n_rows,)
        Values of each attribute.
    counts : ndarray of int, shape (n_rows,), optional
        Number of people that each row represents. Default: 1.
    missing : mapping of str to ndarray of bool, shape (n_rows,), optional
        Whether each value is missing, for columns with missing values. The number stored for a missing value has no
        meaning.

    Raises
    ------
    InputError
        If there are no columns, columns differ in length, or a value is not a whole number of 0 or more. The message
        names the table and, for a value, column and row.
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
                checked[column] = _whole(column, values)
        lengths = {column: len(values) for column, values in (*checked.items(), *self.missing.items())}
        if len(set(lengths.values())) > 1:
            raise InputError("columns differ in length", source=self.name, found=lengths)
        object.__setattr__(self, "counts", checked.pop(_COUNTS, None))
        object.__setattr__(self, "columns", checked)
        lacking = {column: where for column, where in self.missing.items() if where.any()}
        object.__setattr__(self, "missing", lacking)

    @classmethod
    def from_array(cls, name: str, attributes: Sequence[str], values: NDArray[np.generic]) -> PersonTable:
        """Return a table from an array `values` of shape (n_rows, n_attributes).

        Column j has the values of ``attributes[j]``.
        """
        return cls(name, dict(zip(attributes, np.asarray(values).T, strict=True)))

    def of_rows(self, rows: Rows | slice) -> PersonTable:
        """Return the table of the rows in `rows`."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        missing = {name: where[rows] for name, where in self.missing.items()}
        return PersonTable(self.name, columns, None if self.counts is None else self.counts[rows], missing)

    @property
    def n_rows(self) -> int:
        """Number of rows; equal to the number of people if the table has no counts."""
        return len(next(iter(self.columns.values())))

    def column(self, attribute: str) -> Integers:
        """Return the values of an attribute, shape (n_rows,).

        Raises
        ------
        InputError
            If the table has no such column.
        """
        if attribute not in self.columns:
            expected, hint = f"one of {listed(self.columns, 20)}", nearest(attribute, self.columns)
            raise InputError("column missing", source=self.name, where=attribute, expected=expected, hint=hint)
        return self.columns[attribute]

    def known(self, attributes: Sequence[str]) -> NDArray[np.bool_]:
        """Return whether each row has no missing value in the columns, (n_rows,)."""
        lacking = [self.missing[attribute] for attribute in attributes if attribute in self.missing]
        return ~np.logical_or.reduce(lacking) if lacking else np.ones(self.n_rows, dtype=np.bool_)

    def matrix(self, attributes: Sequence[str]) -> Integers:
        """Return several columns, shape (n_rows, n_attributes)."""
        columns = [self.column(attribute) for attribute in attributes]
        return np.stack(columns, axis=1) if columns else np.zeros((self.n_rows, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ListedTargets:
    """Membership of the targets in a drawn list; unknown to the adversary.

    Parameters
    ----------
    row : ndarray of int64, shape (n_targets,)
        Row of each target in the list, -1 if absent. The values of the row can be wrong or missing.
    coverage : float
        Probability that a target is in the list, as the adversary believes.
    """

    row: Integers
    coverage: float


@dataclass(frozen=True, eq=False)
class MultistageWorld:
    """True values of the targets, and the resources of the adversary.

    Parameters
    ----------
    targets : PersonTable
        Data subjects, with the true values of all attributes that can be released or inferred.
    resources : mapping of str to PersonTable
        Resources by name, such as a genealogy, a voter list or a registry.
    registered : ndarray of bool, shape (n_targets,), optional
        Whether each target is truly in the registry of the last stage. Default: all targets must be in it.
    lists : mapping of str to ListedTargets
        Targets' rows in the resources that were drawn as lists. If the attack ends in a list, a missing value matches
        every value, and the attack can succeed only on targets whose own row matches.
    by_coverage : bool
        Whether only the coverage of these lists is known, not their members. A plan that uses a list then succeeds with
        the probability that the adversary believes in.

    Raises
    ------
    InputError
        If a table is empty.
    """

    targets: PersonTable
    resources: Mapping[str, PersonTable]
    registered: NDArray[np.bool_] | None = None
    lists: Mapping[str, ListedTargets] = field(default_factory=dict)
    by_coverage: bool = False

    def __post_init__(self) -> None:
        for table in (self.targets, *self.resources.values()):
            if table.n_rows == 0:
                raise InputError("the table has no rows", source=table.name, expected="at least one row")

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.targets.n_rows

    def of_targets(self, rows: Rows) -> MultistageWorld:
        """Return the world restricted to the targets in `rows`."""
        registered = None if self.registered is None else self.registered[rows]
        lists = {name: replace(each, row=each.row[rows]) for name, each in self.lists.items()}
        return replace(self, targets=self.targets.of_rows(rows), registered=registered, lists=lists)

    def resource(self, name: str) -> PersonTable:
        """Return a resource.

        Raises
        ------
        InputError
            If the adversary has no resource of that name.
        """
        require_among("unknown resource", (name,), self.resources)
        return self.resources[name]

    def is_guessed(self, name: str) -> bool:
        """Return whether a resource is a list of which only the coverage is known."""
        return self.by_coverage and name in self.lists

    def agrees(self, name: str, attribute: str, said: Integers, values: Integers, rows: Integers) -> NDArray[np.bool_]:
        """Return whether each target's own row of a list agrees with given values, (n,).

        A missing value agrees with every value. The result is False for targets without a row.

        Parameters
        ----------
        name, attribute : str
            Name of a list and of one of its columns.
        said : ndarray of int64, shape (n_rows,)
            Values of that column, generalized like `values`.
        values : ndarray of int64, shape (n,)
            Released or inferred values.
        rows : ndarray of int, shape (n,)
            Targets of the values.
        """
        missing, own = self.resource(name).missing, self.lists[name].row[rows]
        agreeing = np.asarray(said[own] == values)
        if attribute in missing:
            agreeing |= missing[attribute][own]
        return agreeing & (own >= 0)


def _whole(name: str, values: NDArray[np.generic]) -> Integers:
    """Return a column as int64.

    Raises
    ------
    InputError
        If a value is not a whole number from 0 to 2**31 - 1; the message names the first such row, counted from 1.
    """
    column = np.asarray(values)
    if column.dtype.kind not in "iuf":
        raise InputError("values are not numbers", where=name, found=str(column.dtype), expected="whole numbers")
    wrong = ~((column >= 0) & (column == np.floor(column)) & (column < 2**31))
    if wrong.any():
        row, problem = int(wrong.argmax()), "value is not a whole number of 0 or more"
        found, expected = column[row].item(), "a whole number below 2**31"
        raise InputError(problem, where=f"{name}, row {row + 1}", found=found, expected=expected)
    return column.astype(np.int64)
