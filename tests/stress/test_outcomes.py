"""Points evaluated together equal single runs and the batch engine."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from stress_scenarios import write_town

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.stress.run import Evaluator
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.outcomes import OneShotPoints, SolvedPoints
from reidsim.scenarios.scenario import Scenario

POLICIES = ("no-protection", "basic", "no-attack", "suppress-all")
MEASURES = [
    "publisher_payoff", "adversary_payoff", "utility", "generalization_intensity", "share_attacked", "risk",
    "risk_if_attacked", "share_unchanged", "share_suppressed",
]  # fmt: skip
POINTS = pd.DataFrame(
    {
        "economics.benefit": [100.0, 40.0, 100.0],
        "economics.loss": [60.0, 200.0, 60.0],
        "economics.cost": [12.0, 3.0, 25.0],
        "beliefs.cost": [30.0, 3.0, 12.0],
    }
)


@pytest.fixture
def town(tmp_path):
    return Scenario.load(write_town(tmp_path, more=""))


@pytest.mark.deep
@pytest.mark.parametrize(
    ("kind", "solver"),
    [(partial(OneShotPoints, solved_first=0), "branch-and-bound"), (SolvedPoints, "backward-induction")],
)
def test_outcomes_are_those_of_single_runs(tmp_path, kind, solver):
    path = write_town(tmp_path, more="")
    loaded = Scenario.load(path, {"publisher.solver": solver})
    evaluator = Evaluator(loaded, POLICIES, 0.9)
    vars(evaluator)["plans"] = kind(build_study(loaded))
    table = evaluator.at(POINTS, "informed").table.set_index(["point", "policy"])
    for point, values in enumerate(POINTS.to_dict("records")):
        result = reidsim.run(path, overrides={**values, "publisher.solver": solver})
        for policy in POLICIES:
            assert table.loc[(point, policy), MEASURES].to_dict() == pytest.approx(
                result.summary.loc[policy, MEASURES].to_dict(), abs=1e-12, nan_ok=True
            )
            own = result.records[result.records["policy"] == policy]
            risk = np.where(own["attacked"], own["success_probability"], 0.0)
            assert table.loc[(point, policy), "risk_quantile"] == pytest.approx(np.quantile(risk, 0.9))


@pytest.mark.deep
@pytest.mark.parametrize("planning", ["informed", "as-believed"])
def test_points_at_once_and_the_batch_engine_agree(town, planning):
    # With `as-believed`, no player knows the true parameters, and plans use the scenario's own values.
    at_once = Evaluator(town, POLICIES, 0.95).at_once(POINTS, planning)
    batch = Evaluator(town, POLICIES, 0.95).by_batch(POINTS, planning)
    for measure in [*MEASURES, "risk_quantile"]:
        found = batch.matrix(measure, POLICIES, len(POINTS))
        np.testing.assert_allclose(at_once.matrix(measure, POLICIES, len(POINTS)), found, atol=1e-12)
    assert batch.failures.empty


def test_as_believed_strategies_stay_those_of_the_scenario(town):
    """A publisher who plans with a cost of 12 releases the same at every true cost."""
    points = pd.DataFrame({"economics.cost": [2.0, 12.0, 60.0]})
    evaluator = Evaluator(town, ("basic", "no-attack"), 0.9)
    utility = evaluator.at(points, "as-believed").matrix("utility", ("basic", "no-attack"), 3)
    assert (utility == utility[:, :1]).all()
    attacked = evaluator.at(points, "as-believed").matrix("share_attacked", ("no-attack",), 3)[0]
    assert attacked[0] > 0
    assert (attacked[1:] == 0).all()
    informed = evaluator.at(points, "informed").matrix("share_attacked", ("no-attack",), 3)
    assert (informed == 0).all()


def test_a_failed_run_leaves_its_point_out(town, monkeypatch):
    def fake(loaded, points, *, replications, **others):
        well = {"state": "complete", "error": ""}
        rows = [
            {"point": p, "replication": r, "policy": policy, "publisher_payoff": 10.0 * p + r, **well}
            for p in range(3) for r in range(replications) for policy in POLICIES
        ]  # fmt: skip
        table = pd.DataFrame(rows)
        lost = (table["point"] == 1) & (table["replication"] == 1)
        failed = {
            "point": 1,
            "replication": 1,
            "policy": None,
            "publisher_payoff": None,
            "state": "failed",
            "error": "Bang",
        }
        return {"runs": pd.concat([table[~lost], pd.DataFrame([failed])], ignore_index=True)}

    monkeypatch.setattr("reidsim.engine.stress.run.evaluate", fake)
    twice = town.scenario.model_copy(update={"replications": 2})
    loaded = type(town)(town.name, town.path, twice, town.content)
    outcomes = Evaluator(loaded, ("basic", "no-attack"), 0.9).by_batch(
        pd.DataFrame({"economics.cost": [1.0, 2, 3]}), "informed"
    )
    assert outcomes.failures.to_dict("records") == [{"point": 1, "error": "Bang"}]
    payoffs = outcomes.matrix("publisher_payoff", ("basic", "no-attack"), 3)
    np.testing.assert_array_equal(payoffs, [[0.5, np.nan, 20.5]] * 2)


def test_the_first_error_is_reported_if_every_run_fails(town, monkeypatch):
    failed = pd.DataFrame({"point": [0], "policy": [None], "state": ["failed"], "error": ["ValueError: no"]})
    monkeypatch.setattr("reidsim.engine.stress.run.evaluate", lambda *_, **__: {"runs": failed})
    with pytest.raises(InputError, match=r"every run failed.*ValueError: no"):
        Evaluator(town, ("basic",), 0.9).by_batch(pd.DataFrame({"economics.cost": [1.0]}), "informed")
