"""The planner `testing` against a dynamic program over all outcomes, in fractions, and against its own simulation."""

from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.adversaries.response import Linkage, OneShotAdversary
from reidsim.adversaries.testing import ListTester, ListTestingSection, MatchRateBelief, match_rates
from reidsim.core.validation import toml_text


def list_tester(gain, cost, **section):
    return ListTester(gain, cost, MatchRateBelief(ListTestingSection(**section)))


def attack(adversary, size, believed=None):
    """Return the `Attempt` at a record of a group size."""
    return adversary.weigh(Linkage(np.array([size]), np.array([believed or size])))


class Oracle:
    """The best policy on lists of unknown match rates: recursion over the outcome of every attempt, in fractions."""

    def __init__(self, gain, cost, size, section):
        self.gain, self.cost, self.chance = Fraction(gain), Fraction(cost), Fraction(1, size)
        self.price, self.tests = Fraction(section["price"]), section["tests"]
        mean, experience = Fraction(section["expected_match_rate"]), Fraction(section["experience"])
        self.prior, self.experience = mean * experience, experience

    def likelihood(self, successes, failures):
        """E[(c x)^successes (1 - c x)^failures] for x from the prior, by the moments of the Beta distribution."""

        def moment(order):
            product = Fraction(1)
            for n in range(order):
                product *= (self.prior + n) / (self.experience + n)
            return product

        return sum(
            comb(failures, n) * (-1) ** n * self.chance ** (successes + n) * moment(successes + n)
            for n in range(failures + 1)
        )

    def posterior(self, successes, failures):
        """Probability that the next attempt succeeds."""
        return self.likelihood(successes + 1, failures) / self.likelihood(successes, failures)

    @cache  # noqa: B019 - one oracle lives for one test
    def decide(self, successes, failures, lists, left):
        """Return payoff, expected attempts, expected successes and lists bought of the best decision from here."""
        options = [(Fraction(0),) * 4]
        if left:
            if lists:
                bought = self.begin(0, 0, lists - 1, left)
                options.append((bought[0] - self.price, *bought[1:3], bought[3] + 1))
            options.append(self.begin(successes, failures, lists, left))
        best = options[0]
        for option in options[1:]:
            best = option if option[0] > best[0] else best
        return best

    def begin(self, successes, failures, lists, left):
        """Return the same for a further batch with the list held."""
        return self.batch(successes, failures, lists, left, min(self.tests or left, left))

    def batch(self, successes, failures, lists, left, more):
        if not more:
            return self.decide(successes, failures, lists, left)
        chance = self.posterior(successes, failures)
        hit = self.batch(successes + 1, failures, lists, left - 1, more - 1)
        missed = self.batch(successes, failures + 1, lists, left - 1, more - 1)
        mixed = [chance * one + (1 - chance) * other for one, other in zip(hit, missed, strict=True)]
        return mixed[0] + self.gain * chance - self.cost, mixed[1] + 1, mixed[2] + chance, mixed[3]


WORLDS = st.fixed_dictionaries(
    {
        "gain": st.integers(1, 60),
        "cost": st.integers(0, 12),
        "size": st.integers(1, 5),
        "tests": st.integers(0, 4),
        "records": st.integers(1, 7),
        "expected_match_rate": st.sampled_from([0.125, 0.25, 0.5, 0.75]),
        "experience": st.sampled_from([0.5, 1.0, 2.0, 8.0]),
        "lists": st.integers(1, 3),
        "price": st.sampled_from([0.0, 0.5, 4.0, 30.0]),
    }
)


@given(world=WORLDS)
@examples(150)
def test_payoff_and_decisions_are_those_of_a_dynamic_program_over_all_outcomes(world):
    gain, cost, size = (world.pop(name) for name in ("gain", "cost", "size"))
    oracle, records = Oracle(gain, cost, size, world), world["records"]
    lists = world["lists"] - 1 if world["tests"] else 0
    payoff, attempts, successes, _ = (each / records for each in oracle.begin(0, 0, lists, records))
    found = attack(list_tester(float(gain), float(cost), **world), size)
    assert found.worth[0] == pytest.approx(float(payoff), abs=1e-12 * max(1, gain))
    assert found.payoff[0] == pytest.approx(float(payoff), abs=1e-12 * max(1, gain))
    assert found.pays[0] == (payoff > 0)
    assert found.exploits[0] == pytest.approx(float(attempts), abs=1e-12)
    assert found.success[0] == found.believed_success[0] == pytest.approx(float(successes), abs=1e-12)


def goes_on(adversary, size, attempts, successes, left):
    """Return whether the adversary continues after some attempts at records of one group size."""
    section = adversary.belief.section.model_copy(update={"records": left})
    belief = MatchRateBelief(section).after(np.array([1 / size]), np.array([attempts]), np.array([successes]))
    return bool(attack(ListTester(adversary.gain, adversary.cost, belief), size).pays[0])


@pytest.mark.parametrize("match_rate", [None, 0.15, 0.7])
def test_simulated_attacks_have_the_computed_payoff_and_success(match_rate):
    size, records, runs, rng = 2, 30, 4000, np.random.default_rng(41)
    adversary = list_tester(
        20.0, 4.0, tests=10, records=records, expected_match_rate=0.35, experience=3.0, match_rate=match_rate
    )
    decided = cache(lambda attempts, successes: goes_on(adversary, size, attempts, successes, records - attempts))
    rates = rng.beta(0.35 * 3, 0.65 * 3, runs) if match_rate is None else np.full(runs, match_rate)
    hits = rng.random((runs, records)) < rates[:, None] / size
    attempts, successes = np.zeros(runs), np.zeros(runs)
    for run in range(runs):
        tried = found = 0
        while tried < records and (tried == 0 or decided(tried, found)):
            found += int(hits[run, tried : tried + 10].sum())
            tried += 10
        attempts[run], successes[run] = tried, found
    found = attack(adversary, size)
    assert found.pays[0]
    simulated = {"payoff": 20 * successes - 4 * attempts, "exploits": attempts, "success": successes}
    for name, values in simulated.items():
        # A normal error of a mean exceeds 4.5 standard errors with probability 7e-6.
        bound = 4.5 * values.std() / np.sqrt(runs) / records
        assert getattr(found, name)[0] == pytest.approx(values.mean() / records, abs=bound)


AMOUNTS = st.floats(0, 100)
SECTIONS = st.fixed_dictionaries(
    {
        "tests": st.integers(1, 30),
        "records": st.integers(1, 40),
        "expected_match_rate": st.floats(0.01, 0.99),
        "experience": st.floats(0.1, 100),
        "lists": st.integers(1, 3),
        "price": AMOUNTS,
    }
)


@given(gain=AMOUNTS, cost=AMOUNTS, more=st.floats(0, 50), size=st.integers(1, 30), section=SECTIONS)
@examples(100)
def test_information_has_a_value_and_payoff_follows_gain_and_cost(gain, cost, more, size, section):
    payoff = attack(list_tester(gain, cost, **section), size).made().adversary_payoff[0]
    once = attack(list_tester(gain, cost, **section | {"tests": 0}), size).made().adversary_payoff[0]
    tolerance = 1e-9 * (1 + gain + cost)
    assert payoff >= once - tolerance >= -tolerance
    assert attack(list_tester(gain + more, cost, **section), size).made().adversary_payoff[0] >= payoff - tolerance
    assert attack(list_tester(gain, cost + more, **section), size).made().adversary_payoff[0] <= payoff + tolerance


@given(gain=AMOUNTS, cost=AMOUNTS, rate=st.floats(0.01, 0.99), sizes=st.lists(st.integers(1, 30), min_size=1))
def test_without_tests_it_is_the_one_shot_adversary_with_the_expected_match_rate(gain, cost, rate, sizes):
    found = list_tester(gain, cost, tests=0, expected_match_rate=rate).respond(
        Linkage(np.array(sizes), np.array(sizes))
    )
    effective = np.array(sizes) / rate
    expected = OneShotAdversary(gain, cost).respond(Linkage(effective, effective))
    np.testing.assert_allclose(found.adversary_payoff, expected.adversary_payoff, atol=1e-12 * (1 + gain + cost))
    np.testing.assert_allclose(found.reidentified, expected.reidentified, atol=1e-12)


def test_decisions_follow_the_believed_group_size_and_success_the_true_one():
    adversary = list_tester(20.0, 4.0, expected_match_rate=0.35)
    believed, mistaken = attack(adversary, 2), attack(adversary, 5, believed=2)
    assert mistaken.worth[0] == believed.worth[0]
    assert mistaken.exploits[0] == believed.exploits[0]
    assert mistaken.success[0] == pytest.approx(believed.success[0] * 2 / 5)
    assert mistaken.payoff[0] == pytest.approx(20 * mistaken.success[0] - 4 * mistaken.exploits[0])


def moments(prior, others, chance, successes, failures):
    """Return the posterior mean of a match rate with a Beta prior, in fractions."""
    oracle = Oracle(1, 1, 1, {"price": 0, "tests": 1, "expected_match_rate": prior, "experience": prior + others})
    oracle.prior, oracle.experience, oracle.chance = Fraction(prior), Fraction(prior + others), chance
    return oracle.posterior(successes, failures) / chance


@pytest.mark.parametrize(("size", "successes", "failures"), [(1, 0, 6), (1, 3, 2), (4, 0, 9), (4, 2, 7), (9, 1, 40)])
def test_the_belief_after_attempts_is_the_posterior(size, successes, failures):
    section = ListTestingSection(expected_match_rate=0.25, experience=4.0)
    belief = MatchRateBelief(section).after(
        np.array([1 / size]), np.array([successes + failures]), np.array([successes])
    )
    expected = moments(1, 3, Fraction(1, size), successes, failures)
    assert match_rates(belief).means[0] == pytest.approx(float(expected), rel=1e-11)


ROUNDS = {
    "title": "Two lists",
    "release": {"path": "people.csv"},
    "attributes": {"age": {"hierarchy": {"rule": "intervals", "widths": [10]}}},
    "economics": {"benefit": 10, "loss": 6, "gain": 10, "cost": 2},
    "adversary": {"risk": "prosecutor"},
    "publisher": {"policies": ["no-protection"]},
    "resources": {"first": {"price": 5}, "second": {"price": 6}},
    "adversaries": {"broker": {"planner": "testing", "buys": ["first", "second"], "testing": {"tests": 10}}},
    "agents": {"rounds": 5},
}


def rounds_with(folder, **changes):
    """Return the adversary's table of rounds against 40 distinct records."""
    (folder / "people.csv").write_text("age\n" + "".join(f"{age}\n" for age in range(20, 60)))
    (folder / "rounds.toml").write_text(toml_text(ROUNDS))
    return reidsim.Scenario.load(folder / "rounds.toml").with_(**changes).run().analysis.adversaries


def test_in_rounds_a_good_list_is_used_and_bad_ones_are_tested_in_turn(tmp_path):
    good = rounds_with(tmp_path, adversaries__broker__testing__match_rate=0.8)
    assert good["attacks"].tolist() == [10, 40, 40, 40, 40]
    assert good["breaches"].tolist() == pytest.approx([8, 32, 32, 32, 32])
    assert good["spent"].tolist() == [5, 0, 0, 0, 0]
    bad = rounds_with(tmp_path, adversaries__broker__testing__match_rate=0.0)
    assert bad["attacks"].tolist() == [10, 10, 0, 0, 0]
    assert bad["spent"].tolist() == [5, 6, 0, 0, 0]
    assert bad["payoff"].tolist() == pytest.approx([-25, -26, 0, 0, 0])


@pytest.mark.deep
def test_in_rounds_plans_do_not_depend_on_the_true_match_rate(tmp_path):
    first = [rounds_with(tmp_path, adversaries__broker__testing__match_rate=rate).iloc[0] for rate in (0.0, 0.5, 1.0)]
    for column in ("attacks", "spent", "holds"):
        assert len({row[column] for row in first}) == 1


def test_a_budget_limits_the_tests(tmp_path):
    found = rounds_with(tmp_path, adversaries__broker__budget=17)
    assert found["attacks"].iloc[0] == 6
    assert (found["spent"] + 2 * found["attacks"] <= 17).all()


def test_an_adversary_who_errs_goes_on_after_the_tests(tmp_path):
    errs = {"adversaries__broker__rationality": "logit", "adversaries__broker__precision": 0.5}
    found = rounds_with(tmp_path, adversaries__broker__testing__match_rate=0.8, **errs)
    assert 0 < found["attacks"].iloc[0] <= 10
    assert (found["attacks"].iloc[1:] > 20).all()


@pytest.mark.deep
def test_drawn_successes_decide_about_the_next_round(tmp_path):
    draws = {"agents__mode": "sampling", "agents__draws": 50, "agents__rounds": 2}
    found = rounds_with(tmp_path, adversaries__broker__testing__match_rate=0.4, **draws)
    first = found[found["round"] == 1]
    assert (first["attacks"] == 10).all()
    # Ten attempts with success probability 0.4; 4.5 standard errors of the mean of 50 draws.
    assert first["breaches"].mean() == pytest.approx(4, abs=4.5 * np.sqrt(10 * 0.4 * 0.6 / 50))
    second, successes = found[found["round"] == 2].set_index("draw"), first.set_index("draw")["breaches"]
    assert (second["spent"][successes <= 1] == 6).all()
    assert (second["spent"][successes >= 7] == 0).all()
    assert (second["attacks"][successes >= 7] == 40).all()
    assert (successes <= 1).any()
    assert (successes >= 7).any()


def test_a_publisher_who_rules_out_attacks_leaves_no_list_worth_a_test(tmp_path):
    changes = {
        "policies": ["basic", "no-attack"],
        "adversaries__broker__holds": ["first"],
        "adversaries__broker__buys": [],
    }
    found = rounds_with(tmp_path, **changes).groupby("policy")["attacks"].sum()
    assert found["no-attack"] == 0 < found["basic"]
