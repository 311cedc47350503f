"""Exact risks, against every outcome of every variable, and their properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_knowledge import NAMES, cases, expectation, known_sets

from reidsim.adversaries.knowledge.assessment import assess
from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.knowledge.sets import count_sets, enumerate_sets
from reidsim.linkage.uniqueness.estimate import FixedUniqueness

HALF = FixedUniqueness(0.5)


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
