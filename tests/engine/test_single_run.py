"""Every run reports progress and imports user-defined parts first."""

from pathlib import Path

import pytest

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.single_run import check_once, run_once
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.load import Scenario

TOWN = Path(__file__).parents[1] / "scenarios" / "town" / "town.toml"
RISKS = {"release.sizes": [20], "release.samples": 2, "figures": {}}


def verdict_of(name, overrides):
    calls = []
    result = reidsim.run(name, overrides=overrides, progress=lambda *call: calls.append(call))
    return result, calls


@pytest.mark.parametrize(
    ("name", "overrides", "played"),
    [
        (TOWN, {}, ("playing", 36, 36)),
        ("xia2021", RISKS, ("assessing", 1, 2)),
    ],
)
def test_reading_is_told_first_and_playing_after_it(name, overrides, played):
    result, calls = verdict_of(name, overrides)
    assert calls[0] == (f"reading {result.name}", 0, 1)
    assert played in calls[1:]


@pytest.mark.parametrize("do", [run_once, check_once])
def test_what_cannot_be_imported_is_told_before_anything_is_read(do, monkeypatch):
    monkeypatch.setattr(TABLES, "build", lambda loaded: pytest.fail("read files"))
    loaded = Scenario.load(TOWN, {"publisher.policies": ["basic", "nowhere_to_be_found:Policy"]}, allow_code=True)
    with pytest.raises(InputError, match=r"publisher.policies: cannot be imported: ModuleNotFoundError"):
        do(loaded)


def test_a_kind_in_which_nobody_decides_has_to_say_what_is_assessed(monkeypatch):
    monkeypatch.setattr(TABLES, "decides", "", raising=False)
    with pytest.raises(
        InputError, match=r"town.toml: game: this kind of scenario has neither policies nor an assessment"
    ):
        run_once(Scenario.load(TOWN))
