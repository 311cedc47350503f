"""Read the sensitive columns of a table and check their use in a scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, locating
from reidsim.linkage.sensitive_values import SensitiveAttribute
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute
from reidsim.releases.hierarchy import require_rows_of_values
from reidsim.releases.hierarchy_file import check_header, read_hierarchy_rows
from reidsim.scenarios.hierarchies import hierarchy_of
from reidsim.scenarios.hierarchy_schema import HierarchySection, Table
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import key_columns
from reidsim.tables import require_columns

if TYPE_CHECKING:
    from reidsim.kinds.tables.schema import PublisherSection, TablesScenario


def read_sensitive(
    loaded: Scenario[TablesScenario], frame: pd.DataFrame, source: str | Path
) -> tuple[SensitiveAttribute, ...]:
    """Return the sensitive columns of the records; an empty cell counts as a value.

    Raises
    ------
    InputError
        If a column is missing, or a hierarchy cannot be used or lacks a value of its column.
    """

    def rows_of(name: str, section: Table) -> list[list[str]]:
        with locating(loaded.folder / section.file, f"publisher.sensitive_hierarchies.{name}"):
            rows = read_hierarchy_rows(loaded.folder / section.file, delimiter=section.delimiter)
            check_header(rows, header=section.header, used=set(frame[name].astype("str").str.strip()), names={name})
            rows = rows[1:] if section.header else rows
            require_rows_of_values(rows, first_row=2 if section.header else 1)
        return rows

    return sensitive_attributes(loaded.scenario.publisher, frame, source, rows_of)


def sensitive_attributes(
    publisher: PublisherSection,
    frame: pd.DataFrame,
    source: str | Path,
    rows_of: Callable[[str, Table], list[list[str]]],
) -> tuple[SensitiveAttribute, ...]:
    """Return the sensitive columns of the records in a data frame.

    Parameters
    ----------
    publisher : PublisherSection
    frame : DataFrame
        The records.
    source : str or Path
        Source of the records, for messages.
    rows_of : callable
        Returns the rows of a column's hierarchy file.

    Raises
    ------
    InputError
        If a column is missing, or a hierarchy cannot be used or lacks a value of its column.
    """
    names = key_columns(publisher.sensitive)
    require_columns(frame, list(names), Path(source))
    columns = []
    for name in names:
        text = frame[name].astype("str").str.strip()
        section = publisher.sensitive_hierarchies.get(name)
        if section is None:
            codes = pd.factorize(text, sort=True)[0].astype(np.int64)
            columns.append(SensitiveAttribute.of(name, codes))
        else:
            rows = rows_of(name, section) if isinstance(section, Table) else None
            columns.append(SensitiveAttribute.of(name, *_in_hierarchy(name, text, section, rows, source)))
    return tuple(columns)


def _in_hierarchy(
    name: str, text: pd.Series[str], section: HierarchySection, rows: list[list[str]] | None, source: str | Path
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the code of each record's value, and the groups of values by level."""
    where = f"publisher.sensitive_hierarchies.{name}"
    categories = natural_categories(text) if rows is None else tuple(row[0] for row in rows)
    attribute = Attribute(name, categories)
    codes = np.asarray(attribute.labels.get_indexer(pd.Index(text)), dtype=np.int64)
    if (codes < 0).any():
        row = int((codes < 0).argmax())
        raise InputError(
            "value missing from its hierarchy",
            source=source,
            where=f"row {row + 1}, column {name!r}",
            found=text.iloc[row],
            expected=f"a value of {where}",
        )
    return codes, hierarchy_of(attribute, section, Path(), where, rows).groups


def check_sensitive(scenario: TablesScenario) -> None:
    """Check the sensitive columns, their limits and gains from their inference.

    Sensitive columns must have no other role. Limits and gains must be computable for the scenario.

    Raises
    ------
    InputError
        If a check fails. The error names the key.
    """
    publisher, release = scenario.publisher, scenario.release
    columns, limits = key_columns(publisher.sensitive), publisher.attribute_limits
    others = {
        **{attribute.column or name: f"attributes.{name}" for name, attribute in scenario.attributes.items()},
        **dict.fromkeys(key_columns(release.person), "release.person"),
        **({release.household: "release.household"} if release.household else {}),
        **({release.weight: "release.weight"} if release.weight else {}),
    }
    for name in columns:
        if name in others:
            raise InputError(
                f"the sensitive column is also the column of {others[name]}",
                where="publisher.sensitive",
                found=name,
                expected="another column",
            )
    gains = [key for key, section in scenario.every_adversary.items() if section.gains_from != "identity"]
    keys = [
        *(f"{key}.gains_from" for key in gains),
        *(f"publisher.{key}" for key, limit in vars(limits).items() if limit is not None),
    ]
    if not keys:
        return
    if not columns:
        raise InputError("no sensitive column", where=keys[0], expected="a column in publisher.sensitive")
    for where, given, expected in (
        ("agents", scenario.agents is not None, f"this section only without {keys[0]}"),
        ("releases", scenario.releases is not None, f"this section only without {keys[0]}"),
        ("release.person", release.person is not None, f"one record per person, or no {keys[0]}"),
        ("beliefs.risk", bool(gains) and scenario.beliefs.risk not in (None, "prosecutor"), '"prosecutor"'),
        ("release.household", bool(gains) and release.household is not None, "no household"),
    ):
        if given:
            raise InputError(f"not supported together with {keys[0]}", where=where, expected=expected)
