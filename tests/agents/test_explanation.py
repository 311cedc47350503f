"""Why adversaries act or not: hand-computed options, the plans of the agents, and a list with missing values."""

from dataclasses import replace

import numpy as np
import pytest
from agents.conftest import TOWN, small_profile, small_setting

from reidsim.adversaries.response import NeverAttacks, OneShotAdversary
from reidsim.agents.explanation import options_table
from reidsim.agents.model import ReidentificationModel
from reidsim.agents.profile import Equipment
from reidsim.core.errors import InputError
from reidsim.reports.description import explain
from reidsim.scenarios.scenario import Scenario

PROFILES = "\n".join(
    [
        'extends = "one-world"',
        "targets.size = 100",
        "[resources.snaps]",
        'kind = "social-media"',
        "coverage = 0.5",
        "price = 0",
        'attributes = ["age", "state", "sex"]',
        "[adversaries.nosy]",
        "weight = 0.5",
        "gain = 5000",
        "cost = 1",
        'buys = ["snaps"]',
        "[[adversaries.nosy.stages]]",
        'stage = "identify"',
        'resource = "snaps"',
        'on = ["age", "state", "sex"]',
    ]
)


def unequipped(*_, **__):
    """Return the equipment of an adversary without resources."""


@pytest.mark.parametrize(
    ("cost", "fields", "reasons"),
    [
        # The gain is 60, and the smallest group has one person.
        (70, {}, ["no record has an expected payoff above 0: best is -10.00 at group size 1, success probability 1"]),
        (60, {}, ["no record has an expected payoff above 0: best is 0.00 at group size 1, success probability 1"]),
        (4, {"budget": 3.0}, ["an attack costs 4.00, more than the remaining budget of 3.00"]),
        # Subjects in the groups of 1, 2, 3, 4 and 6 people: 3 * 56 + 2 * 26 + 3 * 16 + 11 + 6 = 285.
        (4, {}, ["records attacked: 10; expected payoff 285.00"]),
        (
            4,
            {"prices": {"list": 500.0}, "budget": 300.0},
            ["records attacked: 10; expected payoff 285.00", "price 500 exceeds budget 300"],
        ),
        (
            4,
            {"prices": {"list": 5.0}},
            [
                "records attacked: 10; expected payoff 285.00",
                "expected payoff 280.00 is not above 285.00, the payoff of the chosen option",
            ],
        ),
        (
            70,
            {"prices": {"list": 500.0}, "budget": 300.0},
            [
                "no record has an expected payoff above 0: best is -10.00 at group size 1, success probability 1",
                "price 500 exceeds budget 300",
            ],
        ),
        (4, {"equip": unequipped, "holds": frozenset("ab")}, ["no record can be linked with a and b"]),
        (4, {"equip": unequipped}, ["no record can be linked without a resource"]),
    ],
)
def test_each_option_has_its_reason(cost, fields, reasons):
    profile = replace(small_profile(TOWN, cost=float(cost)), **fields)
    assert options_table(small_setting(profiles=(profile,)))["reason"].tolist() == reasons


def test_a_planner_that_does_not_weigh_payoffs_has_no_best_payoff():
    profile = small_profile(TOWN)
    linker = profile.equip(frozenset(), 1.0).linker
    never = replace(profile, equip=lambda *_, **__: Equipment(linker, NeverAttacks()))
    [option] = options_table(small_setting(profiles=(never,))).to_dict("records")
    assert np.isnan(option["best_payoff"])
    assert option["group_size"] == 1
    assert option["reason"] == "the planner attacks no record"


@pytest.mark.parametrize("budget", [np.inf, 30.0, 9.0])
@pytest.mark.parametrize("prices", [{}, {"list": 0.0}, {"list": 6.0, "file": 1.0}])
def test_the_chosen_option_is_the_plan_of_the_agent(prices, budget):
    profile = small_profile(TOWN, prices=prices, budget=budget)
    setting = small_setting(profiles=(profile,), rounds=3)
    options = options_table(setting)
    assert len(options) == 2 ** len(prices)
    [chosen] = options[options["chosen"]].to_dict("records")
    model = ReidentificationModel(setting, "no-protection")
    model.step()
    plan = model.adversaries[0].plan
    assert (chosen["buys"], chosen["records_attacked"]) == (" and ".join(sorted(plan.buys)), plan.targets.sum())
    assert chosen["expected_payoff"] == plan.worth


class Patient(OneShotAdversary):
    """An adversary that buys everything, attacks one record, and counts its plans."""

    def begin(self, world):
        self.name, self.plans = world.name, []

    def plan(self, observation):
        self.plans.append(observation)
        targets = (np.arange(len(observation.records)) == 0).astype(float)
        return observation.plan(observation.offers, targets if self.name == "small" else None)


def test_the_plan_of_an_own_adversary_is_the_chosen_option():
    own = Patient(60, 4.0)
    profile = replace(small_profile(TOWN, cost=4.0), name="small", planner=own, prices={"list": 500.0, "file": 0.0})
    options = options_table(small_setting(profiles=(profile,), rounds=2)).set_index("buys")
    assert not hasattr(own, "plans")
    assert options.query("chosen").index.tolist() == ["file and list"]
    assert options.loc["file and list", "records_attacked"] == 1
    worth = options.loc["file and list", "expected_payoff"]
    assert options.loc["file and list", "reason"] == f"records attacked: 1; expected payoff {worth:,.2f} over 2 rounds"
    ends = f"over 2 rounds is above {worth:,.2f}, the payoff of the chosen option"
    assert options.loc["file", "reason"] == f"expected payoff 570.00 {ends}"
    wrong = replace(profile, planner=type("Wrong", (Patient,), {"plan": lambda *_: None})(60, 4.0))
    with pytest.raises(InputError, match="adversary 'small': not a plan"):
        options_table(small_setting(profiles=(wrong,)))


@pytest.mark.deep
def test_a_list_with_missing_values_explains_why_its_buyer_never_acts(tmp_path):
    """Social media hide most ages and states by default, so that groups are large; a list with all values is used."""
    (tmp_path / "social.toml").write_text(PROFILES)
    scenario = Scenario.load(tmp_path / "social.toml")
    explained = explain(scenario)
    found = explained.options[explained.options["adversary"] == "nosy"].set_index("buys")
    size = found.loc["snaps", "group_size"]
    # Gain times coverage per candidate, less the cost and the expected fine of .005 * 200.
    assert found.loc["snaps", "best_payoff"] == pytest.approx(5000 * 0.5 / size - 1 - 1, rel=0.02)
    assert not found["records_attacked"].any()
    for words in (
        "nosy, buying nothing: no record can be linked without a resource",
        "nosy, buying snaps for 0: no record has an expected payoff above 0: best is -0.",
        "snaps: 8,980 records; missing: age 70%, state 50%, sex 10%",
    ):
        assert words in str(explained)
    known = explain(scenario.overridden({"resources.snaps.missing": {"age": 0.0, "state": 0.0, "sex": 0.0}}))
    assert known.options.set_index("buys").loc["snaps", "records_attacked"] > 0


def test_a_scenario_that_cannot_be_played_in_rounds_has_no_options():
    unplayable = Scenario.load("prasser2017", {"publisher.policies": ["local-recoding"]})
    assert explain(unplayable).options.empty
