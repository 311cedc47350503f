"""References to modules name the same parts as objects in memory; parameters of measures; checks before runs."""

import functools
import os
import subprocess
import sys

import pandas as pd
import pytest

import reidsim

PATIENTS = pd.DataFrame({"age": [31, 33, 34, 36, 38, 42, 43, 44, 47, 48, 49, 71], "sex": list("FFFMMMMFFFMF")})
MODULE = """
import numpy as np
from pydantic import BaseModel, Field

import reidsim


@reidsim.planner("my-buyer")
class Buyer:
    class Parameters(BaseModel):
        tries: int = Field(2, ge=1)

    def respond(self, linkage, rows=None):
        tries = self.parameters.tries
        sizes = linkage.group_sizes, linkage.believed_group_sizes
        success, believed = (np.minimum(1, tries / n) for n in sizes)
        attacks = self.gain * believed > self.cost * tries
        payoff = np.where(attacks, self.gain * success - self.cost * tries, 0.0)
        exploits = np.where(attacks, float(tries), 0.0)
        return reidsim.Response(attacks, success, believed, payoff, exploits, gain=self.gain)


@reidsim.policy("my-pol")
class Pol:
    class Parameters(BaseModel):
        level: int = 0

    def choose(self, game):
        return np.full(game.n_records, min(self.parameters.level, game.space.size - 1))


class Outer:
    class Buyer(Buyer):
        pass

    class Pol(Pol):
        pass


class Built:
    def __init__(self, level=1):
        self.level = level

    def choose(self, game):
        return np.full(game.n_records, self.level)


class Called(Built):
    name = "called"


ready = Built(2)


@reidsim.measure("quantile-of-utility")
class Quantile:
    label, format, definition = "Quantile", "{:.2f}", "a quantile of utility"

    class Parameters(BaseModel):
        q: float = 0.5

    def compute(self, outcome, weights):
        return np.quantile(np.repeat(outcome.utility, weights), self.parameters.q)
"""
MEASURE = "quantile-of-utility"


@pytest.fixture
def parts(tmp_path, monkeypatch, no_registered_parts):
    monkeypatch.setattr("reidsim.scenarios.registry._IN_USE", {})
    (tmp_path / "myparts.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("myparts", None)
    import myparts

    yield myparts
    sys.modules.pop("myparts", None)


def scenario_of(**changes):
    economics = {"benefit": 100, "loss": 60, "gain": 60, "cost": 16}
    hierarchies = {"age": reidsim.intervals(10, 20), "sex": "suppress"}
    known = {"policies": ["basic", "no-protection"], "economics": economics}
    return reidsim.Scenario.from_frames(PATIENTS, hierarchies=hierarchies, **{**known, **changes})


# One name in memory and in files.

POLICIES = {
    "registered name": lambda parts: "my-pol",
    "registered class": lambda parts: parts.Pol,
    "object of a registered class": lambda parts: parts.Pol(level=2),
    "class": lambda parts: parts.Built,
    "object": lambda parts: parts.Built(3),
    "object of the module": lambda parts: parts.ready,
    "class with a name": lambda parts: parts.Called,
    "object with a name": lambda parts: parts.Called(2),
    "nested class": lambda parts: parts.Outer.Pol,
    "partial": lambda parts: functools.partial(parts.Built, level=3),
    "partial with a model": lambda parts: functools.partial(parts.Outer.Pol, level=3),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_results_of_a_saved_scenario_name_policies_as_in_memory(policy, parts):
    scenario = scenario_of(policies=["basic", POLICIES[policy](parts)])
    loaded = reidsim.Scenario.load(scenario.to_toml(), allow_code=True)
    assert loaded == scenario
    pd.testing.assert_frame_equal(loaded.run().summary, scenario.run().summary)
    assert loaded.to_toml() == scenario.to_toml()


PLANNERS = {
    "registered class": lambda parts: parts.Buyer,
    "nested class": lambda parts: parts.Outer.Buyer,
    "nested object": lambda parts: parts.Outer.Buyer(60, 16, tries=3),
    "partial": lambda parts: functools.partial(parts.Buyer, tries=1),
}


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_saved_scenario_has_the_same_adversary(planner, parts):
    scenario = scenario_of(adversary=PLANNERS[planner](parts))
    loaded = reidsim.Scenario.load(scenario.to_toml(), allow_code=True)
    assert loaded == scenario
    assert loaded.scenario.adversary.planner == scenario.scenario.adversary.planner
    pd.testing.assert_frame_equal(loaded.run().summary, scenario.run().summary)


@pytest.mark.deep
def test_a_loaded_scenario_takes_the_same_parameter_keys(parts):
    scenario = scenario_of(policies=["my-pol"]).with_({"publisher.parameters.my-pol.level": 2})
    loaded = reidsim.Scenario.load(scenario.to_toml(), allow_code=True)
    values = {"publisher.parameters.my-pol.level": [1, 2]}
    pd.testing.assert_frame_equal(loaded.sweep(values).summary, scenario.sweep(values).summary)
    hyphens = scenario.sweep(publisher__parameters__my_pol__level=[1, 2])
    pd.testing.assert_frame_equal(hyphens.summary, scenario.sweep(values).summary)


def test_references_with_equal_names_need_names_of_their_own(parts):
    names = ["myparts:Pol", "myparts:Outer.Pol"]
    scenario = scenario_of(policies=names, allow_code=True)
    assert scenario.run().summary.index.tolist() == ["my-pol", "Pol"]
    parts.Outer.Pol.name = "my-pol"
    with pytest.raises(reidsim.InputError, match=r"two objects have the same name.*'my-pol'.*NAME=package.module:obj"):
        scenario_of(policies=names, allow_code=True)
    other = scenario_of(policies=["myparts:Pol", "other=myparts:Outer.Pol"], allow_code=True)
    other = other.with_({"publisher.parameters.other.level": 1})
    assert other.run().summary.index.tolist() == ["my-pol", "other"]
    assert reidsim.Scenario.load(other.to_toml(), allow_code=True) == other
    with pytest.raises(reidsim.InputError, match="a part of reidsim has this name; found 'basic'"):
        scenario_of(policies=["basic=myparts:Pol"], allow_code=True)


@pytest.mark.deep
def test_a_sweep_over_references_names_parts_as_in_memory(parts):
    scenario = scenario_of().with_(sweep={"values": {"adversary.planner": ["one-shot", parts.Buyer]}})
    assert "myparts:Buyer" in scenario.to_toml()
    loaded = reidsim.Scenario.load(scenario.to_toml(), allow_code=True)
    assert loaded == scenario
    pd.testing.assert_frame_equal(loaded.run().summary, scenario.run().summary)
    objects = scenario.with_(sweep={"values": {"adversary.planner": ["one-shot", parts.Buyer(60, 16, tries=1)]}})
    with pytest.raises(reidsim.InputError, match="a scenario file cannot name this"):
        objects.to_toml()


def test_a_results_folder_repeats_runs_of_parts_in_memory(parts, tmp_path):
    scenario = scenario_of(policies=["basic", parts.Built], replications=2)
    scenario.batch(tmp_path / "batch")
    again = reidsim.rerun(tmp_path / "batch", "0/1", allow_code=True)
    assert again.verdict == "All values equal the values in the folder."


def in_another_process(code, folder):
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.deep
def test_other_processes_run_files_with_parts_beside_them(parts, tmp_path):
    measures = {"measures": {"parameters": {MEASURE: {"q": 0.9}}}}
    (tmp_path / "files").mkdir()
    scenario_of(policies=["basic", "my-pol"], adversary="my-buyer", **measures).to_toml(tmp_path / "files" / "a.toml")
    (tmp_path / "myparts.py").rename(tmp_path / "files" / "myparts.py")
    code = (
        "import reidsim\n"
        "scenario = reidsim.Scenario.load('files/a.toml', allow_code=True)\n"
        "swept = scenario.sweep(loss=[60, 61], executor='processes', workers=2)\n"
        f"print(swept.summary[{MEASURE!r}].notna().all(), *swept.summary.index.get_level_values('policy'))\n"
    )
    assert in_another_process(code, tmp_path).strip() == "True basic my-pol basic my-pol"


# Measures.


@pytest.mark.deep
def test_parameters_of_measures_are_set_swept_and_uncertain(parts):
    scenario = scenario_of()
    median, lowest = (scenario.with_({f"measures.parameters.{MEASURE}.q": q}) for q in (0.5, 0.0))
    assert scenario.run().summary[MEASURE].equals(median.run().summary[MEASURE])
    assert (
        lowest.run().summary.loc["no-protection", MEASURE]
        == scenario.run().records.query("policy == 'no-protection'")["utility"].min()
    )
    swept = scenario.sweep(measures__parameters__quantile_of_utility__q=[0.0, 0.5]).summary[MEASURE]
    for q, one in ((0.0, lowest), (0.5, median)):
        assert swept.loc[q].tolist() == one.run().summary[MEASURE].tolist()
    assert lowest.rounds(2).summary[MEASURE].tolist() == lowest.run().summary[MEASURE].tolist()
    table = (
        scenario.with_(stress={"outputs": [MEASURE]})
        .stress({f"measures.parameters.{MEASURE}.q": (0.1, 0.9)}, samples=4)
        .tables["sensitivity"]
    )
    assert set(table["output"]) == {MEASURE}
    for changes, message in (
        ({f"measures.parameters.{MEASURE}.q": "x"}, rf"measures\.parameters\.{MEASURE}\.q: .*'x'"),
        ({f"measures.parameters.{MEASURE}.p": 1}, "no such parameter"),
        ({"measures.parameters.other.q": 1}, r"measures: no such part is installed; found 'other'"),
    ):
        with pytest.raises(reidsim.InputError, match=message):
            scenario.with_(changes)


@pytest.mark.deep
def test_a_file_names_the_measures_that_it_uses(parts, tmp_path):
    assert "measures" not in scenario_of().to_toml()
    scenario = scenario_of(
        stress={"outputs": [MEASURE]},
        uncertainty={"parameters": {"economics.loss": {"distribution": "uniform", "low": 1, "high": 90}}},
    )
    assert 'own = ["quantile-of-utility=myparts:Quantile"]' in scenario.to_toml(tmp_path / "stress.toml")
    reidsim.core.registry._REGISTERED.clear()
    loaded = reidsim.Scenario.load("stress.toml", allow_code=True)
    assert loaded == scenario
    assert set(loaded.stress(samples=4).tables["sensitivity"]["output"]) == {MEASURE}
    plain = MODULE.replace('@reidsim.measure("quantile-of-utility")', "")
    (tmp_path / "plain.py").write_text(plain)
    own = scenario_of(measures={"own": ["plain:Quantile"], "parameters": {"Quantile": {"q": 1.0}}}, allow_code=True)
    assert own.run().summary.loc["no-protection", "Quantile"] == 1.0
    sys.modules.pop("plain")
    with pytest.raises(reidsim.InputError, match="code that a scenario names is not run"):
        scenario_of(measures={"own": ["plain:Quantile"]})


# Checks before the first run.


@pytest.mark.deep
def test_ranges_of_whole_numbers_are_drawn_as_whole_numbers(parts):
    scenario = scenario_of(adversary="my-buyer", policies=["basic", "my-pol"])
    result = scenario.with_(stress={"robustness": {"samples": 8}}).stress(
        {"adversary.parameters.tries": (1, 5), "publisher.parameters.my-pol.level": (0, 3), "economics.loss": (1, 90)}
    )
    drawn = result.uncertainties
    assert set(drawn["adversary.parameters.tries"]) <= {1, 2, 3, 4, 5}
    assert set(drawn["publisher.parameters.my-pol.level"]) <= {0, 1, 2, 3}
    assert (drawn["economics.loss"] % 1 != 0).all()
    of_k = scenario_of(policies=["k-anonymity"]).with_(stress={"robustness": {"samples": 4}})
    assert set(of_k.stress(publisher__k=(2, 6)).uncertainties["publisher.k"]) <= {2, 3, 4, 5, 6}
    # In a file, a distribution over other numbers is refused before any run.
    uniform = {"distribution": "uniform", "low": 1, "high": 5}
    wrong = scenario.with_(uncertainty={"parameters": {"adversary.parameters.tries": uniform}})
    for verb in (wrong.stress, wrong.batch, wrong.check):
        with pytest.raises(reidsim.InputError, match=r"point 0: adversary\.parameters\.tries.*whole number|integer"):
            verb()


def test_a_tornado_chart_uses_the_default_of_a_parameter(parts):
    scenario = scenario_of(adversary="my-buyer")
    ends = {"adversary.parameters.tries": (1, 5)}
    tables = [
        each.stress(ends, method="tornado").tables["tornado"]
        for each in (scenario, scenario.with_(adversary__parameters__tries=2))
    ]
    pd.testing.assert_frame_equal(*tables)


def test_parameters_of_objects_are_refused_before_any_run(parts):
    scenario = scenario_of(adversary=parts.Buyer(60, 16))
    for values in ({"adversary.parameters.tries": [1, 2]}, {"adversary.parameters": [{"tries": 1}]}):
        with pytest.raises(reidsim.InputError, match="an object keeps its own parameters"):
            scenario.sweep(values)


@pytest.mark.parametrize("options", [{"executor": "processes"}, {"timeout": 60}, {"workers": 2}])
def test_parts_that_other_processes_cannot_import_are_refused_before_workers_start(options, parts, monkeypatch):
    class Local(parts.Built):
        pass

    monkeypatch.setattr("subprocess.Popen", None)
    for policy in (Local, Local(2), functools.partial(Local, level=2)):
        with pytest.raises(reidsim.InputError, match=r"other processes cannot import this; move it to a module"):
            scenario_of(policies=[policy]).sweep(loss=[1, 2], **options)
    monkeypatch.setattr(parts.Quantile, "__module__", "__main__")
    with pytest.raises(reidsim.InputError, match="other processes cannot import this"):
        scenario_of().sweep(loss=[1, 2], **options)
