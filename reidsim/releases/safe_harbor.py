"""HIPAA Safe Harbor rule for ages and ZIP codes, as minimum levels of a hierarchy.

The rule is in 45 CFR 164.514(b)(2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_first
from reidsim.core.wording import whole_number
from reidsim.linkage.people import distinct_people
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.lattice import GeneralizationLattice, Strategies

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
        suppressed = np.array(labels)[groups] == SUPPRESSED
        accepted[level] = np.where(categories == "", suppressed, accepted[level])
    lacking = np.flatnonzero(~accepted.any(axis=0))
    if len(lacking):
        found = hierarchy.attribute.categories[lacking[0]]
        expected = expected if found else f"a level at which a missing value is {SUPPRESSED}"
        where = f"hierarchy of {hierarchy.attribute.name!r}, value {found!r}"
        raise InputError("the hierarchy cannot satisfy Safe Harbor", where=where, found=found, expected=expected)
    return np.asarray(accepted.argmax(axis=0))
