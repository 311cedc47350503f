"""The journal of a batch: one line of JSON per finished run.

It is written to disk before the batch continues.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from reidsim.engine.batch.tasks import RunOutcome, RunTask
from reidsim.errors import InputError
from reidsim.interrupts import tell_kept

JOURNAL = "journal.jsonl"

# Error numbers for a full disk, an exceeded quota and a file that exceeds the size limit.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Text before the checksum at the end of a line.
_CHECK = b',"check":"'


class Journal:
    """A file to which outcomes of runs are appended.

    An empty file is removed at the end. An incomplete last line is removed when the file is opened again. A line that
    is damaged in another way remains in the file but is not read, so that its run is repeated.

    Parameters
    ----------
    path : Path
    data : str
        Hash of the data that the runs read; written into each line.

    Raises
    ------
    InputError
        If the file cannot be written.
    """

    def __init__(self, path: Path, data: str = "") -> None:
        self._path, self._data = path, data
        try:
            # Unbuffered, so that closing the file after an error does not write again.
            self._file = open(path, "ab", buffering=0, opener=_private)  # noqa: SIM115 - Path.open takes no opener
            self._file.truncate(path.read_bytes().rfind(b"\n") + 1)
        except OSError as error:
            raise not_kept(path, error) from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        with suppress(OSError):
            if not self._path.stat().st_size:
                self._path.unlink()

    def append(self, outcomes: Iterable[RunOutcome]) -> None:
        """Write outcomes and wait until they are on disk.

        Raises
        ------
        InputError
            If the disk is full or cannot be written; complete lines stay.
        """
        lines = b"".join(_line(outcome, self._data) for outcome in outcomes)
        end, written = self._file.seek(0, os.SEEK_END), 0
        try:
            while written < len(lines):
                written += self._file.write(memoryview(lines)[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            # Remove an incomplete line now to free its space; it would be dropped later anyway.
            os.ftruncate(self._file.fileno(), end + lines.rfind(b"\n", 0, written) + 1)
            raise not_kept(self._path, error) from None


def read_journal(path: Path, tasks: Mapping[str, RunTask]) -> list[RunOutcome]:
    """Return the last outcome of each run in a journal whose key is in `tasks`.

    `tasks` are tasks by key. Damaged lines are skipped. The journal may be read while it is being written: an
    incomplete last line is skipped, too. A missing journal has no outcomes.
    """
    last = {entry["run"]: entry for entry in _entries(path) if entry is not None and entry["run"] in tasks}
    return [_outcome(tasks[key], entry) for key, entry in last.items()]


def read_places(path: Path, tasks: Iterable[RunTask]) -> list[RunOutcome]:
    """Return the outcomes in a journal of the points and replications of `tasks`.

    They are matched by point and replication, not by key, because they may come from another version of the program.
    Tasks with equal keys are run and written once, so their outcome applies to all of them. Tasks without an outcome
    are left out.
    """
    by_place = {(task.point, task.replication): task for task in tasks}
    alike: dict[str, list[RunTask]] = {}
    for task in by_place.values():
        alike.setdefault(task.key, []).append(task)
    found: dict[tuple[int, int], RunOutcome] = {}
    last = {entry["run"]: entry for entry in _entries(path) if entry is not None}
    # If there are several outcomes of a run, an outcome with the key of its task takes precedence, then the last one.
    for key, entry in sorted(last.items(), key=lambda word: word[0] in alike):
        done = by_place.get((entry["point"], entry["replication"]))
        for task in [] if done is None else alike[done.key]:
            found[task.point, task.replication] = _outcome(replace(task, key=key), entry)
    return [*found.values()]


def is_journal_of(path: Path, keys: Container[str], data: str) -> bool:
    """Return whether all readable runs of a journal belong to a batch.

    There must be at least one run; runs belong if their key is in `keys` and their data hash is `data`.
    """
    entries = [entry for entry in _entries(path) if entry is not None]
    return bool(entries) and all(entry["run"] in keys and entry.get("data") == data for entry in entries)


def keeps_runs(folder: Path) -> bool:
    """Return whether a folder has a journal that is not empty."""
    journal = folder / JOURNAL
    return journal.is_file() and journal.stat().st_size > 0


@contextmanager
def telling_kept(folder: Path | None, how_to_go_on: str) -> Iterator[None]:
    """If the block fails, add to its message that finished runs are kept.

    The message also says how to continue the batch.
    """
    try:
        yield
    except BaseException:
        if folder is not None and keeps_runs(folder):
            tell_kept(f"finished runs are kept in {folder}: {how_to_go_on}")
        raise


def not_kept(path: Path, error: OSError) -> InputError:
    """Return the error to raise if a batch's folder cannot be written.

    The journal of the batch is at `path`.
    """
    if error.errno in _NO_ROOM:
        if keeps_runs(path.parent):
            hint = "free disk space and repeat the command (for a batch, with --resume); finished runs are kept"
        else:
            hint = "free disk space and begin again; no run has finished yet"
        return InputError("the disk is full", source=path.parent, hint=hint)
    return InputError(f"cannot be written: {error.strerror or error}", source=path)


def _outcome(task: RunTask, entry: Mapping[str, Any]) -> RunOutcome:
    return RunOutcome(task, entry["state"], entry["tables"], entry["error"], tuple(entry["warnings"]), entry["seconds"])


def _line(outcome: RunOutcome, data: str) -> bytes:
    entry = {
        "run": outcome.task.key,
        "point": outcome.task.point,
        "replication": outcome.task.replication,
        "state": outcome.state,
        "error": outcome.error,
        "warnings": outcome.warnings,
        "seconds": round(outcome.seconds, 6),
        "data": data,
        "tables": outcome.tables,
    }
    # A checksum at the end of the line, so that a line with a changed byte is detected and not read.
    text = json.dumps(entry, separators=(",", ":")).encode()[:-1]
    return text + _CHECK + _checksum(text) + b"\n"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def damaged_lines(path: Path) -> int:
    """Return the number of damaged lines of a journal.

    An incomplete last line does not count.
    """
    return sum(entry is None for entry in _entries(path))


def _entries(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the content of each complete line, or None if its checksum is wrong."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                text, found, check = line.rstrip(b"\n").rpartition(_CHECK)
                yield json.loads(text + b"}") if found and check == _checksum(text) else None


def _checksum(text: bytes) -> bytes:
    return b'%08x"}' % zlib.crc32(text)
