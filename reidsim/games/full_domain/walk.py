"""Walk of the lattice that rolls up each node's classes from a node just below.

The walk reaches every node once, by raising attributes one after the other; the last attribute runs through its levels
fastest. A node's table is rolled up from the table of the node whose last raised attribute is one level lower. At any
time only the tables on the path to the current node are held. All nodes reached from a node generalize it. So a bound
on the payout of a node and of all its generalizations can close the whole branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.class_table import ClassTable, RollUp
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True)
class Followed:
    """Rows whose classes the walk follows through the lattice; arrays of equal shape.

    Parameters
    ----------
    rows : ndarray of int
        Row numbers.
    group_of : ndarray of int32
        Class of each row.
    loss : ndarray of float64
        Information loss of each row.
    """

    rows: Rows
    group_of: NDArray[np.int32]
    loss: Floats

    def take(self, keep: NDArray[np.bool_]) -> Followed:
        """Return the rows selected by a mask, with their classes and losses."""
        return Followed(self.rows[keep], self.group_of[keep], self.loss[keep])


# Follows no rows.
NOBODY = Followed(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int32), np.empty(0))


class Visitor(Protocol):
    """An observer of the walk that evaluates nodes and closes branches."""

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        """Return the rows to follow into the branch of `node`, or None to close it.

        `followed` has the losses at `node` and the classes at the node before it.
        """
        ...

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        """Evaluate a node, given its levels, its classes, and the rows followed to it."""
        ...


def walk(
    roll_up: RollUp,
    finest: ClassTable,
    visitor: Visitor,
    *,
    followed: Followed = NOBODY,
    start: tuple[int, ...] | None = None,
) -> int:
    """Pass every node of the lattice to a visitor, except in branches that it closes.

    A branch is closed if the visitor's `enter` returns None. Nodes below `start` are not visited.

    Parameters
    ----------
    roll_up : RollUp
    finest : ClassTable
        Classes of the ungeneralized rows.
    visitor : Visitor
    followed : Followed
        Rows to follow, with their ungeneralized classes; rows are cells of ``roll_up.lattice``.
    start : tuple of int, optional
        Lowest level of each attribute; 0 if not given.

    Returns
    -------
    int
        Number of nodes visited.
    """
    lattice = roll_up.lattice
    levels = list(start or [0] * len(lattice.shape))
    lowest = tuple(levels)
    node = lattice.index(levels)
    table, group_of = roll_up.at(finest, levels, followed.group_of)
    loss = np.zeros(len(followed.rows))
    for at, level in enumerate(levels):
        loss += lattice.losses[at][level][lattice.codes[followed.rows, at]]
    here = visitor.enter(node, levels, Followed(followed.rows, group_of, loss))
    if here is None:
        return 0
    visitor.visit(node, levels, table, here)
    shown = 1
    order = roll_up.order
    last = len(order) - 1
    # Entry d holds the table and rows with attributes up to depth d at their current level and all later attributes at
    # their lowest. An outdated entry at a greater depth is replaced as soon as an earlier attribute is raised.
    tables, rows = [table] * len(order), [here] * len(order)
    depth = last
    while depth >= 0:
        position = order[depth]
        level, entered = levels[position], None
        if level + 1 < lattice.shape[position]:
            levels[position] += 1
            raised = _with_loss(roll_up, rows[depth], position, level)
            entered = visitor.enter(node + lattice.strides[position], levels, raised)
        if entered is None:
            node -= (level - lowest[position]) * lattice.strides[position]
            levels[position] = lowest[position]
            depth -= 1
            continue
        node += lattice.strides[position]
        follow = len(entered.rows) > 0
        table, inverse = roll_up.up(tables[depth], position, level, follow=follow)
        if follow:
            entered = Followed(entered.rows, inverse[entered.group_of], entered.loss)
        visitor.visit(node, levels, table, entered)
        shown += 1
        tables[depth:] = [table] * (last + 1 - depth)
        rows[depth:] = [entered] * (last + 1 - depth)
        depth = last
    return shown


def _with_loss(roll_up: RollUp, followed: Followed, position: int, level: int) -> Followed:
    """Return followed rows with the losses after one attribute is raised by one level."""
    if not len(followed.rows):
        return followed
    losses = roll_up.lattice.losses[position]
    added = losses[level + 1] - losses[level]
    codes = roll_up.lattice.codes[followed.rows, position]
    return Followed(followed.rows, followed.group_of, followed.loss + added[codes])
