"""m-invariance of repeated releases (Xiao and Tao 2007).

A record's group always has the same sensitive values. Each group has at least m records with different sensitive
values; the set of these values is the signature of the group. A record that is in several releases is always in a group
with the same signature. Therefore the intersection of its groups over time still contains m sensitive values, each with
a probability of at most 1/m. If no new record has a value that a signature needs, a counterfeit record is added.

The algorithm is from Section 4.3 of the paper: divide the remaining records into buckets by signature, balance the
buckets, assign new records, and split buckets into halves with the least total perimeter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError
from reidsim.releases.lattice import GeneralizationLattice, Rows, Strategies

Integers = NDArray[np.int64]
Signature = tuple[int, ...]
# For each signature, the records with each of its values.
Buckets = dict[Signature, list[list[int]]]

# Takes the place of a record in a bucket.
COUNTERFEIT = -1


class Grouping(NamedTuple):
    """Groups of the records of a release.

    Attributes
    ----------
    group : ndarray of int64, shape (n,)
        Group of each record; -1 for records that are not in the release.
    signatures : list of tuple of int
        Sensitive values of each group (its signature), ascending.
    counterfeits : int
        Number of counterfeit records in all groups.
    """

    group: Integers
    signatures: list[Signature]
    counterfeits: int


def m_invariant_groups(
    schedule: NDArray[np.bool_], sensitive: Integers, codes: NDArray[np.integer], m: int
) -> list[Grouping]:
    """Return the groups of each release, in order.

    Parameters
    ----------
    schedule : ndarray of bool, shape (n_releases, n)
        Whether each record is in each release. A record that was not in the release before counts as new.
    sensitive : ndarray of int64, shape (n,)
        Sensitive value of each record, numbered from 0.
    codes : ndarray of int, shape (n, n_attributes)
        Quasi-identifiers. Records of a group have close codes, which count as numbers, relative to the range of each
        attribute.
    m : int
        Minimum number of different sensitive values in a group, 2 or more.

    Returns
    -------
    list of Grouping
        One per release: the group of each record, the signatures of the groups and the number of counterfeits.

    Raises
    ------
    InputError
        If more than one in m of the new records of a release, without those used to fill up groups, have the same
        sensitive value. Then no groups exist.
    """
    positions = codes / np.maximum(np.ptp(codes, axis=0), 1) if len(codes) else codes.astype(np.float64)
    signature_of, found = dict[int, Signature](), []
    for number, taking_part in enumerate(schedule):
        stays = taking_part & schedule[number - 1] if number else np.zeros_like(taking_part)
        new: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero(taking_part & ~stays).tolist():
            new[int(sensitive[row])].append(row)
        # Staying records by signature and, within it, by sensitive value.
        buckets: Buckets = {}
        for row in np.flatnonzero(stays).tolist():
            columns = buckets.setdefault(signature_of[row], [[] for _ in signature_of[row]])
            columns[signature_of[row].index(int(sensitive[row]))].append(row)
        counterfeits = _balance(buckets, new, m)
        total, most = sum(map(len, new.values())), max(map(len, new.values()), default=0)
        if most * m > total:
            problem = f"release {number + 1} cannot be m-invariant: too many new records have the same sensitive value"
            wrong, expected = f"{most:,} of {total:,}", f"at most 1 of {m} new records with the same sensitive value"
            raise InputError(problem, where="releases.m", found=wrong, expected=expected)
        _assign(buckets, new, m)
        group, signatures = np.full(len(sensitive), -1, dtype=np.int64), list[Signature]()
        for signature, columns in buckets.items():
            for rows in _split(np.array(columns), positions):
                real = rows[rows != COUNTERFEIT]
                group[real] = len(signatures)
                signatures.append(signature)
                signature_of.update(dict.fromkeys(real.tolist(), signature))
        found.append(Grouping(group, signatures, counterfeits))
    return found


def counterfeits_of(grouping: Grouping, sensitive: Integers) -> tuple[Rows, Integers]:
    """Return a record of the same group and the sensitive value of each counterfeit.

    Both arrays have shape (n_counterfeits,). A group has one counterfeit for each value of its signature that none of
    its records has; the record is the first one of the group.

    Parameters
    ----------
    grouping : Grouping
        Groups of the release.
    sensitive : ndarray of int64, shape (n,)
        Sensitive value of each record, in the release or not.
    """
    rows = np.flatnonzero(grouping.group >= 0)
    real = set(zip(grouping.group[rows].tolist(), sensitive[rows].tolist(), strict=True))
    groups, first = np.unique(grouping.group[rows], return_index=True)
    found = [
        (row, value)
        for row, group in sorted(zip(rows[first].tolist(), groups.tolist(), strict=True))
        for value in grouping.signatures[group]
        if (group, value) not in real
    ]
    like, value = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return like, value


def forms_of_groups(grouping: Grouping, lattice: GeneralizationLattice, cells: Rows) -> Strategies:
    """Return the least general strategy under which the records of a group are equal.

    The result has one strategy number per record, shape (n,), the same in a group; -1 for records without a group.

    Parameters
    ----------
    grouping : Grouping
        Groups of a release.
    lattice : GeneralizationLattice
        Lattice in which the last level of each attribute has a single group.
    cells : ndarray of int, shape (n,)
        Row of the lattice with the values of each record.

    Raises
    ------
    InputError
        If the records of a group differ even at the last level of an attribute.
    """
    members = grouping.group >= 0
    strategies, groups = np.where(members, 0, -1), grouping.group[members]
    for position, (hierarchy, stride) in enumerate(zip(lattice.hierarchies, lattice.strides, strict=True)):
        values = lattice.codes[cells[members], position]
        released = pd.DataFrame(hierarchy.groups[:, values].T).groupby(groups).transform("nunique").to_numpy() == 1
        if not released.any(axis=1).all():
            problem = "no level gives equal values to all records of an m-invariant group"
            where = f"attributes.{hierarchy.attribute.name}.hierarchy"
            raise InputError(problem, where=where, expected="a hierarchy that ends with suppression")
        strategies[members] += released.argmax(axis=1) * stride
    return strategies


def _balance(buckets: Buckets, new: dict[int, list[int]], m: int) -> int:
    """Fill up every sensitive value of a bucket to the most frequent one.

    `buckets` are changed in place. New records are used, and removed from `new`, where groups of the others still exist
    (`_may_take`), else counterfeits. Return the number of counterfeits added.

    Parameters
    ----------
    buckets : dict of tuple to list of list of int
        For each signature, the staying records with each of its values.
    new : dict of int to list of int
        New records by sensitive value.
    m : int
        Minimum number of different sensitive values in a group.
    """
    counterfeits = 0
    for signature, columns in buckets.items():
        most = max(map(len, columns))
        for value, column in zip(signature, columns, strict=True):
            while len(column) < most:
                column.append(new[value].pop() if _may_take(new, value, m) else COUNTERFEIT)
                counterfeits += column[-1] == COUNTERFEIT
    return counterfeits


def _may_take(new: dict[int, list[int]], value: int, m: int) -> bool:
    """Return whether a new record with this sensitive value may fill up a bucket.

    It may if at most one in m of the other new records then have the same value. If too many have one value already,
    only a record with such a value may. Without a new record with the value, the result is False. `new` has the new
    records by sensitive value.
    """
    if not new.get(value):
        return False
    counts = {each: len(rows) for each, rows in new.items()}
    most, total = max(counts.values()), sum(counts.values())
    if most * m > total:
        return counts[value] == most
    counts[value] -= 1
    return max(counts.values()) * m < total


def _assign(buckets: Buckets, new: dict[int, list[int]], m: int) -> None:
    """Move all new records to buckets, several of each of the most frequent values.

    At most one in m of the new records may have the same sensitive value. A new signature gets a new bucket. For the
    parameters, see `_balance`.
    """
    while any(new.values()):
        frequent = sorted((value for value, rows in new.items() if rows), key=lambda value: (-len(new[value]), value))
        counts = [*(len(new[value]) for value in frequent), 0]
        size, number = _portion(counts, m)
        signature = tuple(sorted(frequent[:size]))
        columns = buckets.setdefault(signature, [[] for _ in signature])
        for value, column in zip(signature, columns, strict=True):
            column += new[value][-number:]
            del new[value][-number:]


def _portion(counts: Sequence[int], m: int) -> tuple[int, int]:
    """Return the number of values to take for a bucket, and of records of each.

    Values are sensitive values. It is the smallest number of values, m or more, and for it the largest number of
    records, such that groups of the other records exist: at most one in m of them have the same value.

    `counts` are the numbers of records of each value, in falling order, with a 0 at the end.
    """
    total = sum(counts)
    for size in range(m, len(counts)):
        # At most 1/m of the remaining records may have the first value, or the first value that is not taken.
        for number in range(counts[size - 1], 0, -1):
            left = total - size * number
            if max(counts[0] - number, counts[size]) * m <= left:
                return size, number
    raise AssertionError("at most one in m of the records have one value")


def _split(columns: Integers, positions: NDArray[np.float64]) -> list[Integers]:
    """Split a balanced bucket (n_values, n) into n groups with a record per value.

    Groups consist of records with close quasi-identifiers: the bucket is halved again and again, each time along the
    attribute for which the extents of both halves have the least sum. Each group has shape (n_values,).

    Parameters
    ----------
    columns : ndarray of int64, shape (n_values, n)
        Records with each sensitive value; `COUNTERFEIT` in place of a missing one.
    positions : ndarray of float64, shape (n_records, n_attributes)
        Quasi-identifiers of all records, divided by the range of each attribute.
    """
    if columns.shape[1] <= 1:
        return [columns[:, at] for at in range(columns.shape[1])]

    def extent(rows: Integers) -> float:
        real = rows[rows != COUNTERFEIT]
        return float(np.ptp(positions[real], axis=0).sum()) if len(real) else 0.0

    found = []
    for place in positions.T:
        # Counterfeits have no position; they fill the remaining places.
        order = np.argsort(np.where(columns == COUNTERFEIT, np.inf, place[columns]), axis=1, kind="stable")
        found.append(np.split(np.take_along_axis(columns, order, axis=1), [columns.shape[1] // 2], axis=1))
    best = min(found, key=lambda halves: sum(map(extent, halves)))
    return [group for each in best for group in _split(each, positions)]
