"""Adversaries who err: logit decisions, prospects, and fits to attacks."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from contract_worlds import PLAYERS, in_steps
from found import at_least
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases, examples

import reidsim
from reidsim.adversaries.rationality import ErringAdversary, ProspectTheory, weighted
from reidsim.adversaries.response import Linkage, OneShotAdversary
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.core.errors import InputError

NO_DISTORTION = ProspectTheory(**dict.fromkeys(ProspectTheory.model_fields, 1.0))
# Adversaries who evaluate attacks, on both spaces.
WEIGHING = at_least(11, sorted(name for name in PLAYERS if name.split("-")[1] not in ("always", "never", "random")))
FEW = ["lattice-fmdp", "lattice-partial-knowledge", "masking-fmdp-unconfirmed", "masking-multistage"]
ONE_ATTEMPT = [name for name in WEIGHING if not in_steps(name)]
FIELDS = ("success", "believed_success", "adversary_payoff", "exploits")


def linkages(player):
    return [player.linker.link(strategy) for strategy in range(player.space.size)]


def groups(*sizes):
    counts = np.array(sizes)
    return Linkage(counts, counts)


def logit(worth, precision):
    """Return the quantal response to an attack's worth, against 0 for no attack."""
    return math.exp(precision * worth) / (1 + math.exp(precision * worth))


@given(
    size=st.integers(1, 50), believed=st.integers(1, 50), gain=st.floats(0, 100), cost=st.floats(0, 50),
    precision=st.floats(0, 2),
)  # fmt: skip
@examples(60)
def test_a_logit_attack_is_as_likely_as_the_quantal_response_says_and_pays_what_is_true(
    size, believed, gain, cost, precision
):
    linkage = Linkage(np.array([size]), np.array([believed]))
    reply = ErringAdversary(OneShotAdversary(gain, cost), precision).respond(linkage)
    worth = gain / believed - cost
    chance = logit(worth, precision)
    assert reply.attack_probability[0] == pytest.approx(chance, abs=1e-12)
    assert reply.reidentified[0] == pytest.approx(chance / size, abs=1e-12)
    assert reply.adversary_payoff[0] == pytest.approx(chance * (gain / size - cost), abs=1e-9)
    assert reply.exploits[0] == pytest.approx(chance, abs=1e-12)
    assert reply.invited[0] == (gain / believed > cost * (1 + 1e-12))


@pytest.mark.parametrize("name", cases(WEIGHING, FEW))
def test_ever_more_precise_decisions_are_those_without_error_but_for_ties(name):
    player = PLAYERS[name]
    erring, apart = ErringAdversary(player.adversary, 1e13), 0
    for linkage in linkages(player):
        without, reply = player.adversary.respond(linkage), erring.respond(linkage)
        # An attack worth zero up to rounding is made half of the time, however precise the decisions.
        clear = np.abs(player.adversary.weigh(linkage).worth) > 1e-9
        apart += int(clear.sum())
        np.testing.assert_array_equal(reply.invited, without.attacks)
        for value in ("reidentified", "attack_probability", "adversary_payoff", "exploits"):
            mine, theirs = getattr(reply, value)[clear], getattr(without, value)[clear]
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9, err_msg=value)
    assert apart > 0


@pytest.mark.parametrize("name", WEIGHING)
def test_what_an_attack_is_worth_is_what_it_pays_where_it_is_made(name):
    player = PLAYERS[name]
    for linkage in linkages(player):
        reply, attempt = player.adversary.respond(linkage), player.adversary.weigh(linkage)
        np.testing.assert_array_equal(attempt.pays, reply.attacks)
        for value in FIELDS:
            said = getattr(attempt, "payoff" if value == "adversary_payoff" else value)[reply.attacks]
            np.testing.assert_array_equal(said, getattr(reply, value)[reply.attacks], err_msg=value)


def test_a_sequential_attack_errs_at_access_and_goes_on_as_planned():
    player = PLAYERS["lattice-fmdp"]
    adversary = player.adversary
    assert isinstance(adversary, SequentialAdversary)
    exposed = replace(adversary, attack=replace(adversary.attack, access_cost=0.0))
    wasted = 0
    for mistaken in linkages(player):
        linkage = Linkage(mistaken.group_sizes, mistaken.group_sizes)
        attempt, reply = adversary.weigh(linkage), ErringAdversary(adversary, 0.2).respond(linkage)
        cost, worth = adversary.attack.access_cost, exposed.weigh(linkage).worth
        np.testing.assert_allclose(attempt.worth, worth - cost, atol=1e-12)
        expected = [logit(each, 0.2) for each in attempt.worth.tolist()]
        np.testing.assert_allclose(reply.attack_probability, expected, atol=1e-12)
        # After paying for access to a group worth nothing, the adversary links nobody.
        nothing = worth == 0
        wasted += int(nothing.sum())
        assert (reply.reidentified[nothing] == 0).all()
        np.testing.assert_allclose(reply.adversary_payoff[nothing], -cost * reply.attack_probability[nothing])
        # Free access without further steps is not an attack.
        free = ErringAdversary(exposed, 0.2).respond(linkage)
        assert not free.attacks[(worth == 0) & (attempt.believed_success == 0)].any()
    assert wasted > 0


def cumulative_prospect(chance, gain, price, theory):
    """Return a two-outcome prospect's value by Tversky and Kahneman (1992)."""

    def value(amount):
        if amount >= 0:
            return amount**theory.gain_curvature
        return -theory.loss_aversion * (-amount) ** theory.loss_curvature

    def weight(p, c):
        return p**c / (p**c + (1 - p) ** c) ** (1 / c)

    outcomes = sorted([(gain - price, chance), (-price, 1 - chance)])
    total, worse = 0.0, 0.0
    for amount, p in outcomes:
        if amount < 0:
            # Losses from the worst on, each weighted by its addition to the weight of outcomes as bad or worse.
            total += (weight(worse + p, theory.loss_weighting) - weight(worse, theory.loss_weighting)) * value(amount)
        worse += p
    better = 0.0
    for amount, p in reversed(outcomes):
        if amount >= 0:
            total += (weight(better + p, theory.gain_weighting) - weight(better, theory.gain_weighting)) * value(amount)
        better += p
    return total


THEORIES = st.builds(
    ProspectTheory,
    gain_weighting=st.floats(0.3, 1),
    loss_weighting=st.floats(0.3, 1),
    gain_curvature=st.floats(0.2, 1),
    loss_curvature=st.floats(0.2, 1),
    loss_aversion=st.floats(0.5, 4),
)


@given(size=st.integers(1, 200), gain=st.floats(0, 1000), price=st.floats(0, 100), theory=THEORIES)
@examples(100)
def test_prospects_are_valued_as_the_paper_says(size, gain, price, theory):
    chance = 1 / size
    expected = cumulative_prospect(chance, gain, price, theory)
    found = theory.worth(np.array([chance]), gain, price)[0]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    reply = ErringAdversary(OneShotAdversary(gain, price), prospect=theory).respond(groups(size))
    if abs(expected) > 1e-6:
        assert reply.attacks[0] == (expected > 0)
        assert reply.adversary_payoff[0] == pytest.approx((gain / size - price) * (expected > 0))
    noisy = ErringAdversary(OneShotAdversary(gain, price), 0.3, theory).respond(groups(size))
    if abs(expected) > 1e-6:
        assert noisy.attack_probability[0] == pytest.approx(1 / (1 + math.exp(-0.3 * expected)), abs=1e-9)


def test_where_the_chance_of_an_attack_is_too_small_to_tell_there_is_none():
    reply = ErringAdversary(OneShotAdversary(10.0, 100.0), 1e6).respond(groups(1, 2))
    assert not reply.attacks.any()
    np.testing.assert_array_equal(reply.frequency, 1.0)
    np.testing.assert_array_equal(reply.adversary_payoff, 0.0)


def test_the_median_estimates_value_a_prospect_as_worked_out_by_hand():
    # A hit of 100 with probability 0.05, at a price of 10: 0.1316 * 90^0.88 - 2.25 * 0.8499 * 10^0.88.
    over = weighted(np.array([0.05]), 0.61)[0]
    missed = weighted(np.array([0.95]), 0.69)[0]
    assert over == pytest.approx(0.1316, abs=5e-5)
    assert missed == pytest.approx(0.8499, abs=5e-5)
    by_hand = over * 90**0.88 - 2.25 * missed * 10**0.88
    assert ProspectTheory().worth(np.array([0.05]), 100.0, 10.0)[0] == pytest.approx(by_hand)
    np.testing.assert_array_equal(weighted(np.array([0.0, 1.0]), 0.61), [0.0, 1.0])


@pytest.mark.parametrize("name", ONE_ATTEMPT)
def test_prospects_without_distortion_are_expected_payoffs(name):
    player = PLAYERS[name]
    for linkage in linkages(player):
        without = player.adversary.respond(linkage)
        reply = ErringAdversary(player.adversary, prospect=NO_DISTORTION).respond(linkage)
        clear = np.abs(player.adversary.weigh(linkage).worth) > 1e-9
        for value in ("reidentified", "attack_probability", "adversary_payoff", "invited"):
            np.testing.assert_allclose(getattr(reply, value)[clear], getattr(without, value)[clear], atol=1e-9)


def test_prospects_of_a_sequential_attack_are_refused():
    player = PLAYERS["lattice-fmdp"]
    erring = ErringAdversary(player.adversary, prospect=ProspectTheory())
    with pytest.raises(InputError, match="prospect theory needs an attack of a single attempt"):
        erring.respond(player.linker.link(0))


def observed(rng, n, precision):
    gain, cost = rng.uniform(50, 300, n), rng.uniform(2, 30, n)
    success = 1 / rng.integers(1, 40, n)
    chance = 1 / (1 + np.exp(-precision * (success * gain - cost)))
    return pd.DataFrame(
        {"attacked": (rng.random(n) < chance).astype(int), "success": success, "gain": gain, "cost": cost}
    )


def test_a_fit_is_where_the_likelihood_is_highest(tmp_path):
    table = observed(np.random.default_rng(np.random.SeedSequence(32)), 300, 0.05)
    table.to_csv(tmp_path / "attacks.csv", index=False)
    fit = reidsim.fit_precision(tmp_path / "attacks.csv")
    worth = (table["success"] * table["gain"] - table["cost"]).to_numpy()

    def log_likelihood(precision):
        chance = 1 / (1 + np.exp(-precision * worth))
        return np.log(np.where(table["attacked"] == 1, chance, 1 - chance)).sum()

    grid = np.linspace(0.5, 1.5, 2001) * fit.precision
    best = grid[np.argmax([log_likelihood(each) for each in grid])]
    assert best == pytest.approx(fit.precision, rel=1e-3)
    assert fit.log_likelihood == pytest.approx(log_likelihood(fit.precision))
    step = 1e-4
    curvature = -(log_likelihood(fit.precision + step) - 2 * fit.log_likelihood + log_likelihood(fit.precision - step))
    assert fit.standard_error == pytest.approx(step / math.sqrt(curvature), rel=1e-3)
    assert fit.high - fit.low == pytest.approx(2 * 1.96 * fit.standard_error, rel=1e-4)
    assert (fit.decisions, fit.against) == (300, int(((worth > 0) != (table["attacked"] == 1)).sum()))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"attacked": [1, 0]}, "every decision follows the payoff, so the likelihood has no maximum"),
        (
            {"cost": [0.0, 0.0], "gain": [0.0, 0.0]},
            "no precision can be estimated from these decisions; found '2 decisions'",
        ),
        ({"attacked": ["1", "maybe"]}, r"row 2, column 'attacked': value not allowed; found 'maybe'; expected 1 or 0"),
        ({"success": [0.5, 1.5]}, "row 2, column 'success': value not allowed; found '1.5'; expected a probability"),
        ({"gain": ["10", "much"]}, "row 2, column 'gain': not a number of 0 or more; found 'much'"),
    ],
)
def test_attacks_that_cannot_be_fitted_are_refused(tmp_path, change, problem):
    table = pd.DataFrame({"attacked": [0, 1], "success": [1.0, 0.1], "gain": [10.0, 10.0], "cost": [5.0, 5.0]})
    table.assign(**change).to_csv(tmp_path / "attacks.csv", index=False)
    with pytest.raises(InputError, match=re.escape(problem) if "'" not in problem else problem) as raised:
        reidsim.fit_precision(tmp_path / "attacks.csv")
    assert "attacks.csv" in str(raised.value)
