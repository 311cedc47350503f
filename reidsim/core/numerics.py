"""Numerical work with equal results on all machines: random draws, sums, compiled functions and threads.

All random streams are derived from one root seed; each decision has its own named stream.

Binomial draws of numpy depend on its version, because internal rounding differs. Here, each count is determined by one
number of `Generator.random` (53 bits of the stream, equal in every version) and by additions, multiplications and
divisions of float64 in a fixed order, which IEEE 754 rounds equally everywhere. The functions are compiled without
``fastmath``, so operations are neither reordered nor contracted to fused multiply-adds.

Neighbouring weights of each distribution differ by a ratio of products. Weights are therefore computed outwards from
the mode, where the weight is 1, until they are below 2^-60. Beyond this point they decrease even faster (the
distributions are log-concave), so each omitted tail has less than 2^-60 of the probability. This is below the
resolution of uniform numbers of 53 bits. The time grows with the standard deviation.

numpy passes ``first @ second`` to a BLAS and computes logarithms with vector instructions; the last bit of both differs
between versions of numpy. `dot`, `log`, `log2` and `exp` give bit-identical results everywhere.

numba counts references to every array that a function takes from a tuple, with atomic operations. In a function that
runs for microseconds, they are most of the work. A function that neither creates nor returns arrays does not need
them, because its caller holds the arrays.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
# Distribution: mode, lowest and highest count, a, b, c and d of the ratio w(k + 1) / w(k) =
# (a - k)(b - d k) / ((k + 1)(c + d (k + 1))), and the sums of weights below and above the mode.
_Law: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

_NEGLIGIBLE = 2.0**-60
_NORMAL = 1.959963984540054  # quantile 0.975 of the normal distribution
# The order determines each stream's seed: append new names at the end, so that earlier results do not change.
_STREAMS = (
    "release",
    "file-attack",
    "tables",
    "policies",
    "replications",
    "uncertainty",
    "agents",
    "cross-play",
    "stress",
    "attributes",
    "lists",
    "reidentified",
    "epidemic",
    "simulated-tables",
    "participation",
    "data-utility",
    "perturbation",
    "claims",
    "search",
)

# numba's type annotations lack the option and the function.
_njit: Any = numba.njit
_unliteral: Any = types.unliteral
_Function = TypeVar("_Function", bound=Callable[..., Any])


def borrowing(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function that only reads and writes elements of arrays.

    Such a function neither creates nor returns arrays, nor assigns to slices. Its callees are `borrowing` functions or
    `compiled` ones. No references to arrays are counted: with counts, the search in direction "both" takes 7 times as
    long, and surname inference 3 times. Options are passed to `numba.njit`.
    """
    return _compiled_once(_nrt=False, **options)


def compiled(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function, which may create arrays.

    Options are passed to `numba.njit`.
    """
    return _compiled_once(_nrt=True, **options)


def _compiled_once(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function once for all whole numbers.

    Otherwise numba compiles a function again for each constant that another compiled function passes to it. `options`
    are those of `numba.njit`; compiled code is cached on disk, if a folder is writable. Functions have no entry point
    for C, which no caller needs.
    """

    def decorator(function: _Function) -> _Function:
        try:
            dispatcher = _njit(cache=True, no_cfunc_wrapper=True, **options)(function)
        except RuntimeError:
            # numba has found no writable folder for compiled code: each process compiles the function again.
            dispatcher = _njit(no_cfunc_wrapper=True, **options)(function)
        template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: template(
            tuple(map(_unliteral, args)), {name: _unliteral(each) for name, each in kws.items()}
        )
        return cast("_Function", dispatcher)

    return decorator


def random_stream(seed: int, name: str, *place: int) -> np.random.Generator:
    """Return the random generator of a named decision at a place.

    It is independent of the generators of all other decisions and places under the same root seed.

    Parameters
    ----------
    seed : int
        Root seed of the run.
    name : str
        Name of the decision, one of `_STREAMS`, such as ``"release"``: completion of the records.
    *place : int
        Non-negative numbers, such as replication, or agent and round; draws do not depend on the number of places.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAMS.index(name), *place)))


def word_of(name: str) -> int:
    """Return a number from 0 to 2**32 - 1 for a name, as part of a stream's key.

    It is equal in every process. Two names have the same number with negligible probability.
    """
    # Four bytes fit into one word of a seed.
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def replication_seed(seed: int, replication: int) -> int:
    """Return the root seed of a replication; replication 0 has the batch's seed.

    Parameters
    ----------
    seed : int
        Root seed of the batch.
    replication : int
        Number of the replication, from 0; its seed does not depend on the number of replications.
    """
    if replication == 0:
        return seed
    sequence = np.random.SeedSequence(seed, spawn_key=(_STREAMS.index("replications"), replication))
    # Tables store the seed as a signed 64-bit integer.
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def draw_binomial(rng: np.random.Generator, number: ArrayLike, probability: ArrayLike) -> Counts:
    """Draw binomial counts, each from one uniform number.

    A larger uniform number never gives a smaller count.

    Parameters
    ----------
    rng : numpy.random.Generator
    number : array_like of int
        Number of trials.
    probability : array_like of float
        Success probability of each trial.

    Returns
    -------
    ndarray of int64
        Counts, in the shape to which the arguments broadcast. Neighbours with equal arguments share the computation of
        the distribution, which makes their draws fast.

    Raises
    ------
    ValueError
        If a number is negative or a probability is outside [0, 1].
    """
    numbers, chances = np.broadcast_arrays(
        np.asarray(number, dtype=np.int64), np.asarray(probability, dtype=np.float64)
    )
    if not ((numbers >= 0) & (chances >= 0) & (chances <= 1)).all():
        raise ValueError("negative number of trials, or probability outside [0, 1]")
    # Copy: broadcast arrays will become read-only in numpy.
    drawn = _binomials(rng.random(numbers.size), numbers.flatten(), chances.flatten())
    return np.asarray(drawn.reshape(numbers.shape))


def draw_multinomial(rng: np.random.Generator, number: ArrayLike, weights: Floats) -> Counts:
    """Draw rows of multinomial counts, each cell conditional on the previous cells.

    Parameters
    ----------
    rng : numpy.random.Generator
    number : array_like of int, shape () or (n_rows,)
        Total of each row.
    weights : ndarray of float64, shape (n_cells,) or (n_rows, n_cells)
        Weights of the cells, common to all rows or for each row; they need not sum to 1.

    Returns
    -------
    ndarray of int64, shape (n_cells,) or (n_rows, n_cells)
        Each row sums to its number.

    Raises
    ------
    ValueError
        If a number or weight is negative, or the weights of a row sum to 0.
    """
    numbers = np.asarray(number, dtype=np.int64)
    by_row = np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64)
    totals = by_row.sum(axis=1)
    if (numbers < 0).any() or not ((totals > 0) & np.isfinite(totals)).all() or (by_row < 0).any():
        raise ValueError("negative number of trials, or weights that are negative or sum to 0")
    shape = np.broadcast_shapes(numbers.shape, np.shape(weights)[:-1])
    of_rows = np.broadcast_to(numbers, shape).flatten()
    drawn = _multinomials(rng.random((len(of_rows), by_row.shape[1])), of_rows, by_row)
    return np.asarray(drawn.reshape(*shape, by_row.shape[1]))


def draw_multivariate_hypergeometric(rng: np.random.Generator, counts: Counts, size: int) -> Counts:
    """Draw people from cells without replacement: all sets are equally likely.

    Parameters
    ----------
    rng : numpy.random.Generator
    counts : ndarray of int64, shape (n_cells,)
        Number of people in each cell, in total less than 2**53.
    size : int
        Number of people to draw, at most all.

    Returns
    -------
    ndarray of int64, shape (n_cells,)
        Number of people drawn from each cell.

    Raises
    ------
    ValueError
        If a count or the size is negative, or the size exceeds the number of people.
    """
    people = np.ascontiguousarray(counts)
    if (people < 0).any() or not 0 <= size <= people.sum():
        raise ValueError("negative count, or sample larger than the population")
    return np.asarray(_hypergeometrics(rng.random(len(people)), people, size))


@compiled()
def _law(mode: float, lowest: float, highest: float, a: float, b: float, c: float, d: float) -> _Law:
    """Return a distribution of counts as `_Law`.

    The weights on both sides of the mode are summed. ``a`` to ``d`` are numbers of the ratio of neighbouring weights
    (see `_Law`). The limits become the counts at which weights are negligible, if these lie inside `lowest` and
    `highest`.
    """
    below, weight, k = 0.0, 1.0, mode
    while k > lowest and weight > _NEGLIGIBLE:
        weight *= (k * (c + d * k)) / ((a - k + 1.0) * (b - d * (k - 1.0)))
        below += weight
        k -= 1.0
    first = k
    above, weight, k = 0.0, 1.0, mode
    while k < highest and weight > _NEGLIGIBLE:
        weight *= ((a - k) * (b - d * k)) / ((k + 1.0) * (c + d * (k + 1.0)))
        above += weight
        k += 1.0
    return mode, first, k, a, b, c, d, below, above


@compiled()
def _inverse(uniform: float, law: _Law) -> int:
    """Return the quantile of a distribution at a uniform number.

    `law` is the distribution, `uniform` a number in [0, 1). The result is the first count whose cumulative weight
    exceeds that share of the total, so it increases with the number.
    """
    k, lowest, highest, a, b, c, d, below, above = law
    target = uniform * (below + 1.0 + above)
    weight = 1.0
    if target < below:
        # Weight of all counts below k.
        cumulated = below
        while k > lowest and target < cumulated:
            weight *= (k * (c + d * k)) / ((a - k + 1.0) * (b - d * (k - 1.0)))
            cumulated -= weight
            k -= 1.0
    else:
        cumulated = below + 1.0
        while k < highest and target >= cumulated:
            weight *= ((a - k) * (b - d * k)) / ((k + 1.0) * (c + d * (k + 1.0)))
            cumulated += weight
            k += 1.0
    return int(k)


@compiled()
def _binomial(number: int, probability: float) -> _Law:
    n = float(number)
    return _law(min(np.floor((n + 1.0) * probability), n), 0.0, n, n, probability, 1.0 - probability, 0.0)


@compiled()
def _hypergeometric(of_cell: int, people: int, size: int) -> _Law:
    cell, drawn, others = float(of_cell), float(size), float(people - of_cell - size)
    lowest, highest = max(0.0, -others), min(cell, drawn)
    mode = np.floor((drawn + 1.0) * (cell + 1.0) / (float(people) + 2.0))
    return _law(min(max(mode, lowest), highest), lowest, highest, cell, drawn, others, 1.0)


@compiled()
def _binomials(uniforms: Floats, numbers: Counts, chances: Floats) -> Counts:
    drawn = np.empty(len(uniforms), dtype=np.int64)
    law = _binomial(0, 0.0)
    for i in range(len(uniforms)):
        if i == 0 or numbers[i] != numbers[i - 1] or chances[i] != chances[i - 1]:
            law = _binomial(numbers[i], chances[i])
        drawn[i] = _inverse(uniforms[i], law)
    return drawn


@compiled()
def _multinomials(uniforms: Floats, numbers: Counts, weights: Floats) -> Counts:
    drawn = np.zeros(uniforms.shape, dtype=np.int64)
    n_cells = uniforms.shape[1]
    # Sum weights from the end: the share of a cell in the rest is then at most 1, and exactly 1 in the last cell.
    rest = np.empty(n_cells)
    for row in range(len(uniforms)):
        own = weights[row if len(weights) > 1 else 0]
        if row == 0 or len(weights) > 1:
            total = 0.0
            for cell in range(n_cells - 1, -1, -1):
                total += own[cell]
                rest[cell] = total
        left = numbers[row]
        for cell in range(n_cells):
            if left == 0:
                break
            if own[cell] > 0.0:
                drawn[row, cell] = _inverse(uniforms[row, cell], _binomial(left, own[cell] / rest[cell]))
                left -= drawn[row, cell]
    return drawn


@compiled()
def _hypergeometrics(uniforms: Floats, counts: Counts, size: int) -> Counts:
    drawn = np.zeros(len(counts), dtype=np.int64)
    people, left = counts.sum(), size
    for cell in range(len(counts)):
        if left == 0:
            break
        drawn[cell] = _inverse(uniforms[cell], _hypergeometric(counts[cell], people, left))
        people -= counts[cell]
        left -= drawn[cell]
    return drawn


def wilson_interval(share: float, trials: int) -> tuple[float, float]:
    """Return the Wilson interval (95 %) of a share of successes; without trials, 0 and 1.

    The share need not be a quotient of whole numbers: numbers of successes may be expectations.
    """
    square = _NORMAL**2
    middle = trials * share + square / 2
    half = _NORMAL * math.sqrt(trials * share * (1 - share) + square / 4)
    return (middle - half) / (trials + square), (middle + half) / (trials + square)


@compiled()
def first_above(cumulative: Floats, uniform: float) -> int:
    """Return the first position with a cumulative probability above a number.

    The number, `uniform`, is in [0, 1); `cumulative` is ascending. If no position qualifies, the last one is returned.
    """
    return min(int(np.searchsorted(cumulative, uniform, side="right")), len(cumulative) - 1)


Part = TypeVar("Part")
Done = TypeVar("Done")
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


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Return a context in which `available_threads` returns 1.

    It applies to work that asks `available_threads`, not to the threads of libraries. It leaves the other cores to
    other processes.
    """
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
