"""User-defined adversaries and policies in scenario files, if permitted."""

import json
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.core import registry
from reidsim.errors import InputError
from reidsim.scenarios import parts
from reidsim.scenarios.load import load_scenario

OWN = '''
import numpy as np
import reidsim

class Timid:
    """Attacks only what it believes to find with a probability of at least `least`."""

    def __init__(self, gain, cost, least=0.0):
        self.gain, self.cost, self.least = gain, cost, least

    def respond(self, linkage, rows=None):
        gain = self.gain if np.ndim(self.gain) == 0 or rows is None else self.gain[rows]
        cost = self.cost if np.ndim(self.cost) == 0 or rows is None else self.cost[rows]
        believed = 1 / linkage.believed_group_sizes
        success = 1 / linkage.group_sizes
        attacks = (believed >= self.least) & (gain * believed > cost * (1 + 1e-12))
        payoff = np.where(attacks, gain * success - cost, 0.0)
        return reidsim.Response(attacks, success, believed, payoff, attacks.astype(float))

class Coarsest:
    """Shares every record in the last of the forms."""

    def choose(self, game):
        return np.full(game.n_records, game.space.size - 1)

class WrongShape:
    def choose(self, game):
        return np.zeros(game.n_records + 1, dtype=int)

class OutOfRange:
    def choose(self, game):
        return np.full(game.n_records, game.space.size)

class Words:
    def choose(self, game):
        return np.full(game.n_records, "as it is")

class NeedsMore:
    def __init__(self, gain, cost, more):
        raise AssertionError("never made")

nothing = 3
dict = dict
'''
PEOPLE = "age,sex,people\n30,F,9\n30,M,2\n40,F,1\n40,M,14\n50,F,3\n50,M,4\n"
RECORDS = "age,sex\n30,F\n30,F\n30,M\n40,F\n40,M\n50,F\n50,M\n50,M\n"
SCENARIO = """
seed = 1
[population]
recipe = "people.toml"
[release]
path = "records.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 200
cost = 30
[publisher]
policies = ["basic", "no-attack", "no-protection"]
"""
ADVERSARY = 'planner = "ours:Timid"\nparameters = { least = 0.0 }\n'
MEASURES = ["publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"]


@pytest.fixture
def world(tmp_path):
    """Return a function that writes a scenario with its files and module.

    The function returns the path of the scenario.
    """

    def write(adversary=ADVERSARY, *, more="", name="clinic"):
        (tmp_path / "ours.py").write_text(OWN)
        (tmp_path / "people.csv").write_text(PEOPLE)
        (tmp_path / "records.csv").write_text(RECORDS)
        (tmp_path / "people.toml").write_text(
            'kind = "counts"\nfile = "people.csv"\ncount = "people"\n[columns]\nage = "age"\nsex = "sex"\n'
        )
        path = tmp_path / f"{name}.toml"
        path.write_text(f"{SCENARIO}[adversary]\n{adversary}{more}")
        return path

    return write


def equal(found, expected):
    pd.testing.assert_frame_equal(found[MEASURES], expected[MEASURES], rtol=0, atol=1e-12, check_names=False)


# Runners. If `least` is 0, the module's adversary equals the one-shot adversary.


def test_an_own_adversary_plays_as_the_one_that_it_imitates(world):
    own = reidsim.run(world(), allow_code=True)
    equal(own.summary, reidsim.run(world('planner = "one-shot"\n')).summary)
    assert own.summary.loc["no-protection", "share_attacked"] > 0


def test_its_parameters_reach_it(world):
    never = reidsim.run(world(), overrides={"adversary.parameters.least": 1.1}, allow_code=True).summary
    assert (never["share_attacked"] == 0).all()


@pytest.mark.parametrize("unit", ["record", "table"])
def test_it_plays_for_both_units(world, unit):
    overrides = {"publisher.unit": unit, "population.holds_release": False}
    own = reidsim.run(world(), overrides=overrides, allow_code=True).summary
    equal(own, reidsim.run(world('planner = "one-shot"\n'), overrides=overrides).summary)


def test_it_plays_with_agents(world):
    own = reidsim.run(world(more="[agents]\nrounds = 2\n"), allow_code=True).summary
    equal(own, reidsim.run(world('planner = "one-shot"\n', more="[agents]\nrounds = 2\n")).summary)


def test_it_is_the_own_adversary_of_cross_play(world):
    play = reidsim.cross_play(world(), allow_code=True)
    assert play.manifest["own_adversary"] == "ours:Timid"
    table = play.table.set_index(["defender", "plans_against", "adversary"])
    run = reidsim.run(world(), allow_code=True).summary
    for measure in MEASURES:
        found = table.loc[("basic", "ours:Timid", "ours:Timid"), measure]
        assert found == pytest.approx(run.loc["basic", measure], abs=1e-12)


SWEEP = "[sweep.values]\n'economics.loss' = [100, 300]\n"


@pytest.mark.deep
def test_a_sweep_gives_the_same_in_this_process_and_in_others(world):
    path = world(more=SWEEP)
    serial = reidsim.run_batch(path, executor="serial", allow_code=True).runs
    others = reidsim.run_batch(path, executor="processes", workers=2, allow_code=True).runs
    assert set(serial["state"]) == {"complete"}
    pd.testing.assert_frame_equal(serial, others)
    one_shot = reidsim.run_batch(world('planner = "one-shot"\n', more=SWEEP), executor="serial").runs
    equal(serial, one_shot)


@pytest.mark.deep
def test_a_swept_planner_is_told_in_the_manifest(world):
    path = world('planner = "one-shot"\n', more="[sweep.values]\n'adversary.planner' = ['one-shot', 'ours:Timid']\n")
    with pytest.raises(InputError, match=r"point 1: adversary\.planner: code that a scenario names"):
        reidsim.run_batch(path, executor="serial")
    batch = reidsim.run_batch(path, executor="serial", allow_code=True)
    assert batch.manifest["parts"] == {"ours:Timid": {"module": "ours"}}
    first, second = (part for _, part in batch.runs.groupby("point"))
    equal(first.reset_index(drop=True), second.reset_index(drop=True))


def test_it_is_stressed(world):
    more = """[uncertainty.parameters]
"economics.loss" = { distribution = "uniform", low = 100, high = 300 }
[stress]
outputs = ["publisher_payoff"]
[stress.robustness]
samples = 4
criteria = []
"""
    own = reidsim.stress(world(more=more), allow_code=True)
    assert own.manifest["parts"]["ours:Timid"]["module"] == "ours"
    other = reidsim.stress(world('planner = "one-shot"\n', more=more))
    # The informed publisher's payoff is computed only if points share a study.
    found, expected = (table.tables["robustness"].drop(columns="informed_payoff") for table in (own, other))
    pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-9)


def test_an_own_policy_plays_what_it_says(world):
    own = reidsim.run(world(), overrides={"publisher.policies": ["ours:Coarsest", "suppress-all"]}, allow_code=True)
    assert (own.summary.loc["ours:Coarsest", MEASURES] == own.summary.loc["suppress-all", MEASURES]).all()
    play = reidsim.cross_play(world(), overrides={"publisher.policies": ["ours:Coarsest"]}, allow_code=True).table
    found = play[(play["defender"] == "ours:Coarsest") & (play["adversary"] == "ours:Timid")]
    assert len(found)
    np.testing.assert_allclose(found["utility"], own.summary.loc["suppress-all", "utility"], atol=1e-12)


def test_the_command_line_runs_reports_and_shares(world, tmp_path):
    path, runner, folder = world(), CliRunner(), tmp_path / "out"
    policies = '--set=publisher.policies=["basic", "ours:Coarsest"]'
    for command in (["check"], ["run", "-o", str(folder)], ["cross-play", "-o", str(tmp_path / "cross")], ["explain"]):
        done = runner.invoke(app, [*command, str(path), policies, "--allow-code"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["parts"] == {"ours:Timid": {"module": "ours"}, "ours:Coarsest": {"module": "ours"}}
    # A saved run can be read without the module.
    sys.modules.pop("ours", None)
    (tmp_path / "ours.py").unlink()
    for command in (
        ["report", str(folder), "-o", str(tmp_path / "report.html")],
        ["share", str(folder), "-o", str(tmp_path / "shared.csv"), "--policy", "ours:Coarsest"],
    ):
        done = runner.invoke(app, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert "ours:Coarsest" in (tmp_path / "report.html").read_text()
    assert len(pd.read_csv(tmp_path / "shared.csv")) == 8


def test_a_batch_is_reported_and_gone_on_with(world, tmp_path):
    path, folder = world(more=SWEEP), tmp_path / "batch"
    first = reidsim.run_batch(path, executor="serial", allow_code=True, folder=folder)
    assert first.manifest["parts"] == {"ours:Timid": {"module": "ours"}}
    runner = CliRunner()
    again = ["rerun", str(folder), "--run", "1/0"]
    refused = runner.invoke(app, again)
    assert isinstance(refused.exception, InputError)
    assert "--allow-code" in str(refused.exception)
    done = runner.invoke(app, [*again, "--allow-code"], catch_exceptions=False)
    assert "The same numbers as in the folder." in done.output
    resumed = reidsim.run_batch(path, executor="serial", allow_code=True, folder=folder, resume=True)
    pd.testing.assert_frame_equal(first.runs, resumed.runs)
    sys.modules.pop("ours", None)
    (tmp_path / "ours.py").unlink()
    done = runner.invoke(app, ["report", str(folder), "-o", str(tmp_path / "r.html")], catch_exceptions=False)
    assert done.exit_code == 0, done.output


@pytest.mark.deep
def test_modules_of_one_name_beside_two_scenarios_are_told_apart(world, tmp_path):
    here = reidsim.run(world(), allow_code=True).summary
    there = tmp_path / "there"
    there.mkdir()
    for file in tmp_path.glob("*.*"):
        (there / file.name).write_text(file.read_text())
    (there / "ours.py").write_text(OWN.replace("(believed >= self.least)", "(believed > 2)"))
    assert (reidsim.run(there / "clinic.toml", allow_code=True).summary["share_attacked"] == 0).all()
    equal(reidsim.run(world(), allow_code=True).summary, here)


# Entry points of installed packages.


@pytest.fixture
def installed(monkeypatch, world):
    path = world()
    entries = {
        "reidsim.adversaries": (EntryPoint("timid", "ours:Timid", "reidsim.adversaries"),),
        "reidsim.policies": (EntryPoint("coarsest", "ours:Coarsest", "reidsim.policies"),),
    }
    monkeypatch.setattr(registry, "entry_points", lambda group: entries.get(group, ()))
    registry._installed.cache_clear()
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.delitem(sys.modules, "ours", raising=False)
    yield path
    sys.modules.pop("ours", None)
    registry._installed.cache_clear()


def test_what_installed_packages_bring_needs_no_permission(installed):
    overrides = {"adversary.planner": "timid", "publisher.policies": ["basic", "coarsest"]}
    run = reidsim.run(installed, overrides=overrides)
    expected = reidsim.run(
        installed, overrides={"publisher.policies": ["basic", "ours:Coarsest"]}, allow_code=True
    ).summary.rename(index={"ours:Coarsest": "coarsest"})
    equal(run.summary, expected)
    assert set(run.manifest["parts"]) == {"timid", "coarsest"}


def test_a_misspelt_part_is_told_with_those_installed(installed):
    with pytest.raises(InputError, match=r"adversary\.planner: value not allowed.*did you mean 'timid'"):
        load_scenario(installed, {"adversary.planner": "timit"})
    with pytest.raises(InputError, match=r"value not allowed.*did you mean 'coarsest'"):
        load_scenario(installed, {"publisher.policies": ["coarset"]})


def test_a_package_is_told_with_its_version():
    found = parts.made_by(pd.DataFrame)
    assert found == {"module": pd.DataFrame.__module__, "package": "pandas", "version": pd.__version__}


# Refused input.

COMMANDS = [
    ["run", "-o", "out"], ["check"], ["cross-play", "-o", "out"], ["explain"], ["stress", "-o", "out"], ["serve"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_code_does_not_run_unless_it_is_allowed(world, tmp_path, monkeypatch, command):
    path = world()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.py").write_text("raise SystemExit('was run')")
    done = CliRunner().invoke(app, [*command, str(path)])
    assert isinstance(done.exception, InputError)
    message = str(done.exception)
    assert message.startswith(f"{path}: adversary.planner: code that a scenario names is not run unless")
    assert "'ours:Timid'; expected the option --allow-code" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "call", [reidsim.run, reidsim.run_batch, reidsim.cross_play, reidsim.stress], ids=lambda call: call.__name__
)
def test_calls_in_python_refuse_an_own_policy_too(world, call):
    overrides = {"adversary": {}, "publisher.policies": ["ours:Coarsest"]}
    with pytest.raises(InputError, match=r"publisher\.policies: code that .* 'ours:Coarsest'; .* allow_code=True"):
        call(world(), overrides=overrides)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("WrongShape", r"policy 'ours:WrongShape': choose: not a release for each record; .* expected .* \(6,\)"),
        ("OutOfRange", r"policy 'ours:OutOfRange': choose: no such release; found 6; expected 0 to 5, or -1"),
        ("Words", "policy 'ours:Words': choose: not a release for each record"),
        ("nothing", "publisher.policies: cannot be made: TypeError.*'ours:nothing'"),
        ("dict", r"not a policy; found 'ours:dict'; expected an object with choose\(game\)"),
    ],
)
def test_what_an_own_policy_chooses_is_checked(world, policy, message):
    overrides = {"adversary": {}, "publisher.policies": [f"ours:{policy}"]}
    with pytest.raises(InputError, match=message):
        reidsim.run(world(), overrides=overrides, allow_code=True)


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("planner", "message"),
    [
        ("absent:Timid", "cannot be imported: ModuleNotFoundError"),
        ("ours:Absent", "the module has no such object; found 'ours:Absent'; expected Absent in ours"),
        ("ours:NeedsMore", "cannot be made: TypeError"),
        ("ours:nothing", "cannot be made: TypeError"),
        ("broken:Timid", "cannot be imported: ValueError: never"),
    ],
)
def test_what_cannot_be_made_is_told_by_its_key(world, tmp_path, monkeypatch, command, planner, message):
    path = world(f'planner = "{planner}"\n')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("raise ValueError('never')")
    done = CliRunner().invoke(app, [command, str(path), "--allow-code"])
    assert isinstance(done.exception, InputError), done.exception
    assert message in str(done.exception)
    assert "adversary.planner" in str(done.exception)


def test_a_module_that_would_hide_another_is_refused(world, tmp_path):
    path = world('planner = "pandas:Timid"\n')
    (tmp_path / "pandas.py").write_text(OWN)
    with pytest.raises(InputError, match="another module of this name is in use"):
        reidsim.run(path, allow_code=True)
