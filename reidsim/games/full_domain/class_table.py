"""The equivalence classes of a dataset at a node of the lattice, and how they merge one level up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Codes, added_up
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

# Bits of a key; the sign stays free.
_KEY_BITS = 62


class ClassTable(NamedTuple):
    """The equivalence classes at one node, in the order of their keys; arrays of shape (n_classes,).

    Attributes
    ----------
    keys : ndarray of int64
        Number of each class: the numbers of its groups side by side, in fields of bits, in `RollUp.order`.
    released : ndarray of int64
        Released records in each class; 0 for classes of the population alone.
    people : ndarray of float64
        Among how many people a record of the class hides, as counted by the risk model.
    loss : ndarray of float64
        Information loss of the class's records, in [0, 1].
    """

    keys: NDArray[np.int64]
    released: NDArray[np.int64]
    people: Floats
    loss: Floats


class RollUp:
    """What happens to classes when one attribute goes one level up.

    Groups are numbered over the values that occur, so that keys stay small in large domains, and those of one parent
    side by side: what falls together in the last attribute stands together in the table, and in any other attribute
    classes that are in order already are merged.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Its hierarchies and information loss; its records do not matter here.
    codes : ndarray of int32, shape (n_rows, n_attributes)
        Everything that is ever put into classes.

    Raises
    ------
    InputError
        If the values that occur need keys of more than 62 bits.
    """

    def __init__(self, lattice: GeneralizationLattice, codes: Codes) -> None:
        self.lattice = lattice
        self.parents: list[list[NDArray[np.int64]]] = []
        self.added_loss: list[list[Floats]] = []
        self.n_seen: list[int] = []
        self._group_of_value: list[NDArray[np.int64]] = []
        self.loss_is_of_class = True
        for position, (hierarchy, losses) in enumerate(zip(lattice.hierarchies, lattice.losses, strict=True)):
            seen = np.unique(codes[:, position])
            numbers = _numbered([groups[seen] for groups in hierarchy.groups])
            radices = [int(number.max()) + 1 for number in numbers]
            by_group = []
            for number, radix, loss in zip(numbers, radices, losses[:, seen], strict=True):
                of_group = np.empty(radix)
                of_group[number] = loss
                self.loss_is_of_class &= bool((of_group[number] == loss).all())
                by_group.append(of_group)
            parents = [np.empty(radix, dtype=np.int64) for radix in radices[:-1]]
            for level, parent in enumerate(parents):
                parent[numbers[level]] = numbers[level + 1]
            group_of_value = np.zeros(len(hierarchy.groups[0]), dtype=np.int64)
            group_of_value[seen] = numbers[0]
            self._group_of_value.append(group_of_value)
            self.n_seen.append(len(seen))
            self.parents.append(parents)
            self.added_loss.append(
                [by_group[level + 1][parent] - by_group[level] for level, parent in enumerate(parents)]
            )
        # Attributes with most values first: they merge most, and raised first leave small tables for the rest.
        self.order = sorted(range(len(self.n_seen)), key=lambda at: -self.n_seen[at])
        self._bits = [(radix - 1).bit_length() for radix in self.n_seen]
        if sum(self._bits) > _KEY_BITS:
            raise InputError(
                "too many combinations of the values that occur",
                where=", ".join(lattice.domain.names),
                found=f"{sum(self._bits)} bits to number them",
                expected=f"at most {_KEY_BITS}",
            )
        below = [self.order[depth + 1 :] for depth in range(len(self.order))]
        shifts = {
            position: sum(self._bits[at] for at in after) for position, after in zip(self.order, below, strict=True)
        }
        self._shifts = [shifts[position] for position in range(len(self.order))]

    def field(self, position: int) -> tuple[int, int]:
        """Return how far an attribute's field is shifted in a key, and the greatest number it can hold."""
        return self._shifts[position], (1 << self._bits[position]) - 1

    def keys_at(self, codes: Codes, levels: Sequence[int]) -> NDArray[np.int64]:
        """Return the key of the class that each row of codes falls in at a node, shape (n_rows,)."""
        keys = np.zeros(len(codes), dtype=np.int64)
        for position, level in enumerate(levels):
            group = self._group_of_value[position][codes[:, position]]
            for parents in self.parents[position][:level]:
                group = parents[group]
            keys |= group << self._shifts[position]
        return keys

    def finest(self, codes: Codes, released: NDArray[np.int64], people: Floats) -> tuple[ClassTable, NDArray[np.int32]]:
        """Return the classes of ungeneralized rows, and the class of each row.

        Parameters
        ----------
        codes : ndarray of int32, shape (n_rows, n_attributes)
        released : ndarray of int64, shape (n_rows,)
            Released records that each row stands for.
        people : ndarray of float64, shape (n_rows,)
            People that each row stands for.
        """
        keys = self.keys_at(codes, [0] * len(self.n_seen))
        distinct, inverse = np.unique(keys, return_inverse=True)
        n = len(distinct)
        table = ClassTable(distinct, added_up(released, inverse, n), added_up(people, inverse, n), np.zeros(n))
        return table, inverse.astype(np.int32)

    def up(self, table: ClassTable, position: int, level: int, *, follow: bool) -> tuple[ClassTable, NDArray[np.int32]]:
        """Merge classes as the attribute at `position` goes up from `level`.

        Returns
        -------
        ClassTable
            Of the node above.
        ndarray of int32, shape (n_classes,)
            Where each class went; of no length unless `follow` is true.
        """
        inverse = np.empty(len(table.keys) if follow else 0, dtype=np.int32)
        parents, added_loss = self.parents[position][level], self.added_loss[position][level]
        return _merge(table, *self.field(position), parents, added_loss, inverse), inverse

    def at(
        self, table: ClassTable, levels: Sequence[int], group_of: NDArray[np.int32]
    ) -> tuple[ClassTable, NDArray[np.int32]]:
        """Merge the finest classes up to a node; `group_of` (n_rows,) tells the class of each row, before and after."""
        for position, level in enumerate(levels):
            for below in range(level):
                table, inverse = self.up(table, position, below, follow=len(group_of) > 0)
                if len(group_of):
                    group_of = inverse[group_of]
        return table, group_of


def _numbered(levels: Sequence[NDArray[np.integer[Any]]]) -> list[NDArray[np.int64]]:
    """Give the groups of each level numbers in which those of one parent have no gap, by the group of each value."""
    order = np.lexsort(levels)
    numbers = []
    for groups in levels:
        sorted_groups, number = groups[order], np.zeros(len(order), dtype=np.int64)
        number[order[1:]] = np.cumsum(sorted_groups[1:] != sorted_groups[:-1])
        numbers.append(number)
    return numbers


@numba.njit(cache=True)
def room(n: int) -> ClassTable:
    """Return a table to be filled in."""
    return ClassTable(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n))


@numba.njit(cache=True)
def part(table: ClassTable, begin: int, end: int) -> ClassTable:
    """Return the classes from one place to another."""
    return ClassTable(table.keys[begin:end], table.released[begin:end], table.people[begin:end], table.loss[begin:end])


@numba.njit(cache=True)
def _merge(
    table: ClassTable,
    shift: int,
    field: int,
    parents: NDArray[np.int64],
    added_loss: Floats,
    inverse: NDArray[np.int32],
) -> ClassTable:
    """Replace one field of each key by its parent, put the keys in order and add up what falls together.

    The loss is the least of what falls together.
    """
    keys, released, people, loss = table
    n = len(keys)
    follow = len(inverse) > 0
    rest = ~(field << shift)
    merged_keys, merged_released, merged_people, merged_loss = room(n)
    # Mostly the last attribute goes up and the order stays: one pass, without branches, as it is hard to foresee
    # whether a class begins at a row.
    last, found, count, size, least, i = -1, -1, 0, 0.0, 0.0, 0
    while i < n and not follow:
        group = (keys[i] >> shift) & field
        key = (keys[i] & rest) | (parents[group] << shift)
        if key < last:
            break
        begins = key != last
        found += begins
        count = released[i] + (0 if begins else count)
        size = people[i] + (0.0 if begins else size)
        least = min(loss[i] + added_loss[group], np.inf if begins else least)
        merged_keys[found], merged_released[found], merged_people[found] = key, count, size
        merged_loss[found] = least
        last = key
        i += 1
    if i < n:
        raised, order = np.empty_like(keys), np.empty(n, dtype=np.int32)
        for i in range(n):
            raised[i] = (keys[i] & rest) | (parents[(keys[i] >> shift) & field] << shift)
            order[i] = i
        _restore_order(keys, raised, order, shift)
        found = -1
        for i in range(n):
            row = order[i]
            loss_here = loss[row] + added_loss[(keys[row] >> shift) & field]
            if i == 0 or raised[i] != raised[i - 1]:
                found += 1
                merged_keys[found], merged_released[found], merged_people[found] = raised[i], released[row], people[row]
                merged_loss[found] = loss_here
            else:
                merged_released[found] += released[row]
                merged_people[found] += people[row]
                merged_loss[found] = min(merged_loss[found], loss_here)
            if follow:
                inverse[row] = found
    found += 1
    return part(ClassTable(merged_keys, merged_released, merged_people, merged_loss), 0, found)


@numba.njit(cache=True)
def _restore_order(keys: NDArray[np.int64], raised: NDArray[np.int64], order: NDArray[np.int32], shift: int) -> None:
    """Put raised keys in order, and `order` with them, knowing that the keys were and which field has changed."""
    n = len(keys)
    spare_keys, spare_order = np.empty_like(keys), np.empty_like(order)
    # Beginnings of stretches of one former group: each is in order, and so will be those of one parent once merged.
    begins = np.empty(n + 1, dtype=np.int32)
    stretches, falls = 1, False
    begins[0] = 0
    for i in range(1, n + 1):
        if i < n and raised[i] >> shift == raised[i - 1] >> shift:
            if keys[i] >> shift != keys[i - 1] >> shift:
                begins[stretches] = i
                stretches += 1
                falls |= raised[i] < raised[i - 1]
            continue
        if falls:
            begins[stretches] = i
            _sort_stretches(raised, order, begins[: stretches + 1], spare_keys, spare_order)
        begins[0] = i
        stretches, falls = 1, False


@numba.njit(cache=True)
def _sort_stretches(
    keys: NDArray[np.int64],
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
    spare_keys: NDArray[np.int64],
    spare_order: NDArray[np.int32],
) -> None:
    """Merge neighbouring stretches of keys that are in order, two by two, until one is left; `begins` is used up."""
    stretches = len(begins) - 1
    while stretches > 1:
        kept = 0
        for number in range(0, stretches - 1, 2):
            start, middle, end = begins[number], begins[number + 1], begins[number + 2]
            if keys[middle - 1] > keys[middle]:
                left, right, at = start, middle, start
                while left < middle and right < end:
                    if keys[left] <= keys[right]:
                        spare_keys[at], spare_order[at] = keys[left], order[left]
                        left += 1
                    else:
                        spare_keys[at], spare_order[at] = keys[right], order[right]
                        right += 1
                    at += 1
                # What is left of the second stretch is in its place already.
                while left < middle:
                    spare_keys[at], spare_order[at] = keys[left], order[left]
                    left += 1
                    at += 1
                for place in range(start, at):
                    keys[place], order[place] = spare_keys[place], spare_order[place]
            begins[kept] = start
            kept += 1
        if stretches % 2:
            begins[kept] = begins[stretches - 1]
            kept += 1
        begins[kept] = begins[stretches]
        stretches = kept
