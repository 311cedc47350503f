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
that some node of the box may keep. A walk goes through the parts depth first and keeps the groups of the boxes on its
way, because finding the groups of a box anew takes as long as several splits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.core.numerics import compiled
from reidsim.games.full_domain.class_table import Ints
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.releases.lattice import Floats

# Number of group sizes with a penalty of their own; all larger sizes have the penalty of a very large group.
_SIZES = 2**14
_VERY_LARGE = 1e15
# Groups that a class is divided into at a time, so that counts of all groups of all classes fit into the cache.
_FAN = 16


class BoxedRows(NamedTuple):
    """Rows of a table, with all that bounds of boxes depend on.

    Attributes
    ----------
    group : ndarray of int32, shape (n_attributes, n_levels, n_rows)
        Group of each row at each level of each attribute.
    digit : ndarray of uint8, shape (n_attributes, n_levels, n_digits, n_rows)
        Position of this group among the groups that the next level merges (at the highest level, among all groups), as
        digits to base 16.
    fan : ndarray of uint32, shape (n_attributes, n_levels, n_digits)
        Number of values of each digit.
    n_levels : ndarray of int64, shape (n_attributes,)
        Number of levels of each attribute.
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
    digit: NDArray[np.uint8]
    fan: NDArray[np.uint32]
    n_levels: Ints
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
    among = np.zeros_like(group)
    penalty = np.zeros(1)
    if game.by_class:
        roll_up, table, _ = game.finest
        fields = [roll_up.field(position, 0) for position in range(n_attributes)]
        group = np.zeros((*lost.shape, len(table.keys)), dtype=np.int32)
        among = np.zeros_like(group)
        least = np.full((n_attributes, n_levels, n_levels, max(field.parents.shape[1] for field in fields)), np.inf)
        for position, field in enumerate(fields):
            for high, parents in enumerate(field.parents):
                group[position, high] = parents[(table.keys >> field.shift) & field.mask]
                for low, loss in enumerate(field.added_loss[: high + 1]):
                    np.minimum.at(least[position, low, high], parents, loss)
            for level, parents in enumerate([*field.parents[1:], np.zeros_like(field.parents[0])]):
                first = np.full(parents.max() + 1, len(parents))
                np.minimum.at(first, parents, field.parents[level])
                of_value = field.parents[level] - first[parents]
                among[position, level] = of_value[(table.keys >> field.shift) & field.mask]
        counts = np.array([table.released] if game.population is None else [table.released, table.people], np.float64)
        penalty = np.minimum.accumulate(game.penalties(np.append(np.arange(_SIZES).clip(min=1.0), _VERY_LARGE)))
    benefit = game.best_case / max(game.n_records, 1)
    n_digits = 1
    while _FAN**n_digits <= among.max():
        n_digits += 1
    digit = np.stack([among // _FAN**place % _FAN for place in range(n_digits)], axis=2).astype(np.uint8)
    fan = digit.max(axis=3, initial=0).astype(np.uint32) + 1
    shape, most = np.array(game.lattice.shape), game.most_suppressed
    return BoxedRows(group, digit, fan, shape, least, lost, counts, benefit, game.best_case, penalty, most)


class _Classes(NamedTuple):
    """The classes of some boxes, each of which is part of the one before: arrays by depth, then by row or class.

    Attributes
    ----------
    row, class_of : ndarray of uint32, shape (n_depths, n_rows)
        Rows that some node of the box may keep, and their classes.
    member : ndarray of uint32, shape (n_depths, n_rows + 1)
        One row of each class.
    counts : ndarray of float64, shape (n_depths, 2, n_rows)
        Number of records, and of people, of each class.
    loss : ndarray of float64, shape (n_depths, n_rows)
        Least information loss of each class; infinite for a class that every node of the box suppresses.
    n_rows, n_classes : ndarray of int64, shape (n_depths,)
        Lengths of these arrays.
    dropped, suppressed : ndarray of float64, shape (n_depths,)
        Number of records of rows left out, and of all records that every node of the box suppresses.
    parts : ndarray of float64, shape (n_counts, n_parts)
        Counts of the parts into which classes are divided.
    number : ndarray of uint32, shape (n_parts,)
        Number of the class that each part becomes.
    loss_before : ndarray of float64, shape (n_rows,)
        Losses of the classes that are divided.
    """

    row: NDArray[np.uint32]
    class_of: NDArray[np.uint32]
    member: NDArray[np.uint32]
    counts: Floats
    loss: Floats
    n_rows: Ints
    n_classes: Ints
    dropped: Floats
    suppressed: Floats
    parts: Floats
    number: NDArray[np.uint32]
    loss_before: Floats


@compiled()
def _classes(rows: BoxedRows, depths: int) -> _Classes:
    """Return room for classes, with all rows in one class at the first depth."""
    n_counts, n = rows.counts.shape
    row, class_of = np.empty((depths, n), np.uint32), np.empty((depths, n), np.uint32)
    counts, loss, member = np.empty((depths, 2, n + 1)), np.empty((depths, n + 1)), np.zeros((depths, n + 1), np.uint32)
    row[0], class_of[0], loss[0, 0] = np.arange(n), 0, 0.0
    n_rows, n_classes = np.full(depths, n), np.ones(depths, np.int64)
    dropped, suppressed = np.zeros(depths), np.zeros(depths)
    parts, number, loss_before = np.empty((n_counts, n * _FAN)), np.empty(n * _FAN, np.uint32), np.empty(n)
    return _Classes(
        row, class_of, member, counts, loss, n_rows, n_classes, dropped, suppressed, parts, number, loss_before
    )


@compiled()
def _divide(rows: BoxedRows, classes: _Classes, depth: int, to: int, digit: NDArray[np.uint8], fan: np.uint32) -> None:
    """Divide the classes at a depth by a digit of their rows; write the parts at depth `to`, which may be the same.

    A part has the loss of its class. Rows of classes that every node suppresses are left out, and rows without records.
    """
    row, class_of, n_rows = classes.row[depth], classes.class_of[depth], classes.n_rows[depth]
    n_before, none = classes.n_classes[depth], np.uint32(len(classes.loss_before))
    for which in range(len(rows.counts)):
        part, of_row = classes.parts[which], rows.counts[which]
        part[: n_before * fan] = 0.0
        for i in range(n_rows):
            part[class_of[i] * fan + digit[row[i]]] += of_row[row[i]]
    released, people, number = classes.parts[0], classes.parts[-1], classes.number
    new_counts, loss, before = classes.counts[to], classes.loss[to], classes.loss_before
    before[:n_before] = classes.loss[depth, :n_before]
    found = np.uint32(0)
    for own in range(n_before):
        for at in range(own * fan, own * fan + fan):
            # Without branches, which are hard to predict for the processor.
            kept = (released[at] > 0) & (before[own] < np.inf)
            number[at] = found if kept else none
            loss[found], new_counts[0, found], new_counts[1, found] = before[own], released[at], people[at]
            found += np.uint32(kept)
    new_row, new_class, member, n = classes.row[to], classes.class_of[to], classes.member[to], 0
    for i in range(n_rows):
        at = row[i]
        own = number[class_of[i] * fan + digit[at]]
        new_row[n], new_class[n], member[own] = at, own, at
        n += own != none
    classes.n_rows[to], classes.n_classes[to] = n, found


@compiled()
def _refine(rows: BoxedRows, classes: _Classes, depth: int, to: int, position: int, high: int, cut: int) -> None:
    """Divide the classes at a depth as an attribute falls from level `high` to `cut`; write the parts at depth `to`."""
    source, classes.dropped[to] = depth, classes.suppressed[depth]
    for level in range(high - 1, cut - 1, -1):
        for place in range(rows.fan.shape[2]):
            fan = rows.fan[position, level, place]
            if fan > 1 or (source != to and level == cut and place == 0):
                _divide(rows, classes, source, to, rows.digit[position, level, place], fan)
                source = to
    classes.suppressed[to] = classes.dropped[to]


@compiled()
def _exchange(
    classes: _Classes,
    depth: int,
    group_before: NDArray[np.int32],
    loss_before: Floats,
    group: NDArray[np.int32],
    loss: Floats,
) -> None:
    """Replace the loss of each class at a depth in one attribute: the losses of its groups before and now."""
    losses, member = classes.loss[depth], classes.member[depth]
    for number in range(classes.n_classes[depth]):
        at = member[number]
        losses[number] += loss[group[at]] - loss_before[group_before[at]]


@compiled()
def _bound(
    rows: BoxedRows, classes: _Classes, depth: int, low: NDArray[np.int16], high: NDArray[np.int16]
) -> tuple[float, float]:
    """Return the bound of the box at a depth and an estimate of the payout of its highest node.

    Classes that all nodes suppress are marked. The estimate assumes that all records lose as much benefit between the
    lowest and the highest node; it is -inf if too many records are suppressed.
    """
    payout, suppressed, largest = 0.0, classes.dropped[depth], len(rows.penalty) - 1
    counts, losses, penalty, benefit = classes.counts[depth], classes.loss[depth], rows.penalty, rows.benefit
    worth, lost = rows.best_case, 0.0
    for at in range(len(low)):
        worth -= rows.lost[at, low[at]]
        lost += rows.lost[at, high[at]] - rows.lost[at, low[at]]
    lost *= benefit / max(rows.best_case, 1e-300)
    least, estimate, suppressed_at_high = -1e-9 * benefit, 0.0, suppressed
    for number in range(classes.n_classes[depth]):
        released, size = counts[0, number], counts[1, number]
        pays = benefit * (1.0 - losses[number]) - penalty[int(np.ceil(min(size, largest)))]
        none = pays < least
        losses[number] = np.inf if none else losses[number]
        suppressed += released if none else 0.0
        payout += max(pays, 0.0) * released
        suppressed_at_high += released if pays - lost < least else 0.0
        estimate += max(pays - lost, 0.0) * released
    classes.suppressed[depth] = suppressed
    bound = -np.inf if suppressed > rows.most_suppressed else min(payout, worth)
    return bound, -np.inf if suppressed_at_high > rows.most_suppressed else estimate


@compiled()
def _build(rows: BoxedRows, classes: _Classes, low: NDArray[np.int16], high: NDArray[np.int16]) -> None:
    """Write the classes of a box at depth 1; depth 0 has all rows in one class."""
    source = 0
    for at in range(len(high)):
        _refine(rows, classes, source, 1, at, rows.n_levels[at], high[at])
        source = 1
    zero = np.zeros(rows.group.shape[2], np.int32)
    for at in range(len(high)):
        _exchange(classes, 1, zero, np.zeros(1), rows.group[at, high[at]], rows.least_loss[at, low[at], high[at]])


@compiled()
def bounds_of(rows: BoxedRows, low: NDArray[np.int16], high: NDArray[np.int16]) -> Floats:
    """Return the upper bound of the payout of the nodes of some boxes, shape (n_boxes,).

    `low` and `high`, shape (n_boxes, n_attributes), are the levels of the lowest and of the highest node of each box.
    The bound is -inf if no node of the box is within the suppression limit.
    """
    classes, bounds = _classes(rows, 2), np.empty(len(low))
    for box in range(len(low)):
        _build(rows, classes, low[box], high[box])
        bounds[box], _ = _bound(rows, classes, 1, low[box], high[box])
    return bounds


@compiled()
def parts_below(
    rows: BoxedRows, here: NDArray[np.int16], lowest: NDArray[np.int16]
) -> tuple[NDArray[np.int16], Floats]:
    """Return the nodes one level below a node in one attribute, shape (n_nodes, n_attributes), and their bounds.

    `here` and `lowest` are the levels of the node and the lowest levels allowed. See `bounds_of` for the bounds.
    """
    classes, below = _classes(rows, 3), np.flatnonzero(here > lowest)
    nodes, bounds = np.empty((len(below), len(here)), np.int16), np.empty(len(below))
    _build(rows, classes, here, here)
    for number, at in enumerate(below):
        level = int(here[at])
        nodes[number] = here
        nodes[number, at] = level - 1
        _refine(rows, classes, 1, 2, int(at), level, level - 1)
        group, least_loss = rows.group[at], rows.least_loss[at]
        _exchange(
            classes, 2, group[level], least_loss[level, level], group[level - 1], least_loss[level - 1, level - 1]
        )
        bounds[number], _ = _bound(rows, classes, 2, nodes[number], nodes[number])
    return nodes, bounds


@compiled()
def _widest(rows: BoxedRows, low: NDArray[np.int16], high: NDArray[np.int16]) -> int:
    """Return the attribute to split: the one whose upper part loses most benefit; -1 if the box has a single node."""
    widest, at = -1.0, -1
    for position in range(len(low)):
        above = (low[position] + high[position]) // 2 + 1
        if low[position] < high[position] and rows.lost[position, above] - rows.lost[position, low[position]] > widest:
            widest, at = rows.lost[position, above] - rows.lost[position, low[position]], position
    return at


class BoxWalk(NamedTuple):
    """A walk through boxes, depth first: the box of each depth is still to be searched.

    Attributes
    ----------
    low, high : ndarray of int16, shape (n_depths, n_attributes)
        Levels of the lowest and of the highest node of each box.
    bound : ndarray of float64, shape (n_depths,)
        Upper bound of the payout of its nodes within the suppression limit; -inf if no node is within it.
    depth : ndarray of int64, shape (1,)
        Depth of the box that comes next; -1 at the end of the walk.
    classes : _Classes
        Classes of each box, one depth further.
    """

    low: NDArray[np.int16]
    high: NDArray[np.int16]
    bound: Floats
    depth: Ints
    classes: _Classes


@compiled()
def box_walk(rows: BoxedRows) -> BoxWalk:
    """Return room for a walk; it is at its end."""
    depths, n_attributes = rows.n_levels.sum() + 1, len(rows.n_levels)
    low, high = np.empty((depths, n_attributes), np.int16), np.empty((depths, n_attributes), np.int16)
    return BoxWalk(low, high, np.empty(depths), np.full(1, -1), _classes(rows, depths + 1))


@compiled()
def begin_walk(rows: BoxedRows, walk: BoxWalk, low: NDArray[np.int16], high: NDArray[np.int16]) -> None:
    """Let a walk begin with a box, given the levels of its lowest and of its highest node."""
    walk.low[0], walk.high[0], walk.depth[0] = low, high, 0
    _build(rows, walk.classes, low, high)
    walk.bound[0], _ = _bound(rows, walk.classes, 1, low, high)


@compiled()
def split_boxes(
    rows: BoxedRows, walk: BoxWalk, target: float, best: tuple[float, float, int, int], most: int
) -> tuple[NDArray[np.int16], Floats, int, float]:
    """Split boxes, and their parts, until their bounds are at most `target`.

    Parameters
    ----------
    rows : BoxedRows
    walk : BoxWalk
        The walk, which goes on until its end or until `most` splits have been made.
    target : float
        Boxes with a higher bound are split.
    best : tuple
        Payout of the best node found, the tie tolerance, the sum of its levels and its number. Boxes that cannot hold
        a better node are left out, see `Incumbent.is_beaten_at`.
    most : int
        Largest number of splits.

    Returns
    -------
    nodes : ndarray of int16, shape (1 + n_nodes, n_attributes)
        Levels of the most promising highest node of a box, and of the nodes that are left as boxes of a single node
        with a bound above `target`.
    bounds : ndarray of float64, shape (1 + n_nodes,)
        An estimate of the payout of the first node (-inf without splits), and the bounds of the others.
    n_splits : int
        Number of splits.
    highest : float
        Highest bound of the boxes with a bound of at most `target`; -inf without such boxes.
    """
    payout, tie, best_height, best_node = best
    nodes, bounds, n_nodes = np.zeros((2 * most + 2, len(rows.n_levels)), np.int16), np.empty(2 * most + 2), 1
    bounds[0] = -np.inf
    classes, depth, n_splits, highest = walk.classes, walk.depth[0], 0, -np.inf
    while depth >= 0 and n_splits < most:
        low, high, bound = walk.low[depth], walk.high[depth], walk.bound[depth]
        height, node, at = 0, 0, _widest(rows, low, high)
        for position in range(len(low)):
            height += low[position]
            node = node * rows.n_levels[position] + low[position]
        first = height < best_height or (height == best_height and node < best_node)
        wins = bound - payout > tie or (first and bound - payout >= -tie)
        if not wins or bound <= target or at < 0:
            if wins and bound <= target:
                highest = max(highest, bound)
            elif wins:
                nodes[n_nodes], bounds[n_nodes] = low, bound
                n_nodes += 1
            depth -= 1
            continue
        n_splits += 1
        here, cut, below = depth + 1, (low[at] + high[at]) // 2, depth + 1
        walk.low[below], walk.high[below] = low, high
        walk.high[below, at] = cut
        _refine(rows, classes, here, here + 1, at, high[at], cut)
        # Both parts replace the loss of the attribute in the box by their own.
        group, least_loss = rows.group[at, high[at]], rows.least_loss[at]
        before = least_loss[low[at], high[at]]
        _exchange(classes, here + 1, group, before, rows.group[at, cut], least_loss[low[at], cut])
        _exchange(classes, here, group, before, group, least_loss[cut + 1, high[at]])
        low[at] = cut + 1
        of_below, estimate = _bound(rows, classes, here + 1, walk.low[below], walk.high[below])
        of_above, _ = _bound(rows, classes, here, low, high)
        walk.bound[below], walk.bound[depth] = min(bound, of_below), min(bound, of_above)
        if estimate > bounds[0]:
            nodes[0], bounds[0] = walk.high[below], estimate
        depth = below
    walk.depth[0] = depth
    return nodes[:n_nodes], bounds[:n_nodes], n_splits, highest
