"""Walking the whole lattice so that each node's classes come from those of a node just below it.

Every node is reached once, by raising attributes one after the other: the last attribute runs through its levels
fastest. A node's table is rolled up from that of the node with its last raised attribute one level lower, and at any
time only the tables on the way to the current node are held. All nodes reached from a node generalize it, so whatever
bounds the payout of a node and of everything above it in generalization closes the whole branch.
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
    """Rows whose classes are followed through the lattice; arrays of one shape.

    Parameters
    ----------
    rows : ndarray of int
        Which rows these are.
    group_of : ndarray of int32
        The class of each.
    loss : ndarray of float64
        Information loss of each.
    """

    rows: Rows
    group_of: NDArray[np.int32]
    loss: Floats

    def take(self, keep: NDArray[np.bool_]) -> Followed:
        """Return some of the rows."""
        return Followed(self.rows[keep], self.group_of[keep], self.loss[keep])


NOBODY = Followed(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int32), np.empty(0))


class Visitor(Protocol):
    """Looks at nodes and says which branches to leave out."""

    def enter(self, node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        """Return the rows to follow into `node` and what is reached from it; None closes that branch.

        `followed` has the losses of `node` and the classes of the node before it.
        """
        ...

    def visit(self, node: int, levels: Sequence[int], table: ClassTable, followed: Followed) -> None:
        """Look at a node."""
        ...


def walk(
    roll_up: RollUp,
    finest: ClassTable,
    visitor: Visitor,
    *,
    followed: Followed = NOBODY,
    start: tuple[int, ...] | None = None,
) -> int:
    """Show a visitor every node of the lattice but those in branches that it closes.

    Parameters
    ----------
    roll_up : RollUp
    finest : ClassTable
        Of ungeneralized rows.
    visitor : Visitor
    followed : Followed
        Rows to follow, with their finest classes; they are cells of ``roll_up.lattice``.
    start : tuple of int, optional
        Lowest level of each attribute.

    Returns
    -------
    int
        Number of nodes shown.
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
    # What holds while attributes up to each depth are at their level and those after them at their lowest. An entry
    # left behind at a greater depth is replaced as soon as an attribute before it is raised.
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
    """Return followed rows with their losses once an attribute is one level up."""
    if not len(followed.rows):
        return followed
    losses = roll_up.lattice.losses[position]
    added = losses[level + 1] - losses[level]
    codes = roll_up.lattice.codes[followed.rows, position]
    return Followed(followed.rows, followed.group_of, followed.loss + added[codes])
