"""Uncertain adversaries, against cross-play, single runs and the other evaluators."""

import pandas as pd
import pytest
from stress_scenarios import write_town
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.core.errors import InputError
from reidsim.engine.stress.run import Evaluator
from reidsim.scenarios.scenario import Scenario

POLICIES = ("no-protection", "basic", "no-attack", "suppress-all")
WHO = '"adversary" = { distribution = "discrete", values = ["one-shot", "fmdp", "always"], weights = [2, 1, 1] }\n'
UNCERTAIN = f"""
[uncertainty]
samples = 16
[uncertainty.parameters]
{WHO}"economics.loss" = {{ distribution = "uniform", low = 30, high = 120 }}
"""
POINTS = pd.DataFrame({"adversary": ["one-shot", "fmdp", "always"], "economics.loss": [60, 90, 100]})


@pytest.fixture
def town(tmp_path):
    return Scenario.load(write_town(tmp_path, more=""))


@pytest.mark.parametrize("planning", ["as-believed", pytest.param("informed", marks=pytest.mark.deep)])
def test_outcomes_are_the_cells_of_cross_play(town, planning):
    found = Evaluator(town, POLICIES, 0.95).by_batch(POINTS, planning)
    assert found.failures.empty
    for point, values in enumerate(POINTS.to_dict("records")):
        comes = values.pop("adversary")
        # A publisher who plans as believed uses the scenario's own loss.
        beliefs = {"beliefs.loss": 60, "beliefs.gain": 60} if planning == "as-believed" else {}
        played = reidsim.cross_play(town.path, overrides={**values, **beliefs}).table
        for policy in POLICIES:
            rows = played[(played["defender"] == policy) & (played["adversary"] == comes)]
            against = comes if planning == "informed" and policy == "basic" else "one-shot"
            rows = rows[rows["plans_against"].isin([against, ""])]
            if planning == "informed" and policy == "no-attack" and comes != "one-shot":
                continue  # cross-play has only its plan against the scenario's own adversary
            assert len(rows) == 1
            mine = found.table[(found.table["point"] == point) & (found.table["policy"] == policy)].iloc[0]
            for measure in ("publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"):
                assert mine[measure] == pytest.approx(rows[measure].iloc[0], abs=1e-9), (point, policy, measure)


def test_cross_play_has_them_as_columns_anyway_and_runs_refuse_them(tmp_path):
    path = write_town(tmp_path, more=f"[uncertainty.parameters]\n{WHO}")
    found = reidsim.cross_play(path)
    assert found.design is None
    assert {"one-shot", "fmdp", "always"} <= set(found.table["adversary"])
    several = reidsim.cross_play(write_town(tmp_path, more=UNCERTAIN), overrides={"uncertainty.samples": 2})
    assert several.design.n_runs == 2
    assert list(several.design.points.columns) == ["economics.loss"]
    with pytest.raises(InputError, match=r"adversary: a run cannot draw among named adversaries"):
        reidsim.run(path)
    assert CliRunner().invoke(app, ["check", str(path)]).exit_code == 0


@pytest.mark.parametrize(
    ("values", "more", "problem"),
    [
        ('["one-shot", "nobody"]', "", "uncertainty.parameters.adversary: no adversary of this name .*'nobody'"),
        ('["multistage"]', "", "no adversary of this name .*multistage.*names no attack recipe"),
        ('["one-shot"]', "[agents]\nrounds = 2\n", "rounds of agents define their own adversaries"),
    ],
)
def test_adversaries_that_cannot_play_are_refused_before_any_run(tmp_path, values, more, problem):
    who = f'[uncertainty.parameters]\n"adversary" = {{ distribution = "discrete", values = {values} }}\n'
    with pytest.raises(InputError, match=problem):
        reidsim.stress(write_town(tmp_path, more=f"{who}[stress.robustness]\n{more}"))


def test_games_in_memory_ask_who_comes():
    patients = pd.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]})
    game = reidsim.Scenario.from_frames(
        patients,
        hierarchies={"age": reidsim.intervals(5), "sex": "suppress"},
        economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 40},
        stress={"robustness": {"samples": 4}},
    )
    found = game.stress(adversary=["one-shot", "always"]).tables["regrets"]
    played = game.cross_play().matrix("publisher_payoff")
    for row in found.to_dict("records"):
        assert row["publisher_payoff"] == pytest.approx(played.loc[f"{row['policy']} vs one-shot", row["adversary"]])
    with pytest.raises(InputError, match="adversary: not values; found 'always'"):
        game.stress(adversary="always")
