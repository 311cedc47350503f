"""Cross-play of scenarios, against the papers' results; incompatible pairs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_ward import write_ward
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.core.errors import InputError
from reidsim.engine.scenario import cross_play
from reidsim.games.cross_play import CROSS_PLAY_COLUMNS
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.adversary_schema import opponent_names

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
MEASURES = ("publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk")
SMALL_MASKING = {
    "population.recipe": "ystr-genealogy-small", "replications": 1, "targets.size": 15, "resources.registry.size": 300,
    "resources.genealogy.size": 300, "subjects.attributes": ["age", "state", "DYS19", "DYS385", "DYS390"],
}  # fmt: skip


def row(table, defender, adversary, against=""):
    chosen = table[
        (table["defender"] == defender) & (table["adversary"] == adversary) & (table["plans_against"] == against)
    ]
    assert len(chosen) == 1
    return chosen.iloc[0]


def assert_row_is(table, defender, adversary, against, expected):
    found = row(table, defender, adversary, against)
    for measure in MEASURES:
        assert found[measure] == pytest.approx(expected[measure], abs=1e-9), (defender, adversary, measure)


# The papers' games.


@pytest.mark.deep
def test_the_lattice_of_wan2015_against_every_adversary(wan2015, wan2015_equilibria):
    adult = cross_play("wan2015", knowledge="tennessee-voters")
    summary = TABLES.summarise(wan2015, 0, wan2015_equilibria)
    for policy in ("basic", "no-attack", "sh-friendly"):
        assert_row_is(adult.table, policy, "one-shot", "one-shot", summary.loc[policy])
    assert_row_is(adult.table, "safe-harbor", "one-shot", "", summary.loc["safe-harbor"])
    # docs/reproduction.md shows this value beside 1195.50 of the paper's Table 7.
    assert row(adult.table, "basic", "one-shot", "one-shot")["publisher_payoff"] == pytest.approx(1195.21, abs=0.01)
    assert list(adult.matrix("risk").columns) == [name for name in opponent_names() if name != "multistage"]
    payoff = adult.matrix("adversary_payoff")
    assert (payoff["partial-knowledge"] <= payoff["one-shot"] + 1e-9).all()
    assert (payoff["always"] <= payoff["one-shot"] + 1e-9).all()
    assert (payoff["fmdp"] > payoff["one-shot"]).loc["no-protection"]
    assert (payoff["never"] == 0).all()
    np.testing.assert_allclose(payoff["random"], payoff["always"] / 2, atol=1e-9)
    assert (adult.table["regret"] >= 0).all()


# Other kinds of scenario.


def test_a_registry_is_attacked_by_the_sequential_adversary_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = json.dumps(str(TOWN.parent / "people" / "people.toml"))
    Path("registry.toml").write_text(f'kind = "registry"\npopulation = {people}\nsize = 20\nseed = 1\n')
    attack = {"planner": "fmdp", "sequential": {"registry": "registry.toml", "belief": "unknown"}}
    changes = {"adversary": attack}
    play, run = cross_play(TOWN, overrides=changes), reidsim.run(TOWN, overrides=changes).summary
    for policy in ("basic", "no-attack"):
        assert_row_is(play.table, policy, "fmdp", "fmdp", run.loc[policy])
    one_shot = reidsim.run(TOWN).summary
    assert_row_is(play.table, "basic", "one-shot", "one-shot", one_shot.loc["basic"])


def test_prices_by_record_leave_out_adversaries_who_need_one_price(tmp_path):
    prices = {"economics.columns.loss": "worth", "publisher.policies": ["basic"]}
    play = cross_play(write_ward(tmp_path), overrides=prices)
    assert "fmdp" not in play.matrix("risk").columns
    left_out = "adversary 'fmdp' cannot play: a sequential attack needs the same gain and the same cost for all records"
    assert left_out in play.warnings
    assert row(play.table, "basic", "one-shot", "one-shot")["publisher_payoff"] > 0


# Results.


def test_the_results_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    result = cross_play(TOWN, attack_rate=0.25, progress=lambda *now: told.append(now[0]))
    folder = result.save("played")
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "cross_play.parquet"), result.table)
    assert list(result.table.columns) == list(CROSS_PLAY_COLUMNS)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["cross_play"] == {"knowledge": None, "stages": None, "attack_rate": 0.25}
    assert manifest["warnings"] == list(result.warnings)
    assert result.matrix("share_attacked").loc["no-protection", "random"] == pytest.approx(0.25)
    assert set(told) == {"reading town", "playing"}
    with pytest.raises(InputError, match="folder is not empty"):
        result.save("played")


@pytest.mark.deep
def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["cross-play", str(TOWN), "--measure", "regret", "--attack-rate", "0.1"])
    assert done.exit_code == 0
    assert "town: regret" in done.stdout
    assert "warning: adversary 'multistage' cannot play" in done.stderr
    folder = tmp_path / "results" / "town-cross-play-001"
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == [
        "cross_play.parquet", "figures/cross-play.png", "manifest.json", "worst_cases.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda: cross_play("xia2021"),
            r"game: this kind of scenario has no policies; found .risk.; expected a kind",
        ),
        (lambda: cross_play(TOWN, attack_rate=1.5), "attack_rate"),
        (lambda: cross_play(TOWN, knowledge="nobody.toml"), "nobody.toml: no such file"),
        (lambda: cross_play("wan2021", overrides=SMALL_MASKING, knowledge="nobody"), "knowledge recipe"),
        (
            lambda: cross_play(
                "xia2015", overrides={"population.counts": "expected", "adversary.sequential.registry": None}
            ),
            "invalid group size",
        ),
    ],
)
def test_impossible_calls_are_refused(call, problem):
    with pytest.raises(InputError, match=problem):
        call()
