"""Which uncertain parameter moves an output: Sobol indices and Morris screening, through SALib.

Both methods run the model at a design of points made of blocks. A Sobol block (Saltelli 2010) holds two independent
points and, for each parameter, the first of them with that parameter taken from the second; a Morris block is a
trajectory that moves one parameter at a time. An output of a block can only be used whole, so a block in which any run
failed, or has no such output, is omitted. At least half of the blocks must remain; otherwise indices are
missing.
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
# Share of blocks that must remain for indices to be computed.
_ENOUGH = 0.5
# An output that varies by less than this share of its size is constant up to rounding.
_CONSTANT = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """Points of the unit cube at which a model is run.

    Parameters
    ----------
    method : str
        ``sobol`` or ``morris``.
    parameters : tuple of str
    probabilities : ndarray of float64, shape (n_runs, n_parameters)
        In [0, 1]: which quantile of its distribution each parameter takes.
    blocks : int
        Base samples or trajectories.
    second_order : bool
        Whether Sobol blocks allow indices of pairs.
    levels : int
        Of the grid of a Morris design.
    """

    method: Method
    parameters: tuple[str, ...]
    probabilities: Floats
    blocks: int
    second_order: bool = False
    levels: int = 4

    @property
    def block_size(self) -> int:
        """Runs in a block."""
        return len(self.probabilities) // self.blocks


def sobol_design(parameters: tuple[str, ...], samples: int, seed: int, *, second_order: bool = False) -> Design:
    """Return Saltelli's design on a scrambled Sobol sequence.

    It has ``samples (d + 2)`` runs, or ``samples (2 d + 2)`` if indices of pairs are wanted.

    Parameters
    ----------
    parameters : tuple of str
        d of them.
    samples : int
        Blocks; a power of 2.
    seed : int
        Of the scrambling.
    second_order : bool
        Whether indices of pairs are wanted.
    """
    from SALib.sample.sobol import sample

    points = sample(_problem(parameters), samples, calc_second_order=second_order, scramble=True, seed=seed)
    return Design("sobol", parameters, points, samples, second_order=second_order)


def morris_design(parameters: tuple[str, ...], samples: int, seed: int, *, levels: int = 4) -> Design:
    """Return random trajectories on a grid of the unit cube: ``samples (d + 1)`` runs.

    Parameters
    ----------
    parameters : tuple of str
        d of them.
    samples : int
        Trajectories.
    seed : int
        Of the trajectories.
    levels : int
        Of the grid, even; probabilities 0 and 1 are among them.
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
        In the order of the design; NaN where a run failed or has no such output.
    seed : int
        Of the bootstrap, at least 1.
    confidence : float
        Of the intervals, in (0, 1).
    resamples : int
        Bootstrap resamples of blocks.

    Returns
    -------
    DataFrame
        One row per index and parameter, columns `COLUMNS`. Sobol: ``first-order`` (share of the output's variance
        that the parameter explains alone), ``total`` (share that goes with it and all its interactions) and
        ``second-order`` of pairs (parameter and ``other``, which is empty elsewhere). Morris: ``mu_star`` (mean size
        of the elementary effects, in the output's unit over the whole range of the parameter), ``mu`` (their mean)
        and ``sigma`` (their standard deviation: interactions or curvature). Intervals ``low`` and ``high`` where the
        method gives them. All indices of a constant output are 0; they are missing if too few blocks are left.
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
        # SALib has no interval of `mu` and `sigma`; of a constant there is nothing to estimate.
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


# Names of the indices, and SALib's.
_INDICES = {
    "sobol": {"first-order": "S1", "total": "ST"},
    "morris": {"mu_star": "mu_star", "mu": "mu", "sigma": "sigma"},
}


def _problem(parameters: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(parameters), "names": list(parameters), "bounds": [[0.0, 1.0]] * len(parameters)}


# A Morris grid includes the first and last value; for a distribution without bounds, these quantiles.
_TAIL = 0.005
# Probabilities of 0 and 1 have no value in some distributions.
_EDGE = 2.0**-53


def stress_seeds(seed: int) -> tuple[int, int]:
    """Return the seeds of designs and bootstraps under a root seed; none is 0, which SALib takes for no seed."""
    first, second = random_stream(seed, "stress").integers(1, 2**31, size=2).tolist()
    return first, second


def sensitivity_design(uncertainty: UncertaintySection, section: SensitivitySection, seed: int) -> Design:
    """Return the design of a sensitivity analysis, in probabilities.

    Raises
    ------
    InputError
        If parameters are correlated: the indices share out the variance of independent parameters.
    """
    if uncertainty.correlations:
        keys = " and ".join(uncertainty.correlations[0].keys)
        raise InputError(
            "sensitivity indices need independent parameters", where="uncertainty.correlations", found=keys,
            expected="no correlations; only robustness supports correlations",
        )  # fmt: skip
    parameters = tuple(uncertainty.parameters)
    design_seed, _ = stress_seeds(seed)
    if section.method == "sobol":
        return sobol_design(parameters, section.samples, design_seed, second_order=section.second_order)
    return morris_design(parameters, section.samples, design_seed, levels=section.levels)


def design_points(uncertainty: UncertaintySection, design: Design) -> pd.DataFrame:
    """Return the values of the parameters at each point of a design, one column per key path."""
    columns = {}
    for number, (key, distribution) in enumerate(uncertainty.parameters.items()):
        shares = design.probabilities[:, number]
        if design.method == "morris":
            shares = _without_tails(distribution, shares)
        columns[key] = quantiles(distribution, np.clip(shares, _EDGE, 1 - _EDGE))
    return pd.DataFrame(columns)


def robustness_points(uncertainty: UncertaintySection, samples: int | None, seed: int) -> pd.DataFrame:
    """Draw the points over which policies are to be robust, `samples` of them if given.

    Raises
    ------
    InputError
        If no parameters can have the correlations given.
    """
    changed = uncertainty if samples is None else uncertainty.model_copy(update={"samples": samples})
    return draw_points(changed, seed)


def are_numbers(values: Iterable[object]) -> bool:
    """Return whether all values are numbers; truth values are no numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def numeric_columns(points: pd.DataFrame, uncertainty: UncertaintySection) -> tuple[list[str], Floats]:
    """Return points as numbers: a value that is no number becomes a column ``key = value`` of zeros and ones."""
    names: list[str] = []
    columns: list[Floats] = []
    for key in points.columns:
        values = points[key].tolist()
        if are_numbers(values):
            names.append(key)
            columns.append(np.array(values, dtype=np.float64))
            continue
        distribution = uncertainty.parameters[key]
        assert isinstance(distribution, Discrete)  # noqa: S101 - only listed values can be anything but numbers
        for option in distribution.values:
            names.append(f"{key} = {option}")
            columns.append(np.array([value == option for value in values], dtype=np.float64))
    return names, np.column_stack(columns)


def _without_tails(distribution: Distribution, shares: Floats) -> Floats:
    """Squeeze probabilities 0 to 1 so that they stay away from the sides on which a distribution has no bound."""
    if not isinstance(distribution, Normal | LogNormal):
        return shares
    # A lognormal value cannot fall below 0, but half of its logarithms would lie at the very edge.
    low = 0.0 if distribution.low is not None else _TAIL
    high = 1.0 if distribution.high is not None else 1 - _TAIL
    return low + (high - low) * shares
