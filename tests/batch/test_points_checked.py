"""The check of a batch's points before its first run."""

from pathlib import Path

import pytest

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import check_points, design_of
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"


def test_the_first_invalid_point_is_named():
    loaded = Scenario.load(TOWN, {"sweep.values": {"economics.loss": [1, 2, -3, -4], "economics.cost": [5, 6]}})
    message = (
        r"point 4: economics\.loss: value not allowed; found -3.*the point is economics\.loss = -3, economics\.cost"
    )
    with pytest.raises(InputError, match=message):
        check_points(loaded, design_of(loaded))


def test_parts_that_only_some_points_name_are_all_imported():
    planners = ["one-shot", "no_such_module:thing"]
    with pytest.raises(InputError, match=r"sweep\.values\.adversary\.planner: cannot be imported: .*no_such_module"):
        Scenario.load(TOWN, {"sweep.values": {"adversary.planner": planners}}, allow_code=True)


def test_defaults_of_several_adversaries_are_checked_for_each():
    several = {name: {"weight": 0.5} for name in ("one", "other")}
    sweep = {"adversary.risk": ["prosecutor", "journalist", "sample"]}
    loaded = Scenario.load(TOWN, {"adversaries": several, "sweep.values": sweep})
    with pytest.raises(InputError, match=r"point 2: release: sample risk needs weights .*adversary\.risk = 'sample'"):
        check_points(loaded, design_of(loaded))
