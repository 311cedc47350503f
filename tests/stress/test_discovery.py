"""Scenario discovery: known boxes, with their coverage and density."""

import numpy as np
import pandas as pd
import pytest

from reidsim.engine.stress.analyses import Outcomes, box_table, find_boxes
from reidsim.scenarios.schema import DiscoverySection, UncertaintySection


@pytest.fixture
def points():
    return np.random.default_rng(1).random((400, 3)) * [1.0, 10.0, 100.0]


def test_a_box_is_found_with_its_bounds(points):
    bad = (points[:, 0] > 0.6) & (points[:, 1] <= 3.0)
    boxes = find_boxes(["a", "b", "c"], points, bad, smallest=0.02)
    assert boxes["box"].tolist() == [1, 1]
    rows = boxes.set_index("parameter")
    assert rows.loc["a", "low"] == pytest.approx(0.6, abs=0.02)
    assert rows.loc["b", "high"] == pytest.approx(3.0, abs=0.3)
    assert rows[["low", "high"]].isna().sum().tolist() == [1, 1]
    assert (boxes["coverage"] == 1).all()
    assert (boxes["density"] == 1).all()
    assert boxes["share_of_points"].iloc[0] == pytest.approx(bad.mean())


def test_measures_are_counts_of_the_points_inside(points):
    rng = np.random.default_rng(2)
    bad = rng.random(400) < np.where(points[:, 2] > 70, 0.9, 0.1)
    boxes = find_boxes(["a", "b", "c"], points, bad, restrictions=2)
    assert len(boxes)
    coverages = []
    for _, rows in boxes.groupby("box"):
        bounds = {
            "abc".index(row["parameter"]): (
                -np.inf if np.isnan(row["low"]) else row["low"],
                np.inf if np.isnan(row["high"]) else row["high"],
            )
            for row in rows.to_dict("records")
        }
        # scikit-learn compares values in single precision.
        single = points.astype(np.float32)
        held = np.all([(single[:, at] > low) & (single[:, at] <= high) for at, (low, high) in bounds.items()], axis=0)
        assert rows["coverage"].iloc[0] == pytest.approx((held & bad).sum() / bad.sum())
        assert rows["density"].iloc[0] == pytest.approx((held & bad).sum() / held.sum())
        assert rows["density"].iloc[0] >= 0.5
        assert held.mean() >= 0.05
        coverages.append(rows["coverage"].iloc[0])
    assert coverages == sorted(coverages, reverse=True)
    assert sum(coverages) <= 1 + 1e-12


def test_nothing_bad_everything_bad_and_nothing_to_tell_apart(points):
    assert find_boxes(["a", "b", "c"], points, np.zeros(400, dtype=bool)).empty
    everything = find_boxes(["a", "b", "c"], points, np.ones(400, dtype=bool))
    assert everything.drop(columns=["low", "high"]).values.tolist() == [[1, "", 1.0, 1.0, 1.0]]
    rare = np.arange(400) % 10 == 0
    assert find_boxes(["a"], np.zeros((400, 1)), rare).empty


def test_a_text_has_an_indicator_of_each_value():
    uncertainty = UncertaintySection(parameters={"who": {"distribution": "discrete", "values": ("one", "other")}})
    outcomes = pd.DataFrame({"point": range(27), "policy": "basic", "risk": [1.0, 0.0, 0.0] * 9})
    section, points = DiscoverySection(output="risk", above=0.5), pd.DataFrame({"who": ["one", "other", "other"] * 9})
    table = box_table(points, uncertainty, Outcomes(outcomes, pd.DataFrame()), ("basic",), section)
    (row,) = table.to_dict("records")
    # Two equally good splits.
    assert {"who = one": row["low"], "who = other": row["high"]}[row["parameter"]] == 0.5
    assert (row["share_bad"], row["coverage"], row["density"]) == (pytest.approx(1 / 3), 1.0, 1.0)
