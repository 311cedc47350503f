"""Results folders: written completely or not at all, with a manifest; figures may be added later."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import platform
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from reidsim.core.measures import WORDS, Measure
from reidsim.errors import InputError, reading, writing
from reidsim.file_sizes import require_no_device
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.registry import is_of_package, kind_of, kind_of_content
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reidsim.scenarios.kind import Kind
    from reidsim.scenarios.study import Progress

_LOGGER = logging.getLogger(__name__)
# Draws the figures of a result into a folder; returns the files' names.
Illustrator = Callable[[Any, Path], list[str]]
_RECORDED_VERSIONS = ("reidsim", "numpy", "pandas", "numba", "pyarrow", "pydantic")

_ROWS_PER_PART = 100_000


def write_results(folder: Path, write: Callable[[Path], None]) -> None:
    """Fill a results folder so that it appears complete or not at all.

    Everything is written to a hidden folder beside it, which takes its name once all is on disk. Nobody but the user
    can read it, since results contain data about people; see `open_to_group`.

    Parameters
    ----------
    folder : Path
        Must not exist, or be empty.
    write : callable
        Writes the files into the folder it is given.

    Raises
    ------
    InputError
        If the folder is taken or cannot be written.
    """
    require_free(folder)
    with writing_results(folder), removing_unused(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_beside(folder) as unfinished:
            write(unfinished)
            sync(unfinished)
            keep_private(unfinished)
            unfinished.replace(folder)
    _LOGGER.info("results written to %s", folder)


@contextmanager
def unfinished_beside(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder beside another, which is gone in the end unless it has another name by then."""
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextmanager
def removing_unused(folder: Path) -> Iterator[None]:
    """If the block fails, remove the empty folders that it has made, from `folder` upwards."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        for path in missing:
            # A folder that holds something is not removed.
            with suppress(OSError):
                path.rmdir()
        raise


@contextmanager
def writing_results(folder: Path) -> Iterator[None]:
    """Convert errors of the operating system to errors of results that cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise InputError("the disk is full; nothing was written", source=folder) from None
        raise InputError(f"results cannot be written: {error.strerror or error}", source=folder) from None


def keep_private(folder: Path) -> None:
    """Make a folder and its content readable by the user only."""
    _set_permissions(folder, of_folders=0o700, of_files=0o600)


def open_to_group(folder: Path) -> None:
    """Make a folder and its content readable by its group.

    Raises
    ------
    InputError
        If the system does not allow it.
    """
    with writing_results(folder):
        _set_permissions(folder, of_folders=0o750, of_files=0o640)


def _set_permissions(folder: Path, *, of_folders: int, of_files: int) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(of_folders if path.is_dir() else of_files)


def require_free(folder: Path) -> None:
    """Check, before any work is done, that results can go to a folder.

    Raises
    ------
    InputError
        If it is a file, a folder that holds something, or ``-``.
    """
    require_no_standard_output(folder)
    with writing_results(folder):
        _require_free(folder)


def require_no_standard_output(path: Path) -> None:
    """Refuse ``-``, the name of standard output, for several files.

    Raises
    ------
    InputError
        If it is that.
    """
    if str(path) == "-":
        problem = "several files cannot be written to standard output"
        raise InputError(problem, source="-o", found="-", expected="a file or folder name")


def _require_free(folder: Path) -> None:
    parent = next((p for p in folder.absolute().parents if p.exists()), None)
    if parent is not None and not parent.is_dir():
        raise InputError("is a file", source=parent, expected="a folder for results")
    if folder.is_dir():
        if any(folder.iterdir()):
            raise InputError("folder is not empty", source=folder, expected="a new folder: results are not overwritten")
    elif folder.exists() or folder.is_symlink():
        raise InputError("is a file", source=folder, expected="a folder for results")


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, if missing; an empty folder becomes private.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            keep_private(folder)


def next_free_folder(parent: Path, name: str) -> Path:
    """Return ``parent/name-001``, or the first number not in use."""
    number = 1
    while (parent / f"{name}-{number:03d}").exists():
        number += 1
    return parent / f"{name}-{number:03d}"


def make_manifest(
    loaded: LoadedScenario[ScenarioHead], timings: Mapping[str, float], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the manifest of a results folder: the scenario, its hash, seed, versions and timings (in seconds)."""
    parts, kind = loaded.makers(), kind_of(loaded.scenario)
    return {
        "scenario": loaded.name,
        "scenario_hash": scenario_hash(loaded.content),
        "seed": loaded.scenario.seed,
        "content": loaded.content,
        "origins": loaded.origins,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _RECORDED_VERSIONS}},
        "timings_seconds": {key: round(value, 3) for key, value in timings.items()},
        **({"parts": parts} if parts else {}),
        # A reader need not have, or trust, the code of a user's kind.
        **({} if is_of_package(kind.name) else {"measures": [measure.words for measure in kind.measures]}),
        **facts,
    }


def measures_told(manifest: Mapping[str, Any]) -> tuple[Measure, ...]:
    """Return the measures of the kind of scenario that a manifest is of.

    Raises
    ------
    InputError
        If there is no such kind.
    """
    told = manifest.get("measures")
    if told is None:
        return kind_of_content(manifest["content"]).measures_of(manifest["content"])
    if not isinstance(told, list) or not all(isinstance(each, dict) and sorted(each) == sorted(WORDS) for each in told):
        raise InputError("not the manifest of a run", where="measures", expected="a manifest written by reidsim run")
    return tuple(Measure(**dict[str, Any]({name: str(each[name]) for name in WORDS})) for each in told)


class Result(ABC):
    """A result, which can be drawn, reported and saved as a folder."""

    name: str
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @abstractmethod
    def stored_tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the tables of the results folder, by name."""

    def plot(self) -> Figure:
        """Draw the main figure; see `reidsim.plot`."""
        figure: Figure = import_module("reidsim").plot(self)
        return figure

    def report(self, path: str | Path | None = None, *, author: str = "", institution: str = "") -> Any:
        """Write the report of the result; see `reidsim.report`."""
        return import_module("reidsim").report(self, path, author=author, institution=institution)

    def _repr_html_(self) -> str:
        text: str = import_module("reidsim.front.results").result_html(self)
        return text

    def save(self, folder: str | Path, *, illustrate: Illustrator | None = None) -> Path:
        """Write the results folder: manifest, tables, and figures if `illustrate` is given.

        Raises
        ------
        InputError
            If the folder holds something or cannot be written; then nothing is left behind.
        """
        folder = Path(folder)
        write_results(folder, lambda into: write_json(into / "manifest.json", self.write_tables(into, illustrate)))
        return folder

    def write_tables(self, folder: Path, illustrate: Illustrator | None = None) -> dict[str, Any]:
        """Write tables and figures into a folder that is there; return the manifest that belongs to them."""
        for name, table in self.stored_tables().items():
            write_parquet(folder / f"{name}.parquet", table)
        figures = [] if illustrate is None else illustrate(self, folder / "figures")
        return {**self.manifest, "figures": figures, "warnings": list(self.warnings)}


def require_sound(manifest: Mapping[str, Any], path: Path) -> None:
    """Check the hash of the scenario in a manifest.

    Raises
    ------
    InputError
        If it was changed after the run.
    """
    if scenario_hash(manifest["content"]) != manifest.get("scenario_hash"):
        expected = "the unchanged scenario of the run, with hash scenario_hash"
        raise InputError("not the manifest of a run", source=path, where="content", expected=expected)


def scenario_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a scenario as plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=plain).encode()).hexdigest()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as indented JSON."""
    path.write_text(json.dumps(content, indent=2, default=plain) + "\n", encoding="utf-8")


def write_parquet(path: Path, table: pd.DataFrame) -> None:
    """Write a table as Parquet, without the writer's index, in parts that can be read one by one."""
    table.to_parquet(path, index=False, row_group_size=_ROWS_PER_PART)


class Clock:
    """Seconds spent between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Note the seconds since the last lap under a name."""
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now


def begun(loaded: LoadedScenario[ScenarioHead], progress: Progress | None) -> tuple[Kind, Clock, Progress]:
    """Return the kind of a scenario, a clock, and a progress reporter, having imported its parts.

    Raises
    ------
    InputError
        If a part cannot be imported; before any file is read.
    """
    loaded.makers()
    report: Progress = progress or (lambda task, done, total: None)
    report(f"reading {loaded.name}", 0, 1)
    return kind_of(loaded.scenario), Clock(), report


def sync(folder: Path) -> None:
    """Let all files of a folder reach the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


# Subfolders whose files are read or replaced, besides the files of the folder itself.
_READ = ("figures",)


def require_no_links(folder: Path) -> None:
    """Check that no file of a results folder is a symbolic link, pipe or device; the folder itself may be a link.

    The target of a link would be read into a report, or overwritten by a resumed batch.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    InputError
        Names the first of them.
    """
    with reading(folder):
        for place in (folder, *(folder / name for name in _READ)):
            for path in sorted(place.iterdir()) if place.is_dir() else ():
                if path.is_symlink():
                    raise InputError(
                        "is a symbolic link, which is not followed",
                        source=path,
                        found=os.readlink(path),
                        expected="a file in the folder",
                        hint="copy the file into the folder",
                    )
                require_no_device(path)


def add_figures(result: Result, folder: Path, illustrate: Illustrator) -> None:
    """Draw the figures of a result into the folder that it was saved in without them.

    The folder is unchanged, complete without figures, until all are drawn, also after an interrupt or an error.

    Raises
    ------
    InputError
        If they cannot be written.
    """
    manifest = folder / "manifest.json"
    with writing_results(folder / "figures"), unfinished_beside(folder) as unfinished:
        figures = illustrate(result, unfinished / "figures")
        told = {**json.loads(manifest.read_text(encoding="utf-8")), "figures": figures}
        write_json(unfinished / manifest.name, told)
        sync(unfinished)
        keep_private(unfinished)
        (unfinished / "figures").replace(folder / "figures")
        (unfinished / manifest.name).replace(manifest)
