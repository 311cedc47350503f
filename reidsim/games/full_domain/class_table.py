"""Equivalence classes of a dataset at lattice nodes, their roll-up, and their sizes under a risk model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.core.numerics import compiled
from reidsim.core.wording import counted
from reidsim.populations.population import Codes, Population, added_up
from reidsim.releases.lattice import Floats, GeneralizationLattice

Ints = NDArray[np.int64]

# Maximum number of bits of a key in a signed 64-bit integer.
_KEY_BITS = 62


class ClassTable(NamedTuple):
    """The equivalence classes at one node, by ascending key; arrays (n_classes,).

    Attributes
    ----------
    keys : ndarray of int64
        Key of each class: the group number of each attribute in a field of bits, in `RollUp.order`.
    released : ndarray of int64
        Number of released records of the class; 0 for classes with people of the population only.
    people : ndarray of float64
        Group size of a record of the class under prosecutor or journalist risk, see `finest_classes`.
    loss : ndarray of float64
        Information loss of the class's records, in [0, 1]; if they differ, the least.
    """

    keys: Ints
    released: Ints
    people: Floats
    loss: Floats


class Field(NamedTuple):
    """One attribute's field of bits in keys, and its groups from a starting level on.

    Attributes
    ----------
    shift, mask : int
        Position of the field's lowest bit, and the largest number that fits into the field.
    parents : ndarray of int64, shape (n_steps + 1, n_groups)
        The group into which each group of the starting level falls after 0, 1, ... more levels.
    added_loss : ndarray of float64, shape (n_steps + 1, n_groups)
        Information loss that these levels add.
    """

    shift: int
    mask: int
    parents: Ints
    added_loss: Floats


class RollUp:
    """Merger of equivalence classes along the hierarchies of a lattice.

    Groups are numbered over the values that occur, so that keys stay small in large domains. Siblings have consecutive
    numbers: classes that merge along the last attribute are neighbours, and along any other attribute the table
    consists of few ascending runs.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice with the hierarchies and the information loss; its records are not used.
    codes : ndarray of int32, shape (n_rows, n_attributes)
        Codes of all rows that will be grouped into classes.

    Attributes
    ----------
    order : list of int
        Attributes, in descending order of their number of values: the first merge most, and leave small tables for the
        others.
    loss_is_of_class : bool
        Whether all values in a group have the same information loss, at every level.

    Raises
    ------
    InputError
        If the values that occur need keys of more than 62 bits.
    """

    def __init__(self, lattice: GeneralizationLattice, codes: Codes) -> None:
        self.lattice = lattice
        self.loss_is_of_class = True
        self._group_of_value: list[Ints] = []
        self._parents: list[list[Ints]] = []
        self._losses: list[list[Floats]] = []
        for position, (hierarchy, losses) in enumerate(zip(lattice.hierarchies, lattice.losses, strict=True)):
            seen = np.unique(codes[:, position])
            numbers = _numbered([groups[seen] for groups in hierarchy.groups])
            parents, of_groups = [np.empty(number.max() + 1, np.int64) for number in numbers], []
            for parent, number, above in zip(parents, numbers, numbers[1:], strict=False):
                parent[number] = above
            for number, loss in zip(numbers, losses[:, seen], strict=True):
                of_group = np.empty(number.max() + 1)
                of_group[number] = loss
                self.loss_is_of_class &= bool((of_group[number] == loss).all())
                of_groups.append(of_group)
            group_of_value = np.zeros(len(hierarchy.groups[0]), dtype=np.int64)
            group_of_value[seen] = numbers[0]
            self._group_of_value.append(group_of_value)
            self._parents.append(parents[:-1])
            self._losses.append(of_groups)
        sizes = [len(of_groups[0]) for of_groups in self._losses]
        self.order = sorted(range(len(sizes)), key=lambda at: -sizes[at])
        self._bits = [(size - 1).bit_length() for size in sizes]
        if sum(self._bits) > _KEY_BITS:
            raise InputError(
                "too many combinations of the values",
                where=", ".join(lattice.domain.names),
                found=f"{sum(self._bits)} bits to number the combinations",
                expected=f"at most {_KEY_BITS} bits",
            )
        self._shifts = [0] * len(sizes)
        for before, at in zip(self.order[::-1], self.order[-2::-1], strict=False):
            self._shifts[at] = self._shifts[before] + self._bits[before]

        self._steps = [
            [self.field(at, level, 1) for level in range(len(losses) - 1)] for at, losses in enumerate(self._losses)
        ]

    def field(self, position: int, level: int, n_steps: int | None = None) -> Field:
        """Return the field of bits of the attribute at `position`, starting at a level.

        The result, a `Field`, includes `level` and the next `n_steps` higher levels, or all higher levels if not given.
        """
        losses = self._losses[position]
        parents, added = [np.arange(len(losses[level]))], [np.zeros(len(losses[level]))]
        for below in range(level, len(losses) - 1 if n_steps is None else level + n_steps):
            step = losses[below + 1][self._parents[position][below]] - losses[below]
            added.append(added[-1] + step[parents[-1]])
            parents.append(self._parents[position][below][parents[-1]])
        return Field(self._shifts[position], (1 << self._bits[position]) - 1, np.array(parents), np.array(added))

    def keys_at(self, codes: Codes, levels: Sequence[int]) -> Ints:
        """Return the key of each row's class at a node, ndarray of int64, shape (n_rows,).

        `codes`, shape (n_rows, n_attributes), are codes of the values, among those that the roll-up was made for;
        `levels` holds the node's level of each attribute. Rows have equal keys if they belong to the same class.
        """
        keys = np.zeros(len(codes), dtype=np.int64)
        for position, level in enumerate(levels):
            group = self._group_of_value[position][codes[:, position]]
            for parents in self._parents[position][:level]:
                group = parents[group]
            keys |= group << self._shifts[position]
        return keys

    def raised(self, keys: Ints, position: int, level: int) -> Ints:
        """Return the keys of classes after one attribute goes from `level` up one level.

        `position` is the attribute's; the result has the shape and order of `keys`, and may have equal keys.
        """
        shift, mask = self._shifts[position], (1 << self._bits[position]) - 1
        parents = self._parents[position][level]
        return np.asarray((keys & ~(mask << shift)) | (parents[(keys >> shift) & mask] << shift))

    def up(self, table: ClassTable, position: int, level: int, *, follow: bool) -> tuple[ClassTable, NDArray[np.int32]]:
        """Merge classes as the attribute at `position` goes from `level` up one level.

        `table` holds the classes at the lower node.

        Returns
        -------
        ClassTable
            Classes at the higher node.
        ndarray of int32, shape (n_classes,)
            The merged class of each class; empty unless `follow` is true.
        """
        order = np.empty(0, dtype=np.int64)
        if position != self.order[-1]:
            # Timsort takes linear time if the keys consist of few ascending runs.
            order = np.argsort(self.raised(table.keys, position, level), kind="stable")
        merged, inverse = raise_classes(table, order, self._steps[position][level], 1)
        return merged, inverse if follow else inverse[:0]

    def at(
        self, table: ClassTable, levels: Sequence[int], group_of: NDArray[np.int32]
    ) -> tuple[ClassTable, NDArray[np.int32]]:
        """Merge the ungeneralized classes up to a node.

        Parameters
        ----------
        table : ClassTable
            The ungeneralized classes.
        levels : sequence of int
            The node's level of each attribute.
        group_of : ndarray of int32, shape (n_rows,)
            Class of each row before the merge; may be empty.

        Returns
        -------
        ClassTable
            Classes at the node.
        ndarray of int32, shape (n_rows,)
            Class of each row at the node.
        """
        for position, level in enumerate(levels):
            for below in range(level):
                table, inverse = self.up(table, position, below, follow=len(group_of) > 0)
                if len(group_of):
                    group_of = inverse[group_of]
        return table, group_of


def finest_classes(
    lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population | None = None
) -> tuple[RollUp, ClassTable, NDArray[np.int32]]:
    """Return the ungeneralized classes of records, with sizes by a risk model.

    Under prosecutor risk the adversary knows that its target is in the released table, so the group size counts the
    released records of the class, before suppression. Under journalist risk it counts all people in the population who
    would be generalized to the same class.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice over the distinct cells of the records.
    released : ndarray of int64, shape (n_cells,)
        Number of records in each cell.
    population : Population, optional
        Population over the lattice's domain, as a table of people, as counts or as expected counts. If given,
        journalist risk applies; otherwise prosecutor risk.

    Returns
    -------
    RollUp
    ClassTable
        The ungeneralized classes.
    ndarray of int32, shape (n_cells,)
        The class of each cell.

    Raises
    ------
    InputError
        If the population has other categories, or classes need keys of more than 62 bits (`RollUp`).
    """
    codes, people = lattice.codes, released.astype(np.float64)
    if population is not None:
        if population.domain != lattice.domain:
            problem = "the population and the hierarchies have different categories"
            found, expected = (f"{domain.names}, {domain.shape}" for domain in (population.domain, lattice.domain))
            raise InputError(problem, where=population.name, found=found, expected=expected)
        codes = np.concatenate([codes, population.cells])
        people = np.concatenate([np.zeros(len(released)), population.counts])
        released = np.append(released, np.zeros(len(population.cells), dtype=np.int64))
    roll_up = RollUp(lattice, codes)
    keys, group_of = np.unique(roll_up.keys_at(codes, [0] * len(roll_up.order)), return_inverse=True)
    n = len(keys)
    table = ClassTable(keys, added_up(released, group_of, n), added_up(people, group_of, n), np.zeros(n))
    return roll_up, table, group_of[: lattice.n_records].astype(np.int32)


def records_outside(lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population) -> int:
    """Return the number of records in excess of the people with the same values.

    For each combination of values, the excess is the number of records less the number of people of the population,
    rounded up, and 0 if it is negative; the result is the sum. For the parameters see `finest_classes`.
    """
    return int(_excess(lattice, released, population)[0].sum())


def require_part_of(
    lattice: GeneralizationLattice,
    released: NDArray[np.int64],
    population: Population,
    unit: tuple[str, str] = ("record", "records"),
) -> None:
    """Check that all released records can belong to people of the population.

    Journalist risk makes this assumption.

    Parameters
    ----------
    lattice, released, population
        See `finest_classes`.
    unit : tuple of str
        Singular and plural noun of the units counted in `released`, for the message.

    Raises
    ------
    InputError
        If some values have more records than people; the message names the first such values.
    """
    excess, group_of = _excess(lattice, released, population)
    if not excess.any():
        return
    cell = int(np.flatnonzero(excess[group_of])[0])
    together = int(released[group_of == group_of[cell]].sum())
    values: pd.Series[str] = lattice.domain.decode(lattice.codes[cell : cell + 1]).iloc[0]
    others = int((excess > 0).sum()) - 1
    too_many = f"{others:,} other combination{'s' if others > 1 else ''} of values {'have' if others > 1 else 'has'}"
    raise InputError(
        "the released table is not part of its population",
        where=population.name,
        found=f"{counted(together, *unit)} and "
        f"{counted(together - int(excess[group_of[cell]]), 'person', 'people')} with "
        + ", ".join(f"{name} = {value}" for name, value in values.items()),
        expected=f"at least as many people as {unit[1]} with the same values",
        hint=f"{too_many} more {unit[1]} than people" if others else None,
    )


def _excess(
    lattice: GeneralizationLattice, released: NDArray[np.int64], population: Population
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the excess of records over people by class, and the class of each cell.

    Classes are ungeneralized. The excess, an integer, is rounded up, and 0 if there are no more records than people.
    For the parameters see `finest_classes`.
    """
    _, table, group_of = finest_classes(lattice, released, population)
    # Expected counts need not be whole numbers.
    return np.ceil(table.released - table.people - 1e-9).clip(min=0).astype(np.int64), group_of


def _numbered(levels: Sequence[NDArray[np.integer[Any]]]) -> list[Ints]:
    """Return the group number of each value at each level of a hierarchy.

    `levels` holds, from the lowest level up, the group of each value, shape (n_values,); so does the result. Groups of
    a level are numbered from 0 in an order in which siblings follow each other.
    """
    order = np.lexsort(levels)
    numbers = []
    for groups in levels:
        sorted_groups, number = groups[order], np.zeros(len(order), dtype=np.int64)
        number[order[1:]] = np.cumsum(sorted_groups[1:] != sorted_groups[:-1])
        numbers.append(number)
    return numbers


@compiled()
def part(table: ClassTable, begin: int, end: int) -> ClassTable:
    """Return the classes of a table at positions `begin` to `end` - 1."""
    return ClassTable(table.keys[begin:end], table.released[begin:end], table.people[begin:end], table.loss[begin:end])


@compiled()
def _room(n: int) -> ClassTable:
    return ClassTable(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n))


@compiled()
def raise_classes(
    table: ClassTable, order: NDArray[np.intp], field: Field, step: int
) -> tuple[ClassTable, NDArray[np.int32]]:
    """Raise one attribute of some classes by some levels, and merge them.

    Parameters
    ----------
    table : ClassTable
        The classes.
    order : ndarray of int
        Order of the classes in which their raised keys are ascending; empty if they already have this order.
    field : Field
        The attribute, from its present level on.
    step : int
        Number of levels.

    Returns
    -------
    ClassTable
        The merged classes. Records and people are added up; the loss is the least of the classes merged.
    ndarray of int32, shape (n_classes,)
        The merged class of each class of `table`; undefined for classes that `order` leaves out.
    """
    merged, inverse = _room(len(order) or len(table.keys)), np.empty(len(table.keys), np.int32)
    return part(merged, 0, _merge(table, order, field, step, -1, merged, 0, inverse)), inverse


@compiled()
def _merge(
    table: ClassTable,
    order: NDArray[np.intp],
    field: Field,
    step: int,
    kept_bits: int,
    merged: ClassTable,
    begin: int,
    inverse: NDArray[np.int32],
) -> int:
    """Write the classes with raised keys into `merged` from position `begin` on.

    Return the position after the last class written. For `table`, `order`, `field` and `step` see `raise_classes`.
    `kept_bits` masks the bits of keys that are compared and kept, -1 for all; `inverse` receives the merged class of
    each class. The code has no branches because the starts of classes are hard to predict for the processor.
    """
    keys, released, people, loss = table
    merged_keys, merged_released, merged_people, merged_loss = merged
    parents, added_loss, shift, mask = field.parents[step], field.added_loss[step], field.shift, field.mask
    rest = ~(mask << shift) & kept_bits
    last, found, count, size, least = -1, begin - 1, 0, 0.0, 0.0
    for i in range(len(order) or len(keys)):
        row = order[i] if len(order) else i
        group = (keys[row] >> shift) & mask
        key = (keys[row] & rest) | (parents[group] << shift)
        begins = key != last
        found += begins
        count = released[row] + (0 if begins else count)
        size = people[row] + (0.0 if begins else size)
        least = min(loss[row] + added_loss[group], np.inf if begins else least)
        merged_keys[found], merged_released[found], merged_people[found] = key, count, size
        merged_loss[found] = least
        last = key
        inverse[row] = found
    return found + 1


@compiled()
def merge_prefixes(table: ClassTable, field: Field) -> tuple[ClassTable, Ints]:
    """Merge classes that agree in one attribute and all earlier ones.

    Attributes are in the order of `RollUp.order`. The classes are merged at each level of this attribute.

    Later attributes are ignored, as if they were fully suppressed but without adding information loss.

    Parameters
    ----------
    table : ClassTable
        Classes with this and all later attributes at their lowest levels.
    field : Field
        The attribute, from its lowest level on.

    Returns
    -------
    ClassTable
        The merged classes at each level, one level after the other.
    ndarray of int64, shape (n_levels + 1,)
        Position at which the classes of each level begin, and the end of the last level.
    """
    levels, prefix_bits, as_is = len(field.parents), -1 << field.shift, np.empty(0, np.int64)
    inverse = np.empty(len(table.keys), np.int32)
    n, last = 0, -1
    for key in table.keys:
        n += key >> field.shift != last
        last = key >> field.shift
    merged, starts = _room(n * levels), np.zeros(levels + 1, dtype=np.int64)
    starts[1] = _merge(table, as_is, field, 0, prefix_bits, merged, 0, inverse)
    # Siblings are neighbours, so raised prefixes are in ascending order.
    for step in range(1, levels):
        starts[step + 1] = _merge(part(merged, 0, n), as_is, field, step, prefix_bits, merged, starts[step], inverse)
    return part(merged, 0, starts[levels]), starts


class Rests(NamedTuple):
    """An attribute and the values of later attributes, in the order of `RollUp.order` and at their lowest levels.

    Combinations of the later values are numbered in ascending order of their keys.

    Attributes
    ----------
    field : Field
        The attribute, from its lowest level on.
    number : ndarray of int64, shape (n_before,)
        Number of the combination, by the number of the combination that includes the attribute itself.
    keys : ndarray of int64, shape (n_combinations,)
        Key of the combination.
    next_group : ndarray of int64, shape (n_combinations,)
        Group of the combination in the next attribute.
    """

    field: Field
    number: Ints
    keys: Ints
    next_group: Ints


def rests_of(keys: Ints, fields: Sequence[Field]) -> list[Rests]:
    """Return the `Rests` of all attributes except the last.

    `keys` are the distinct keys of the lowest node, ascending, and `fields` the fields of bits of the attributes in the
    order of `RollUp.order`.
    """
    rests = []
    for field, following in itertools.pairwise(fields):
        keys, number = np.unique(keys & ((1 << field.shift) - 1), return_inverse=True)
        rests.append(Rests(field, number, keys, keys >> following.shift))
    return rests


@compiled()
def raise_kept(
    table: ClassTable, rest_of: Ints, rests: Rests, step: int, kept: NDArray[np.bool_]
) -> tuple[ClassTable, Ints]:
    """Raise one attribute by some levels, and drop classes whose prefix is not kept.

    The prefix of a class is its values of this and all earlier attributes, in the order of `RollUp.order`. Classes are
    added up by their number of the combination of later values, which takes less time than a sort of their keys.

    Parameters
    ----------
    table : ClassTable
        Classes with this and all later attributes at their lowest levels, in ascending order of their values of this
        and all earlier attributes.
    rest_of : ndarray of int64, shape (n_classes,)
        Number of the combination of this and all later values, for each class.
    rests : Rests
        The attribute, from its lowest level on, and the combinations of later values.
    step : int
        Number of levels.
    kept : ndarray of bool, shape (n_prefixes,)
        Whether to keep each class of `merge_prefixes` at the raised level.

    Returns
    -------
    ClassTable
        The merged classes that are kept, in ascending order of their prefix and their value of the next attribute.
    ndarray of int64, shape (n_kept,)
        Number of the combination of later values, for each of these classes.
    """
    keys, released, people, loss = table
    field, n, n_rests = rests.field, len(keys), len(rests.keys)
    parents, added_loss, shift, mask = field.parents[step], field.added_loss[step], field.shift, field.mask
    raised, raised_rest, row, begin, prefix_number = _room(n), np.empty(n, np.int64), 0, 0, 0
    sums, last_seen, found = _room(n_rests), np.full(n_rests, -1), np.empty(n_rests, np.int64)
    ends = np.empty(rests.next_group[-1] + 2, np.int64)
    while row < n:
        # Siblings are neighbours, so all classes of a raised prefix follow each other.
        raised_prefix, n_found = (keys[row] >> shift & ~mask) | parents[keys[row] >> shift & mask], 0
        ends[:] = 0
        while row < n:
            group = keys[row] >> shift & mask
            if (keys[row] >> shift & ~mask) | parents[group] != raised_prefix:
                break
            if kept[prefix_number]:
                rest = rests.number[rest_of[row]]
                begins = last_seen[rest] != prefix_number
                last_seen[rest], found[n_found] = prefix_number, rest
                n_found += begins
                ends[rests.next_group[rest] + 1] += begins
                sums.released[rest] = released[row] + (0 if begins else sums.released[rest])
                sums.people[rest] = people[row] + (0.0 if begins else sums.people[rest])
                sums.loss[rest] = min(loss[row] + added_loss[group], np.inf if begins else sums.loss[rest])
            row += 1
        ends[0] = begin
        for group in range(len(ends) - 1):
            ends[group + 1] += ends[group]
        for rest in found[:n_found]:
            at = ends[rests.next_group[rest]]
            ends[rests.next_group[rest]] += 1
            raised.keys[at], raised_rest[at] = raised_prefix << shift | rests.keys[rest], rest
            raised.released[at], raised.people[at] = sums.released[rest], sums.people[rest]
            raised.loss[at] = sums.loss[rest]
        begin += n_found
        prefix_number += 1
    return part(raised, 0, begin), raised_rest[:begin]
