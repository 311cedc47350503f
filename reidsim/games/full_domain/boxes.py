"""Boxes of nodes, and upper bounds on the payouts of their nodes.

A box holds all nodes between a low and a high node, attribute by attribute. At every node of a box, a record loses at
least as much information as at the low node, and its group is part of its group at the high node. The payoff of a
record falls with its information loss and rises with the size of its group. So no node of the box pays more for a
record than the record would earn with the loss at the low node and the group at the high node, or 0 if that is higher,
because the record may be suppressed. The sum over the records bounds the payout of every node of the box. A record that
would be suppressed even with this loss and this group is suppressed at every node of the box. For a box of a single
node, the bound is the payout.

A split divides a box at a level of one attribute. The part above has the same groups and a higher loss. The part below
has the same loss, and its groups are found by dividing the groups of the box. So a part costs one pass over the rows
that some node of the box may keep.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import compiled
from reidsim.games.full_domain.class_table import Ints
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.releases.lattice import Floats

# Number of group sizes with a penalty of their own; all larger sizes have the penalty of a very large group.
_SIZES = 2**14
_VERY_LARGE = 1e15
# A multiplier that spreads keys over the slots of a hash table (Knuth 1973, section 6.4).
_SPREAD = 0x9E3779B97F4A7C1


class Boxes(NamedTuple):
    """Some boxes.

    Attributes
    ----------
    low, high : ndarray of int16, shape (n_boxes, n_attributes)
        Levels of the lowest and of the highest node.
    bound : ndarray of float64, shape (n_boxes,)
        Upper bound of the payout of the nodes within the suppression limit; -inf if no node is within it.
    """

    low: NDArray[np.int16]
    high: NDArray[np.int16]
    bound: Floats

    def part(self, which: NDArray[Any]) -> Boxes:
        """Return the boxes at some positions, or where a mask is true."""
        return Boxes(self.low[which], self.high[which], self.bound[which])

    def together(self, others: Boxes) -> Boxes:
        """Return these boxes, followed by others."""
        low, high = np.concatenate([self.low, others.low]), np.concatenate([self.high, others.high])
        return Boxes(low, high, np.concatenate([self.bound, others.bound]))


class BoxedRows(NamedTuple):
    """Rows of a table, with all that bounds of boxes depend on.

    Attributes
    ----------
    group : ndarray of int32, shape (n_attributes, n_levels, n_rows)
        Group of each row at each level of each attribute.
    least_loss : ndarray of float64, shape (n_attributes, n_levels, n_levels, n_groups)
        For an attribute, a level and an equal or higher level: of the values in each group of the higher level, the
        least information loss at the first level.
    lost : ndarray of float64, shape (n_attributes, n_levels)
        Benefit that all records together lose at each level of each attribute, in currency units.
    counts : ndarray of float64, shape (n_counts, n_rows)
        Number of records of each row, and number of people of each row; once, if these are equal.
    benefit, best_case : float
        Benefit of one record and of all records without generalization, in currency units.
    penalty : ndarray of float64, shape (n_sizes,)
        Least amount by which the payoff of a record in a group of at most 0, 1, ... people falls below its benefit, in
        currency units; infinite if it is suppressed. The last one holds for all larger groups.
    most_suppressed : int
        Largest number of records that a node within the suppression limit suppresses.
    """

    group: NDArray[np.int32]
    least_loss: Floats
    lost: Floats
    counts: Floats
    benefit: float
    best_case: float
    penalty: Floats
    most_suppressed: int


def boxed_rows(game: FullDomainGame) -> BoxedRows:
    """Return the rows of a game for the bounds of boxes.

    They are its ungeneralized classes. If records of a class may differ in outcome, the bounds are only the benefit at
    the low node, and a single row stands for all records.
    """
    lost = np.full((len(game.lattice.shape), max(game.lattice.shape)), np.inf)
    for position, of_levels in enumerate(game.lost_benefit):
        lost[position, : len(of_levels)] = of_levels
    n_attributes, n_levels = lost.shape
    counts = np.array([[float(game.n_records)]])
    group, least = np.zeros((*lost.shape, 1), np.int32), np.zeros((n_attributes, n_levels, n_levels, 1))
    penalty = np.zeros(1)
    if game.by_class:
        roll_up, table, _ = game.finest
        fields = [roll_up.field(position, 0) for position in range(n_attributes)]
        group = np.zeros((*lost.shape, len(table.keys)), dtype=np.int32)
        least = np.full((n_attributes, n_levels, n_levels, max(field.parents.shape[1] for field in fields)), np.inf)
        for position, field in enumerate(fields):
            for high, parents in enumerate(field.parents):
                group[position, high] = parents[(table.keys >> field.shift) & field.mask]
                for low, loss in enumerate(field.added_loss[: high + 1]):
                    np.minimum.at(least[position, low, high], parents, loss)
        counts = np.array([table.released] if game.population is None else [table.released, table.people], np.float64)
        penalty = np.minimum.accumulate(game.penalties(np.append(np.arange(_SIZES).clip(min=1.0), _VERY_LARGE)))
    benefit = game.best_case / max(game.n_records, 1)
    return BoxedRows(group, least, lost, counts, benefit, game.best_case, penalty, game.most_suppressed)


class _Path(NamedTuple):
    """The classes of the boxes on one path of refinements: arrays by depth, then by row or class.

    Attributes
    ----------
    row, class_of : ndarray of int32, shape (n_depths, n_rows)
        Rows that some node of the box may keep, and their classes.
    first : ndarray of int32, shape (n_depths, n_rows)
        One row of each class.
    counts : ndarray of float64, shape (n_depths, n_counts, n_rows)
        Number of records, and of people, of each class; see `BoxedRows`.
    loss : ndarray of float64, shape (n_depths, n_rows)
        Least information loss of each class; infinite for a class that every node of the box suppresses.
    n_rows, n_classes : ndarray of int64, shape (n_depths,)
        Lengths of these arrays.
    dropped, suppressed : ndarray of float64, shape (n_depths,)
        Number of records of rows left out, and of all records that every node of the box suppresses.
    slots, keys : ndarray of int32, shape (n_slots,), and of int64, shape (n_rows,)
        Hash table of the classes at one depth, and their keys in it.
    """

    row: NDArray[np.int32]
    class_of: NDArray[np.int32]
    first: NDArray[np.int32]
    counts: Floats
    loss: Floats
    n_rows: Ints
    n_classes: Ints
    dropped: Floats
    suppressed: Floats
    slots: NDArray[np.int32]
    keys: Ints


@compiled()
def _path(rows: BoxedRows, depths: int) -> _Path:
    """Return a path at whose first depth all rows are in one class."""
    n_counts, n = rows.counts.shape
    size, n_slots = (depths, n), 2
    while n_slots < 2 * n:
        n_slots *= 2
    row, class_of, first = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    counts, loss = np.empty((depths, n_counts, n)), np.empty(size)
    row[0], class_of[0], loss[0, 0] = np.arange(n), 0, 0.0
    n_rows, n_classes = np.full(depths, n), np.ones(depths, np.int64)
    dropped, suppressed = np.zeros(depths), np.zeros(depths)
    slots, keys = np.empty(n_slots, np.int32), np.empty(n, np.int64)
    return _Path(row, class_of, first, counts, loss, n_rows, n_classes, dropped, suppressed, slots, keys)


@compiled()
def _refine(rows: BoxedRows, path: _Path, depth: int, to: int, group: NDArray[np.int32]) -> None:
    """Divide the classes at a depth by the groups of their rows; write the parts at depth `to`.

    A part has the loss of its class. Rows of classes that every node suppresses are left out.
    """
    row, class_of, loss = path.row[depth], path.class_of[depth], path.loss[depth]
    new_row, new_class, first = path.row[to], path.class_of[to], path.first[to]
    slots, keys, n_groups = path.slots, path.keys, rows.least_loss.shape[3]
    mask, n, found = np.int64(len(slots) - 1), 0, 0
    slots[:] = -1
    for i in range(path.n_rows[depth]):
        own, at = np.int64(class_of[i]), np.int64(row[i])
        if loss[own] == np.inf:
            continue
        key = own * n_groups + group[at]
        slot = (key * _SPREAD >> 20) & mask
        number = np.int64(slots[slot])
        while number >= 0 and keys[number] != key:
            slot = (slot + 1) & mask
            number = np.int64(slots[slot])
        if number < 0:
            number = np.int64(found)
            slots[slot], keys[found], first[found] = found, key, at
            found += 1
        new_row[n], new_class[n] = at, number
        n += 1
    # Sums in loops of their own: in the loop above, each would wait for the sum before.
    for which in range(len(rows.counts)):
        sums, of_row = path.counts[to, which], rows.counts[which]
        sums[:found] = 0.0
        for i in range(n):
            sums[new_class[i]] += of_row[new_row[i]]
    for which in range(found):
        path.loss[to, which] = loss[keys[which] // n_groups]
    path.n_rows[to], path.n_classes[to] = n, found
    path.dropped[to] = path.suppressed[to] = path.suppressed[depth]


@compiled()
def _add_loss(path: _Path, depth: int, group: NDArray[np.int32], of_group: Floats, sign: float) -> None:
    """Add to the loss of each class at a depth, or subtract, the loss of the group of its rows in an attribute."""
    for number in range(path.n_classes[depth]):
        path.loss[depth, number] += sign * of_group[group[path.first[depth, number]]]


@compiled()
def _bound(rows: BoxedRows, path: _Path, depth: int, low: NDArray[np.int16]) -> float:
    """Return the bound of the box at a depth, with the low node `low`, and mark classes that all nodes suppress."""
    payout, suppressed, largest = 0.0, path.dropped[depth], len(rows.penalty) - 1
    for number in range(path.n_classes[depth]):
        released, size, loss = path.counts[depth, 0, number], path.counts[depth, -1, number], path.loss[depth, number]
        penalty = rows.penalty[int(np.ceil(size)) if size < largest else largest]
        if loss == np.inf or rows.benefit * (1.0 - loss) - penalty < -1e-9 * rows.benefit:
            path.loss[depth, number] = np.inf
            suppressed += released
        else:
            payout += max(rows.benefit * (1.0 - loss) - penalty, 0.0) * released
    path.suppressed[depth] = suppressed
    worth = rows.best_case
    for at in range(len(low)):
        worth -= rows.lost[at, low[at]]
    return -np.inf if suppressed > rows.most_suppressed else min(payout, worth)


@compiled()
def _widest(rows: BoxedRows, low: NDArray[np.int16], high: NDArray[np.int16]) -> int:
    """Return the attribute whose levels in a box differ most in benefit lost; -1 if the box has a single node."""
    widest, at = -1.0, -1
    for position in range(len(low)):
        width = rows.lost[position, high[position]] - rows.lost[position, low[position]]
        if low[position] < high[position] and width > widest:
            widest, at = width, position
    return at


@compiled()
def _build(rows: BoxedRows, path: _Path, low: NDArray[np.int16], high: NDArray[np.int16], shared: int) -> None:
    """Write the classes of a box at the depth that follows its attributes, given those by `shared` attributes."""
    top = len(high)
    for at in range(shared, top):
        _refine(rows, path, at, at + 1, rows.group[at, high[at]])
    for at in range(top):
        _add_loss(path, top, rows.group[at, high[at]], rows.least_loss[at, low[at], high[at]], 1.0)


@compiled()
def _room(n: int, n_attributes: int) -> Boxes:
    return Boxes(np.empty((n, n_attributes), np.int16), np.empty((n, n_attributes), np.int16), np.empty(n))


@compiled()
def split_boxes(rows: BoxedRows, boxes: Boxes, target: float, least: float, most: int) -> tuple[Boxes, int]:
    """Split boxes, and their parts, until the bounds are at most `target`.

    Parameters
    ----------
    rows : BoxedRows
    boxes : Boxes
        Boxes with equal levels of the first attributes should follow each other: their classes are shared.
    target : float
        Boxes with a higher bound are split, unless they have a single node.
    least : float
        Boxes with a lower bound are left out of the result.
    most : int
        Largest number of splits.

    Returns
    -------
    Boxes
        The boxes left; their bounds are higher than `target` for single nodes or after `most` splits.
    int
        Number of splits.
    """
    (n_boxes, n_attributes), n_levels = boxes.low.shape, rows.group.shape[1]
    # Depth d < `top` of the path has the classes by the first d attributes of a box of `boxes`, depth `top` all of its
    # classes, and greater depths those of its parts.
    top, n_parts = n_attributes, n_attributes * n_levels + 1
    path = _path(rows, top + n_parts)
    parts, found = _room(n_parts, n_attributes), _room(n_boxes + most, n_attributes)
    n_found = n_splits = n_built = 0
    for box in range(n_boxes):
        parts.low[0], parts.high[0], parts.bound[0] = boxes.low[box], boxes.high[box], boxes.bound[box]
        if n_splits < most:
            shared = 0
            while shared < n_built and boxes.high[box, shared] == boxes.high[box - 1, shared]:
                shared += 1
            _build(rows, path, boxes.low[box], boxes.high[box], shared)
            n_built = n_attributes - 1
            parts.bound[0] = min(parts.bound[0], _bound(rows, path, top, parts.low[0]))
        depth = 0
        while depth >= 0:
            low, high, bound = parts.low[depth], parts.high[depth], parts.bound[depth]
            at = _widest(rows, low, high)
            if bound <= target or at < 0 or n_splits == most:
                if bound >= least:
                    found.low[n_found], found.high[n_found], found.bound[n_found] = low, high, bound
                    n_found += 1
                depth -= 1
                continue
            n_splits += 1
            here, cut, below = top + depth, (low[at] + high[at]) // 2, depth + 1
            parts.low[below], parts.high[below] = low, high
            parts.high[below, at] = cut
            _refine(rows, path, here, here + 1, rows.group[at, cut])
            # Both parts replace the loss of the attribute in the box by their own.
            group, least_loss = rows.group[at, high[at]], rows.least_loss[at]
            _add_loss(path, here + 1, group, least_loss[low[at], high[at]], -1.0)
            _add_loss(path, here + 1, rows.group[at, cut], least_loss[low[at], cut], 1.0)
            _add_loss(path, here, group, least_loss[low[at], high[at]], -1.0)
            _add_loss(path, here, group, least_loss[cut + 1, high[at]], 1.0)
            low[at] = cut + 1
            parts.bound[below] = min(bound, _bound(rows, path, here + 1, parts.low[below]))
            parts.bound[depth] = min(bound, _bound(rows, path, here, low))
            depth = below
    return Boxes(found.low[:n_found], found.high[:n_found], found.bound[:n_found]), n_splits
