"""Every registered planner declares itself fully, makes an adversary, and plays."""

import numpy as np
import pytest

from reidsim.adversaries.response import (
    AMOUNTS_BY_RECORD,
    CAPABILITIES,
    EXPECTED_PAYOFF,
    Linkage,
    Planner,
    Response,
    Weighing,
    planners,
)
from reidsim.scenarios.adversary_schema import PlannerSection, opponent_names


@pytest.mark.parametrize("name", planners)
def test_planner_is_whole(name):
    planner = planners[name]
    assert issubclass(planner, Planner)
    assert planner.label
    assert planner.__doc__
    assert planner.provides <= CAPABILITIES
    assert set(planner.keys) <= set(PlannerSection.model_fields)
    assert name in opponent_names()


@pytest.mark.parametrize("name", planners)
def test_planner_makes_an_adversary_that_keeps_its_declarations(name):
    planner = planners[name]
    adversary = planner.make(PlannerSection(planner=name), 300.0, 4.0)
    sizes = np.array([1, 2, 50])
    assert isinstance(adversary.respond(Linkage(sizes, sizes)), Response)
    assert isinstance(adversary, Weighing) == (EXPECTED_PAYOFF in planner.provides)
    if AMOUNTS_BY_RECORD in planner.provides:
        by_record = planner.make(PlannerSection(planner=name), np.full(3, 300.0), np.full(3, 4.0))
        np.testing.assert_array_equal(
            by_record.respond(Linkage(sizes, sizes)).attacks, adversary.respond(Linkage(sizes, sizes)).attacks
        )


def test_registry_refuses_a_name_twice_and_suggests_the_nearest():
    with pytest.raises(ValueError, match="'one-shot' is registered twice"):
        planners.register("one-shot")(planners["one-shot"])
    assert "did you mean 'one-shot'" in str(planners.unknown("one-shoot"))
