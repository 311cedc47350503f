"""Read the results of any kind of run, from a folder or from memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.core.errors import InputError, locating, reading
from reidsim.core.files import require_parquet_fits
from reidsim.core.measures import Measure, measures_among
from reidsim.core.tables import reading_parquet
from reidsim.core.validation import read_json
from reidsim.engine.results import RunResult, measures_in_manifest, require_no_links, require_sound
from reidsim.scenarios.kind import Kind, kind_of_content, section
from reidsim.scenarios.people import counted_units
from reidsim.scenarios.policy import Policy
from reidsim.scenarios.registry import DEFAULT_KIND

# Manifest keys of results without a table of runs, and the table that replaces it; None if it varies.
_INSTEAD_OF_RUNS = {"cross_play": "cross_play", "failed_points": None}
# Types of required and of optional manifest keys. Assessments with several release sizes list the numbers of records.
_REQUIRED = {"scenario": str, "content": dict, "versions": dict}
_OPTIONAL: dict[str, Any] = {"records": int | list, "released_people": int, "scenario_file": str}
_OPTIONAL |= dict.fromkeys(("figures", "warnings"), list) | dict.fromkeys(("policies", "release_file", "origins"), dict)


@dataclass(frozen=True, eq=False)
class StoredRun:
    """Contents of a results folder; tables are read on first use.

    Parameters
    ----------
    folder : Path
        The results folder; for a run in memory, a path with the name of the scenario, which need not exist.
    manifest : mapping
        Description of the run: scenario, versions, seed and options.
    tables : mapping of str to Path or DataFrame
        For each table, by name without suffix: the path of a Parquet file or of a folder of Parquet files; for a run in
        memory, the table itself.
    figures : mapping of str to Path
        Paths of PNG files by name without suffix, in drawing order.
    """

    folder: Path
    manifest: Mapping[str, Any]
    tables: Mapping[str, Path | pd.DataFrame]
    figures: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def from_result(cls, result: RunResult) -> StoredRun:
        """Return a result in memory as a stored run without files and figures."""
        return cls(Path(result.name), result.manifest, result.stored_tables())

    @property
    def is_in_memory(self) -> bool:
        """Whether the tables are in memory, not in a results folder."""
        return any(isinstance(table, pd.DataFrame) for table in self.tables.values())

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["scenario"])

    @property
    def content(self) -> Mapping[str, Any]:
        """Scenario as run, as plain data by section and key."""
        return section(self.manifest, "content")

    @property
    def game(self) -> str:
        """Name of the kind of game; that of the default kind if the scenario states none."""
        return str(self.content.get("game", DEFAULT_KIND))

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Measures of the runs, by column, with the labels of the kind of game.

        Raises
        ------
        InputError
            If the kind is from a package that is not installed, or the table of runs cannot be read.
        """
        with locating(self.folder):
            return measures_among(measures_in_manifest(self.manifest), self.runs.columns)

    @cached_property
    def kind(self) -> Kind | None:
        """Kind of game of the scenario; None if its package is not installed."""
        try:
            return kind_of_content(self.content)
        except InputError:
            return None

    @property
    def policies(self) -> Mapping[str, Policy]:
        """Policies of the kind of game, by name; empty if the kind is not installed."""
        return {} if self.kind is None else self.kind.policies

    @property
    def n_records(self) -> int | None:
        """Number of records; None if there is no single number."""
        number = self.manifest.get("records")
        return number if isinstance(number, int) and number > 0 else None

    @property
    def units(self) -> tuple[str, str]:
        """Unit of counts, in singular and plural.

        The unit is the record, or the person if people may have several records.
        """
        return counted_units(self.content)

    @property
    def n_counted(self) -> int | None:
        """Number of people if people are counted, else number of records.

        The number is None if there is no single number.
        """
        people: int | None = self.manifest.get("released_people", self.n_records)
        return people

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes in the scenario, or in its section ``subjects``.

        The list is empty if there are none.
        """
        names = self.content.get("attributes") or section(self.content, "subjects").get("attributes", ())
        return list(map(str, names))

    @property
    def rounds(self) -> int:
        """Number of rounds in a scenario with agents, or of waves of releases; else 1."""
        waves = self.manifest.get("waves")
        number = len(waves) if isinstance(waves, list) else section(self.content, "agents").get("rounds", 1)
        return number if isinstance(number, int) else 1

    @cached_property
    def runs(self) -> pd.DataFrame:
        """Successful runs: one row per point, replication and policy.

        The table is empty if no run succeeded, or the results have other tables in place of runs.

        Raises
        ------
        InputError
            If the table cannot be read.
        """
        runs = self.table("runs") if "runs" in self.tables else pd.DataFrame()
        return runs[runs["state"] == "complete"] if "state" in runs else runs

    @cached_property
    def records(self) -> pd.DataFrame:
        """Table of records, one row per record and policy.

        In assessments, there is one row per record and background knowledge.

        Raises
        ------
        InputError
            If there is no such table, or it cannot be read.
        """
        if "records" not in self.tables:
            raise InputError("no records in the results", source=self.folder, expected="records.parquet")
        return self.table("records")

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the run by its name, such as ``"runs"``.

        The name must be in `tables`.

        Raises
        ------
        InputError
            If the file cannot be read, is too large for the memory, or has no columns.
        """
        path = self.tables[name]
        if isinstance(path, pd.DataFrame):
            return path
        require_parquet_fits(path)
        with reading_parquet(path):
            table = pd.read_parquet(path.absolute())
        if not len(table.columns):
            raise InputError("the table has no columns, or the folder has no tables", source=path)
        return table

    def table_with(self, name: str, columns: Collection[str] = ()) -> pd.DataFrame:
        """Return a table of the run by its name; empty if it lacks a needed column.

        It is also empty, with `columns`, if it does not exist.
        """
        table = pd.DataFrame() if name not in self.tables else self.records if name == "records" else self.table(name)
        return table if set(columns) <= set(table.columns) else pd.DataFrame(columns=list(columns))


def open_results(folder: Path) -> StoredRun:
    """Return the contents of a results folder; tables and figures are read later.

    Raises
    ------
    InputError
        If the folder is not a results folder, contains links, its manifest cannot be used, its batch has not ended, or
        the main table is missing.
    """
    path, expected = folder / "manifest.json", "a manifest written by reidsim run"
    with reading(folder):
        if not folder.is_dir():
            problem = "is a file" if folder.exists() else "no such folder"
            raise InputError(problem, source=folder, expected="a results folder written by reidsim run")
        require_no_links(folder)
        tables = {table.stem: table for table in sorted(folder.glob("*.parquet"))}
        pictures = {picture.stem: picture for picture in sorted((folder / "figures").glob("*.png"))}
        if not path.is_file():
            named = "a folder with manifest.json, written by reidsim run"
            raise InputError("not a results folder", source=folder, expected=named)
    manifest = read_json(path)
    found = manifest if isinstance(manifest, dict) else {}
    types = _REQUIRED | {key: kind for key, kind in _OPTIONAL.items() if key in found}
    for key in (key for key, kind in types.items() if not isinstance(found.get(key), kind)):
        raise InputError("not the manifest of a run", source=path, where=key, expected=expected)
    require_sound(manifest, path)
    if manifest.get("state") == "running":
        hint = f"continue with reidsim run SCENARIO -o {folder} --resume"
        raise InputError("the batch is not complete", source=folder, expected="results of a finished run", hint=hint)
    # Tables behind figures may be missing.
    needed = next((table for key, table in _INSTEAD_OF_RUNS.items() if key in manifest), "runs")
    missing = f"{needed}.parquet" if needed is not None and needed not in tables else "" if tables else "tables"
    if missing:
        expected = "a complete results folder written by reidsim run"
        raise InputError(f"{missing} missing", source=folder, expected=expected)
    drawn = [Path(str(name)).stem for name in manifest.get("figures", [])]
    order = dict.fromkeys([*(name for name in drawn if name in pictures), *pictures])
    return StoredRun(folder, manifest, tables, {name: pictures[name] for name in order})
