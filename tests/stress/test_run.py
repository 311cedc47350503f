"""Complete stress tests: results, reproducibility, and refused input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from stress_scenarios import TOWN, UNCERTAIN, write_town
from typer.testing import CliRunner

from reidsim.cli import app
from reidsim.core.errors import InputError
from reidsim.engine.scenario import run, stress
from reidsim.engine.stress.analyses import TORNADO_COLUMNS
from reidsim.engine.stress.run import describe
from reidsim.reports.verdict import verdict_of
from reidsim.scenarios.scenario import Scenario

EVERYTHING = """
[stress]
outputs = ["publisher_payoff", "risk_quantile", "risk_if_attacked"]
planning = "informed"
guarantee = true
[stress.sensitivity]
samples = 8
second_order = true
[stress.robustness]
quantile = 0.25
[stress.discovery]
below = 60
[[stress.beliefs]]
key = "economics.cost"
true = { from = 0, to = 40, points = 5 }
[[stress.beliefs]]
key = "economics.cost"
believed = [0, 12, 40]
[stress.map]
x = { key = "economics.loss", values = [10, 60, 120] }
y = { key = "economics.cost", values = { from = 2, to = 32, points = 4 } }
"""
ROBUST = {"robust-maximin", "robust-minimax-regret", "robust-quantile"}


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    return stress(write_town(tmp_path_factory.mktemp("town"), UNCERTAIN + EVERYTHING))


@pytest.mark.deep
def test_indices_of_a_game_that_is_linear_in_its_prices(tmp_path):
    """Full sharing pays V - L p under certain attacks; uniform V and L: r^2 / 12 each."""
    path = write_town(
        tmp_path,
        """
[uncertainty.parameters]
"economics.benefit" = { distribution = "uniform", low = 100, high = 140 }
"economics.loss" = { distribution = "uniform", low = 1000, high = 1200 }
[stress]
outputs = ["publisher_payoff"]
policies = ["no-protection"]
[stress.sensitivity]
samples = 512
""",
        TOWN.replace("cost = 12", "cost = 1"),
    )
    table = stress(path).tables["sensitivity"]
    # Records by the size of their group among the people: 4, 4, 1, 1, 12, 2, 6.
    slope = np.mean([1 / 4, 1 / 4, 1, 1, 1 / 12, 1 / 2, 1 / 6])
    of_benefit, of_loss = 40**2, (200 * slope) ** 2
    expected = {
        "economics.benefit": of_benefit / (of_benefit + of_loss), "economics.loss": of_loss / (of_benefit + of_loss),
    }  # fmt: skip
    for index in ("first-order", "total"):
        rows = table[table["index"] == index].set_index("parameter")["value"].to_dict()
        assert rows == pytest.approx(expected, abs=0.03)


def test_robust_strategies_keep_their_promise_among_policies(everything):
    table = everything.tables["robustness"].set_index("policy")
    assert set(table.index) == {"no-protection", "basic", "no-attack", "suppress-all"} | ROBUST
    assert table["points"].eq(12).all()
    strategies = everything.tables["robust_strategies"]
    worst = strategies[strategies["criterion"] == "maximin"]["value"].mean()
    # Records are decided one by one: the sum of their worst payoffs is at most the worst sum.
    assert worst <= table.loc["robust-maximin", "worst_payoff"] + 1e-9
    regrets = everything.tables["regrets"]
    assert (regrets["regret"] >= 0).all()
    assert regrets.groupby("point")["regret"].min().eq(0).all()
    assert regrets.groupby("point")["best"].sum().eq(1).all()
    # Information on the parameters has a nonnegative value; robust strategies have no informed counterpart.
    own = table.drop(index=list(ROBUST))
    assert own.loc["basic", "informed_payoff"] >= own.loc["basic", "mean_payoff"] - 1e-9
    assert table.loc[list(ROBUST), "informed_payoff"].isna().all()


def test_curves_meet_where_belief_is_true(everything):
    curves = everything.tables["belief_curves"]
    assert curves["error"].tolist() == (curves["believed"] - curves["true"]).tolist()
    right = curves[curves["error"] == 0]
    assert len(right) == 4
    for _, rows in curves[curves["policy"] == "basic"].groupby("true"):
        # A publisher with a wrong belief about the cost has at most the payoff of a correct one.
        if rows["error"].eq(0).any():
            assert rows["publisher_payoff"].max() == rows[rows["error"] == 0]["publisher_payoff"].iloc[0]


def test_the_map_is_that_of_single_runs(everything):
    chart = everything.tables["policy_map"]
    assert len(chart) == 12
    # The basic game is never worse than its own restrictions.
    assert set(chart["best"]) <= {"basic", "no-protection"}
    assert (chart["margin"] >= 0).all()


def test_missing_outputs_are_reported(everything):
    assert [warning for warning in everything.warnings if "risk_if_attacked under no-attack" in warning] == [
        "sensitivity of risk_if_attacked under no-attack leaves out 8 of 8 Sobol samples, in which a run failed or "
        "lacks the output; too few remain for an estimate"
    ]


TORNADO = """
[stress]
outputs = ["publisher_payoff", "share_attacked"]
[stress.sensitivity]
method = "tornado"
"""


@pytest.mark.deep
def test_a_tornado_chart_by_hand_and_by_single_runs(tmp_path):
    """Groups of 4, 4, 1, 1, 12, 2 and 6 people: full sharing pays V - L p, where gain / size exceeds the cost."""
    path = write_town(tmp_path, UNCERTAIN + TORNADO)
    result = stress(path, overrides={"stress.policies": ["no-protection", "basic"]})
    table = result.tables["tornado"]
    assert table.columns.tolist() == [*TORNADO_COLUMNS]
    shared = table[(table["output"] == "publisher_payoff") & (table["policy"] == "no-protection")]
    own = 100 - 60 * 3 / 7
    assert shared.set_index("parameter").drop(columns=["policy", "output"]).to_dict("index") == {
        key: pytest.approx(dict(zip(TORNADO_COLUMNS[3:], values, strict=True))) for key, values in {
            "economics.benefit": (20, 200, 20 - 60 * 3 / 7, own, 200 - 60 * 3 / 7, 180),
            "economics.loss": (10, 120, 100, own, 100 - 120 * (3 + 1 / 6) / 7, 120 * (3 + 1 / 6) / 7),
            "economics.cost": (2, 40, 100 - 60 * 3.25 / 7, own, 100 - 60 * 2 / 7, 60 * 1.25 / 7),
        }.items()
    }  # fmt: skip
    assert shared["swing"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        for end in ("low", "high"):
            alone = run(path, overrides={row["parameter"]: row[end], "uncertainty": None, "stress": None})
            assert row[f"at_{end}"] == pytest.approx(alone.summary.loc[row["policy"], row["output"]], abs=1e-12)
    assert result.manifest["points"] == {"tornado": 7}
    assert "Payoffs depend most on economics.benefit" in verdict_of(result)


def test_a_tornado_chart_of_text_and_of_a_parameter_without_a_value(tmp_path):
    text = '[uncertainty.parameters]\n"{key}" = {{ distribution = "discrete", values = {values} }}\n'
    solvers = text.format(key="publisher.solver", values='["backward-induction", "branch-and-bound"]')
    found = stress(write_town(tmp_path, solvers + TORNADO)).tables["tornado"]
    assert found[["low", "high"]].drop_duplicates().values.tolist() == [["backward-induction", "branch-and-bound"]]
    assert found["swing"].max() == pytest.approx(0, abs=1e-9)
    path = write_town(tmp_path, text.format(key="beliefs.cost", values="[5, 9]") + TORNADO)
    with pytest.raises(InputError, match=r"parameters: a tornado chart needs a value of the parameter; found 'beliefs"):
        stress(path)
    with pytest.raises(InputError, match=r"samples: the key has no effect; expected this key only with method = "):
        stress(path, overrides={"stress.sensitivity.samples": 8})


def test_points_and_outcomes_are_tables_of_uncertainties_levers_and_outcomes(everything):
    """They are the tables of the robustness analysis, or of the sensitivity analysis if it is the only one."""
    regrets, policies = everything.tables["regrets"], everything.levers["policy"].tolist()
    assert set(policies) == set(everything.tables["robustness"]["policy"])
    assert everything.uncertainties.shape == (12, 3)
    assert {"publisher_payoff", "risk_quantile", "regret"} <= set(everything.outcomes)
    joined = everything.outcomes.reset_index().join(everything.uncertainties, on="point")
    pd.testing.assert_frame_equal(joined[regrets.columns], regrets)
    kept = {name: table for name, table in everything.tables.items() if name in ("samples", "guarantee")}
    samples = replace(everything, tables=kept)
    assert len(samples.outcomes) == len(samples.uncertainties) * len(samples.levers) == len(kept["samples"])
    with pytest.raises(InputError, match="no sampled points in the results; expected robustness or sens"):
        replace(samples, tables={"guarantee": kept["guarantee"]}).outcomes  # noqa: B018


@pytest.mark.deep
def test_other_parameters_are_runs_of_the_batch_engine(tmp_path):
    """A discrete text parameter; the folder keeps the runs, so they are not repeated."""
    uncertain = """
[uncertainty]
samples = 4
[uncertainty.parameters]
"economics.loss" = { distribution = "uniform", low = 10, high = 120 }
"publisher.solver" = { distribution = "discrete", values = ["backward-induction", "branch-and-bound"] }
[stress.sensitivity]
method = "morris"
samples = 2
[stress.robustness]
[stress.discovery]
policy = "basic"
below = 1e9
"""
    path = write_town(tmp_path, uncertain)
    result = stress(path, runs=tmp_path / "kept")
    again = stress(path, runs=tmp_path / "kept")
    for name, table in result.tables.items():
        pd.testing.assert_frame_equal(table, again.tables[name])
    effects = result.tables["sensitivity"].set_index(["policy", "output", "index", "parameter"])["value"]
    assert effects["basic", "publisher_payoff", "mu_star", "publisher.solver"] == pytest.approx(0, abs=1e-9)
    assert effects["basic", "publisher_payoff", "mu_star", "economics.loss"] > 1
    assert set(result.tables["boxes"]["box"]) == {1}
    assert "robust_strategies" not in result.tables
    assert any("publisher.solver has no counterpart in beliefs" in warning for warning in result.warnings)


BAD = [
    ('[stress]\noutput = ["risk"]\n', r"stress\.output: unknown key.*did you mean 'outputs'"),
    ('[stress]\noutputs = ["usefulness"]\n', r"stress\.outputs: not an output of game 'tables'.*usefulness"),
    ('[stress]\npolicies = ["safe-harbor"]\n', r"stress\.policies: not a policy of the scenario.*safe-harbor"),
    ("[stress.sensitivity]\nsamples = 100\n", r"stress\.sensitivity\.samples: .*found 100; expected 64 or 128"),
    ("[stress.discovery]\n", r"stress\.discovery.*below or above"),
    ('[stress.discovery]\nbelow = 1\noutput = "gap"\n', r"stress\.discovery\.output: not an output of .* found 'gap'"),
    ('[[stress.beliefs]]\nkey = "economics.cost"\n', r"stress\.beliefs\[0\]: no values to vary"),
    (
        '[[stress.beliefs]]\nkey = "economics.benefit"\ntrue = [1]\n',
        r"stress\.beliefs\[0\]: key: the publisher has no belief",
    ),
    ('[[stress.beliefs]]\nkey = "economics.cost"\ntrue = [-1]\n', r"economics\.cost.*found -1"),
    (
        '[stress.map]\nx = { key = "economics.loss", values = [1] }\ny = { key = "economics.loss", values = [2] }\n',
        r"stress\.map\.y\.key: both axes",
    ),
]


@pytest.mark.parametrize(("section", "message"), BAD)
def test_mistakes_are_named_with_file_and_key(tmp_path, section, message):
    path = write_town(tmp_path, UNCERTAIN + section)
    with pytest.raises(InputError, match=message) as caught:
        stress(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    # `reidsim check` reports the same error without solving any game.
    with pytest.raises(InputError) as checked:
        describe(Scenario.load(path))
    assert str(checked.value) == str(caught.value)


@pytest.mark.parametrize(
    ("uncertain", "message"),
    [
        ("", r"town\.toml: uncertainty: section missing"),
        (UNCERTAIN.replace("low = 2,", "low = -20,"), r"point \d+: economics\.cost"),
        (
            UNCERTAIN + '[[uncertainty.correlations]]\nkeys = ["economics.loss", "economics.cost"]\nrank = 0.5\n',
            r"uncertainty\.correlations: sensitivity indices need independent parameters",
        ),
    ],
)
def test_impossible_uncertainty_is_refused(tmp_path, uncertain, message):
    path = write_town(tmp_path, uncertain + "[stress.sensitivity]\n")
    with pytest.raises(InputError, match=message) as caught:
        stress(path)
    with pytest.raises(InputError) as checked:
        describe(Scenario.load(path))
    assert str(checked.value) == str(caught.value)


def test_correlated_parameters_can_be_stressed_without_sensitivity(tmp_path):
    correlated = '[[uncertainty.correlations]]\nkeys = ["economics.loss", "economics.cost"]\nrank = 0.9\n'
    result = stress(write_town(tmp_path, UNCERTAIN + correlated + "[stress.robustness]\n"))
    points = result.tables["regrets"].drop_duplicates("point")
    assert points["economics.loss"].corr(points["economics.cost"], method="spearman") > 0.6


def test_parts_of_other_games_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"stress\.guarantee: the guarantee needs a record-level game"):
        stress("prasser2017", overrides={"stress.guarantee": True})
    with pytest.raises(InputError, match="this kind of scenario has no policies"):
        stress("xia2021")
    path = write_town(tmp_path, UNCERTAIN + '[stress]\noutputs = ["risk_quantile"]\n')
    with pytest.raises(
        InputError, match=r"stress\.risk_level: batches do not compute .*; found 0\.9; expected one of 0\.05"
    ):
        stress(path, overrides={"adversary.planner": "fmdp", "stress.risk_level": 0.9})


def test_a_number_of_sobol_samples_that_is_no_power_of_two_is_refused(tmp_path):
    few = CliRunner().invoke(app, ["stress", str(write_town(tmp_path)), "--method", "sobol", "--samples", "5"])
    assert str(few.exception).startswith("--samples: the number of samples is not a power of 2; found 5")
