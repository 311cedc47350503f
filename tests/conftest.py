"""What all tests share: the two tiers, which worker runs what, and the bundled study built once."""

import gc
import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import tiers

REPOSITORY = Path(__file__).resolve().parents[1]

# Workers and the commands that tests start share compiled modules, as they share compiled kernels; else each of them
# compiles the package and the tests again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Files whose tests are long and share nothing; they begin first, each for itself.
APART = {"tests/test_docs.py", "tests/batch/test_paper_sweeps.py"}
# Files that are long in all: they begin next, each on one worker.
LONG = {"tests/reports/test_reproduction.py"}

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


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without collecting garbage: what is made is kept, and looking through it again and again is slow."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave deep tests to the deep tier, and put the others in an order in which workers share compiled kernels.

    Files of one folder call the same kernels, so the folders take turns: two workers rarely need the same one at once.
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
        (file_of(file[0].nodeid) not in APART | LONG, at, file)
        for f in folders.values()
        for at, file in enumerate(f.values())
    ]
    turns.sort(key=lambda turn: turn[:2])
    items[:] = [item for _, _, file in turns for item in file]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run the tests of a file on one worker: what they share is made once, and so are the kernels that they call.

    Not by marks of groups (``--dist=loadgroup``): pytest-xdist 3.8 loses them where pytest is 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid if file_of(nodeid) in APART else file_of(nodeid)

    return ByFile(config, log)


def file_of(nodeid):
    return nodeid.partition("::")[0]


@pytest.fixture(scope="session")
def wan2015():
    """The bundled study of Wan et al. 2015."""
    from reidsim.kinds.tables.build import build_study
    from reidsim.scenarios.load import load_scenario

    return build_study(load_scenario("wan2015"))


@pytest.fixture(scope="session")
def wan2015_equilibria(wan2015):
    """All four policies of the bundled study, solved."""
    from reidsim.kinds.tables.outcomes import play
    from reidsim.scenarios.study import equilibria_of

    return equilibria_of(play(wan2015))


@pytest.fixture(scope="session")
def tennessee():
    """The bundled population, drawn."""
    from reidsim.populations.catalogue import load_population

    return load_population("tennessee-2010")


@pytest.fixture(scope="session")
def tennessee_expected():
    """The bundled population as expected counts."""
    from reidsim.populations.catalogue import load_population

    return load_population("tennessee-2010", counts="expected")


@pytest.fixture(scope="session")
def adult_folder():
    """The folder of the real Adult files; tests that need it are skipped where it is not."""
    folder = REPOSITORY.parent / "shared" / "data" / "adult"
    if not (folder / "adult.data").is_file():
        pytest.skip(f"the real Adult files are not in {folder}")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a new folder, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def reidsim_(monkeypatch, capsys):
    """Return a function that runs the command line in this process: exit code, standard output, standard error."""
    from reidsim.cli import main

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
