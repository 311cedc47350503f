"""Incomplete batches, as commands report them: failed runs, changed data files."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from tiers import cases
from typer.testing import CliRunner

from reidsim.cli import app
from reidsim.core.errors import InputError
from reidsim.engine.batch.folder import read_runs

# The second point needs a file that does not exist.
PATHS = 'sweep.values={"release.path"=["patients.csv","later.csv"]}'
DISCRETE = 'uncertainty.parameters={"release.path"={distribution="discrete",values=["patients.csv","later.csv"]}}'
COMMANDS = {
    "run": ["run", "town.toml", "--set", PATHS],
    "cross-play": ["cross-play", "town.toml", "--equilibrium", "--set", PATHS],
    "stress": ["stress", "town.toml", "--set", DISCRETE, "--set", "stress.robustness.samples=4"],
}
# A policy that writes to a data file, or removes it, on its second call.
CARELESS = """
import time
from pathlib import Path

import numpy as np

class Careless:
    def choose(self, game):
        calls = Path("calls")
        number = len(calls.read_text()) if calls.exists() else 0
        calls.write_text("x" * (number + 1))
        if number == 0:
            # Long enough for the first run to be kept before the second one begins.
            time.sleep(0.3)
        if number == 1:
            {change}
        return np.zeros(game.n_records, dtype=int)
"""
CHANGES = {
    "changed": 'Path("patients.csv").write_bytes(Path("patients.csv").read_bytes() + b"\\n")',
    "gone": 'Path("patients.csv").unlink()',
}


def manifest(folder):
    return json.loads(Path(folder, "manifest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", cases(COMMANDS, ["run"]))
def test_a_batch_with_failed_runs_is_incomplete_and_ends_with_code_3(work, command):
    done = CliRunner().invoke(app, [*COMMANDS[command], "-o", "out", "--executor", "serial"])
    assert done.exit_code == 3, done.output
    assert "later.csv" in done.stderr
    assert manifest("out")["state"] == "incomplete"
    if command == "stress":
        return
    again = CliRunner().invoke(app, [*COMMANDS[command], "-o", "out", "--resume"])
    assert again.exit_code == 3
    shutil.copy("patients.csv", "later.csv")
    mended = CliRunner().invoke(app, [*COMMANDS[command], "-o", "out", "--rerun-failed"])
    assert mended.exit_code == 0, mended.output
    assert manifest("out")["state"] == "complete"


@pytest.mark.deep
def test_a_batch_in_which_every_run_takes_too_long_is_incomplete(work):
    arguments = [*COMMANDS["run"][:-1], 'sweep.values={"economics.loss"=[30,60]}', "-o", "out"]
    done = CliRunner().invoke(app, [*arguments, "--timeout", "1e-9"])
    assert done.exit_code == 3, done.output
    assert (manifest("out")["state"], manifest("out")["run_states"]["timeout"]) == ("incomplete", 2)
    assert CliRunner().invoke(app, ["report", "out"]).exit_code == 0


@pytest.mark.deep
@pytest.mark.parametrize(("command", "change"), [("run", "changed"), ("cross-play", "gone")])
def test_data_that_change_stop_a_batch_until_they_are_restored(work, command, change):
    Path("careless.py").write_text(CARELESS.replace("{change}", CHANGES[change]), encoding="utf-8")
    sweep = 'sweep.values={"economics.loss"=[30,60,90]}'
    arguments = [command, "town.toml", "--set", sweep, "--set", 'publisher.policies=["basic","careless:Careless"]',
                 "--allow-code", "-o", "out", "--executor", "serial"]  # fmt: skip
    before = Path("patients.csv").read_bytes()
    assert "data files changed" in refused(CliRunner().invoke(app, arguments))
    assert manifest("out")["state"] == "running"
    # Only runs that ended before the change are kept.
    assert set(read_runs(Path("out"))["point"]) == {0}
    refused(CliRunner().invoke(app, [*arguments, "--resume"]))
    Path("patients.csv").write_bytes(before)
    done = CliRunner().invoke(app, [*arguments, "--resume"])
    assert done.exit_code == 0, done.output
    assert manifest("out")["state"] == "complete"
    undisturbed = CliRunner().invoke(app, [*arguments[:-3], "plain"])
    assert undisturbed.exit_code == 0
    name = "runs" if command == "run" else "cross_play"
    pd.testing.assert_frame_equal(pd.read_parquet(f"out/{name}.parquet"), pd.read_parquet(f"plain/{name}.parquet"))


def refused(done):
    """Return a command's error, which names the file; no tables are written."""
    assert isinstance(done.exception, InputError), done.output
    assert "patients.csv" in str(done.exception)
    assert not list(Path().glob("out/*.parquet"))
    return str(done.exception)
