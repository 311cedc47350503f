"""The tables of a multi-stage attack: targets and the adversary's resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, nearest, require_among
from reidsim.releases.strategy_space import Rows

Integers = NDArray[np.int64]


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
    """

    name: str
    columns: Mapping[str, Integers]
    counts: Integers | None = None
    missing: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {name: np.asarray(values, dtype=np.int64) for name, values in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "missing", {name: where for name, where in self.missing.items() if where.any()})

    @classmethod
    def from_array(cls, name: str, attributes: Sequence[str], values: NDArray[np.generic]) -> PersonTable:
        """Return a table from an array `values` of shape (n_rows, n_attributes).

        Column j has the values of ``attributes[j]``.
        """
        return cls(name, dict(zip(attributes, np.asarray(values).T, strict=True)))

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
    """

    targets: PersonTable
    resources: Mapping[str, PersonTable]
    registered: NDArray[np.bool_] | None = None
    lists: Mapping[str, ListedTargets] = field(default_factory=dict)
    by_coverage: bool = False

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return self.targets.n_rows

    def of_targets(self, rows: Rows) -> MultistageWorld:
        """Return the world restricted to the targets in `rows`."""
        registered = None if self.registered is None else self.registered[rows]
        lists = {name: replace(each, row=each.row[rows]) for name, each in self.lists.items()}
        columns = {name: values[rows] for name, values in self.targets.columns.items()}
        return replace(self, targets=replace(self.targets, columns=columns), registered=registered, lists=lists)

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
        own = self.lists[name].row[rows]
        missing = self.resource(name).missing.get(attribute, np.zeros(len(said), dtype=np.bool_))
        return np.asarray(((said[own] == values) | missing[own]) & (own >= 0))
