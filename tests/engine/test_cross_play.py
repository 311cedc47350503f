"""Cross-play of scenarios, against single runs; incompatible pairs."""

import json
from pathlib import Path

import pytest
from small_ward import write_ward

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.scenario import cross_play

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


@pytest.mark.deep
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


@pytest.mark.deep
@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda: cross_play("xia2021", overrides={"population.recipe": "nowhere"}),
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
