"""A batch records every data file of any point, and detects changes of a file."""

import os
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from found import at_least
from tiers import cases

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.files import bundled_folder, bundled_names
from reidsim.engine.batch.design import Design, at_point, attempt, design_of
from reidsim.engine.batch.executors import SerialExecutor
from reidsim.engine.batch.folder import DataFiles
from reidsim.engine.batch.runner import evaluate, rerun, run_batch_loaded
from reidsim.engine.stress.run import describe
from reidsim.scenarios.scenario import RECIPE_KEYS, Scenario

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town"

RECORD_LEVEL = """
extends = "town.toml"
[adversary]
knowledge = "hearsay.toml"
[publisher]
policies = ["basic"]
[sweep]
together = [["release.path", "adversary.knowledge", "population.recipe"]]
[sweep.values]
"release.path" = ["patients.csv", "later.csv"]
"adversary.knowledge" = ["hearsay.toml", "gossip.toml"]
"population.recipe" = ["people/people.toml", "people/others.toml"]
"""
HEARSAY = """
[[sources]]
kind = "groups"
name = "neighbours"
[[sources.profile]]
groups = [{ attributes = ["age", "sex"], probability = 0.5 }]
"""
RECIPES = {"hearsay.toml": HEARSAY, "gossip.toml": HEARSAY.replace("0.5", "0.4")}
# Files that only the last point needs.
OF_LAST_POINT = ["later.csv", "gossip.toml", "people/others.toml", "people/others.csv"]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return a working folder that holds a copy of the town."""
    shutil.copytree(TOWN, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    shutil.copy("patients.csv", "later.csv")
    others = Path("people/people.toml").read_text(encoding="utf-8").replace("people.csv", "others.csv")
    Path("people/others.toml").write_text(others, encoding="utf-8")
    shutil.copy("people/people.csv", "people/others.csv")
    return tmp_path / "work"


def written():
    """Write the scenario and its recipes; return its name."""
    for name, content in {"game.toml": RECORD_LEVEL, **RECIPES}.items():
        Path(name).write_text(content, encoding="utf-8")
    return "game.toml"


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.deep
def test_a_file_that_only_the_last_point_needs_may_not_change(work):
    scenario = written()
    result = reidsim.run_batch(scenario, folder="out", executor="serial")
    assert set(result.runs["state"]) == {"complete"}, result.runs["error"].tolist()
    before = contents("out")
    for name in OF_LAST_POINT:
        kept = Path(name).read_bytes()
        # All reads of a file must see equal data: the contents are compared.
        Path(name).write_bytes(kept + b"\n")
        with pytest.raises(InputError, match=rf"^out: data files changed since the batch began: {name};"):
            reidsim.run_batch(scenario, folder="out", resume=True)
        Path(name).unlink()
        with pytest.raises(InputError, match=rf"^out: data files changed since .*\b{name} \(missing\)"):
            reidsim.run_batch(scenario, folder="out", rerun_failed=True)
        Path(name).write_bytes(kept)
    assert contents("out") == before
    again = reidsim.run_batch(scenario, folder="out", resume=True)
    pd.testing.assert_frame_equal(again.runs, result.runs)


class Careless:
    """Changes a file between the first run and the second."""

    def execute(self, work, tasks):
        yield [attempt(work, tasks[0])]
        Path("later.csv").write_bytes(Path("later.csv").read_bytes() + b"\n")
        yield [attempt(work, task) for task in tasks[1:]]


def test_a_file_that_changes_while_a_batch_runs_stops_it(work):
    loaded = Scenario.load(written())
    for folder in (work / "out", None):
        with pytest.raises(InputError, match=r"data files changed since the batch began: later\.csv;"):
            run_batch_loaded(loaded, Careless(), folder=folder)
    with pytest.raises(InputError, match=r"data files changed since the batch began: later\.csv;"):
        run_batch_loaded(loaded, folder=work / "out", resume=True)


def test_kept_runs_of_a_stress_test_are_of_the_same_data(work):
    """The folder of `evaluate` has no manifest; other data make other run keys."""
    loaded = Scenario.load("town.toml")
    points = pd.DataFrame({"economics.loss": [10.0, 60.0]})
    first = evaluate(loaded, points, folder=work / "kept")["runs"]
    same = Refusing()
    pd.testing.assert_frame_equal(evaluate(loaded, points, folder=work / "kept", executor=same)["runs"], first)
    lines = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    Path("patients.csv").write_text("\n".join([*lines, lines[-1]]) + "\n", encoding="utf-8")
    other = evaluate(loaded, points, folder=work / "kept", executor=SerialExecutor())["runs"]
    pd.testing.assert_frame_equal(other, evaluate(loaded, points)["runs"])
    assert not other["publisher_payoff"].equals(first["publisher_payoff"])


class Refusing:
    """An executor that must receive no task."""

    def execute(self, work, tasks):
        assert not tasks
        yield from ()


@pytest.mark.deep
def test_a_run_repeated_with_other_data_says_so(work):
    reidsim.run_batch("town.toml", overrides={"sweep.values": {"economics.loss": [30, 60]}}, folder="out")
    lines = Path("patients.csv").read_text(encoding="utf-8").splitlines()
    Path("patients.csv").write_text("\n".join([*lines, lines[-1]]) + "\n", encoding="utf-8")
    assert rerun(Path("out"), "1/0").verdict == (
        "Some values differ from the folder; data files changed since then: patients.csv."
    )


def test_a_census_recipe_names_a_folder(work):
    """The recipe reads a state's geography and seven tables."""
    Path("tn").mkdir()
    for part in ("geo", *(f"000{number}" for number in range(18, 29))):
        Path(f"tn/tn{part}2010.sf1").write_text(part, encoding="utf-8")
    Path("census.toml").write_text('kind = "sf1"\nfolder = "tn"\nstate = "tn"\n', encoding="utf-8")
    loaded = Scenario.load("town.toml", {"population.recipe": "census.toml"})
    names = [name for name in DataFiles(loaded, design_of(loaded)).hashes if name.endswith(".sf1")]
    assert names == [*(f"tn/tn000{number}2010.sf1" for number in range(20, 27)), "tn/tngeo2010.sf1"]


@pytest.mark.parametrize("pattern", at_least(7, RECIPE_KEYS))
def test_every_key_that_a_name_can_be_given_to_is_followed(work, pattern):
    """A swept key's bundled values are tracked, with the files that a recipe names."""
    points = pd.DataFrame({pattern.replace("*", "any"): ["adult"]})
    section = pattern.split(".")[0]
    named = {"adversaries": {"adversaries.any.weight": 1.0}, "resources": {"resources.any.kind": "broker-file"}}.get(
        section, {}
    )
    bundled = {"knowledge": "xia2021", "voters": "dynamic-release"}
    loaded = Scenario.load(bundled.get(section, "town.toml"), named)
    names = DataFiles(loaded, Design(points)).hashes
    assert {"bundled:populations/adult.toml", "bundled:populations/figures/adult-age-race-sex.csv.gz"} <= set(names)


def test_texts_that_are_no_files_do_no_harm(work):
    """Recipes that name each other are also harmless."""
    for name, other in (("a", "b"), ("b", "a")):
        Path(f"{name}.toml").write_text(f'population = "{other}.toml"\n', encoding="utf-8")
    changes = {"title": "x" * 5000, "source": "a\tb", "population.recipe": "a.toml"}
    loaded = Scenario.load("town.toml", changes)
    names = [name for name in DataFiles(loaded, design_of(loaded)).hashes if not name.startswith("bundled:")]
    assert names == ["a.toml", "b.toml", "hierarchies/district.csv", "patients.csv"]


class Opened:
    """Records the files that this process opens, by a permanent audit hook."""

    def __init__(self):
        self.paths, self.listens = set(), False
        sys.addaudithook(self.note)

    def note(self, event, arguments):
        if self.listens and event == "open" and isinstance(arguments[0], str | os.PathLike):
            self.paths.add(os.fspath(arguments[0]))


@pytest.fixture(scope="module")
def opened():
    return Opened()


def without_big_genealogies(loaded):
    """Return changes that reduce a scenario with large genealogies.

    The data files stay the same.
    """
    if "ystr-genealogy" not in str(loaded.content.get("population")):
        return {}
    sizes = {f"resources.{name}.size": 200 for name in loaded.content.get("resources", {})}
    small = {"population.recipe": "ystr-genealogy-small", "targets.size": 20, "beliefs.sizes": {}}
    return {key: value for key, value in {**small, **sizes}.items() if key.split(".")[0] in loaded.content}


@pytest.mark.deep
@pytest.mark.parametrize("name", cases(at_least(22, bundled_names("scenarios")), ["arx-example", "xia2021"]))
def test_all_files_that_bundled_scenarios_open_are_among_them(opened, name):
    loaded = Scenario.load(name)
    single = at_point(loaded, {**design_of(loaded).values(0), **without_big_genealogies(loaded)})
    known = DataFiles(single, design_of(single)).hashes
    opened.paths, opened.listens = set(), True
    try:
        describe(single)
    finally:
        opened.listens = False
    bundled = {among: bundled_folder(among).resolve() for among in ("scenarios", "populations")}
    found = {
        f"bundled:{among}/{Path(path).resolve().relative_to(folder).as_posix()}"
        for path in opened.paths
        for among, folder in bundled.items()
        if Path(path).resolve().is_relative_to(folder)
    }
    assert found or "recipe" not in str(loaded.content)
    assert found <= set(known)
    assert all(re.fullmatch("[0-9a-f]{64}", content) for content in known.values())
