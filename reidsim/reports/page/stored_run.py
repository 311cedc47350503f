"""Read a results folder of any kind of run from disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.core.measures import Measure, measures_among
from reidsim.engine.results import RunResult, measures_in_manifest, require_no_links, require_sound
from reidsim.errors import InputError, locating, reading
from reidsim.file_sizes import require_parquet_fits
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.people import counted_units
from reidsim.scenarios.policy import Policy
from reidsim.scenarios.registry import kind_of_content
from reidsim.scenarios.user_defined import DEFAULT_KIND
from reidsim.tables import reading_parquet
from reidsim.validation import read_json

_PNG = b"\x89PNG\r\n\x1a\n"
# Manifest keys of results without a table of runs, and the table that replaces it; None if it varies.
_INSTEAD_OF_RUNS = {"cross_play": "cross_play", "failed_points": None}


@dataclass(frozen=True)
class StoredRun:
    """Contents of a results folder; tables are read on first use.

    Parameters
    ----------
    folder : Path
    manifest : mapping
        Description of the run: scenario, versions, seed and options.
    tables : mapping of str to Path
        Paths of Parquet files, or folders of Parquet files, by name without suffix.
    figures : mapping of str to Path
        Paths of PNG files by name without suffix, in drawing order.
    """

    folder: Path
    manifest: Mapping[str, Any]
    tables: Mapping[str, Path]
    figures: Mapping[str, Path]

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["scenario"])

    @property
    def content(self) -> Mapping[str, Any]:
        """Scenario content as run."""
        content: Mapping[str, Any] = self.manifest["content"]
        return content

    @property
    def game(self) -> str:
        """Name of the kind of game."""
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
            measures = measures_in_manifest(self.manifest)
        return measures_among(measures, self.runs.columns)

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
    def decides(self) -> str:
        """Player who releases the records; publisher if the kind is not installed."""
        return "publisher" if self.kind is None else self.kind.decides

    def compares(self, policy: str) -> bool:
        """Return whether a policy's payoffs are comparable; see `Policy.in_another_game`."""
        return policy not in self.policies or not self.policies[policy].in_another_game

    @property
    def n_records(self) -> int | None:
        """Number of records; None if there is no single number."""
        number = self.manifest.get("records")
        return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None

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
        number = self.manifest.get("released_people")
        return number if isinstance(number, int) else self.n_records

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes in the scenario, or in its section ``subjects``."""
        given, subjects = self.content.get("attributes"), self.content.get("subjects")
        if not isinstance(given, Mapping | list | tuple):
            given = subjects.get("attributes", ()) if isinstance(subjects, Mapping) else ()
        return list(map(str, given))

    @property
    def rounds(self) -> int:
        """Number of rounds in a scenario with agents, or of waves of releases; else 1."""
        waves = self.manifest.get("waves")
        if isinstance(waves, list):
            return len(waves)
        agents = self.content.get("agents")
        number = agents.get("rounds", 1) if isinstance(agents, Mapping) else 1
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
        runs = self._all_runs
        return runs[runs["state"] == "complete"] if "state" in runs else runs

    @cached_property
    def n_unfinished(self) -> int:
        """Number of rows of failed or stopped runs."""
        return len(self._all_runs) - len(self.runs)

    @cached_property
    def _all_runs(self) -> pd.DataFrame:
        return self.table("runs") if "runs" in self.tables else pd.DataFrame()

    @cached_property
    def records(self) -> pd.DataFrame:
        """Table of records.

        Raises
        ------
        InputError
            If there is no such table, or it cannot be read.
        """
        if "records" not in self.tables:
            raise InputError("no records in the results", source=self.folder, expected="records.parquet")
        return self.table("records")

    def table(self, name: str) -> pd.DataFrame:
        """Read a table by name.

        Raises
        ------
        InputError
            If the table cannot be read.
        """
        path = self.tables[name]
        require_parquet_fits(path)
        with reading_parquet(path):
            table = pd.read_parquet(path.absolute())
        if not len(table.columns):
            raise InputError("the table has no columns, or the folder has no tables", source=path)
        return table

    def picture(self, name: str) -> bytes | None:
        """Return the bytes of a figure, or None if the file is not a PNG.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        path = self.figures[name]
        with reading(path):
            data = path.read_bytes()
        return data if data.startswith(_PNG) else None


@dataclass(frozen=True)
class RunInMemory(StoredRun):
    """Run that was not written to disk.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        Tables by name.
    """

    frames: Mapping[str, pd.DataFrame]

    @classmethod
    def of(cls, result: RunResult) -> RunInMemory:
        """Wrap a result as a stored run without files."""
        frames = result.stored_tables()
        return cls(Path(result.name), result.manifest, {name: Path(name) for name in frames}, {}, frames)

    def table(self, name: str) -> pd.DataFrame:
        """Return a table by name."""
        return self.frames[name]


def open_results(folder: Path) -> StoredRun:
    """Open a results folder.

    Raises
    ------
    InputError
        If the folder is not a results folder, contains links, its manifest cannot be used, its batch has not ended, or
        the main table is missing.
    """
    path = folder / "manifest.json"
    with reading(folder):
        if not folder.is_dir():
            problem = "is a file" if folder.exists() else "no such folder"
            raise InputError(problem, source=folder, expected="a results folder written by reidsim run")
        require_no_links(folder)
        found = sorted(folder.glob("*.parquet"))
        pictures = {picture.stem: picture for picture in sorted((folder / "figures").glob("*.png"))}
        held = path.is_file()
    if not held:
        raise InputError(
            "not a results folder", source=folder, expected="a folder with manifest.json, written by reidsim run"
        )
    tables = {table.stem: table for table in found}
    manifest = _manifest(path)
    _require_tables(folder, manifest, tables)
    drawn = [Path(str(name)).stem for name in manifest.get("figures", [])]
    order = [*(name for name in drawn if name in pictures), *(name for name in pictures if name not in drawn)]
    return StoredRun(folder, manifest, tables, {name: pictures[name] for name in order})


def _require_tables(folder: Path, manifest: Mapping[str, Any], tables: Mapping[str, Path]) -> None:
    """Check that the main table exists; tables behind figures may be missing."""
    if manifest.get("state") == "running":
        hint = f"continue with reidsim run SCENARIO -o {folder} --resume"
        raise InputError("the batch is not complete", source=folder, expected="results of a finished run", hint=hint)
    needed = next((table for key, table in _INSTEAD_OF_RUNS.items() if key in manifest), "runs")
    missing = f"{needed}.parquet" if needed is not None and needed not in tables else "" if tables else "tables"
    if missing:
        raise InputError(
            f"{missing} missing", source=folder, expected="a complete results folder written by reidsim run"
        )


def _manifest(path: Path) -> dict[str, Any]:
    manifest = read_json(path)
    kinds = {"scenario": str, "content": dict, "versions": dict}
    for key, kind in kinds.items():
        if not isinstance(manifest, dict) or not isinstance(manifest.get(key), kind):
            raise InputError(
                "not the manifest of a run", source=path, where=key, expected="a manifest written by reidsim run"
            )
    require_sound(manifest, path)
    # Assessments with several release sizes list the numbers of records.
    optional = {"records": (int, list), "released_people": (int,), "figures": (list,), "warnings": (list,)}
    for key, types in optional.items():
        if key in manifest and not isinstance(manifest[key], types):
            raise InputError(
                "not the manifest of a run", source=path, where=key, expected="a manifest written by reidsim run"
            )
    return dict(manifest)
