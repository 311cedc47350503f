"""Checks of numeric inputs: shares and whole numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError

Integers = NDArray[np.int64]


def check_share(name: str, value: float) -> None:
    """Check that a value is in [0, 1].

    Raises
    ------
    InputError
        If it is not; the message names the value by `name`.
    """
    if not 0 <= value <= 1:
        raise InputError("value out of range", where=name, found=value, expected="a number from 0 to 1")


def most_within(share: float, total: float) -> int:
    """Return a share of all records as a number of records, rounded down.

    Parameters
    ----------
    share : float
        Share, in [0, 1].
    total : float
        Number of all records, below 10**11.
    """
    # The factor corrects rounding: in binary floating point, 0.29 x 100 is slightly less than 29.
    return math.floor(share * total * (1 + 1e-12))


def check_whole(name: str, values: NDArray[np.generic]) -> Integers:
    """Check that values are whole numbers and return them as int64.

    Raises
    ------
    InputError
        If a value is not a whole number from 0 to 2**31 - 1; the message names the first such row, counted from 1.
    """
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise InputError("values are not numbers", where=name, found=str(given.dtype), expected="whole numbers")
    wrong = np.argwhere(~((given >= 0) & (given == np.floor(given)) & (given < 2**31)))
    if len(wrong):
        place = tuple(wrong[0])
        raise InputError(
            "value is not a whole number of 0 or more",
            where=f"{name}, row {place[0] + 1}",
            found=given[place].item(),
            expected="a whole number below 2**31",
        )
    return given.astype(np.int64)
