"""The papers' figures as sweeps: every point of the engine is what the paper's own scenario works out at once.

`[analysis]` solves whole curves with other code (options that nothing dominates, searches over all points), so both
are a check of each other. Points are thinned; the tables of the full sweeps were compared once, with the same outcome.
"""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.experiments.analysis import deviation_table, line_table, map_table
from reidsim.experiments.full_domain_analysis import curve_table
from reidsim.experiments.sequential_analysis import threshold_table
from reidsim.kinds.tables.study import build_study
from reidsim.scenarios.analysis_schema import LinesSection, MapsSection
from reidsim.scenarios.load import load_scenario
from reidsim.validation import validated

pytestmark = pytest.mark.deep

PRICES = {"economics.benefit": 1200, "economics.loss": 300, "economics.cost": 4}
MEASURES = ["publisher_payoff", "adversary_payoff", "share_attacked", "generalization_intensity"]


def swept(name, **changes):
    return reidsim.run_batch(name, overrides={key.replace("__", "."): value for key, value in changes.items()},
                             executor="serial")  # fmt: skip


def section(model, **ranges):
    return validated(model, {key: {"values": values} for key, values in ranges.items()}, "test")


def rows_at(runs, own, key):
    """Return the rows in which all keys but one have the scenario's own values."""
    for other, value in own.items():
        if other != key:
            runs = runs[runs[other] == value]
    return runs


def assert_close(ours, theirs, measures, rows):
    assert len(ours) == rows
    for measure in measures:
        np.testing.assert_allclose(
            ours[measure].astype(float), ours[f"{measure}_there"].astype(float), rtol=1e-9, atol=1e-9
        )
    assert set(theirs) >= set(measures)


def test_figure_11_of_wan_2015(wan2015):
    values = {"benefit": [50, 1200, 2000], "loss": [50, 2000], "cost": [0, 40]}
    runs = swept("wan2015-sweep", sweep__values={f"economics.{key}": at for key, at in values.items()}).runs
    # The scenario's own prices are among the benefits; they are one point, not three.
    assert runs["point"].nunique() == 7
    lines = line_table(wan2015, section(LinesSection, **values))
    for parameter, at in values.items():
        key = f"economics.{parameter}"
        there = lines[lines["parameter"] == parameter]
        both = rows_at(runs, PRICES, key).merge(
            there, left_on=[key, "policy"], right_on=["value", "policy"], suffixes=("", "_there")
        )
        assert_close(both, there, MEASURES, 4 * len(at))
    # Table 7 at the case study's prices.
    case = rows_at(runs, PRICES, None).set_index("policy")
    printed = {"safe-harbor": 852.06, "basic": 1195.50, "sh-friendly": 852.51, "no-attack": 1169.80}
    for policy, payoff in printed.items():
        assert case["publisher_payoff"][policy] == pytest.approx(payoff, rel=0.003)
    assert case["share_attacked"]["basic"] == pytest.approx(0.2187, abs=0.01)


def test_figures_8_to_10_of_wan_2015(wan2015):
    values = {"benefit": [30, 1200], "loss": [0, 300, 25000]}
    records = wan2015.scenario.analysis.maps.records
    ranges = {key: {"values": at} for key, at in values.items()}
    there = map_table(wan2015, validated(MapsSection, {**ranges, "records": records}, "test"))
    prices = {f"economics.{key}": at for key, at in values.items()}
    everybody = swept("wan2015-map", sweep__values=prices).runs.assign(record="all records")
    own = load_scenario("wan2015-map-records").scenario.sweep.values["release.path"].listed
    alone = swept("wan2015-map-records", sweep__values={**prices, "release.path": list(own)}).runs
    labels = dict(zip(own, there["record"].unique(), strict=False))
    alone["record"] = alone["release.path"].map(labels)
    both = pd.concat([everybody, alone]).merge(
        there, left_on=["record", *prices], right_on=["record", *values], suffixes=("", "_there")
    )
    assert_close(both, there, MEASURES, len(there))
    assert len(there) == 18


def test_figure_12_of_wan_2015(wan2015):
    values = {"benefit": [100, 1200], "loss": [2000]}
    runs = swept("wan2015-search", sweep__values={f"economics.{key}": at for key, at in values.items()}).runs
    measures = ["publisher_payoff_difference", "adversary_payoff_difference", "share_optimal", "evaluated"]
    there = deviation_table(wan2015, section(LinesSection, **values))
    for parameter, at in values.items():
        key = f"economics.{parameter}"
        both = rows_at(runs, {k: v for k, v in PRICES.items() if k in runs}, key).merge(
            there[there["parameter"] == parameter], left_on=key, right_on="value", suffixes=("", "_there")
        )
        assert_close(both, there, measures, len(at))
    case = rows_at(runs, {k: v for k, v in PRICES.items() if k in runs}, None).iloc[0]
    # Table 8.
    assert case["share_optimal"] == pytest.approx(0.9947, abs=0.0025)
    assert case["evaluated"] == pytest.approx(3.9, abs=0.15)


def test_figure_5_of_prasser_2017():
    losses = [300, 2000]
    values = {"economics.loss": losses, "beliefs.risk": ["prosecutor", "journalist"]}
    runs = swept("prasser2017-sweep", sweep__values=values).runs
    loaded = load_scenario("prasser2017", {"analysis.curves.loss": {"values": losses}})
    there = curve_table(build_study(loaded))
    # Rules plan with no risk, so the engine has them once for each.
    rules = there[there["risk"] == ""]
    there = pd.concat([there[there["risk"] != ""], *(rules.assign(risk=risk) for risk in values["beliefs.risk"])])
    both = runs.merge(
        there,
        left_on=[*values, "policy"], right_on=["value", "risk", "policy"], suffixes=("", "_there"),
    )  # fmt: skip
    assert_close(both, there, ["publisher_payoff", "adversary_payoff", "share_attacked", "share_suppressed"], 20)


def test_raw_results_of_prasser_2017():
    """Relative payouts of the authors' own table, within what another draw of ZIP codes moves; see the ledger."""
    printed = {
        "basic": ((0.8670, 0.7436, 0.6535, 0.5908), 0.01),
        "record-level": ((0.8851, 0.8252, 0.7634, 0.7060), 0.002),
        "safe-harbor": ((0.6952, 0.6703, 0.6210, 0.5222), 0.01),
    }
    runs = swept(
        "prasser2017-sweep",
        adversary__risk="prosecutor",
        publisher__policies=list(printed),
        sweep__values={"economics.loss": [250, 500, 1000, 2000], "beliefs.risk": ["prosecutor"]},
    ).runs
    for policy, (payouts, tolerance) in printed.items():
        ours = runs[runs["policy"] == policy]["publisher_payoff"] / 1200
        np.testing.assert_allclose(ours, payouts, atol=tolerance)


def test_figure_10_of_xia_2015():
    sequential = "adversary.sequential"
    values = {
        f"{sequential}.max_penalties": [100, 1, 100],
        f"{sequential}.detection_slope": [0.0, 0.0, 0.18],
        f"{sequential}.access_cost": [0, 250, 500],
        "economics.cost": [0, 50],
        f"{sequential}.penalty": [0, 5000, 10000, 15000, 20000, 25000, 30000, 40000, 50000],
        f"{sequential}.detection_intercept": [-6.9068, -4.5951, -2.1972],
    }
    runs = swept("xia2015-sweep", sweep__values=values).runs
    settings = {"a": (100, 0.0), "b": (1, 0.0), "c": (100, 0.18)}
    own = {
        f"{sequential}.access_cost": 100,
        "economics.cost": 10,
        f"{sequential}.penalty": 20000,
        f"{sequential}.detection_intercept": -4.59,
    }
    names = dict(zip(own, ["access_cost", "exploit_cost", "penalty", "detection"], strict=True))
    loaded = load_scenario("xia2015")
    asked = {
        name: {"values": [0.001, 0.01, 0.1] if name == "detection" else [float(value) for value in values[key]]}
        for key, name in names.items()
    }
    content = {**loaded.content["analysis"]["sequential"]}
    content["thresholds"] = {**asked, "base": content["thresholds"]["base"]}
    analysis = validated(type(loaded.scenario.analysis.sequential), content, "test")
    there = threshold_table(build_study(loaded), analysis)
    at = {}
    for setting, (fines, slope) in settings.items():
        mine = runs[(runs[f"{sequential}.max_penalties"] == fines) & (runs[f"{sequential}.detection_slope"] == slope)]
        for key, name in names.items():
            line = rows_at(mine, own, key)
            found = [line.loc[line[key] == value, "attack_threshold"].item() for value in values[key]]
            theirs = there[(there["parameter"] == name) & there["setting"].str.startswith(setting)]
            assert found == theirs["threshold"].astype(float).tolist(), (setting, name)
            at[setting, name] = found
    # Sensitivity of k to the penalty in the reference notes on the paper.
    assert at["a", "penalty"] == [44, 18, 11, 8, 7, 5, 5, 3, 3]
    assert at["b", "penalty"] == [44, 18, 12, 9, 7, 5, 5, 3, 3]
    assert at["c", "penalty"] == [44, 12, 8, 7, 5, 5, 4, 3, 3]
