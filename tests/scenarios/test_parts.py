"""User-defined adversaries and policies in scenario files, if permitted."""

import sys
from importlib.metadata import EntryPoint

import pandas as pd
import pytest
from tiers import cases
from typer.testing import CliRunner

import reidsim
from reidsim.cli import app
from reidsim.core import registry
from reidsim.core.errors import InputError
from reidsim.scenarios.registry import made_by
from reidsim.scenarios.scenario import Scenario

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

class NeedsMore:
    def __init__(self, gain, cost, more):
        raise AssertionError("never made")

nothing = 3
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


TABLE = {"publisher.unit": "table", "population.holds_release": False}


@pytest.mark.parametrize("changes", cases([TABLE, {"agents.rounds": 2}], [{"agents.rounds": 2}]))
def test_an_own_adversary_plays_like_the_one_that_it_imitates(world, changes):
    own = reidsim.run(world(), overrides=changes, allow_code=True).summary
    equal(own, reidsim.run(world('planner = "one-shot"\n'), overrides=changes).summary)
    assert own.loc["no-protection", "share_attacked"] > 0
    parameters = {**changes, "adversary.parameters.least": 1.1}
    never = reidsim.run(world(), overrides=parameters, allow_code=True).summary
    assert (never["share_attacked"] == 0).all()


SWEEP = "[sweep.values]\n'economics.loss' = [100, 300]\n"


def test_an_own_policy_plays_what_it_says(world):
    own = reidsim.run(world(), overrides={"publisher.policies": ["ours:Coarsest", "suppress-all"]}, allow_code=True)
    assert (own.summary.loc["Coarsest", MEASURES] == own.summary.loc["suppress-all", MEASURES]).all()


@pytest.mark.deep
def test_a_batch_in_processes_is_rerun_resumed_and_reported(world, tmp_path):
    path, folder = world(more=SWEEP), tmp_path / "batch"
    first = reidsim.run_batch(path, executor="processes", workers=2, allow_code=True, folder=folder)
    assert set(first.runs["state"]) == {"complete"}
    assert first.manifest["parts"] == {"Timid": {"module": "ours"}}
    runner = CliRunner()
    again = ["rerun", str(folder), "--run", "1/0"]
    refused = runner.invoke(app, again)
    assert isinstance(refused.exception, InputError)
    assert "--allow-code" in str(refused.exception)
    done = runner.invoke(app, [*again, "--allow-code"], catch_exceptions=False)
    assert "All values equal the values in the folder." in done.output
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


def test_a_misspelt_part_is_told_with_those_installed(installed):
    with pytest.raises(InputError, match=r"adversary\.planner: value not allowed.*did you mean 'timid'"):
        Scenario.load(installed, {"adversary.planner": "timit"})
    with pytest.raises(InputError, match=r"value not allowed.*did you mean 'coarsest'"):
        Scenario.load(installed, {"publisher.policies": ["coarset"]})


def test_a_package_is_told_with_its_version():
    found = made_by(pd.DataFrame)
    assert found == {"module": pd.DataFrame.__module__, "package": "pandas", "version": pd.__version__}


# Refused input.

COMMANDS = [["run", "-o", "out"], ["check"], ["stress", "-o", "out"], ["serve"]]


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


@pytest.mark.parametrize("call", [reidsim.run, reidsim.run_batch, reidsim.cross_play], ids=lambda call: call.__name__)
def test_calls_in_python_refuse_an_own_policy_too(world, call):
    overrides = {"adversary": {}, "publisher.policies": ["ours:Coarsest"]}
    with pytest.raises(InputError, match=r"publisher\.policies: code that .* 'ours:Coarsest'; .* allow_code=True"):
        call(world(), overrides=overrides)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("WrongShape", r"policy 'WrongShape': choose: not a release for each record; .* expected .* \(6,\)"),
        ("OutOfRange", r"policy 'OutOfRange': choose: no such release; found 6; expected 0 to 5, or -1"),
    ],
)
def test_what_an_own_policy_chooses_is_checked(world, policy, message):
    overrides = {"adversary": {}, "publisher.policies": [f"ours:{policy}"]}
    with pytest.raises(InputError, match=message):
        reidsim.run(world(), overrides=overrides, allow_code=True)


@pytest.mark.parametrize(
    ("planner", "message"),
    [
        ("absent:Timid", "cannot be imported: ModuleNotFoundError"),
        ("ours:Absent", "the module has no such object; found 'ours:Absent'; expected Absent in ours"),
        ("ours:NeedsMore", "cannot be made: TypeError"),
        ("broken:Timid", "cannot be imported: ValueError: never"),
    ],
)
def test_what_cannot_be_made_is_told_by_its_key(world, tmp_path, monkeypatch, planner, message):
    path = world(f'planner = "{planner}"\n')
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("raise ValueError('never')")
    done = CliRunner().invoke(app, ["check", str(path), "--allow-code"])
    assert isinstance(done.exception, InputError), done.exception
    assert message in str(done.exception)
    assert "adversary.planner" in str(done.exception)


def test_what_cannot_be_imported_is_told_before_data_are_read(world, tmp_path):
    path = world('planner = "absent:Timid"\n')
    (tmp_path / "records.csv").unlink()
    with pytest.raises(InputError, match="cannot be imported"):
        reidsim.run(path, allow_code=True)


def test_a_module_that_would_hide_another_is_refused(world, tmp_path):
    path = world('planner = "pandas:Timid"\n')
    (tmp_path / "pandas.py").write_text(OWN)
    with pytest.raises(InputError, match="another module of this name is in use"):
        reidsim.run(path, allow_code=True)
