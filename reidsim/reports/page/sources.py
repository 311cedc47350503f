"""State the question of a run, the sources of its values, and how to repeat it."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from pyarrow import parquet

from reidsim.adversaries.response import planners
from reidsim.core.errors import InputError, locating, reading
from reidsim.core.files import BUNDLED, bundled_folder, bundled_names, read_text, require_parquet_fits
from reidsim.core.tables import CountedTable, read_counted_table, reading_parquet, require_columns
from reidsim.core.validation import Section, inline_toml, section_classes, validated
from reidsim.core.wording import Code, Measure, measures_among
from reidsim.drafts.draft import OF_PAPER
from reidsim.engine.results import RunResult, measures_in_manifest, read_manifest
from reidsim.reports.writer import Cell, own_template, shortened
from reidsim.scenarios.kind import Kind, counted_units, gain_goes_with_loss, kind_of_content, schemas, section
from reidsim.scenarios.registry import DEFAULT_KIND, Policy
from reidsim.scenarios.scenario import leaves, origins_of
from reidsim.scenarios.schema import spelled_out

COMPLETE_FOLDER = "a complete results folder written by reidsim run"
# Manifest keys of results without a table of runs, and the table that replaces it; None if it varies.
_INSTEAD_OF_RUNS = {"cross_play": "cross_play", "failed_points": None}
# Commands whose results compare no policies, or have no scenario.
_WITHOUT_REPORT = ("attack", "attributes", "score", "switch")


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
    """

    folder: Path
    manifest: Mapping[str, Any]
    tables: Mapping[str, Path | pd.DataFrame]

    @classmethod
    def from_result(cls, result: RunResult) -> StoredRun:
        """Return a result in memory as a stored run without files."""
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
        """Scenario of the run, with overrides but without defaults, by section and key."""
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
        """Number of records; None if the manifest has no number above 0."""
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

        It is None if the manifest has neither.
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

    @cached_property
    def record_keys(self) -> CountedTable:
        """Distinct rows of policy, point and replication in the table of records, as far as it has these columns.

        Raises
        ------
        InputError
            As `records`.
        """
        path, keys = self.tables.get("records"), ("policy", "point", "replication")
        if not isinstance(path, Path):
            return CountedTable.of(self.records[[name for name in keys if name in self.records]])
        with reading_parquet(path):
            names = parquet.read_schema(path.absolute()).names
        require_columns(names, ["policy"], path)
        return read_counted_table(path, columns=[name for name in keys if name in names])

    def records_of(self, policy: str) -> pd.DataFrame:
        """Return the rows of the table of records for a policy, with an index from 0; other rows are not read.

        Raises
        ------
        InputError
            As `records`.
        """
        path = self.tables.get("records")
        if not isinstance(path, Path):
            return self.records[self.records["policy"] == policy].reset_index(drop=True)
        part = self.record_keys.rows_by_value("policy").get(policy, 0) / max(len(self.record_keys), 1)
        return self._read(path, part=part, filters=[("policy", "==", policy)])

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
        return self._read(path)

    def _read(self, path: Path, part: float = 1.0, **options: Any) -> pd.DataFrame:
        """Return a table, or a part of its rows, with the options of pandas."""
        require_parquet_fits(path, options.get("columns"), part)
        with reading_parquet(path):
            table = pd.read_parquet(path.absolute(), **options)
        if not len(table.columns):
            raise InputError("the table has no columns, or the folder has no tables", source=path)
        return table

    def table_with(self, name: str, columns: Collection[str] = ()) -> pd.DataFrame:
        """Return a table of the run by its name; empty if it lacks a needed column.

        It is also empty, with `columns`, if it does not exist.
        """
        table = pd.DataFrame() if name not in self.tables else self.records if name == "records" else self.table(name)
        return table if set(columns) <= set(table.columns) else pd.DataFrame(columns=list(columns))


def open_folder(folder: Path) -> StoredRun:
    """Return the contents of any results folder; tables are read later.

    Raises
    ------
    InputError
        If the folder is not a results folder, contains links, its manifest cannot be used, or its batch has not ended.
    """
    with reading(folder):
        if not folder.is_dir():
            problem = "is a file" if folder.exists() else "no such folder"
            raise InputError(problem, source=folder, expected="a results folder written by reidsim run")
        manifest = read_manifest(folder)
        tables = {table.stem: table for table in sorted(folder.glob("*.parquet"))}
    if manifest.get("state") == "running":
        hint = f"continue with reidsim run SCENARIO -o {folder} --resume"
        raise InputError("the batch is not complete", source=folder, expected="results of a finished run", hint=hint)
    return StoredRun(folder, manifest, tables)


def open_results(folder: Path) -> StoredRun:
    """Return the contents of a results folder that has a report.

    Raises
    ------
    InputError
        As `open_folder`, if the results are of a study without a report, or if the main table is missing.
    """
    run = open_folder(folder)
    command = str(section(run.manifest, "result").get("type", "")).removesuffix("Result").lower()
    if command in _WITHOUT_REPORT:
        found, expected = f"results of reidsim {command}", "results of reidsim run, stress or cross-play"
        raise InputError("neither a report nor a release", source=folder, found=found, expected=expected)
    # Tables behind figures may be missing.
    needed = next((table for key, table in _INSTEAD_OF_RUNS.items() if key in run.manifest), "runs")
    missing = f"{needed}.parquet" if needed is not None and needed not in run.tables else "" if run.tables else "tables"
    if missing:
        raise InputError(f"{missing} missing", source=folder, expected=COMPLETE_FOLDER)
    return run


# Matches `key = value # comment` if the value does not contain a number sign.
_COMMENTED = re.compile(r"^([\w.-]+)\s*=\s*([^#]*?)\s*#\s*(.+)$")
_HEADING = re.compile(r"^\[+([^\[\]]+)\]+\s*(?:#.*)?$")
# Characters that do not change the meaning of a value.
_SPACES = re.compile(r"[\s_]")
# Suffixes of files that a scenario can name.
_FILES = (".csv", ".csv.gz", ".csv.bz2", ".parquet", ".toml", ".data", ".test", ".txt")


def question(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `question`, by name.

    They are the template of the kind, the run with its adversaries, and its design. The design is the number of
    replications and rounds, waves of releases, and uncertain and swept keys.
    """
    content = run.content
    replications, adversaries = content.get("replications", 1), section(spelled_out(content), "adversaries")
    uncertain = section(section(content, "uncertainty"), "parameters")
    swept = section(section(content, "sweep"), "values")
    return {
        "of_kind": own_template(run.kind.question_template if run.kind else None) or "question_of_kind.jinja",
        "run": run,
        "content": content,
        "adversary": section(content, "adversary"),
        "adversaries": {name: section(adversaries, name) for name in adversaries},
        "replications": replications if isinstance(replications, int) else 1,
        "uncertain": uncertain,
        "swept": swept,
        "gain_is_loss": gain_goes_with_loss(content, [*uncertain, *swept]),
    }


def assumptions(run: StoredRun, scenario_file: Path | None = None) -> dict[str, Any]:
    """Return the values of the templates `assumptions` and `defaults`, by name.

    ``stated`` and ``defaults`` have one row per key that the scenario states, or relevant default: key, value and
    meaning; stated ones also have the comment in the scenario file and the origin. ``source`` and ``recipes`` are the
    scenario's source and the recipes that it uses.

    Parameters
    ----------
    run : StoredRun
        Results of the run.
    scenario_file : Path, optional
        Scenario file with comments on the sources of values; by default, the copy stored with the run.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    origins = run.manifest.get("origins", {}) if scenario_file is None else origins_of(scenario_file, run.content)
    texts = origins.get("texts", [])
    why, whose = _comments(run, texts), _whose(run, texts)
    stated = dict(leaves(dict(spelled_out(run.content))))
    rows: list[list[Cell]] = []
    for path, value in stated.items():
        # A named adversary takes values that it does not state from section [adversary].
        written = path if path in whose else f"adversary.{path.split('.', 2)[2]}"
        rows.append([*_row(run, path, value), "; ".join(filter(None, (why.get(written, ""), whose[written])))])
    return {
        "stated": rows,
        "defaults": [_row(run, path, value) for path, value in _defaults(run, stated)],
        "source": run.content.get("source"),
        "recipes": origins.get("recipes", []),
    }


def _row(run: StoredRun, path: str, value: object) -> list[Cell]:
    return [Code(path), Code(shortened(inline_toml(value))), _meaning(run, path, value) or "-"]


def _whose(run: StoredRun, texts: list[str]) -> dict[str, str]:
    """Return the origin of each value that the scenario states, as text by key path.

    A value in the text of a bundled scenario is "as the bundled scenario", or the user's in place of it if the run has
    another value. Another value is from Wan et al. 2015 if it is equal to theirs, else the user's. `texts` are the
    texts of the scenario files from which the run was made; later ones replace earlier ones.
    """
    bundled = {read_text(bundled_folder("scenarios") / f"{name}.toml") for name in bundled_names("scenarios")}
    stated: dict[str, tuple[object, bool]] = {}
    for text in texts:
        with suppress(tomllib.TOMLDecodeError):
            stated |= {path: (value, text in bundled) for path, value in leaves(tomllib.loads(text))}
    found: dict[str, str] = {}
    for path, value in leaves(run.content):
        original, is_bundled = stated.get(path, (None, False))
        if is_bundled:
            found[path] = "as the bundled scenario" if original == value else "yours, in place of the scenario's value"
        else:
            is_of_paper = value == OF_PAPER.get(path.removeprefix("economics."))
            found[path] = "default, from Wan et al. 2015" if is_of_paper else "yours"
    return found


def _defaults(run: StoredRun, stated: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield key path and value of each default that is relevant for a run.

    Keys in `stated`, empty values, attributes, and settings of adversaries without a role are omitted. Nothing is
    yielded if the kind or version of the scenario is not installed.
    """
    try:
        scenario = validated(schemas()[run.game], run.content, run.name).model_dump(mode="json", by_alias=True)
    except (InputError, KeyError):
        return
    planner_of = {key: name for name, planner in planners.items() for key in planner.keys}
    for path, value in leaves(scenario):
        above, _, section = path.rpartition(".")[0].rpartition(".")
        if value in (None, "", [], {}) or path.startswith("attributes.") or path in stated:
            continue
        # The key may be inside a value that is shown as a whole.
        if any(path.startswith(f"{key}.") for key in stated):
            continue
        if section in planner_of and above.partition(".")[0] in ("adversary", "adversaries"):
            if stated.get(f"{above}.planner") == planner_of[section]:
                yield path, value
        # The default adversary has no role if there are named adversaries.
        elif not (path.startswith("adversary.") and any(key.startswith("adversaries.") for key in stated)):
            yield path, value


def _meaning(run: StoredRun, path: str, value: object) -> str:
    """Return the schema's description of a scenario key; "" if there is none.

    The key is given by its path. If section types share the key, the description is from the type that allows the
    value.
    """
    models: list[type[Section]] = [model for name, model in schemas().items() if name == run.game]
    description = ""
    for part in path.split("."):
        found = [item for model in models for item in model.model_fields.items()]
        fields = [field for name, field in found if part in (field.alias or name, name)]
        if not fields:
            # This part is a user-defined section name or a list index.
            continue
        field = next((field for field in fields if value in get_args(field.annotation)), fields[0])
        description = (field.description or "").replace("`", "")
        models = [inner for field in fields for inner in section_classes(field.annotation)]
    return description


def _comments(run: StoredRun, texts: list[str]) -> dict[str, str]:
    """Return the comments on values in the scenario files, by key path.

    A comment counts only if the run has the same value. A comment follows ``key = value #`` in one line. `texts` are
    the texts of the files; later comments replace earlier ones.
    """
    stated = dict(leaves(run.content))
    found: dict[str, str] = {}
    for text in texts:
        above = ""
        for line in map(str.strip, text.splitlines()):
            if heading := _HEADING.match(line):
                above = heading[1].replace('"', "").replace(" ", "") + "."
            elif match := _COMMENTED.match(line):
                key = above + match[1]
                if key in stated and _SPACES.sub("", match[2]) == _SPACES.sub("", inline_toml(stated[key])):
                    found[key] = match[3].strip().replace("`", "")
    return found


def repeat(run: StoredRun) -> dict[str, Any]:
    """Return the values of the template `repeat`, by name.

    They show how to run the scenario again. They are the scenario's name, the command, the user's files that it needs,
    versions of packages, and hashes.
    """
    hashes = {"scenario": run.manifest.get("scenario_hash"), "data as coded": run.manifest.get("data_hash")}
    texts = _texts([value for key, value in run.content.items() if key not in ("title", "source")])
    return {
        "name": run.name,
        "command": f"reidsim {_command_of(run)} {shlex.quote(f'{run.name}.toml')}",
        # The user's files that a scenario names, which a copy of it needs too.
        "files": list(dict.fromkeys(text for text in texts if text.endswith(_FILES) and not text.startswith(BUNDLED))),
        "versions": run.manifest["versions"],
        "hashes": {name: digest for name, digest in hashes.items() if isinstance(digest, str)},
    }


def _command_of(run: StoredRun) -> str:
    """Return the command that wrote a results folder, with the options it recorded.

    It is run, stress or cross-play. The name of the program and the scenario are not part of it.
    """
    played = run.manifest.get("cross_play")
    if not isinstance(played, Mapping):
        return "run" if "runs" in run.tables else "stress"
    oracle = played.get("double_oracle")
    options = {
        "--knowledge": played.get("knowledge"),
        "--attack-rate": None if played.get("attack_rate") == 0.5 else played.get("attack_rate"),
        "--double-oracle": oracle,
        "--tolerance": played.get("tolerance", 0.01) if oracle else None,
    }
    words = [f"{name} {shlex.quote(str(value))}" for name, value in options.items() if value not in (None, "")]
    return " ".join(["cross-play", *words, *(["--equilibrium"] if played.get("equilibrium") else [])])


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(entry)
