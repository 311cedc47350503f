"""Rounds with generalized tables and records: departures, partial knowledge, several types."""

import numpy as np
import pandas as pd
import pytest
from small_ward import write_ward

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.single_run import play_policies
from reidsim.engine.stress.run import describe
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario

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
MISTAKEN = {"publisher.unit": "record", "beliefs.loss": 30.0, "beliefs.gain": 60.0}
UNKNOWN = {"publisher.unit": "record", "adversary.planner": "fmdp", "adversary.sequential.belief": "unknown"}
UNKNOWN |= {"adversary.sequential.access_cost": 2, "adversary.sequential.link_cost": 1}
AGES = '[[sources]]\nkind = "groups"\nname = "list"\nprofile = [{ groups = [{ attributes = ["age"] }] }]\n'


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return write_ward(tmp_path_factory.mktemp("town"), ["basic", "no-attack"], TYPES)


@pytest.fixture
def folder(town):
    return town.parent


# Participation.


@pytest.mark.parametrize(
    ("changes", "risk", "policy"),
    [
        ({}, "prosecutor", "basic"),
        ({}, "prosecutor", "record-level"),
        ({}, "journalist", "no-protection"),
        (MISTAKEN, "prosecutor", "basic"),
        (MISTAKEN, "journalist", "basic"),
        pytest.param(UNKNOWN, "prosecutor", "no-protection", marks=pytest.mark.deep),
    ],
)
def test_the_table_is_that_of_those_who_take_part(changes, risk, policy, town, folder):
    """After departures, the game is the analytic game on the remaining records."""
    changes = {**ONE, **changes, "adversary.risk": risk, "publisher.policies": [policy]}
    result = reidsim.run(town, overrides={**changes, **LEAVING})
    stay = result.records["participates"].to_numpy()
    assert 5 < stay.sum() < 38
    pd.read_csv(folder / "records.csv")[stay].to_csv(folder / "rest.csv", index=False)
    alone = Scenario.load(town, {**changes, "agents": {}, "release.path": str(folder / "rest.csv")})
    rest = play_policies(build_study(alone), lambda task, done, total: None).records.frame()
    found = result.records[stay].reset_index(drop=True)
    assert found["strategy"].astype(str).tolist() == rest["strategy"].astype(str).tolist()
    for column in ("publisher_payoff", "adversary_payoff", "success_probability", "utility"):
        np.testing.assert_allclose(found[column], rest[column], rtol=1e-9, atol=1e-9)
    assert result.analysis.rounds["publisher_payoff"].iloc[1] == pytest.approx(rest["publisher_payoff"].sum() / 40)


def test_adversaries_with_partial_knowledge_link_to_participants(town, folder):
    """Adversaries who know ages link to age classes, whatever their source.

    The sources are the scenario's recipe, a type's recipe and a resource.
    """
    (folder / "ages.toml").write_text(AGES)
    ages, recipe = pd.read_csv(folder / "records.csv")["age"], str(folder / "ages.toml")
    changes = {**ONE, **LEAVING, "publisher.policies": ["no-protection"], "economics.cost": 0}
    for unit, knowing in (
        ("record", {"adversary.knowledge": recipe}),
        ("record", {"adversaries.x.knowledge": recipe}),
        ("record", {"adversaries.x.holds": ["list"], "resources.list.attributes": ["age"]}),
        ("table", {"adversaries.x.buys": ["list"], "resources.list": {"attributes": ["age"], "price": 1}}),
    ):
        records = reidsim.run(town, overrides={**changes, **knowing, "publisher.unit": unit}).records
        stay = records["participates"].to_numpy()
        assert 5 < stay.sum() < 38
        participants = ages[stay]
        exact = 1 / participants.map(participants.value_counts())
        np.testing.assert_allclose(records["success_probability"][stay], exact)


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
    expected = play_policies(build_study(loaded), lambda task, done, total: None).records.frame()
    found = reidsim.run(town, overrides=changes)
    np.testing.assert_allclose(found.records["publisher_payoff"], expected["publisher_payoff"], atol=1e-9)
    np.testing.assert_allclose(found.records["adversary_payoff"], expected["adversary_payoff"], atol=1e-9)
