"""Cross-play of scenarios, against the papers' results; incompatible pairs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.engine.cross_play import cross_play
from reidsim.errors import InputError
from reidsim.games.cross_play import CROSS_PLAY_COLUMNS
from reidsim.games.defenders.best_reply import BestReply
from reidsim.games.defenders.defender import outcome_of
from reidsim.games.masking.game import MaskingGame
from reidsim.kinds.masking.opponents import opponents_of_subjects
from reidsim.kinds.masking.study import build_masking_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.reports.illustration import illustrate
from reidsim.scenarios.adversary_schema import opponent_names
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.opponents import OpponentOptions

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
MEASURES = ("publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk")
SMALL_MASKING = {
    "population.recipe": "ystr-genealogy-small",
    "replications": 1,
    "targets.size": 40,
    "resources.registry.size": 600,
    "resources.genealogy.size": 600,
    "subjects.attributes": ["age", "state", "DYS19", "DYS385", "DYS390", "DYS391", "DYS439"],
}
LIST = """
title = "A list of patients"
[[sources]]
kind = "groups"
name = "list"
[[sources.profile]]
presence = 0.5
[[sources.profile.groups]]
attributes = ["age", "district"]
probability = 0.8
"""


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


@pytest.fixture(scope="module")
def adult():
    return cross_play("wan2015", knowledge="tennessee-voters")


@pytest.mark.deep
def test_one_shot_on_the_lattice_is_wan2015(adult, wan2015, wan2015_equilibria):
    summary = TABLES.summarise(wan2015, 0, wan2015_equilibria)
    for policy in ("basic", "no-attack", "sh-friendly"):
        assert_row_is(adult.table, policy, "one-shot", "one-shot", summary.loc[policy])
    assert_row_is(adult.table, "safe-harbor", "one-shot", "", summary.loc["safe-harbor"])
    # docs/reproduction.md shows this value beside 1195.50 of the paper's Table 7.
    assert row(adult.table, "basic", "one-shot", "one-shot")["publisher_payoff"] == pytest.approx(1195.21, abs=0.01)


@pytest.mark.deep
def test_every_model_but_attacks_in_stages_plays_on_the_lattice(adult):
    assert list(adult.matrix("risk").columns) == [name for name in opponent_names() if name != "multistage"]
    assert adult.warnings == (
        "adversary 'multistage' cannot play: nothing says what it infers, and from what; expected adversary.stages, or "
        "the option --stages",
    )


@pytest.mark.deep
def test_who_knows_less_gains_less_and_who_may_try_again_more(adult):
    payoff = adult.matrix("adversary_payoff")
    assert (payoff["partial-knowledge"] <= payoff["one-shot"] + 1e-9).all()
    assert (payoff["always"] <= payoff["one-shot"] + 1e-9).all()
    assert (payoff["fmdp"] > payoff["one-shot"]).loc["no-protection"]
    assert (payoff["never"] == 0).all()
    np.testing.assert_allclose(payoff["random"], payoff["always"] / 2, atol=1e-9)
    assert (adult.table["regret"] >= 0).all()


@pytest.fixture(scope="module")
def masking():
    return cross_play("wan2021", overrides=SMALL_MASKING)


@pytest.mark.deep
def test_attacks_in_stages_on_masked_records_are_wan2021(masking):
    policies = [
        "no-protection", "demographics-only", "random-opt-in", "random-masking", "opt-in", "masking",
        "no-attack-masking", "one-stage-masking", "same-strategy", "k-anonymity",
    ]  # fmt: skip
    run = reidsim.run("wan2021", overrides={**SMALL_MASKING, "subjects.policies": policies}).summary
    for policy in ("masking", "no-attack-masking", "opt-in", "same-strategy"):
        assert_row_is(masking.table, policy, "multistage", "multistage", run.loc[policy])
    for policy in ("no-protection", "random-opt-in", "random-masking", "k-anonymity"):
        assert_row_is(masking.table, policy, "multistage", "", run.loc[policy])
    budget = {**SMALL_MASKING, "subjects.policies": ["masking"], "subjects.solver": "anytime"}
    assert_row_is(
        masking.table, "anytime-masking", "multistage", "multistage",
        reidsim.run("wan2021", overrides=budget).summary.loc["masking"],
    )  # fmt: skip
    # The paper plays two policies against the adversary who infers nothing.
    assert_row_is(masking.table, "demographics-only", "one-shot", "", run.loc["demographics-only"])
    assert_row_is(masking.table, "masking", "one-shot", "one-shot", run.loc["one-stage-masking"])


def test_every_model_with_what_it_needs_plays_on_masked_records(masking):
    assert list(masking.matrix("risk").columns) == [name for name in opponent_names() if name != "partial-knowledge"]
    assert masking.warnings == (
        "adversary 'partial-knowledge' cannot play: the scenario names no knowledge recipe; expected "
        "adversary.knowledge, or the option --knowledge",
    )
    assert masking.manifest["own_adversary"] == "multistage"


def test_compiled_and_general_games_agree():
    """The general solver plays types; the compiled solver plays staged attacks alone."""
    study = build_masking_study(load_scenario("wan2021", SMALL_MASKING))
    found = opponents_of_subjects(study, OpponentOptions())
    for opponent in found.opponents:
        if isinstance(opponent.truth, MaskingGame):
            fast = outcome_of(opponent.truth, BestReply().choose(opponent.truth))
            general = opponent.truth.record_game
            slow = outcome_of(general, BestReply(may_withhold=True).choose(general))
            np.testing.assert_allclose(fast.publisher_payoff, slow.publisher_payoff, atol=1e-9)


def test_what_is_always_shared_stays_shared():
    always = {**SMALL_MASKING, "subjects.always_shared": ["age", "state"], "subjects.policies": ["masking", "opt-in"]}
    play, run = cross_play("wan2021", overrides=always), reidsim.run("wan2021", overrides=always).summary
    for policy in ("masking", "opt-in"):
        assert_row_is(play.table, policy, "multistage", "multistage", run.loc[policy])
    assert "k-anonymity" not in set(play.table["defender"])


@pytest.mark.parametrize("always", [[], ["age", "state"]], ids=["all can be masked", "some cannot"])
def test_partial_knowledge_of_masked_records(tmp_path, always):
    """The column is the same for an additional adversary and for the own adversary."""
    recipe = tmp_path / "list.toml"
    recipe.write_text(LIST.replace("district", "state"), encoding="utf-8")
    scenario = {**SMALL_MASKING, "subjects.always_shared": always, "subjects.policies": ["masking", "opt-in"]}
    scenario["subjects.attributes"] = ["age", "state", "DYS19"]
    own = {**scenario, "adversary": {"knowledge": str(recipe), "resource": "registry"}}
    run = reidsim.run("wan2021", overrides=own).summary
    beside, itself = (
        cross_play("wan2021", overrides=scenario, knowledge=str(recipe)),
        cross_play("wan2021", overrides=own),
    )
    assert beside.warnings == ()
    assert [warning.partition(":")[0] for warning in itself.warnings] == [
        "adversary 'multistage' cannot play", "defender 'greedy-masking' cannot play",
        "defender 'anytime-masking' cannot play",
    ]  # fmt: skip
    for policy in ("masking", "opt-in"):
        assert_row_is(itself.table, policy, "partial-knowledge", "partial-knowledge", run.loc[policy])
    for adversary in ("one-shot", "partial-knowledge", "always"):
        expected = row(beside.table, "masking", adversary, "partial-knowledge")
        assert_row_is(itself.table, "masking", adversary, "partial-knowledge", expected)


# Other kinds of scenario.


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "list.toml").write_text(LIST, encoding="utf-8")
    return str(tmp_path / "list.toml")


def test_a_sequential_adversary_of_its_own(recipe):
    scenario = {"adversary": {"planner": "fmdp", "sequential": {"access_cost": 3, "penalty": 10}}}
    play = cross_play(TOWN, overrides=scenario, knowledge=recipe)
    run = reidsim.run(TOWN, overrides=scenario)
    for policy in ("basic", "no-attack"):
        assert_row_is(play.table, policy, "fmdp", "fmdp", run.summary.loc[policy])
    one_shot = reidsim.run(TOWN).summary
    assert_row_is(play.table, "basic", "one-shot", "one-shot", one_shot.loc["basic"])
    assert play.manifest["own_adversary"] == "fmdp"
    assert "no-attack vs fmdp" in play.matrix("risk").index


def test_partial_knowledge_of_its_own(recipe):
    play = cross_play(TOWN, overrides={"adversary.knowledge": recipe})
    run = reidsim.run(TOWN, overrides={"adversary.knowledge": recipe})
    for policy in ("basic", "no-attack"):
        assert_row_is(play.table, policy, "partial-knowledge", "partial-knowledge", run.summary.loc[policy])
    assert play.manifest["own_adversary"] == "partial-knowledge"


def test_a_registry_is_attacked_by_the_sequential_adversary_only(tmp_path):
    registry = tmp_path / "registry.toml"
    people = json.dumps(str(TOWN.parent / "people" / "people.toml"))
    registry.write_text(f'kind = "registry"\npopulation = {people}\nsize = 20\nseed = 1\n', encoding="utf-8")
    attack = {"planner": "fmdp", "sequential": {"registry": str(registry), "belief": "unknown"}}
    play, run = (
        cross_play(TOWN, overrides={"adversary": attack}),
        reidsim.run(TOWN, overrides={"adversary": attack}).summary,
    )
    for policy in ("basic", "no-attack"):
        assert_row_is(play.table, policy, "fmdp", "fmdp", run.loc[policy])
    one_shot = reidsim.run(TOWN).summary
    assert_row_is(play.table, "basic", "one-shot", "one-shot", one_shot.loc["basic"])
    # A planner other than the scenario's own performs the attack of the scenario's section.
    other = cross_play(TOWN, overrides={"adversary": {**attack, "planner": "one-shot"}})
    assert_row_is(other.table, "basic", "fmdp", "fmdp", run.loc["basic"])
    assert other.manifest["own_adversary"] == "one-shot"


def test_class_sizes_of_the_released_records():
    risk = {"adversary.risk": "prosecutor"}
    play, run = cross_play(TOWN, overrides=risk), reidsim.run(TOWN, overrides=risk).summary
    for policy in ("basic", "no-attack"):
        assert_row_is(play.table, policy, "one-shot", "one-shot", run.loc[policy])


def test_beliefs_are_planned_on_and_the_truth_is_paid():
    beliefs = {"beliefs": {"cost": 100}}
    play, run = cross_play(TOWN, overrides=beliefs), reidsim.run(TOWN, overrides=beliefs)
    assert_row_is(play.table, "basic", "one-shot", "one-shot", run.summary.loc["basic"])
    assert row(play.table, "basic", "one-shot", "one-shot")["regret"] > 0


DATASET = """
[population]
path = "people.csv"
[release]
path = "records.csv"
[attributes.age]
minimum_level = {minimum}
hierarchy = {{ rule = "intervals", widths = [10, 20] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[attributes.village]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = 100
loss = 80
cost = 11
[adversary]
risk = "journalist"
[beliefs]
risk = "{planned}"
[publisher]
unit = "table"
safe_class = "above"
policies = [
    "basic", "no-attack", "sh-friendly", "record-level", "record-level-no-attack", "safe-harbor",
    "multi-dimensional", "multi-dimensional-no-attack", "local-recoding", "local-recoding-no-attack",
]
suppression_limit = {limit}
[safe_harbor]
age = "age"
"""


@pytest.fixture
def ward(tmp_path):
    rng = np.random.default_rng(np.random.SeedSequence(4))
    people = pd.DataFrame(
        {
            "age": np.minimum(20 + rng.geometric(0.12, 90), 59),
            "sex": rng.choice(["F", "M"], 90),
            "village": rng.choice(["Dale", "Hill", "Ford"], 90, p=[0.6, 0.3, 0.1]),
            "worth": rng.choice([50, 100], 90),
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    people.head(40).to_csv(tmp_path / "records.csv", index=False)

    def write(**options):
        values = {"minimum": 0, "planned": "journalist", "limit": 1.0} | options
        path = tmp_path / "ward.toml"
        path.write_text(DATASET.format(**values), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    "options", [{}, {"limit": 0.3}, {"minimum": 1}, {"planned": "prosecutor", "limit": 0.5}], ids=str
)
def test_one_form_for_all_is_the_game_at_dataset_level(ward, options):
    path = ward(**options)
    play, run = cross_play(path), reidsim.run(path).summary
    policies = [policy for policy in run.index if policy != "safe-harbor"]
    for policy in policies:
        assert_row_is(play.table, policy, "one-shot", "one-shot", run.loc[policy])
    assert_row_is(play.table, "safe-harbor", "one-shot", "", run.loc["safe-harbor"])
    # The lattice is small enough for the budgeted search to visit every node.
    assert_row_is(play.table, "anytime", "one-shot", "one-shot", run.loc["basic"])


def test_prices_by_record_leave_out_who_needs_one_price(ward, recipe):
    play = cross_play(ward(), overrides={"economics.columns.loss": "worth"})
    assert "fmdp" not in play.matrix("risk").columns
    assert (
        "adversary 'fmdp' cannot play: a sequential attack has one gain and one cost for all records" in play.warnings
    )
    assert row(play.table, "basic", "one-shot", "one-shot")["publisher_payoff"] > 0


# Results.


@pytest.mark.deep
def test_the_results_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    result = cross_play(TOWN, attack_rate=0.25, progress=lambda *now: told.append(now[0]))
    folder = result.save("played", illustrate=illustrate)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == [
        "cross_play.parquet", "figures/cross-play.png", "manifest.json", "worst_cases.parquet",
    ]  # fmt: skip
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "cross_play.parquet"), result.table)
    assert list(result.table.columns) == list(CROSS_PLAY_COLUMNS)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["cross_play"] == {"knowledge": None, "stages": None, "attack_rate": 0.25}
    assert manifest["warnings"] == list(result.warnings)
    share = result.matrix("share_attacked")
    assert share.loc["no-protection", "random"] == pytest.approx(0.25)
    assert set(told) == {"reading town", "playing"}
    with pytest.raises(InputError, match="folder is not empty"):
        result.save("played")


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    done = runner.invoke(app, ["cross-play", str(TOWN), "--measure", "regret", "--attack-rate", "0.1"])
    assert done.exit_code == 0
    assert "town: regret" in done.stdout
    assert "Results in results/town-cross-play-001" in done.stdout
    assert "warning: adversary 'multistage' cannot play" in done.stderr
    assert (tmp_path / "results" / "town-cross-play-001" / "cross_play.parquet").is_file()


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda: cross_play("xia2021"),
            r"game: nobody decides what is shared; found .risk.; expected a kind",
        ),
        (lambda: cross_play(TOWN, attack_rate=1.5), "attack_rate"),
        (lambda: cross_play("nowhere"), "nowhere"),
        (lambda: cross_play(TOWN, knowledge="voter-registration"), "voter-registration"),
        (lambda: cross_play(TOWN, knowledge="nobody.toml"), "nobody.toml: no such file"),
        (lambda: cross_play("wan2021", overrides=SMALL_MASKING, knowledge="nobody"), "knowledge recipe"),
        (
            lambda: cross_play(
                "xia2015", overrides={"population.counts": "expected", "adversary.sequential.registry": None}
            ),
            "not a group size",
        ),
    ],
)
def test_impossible_calls_are_refused(call, problem):
    with pytest.raises(InputError, match=problem):
        call()
