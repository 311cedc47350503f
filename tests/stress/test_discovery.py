"""Scenario discovery by PRIM: a hand-computed trajectory, known boxes, and properties of every trajectory."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.engine.stress.analyses import Outcomes
from reidsim.engine.stress.discovery import box_tables, find_boxes
from reidsim.scenarios.schema import DiscoverySection, UncertaintySection


@pytest.fixture
def points():
    return np.random.default_rng(1).random((400, 3)) * [1.0, 10.0, 100.0]


def inside(points, rows, names="abc"):
    """Return which points are within the bounds of the rows of a box, by their definition."""
    held = np.ones(len(points), dtype=bool)
    for row in rows.to_dict("records"):
        values = points[:, names.index(row["parameter"])]
        held &= ~(values <= row["low"]) & ~(values > row["high"])
    return held


def test_a_trajectory_computed_by_hand():
    """Of 1 to 20, the last four are bad: each step peels the lowest value, because 5 % of 20 points is one point."""
    boxes, peeling = find_boxes(["x"], np.arange(1.0, 21.0)[:, None], np.arange(1, 21) > 16, smallest=0.2)
    assert boxes.fillna(-1).values.tolist() == [[1, "x", 16.5, -1, 1.0, 1.0, 0.2]]
    assert peeling["density"].tolist() == [4 / (20 - step) for step in range(17)]
    assert peeling["coverage"].eq(1).all()
    assert peeling["low"].tolist()[1:] == [step + 0.5 for step in range(1, 17)]
    assert peeling["restricted"].tolist() == [0, *[1] * 16]
    assert peeling["chosen"].tolist() == [*[False] * 16, True]


def test_ties_are_peeled_together_and_boxes_follow_one_another():
    """Two values of 6 and 4 points: one peel leaves the bad 4; two clusters are two boxes."""
    boxes, peeling = find_boxes(["x"], np.repeat([0.0, 1.0], [6, 4])[:, None], np.repeat([False, True], [6, 4]))
    assert boxes.fillna(-1).values.tolist() == [[1, "x", 0.5, -1, 1.0, 1.0, 0.4]]
    assert peeling["share_of_points"].tolist() == [1.0, 0.4]
    values = np.arange(100.0)
    boxes, _ = find_boxes(["x"], values[:, None], (values < 20) | (values >= 70))
    assert boxes[["low", "high"]].fillna(-1).values.tolist() == [[69.5, -1], [-1, 19.5]]
    assert boxes["coverage"].tolist() == [0.6, 0.4]


def test_a_known_box_is_found_with_its_bounds(points):
    bad = (points[:, 0] > 0.6) & (points[:, 1] <= 3.0)
    boxes, _ = find_boxes(["a", "b", "c"], points, bad, smallest=0.02)
    assert boxes["box"].tolist() == [1, 1]
    rows = boxes.set_index("parameter")
    assert rows.loc["a", "low"] == pytest.approx(0.6, abs=0.02)
    assert rows.loc["b", "high"] == pytest.approx(3.0, abs=0.3)
    assert rows[["low", "high"]].isna().sum().tolist() == [1, 1]
    assert (boxes["coverage"] >= 0.95).all()
    assert (boxes["density"] >= 0.95).all()


@examples(20)
@given(seed=st.integers(0, 10_000), decimals=st.sampled_from([1, 16]), restrictions=st.integers(1, 3))
def test_every_peel_is_the_best_one_and_every_box_undominated(seed, decimals, restrictions):
    """Coverage falls along a trajectory; boxes share no point, and at least half of their points are bad."""
    rng = np.random.default_rng(seed)
    points = rng.random((150, 3)).round(decimals)
    bad = rng.random(150) < np.where(points[:, 2] > 0.6, 0.9, 0.1)
    boxes, peeling = find_boxes(["a", "b", "c"], points, bad, restrictions=restrictions, smallest=0.1)
    for _, steps in peeling.groupby("box"):
        assert (steps["coverage"].diff().dropna() <= 0).all()
        assert (steps["share_of_points"].diff().dropna() < 0).all()
        assert steps["restricted"].max() <= restrictions
        for row in steps[steps["chosen"]].to_dict("records"):
            assert steps["density"][steps["step"] < row["step"]].max() < row["density"] or row["step"] == 0
    # The second box is the best of all peels of 5 % of the points (or of more that have an equal value) at either end.
    kept = []
    for values in [*points.T, *-points.T]:
        order = np.sort(values)
        kept.append(values >= order[7] if order[7] > order[0] else values > order[0])
    assert peeling["density"][1] == max(bad[left].mean() for left in kept)
    earlier = np.zeros(150, dtype=bool)
    for _, rows in boxes.groupby("box"):
        held = inside(points, rows[rows["parameter"] != ""]) & ~earlier
        measures = rows[["coverage", "density", "share_of_points"]].iloc[0].tolist()
        assert measures == pytest.approx([(held & bad).sum() / bad.sum(), bad[held].mean(), held.mean()])
        assert bad[held].mean() >= 0.5
        assert held.mean() >= 0.1
        earlier |= held


def test_nothing_bad_everything_bad_and_nothing_to_tell_apart(points):
    assert find_boxes(["a", "b", "c"], points, np.zeros(400, dtype=bool))[0].empty
    everything, _ = find_boxes(["a", "b", "c"], points, np.ones(400, dtype=bool))
    assert everything.drop(columns=["low", "high"]).values.tolist() == [[1, "", 1.0, 1.0, 1.0]]
    rare = np.arange(400) % 10 == 0
    boxes, peeling = find_boxes(["a"], np.zeros((400, 1)), rare)
    assert boxes.empty
    assert peeling["chosen"].tolist() == [False]


def test_a_text_has_an_indicator_of_each_value():
    uncertainty = UncertaintySection(parameters={"who": {"distribution": "discrete", "values": ("one", "other")}})
    outcomes = pd.DataFrame({"point": range(27), "policy": "basic", "risk": [1.0, 0.0, 0.0] * 9})
    section, points = DiscoverySection(output="risk", above=0.5), pd.DataFrame({"who": ["one", "other", "other"] * 9})
    table = box_tables(points, uncertainty, Outcomes(outcomes, pd.DataFrame()), ("basic",), section)["boxes"]
    (row,) = table.to_dict("records")
    # Two equally good splits.
    assert {"who = one": row["low"], "who = other": row["high"]}[row["parameter"]] == 0.5
    assert (row["share_bad"], row["coverage"], row["density"]) == (pytest.approx(1 / 3), 1.0, 1.0)
