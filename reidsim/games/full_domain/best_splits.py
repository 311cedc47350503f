"""The best split of the domain into regions, from payouts of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError
from reidsim.games.full_domain.class_table import ClassTable, Ints
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.node_payoffs import record_payoffs
from reidsim.games.full_domain.walk import Followed, walk
from reidsim.releases.strategy_space import Floats, Strategies

Levels = tuple[int, ...]
# Marks a class that is not split.
_WHOLE = -1
# Limit on the bytes of classes held at a time.
_MEMORY_LIMIT = 2 * 2**30


class Splits(NamedTuple):
    """The best recoding by splits.

    Attributes
    ----------
    regions : ndarray of int64, shape (n_cells,)
        Node of each cell's region, whether its records are suppressed or not.
    value : float
        Publisher's payoff over all records (payout) minus the charge for suppressed records, in currency units.
    evaluated : int
        Number of nodes computed.
    """

    regions: Strategies
    value: float
    evaluated: int


def best_splits(game: FullDomainGame, *, charge: float = 0.0) -> Splits:
    """Find the recoding by splits with the highest value at a charge per suppression.

    The best payout of a class is the larger of its payout as one region and the sum of its parts' best payouts after
    the best split. Nodes are computed from the lowest node up, so that parts are computed before the class. If payouts
    are equal, the class is split, along the first such attribute; a class whose records are all suppressed is not
    split.

    Parameters
    ----------
    game : FullDomainGame
        Game at one parameter point; its suppression limit has no effect.
    charge : float
        Amount subtracted for each suppressed record, in currency units.

    Raises
    ------
    InputError
        If the best payouts of all classes do not fit in 2 GiB of memory.
    """
    visitor = _BestSplits(game, charge)
    roll_up, finest, _ = game.finest
    evaluated = walk(roll_up, finest, visitor, followed=game.followed, start=game.lowest)
    return Splits(visitor.regions(), visitor.value, evaluated)


class _BestSplits:
    """A `Visitor` that decides whether, and by which attribute, to split each class."""

    def __init__(self, game: FullDomainGame, charge: float) -> None:
        self._game = game
        self._charge = charge
        self._roll_up = game.finest[0]
        self._tie = INDIFFERENCE * max(float(game.best_case[0]), 1.0)
        self._top = tuple(levels - 1 for levels in game.lattice.shape)
        # Keys and best payouts of the classes of each node, kept until all nodes just above have been visited.
        self._values: dict[Levels, tuple[Ints, Floats]] = {}
        # The attribute along which each class of a node is split, by key; only nodes with splits are kept.
        self._splits: dict[Levels, NDArray[np.int8]] = {}
        self._bytes = 0
        self.value = 0.0

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        return followed

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        game, here, occupied = self._game, tuple(levels), np.flatnonzero(table.released)
        keys, class_of = table.keys[occupied], np.arange(len(occupied))
        released, loss, people = table.released[occupied], table.loss[occupied], table.people[occupied]
        kind = np.zeros(len(occupied), dtype=np.int64)
        nothing = -self._charge * released.astype(np.float64)
        if not game.by_class:
            released, loss, people, kind = game.released, followed.loss, table.people[followed.group_of], game.cell_kind
            class_of = np.searchsorted(occupied, followed.group_of)
        payoff, kept = record_payoffs(loss, people, game.terms, kind, 0)
        paid = released * np.where(kept, payoff, -self._charge)
        value = np.asarray(np.bincount(class_of, paid, len(keys)), dtype=np.float64)
        split = np.full(len(keys), _WHOLE, dtype=np.int8)
        for position in range(len(here)):
            if here[position] > game.lowest[position]:
                parts, part_values = self._values[_at(here, position, here[position] - 1)]
                raised = self._roll_up.raised(parts, position, here[position] - 1)
                sums = np.bincount(np.searchsorted(keys, raised), part_values, len(keys))
                # A split replaces an unsplit class if it pays as much, and another split only if it pays more.
                margin = np.where(split == _WHOLE, -self._tie, self._tie)
                better = (sums > value + margin) & (sums > nothing + self._tie)
                value[better], split[better] = sums[better], position
        self._values[here] = keys, value
        if (split != _WHOLE).any():
            self._splits[here] = split
        self._account(here, keys)
        if here == self._top:
            self.value = float(value.sum())

    def _account(self, here: Levels, keys: NDArray[np.int64]) -> None:
        """Drop values that no later node needs; raise `InputError` at the memory limit."""
        self._bytes += 17 * len(keys)
        for position in range(len(here)):
            below = _at(here, position, here[position] - 1)
            if below in self._values and self._last_above(below) == here:
                self._bytes -= 16 * len(self._values.pop(below)[0])
        if self._bytes > _MEMORY_LIMIT:
            raise InputError(
                "too many classes for multi-dimensional recoding",
                found=f"more than {self._bytes // 2**20:,} MiB of memory",
                expected=f"at most {_MEMORY_LIMIT // 2**20:,} MiB",
                hint="use fewer quasi-identifiers, or record-level generalization",
            )

    def _last_above(self, below: Levels) -> Levels:
        """Return the node just above that the walk visits last.

        The walk raises attributes with most values first.
        """
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
            # The highest node first, so that a node is processed only after all its cells have been assigned.
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
