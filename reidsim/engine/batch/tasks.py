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

# Columns of tables, by name of the table, as plain data for one line of the journal.
Tables = dict[str, dict[str, list[Any]]]

COMPLETE = "complete"
FAILED = "failed"
TIMEOUT = "timeout"
KILLED = "killed"

# Folders of the package whose code does not affect results.
_FACES = ("commands", "figures", "reports", "web")


@dataclass(frozen=True, slots=True)
class RunTask:
    """One run: its place in the design, its seed, and the values of its scenario.

    Parameters
    ----------
    key : str
        Hash of everything that determines the outcome; see `run_keys`. Runs with equal keys, also in different batches,
        have equal outcomes.
    point, replication : int
        Numbers of the point and of the replication, from 0.
    seed : int
        Root seed of the run's random draws.
    values : dict
        Values of the point, by key path.
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
        ``complete``, ``failed`` (the run raised an error), ``timeout`` (it took too long) or ``killed`` (its process
        died, more than once).
    tables : dict
        Columns of the run's tables, by name of the table, without identifiers of the run; empty unless complete.
    error : str
        Error message, in one line; empty if complete.
    warnings : tuple of str
    seconds : float
        Duration of the run.
    """

    task: RunTask
    state: str
    tables: Tables = field(default_factory=dict)
    error: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


# A callable that runs a task and returns its tables and warnings.
Work = Callable[[RunTask], tuple[Tables, tuple[str, ...]]]


class CheckedWork(Protocol):
    """A callable that does runs, and can check the input of a run beforehand."""

    def __call__(self, task: RunTask) -> tuple[Tables, tuple[str, ...]]:
        """Run a task and return its tables and warnings."""
        ...

    def fingerprint(self, task: RunTask) -> str | None:
        """Check that a task can be run; return a hash of its data, if known.

        Raises
        ------
        InputError
            If a file cannot be used.
        """
        ...


def attempt(work: Work, task: RunTask) -> RunOutcome:
    """Run a task and return its outcome.

    An error becomes the outcome, unless an interrupt caused it.
    """
    begun = time.perf_counter()
    try:
        tables, warnings = work(task)
    except Exception as error:  # other runs of the batch continue
        if caused(error):
            raise KeyboardInterrupt from error
        seconds = time.perf_counter() - begun
        return RunOutcome(task, FAILED, error=error_line(error), seconds=seconds)
    return RunOutcome(task, COMPLETE, tables, warnings=warnings, seconds=time.perf_counter() - begun)


def error_line(error: BaseException) -> str:
    """Return the type and message of an error, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def run_keys(content: Mapping[str, Any]) -> Callable[[Mapping[str, Any], int, int], str]:
    """Return a function that computes the key of a run.

    Its arguments are values, replication and seed. The key is a hash, in 16 hexadecimal digits, of everything that
    determines the outcome.

    Parameters
    ----------
    content : mapping
        The scenario of a single run; see `content_of_run`. The order of its keys affects the hash, because the order of
        attributes can change outcomes. The order of key paths in a point's values has no effect; the order within a
        value has.
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
    """Return the versions of the program and numpy, and a hash of source files.

    The hash covers all files that affect results.
    """
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if len(place.parts) > 1 and place.parts[0] not in _FACES:
            digest.update(f"{place.as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return f"reidsim {version('reidsim')} {digest.hexdigest()[:12]}, numpy {version('numpy')}"
