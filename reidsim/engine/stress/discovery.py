"""Scenario discovery: boxes of parameter values in which an outcome is bad, found by PRIM.

The patient rule induction method (Friedman & Fisher 1999, Bump hunting in high-dimensional data, Statistics and
Computing 9) starts with a box that holds all points. Each step peels a small share of the points off one end of one
parameter: the peel that leaves the largest share of bad points. Peeling ends when the box would become too small. The
boxes of all steps are the peeling trajectory.

Bryant & Lempert 2010, Thinking inside the box, Technological Forecasting and Social Change 77, judge a box by its
coverage (share of all bad points that lie inside), its density (share of the points inside that are bad) and its number
of restricted parameters. The box of the trajectory with the highest harmonic mean of coverage and density is chosen; no
other box of the trajectory has both a higher coverage and a higher density. Its points are then removed, and the search
repeats on the others (covering). Boxes are not enlarged again after peeling (no pasting).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.stress.analyses import Outcomes, are_numbers
from reidsim.scenarios import schema

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
BOX_COLUMNS = ("box", "parameter", "low", "high", "coverage", "density", "share_of_points")
PEELING_COLUMNS = ("box", "step", *BOX_COLUMNS[1:], "restricted", "chosen")
# A box is chosen only if at least this share of its points is bad.
_PREVAIL = 0.5
# Share of the points of a box that one step removes. Friedman & Fisher recommend 0.05 to 0.1: small steps are patient.
_PEEL = 0.05


class Step(NamedTuple):
    """A box of a peeling trajectory.

    Attributes
    ----------
    inside : ndarray of bool, shape (n_points,)
        Whether each point is in the box.
    bounds : dict of int to (float, float)
        Bounds of the box by index of the parameter; NaN on an open side. Values are above the low bound, and at most
        the high bound.
    peeled : int
        Index of the parameter that the step peeled; -1 for the first box.
    """

    inside: Bools
    bounds: dict[int, tuple[float, float]]
    peeled: int


def _peels(points: Floats, box: Step) -> Iterator[Step]:
    """Yield the box after each possible peel of a box.

    Equal values are removed together, at least the outermost one. A parameter with a single value is not peeled.
    """
    most = _PEEL * box.inside.sum()
    for column, values in enumerate(points.T):
        distinct, counts = np.unique(values[box.inside], return_counts=True)
        if len(distinct) > 1:
            low, high = box.bounds.get(column, (np.nan, np.nan))
            below, above = (max(1, int((np.cumsum(each) <= most).sum())) for each in (counts, counts[::-1]))
            low_cut = float(distinct[below - 1] + distinct[below]) / 2
            high_cut = float(distinct[-above - 1] + distinct[-above]) / 2
            yield Step(box.inside & (values > low_cut), {**box.bounds, column: (low_cut, high)}, column)
            yield Step(box.inside & (values <= high_cut), {**box.bounds, column: (low, high_cut)}, column)


def trajectory(points: Floats, bad: Bools, remaining: Bools, restrictions: int, least: int) -> list[Step]:
    """Return the boxes of the peeling trajectory, beginning with all remaining points.

    Each peel leaves the largest possible share of bad points. Of equally good peels, the one that leaves more points is
    taken, then the first.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, n_parameters)
    bad, remaining : ndarray of bool, shape (n_points,)
        Whether each point is bad, and whether it is in no earlier box.
    restrictions : int
        Maximum number of parameters that bound a box.
    least : int
        Minimum number of points in a box.
    """
    steps = [Step(remaining, {}, -1)]
    while True:
        peels = _peels(points, steps[-1])
        usable = [step for step in peels if step.inside.sum() >= least and len(step.bounds) <= restrictions]
        best = max(usable, key=lambda step: (bad[step.inside].mean(), step.inside.sum()), default=None)
        if best is None:
            return steps
        steps.append(best)


def find_boxes(
    parameters: list[str], points: Floats, bad: Bools, *, restrictions: int = 3, smallest: float = 0.05
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return boxes in which at least half of the points are bad, and their peeling trajectories.

    Parameters
    ----------
    parameters : list of str
    points : ndarray of float64, shape (n_points, n_parameters)
    bad : ndarray of bool, shape (n_points,)
    restrictions : int
        Maximum number of parameters that bound a box.
    smallest : float
        Minimum share of all points in a box.

    Returns
    -------
    boxes : DataFrame
        Columns `BOX_COLUMNS`; one row per box and parameter that bounds it. Boxes are numbered from 1 in the order in
        which they are found; points in an earlier box do not count in a later one. ``low`` or ``high`` is missing if
        the box is not bounded on that side; a point is inside if ``low < value <= high``. ``coverage``, ``density`` and
        ``share_of_points`` (share of all points) are measures of the box. The table is empty if no point is bad or no
        box qualifies. A box without bounds (for example, because all points are bad) has one row with an empty
        ``parameter``.
    peeling : DataFrame
        Columns `PEELING_COLUMNS`; one row per box and step, from step 0 without bounds: the parameter that was peeled,
        its bounds and the measures of the box after the step, the number of parameters that bound it (``restricted``),
        and whether it is the ``chosen`` box. The last trajectory may have none.
    """
    boxes, steps, remaining = list[tuple[Any, ...]](), list[tuple[Any, ...]](), np.ones(len(bad), dtype=np.bool_)
    least = max(1, int(np.ceil(smallest * len(bad))))
    while (bad & remaining).any() and remaining.sum() >= least:
        path = trajectory(points, bad, remaining, restrictions, least)
        hits = np.array([(step.inside & bad).sum() for step in path])
        sizes = np.array([step.inside.sum() for step in path])
        measures = [*zip(hits / bad.sum(), hits / sizes, sizes / len(bad), strict=True)]
        score = np.where(hits >= _PREVAIL * sizes, hits / (sizes + (bad & remaining).sum()), -1.0)
        chosen, number = int(score.argmax()) if score.max() > 0 else -1, len({row[0] for row in steps}) + 1
        for place, (step, measured) in enumerate(zip(path, measures, strict=True)):
            peeled = parameters[step.peeled] if step.bounds else ""
            bounds = step.bounds.get(step.peeled, (np.nan, np.nan))
            steps.append((number, place, peeled, *bounds, *measured, len(step.bounds), place == chosen))
            if place == chosen:
                named = [(parameters[column], *each) for column, each in sorted(step.bounds.items())]
                boxes += [(number, *bound, *measured) for bound in named or [("", np.nan, np.nan)]]
        if chosen < 0:
            break
        remaining = remaining & ~path[chosen].inside
    return pd.DataFrame(boxes, columns=list(BOX_COLUMNS)), pd.DataFrame(steps, columns=list(PEELING_COLUMNS))


def box_tables(
    points: pd.DataFrame,
    uncertainty: schema.UncertaintySection,
    outcomes: Outcomes,
    policies: tuple[str, ...],
    section: schema.DiscoverySection,
) -> dict[str, pd.DataFrame]:
    """Return each policy's boxes of parameter values in which an output is bad.

    A point (a row of `points`) is bad if the output in `outcomes` is below `section.below` or, if that is not set,
    above `section.above`. Points without the output are ignored.

    Returns
    -------
    dict of str to DataFrame
        ``boxes``: one row per policy, box and parameter that bounds the box; ``peeling``: one row per policy, box and
        step. Both have ``policy`` and ``output``, ``boxes`` also ``share_bad`` (share of bad points among the points
        that have the output); for the other columns, see `find_boxes`. In ``boxes``, a policy without a box has one
        row, with box 0, an empty ``parameter`` and missing numbers.
    """
    columns, parts = dict[str, list[Any]](), list[tuple[pd.DataFrame, pd.DataFrame]]()
    for key in points.columns:
        values, distribution = points[key].tolist(), uncertainty.parameters[key]
        if isinstance(distribution, schema.Discrete) and not are_numbers(values):
            # One indicator column (0 or 1) per possible value, named ``key = value``.
            columns |= {f"{key} = {option}": [value == option for value in values] for option in distribution.values}
        else:
            columns[key] = values
    names, numbers = [*columns], np.array([*columns.values()], dtype=np.float64).T
    for policy, values in zip(policies, outcomes.matrix(section.output, policies, len(points)), strict=True):
        known = np.isfinite(values)
        bad = (values < section.below if section.below is not None else values > section.above)[known]
        boxes, peeling = find_boxes(
            names, numbers[known], bad, restrictions=section.restrictions, smallest=section.smallest
        )
        if boxes.empty:
            boxes = pd.DataFrame([(0, "", *[np.nan] * 5)], columns=list(BOX_COLUMNS))
        share = float(bad.mean()) if known.any() else np.nan
        about = {"policy": policy, "output": section.output}
        parts.append((boxes.assign(**about, share_bad=share), peeling.assign(**about)))
    found, paths = (pd.concat(each, ignore_index=True) for each in zip(*parts, strict=True))
    return {
        "boxes": found[["policy", "output", "share_bad", *BOX_COLUMNS]],
        "peeling": paths[["policy", "output", *PEELING_COLUMNS]],
    }
