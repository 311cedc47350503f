"""Sensitivity of outputs to uncertain parameters.

Sobol indices and Morris screening are computed with SALib. Both methods evaluate the model at a design of points that
consists of blocks. A Sobol block (Saltelli 2010) holds two independent points and, for each parameter, the first point
with this parameter taken from the second point. A Morris block is a trajectory that changes one parameter at a time. A
block is usable only as a whole: it is omitted if any of its runs failed or lacks the output. Indices are missing if
fewer than half of the blocks remain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.engine.batch.sampling import draw_points, quantiles
from reidsim.errors import InputError
from reidsim.random_streams import random_stream
from reidsim.scenarios.design_schema import Discrete, Distribution, LogNormal, Normal, UncertaintySection
from reidsim.scenarios.stress_schema import SensitivitySection

Floats = NDArray[np.float64]
Method = Literal["sobol", "morris"]
COLUMNS = ("index", "parameter", "other", "value", "low", "high", "blocks", "blocks_left_out")
# Minimum share of usable blocks for computing indices.
_ENOUGH = 0.5
# An output that varies by less than this fraction of its magnitude counts as constant; the variation is rounding.
_CONSTANT = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """Points of the unit cube at which a model is evaluated.

    Parameters
    ----------
    method : str
        ``sobol`` or ``morris``.
    parameters : tuple of str
    probabilities : ndarray of float64, shape (n_runs, n_parameters)
        Levels in [0, 1]; each parameter takes the quantile of its distribution at this level.
    blocks : int
        Number of base samples (Sobol) or trajectories (Morris).
    second_order : bool
        Whether Sobol blocks support indices of pairs of parameters.
    levels : int
        Number of grid levels of a Morris design.
    """

    method: Method
    parameters: tuple[str, ...]
    probabilities: Floats
    blocks: int
    second_order: bool = False
    levels: int = 4

    @property
    def block_size(self) -> int:
        """Number of runs in a block."""
        return len(self.probabilities) // self.blocks


def sobol_design(parameters: tuple[str, ...], samples: int, seed: int, *, second_order: bool = False) -> Design:
    """Return Saltelli's design on a scrambled Sobol sequence.

    It has ``samples (d + 2)`` runs, or ``samples (2 d + 2)`` with `second_order`.

    Parameters
    ----------
    parameters : tuple of str
        Names of the d parameters.
    samples : int
        Number of blocks; a power of 2.
    seed : int
        Seed of the scrambling.
    second_order : bool
        Whether the design supports indices of pairs of parameters.
    """
    from SALib.sample.sobol import sample

    points = sample(_problem(parameters), samples, calc_second_order=second_order, scramble=True, seed=seed)
    return Design("sobol", parameters, points, samples, second_order=second_order)


def morris_design(parameters: tuple[str, ...], samples: int, seed: int, *, levels: int = 4) -> Design:
    """Return random trajectories on a grid of the unit cube: ``samples (d + 1)`` runs.

    Parameters
    ----------
    parameters : tuple of str
        Names of the d parameters.
    samples : int
        Number of trajectories.
    seed : int
        Seed of the trajectories.
    levels : int
        Number of grid levels, an even number; the grid includes probabilities 0 and 1.
    """
    from SALib.sample.morris import sample

    points = sample(_problem(parameters), samples, num_levels=levels, seed=seed)
    return Design("morris", parameters, points, samples, levels=levels)


def analyse(
    design: Design, output: Floats, *, seed: int, confidence: float = 0.95, resamples: int = 200
) -> pd.DataFrame:
    """Compute the indices of one output over a design.

    Parameters
    ----------
    design : Design
    output : ndarray of float64, shape (n_runs,)
        Output of each run, in the order of the design; NaN if a run failed or lacks the output.
    seed : int
        Seed of the bootstrap, at least 1.
    confidence : float
        Confidence level of the intervals, in (0, 1).
    resamples : int
        Number of bootstrap resamples of blocks.

    Returns
    -------
    DataFrame
        One row per index and parameter, columns `COLUMNS`. Sobol indices: ``first-order`` (share of the output's
        variance that the parameter explains alone), ``total`` (share explained by the parameter and all its
        interactions) and ``second-order`` (of the pair of the parameter and ``other``; ``other`` is empty for the other
        indices). Morris indices: ``mu_star`` (mean absolute elementary effect, in the output's unit over the whole
        range of the parameter), ``mu`` (mean elementary effect) and ``sigma`` (standard deviation of elementary
        effects, which shows interactions or curvature). ``low`` and ``high`` are the bounds of the interval (missing
        for ``mu`` and ``sigma``). ``blocks`` and ``blocks_left_out`` are the numbers of usable and of omitted blocks.
        All indices of a constant output are 0; indices are missing if fewer than half of the blocks, or fewer than 2,
        are usable.
    """
    runs = output.reshape(design.blocks, design.block_size)
    whole = np.isfinite(runs).all(axis=1)
    kept = runs[whole].ravel()
    problem, names = _problem(design.parameters), design.parameters
    found: dict[str, Any] = {}
    constant = np.nan
    if whole.sum() >= max(2, _ENOUGH * design.blocks):
        bootstrap = {"num_resamples": resamples, "conf_level": confidence, "seed": seed}
        if np.ptp(kept) <= _CONSTANT * max(1.0, np.abs(kept).max()):
            constant = 0.0
        elif design.method == "sobol":
            from SALib.analyze.sobol import analyze as sobol

            found = sobol(problem, kept, calc_second_order=design.second_order, **bootstrap)
        else:
            from SALib.analyze.morris import analyze as morris

            points = design.probabilities[np.repeat(whole, design.block_size)]
            found = morris(problem, points, kept, num_levels=design.levels, **bootstrap)
    same, missing = np.full(len(names), constant), np.full(len(names), np.nan)
    rows = []
    for index, key in _INDICES[design.method].items():
        values = np.asarray(found.get(key, same), dtype=np.float64)
        # SALib has no interval for `mu` and `sigma`; the indices of a constant output are known exactly.
        half_widths = np.asarray(found.get(f"{key}_conf", missing if found else same), dtype=np.float64)
        rows += [(index, name, "", v, v - h, v + h) for name, v, h in zip(names, values, half_widths, strict=True)]
    if design.second_order:
        square = np.full((len(names), len(names)), constant)
        values, half_widths = (np.asarray(found.get(key, square), dtype=np.float64) for key in ("S2", "S2_conf"))
        for i, j in itertools.combinations(range(len(names)), 2):
            v, h = values[i, j], half_widths[i, j]
            rows.append(("second-order", names[i], names[j], v, v - h, v + h))
    table = pd.DataFrame(rows, columns=list(COLUMNS[:6]))
    return table.assign(blocks=int(whole.sum()), blocks_left_out=int((~whole).sum()))


# Names of the indices here and in SALib.
_INDICES = {
    "sobol": {"first-order": "S1", "total": "ST"},
    "morris": {"mu_star": "mu_star", "mu": "mu", "sigma": "sigma"},
}


def _problem(parameters: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(parameters), "names": list(parameters), "bounds": [[0.0, 1.0]] * len(parameters)}


# A Morris grid includes levels 0 and 1. On an unbounded side, a distribution is cut at this tail probability instead.
_TAIL = 0.005
# Some distributions have no finite quantile at levels 0 and 1.
_EDGE = 2.0**-53


def stress_seeds(seed: int) -> tuple[int, int]:
    """Return the seeds of the design and of the bootstrap.

    They are never 0, because SALib treats 0 as no seed.
    """
    first, second = random_stream(seed, "stress").integers(1, 2**31, size=2).tolist()
    return first, second


def sensitivity_design(uncertainty: UncertaintySection, section: SensitivitySection, seed: int) -> Design:
    """Return the design of a sensitivity analysis, as quantile levels.

    Raises
    ------
    InputError
        If parameters are correlated; the indices decompose the variance under independent parameters only.
    """
    if uncertainty.correlations:
        keys = " and ".join(uncertainty.correlations[0].keys)
        raise InputError(
            "sensitivity indices need independent parameters",
            where="uncertainty.correlations",
            found=keys,
            expected="no correlations; only robustness supports correlations",
        )
    parameters = tuple(uncertainty.parameters)
    design_seed, _ = stress_seeds(seed)
    if section.method == "sobol":
        return sobol_design(parameters, section.samples, design_seed, second_order=section.second_order)
    return morris_design(parameters, section.samples, design_seed, levels=section.levels)


def design_points(uncertainty: UncertaintySection, design: Design) -> pd.DataFrame:
    """Return the values of the parameters at each point of a design.

    There is one row per run of the design, and one column per key path. For a Morris design, tails of unbounded
    distributions are cut off; see `_without_tails`.
    """
    columns = {}
    for number, (key, distribution) in enumerate(uncertainty.parameters.items()):
        shares = design.probabilities[:, number]
        if design.method == "morris":
            shares = _without_tails(distribution, shares)
        columns[key] = quantiles(distribution, np.clip(shares, _EDGE, 1 - _EDGE))
    return pd.DataFrame(columns)


def robustness_points(uncertainty: UncertaintySection, samples: int | None, seed: int) -> pd.DataFrame:
    """Draw the points of the uncertainty set for robustness.

    `samples` replaces the scenario's number of points.

    Raises
    ------
    InputError
        If the correlations are not consistent.
    """
    changed = uncertainty if samples is None else uncertainty.model_copy(update={"samples": samples})
    return draw_points(changed, seed)


def are_numbers(values: Iterable[object]) -> bool:
    """Return whether all values are numbers; booleans do not count as numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def numeric_columns(points: pd.DataFrame, uncertainty: UncertaintySection) -> tuple[list[str], Floats]:
    """Return points as numbers.

    The result is a list of column names and an array of shape (n_points, n_columns). A parameter with non-numeric
    values has one indicator column (0 or 1) per possible value, named ``key = value``.
    """
    names: list[str] = []
    columns: list[Floats] = []
    for key in points.columns:
        values = points[key].tolist()
        if are_numbers(values):
            names.append(key)
            columns.append(np.array(values, dtype=np.float64))
            continue
        distribution = uncertainty.parameters[key]
        assert isinstance(distribution, Discrete)  # noqa: S101 - other values come from lists only
        for option in distribution.values:
            names.append(f"{key} = {option}")
            columns.append(np.array([value == option for value in values], dtype=np.float64))
    return names, np.column_stack(columns)


def _without_tails(distribution: Distribution, shares: Floats) -> Floats:
    """Map levels in [0, 1] linearly to levels without the tails of a distribution.

    A tail with probability `_TAIL` is excluded on each unbounded side. Only normal and lognormal distributions have
    unbounded sides.
    """
    if not isinstance(distribution, Normal | LogNormal):
        return shares
    # The bound 0 of a lognormal variable does not count: its logarithm is unbounded, so it needs a cut tail, too.
    low = 0.0 if distribution.low is not None else _TAIL
    high = 1.0 if distribution.high is not None else 1 - _TAIL
    return low + (high - low) * shares
