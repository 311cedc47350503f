"""Fixtures and hooks of the whole suite: tiers, worker scheduling, shared studies."""

import gc
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import tiers
from typer.main import get_command

REPOSITORY = Path(__file__).resolve().parents[1]

# Workers and commands started by tests share compiled Python modules and compiled kernels. Otherwise each process
# compiles the package and the tests again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Files with long, independent tests. They start first, each test scheduled separately.
APART = {"tests/test_docs.py", "tests/batch/test_paper_sweeps.py", "tests/web/test_browser.py"}
# Files that start next, each on one worker: the first three compile most kernels, which two workers would otherwise
# compile at the same time, and the last one has a long running time.
EARLY = [
    "tests/games/test_directions.py",
    "tests/games/test_always_shared.py",
    "tests/games/full_domain/test_search.py",
    "tests/reports/test_reproduction.py",
]

DEPRECATIONS = (
    "DeprecationWarning",
    "PendingDeprecationWarning",
    "FutureWarning",
    "numpy.exceptions.VisibleDeprecationWarning",
)


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run the deep tests too, and properties on all their examples")
    parser.addoption(
        "--most-examples",
        type=int,
        help="of a property in the deep tier, for want of time; of cases, points of faults, too",
    )


def pytest_configure(config):
    tiers.choose(deep=config.getoption("deep"), most=config.getoption("most_examples"))
    if config.getoption("deep"):
        for category in DEPRECATIONS:
            config.addinivalue_line("filterwarnings", f"error::{category}")


@pytest.fixture(autouse=True)
def no_registered_parts(monkeypatch):
    """Forget after each test the parts that it registers."""
    monkeypatch.setattr("reidsim.core.registry._REGISTERED", {})


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once():
    """Scan the installed packages again only if other packages are on the path.

    A scan takes half a second, and the package repeats it for each new `sys.path`, which many tests extend by a folder
    of modules.
    """
    scanned = {}

    def scan():
        found = tuple(path for folder in sys.path for path in Path(folder).glob("*.*-info"))
        if found not in scanned:
            scanned[found] = packages_distributions()
        return scanned[found]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reidsim.scenarios.registry.packages_distributions", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def coarse_pictures(request):
    """Draw pictures with fewer dots in the fast tier, where most tests read the page around them."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.config.getoption("deep"):
            patch.setattr("reidsim.figures.style._DOTS_PER_INCH", 30)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without garbage collection, because all objects are kept.

    Later garbage collections skip these objects and are rarer, because they took a twentieth of the time of the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Deselect deep tests in the fast tier and order the rest by folder in turns.

    Files of one folder call the same compiled kernels. If folders alternate, two workers rarely compile the same kernel
    at once.
    """
    if not config.getoption("deep"):
        left_out = [item for item in items if item.get_closest_marker("deep")]
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
    folders = defaultdict(lambda: defaultdict(list))
    for item in items:
        folders[item.path.parent][item.path].append(item)
    turns = [
        (turn_of(file_of(file[0].nodeid)), at, file) for f in folders.values() for at, file in enumerate(f.values())
    ]
    turns.sort(key=lambda turn: turn[:2])
    items[:] = [item for _, _, file in turns for item in file]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Schedule a file's tests on one worker, so that they share fixtures and kernels.

    Group marks (``--dist=loadgroup``) do not work: pytest-xdist 3.8 loses them with pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid if file_of(nodeid) in APART else file_of(nodeid)

    return ByFile(config, log)


def file_of(nodeid):
    return nodeid.partition("::")[0]


def turn_of(file):
    """Return the place of a file in the order of execution; most files have the last place."""
    return 0 if file in APART else 1 + (EARLY.index(file) if file in EARLY else len(EARLY))


@pytest.fixture(scope="session")
def wan2015():
    """Return the bundled study of Wan et al. 2015."""
    from reidsim.kinds.tables.build import build_study
    from reidsim.scenarios.scenario import Scenario

    return build_study(Scenario.load("wan2015"))


@pytest.fixture(scope="session")
def wan2015_equilibria(wan2015):
    """Return the equilibria of all four policies of the bundled study."""
    from reidsim.kinds.tables.kind import TABLES
    from reidsim.scenarios.kind import equilibria_of

    return equilibria_of(TABLES.play(wan2015))


@pytest.fixture(scope="session")
def tennessee():
    """Return the bundled population with drawn counts."""
    from reidsim.populations.catalogue import load_population

    return load_population("tennessee-2010")


@pytest.fixture(scope="session")
def adult_folder():
    """Return the folder of the real Adult files, or skip the test if it is missing."""
    folder = REPOSITORY.parent / "shared" / "data" / "adult"
    if not (folder / "adult.data").is_file():
        pytest.skip(f"the real Adult files are not in {folder}")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a new folder and make it the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return a working folder that holds a copy of the town of 33 people."""
    shutil.copytree(REPOSITORY / "tests" / "scenarios" / "town", tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def disk(work, request):
    """Return a folder mounted as a separate disk in memory, of the size that the module names as DISK."""
    folder = work / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={request.module.DISK}", "tmpfs", str(folder)]
    mounted = shutil.which("mount") and subprocess.run(["mount", *options], capture_output=True, check=False)
    if not mounted or mounted.returncode:
        pytest.skip("no disk may be mounted")
    yield folder
    # A pyarrow error keeps its file open.
    gc.collect()
    subprocess.run(["umount", str(folder)], check=True)


@cache
def built_command(app):
    """Return the command line of a typer application, which typer would build for each call."""
    return get_command(app)


@pytest.fixture
def reidsim_(monkeypatch, capsys):
    """Return a function that runs the command line in this process.

    The function returns the exit code, standard output and standard error.
    """
    from reidsim.cli import main

    monkeypatch.setattr("typer.main.get_command", built_command)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["reidsim", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "80")
        try:
            main()
            code = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run
