"""The overall probability, against a Bayesian-network library that solves Fig. 1.

Xia et al. 2021, node by node.
"""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_knowledge import NAMES, cases
from tiers import examples

from reidsim.adversaries.knowledge.assessment import assess
from reidsim.adversaries.knowledge.network import Network
from reidsim.linkage.uniqueness.estimate import FixedUniqueness


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
