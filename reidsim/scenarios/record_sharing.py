"""How the records of a kind of scenario are shared: where they stand, and how results hold them as released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.tables import read_table


@dataclass(frozen=True)
class HierarchyFile:
    """A file that says by which labels the values of an attribute are released.

    Parameters
    ----------
    path : str
        As the scenario names it, from its folder.
    delimiter : str
    header : bool
        Whether its first row names the levels.
    """

    path: str
    delimiter: str = ";"
    header: bool = False


@dataclass(frozen=True)
class SharedColumns:
    """Which columns of the file of records are quasi-identifiers, and what is promised of them.

    Parameters
    ----------
    column_of : mapping of str to str
        Column of each attribute.
    delimiter : str
        Between columns of the file.
    header : bool
        Whether the file names its columns; else they are numbered from 1, and shared under the attributes' names.
    hierarchies : mapping of str to HierarchyFile
        Of attributes whose labels stand in a file.
    stars : frozenset of str
        Attributes of which a value that reads like a suppressed one has another name when it is shared.
    person : str, optional
        Column that says whose record each is; everybody has one, if not given.
    counts_release : bool
        Whether success probabilities are those of an adversary who knows who is in the file, and every
        quasi-identifier of everybody in it, so that counts in the file must not exceed them.
    """

    column_of: Mapping[str, str]
    delimiter: str = ","
    header: bool = True
    hierarchies: Mapping[str, HierarchyFile] | None = None
    stars: frozenset[str] = frozenset()
    person: str | None = None
    counts_release: bool = True


class RecordSharing:
    """The part of a kind of scenario that says how its records are shared.

    A kind that names its `release_file` is shared as it stands: each name in the scenario's ``attributes`` is a column
    of the file and, as released, a column of the table of records.
    """

    def release_file(self, scenario: Any) -> str | None:
        """Return the file whose records a scenario shares, as the scenario names it; None if they have none."""
        return None

    def shared_columns(self, scenario: Any) -> SharedColumns:
        """Say which columns of that file are quasi-identifiers.

        Raises
        ------
        InputError
            If the records as shared are not those of the file.
        """
        person = getattr(getattr(scenario, "release", None), "person", None)
        return SharedColumns({str(name): str(name) for name in getattr(scenario, "attributes", ())}, person=person)

    def read_records(self, scenario: Any, path: Path) -> pd.DataFrame:
        """Read all columns of that file, values as they are."""
        return read_table(path, trim=False)

    def true_values(self, scenario: Any, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the attributes' columns of a file, values as they would be released without generalization."""
        columns = self.shared_columns(scenario).column_of
        return pd.DataFrame({name: frame[column].str.strip() for name, column in columns.items()})

    def released_values(self, scenario: Any, records: pd.DataFrame, attribute: str) -> pd.Series[str]:
        """Return an attribute as a policy releases it, ``*`` where it is suppressed.

        Parameters
        ----------
        scenario : ScenarioHead
        records : DataFrame
            The policy's rows of the table of records.
        attribute : str
        """
        return records[attribute].astype("str").mask(records[attribute].isna(), SUPPRESSED)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Tell which rows of the table of records are shared at all, shape (n_records,)."""
        return (records["strategy"].astype("str") != "withheld").to_numpy()
