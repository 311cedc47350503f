"""The papers' figures as sweeps: each point equals the game solved separately.

The points are a subset; the tables of the full sweeps were compared once, with the same result.
"""

import numpy as np
import pytest

import reidsim
from reidsim.games.outcomes import evaluate
from reidsim.games.solvers import branch_and_bound, lattice_search
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES, search_deviation
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario

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
        alone = TABLES.summarise(study, 0, equilibria_of(TABLES.play(study)))
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
        expected = search_deviation(found, best, game.tie(), wan2015.weights)
        assert row[measures].to_dict() == pytest.approx(expected, rel=1e-12)
    case = rows_at(runs, {k: v for k, v in PRICES.items() if k in runs}, None).iloc[0]
    # Table 8.
    assert case["share_optimal"] == pytest.approx(0.9947, abs=0.0025)
    assert case["evaluated"] == pytest.approx(3.9, abs=0.15)
