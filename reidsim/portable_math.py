"""Sums, logarithms and powers of e that are the same bytes under every version of numpy.

numpy hands ``first @ second`` to a BLAS and takes logarithms in vector instructions; the last bit of both is another
from version to version.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


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
    """Return natural logarithms, of the shape of the values; fast where few of them differ."""
    return _each(math.log, values)


def log2(values: ArrayLike) -> Floats:
    """Return logarithms to the base 2, of the shape of the values; fast where few of them differ."""
    return _each(math.log2, values)


def exp(values: ArrayLike) -> Floats:
    """Return powers of e, of the shape of the values; fast where few of them differ."""
    return _each(math.exp, values)


def _each(function: Callable[[float], float], values: ArrayLike) -> Floats:
    distinct, place = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    found = np.array([function(value) for value in distinct.tolist()], dtype=np.float64)
    return np.asarray(found[place].reshape(np.shape(values)))
