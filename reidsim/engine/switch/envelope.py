"""Find the largest of several payoff functions on an interval.

The result is exact and needs few evaluations. The payoff of a fixed plan is linear in the publisher's benefit or loss.
A policy that always takes its best plan has as payoff the upper envelope of such lines: a convex function. Between two
evaluated values, this function lies above the lines of the two plans that are best there, and below the chord through
the two payoffs. If these bounds do not decide which policy has the highest payoff, the value at which the two lines
intersect is evaluated next, until the lines themselves are known (Eisner and Severance 1976, Mathematical techniques
for efficient record segmentation in large shared databases, Journal of the ACM 23).

If the adversary's gain or cost varies, attacks on groups of a given size become profitable at a threshold value.
Between two neighbouring thresholds, the argument above holds. Across thresholds, every payoff decreases with the gain
and increases with the cost, which bounds the payoffs in between.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reidsim.engine.switch.amounts import Amounts, PlannedAt

# Payoffs of policies that differ by less than this fraction of benefit plus loss count as equal. It is larger than the
# tolerance of solvers (_KINK), so that equally good plans are not ranked by rounding errors.
SAME = 1e-10
# Solvers treat plans as equally good if their payoffs differ by less than this fraction of benefit plus loss.
_KINK = 1e-11
# The first and last evaluated values lie this fraction of the range inside its ends, because payoffs may jump there.
_INSIDE = 1e-9
# Smallest distance from a threshold, as a fraction of the upper end: adversaries are indifferent within 1e-12 of it.
_BESIDE = 1e-10


class Stretch(NamedTuple):
    """A range of the payoff parameter with the same best policies.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    best : tuple of str
        Policies that share the highest payoff; empty if the best policy was not determined.
    """

    low: float
    high: float
    best: tuple[str, ...]


class NotConvexError(Exception):
    """Raised if a policy did not choose its best plan.

    Its payoff is then not the envelope of its plans.
    """

    def __init__(self, policy: str) -> None:
        super().__init__(policy)
        self.policy = policy


class Cells:
    """A range of a payoff parameter, divided into cells at the thresholds of attacks.

    At the threshold of a group size, attacks on groups of this size become profitable, or stop being profitable.
    Within a cell, the group sizes that are attacked do not change.

    Parameters
    ----------
    low, high : float
        Ends of the whole range.
    sizes : range
        Group sizes whose thresholds lie in the range, in ascending order of the thresholds. Default: none, so that the
        range is a single cell.
    at : callable
        Returns the threshold of a group size, as a value of the payoff parameter.

    Attributes
    ----------
    last : int
        Number of the last cell.
    """

    def __init__(self, low: float, high: float, sizes: range = range(0), at: Callable[[int], float] = float) -> None:
        self._low, self._high, self._sizes, self._at = low, high, sizes, at
        self.last = len(sizes)

    def of(self, cell: int) -> tuple[float, float]:
        """Return the lower and upper end of a cell; cells are numbered from 0."""
        low = self._low if cell == 0 else self._at(self._sizes[cell - 1])
        return low, self._high if cell == self.last else self._at(self._sizes[cell])

    def inside(self, cell: int) -> tuple[float, float]:
        """Return two values just inside the lower and upper end of a cell."""
        low, high = self.of(cell)
        margin = min(max(_INSIDE * (high - low), _BESIDE * high), (high - low) / 4)
        return low + margin, high - margin


class Envelope:
    """Search for the best policies on a range of a payoff parameter.

    Parameters
    ----------
    amounts : Amounts
    low, high : float
        Ends of the range.
    narrowest : float
        Ranges narrower than this are not divided further; their best policy may stay undetermined.
    most : int
        Maximum of `Amounts.evaluations`. When it is reached, the best policy of remaining ranges stays undetermined.
    on_value : callable, optional
        Called with the `PlannedAt` of every evaluated value.
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
        """Yield the stretches of the whole range with exact ends, in ascending order.

        Every policy must always choose its best plan. Neighbouring stretches may have the same best policies.

        Parameters
        ----------
        cells : Cells
            Ranges within which the attacks on each plan do not change.

        Raises
        ------
        NotConvexError
            If a policy does not choose its best plan.
        """
        left, right = self._try(cells.inside(0)[0]), self._try(cells.inside(cells.last)[1])
        yield from self._cells(cells, 0, cells.last, left, right, self._amounts.policies)

    def by_bisection(self, tried: int) -> Iterator[Stretch]:
        """Yield stretches found on a grid of `tried` equidistant values.

        Stretches are in ascending order. Ranges with different best policies at their ends are bisected. Ranges with
        the same best policies at both ends are not, so that two changes within such a range are missed.
        """
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
        """Yield the stretches of the cells from `first` to `last`.

        Every payoff is monotone across these cells, so that its values at `left` (just inside the first cell) and
        `right` (just inside the last cell) bound it in between. Only `policies` can be the best here.
        """
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
        """Yield the stretches of a range in which attacks on each plan do not change.

        `left` and `right` are evaluated values at or just inside its ends. Only `policies` can be the best here.
        """
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
        """Yield the stretches of a range, given that payoffs are linear in it.

        They need not be linear if `policies` holds only one policy.
        """
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
    """Bounds of a convex function on [0, 1], given values and tangents at its ends.

    Attributes
    ----------
    left, right : float
        Values of the function at 0 and 1.
    kink : float
        Place at which the two tangents intersect; 0.5 if the function is linear.
    lowest : float
        Value of the tangents at `kink`, a lower bound of the function there.
    gap : float
        Height of the chord above the tangents at `kink`; 0 if the function is linear.
    """

    left: float
    right: float
    kink: float
    lowest: float
    gap: float

    @classmethod
    def of(cls, name: str, left: float, on_right: float, on_left: float, right: float, scale: float) -> _Curve:
        """Return the curve whose tangents reach given values at the other end.

        The tangent at 0 has the value `on_right` at 1, the tangent at 1 has the value `on_left` at 0. `scale` is the
        unit of tolerances.

        Raises
        ------
        NotConvexError
            If a tangent lies above the function at the other end; the error names the policy `name`.
        """
        drop_left, drop_right = left - on_left, right - on_right
        if min(drop_left, drop_right) < -SAME * scale:
            raise NotConvexError(name)
        if min(drop_left, drop_right) <= _KINK * scale:
            return cls(left, right, 0.5, (left + right) / 2, 0.0)
        kink = drop_left / (drop_left + drop_right)
        lowest = left + kink * (on_right - left)
        return cls(left, right, kink, lowest, left + kink * (right - left) - lowest)

    def is_above(self, other: _Curve, by: float) -> bool:
        """Return whether this curve exceeds the other by more than `by` at every place.

        True only if the known values and tangents imply it.
        """
        chord = other.left + self.kink * (other.right - other.left)
        return self.left > other.left + by and self.right > other.right + by and self.lowest > chord + by
