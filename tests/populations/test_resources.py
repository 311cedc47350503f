"""External resources: who is listed, what is missing, and the truth kept apart."""

import itertools
from collections import Counter

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.individuals import Individuals
from reidsim.populations.resources import ExternalResource, draw_people, draw_resource

DOMAIN = Domain(
    (Attribute("person", tuple(map(str, range(5000)))), Attribute("sex", ("F", "M")), Attribute("zip", tuple("abcd")))
)


def world(n):
    """People who can be told apart by their first attribute."""
    codes = np.column_stack([np.arange(n), np.arange(n) % 2, np.arange(n) % 4])
    return Individuals(DOMAIN, codes.astype(np.int32), name="world")


def generator(seed=1):
    return np.random.default_rng(np.random.SeedSequence(seed))


@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 1000),
    share=st.floats(0, 1),
    attributes=st.sampled_from([("person", "zip"), ("zip", "person"), ("person",), None]),
    data=st.data(),
)
def test_a_record_is_about_one_person_and_says_nothing_else(n, seed, share, attributes, data):
    people = world(n)
    size = data.draw(st.integers(1, n))
    rng = generator(seed)
    person = draw_people(people, rng, size=size)
    resource = draw_resource(people, person, rng, attributes=attributes, missing={"person": share})
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
    again = draw_people(people, generator(seed), size=size)
    assert (again == person).all()


def test_everybody_is_listed_by_their_own_chance():
    n, runs = 4000, 20
    people = world(n)
    chance = np.where(people.column("sex") == 1, 0.7, 0.2)
    listed = np.zeros(n)
    for seed in range(runs):
        listed[draw_people(people, generator(seed), coverage=chance)] += 1
    for value, probability in ((1, 0.7), (0, 0.2)):
        trials = runs * (people.column("sex") == value).sum()
        found = listed[people.column("sex") == value].sum()
        assert scipy.stats.binomtest(int(found), int(trials), probability).pvalue > 1e-4
    # Independent of each other: the number listed varies like a sum of independent draws (chi-square, 4000 people).
    expected = runs * chance
    statistic = ((listed - expected) ** 2 / (expected * (1 - chance))).sum()
    assert 1e-4 < scipy.stats.chi2(n).cdf(statistic) < 1 - 1e-4


def test_every_set_of_a_size_is_equally_likely():
    people, draws = world(5), 6000
    sets = Counter(tuple(sorted(draw_people(people, generator(seed), size=2))) for seed in range(draws))
    assert set(sets) == set(itertools.combinations(range(5), 2))
    assert scipy.stats.chisquare(list(sets.values())).pvalue > 1e-4


def test_with_a_size_chances_are_weights():
    # The first of two drawn without replacement has probability w / sum w, the second likewise among the rest.
    people, weights, draws = world(3), np.array([0.6, 0.3, 0.1]), 6000
    sets = Counter(
        tuple(sorted(draw_people(people, generator(seed), coverage=weights, size=2))) for seed in range(draws)
    )
    expected = {
        (a, b): weights[a] * weights[b] / (1 - weights[a]) + weights[b] * weights[a] / (1 - weights[b])
        for a, b in itertools.combinations(range(3), 2)
    }
    observed = [sets[pair] for pair in expected]
    assert scipy.stats.chisquare(observed, [draws * p for p in expected.values()]).pvalue > 1e-4


def test_the_place_in_the_file_tells_nothing():
    first = [draw_people(world(4), generator(seed), coverage=1.0)[0] for seed in range(2000)]
    assert scipy.stats.chisquare(np.bincount(first, minlength=4)).pvalue > 1e-4


def test_only_those_who_can_be_listed_are():
    people = world(100)
    men = people.column("sex") == 1
    assert men[draw_people(people, generator(), size=50, among=men)].all()
    assert men[draw_people(people, generator(), coverage=0.5, among=men)].all()
    with pytest.raises(InputError, match="size: size that cannot be drawn; found 51; expected 1 to 50"):
        draw_people(people, generator(), size=51, among=men)


def test_values_missing_at_one_share_are_lost_together():
    people = world(1000)
    lost = draw_resource(people, np.arange(1000), generator(), missing={"sex": 0.3, "zip": 0.3, "person": 0.25})
    missing = (lost.records.codes < 0).sum(axis=0)
    assert missing[0] == 250
    assert missing[1] + missing[2] == 600
    assert 240 < missing[1] < 360  # 5 standard deviations of a hypergeometric draw, 300 +- 12


def test_who_may_buy():
    people = world(3)
    sold = draw_resource(people, np.arange(3), generator(), price=20.0, buyers=("party", "candidate"))
    assert draw_resource(people, np.arange(3), generator()).buyers == ("anyone",)
    assert sold.buyers == ("party", "candidate")
    assert sold.price == 20.0


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda p: draw_people(p, generator(), coverage=1.5), r"coverage: probability outside \[0, 1\]; found 1.5"),
        (lambda p: draw_people(p, generator(), coverage=float("nan")), "probability outside"),
        (lambda p: draw_people(p, generator(), coverage=0.0), "nobody is listed"),
        (lambda p: draw_resource(p, np.arange(2), generator(), missing={"zib": 0.1}), "missing.zib: not an attribute"),
        (lambda p: draw_resource(p, np.arange(2), generator(), missing={"zip": 2.0}), r"share outside \[0, 1\]"),
        (lambda p: draw_resource(p, np.arange(2), generator(), attributes=["age"]), "no such attribute; found 'age'"),
        (lambda p: draw_resource(p, np.array([1, 1]), generator()), "a person has two records"),
        (lambda p: draw_resource(p, np.arange(2), generator(), price=-1.0), "negative price; found -1.0"),
        (lambda p: ExternalResource(p, np.array([0, 1, 4]), 4), "a record is about nobody"),
        (lambda p: ExternalResource(p, np.array([0, 1]), 4), "records and people disagree"),
    ],
)
def test_what_cannot_be_drawn(call, problem):
    with pytest.raises(InputError, match=problem):
        call(world(3))
