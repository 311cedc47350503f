"""The results folder of a batch, and the data files that the batch reads.

The folder has a lock, a journal, a manifest and tables. The folder gets a manifest when the batch begins, and the
tables at the end. In between, finished runs can be read from its journal, which has one line of JSON per run. A line is
on disk before the batch continues. SQLite would not do: its files have no checksums, so that a changed byte could
change a table.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from reidsim.adversaries.knowledge.groups import RECIPES
from reidsim.core.errors import InputError, listed, writing
from reidsim.core.files import BUNDLED, bundled_folder, data_file, is_parquet_folder, read_toml, require_parquet_fits
from reidsim.core.interrupts import tell_kept
from reidsim.core.tables import reading_parquet
from reidsim.engine import results
from reidsim.engine.batch.design import Design, RunOutcome, RunTask, at_point, code_version
from reidsim.engine.batch.statistics import batch_tables
from reidsim.engine.results import adding_to, sha256_of, write_json
from reidsim.populations.census import SEGMENTS
from reidsim.scenarios.registry import scenario_kind
from reidsim.scenarios.scenario import RECIPE_KEYS, Scenario

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"
_LOCK = ".lock"
# Opening a symbolic link would empty its target, so links are not followed.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Text before the checksum at the end of a line of the journal.
_CHECK = b',"check":"'
# Parts of an outcome in a line of the journal, in addition to its task.
_OUTCOME = ("state", "error", "warnings", "tables", "seconds")
RUNNING = "running"
INCOMPLETE = "incomplete"
_RUN_AGAIN = "run the batch again with another folder"
# Manifest entries that must be unchanged to resume a batch, with their descriptions in the error message.
_IDENTITY = {
    "seed": "the folder holds a batch with another seed",
    "scenario_hash": "the folder holds a batch with another scenario",
    "cross_play": "the folder holds a batch with other options, or from another command",
    "data_hash": "the folder holds a batch with other data",
    "code_version": "the batch was begun with another version of the program",
}


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a folder for the duration of the block.

    Raises
    ------
    InputError
        If another process, or another batch of this process, holds the lock, or the folder cannot be written.
    """
    path = folder / _LOCK
    while True:
        with writing(folder):
            descriptor = _open_private(str(path), os.O_RDWR | os.O_CREAT)
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            raise InputError("another batch is writing to the folder", source=folder) from None
        # The former holder may have removed the file between opening and locking.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                break
        os.close(descriptor)
    try:
        yield
    finally:
        # Remove the file before the lock is released; otherwise another process could lock a removed file.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def write_outcomes(path: Path, outcomes: Iterable[RunOutcome]) -> None:
    """Append outcomes to the journal of a batch; return when they are on disk.

    An incomplete last line is removed. A line that is damaged in another way remains in the file but is not read, so
    that its run is repeated.

    Raises
    ------
    InputError
        If the disk is full or the file cannot be written; complete lines stay.
    """
    lines = memoryview(b"".join(map(_line, outcomes)))
    # Unbuffered, so that closing the file after an error does not write again.
    with _keeping(path), open(path, "a+b", buffering=0, opener=_open_private) as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
        if file.read() not in (b"", b"\n"):
            file.truncate(path.read_bytes().rfind(b"\n") + 1)
        try:
            while lines:
                lines = lines[file.write(lines) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(path.read_bytes().rfind(b"\n") + 1)
            raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_LINK, 0o600)


def read_journal(path: Path, tasks: Iterable[RunTask], *, by_place: bool = False) -> list[RunOutcome]:
    """Return the outcomes of some tasks in a journal, in the order of tasks.

    If a run has several outcomes, the last one counts; a task without an outcome is skipped. Damaged lines are skipped.
    The journal may be read while it is being written: an incomplete last line is skipped, too. A missing journal has no
    outcomes. With `by_place`, a task without an outcome gets the outcome of its point and replication under another
    key, which may come from another version of the program.
    """
    last = {entry["run"]: entry for entry in _entries(path) if entry is not None}
    at = {(entry["point"], entry["replication"]): entry for entry in last.values()} if by_place else {}
    found = ((task, last.get(task.key) or at.get((task.point, task.replication))) for task in tasks)
    return [
        RunOutcome(replace(task, key=entry["run"]), **{name: entry[name] for name in _OUTCOME})
        for task, entry in found
        if entry is not None
    ]


def keeps_runs(folder: Path) -> bool:
    """Return whether a folder has a journal that is not empty."""
    journal = folder / JOURNAL
    return journal.is_file() and journal.stat().st_size > 0


@contextlib.contextmanager
def telling_kept(folder: Path | None, how_to_go_on: str) -> Iterator[None]:
    """If the block fails, tell the user that finished runs are kept.

    The message also contains `how_to_go_on`, an instruction to continue the batch. Nothing is added if there is no
    folder, or its journal has no run.
    """
    try:
        yield
    except BaseException:
        if folder is not None and keeps_runs(folder):
            tell_kept(f"finished runs are kept in {folder}: {how_to_go_on}")
        raise


@contextlib.contextmanager
def _keeping(path: Path) -> Iterator[None]:
    """Convert an OSError of writing to a batch's folder to an InputError, which tells whether runs are kept.

    The journal of the folder is at `path`.
    """
    try:
        with writing(path.parent):
            yield
    except InputError as error:
        hint = "finished runs are kept; repeat the command (for a batch, with --resume)"
        raise error.but(hint=hint if keeps_runs(path.parent) else error.hint) from None


def _line(outcome: RunOutcome) -> bytes:
    place = {"run": outcome.task.key, "point": outcome.task.point, "replication": outcome.task.replication}
    entry = {**place, **{name: getattr(outcome, name) for name in _OUTCOME}}
    # A checksum at the end of the line, so that a line with a changed byte is detected and not read.
    text = json.dumps(entry, separators=(",", ":")).encode()[:-1]
    return text + _CHECK + _checksum(text) + b"\n"


def damaged_lines(path: Path) -> int:
    """Return the number of damaged lines of a journal.

    An incomplete last line does not count.
    """
    return sum(entry is None for entry in _entries(path))


def _entries(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the content of each complete line of a journal.

    A line with a wrong checksum yields None. An incomplete last line is skipped. A missing journal has no lines.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                text, found, check = line.rstrip(b"\n").rpartition(_CHECK)
                yield json.loads(text + b"}") if found and check == _checksum(text) else None


def _checksum(text: bytes) -> bytes:
    return b'%08x"}' % zlib.crc32(text)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of the results folder of a batch.

    Raises
    ------
    InputError
        If there is no manifest that can be used, it does not describe a batch, or the folder contains links.
    """
    try:
        manifest = results.read_manifest(folder)
    except InputError as error:
        again = f"copy {MANIFEST} from a new run of the same scenario and data, and run the scenario with --resume"
        raise error.but(hint=f"finished runs are kept in {JOURNAL}: {again}" if keeps_runs(folder) else None) from None
    is_batch = {"design", "scenario_file", "state"} <= manifest.keys()
    if not (is_batch and isinstance(manifest["design"].get("files", {}), dict)):
        raise InputError("the folder holds no batch", source=folder, expected="the results of a batch")
    return manifest


def read_stored_tables(folder: Path, manifest: Mapping[str, Any], needed: str) -> dict[str, pd.DataFrame]:
    """Return all tables in the folder of a complete batch, by name.

    Raises
    ------
    InputError
        If the table `needed`, or a table in the manifest, is missing, was changed or cannot be read.
    """
    for name in (f"{needed}.parquet", *manifest.get("tables", ())):
        if not (folder / name).is_file():
            raise InputError("file missing from a complete batch", source=folder / name, hint="run the batch again")
    return {path.stem: read_stored(path, manifest) for path in sorted(folder.glob("*.parquet"))}


def read_stored(path: Path, manifest: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table from the folder of a batch.

    Its hash is checked only if the manifest has one, that is, after the batch has ended.

    Raises
    ------
    InputError
        If the hash differs from the manifest, the file cannot be read, or the table does not fit into free memory.
    """
    # The manifest of a running batch has no hashes yet.
    if manifest.get("tables", {}).get(path.name) not in (None, sha256_of(path)):
        raise InputError("the file changed since the batch ended", source=path, hint=_RUN_AGAIN)
    require_parquet_fits(path)
    with reading_parquet(path):
        return pd.read_parquet(path.absolute())


def scenario_of(manifest: Mapping[str, Any], *, allow_code: bool = False) -> Scenario[Any]:
    """Return the scenario that a manifest records.

    Parameters
    ----------
    manifest : mapping
    allow_code : bool
        Whether to import Python modules that the scenario names.

    Raises
    ------
    InputError
        If the scenario is not valid in this version of the program, or its kind is defined in a user's module that may
        not, or cannot, be imported.
    """
    path, content = Path(manifest["scenario_file"]), dict(manifest["content"])
    start = Scenario[Any](manifest["scenario"], path, None, content, manifest.get("origins", {}), allow_code)
    return start.with_content(content, scenario_kind(content, path, allow_code=allow_code).schema)


def read_runs(folder: Path, manifest: Mapping[str, Any], design: Design, tasks: Iterable[RunTask]) -> pd.DataFrame:
    """Return the finished runs of a batch, with the columns of ``runs.parquet`` and their keys.

    While the batch is running, the runs of `tasks` are read from its journal; afterwards, all runs are read from the
    table. A table of numbered replications alone has no column of keys; the keys are then those of `tasks`.

    Raises
    ------
    InputError
        If the table of runs was changed or cannot be read.
    """
    if manifest["state"] != RUNNING:
        stored = read_stored(folder / "runs.parquet", manifest)
        keys = ({"point": task.point, "replication": task.replication, "run": task.key} for task in tasks)
        return stored if "run" in stored else stored.merge(pd.DataFrame(keys), how="left")
    return batch_tables(manifest["scenario"], design, read_journal(folder / JOURNAL, tasks, by_place=True))["runs"]


def require_same(folder: Path, manifest: Mapping[str, Any]) -> str:
    """Check that a folder holds the batch of a manifest; return the batch's state.

    The state is `RUNNING`, `COMPLETE` or `INCOMPLETE` (ended, with failed runs).

    Raises
    ------
    InputError
        If the folder holds another batch (another seed, scenario or command-line options), its manifest is damaged, or
        its batch was started with other data or by another program version.
    """
    found, expected = read_manifest(folder), {**manifest, "code_version": code_version()}
    for key, problem in _IDENTITY.items():
        if key == "data_hash":
            # Called first, because its error names the changed files.
            require_unchanged(found["design"].get("files", {}), manifest["design"]["files"], folder)
        if found.get(key) != expected.get(key):
            raise InputError(problem, source=folder, found=found.get(key), expected=str(expected.get(key)))
    return str(found["state"])


def finish(folder: Path, write: Callable[[Path], Mapping[str, Any]]) -> None:
    """Write the tables into a batch's folder, then the manifest with its state.

    Parameters
    ----------
    folder : Path
    write : callable
        Called with a temporary folder; writes all files except the manifest into it, and returns the manifest. The
        files are then moved to `folder`, where they replace files of the same name.

    Raises
    ------
    InputError
        If the files cannot be written, for example because the disk is full; the journal remains.
    """
    with _keeping(folder / JOURNAL):
        with adding_to(folder) as unfinished:
            manifest = write(unfinished)
            hashes = {path.name: sha256_of(path) for path in sorted(unfinished.glob("*.parquet"))}
        write_manifest(folder, {**manifest, "tables": hashes})


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest of a batch, and record the version of the program in it.

    Raises
    ------
    InputError
        If the manifest cannot be written.
    """
    with _keeping(folder / JOURNAL), adding_to(folder) as unfinished:
        write_json(unfinished / MANIFEST, {**manifest, "code_version": code_version()})


# Keys of scenarios and recipes that name a recipe, or whose section has such keys.
_NAMES_OF_RECIPES = frozenset({key.rstrip(".*").rpartition(".")[2] for key in RECIPE_KEYS} | {"recipe", "population"})
_RECIPE_FOLDERS = ("populations", RECIPES)
# Bundled files that are read although no scenario or recipe names them.
_UNNAMED = ("us-2010-zip3.csv.gz", "ystr-loci.csv.gz", "voter-lists-by-state.csv.gz", "voter-lists-assumed.csv.gz")
_UNNAMED_RECIPES = ("twitter-use-by-age",)


class DataFiles:
    """Hashes of all files that a batch reads, taken when it begins.

    Parameters
    ----------
    loaded : Scenario
    design : Design
    options : mapping, optional
        Command-line options, which may also name files.
    source : Path, optional
        Path in error messages; default: the path of the scenario.

    Attributes
    ----------
    hashes : dict of str to str
        SHA-256 by file name, in alphabetical order. The name is the path relative to the scenario's folder if the file
        is below it, ``bundled:`` plus the path for a bundled file, and otherwise the absolute path. Recipes, and the
        files that recipes name, are included. A missing or unreadable file has no entry; the runs that need it fail.
    """

    def __init__(
        self,
        loaded: Scenario[Any],
        design: Design,
        options: Mapping[str, Any] | None = None,
        source: Path | None = None,
    ) -> None:
        # A swept value can be a file name, the name of a recipe, or a section with such names.
        swept = {
            key: [*{repr(value): value for value in column if isinstance(value, str | dict | list | tuple)}.values()]
            for key, column in design.points.items()
        }
        unnamed = [bundled_folder("populations") / "figures" / name for name in _UNNAMED]
        contents = unnamed, {"recipe": _UNNAMED_RECIPES}, at_point(loaded, design.values(0)).content, options, swept
        found = _files_named(contents, loaded.folder.absolute(), set())
        self._paths = dict(sorted({_shared_name(path, loaded.folder): path for path in found}.items()))
        self._source = source or loaded.path
        # The attributes of a file change when it is written or replaced; only then is it read again.
        self._sha256 = cache(lambda path, *_attributes: sha256_of(path))
        self.hashes = self._hashes_now()

    def _hashes_now(self) -> dict[str, str]:
        hashes = dict[str, str]()
        for name, path in self._paths.items():
            with contextlib.suppress(OSError, InputError):
                seen = path.stat()
                attributes = seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
                hashes[name] = self._sha256(path, *attributes)
        return hashes

    def require_unchanged(self) -> None:
        """Check that no file has changed since the batch began.

        Raises
        ------
        InputError
            If a file changed or is missing; the message names the files.
        """
        require_unchanged(self.hashes, self._hashes_now(), self._source)


def files_named(loaded: Scenario[Any], values: Iterable[tuple[str, Any]]) -> list[Path]:
    """Return the existing files named by a scenario, its recipes and swept values.

    Bundled files are left out. Paths are absolute and sorted.

    Parameters
    ----------
    loaded : Scenario
    values : iterable of tuple
        Pairs of key path and value, in addition to the scenario's own.
    """
    found = _files_named([loaded.content, *({key: value} for key, value in values)], loaded.folder.absolute(), set())
    own = (path for path in found if not _shared_name(path, loaded.folder).startswith(BUNDLED))
    return sorted({Path(os.path.abspath(path)) for path in own})


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of files whose content has changed or that are missing.

    `before` and `now` hold SHA-256 by file name. New files do not count.
    """
    return [name for name, content in before.items() if now.get(name) != content]


def require_unchanged(before: Mapping[str, str], now: Mapping[str, str], source: Path) -> None:
    """Check that the files of a batch are unchanged since it began.

    Parameters
    ----------
    before, now : mapping of str to str
        SHA-256 by file name; see `DataFiles.hashes`.
    source : Path
        Path of the batch, for the error message.

    Raises
    ------
    InputError
        If a file of `before` changed or is missing; the message names the files.
    """
    if changed := changed_files(before, now):
        names = listed(name if name in now else f"{name} (missing)" for name in changed)
        expected, hint = "the same data for all runs of a batch", "restore the files, or begin a new batch"
        raise InputError(
            f"data files changed since the batch began: {names}", source=source, expected=expected, hint=hint
        )


def _is_data(path: Path) -> bool:
    return os.path.isfile(path) or is_parquet_folder(path)


def _files_named(content: Any, base: Path, followed: set[Path], key: str = "") -> Iterator[Path]:
    """Yield every existing file that plain data name.

    TOML files among these are searched in the same way, recursively.

    Parameters
    ----------
    content : object
        Content of a scenario or recipe.
    base : Path
        Folder to which relative paths in the content refer.
    followed : set of Path
        TOML files whose content is not searched again; extended.
    key : str
        Key path of the content; only texts under some keys can be names of recipes.
    """
    if isinstance(content, Mapping):
        if {"folder", "state"} <= content.keys():
            # A recipe of census files, which names only their folder and state.
            folder = data_file(str(content["folder"]), base, "populations")
            segments = ("geo", *(f"000{segment}" for segment in SEGMENTS.values()))
            yield from filter(os.path.isfile, (folder / f"{content['state']}{part}2010.sf1" for part in segments))
        for name, value in content.items():
            yield from _files_named(value, base, followed, f"{key}.{name}")
    elif isinstance(content, list | tuple):
        for value in content:
            yield from _files_named(value, base, followed, key)
    elif isinstance(content, str | Path) and str(content):
        # A text that is not a valid path, for example because it is too long, is no file.
        for path in filter(_is_data, _possible_paths(str(content), base, key)):
            yield path
            if path.suffix == ".toml" and (true := path.resolve()) not in followed:
                followed.add(true)
                with contextlib.suppress(InputError):
                    yield from _files_named(read_toml(path), path.parent, followed)


def _shared_name(path: Path, home: Path) -> str:
    """Return a name of a file that is the same on other computers.

    For its form, see `DataFiles.hashes`. `home` is the folder of the scenario.
    """
    folders = {f"{BUNDLED}{among}/": bundled_folder(among) for among in ("scenarios", "populations")}
    true = path.resolve()
    for start, folder in {**folders, "": home}.items():
        if true.is_relative_to(folder.resolve()):
            return f"{start}{true.relative_to(folder.resolve()).as_posix()}"
    return true.as_posix()


def _possible_paths(text: str, base: Path, key: str) -> Iterator[Path]:
    """Yield the paths to which a text may refer, whether or not they exist.

    ``bundled:...`` refers to a bundled file of scenarios or populations, other text to a path relative to `base` and,
    under some keys, also to a bundled recipe.
    """
    if text.startswith(BUNDLED):
        for among in ("scenarios", "populations"):
            yield bundled_folder(among) / text.removeprefix(BUNDLED)
        return
    yield base / text
    if _NAMES_OF_RECIPES & set(key.split(".")):
        for among in _RECIPE_FOLDERS:
            yield bundled_folder(among) / f"{text}.toml"
