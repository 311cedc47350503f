"""The journal of a batch: a line of JSON for each run that ended, on disk before the batch goes on."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from reidsim.engine.batch.tasks import RunOutcome, RunTask
from reidsim.errors import InputError

JOURNAL = "journal.jsonl"

# Disk full, quota reached, and file larger than allowed.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Journal:
    """Appends what came of runs to a file.

    A line that was cut short by whatever ended the program before is dropped when the file is opened again.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # Unbuffered, so that nothing is left to be written after an error.
            self._file = path.open("ab", buffering=0)
            self._file.truncate(_whole(path))
        except OSError as error:
            raise not_kept(path, error) from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, outcomes: Iterable[RunOutcome]) -> None:
        """Write outcomes down and wait until they are on disk.

        Raises
        ------
        InputError
            If there is no room on the disk, or it cannot be written; whole lines that were written stay.
        """
        lines = b"".join(_line(outcome) for outcome in outcomes)
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
    for key, entry in _last_words(path).items():
        if key in tasks:
            yield _outcome(tasks[key], entry)


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
    for key, entry in sorted(_last_words(path).items(), key=lambda word: word[0] in alike):
        done = by_place.get((entry["point"], entry["replication"]))
        for task in [] if done is None else alike[done.key]:
            found[task.point, task.replication] = _outcome(replace(task, key=key), entry)
    yield from found.values()


def keeps_runs(folder: Path) -> bool:
    """Tell whether a folder has a journal with any run in it."""
    journal = folder / JOURNAL
    return journal.is_file() and journal.stat().st_size > 0


def not_kept(path: Path, error: OSError) -> InputError:
    """Return what is told when something of the batch with the journal at `path` cannot be written."""
    if error.errno in _NO_ROOM:
        if keeps_runs(path.parent):
            hint = "make room and repeat the command, a batch with --resume; runs that ended are kept"
        else:
            hint = "make room and begin again; no run has ended yet"
        return InputError("the disk is full", source=path.parent, hint=hint)
    return InputError(f"cannot be written: {error.strerror or error}", source=path)


def _last_words(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last line on each run, by its key."""
    return {entry["run"]: entry for entry in _entries(path)}


def _outcome(task: RunTask, entry: Mapping[str, Any]) -> RunOutcome:
    return RunOutcome(task, entry["state"], entry["tables"], entry["error"], tuple(entry["warnings"]), entry["seconds"])


def _line(outcome: RunOutcome) -> bytes:
    entry = {
        "run": outcome.task.key,
        "point": outcome.task.point,
        "replication": outcome.task.replication,
        "state": outcome.state,
        "error": outcome.error,
        "warnings": outcome.warnings,
        "seconds": round(outcome.seconds, 6),
        "tables": outcome.tables,
    }
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                entry = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                entry = None
            if entry is None:
                return
            yield entry


def _whole(path: Path) -> int:
    """Return the length of the part of a journal that consists of whole lines."""
    length = 0
    with path.open("rb") as file:
        for line in file:
            try:
                json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            length += len(line)
    return length
