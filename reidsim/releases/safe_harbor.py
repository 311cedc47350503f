"""The HIPAA Safe Harbor rule for ages and ZIP codes, as minimum levels of a hierarchy (45 CFR 164.514(b)(2))."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.linkage.people import distinct_people
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy
from reidsim.releases.hierarchy_rules import whole_numbers
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Strategies

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
    """Return for each record the least generalization that Safe Harbor accepts.

    Parameters
    ----------
    lattice : GeneralizationLattice
    age, zip_code : str or None
        The attributes that hold ages in years and ZIP codes; None if there is none.
    zip3_population : mapping of str to float
        People living in each three-digit ZIP code area; needed if there are ZIP codes.
    row_of : ndarray of int, shape (n_records,), optional
        Row of each record in its file, counted from 0, for messages.

    Returns
    -------
    ndarray of int64, shape (n_records,)

    Raises
    ------
    InputError
        If a hierarchy has no level that satisfies the rule for some value.
    """
    levels = np.zeros((lattice.n_records, len(lattice.shape)), dtype=np.int64)
    if zip_code is not None and zip3_population is None:
        raise InputError("Safe Harbor for ZIP codes needs the population of each three-digit area")
    for name in (age, zip_code):
        if name is None:
            continue
        position = lattice.domain.position(name)
        hierarchy = lattice.hierarchies[position]
        used = np.bincount(lattice.codes[:, position], minlength=hierarchy.attribute.size) > 0
        try:
            if name == age:
                by_value = minimum_age_levels(hierarchy, used)
            else:
                by_value = minimum_zip_levels(hierarchy, zip3_population or {})
        except _UnfitValueError as error:
            rows = np.arange(lattice.n_records) if row_of is None else row_of
            having = rows[lattice.codes[:, position] == error.value]
            raise error.located(where=f"row {having.min() + 1}") if len(having) else error from None
        levels[:, position] = by_value[lattice.codes[:, position]]
    return np.asarray(levels @ np.array(lattice.strides))


def minimum_age_levels(hierarchy: Hierarchy, used: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return per age the lowest level that tells no more than Safe Harbor allows; 0 for ages below 90.

    All ages of 90 and more must be in one category, and its label must not be a single age. A missing age is
    suppressed.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of ages in whole years.
    used : ndarray of bool, shape (n_values,), optional
        Values that some record has; of the others, those that are no age are passed over.

    Returns
    -------
    ndarray of int64, shape (n_values,)
    """
    present = _present(hierarchy)
    old = np.zeros(len(present), dtype=np.bool_)
    for value in np.flatnonzero(present):
        try:
            old[value] = whole_numbers(hierarchy.attribute, [hierarchy.attribute.categories[value]])[0] >= TOP_AGE
        except InputError as error:
            if used is None or used[value]:
                raise _UnfitValueError(error, int(value)) from None
    minimum = np.zeros(len(present), dtype=np.int64)
    for value in np.flatnonzero(~present):
        minimum[value] = _suppressed(hierarchy, int(value))
    for value in np.flatnonzero(old):
        accepted = [
            bool((level[old] == level[value]).all()) and not labels[level[value]].isdecimal()
            for level, labels in zip(hierarchy.groups, hierarchy.labels, strict=True)
        ]
        minimum[value] = _first(accepted, hierarchy, int(value), f"a level that joins all ages of {TOP_AGE} and more")
    return minimum


def minimum_zip_levels(hierarchy: Hierarchy, zip3_population: Mapping[str, float]) -> NDArray[np.int64]:
    """Return per ZIP code the lowest level that tells no more than Safe Harbor allows.

    The group must hold every code with the same first three digits, and its label must not tell a fourth one, however
    many codes of the area there are. If the area has at most 20,000 people, the group must also hold all other such
    areas (and more than one area, or a label that tells less than three digits), or areas with more than 20,000 people.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of ZIP codes.
    zip3_population : mapping of str to float
        People living in each three-digit area.

    Returns
    -------
    ndarray of int64, shape (n_values,)
    """
    areas = np.array([category[:ZIP_DIGITS] for category in hierarchy.attribute.categories])
    present = _present(hierarchy)
    unknown = sorted(set(areas[present].tolist()) - set(zip3_population))
    if unknown:
        problem, where = "population of a three-digit ZIP code area unknown", f"attribute {hierarchy.attribute.name!r}"
        raise _UnfitValueError(InputError(problem, where=where, found=unknown[0]), areas.tolist().index(unknown[0]))
    people = np.array([zip3_population[area] if area else 0 for area in areas.tolist()])
    restricted = (people <= RESTRICTED_AT_MOST) & present
    # Every area's people are counted once, with the first of its codes.
    first_of_area = np.zeros(len(areas), dtype=np.bool_)
    first_of_area[np.unique(areas, return_index=True)[1]] = True
    first_of_area &= present
    accepted: list[list[bool]] = [[] for _ in areas]
    for level, labels in zip(hierarchy.groups, hierarchy.labels, strict=True):
        for number, label in enumerate(labels):
            group = level == number
            whole_areas = not np.isin(areas[~group], areas[group]).any()
            told = max((len(run) for run in re.findall("[0-9]+", label)), default=0)
            several = bool(first_of_area[group].sum() > 1) or told < ZIP_DIGITS
            pooled = bool(group[restricted].all()) and several
            crowded = bool(people[group & first_of_area].sum() > RESTRICTED_AT_MOST)
            tells_little = whole_areas and told <= ZIP_DIGITS
            for value in np.flatnonzero(group):
                fits = tells_little and (not restricted[value] or pooled or crowded)
                accepted[value].append(fits or label == SUPPRESSED)
    expected = "a level with whole three-digit areas, small ones pooled"
    return np.array(
        [
            _first(levels, hierarchy, value, expected) if present[value] else _suppressed(hierarchy, value)
            for value, levels in enumerate(accepted)
        ]
    )


def zip3_population_of(population: Population, zip_code: str) -> dict[str, float]:
    """Count the people of each three-digit ZIP code area in a population."""
    marginal = population.marginal([zip_code])
    codes = [code[:ZIP_DIGITS] for code in marginal.domain.attributes[0].categories]
    areas, area = np.unique(codes, return_inverse=True)
    of_cell, row_sets = area[marginal.cells[:, 0]], distinct_people(marginal)
    if row_sets is None:
        people = np.bincount(of_cell, weights=marginal.counts, minlength=len(areas))
    else:
        people = row_sets.in_classes(of_cell, len(areas)).astype(np.float64)
    return dict(zip(areas.tolist(), people.tolist(), strict=True))


class _UnfitValueError(InputError):
    """A value that the rule cannot be applied to.

    Parameters
    ----------
    error : InputError
        What is wrong with it.
    value : int
        Its code.
    """

    def __init__(self, error: InputError, value: int) -> None:
        super().__init__(
            error.problem, where=error.where, found=error.found, expected=error.expected, hint=error.hint
        )  # fmt: skip
        self.value = value


def _present(hierarchy: Hierarchy) -> NDArray[np.bool_]:
    """Tell which values are not missing, shape (n_values,)."""
    return np.array([category != "" for category in hierarchy.attribute.categories])


def _suppressed(hierarchy: Hierarchy, value: int) -> int:
    """Return the lowest level that suppresses a value."""
    suppressed = [
        labels[level[value]] == SUPPRESSED for level, labels in zip(hierarchy.groups, hierarchy.labels, strict=True)
    ]
    return _first(suppressed, hierarchy, value, f"a level at which a missing value is {SUPPRESSED}")


def _first(accepted: list[bool], hierarchy: Hierarchy, value: int, expected: str) -> int:
    if not any(accepted):
        error = InputError(
            "the hierarchy cannot satisfy Safe Harbor",
            where=f"hierarchy of {hierarchy.attribute.name!r}, value {hierarchy.attribute.categories[value]!r}",
            expected=expected,
        )
        raise _UnfitValueError(error, value)
    return accepted.index(True)
