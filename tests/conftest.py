"""What all tests share: the two tiers, which worker runs what, and the bundled study built once."""

from pathlib import Path

import pytest
import tiers

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run the deep tests too, and properties on all their examples")


def pytest_configure(config):
    tiers.choose(deep=config.getoption("deep"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave deep tests to the deep tier, and share the work among workers: what a module's tests share is made once."""
    if not config.getoption("deep"):
        deep = [item for item in items if item.get_closest_marker("deep")]
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
        if deep:
            config.hook.pytest_deselected(items=deep)
    for item in items:
        shared = [each[-1].scope for each in item._fixtureinfo.name2fixturedefs.values() if each]
        if "module" in shared:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=lambda item: "test_docs.py::" not in item.nodeid)


@pytest.fixture(scope="session", autouse=True)
def _genealogies_kept_apart(tmp_path_factory):
    """Keep genealogies made by tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REIDSIM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def wan2015():
    """The bundled study of Wan et al. 2015."""
    from reidsim.scenarios.build import build_study
    from reidsim.scenarios.load import load_scenario

    return build_study(load_scenario("wan2015"))


@pytest.fixture(scope="session")
def wan2015_equilibria(wan2015):
    """All four policies of the bundled study, solved."""
    from reidsim.experiments.record_level import solve_policies

    return solve_policies(wan2015)


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
