"""Records of a table as they are shared: which columns of their file are quasi-identifiers, and what they hold."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from reidsim.errors import InputError
from reidsim.kinds.tables.policies import policy_named
from reidsim.kinds.tables.release import attribute_labels
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import SUPPRESSED
from reidsim.scenarios.faces import HierarchyFile, RecordSharing, SensitiveColumn, SharedColumns
from reidsim.scenarios.hierarchy_schema import Table
from reidsim.tables import read_table


class TablesSharing(RecordSharing):
    """How the records of a table are shared; see `RecordSharing`."""

    def release_file(self, scenario: TablesScenario) -> str | None:
        """Return the file of the records."""
        return scenario.release.path

    def shared_columns(self, scenario: TablesScenario) -> SharedColumns:
        """Say which columns of the records are quasi-identifiers, unless their values are drawn from the population."""
        for name, attribute in scenario.attributes.items():
            if attribute.draw or attribute.top_code is not None:
                raise InputError(
                    "values were drawn from the population",
                    where=f"attributes.{name}",
                    expected="attributes whose values are all in the records",
                )
        sections = scenario.every_adversary.values()
        return SharedColumns(
            {name: attribute.column or name for name, attribute in scenario.attributes.items()},
            delimiter=scenario.release.delimiter,
            header=scenario.release.header or scenario.release.format == "adult",
            hierarchies={
                name: HierarchyFile(section.file, section.delimiter, section.header)
                for name, attribute in scenario.attributes.items()
                if isinstance(section := attribute.hierarchy, Table)
            },
            stars=frozenset(name for name, attribute in scenario.attributes.items() if SUPPRESSED in attribute.values),
            person=getattr(scenario.release, "person", None),
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
        if section is None or section.sensitive is None or policy_named(policy).way != "m-invariance":
            return None
        return SensitiveColumn(section.sensitive, section.m)

    def read_records(self, scenario: TablesScenario, path: Path) -> pd.DataFrame:
        """Read all columns of the records, values as they are."""
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
        """Return the quasi-identifiers of records with the names that the scenario gives to values."""
        columns = {name: attribute.column or name for name, attribute in scenario.attributes.items()}
        return attribute_labels(frame, columns, scenario.attributes, path)
