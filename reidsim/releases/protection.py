"""Published rules of protection: m-invariance (Xiao and Tao 2007) and HIPAA Safe Harbor (45 CFR 164.514(b)(2)).

m-invariance protects repeated releases. A record's group always has the same sensitive values. Each group has at least
m records with different sensitive values; the set of these values is the signature of the group. A record that is in
several releases is always in a group with the same signature. Therefore the intersection of its groups over time still
contains m sensitive values, each with a probability of at most 1/m. If no new record has a value that a signature
needs, a counterfeit record is added. The algorithm is from Section 4.3 of the paper: divide the remaining records into
buckets by signature, balance the buckets, assign new records, and split buckets into halves with the least total
perimeter.

Safe Harbor restricts ages and ZIP codes. For each value, the rule sets a minimum level of the attribute's hierarchy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_first
from reidsim.core.wording import whole_number
from reidsim.linkage.people import distinct_people
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
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
    """Add records until all sensitive values of a bucket have equally many records.

    That is the number of the bucket's most frequent value. `buckets` are changed in place. A missing record is moved
    from `new` if the remaining new records can then form groups, or if too many new records have its value for groups
    to be possible; see `_may_take`. Otherwise, it is a counterfeit. Returns the number of counterfeits added.

    Parameters
    ----------
    buckets : dict of tuple to list of list of int
        For each signature (sensitive values of a group), the staying records with each of its values. Staying records
        are in the previous release, too.
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
    """Move all new records to buckets, the most frequent sensitive values first.

    Each step takes m or more of the most frequent values, and the same number of records (one or more) of each; see
    `_portion`. The records go to the bucket of these values (its signature), which is created if it is missing. At the
    call, at most one in m of the new records may have the same value. For the parameters, see `_balance`.
    """
    while any(new.values()):
        frequent = sorted((value for value, rows in new.items() if rows), key=lambda value: (-len(new[value]), value))
        size, number = _portion([*(len(new[value]) for value in frequent), 0], m)
        signature = tuple(sorted(frequent[:size]))
        columns = buckets.setdefault(signature, [[] for _ in signature])
        for value, column in zip(signature, columns, strict=True):
            column += new[value][-number:]
            del new[value][-number:]


def _portion(counts: Sequence[int], m: int) -> tuple[int, int]:
    """Return how many sensitive values a bucket takes, and how many records of each.

    The number of values is the smallest, m or more, and the number of records then the largest, for which the records
    left over can form groups: at most one in m of them have the same value.

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
    """Split a bucket into n groups with one record of each sensitive value.

    The result is a list of n arrays of record numbers, shape (n_values,). Records of a group have close
    quasi-identifiers: the bucket is split into two halves, and each half again, until a half is one group. The second
    half has one more group if n is odd. A split sorts the records of each value by one attribute, with counterfeits
    last. The attribute is the one for which the extents of both halves have the least sum. The extent of a half is the
    sum over all attributes of the range among its records.

    Parameters
    ----------
    columns : ndarray of int64, shape (n_values, n)
        Numbers of the records with each sensitive value. If a value has fewer than n records, the other items are
        `COUNTERFEIT`.
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


# Ages from this one on form one category, ZIP codes keep at most this many digits, and areas with at most this many
# people are restricted.
TOP_AGE = 90
ZIP_DIGITS = 3
RESTRICTED_AT_MOST = 20_000


def safe_harbor_strategies(
    lattice: GeneralizationLattice,
    *,
    age: str | None,
    zip_code: str | None,
    zip3_population: Mapping[str, float] | None,
    row_of: NDArray[np.integer] | None = None,
) -> Strategies:
    """Return the least general strategy that Safe Harbor accepts for each record.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice over the records.
    age, zip_code : str or None
        Names of the attributes that hold ages in years and ZIP codes; None if there is none.
    zip3_population : mapping of str to float, or None
        Number of people in each three-digit ZIP code area; required if there are ZIP codes.
    row_of : ndarray of int, shape (n_records,), optional
        Row of each record in its file, counted from 0, for messages; default: the order of the records.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Number of the strategy: the lowest levels for age and ZIP code that the rule allows, and level 0 for the other
        attributes.

    Raises
    ------
    InputError
        If there are ZIP codes but no `zip3_population`, an age is not a whole number, the population of an area is
        unknown, or a hierarchy has no level that satisfies the rule for some value. The message names the first row
        with the value, if there is one.
    """
    levels = np.zeros((lattice.n_records, len(lattice.shape)), dtype=np.int64)
    if zip_code is not None and zip3_population is None:
        raise InputError("Safe Harbor for ZIP codes needs the population of each three-digit area")
    rows = np.arange(lattice.n_records) if row_of is None else row_of
    for name in filter(None, (age, zip_code)):
        position = lattice.domain.position(name)
        hierarchy, codes = lattice.hierarchies[position], lattice.codes[:, position]
        try:
            minimum = (
                minimum_age_levels(hierarchy, np.bincount(codes, minlength=hierarchy.attribute.size) > 0)
                if name == age
                else minimum_zip_levels(hierarchy, zip3_population or {})
            )
        except InputError as error:
            # The error names a value, or the area of several ZIP codes.
            found = str(error.found)
            named = [value.startswith(found) if found else not value for value in hierarchy.attribute.categories]
            having = rows[np.array(named)[codes]]
            raise error.located(where=f"row {having.min() + 1}") if len(having) else error from None
        levels[:, position] = minimum[codes]
    return np.asarray(levels @ np.array(lattice.strides))


def minimum_age_levels(hierarchy: Hierarchy, used: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return the lowest level that Safe Harbor allows for each age.

    All ages of 90 and more must be in one group, and its label must not be a single age. A missing age (empty category)
    is suppressed.

    Parameters
    ----------
    hierarchy : Hierarchy
        Hierarchy of ages in whole years.
    used : ndarray of bool, shape (n_values,), optional
        Whether each value occurs in records; other values need not be ages. All occur, if not given.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        Lowest level; 0 for ages below 90.

    Raises
    ------
    InputError
        If a value in use is not a whole number, or no level satisfies the rule for a value.
    """
    ages = {category: whole_number(category) for category in hierarchy.attribute.categories}
    for place, (category, age) in enumerate(ages.items()):
        if category and age is None and (used is None or used[place]):
            where, expected = f"attribute {hierarchy.attribute.name!r}", "a whole number, such as 48 or 90+"
            raise InputError("not a whole number", where=where, found=category, expected=expected)
    old = np.array([age is not None and age >= TOP_AGE for age in ages.values()])
    accepted = np.tile(~old, (hierarchy.n_levels, 1))
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        if len(together := np.unique(groups[old])) == 1:
            accepted[level, old] = not labels[together[0]].isdecimal()
    return _lowest_levels(hierarchy, accepted, f"a level with one group for all ages of {TOP_AGE} or more")


def minimum_zip_levels(hierarchy: Hierarchy, zip3_population: Mapping[str, float]) -> NDArray[np.int64]:
    """Return the lowest level that Safe Harbor allows for each ZIP code.

    The group of the code must contain every code of the same area (the first three digits), and no number in its label
    may have more than three digits. If the area has at most 20,000 people, the group must also contain all other such
    areas (and more than one area, or a label with fewer than three digits), or its areas must have more than 20,000
    people in sum. A suppressed code is always allowed. A missing code (empty category) is suppressed.

    Parameters
    ----------
    hierarchy : Hierarchy
        Hierarchy of ZIP codes.
    zip3_population : mapping of str to float
        Number of people in each three-digit area.

    Returns
    -------
    ndarray of int64, shape (n_values,)
        Lowest level of each ZIP code.

    Raises
    ------
    InputError
        If the population of an area is unknown, or no level satisfies the rule for a code.
    """
    areas = np.array([category[:ZIP_DIGITS] for category in hierarchy.attribute.categories])
    problem, where = "population of a three-digit ZIP code area unknown", f"attribute {hierarchy.attribute.name!r}"
    unknown = sorted({*areas.tolist()} - {"", *zip3_population})
    refuse_first(*((True, problem, where, area, None) for area in unknown))
    people = np.array([zip3_population[area] if area else 0 for area in areas.tolist()])
    restricted = (people <= RESTRICTED_AT_MOST) & (areas != "")
    # The people of an area are counted once, at the first of its codes.
    first_of_area = np.isin(np.arange(len(areas)), np.unique(areas, return_index=True)[1]) & (areas != "")
    accepted = np.zeros(hierarchy.groups.shape, dtype=np.bool_)
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        for number, label in enumerate(labels):
            group = groups == number
            has_whole_areas = not np.isin(areas[~group], areas[group]).any()
            digits = max((len(run) for run in re.findall("[0-9]+", label)), default=0)
            is_pooled = group[restricted].all() and (first_of_area[group].sum() > 1 or digits < ZIP_DIGITS)
            is_populous = people[group & first_of_area].sum() > RESTRICTED_AT_MOST
            fits = has_whole_areas and digits <= ZIP_DIGITS
            accepted[level, group] = label == SUPPRESSED or (fits & (~restricted[group] | is_pooled | is_populous))
    expected = "a level that keeps three-digit areas whole and pools areas with few people"
    return _lowest_levels(hierarchy, accepted, expected)


def zip3_population_of(population: Population, zip_code: str) -> dict[str, float]:
    """Return the number of people in each three-digit ZIP code area of a population.

    Numbers are by the three digits. `zip_code` is the name of the attribute with ZIP codes. A person with several rows
    in an area counts once there. People with a missing ZIP code are under "".
    """
    marginal = population.marginal([zip_code])
    codes = [code[:ZIP_DIGITS] for code in marginal.domain.attributes[0].categories]
    areas, area = np.unique(codes, return_inverse=True)
    of_cell, row_sets = area[marginal.cells[:, 0]], distinct_people(marginal)
    if row_sets is None:
        people = np.bincount(of_cell, weights=marginal.counts, minlength=len(areas))
    else:
        people = row_sets.in_classes(of_cell, len(areas)).astype(np.float64)
    return dict(zip(areas.tolist(), people.tolist(), strict=True))


def _lowest_levels(hierarchy: Hierarchy, accepted: NDArray[np.bool_], expected: str) -> NDArray[np.int64]:
    """Return the lowest accepted level of each value, shape (n_values,).

    A missing value must be suppressed. `accepted` is whether each level is accepted for each value, shape (n_levels,
    n_values); it is changed for the missing value, the empty category. `expected` describes an accepted level in
    messages.

    Raises
    ------
    InputError
        For the first value without such a level, with the level that is expected.
    """
    categories = np.array(hierarchy.attribute.categories)
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        accepted[level] = np.where(categories == "", np.array(labels)[groups] == SUPPRESSED, accepted[level])
    lacking = np.flatnonzero(~accepted.any(axis=0))
    if len(lacking):
        found = hierarchy.attribute.categories[lacking[0]]
        expected = expected if found else f"a level at which a missing value is {SUPPRESSED}"
        where = f"hierarchy of {hierarchy.attribute.name!r}, value {found!r}"
        raise InputError("the hierarchy cannot satisfy Safe Harbor", where=where, found=found, expected=expected)
    return np.asarray(accepted.argmax(axis=0))
