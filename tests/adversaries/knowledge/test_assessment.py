"""Generalized released values, population uniqueness by known set, and errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_knowledge import NAMES, cases, expectation, known_sets
from tiers import examples

from reidsim.adversaries.knowledge.assessment import EstimatedUniqueness, KnownPopulation, Network, assess
from reidsim.adversaries.knowledge.groups import (
    AttributeGroup,
    Knowledge,
    Source,
    SourceProfile,
    count_sets,
    enumerate_sets,
    everything,
)
from reidsim.core.errors import InputError
from reidsim.linkage.equivalence import TOP, ValueTree
from reidsim.linkage.group_sizes import GroupFrequencies
from reidsim.linkage.uniqueness import FixedUniqueness, estimate_uniqueness

HALF = FixedUniqueness(0.5)
TREE = ValueTree.from_groups("a", {"01": ["0", "1"], "all": ["01", "2"]})
TREES = {"a": TREE, "b": TREE}


def generalized(data, codes):
    """Return records released with groups that contain their persons' values."""
    released = codes.copy()
    for row in range(len(codes)):
        for position in range(len(TREES)):
            chain = TREE.chain[codes[row, position]]
            released[row, position] = data.draw(st.sampled_from(chain[chain >= 0].tolist()))
    return released


def is_in(node, value):
    while value not in (node, TOP):
        value = int(TREE.parent[value])
    return value == node


@given(case=cases(), data=st.data())
@examples(40)
def test_records_released_with_groups(case, data):
    released = generalized(data, case.codes)
    risks = assess(case.codes, case.knowledge, HALF, released=released, trees=TREES).risks
    for person in range(case.n):
        expected = 0.0
        for known, p in known_sets(case, person):
            size = sum(
                all(
                    is_in(row[j], case.codes[person][j]) if j < len(TREES) else row[j] == case.codes[person][j]
                    for j in (NAMES.index(name) for name in known)
                )
                for row in released
            )
            expected += p / size
        assert risks.marketer[person] == pytest.approx(expected, abs=1e-12)


@given(case=cases(), others=st.lists(st.tuples(*[st.integers(0, 2)] * 4), max_size=10))
def test_journalist_risk_in_a_known_population(case, others):
    everybody = np.concatenate([case.codes, np.array(others, dtype=np.int32).reshape(-1, 4)])
    cells, counts = np.unique(everybody, axis=0, return_counts=True)
    risks = assess(case.codes, case.knowledge, KnownPopulation(cells, counts)).risks
    for person in range(case.n):
        expected = sum(
            p
            for known, p in known_sets(case, person)
            if sum(all(row[NAMES.index(n)] == case.codes[person][NAMES.index(n)] for n in known) for row in everybody)
            == 1
        )
        assert risks.journalist[person] == pytest.approx(expected, abs=1e-12)
        assert risks.journalist[person] <= risks.prosecutor[person] + 1e-12


def test_uniqueness_is_estimated_for_every_set_on_its_own():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 12, (400, 3)).astype(np.int32)
    groups = (AttributeGroup(("x", "y"), 0.4), AttributeGroup(("z",), 0.3))
    knowledge = Knowledge(("x", "y", "z"), (Source("s", (SourceProfile(groups),), np.zeros(400, dtype=np.intp)),))
    found = assess(codes, knowledge, EstimatedUniqueness("pitman", 50_000))
    expected = np.zeros((3, 400))
    for known, columns, p in ((("x", "y"), [0, 1], 0.28), (("x", "y", "z"), [0, 1, 2], 0.12)):
        _, of_row, sizes = np.unique(codes[:, columns], axis=0, return_inverse=True, return_counts=True)
        estimate = estimate_uniqueness(GroupFrequencies.from_group_sizes(sizes), 50_000)
        chances = estimate.p_unique_given_sample_unique, estimate.low, estimate.high
        number = found.sets.index(known)
        assert found.probability[number] == pytest.approx(p)
        assert tuple(found.chances[:, number]) == chances
        expected += p * np.outer(chances, sizes[of_row.ravel()] == 1)
    risks = found.risks
    journalist = [risks.journalist, risks.journalist_low, risks.journalist_high]
    np.testing.assert_allclose(journalist, expected, atol=1e-12)


def test_what_is_refused():
    codes = np.array([[0], [1], [2]], dtype=np.int32)
    knowledge = everything(("a",), 3)
    with pytest.raises(InputError, match="a person in the records is not in the known population"):
        assess(codes, knowledge, KnownPopulation(codes[:2], np.array([1, 1])))
    known = KnownPopulation(codes, np.ones(3, dtype=np.int64))
    with pytest.raises(InputError, match="population uniques are defined only for unchanged records"):
        assess(codes, knowledge, known, released=np.full((3, 1), 4, dtype=np.int32), trees={"a": TREE})
    with pytest.raises(InputError, match="the population is smaller than the sample"):
        assess(codes, knowledge, EstimatedUniqueness("pitman", 2))


def source(*profiles: SourceProfile, of=(0,), name="registry", price=0.0) -> Source:
    return Source(name, profiles, np.array(of, dtype=np.intp), price)


def test_more_than_62_attributes_are_refused():
    with pytest.raises(InputError, match="too many attributes; found 63"):
        Knowledge(tuple(map(str, range(63))), (source(SourceProfile(())),))


def test_prices_are_paid_for_the_kinds_of_people_that_there_are():
    profiles = tuple(SourceProfile((), price=price) for price in (10.0, 100.0, 1000.0))
    lists = source(*profiles, of=(0, 2, 2))
    feed = source(SourceProfile(()), of=(0, 0, 0), price=5.0)
    assert lists.total_price == 1010
    assert Knowledge(("age", "sex", "race"), (lists, feed)).total_price == 1015


@given(case=cases(), b=st.floats(0, 1))
def test_risks_are_expectations_over_all_outcomes(case, b):
    risks = assess(case.codes, case.knowledge, FixedUniqueness(b)).risks
    overall = risks.overall(Network(p_m=0.4, p_fm=0.7, p_cu=0.3, p_c=0.6))
    for person in range(case.n):
        alone = expectation(case, person, lambda size: size == 1)
        assert risks.prosecutor[person] == pytest.approx(alone, abs=1e-12)
        assert risks.journalist[person] == pytest.approx(alone * b, abs=1e-12)
        assert risks.marketer[person] == pytest.approx(expectation(case, person, lambda size: 1 / size), abs=1e-12)
        assert risks.marketer_square[person] == pytest.approx(
            expectation(case, person, lambda size: 1 / size**2), abs=1e-12
        )
        # Fig. 1: each of the three routes needs its capability; re-identification is their union.
        missed = expectation(
            case, person, lambda size: (1 - (size == 1) * 0.4 * 0.7) * (1 - (size == 1) * b * 0.3) * (1 - 0.6 / size)
        )
        assert overall[person] == pytest.approx(1 - missed, abs=1e-12)


@given(case=cases())
def test_knowledge_sets_are_those_that_can_be_known(case):
    sets = enumerate_sets(case.knowledge)
    np.testing.assert_allclose(sets.probability.sum(axis=1), 1, atol=1e-12)
    assert len(sets.sets) <= count_sets(case.knowledge) * len(case.knowledge.kinds)
    for person in range(case.n):
        expected: dict[frozenset[str], float] = {}
        for known, p in known_sets(case, person):
            expected[known] = expected.get(known, 0.0) + p
        row = sets.probability[case.knowledge.kind_of_person[person]]
        ours = {frozenset(NAMES[j] for j in known): p for known, p in zip(sets.sets, row, strict=True) if p > 0}
        expected = {known: p for known, p in expected.items() if p > 0}
        assert set(ours) == set(expected)
        assert all(ours[known] == pytest.approx(p) for known, p in expected.items())


def test_more_attributes_than_a_32_bit_number_has_bits():
    names = tuple(f"attribute {j}" for j in range(60))
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (200, 60)).astype(np.int32)
    groups = (AttributeGroup(names[:5], 0.5), AttributeGroup(names[50:], 0.25), AttributeGroup(names[5:50], 0.1))
    knowledge = Knowledge(names, (Source("s", (SourceProfile(groups),), np.zeros(200, dtype=np.intp)),))
    marketer = assess(codes, knowledge, HALF).risks.marketer
    for person in (0, 57, 199):
        expected = 0.0
        for bits in range(8):
            p, columns = 1.0, []
            for number, group in enumerate(groups):
                told = bool(bits >> number & 1)
                p *= group.probability if told else 1 - group.probability
                columns += [names.index(name) for name in group.attributes] if told else []
            expected += p / (codes[:, columns] == codes[person, columns]).all(axis=1).sum()
        assert marketer[person] == pytest.approx(expected, abs=1e-12)


# The overall probability, against a Bayesian-network library that solves Fig. 1.
