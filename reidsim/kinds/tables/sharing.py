"""Describe the columns of the records' file for the release of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from reidsim.errors import InputError
from reidsim.kinds.tables.policy import policy_named
from reidsim.kinds.tables.release import attribute_labels
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.sensitive import sensitive_attributes
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.scenarios.hierarchy_schema import HierarchySection, Table
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.presentation import HierarchyFile, LimitedColumns, RecordSharing, SensitiveColumn, SharedColumns
from reidsim.tables import read_table

# Prefix of sensitive columns in the dict of hierarchies, so that their names differ from names of attributes.
_OF_SENSITIVE = "sensitive column "


def _hierarchies(scenario: TablesScenario) -> dict[str, HierarchySection]:
    """Return the hierarchies of attributes and sensitive columns, by name."""
    sensitive = scenario.publisher.sensitive_hierarchies
    return {name: attribute.hierarchy for name, attribute in scenario.attributes.items()} | {
        _OF_SENSITIVE + name: section for name, section in sensitive.items()
    }


class TablesSharing(RecordSharing):
    """Columns and true values of the records of a table; see `RecordSharing`."""

    def release_file(self, scenario: TablesScenario) -> str | None:
        """Return the path of the records' file; None if a population is released."""
        return scenario.release.path

    def shared_columns(self, scenario: TablesScenario) -> SharedColumns:
        """Return the quasi-identifier columns of the records' file.

        Raises
        ------
        InputError
            If values of an attribute are drawn from the population.
        """
        for name, attribute in scenario.attributes.items():
            if attribute.draw or attribute.top_code is not None:
                raise InputError(
                    "values were drawn from the population",
                    where=f"attributes.{name}",
                    expected="attributes with all values in the records",
                )
        sections = scenario.every_adversary.values()
        return SharedColumns(
            {name: attribute.column or name for name, attribute in scenario.attributes.items()},
            delimiter=scenario.release.delimiter,
            header=scenario.release.header or scenario.release.format == "adult",
            hierarchies={
                name: HierarchyFile(section.file, section.delimiter, section.header)
                for name, section in _hierarchies(scenario).items()
                if isinstance(section, Table)
            },
            stars=frozenset(name for name, attribute in scenario.attributes.items() if SUPPRESSED in attribute.values),
            person=getattr(scenario.release, "person", None),
            identifies=all(section.gains_from == "identity" for section in sections),
            counts_release=all(
                section.risk == "prosecutor"
                and section.knowledge is None
                and section.stages is None
                and section.sequential.registry is None
                for section in sections
            ),
        )

    def sensitive_column(self, scenario: TablesScenario, policy: str) -> SensitiveColumn | None:
        """Return the column that m-invariance protects; None for other policies."""
        section = scenario.releases
        if section is None or policy_named(policy).replies != "planned":
            return None
        return SensitiveColumn(key_columns(scenario.publisher.sensitive)[0], section.m)

    def limited_columns(
        self,
        scenario: TablesScenario,
        frame: pd.DataFrame,
        path: Path,
        hierarchies: Callable[[], Mapping[str, list[list[str]]]],
    ) -> LimitedColumns | None:
        """Return the sensitive columns and their limits; None without limits."""
        limits = scenario.publisher.attribute_limits
        if not limits:
            return None

        def rows_of(name: str, section: Table) -> list[list[str]]:
            return hierarchies()[_OF_SENSITIVE + name]

        return LimitedColumns(sensitive_attributes(scenario.publisher, frame, path, rows_of), limits)

    def read_records(self, scenario: TablesScenario, path: Path) -> pd.DataFrame:
        """Read all columns of the records with unchanged values."""
        section = scenario.release
        if section.format == "adult":
            return read_adult(path)
        frame = read_table(
            path, delimiter=section.delimiter, header=section.header, trim=False, encoding=section.encoding
        )
        if not section.header:
            frame.columns = pd.Index([str(number) for number in range(1, frame.shape[1] + 1)])
        return frame

    def true_values(self, scenario: TablesScenario, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
        """Return the quasi-identifiers of records as the scenario's category labels."""
        columns = {name: attribute.column or name for name, attribute in scenario.attributes.items()}
        return attribute_labels(frame, columns, scenario.attributes, path)
