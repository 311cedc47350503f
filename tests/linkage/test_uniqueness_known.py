"""Uniqueness that is counted or given, and estimators by name."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import FixedUniqueness
from reidsim.linkage.uniqueness.estimators import estimate_uniqueness
from reidsim.linkage.uniqueness.ewens import ewens_uniqueness
from reidsim.linkage.uniqueness.known import true_uniqueness
from reidsim.linkage.uniqueness.pitman import pitman_uniqueness
from reidsim.linkage.uniqueness.pitman_likelihood import probability_of_staying_unique
from reidsim.linkage.uniqueness.snb import snb_uniqueness
from reidsim.linkage.uniqueness.zayatz import zayatz_uniqueness
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.populations.registry import draw_registry

DOMAIN = Domain((Attribute("a", ("a0", "a1", "a2")), Attribute("b", ("b0", "b1", "b2", "b3"))))
SAMPLE = GroupFrequencies.from_mapping({1: 20, 2: 5, 6: 1})

people_lists = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=25)


def population_of(people, name="population", domain=DOMAIN):
    return Population.from_records(domain, np.array(people, dtype=np.int32), name=name)


@given(people=people_lists, data=st.data())
def test_the_truth_is_that_of_a_count(people, data):
    chosen = data.draw(st.lists(st.sampled_from(range(len(people))), min_size=1, unique=True))
    sampled = [people[i] for i in chosen]
    everywhere, here = Counter(people), Counter(sampled)
    alone = [cell for cell in here if here[cell] == 1]
    truth = true_uniqueness(population_of(people), population_of(sampled))
    assert truth.population_size == len(people)
    assert truth.sample_size == len(sampled)
    assert truth.sample_uniques == len(alone)
    assert truth.expected_uniques == sum(count == 1 for count in everywhere.values())
    p = sum(everywhere[cell] == 1 for cell in alone) / len(alone) if alone else 0
    assert truth.p_unique_given_sample_unique == truth.low == truth.high == pytest.approx(p)
    assert truth.level == 1
    assert truth.note == ("" if alone else "no record of the sample is unique")


def test_the_order_of_cells_does_not_matter():
    cells = np.array([[2, 3], [0, 0], [1, 1]], dtype=np.int32)
    population = Population(DOMAIN, cells, np.array([1, 1, 5]))
    sample = Population(DOMAIN, cells[[1, 2, 0]], np.array([1, 1, 1]))
    truth = true_uniqueness(population, sample)
    assert (truth.expected_uniques, truth.p_unique_given_sample_unique) == (2, pytest.approx(2 / 3))


@pytest.mark.deep
def test_truth_of_populations_that_follow_pitman_is_what_the_formula_says():
    theta, a, records, size, replicates = 30.0, 0.4, 100, 1000, 60
    domain = Domain((Attribute("group", tuple(map(str, range(size)))),))
    rng = np.random.default_rng(8)
    shares = []
    for _ in range(replicates):
        group_of, sizes = [0], [1]
        for n in range(1, size):
            founds = rng.random() * (theta + n) < theta + len(sizes) * a
            weights = np.array(sizes) - a
            group = len(sizes) if founds else int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum()))
            if founds:
                sizes.append(0)
            sizes[group] += 1
            group_of.append(group)
        people = [(group,) for group in group_of]
        # Records come in no special order, so the first ones are a random sample.
        truth = true_uniqueness(population_of(people, domain=domain), population_of(people[:records], domain=domain))
        shares.append(truth.p_unique_given_sample_unique)
    expected = probability_of_staying_unique(theta + a, 1 - a, records, size)
    error = np.std(shares, ddof=1) / math.sqrt(replicates)
    # Four standard errors; the mean of ratios is off by less than a fifth of one here.
    assert np.mean(shares) == pytest.approx(expected, abs=4 * error)
    assert error < 0.02


# Of a sample of one in a thousand about 55 people are known to be unique, so the truth itself differs by 13 % from draw
# to draw: its tolerance has two of these besides the tenth that the model is off.
@pytest.mark.parametrize(("share", "tolerance"), [(0.001, 0.37), (0.1, 0.25), (0.5, 0.1)])
def test_pitman_is_near_the_truth_of_a_census_population(tennessee, share, tolerance):
    sample = draw_registry(tennessee, round(share * tennessee.total), np.random.default_rng(4))
    truth = true_uniqueness(tennessee, sample)
    estimate = pitman_uniqueness(GroupFrequencies.from_group_sizes(sample.counts), int(tennessee.total))
    assert estimate.expected_uniques == pytest.approx(truth.expected_uniques, rel=tolerance)
    assert estimate.p_unique_given_sample_unique == pytest.approx(truth.p_unique_given_sample_unique, rel=tolerance)


def test_people_whom_the_population_lacks_are_named():
    population = population_of([(0, 0), (0, 0), (2, 1)])
    with pytest.raises(InputError) as error:
        true_uniqueness(population, population_of([(0, 0), (2, 1), (2, 1)]))
    assert str(error.value) == (
        "a = a2, b = b1: the sample has people whom the population lacks; found 2; expected at most 1"
    )
    with pytest.raises(InputError, match=r"a = a2, b = b3: .*; found 1; expected at most 0"):
        true_uniqueness(population, population_of([(2, 3)]))


def test_a_sample_over_other_attributes_is_rejected():
    other = population_of([(0,)], name="sample", domain=DOMAIN.select(["a"]))
    with pytest.raises(InputError, match=r"^sample: the sample and the population have different attributes"):
        true_uniqueness(population_of([(0, 0)]), other)


def test_expected_counts_have_no_uniques():
    cells = np.array([[0, 0]], dtype=np.int32)
    expected = Population(DOMAIN, cells, np.array([1.0]), name="expected")
    with pytest.raises(InputError, match=r"^expected: uniques are not known from expected counts"):
        true_uniqueness(expected, population_of([(0, 0)]))


def test_a_given_probability_stands_for_an_estimate():
    given_ = FixedUniqueness(0.3)
    assert given_.p_unique_given_sample_unique == given_.low == given_.high == 0.3


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_a_given_number_must_be_a_probability(value):
    with pytest.raises(InputError, match="p_unique_given_sample_unique: not a probability"):
        FixedUniqueness(value)


def test_methods_go_by_name():
    rng = np.random.default_rng
    assert estimate_uniqueness(SAMPLE, 500) == pitman_uniqueness(SAMPLE, 500)
    assert estimate_uniqueness(SAMPLE, 500, method="ewens", level=0.9) == ewens_uniqueness(SAMPLE, 500, level=0.9)
    assert estimate_uniqueness(SAMPLE, 500, method="snb") == snb_uniqueness(SAMPLE, 500)
    by_name = estimate_uniqueness(SAMPLE, 500, method="zayatz", rng=rng(1))
    assert by_name == zayatz_uniqueness(SAMPLE, 500, rng=rng(1))


def test_other_names_are_rejected():
    with pytest.raises(InputError) as error:
        estimate_uniqueness(SAMPLE, 500, method="pitmann")
    assert str(error.value) == (
        "method: no such method; found 'pitmann'; expected one of pitman, ewens, snb, zayatz (did you mean 'pitman'?)"
    )


def test_a_bootstrap_without_a_generator_is_rejected():
    with pytest.raises(InputError, match="rng: the bootstrap needs a random generator"):
        estimate_uniqueness(SAMPLE, 500, method="zayatz")
