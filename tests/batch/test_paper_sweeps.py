"""The papers' figures as sweeps: each point equals the game solved separately.

The points are a subset; the tables of the full sweeps were compared once, with the same result.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import reidsim
from reidsim.adversaries.sequential.planning import attack_threshold
from reidsim.games.equilibrium import evaluate
from reidsim.games.solvers import branch_and_bound, lattice_search
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.outcomes import play
from reidsim.kinds.tables.results import search_deviation
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.study import equilibria_of

pytestmark = pytest.mark.deep

PRICES = {"economics.benefit": 1200, "economics.loss": 300, "economics.cost": 4}
MEASURES = ["publisher_payoff", "adversary_payoff", "share_attacked", "generalization_intensity", "risk", "utility"]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def swept(name, **changes):
    return reidsim.run_batch(name, overrides={key.replace("__", "."): value for key, value in changes.items()},
                             executor="serial")  # fmt: skip


def rows_at(runs, own, key):
    """Return the rows in which all keys but one have the scenario's own values."""
    for other, value in own.items():
        if other != key:
            runs = runs[runs[other] == value]
    return runs


def assert_points(runs, name, keys, **changes):
    """Check each point of a sweep against a scenario that is built and solved again."""
    for point, rows in runs.groupby("point"):
        at = {key: rows[key].iloc[0] for key in keys}
        study = build_study(Scenario.load(name, {**changes, **at}))
        alone = TABLES.summarise(study, 0, equilibria_of(play(study)))
        assert rows["policy"].tolist() == list(alone.index), point
        np.testing.assert_allclose(rows[MEASURES], alone[MEASURES], **CLOSE)


def test_figure_11_of_wan_2015():
    values = {"economics.benefit": [50, 1200], "economics.loss": [2000], "economics.cost": [40]}
    runs = swept("wan2015-sweep", sweep__values=values).runs
    # The benefits include the scenario's own parameters, which are one point.
    assert runs["point"].nunique() == 4
    assert_points(runs, "wan2015", values, **{"publisher.solver": "branch-and-bound"})
    # Table 7 at the payoff parameters of the case study.
    case = rows_at(runs, PRICES, None).set_index("policy")
    printed = {"safe-harbor": 852.06, "basic": 1195.50, "sh-friendly": 852.51, "no-attack": 1169.80}
    for policy, payoff in printed.items():
        assert case["publisher_payoff"][policy] == pytest.approx(payoff, rel=0.003)
    assert case["share_attacked"]["basic"] == pytest.approx(0.2187, abs=0.01)


def test_figure_12_of_wan_2015(wan2015):
    values = {"economics.benefit": [100, 1200], "economics.loss": [2000]}
    runs = swept("wan2015-search", sweep__values=values).runs
    measures = ["publisher_payoff_difference", "adversary_payoff_difference", "share_optimal", "evaluated"]
    assert len(runs) == 3
    for _, row in runs.iterrows():
        economics = wan2015.scenario.economics
        money = {"benefit": row["economics.benefit"], "loss": row["economics.loss"]}
        game = wan2015.game(economics.model_copy(update=money))
        found, best = evaluate(game, lattice_search(game)), evaluate(game, branch_and_bound(game))
        expected = search_deviation(found, best, game.tie(), wan2015.released)
        assert row[measures].to_dict() == pytest.approx(expected, rel=1e-12)
    case = rows_at(runs, {k: v for k, v in PRICES.items() if k in runs}, None).iloc[0]
    # Table 8.
    assert case["share_optimal"] == pytest.approx(0.9947, abs=0.0025)
    assert case["evaluated"] == pytest.approx(3.9, abs=0.15)


def test_raw_results_of_prasser_2017():
    """Relative payouts of the authors' table, within the spread of ZIP code draws.

    See the ledger.
    """
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
    names = dict(zip(own, ["access_cost", "exploit_cost", "penalty", "detection_intercept"], strict=True))
    study = build_study(Scenario.load("xia2015"))
    # Fines without limit in (a) and (c): no group that large is attacked.
    base = replace(
        study.sequential_attack(study.scenario.economics),
        gain=1000.0, penalty=20_000.0, exploit_cost=10.0, access_cost=100.0, prior=1.0,
    )  # fmt: skip
    at = {}
    for setting, (fines, slope) in settings.items():
        attack = replace(base, max_penalties=1 if fines == 1 else None, detection_slope=slope)
        mine = runs[(runs[f"{sequential}.max_penalties"] == fines) & (runs[f"{sequential}.detection_slope"] == slope)]
        for key, name in names.items():
            line = rows_at(mine, own, key)
            found = [line.loc[line[key] == value, "attack_threshold"].item() for value in values[key]]
            alone = [attack_threshold(replace(attack, **{name: float(value)})) for value in values[key]]
            assert found == [math.nan if size is None else size for size in alone], (setting, name)
            at[setting, name] = found
    # Sensitivity of k to the penalty in the reference notes on the paper.
    assert at["a", "penalty"] == [44, 18, 11, 8, 7, 5, 5, 3, 3]
    assert at["b", "penalty"] == [44, 18, 12, 9, 7, 5, 5, 3, 3]
    assert at["c", "penalty"] == [44, 12, 8, 7, 5, 5, 4, 3, 3]
