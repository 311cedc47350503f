"""The publisher's beliefs at a point: corresponding keys, own values, curves."""

import pytest
from stress_scenarios import TOWN, write_town

from reidsim.engine.stress.run import (
    belief_pair,
    belief_points,
    believed_values,
    known_keys,
    planned_amounts,
)
from reidsim.scenarios.scenario import Scenario


@pytest.fixture
def town(tmp_path):
    return Scenario.load(write_town(tmp_path, more="")).scenario


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("wan2015", "economics.cost", "beliefs.cost"),
        ("wan2015", "economics.benefit", None),
        ("wan2021", "resources.genealogy.size", "beliefs.sizes.genealogy"),
        ("wan2021", "resources.genealogy.missing_alleles", None),
        ("prasser2017", "adversary.risk", "beliefs.risk"),
    ],
)
def test_counterparts(name, key, expected):
    assert belief_pair(Scenario.load(name).scenario, key) == (key, expected)


def test_beliefs_are_held_at_the_scenarios_own_values(tmp_path, town):
    assert believed_values(town, ["economics.cost", "economics.benefit"]) == {"beliefs.cost": 12}
    # A gain that follows the loss also does so in the belief.
    assert believed_values(town, ["economics.loss"]) == {"beliefs.loss": 60, "beliefs.gain": 60}
    stated = write_town(tmp_path, "", TOWN.replace("cost = 12", "cost = 12\ngain = 50\n[beliefs]\ncost = 9"))
    other = Scenario.load(stated).scenario
    assert believed_values(other, ["economics.cost", "economics.loss"]) == {"beliefs.cost": 9, "beliefs.loss": 60}
    assert believed_values(other, ["beliefs.cost", "beliefs.gain"]) == {"beliefs.cost": 9, "beliefs.gain": 50}


def test_a_benefit_without_a_belief_is_planned_at_the_scenarios_own_value(town):
    keys = ["economics.benefit", "economics.cost", "beliefs.cost", "publisher.solver"]
    assert planned_amounts(town, keys) == {"economics.benefit": 100}
    assert known_keys(town, keys) == ["publisher.solver"]


def test_points_of_a_curve(town):
    points = belief_points(town, "economics.cost", [1.0, 2.0], None)
    assert points.to_dict("list") == {"economics.cost": [1.0, 2.0], "beliefs.cost": [12.0, 12.0]}
    points = belief_points(town, "economics.loss", None, [5, 6])
    assert points.to_dict("list") == {
        "economics.loss": [60, 60], "beliefs.loss": [5, 6], "beliefs.gain": [5, 6],
    }  # fmt: skip
    assert len(belief_points(town, "economics.cost", [1, 2, 3], [4, 5])) == 6
