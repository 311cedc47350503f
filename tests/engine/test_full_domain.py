"""Runs with full-domain generalization: tables agree with each other and the game."""

import pandas as pd
import pytest
from small_ward import write_ward
from tiers import cases

from reidsim.core.wording import columns_of
from reidsim.engine.single_run import run_once
from reidsim.games.outcomes import MEASURES, REIDENTIFIED
from reidsim.kinds.tables import outcomes
from reidsim.releases.records import released_class_sizes
from reidsim.scenarios.scenario import Scenario

NODE_POLICIES = ["basic", "no-attack", "sh-friendly"]
CLASS_POLICIES = [
    *NODE_POLICIES, "local-recoding", "local-recoding-no-attack", "multi-dimensional", "multi-dimensional-no-attack",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_ward(tmp_path_factory.mktemp("ward")).parent


def run(folder, **changes):
    loaded = Scenario.load(folder / "ward.toml", {key.replace("__", "."): value for key, value in changes.items()})
    return run_once(loaded)


@pytest.fixture(scope="module", params=cases(["prosecutor", "journalist"], ["journalist"]))
def result(folder, request):
    return run(folder, adversary__risk=request.param)


@pytest.mark.deep
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
    assert list(result.summary.columns) == columns_of((*MEASURES, *REIDENTIFIED))


def test_the_publisher_gets_what_it_planned_when_it_plans_with_the_truth(result):
    """The lattice search and the evaluation record by record are separate programs."""
    optima = result.analysis.optima[result.analysis.optima["planned_payout"].notna()]
    assert len(optima) == 9
    assert optima["payout"].to_numpy() == pytest.approx(optima["planned_payout"].to_numpy(), abs=1e-9)


def test_classes_add_up_to_the_optimum(result):
    classes, optima = result.analysis.classes, result.analysis.optima.set_index("policy")
    sums = classes.groupby("policy").sum(numeric_only=True)
    assert set(sums.index) == set(CLASS_POLICIES)
    for policy in CLASS_POLICIES:
        assert sums.loc[policy, "records"] == 40
        for column, total in (("suppressed", "suppressed"), ("attacked", "attacked"), ("publisher_payoff", "payout")):
            assert sums.loc[policy, column] == pytest.approx(optima.loc[policy, total])
    # With equal payoff parameters, a class is released or suppressed as a whole.
    assert set(classes.eval("suppressed / records")) <= {0, 1}
    assert not classes.duplicated(["policy", "node", "age", "sex", "village"]).any()
    used = classes.groupby("policy")["node"].agg(set)
    for policy in CLASS_POLICIES[:5]:
        assert used[policy] == set(optima.loc[policy, "node"].split(" | "))


def test_class_sizes_are_those_of_the_risk(result):
    """Under prosecutor risk, class sizes count released records, also in later rounds."""
    classes, optima = result.analysis.classes, result.analysis.optima.set_index("policy")
    prosecutor = result.manifest["content"].get("adversary", {}).get("risk") == "prosecutor"
    if prosecutor:
        assert (classes["people"] == classes["records"]).all()
    else:
        assert (classes["people"] >= classes["records"]).all()
        assert (classes["people"] > classes["records"]).any()
    attacked = classes[classes["attacked"] > 0]
    assert (attacked["people"] < 80 / 10).all()
    share = (classes["attacked"] * (80 / classes["people"] - 10)).groupby(classes["policy"]).sum()
    for policy in CLASS_POLICIES:
        assert share[policy] == pytest.approx(optima.loc[policy, "adversary_payout"])


def test_the_released_table_reads_back_to_the_same_classes(result, tmp_path):
    released, names = result.analysis.released, ["age", "sex", "village"]
    for policy in CLASS_POLICIES:
        table = released[released["policy"] == policy].reset_index(drop=True)
        assert table["record"].tolist() == list(range(40))
        table[names].to_csv(tmp_path / "out.csv", sep=";", index=False)
        again = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str, keep_default_na=False)
        sizes = released_class_sizes(again)
        assert sizes.tolist() == table["class_size"].tolist()
        withheld = result.records.query("policy == @policy")["strategy"].to_numpy() == "withheld"
        assert ((again == "*").all(axis=1).to_numpy() == withheld).all()
        classes = result.analysis.classes.query("policy == @policy and suppressed == 0")
        shared = classes.groupby(names)["records"].sum() if len(classes) else pd.Series(dtype=int)
        assert sorted(shared) == sorted(again[~withheld].groupby(names).size())


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


def test_no_solution_is_an_answer(folder):
    result = run(
        folder, publisher__suppression_limit=0.0, publisher__policies=["basic"], economics__benefit=0, figures={}
    )
    assert result.records["strategy"].eq("withheld").all()
    assert result.analysis.optima["node"].tolist() == [""]
    assert result.analysis.classes.empty
    (warning,) = result.warnings
    assert warning == "basic: no release with at most 0% suppressed records is profitable; nothing is released"


def test_the_anytime_search_stops_at_its_budget_and_lists_the_nodes_it_visited(folder):
    changes = {"publisher__search": "anytime", "publisher__policies": ["basic"], "figures": {}}
    some = run(folder, **changes, publisher__nodes=3)
    optimum = some.analysis.optima.iloc[0]
    assert optimum["nodes_evaluated"] == 3
    assert optimum["gap"] > 0
    assert not optimum["proved_optimal"]
    assert "the budget ended the search" in some.warnings[0]
    every = run(folder, publisher__policies=["basic"], figures={"nodes": {"top": 16}}).analysis
    enough = run(folder, **changes, publisher__nodes=1000).analysis.optima.iloc[0]
    exact = every.optima.iloc[0]
    assert enough["proved_optimal"]
    assert (enough["node"], enough["payout"]) == (exact["node"], exact["payout"])
    assert len(every.top_nodes) == 16
    assert set(some.analysis.front["node"]) <= set(some.analysis.top_nodes["node"])
    both = some.analysis.top_nodes.merge(every.top_nodes, on=["policy", "node"])
    assert len(some.analysis.top_nodes) == len(both) == 3
    assert both["payout_x"].tolist() == both["payout_y"].tolist()


def test_nodes_are_listed_by_default_in_lattices_of_modest_size(folder, monkeypatch):
    changes = {"publisher__policies": ["basic", "record-level"], "figures": {}}
    assert len(run(folder, **changes).analysis.top_nodes) == 10
    monkeypatch.setattr(outcomes, "_MOST_NODES_LISTED", 15)
    assert "best nodes are not listed: there are 16" in run(folder, **changes).analysis.left_out[0]


def test_regions_within_a_suppression_limit(folder):
    """A binding limit reduces the payoff and may leave a gap to the optimum."""
    policy = "multi-dimensional-no-attack"
    payouts, gaps = [], []
    for limit in (0.0, 0.1, 1.0):
        result = run(folder, publisher__policies=[policy], publisher__suppression_limit=limit, figures={})
        optimum = result.analysis.optima.iloc[0]
        assert optimum["suppressed"] <= 40 * limit
        assert optimum["proved_optimal"] == (optimum["gap"] == 0)
        assert any(warning.startswith(f"{policy}: the limit of") for warning in result.warnings) == (optimum["gap"] > 0)
        payouts.append(optimum["payout"])
        gaps.append(optimum["gap"])
    assert payouts[0] < payouts[-1]
    assert max(gaps) > gaps[-1] == 0
