"""Sums of products that are the same bytes whatever library of linear algebra numpy was built with."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def dot(first: ArrayLike, second: ArrayLike) -> float:
    """Return the dot product of two vectors.

    numpy hands ``first @ second`` to a BLAS, and the last bit of its answer is another from version to version; its own
    sums are not.

    Parameters
    ----------
    first, second : array_like, shape (n,)

    Returns
    -------
    float
    """
    return float(np.multiply(first, second).sum())
