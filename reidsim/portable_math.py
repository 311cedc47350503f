"""Compute sums, logarithms and exponentials with bit-identical results everywhere.

numpy passes ``first @ second`` to a BLAS and computes logarithms with vector instructions; the last bit of both differs
between versions of numpy.
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
    """Return natural logarithms, in the shape of the values.

    The function is fast if few values are distinct.
    """
    return _each(math.log, values)


def log2(values: ArrayLike) -> Floats:
    """Return logarithms to the base 2, in the shape of the values.

    The function is fast if few values are distinct.
    """
    return _each(math.log2, values)


def exp(values: ArrayLike) -> Floats:
    """Return exponentials, in the shape of the values.

    The function is fast if few values are distinct.
    """
    return _each(math.exp, values)


def _each(function: Callable[[float], float], values: ArrayLike) -> Floats:
    distinct, place = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
    found = np.array([function(value) for value in distinct.tolist()], dtype=np.float64)
    return np.asarray(found[place].reshape(np.shape(values)))
