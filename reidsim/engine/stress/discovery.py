"""Scenario discovery: boxes of parameter values in which an outcome is bad.

A classification tree (CART, from scikit-learn) splits the points of the uncertainty set into boxes. Boxes in which at
least half of the points are bad are returned with the three measures of Bryant & Lempert 2010, Thinking inside the box,
Technological Forecasting and Social Change 77: coverage (share of all bad points that lie inside), density (share of
the points inside that are bad) and the number of parameters that bound the box.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
COLUMNS = ("box", "parameter", "low", "high", "coverage", "density", "share_of_points")
# A box is returned if at least this share of its points is bad.
_PREVAIL = 0.5


def find_boxes(
    parameters: list[str], points: Floats, bad: NDArray[np.bool_], *, restrictions: int = 3, smallest: float = 0.05
) -> pd.DataFrame:
    """Return the boxes in which at least half of the points are bad.

    Parameters
    ----------
    parameters : list of str
    points : ndarray of float64, shape (n_points, n_parameters)
    bad : ndarray of bool, shape (n_points,)
    restrictions : int
        Maximum number of splits that lead to a box.
    smallest : float
        Minimum share of all points in a box.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`; one row per box and parameter that bounds it. Boxes are numbered from 1 by decreasing
        coverage, then density. ``low`` or ``high`` is missing if the box is not bounded on that side; a point is inside
        if ``low < value <= high``. ``coverage`` and ``density`` are measures of the box, ``share_of_points`` is its
        share of all points. The table is empty if no point is bad or no box qualifies. If the tree does not split the
        points (for example, because all are bad), the only box has no bounds and one row with an empty ``parameter``.
    """
    from sklearn.tree import DecisionTreeClassifier

    if not bad.any():
        return pd.DataFrame([], columns=list(COLUMNS))
    tree = DecisionTreeClassifier(
        max_depth=restrictions,
        min_samples_leaf=max(1, int(np.ceil(smallest * len(bad)))),
        random_state=0,  # the choice between equally good splits must be reproducible
    ).fit(points, bad)
    structure = tree.tree_
    boxes: list[dict[int, tuple[float, float]]] = []

    def descend(node: int, bounds: dict[int, tuple[float, float]]) -> None:
        if structure.children_left[node] == structure.children_right[node]:
            boxes.append(bounds)
            return
        feature, threshold = int(structure.feature[node]), float(structure.threshold[node])
        low, high = bounds.get(feature, (-np.inf, np.inf))
        descend(int(structure.children_left[node]), {**bounds, feature: (low, threshold)})
        descend(int(structure.children_right[node]), {**bounds, feature: (threshold, high)})

    descend(0, {})
    measured = [(box, *_measures(box, points, bad)) for box in boxes]
    prevailing = [entry for entry in measured if entry[2] >= _PREVAIL]
    prevailing.sort(key=lambda entry: (-entry[1], -entry[2]))
    rows = [
        (number, name, low, high, coverage, density, share)
        for number, (box, coverage, density, share) in enumerate(prevailing, start=1)
        for name, low, high in _bounds(box, parameters)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def inside(box: dict[int, tuple[float, float]], points: Floats) -> NDArray[np.bool_]:
    """Return which points lie in a box, given its bounds by column.

    Values are compared in single precision, like in scikit-learn.
    """
    held = np.ones(len(points), dtype=np.bool_)
    for column, (low, high) in box.items():
        value = points[:, column].astype(np.float32)
        held &= (value > low) & (value <= high)
    return held


def _measures(
    box: dict[int, tuple[float, float]], points: Floats, bad: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Return the coverage and density of a box, and its share of all points."""
    held = inside(box, points)
    return float((held & bad).sum() / bad.sum()), float(bad[held].mean()), float(held.mean())


def _bounds(box: dict[int, tuple[float, float]], parameters: list[str]) -> list[tuple[str, float, float]]:
    if not box:
        return [("", np.nan, np.nan)]
    bounds = [(parameters[column], *box[column]) for column in sorted(box)]
    return [(name, low if low > -np.inf else np.nan, high if high < np.inf else np.nan) for name, low, high in bounds]
