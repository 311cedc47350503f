"""Scenario discovery: which box of parameter values makes an outcome bad.

A classification tree (CART, of scikit-learn) splits the points of the uncertainty set into boxes. Boxes in which bad
points prevail are returned with the three measures of Bryant & Lempert 2010, Thinking inside the box, Technological
Forecasting and Social Change 77: coverage (share of all bad points inside), density (share of the points inside that
are bad) and the number of parameters that bound the box.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
COLUMNS = ("box", "parameter", "low", "high", "coverage", "density", "share_of_points")
# Bad points prevail in a box in which they are at least this share.
_PREVAIL = 0.5


def find_boxes(
    parameters: list[str], points: Floats, bad: NDArray[np.bool_], *, restrictions: int = 3, smallest: float = 0.05
) -> pd.DataFrame:
    """Find the boxes in which bad points prevail.

    Parameters
    ----------
    parameters : list of str
    points : ndarray of float64, shape (n_points, n_parameters)
    bad : ndarray of bool, shape (n_points,)
    restrictions : int
        Splits that lead to a box at most.
    smallest : float
        Share of the points that a box holds at least.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`; one row per box, from 1 on by falling coverage, and parameter that bounds it; ``low`` and
        ``high`` are missing where it is not bounded on that side. A point is inside with ``low < value <= high``. No
        row if no point is bad or no box qualifies; if all are bad, the one box has no bound and ``parameter`` is
        empty.
    """
    from sklearn.tree import DecisionTreeClassifier

    if not bad.any():
        return pd.DataFrame([], columns=list(COLUMNS))
    tree = DecisionTreeClassifier(
        max_depth=restrictions,
        min_samples_leaf=max(1, int(np.ceil(smallest * len(bad)))),
        random_state=0,  # which of two equally good splits comes first must not change from run to run
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
    """Return which points are in a box of bounds by column, compared in single precision like in scikit-learn."""
    held = np.ones(len(points), dtype=np.bool_)
    for column, (low, high) in box.items():
        value = points[:, column].astype(np.float32)
        held &= (value > low) & (value <= high)
    return held


def _measures(
    box: dict[int, tuple[float, float]], points: Floats, bad: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Return coverage, density and share of points of a box."""
    held = inside(box, points)
    return float((held & bad).sum() / bad.sum()), float(bad[held].mean()), float(held.mean())


def _bounds(box: dict[int, tuple[float, float]], parameters: list[str]) -> list[tuple[str, float, float]]:
    if not box:
        return [("", np.nan, np.nan)]
    bounds = [(parameters[column], *box[column]) for column in sorted(box)]
    return [(name, low if low > -np.inf else np.nan, high if high < np.inf else np.nan) for name, low, high in bounds]
