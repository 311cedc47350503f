"""Runs of risk scenarios: tables agree with the risks, and runs are reproducible."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.adversaries.knowledge.expectation import Network
from reidsim.kinds.assessment.figures import run_figures

SETTINGS = {"p_m": [0.2, 0.8], "p_fm": [0.5], "p_cu": [0.5], "p_c": [0.3, 0.6]}
SMALL = {
    "release.sizes": [60, 100],
    "release.samples": 2,
    "figures.settings": SETTINGS,
    "attack": {"gain": 1000, "cost": 50},
}
ONE_SAMPLE = {"release.sizes": [60], "release.samples": 1, "figures": {}}


@pytest.fixture(scope="module")
def result():
    return reidsim.run("xia2021", overrides=SMALL)


def of(result, knowledge: str, records: int = 100) -> pd.DataFrame:
    table = result.records
    return table[(table["knowledge"] == knowledge) & (table["records"] == records)].sort_values("record")


def test_the_summary_is_means_by_size_and_adversary(result):
    assert list(result.summary.index) == [
        (records, knowledge) for records in (60, 100) for knowledge in ("worst-case", "twitter", "voter-registration")
    ]
    first = result.runs[(result.runs["replication"] == 0) & (result.runs["records"] == 100)].set_index("knowledge")
    for knowledge in first.index:
        for risk in ("prosecutor", "journalist", "marketer", "overall"):
            assert first.loc[knowledge, f"{risk}_risk"] == pytest.approx(of(result, knowledge)[risk].mean())


def test_the_worst_case_counts_equal_records(result):
    worst = of(result, "worst-case")
    attributes = result.manifest["attributes"]
    size = worst.groupby(attributes, observed=True)["record"].transform("size")
    np.testing.assert_allclose(worst["marketer"], 1 / size)
    assert (worst["prosecutor"] == (size == 1)).all()
    np.testing.assert_allclose(worst["journalist"], 0.66 * (size == 1))
    network = Network(p_m=0.5, p_fm=0.5, p_cu=0.5, p_c=0.5)
    risks = [worst[risk].to_numpy() for risk in ("prosecutor", "journalist", "marketer")]
    np.testing.assert_allclose(worst["overall"], network.overall(*risks))


def test_reductions_are_quartiles_over_those_with_a_risk(result):
    table = result.analysis.reductions.set_index(["records", "replication", "knowledge", "risk"])
    worst, voters = of(result, "worst-case"), of(result, "voter-registration")
    at_risk = (worst["journalist"] > 0).to_numpy()
    less = 100 * (1 - voters["journalist"].to_numpy()[at_risk] / worst["journalist"].to_numpy()[at_risk])
    row = table.loc[(100, 0, "voter-registration", "journalist")]
    assert row["persons"] == at_risk.sum()
    np.testing.assert_allclose(row[["q1", "median", "q3"]].astype(float), np.quantile(less, [0.25, 0.5, 0.75]))


def test_settings_are_those_of_the_network(result):
    table = result.analysis.settings
    assert len(table) == 4 * 3 * 2
    rows = table[(table["p_m"] == 0.8) & (table["p_c"] == 0.3) & (table["replication"] == 0)].set_index("knowledge")
    network = Network(p_m=0.8, p_fm=0.5, p_cu=0.5, p_c=0.3)

    def overall(knowledge):
        risks = of(result, knowledge, records=60)
        return network.overall(*(risks[risk].to_numpy() for risk in ("prosecutor", "journalist", "marketer")))

    less = 100 * (1 - overall("twitter") / overall("worst-case"))
    np.testing.assert_allclose(rows.loc["twitter", ["q1", "median", "q3"]], np.quantile(less, [0.25, 0.5, 0.75]))
    np.testing.assert_allclose(rows.loc["worst-case", "risk_median"], np.median(overall("worst-case")))
    assert (rows.loc["worst-case", ["q1", "median", "q3"]] == 0).all()


def test_sources_tell_price_presence_and_what_attacks_pay(result):
    row = result.analysis.sources.set_index(["records", "knowledge"]).loc[(100, "voter-registration")]
    voters = of(result, "voter-registration")
    net = 1000 * voters["overall"] - 50
    assert row["persons_attacked"] == (net > 0).sum()
    assert row["payoff"] == pytest.approx(net[net > 0].sum() - row["price"])
    # Tennessee's list costs $2,500, and most people live there.
    assert row["price"] > 2500
    assert 0.6 < row["presence"] < 0.9


def test_runs_repeat_and_samples_do_not_depend_on_each_other(result):
    alone = reidsim.run("xia2021", overrides=SMALL | {"release.sizes": [100], "release.samples": 1})
    ours = result.runs[(result.runs["records"] == 100) & (result.runs["replication"] == 0)]
    measures = ["knowledge", "prosecutor_risk", "marketer_risk", "overall_risk"]
    pd.testing.assert_frame_equal(alone.runs[measures], ours[measures].reset_index(drop=True))


def test_monte_carlo_tells_its_error_and_agrees(result):
    changes = SMALL | {"expectation": {"method": "monte-carlo", "trials": 500}}
    drawn = reidsim.run("xia2021", overrides=changes)
    assert drawn.manifest["knowledge"]["twitter"]["method"] == "monte-carlo"
    assert result.manifest["knowledge"]["twitter"]["method"] == "exact"
    assert any("500 knowledge sets were drawn" in warning for warning in drawn.warnings)
    exact, ours = of(result, "voter-registration"), of(drawn, "voter-registration")
    for risk in ("prosecutor", "journalist", "marketer", "overall"):
        assert (exact[f"{risk}_standard_error"] == 0).all()
        errors = ours[f"{risk}_standard_error"]
        assert (errors > 0).any()
        # People share draws, so their errors are correlated; each is within four of its own standard errors.
        assert (np.abs(ours[risk] - exact[risk]) <= 4 * errors + 1e-12)[errors > 0].all()
    keys = ["records", "replication", "knowledge"]
    both = result.runs.merge(drawn.runs, on=keys, suffixes=("", "_drawn")).set_index("knowledge")
    assert (both["method"] == "exact").all()
    assert set(both["method_drawn"].drop("worst-case")) == {"monte-carlo"}
    for risk in ("prosecutor", "journalist", "marketer", "overall"):
        errors = both[f"{risk}_standard_error_drawn"]
        assert (both[f"{risk}_standard_error"] == 0).all()
        assert (errors.drop("worst-case") > 0).all()
        assert (np.abs(both[f"{risk}_risk"] - both[f"{risk}_risk_drawn"]) <= 4 * errors + 1e-12).all()


def test_a_risk_that_nobody_is_at_in_the_worst_case_is_left_out_of_figures(tmp_path):
    pd.DataFrame({"a": ["x", "y"] * 20}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "gossip.toml").write_text(
        'title = "Gossip"\nsource = "made up"\n[[sources]]\nkind = "groups"\nname = "gossip"\n'
        '[[sources.profile]]\ngroups = [{ attributes = ["a"], probability = 0.5 }]\n'
    )
    (tmp_path / "risk.toml").write_text(
        'game = "risk"\n[release]\npath = "people.csv"\nattributes = ["a"]\n[knowledge]\ngossip = "gossip.toml"\n'
        '[uniqueness]\nmethod = "fixed"\nvalue = 0.3\n'
        "[figures.settings]\np_m = [0.0]\np_fm = [0.0]\np_cu = [0.0]\np_c = [0.0]\n"
    )
    found = reidsim.run(tmp_path / "risk.toml")
    reductions = found.analysis.reductions.set_index("risk")["persons"]
    assert reductions.to_dict() == {"journalist": 0, "prosecutor": 0, "marketer": 40, "overall": 40}
    assert found.analysis.settings["median"].isna().all()
    assert [name for name, _ in run_figures(found)] == ["risk-maps", "risk-reductions"]


@pytest.mark.deep
def test_vague_uniqueness_is_warned_of():
    changes = {"uniqueness": {"method": "pitman", "population_size": 100_000_000}}
    vague = reidsim.run("xia2021", overrides=ONE_SAMPLE | changes)
    assert any("journalist risk is imprecise" in warning for warning in vague.warnings)
    records = vague.records
    assert (records["journalist_low"] <= records["journalist"] + 1e-12).all()
    assert (records["journalist"] <= records["journalist_high"] + 1e-12).all()


@pytest.mark.deep
def test_a_known_population_tells_who_is_unique():
    known = reidsim.run("xia2021", overrides=ONE_SAMPLE | {"uniqueness": {"method": "known"}})
    worst = of(known, "worst-case", records=60)
    assert set(np.unique(worst["journalist"])) <= {0.0, 1.0}
    assert (worst["journalist"] <= worst["prosecutor"]).all()
    assert known.analysis.knowledge_sets["unique"].isna().all()


@pytest.mark.deep
def test_a_publisher_shares_more_against_voter_lists():
    scenario = {"publisher.policies": ["basic"], "publisher.solver": "branch-and-bound", "figures": {}}
    everything = reidsim.run("wan2015", overrides=scenario | {"adversary.knowledge": "worst-case"}).summary.loc["basic"]
    plain = reidsim.run("wan2015", overrides=scenario).summary.loc["basic"]
    twitter = reidsim.run("wan2015", overrides=scenario | {"adversary.knowledge": "twitter-age-race-sex"}).summary.loc[
        "basic"
    ]
    assert (twitter["share_attacked"], twitter["share_unchanged"]) == (0, 1)
    voters = reidsim.run("wan2015", overrides=scenario | {"adversary.knowledge": "tennessee-voters"}).summary.loc[
        "basic"
    ]
    pd.testing.assert_series_equal(everything, plain, rtol=1e-9)
    assert voters["publisher_payoff"] > plain["publisher_payoff"]
    assert voters["risk"] < plain["risk"]
