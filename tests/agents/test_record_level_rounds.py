"""Record-level rounds under prosecutor risk: groups contain participants only."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_scenario import releases, write_scenario
from tiers import cases, examples

import reidsim
from reidsim.agents.model import ReidentificationModel
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.rounds import setting_of
from reidsim.scenarios.load import Scenario

SCENARIO = """
title = "Sixty of ninety"
seed = 6
[population]
recipe = "people.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 80
gain = 120
cost = 10
[adversary]
risk = "prosecutor"
[publisher]
policies = ["basic", "no-attack", "no-protection"]
"""
AGES = '[[sources]]\nkind = "groups"\nname = "list"\nprofile = [{ groups = [{ attributes = ["age"] }] }]\n'
POLICIES = ("basic", "no-attack", "no-protection")
# Adversaries without memory of earlier rounds.
FORGETTING = {"agents.remembers": False}
LEAVING = {"agents.participation": {"reward": 1, "harm": 8, "spread": 1.5}, "agents.rounds": 2, **FORGETTING}
MISTAKEN = {"beliefs.loss": 30.0, "beliefs.gain": 60.0}
UNKNOWN = {"adversary.planner": "fmdp", "adversary.sequential.belief": "unknown"}
UNKNOWN |= {"adversary.sequential.access_cost": 2, "adversary.sequential.link_cost": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"age": np.minimum(20 + rng.geometric(0.12, 90), 59), "sex": rng.choice(["F", "M"], 90)})
    people.to_csv(folder / "people.csv", index=False)
    people.iloc[:60].to_csv(folder / "records.csv", index=False)
    (folder / "people.toml").write_text('kind = "counts"\nfile = "people.csv"\n[columns]\nage = "age"\nsex = "sex"\n')
    (folder / "ages.toml").write_text(AGES)
    (folder / "town.toml").write_text(SCENARIO)
    return folder


@pytest.fixture(scope="module")
def town(folder):
    return folder / "town.toml"


def assert_same_outcomes(found, expected):
    """Compare the outcome of each record under each policy."""
    for name in expected.columns.drop("record"):
        if pd.api.types.is_float_dtype(expected[name]):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
        else:
            assert found[name].astype(str).tolist() == expected[name].astype(str).tolist(), name


def assert_game_of_those_who_stay(path, changes, rules):
    """Compare the last round with the analytic game without the people who left.

    Returns which people stay.
    """
    stays = {}
    for policy in POLICIES:
        one = {**changes, "publisher.policies": [policy]}
        records = reidsim.run(path, overrides={**one, **rules}).records
        stay = records.pop("participates").to_numpy()
        stays[policy] = stay
        if stay.any():
            rest = Path(path).with_name(f"rest-{policy}.csv")
            pd.read_csv(rest.with_name("records.csv"), dtype=str)[stay].to_csv(rest, index=False)
            expected = reidsim.run(path, overrides={**one, "release.path": str(rest)}).records
            assert_same_outcomes(records[stay], expected)
    return stays


@given(
    small=releases(),
    solver=st.sampled_from(["backward-induction", "branch-and-bound"]),
    rounds=st.integers(1, 3),
    expected_risk=st.sampled_from([0.0, 0.2]),
)
@pytest.mark.deep
@examples(10)
def test_any_small_study_is_that_of_those_who_stay(small, solver, rounds, expected_risk):
    rule = {"reward": 1, "harm": 6, "expected_risk": expected_risk, "learning_rate": 0.5}
    with tempfile.TemporaryDirectory() as folder:
        path = write_scenario(folder, small, policies=POLICIES, solver=solver, risk="prosecutor")
        assert_game_of_those_who_stay(
            path, {}, {"agents.participation": rule, "agents.rounds": rounds, **(FORGETTING if rounds > 1 else {})}
        )


@pytest.mark.parametrize("changes", cases([MISTAKEN, UNKNOWN], [MISTAKEN]))
def test_the_release_is_that_of_those_who_stay(changes, town):
    stays = assert_game_of_those_who_stay(town, changes, LEAVING)
    assert 5 < stays["no-protection"].sum() < 55


def test_adversaries_with_partial_knowledge_link_to_those_who_stay(town, folder):
    """Adversaries who know ages link to age classes, whatever their source.

    The sources are the scenario's recipe, a type's recipe and a resource.
    """
    ages, changes = pd.read_csv(folder / "records.csv")["age"], {**LEAVING, "publisher.policies": ["no-protection"]}
    recipe = str(folder / "ages.toml")
    for knowing in (
        {"adversary.knowledge": recipe},
        {"adversaries.x.knowledge": recipe},
        {"adversaries.x.holds": ["list"], "resources.list.attributes": ["age"]},
        {"adversaries.x.buys": ["list"], "resources.list": {"attributes": ["age"], "price": 1}},
    ):
        records = reidsim.run(town, overrides={**changes, **knowing, "economics.cost": 0}).records
        stay = records["participates"].to_numpy()
        assert 5 < stay.sum() < 55
        those = ages[stay]
        np.testing.assert_allclose(records["success_probability"][stay], 1 / those.map(those.value_counts()))


def test_class_sizes_under_journalist_risk_stay_those_of_the_population(town):
    """Departures change nothing for the remaining records."""
    changes = {"adversary.risk": "journalist", "publisher.policies": ["no-protection", "basic"]}
    analytic = reidsim.run(town, overrides=changes).records
    records = reidsim.run(town, overrides={**changes, **LEAVING}).records
    stay = records.pop("participates").to_numpy()
    assert not stay.all()
    assert_same_outcomes(records[stay], analytic[stay])
    study = build_study(Scenario.load(town, {**changes, **LEAVING}))
    assert setting_of(study, study.scenario.agents).among is None


def test_class_sizes_follow_who_leaves_and_returns(town):
    """No subject takes part after the first round; some return, hearing of no breach."""
    rule = {"reward": 1, "harm": 60, "spread": 1, "learning_rate": 0.9}
    study = build_study(Scenario.load(town, {"agents.participation": rule, "agents.rounds": 8, **FORGETTING}))
    model = ReidentificationModel(setting_of(study, study.scenario.agents), "no-protection")
    shared = []
    for _ in range(8):
        model.step()
        adversary = model.adversaries[0]
        equipment = adversary.profile.equip(adversary.holds, adversary.expected_accuracy)
        linked = equipment.linker.link(study.lattice.size - 1).group_sizes
        shared.append(int(model.participants.sum()))
        if shared[-1]:
            assert set(linked.tolist()) == {shared[-1]}
    assert shared[0] == 60
    assert 0 in shared
    assert any(0 < n < 60 for n in shared)
    assert study.linked_population.total == 60
