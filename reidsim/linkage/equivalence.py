"""Number of released records that match a person, by set of known attributes.

A record matches a person if each of its known values is the person's value, or a group of a value tree that contains
it (Xia et al. 2021). People with equal values are one query, and records with equal values are one record element.
Queries and records are the elements that are split, attribute by attribute, into groups that agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, not_among, require_distinct
from reidsim.core.numerics import compiled
from reidsim.linkage.people import RowSets
from reidsim.populations.population import Attribute, Codes
from reidsim.releases.hierarchy import Hierarchy

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]

# Parent of a node without a node above it.
TOP = -1
# Marks an element that queries no person.
NOBODY = -1


@dataclass(frozen=True, eq=False)
class ValueTree:
    """The values of an attribute and the groups that a record may be released with.

    A node is a value or a group. The values come first, in the order of the attribute, so that the node of a value is
    its code. A node includes itself and everything below it.

    Parameters
    ----------
    attribute : Attribute
        The attribute, with the ungeneralized values as categories.
    labels : tuple of str
        Label of each node, the attribute's categories first.
    parent : ndarray of int32, shape (n_nodes,)
        The node just above each node; ``TOP`` (-1) if there is none.

    Raises
    ------
    InputError
        If labels are repeated or parents form a cycle.
    """

    attribute: Attribute
    labels: tuple[str, ...]
    parent: NDArray[np.int32]

    def __post_init__(self) -> None:
        where = f"value tree of {self.attribute.name!r}"
        require_distinct("two values or groups have the same name", self.labels, where=where)
        node = np.arange(self.n_nodes, dtype=np.int32)
        # A chain that has not ended after n_nodes steps contains a cycle.
        for _ in range(self.n_nodes):
            node = self.parent[node]
            node = node[node != TOP]
        if len(node):
            raise InputError("a group contains itself", where=where, found=self.labels[node[0]])

    @classmethod
    def from_groups(cls, attribute_name: str, groups: Mapping[str, Sequence[str]]) -> ValueTree:
        """Return the `ValueTree` of named groups, whose members are values or groups.

        Values come in the order in which they first occur as members.

        Parameters
        ----------
        attribute_name : str
            Name of the tree's attribute.
        groups : mapping of str to sequence of str
            Members of each group, such as ``{"Asian or Pacific Islander": ["Asian", "Pacific Islander"]}``. A member
            that is not the name of a group is a value.

        Raises
        ------
        InputError
            If there is no value, a value or group is in two groups, or groups contain each other.
        """
        members = dict.fromkeys(member for group in groups.values() for member in group)
        values = [member for member in members if member not in groups]
        if not values:
            where = f"value tree of {attribute_name!r}"
            raise InputError("the groups contain no value", where=where, found=listed(groups) or "no group")
        return cls._of_members(Attribute(attribute_name, tuple(values)), groups)

    @classmethod
    def from_hierarchy(cls, hierarchy: Hierarchy) -> ValueTree:
        """Return the `ValueTree` of a hierarchy: the groups of all its levels.

        The top nodes are the groups of the last level. A group with the same values and the same label as a group or
        value of the level below is the same node.

        Raises
        ------
        InputError
            If two groups, or a value and a group, have the same label in any other case.
        """
        groups: list[tuple[str, list[str]]] = []
        for level, labels in enumerate(hierarchy.labels[1:], start=1):
            members: list[list[str]] = [[] for _ in labels]
            for label, above in zip(hierarchy.labels[level - 1], hierarchy.parents(level - 1), strict=True):
                members[above].append(label)
            groups += [(label, below) for label, below in zip(labels, members, strict=True) if below != [label]]
        names = (*hierarchy.attribute.categories, *(label for label, _ in groups))
        where = f"value tree of {hierarchy.attribute.name!r}"
        require_distinct("two values or groups have the same name", names, where=where)
        return cls._of_members(hierarchy.attribute, dict(groups))

    @classmethod
    def _of_members(cls, attribute: Attribute, groups: Mapping[str, Sequence[str]]) -> ValueTree:
        labels = (*attribute.categories, *groups)
        number = {label: node for node, label in enumerate(labels)}
        parent = np.full(len(labels), TOP, dtype=np.int32)
        for group, below in groups.items():
            for member in below:
                if parent[number[member]] not in (TOP, number[group]):
                    hint = f"it is in {labels[parent[number[member]]]!r} and in {group!r}"
                    where = f"value tree of {attribute.name!r}"
                    raise InputError("value in two groups", where=where, found=member, hint=hint)
                parent[number[member]] = number[group]
        return cls(attribute, labels, parent)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the tree: values and groups."""
        return len(self.labels)

    @cached_property
    def chain(self) -> NDArray[np.int32]:
        """The path from the top to each node, shape (n_nodes, longest path).

        A row lists the nodes that include the node, the largest group first and the node itself last; later entries are
        -1.
        """
        upward = [np.arange(self.n_nodes, dtype=np.int32)]
        while (above := np.where(upward[-1] == TOP, TOP, self.parent[upward[-1]])).max() != TOP:
            upward.append(above)
        chain = np.stack(upward[::-1], axis=1)
        return np.take_along_axis(chain, np.argsort(chain == TOP, axis=1, kind="stable"), axis=1)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Number of nodes above each node, shape (n_nodes,); 0 at the top."""
        return np.asarray((self.chain >= 0).sum(axis=1) - 1, dtype=np.int32)

    def encode(self, values: Iterable[object], column: str | None = None) -> Codes:
        """Return the node of each label, shape (n_values,).

        Spaces around a label are ignored; `column` names the column in the message.

        Raises
        ------
        InputError
            If a label is neither a value nor a group of the tree; the message names the row (counted from 1).
        """
        labels = pd.Series(list(values), dtype="str").str.strip()
        nodes = pd.Index(list(self.labels), dtype="str").get_indexer(pd.Index(labels)).astype(np.int32)
        if (nodes < 0).any():
            row, problem = int((nodes < 0).argmax()), f"value missing from the value tree of {self.attribute.name!r}"
            where = f"row {row + 1}, column {column or self.attribute.name!r}"
            raise not_among(problem, labels.iloc[row], self.labels, where=where)
        return nodes


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


def make_elements(
    persons: Codes,
    records: Codes | None = None,
    counts: Integers | None = None,
    trees: Mapping[int, ValueTree] | None = None,
    row_sets: RowSets | None = None,
) -> Elements:
    """Return the `Elements` for some distinct people and the released records.

    If no record is generalized and `records` is None, each element is both a query and a record. Otherwise, the queries
    come first (each person once for each generalization pattern of the records), then the records.

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
        return Elements(
            columns=_columns(persons),
            asks=np.arange(n, dtype=np.int32),
            records=counted,
            pattern=np.zeros(n, dtype=np.int32),
            n_persons=n,
            holders=_holders(row_sets, n, 0),
        )
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
    n_queries = n * len(patterns)
    return Elements(
        columns=_columns(np.concatenate([*questions, released])),
        asks=np.append(np.tile(np.arange(n), len(patterns)), np.full(len(released), NOBODY)).astype(np.int32),
        records=np.append(np.zeros(n_queries, dtype=np.int64), counted),
        pattern=np.append(np.repeat(np.arange(len(patterns)), n), pattern_of_record).astype(np.int32),
        n_persons=n,
        holders=_holders(row_sets, len(released), n_queries),
    )


def _columns(codes: Codes) -> tuple[Positions, ...]:
    """Return the columns of a table as separate contiguous arrays."""
    return tuple(np.ascontiguousarray(codes.T, dtype=np.int32))


def _holders(row_sets: RowSets | None, n_records: int, before: int) -> Holders:
    """Return the `Holders` of elements whose first `before` elements are not records.

    `n_records` is the number of elements that are records. Without row sets, the holders have empty arrays.
    """
    if row_sets is None:
        return _NO_HOLDERS
    start, row_set = row_sets.by_cell(n_records)
    last = np.full(row_sets.n_sets + 1, -1, dtype=np.int64)
    return Holders(np.concatenate([np.zeros(before, dtype=np.int64), start]), row_set, row_sets.people, last)


def _is_generalized(persons: Codes, released: Codes, tree: ValueTree) -> bool:
    """Return whether any released value is a group that contains some person's value.

    `persons` and `released` are columns of nodes of the tree of one attribute. A group does not contain itself.
    """
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
        People still queried. At first, these are all people; later, people who match two records or more.
    """

    order: Positions
    starts: Integers
    persons: Positions


def whole(elements: Elements) -> Split:
    """Return a `Split` of the elements by generalization pattern only.

    It contains all elements and all people.
    """
    order = np.argsort(elements.pattern, kind="stable").astype(np.int32)
    sizes = np.bincount(elements.pattern)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
    return Split(order, starts, np.arange(elements.n_persons, dtype=np.int32))


@compiled()
def split_groups(order: Positions, starts: Integers, column: Positions, count: Integers) -> tuple[Positions, Integers]:
    """Split every group of elements by one attribute.

    `column` has the value of the attribute of each element, shape (n_elements,). `count`, shape (n_values,), is a work
    array of zeros; it has zeros again on return. For `order` and `starts` see `Split`. The results are the `order` and
    `starts` of the new groups, whose elements also agree on the attribute. The parts of a group are in the order of
    their first elements.
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


@compiled()
def count_matches(
    order: Positions,
    starts: Integers,
    asks: Positions,
    records: Integers,
    holders: Holders,
    wanted: NDArray[np.bool_],
    matches: Integers,
) -> None:
    """Add each wanted person's number of matching records or people to `matches`.

    `matches` (n_persons,) is changed in place; the entries of other people, and of people without a query, are
    unchanged. Elements match if they are in the same group. With holders, these are the people behind the records of
    the person's group, each counted once. For `order` and `starts` see `Split`, for the next arguments `Elements`;
    `wanted` (n_persons,) selects the people.
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


def keep_groups(
    order: Positions, starts: Integers, asks: Positions, records: Integers, wanted: NDArray[np.bool_]
) -> tuple[Positions, Integers]:
    """Keep only groups with a query for a wanted person and at least one record.

    An element is a record, a query for a person, or both. Elements that are neither a record nor a query for a wanted
    person are dropped. The result is the `order` and `starts` of the kept groups. For the arguments `order` and
    `starts` see `Split`, for `asks` and `records` see `Elements`; `wanted` (n_persons,) selects people.
    """
    person, is_record = asks[order], records[order] > 0
    asking = (person >= 0) & wanted[person]
    useful = np.logical_or.reduceat(asking, starts[:-1]) & np.logical_or.reduceat(is_record, starts[:-1])
    kept = (asking | is_record) & np.repeat(useful, np.diff(starts))
    return order[kept], np.append(0, np.cumsum(np.add.reduceat(kept, starts[:-1], dtype=np.int64)[useful]))
