"""Learning how often each adversary is present, against plain enumeration."""

from collections import defaultdict
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.agents import learning
from reidsim.agents.learning import (
    attack_overlaps,
    possible_observations,
    posterior_presence,
    updated,
    updated_presences,
)
from reidsim.agents.model import ReidentificationModel
from reidsim.agents.profile import Enforcement, Learning


def unused():
    """Return a random stream for exact updates, which must draw nothing."""
    return np.random.default_rng(0)


amounts = st.floats(0.05, 50)


def updated_presence(parameters, probability):
    """Return the Beta parameters after a round with uncertain presence."""
    return updated(parameters, np.stack([probability, 1 - probability], axis=-1))


def patterns(records, noticed):
    """Yield each set of noticed attacks on some records, with its probability."""
    own = sorted(records)
    for seen in product([False, True], repeat=len(own)):
        pattern = frozenset(record for record, is_seen in zip(own, seen, strict=True) if is_seen)
        yield pattern, noticed ** len(pattern) * (1 - noticed) ** (len(own) - len(pattern))


def what_may_be_noticed(weights, attacks, noticed):
    """Return the joint probabilities of presence and noticed attacks.

    Noticed attacks are a sorted list of groups without the adversaries' names.
    """
    joint = defaultdict(float)
    for there in product([False, True], repeat=len(weights)):
        chance = np.prod([w if here else 1 - w for w, here in zip(weights, there, strict=True)])
        choices = [list(patterns(records, noticed)) for records, here in zip(attacks, there, strict=True) if here]
        for combination in product(*choices):
            groups = tuple(sorted(tuple(sorted(pattern)) for pattern, _ in combination if pattern))
            joint[there, groups] += chance * np.prod([share for _, share in combination])
    return joint


def bayes(joint, groups):
    """Return each adversary's probability of presence, given the noticed groups."""
    given_groups = {there: p for (there, found), p in joint.items() if found == groups}
    return sum(p * np.array(there, dtype=float) for there, p in given_groups.items()) / sum(given_groups.values())


def as_bits(groups, attacks):
    """Return, as bit masks, the types that cannot have made each group of attacks."""
    bits = [sum(1 << t for t, records in enumerate(attacks) if not set(group) <= records) for group in groups]
    return tuple(sorted(bits))


def as_matrix(attacks):
    return np.array([[float(record in records) for record in range(4)] for records in attacks])


def with_mean_belief(rows):
    """Return parameters with the mean belief and sum of (weight, parameters) rows."""
    size = sum(weight * after.sum(axis=1) for weight, after in rows)
    mean = sum(weight * after[:, 0] / after.sum(axis=1) for weight, after in rows)
    return np.stack([mean * size, (1 - mean) * size], axis=1)


few_types = st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=3)


@given(few_types, st.sampled_from([0.1, 0.5, 0.9, 1.0]), st.data())
@examples(15)
def test_posteriors_are_those_of_bayes_rule(attacks, noticed, data):
    weights = [data.draw(st.sampled_from([0.1, 0.5, 0.8, 1.0])) for _ in attacks]
    joint = what_may_be_noticed(weights, attacks, noticed)
    overlaps = attack_overlaps(as_matrix(attacks))
    for groups in {found for (_, found), p in joint.items() if p > 1e-12}:
        bits = np.array([as_bits(groups, attacks)], dtype=np.int64)
        found = posterior_presence(np.array(weights), bits, overlaps, noticed)[0]
        np.testing.assert_allclose(found, bayes(joint, groups), atol=1e-6)


@given(few_types, st.sampled_from([0.3, 1.0]), st.data())
@examples(20)
def test_what_is_expected_is_the_mean_over_what_may_be_noticed(attacks, noticed, data):
    n = len(attacks)
    acting = [data.draw(st.sampled_from([0.0, 0.3, 1.0])) for _ in range(n)]
    parameters = np.array([[data.draw(amounts), data.draw(amounts)] for _ in range(n)])
    belief = parameters[:, 0] / parameters.sum(axis=1)
    joint = what_may_be_noticed(belief, attacks, noticed)
    rows = [
        (probability, updated_presence(parameters, bayes(joint, groups)))
        for (_, groups), probability in what_may_be_noticed(acting, attacks, noticed).items()
        if probability > 0
    ]
    found = updated_presences(parameters, as_matrix(attacks), np.array(acting), np.ones(n), noticed, unused())
    np.testing.assert_allclose(found, with_mean_belief(rows), rtol=1e-5)


def test_what_is_drawn_has_the_expected_mean():
    parameters, acting = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0.3, 0.8])
    attacked, ones = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]]), np.ones(2)
    edges = []
    for actor in range(2):
        _, probability = possible_observations(attack_overlaps(attacked), actor, 0.4)
        edges.append(np.cumsum([0.0, *probability]))
    rows = []
    for here in product([0.0, 1.0], repeat=2):
        there = np.array(here)
        chance = np.prod(np.where(there > 0, acting, 1 - acting))
        for first, second in product(*(pairwise(each) for each in edges)):
            # All draws between two edges give the same result.
            draws = iter([np.array([first[0] + first[1]]) / 2, np.array([second[0] + second[1]]) / 2])
            stream = SimpleNamespace(permutation=np.zeros, random=lambda _, draws=draws: next(draws))
            after = updated_presences(parameters, attacked, there, ones, 0.4, stream, drawn=True)
            rows.append((chance * (first[1] - first[0]) * (second[1] - second[0]), after))
    expected = updated_presences(parameters, attacked, acting, ones, 0.4, unused())
    np.testing.assert_allclose(expected, with_mean_belief(rows), rtol=1e-6)


def test_what_nobody_who_may_come_does_tells_nothing():
    prior = np.array([0.5, 0.2])
    found = posterior_presence(prior, np.array([[0b11], [0b01]]), attack_overlaps(np.array([[3.0], [3.0]])), 1.0)
    np.testing.assert_allclose(found, [prior, [0, 1]], atol=1e-9)


def test_an_adversary_who_attacks_nobody_and_one_who_is_excluded_tell_nothing():
    parameters = np.array([[1.0, 3.0], [2.0, 2.0], [5.0, 1.0]])
    attacked = np.array([[2.0, 1.0], [0.0, 0.0], [2.0, 0.0]])
    acting, present = np.array([1.0, 0.5, 0.0]), np.array([1.0, 1.0, 0.0])
    after = updated_presences(parameters, attacked, acting, present, 1.0, unused())
    np.testing.assert_allclose(after, [[2, 3], [2, 2], [5, 1]], atol=1e-6)


def test_a_sample_stands_for_all_that_may_be_noticed():
    """The full list is the reference; a lower limit forces the update to sample."""
    attacked = np.random.default_rng(8).integers(0, 3, (4, 6)).astype(float)
    acting, ones = np.array([0.9, 0.2, 0.5, 1.0]), np.ones(4)
    parameters = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 4.0], [3.0, 1.0]])
    exact = updated_presences(parameters, attacked, acting, ones, 0.3, unused())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "_MOST_LISTED", 1)
        first, second, other = (
            updated_presences(parameters, attacked, acting, ones, 0.3, np.random.default_rng(seed))
            for seed in (1, 1, 2)
        )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    np.testing.assert_allclose(first, exact, atol=0.01)


def test_a_prior_of_many_rounds_keeps_its_weight():
    """A prior of 10 ** 12 rounds weighs as many rounds, and one more after the update."""
    many = np.array([[1e12, 3e12], [5e11, 5e11]])
    after = updated_presence(many, np.array([0.3, 0.9]))
    np.testing.assert_allclose(after, many, rtol=1e-11)
    np.testing.assert_allclose(updated(many[0], np.array([0.3, 0.7])), many[0], rtol=1e-11)


# In rounds.


def three_types(profile_of_small, town):
    return [
        profile_of_small(town, "keen", weight=0.9, gain=60.0, cost=0.5),
        profile_of_small(town, "choosy", weight=0.25, gain=60.0, cost=15.0),
        profile_of_small(town, "idle", weight=0.0, gain=60.0, cost=2.5),
    ]


PRIOR = np.array([[1.0, 1.0], [1.0, 3.0], [2.0, 1.0]])


def test_drawn_beliefs_count_the_rounds_with_each(town, profile_of_small, setting_of_small):
    types = three_types(profile_of_small, town)
    rules = {"mode": "sampling", "meeting": "all", "learning": Learning(PRIOR), "tolerance": 0.0, "rounds": 50}
    model = ReidentificationModel(setting_of_small(town, types, **rules), "no-protection")
    there, size = np.zeros(3), PRIOR.sum(axis=1)
    for t in range(1, 51):
        model.step()
        there += [adversary.acts for adversary in model.adversaries]
        np.testing.assert_allclose(model.publisher.beliefs, (PRIOR[:, 0] + there) / (size + t), rtol=1e-6)


def test_rounds_of_exclusion_do_not_change_beliefs(town, profile_of_small, setting_of_small):
    """Rounds of exclusion carry no information on how often an adversary is present."""
    types = three_types(profile_of_small, town)
    rules = {"meeting": "all", "learning": Learning(PRIOR), "rounds": 80}
    rules["enforcement"] = Enforcement(detection=0.3, exclusion=2)
    model = ReidentificationModel(setting_of_small(town, types, **rules), "no-protection").run()
    assert model.adversaries[0].free < 1
    np.testing.assert_allclose(model.publisher.beliefs, [0.9, 0.25, 0.0], atol=0.15)
