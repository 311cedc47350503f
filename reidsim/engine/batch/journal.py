"""The journal of a batch: a line of JSON for each run that ended, on disk before the batch goes on."""

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

# Disk full, quota reached, and file larger than allowed.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# What comes before the key at the begin of a line.
_BEGIN = b'{"run":"'
# What comes before the checksum at its end.
_CHECK = b',"check":"'


class Journal:
    """Appends what came of runs to a file.

    A file without lines is removed in the end. A line that was cut short when the program ended is dropped when the
    file is opened again. A line that is damaged otherwise stays: it is not read, and its run is repeated.

    Parameters
    ----------
    path : Path
    data : str
        Hash of the data that the runs read; written beside each run.

    Raises
    ------
    InputError
        If the file cannot be written.
    """

    def __init__(self, path: Path, data: str = "") -> None:
        self._path, self._data = path, data
        try:
            # Unbuffered, so that nothing is left to be written after an error.
            self._file = open(path, "ab", buffering=0, opener=_private)  # noqa: SIM115 - Path.open takes no opener
            self._file.truncate(_length_of_lines(path))
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
        """Write outcomes down and wait until they are on disk.

        Raises
        ------
        InputError
            If there is no room on the disk, or it cannot be written; whole lines that were written stay.
        """
        lines = b"".join(_line(outcome, self._data) for outcome in outcomes)
        end, written = self._file.seek(0, os.SEEK_END), 0
        try:
            while written < len(lines):
                written += self._file.write(memoryview(lines)[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            # Half a line would be dropped later; room for others is better made now.
            os.ftruncate(self._file.fileno(), end + lines.rfind(b"\n", 0, written) + 1)
            raise not_kept(self._path, error) from None


def read_journal(path: Path, tasks: Mapping[str, RunTask]) -> Iterator[RunOutcome]:
    """Yield what is written down of runs that are among `tasks` (by key), the last word on each.

    A reader may come while the journal is being written: a line that is not whole yet is passed over.
    """
    last = {_key(text): at for at, text in enumerate(_lines(path)) if text is not None}
    for at, text in enumerate(_lines(path)):
        if text is not None and last.get(key := _key(text)) == at and key in tasks:
            yield _outcome(tasks[key], _entry(text))


def read_places(path: Path, tasks: Iterable[RunTask]) -> Iterator[RunOutcome]:
    """Yield what is written down of the points and replications of `tasks`, whatever version of the program did them.

    Runs that are alike are written down once, so a run stands for all that have its key.
    """
    by_place = {(task.point, task.replication): task for task in tasks}
    alike: dict[str, list[RunTask]] = {}
    for task in by_place.values():
        alike.setdefault(task.key, []).append(task)
    found: dict[tuple[int, int], RunOutcome] = {}
    # Where runs were done again under another key, the last counts, or rather the one that these tasks would have.
    last_words = {_key(text): text for text in _lines(path) if text is not None}
    for key, text in sorted(last_words.items(), key=lambda word: word[0] in alike):
        entry = _entry(text)
        done = by_place.get((entry["point"], entry["replication"]))
        for task in [] if done is None else alike[done.key]:
            found[task.point, task.replication] = _outcome(replace(task, key=key), entry)
    yield from found.values()


def is_journal_of(path: Path, keys: Container[str], data: str) -> bool:
    """Return whether a journal has runs, and all that can be read have one of these keys and were of this data."""
    entries = [_entry(text) for text in _lines(path) if text is not None]
    return bool(entries) and all(entry["run"] in keys and entry.get("data") == data for entry in entries)


def keeps_runs(folder: Path) -> bool:
    """Tell whether a folder has a journal with any run in it."""
    journal = folder / JOURNAL
    return journal.is_file() and journal.stat().st_size > 0


@contextmanager
def telling_kept(folder: Path | None, how_to_go_on: str) -> Iterator[None]:
    """Note what is kept in a folder of runs when this block ends before its time, and how to go on from there."""
    try:
        yield
    except BaseException:
        if folder is not None and keeps_runs(folder):
            tell_kept(f"runs that ended are kept in {folder}: {how_to_go_on}")
        raise


def not_kept(path: Path, error: OSError) -> InputError:
    """Return what is told when something of the batch with the journal at `path` cannot be written."""
    if error.errno in _NO_ROOM:
        if keeps_runs(path.parent):
            hint = "make room and repeat the command, a batch with --resume; runs that ended are kept"
        else:
            hint = "make room and begin again; no run has ended yet"
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
    # Without its last brace, in place of which a checksum follows: a line of which a byte changed is not read.
    text = json.dumps(entry, separators=(",", ":")).encode()[:-1]
    return text + _CHECK + _checksum(text) + b"\n"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def damaged_lines(path: Path) -> int:
    """Return how many lines of a journal cannot be read, a last one that is not whole yet aside."""
    return sum(text is None for text in _lines(path))


def _lines(path: Path) -> Iterator[bytes | None]:
    """Yield each whole line without its checksum; None if it cannot be read."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                text, found, check = line.rstrip(b"\n").rpartition(_CHECK)
                yield text if found and check == _checksum(text) else None


def _key(text: bytes) -> str:
    """Return the key of the run that a line is about, which comes first."""
    return text.removeprefix(_BEGIN).partition(b'"')[0].decode()


def _entry(text: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(text + b"}")
    return entry


def _checksum(text: bytes) -> bytes:
    return b'%08x"}' % zlib.crc32(text)


def _length_of_lines(path: Path) -> int:
    """Return the length of a journal up to the end of its last whole line."""
    length = end = 0
    with path.open("rb") as file:
        for line in file:
            length += len(line)
            end = length if line.endswith(b"\n") else end
    return end
