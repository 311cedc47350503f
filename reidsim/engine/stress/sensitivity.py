"""Which uncertain parameter moves an output: Sobol indices and Morris screening, through SALib.

Both methods run the model at a design of points made of blocks. A Sobol block (Saltelli 2010) holds two independent
points and, for each parameter, the first of them with that parameter taken from the second; a Morris block is a
trajectory that moves one parameter at a time. An output of a block can only be used whole, so a block in which any run
failed, or has no such output, is left out whole. At least half of the blocks must remain; otherwise indices are
missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Method = Literal["sobol", "morris"]
COLUMNS = ("index", "parameter", "other", "value", "low", "high", "blocks", "blocks_left_out")
# Share of blocks that must be left for indices to be told.
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
    """Work out the indices of one output over a design.

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
    indices = _indices(design)
    table = pd.DataFrame(indices, columns=["index", "parameter", "other"])
    enough = whole.sum() >= max(2, _ENOUGH * design.blocks)
    if not enough:
        table = table.assign(value=np.nan, low=np.nan, high=np.nan)
    elif np.ptp(kept) <= _CONSTANT * max(1.0, np.abs(kept).max()):
        table = table.assign(value=0.0, low=0.0, high=0.0)
    elif design.method == "sobol":
        table = _with(table, _sobol(design, kept, seed, confidence, resamples))
    else:
        inside = np.repeat(whole, design.block_size)
        table = _with(table, _morris(design, design.probabilities[inside], kept, seed, confidence, resamples))
    return table.assign(blocks=int(whole.sum()), blocks_left_out=int((~whole).sum()))[list(COLUMNS)]


def _problem(parameters: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(parameters), "names": list(parameters), "bounds": [[0.0, 1.0]] * len(parameters)}


def _indices(design: Design) -> list[tuple[str, str, str]]:
    """Return index, parameter and other parameter of every row of a table of indices."""
    names = design.parameters
    kinds = ("first-order", "total") if design.method == "sobol" else ("mu_star", "mu", "sigma")
    single: list[tuple[str, str, str]] = [(kind, name, "") for kind in kinds for name in names]
    if not design.second_order:
        return single
    return single + [("second-order", a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def _with(table: pd.DataFrame, found: tuple[list[float], list[float]]) -> pd.DataFrame:
    value, half_width = (np.asarray(numbers, dtype=np.float64) for numbers in found)
    return table.assign(value=value, low=value - half_width, high=value + half_width)


def _sobol(
    design: Design, output: Floats, seed: int, confidence: float, resamples: int
) -> tuple[list[float], list[float]]:
    from SALib.analyze.sobol import analyze

    found = analyze(
        _problem(design.parameters),
        output,
        calc_second_order=design.second_order,
        num_resamples=resamples,
        conf_level=confidence,
        seed=seed,
    )
    values, half_widths = [*found["S1"], *found["ST"]], [*found["S1_conf"], *found["ST_conf"]]
    if design.second_order:
        upper = np.triu_indices(len(design.parameters), 1)
        values += [*found["S2"][upper]]
        half_widths += [*found["S2_conf"][upper]]
    return values, half_widths


def _morris(
    design: Design, probabilities: Floats, output: Floats, seed: int, confidence: float, resamples: int
) -> tuple[list[float], list[float]]:
    from SALib.analyze.morris import analyze

    found = analyze(
        _problem(design.parameters),
        probabilities,
        output,
        num_resamples=resamples,
        conf_level=confidence,
        num_levels=design.levels,
        seed=seed,
    )
    none = [np.nan] * len(design.parameters)
    return [*found["mu_star"], *found["mu"], *found["sigma"]], [*found["mu_star_conf"], *none, *none]
