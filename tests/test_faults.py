"""Faults around a command: streams, disks, damaged files, settings, workers."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from tiers import cases
from typer.testing import CliRunner

from reidsim.cli import app
from reidsim.core.errors import InputError

REIDSIM = [sys.executable, "-m", "reidsim"]
SWEEP = 'sweep.values={"economics.loss"=[30,60,90]}'
BATCH = ["run", "town.toml", "--set", SWEEP, "--executor", "serial"]
posix = pytest.mark.skipif(os.name != "posix", reason="descriptors, permissions and namespaces of POSIX")


def run(*arguments):
    """Run a command in this process and check that it succeeds."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done


def error_of(*arguments):
    """Return the one-line error with which a command in this process ends."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(done.exception, InputError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


def shell(command, **more):
    return subprocess.run(
        ["bash", "-c", command, "bash", *REIDSIM], capture_output=True, text=True, check=False, timeout=300, **more
    )


# Streams.


@posix
def test_a_closed_standard_output_is_refused_in_one_line(work):
    done = shell('"$@" list >&-')
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("reidsim: standard output is closed")


@posix
@pytest.mark.deep
def test_closed_standard_input_and_error_do_no_harm(work):
    done = shell(f"\"$@\" run town.toml --set '{SWEEP}' --executor processes -o out <&- 2>&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))["state"] == "complete"
    failed = shell('"$@" run missing 2>&-')
    assert (failed.returncode, failed.stdout, failed.stderr) == (2, "", "")


@posix
@pytest.mark.deep
def test_a_run_whose_reader_left_is_written_whole(work):
    done = shell('"$@" run town.toml -o out | true; exit ${PIPESTATUS[0]}')
    assert (done.returncode, done.stderr) == (141, "")
    run("run", "town.toml", "-o", "plain")
    assert sorted(path.name for path in Path("out").rglob("*")) == sorted(
        path.name for path in Path("plain").rglob("*")
    )


# Settings of other programs.


@pytest.mark.deep
def test_figures_do_not_depend_on_the_settings_of_matplotlib(work):
    run("run", "town.toml", "-o", "plain")
    run("report", "plain", "--figures", "png")
    # LaTeX may be missing, and would change every text.
    own = {"text.usetex": True, "text.latex.preamble": r"\usepackage{missing}", "lines.linewidth": 9, "font.size": 30}
    with mpl.rc_context(own):
        run("run", "town.toml", "-o", "out")
        run("report", "out", "--figures", "png")
        assert mpl.rcParams["lines.linewidth"] == 9
    pictures = {path.name: path.read_bytes() for path in Path("plain/figures").iterdir()}
    assert pictures
    assert {path.name: path.read_bytes() for path in Path("out/figures").iterdir()} == pictures


# Names and permissions of files.


def test_a_file_with_a_colon_in_its_name_is_a_file(work):
    name = "hdfs:people.parquet"
    assert "no such file" in error_of("describe", name)
    pd.read_csv("patients.csv").to_parquet(Path(name).absolute())
    assert "30" in run("describe", name).output


@posix
@pytest.mark.deep
def test_reports_and_shared_files_are_private_whatever_new_files_are(work):
    before = os.umask(0o022)
    try:
        run("run", "town.toml", "-o", "out")
        run("report", "out")
        run("share", "out", "--policy", "no-attack", "-o", "shared.csv", "--rulebook", "rules.csv", "--max-risk", "1")
        run("apply", "rules.csv", "patients.csv", "-o", "applied.csv")
    finally:
        os.umask(before)
    for name in ("out/report.html", "shared.csv", "shared.csv.json", "rules.csv", "applied.csv"):
        assert stat.filemode(Path(name).stat().st_mode) == "-rw-------", name


# Disks.

DISK = "16k"


def test_a_population_that_does_not_fit_on_the_disk_is_told(disk):
    (disk / "ballast").write_bytes(bytes(12 << 10))
    assert error_of("populate", "adult", "-o", disk / "people.parquet").endswith(
        "the disk is full; nothing was written"
    )
    assert [path.name for path in disk.iterdir()] == ["ballast"]


# Workers.

# Python imports this module at startup: in the command, in its first worker, which is killed, and in all later workers.
KILLED_AS_IT_STARTS = """
import os, signal
from pathlib import Path

marker = Path(os.environ["REIDSIM_TEST_FOLDER"], "killed")
if os.environ.setdefault("REIDSIM_TEST_COMMAND", str(os.getpid())) != str(os.getpid()):
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
@pytest.mark.deep
def test_a_worker_that_is_killed_while_it_starts_does_not_end_the_batch(work, tmp_path):
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(KILLED_AS_IT_STARTS, encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path / "path"), *filter(None, sys.path)])
    settings = {**os.environ, "PYTHONPATH": paths, "REIDSIM_TEST_FOLDER": str(tmp_path)}
    done = shell(f"\"$@\" run town.toml --set '{SWEEP}' --executor processes --workers 1 -o out", env=settings)
    assert (tmp_path / "killed").exists()
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))["state"] == "complete"


# Interrupts before the first run has ended.

INTERRUPTED = """
class Interrupted:
    def choose(self, game):
        raise KeyboardInterrupt
"""
UNCERTAIN = 'uncertainty.parameters={"attributes.sex.column"={distribution="discrete",values=["Geschlecht"]}}'
WRITERS = {
    "batch": ["run", "--set", SWEEP, "--executor", "serial", "-o", "new/folder/out"],
    "run": ["run", "-o", "new/folder/out"],
    "cross-play": ["cross-play", "--set", SWEEP, "--executor", "serial", "-o", "new/folder/out"],
    "stress": ["stress", "--set", UNCERTAIN, "--set", "stress.robustness.samples=2", "--executor", "serial",
               "-o", "new/folder/out", "--runs", "new/runs"],
}  # fmt: skip


@pytest.mark.parametrize("writer", cases(WRITERS, ["batch"]))
def test_an_interrupt_before_the_first_run_leaves_no_folder(work, writer):
    Path("ours.py").write_text(INTERRUPTED, encoding="utf-8")
    command, *arguments = WRITERS[writer]
    own = ["town.toml", "--allow-code", "--set", 'publisher.policies=["ours:Interrupted"]']
    done = CliRunner().invoke(app, [command, *own, *arguments])
    assert done.exit_code == 130, done.output
    assert not Path("new").exists()


# Damaged manifests.


@pytest.fixture
def stopped(work):
    """Return the arguments of a batch whose first run failed.

    All completed runs are kept next to the tables of that batch.
    """
    arguments = [*BATCH[:2], "--set", 'sweep.values={"release.path"=["patients.csv","later.csv"]}', *BATCH[4:]]
    done = CliRunner().invoke(app, [*arguments, "-o", "out"])
    assert done.exit_code == 3, done.output
    return arguments


@pytest.mark.deep
@pytest.mark.parametrize("content", cases([None, "{", '{"design": 3}', "\0" * 400], ["{"]))
def test_a_batch_with_a_damaged_manifest_is_refused_until_the_file_is_restored(work, stopped, content):
    manifest = Path("out/manifest.json")
    intact = manifest.read_bytes()
    manifest.unlink()
    if content is not None:
        manifest.write_text(content, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()}
    assert "out" in error_of("rerun", "out", "--run", "0/0")
    assert "out" in error_of(*stopped, "-o", "out", "--resume")
    assert {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()} == before
    manifest.write_bytes(intact)
    done = CliRunner().invoke(app, [*stopped, "-o", "out", "--resume"])
    assert done.exit_code == 3, done.output


@pytest.mark.deep
def test_a_damaged_manifest_beside_runs_of_another_scenario_or_other_data_is_refused(work, stopped):
    Path("out/manifest.json").write_text("{", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    error_of(*stopped, "--set", "economics.cost=11", "-o", "out", "--resume")
    Path("patients.csv").write_bytes(Path("patients.csv").read_bytes() + b"\n")
    error_of(*stopped, "-o", "out", "--resume")
    assert {path.name: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before
