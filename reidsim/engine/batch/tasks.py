"""One run of a batch as a task for a worker, and its outcome."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from reidsim.interrupts import caused

# Columns of tables, by the name of the table; plain data that fit into one line of the journal.
Tables = dict[str, dict[str, list[Any]]]

COMPLETE = "complete"
FAILED = "failed"
TIMEOUT = "timeout"
KILLED = "killed"

# Folders of the package that cannot change a result.
_FACES = ("commands", "figures", "reports", "web")


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run: its place in the design, and the values of its scenario.

    Parameters
    ----------
    key : str
        Identifies the run among the runs of all batches.
    point, replication : int
    seed : int
        Root of the run's random draws.
    values : dict
        Value by key path.
    """

    key: str
    point: int
    replication: int
    seed: int
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run.

    Parameters
    ----------
    task : RunTask
    state : str
        ``complete``, ``failed`` (it raised an error), ``timeout`` (it took too long) or ``killed`` (it ended the
        process that worked on it, more than once).
    tables : dict
        Columns of its tables by name, without identifiers of the run; empty unless complete.
    error : str
        Error message, in one line.
    warnings : tuple of str
    seconds : float
    """

    task: RunTask
    state: str
    tables: Tables = field(default_factory=dict)
    error: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


# Does the run of a task; returns its tables and warnings.
Work = Callable[[RunTask], tuple[Tables, tuple[str, ...]]]


class CheckedWork(Protocol):
    """Does runs, and checks the input of a run beforehand."""

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Do the run of a task; return its tables and warnings."""
        ...

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that the run of a task can be done; return a hash of its data, if known.

        Raises
        ------
        InputError
            If a file cannot be used.
        """
        ...


def attempt(work: Work, task: RunTask) -> RunOutcome:
    """Do a run; an error becomes its outcome, unless an interrupt caused it."""
    begun = time.perf_counter()
    try:
        tables, warnings = work(task)
    except Exception as error:  # the other runs of the batch go on
        if caused(error):
            raise KeyboardInterrupt from error
        seconds = time.perf_counter() - begun
        return RunOutcome(task, FAILED, error=error_line(error), seconds=seconds)
    return RunOutcome(task, COMPLETE, tables, warnings=warnings, seconds=time.perf_counter() - begun)


def error_line(error: BaseException) -> str:
    """Return an error in one line, with its type."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def run_keys(content: Mapping[str, Any]) -> Callable[[Mapping[str, Any], int, int], str]:
    """Return the function that computes the key of a run from its values, replication and seed.

    The key is a hash of all that the outcome depends on, in 16 hexadecimal digits.

    Parameters
    ----------
    content : mapping
        The scenario of a single run; see `content_of_run`. The order of its keys matters, since the order of attributes
        can change an outcome. The order of key paths does not matter; the order within a value does.
    """
    of_all = hashlib.sha256(f"[{json.dumps(content, default=str)}, ".encode())

    def key(values: Mapping[str, Any], replication: int, seed: int) -> str:
        parts = [dict(sorted(values.items())), replication, seed, code_version()]
        of_run = of_all.copy()
        of_run.update(json.dumps(parts, default=str)[1:].encode())
        return of_run.hexdigest()[:16]

    return key


@functools.cache
def code_version() -> str:
    """Return the versions of the program and numpy, and a hash of all source files that can change a result."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if len(place.parts) > 1 and place.parts[0] not in _FACES:
            digest.update(f"{place.as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return f"reidsim {version('reidsim')} {digest.hexdigest()[:12]}, numpy {version('numpy')}"
