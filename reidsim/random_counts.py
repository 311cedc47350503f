"""Random counts: binomial, multinomial and multivariate hypergeometric, by inversion of uniform numbers.

Binomial draws of numpy depend on its version, as internal rounding differs. Here a count is determined by one number of
`Generator.random` (53 bits of the stream, the same in every version) and by additions, multiplications and divisions of
float64 in a fixed order, which IEEE 754 rounds equally everywhere. Compiled without ``fastmath``,
nothing is reordered, nor contracted to fused multiply-adds.

Neighbouring weights of each distribution differ by a ratio of products, so weights are computed from the mode, where
they are 1, outwards until they are below 2^-60. Further out they only fall faster (the distributions are log-concave),
so each omitted tail has less than 2^-60 of the probability, below the resolution of uniform numbers of 53 bits. Time
grows with the standard deviation.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
# Of a distribution: mode, lowest and highest count, a, b, c and d of the ratio w(k + 1) / w(k) =
# (a - k)(b - d k) / ((k + 1)(c + d (k + 1))), and the weights below and above the mode.
_Law: TypeAlias = tuple[float, float, float, float, float, float, float, float, float]

_NEGLIGIBLE = 2.0**-60


def draw_binomial(rng: np.random.Generator, number: ArrayLike, probability: ArrayLike) -> Counts:
    """Draw binomial counts, each from one uniform number: the higher it is, the higher the count.

    Parameters
    ----------
    rng : numpy.random.Generator
    number : array_like of int
        Of trials.
    probability : array_like of float
        Of each trial.

    Returns
    -------
    ndarray of int64
        Of the shape to which both broadcast; time for neighbours with the same law is that of a few steps.

    Raises
    ------
    ValueError
        If a number is negative or a probability outside [0, 1].
    """
    numbers, chances = np.broadcast_arrays(
        np.asarray(number, dtype=np.int64), np.asarray(probability, dtype=np.float64)
    )
    if not ((numbers >= 0) & (chances >= 0) & (chances <= 1)).all():
        raise ValueError("binomial of a negative number, or of a probability outside [0, 1]")
    # Copies, as broadcast arrays are to become read-only.
    drawn = _binomials(rng.random(numbers.size), numbers.flatten(), chances.flatten())
    return np.asarray(drawn.reshape(numbers.shape))


def draw_multinomial(rng: np.random.Generator, number: ArrayLike, weights: Floats) -> Counts:
    """Draw rows of multinomial counts, cell by cell as binomial counts given the cells before.

    Parameters
    ----------
    rng : numpy.random.Generator
    number : array_like of int, shape () or (n_rows,)
        Total of each row.
    weights : ndarray of float64, shape (n_cells,) or (n_rows, n_cells)
        Of the cells of all rows, or of each; they need not sum to 1.

    Returns
    -------
    ndarray of int64, shape (n_cells,) or (n_rows, n_cells)
        Each row sums to its number.

    Raises
    ------
    ValueError
        If a number or weight is negative, or a row of weights sums to nothing.
    """
    numbers = np.asarray(number, dtype=np.int64)
    by_row = np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64)
    totals = by_row.sum(axis=1)
    if (numbers < 0).any() or not ((totals > 0) & np.isfinite(totals)).all() or (by_row < 0).any():
        raise ValueError("multinomial of a negative number, or of weights that are negative or sum to nothing")
    shape = np.broadcast_shapes(numbers.shape, np.shape(weights)[:-1])
    of_rows = np.broadcast_to(numbers, shape).ravel()
    drawn = _multinomials(rng.random((len(of_rows), by_row.shape[1])), of_rows, by_row)
    return np.asarray(drawn.reshape(*shape, by_row.shape[1]))


def draw_multivariate_hypergeometric(rng: np.random.Generator, counts: Counts, size: int) -> Counts:
    """Draw some of the people of cells, every set of that many being equally likely.

    Parameters
    ----------
    rng : numpy.random.Generator
    counts : ndarray of int64, shape (n_cells,)
        People of each cell, together fewer than 2**53.
    size : int
        How many are drawn, at most all of them.

    Returns
    -------
    ndarray of int64, shape (n_cells,)
        How many of each cell.

    Raises
    ------
    ValueError
        If a count is negative, or fewer than 0 or more than all are to be drawn.
    """
    people = np.ascontiguousarray(counts)
    if (people < 0).any() or not 0 <= size <= people.sum():
        raise ValueError("hypergeometric of a negative count, or of more than there are")
    return np.asarray(_hypergeometrics(rng.random(len(people)), people, size))


@njit(cache=True)
def _law(mode: float, lowest: float, highest: float, a: float, b: float, c: float, d: float) -> _Law:
    """Sum the weights on both sides of the mode, and move the limits to where they end."""
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


@njit(cache=True)
def _inverse(uniform: float, law: _Law) -> int:
    """Return the first count at which the cumulated weights exceed a share of all: the higher that, the higher it."""
    k, lowest, highest, a, b, c, d, below, above = law
    target = uniform * (below + 1.0 + above)
    weight = 1.0
    if target < below:
        # Weights of the counts below k.
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


@njit(cache=True)
def _binomial(number: int, probability: float) -> _Law:
    n = float(number)
    mode = min(np.floor((n + 1.0) * probability), n)
    return _law(mode, 0.0, n, n, probability, 1.0 - probability, 0.0)


@njit(cache=True)
def _hypergeometric(of_cell: int, people: int, size: int) -> _Law:
    cell, drawn, others = float(of_cell), float(size), float(people - of_cell - size)
    lowest, highest = max(0.0, -others), min(cell, drawn)
    mode = np.floor((drawn + 1.0) * (cell + 1.0) / (float(people) + 2.0))
    return _law(min(max(mode, lowest), highest), lowest, highest, cell, drawn, others, 1.0)


@njit(cache=True)
def _binomials(uniforms: Floats, numbers: Counts, chances: Floats) -> Counts:
    drawn = np.empty(len(uniforms), dtype=np.int64)
    law = _binomial(0, 0.0)
    for i in range(len(uniforms)):
        if i == 0 or numbers[i] != numbers[i - 1] or chances[i] != chances[i - 1]:
            law = _binomial(numbers[i], chances[i])
        drawn[i] = _inverse(uniforms[i], law)
    return drawn


@njit(cache=True)
def _multinomials(uniforms: Floats, numbers: Counts, weights: Floats) -> Counts:
    drawn = np.zeros(uniforms.shape, dtype=np.int64)
    n_cells = uniforms.shape[1]
    # Weights summed from the end, so that the share of a cell in its rest is at most 1, and 1 in the last cell.
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


@njit(cache=True)
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


@njit(cache=True)
def first_above(cumulative: Floats, uniform: float) -> int:
    """Return the first position whose cumulative probability is above a number in [0, 1), the last if none is."""
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > uniform:
            high = middle
        else:
            low = middle + 1
    return low
