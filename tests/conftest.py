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

DEPRECATIONS = (
    "DeprecationWarning",
    "PendingDeprecationWarning",
    "FutureWarning",
    "numpy.exceptions.VisibleDeprecationWarning",
)


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run the deep tests too, and properties on all their examples")


def pytest_configure(config):
    tiers.choose(deep=config.getoption("deep"))
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
    """Leave deep tests to the deep tier, and share the work among workers so that each kernel is compiled once.

    The tests of a file run on one worker, one after the other: what they share is made once, and so are the compiled
    kernels that they call. Files of one folder call the same kernels, so the folders take turns, and two workers
    rarely need the same one at once. Deep tests are long, so they begin first, and each for itself.
    """
    is_deep = [item.get_closest_marker("deep") is not None for item in items]
    if not config.getoption("deep"):
        left_out = [item for item, deep in zip(items, is_deep, strict=True) if deep]
        items[:] = [item for item, deep in zip(items, is_deep, strict=True) if not deep]
        is_deep = [False] * len(items)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
    alone = []
    folders = defaultdict(lambda: defaultdict(list))
    for item, deep in zip(items, is_deep, strict=True):
        if deep and not shares_a_module_fixture(item):
            alone.append(item)
        else:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
            folders[item.path.parent][item.path].append(item)
    turns = [(at, file) for files in folders.values() for at, file in enumerate(files.values())]
    turns.sort(key=lambda turn: turn[0])
    items[:] = [*alone, *(item for _, file in turns for item in file)]


def shares_a_module_fixture(item):
    return any(each and each[-1].scope == "module" for each in item._fixtureinfo.name2fixturedefs.values())


@pytest.fixture(scope="session", autouse=True)
def _genealogies_kept_apart(tmp_path_factory):
    """Keep genealogies made by tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REIDSIM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def wan2015():
    """The bundled study of Wan et al. 2015."""
    from reidsim.kinds.tables.study import build_study
    from reidsim.scenarios.load import load_scenario

    return build_study(load_scenario("wan2015"))


@pytest.fixture(scope="session")
def wan2015_equilibria(wan2015):
    """All four policies of the bundled study, solved."""
    from reidsim.kinds.tables.outcomes import equilibria_of, play

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
