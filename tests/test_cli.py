"""The command line: printed text, output folders and interruption."""

import contextlib
import io
import json
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from child_signals import once, stopped, with_signals
from found import at_least
from rich.console import Console

import reidsim
import reidsim.core.terminal
from reidsim import __version__
from reidsim.cli import app
from reidsim.core import interrupts
from reidsim.core.files import bundled_folder
from reidsim.core.interrupts import STOPPING
from reidsim.core.terminal import DelayedProgress
from reidsim.scenarios.kind import schemas

REIDSIM = shutil.which("reidsim", path=str(Path(sys.executable).parent)) or "reidsim"
_COMMANDS = typer.main.get_command(app).commands
MEASURES = [
    "Publisher's payoff", "Adversary's payoff", "Utility", "Generalization intensity", "Records attacked",
    "Re-identification risk", "Risk of attacked records", "Records shared unchanged", "Records suppressed",
    "Anybody re-identified", "Re-identified, median", "Re-identified, 95%", "Re-identified, 99%",
    "Publisher's worst 5%", "Adversary's worst 5%",
]  # fmt: skip
BUNDLED = {
    folder: at_least(least, sorted(path.stem for path in bundled_folder(folder).glob("*.toml")))
    for folder, least in (("scenarios", 22), ("populations", 11))
}
ESCAPE = "\x1b"
# Variables that a terminal or a user's settings may define.
TERMINAL = {"COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "CLICOLOR_FORCE"}
CLEAN = {name: value for name, value in os.environ.items() if name not in TERMINAL}


@pytest.fixture
def town(work):
    return work


@pytest.fixture
def short(tmp_path, monkeypatch):
    """Return the bundled scenario without figures, outside the working folder."""
    text = (bundled_folder("scenarios") / "wan2015.toml").read_text(encoding="utf-8")
    path = tmp_path / "short.toml"
    path.write_text(text[: text.index("[figures]")], encoding="utf-8")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return path


@pytest.fixture
def reidsim_(monkeypatch, reidsim_):
    for name in set(os.environ) - set(CLEAN):
        monkeypatch.delenv(name)
    return reidsim_


# The measures.


def test_a_run_prints_its_measures_by_policy_and_where_its_results_are(town, reidsim_):
    code, out, err = reidsim_("run", "town.toml", "-o", "mine/out")
    assert (code, err) == (0, "")
    # Standard output is no terminal here.
    assert ESCAPE not in out
    assert "\r" not in out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Unit: rows; each of 30 rows counts as one person"
    assert lines[1].strip() == "town: Patients of a small town"
    assert [line for line in lines if "basic" in line and "no-attack" in line]
    rows = {cells[1].strip(): [c.strip() for c in cells[2:-1]] for line in lines if len(cells := line.split("│")) > 3}
    assert rows == {
        "Publisher's payoff": ["82.40", "76.00"],
        "Adversary's payoff": ["10.60", "0.00"],
        "Utility": ["0.9800", "0.7600"],
        "Generalization intensity": ["0.0200", "0.2400"],
        "Records attacked": ["50.00%", "0.00%"],
        "Re-identification risk": ["0.2600", "0.0000"],
        "Risk of attacked records": ["0.5200", "-"],
        "Records shared unchanged": ["90.00%", "40.00%"],
        "Records suppressed": ["0.00%", "0.00%"],
        "Anybody re-identified": ["100.00%", "0.00%"],
        "Re-identified, median": ["8.0", "0.0"],
        "Re-identified, 95%": ["10.0", "0.0"],
        "Re-identified, 99%": ["11.0", "0.0"],
        "Publisher's worst 5%": ["77.08", "76.00"],
        "Adversary's worst 5%": ["7.00", "0.00"],
    }
    assert list(rows) == MEASURES
    assert "no record is attacked" in " ".join(out.split())
    assert lines[-1] == "Results in mine/out"
    assert (town / "mine" / "out" / "manifest.json").exists()


def test_a_title_is_printed_as_it_is(town, reidsim_):
    title = "Costs [in dollars] a [/b] [red] :smile: 100% {x} \\[y]"
    code, out, err = reidsim_("run", "town.toml", "--set", f"title={json.dumps(title)}", "-o", "out")
    assert (code, err) == (0, "")
    assert f"town: {title}" in " ".join(out.split())


def test_warnings_go_to_standard_error_one_line_each(town, reidsim_):
    code, out, err = reidsim_("run", "town.toml", "--set", "economics.cost=0", "-o", "out")
    assert code == 0
    assert err.startswith("warning: no-attack: 30 records")
    assert err.count("\n") == 1
    assert "warning" not in out
    assert json.loads(Path("out/manifest.json").read_text())["warnings"] == [err.strip().removeprefix("warning: ")]


# Where results go.


def test_results_go_to_numbered_folders_and_nothing_else_is_written(town, reidsim_):
    before = {path: path.read_bytes() for path in town.rglob("*") if path.is_file()}
    for number in ("001", "002"):
        code, out, _ = reidsim_("run", "town.toml")
        assert code == 0
        assert out.splitlines()[-1] == f"Results in {Path('results') / f'town-{number}'}"
        assert (town / "results" / f"town-{number}" / "runs.parquet").exists()
    shutil.rmtree(town / "results")
    assert {path: path.read_bytes() for path in town.rglob("*") if path.is_file()} == before


# The other commands.


@pytest.mark.skipif(os.name != "posix", reason="permission bits are those of POSIX")
@pytest.mark.parametrize(("options", "mode"), [((), 0o700), (("--group-readable",), 0o750)])
def test_results_are_private_unless_the_group_may_read_them(town, reidsim_, options, mode):
    assert reidsim_("run", "town.toml", "-o", "out", *options)[0] == 0
    assert Path("out").stat().st_mode & 0o777 == mode


def test_an_unknown_measure_is_refused_before_anything_is_played(town, reidsim_):
    code, out, _ = reidsim_("cross-play", "town.toml", "--measure", "rsk", "-o", "out")
    assert (code, out) == (2, "")
    assert not Path("out").exists()


def test_check_describes_the_scenario_with_overrides_and_writes_nothing(town, reidsim_):
    before = sorted(town.rglob("*"))
    code, out, err = reidsim_("check", "town.toml")
    assert (code, err) == (0, "")
    size = "30 records in 4 distinct cells, 18 strategies, a population of 33"
    assert out == f"town is ready: {size}\n"
    _, out, _ = reidsim_("check", "town.toml", "--set", 'attributes.district.hierarchy={rule="suppress"}')
    assert "12 strategies" in out
    assert sorted(town.rglob("*")) == before


def test_list_names_everything_that_comes_along_with_its_title(reidsim_):
    code, out, err = reidsim_("list")
    assert (code, err) == (0, "")
    for folder, names in BUNDLED.items():
        assert f"{folder}:" in out.splitlines()
        for name in names:
            (line,) = [line for line in out.splitlines() if line.split()[:1] == [name]]
            assert len(line.split()) > 1


def test_show_prints_the_file_of_a_scenario(reidsim_):
    for scenario in BUNDLED["scenarios"]:
        text = (bundled_folder("scenarios") / f"{scenario}.toml").read_text(encoding="utf-8")
        assert reidsim_("show", scenario) == (0, text, "")


def test_schema_prints_the_json_schema_of_scenarios(reidsim_):
    code, out, err = reidsim_("schema")
    assert (code, err) == (0, "")
    schema = json.loads(out)
    kinds = [schema["$defs"][kind["$ref"].removeprefix("#/$defs/")] for kind in schema["anyOf"]]
    assert [kind["properties"]["game"]["const"] for kind in kinds] == list(schemas())
    assert {"release", "attributes", "economics"} <= set(kinds[0]["properties"])


def test_version_prints_the_version(reidsim_):
    assert reidsim_("--version") == (0, f"{__version__}\n", "")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", __version__)


def test_help_of_every_command_has_examples_with_its_options_and_fits_eighty_columns(reidsim_):
    for name in at_least(18, _COMMANDS):
        code, out, err = reidsim_(name, "--help")
        assert (code, err) == (0, "")
        known = {option for parameter in _COMMANDS[name].params for option in parameter.opts}
        for example in at_least(2, (_COMMANDS[name].help or "").split("Example: ")[1:]):
            words = example.split()
            assert words[:2] == ["reidsim", name]
            assert {word for word in words[2:] if word.startswith("-")} <= known
        assert max(map(len, out.splitlines())) <= 80
        assert ESCAPE not in out


def test_the_module_is_the_command(town):
    done = subprocess.run([sys.executable, "-m", "reidsim", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{__version__}\n"


# Closed pipes and full disks on the output side.


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="pipes are those of POSIX")
@pytest.mark.parametrize("arguments", [("schema",), ("describe", "people.csv")])
def test_a_reader_that_goes_away_is_no_error_message(arguments, tmp_path):
    (tmp_path / "people.csv").write_text("age\n1\n1\n")
    reader, writer = os.pipe()
    os.close(reader)
    command = [REIDSIM, *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    os.close(writer)
    # Exit code that a shell reports for a program ended by the closed pipe.
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.deep
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_behind_the_output_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([REIDSIM, "schema"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.startswith("reidsim: ")
    assert done.stderr.count("\n") == 1


# Ctrl-C and SIGTERM.

on_posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


def assert_nothing_was_written(ended, code):
    assert ended == (code, "", "reidsim: interrupted; nothing was written\n")
    assert list(Path().iterdir()) == []


@pytest.mark.deep
@on_posix
def test_an_interrupt_inside_a_callback_of_compiled_code_is_one_line():
    # While the compiler loads its cache, an exception cannot leave a C callback: Python prints it and continues.
    code = (
        "import ctypes, signal\n"
        "from reidsim import cli\n"
        "from reidsim.core import interrupts\n"
        "def app():\n"
        f"    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal({int(signal.SIGINT)}))()\n"
        "    print('went on')\n"
        "    interrupts.stop_if_interrupted()\n"
        "    print('went on for good')\n"
        "cli.app = app\n"
        "try:\n"
        "    cli.main()\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    command = with_signals([sys.executable, "-c", code])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\nstopped\n", "")


def folder_is_being_written():
    """Return whether a hidden folder in the working folder is not empty."""
    # A folder that is renamed or removed during the check is not being written.
    with contextlib.suppress(OSError):
        return any(path.name.startswith(".") and any(path.iterdir()) for path in Path().iterdir())
    return False


# The program waits in the middle: numba may crash if an interrupt arrives while compiled code returns a tuple.
SOLVING = """
import sys, time
from pathlib import Path
from reidsim.kinds.tables.kind import TablesKind as runner
from reidsim.cli import main

def told(*given, **named):
    Path("../solving").touch()
    time.sleep(60)
    return solve(*given, **named)

solve, runner.play = runner.play, told
sys.argv = ["reidsim", *sys.argv[1:]]
main()
"""


WRITING = """
import sys, time
import reidsim.engine.results as results
from reidsim.cli import main

def told(*given):
    write(*given)
    time.sleep(60)

write, results.write_parquet = results.write_parquet, told
sys.argv = ["reidsim", *sys.argv[1:]]
main()
"""


@pytest.mark.deep
@on_posix
def test_an_interrupt_while_results_are_written_is_one_line_and_leaves_nothing(short):
    command = [sys.executable, "-c", WRITING, "run", str(short), "-o", "DIR"]
    assert_nothing_was_written(stopped(command, once(folder_is_being_written), signal.SIGTERM), 143)


@pytest.mark.deep
@on_posix
def test_a_program_started_with_interrupts_ignored_goes_on_at_them_and_stops_at_sigterm(short):
    command = [sys.executable, "-c", SOLVING, "run", str(short), "-o", "DIR"]
    ended = stopped(command, once(Path("../solving").exists), signal.SIGTERM, ignored=[signal.SIGINT])
    assert_nothing_was_written(ended, 143)


@pytest.mark.parametrize(
    ("command", "place", "number", "code"),
    [
        ("run", "batch.runner.run_loaded", signal.SIGINT, 130),
        ("run", "batch.runner.run_loaded", signal.SIGTERM, 143),
        ("attributes", "attributes.attributes_loaded", signal.SIGINT, 130),
    ],
)
def test_an_interrupt_that_a_library_takes_for_something_else_still_ends_the_run(
    town, reidsim_, monkeypatch, command, place, number, code
):
    compute = pkgutil.resolve_name(f"reidsim.engine.{place}")

    def swallowing(*arguments, **options):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        return compute(*arguments, **options)

    before = signal.signal(number, STOPPING[number])
    try:
        monkeypatch.setattr(f"reidsim.engine.{place}", swallowing)
        ended = reidsim_(command, "town.toml", "-o", "out")
        left = signal.getsignal(number)
    finally:
        signal.signal(number, before)
    assert ended == (code, "", "reidsim: interrupted; nothing was written\n")
    # Later work in this process is not stopped, and signal handling is unchanged.
    assert not interrupts.came()
    assert left == STOPPING[number]
    assert not (town / "out").exists()


# Progress.


class Clock:
    """A clock that advances only when the test advances it."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(reidsim.core.terminal, "time", clock)
    return clock


def terminal():
    page = io.StringIO()
    return page, Console(file=page, force_terminal=True, width=80, legacy_windows=False)


def test_progress_is_shown_after_a_while_on_a_terminal(clock):
    page, console = terminal()
    with DelayedProgress(console) as progress:
        for seconds in (0, 0.3, 0.5):
            clock.now = 1000 + seconds
            progress("solving", 3, 18)
            assert page.getvalue() == ""
        clock.now = 1000.7
        progress("solving", 5, 18)
        assert "solving" in page.getvalue()
    assert "5/18" in page.getvalue()


def test_progress_is_removed_when_a_run_is_interrupted(clock):
    page, console = terminal()

    def work():
        with DelayedProgress(console) as progress:
            clock.now += 3
            progress("solving", 1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert page.getvalue().rindex(f"{ESCAPE}[?25h") > page.getvalue().rindex(f"{ESCAPE}[?25l")


# Populations.


def test_a_population_is_written_described_and_never_overwritten(tmp_path, monkeypatch, reidsim_):
    monkeypatch.chdir(tmp_path)
    code, out, err = reidsim_("populate", "adult", "-o", "adult.parquet")
    assert (code, err) == (0, "")
    assert out == "32,561 people in 546 rows: adult.parquet\n"
    before = Path("adult.parquet").read_bytes()
    code, out, err = reidsim_("populate", "adult", "-o", "adult.parquet")
    assert (code, out) == (2, "")
    assert "adult.parquet: exists already" in err
    assert Path("adult.parquet").read_bytes() == before
    code, out, err = reidsim_("describe", "adult.parquet", "--column", "age", "--column", "sex")
    assert (code, err) == (0, "")
    assert "32,561" in out
