"""The best way of splitting the domain into regions, from what the classes of every node pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.node_payoffs import record_payoffs
from reidsim.games.full_domain.walk import Followed, walk
from reidsim.releases.strategy_space import Floats, Strategies

Levels = tuple[int, ...]
_WHOLE = -1
_MEMORY_LIMIT = 2 * 2**30


class Splits(NamedTuple):
    """The best recoding by splits.

    Attributes
    ----------
    regions : ndarray of int64, shape (n_cells,)
        The node of the cell's region.
    value : float
        What it pays over all records, less the charge for those suppressed.
    evaluated : int
        Nodes computed.
    """

    regions: Strategies
    value: float
    evaluated: int


def best_splits(game: FullDomainGame, *, charge: float = 0.0) -> Splits:
    """Find the recoding by splits that pays most when every suppressed record is charged for.

    What the records of a class pay at most is what they pay in one region, or the most that its parts pay after the
    best split, whichever is more. Nodes are computed from the lowest on, so that parts come before the whole. Among
    equal payouts the class is split, along the first attribute; a class of which nothing is released stays whole.

    Parameters
    ----------
    game : FullDomainGame
        At one parameter point; its suppression limit does not count.
    charge : float
        Taken off for each suppressed record, in currency units.

    Raises
    ------
    InputError
        If what each class does best does not fit in 2 GiB of memory.
    """
    visitor = _BestSplits(game, charge)
    roll_up, finest, _ = game.finest
    evaluated = walk(roll_up, finest, visitor, followed=game.followed, start=game.lowest)
    return Splits(visitor.regions(), visitor.value, evaluated)


class _BestSplits:
    """A visitor that computes for each class of each node whether to split it, and along which attribute."""

    def __init__(self, game: FullDomainGame, charge: float) -> None:
        self._game = game
        self._charge = charge
        self._roll_up: RollUp = game.finest[0]
        self._prices = game.cell_prices()
        self._tie = INDIFFERENCE * max(float(game.best_case[0]), 1.0)
        self._top = tuple(levels - 1 for levels in game.lattice.shape)
        # What the classes of a node pay at most, while a node above it is still to come.
        self._values: dict[Levels, tuple[NDArray[np.int64], Floats]] = {}
        # How each class of a node is split, by key; nodes where none is are left out.
        self._splits: dict[Levels, NDArray[np.int8]] = {}
        self._bytes = 0
        self._slots = np.full(16, -1, dtype=np.int64)
        self._stamp = 0
        self.value = 0.0

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        return followed

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        here = tuple(levels)
        occupied = np.flatnonzero(table.released)
        keys = table.keys[occupied]
        number = np.zeros(len(table.keys), dtype=np.int32)
        number[occupied] = np.arange(len(occupied), dtype=np.int32)
        released, loss, people = self._game.released, followed.loss, table.people[followed.group_of]
        class_of = number[followed.group_of]
        if self._game.by_class:
            class_of, released = number[occupied], table.released[occupied]
            loss, people = table.loss[occupied], table.people[occupied]
        payoff, kept = record_payoffs(loss, people, self._prices, self._game.rule)
        paid = released * np.where(kept, payoff, -self._charge)
        value = np.asarray(np.bincount(class_of, paid, len(keys)), dtype=np.float64)
        nothing = -self._charge * table.released[occupied].astype(np.float64)
        split = np.full(len(keys), _WHOLE, dtype=np.int8)
        self._index(keys)
        for position in range(len(here)):
            if here[position] > self._game.lowest[position]:
                self._offer(here, position, keys, value, split, nothing)
        self._values[here] = keys, value
        if (split != _WHOLE).any():
            self._splits[here] = split
        self._account(here, keys)
        if here == self._top:
            self.value = float(value.sum())

    def _offer(
        self,
        here: Levels,
        position: int,
        keys: NDArray[np.int64],
        value: Floats,
        split: NDArray[np.int8],
        nothing: Floats,
    ) -> None:
        """Split the classes along an attribute where that pays more than what is held, and than to release nothing."""
        level = here[position] - 1
        parts, paid = self._values[_at(here, position, level)]
        shift, field = self._roll_up.field(position)
        sums = _added_up(
            keys, parts, paid, shift, field, self._roll_up.parents[position][level], self._slots, self._stamp
        )
        # An unsplit class gives way to parts that pay the same, other parts only to those that pay more.
        margin = np.where(split == _WHOLE, -self._tie, self._tie)
        better = (sums > value + margin) & (sums > nothing + self._tie)
        value[better] = sums[better]
        split[better] = position

    def _index(self, keys: NDArray[np.int64]) -> None:
        """Give each key a slot; those of nodes before count as free."""
        self._stamp += len(self._slots)
        if 2 * len(keys) > len(self._slots):
            self._slots = np.full(1 << (2 * len(keys)).bit_length(), -1, dtype=np.int64)
            self._stamp = 0
        _fill(keys, self._slots, self._stamp)

    def _account(self, here: Levels, keys: NDArray[np.int64]) -> None:
        """Drop what no node to come is made of, and refuse to hold too much."""
        self._bytes += 17 * len(keys)
        for position in range(len(here)):
            below = _at(here, position, here[position] - 1)
            if below in self._values and self._last_above(below) == here:
                self._bytes -= 16 * len(self._values.pop(below)[0])
        if self._bytes > _MEMORY_LIMIT:
            raise InputError(
                "too many classes for multi-dimensional recoding",
                found=f"more than {self._bytes // 2**20:,} MiB to hold them",
                expected=f"at most {_MEMORY_LIMIT // 2**20:,} MiB",
                hint="take fewer quasi-identifiers, or record-level generalization",
            )

    def _last_above(self, below: Levels) -> Levels:
        """Return the node just above that comes last: the walk raises attributes with most values first."""
        for position in self._roll_up.order:
            if below[position] < self._top[position]:
                return _at(below, position, below[position] + 1)
        return below

    def regions(self) -> Strategies:
        """Return the node of each cell's region, following the splits from the top."""
        lattice = self._game.lattice
        occupied = np.flatnonzero(self._game.released)
        number = np.empty(lattice.n_records, dtype=np.intp)
        regions = np.full(lattice.n_records, lattice.size - 1, dtype=np.int64)
        open_nodes = {self._top: occupied}
        while open_nodes:
            # The highest node first, so that all cells that come to a node are there when it is looked at.
            here = max(open_nodes, key=sum)
            cells = open_nodes.pop(here)
            if here not in self._splits:
                regions[cells] = lattice.index(here)
                continue
            keys = self._roll_up.keys_at(lattice.codes[occupied], here)
            number[occupied] = np.unique(keys, return_inverse=True)[1]
            split = self._splits[here][number[cells]]
            for position in np.unique(split).tolist():
                group = cells[split == position]
                if position == _WHOLE:
                    regions[group] = lattice.index(here)
                    continue
                below = _at(here, position, here[position] - 1)
                open_nodes[below] = np.concatenate([open_nodes.get(below, group[:0]), group])
        return regions


def _at(levels: Levels, position: int, level: int) -> Levels:
    return (*levels[:position], level, *levels[position + 1 :])


@numba.njit(cache=True)
def _slot(key: int, bits: int) -> int:
    # Knuth's multiplicative hash, as in the class table.
    return ((key * -7046029254386353131) >> (64 - bits)) & ((1 << bits) - 1)


@numba.njit(cache=True)
def _bits(slots: NDArray[np.int64]) -> int:
    bits = 0
    while 1 << bits < len(slots):
        bits += 1
    return bits


@numba.njit(cache=True)
def _fill(keys: NDArray[np.int64], slots: NDArray[np.int64], stamp: int) -> None:
    bits, mask = _bits(slots), len(slots) - 1
    for i in range(len(keys)):
        slot = _slot(keys[i], bits)
        while slots[slot] >= stamp:
            slot = (slot + 1) & mask
        slots[slot] = stamp + i


@numba.njit(cache=True)
def _added_up(
    keys: NDArray[np.int64],
    parts: NDArray[np.int64],
    paid: Floats,
    shift: int,
    field: int,
    parents: NDArray[np.int64],
    slots: NDArray[np.int64],
    stamp: int,
) -> Floats:
    """Add up what the parts of each class pay."""
    sums = np.zeros(len(keys))
    bits, mask, rest = _bits(slots), len(slots) - 1, ~(field << shift)
    for i in range(len(parts)):
        key = (parts[i] & rest) | (parents[(parts[i] >> shift) & field] << shift)
        slot = _slot(key, bits)
        while keys[slots[slot] - stamp] != key:
            slot = (slot + 1) & mask
        sums[slots[slot] - stamp] += paid[i]
    return sums
