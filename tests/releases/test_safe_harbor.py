"""The Safe Harbor rule of 45 CFR 164.514(b)(2), on hierarchies written by hand."""

import numpy as np
import pytest

from reidsim.core.errors import InputError
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import SUPPRESSED, Hierarchy, interval_levels, prefix_levels
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.protection import (
    minimum_age_levels,
    minimum_zip_levels,
    safe_harbor_strategies,
    zip3_population_of,
)

# Two codes of every area, which differ in the fourth digit.
ZIPS = ("37201", "37231", "38001", "38051", "42201", "42223", "42602", "42650")
PEOPLE = {"372": 600_000, "380": 20_001, "422": 20_000, "426": 16}


def age_hierarchy(widths=(5, 15, 30, 60), oldest=120):
    age = Attribute("age", tuple(map(str, range(oldest + 1))))
    return Hierarchy.from_labels(age, [*interval_levels(age, widths), [SUPPRESSED] * age.size])


def zip_hierarchy(digits=(4, 3, 2, 1), pool=(), suppress=True, zips=ZIPS):
    attribute = Attribute("zip", zips)
    levels = prefix_levels(attribute, digits, pool=pool)
    return Hierarchy.from_labels(attribute, levels + ([[SUPPRESSED] * attribute.size] if suppress else []))


def test_ages_below_90_may_stay_and_older_ones_rise_to_the_level_that_joins_them_all():
    assert minimum_age_levels(age_hierarchy()).tolist() == [0] * 90 + [3] * 31


def test_a_hierarchy_that_never_joins_the_oldest_cannot_satisfy_the_rule():
    age = Attribute("age", tuple(map(str, range(121))))
    hierarchy = Hierarchy.from_labels(age, interval_levels(age, [5, 15]))
    with pytest.raises(InputError, match=r"hierarchy of 'age', value '90': the hierarchy cannot satisfy Safe Harbor"):
        minimum_age_levels(hierarchy)


def test_only_values_in_use_must_be_ages():
    age = Attribute("age", ("48", "young", "95"))
    hierarchy = Hierarchy.from_labels(age, [["below 90", "below 90", "90+"], ["*"] * 3])
    assert minimum_age_levels(hierarchy, np.array([True, False, True])).tolist() == [0, 0, 1]
    for used in (None, np.array([True, True, False])):
        with pytest.raises(InputError, match="attribute 'age': not a whole number; found 'young'"):
            minimum_age_levels(hierarchy, used)


def by_area(hierarchy, people):
    """Return the minimum level of each area, which its codes must share."""
    levels = {}
    for code, level in zip(hierarchy.attribute.categories, minimum_zip_levels(hierarchy, people).tolist(), strict=True):
        assert levels.setdefault(code[:3], level) == level
    return levels


def test_zip_codes_rise_to_three_digits_and_sparse_areas_to_where_they_are_pooled():
    pooled = zip_hierarchy(pool=["422", "426"])
    assert by_area(pooled, PEOPLE) == {"372": 2, "380": 2, "422": 2, "426": 2}


def test_a_sparse_area_alone_is_not_enough_at_three_digits():
    # 42***: 20,016 people, so more than 20,000 share the shorter prefix.
    assert by_area(zip_hierarchy(), PEOPLE) == {"372": 2, "380": 2, "422": 3, "426": 3}
    # With fewer people 42*** still holds both sparse areas, which is the condition for pooling.
    assert by_area(zip_hierarchy(), {**PEOPLE, "422": 100}) == {"372": 2, "380": 2, "422": 3, "426": 3}
    # With a third sparse area elsewhere, only suppression suffices for the two; 3**** has enough people.
    elsewhere = {**PEOPLE, "422": 100, "380": 50}
    assert by_area(zip_hierarchy(), elsewhere) == {"372": 2, "380": 4, "422": 5, "426": 5}


def test_a_group_must_hold_whole_areas_whatever_its_label():
    attribute = Attribute("zip", ("37201", "37231", "38001", "38051"))
    cut = Hierarchy.from_labels(attribute, [["north", "north", "north", "south"], ["*"] * 4])
    assert minimum_zip_levels(cut, {"372": 600_000, "380": 600_000}).tolist() == [2, 2, 2, 2]
    whole = Hierarchy.from_labels(attribute, [["north", "north", "south", "south"], ["*"] * 4])
    assert minimum_zip_levels(whole, {"372": 600_000, "380": 600_000}).tolist() == [1, 1, 1, 1]


def test_a_missing_code_is_no_area_to_be_pooled_with():
    attribute = Attribute("zip", ("", "42601"))
    hierarchy = Hierarchy.from_labels(attribute, [["426", "426"], ["*", "*"]])
    assert minimum_zip_levels(hierarchy, {"426": 16})[1] == 2


def test_a_hierarchy_that_keeps_a_sparse_area_apart_cannot_satisfy_the_rule():
    hierarchy = zip_hierarchy(digits=(4, 3), suppress=False)
    with pytest.raises(InputError, match=r"hierarchy of 'zip', value '42201': the hierarchy cannot satisfy"):
        minimum_zip_levels(hierarchy, PEOPLE)


def test_an_area_whose_people_are_unknown_is_named():
    with pytest.raises(InputError, match=r"population of a three-digit ZIP code area unknown; found '426'"):
        minimum_zip_levels(zip_hierarchy(), {"372": 1, "380": 1, "422": 1})


def study(records):
    ages, zips = age_hierarchy(), zip_hierarchy(pool=["422", "426"])
    sex = Attribute("sex", ("F", "M"))
    hierarchies = (ages, Hierarchy.from_labels(sex, [["*", "*"]]), zips)
    domain = Domain((ages.attribute, sex, zips.attribute))
    frame = [dict(zip(domain.names, record, strict=True)) for record in records]
    codes = np.array([[a.categories.index(row[a.name]) for a in domain.attributes] for row in frame], dtype=np.int32)
    return GeneralizationLattice(hierarchies, codes)


def test_a_record_must_meet_the_rule_in_every_attribute_and_in_no_other():
    lattice = study([("48", "F", "37231"), ("90", "M", "42602"), ("120", "F", "38001")])
    strategies = safe_harbor_strategies(lattice, age="age", zip_code="zip", zip3_population=PEOPLE)
    assert [lattice.levels(strategy) for strategy in strategies.tolist()] == [(0, 0, 2), (3, 0, 2), (3, 0, 2)]


def test_zip_codes_need_the_people_of_their_areas():
    with pytest.raises(InputError, match="needs the population of each three-digit area"):
        safe_harbor_strategies(study([("48", "F", "37231")]), age=None, zip_code="zip", zip3_population=None)


def test_people_of_areas_are_added_up_from_a_population():
    domain = Domain((Attribute("age", ("1", "2")), Attribute("zip", ("37201", "37203", "38001", "42223"))))
    codes = np.array([[0, 0], [1, 0], [1, 1], [0, 2]], dtype=np.int32)
    population = Population.from_records(domain, codes, np.array([5, 7, 11, 13]))
    # An area of the domain without residents counts as empty.
    assert zip3_population_of(population, "zip") == {"372": 23, "380": 13, "422": 0}
