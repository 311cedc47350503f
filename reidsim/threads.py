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
    """Return the number of threads to share work: one per core of the program, or NUMBA_NUM_THREADS."""
    return 1 if _is_alone.get() else int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def done_in_threads(work: Callable[[Part], Done], parts: Sequence[Part], threads: int) -> Iterator[Done]:
    """Do the parts of some work in several threads; yield results as they complete."""
    if threads == 1 or len(parts) < 2:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for future in as_completed([pool.submit(work, part) for part in parts]):
            yield future.result()
    finally:
        # An interrupted caller waits only for the parts that have begun.
        pool.shutdown(cancel_futures=True)
