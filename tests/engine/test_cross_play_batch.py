"""Cross-play as a batch: single runs, resumed batches, worst cases by brute force."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.numerics import replication_seed
from reidsim.engine.batch.design import Design
from reidsim.engine.batch.runner import rerun
from reidsim.engine.cross_play import worst_cases_table
from reidsim.engine.scenario import cross_play
from reidsim.games.cross_play import CROSS_PLAY_COLUMNS
from reidsim.reports.study_tables import cross_play_verdict
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
KEYS = ["defender", "plans_against", "adversary"]
DESIGN = {
    "sweep": {"values": {"economics.loss": [30, 60]}},
    "uncertainty": {
        "parameters": {"economics.cost": {"distribution": "uniform", "low": 1, "high": 9}},
        "samples": 1, "method": "random",
    },
    "replications": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def batch():
    return cross_play(TOWN, overrides=DESIGN, executor="serial")


@pytest.mark.deep
def test_every_run_is_the_scenario_played_alone(batch):
    runs = list(batch.table.groupby(["point", "replication"]))
    assert len(runs) == 4
    for (point, number), rows in runs[1:3]:
        first = rows.iloc[0]
        values = {"economics.loss": first["economics.loss"], "economics.cost": first["economics.cost"]}
        alone = cross_play(TOWN, overrides=values, seed=replication_seed(7, number)).table
        found = rows[list(CROSS_PLAY_COLUMNS)].reset_index(drop=True)
        pd.testing.assert_frame_equal(found, alone, check_exact=True, check_dtype=False), point


def test_worst_cases_are_those_of_the_table(batch):
    cells = batch.table.groupby([*KEYS, "economics.loss"])[["publisher_payoff", "regret"]].mean()
    table = batch.worst_cases.set_index(["defender", "plans_against"])
    for name, row in table.iterrows():
        mine = cells.loc[name]
        assert row["least_payoff"] == pytest.approx(mine["publisher_payoff"].min(), abs=1e-12)
        assert row["largest_regret"] == pytest.approx(mine["regret"].max(), abs=1e-12)
        adversary, loss = mine["regret"].idxmax()
        if (mine["regret"] > mine["regret"].max() - 1e-9).sum() == 1:
            assert row["largest_regret_at"] == f"{adversary}, economics.loss = {loss}"
    np.testing.assert_allclose(table.loc[table["maximin"], "least_payoff"], table["least_payoff"].max(), rtol=1e-9)
    assert table.loc[table["minimax_regret"], "largest_regret"].iloc[0] == table["largest_regret"].min()
    assert (table["worst_regret"] >= table["largest_regret"] - 1e-12).all()
    first, second = cross_play_verdict(batch)
    assert first.startswith("Maximin: basic vs ")
    best = table[table["minimax_regret"]].iloc[0]
    assert ("95% interval" in second) == bool(best["largest_regret_high"] > best["largest_regret_low"] + 1e-6)
    assert f"at most {best['largest_regret']:.2f}" in second


def runs_of(values):
    """Return a table of runs: two defenders, two adversaries, one point, replications."""
    rows = [
        {"defender": f"d{d}", "plans_against": "", "adversary": f"a{a}", "point": 0, "replication": r,
         "publisher_payoff": value, "regret": -value, "state": "complete"}
        for (d, a, r), value in np.ndenumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_intervals_cover_the_worst_case_as_often_as_they_say():
    """Three adversaries with equal true payoffs: the hardest case for a minimum."""
    values = np.random.default_rng(np.random.SeedSequence(5)).normal(loc=1.0, size=(400, 3, 12))
    table = worst_cases_table(runs_of(values), Design(pd.DataFrame(index=range(1)), 12))
    covered = ((table["least_payoff_low"] <= 1.0) & (table["least_payoff_high"] >= 1.0)).mean()
    # Minus four standard errors of that share.
    assert covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 400)
    assert (table["least_payoff_high"] - table["least_payoff_low"]).mean() < 2.0


def test_a_defender_who_cannot_play_somewhere_is_not_compared_and_a_case_nobody_plays_does_not_count():
    values = np.arange(12.0).reshape(3, 2, 2)
    runs = runs_of(values)
    gone = (runs["defender"] == "d2") & (runs["adversary"] == "a0") & (runs["replication"] == 1)
    table = worst_cases_table(runs[~gone], Design(pd.DataFrame(index=range(1)), 2))
    assert table["maximin"].tolist() == [False, True, False]
    assert table.loc[2, ["least_payoff", "largest_regret", "worst_regret"]].isna().all()
    nobody = runs[~((runs["adversary"] == "a0") & (runs["replication"] == 1))]
    table = worst_cases_table(nobody, Design(pd.DataFrame(index=range(1)), 2))
    assert table["least_payoff"].tolist() == [0.0, 4.0, 8.0]


@pytest.mark.deep
def test_a_batch_is_resumed_and_no_other_goes_on_in_its_folder(tmp_path, batch):
    folder = tmp_path / "played"
    whole = cross_play(TOWN, overrides=DESIGN, executor="serial", folder=folder)
    pd.testing.assert_frame_equal(whole.table, batch.table, check_exact=True)
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "cross_play.parquet"), batch.table, check_exact=True)
    again = cross_play(TOWN, overrides=DESIGN, folder=folder, resume=True)
    pd.testing.assert_frame_equal(again.worst_cases, batch.worst_cases, check_exact=True)
    with pytest.raises(InputError, match="other options, or from another command"):
        cross_play(TOWN, overrides=DESIGN, folder=folder, resume=True, attack_rate=0.2)
    with pytest.raises(InputError, match="other options, or from another command"):
        reidsim.run_batch(TOWN, overrides=DESIGN, folder=folder, resume=True)
    with pytest.raises(InputError, match="a run of cross-play cannot be repeated alone"):
        rerun(folder, "0/0")
    assert sorted(path.name for path in folder.iterdir()) == [
        "cross_play.parquet", "manifest.json", "statistics.parquet", "worst_cases.parquet",
    ]  # fmt: skip


def test_failed_runs_are_told_and_left_out():
    own = TOWN.parent / Scenario.load(TOWN).content["release"]["path"]
    wrong = {"sweep": {"values": {"release.path": [str(own), "nowhere.csv"]}}}
    found = cross_play(TOWN, overrides=wrong, executor="serial")
    assert list(found.table["state"].value_counts()) == [len(found.table) - 1, 1]
    assert "1 of 2 runs ended as 'failed'" in found.warnings[0]
    assert not found.matrix("regret").isna().any(axis=None)


def test_options_of_a_batch_are_refused_for_a_single_run(tmp_path):
    for options, found in (({"workers": 2}, "workers"), ({"folder": tmp_path / "one"}, "folder")):
        with pytest.raises(InputError, match=f"the scenario is a single run; found '{found}'"):
            cross_play(TOWN, **options)
    with pytest.raises(InputError, match="no folder to resume from"):
        cross_play(TOWN, resume=True)
