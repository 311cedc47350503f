"""Tables on the sequential planner, for a small town with a registry, against direct calls of the planner."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    attack_threshold,
    exploits_undetected,
    plan_baseline,
    plan_known,
    plan_unknown,
)
from reidsim.errors import InputError
from reidsim.experiments.analysis import analyse
from reidsim.experiments.sequential_analysis import (
    attack_table,
    belief_table,
    binomial_belief,
    planners,
    runtime_table,
    settings_of,
    threshold_table,
)
from reidsim.kinds.tables.study import build_study
from reidsim.scenarios.load import load_scenario

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
# nobody like D (F, 33, S2). There are 3, 9, 12 and 6 records of these.
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

[analysis.sequential]
largest_group = 12
beliefs = true

[analysis.sequential.settings]
"as it is" = {}
"one penalty" = { max_penalties = 1, detection_slope = 0.0 }
"dear" = { access_cost = 20, link_cost = 5, exploit_cost = 2, gain = 400, penalty = 0, prior = 1, discount = 0.5 }

[analysis.sequential.runtimes]
registry_sizes = [5, 40]
records = 3

[analysis.sequential.thresholds]
base = { gain = 300, exploit_cost = 2 }
access_cost = { from = 0, to = 100, points = 5 }
exploit_cost = { values = [0, 1, 8] }
penalty = { values = [0, 50] }
detection = { values = [0.01, 0.5] }
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
    return build_study(load_scenario(folder / "attacked.toml"))


@pytest.fixture(scope="module")
def section(study):
    return study.scenario.analysis.sequential


@pytest.fixture(scope="module")
def attacks():
    """Return the attack under each setting, from the file by hand."""
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


def test_settings_change_what_they_name(study, section, attacks):
    assert settings_of(study, section) == attacks
    assert list(settings_of(study, section)) == SETTINGS


def test_without_settings_the_attack_is_as_in_the_scenario(folder, attacks):
    text = (folder / "town.toml").read_text() + ATTACKED.split("[analysis.sequential.settings]")[0]
    (folder / "plain.toml").write_text(text)
    study = build_study(load_scenario(folder / "plain.toml"))
    section = study.scenario.analysis.sequential
    assert settings_of(study, section) == {"as in the scenario": attacks["as it is"]}
    table = attack_table(study, section)
    assert set(table["setting"]) == {"as in the scenario"}


def test_a_setting_out_of_range_is_named(folder):
    with pytest.raises(InputError) as caught:
        load_scenario(folder / "attacked.toml", {"analysis.sequential.settings": {"odd": {"discount": 1.5}}})
    assert "analysis.sequential.settings.odd.discount" in str(caught.value)
    assert "1.5" in str(caught.value)


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
        # Something of everything, or the table shows nothing.
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


def test_records_of_the_same_group_size_and_share_are_one_row(folder):
    (folder / "people" / "other.toml").write_text(REGISTRY.replace("registry.csv", "other.csv"))
    # Nobody like A (1 of 33 people) nor like D (1 of 33).
    (folder / "people" / "other.csv").write_text(LISTED.replace("30,F,N1,1", "30,F,N1,0"))
    path = folder / "merged.toml"
    path.write_text((folder / "attacked.toml").read_text().replace("people/registry.toml", "people/other.toml"))
    study = build_study(load_scenario(path))
    table = belief_table(study, study.scenario.analysis.sequential)
    merged = table[(table["setting"] == "as it is") & (table["group_size"] == 0)]
    assert merged["records"].tolist() == [3 + 6]


def test_beliefs_are_about_a_registry(folder):
    path = folder / "everybody.toml"
    text = (folder / "attacked.toml").read_text()
    path.write_text(text.replace('registry = "people/registry.toml"\n', ""))
    study = build_study(load_scenario(path))
    with pytest.raises(InputError, match="no registry") as caught:
        belief_table(study, study.scenario.analysis.sequential)
    assert caught.value.where == "adversary.sequential.registry"
    assert caught.value.source == str(path)


# By deterrent.


def test_the_threshold_table_varies_one_deterrent_at_a_time(study, section, attacks):
    table = threshold_table(study, section)
    assert table.columns.tolist() == ["parameter", "value", "setting", "threshold"]
    points = {
        "access_cost": [0, 25, 50, 75, 100],
        "exploit_cost": [0, 1, 8],
        "penalty": [0, 50],
        "detection": [0.01, 0.5],
    }
    expected = []
    for setting, attack in attacks.items():
        base = replace(attack, gain=300, exploit_cost=2)
        for parameter, values in points.items():
            for value in values:
                changes = {parameter: value}
                if parameter == "detection":
                    changes = {"detection_intercept": math.log(value / (1 - value))}
                expected.append((parameter, value, setting, attack_threshold(replace(base, **changes))))
    assert len(table) == len(expected) == 3 * 12
    for row, (parameter, value, setting, threshold) in zip(table.itertuples(), expected, strict=True):
        assert (row.parameter, row.value, row.setting) == (parameter, value, setting)
        assert pd.isna(row.threshold) if threshold is None else row.threshold == threshold


def test_thresholds_fall_while_a_deterrent_grows(study, section):
    table = threshold_table(study, section)
    for _, rows in table.groupby(["setting", "parameter"]):
        thresholds = rows["threshold"].fillna(10**9).tolist()
        assert thresholds == sorted(thresholds, reverse=True)


def test_there_is_no_threshold_where_every_group_is_attacked(folder):
    free = {"access_cost": 0, "exploit_cost": 0, "penalty": 0}
    changes = {
        "analysis.sequential.settings": {"free": free},
        "analysis.sequential.thresholds": {"base": free, "exploit_cost": {"values": [0, 100]}},
    }
    study = build_study(load_scenario(folder / "attacked.toml", changes))
    table = threshold_table(study, study.scenario.analysis.sequential)
    assert table["threshold"].dtype == "Int64"
    assert table["threshold"].isna().tolist() == [True, False]


def test_thresholds_of_the_paper(folder):
    # Sensitivity analysis at the printed inputs, known groups, everybody in the registry.
    xia = {"gain": 1000, "prior": 1.0, "access_cost": 100, "exploit_cost": 10, "discount": 0.9}
    xia |= {"detection_intercept": -4.59}
    changes = {
        "analysis.sequential.settings": {
            "a": {**xia, "detection_slope": 0.0},
            "b": {**xia, "detection_slope": 0.0, "max_penalties": 1},
            "c": {**xia, "detection_slope": 0.18},
        },
        "analysis.sequential.thresholds": {"penalty": {"values": [0, 5000, 10_000, 20_000, 50_000]}},
    }
    study = build_study(load_scenario(folder / "attacked.toml", changes))
    table = threshold_table(study, study.scenario.analysis.sequential)
    by_setting = {setting: rows["threshold"].tolist() for setting, rows in table.groupby("setting")}
    assert by_setting == {"a": [44, 18, 11, 7, 3], "b": [44, 18, 12, 7, 3], "c": [44, 12, 8, 5, 3]}


@pytest.mark.parametrize("value", [0.0, 1.0, 2.5])
def test_a_detection_probability_that_is_none_is_named(folder, value):
    changes = {"analysis.sequential.thresholds": {"detection": {"values": [0.5, value]}}}
    with pytest.raises(InputError) as caught:
        analyse(build_study(load_scenario(folder / "attacked.toml", changes)))
    assert "analysis.sequential.thresholds.detection" in str(caught.value)
    assert repr(value) in str(caught.value)


def test_thresholds_while_nothing_changes_are_refused(folder):
    with pytest.raises(InputError, match="nothing changes") as caught:
        load_scenario(folder / "attacked.toml", {"analysis.sequential.thresholds": {"base": {"gain": 10}}})
    assert "analysis.sequential.thresholds" in str(caught.value)


# Solvers.


def test_the_runtime_table_times_every_solver_at_every_registry_size(study, section):
    table = runtime_table(study, section.runtimes)
    assert table.columns.tolist() == ["registry_size", "solver", "seconds", "records"]
    assert table["registry_size"].tolist() == [5] * 3 + [40] * 3
    assert table["solver"].tolist() == ["linear program", "two-level linear program", "backward induction"] * 2
    assert (table["seconds"] > 0).all()
    assert (table["records"] == 3).all()


def test_no_more_records_are_timed_than_there_are_cells(study, section):
    table = runtime_table(study, section.runtimes.model_copy(update={"registry_sizes": (3,), "records": 100}))
    assert set(table["records"]) == {4}


@pytest.mark.deep
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("registry_size", [1, 16, 1000])
def test_the_solvers_timed_find_the_same(attacks, setting, registry_size):
    attack = replace(attacks[setting], access_cost=0.5)
    share = np.minimum([0.0, 0.01, 0.5, 8.0], 0.9 * registry_size) / registry_size
    values = {name: solve() for name, solve in planners(attack, registry_size, share).items()}
    belief = BinomialBelief(registry_size, share)
    induction = plan_unknown(attack, np.array([1, 1, 1, 1]), belief).value
    assert (induction > 0).any()
    for found in values.values():
        np.testing.assert_allclose(found, induction, rtol=1e-8, atol=1e-8 * attack.gain)


@pytest.mark.parametrize(("n", "share"), [(1, 0.5), (16, 0.2), (1000, 0.001), (1000, 0.999), (6_018_999, 8e-6)])
def test_a_binomial_belief_is_the_binomial_distribution(n, share):
    belief = binomial_belief(n, share)
    assert sum(belief.values()) == pytest.approx(1, rel=1e-12)
    assert all(0 <= k <= n for k in belief)
    for k, weight in belief.items():
        assert weight == scipy.stats.binom.pmf(k, n, share)
        assert weight > 1e-16
    if n <= 1000:  # nothing of weight is left out
        left_out = set(range(n + 1)) - set(belief)
        assert all(scipy.stats.binom.pmf(k, n, share) <= 1e-16 for k in left_out)


def test_certain_beliefs():
    assert binomial_belief(50, 0.0) == {0: 1.0}
    assert binomial_belief(50, 1.0) == {50: 1.0}
    assert binomial_belief(0, 0.3) == {0: 1.0}


# All of it.


def test_an_analysis_holds_the_tables_that_the_scenario_asks_for(study, section):
    analysis = analyse(study)
    assert list(analysis.tables()) == ["attacks", "beliefs", "thresholds", "runtimes"]
    pd.testing.assert_frame_equal(analysis.attacks, attack_table(study, section))
    pd.testing.assert_frame_equal(analysis.beliefs, belief_table(study, section))
    pd.testing.assert_frame_equal(analysis.thresholds, threshold_table(study, section))
    assert analysis.left_out == ()


def test_an_analysis_holds_no_table_that_the_scenario_does_not_ask_for(folder):
    changes = {"analysis.sequential": {"largest_group": 3}}
    analysis = analyse(build_study(load_scenario(folder / "attacked.toml", changes)))
    assert list(analysis.tables()) == ["attacks"]
    assert len(analysis.attacks) == 2 * 3


def test_maps_of_the_one_shot_adversary_are_left_out_with_a_reason(folder):
    maps = {"benefit": {"values": [1, 2]}, "loss": {"values": [1, 2]}}
    changes = {"analysis.maps": maps, "analysis.lines": {"cost": {"values": [1, 2]}}}
    analysis = analyse(build_study(load_scenario(folder / "attacked.toml", changes)))
    assert len(analysis.maps) == len(analysis.lines) == 0
    assert len(analysis.attacks) > 0
    assert [reason.split()[0] for reason in analysis.left_out] == ["analysis.lines", "analysis.maps"]


def test_an_analysis_of_the_planner_needs_it(folder):
    with pytest.raises(InputError, match="needs its planner") as caught:
        load_scenario(folder / "attacked.toml", {"adversary.planner": "one-shot"})
    assert "one-shot" in str(caught.value)
