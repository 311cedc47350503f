"""The largest of several functions on an interval, exactly, from values at few places.

The payoff of a plan that stays the same is a straight line in the publisher's benefit or loss, and that of a policy
that takes the best of plans the upper envelope of lines: convex, between the lines of the plans that are best at two
places and the chord through them. If this does not decide which policy pays most, the place where the two lines meet
is tried next (Eisner and Severance 1976, Mathematical techniques for efficient record segmentation in large shared
databases, Journal of the ACM 23), until the lines themselves are known.

Along the adversary's gain or cost the plans that are attacked change: at the values at which attacks on the records of
some number of people begin to pay. Between two such values all is as above; over several of them every payoff falls
with the gain, and rises with the cost, which bounds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reidsim.engine.switch.amounts import Amounts, PlannedAt

# Payoffs closer than this, as a share of benefit and loss, are equal.
SAME = 1e-10
# Solvers take plans for equally good that differ by less.
_KINK = 1e-11
# How far from the ends of a range, as a share of it, the first and the last value are tried: payoffs may jump there.
_INSIDE = 1e-9
# Of the amount itself, as adversaries are indifferent within a trillionth of it.
_BESIDE = 1e-10


class Stretch(NamedTuple):
    """Values between which the same policies pay most.

    Attributes
    ----------
    low, high : float
    best : tuple of str
        Policies that pay the same, and more than all others; empty where that was not settled.
    """

    low: float
    high: float
    best: tuple[str, ...]


class NotConvexError(Exception):
    """A plan pays more than the one that a policy chose, so that its payoff is no envelope of its plans."""

    def __init__(self, policy: str) -> None:
        super().__init__(policy)
        self.policy = policy


class Cells:
    """The ranges between the values of an amount at which attacks on groups of some size begin or cease to pay.

    Parameters
    ----------
    low, high : float
    sizes : range
        Group sizes, ascending by the value of the amount.
    at : callable
        Returns the value at which attacks on groups of this size begin or end.
    """

    def __init__(self, low: float, high: float, sizes: range = range(0), at: Callable[[int], float] = float) -> None:
        self._low, self._high, self._sizes, self._at = low, high, sizes, at
        self.last = len(sizes)

    def of(self, cell: int) -> tuple[float, float]:
        """Return the ends of a cell, numbered from 0."""
        low = self._low if cell == 0 else self._at(self._sizes[cell - 1])
        return low, self._high if cell == self.last else self._at(self._sizes[cell])

    def inside(self, cell: int) -> tuple[float, float]:
        """Return values inside a cell, next to its ends."""
        low, high = self.of(cell)
        margin = min(max(_INSIDE * (high - low), _BESIDE * high), (high - low) / 4)
        return low + margin, high - margin


class Envelope:
    """Finds which policies pay most between two values of an amount.

    Parameters
    ----------
    amounts : Amounts
    low, high : float
    narrowest : float
        Stretches narrower than this are not settled.
    most : int
        Most values tried; stretches that are open then are not settled.
    on_value : callable, optional
        Called with every value that was tried and the payoffs there.
    """

    def __init__(
        self,
        amounts: Amounts,
        low: float,
        high: float,
        *,
        narrowest: float,
        most: int,
        on_value: Callable[[PlannedAt], None] | None = None,
    ) -> None:
        self._amounts, self._low, self._high = amounts, low, high
        self._narrowest, self._most, self._on_value = narrowest, most, on_value
        self._scale = max(amounts.scale(low), amounts.scale(high))

    def exactly(self, cells: Cells) -> Iterator[Stretch]:
        """Yield stretches where every policy takes the best of plans that do not depend on the amount.

        Parameters
        ----------
        cells : Cells
            Ranges within which attacks stay the same.

        Raises
        ------
        NotConvexError
            If a policy does not take the best.
        """
        left, right = self._try(cells.inside(0)[0]), self._try(cells.inside(cells.last)[1])
        yield from self._cells(cells, 0, cells.last, left, right, self._amounts.policies)

    def by_bisection(self, tried: int) -> Iterator[Stretch]:
        """Yield stretches found by trying values at equal distances and halving where neighbours differ."""
        grid = np.linspace(self._low, self._high, tried)
        before = self._try(float(grid[0]))
        for value in grid[1:].tolist():
            after = self._try(value)
            yield from self._halved(before, after)
            before = after

    def _halved(self, left: PlannedAt, right: PlannedAt) -> Iterator[Stretch]:
        below, above = self._best_of(left.payoffs), self._best_of(right.payoffs)
        if below == above:
            yield Stretch(left.amount, right.amount, below)
        elif right.amount - left.amount <= self._narrowest or self._exhausted:
            yield Stretch(left.amount, right.amount, ())
        else:
            middle = self._try((left.amount + right.amount) / 2)
            yield from self._halved(left, middle)
            yield from self._halved(middle, right)

    @property
    def _exhausted(self) -> bool:
        return self._amounts.evaluations >= self._most

    def _try(self, amount: float, policies: Sequence[str] | None = None) -> PlannedAt:
        planned = self._amounts.at(amount, policies)
        if self._on_value is not None:
            self._on_value(planned)
        return planned

    def _cells(
        self, cells: Cells, first: int, last: int, left: PlannedAt, right: PlannedAt, policies: Sequence[str]
    ) -> Iterator[Stretch]:
        """Settle the cells between thresholds from `first` to `last`, over which payoffs only fall, or only rise."""
        low, high = cells.of(first)[0], cells.of(last)[1]
        bounds = {name: sorted((left.payoffs[name], right.payoffs[name])) for name in policies}
        floor = max(least for least, _ in bounds.values())
        open_ = [name for name in policies if bounds[name][1] >= floor - SAME * self._scale]
        constant = all(bounds[name][1] - bounds[name][0] <= _KINK * self._scale for name in open_)
        if first < last and (len(open_) == 1 or constant):
            yield Stretch(low, high, self._best_of({name: left.payoffs[name] for name in open_}))
        elif first == last:
            yield from self._within(low, high, left, right, open_)
        elif self._exhausted:
            yield Stretch(low, high, ())
        else:
            middle = (first + last) // 2
            below = self._try(cells.inside(middle)[1], open_)
            above = self._try(cells.inside(middle + 1)[0], open_)
            yield from self._cells(cells, first, middle, left, below, open_)
            yield from self._cells(cells, middle + 1, last, above, right, open_)

    def _within(
        self, low: float, high: float, left: PlannedAt, right: PlannedAt, policies: Sequence[str]
    ) -> Iterator[Stretch]:
        """Settle a range, `left` and `right` at its ends, in which the attacks on every plan stay the same."""
        on_right, on_left = self._amounts.paid_at(left, right.amount), self._amounts.paid_at(right, left.amount)
        curves = {
            name: _Curve.of(name, left.payoffs[name], on_right[name], on_left[name], right.payoffs[name], self._scale)
            for name in policies
        }
        open_ = [
            name
            for name in policies
            if not any(curves[other].is_above(curves[name], SAME * self._scale) for other in policies if other != name)
        ]
        bent = [name for name in open_ if curves[name].gap > _KINK * self._scale]
        if len(open_) == 1 or not bent:
            yield from self._by_lines(low, high, left, right, open_)
        elif right.amount - left.amount <= self._narrowest or self._exhausted:
            yield Stretch(low, high, ())
        else:
            part = max((curves[name] for name in bent), key=lambda curve: curve.gap).kink
            middle = left.amount + part * (right.amount - left.amount)
            between = self._try(middle, open_)
            yield from self._within(low, middle, left, between, open_)
            yield from self._within(middle, high, between, right, open_)

    def _by_lines(
        self, low: float, high: float, left: PlannedAt, right: PlannedAt, policies: Sequence[str]
    ) -> Iterator[Stretch]:
        """Settle a range in which payoffs are straight lines, or only one policy is left."""
        begin, width = left.amount, right.amount - left.amount
        lines = {name: (left.payoffs[name], right.payoffs[name] - left.payoffs[name]) for name in policies}
        crossings = set()
        for name, (at, rise) in lines.items():
            for other, (other_at, other_rise) in lines.items():
                if name < other and abs(rise - other_rise) > SAME * self._scale:
                    crossings.add(begin + width * (other_at - at) / (rise - other_rise))
        marks = [low, *sorted(value for value in crossings if low < value < high), high]
        for start, end in itertools.pairwise(marks):
            part = ((start + end) / 2 - begin) / width if width > 0 else 0.0
            yield Stretch(start, end, self._best_of({name: at + part * rise for name, (at, rise) in lines.items()}))

    def _best_of(self, payoffs: Mapping[str, float]) -> tuple[str, ...]:
        most = max(payoffs.values())
        return tuple(name for name in self._amounts.policies if payoffs.get(name, -np.inf) >= most - SAME * self._scale)


class _Curve(NamedTuple):
    """A convex function between two places, 0 and 1, with known values and tangents there."""

    left: float
    right: float
    kink: float
    lowest: float
    gap: float

    @classmethod
    def of(cls, name: str, left: float, on_right: float, on_left: float, right: float, scale: float) -> _Curve:
        """Make a curve whose left tangent reaches `on_right`, and whose right tangent reaches `on_left`."""
        drop_left, drop_right = left - on_left, right - on_right
        if min(drop_left, drop_right) < -SAME * scale:
            raise NotConvexError(name)
        if min(drop_left, drop_right) <= _KINK * scale:
            return cls(left, right, 0.5, (left + right) / 2, 0.0)
        kink = drop_left / (drop_left + drop_right)
        lowest = left + kink * (on_right - left)
        return cls(left, right, kink, lowest, left + kink * (right - left) - lowest)

    def is_above(self, other: _Curve, by: float) -> bool:
        """Return whether this curve is above the other everywhere, for any curves with these tangents."""
        chord = other.left + self.kink * (other.right - other.left)
        return self.left > other.left + by and self.right > other.right + by and self.lowest > chord + by
