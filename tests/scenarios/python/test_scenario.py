"""Scenarios built from tables and objects in memory, changed, saved and run."""

import contextlib
import copy
import gc
import os
import pickle
import random
import sys
import tomllib
import types

import numpy as np
import pandas as pd
import pytest
from fuzz_scenarios import make_scenario
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases, examples

import reidsim
from reidsim.core.errors import PRIVATE
from reidsim.core.files import bundled_names
from reidsim.core.validation import toml_text

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame({"age": RNG.integers(20, 50, 60), "sex": RNG.choice(["F", "M"], 60)})
PATIENTS = PEOPLE.sample(12, random_state=1).assign(worth=np.arange(12) * 10.0)
LEVELS = pd.DataFrame([[str(age), f"{age // 10 * 10}s", "*"] for age in range(20, 50)])
RULES = {"age": reidsim.intervals(5, 15), "sex": "suppress"}
ECONOMICS = {"benefit": 100, "loss": 150, "gain": 60, "cost": 12}
SEQUENTIAL = {
    "planner": "fmdp",
    "sequential": {"penalty": 20, "access_cost": 1, "belief": "unknown", "registry": PEOPLE.iloc[:40]},
}


def scenario_of(economics=None, **changes):
    given = {"population": PEOPLE, "hierarchies": RULES, **changes}
    return reidsim.Scenario.from_frames(PATIENTS, economics={**ECONOMICS, **(economics or {})}, **given)


class Half:
    """Releases every other record unchanged and suppresses the others."""

    name = "half"

    def choose(self, game):
        return np.where(np.arange(game.n_records) % 2, game.space.size - 1, 0)


class OneShotAgain:
    """The one-shot adversary, implemented again."""

    def __init__(self, gain=60.0, cost=12.0):
        self.gain, self.cost = gain, cost

    def respond(self, linkage, rows=None):
        success, believed = 1 / linkage.group_sizes, 1 / linkage.believed_group_sizes
        attacks = self.gain * believed > self.cost * (1 + 1e-12)
        payoff = np.where(attacks, self.gain * success - self.cost, 0.0)
        return reidsim.Response(attacks, success, believed, payoff, attacks.astype(float), gain=self.gain)


# Saving and loading.

STUDIES = {
    "rules": {},
    "table of levels": {"hierarchies": {"age": LEVELS, "sex": "suppress"}},
    "further keys": {"attributes": {"age": {"in_loss": False}}, "beliefs": {"cost": 1}},
    "costless": {"hierarchies": {"age": reidsim.intervals(5, 15, costless_levels=[1], suppress=False)}},
    "table unit": {"unit": "table", "economics": {"columns": {"gain": "worth"}}},
    "prosecutor": {"population": None},
    "counted people": {"population": reidsim.Population.from_frame(PEOPLE.assign(n=2.5), "n")},
    "sequential": {"adversary": SEQUENTIAL},
    "several": {"adversaries": {"a": {"weight": 0.5, "gain": 25}, "b": {"weight": 0.5, **SEQUENTIAL}}},
}


@pytest.mark.parametrize("changes", STUDIES.values(), ids=STUDIES)
def test_a_written_scenario_is_the_same_study(changes, tmp_path):
    scenario = scenario_of(**changes)
    scenario.to_toml(tmp_path / "mine.toml")
    loaded = reidsim.Scenario.load(tmp_path / "mine.toml")
    assert loaded == scenario
    assert loaded.build().fingerprint == scenario.build().fingerprint


def test_a_scenario_of_tables_is_that_of_a_file_written_by_hand(tmp_path):
    PATIENTS.to_csv(tmp_path / "patients.csv", index=False)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.toml").write_text(
        'kind = "counts"\nfile = "people.csv"\ncolumns = { age = "age", sex = "sex" }\n'
    )
    (tmp_path / "hand.toml").write_text(
        """
        release.path = "patients.csv"
        population.recipe = "people.toml"
        attributes.age.hierarchy = { rule = "intervals", widths = [5, 15] }
        attributes.sex.hierarchy = { rule = "suppress" }
        economics = { benefit = 100, loss = 150, gain = 60, cost = 12 }
        """
    )
    hand, memory = reidsim.Scenario.load(tmp_path / "hand.toml"), scenario_of()
    assert hand.build().fingerprint == memory.build().fingerprint
    pd.testing.assert_frame_equal(hand.run().records, memory.run().records)
    of_files = reidsim.Scenario.from_frames(
        tmp_path / "patients.csv", population=tmp_path / "people.toml", hierarchies=RULES, economics=ECONOMICS
    )
    assert of_files == hand


LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=4)


@examples(60, fast=2)
@given(
    labels=st.lists(LABELS, min_size=2, max_size=6, unique=True),
    name=LABELS.filter(lambda text: text not in ("record", "policy", "strategy", "attacked", "utility")),
    counts=st.lists(st.integers(1, 5), min_size=6, max_size=6),
)
def test_any_labels_are_written_and_read_unchanged(labels, name, counts, tmp_path_factory):
    people = pd.DataFrame({name: labels, "how many": counts[: len(labels)]})
    scenario = reidsim.Scenario.from_frames(
        people[[name]],
        population=reidsim.Population.from_frame(people, "how many"),
        hierarchies={name: "suppress"},
        economics=ECONOMICS,
    )
    path = tmp_path_factory.mktemp("written") / "mine.toml"
    scenario.to_toml(path)
    assert reidsim.Scenario.load(path).build().fingerprint == scenario.build().fingerprint


EVERY_KIND = ["wan2015-map", "wan2015", "wan2021", "xia2021", "dynamic-release", "guo2023"]


@pytest.mark.parametrize("name", cases(bundled_names("scenarios"), EVERY_KIND))
def test_bundled_scenarios_are_equal_after_saving(name, tmp_path):
    scenario = reidsim.Scenario.load(name)
    assert reidsim.Scenario.load(scenario.to_toml()) == scenario
    assert reidsim.Scenario.load({"inherited": scenario.unread(), **scenario.content}) == scenario
    scenario.to_toml(tmp_path / "copy.toml")
    assert reidsim.Scenario.load(tmp_path / "copy.toml") == scenario
    assert scenario.with_(seed=scenario.scenario.seed + 1) != scenario


def test_a_scenario_replaces_its_file_and_tables_and_may_be_moved(tmp_path):
    folder, path = tmp_path / "session", tmp_path / "session" / "scenario.toml"
    folder.mkdir()
    (folder / "scenario-tables-old").mkdir()
    pd.DataFrame({"age": [30, 34, 52, 55]}).to_csv(folder / "people.csv", index=False)
    scenario = reidsim.Scenario.from_frames(
        folder / "people.csv", hierarchies={"age": reidsim.intervals(5)}, economics=ECONOMICS
    )
    for label in ("young", "old"):
        study = scenario.build()
        assert study.value_counts == {"age": dict.fromkeys(["30", "34", "52", "55"], 1)}
        hierarchy = study.lattice.hierarchies[0].regroup(1, ["30", "34"], label)
        scenario = scenario.with_({"attributes.age.hierarchy": hierarchy})
        scenario.to_toml(path, overwrite=True)
        scenario = reidsim.Scenario.load(path)
        assert scenario.build().lattice.hierarchies[0].table.equals(hierarchy.table)
    assert {each.name for each in folder.glob("scenario-*")} == {"scenario-tables", "scenario-tables-old"}
    summary = scenario.run().summary
    folder.rename(tmp_path / "moved")
    assert reidsim.Scenario.load(tmp_path / "moved" / "scenario.toml").run().summary.equals(summary)


@pytest.mark.deep
def test_data_in_memory_are_used_until_their_file_or_a_key_of_the_data_changes(tmp_path, monkeypatch):
    people = pd.DataFrame({"age": [30, 34, 52, 55], "sex": ["F", "F", "M", "M"]})
    people.to_csv(tmp_path / "people.csv", index=False)
    hierarchies = {"age": reidsim.intervals(5), "sex": "suppress"}
    scenario = reidsim.Scenario.from_frames(tmp_path / "people.csv", hierarchies=hierarchies, economics=ECONOMICS)
    held, changes = scenario.hold(), {"loss": 80, "policies": ["basic"]}
    assert pickle.loads(pickle.dumps(held)).held is None  # noqa: S301 - written here
    expected = scenario.with_(**changes).run().summary
    other = scenario.with_({"attributes.age.hierarchy": "suppress"}).run().summary
    with monkeypatch.context() as patch:
        for name in ("read_coded_table", "read_distinct_rows"):
            patch.setattr(f"reidsim.kinds.tables.release.{name}", None)
        assert held.with_(**changes).run().summary.equals(expected)
        assert held.switch("loss").own == ECONOMICS["loss"]
        with pytest.raises(TypeError):
            held.with_({"attributes.age.hierarchy": "suppress"}).run()
    assert held.with_({"attributes.age.hierarchy": "suppress"}).run().summary.equals(other)
    people.assign(age=30).to_csv(tmp_path / "people.csv", index=False)
    os.utime(tmp_path / "people.csv", ns=(1, 1))
    assert held.run().summary.equals(scenario.run().summary)
    assert not held.run().summary.equals(expected)


def test_presets_are_the_amounts_of_the_bundled_scenarios():
    found = reidsim.presets()
    for name, row in found.iterrows():
        economics = reidsim.Scenario.load(name).content["economics"]
        assert row[["benefit", "loss", "gain", "cost"]].dropna().to_dict() == economics
    assert found["source"].str.contains("et al. 20").all()


@pytest.mark.deep
def test_a_key_that_is_no_longer_read_is_saved_and_refused_in_overrides(tmp_path):
    scenario = reidsim.Scenario.load("wan2015").with_(policies=["basic"])
    assert scenario.unread() == ["safe_harbor"]
    scenario.to_toml(tmp_path / "mine.toml")
    again = reidsim.Scenario.load(tmp_path / "mine.toml")
    assert again == scenario
    harbour = {"publisher.policies": ["safe-harbor"]}
    assert again.with_(harbour).run().summary.equals(reidsim.run("wan2015", overrides=harbour).summary)
    (tmp_path / "further.toml").write_text('extends = "mine.toml"\n')
    assert reidsim.Scenario.load(tmp_path / "further.toml") == scenario
    with pytest.raises(reidsim.InputError, match=r"safe_harbor.*no effect"):
        reidsim.Scenario.load(tmp_path / "mine.toml", {"safe_harbor": {"age": "age"}})
    for wrong in ("safe_harbor", [3]):
        with pytest.raises(reidsim.InputError, match="inherited: wrong type"):
            reidsim.Scenario.load({**scenario.content, "inherited": wrong})


@pytest.mark.deep
@pytest.mark.parametrize("numbers", cases([range(40), range(40, 500)], [range(40)]), ids=str)
def test_random_scenarios_are_equal_after_saving(numbers, tmp_path):
    valid = []
    for number in numbers:
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "random.toml"
        path.write_text(toml_text(make_scenario(folder, random.Random(number))))  # noqa: S311 - a test
        # Some scenarios have a key without effect.
        with contextlib.suppress(reidsim.InputError):
            valid.append(reidsim.Scenario.load(path))
    assert len(valid) > 0.9 * len(numbers)
    for scenario in valid:
        assert reidsim.Scenario.load(scenario.to_toml()) == reidsim.Scenario.load(scenario) == scenario


@pytest.mark.deep
def test_functions_take_a_scenario_in_place_of_a_file(tmp_path):
    scenario = scenario_of(policies=["basic", "no-attack"])
    assert reidsim.run(scenario, overrides={"economics.loss": 60}).manifest["content"]["economics"]["loss"] == 60
    assert reidsim.run(scenario).summary.equals(scenario.run().summary)
    assert reidsim.run(tomllib.loads(scenario.to_toml())).summary.equals(scenario.run().summary)
    assert reidsim.cross_play(scenario).table.equals(scenario.cross_play().table)
    assert "basic" in reidsim.explain(scenario).text
    scored = reidsim.score(PATIENTS, scenario).summary
    PATIENTS.to_csv(tmp_path / "released.csv", index=False)
    np.testing.assert_array_equal(scored, scenario.score(tmp_path / "released.csv").summary)
    described = reidsim.describe(PATIENTS, columns=["age", "sex"])
    of_file = reidsim.describe(tmp_path / "released.csv", columns=["age", "sex"])
    assert (described.records, described.uniques) == (of_file.records, of_file.uniques)
    with pytest.raises(reidsim.InputError, match=r"^describe: argument 'data': column 'x': column missing"):
        reidsim.describe(PATIENTS, columns=["x"])


def test_a_sweep_and_a_stress_test_take_the_options_of_a_batch(tmp_path):
    scenario = scenario_of(policies=["basic"])
    first, again = (scenario.sweep(loss=[60, 90], folder=tmp_path / "swept", resume=go_on) for go_on in (False, True))
    assert first.summary.equals(again.summary)
    assert reidsim.rerun(tmp_path / "swept", "1/0").verdict == "All values equal the values in the folder."
    with pytest.raises(reidsim.InputError, match="workers"):
        scenario.sweep(loss=[60, 90], executor="serial", workers=2)
    with pytest.raises(reidsim.InputError, match="workers"):
        scenario.stress(loss=(60, 90), executor="serial", workers=2)


def test_scenarios_are_equal_by_content():
    scenario = scenario_of(seed=3)
    assert scenario == scenario_of(seed=3, name="other")
    assert scenario == pickle.loads(pickle.dumps(scenario))  # noqa: S301 - our own data
    assert scenario != scenario_of(seed=4)
    amounts = reidsim.Scenario.from_frames(PATIENTS, population=PEOPLE, hierarchies=RULES, seed=3, **ECONOMICS)
    assert scenario == amounts
    assert scenario != reidsim.Scenario.from_frames(
        PATIENTS.assign(age=20), population=PEOPLE, hierarchies=RULES, economics=ECONOMICS, seed=3
    )
    assert scenario.with_(loss=600) == scenario_of(economics={"loss": 600}, seed=3)
    assert scenario.with_(loss=600).with_({"economics.loss": 150}) == scenario
    assert scenario != 3


def test_a_scenario_extends_another_as_a_file_does():
    dear = reidsim.Scenario.load({"extends": "wan2015", "economics": {"loss": 600}})
    assert dear == reidsim.Scenario.load("wan2015").with_(loss=600)


def test_tables_are_copied_when_a_scenario_is_made():
    frame = PATIENTS.copy()
    scenario = reidsim.Scenario.from_frames(frame, population=PEOPLE, hierarchies=RULES, economics=ECONOMICS)
    before = scenario.build().fingerprint
    frame["age"] = 20
    assert scenario.build().fingerprint == before == scenario_of().build().fingerprint
    replaced = scenario.with_(release__path=frame)
    assert replaced.build().fingerprint != before
    assert replaced == reidsim.Scenario.load(replaced.to_toml())


def pickled(part):
    return pickle.loads(pickle.dumps(part))  # noqa: S301 - made here


@pytest.mark.deep
@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_has_its_own_tables(copied):
    scenario, draft = scenario_of().with_(population=PEOPLE.iloc[:40]), reidsim.new(PATIENTS[["age", "sex"]])
    again, drafted = copied(scenario), copied(draft)
    assert again == scenario
    assert drafted.scenario == draft.scenario
    expected = scenario.run().summary
    del scenario, draft
    gc.collect()
    assert again.run().summary.equals(expected)
    assert drafted.run().summary.index.tolist() == ["no-protection", "basic", "no-attack"]


def test_a_run_of_tables_in_memory_is_repeated_with_its_scenario(tmp_path):
    scenario = scenario_of().with_(policies=["basic"])
    scenario.sweep(loss=[100, 200], folder=tmp_path / "out")
    again = pickled(scenario.with_(sweep={"values": {"economics.loss": [100, 200]}}))
    assert "All values equal" in reidsim.rerun(tmp_path / "out", "1/0", scenario=again).verdict
    with pytest.raises(reidsim.InputError, match="not the scenario of the batch"):
        reidsim.rerun(tmp_path / "out", "1/0", scenario=scenario)


def test_changes_have_the_arguments_of_from_frames():
    scenario = scenario_of(population=None)
    assert scenario.with_(population=PEOPLE, adversary={"risk": "journalist"}) == scenario_of()
    assert scenario.with_(records=PATIENTS, hierarchies={"age": RULES["age"]}, unit="record") == scenario
    assert scenario.with_(adversary={"planner": "fmdp"}).scenario.adversary.risk == "prosecutor"
    assert scenario.with_(records=PATIENTS.iloc[:5]).run().manifest["records"] == 5


def test_content_and_overrides_have_tables_and_objects():
    content = {
        "release": {"path": PATIENTS},
        "attributes": {"age": {"hierarchy": RULES["age"]}, "sex": {"hierarchy": "suppress"}},
        "economics": ECONOMICS,
        "adversary": {"risk": "prosecutor"},
    }
    assert reidsim.Scenario.load(content) == scenario_of(population=None)
    changed = reidsim.run(content, overrides={"release.path": PATIENTS.iloc[:5], "publisher.policies": [Half()]})
    assert (changed.manifest["records"], changed.summary.index.tolist()) == (5, ["half"])


def test_nothing_is_overwritten(tmp_path):
    scenario_of().to_toml(tmp_path / "mine.toml")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(reidsim.InputError, match="exists already"):
        scenario_of(economics={"loss": 1}).to_toml(tmp_path / "mine.toml")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


# Running.


@pytest.mark.deep
def test_a_sweep_runs_at_each_value(tmp_path):
    scenario = scenario_of(policies=["basic"])
    swept = scenario.sweep(loss=[0, 300], cost=np.array([1, 12])).summary["publisher_payoff"]
    for loss, cost in ((0, 1), (0, 12), (300, 1), (300, 12)):
        payoff = scenario.with_(loss=loss, cost=cost).run().summary["publisher_payoff"]
        np.testing.assert_allclose(swept.loc[loss, cost][payoff.index], payoff, rtol=1e-12)
    lazily = scenario.sweep({"economics.loss": map(float, [0, 300])}, cost=(cost for cost in (1, 12))).summary
    np.testing.assert_array_equal(lazily["publisher_payoff"], swept)
    in_turn = scenario.sweep({"economics.loss": [0, 300]}, cost=[1, 12], one_at_a_time=True).summary
    assert sorted(in_turn.index.droplevel("policy")) == [(0, 12), (150, 1), (150, 12), (300, 12)]
    several = scenario.with_(adversaries={"a": {"weight": 0.5}, "b": {"weight": 0.5, "cost": 30}})
    runs = several.sweep(adversaries__b__cost=[30, 1]).runs.set_index("adversaries.b.cost")
    assert runs.loc[30, "publisher_payoff"] == pytest.approx(several.run().runs["publisher_payoff"].item(), rel=1e-12)
    stored = scenario.with_(replications=2).batch(tmp_path / "out", workers=1)
    assert len(stored.runs) == 2
    resumed = scenario.with_(replications=2).batch(tmp_path / "out", resume=True)
    pd.testing.assert_frame_equal(resumed.runs, stored.runs)


@pytest.mark.deep
def test_studies_of_a_scenario_run_from_python():
    scenario = scenario_of(policies=["basic", "no-attack"], stress={"robustness": {"samples": 4}})
    robustness = scenario.stress(loss=(100, 500)).tables["robustness"]
    assert set(robustness["policy"]) >= {"basic", "no-attack"}
    played = scenario.rounds(2, remembers=False)
    assert played.manifest["content"]["agents"] == {"rounds": 2, "remembers": False}
    assert scenario.switch("loss").own == 150
    assert set(scenario.attributes().table["attribute"]) == {"age", "sex"}
    matrix = scenario.cross_play(equilibrium=True).matrix("publisher_payoff")
    assert {"one-shot", "fmdp"} <= set(matrix.columns)


RANDOM = {"planner": "random", "rate": 0.25}
PLAYED = [{"planner": "always"}, {"planner": "never"}, RANDOM, OneShotAgain, OneShotAgain()]


@pytest.mark.deep
@pytest.mark.parametrize("adversary", cases(PLAYED, [RANDOM, PLAYED[-1]]))
def test_run_and_cross_play_agree_on_any_adversary(adversary):
    gain = {"gain": None} if adversary == {"planner": "never"} else {}
    scenario = scenario_of(gain, adversary=adversary, policies=["basic", "no-attack", Half()])
    summary = scenario.run().summary
    crossed = scenario.cross_play(attack_rate=0.25)
    own = crossed.manifest["own_adversary"]
    rows = crossed.table[(crossed.table["adversary"] == own) & crossed.table["plans_against"].isin(["", own])]
    found = rows.set_index("defender")
    for policy in ("basic", "no-attack", "half"):
        for measure in ("publisher_payoff", "adversary_payoff", "utility", "risk"):
            assert found.loc[policy, measure] == pytest.approx(summary.loc[policy, measure], rel=1e-12, abs=1e-12)


# User-defined objects.


@pytest.mark.deep
@pytest.mark.parametrize("adversary", [OneShotAgain, OneShotAgain()], ids=["class", "object"])
def test_a_user_defined_adversary_has_the_results_of_the_same_planner(adversary):
    own, known = scenario_of(adversary=adversary), scenario_of()
    pd.testing.assert_frame_equal(own.run().records, known.run().records)
    types = {"theirs": {"weight": 0.5, "planner": adversary}, "plain": {"weight": 0.5}}
    plain = {"theirs": {"weight": 0.5}, "plain": {"weight": 0.5}}
    pd.testing.assert_frame_equal(
        scenario_of(adversaries=types).run().summary, scenario_of(adversaries=plain).run().summary
    )


@pytest.mark.deep
def test_a_class_is_called_with_the_gain_and_cost_of_each_point():
    values = {"cost": [1, 12], "gain": [30, 60]}
    own, known = scenario_of(adversary=OneShotAgain).sweep(**values), scenario_of().sweep(**values)
    pd.testing.assert_frame_equal(own.summary, known.summary)


@pytest.mark.deep
@pytest.mark.parametrize("unit", ["record", "table"])
def test_payoffs_of_a_user_defined_policy_follow_from_its_strategies(unit):
    scenario = scenario_of(unit=unit, policies=["suppress-all", Half(), "no-protection"])
    result = scenario.run()
    assert result.summary.index.tolist() == ["suppress-all", "half", "no-protection"]
    by_policy = result.records.pivot(index="record", columns="policy", values="publisher_payoff")
    kept = np.isclose(by_policy["half"], by_policy["no-protection"])
    assert (kept | np.isclose(by_policy["half"], by_policy["suppress-all"])).all()
    assert "half" in set(scenario.sweep(benefit=[50, 100]).runs["policy"])


def test_user_defined_objects_of_modules_are_written_by_reference(tmp_path, monkeypatch):
    module = types.ModuleType("clinic_parts")
    module.half, module.again = Half(), type("again", (OneShotAgain,), {"__module__": "clinic_parts"})
    monkeypatch.setattr(Half, "__module__", "clinic_parts")
    monkeypatch.setitem(sys.modules, "clinic_parts", module)
    scenario = scenario_of(adversary=module.again, policies=["basic", module.half])
    text = scenario.to_toml()
    assert 'planner = "clinic_parts:again"' in text
    assert 'policies = ["basic", "clinic_parts:half"]' in text
    assert reidsim.Scenario.load(text, allow_code=True) == scenario
    with pytest.raises(reidsim.InputError, match=r"^Scenario: .*: a scenario file cannot name this"):
        scenario_of(policies=[Half()]).to_toml(tmp_path / "mine.toml")
    assert list(tmp_path.iterdir()) == []


# Tables of other kinds of scenario.

MEN = pd.DataFrame({"DYS393": [12, 13, 13, 14, 12, 13], "surname": list("ABBCAC")})
REGISTRY = pd.DataFrame({"age": [30, 31, 32, 30, 31, 33], "surname": MEN["surname"]})
MASKING = {
    "game": "masking",
    "resources": {
        "genealogy": {"file": MEN, "attributes": ["surname", "DYS393"]},
        "registry": {"file": REGISTRY, "attributes": ["age", "surname"], "holds": "targets"},
    },
    "subjects": {"attributes": ["age", "DYS393"], "weights": "uniform"},
    "adversary": {
        "stages": [
            {
                "stage": "infer-surname", "resource": "genealogy",
                "mutation_rates": pd.DataFrame({"locus": ["DYS393"], "mutation_rate": [0.00076]}),
            },
            {"stage": "identify", "resource": "registry", "on": ["age", "surname"]},
        ]
    },
    "policies": ["no-protection", "masking"],
}  # fmt: skip
CASES = PATIENTS[["age", "sex"]].assign(day=[1] * 6 + [2] * 6)
PEDIGREE = pd.DataFrame({"person": list("abc"), "father": ["", "", "a"], "mother": ["", "", "b"]})
KNOWLEDGE = """
[[sources]]
kind = "groups"
name = "all"
[[sources.profile]]
presence = 1.0
[[sources.profile.groups]]
attributes = ["age", "sex"]
"""
KINDS = {
    "masking": (pd.concat([MEN, REGISTRY[["age"]]], axis=1).head(3), {**MASKING, "economics": ECONOMICS}),
    "risk": (
        PATIENTS, {
            "game": "risk", "release": {"attributes": ["age", "sex"]}, "population": PEOPLE,
            "trees": {"age": {"file": LEVELS[LEVELS[0].isin(set(PEOPLE["age"].astype(str)))]}},
            "uniqueness": {"method": "known"},
            "knowledge": {"all": "all.toml"},
        },
    ),
    "dynamic": (
        CASES, {
            "game": "dynamic", "release": {"period": "day"}, "voters": {"recipe": PEOPLE}, "hierarchies": RULES,
            "economics": ECONOMICS, "policies": ["basic"],
        },
    ),
    "participation": (PEDIGREE, {"game": "participation", "subjects": {"benefit": 30, "services": 20, "harm": 100}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_tables_in_memory_replace_the_files_of_every_kind(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.toml").write_text(KNOWLEDGE)
    records, changes = KINDS[kind]
    scenario = reidsim.Scenario.from_frames(records, **changes)
    result = scenario.run()
    assert len(result.summary)
    scenario.to_toml(tmp_path / "mine.toml")
    loaded = reidsim.Scenario.load(tmp_path / "mine.toml")
    assert loaded == scenario
    pd.testing.assert_frame_equal(loaded.run().summary, result.summary)


# Errors.


class NoStrategies:
    name = "none"

    def choose(self, game):
        return np.full(game.n_records, game.space.size)


class TooFew:
    name = "few"

    def choose(self, game):
        return [0]


def other(records, **changes):
    return reidsim.Scenario.from_frames(records, **{"hierarchies": RULES, "economics": ECONOMICS, **changes})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scenario_of({"loss": -1}), "^Scenario: economics.loss: value not allowed; found -1"),
        (lambda: scenario_of(adversary=3), r"^Scenario: adversary.planner: .*found 3.*respond\(linkage, rows\)"),
        (lambda: scenario_of(adversaries={"x": 3}), "^Scenario: adversaries.x.planner: .*found 3"),
        (lambda: scenario_of(policies=[7]), r"^Scenario: publisher.policies: .*found 7.*choose\(game\)"),
        (lambda: scenario_of(policies=[Half(), Half()]), "policies: two objects have the same name; found 'half'"),
        (lambda: scenario_of(policies=[NoStrategies()]).run(), "^policy 'none': choose: no such release; found 8"),
        (lambda: scenario_of(policies=[TooFew()]).run(), "^policy 'few': choose: not a release for each record"),
        (lambda: scenario_of(belief={"cost": 1}), "^Scenario: belief: unknown key.*did you mean 'beliefs'"),
        (lambda: scenario_of(publisher={"policies": ["basic"]}, policies=["basic"]), "publisher.policies: given twice"),
        (lambda: scenario_of(loss=3), "^Scenario: economics.loss: given twice; found 3"),
        (lambda: scenario_of(release={"path": "x.csv"}), "^Scenario: release.path: given twice"),
        (lambda: scenario_of(name="a/b"), "argument 'name': not a valid name"),
        (lambda: scenario_of(game="tabels"), "game: .*did you mean 'tables'"),
        (lambda: scenario_of().with_(los=1), "^Scenario: los: no such parameter.*did you mean 'loss'"),
        (lambda: scenario_of().with_(loss=-1), "^Scenario: economics.loss: value not allowed; found -1"),
        (lambda: scenario_of().sweep(), "^Scenario: nothing to sweep"),
        (lambda: scenario_of().sweep(loss=1), "^Scenario: loss: not values; found 1"),
        (lambda: scenario_of().sweep(loss=[1, -1]), "^Scenario: point 1: economics.loss: value not allowed; found -1"),
        (lambda: scenario_of().batch(resume=True), "^folder: no folder to resume from"),
        (lambda: scenario_of().stress(), "nothing is uncertain|no uncertain|uncertainty"),
        (lambda: scenario_of().stress(loss=3), "^Scenario: economics.loss: not a range; found 3"),
        (lambda: other([1]), "^Scenario: records: not a table; found 'list'"),
        (lambda: other(PATIENTS, hierarchies={"agee": "suppress"}), "^Scenario: hierarchies: no such column.*'age'"),
        (lambda: other(PATIENTS, hierarchies={"age": 5}), "^Scenario: attributes.age.hierarchy: not a hierarchy"),
        (lambda: other(PATIENTS.assign(age=99), population=PEOPLE).run(), "release.csv: row 1, column 'age'.*'99'"),
        (lambda: other(PATIENTS, population=PEOPLE.assign(age=None)), "^population: row 1, column 'age': value missi"),
        (lambda: reidsim.Scenario.load("economics = 3\n"), "^scenario: release: key missing"),
        (lambda: reidsim.Scenario.load("wan2015", {"economics.los": 1}), "^overrides: economics.los: unknown key"),
        (lambda: reidsim.run("wan2015", overrides={"releases.waves": 1}), "^overrides: releases.waves: unknown key"),
        (lambda: reidsim.run("wan2015", overrides={1: 2}), "^overrides: wrong type; found .*; expected values by key"),
        (lambda: scenario_of(releases={"waves": 1}), "^Scenario: releases.waves: unknown key"),
        (lambda: scenario_of(hierarchies={"age": LEVELS.head(1), "sex": "suppress"}).run(),
         "^attributes-age.csv: attributes.age.hierarchy: hierarchy of 'age': value missing"),
        (lambda: reidsim.explain(other(PATIENTS).with_({"attributes.age.column": "x"})), "^release.csv: column 'x'"),
        (lambda: reidsim.new(PATIENTS, drop=["x"]), "^records.csv: column 'x': column missing"),
        (lambda: reidsim.new(PATIENTS, hierarchies={"age": LEVELS.head(1)}), "^attributes-age.csv: hierarchy of 'age'"),
        (lambda: reidsim.share(other(PATIENTS).run(), "x"), "^results: policy: no such policy in the results"),
        (lambda: reidsim.share(other(PATIENTS).run(), "basic", keep=["x"]), "^release.csv: column 'x'"),
        (lambda: reidsim.intervals(1), r"^intervals: widths\[0\]: value not allowed; found 1"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(make, message):
    with pytest.raises(reidsim.InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert PRIVATE not in str(caught.value)


def test_a_scenario_is_shown_by_its_title_or_else_its_attributes():
    assert repr(scenario_of(title="Six people")) == "Scenario('scenario': Six people)"
    assert repr(scenario_of()) == f"Scenario('scenario': {', '.join(scenario_of().content['attributes'])})"
    assert repr(reidsim.Scenario.load("wan2021-case", {"title": ""})) == "Scenario('wan2021-case': masking)"
