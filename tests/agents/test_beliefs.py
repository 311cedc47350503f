"""Learning about adversary types, against enumeration and formulas."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.agents.learning import (
    attack_overlaps,
    observations,
    responsibilities,
    updated,
    updated_weights,
)
from reidsim.agents.model import ReidentificationModel
from reidsim.agents.profile import Learning

parameters = st.lists(st.floats(0.05, 50), min_size=2, max_size=4).map(np.array)


@given(parameters, st.integers(0, 3))
def test_a_known_attacker_is_the_conjugate_update(alpha, number):
    known = np.eye(len(alpha))[number % len(alpha)]
    np.testing.assert_allclose(updated(alpha, known), alpha + known, rtol=1e-9)


@given(parameters, st.data())
def test_means_and_second_moments_are_those_of_the_mixture(alpha, data):
    weights = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(alpha), max_size=len(alpha))))
    weights = weights / weights.sum()
    after = updated(alpha, weights)
    exact_mean = sum(w * (alpha + e) for w, e in zip(weights, np.eye(len(alpha)), strict=True)) / (alpha.sum() + 1)
    np.testing.assert_allclose(after / after.sum(), exact_mean, rtol=1e-9)

    def second(parameters):
        total = parameters.sum()
        return (parameters * (parameters + 1)).sum() / (total * (total + 1))

    mixture = sum(w * second(alpha + e) for w, e in zip(weights, np.eye(len(alpha)), strict=True))
    assert second(after) == pytest.approx(mixture, rel=1e-7)


def test_of_one_type_alone_every_round_is_that_type():
    assert updated(np.array([0.3]), np.ones(1)).tolist() == [1.3]
    after = updated_weights(np.array([2.0]), np.array([[3.0, 1.0]]), np.array([0.75]), np.ones(1), 0.5)
    np.testing.assert_allclose(after, [2.75], rtol=1e-12)


def test_types_that_are_next_to_impossible_leave_the_conjugate_update():
    """A mean that rounds to 1 leaves a spread of zero."""
    after = updated(np.array([1e100, 1e-300]), np.array([1.0, 0.0]))
    assert after.tolist() == [1e100, 1e-300]


def brute_force(prior, attacks, actor, noticed):
    """Yield each pattern of noticed attacks with its probability and Bayes' posterior.

    `attacks` are sets of records.
    """
    own = sorted(attacks[actor])
    for seen in product([False, True], repeat=len(own)):
        pattern = {record for record, is_seen in zip(own, seen, strict=True) if is_seen}

        def likelihood(records, pattern=pattern):
            if not pattern <= records:
                return 0.0
            return noticed ** len(pattern) * (1 - noticed) ** len(records - pattern)

        weights = np.array([p * likelihood(records) for p, records in zip(prior, attacks, strict=True)])
        if likelihood(attacks[actor]) > 0:
            yield likelihood(attacks[actor]), weights / weights.sum()


@given(
    st.lists(st.sets(st.integers(0, 4)), min_size=2, max_size=3),
    st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    st.data(),
)
@examples(40)
def test_posteriors_are_those_of_bayes_rule(attacks, noticed, data):
    prior = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=len(attacks), max_size=len(attacks))))
    prior = prior / prior.sum()
    attacked = np.array([[float(record in records) for record in range(5)] for records in attacks])
    overlaps = attack_overlaps(attacked)
    for actor in range(len(attacks)):
        exact = np.zeros(len(attacks))
        for probability, posterior in brute_force(prior, attacks, actor, noticed):
            exact += probability * posterior
        chance = observations(overlaps, actor, noticed)
        found = chance @ responsibilities(prior, np.arange(len(overlaps)), overlaps, noticed)
        assert chance.sum() == pytest.approx(1)
        np.testing.assert_allclose(found, exact, atol=1e-6)


def test_what_is_expected_is_the_mean_of_what_is_drawn():
    alpha, acting, present = np.array([1.0, 2.0]), np.array([0.3, 0.5]), np.ones(2)
    attacked = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0]])
    draws = (np.arange(20_000) + 0.5) / 20_000
    sampled = sum(
        p * np.mean([updated_weights(alpha, attacked, actor, present, 0.4, d) for d in draws[::40]], axis=0)
        for actor, p in zip(np.eye(2), acting, strict=True)
    )
    sampled += 0.2 * alpha  # no adversary was present
    np.testing.assert_allclose(updated_weights(alpha, attacked, acting, present, 0.4), sampled, atol=5e-3)


@pytest.mark.parametrize("mode", ["expectation", "sampling"])
def test_beliefs_converge_to_a_fixed_type_at_the_stated_rate(mode, town, profile_of_small, setting_of_small):
    """After t rounds, other types have belief (A - a) / (A + t), A and a prior sizes.

    The attacks of the types are distinguishable.
    """
    types = [
        profile_of_small(town, "keen", weight=1.0, gain=60.0, cost=0.5),
        profile_of_small(town, "idle", weight=0.0, gain=10.0, cost=9.0),
    ]
    prior = np.array([1.0, 3.0])
    setting = setting_of_small(town, types, rounds=30, mode=mode, learning=Learning(prior, noticed=1.0), tolerance=0.0)
    model = ReidentificationModel(setting, "no-protection")
    for t in range(1, 31):
        model.step()
        assert 1 - model.publisher.beliefs[0] == pytest.approx(3 / (4 + t), rel=1e-9)


@pytest.mark.parametrize(
    ("acting", "present", "after"),
    [
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.5, 0.5]),  # all types excluded: no information
        ([0.0, 0.0, 0.4], [0.0, 0.0, 1.0], [1.0, 2.5, 0.9]),  # the only type present explains the round
    ],
)
def test_excluded_types_keep_their_parameters(acting, present, after):
    alpha, attacked = np.array([1.0, 2.5, 0.5]), np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    found = updated_weights(alpha, attacked, np.array(acting), np.array(present), 0.5)
    np.testing.assert_allclose(found, after, rtol=1e-12)
