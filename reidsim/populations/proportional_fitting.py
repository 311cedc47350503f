"""Iterative proportional fitting.

It finds the table with given margins that is closest to a given table. This is not a dependency because ipfn loops over
the cells of each margin in Python and has had no release since 2021, humanleague is compiled C++, and neither names the
margins that contradict each other or cannot be met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Domain

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Margin:
    """Required sums of a table over all axes except the given ones.

    Parameters
    ----------
    name : str
        Name of the margin in messages.
    axes : tuple of int
        Axes of the table that the margin keeps.
    target : ndarray of float64
        Required sums, 0 or more; its axes correspond to `axes`.
    """

    name: str
    axes: tuple[int, ...]
    target: Floats

    def sums(self, table: Floats) -> Floats:
        """Return the sums of a table that correspond to `target`, same shape."""
        others = tuple(axis for axis in range(table.ndim) if axis not in self.axes)
        return np.asarray(table.sum(axis=others).transpose(np.argsort(np.argsort(self.axes))))

    def spread(self, values: Floats, ndim: int) -> Floats:
        """Reshape a margin's array so that it broadcasts over a table.

        The table has `ndim` axes.
        """
        ordered = values.transpose(np.argsort(self.axes))
        return np.asarray(np.expand_dims(ordered, [axis for axis in range(ndim) if axis not in self.axes]))


@dataclass(frozen=True)
class FittedTable:
    """The result of fitting a table to margins.

    Parameters
    ----------
    table : ndarray of float64
        Fitted table, with the shape of the starting table.
    rounds : int
        Number of rounds; in each round, the table is scaled to all margins in turn.
    error : float
        Largest absolute difference between a sum and its target, divided by the number of people.
    worst : str
        Name of the margin with this difference.
    converged : bool
        Whether `error` is within the tolerance.
    """

    table: Floats
    rounds: int
    error: float
    worst: str
    converged: bool

    def __str__(self) -> str:
        return f"fitted in {self.rounds} rounds to within {self.error:.1g} of the people"


def fit_margins(
    start: Floats, margins: Sequence[Margin], domain: Domain, *, tolerance: float = 1e-9, max_rounds: int = 1000
) -> FittedTable:
    """Return a table fitted to all margins.

    The table is scaled to one margin after the other.

    Parameters
    ----------
    start : ndarray of float64
        Starting table, such as counts of a sample, or ones; values of 0 or more. It determines the association of the
        axes: the result has the odds ratios of `start`, and a cell of 0 stays 0.
    margins : sequence of Margin
        One or more margins. All targets must have the same total, and any two margins must have the same sums over
        their common axes.
    domain : Domain
        Domain of the table, for messages.
    tolerance : float
        Largest accepted error, divided by the number of people. Margins with larger differences contradict each other.
    max_rounds : int
        Maximum number of rounds.

    Returns
    -------
    FittedTable
        Not converged if no table with the zeros of `start` has these margins, or convergence needs more rounds.

    Raises
    ------
    InputError
        If a margin or `start` has no people, margins contradict each other (the message names both), or a margin has
        people in an entry for which every cell is 0 in `start` or according to another margin.

    Notes
    -----
    The result is the table with these margins that has the least Kullback-Leibler divergence from `start` (Deming and
    Stephan 1940; Csiszar 1975). A sum of 0 occurs only with a target of 0, so there is no division by 0.
    """
    table = np.array(start, dtype=np.float64)
    if not table.sum() > 0:
        raise InputError("the starting table has no number above 0")
    for margin in margins:
        if not margin.target.sum() > 0:
            problem = "the margin has no number above 0"
            raise InputError(problem, where=f"margin {margin.name!r}")
    total = float(margins[0].target.sum())
    for one, other in combinations(margins, 2):
        _check_agreement(one, other, tolerance * total, domain)
    _clear_zero_margins(table, margins, domain)
    rounds = 0
    error, worst = _largest_error(table, margins, total)
    while error > tolerance and rounds < max_rounds:
        for margin in margins:
            sums = margin.sums(table)
            factors = np.divide(margin.target, sums, out=np.zeros_like(sums), where=sums > 0)
            table *= margin.spread(factors, table.ndim)
        rounds += 1
        error, worst = _largest_error(table, margins, total)
    return FittedTable(table, rounds, error, worst, converged=error <= tolerance)


def _check_agreement(one: Margin, other: Margin, allowed: float, domain: Domain) -> None:
    """Check that two margins have the same sums over their common axes.

    If there are none, they must have the same total.
    """
    shared = tuple(axis for axis in one.axes if axis in other.axes)
    for axes in ((), shared) if shared else ((),):
        # Axis i of a margin's target is axis `axes[i]` of the table.
        first, second = (
            Margin("", tuple(margin.axes.index(axis) for axis in axes), margin.target).sums(margin.target)
            for margin in (one, other)
        )
        difference = np.abs(first - second)
        if difference.max() > allowed:
            cell = np.unravel_index(int(difference.argmax()), difference.shape)
            place = f", {_cell_name(axes, cell, domain)}" if axes else ""
            raise InputError(
                "margins are inconsistent",
                where=f"margins {one.name!r} and {other.name!r}{place}",
                found=f"{first[cell]:,.10g} and {second[cell]:,.10g} people",
                expected="the same number of people",
            )


def _clear_zero_margins(table: Floats, margins: Sequence[Margin], domain: Domain) -> None:
    """Set cells with a margin of 0 to 0, in place.

    Raises InputError if a positive margin then has no positive cell.
    """
    for margin in margins:
        table *= margin.spread((margin.target > 0).astype(np.float64), table.ndim)
    for margin in margins:
        impossible = (margin.target > 0) & ~(margin.sums(table) > 0)
        if impossible.any():
            cell = np.unravel_index(int(impossible.argmax()), impossible.shape)
            raise InputError(
                "the starting table or another margin has no people for this value",
                where=f"margin {margin.name!r}, {_cell_name(margin.axes, cell, domain)}",
                found=float(margin.target[cell]),
                expected="0, or a cell above 0 in the starting table and in the other margins",
            )


def _largest_error(table: Floats, margins: Sequence[Margin], total: float) -> tuple[float, str]:
    errors = [float(np.abs(margin.sums(table) - margin.target).max()) / total for margin in margins]
    worst = int(np.argmax(errors))
    return errors[worst], margins[worst].name


def _cell_name(axes: tuple[int, ...], cell: tuple[np.intp, ...], domain: Domain) -> str:
    attributes = [domain.attributes[axis] for axis in axes]
    return ", ".join(f"{a.name} = {a.categories[index]}" for a, index in zip(attributes, cell, strict=True))
