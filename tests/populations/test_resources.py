"""External resources: listed people, missing values, and the separate truth file."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import scipy
from hypothesis import given
from hypothesis import strategies as st

from reidsim.populations.population import Attribute, Domain, Individuals, Making
from reidsim.populations.resources import ResourceRecipe, draw_people, with_values_missing

DOMAIN = Domain(
    (Attribute("person", tuple(map(str, range(5000)))), Attribute("sex", ("F", "M")), Attribute("zip", tuple("abcd")))
)


def world(n):
    """Return people whose first attribute is unique."""
    codes = np.column_stack([np.arange(n), np.arange(n) % 2, np.arange(n) % 4])
    return Individuals(DOMAIN, codes.astype(np.int32), name="world")


def generator(seed=1):
    return np.random.default_rng(np.random.SeedSequence(seed))


def drawn(n, seed=1, **keys):
    recipe = ResourceRecipe(kind="resource", population="world", seed=0, **keys)
    return recipe.make(Making(Path(), "file", seed, other=lambda *_: world(n)))


@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 1000),
    share=st.floats(0, 1),
    attributes=st.sampled_from([("person", "zip"), ("zip", "person"), ("person",), None]),
    data=st.data(),
)
def test_a_record_is_about_one_person_and_says_nothing_else(n, seed, share, attributes, data):
    size = data.draw(st.integers(1, n))
    resource = drawn(n, seed, size=size, attributes=attributes, missing={"person": share})
    assert resource.records.n_people == size == len(set(resource.person.tolist()))
    assert resource.coverage == size / n
    assert resource.records.domain.names == (attributes or DOMAIN.names)
    names = resource.records.column("person")
    seen = names >= 0
    assert (names[seen] == resource.person[seen]).all()
    assert (~seen).sum() == int(size * share)
    record = resource.record_of()
    assert (record[resource.person] == np.arange(size)).all()
    assert (record >= 0).sum() == size
    assert (drawn(n, seed, size=size).person == resource.person).all()


def test_everybody_is_listed_by_their_own_chance():
    n, runs = 4000, 20
    people = world(n)
    chance = np.where(people.column("sex") == 1, 0.7, 0.2)
    listed = np.zeros(n)
    for seed in range(runs):
        listed[draw_people(chance, generator(seed))] += 1
    for value, probability in ((1, 0.7), (0, 0.2)):
        trials = runs * (people.column("sex") == value).sum()
        found = listed[people.column("sex") == value].sum()
        assert scipy.stats.binomtest(int(found), int(trials), probability).pvalue > 1e-4
    # People are listed independently: the number listed varies like a sum of independent draws (chi-square, 4000
    # people).
    expected = runs * chance
    statistic = ((listed - expected) ** 2 / (expected * (1 - chance))).sum()
    assert 1e-4 < scipy.stats.chi2(n).cdf(statistic) < 1 - 1e-4


def test_with_a_size_chances_are_weights():
    # The first of two people drawn without replacement has probability w / sum w, the second likewise among the rest.
    weights, draws = np.array([0.6, 0.3, 0.1]), 6000
    sets = Counter(tuple(sorted(draw_people(weights, generator(seed), 2))) for seed in range(draws))
    expected = {
        (a, b): weights[a] * weights[b] / (1 - weights[a]) + weights[b] * weights[a] / (1 - weights[b])
        for a, b in itertools.combinations(range(3), 2)
    }
    observed = [sets[pair] for pair in expected]
    assert scipy.stats.chisquare(observed, [draws * p for p in expected.values()]).pvalue > 1e-4


def test_values_missing_at_one_share_are_lost_together():
    missing = (with_values_missing(world(1000).codes, {1: 0.3, 2: 0.3, 0: 0.25}, generator()) < 0).sum(axis=0)
    assert missing[0] == 250
    assert missing[1] + missing[2] == 600
    assert 240 < missing[1] < 360  # 5 standard deviations of a hypergeometric draw, 300 +- 12
