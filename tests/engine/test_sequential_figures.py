"""Tables of the sequential planner for a small town, against direct calls."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    exploits_undetected,
    plan_baseline,
    plan_known,
    plan_unknown,
)
from reidsim.core.errors import InputError
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.outcomes import (
    attack_table,
    belief_table,
)
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).parent.parent / "scenarios" / "town"
REGISTRY = """
kind = "counts"
file = "registry.csv"
count = "people"
[columns]
age = "years"
sex = "sex"
district = "district"
"""
# 16 of the 33 people of the town: 1 of 1 like A (F, 30, N1), 3 of 5 like B (M, 30, N1), 9 of 20 like C (M, 31, N1),
# nobody like D (F, 33, S2). The records of these kinds number 3, 9, 12 and 6.
LISTED = """
years,sex,district,people
30,F,N1,1
31,F,N1,0
30,M,N1,3
31,M,N1,9
30,F,N2,2
33,F,S2,0
32,M,S1,1
""".lstrip()
ATTACKED = """
[adversary]
planner = "fmdp"

[adversary.sequential]
registry = "people/registry.toml"
access_cost = 3
penalty = 15
detection_intercept = -2.0
detection_slope = 0.1

[figures.sequential]
largest_group = 12
beliefs = true

[figures.sequential.settings]
"as it is" = {}
"one penalty" = { max_penalties = 1, detection_slope = 0.0 }
"dear" = { access_cost = 20, link_cost = 5, exploit_cost = 2, gain = 400, penalty = 0, prior = 1, discount = 0.5 }
"""
SETTINGS = ["as it is", "one penalty", "dear"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequential") / "town"
    shutil.copytree(TOWN, folder)
    (folder / "people" / "registry.toml").write_text(REGISTRY)
    (folder / "people" / "registry.csv").write_text(LISTED)
    (folder / "attacked.toml").write_text((folder / "town.toml").read_text() + ATTACKED)
    return folder


@pytest.fixture(scope="module")
def study(folder):
    return build_study(Scenario.load(folder / "attacked.toml"))


@pytest.fixture(scope="module")
def section(study):
    return study.scenario.figures.sequential


@pytest.fixture(scope="module")
def attacks():
    """Return the attack under each setting, with parameters copied from the file."""
    base = SequentialAttack(
        gain=60,
        exploit_cost=10,
        access_cost=3,
        penalty=15,
        detection_intercept=-2.0,
        detection_slope=0.1,
        prior=16 / 33,
    )
    dear = {"access_cost": 20, "link_cost": 5, "exploit_cost": 2, "gain": 400, "penalty": 0, "prior": 1}
    return {
        "as it is": base,
        "one penalty": replace(base, max_penalties=1, detection_slope=0.0),
        "dear": replace(base, **dear, discount=0.5),
    }


# By group size.


def test_the_attack_table_holds_both_planners_for_every_group_size(study, section, attacks):
    table = attack_table(study, section)
    assert table.columns.tolist() == ["setting", "planner", "group_size", "value", "risk", "exploits"]
    assert len(table) == 3 * 2 * 12
    sizes = np.arange(1, 13)
    for setting, attack in attacks.items():
        of_setting = table[table["setting"] == setting]
        planned, baseline = (of_setting[of_setting["planner"] == name] for name in ("fmdp", "baseline"))
        for rows, plan, exploits in (
            (planned, plan_known(attack, sizes), exploits_undetected(attack, sizes)),
            (baseline, plan_baseline(attack, sizes), np.ones(12)),
        ):
            assert rows["group_size"].tolist() == sizes.tolist()
            np.testing.assert_array_equal(rows["value"], plan.value)
            np.testing.assert_array_equal(rows["risk"], plan.reidentified)
            np.testing.assert_array_equal(rows["exploits"], np.where(plan.accesses, exploits, 0))
        # Every column has a positive value; otherwise the table shows nothing.
        assert (planned["risk"] > 0).any()
        assert (planned["risk"] == 0).any()
        assert (planned["value"] > 0).tolist() == (planned["risk"] > 0).tolist()
    assert table["setting"].drop_duplicates().tolist() == SETTINGS


def test_exploits_are_those_of_whom_nobody_detects(study, section):
    table = attack_table(study, section)
    dear = table[(table["setting"] == "dear") & (table["planner"] == "fmdp")].set_index("group_size")
    # One candidate is worth V = -2 + .5 * 400 once linked, two V = -2 + .5 (.5 * 400 + .5 (-2 + .5 * 400)).
    assert dear.loc[1, "value"] == pytest.approx(0.5 * (0.5 * 198 - 5) - 20)
    assert dear.loc[2, "value"] == pytest.approx(0.5 * (0.5 * (-2 + 0.5 * (200 + 99)) - 5) - 20)
    assert dear.loc[[1, 2], "exploits"].tolist() == [1, 2]
    assert dear.loc[12, "exploits"] == 0


# By belief.


def test_the_belief_table_compares_known_with_unknown_groups(study, section, attacks):
    table = belief_table(study, section)
    columns = ["setting", "group_size", "match_probability", "risk_known", "risk_unknown", "records"]
    assert table.columns.tolist() == columns
    assert (table.groupby("setting")["records"].sum() == 30).all()
    # In the registry, in the town, records: kinds A, B, C and D.
    cells = [(1, 1, 3), (3, 5, 9), (9, 20, 12), (0, 1, 6)]
    for setting, attack in attacks.items():
        rows = table[table["setting"] == setting].set_index(["group_size", "match_probability"])
        assert len(rows) == 4
        for size, people, records in cells:
            row = rows.loc[(size, people / 33)]
            assert row["records"] == records
            assert row["risk_known"] == plan_known(attack, np.array([size])).reidentified[0]
            belief = BinomialBelief(16, np.array([people / 33]))
            assert row["risk_unknown"] == plan_unknown(attack, np.array([size]), belief).reidentified[0]
            assert size > 0 or row["risk_known"] == row["risk_unknown"] == 0
    assert table["setting"].drop_duplicates().tolist() == SETTINGS
    # One match in 33 people is too unlikely to be worth the price of a registry of 16.
    dear = table[table["setting"] == "dear"].set_index("group_size").loc[[1, 3, 9, 0]]
    assert dear["risk_known"].tolist() == [1, 1, 0, 0]
    assert dear["risk_unknown"].tolist() == [0, 1, 0, 0]


def test_beliefs_are_about_a_registry(folder):
    path = folder / "everybody.toml"
    text = (folder / "attacked.toml").read_text()
    path.write_text(text.replace('registry = "people/registry.toml"\n', ""))
    study = build_study(Scenario.load(path))
    with pytest.raises(InputError, match="no registry") as caught:
        belief_table(study, study.scenario.figures.sequential)
    assert caught.value.where == "adversary.sequential.registry"
    assert caught.value.source == str(path)


def test_figures_of_the_planner_need_it(folder):
    with pytest.raises(InputError, match="sequential adversary") as caught:
        Scenario.load(folder / "attacked.toml", {"adversary.planner": "one-shot"})
    assert "fmdp" in str(caught.value)


def test_a_registry_larger_than_the_population_is_refused(folder):
    (folder / "people" / "large.csv").write_text(LISTED.replace("31,M,N1,9", "31,M,N1,90"))
    (folder / "people" / "large.toml").write_text(REGISTRY.replace("registry.csv", "large.csv"))
    large = {"adversary.sequential.registry": str(folder / "people" / "large.toml")}
    with pytest.raises(InputError, match=r"the registry has more people than the population.*97"):
        build_study(Scenario.load(folder / "attacked.toml", large))


@pytest.mark.parametrize(
    ("changes", "has"),
    [
        ({}, False),
        ({"planner": "fmdp"}, True),
        ({"planner": "fmdp", "sequential.belief": "unknown"}, False),
        ({"planner": "fmdp", "sequential.unconfirmed": {"sensitivity": 0.9, "specificity": 0.9}}, False),
    ],
)
def test_only_a_sequential_adversary_who_knows_and_confirms_has_an_attack_threshold(changes, has):
    scenario = Scenario.load(TOWN / "town.toml", {f"adversary.{key}": value for key, value in changes.items()})
    assert ("attack_threshold" in TABLES.further_measures(build_study(scenario), {})) == has
