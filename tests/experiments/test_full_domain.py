"""Runs of scenarios at dataset level: tables that agree with each other and with the game."""

import json

import numpy as np
import pandas as pd
import pytest

from reidsim.experiments.full_domain_analysis import FullDomainAnalysis
from reidsim.experiments.full_domain_run import describe_full_domain, run_full_domain
from reidsim.experiments.run_result import MEASURES
from reidsim.releases.full_domain import released_class_sizes
from reidsim.reports.illustration import illustrate
from reidsim.scenarios.load import load_scenario

SCENARIO = """
game = "full-domain"
[population]
path = "people.csv"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 80
cost = 10
[publisher]
policies = [
  "basic", "no-attack", "sh-friendly", "local-recoding", "local-recoding-no-attack", "record-level",
  "record-level-no-attack", "safe-harbor", "no-protection", "suppress-all",
]
[safe_harbor]
age = "age"
[analysis.nodes]
top = 4
[analysis.curves]
loss = { values = [0, 40, 80, 200] }
benefit = { from = 50, to = 100, points = 3 }
policies = ["basic", "no-attack", "sh-friendly", "record-level", "safe-harbor"]
risks = ["prosecutor", "journalist"]
[analysis.runtimes]
loss = [0, 80]
"""
NODE_POLICIES = ["basic", "no-attack", "sh-friendly"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ninety people of whom forty are released."""
    folder = tmp_path_factory.mktemp("ward")
    rng = np.random.default_rng(4)
    people = pd.DataFrame(
        {
            "age": np.minimum(20 + rng.geometric(0.12, 90), 59),
            "sex": rng.choice(["F", "M"], 90),
            "village": rng.choice(["Dale", "Hill", "Ford"], 90, p=[0.6, 0.3, 0.1]),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    people.iloc[:40].to_csv(folder / "records.csv", index=False)
    (folder / "ward.toml").write_text(SCENARIO)
    return folder


def run(folder, **changes):
    loaded = load_scenario(folder / "ward.toml", {key.replace("__", "."): value for key, value in changes.items()})
    return run_full_domain(loaded, lambda task, done, total: None)


@pytest.fixture(scope="module", params=["prosecutor", "journalist"])
def result(folder, request):
    return run(folder, adversary__risk=request.param)


def test_tables_agree_with_each_other(result):
    optima, records = result.analysis.optima.set_index("policy"), result.records
    for policy, rows in records.groupby("policy", observed=True):
        payout = rows["publisher_payoff"].sum()
        assert optima.loc[policy, "payout"] == pytest.approx(payout)
        assert optima.loc[policy, "relative_payout"] == pytest.approx(payout / (40 * 100))
        assert optima.loc[policy, "attacked"] == rows["attacked"].sum()
        assert optima.loc[policy, "suppressed"] == (rows["strategy"] == "withheld").sum()
        assert optima.loc[policy, "adversary_payout"] == pytest.approx(rows["adversary_payoff"].sum())
        assert result.summary.loc[policy, "publisher_payoff"] == pytest.approx(payout / 40)
        assert result.summary.loc[policy, "share_attacked"] == pytest.approx(rows["attacked"].mean())
    assert list(result.summary.columns) == list(MEASURES)


def test_the_publisher_gets_what_it_planned_when_it_plans_with_the_truth(result):
    """The walk over the lattice and the evaluation record by record are two programs."""
    optima = result.analysis.optima[result.analysis.optima["planned_payout"].notna()]
    assert len(optima) == 7
    assert optima["payout"].to_numpy() == pytest.approx(optima["planned_payout"].to_numpy(), abs=1e-9)


def test_classes_add_up_to_the_optimum(result):
    sums = result.analysis.classes.groupby("policy").sum(numeric_only=True)
    optima = result.analysis.optima.set_index("policy")
    assert set(sums.index) == set(NODE_POLICIES)
    for policy in NODE_POLICIES:
        assert sums.loc[policy, "records"] == 40
        for column, total in (("suppressed", "suppressed"), ("attacked", "attacked"), ("publisher_payoff", "payout")):
            assert sums.loc[policy, column] == pytest.approx(optima.loc[policy, total])
    # A class is kept or dropped whole when prices are the same for all.
    assert set(result.analysis.classes.eval("suppressed / records")) <= {0, 1}


def test_the_released_table_reads_back_to_the_same_classes(result, tmp_path):
    released, names = result.analysis.released, ["age", "sex", "village"]
    for policy in NODE_POLICIES:
        table = released[released["policy"] == policy].reset_index(drop=True)
        assert table["record"].tolist() == list(range(40))
        table[names].to_csv(tmp_path / "out.csv", sep=";", index=False)
        again = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str, keep_default_na=False)
        sizes = released_class_sizes(again)
        assert sizes.tolist() == table["class_size"].tolist()
        withheld = result.records.query("policy == @policy")["strategy"].to_numpy() == "withheld"
        assert ((again == "*").all(axis=1).to_numpy() == withheld).all()
        classes = result.analysis.classes.query("policy == @policy and suppressed == 0")
        assert sorted(classes["records"]) == sorted(again[~withheld].groupby(names).size())


def test_labels_are_in_the_order_of_the_records(folder):
    released = run(folder, publisher__policies=["no-protection"], analysis={}).analysis.released
    records = pd.read_csv(folder / "records.csv", dtype=str)
    assert released[["age", "sex", "village"]].to_numpy().tolist() == records.to_numpy().tolist()


def test_nodes_and_front_belong_to_the_optimum(result):
    optima = result.analysis.optima.set_index("policy")
    for policy in NODE_POLICIES:
        top = result.analysis.top_nodes.query("policy == @policy")
        assert len(top) <= 4
        assert top["payout"].is_monotonic_decreasing
        assert top["payout"].iloc[0] == pytest.approx(optima.loc[policy, "payout"])
        front = result.analysis.front.query("policy == @policy")
        assert front["share_attacked"].is_monotonic_increasing
        assert front["payout"].max() == pytest.approx(optima.loc[policy, "payout"])


def test_a_point_of_a_curve_is_a_run_at_that_point(folder):
    curves = run(folder, adversary__risk="journalist").analysis.curves
    for parameter, value in (("loss", 200.0), ("benefit", 50.0)):
        for risk in ("prosecutor", "journalist"):
            changes = {f"economics__{parameter}": value, "beliefs__risk": risk, "analysis": {}}
            summary = run(folder, adversary__risk="journalist", **changes).summary
            points = curves.query("parameter == @parameter and value == @value and risk in [@risk, '']")
            assert len(points) == 5
            for point in points.itertuples():
                for measure in ("publisher_payoff", "adversary_payoff", "share_attacked", "share_suppressed"):
                    assert getattr(point, measure) == pytest.approx(summary.loc[point.policy, measure])


def test_mistaken_risks_cost_and_never_pay(folder):
    """Planning with the truth pays at least as much as planning with anything else."""
    curves = run(folder, adversary__risk="journalist").analysis.curves
    games = curves[curves["risk"] != ""].pivot(
        index=["parameter", "value", "policy"], columns="risk", values="publisher_payoff"
    )
    basic = games[games.index.get_level_values("policy").isin(["basic", "record-level"])]
    assert (basic["journalist"] >= basic["prosecutor"] - 1e-9).all()
    assert (basic["journalist"] > basic["prosecutor"] + 1e-9).any()


def test_beliefs_about_prices_are_planned_with(folder):
    frightened = run(folder, beliefs={"loss": 500, "gain": 500}).analysis.optima.set_index("policy")
    truth = run(folder).analysis.optima.set_index("policy")
    assert frightened.loc["basic", "payout"] < truth.loc["basic", "payout"]
    assert frightened.loc["basic", "planned_payout"] < frightened.loc["basic", "payout"]


def test_prices_by_record(folder):
    records = pd.read_csv(folder / "records.csv", dtype=str)
    records.assign(worth=[50] * 20 + [200] * 20).to_csv(folder / "priced.csv", index=False)
    changes = {"release__path": str(folder / "priced.csv"), "economics__columns": {"benefit": "worth"}}
    result = run(folder, **changes, analysis={})
    rows = result.records.query("policy == 'no-protection'")
    safe = ~rows["attacked"].to_numpy()
    assert (rows["publisher_payoff"].to_numpy()[safe] == np.repeat([50, 200], 20)[safe]).all()
    optima = result.analysis.optima.set_index("policy")
    assert optima.loc["basic", "relative_payout"] == pytest.approx(optima.loc["basic", "payout"] / 5000)


def test_no_solution_is_an_answer(folder):
    result = run(
        folder, publisher__suppression_limit=0.0, publisher__policies=["basic"], economics__benefit=0, analysis={}
    )
    assert result.records["strategy"].eq("withheld").all()
    assert result.analysis.optima["node"].tolist() == [""]
    assert result.analysis.classes.empty
    (warning,) = result.warnings
    assert warning == "basic: nothing pays while at most 0% of the records are suppressed; no release"


def test_the_anytime_search_in_a_scenario(folder):
    changes = {"publisher__search": "anytime", "publisher__policies": ["basic"], "analysis": {}}
    some = run(folder, **changes, publisher__nodes=3)
    optimum = some.analysis.optima.iloc[0]
    assert optimum["nodes_evaluated"] == 3
    assert optimum["gap"] > 0
    assert not optimum["proved_optimal"]
    assert "the budget ended the search" in some.warnings[0]
    exact = run(folder, publisher__policies=["basic"], analysis={}).analysis.optima.iloc[0]
    enough = run(folder, **changes, publisher__nodes=1000).analysis.optima.iloc[0]
    assert enough["proved_optimal"]
    assert (enough["node"], enough["payout"]) == (exact["node"], exact["payout"])


def test_two_runs_are_the_same_but_for_run_times(folder):
    one, other = run(folder).analysis.tables(), run(folder).analysis.tables()
    assert list(one) == list(other)
    for name in set(one) - {"runtimes"}:
        pd.testing.assert_frame_equal(one[name], other[name])
    assert set(one) == {"optima", "classes", "released", "top_nodes", "front", "curves", "runtimes"}


def test_a_results_folder_with_figures(result, tmp_path):
    folder = result.save(tmp_path / "out", illustrate=illustrate)
    manifest = json.loads((folder / "manifest.json").read_text())
    names = ["payout-curves-benefit.png", "payout-curves-loss.png", "payout-front.png", "full-domain-runtimes.png"]
    assert sorted(manifest["figures"]) == sorted(names)
    assert sorted(path.name for path in (folder / "figures").iterdir()) == sorted(names)
    optima = pd.read_parquet(folder / "optima.parquet")
    pd.testing.assert_frame_equal(optima, result.analysis.optima)
    assert manifest["policies"]["basic"]["node"] == [optima["node"].iloc[0]]


def test_check_says_how_large_the_game_is(folder):
    text = describe_full_domain(load_scenario(folder / "ward.toml"))
    assert text.startswith("40 records in ")
    assert text.endswith("16 nodes, 90 people")


def test_without_analysis_there_are_the_tables_of_the_policies(folder):
    analysis = run(folder, analysis={}).analysis
    assert isinstance(analysis, FullDomainAnalysis)
    assert set(analysis.tables()) == {"optima", "classes", "released"}
    assert analysis.left_out == ()
