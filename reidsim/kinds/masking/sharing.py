"""Build the table of records that data subjects release.

Masked values are stars; generalized values are the labels of their groups.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.tables_schema import GeneralizedAttribute
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.scenarios.presentation import RecordSharing, SharedColumns
from reidsim.tables import read_table

# Values of the column `strategy` for withheld records.
_NOT_SHARED = ("withheld", "nothing")
# Prefix of a value in the results that is released at an intermediate level.
_GROUP_OF = "group of "


class SubjectsSharing(RecordSharing):
    """Release of the records of data subjects; see `RecordSharing`."""

    def release_file(self, scenario: MaskingScenario) -> str | None:
        """Return the file of the targets."""
        return scenario.targets.file

    def shared_columns(self, scenario: MaskingScenario) -> SharedColumns:
        """Return the columns of the targets' file that are quasi-identifiers."""
        columns = scenario.targets.columns
        return SharedColumns(
            {name: columns.get(name, name) for name in scenario.subjects.attributes},
            delimiter=scenario.targets.delimiter,
            counts_release=False,
        )

    def read_records(self, scenario: MaskingScenario, path: Path) -> pd.DataFrame:
        """Read the targets' file."""
        return read_table(path, delimiter=scenario.targets.delimiter, comment="#", trim=False)

    def released_values(self, scenario: MaskingScenario, records: pd.DataFrame, attribute: str) -> pd.Series[str]:
        """Return an attribute as released: its value, its group, or suppressed."""
        column: pd.Series[str] = records[attribute].astype("str").mask(records[attribute].isna())
        if attribute in scenario.subjects.generalize:
            column = _groups_named(
                column, records["strategy"].astype("str"), attribute, scenario.subjects.generalize[attribute]
            )
        return column.fillna(SUPPRESSED)

    def is_shared(self, records: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether each record is released."""
        return ~records["strategy"].astype("str").isin(_NOT_SHARED).to_numpy()


def group_label(value: str, level: int, section: GeneralizedAttribute) -> str:
    """Return the label of a value at an intermediate level (1 or more).

    Intervals start at 0; a value outside the listed groups is unchanged.
    """
    if section.widths:
        width = section.widths[level - 1]
        low = int(value) // width * width
        return f"{low}-{low + width - 1}"
    return next((" or ".join(group) for group in section.groups[level - 1] if value in group), value)


def _groups_named(
    column: pd.Series[str], strategies: pd.Series[str], name: str, section: GeneralizedAttribute
) -> pd.Series[str]:
    """Replace the values in group names by group labels, which hide the values."""
    for level in range(1, len(section.kept) + 1):
        marks = {text: f" {name}~{level} " in f" {text} " for text in strategies.unique()}
        at_level = strategies.map(marks).astype(bool) & column.notna()
        values = column[at_level].str.removeprefix(_GROUP_OF)
        names = {value: group_label(value, level, section) for value in values.unique()}
        column = column.mask(at_level, values.map(names))
    return column
