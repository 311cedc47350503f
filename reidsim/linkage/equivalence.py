"""Number of released records that match a person, by set of known attributes.

A record matches a person if each of its known values is the person's value, or a group of a value tree that contains
it (Xia et al. 2021). People with equal values are one query, and records with equal values are one record element.
Queries and records are the elements that are split, attribute by attribute, into groups that agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.linkage.people import RowSets
from reidsim.linkage.value_tree import ValueTree
from reidsim.populations.domain import Codes

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]

# Marks an element that queries no person.
NOBODY = -1


class Holders(NamedTuple):
    """The people behind the records of each element, if people have several records.

    Attributes
    ----------
    start : ndarray of int64, shape (n_elements + 1,)
        First position in `row_set` of each element; empty if each record is a different person.
    row_set : ndarray of int
        Row sets with a record in the element, element by element; see `RowSets`.
    people : ndarray of int64, shape (n_sets,)
        Number of people with each row set.
    last : ndarray of int64, shape (n_sets + 1,)
        Work array: the group in which each set was last counted and, at the end, the number of groups so far.
    """

    start: Integers
    row_set: NDArray[np.intp]
    people: Integers
    last: Integers


_NO_HOLDERS = Holders(*(np.zeros(0, dtype=kind) for kind in (np.int64, np.intp, np.int64, np.int64)))


@dataclass(frozen=True, eq=False)
class Elements:
    """Queries for people, and the records that may match them.

    A query asks for the released records that match a person; the elements are queries and groups of equal records.

    Parameters
    ----------
    columns : tuple of ndarray of int32, shape (n_elements,)
        One array per attribute; elements that agree have equal numbers, 0 or more.
    asks : ndarray of int32, shape (n_elements,)
        The person that the element queries; ``NOBODY`` (-1) if the element is no query.
    records : ndarray of int64, shape (n_elements,)
        Number of released records that the element represents.
    pattern : ndarray of int32, shape (n_elements,)
        Generalization pattern of the element; elements of different patterns never match.
    n_persons : int
        Number of people queried.
    holders : Holders, optional
        The people behind the records, if people have several records and matching people are to be counted.
    """

    columns: tuple[Positions, ...]
    asks: Positions
    records: Integers
    pattern: Positions
    n_persons: int
    holders: Holders = _NO_HOLDERS

    @property
    def n_elements(self) -> int:
        """Number of queries and record elements."""
        return len(self.asks)


def make_elements(
    persons: Codes,
    records: Codes | None = None,
    counts: Integers | None = None,
    trees: Mapping[int, ValueTree] | None = None,
    row_sets: RowSets | None = None,
) -> Elements:
    """Return the elements for some distinct people and the released records.

    Parameters
    ----------
    persons : ndarray of int32, shape (n_persons, n_attributes)
        True values of the people, each combination once; nodes of the value tree for an attribute that has one.
    records : ndarray of int32, shape (n_records, n_attributes), optional
        Released values; by default the true values of `persons`.
    counts : ndarray of int64, shape (n_records,), optional
        Number of records that each row of `records` represents; 1 if not given.
    trees : mapping of int to ValueTree, optional
        Value tree by position of the attribute; without a tree, only equal values match.
    row_sets : RowSets, optional
        Row sets of the people over the rows of `records`. All records of a person must be generalized equally. If not
        given, each record belongs to a different person.
    """
    n = len(persons)
    counted = np.ones(n if records is None else len(records), dtype=np.int64) if counts is None else counts
    released = persons if records is None else records
    used = {
        position: tree
        for position, tree in (trees or {}).items()
        if _is_generalized(persons[:, position], released[:, position], tree)
    }
    if records is None and not used:
        columns = tuple(np.ascontiguousarray(persons[:, j], dtype=np.int32) for j in range(persons.shape[1]))
        holders = _holders(row_sets, n, 0)
        return Elements(columns, np.arange(n, dtype=np.int32), counted, np.zeros(n, dtype=np.int32), n, holders)
    # Elements with the same pattern are at the same depth of every tree, so their values match only if they are equal.
    depths = np.zeros(released.shape, dtype=np.int32)
    for position, tree in used.items():
        depths[:, position] = tree.depth[released[:, position]]
    patterns, pattern_of_record = np.unique(depths, axis=0, return_inverse=True)
    questions = []
    for pattern in patterns:
        values = persons.copy()
        for position, tree in used.items():
            above = tree.chain[persons[:, position], pattern[position]]
            # A person known by a group larger than the records' groups matches no record once the attribute is known.
            values[:, position] = np.where(above >= 0, above, tree.n_nodes)
        questions.append(values)
    rows = np.concatenate([*questions, released])
    everybody = np.arange(n, dtype=np.int32)
    return Elements(
        columns=tuple(np.ascontiguousarray(rows[:, j], dtype=np.int32) for j in range(rows.shape[1])),
        asks=np.concatenate([*[everybody] * len(patterns), np.full(len(released), NOBODY, dtype=np.int32)]),
        records=np.concatenate([np.zeros(len(rows) - len(released), dtype=np.int64), counted]),
        pattern=np.concatenate(
            [np.repeat(np.arange(len(patterns), dtype=np.int32), n), pattern_of_record.ravel().astype(np.int32)]
        ),
        n_persons=n,
        holders=_holders(row_sets, len(released), len(rows) - len(released)),
    )


def _holders(row_sets: RowSets | None, n_records: int, before: int) -> Holders:
    """Return the holders of elements whose first `before` elements are not records."""
    if row_sets is None:
        return _NO_HOLDERS
    start, row_set = row_sets.by_cell(n_records)
    last = np.full(row_sets.n_sets + 1, -1, dtype=np.int64)
    return Holders(np.concatenate([np.zeros(before, dtype=np.int64), start]), row_set, row_sets.people, last)


def _is_generalized(persons: Codes, released: Codes, tree: ValueTree) -> bool:
    """Return whether any released value is a group that contains a person's value."""
    values = np.unique(persons)
    above = tree.chain[values][np.arange(tree.chain.shape[1]) < tree.depth[values][:, None]]
    return bool(np.isin(released, above).any())


class Split(NamedTuple):
    """Remaining elements, in groups that agree on the attributes split so far.

    Attributes
    ----------
    order : ndarray of int32
        Elements, group by group.
    starts : ndarray of int64, shape (n_groups + 1,)
        First position of each group in `order`.
    persons : ndarray of int32
        People still queried: everybody at first; later, people who match two records or more.
    """

    order: Positions
    starts: Integers
    persons: Positions


def whole(elements: Elements) -> Split:
    """Return the elements split only by pattern, with all people queried."""
    order = np.argsort(elements.pattern, kind="stable").astype(np.int32)
    sizes = np.bincount(elements.pattern)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
    return Split(order, starts, np.arange(elements.n_persons, dtype=np.int32))


@numba.njit(cache=True)
def split_groups(order: Positions, starts: Integers, column: Positions, count: Integers) -> tuple[Positions, Integers]:
    """Split every group by one attribute.

    Parameters
    ----------
    order, starts : ndarray
        See `Split`.
    column : ndarray of int32, shape (n_elements,)
        Values of the attribute.
    count : ndarray of int64, shape (n_values,)
        Work array of zeros; zeros again on return.

    Returns
    -------
    order, starts : ndarray
        The elements in groups that also agree on the attribute. Parts of a group are in the order of their first
        elements.
    """
    split = np.empty_like(order)
    ends = np.empty(len(order) + 1, dtype=np.int64)
    ends[0] = 0
    seen = np.empty(min(len(count), len(order)), dtype=np.int64)
    groups = 0
    for group in range(len(starts) - 1):
        low, high = starts[group], starts[group + 1]
        distinct = 0
        for i in range(low, high):
            value = column[order[i]]
            if count[value] == 0:
                seen[distinct] = value
                distinct += 1
            count[value] += 1
        place = low
        for k in range(distinct):
            size = count[seen[k]]
            count[seen[k]] = place
            place += size
            groups += 1
            ends[groups] = place
        for i in range(low, high):
            value = column[order[i]]
            split[count[value]] = order[i]
            count[value] += 1
        for k in range(distinct):
            count[seen[k]] = 0
    return split, ends[: groups + 1].copy()


@numba.njit(cache=True)
def count_matches(
    order: Positions,
    starts: Integers,
    asks: Positions,
    records: Integers,
    holders: Holders,
    wanted: NDArray[np.bool_],
    matches: Integers,
) -> None:
    """Add each wanted person's number of matching records or people to `matches` (n_persons,).

    Elements match if they are in the same group. With holders, these are the people behind the records of the person's
    group, each counted once. For `order` and `starts` see `Split`, for the next arguments `Elements`; `wanted`
    (n_persons,) selects the people.
    """
    number = len(holders.last) - 1
    for group in range(len(starts) - 1):
        asked = False
        for i in range(starts[group], starts[group + 1]):
            if asks[order[i]] >= 0 and wanted[asks[order[i]]]:
                asked = True
                break
        if not asked:
            continue
        total = 0
        if number < 0:
            for i in range(starts[group], starts[group + 1]):
                total += records[order[i]]
        else:
            holders.last[number] += 1
            for i in range(starts[group], starts[group + 1]):
                for place in range(holders.start[order[i]], holders.start[order[i] + 1]):
                    row_set = holders.row_set[place]
                    if holders.last[row_set] != holders.last[number]:
                        holders.last[row_set] = holders.last[number]
                        total += holders.people[row_set]
        for i in range(starts[group], starts[group + 1]):
            person = asks[order[i]]
            if person >= 0 and wanted[person]:
                matches[person] += total


@numba.njit(cache=True)
def keep_groups(
    order: Positions, starts: Integers, asks: Positions, records: Integers, wanted: NDArray[np.bool_]
) -> tuple[Positions, Integers]:
    """Keep only groups with a query for a wanted person and at least one record.

    An element is a record, a query for a person, or both. Elements that are neither a record nor a query for a wanted
    person are dropped. The result is the `order` and `starts` of the kept groups; the arguments are as in
    `count_matches`.
    """
    kept = np.empty_like(order)
    ends = np.empty(len(starts), dtype=np.int64)
    ends[0] = 0
    groups, place = 0, 0
    for group in range(len(starts) - 1):
        begin = place
        total = 0
        asked = False
        for i in range(starts[group], starts[group + 1]):
            element = order[i]
            asking = asks[element] >= 0 and wanted[asks[element]]
            if asking or records[element] > 0:
                kept[place] = element
                place += 1
                total += records[element]
                asked = asked or asking
        if asked and total > 0:
            groups += 1
            ends[groups] = place
        else:
            place = begin
    return kept[:place].copy(), ends[: groups + 1].copy()
