"""Work shared among threads: compiled functions that let go of the interpreter run on several cores at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import numba

Part = TypeVar("Part")
Done = TypeVar("Done")

_is_alone: ContextVar[bool] = ContextVar("_is_alone", default=False)


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Let the work in this thread stay in it: where other processes have the other cores."""
    before = _is_alone.set(True)
    try:
        yield
    finally:
        _is_alone.reset(before)


def available_threads() -> int:
    """Return how many threads may share work: one for each core of the program, or as NUMBA_NUM_THREADS says."""
    return 1 if _is_alone.get() else int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def done_in_threads(work: Callable[[Part], Done], parts: Sequence[Part], threads: int) -> Iterator[Done]:
    """Do the parts of some work, each in one of several threads; yield what comes of them as they end."""
    if threads == 1 or len(parts) < 2:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for future in as_completed([pool.submit(work, part) for part in parts]):
            yield future.result()
    finally:
        # Whoever is interrupted waits for the parts that have begun, no others.
        pool.shutdown(cancel_futures=True)
