"""Results and their folders, which are written completely or not at all."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from reidsim.agents.attack import weighted_quantiles
from reidsim.core.errors import InputError, reading, writing
from reidsim.core.files import (
    BUNDLED,
    data_file,
    is_parquet_folder,
    read_json,
    require_no_device,
    require_no_standard_output,
)
from reidsim.core.validation import plain
from reidsim.core.wording import WORDS, Measure, counted
from reidsim.games.outcomes import Reidentified, own_measures
from reidsim.scenarios.kind import (
    ROWS_PER_PART,
    AnalysisTables,
    Kind,
    Progress,
    RecordTable,
    kind_of,
    kind_of_content,
    once_each,
)
from reidsim.scenarios.registry import kinds
from reidsim.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LOGGER = logging.getLogger(__name__)
_version = cache(version)  # reads and parses a file
_RECORDED_VERSIONS = ("reidsim", "numpy", "pandas", "numba", "pyarrow", "pydantic")


def write_results(folder: Path, write: Callable[[Path], object]) -> None:
    """Write a results folder that appears complete or not at all.

    Files are written to a hidden folder beside it, which is renamed after all files are on disk. Only the user can read
    the folder, because results contain data about people; see `open_to_group`.

    Parameters
    ----------
    folder : Path
        Must be empty or not exist.
    write : callable
        Called with the hidden folder; writes the files into it.

    Raises
    ------
    InputError
        If the folder is not empty or cannot be written.
    """
    require_free(folder)
    with writing(folder), removing_unused(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_beside(folder) as unfinished:
            write(unfinished)
            sync(unfinished)
            keep_private(unfinished)
            unfinished.replace(folder)
    _LOGGER.info("results written to %s", folder)


@contextmanager
def unfinished_beside(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `folder`.

    Remove it at the end unless the caller has renamed it.
    """
    with tempfile.TemporaryDirectory(
        prefix=f".{folder.name}-", dir=folder.parent, ignore_cleanup_errors=True
    ) as beside:
        yield Path(beside)


@contextmanager
def adding_to(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder whose content replaces files and folders of the same name in `folder` at the end.

    If the block fails, `folder` is unchanged.
    """
    with unfinished_beside(folder / "unfinished") as unfinished:
        yield unfinished
        sync(unfinished)
        keep_private(unfinished)
        for path in sorted(unfinished.iterdir()):
            target = folder / path.name
            if target.is_dir():
                shutil.rmtree(target)
            path.replace(target)


@contextmanager
def removing_unused(folder: Path) -> Iterator[None]:
    """If the block fails, remove the empty folders that it created.

    Folders are removed from `folder` upwards.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        for path in missing:
            # rmdir fails if a folder is not empty, which keeps its content.
            with suppress(OSError):
                path.rmdir()
        raise


def keep_private(folder: Path, *, of_folders: int = 0o700, of_files: int = 0o600) -> None:
    """Restrict a folder and its content to the user, or set other permissions.

    `of_folders` and `of_files` are permission bits. Symbolic links in the folder are unchanged.
    """
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(of_folders if path.is_dir() else of_files)


def open_to_group(folder: Path) -> None:
    """Make a folder and its content readable by its group.

    Raises
    ------
    InputError
        If the operating system does not allow it.
    """
    with writing(folder):
        keep_private(folder, of_folders=0o750, of_files=0o640)


def require_free(folder: Path) -> None:
    """Check, before the computation starts, that a folder can receive results.

    Raises
    ------
    InputError
        If the path is a file, below a file, a folder that is not empty or cannot be read, or ``-``.
    """
    require_no_standard_output(folder)
    with writing(folder):
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError("folder is not empty", source=folder, expected="a new folder: results are not overwritten")
        for path in (folder, *folder.absolute().parents):
            if not path.is_dir() and (path.exists() or path.is_symlink()):
                raise InputError("is a file", source=path, expected="a folder for results")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents if they are missing.

    An empty folder becomes readable by the user only; permissions of other folders are unchanged.

    Raises
    ------
    InputError
        If the folder cannot be created.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            keep_private(folder)


def next_free_folder(parent: Path, name: str) -> Path:
    """Return ``parent/name-001``, or the first such path that is not in use."""
    return next(path for number in itertools.count(1) if not (path := parent / f"{name}-{number:03d}").exists())


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that determine results, by name."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _RECORDED_VERSIONS}}


def make_manifest(loaded: Scenario[Any], timings: Mapping[str, float], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a results folder.

    It holds the scenario with its hash and seed, the sources of its values (see `origins_of`), versions of packages,
    and `timings` in seconds; ``parts``, the origin of each user-defined kind, adversary, policy or measure, if any;
    ``measures``, if the kind of scenario or a measure is user-defined; and the entries of `facts`, which replace
    entries of the same name.
    """
    parts, kind = loaded.makers(), kind_of(loaded.scenario)
    is_known = kind.name in kinds and not own_measures()
    content = recorded_content(loaded)
    return {
        "scenario": loaded.name,
        "scenario_hash": scenario_hash(content),
        "seed": loaded.scenario.seed,
        "content": content,
        "origins": loaded.origins,
        "versions": versions(),
        "timings_seconds": {key: round(value, 3) for key, value in timings.items()},
        **({"parts": parts} if parts else {}),
        # A reader of the manifest may not have, or not trust, the user's module that defines the kind or a measure.
        **({} if is_known else {"measures": [measure.words for measure in kind.measures_of(loaded.content)]}),
        **facts,
    }


def common_fields(
    loaded: Scenario[Any], timings: Mapping[str, float], facts: Mapping[str, Any], warnings: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the values of the fields that every `Result` has, by name.

    The fields are ``name``, ``manifest`` and ``warnings``. See `make_manifest` for `timings` and `facts`.
    """
    return {"name": loaded.name, "manifest": make_manifest(loaded, timings, facts), "warnings": tuple(warnings)}


def measures_in_manifest(manifest: Mapping[str, Any]) -> tuple[Measure, ...]:
    """Return the measures of the kind of scenario that a manifest describes.

    For user-defined kinds, they are read from the manifest, so that the user's module is not needed.

    Raises
    ------
    InputError
        If the kind is not known, or the measures in the manifest are malformed.
    """
    told = manifest.get("measures")
    if told is None:
        return kind_of_content(manifest["content"]).measures_of(manifest["content"])
    if not isinstance(told, list) or not all(isinstance(each, dict) and sorted(each) == sorted(WORDS) for each in told):
        raise InputError("not the manifest of a run", where="measures", expected="a manifest written by reidsim run")
    return tuple(Measure(**dict[str, Any]({name: str(each[name]) for name in WORDS})) for each in told)


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """Base class of results, with methods to plot, report and save them.

    Parameters
    ----------
    name : str
        Name of the scenario.
    manifest : dict
        Scenario, versions and options that produced the result; see `make_manifest`.
    warnings : tuple of str
        Notes for readers of the result.
    """

    name: str
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {', '.join(self.stored_tables())})"

    def stored_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables of the results folder, by name.

        By default, these are all fields that are tables.
        """
        return {name: value for name, value in vars(self).items() if isinstance(value, pd.DataFrame)}

    def written_tables(self) -> Mapping[str, pd.DataFrame | RecordTable]:
        """Return the same tables as they are written; a large one in parts."""
        return self.stored_tables()

    @property
    def facts(self) -> dict[str, Any]:
        """Plain data that `restored` needs and that neither the tables nor the manifest contain."""
        return {}

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder.

        By default, all fields of the class, except the common ones, are tables.

        Parameters
        ----------
        tables : dict of str to DataFrame
            The tables of `stored_tables`, by name.
        facts : mapping
            The manifest's entry ``result``.
        common : dict
            Values of the fields of every `Result`, by name.

        Raises
        ------
        KeyError, TypeError, ValueError
            If a table or fact is missing or has another form.
        """
        fields: dict[str, Any] = {**tables, **common}
        return cls(**fields)

    @property
    def figures(self) -> tuple[str, ...]:
        """Names of all figures, main figures first; see `plot`. Each access draws the figures."""
        return import_module("reidsim.reports.drawing").figure_names(self)  # type: ignore[no-any-return]

    def plot(self, name: str | None = None, *, ax: Axes | None = None) -> Figure:
        """Return a figure, by default the main one; see `reidsim.plot` for the arguments and errors."""
        return import_module("reidsim").plot(self, name, ax=ax)  # type: ignore[no-any-return]

    def save_figure(self, path: str | Path, name: str | None = None) -> Path:
        """Write a figure to a file; return the path.

        Parameters
        ----------
        path : str or Path
            File whose name ends in ``.png``, ``.svg`` or ``.pdf``; an existing file is replaced.
        name : str, optional
            One of `figures`; the main figure if not given.

        Raises
        ------
        InputError
            If the result has no such figure, the name of the file has another ending, or the file cannot be written.
        """
        return import_module("reidsim.reports.drawing").write_figure(self, Path(path), name)  # type: ignore[no-any-return]

    def report(self, path: str | Path | None = None, **options: Any) -> Any:
        """Return the report of the result as a `Report`; write it, if `path` is given.

        See `reidsim.report` for the other arguments, `options`, and errors.
        """
        return import_module("reidsim").report(self, path, **options)

    def _repr_html_(self) -> str:
        return import_module("reidsim.reports.python").result_html(self)  # type: ignore[no-any-return]

    def save(self, folder: str | Path) -> Path:
        """Write the results folder, manifest and tables; return its path.

        Raises
        ------
        InputError
            If the folder is not empty or cannot be written; no partial results remain.
        """
        folder = Path(folder)
        write_results(folder, lambda into: write_json(into / "manifest.json", self.write_tables(into)))
        return folder

    def write_tables(self, folder: Path) -> dict[str, Any]:
        """Write tables into an existing folder; return the manifest with the warnings, which is not written."""
        tables = self.written_tables()
        for name, table in tables.items():
            write_parquet(folder / f"{name}.parquet", table)
        facts = {"type": type(self).__name__, "tables": [*tables], **self.facts}
        return {**self.manifest, "result": facts, "warnings": list(self.warnings)}


def without_folder(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a results folder as that of the result, without entries that describe the folder."""
    return {key: value for key, value in manifest.items() if key not in ("result", "warnings", "tables")}


# Types of the entries of a manifest; the first three are required.
_TYPES: dict[str, Any] = {"scenario": str, "content": dict, "versions": dict, "released_people": int}
_TYPES |= dict.fromkeys(("scenario_file", "state"), str) | {"warnings": list}
_TYPES |= dict.fromkeys(("policies", "release_file", "origins", "design", "tables"), dict)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a results folder.

    Raises
    ------
    InputError
        If there is no manifest, it cannot be used, its scenario was changed after the run, or the folder contains
        links.
    """
    require_no_links(folder)
    path = folder / "manifest.json"
    if not path.is_file():
        expected = f"a folder with {path.name}, written by reidsim run"
        raise InputError("not a results folder", source=folder, expected=expected)
    manifest = read_json(path)
    found: dict[str, Any] = dict.fromkeys([*_TYPES][:3]) | (manifest if isinstance(manifest, dict) else {})
    where = next((key for key, kind in _TYPES.items() if not isinstance(found.get(key, kind()), kind)), "")
    if not where and scenario_hash(found["content"]) != found.get("scenario_hash"):
        where = "content"
    if where:
        expected = "a manifest written by reidsim run, with the scenario of its hash"
        raise InputError("not the manifest of a run", source=path, where=where, expected=expected)
    return found


def recorded_content(loaded: Scenario[Any]) -> dict[str, Any]:
    """Return the content of a scenario as a manifest records it, with references to parts of modules."""
    return loaded.named_objects(loaded.content, lambda name, part: name)


def scenario_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hexadecimal digits, of a scenario given as plain data.

    It does not depend on the order of keys.
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=plain).encode()).hexdigest()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as indented JSON; replace an existing file."""
    path.write_text(json.dumps(content, indent=2, default=plain) + "\n", encoding="utf-8")


def write_parquet(path: Path, table: pd.DataFrame | RecordTable) -> None:
    """Write a table, or the parts of a table of records, as Parquet, without index, in row groups of 100,000 rows.

    Readers can load row groups separately, to limit memory.
    """
    parts = table.parts() if isinstance(table, RecordTable) else iter([table])
    tables = (pa.Table.from_pandas(part, preserve_index=False) for part in parts)
    first = next(tables)
    # The type of a column of categories depends on their number, which differs between parts.
    types = (pa.dictionary(pa.int32(), t.value_type) if pa.types.is_dictionary(t) else t for t in first.schema.types)
    schema = pa.schema(zip(first.schema.names, types, strict=True), first.schema.metadata)
    # Differences of whole numbers take less space than a dictionary, and statistics of all columns half of the time.
    whole = [field.name for field in schema if pa.types.is_integer(field.type)]
    others = [name for name in schema.names if name not in whole]
    encodings = dict.fromkeys(whole, "DELTA_BINARY_PACKED")
    with parquet.ParquetWriter(
        path, schema, use_dictionary=others, column_encoding=encodings, write_statistics=[*whole, "policy"]
    ) as writer:
        for each in itertools.chain([first], tables):
            writer.write_table(each.cast(schema), row_group_size=ROWS_PER_PART)


class Clock:
    """A clock that records the seconds between laps.

    Attributes
    ----------
    laps : dict of str to float
        Seconds of each lap, by name.
    """

    def __init__(self) -> None:
        self.laps, self._last = dict[str, float](), time.perf_counter()

    def lap(self, name: str) -> None:
        """Record the seconds since the last lap under a name."""
        before, self._last = self._last, time.perf_counter()
        self.laps[name] = self._last - before


def begun(loaded: Scenario[Any], progress: Progress | None) -> tuple[Kind, Clock, Progress]:
    """Return a scenario's kind, a clock and a reporter.

    The clock starts now. The reporter is `progress`, or does nothing if that is None.
    """
    report: Progress = progress or (lambda task, done, total: None)
    report(f"reading {loaded.name}", 0, 1)
    return kind_of(loaded.scenario), Clock(), report


def sync(folder: Path) -> None:
    """Flush all files of a folder to disk (fsync)."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def require_no_links(folder: Path) -> None:
    """Check that no file of a results folder is a symbolic link, pipe or device.

    Entries of the folder and of its subfolder ``figures`` are checked. The folder itself may be a link. The target of a
    link could be read into a report, or overwritten by a resumed batch.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    InputError
        If there is such a file; the message names the first one.
    """
    with reading(folder):
        # Links in other subfolders do no harm.
        for path in (*sorted(folder.glob("*")), *sorted(folder.glob("figures/*"))):
            if path.is_symlink():
                problem, found = "the file is a symbolic link, which is not followed", os.readlink(path)
                expected, hint = "a file in the folder", "copy the file into the folder"
                raise InputError(problem, source=path, found=found, expected=expected, hint=hint)
            require_no_device(path)


# Columns that identify a run and its state; other columns are measures.
RUN_COLUMNS = ("scenario", "point", "replication", "policy", "state", "seed")


@dataclass(frozen=True, eq=False, repr=False)
class RunResult(Result):
    """The result of a run; see `Result` for further parameters.

    Parameters
    ----------
    runs : DataFrame
        One row per replication and policy (in assessments, per row of the assessment): `RUN_COLUMNS`, averages of
        `MEASURES` over records, and further measures of the game. Stored as ``runs.parquet`` in results folders.
    table_of_records : DataFrame or RecordTable
        One row per record and policy, from the first replication; see `records`.
    analysis : AnalysisTables
        Tables from which the figures are drawn.
    by : tuple of str
        Columns of `runs` that group the rows of `summary`.
    measured : tuple of str
        Columns of `runs` that `summary` averages; default: all measures.
    held : object
        Owner of the result's temporary files, referenced so that they exist as long as the result.

    See Also
    --------
    Scenario.run : run a scenario.
    report : write a report of the result.
    share : write the records that a policy releases.

    Examples
    --------
    >>> import pandas, reidsim
    >>> patients = pandas.DataFrame({"age": [30, 34, 52, 55] * 20, "sex": ["F", "F", "M", "M"] * 20})
    >>> result = reidsim.new(patients).run()
    >>> result.summary["risk"].round(2).to_dict()
    {'no-protection': 0.05, 'basic': 0.05, 'no-attack': 0.0}
    """

    runs: pd.DataFrame
    table_of_records: pd.DataFrame | RecordTable
    analysis: AnalysisTables
    by: tuple[str, ...] = ("policy",)
    measured: tuple[str, ...] = ()
    held: object = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the owner of temporary files, which stay with the process that made them."""
        return {**vars(self), "held": None, "table_of_records": self.records}

    @classmethod
    def restored(cls, tables: dict[str, pd.DataFrame], facts: Mapping[str, Any], common: dict[str, Any]) -> Self:
        """Return a result from the content of its results folder; see `Result.restored`."""
        runs, records = tables.pop("runs"), tables.pop("records", pd.DataFrame())
        return cls(runs, records, AnalysisTables(tables), tuple(facts["by"]), tuple(facts["measured"]), **common)

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row per record and policy, from the first replication."""
        records = self.table_of_records
        return records.frame() if isinstance(records, RecordTable) else records

    @property
    def risks(self) -> pd.DataFrame:
        """Outcomes of data subjects: `records` once for each subject, with column ``weight``, a number of subjects.

        Subjects with equal outcomes may be one row, with fewer columns; see `RecordTable.weighted`.
        """
        records = self.table_of_records
        if isinstance(records, RecordTable):
            return records.weighted()
        return once_each(records, self.manifest["content"]).assign(weight=1)

    @property
    def facts(self) -> dict[str, Any]:
        """The fields `by` and `measured`."""
        return {"by": [*self.by], "measured": [*self.measured]}

    @property
    def rounds(self) -> pd.DataFrame:
        """Measures of each round of agents, or wave of releases.

        One row per ``replication``, ``draw``, ``policy`` and ``round`` (in a batch, also per ``point``), and one column
        per measure of a round; see `reidsim.engine.single_run.analysis_of`. Without rounds, AttributeError is raised.
        """
        return self.analysis.rounds  # type: ignore[no-any-return]

    @property
    def statistics(self) -> pd.DataFrame:
        """Statistics over the runs of a batch; see `BatchResult.statistics`.

        Other results raise AttributeError.
        """
        return self.analysis.statistics  # type: ignore[no-any-return]

    @property
    def people(self) -> pd.DataFrame:
        """Distribution of the number of people re-identified under each policy.

        One row per ``policy`` (in a batch, also per ``point`` and ``replication``) and number of ``people``, with its
        ``probability`` and that of at most this number, ``at_most``. A result without policies raises AttributeError.
        """
        return self.analysis.reidentified  # type: ignore[no-any-return]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of the scenario's kind, which label and define columns of `runs`."""
        return measures_in_manifest(self.manifest)

    @property
    def summary(self) -> pd.DataFrame:
        """Averages of the columns `measured` of `runs`, indexed by the columns `by`.

        By default, these are measures by policy, averaged over replications. In assessments, they are averages by size
        of the release and adversary.
        """
        measures = list(self.measured) or [column for column in self.runs.columns if column not in RUN_COLUMNS]
        by = self.by[0] if len(self.by) == 1 else list(self.by)
        return self.runs.groupby(by, sort=False, observed=True)[measures].mean()

    def __repr__(self) -> str:
        policies = ", ".join(map(str, self.runs["policy"].unique())) if "policy" in self.runs else ""
        return f"{type(self).__name__}({self.name!r}: {policies or counted(len(self.runs), 'row')})"

    def share(self, policy: str | None = None, **options: Any) -> pd.DataFrame:
        """Return the records as released by a policy; see `reidsim.share`.

        `options` are its further arguments.
        """
        return import_module("reidsim").share(self, policy, **options)  # type: ignore[no-any-return]

    def stored_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the results folder, by name.

        They are runs, records (if any), and the tables for figures.
        """
        tables = self.written_tables()
        return {name: self.records if name == "records" else table for name, table in tables.items()}

    def written_tables(self) -> dict[str, Any]:
        """Return the same tables; the records are a `RecordTable` where `table_of_records` is."""
        records = self.table_of_records
        has_records = isinstance(records, RecordTable) or len(records.columns)
        of_records = {"records": records} if has_records else {}
        return {"runs": self.runs, **of_records, **self.analysis.tables()}


def run_table(name: str, seed: int, replication: int, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one replication for the table of runs, one per policy.

    `summary` holds the measures, indexed by policy, `name` the scenario, and `seed` the root seed. The point is 0 and
    the state ``complete``.
    """
    place = pd.DataFrame({"scenario": name, "point": 0, "replication": replication}, index=range(len(summary)))
    return pd.concat([place, summary.reset_index()], axis=1).assign(state="complete", seed=seed)


# Folder of the data files of bundled scenarios.
_BUNDLED_AMONG = "scenarios"


def release_file_facts(loaded: Scenario[Any]) -> dict[str, Any]:
    """Return path and SHA-256 of the file with a scenario's records.

    Returns
    -------
    dict
        Empty if the records do not come from a file. Otherwise ``scenario_file``, the path of the scenario, and
        ``release_file``, a dict with ``path`` and ``sha256``. If hierarchies of attributes are in files, this dict also
        has ``hierarchies``, which maps each such attribute to a dict with ``path`` and ``sha256`` of its file. Relative
        paths are shown relative to the working folder, absolute paths and names of bundled files (``bundled:...``)
        unchanged.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    kind, scenario = kind_of(loaded.scenario), loaded.scenario
    if (text := kind.release_file(scenario)) is None:
        return {}

    def facts_of(path: Path, text: str) -> dict[str, Any]:
        return {"path": text if text.startswith(BUNDLED) else _shown(path), "sha256": sha256_of(path)}

    facts: dict[str, Any] = {"scenario_file": _shown(loaded.path)}
    facts["release_file"] = release = facts_of(data_file(text, loaded.folder, _BUNDLED_AMONG), text)
    try:
        files = kind.shared_columns(scenario).hierarchies or {}
    except InputError:
        # The records of this scenario differ from the file, so they cannot be shared and need no hierarchies.
        return facts
    if files:
        release["hierarchies"] = {name: facts_of(loaded.folder / file.file, file.file) for name, file in files.items()}
    return facts


def find_release_file(shown: str) -> Path:
    """Return the path of a file, given its ``path`` in `release_file_facts`.

    A relative path refers to the working folder, ``bundled:...`` to a file of the package.
    """
    return data_file(shown, Path(), _BUNDLED_AMONG)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits.

    The SHA-256 of a folder of Parquet files is computed from the digests and names of its files, in the order of their
    names, in the format of ``sha256sum``.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    require_no_device(path)
    if is_parquet_folder(path):
        files = sorted(file for file in path.rglob("*") if file.is_file())
        lines = [f"{sha256_of(file)}  {file.relative_to(path).as_posix()}\n" for file in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with reading(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shown(path: Path) -> str:
    """Return the text of a path for a manifest.

    An absolute path is unchanged. A relative path is resolved and shown relative to the working folder.
    """
    # A path on another drive (Windows) has no relative form.
    with suppress(ValueError):
        return str(path) if path.is_absolute() else os.path.relpath(path.resolve())
    return str(path.resolve())


def require_hash(path: Path, told: str, problem: str, *, hint: str | None = None) -> None:
    """Check that a file has the expected SHA-256, `told`.

    `problem` and `hint` are parts of the error message.

    Raises
    ------
    InputError
        If the hashes differ (the message shows the first digits of both), or the file cannot be read.
    """
    found = sha256_of(path)
    if found != told:
        raise InputError(
            problem, source=path, found=f"SHA-256 {found[:12]}...", expected=f"{str(told)[:12]}...", hint=hint
        )


SHARED_FORMAT = "reidsim shared records, version 1"


def sidecar_of(path: Path) -> Path:
    """Return the path of the sidecar of a released file, its description.

    It is the same path with ``.json`` appended.
    """
    return path.with_name(f"{path.name}.json")


def is_shared_file(path: Path) -> bool:
    """Return whether a file has a sidecar of `share`, which sorts the rows that it writes."""
    # Other programs also put a description beside a file.
    with suppress(InputError):
        sidecar = read_json(sidecar_of(path)) if sidecar_of(path).exists() else None
        return isinstance(sidecar, dict) and sidecar.get("format") == SHARED_FORMAT
    return False


LEVELS = {"minimum": 0.0, "q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95, "maximum": 1.0}
# Name of the measure "number of people re-identified" in the table of distributions over records.
PEOPLE = "reidentified"
# Outcomes of a record whose quantiles are computed in games of policies; withheld records are included.
OUTCOMES = ("publisher_payoff", "adversary_payoff", "risk")
# Columns of the table of records whose quantiles are computed in assessments.
_OF_PERSONS = ("prosecutor", "journalist", "marketer", "overall")


def quantile_rows(
    group: Mapping[str, Any], outcomes: Mapping[str, NDArray[np.float64]], weights: NDArray[np.int64] | None = None
) -> list[dict[str, Any]]:
    """Return quantiles of outcomes over the records of a group.

    There is one row per outcome.

    Parameters
    ----------
    group : mapping
        Columns that identify the group, such as ``policy``.
    outcomes : mapping of str to ndarray of float64, shape (n,)
        Values of records, by outcome.
    weights : ndarray of int64, shape (n,), optional
        Number of records with each value. Quantiles are then not interpolated: each is the outcome of a record; they
        are missing (NaN) if there is no record. By default, each value counts once, and quantiles are interpolated.

    Returns
    -------
    list of dict
        The columns of `group`, ``measure`` (the outcome) and one quantile per name in `LEVELS`.
    """
    levels = [*LEVELS.values()]
    # numpy finds quantiles of sorted values in half the time, sorting included.
    found = {
        name: np.quantile(np.sort(values), levels).tolist()
        if weights is None
        else weighted_quantiles(values, weights, levels)
        for name, values in outcomes.items()
    }
    return [{**group, "measure": name, **dict(zip(LEVELS, each, strict=True))} for name, each in found.items()]


def quantiles_of_people(found: Mapping[str, Reidentified]) -> list[dict[str, Any]]:
    """Return quantiles of the number of people re-identified, by policy.

    Rows are as in `quantile_rows`. `found` holds the distribution of this number under each policy. Each quantile is a
    possible number; see `Distribution.quantile`.
    """
    return [
        {"policy": policy, "measure": PEOPLE, **{name: each.people.quantile(level) for name, level in LEVELS.items()}}
        for policy, each in found.items()
    ]


def distributions_of_result(result: RunResult) -> pd.DataFrame:
    """Return the quantiles of outcomes over the records of rounds of agents, or of an assessment.

    Returns
    -------
    DataFrame
        With agents, the table ``distributions`` of the result; see `reidsim.engine.single_run.analysis_of`. In
        assessments, rows as in `quantile_rows`, by ``records``, the size of the release, and ``knowledge``. In
        scenarios that count people, each person counts once. The table is empty if the result has no records, or if
        these have none of the grouping columns.
    """
    of_rounds = result.analysis.tables().get("distributions")
    if of_rounds is not None:
        return of_rounds
    records = once_each(result.records, result.manifest["content"])
    groups = [column for column in ("records", "knowledge") if column in records]
    if records.empty or not groups:
        return pd.DataFrame()
    measures = [column for column in _OF_PERSONS if column in records]
    rows = (
        quantile_rows(dict(zip(groups, names, strict=True)), {name: group[name].to_numpy(float) for name in measures})
        for names, group in records.groupby(groups, sort=False, observed=True)
    )
    return pd.DataFrame([*itertools.chain.from_iterable(rows)])
