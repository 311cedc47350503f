"""Share work between threads; compiled functions release the interpreter lock."""

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
    """Use one thread inside the context, so that other processes can use other cores."""
    before = _is_alone.set(True)
    try:
        yield
    finally:
        _is_alone.reset(before)


def available_threads() -> int:
    """Return the number of threads for shared work.

    It is one per available core, NUMBA_NUM_THREADS, or 1 inside `in_one_thread`.
    """
    return 1 if _is_alone.get() else int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def done_in_threads(work: Callable[[Part], Done], parts: Sequence[Part], threads: int) -> Iterator[Done]:
    """Process parts of work in several threads; yield results as they complete.

    The order of results may differ from the order of `parts`, except with one thread. If the caller stops early, parts
    that have not started are not processed.
    """
    if threads == 1 or len(parts) < 2:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        for future in as_completed([pool.submit(work, part) for part in parts]):
            yield future.result()
    finally:
        # After an interrupt, the caller waits only for parts that have started.
        pool.shutdown(cancel_futures=True)
