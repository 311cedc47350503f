"""The equivalence classes of a dataset at a node of the lattice, and how they merge one level up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Codes
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats

# Bits of a key; the sign stays free.
_KEY_BITS = 62
# Spreads keys over slots: 2**64 divided by the golden ratio, as a signed number (Knuth).
_SPREAD = np.int64(-7046029254386353131)


class ClassTable(NamedTuple):
    """The equivalence classes at one node; arrays of shape (n_classes,).

    Parameters
    ----------
    keys : ndarray of int64
        Number of each class: the numbers of its groups side by side, in fields of bits.
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

    Groups are numbered over the values that occur, so that keys stay small in large domains.

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
        self._seen: list[NDArray[np.int32]] = []
        self.loss_is_of_class = True
        for position, (hierarchy, losses) in enumerate(zip(lattice.hierarchies, lattice.losses, strict=True)):
            seen = np.unique(codes[:, position])
            levels = [np.unique(groups[seen], return_inverse=True) for groups in hierarchy.groups]
            numbers = [inverse.astype(np.int64) for _, inverse in levels]
            radices = [len(distinct) for distinct, _ in levels]
            by_group = []
            for number, radix, loss in zip(numbers, radices, losses[:, seen], strict=True):
                of_group = np.empty(radix)
                of_group[number] = loss
                self.loss_is_of_class &= bool((of_group[number] == loss).all())
                by_group.append(of_group)
            parents = [np.empty(radix, dtype=np.int64) for radix in radices[:-1]]
            for level, parent in enumerate(parents):
                parent[numbers[level]] = numbers[level + 1]
            self._seen.append(seen)
            self.parents.append(parents)
            self.added_loss.append(
                [by_group[level + 1][parent] - by_group[level] for level, parent in enumerate(parents)]
            )
        self.n_seen = [len(seen) for seen in self._seen]
        self._bits = [(radix - 1).bit_length() for radix in self.n_seen]
        if sum(self._bits) > _KEY_BITS:
            raise InputError(
                "too many combinations of the values that occur",
                where=", ".join(lattice.domain.names),
                found=f"{sum(self._bits)} bits to number them",
                expected=f"at most {_KEY_BITS}",
            )
        self._shifts = [sum(self._bits[position + 1 :]) for position in range(len(self._bits))]
        self._slots = np.full(16, -1, dtype=np.int64)
        self._stamp = 0

    @property
    def order(self) -> list[int]:
        """Attributes with most values first: they merge most, and raised first leave small tables for the rest."""
        return sorted(range(len(self.n_seen)), key=lambda at: -self.n_seen[at])

    def field(self, position: int) -> tuple[int, int]:
        """Return how far an attribute's field is shifted in a key, and the greatest number it can hold."""
        return self._shifts[position], (1 << self._bits[position]) - 1

    def keys_at(self, codes: Codes, levels: Sequence[int]) -> NDArray[np.int64]:
        """Return the key of the class that each row of codes falls in at a node, shape (n_rows,)."""
        keys = np.zeros(len(codes), dtype=np.int64)
        for position, level in enumerate(levels):
            group = np.searchsorted(self._seen[position], codes[:, position]).astype(np.int64)
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
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, inverse, released)
        sizes = np.zeros(len(distinct))
        np.add.at(sizes, inverse, people)
        return ClassTable(distinct, counts, sizes, np.zeros(len(distinct))), inverse.astype(np.int32)

    def up(self, table: ClassTable, position: int, level: int, *, follow: bool) -> tuple[ClassTable, NDArray[np.int32]]:
        """Merge classes as the attribute at `position` goes up from `level`.

        Returns
        -------
        ClassTable
            Of the node above.
        ndarray of int32, shape (n_classes,)
            Where each class went; of no length unless `follow` is true.
        """
        size = len(table.keys)
        # Twice as many slots as keys, rounded up to a power of two, keep the search for a free one short.
        slot_bits = (2 * size - 1).bit_length()
        if 1 << slot_bits > len(self._slots):
            self._slots = np.full(1 << slot_bits, -1, dtype=np.int64)
            self._stamp = 0
        inverse = np.empty(size if follow else 0, dtype=np.int32)
        merged = _merge(
            *table,
            *self.field(position),
            self.parents[position][level],
            self.added_loss[position][level],
            64 - slot_bits,
            self._slots,
            self._stamp,
            inverse,
        )
        above = ClassTable(*merged)
        # Slots below the next stamp count as free, so they are never cleared.
        self._stamp += len(above.keys)
        return above, inverse

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


@numba.njit(cache=True)
def _merge(
    keys: NDArray[np.int64],
    released: NDArray[np.int64],
    people: Floats,
    loss: Floats,
    shift: int,
    field: int,
    parents: NDArray[np.int64],
    added_loss: Floats,
    slot_shift: int,
    slots: NDArray[np.int64],
    stamp: int,
    inverse: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
    """Replace one field of each key by its parent and add up what falls together, in order of first appearance."""
    follow = len(inverse) > 0
    merged_keys = np.empty_like(keys)
    merged_released = np.empty_like(released)
    merged_people = np.empty_like(people)
    merged_loss = np.empty_like(loss)
    rest = ~(field << shift)
    mask = (1 << (64 - slot_shift)) - 1
    found = 0
    for i in range(len(keys)):
        group = (keys[i] >> shift) & field
        key = (keys[i] & rest) | (parents[group] << shift)
        slot = ((key * _SPREAD) >> slot_shift) & mask
        at = slots[slot] - stamp
        while at >= 0 and merged_keys[at] != key:
            slot = (slot + 1) & mask
            at = slots[slot] - stamp
        if at < 0:
            at = found
            slots[slot] = stamp + found
            merged_keys[at] = key
            merged_released[at] = released[i]
            merged_people[at] = people[i]
            merged_loss[at] = loss[i] + added_loss[group]
            found += 1
        else:
            merged_released[at] += released[i]
            merged_people[at] += people[i]
        if follow:
            inverse[i] = at
    return (
        merged_keys[:found].copy(),
        merged_released[:found].copy(),
        merged_people[:found].copy(),
        merged_loss[:found].copy(),
    )
