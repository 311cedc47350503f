"""Generalized released values, population uniqueness by known set, and errors."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_knowledge import NAMES, cases, expectation, known_sets
from tiers import examples

from reidsim.adversaries.knowledge.assessment import EstimatedUniqueness, KnownPopulation, assess
from reidsim.adversaries.knowledge.expectation import Network
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
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.group_sizes import FixedUniqueness, estimate_uniqueness

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
    expected = {}
    for known, columns, p in ((("x", "y"), [0, 1], 0.28), (("x", "y", "z"), [0, 1, 2], 0.12)):
        sizes = np.unique(codes[:, columns], axis=0, return_counts=True)[1]
        expected[known] = estimate_uniqueness(GroupFrequencies.from_group_sizes(sizes), 50_000)
        number = found.sets.index(known)
        assert found.probability[number] == pytest.approx(p)
        estimate = expected[known]
        assert tuple(found.chances[:, number]) == (estimate.p_unique_given_sample_unique, estimate.low, estimate.high)
    alone = {
        known: assess(
            codes[:, [("x", "y", "z").index(n) for n in known]], everything(known, 400), HALF
        ).risks.prosecutor
        for known in expected
    }
    for risk, of in (
        (found.risks.journalist, "p_unique_given_sample_unique"),
        (found.risks.journalist_low, "low"),
        (found.risks.journalist_high, "high"),
    ):
        sums = sum(
            p * alone[known] * getattr(expected[known], of)
            for known, p in ((("x", "y"), 0.28), (("x", "y", "z"), 0.12))
        )
        np.testing.assert_allclose(risk, sums, atol=1e-12)


def test_who_is_alone_among_alike_persons_of_different_kinds():
    # Two persons with equal values are two matching records, even if a source knows different attributes of them.
    codes = np.zeros((2, 1), dtype=np.int32)
    told = tuple(SourceProfile((AttributeGroup(("a",)),), presence) for presence in (0.5, 1.0))
    knowledge = Knowledge(("a",), (Source("s", told, np.array([0, 1])),))
    risks = assess(codes, knowledge, HALF).risks
    assert risks.marketer.tolist() == [0.5, 0.5]
    assert risks.prosecutor.tolist() == [0.0, 0.0]


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


def test_overlapping_groups_are_refused():
    with pytest.raises(InputError, match=r"attribute in two groups; found 'sex'; expected each attribute in one group"):
        SourceProfile((AttributeGroup(("age", "sex")), AttributeGroup(("sex",))))


def test_more_than_62_attributes_are_refused():
    with pytest.raises(InputError, match="too many attributes; found 63"):
        Knowledge(tuple(map(str, range(63))), (source(SourceProfile(())),))


def test_prices_are_paid_for_the_kinds_of_people_that_there_are():
    profiles = tuple(SourceProfile((), price=price) for price in (10.0, 100.0, 1000.0))
    lists = source(*profiles, of=(0, 2, 2))
    feed = source(SourceProfile(()), of=(0, 0, 0), price=5.0)
    assert lists.total_price == 1010
    assert Knowledge(("age", "sex", "race"), (lists, feed)).total_price == 1015


def test_people_told_about_alike_are_of_one_kind():
    first = source(SourceProfile((), 0.1), SourceProfile((), 0.2), of=(0, 0, 1, 1, 0))
    second = source(SourceProfile((), 0.3), SourceProfile((), 0.4), of=(0, 1, 1, 1, 0))
    knowledge = Knowledge(("age", "sex", "race"), (first, second))
    kinds = [tuple(profile.presence for profile in knowledge.kinds[kind]) for kind in knowledge.kind_of_person]
    assert kinds == [(0.1, 0.3), (0.1, 0.4), (0.2, 0.4), (0.2, 0.4), (0.1, 0.3)]
    assert len(knowledge.kinds) == 3


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


# The overall probability, against a Bayesian-network library that solves Fig. 1.


@cache
def gum():
    """Return the library, which is slow to import."""
    return pytest.importorskip("pyagrum", reason="a Bayesian-network library, in the extra test")


def chance(net, name, probability):
    """Add a variable that is true with a fixed probability, independent of the others."""
    net.add(gum().LabelizedVariable(name, name, 2))
    net.cpt(name).fillWith([1 - probability, probability])


def outcome(net, name, parents, value):
    """Add a variable whose probability is a function of its parents."""
    net.add(gum().LabelizedVariable(name, name, 2))
    for parent in parents:
        net.addArc(parent, name)
    for states in itertools.product(*(range(net.variable(parent).domainSize()) for parent in parents)):
        p = float(value(*states))
        net.cpt(name)[dict(zip(parents, states, strict=True))] = [1 - p, p]


def fig_1(case, person, network, b):
    """Return a person's network: knowledge, group, three routes and their union."""
    net = gum().BayesNet("Fig. 1")
    told = []
    for number, source in enumerate(case.knowledge.sources):
        profile = source.profiles[source.profile_of_person[person]]
        chance(net, f"source{number}", profile.presence)
        for position, group in enumerate(profile.groups):
            name = f"Y{number}{position}"
            outcome(net, name, [f"source{number}"], lambda holds, p=group.probability: p if holds else 0.0)
            told.append((name, group.attributes))
    net.add(gum().LabelizedVariable("size", "size", case.n + 1))
    for name, _ in told:
        net.addArc(name, "size")
    for states in itertools.product((0, 1), repeat=len(told)):
        known = {a for (_, attributes), state in zip(told, states, strict=True) if state for a in attributes}
        columns = [NAMES.index(attribute) for attribute in known]
        size = int((case.codes[:, columns] == case.codes[person, columns]).all(axis=1).sum())
        row = [0.0] * (case.n + 1)
        row[size] = 1.0
        if told:
            net.cpt("size")[{name: state for (name, _), state in zip(told, states, strict=True)}] = row
        else:
            net.cpt("size").fillWith(row)
    chance(net, "disclosed", network.p_m)
    outcome(net, "found out", ["disclosed"], lambda disclosed: network.p_fm if disclosed else 0.0)
    outcome(net, "unique in population", ["size"], lambda size: b if size == 1 else 0.0)
    chance(net, "uniqueness confirmed", network.p_cu)
    outcome(net, "picked", ["size"], lambda size: 1 / size if size else 0.0)
    chance(net, "pick confirmed", network.p_c)
    outcome(net, "prosecutor", ["size", "found out"], lambda size, found: size == 1 and found)
    outcome(net, "journalist", ["unique in population", "uniqueness confirmed"], lambda u, c: u and c)
    outcome(net, "marketer", ["picked", "pick confirmed"], lambda picked, confirmed: picked and confirmed)
    outcome(net, "re-identified", ["prosecutor", "journalist", "marketer"], lambda *routes: any(routes))
    return net


@given(
    case=cases(max_persons=5),
    capabilities=st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])] * 4),
    b=st.sampled_from([0.0, 0.24, 0.66, 1.0]),
)
@examples(25)
def test_the_overall_probability_is_the_one_that_the_network_gives(case, capabilities, b):
    network = Network(*capabilities)
    ours = assess(case.codes, case.knowledge, FixedUniqueness(b)).risks.overall(network)
    theirs = []
    for person in range(case.n):
        inference = gum().LazyPropagation(fig_1(case, person, network, b))
        inference.makeInference()
        theirs.append(inference.posterior("re-identified")[1])
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
