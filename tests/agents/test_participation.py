"""Participation: one call for all subjects equals one decision per subject."""

import numpy as np
import pytest

from reidsim.agents.model import ReidentificationModel, draw_harm, learned_risk, takes_part
from reidsim.agents.profile import ParticipationRule

RULE = ParticipationRule(reward=1.0, harm=10.0, spread=0.8, expected_risk=0.05, learning_rate=0.5, hears=0.5)


def test_harm_is_lognormal_with_the_stated_mean():
    harm = draw_harm(RULE, 200_000, np.random.default_rng(3))
    assert np.log(harm).std() == pytest.approx(0.8, rel=0.01)
    # Four standard errors of a lognormal mean.
    error = 10 * np.sqrt((np.exp(0.64) - 1) / 200_000)
    assert harm.mean() == pytest.approx(10.0, abs=4 * error)
    assert (draw_harm(ParticipationRule(reward=1.0, harm=10.0, spread=0.0), 3, np.random.default_rng(0)) == 10).all()


def test_whoever_is_indifferent_takes_part():
    rule = ParticipationRule(reward=1.0, harm=10.0)
    np.testing.assert_array_equal(takes_part(rule, np.array([5.0, 10.0, 20.0]), np.full(3, 0.1)), [True, True, False])


def one_by_one(rule, expected, participates, breached, rate, hears):
    """Return the same update in plain Python, one subject after the other."""
    after = []
    for e, p, b, h in zip(expected, participates, breached, hears, strict=True):
        if p:
            met = (b + rate) / 2 if h else b
        elif h:
            met = rate
        else:
            after.append(e)
            continue
        after.append((1 - rule.learning_rate) * e + rule.learning_rate * met)
    return after


def test_what_is_learned_one_by_one_and_on_average():
    rng = np.random.default_rng(11)
    n, n_cells = 2500, 40
    expected, participates, cell = rng.random(n), rng.random(n) < 0.6, rng.integers(n_cells, size=n)
    harm, risk = rng.lognormal(1, 1, n), rng.random(n_cells) * 0.3
    probability = risk[cell]
    breached, hears = rng.random(n) < probability, rng.random(n) < RULE.hears

    def learned(drawn=None):
        after = learned_risk(RULE, expected, participates, *(drawn or (probability, RULE.hears)), 0.2)
        decided = takes_part(RULE, harm, after)
        assert (decided & ~participates).any()
        assert (participates & ~decided).any()
        return after

    drawn = learned((breached, hears))
    np.testing.assert_allclose(drawn, one_by_one(RULE, expected, participates, breached, 0.2, hears))
    total = np.zeros(n)
    for b, weight_b in ((1.0, probability), (0.0, 1 - probability)):
        for h, weight_h in ((True, RULE.hears), (False, 1 - RULE.hears)):
            one = one_by_one(RULE, expected, participates, np.full(n, b), 0.2, np.full(n, h))
            total += weight_b * weight_h * np.array(one)
    np.testing.assert_allclose(learned(), total, atol=1e-12)


def test_without_breaches_everybody_comes_and_stays(setting_of_small):
    rule = ParticipationRule(reward=1.0, harm=10.0, spread=1.0, expected_risk=0.3, learning_rate=0.5)
    model = ReidentificationModel(setting_of_small(rounds=25, participation=rule), "no-attack").run()
    rounds = model.datacollector.get_model_vars_dataframe()
    assert rounds["participation"].iloc[0] < 1
    assert rounds["participation"].is_monotonic_increasing
    # A fixed point: participation no longer changes.
    assert rounds["participation"].iloc[-1] == 1
    assert (rounds[["joined", "left", "changed"]].iloc[-5:] == 0).all(axis=None)


def test_who_does_not_take_part_counts_as_withheld(setting_of_small):
    rule = ParticipationRule(reward=0.0, harm=10.0, expected_risk=0.5)
    model = ReidentificationModel(setting_of_small(participation=rule), "no-protection").run()
    assert model.measures["participation"] == 0
    assert model.measures["publisher_payoff"] == 0
    assert model.measures["generalization_intensity"] == 1
    assert model.measures["share_suppressed"] == 1
    assert np.isnan(model.measures["risk_if_attacked"])
    assert np.isnan(model.measures["risk_99"])


def test_the_last_round_is_told_as_it_was_played(setting_of_small):
    """A subject who leaves after the last round still took part in it."""
    rule = ParticipationRule(reward=1.0, harm=10.0, spread=0.0, expected_risk=0.0, learning_rate=0.6)
    model = ReidentificationModel(setting_of_small(rounds=1, participation=rule), "no-protection").run()
    assert not model.participates.all()
    assert model.shared_in_last_round.all()
    last, cells = model.equilibrium, model.setting.cell_of_subject
    assert last.publisher_payoff[cells].mean() == pytest.approx(model.measures["publisher_payoff"])
    assert last.adversary_payoff[cells].mean() == pytest.approx(model.measures["adversary_payoff"])


def test_who_joined_left_and_may_be_attacked_for_the_first_time_is_counted(setting_of_small):
    rule = ParticipationRule(reward=1.0, harm=10.0, spread=1.0, expected_risk=0.2, learning_rate=0.7)
    model = ReidentificationModel(setting_of_small(rounds=4, mode="sampling", participation=rule), "no-protection")
    before, exposed, n = model.participates, np.zeros(12, dtype=bool), 12
    for number in range(4):
        now = model.participates
        model.step()
        new = now & (model.outcome.attacked > 0)[model.setting.cell_of_subject] & ~exposed
        exposed |= new
        assert model.measures["newly_exposed"] == new.sum() / n
        assert model.measures["joined"] == (now & ~before).sum() / n
        assert model.measures["left"] == (before & ~now).sum() / n
        assert number == 0 or not new.all()
        before = now
    assert exposed.any()


@pytest.mark.parametrize("hears", [0.0, 1.0])
def test_drawn_breaches_are_news_to_absent_subjects_only_if_they_hear_of_them(hears, setting_of_small):
    rule = ParticipationRule(reward=1.0, harm=10.0, spread=1.0, expected_risk=0.1, learning_rate=0.5, hears=hears)
    model = ReidentificationModel(setting_of_small(mode="sampling", participation=rule), "no-protection")
    absent = ~model.participates
    model.step()
    assert absent.any()
    assert model.outcome.breached.any()
    assert (model.expected_risk[absent] == 0.1).all() == (hears == 0)


def test_a_breach_is_the_same_to_a_subject_under_every_policy(setting_of_small):
    first, second, other = (
        ReidentificationModel(setting_of_small(participation=RULE, replication=replication), policy).harm
        for policy, replication in (("basic", 0), ("no-attack", 0), ("basic", 1))
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
