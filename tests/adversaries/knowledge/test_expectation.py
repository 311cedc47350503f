"""Exact risks, against every outcome of every variable, and their properties."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_knowledge import NAMES, cases, expectation, known_sets, profiles
from tiers import examples

from reidsim.adversaries.knowledge.assessment import assess
from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.knowledge.network import Network
from reidsim.adversaries.knowledge.sets import count_sets, enumerate_sets
from reidsim.linkage.uniqueness.estimate import FixedUniqueness

RISKS = ("prosecutor", "journalist", "marketer")
NETWORK = Network(p_m=0.4, p_fm=0.7, p_cu=0.3, p_c=0.6)
HALF = FixedUniqueness(0.5)


def risks_of(case, **changes):
    return assess(case.codes, case.knowledge, HALF, **changes).risks


@given(case=cases(), b=st.floats(0, 1))
def test_risks_are_expectations_over_all_outcomes(case, b):
    risks = assess(case.codes, case.knowledge, FixedUniqueness(b)).risks
    for person in range(case.n):
        alone = expectation(case, person, lambda size: size == 1)
        assert risks.prosecutor[person] == pytest.approx(alone, abs=1e-12)
        assert risks.journalist[person] == pytest.approx(alone * b, abs=1e-12)
        assert risks.marketer[person] == pytest.approx(expectation(case, person, lambda size: 1 / size), abs=1e-12)
        assert risks.marketer_square[person] == pytest.approx(
            expectation(case, person, lambda size: 1 / size**2), abs=1e-12
        )


@given(case=cases(max_persons=5))
@examples(30)
def test_overall_risk_is_the_expectation_of_the_network(case):
    overall = risks_of(case).overall(NETWORK)

    def through_network(size):
        u = float(size == 1)
        return 1 - (1 - u * 0.4 * 0.7) * (1 - u * 0.5 * 0.3) * (1 - 0.6 / size)

    for person in range(case.n):
        assert overall[person] == pytest.approx(expectation(case, person, through_network), abs=1e-12)


@given(case=cases())
def test_knowledge_sets_are_those_that_can_be_known(case):
    sets = enumerate_sets(case.knowledge)
    np.testing.assert_allclose(sets.probability.sum(axis=1), 1, atol=1e-12)
    assert sets.n_sets <= count_sets(case.knowledge) * len(case.knowledge.kinds)
    for person in range(case.n):
        expected: dict[frozenset[str], float] = {}
        for known, p in known_sets(case, person):
            expected[known] = expected.get(known, 0.0) + p
        row = sets.probability[case.knowledge.kind_of_person[person]]
        ours = {frozenset(NAMES[j] for j in known): p for known, p in zip(sets.sets, row, strict=True) if p > 0}
        expected = {known: p for known, p in expected.items() if p > 0}
        assert set(ours) == set(expected)
        assert all(ours[known] == pytest.approx(p) for known, p in expected.items())


@given(case=cases())
def test_risks_are_shares_and_journalist_is_the_least(case):
    risks = risks_of(case)
    for name in RISKS:
        assert ((getattr(risks, name) >= 0) & (getattr(risks, name) <= 1)).all()
    assert (risks.journalist <= risks.prosecutor + 1e-12).all()
    assert (risks.prosecutor <= risks.marketer + 1e-12).all()
    assert ((risks.overall(NETWORK) >= 0) & (risks.overall(NETWORK) <= 1)).all()


def all_risks(risks):
    return np.stack([*(getattr(risks, name) for name in RISKS), risks.overall(NETWORK)])


@given(case=cases(), more=profiles())
def test_another_source_never_lowers_a_risk(case, more):
    added = Source("another", (more,), np.zeros(case.n, dtype=np.intp))
    knowledge = replace(case.knowledge, sources=(*case.knowledge.sources, added))
    assert (all_risks(risks_of(replace(case, knowledge=knowledge))) >= all_risks(risks_of(case)) - 1e-12).all()


@given(case=cases(), data=st.data())
def test_a_higher_probability_never_lowers_a_risk(case, data):
    source = data.draw(st.integers(0, len(case.knowledge.sources) - 1))
    profile = data.draw(st.integers(0, 1))
    sources = list(case.knowledge.sources)
    told = list(sources[source].profiles)
    higher = tuple(replace(group, probability=(1 + group.probability) / 2) for group in told[profile].groups)
    told[profile] = replace(told[profile], groups=higher, presence=(1 + told[profile].presence) / 2)
    sources[source] = replace(sources[source], profiles=tuple(told))
    raised = replace(case, knowledge=Knowledge(NAMES, tuple(sources)))
    assert (all_risks(risks_of(raised)) >= all_risks(risks_of(case)) - 1e-12).all()


@given(case=cases(), data=st.data())
def test_the_order_of_attributes_changes_nothing(case, data):
    order = data.draw(st.permutations(range(len(NAMES))))
    names = tuple(NAMES[j] for j in order)
    moved = assess(case.codes[:, order], replace(case.knowledge, attributes=names), HALF).risks
    np.testing.assert_allclose(all_risks(moved), all_risks(risks_of(case)), atol=1e-12)


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
