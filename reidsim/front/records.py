"""Records to be released, and the generalization hierarchies of their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from reidsim.errors import InputError, not_among
from reidsim.file_names import plain_name
from reidsim.front.hierarchies import HierarchyLike, hierarchy_content
from reidsim.scenarios.people import key_columns
from reidsim.tables import sniff_delimiter, text_table

# Key of the hierarchy in an attribute given as a mapping of scenario keys.
_HIERARCHY = "hierarchy"
# Suffix of the names of hierarchy tables.
LEVELS = "-levels.csv"


@dataclass(frozen=True, eq=False)
class Records:
    """Records to be released, and a hierarchy for each quasi-identifier.

    Parameters
    ----------
    data : DataFrame, str or Path
        One row per record, in memory or in a file (CSV or Parquet). A table in memory is copied.
    attributes : mapping of str to object
        Quasi-identifiers in lattice order, each with its hierarchy: `intervals`, `prefix`, `groups` or `suppress`,
        ``"suppress"``, a table with one row per value and one column per level (a DataFrame, or a file in ARX format),
        or a `Hierarchy`. An attribute may also be a mapping of scenario keys, such as
        ``{"hierarchy": intervals(5), "in_loss": False}``.
    weight : str or array, optional
        Sampling weights: number of people in the population that each record represents, 1 or more. A table column, or
        one number per record. Adversaries with ``risk="sample"`` link with them.
    person : str or tuple of str, optional
        Column or columns that identify the person of each record, if people have several records. People are then
        counted instead of records, and all records of a person get one generalization. The column is never released.
    household : str, optional
        Column that identifies the person's household; adds the measure ``household_risk``.

    Raises
    ------
    InputError
        If the table is empty, or lacks an attribute, a key or the weights, or a hierarchy is invalid.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]})
    >>> reidsim.Records(patients, {"age": reidsim.intervals(5, 15), "sex": "suppress"})
    Records(3 records, age, sex)
    """

    data: pd.DataFrame | str | Path
    attributes: Mapping[str, HierarchyLike | Mapping[str, Any]]
    weight: str | ArrayLike | None = None
    person: str | tuple[str, ...] | None = field(default=None, kw_only=True)
    household: str | None = field(default=None, kw_only=True)
    _table: pd.DataFrame | None = field(init=False, repr=False, default=None)
    _weights: pd.Series[str] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if not isinstance(self.data, pd.DataFrame | str | Path):
            raise InputError("not a table", source="Records", where="argument 'data'", found=type(self.data).__name__,
                             expected="a DataFrame, or the path of a file")  # fmt: skip
        if not isinstance(self.attributes, Mapping) or not self.attributes:
            raise InputError("no quasi-identifiers", source="Records", where="argument 'attributes'",
                             expected="a hierarchy for each, by name")  # fmt: skip
        if isinstance(self.data, pd.DataFrame):
            table = text_table(self.data, "Records: argument 'data'")
            object.__setattr__(self, "_table", table)
            keys = {"person": self.person, "household": self.household}
            named = [(argument, column) for argument, key in keys.items() for column in key_columns(key)]
            for name, given in self.attributes.items():
                if not (isinstance(given, Mapping) and given.get("draw")):
                    named.append(("attributes", given.get("column", name) if isinstance(given, Mapping) else name))
            if isinstance(self.weight, str):
                named.append(("weight", self.weight))
            for argument, column in named:
                if column not in table:
                    raise not_among(
                        "no such column",
                        column,
                        table.columns,
                        source="Records",
                        where=f"argument '{argument}'",
                        shown=20,
                    )
        if self.weight is not None and not isinstance(self.weight, str):
            object.__setattr__(self, "_weights", self._given_weights())
        self.content("", {})

    def _given_weights(self) -> pd.Series[str]:
        weights = np.asarray(self.weight)
        if weights.shape != (self.n_records,) or weights.dtype.kind not in "iuf":
            raise InputError(
                "not a weight for each record", source="Records", where="argument 'weight'",
                found=f"{weights.dtype} of shape {weights.shape}",
                expected="a column, or numbers of the shape of a table in memory",
            )  # fmt: skip
        return pd.Series([repr(float(weight)) for weight in weights], dtype="str")

    def __repr__(self) -> str:
        size = Path(self.data).name if self._table is None else f"{len(self._table):,} records"  # type: ignore[arg-type]
        return f"Records({size}, {', '.join(self.attributes)})"

    def content(
        self, prefix: str, columns: Mapping[str, pd.Series[str]]
    ) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
        """Return the scenario content of the records, and the tables that it names.

        Parameters
        ----------
        prefix : str
            Prefix of table names.
        columns : mapping of str to Series
            Additional columns, by name.

        Returns
        -------
        content : dict
            Sections ``release`` and ``attributes``.
        tables : dict of str to DataFrame
        """
        tables: dict[str, pd.DataFrame] = {}
        if self._table is None:
            path = Path(self.data).absolute()  # type: ignore[arg-type]
            release: dict[str, Any] = {"path": str(path)}
            if path.suffix != ".parquet":
                release["delimiter"] = sniff_delimiter(path)
        else:
            release = {"path": f"{prefix}records.csv"}
            name = self._weight_column()
            further = {**columns, **({} if self._weights is None else {str(name): self._weights})}
            tables[release["path"]] = self._table.assign(**further) if further else self._table
        if self.weight is not None:
            release["weight"] = str(self._weight_column())
        if self.person is not None:
            release["person"] = self.person if isinstance(self.person, str) else list(self.person)
        if self.household is not None:
            release["household"] = self.household
        attributes: dict[str, dict[str, Any]] = {}
        plain: dict[str, str] = {}
        for name, given in self.attributes.items():
            keys = dict(given) if isinstance(given, Mapping) else {_HIERARCHY: given}
            if _HIERARCHY not in keys:
                raise InputError("no hierarchy", source="Records", where=f"argument 'attributes', {name!r}",
                                 expected=f"the key {_HIERARCHY!r}")  # fmt: skip
            plain[name] = plain_name(name, plain.values())
            levels = f"{prefix}{plain[name]}{LEVELS}"
            section, named = hierarchy_content(keys.pop(_HIERARCHY), levels, f"argument 'attributes', {name!r}")
            attributes[name] = {_HIERARCHY: section, **keys}
            tables.update(named)
        return {"release": release, "attributes": attributes}, tables

    def _weight_column(self) -> str | None:
        if self.weight is None or isinstance(self.weight, str):
            return self.weight
        name = "weight"
        while self._table is not None and name in self._table:
            name += " of the records"
        return name

    @property
    def n_records(self) -> int | None:
        """Number of records; None for a file, which is read only when needed."""
        return None if self._table is None else len(self._table)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns of the table; None for a file."""
        return None if self._table is None else tuple(map(str, self._table.columns))
