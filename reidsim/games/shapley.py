"""Shapley shares: contributions of parts to a value, averaged over all orders.

Source: Shapley 1953, A value for n-person games, Contributions to the Theory of Games II. With more than a few parts,
the average is taken over orders drawn at random (Castro, Gomez and Tejada 2009, Polynomial calculation of the Shapley
value based on sampling, Computers & Operations Research 36).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reidsim.core.errors import InputError
from reidsim.releases.lattice import Floats

# Returns the values of a set of parts, shape (n_values,). The set is an integer; bit i is 1 if part i is in the set.
SetValue = Callable[[int], Floats]


@dataclass(frozen=True, eq=False)
class ShapleyShares:
    """Shapley shares of parts and their standard errors, one column per value.

    Parameters
    ----------
    shares : ndarray of float64, shape (n_parts, n_values)
        Share of each part: the mean change of the value when the part joins the set of the parts before it in an order.
        The shares add up to the value of all parts less the value of the empty set.
    standard_errors : ndarray of float64, shape (n_parts, n_values)
        Standard errors of the shares from the drawn orders; 0 if all orders are averaged.
    """

    shares: Floats
    standard_errors: Floats


def exact_shares(value: SetValue, n_parts: int) -> ShapleyShares:
    """Return the shares averaged over all orders; evaluate ``2 ** n_parts`` sets.

    Parameters
    ----------
    value : callable
        Takes a set of parts, an integer in which bit i is 1 if part i is in the set, and returns its values, shape
        (n_values,); called once for each set.
    n_parts : int
        Number of parts, 1 or more.

    Returns
    -------
    ShapleyShares
        Standard errors are 0.
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
    """Return the shares averaged over orders drawn at random, with standard errors.

    Parameters
    ----------
    value : callable
        Takes a set of parts, an integer in which bit i is 1 if part i is in the set, and returns its values, shape
        (n_values,); may be called more than once for the same set.
    n_parts : int
        Number of parts.
    orders : int
        Number of orders; standard errors require at least 2.
    rng : Generator
        Source of the orders.

    Returns
    -------
    ShapleyShares

    Raises
    ------
    InputError
        If `orders` is below 2.
    """
    if orders < 2:
        raise InputError("too few orderings", where="orders", found=orders, expected="2 or more")
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
