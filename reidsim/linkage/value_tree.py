"""Value trees: inclusion of values, for records generalized to different levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, listed, not_among, require_distinct
from reidsim.populations.domain import Attribute, Codes
from reidsim.releases.hierarchy import Hierarchy

# Parent of a node without a node above it.
TOP = -1


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
        """Return the tree of named groups, whose members are values or other groups.

        Parameters
        ----------
        attribute_name : str
        groups : mapping of str to sequence of str
            Members of each group, such as ``{"Asian or Pacific Islander": ["Asian", "Pacific Islander"]}``. A member
            that is not the name of a group is a value.

        Raises
        ------
        InputError
            If there is no value, a value or group is in two groups, or groups contain each other.
        """
        where = f"value tree of {attribute_name!r}"
        members = [member for group in groups.values() for member in group]
        values = [member for member in dict.fromkeys(members) if member not in groups]
        if not values:
            raise InputError("the groups contain no value", where=where, found=listed(groups) or "no group")
        labels = (*values, *groups)
        number = {label: node for node, label in enumerate(labels)}
        parent = np.full(len(labels), TOP, dtype=np.int32)
        for group, below in groups.items():
            for member in below:
                if parent[number[member]] not in (TOP, number[group]):
                    hint = f"it is in {labels[parent[number[member]]]!r} and in {group!r}"
                    raise InputError("value in two groups", where=where, found=member, hint=hint)
                parent[number[member]] = number[group]
        return cls(Attribute(attribute_name, tuple(values)), labels, parent)

    @classmethod
    def from_hierarchy(cls, hierarchy: Hierarchy) -> ValueTree:
        """Return the tree of a hierarchy's levels.

        A group with the same values and the same label as a group or value of the level below is the same node.

        Raises
        ------
        InputError
            If two groups, or a value and a group, have the same label in any other case.
        """
        labels = list(hierarchy.attribute.categories)
        parent: list[int] = [TOP] * len(labels)
        below = list(range(len(labels)))
        for level in range(1, hierarchy.n_levels):
            parents = hierarchy.parents(level - 1)
            only_child = np.bincount(parents, minlength=hierarchy.n_groups[level]) == 1
            node_of = [-1] * hierarchy.n_groups[level]
            for group, node in enumerate(below):
                above = int(parents[group])
                label = hierarchy.labels[level][above]
                if only_child[above] and label == labels[node]:
                    node_of[above] = node
                    continue
                if node_of[above] < 0:
                    node_of[above] = len(labels)
                    labels.append(label)
                    parent.append(TOP)
                parent[node] = node_of[above]
            below = node_of
        return cls(hierarchy.attribute, tuple(labels), np.array(parent, dtype=np.int32))

    @property
    def n_nodes(self) -> int:
        """Number of values and groups."""
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
        """Number of nodes above each node, shape (n_nodes,)."""
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
