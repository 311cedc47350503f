"""The HIPAA Safe Harbor rule for ages and ZIP codes, as minimum levels of a hierarchy (45 CFR 164.514(b)(2))."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import Hierarchy
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
) -> Strategies:
    """Return for each record the least generalization that Safe Harbor accepts.

    Parameters
    ----------
    lattice : GeneralizationLattice
    age, zip_code : str or None
        The attributes that hold ages in years and ZIP codes; None if there is none.
    zip3_population : mapping of str to float
        People living in each three-digit ZIP code area; needed if there are ZIP codes.

    Returns
    -------
    ndarray of int64, shape (n_records,)

    Raises
    ------
    InputError
        If a hierarchy has no level that satisfies the rule for some value.
    """
    levels = np.zeros((lattice.n_records, len(lattice.shape)), dtype=np.int64)
    minimum = {}
    if age is not None:
        minimum[age] = minimum_age_levels(lattice.hierarchies[lattice.domain.position(age)])
    if zip_code is not None:
        if zip3_population is None:
            raise InputError("Safe Harbor for ZIP codes needs the population of each three-digit area")
        hierarchy = lattice.hierarchies[lattice.domain.position(zip_code)]
        minimum[zip_code] = minimum_zip_levels(hierarchy, zip3_population)
    for name, by_value in minimum.items():
        position = lattice.domain.position(name)
        levels[:, position] = by_value[lattice.codes[:, position]]
    return np.asarray(levels @ np.array(lattice.strides))


def minimum_age_levels(hierarchy: Hierarchy) -> NDArray[np.int64]:
    """Return per age the lowest level at which all ages of 90 and more are one category; 0 for younger ages."""
    old = np.array(whole_numbers(hierarchy.attribute)) >= TOP_AGE
    minimum = np.zeros(hierarchy.attribute.size, dtype=np.int64)
    for value in np.flatnonzero(old):
        together = [bool((level[old] == level[value]).all()) for level in hierarchy.groups]
        minimum[value] = _first(together, hierarchy, int(value), f"a level that joins all ages of {TOP_AGE} and more")
    return minimum


def minimum_zip_levels(hierarchy: Hierarchy, zip3_population: Mapping[str, float]) -> NDArray[np.int64]:
    """Return per ZIP code the lowest level that tells no more than Safe Harbor allows.

    The group must hold every code with the same first three digits; if their area has at most 20,000 people, it
    must also hold all other such areas, or more than 20,000 people.
    """
    areas = np.array([category[:ZIP_DIGITS] for category in hierarchy.attribute.categories])
    unknown = sorted(set(areas) - set(zip3_population))
    if unknown:
        raise InputError(
            "population of a three-digit ZIP code area unknown",
            where=f"attribute {hierarchy.attribute.name!r}",
            found=unknown[0],
        )
    people = np.array([zip3_population[area] for area in areas])
    restricted = people <= RESTRICTED_AT_MOST
    # Every area's people are counted once, with the first of its codes.
    first_of_area = np.zeros(len(areas), dtype=np.bool_)
    first_of_area[np.unique(areas, return_index=True)[1]] = True
    minimum = np.zeros(len(areas), dtype=np.int64)
    for value in range(len(areas)):
        accepted = []
        for level in hierarchy.groups:
            group = level == level[value]
            whole_areas = not np.isin(areas[~group], areas[group]).any()
            crowded = people[group & first_of_area].sum() > RESTRICTED_AT_MOST
            pooled = bool(group[restricted].all()) if restricted[value] else True
            accepted.append(bool(whole_areas and (pooled or crowded)) or bool(group.all()))
        minimum[value] = _first(accepted, hierarchy, value, "a level with whole three-digit areas, small ones pooled")
    return minimum


def zip3_population_of(population: Population, zip_code: str) -> dict[str, float]:
    """Count the people of each three-digit ZIP code area in a population."""
    marginal = population.marginal([zip_code])
    codes = marginal.domain.attributes[0].categories
    people: dict[str, float] = dict.fromkeys((code[:ZIP_DIGITS] for code in codes), 0.0)
    for (code,), count in zip(marginal.cells.tolist(), marginal.counts.tolist(), strict=True):
        people[codes[code][:ZIP_DIGITS]] += count
    return people


def _first(accepted: list[bool], hierarchy: Hierarchy, value: int, expected: str) -> int:
    if not any(accepted):
        raise InputError(
            "the hierarchy cannot satisfy Safe Harbor",
            where=f"hierarchy of {hierarchy.attribute.name!r}, value {hierarchy.attribute.categories[value]!r}",
            expected=expected,
        )
    return accepted.index(True)
