"""Shapley shares: the contribution of each part to a value, averaged over all orders of the parts.

Shapley 1953, A value for n-person games, Contributions to the Theory of Games II. Beyond a few parts the average is
over orders drawn at random (Castro, Gomez and Tejada 2009, Polynomial calculation of the Shapley value based on
sampling, Computers & Operations Research 36).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

# Returns the values of a set of parts, shape (n_values,), given as a number whose bit i is 1 if it has part i.
SetValue = Callable[[int], Floats]


@dataclass(frozen=True, eq=False)
class ShapleyShares:
    """Shapley shares of several values.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_parts, n_values)
        They add up to the value of all parts less that of none.
    standard_errors : ndarray of float64, shape (n_parts, n_values)
        0 where all orders are averaged.
    """

    shares: Floats
    standard_errors: Floats


def exact_shares(value: SetValue, n_parts: int) -> ShapleyShares:
    """Average over all orders: ``2 ** n_parts`` sets are valued.

    Parameters
    ----------
    value : callable
        Of a set; called once for each.
    n_parts : int
    """
    values = np.array([value(members) for members in range(2**n_parts)])
    sizes = np.array([members.bit_count() for members in range(2**n_parts)])
    weight = np.array(
        [math.factorial(k) * math.factorial(n_parts - k - 1) / math.factorial(n_parts) for k in range(n_parts)]
    )
    shares = np.zeros((n_parts, values.shape[1]))
    for part in range(n_parts):
        without = np.flatnonzero(~(np.arange(2**n_parts) >> part) & 1)
        added = values[without | 1 << part] - values[without]
        shares[part] = weight[sizes[without]] @ added
    return ShapleyShares(shares, np.zeros_like(shares))


def sampled_shares(value: SetValue, n_parts: int, orders: int, rng: np.random.Generator) -> ShapleyShares:
    """Average over orders drawn at random.

    Parameters
    ----------
    value : callable
        Of a set; may be called with the same set again.
    n_parts : int
    orders : int
        2 or more, for standard errors.
    rng : Generator

    Raises
    ------
    InputError
        If there are too few orders.
    """
    if orders < 2:
        raise InputError("too few orders", where="orders", found=orders, expected="2 or more")
    added = []
    for _ in range(orders):
        members, before = 0, value(0)
        found = np.empty((n_parts, len(before)))
        for part in rng.permutation(n_parts).tolist():
            members |= 1 << part
            after = value(members)
            found[part] = after - before
            before = after
        added.append(found)
    drawn = np.array(added)
    return ShapleyShares(drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / math.sqrt(orders))
