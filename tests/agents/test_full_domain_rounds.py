"""Rounds with full-domain generalization: departures, purchases, learning, draws."""

import numpy as np
import pandas as pd
import pytest
from small_ward import write_ward

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.single_run import play_policies
from reidsim.engine.stress.run import describe
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.load import Scenario

TYPES = """
[agents]
rounds = 1
[adversaries.keen]
weight = 0.6
gain = 120
[adversaries.lazy]
weight = 0.4
gain = 25
"""
# Adversaries without memory of earlier rounds.
FORGETTING = {"agents.remembers": False}
LEAVING = {"agents.participation": {"reward": 1, "harm": 8, "spread": 1.5}, "agents.rounds": 2, **FORGETTING}
ONE = {"adversaries": {"x": {}}}
LIST = {"resources.list": {"attributes": ["age"], "coverage": 0.5, "price": 20}}


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return write_ward(tmp_path_factory.mktemp("town"), ["basic", "no-attack"], TYPES)


@pytest.fixture
def folder(town):
    return town.parent


# Participation.


@pytest.mark.parametrize(
    ("risk", "policy"), [("prosecutor", "basic"), ("prosecutor", "record-level"), ("journalist", "no-protection")]
)
def test_the_table_is_that_of_those_who_take_part(risk, policy, town, folder):
    """After departures, the game is the analytic game on the remaining records."""
    changes = {**ONE, "adversary.risk": risk, "publisher.policies": [policy]}
    result = reidsim.run(town, overrides={**changes, **LEAVING})
    stay = result.records["participates"].to_numpy()
    assert 5 < stay.sum() < 38
    pd.read_csv(folder / "records.csv")[stay].to_csv(folder / "rest.csv", index=False)
    alone = Scenario.load(town, {**changes, "agents": {}, "release.path": str(folder / "rest.csv")})
    rest = play_policies(build_study(alone), lambda task, done, total: None).records
    found = result.records[stay].reset_index(drop=True)
    assert found["strategy"].astype(str).tolist() == rest["strategy"].astype(str).tolist()
    for column in ("publisher_payoff", "adversary_payoff", "success_probability", "utility"):
        np.testing.assert_allclose(found[column], rest[column], rtol=1e-9, atol=1e-9)
    assert result.analysis.rounds["publisher_payoff"].iloc[1] == pytest.approx(rest["publisher_payoff"].sum() / 40)


# Resources, enforcement and learning.


def test_resources_are_knowledge_of_those_in_the_table(town, folder):
    """A list of half the ages: success is 1/2 of 1 / age class plus 1/2 of 1/40."""
    changes = {**LIST, "adversaries": {"x": {"holds": ["list"]}}, "publisher.policies": ["no-protection"]}
    records = reidsim.run(town, overrides={**changes, "economics.cost": 0}).records
    ages = pd.read_csv(folder / "records.csv")["age"]
    exact = 0.5 / ages.map(ages.value_counts()) + 0.5 / 40
    np.testing.assert_allclose(records["success_probability"], exact)


def test_a_publisher_may_foresee_a_purchase(town):
    """A publisher who foresees purchases does no worse in a single round."""
    changes = {**LIST, "resources.list.coverage": 1, "economics.cost": 1, "economics.loss": 300}
    changes |= {"adversaries": {"x": {"buys": ["list"], "gain": 80}}, "publisher.policies": ["basic", "no-attack"]}
    blind = reidsim.run(town, overrides=changes)
    seeing = reidsim.run(town, overrides={**changes, "agents.foresees": "plans"})
    assert blind.summary["share_attacked"].gt(0).all()
    assert seeing.summary["share_attacked"]["no-attack"] == 0
    assert seeing.summary["publisher_payoff"]["basic"] > blind.summary["publisher_payoff"]["basic"]
    forms = seeing.records.groupby("policy", observed=True)["strategy"].agg(lambda each: set(each) - {"withheld"})
    assert forms.map(len).tolist() == [1, 0]


# Draws.


def test_a_budget_holds_against_several_types(town):
    changes = {"publisher.search": "anytime", "publisher.nodes": 1, "publisher.policies": ["basic"]}
    result = reidsim.run(town, overrides=changes)
    assert result.manifest["policies"]["basic"]["nodes_evaluated"] == 1
    assert result.warnings == (
        "basic: the node of the last round is not proved optimal; another node may have a higher payoff",
    )
    enough = reidsim.run(town, overrides={**changes, "publisher.nodes": 1000})
    assert enough.manifest["policies"]["basic"]["proved_optimal"]
    assert enough.warnings == ()
    assert enough.summary["publisher_payoff"]["basic"] >= result.summary["publisher_payoff"]["basic"]


# Bad input.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adversaries.keen.knowledge": "no-such-recipe"}, "no-such-recipe"),
        ({"publisher.policies": ["basic", "local-recoding"]}, "found 'local-recoding'"),
        (
            {"publisher.policies": ["multi-dimensional"]},
            "the policy is not supported in rounds of agents; found 'multi-",
        ),
        ({**ONE, "economics.columns": {"loss": "worth"}}, "adversaries.x.gain: rounds of agents need the same gain"),
        ({**ONE, "economics.columns": {"cost": "worth"}}, "adversaries.x.cost: rounds of agents need the same cost"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(changes, message, town):
    for use in (lambda: reidsim.run(town, overrides=changes), lambda: describe(Scenario.load(town, changes))):
        with pytest.raises(InputError, match=message) as caught:
            use()
        assert caught.value.source in (str(town), "--set", "overrides")
        assert "\n" not in str(caught.value)


def test_types_with_prices_of_their_own_may_meet_records_with_theirs(town):
    """Benefit and loss may differ by record if types have their own gain and cost."""
    types = {"x": {"gain": 120, "cost": 10}}
    changes = {"adversaries": types, "economics.columns": {"benefit": "worth", "loss": "worth"}}
    analytic = {"economics.columns": {"benefit": "worth", "loss": "worth"}, "economics.gain": 120, "adversaries": {}}
    loaded = Scenario.load(town, analytic)
    expected = play_policies(build_study(loaded), lambda task, done, total: None)
    found = reidsim.run(town, overrides=changes)
    np.testing.assert_allclose(found.records["publisher_payoff"], expected.records["publisher_payoff"], atol=1e-9)
    np.testing.assert_allclose(found.records["adversary_payoff"], expected.records["adversary_payoff"], atol=1e-9)
