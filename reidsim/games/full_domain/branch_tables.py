"""The classes of a branch: those in the first attributes, at each level of the last of them, and those within it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.games.full_domain.class_table import ClassTable, RollUp, part, room
from reidsim.releases.strategy_space import Floats

# Bits of a key that are put in order at once: that many places to count in fit into the first cache.
_DIGIT = 11


class _Attribute(NamedTuple):
    """An attribute as compiled functions read it.

    Attributes
    ----------
    shift, field : int
        See `RollUp.field`.
    parents : ndarray of int64, shape (n_steps, n_groups)
        The group that each of the lowest level falls in, so many levels up.
    added_loss : ndarray of float64, shape (n_steps, n_groups)
        Information loss that this adds.
    """

    shift: int
    field: int
    parents: NDArray[np.int64]
    added_loss: Floats


class BranchTables:
    """Makes the tables of branches in which the first attributes of `RollUp.order` have their levels.

    Parameters
    ----------
    roll_up : RollUp
    lowest : sequence of int
        Levels of the attributes that have none yet.
    """

    def __init__(self, roll_up: RollUp, lowest: Sequence[int]) -> None:
        self._attributes = [_attribute(roll_up, position, lowest[position]) for position in roll_up.order]

    def levels(self, table: ClassTable, depth: int) -> tuple[ClassTable, NDArray[np.int64]]:
        """Merge classes that agree in the attributes up to a depth, at each level of the last of them.

        Parameters
        ----------
        table : ClassTable
            With this and all later attributes at their lowest levels.
        depth : int

        Returns
        -------
        ClassTable
            The classes at each level, one after the other; the loss of each is the least of what is merged.
        ndarray of int64, shape (n_levels + 1,)
            Where those of each level begin, and their end.
        """
        return _levels(table, self._attributes[depth])

    def within(self, table: ClassTable, depth: int, step: int, kept: NDArray[np.bool_]) -> tuple[ClassTable, int]:
        """Merge the classes of a branch as an attribute goes some levels up, leaving out some.

        Parameters
        ----------
        table : ClassTable
            With this and all later attributes at their lowest levels.
        depth, step : int
        kept : ndarray of bool
            Which classes in the attributes up to this one, at that level, are not left out.

        Returns
        -------
        ClassTable
        int
            Records left out.
        """
        return _within(table, self._attributes[depth], step, kept)


def _attribute(roll_up: RollUp, position: int, lowest: int) -> _Attribute:
    n_groups = len(np.unique(roll_up.parents[position][lowest - 1])) if lowest else roll_up.n_seen[position]
    parents, added_loss = [np.arange(n_groups)], [np.zeros(n_groups)]
    steps = zip(roll_up.parents[position][lowest:], roll_up.added_loss[position][lowest:], strict=True)
    for parent, added in steps:
        added_loss.append(added_loss[-1] + added[parents[-1]])
        parents.append(parent[parents[-1]])
    return _Attribute(*roll_up.field(position), np.array(parents), np.array(added_loss))


@numba.njit(cache=True)
def _levels(table: ClassTable, attribute: _Attribute) -> tuple[ClassTable, NDArray[np.int64]]:
    shift, field, parents, added_loss = attribute
    last, n = -1, 0
    for key in table.keys:
        n += key >> shift != last
        last = key >> shift
    merged = room(n * len(parents))
    starts = np.zeros(len(parents) + 1, dtype=np.int64)
    starts[1] = n
    _project(table, shift, merged)
    for step in range(1, len(parents)):
        # Groups of one parent stand side by side, so that merged classes do, too.
        starts[step + 1] = _merged(
            part(merged, 0, n), shift, field, parents[step], added_loss[step], merged, starts[step]
        )
    return part(merged, 0, starts[-1]), starts


@numba.njit(cache=True)
def _project(table: ClassTable, shift: int, merged: ClassTable) -> None:
    """Clear the lower bits of each key and add up what falls together, with the least loss."""
    keys, released, people, loss = table
    merged_keys, merged_released, merged_people, merged_loss = merged
    # One pass without branches, as it is hard to foresee whether a class begins at a row.
    last, found, count, size, least = -1, -1, 0, 0.0, 0.0
    for i in range(len(keys)):
        key = keys[i] >> shift << shift
        begins = key != last
        found += begins
        count = released[i] + (0 if begins else count)
        size = people[i] + (0.0 if begins else size)
        least = min(loss[i], np.inf if begins else least)
        merged_keys[found], merged_released[found], merged_people[found] = key, count, size
        merged_loss[found] = least
        last = key


@numba.njit(cache=True)
def _merged(
    table: ClassTable,
    shift: int,
    field: int,
    parents: NDArray[np.int64],
    added_loss: Floats,
    merged: ClassTable,
    begin: int,
) -> int:
    """Replace the last field of each key by its parent, and add up what falls together, with the least loss.

    Returns where the merged classes end.
    """
    keys, released, people, loss = table
    merged_keys, merged_released, merged_people, merged_loss = merged
    last, found, count, size, least = -1, begin - 1, 0, 0.0, 0.0
    for i in range(len(keys)):
        prefix = keys[i] >> shift
        group = prefix & field
        key = ((prefix & ~field) | parents[group]) << shift
        begins = key != last
        found += begins
        count = released[i] + (0 if begins else count)
        size = people[i] + (0.0 if begins else size)
        least = min(loss[i] + added_loss[group], np.inf if begins else least)
        merged_keys[found], merged_released[found], merged_people[found] = key, count, size
        merged_loss[found] = least
        last = key
    return found + 1


@numba.njit(cache=True)
def _within(table: ClassTable, attribute: _Attribute, step: int, kept: NDArray[np.bool_]) -> tuple[ClassTable, int]:
    shift, field, parents, added_loss = attribute[0], attribute[1], attribute[2][step], attribute[3][step]
    keys, released, people, loss = table
    row, of_class = np.empty(len(keys), dtype=np.int32), np.empty(len(keys), dtype=np.int32)
    n, number, dropped, last = 0, -1, 0, -1
    for i in range(len(keys)):
        prefix = keys[i] >> shift
        raised = (prefix & ~field) | parents[prefix & field]
        number += raised != last
        last = raised
        row[n], of_class[n] = i, number
        n += kept[number]
        dropped += released[i] * (1 - kept[number])
    order = row[:n] if step == 0 else _in_order(keys, row[:n], of_class, len(kept), shift)
    merged_keys, merged_released, merged_people, merged_loss = merged = room(n)
    rest = ~(field << shift)
    last, found, count, size, least = -1, -1, 0, 0.0, 0.0
    for i in order:
        group = (keys[i] >> shift) & field
        key = (keys[i] & rest) | (parents[group] << shift)
        begins = key != last
        found += begins
        count = released[i] + (0 if begins else count)
        size = people[i] + (0.0 if begins else size)
        least = min(loss[i] + added_loss[group], np.inf if begins else least)
        merged_keys[found], merged_released[found], merged_people[found] = key, count, size
        merged_loss[found] = least
        last = key
    return part(merged, 0, found + 1), dropped


@numba.njit(cache=True)
def _in_order(
    keys: NDArray[np.int64], row: NDArray[np.int32], of_class: NDArray[np.int32], n_classes: int, shift: int
) -> NDArray[np.int32]:
    """Return rows by the class that each is in, and within each by the lower bits of their keys.

    A radix sort: digit by digit, the last one first.
    """
    n = len(row)
    order, spare = np.arange(n).astype(np.int32), np.empty(n, dtype=np.int32)
    digit = np.empty(n, dtype=np.int32)
    for done in range(0, shift, _DIGIT):
        mask = (1 << min(shift - done, _DIGIT)) - 1
        for i in range(n):
            digit[i] = (keys[row[order[i]]] >> done) & mask
        _scatter(order, digit, mask + 1, spare)
        order, spare = spare, order
    for i in range(n):
        digit[i] = of_class[order[i]]
        order[i] = row[order[i]]
    _scatter(order, digit, n_classes, spare)
    return spare


@numba.njit(cache=True)
def _scatter(order: NDArray[np.int32], digit: NDArray[np.int32], n_digits: int, put: NDArray[np.int32]) -> None:
    """Put what has the same digit side by side, in rising order of digits and as it stood."""
    begin = np.zeros(n_digits, dtype=np.int32)
    for i in range(len(order)):
        begin[digit[i]] += 1
    before = 0
    for number in range(n_digits):
        before, begin[number] = before + begin[number], before
    for i in range(len(order)):
        put[begin[digit[i]]] = order[i]
        begin[digit[i]] += 1
