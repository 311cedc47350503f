"""Portable results, compiled functions that only borrow arrays, and threads.

numpy passes ``first @ second`` to a BLAS and computes logarithms with vector instructions; the last bit of both differs
between versions of numpy. `dot`, `log`, `log2` and `exp` give bit-identical results everywhere.

numba counts references to every array that a function takes from a tuple, with atomic operations. In a function that
runs for microseconds, they are most of the work. A function that neither creates nor returns arrays does not need
them, because its caller holds the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Part = TypeVar("Part")
Done = TypeVar("Done")
# numba's type annotations lack the option and the function.
_njit: Any = numba.njit
_unliteral: Any = types.unliteral
_Function = TypeVar("_Function", bound=Callable[..., Any])
_is_alone: ContextVar[bool] = ContextVar("_is_alone", default=False)


def dot(first: ArrayLike, second: ArrayLike) -> float:
    """Return the dot product of two vectors.

    Parameters
    ----------
    first, second : array_like, shape (n,)

    Returns
    -------
    float
    """
    return float(np.multiply(first, second).sum())


def log(values: ArrayLike) -> Floats:
    """Return natural logarithms, in the shape of the values.

    The bits of results are the same on all machines. The function is fast if few values are distinct.

    Raises
    ------
    ValueError
        If a value is 0 or less.
    """
    return _each(math.log, values)


def log2(values: ArrayLike) -> Floats:
    """Return logarithms to the base 2, in the shape of the values.

    The bits of results are the same on all machines. The function is fast if few values are distinct.

    Raises
    ------
    ValueError
        If a value is 0 or less.
    """
    return _each(math.log2, values)


def exp(values: ArrayLike) -> Floats:
    """Return exponentials, in the shape of the values.

    The function is fast if few values are distinct.

    Raises
    ------
    OverflowError
        If a value is above about 709.
    """
    return _each(math.exp, values)


def _each(function: Callable[[float], float], values: ArrayLike) -> Floats:
    distinct, place = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    found = np.array([function(value) for value in distinct.tolist()], dtype=np.float64)
    return np.asarray(found[place].reshape(np.shape(values)))


def borrowing(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator for functions that only borrow arrays.

    Such a function neither creates nor returns arrays, nor assigns to slices. Its callees are compiled in the same way,
    unless they are `owning`. Options are passed to `numba.njit`.
    """
    return _compiled_once(_nrt=False, **options)


def owning() -> Callable[[_Function], _Function]:
    """Return a decorator for functions that may create arrays.

    They can be called by `borrowing` functions.
    """
    return _compiled_once(_nrt=True)


def _compiled_once(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function once for all whole numbers.

    Otherwise numba compiles a function again for each constant that another compiled function passes to it. `options`
    are those of `numba.njit`; compiled code is cached on disk.
    """

    def decorator(function: _Function) -> _Function:
        dispatcher = _njit(cache=True, **options)(function)
        template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: template(
            tuple(map(_unliteral, args)), {name: _unliteral(each) for name, each in kws.items()}
        )
        return cast("_Function", dispatcher)

    return decorator


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

    It is ``NUMBA_NUM_THREADS``, by default one per available core; it is 1 inside `in_one_thread`.
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
