"""Incomplete batches, as commands report them: failed runs, changed data files."""

import json
import shutil
from pathlib import Path

import pytest
from tiers import cases
from typer.testing import CliRunner

from reidsim.cli import app

# The second point needs a file that does not exist.
PATHS = 'sweep.values={"release.path"=["patients.csv","later.csv"]}'
DISCRETE = 'uncertainty.parameters={"release.path"={distribution="discrete",values=["patients.csv","later.csv"]}}'
COMMANDS = {
    "run": ["run", "town.toml", "--set", PATHS],
    "cross-play": ["cross-play", "town.toml", "--equilibrium", "--set", PATHS],
    "stress": ["stress", "town.toml", "--set", DISCRETE, "--set", "stress.robustness.samples=4"],
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
