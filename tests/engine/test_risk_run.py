"""Runs of risk scenarios: tables agree with the risks, and runs are reproducible."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.adversaries.knowledge.assessment import Network

SETTINGS = {"p_m": [0.2, 0.8], "p_fm": [0.5], "p_cu": [0.5], "p_c": [0.3, 0.6]}
SMALL = {
    "release.sizes": [60, 100],
    "release.samples": 2,
    "figures.settings": SETTINGS,
    "attack": {"gain": 1000, "cost": 50},
}


@pytest.fixture(scope="module")
def result():
    return reidsim.run("xia2021", overrides=SMALL)


def of(result, knowledge: str, records: int = 100) -> pd.DataFrame:
    table = result.records
    return table[(table["knowledge"] == knowledge) & (table["records"] == records)].sort_values("record")


@pytest.mark.deep
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


@pytest.mark.deep
def test_runs_repeat_and_samples_do_not_depend_on_each_other(result):
    alone = reidsim.run("xia2021", overrides=SMALL | {"release.sizes": [100], "release.samples": 1})
    ours = result.runs[(result.runs["records"] == 100) & (result.runs["replication"] == 0)]
    measures = ["knowledge", "prosecutor_risk", "marketer_risk", "overall_risk"]
    pd.testing.assert_frame_equal(alone.runs[measures], ours[measures].reset_index(drop=True))


@pytest.mark.deep
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
