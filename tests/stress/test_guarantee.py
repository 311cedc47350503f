"""The smallest error that breaks a guarantee, against bisection with the game."""

import numpy as np
import pytest
from hypothesis import given
from small_scenario import releases, study_of
from stress_scenarios import write_town
from tiers import examples

from reidsim.engine.stress.analyses import guarantee_table
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import Choice
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.outcomes import OneShotPoints, SolvedPoints
from reidsim.scenarios.adversary_schema import economics_of
from reidsim.scenarios.scenario import Scenario

POLICIES = ("basic", "no-attack", "no-protection", "suppress-all")


def broken(study, strategies, safe, economics):
    """Return whether the game attacks a record that the publisher believes safe."""
    none = np.zeros(len(strategies), dtype=np.int64)
    outcome = evaluate(study.game(economics), Choice(strategies, "given", none, exact=False))
    return bool((outcome.attacked & safe).any())


@pytest.mark.deep
@examples(40, fast=5)
@given(releases())
def test_errors_are_the_smallest_that_the_game_itself_says(small):
    """A slightly larger error breaks the guarantee, a smaller one does not.

    Without a reported error, no error breaks it.
    """
    with study_of(small, policies=POLICIES) as study:
        believed = study.scenario.economics
        points = OneShotPoints(study, solved_first=0)
        table = guarantee_table(points, POLICIES, believed).set_index(["policy", "parameter"])
        for policy in POLICIES:
            strategies = points.plan(policy, believed).strategies
            none = np.zeros(len(strategies), dtype=np.int64)
            planned = evaluate(study.game(believed), Choice(strategies, "given", none, exact=False))
            safe = ~planned.attacked
            assert table.loc[(policy, "cost"), "share_safe"] == pytest.approx(np.average(safe, weights=study.weights))
            for parameter, side in (("cost", -1), ("gain", 1)):
                row = table.loc[(policy, parameter)]
                changed = {"gain": believed.adversary_gain}

                def attacked(value, parameter=parameter, changed=changed, strategies=strategies, safe=safe):
                    return broken(study, strategies, safe, believed.model_copy(update={**changed, parameter: value}))

                if np.isnan(row["breaking"]):
                    assert not attacked(0.0 if parameter == "cost" else 1e12)
                    continue
                assert row["error"] == pytest.approx(row["breaking"] - row["believed"])
                assert side * row["error"] >= 0
                assert not attacked(row["breaking"] * (1 - side * 1e-9))
                if row["breaking"] > 0 or parameter == "gain":
                    assert attacked(row["breaking"] * (1 + side * 1e-9) + (1e-9 if parameter == "gain" else 0))


@pytest.mark.deep
@examples(3)
@given(releases())
def test_closed_form_and_bisection_agree(small):
    with study_of(small, policies=POLICIES) as study:
        believed = study.scenario.economics
        fast = guarantee_table(OneShotPoints(study, solved_first=0), POLICIES, believed)
        slow = guarantee_table(SolvedPoints(study), POLICIES, believed)
        for column in ("breaking", "share_safe"):
            np.testing.assert_allclose(fast[column], slow[column], rtol=1e-9, atol=1e-9)


@pytest.mark.deep
def test_the_no_attack_promise_of_the_bundled_study_has_no_slack():
    """At loss 300 and cost 4, attacks on groups of 75 break even; one group has 75."""
    loaded = Scenario.load("wan2015", {"publisher.policies": ["no-attack"]})
    table = guarantee_table(TABLES.amount_points(build_study(loaded)), ("no-attack",), economics_of(loaded.scenario)[1])
    assert table["share_safe"].tolist() == [1.0, 1.0]
    assert table["error"].tolist() == [0.0, 0.0]


def test_the_sequential_adversary_is_asked_by_bisection(tmp_path):
    changes = {"adversary.planner": "fmdp", "publisher.policies": ["no-attack"]}
    loaded = Scenario.load(write_town(tmp_path, more=""), changes)
    study = build_study(loaded)
    points = TABLES.amount_points(study)
    believed = study.scenario.economics
    table = guarantee_table(points, ("no-attack",), believed).set_index("parameter")
    strategies = points.plan("no-attack", believed).strategies
    safe = np.ones(len(strategies), dtype=bool)
    for parameter, side in (("cost", -1), ("gain", 1)):
        breaking = table.loc[parameter, "breaking"]
        states = [
            broken(study, strategies, safe, believed.model_copy(update={"gain": 60.0, parameter: value}))
            for value in (breaking * (1 - side * 1e-6), breaking * (1 + side * 1e-6))
        ]
        assert states == [False, True], parameter
