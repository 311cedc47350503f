"""Sensitivity of outputs to uncertain parameters.

Sobol indices and Morris screening are computed with SALib. Both methods evaluate the model at a design of points that
consists of blocks. A Sobol block (Saltelli 2010) holds two independent points and, for each parameter, the first point
with this parameter taken from the second point. A Morris block is a trajectory that changes one parameter at a time. A
block is usable only as a whole: it is omitted if any of its runs failed or lacks the output. Indices are missing if
fewer than half of the blocks remain.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.core.randomness import random_stream
from reidsim.engine.batch.design import quantiles
from reidsim.engine.stress.outcomes import Outcomes
from reidsim.errors import InputError
from reidsim.scenarios.design_schema import LogNormal, Normal, SensitivitySection, UncertaintySection

Floats = NDArray[np.float64]
COLUMNS = ("index", "parameter", "other", "value", "low", "high", "blocks", "blocks_left_out")
# Minimum share of usable blocks for computing indices.
_ENOUGH = 0.5
# An output that varies by less than this fraction of its magnitude counts as constant; the variation is rounding.
_CONSTANT = 1e-12
# A Sobol index (between 0 and 1) with a larger half-width of its interval is too uncertain to rank parameters.
_WIDE = 0.2
# A Morris grid includes levels 0 and 1. On an unbounded side, a distribution is cut at this tail probability instead.
_TAIL = 0.005
# Some distributions have no finite quantile at levels 0 and 1.
_EDGE = 2.0**-53
# Names of the indices here and in SALib.
_INDICES = {
    "sobol": {"first-order": "S1", "total": "ST"},
    "morris": {"mu_star": "mu_star", "mu": "mu", "sigma": "sigma"},
}


@dataclass(frozen=True, eq=False)
class Design:
    """Points of the unit cube at which a model is evaluated.

    Parameters
    ----------
    parameters : tuple of str
    section : SensitivitySection
        Method and its options.
    probabilities : ndarray of float64, shape (n_runs, n_parameters)
        Levels in [0, 1]; each parameter takes the quantile of its distribution at this level. A Sobol design has
        ``samples (d + 2)`` runs for d parameters, or ``samples (2 d + 2)`` for indices of pairs; a Morris design has
        ``samples (d + 1)`` runs.
    """

    parameters: tuple[str, ...]
    section: SensitivitySection
    probabilities: Floats

    @property
    def block_size(self) -> int:
        """Number of runs in a block; there are `section.samples` blocks."""
        return len(self.probabilities) // self.section.samples

    def points(self, uncertainty: UncertaintySection) -> pd.DataFrame:
        """Return the values of the parameters, one row per run, one column per key path.

        For a Morris design, a tail with probability `_TAIL` is cut off on each unbounded side: levels in [0, 1] are
        mapped linearly to the levels without tails. Only normal and lognormal distributions have unbounded sides.
        """
        columns = {}
        for (key, distribution), levels in zip(uncertainty.parameters.items(), self.probabilities.T, strict=True):
            if self.section.method == "morris" and isinstance(distribution, Normal | LogNormal):
                # The bound 0 of a lognormal variable does not count: its logarithm is unbounded and needs a cut, too.
                low = 0.0 if distribution.low is not None else _TAIL
                high = 1.0 if distribution.high is not None else 1 - _TAIL
                levels = low + (high - low) * levels
            columns[key] = quantiles(distribution, np.clip(levels, _EDGE, 1 - _EDGE))
        return pd.DataFrame(columns)


def _problem(parameters: tuple[str, ...]) -> dict[str, Any]:
    return {"num_vars": len(parameters), "names": list(parameters), "bounds": [[0.0, 1.0]] * len(parameters)}


def stress_seeds(seed: int) -> tuple[int, int]:
    """Return the seeds of the design and of the bootstrap.

    They are never 0, because SALib treats 0 as no seed.
    """
    first, second = random_stream(seed, "stress").integers(1, 2**31, size=2).tolist()
    return first, second


def sensitivity_design(uncertainty: UncertaintySection, section: SensitivitySection, seed: int) -> Design:
    """Return the design of a sensitivity analysis.

    Raises
    ------
    InputError
        If parameters are correlated; the indices decompose the variance under independent parameters only.
    """
    if uncertainty.correlations:
        keys = " and ".join(uncertainty.correlations[0].keys)
        expected = "no correlations; only robustness supports correlations"
        problem, where = "sensitivity indices need independent parameters", "uncertainty.correlations"
        raise InputError(problem, where=where, found=keys, expected=expected)
    return design_of(tuple(uncertainty.parameters), section, stress_seeds(seed)[0])


def design_of(parameters: tuple[str, ...], section: SensitivitySection, seed: int) -> Design:
    """Return Saltelli's design on a scrambled Sobol sequence, or random trajectories on a grid (Morris)."""
    sample = import_module(f"SALib.sample.{section.method}").sample
    own: dict[str, Any] = {"num_levels": section.levels}
    if section.method == "sobol":
        own = {"calc_second_order": section.second_order, "scramble": True}
    return Design(parameters, section, sample(_problem(parameters), section.samples, seed=seed, **own))


def analyse(design: Design, output: Floats, *, seed: int) -> pd.DataFrame:
    """Compute the indices of one output over a design.

    Parameters
    ----------
    design : Design
    output : ndarray of float64, shape (n_runs,)
        Output of each run, in the order of the design; NaN if a run failed or lacks the output.
    seed : int
        Seed of the bootstrap, at least 1.

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
    section, names = design.section, design.parameters
    pairs = section.method == "sobol" and section.second_order
    runs = output.reshape(section.samples, design.block_size)
    whole = np.isfinite(runs).all(axis=1)
    kept = runs[whole].ravel()
    found: dict[str, Any] = {}
    constant = np.nan
    if whole.sum() >= max(2, _ENOUGH * section.samples):
        if np.ptp(kept) <= _CONSTANT * max(1.0, np.abs(kept).max()):
            constant = 0.0
        else:
            analyze = import_module(f"SALib.analyze.{section.method}").analyze
            bootstrap = {"num_resamples": section.resamples, "conf_level": section.confidence, "seed": seed}
            points = design.probabilities[np.repeat(whole, design.block_size)]
            given: Any = (kept,) if section.method == "sobol" else (points, kept)
            own = {"calc_second_order": pairs} if section.method == "sobol" else {"num_levels": section.levels}
            found = analyze(_problem(names), *given, **own, **bootstrap)
    same, missing = np.full(len(names), constant), np.full(len(names), np.nan)
    rows = []
    for index, key in _INDICES[section.method].items():
        # SALib has no interval for `mu` and `sigma`; the indices of a constant output are known exactly.
        both = found.get(key, same), found.get(f"{key}_conf", missing if found else same)
        rows += [(index, name, "", v, h) for name, v, h in zip(names, *both, strict=True)]
    if pairs:
        square = np.full((len(names), len(names)), constant)
        values, half_widths = (found.get(key, square) for key in ("S2", "S2_conf"))
        places = itertools.combinations(range(len(names)), 2)
        rows += [("second-order", names[i], names[j], values[i, j], half_widths[i, j]) for i, j in places]
    table = pd.DataFrame(rows, columns=["index", "parameter", "other", "value", "half"])
    half = table.pop("half").to_numpy(dtype=np.float64)
    value = table["value"].astype(np.float64)
    bounds = {"value": value, "low": value - half, "high": value + half}
    return table.assign(**bounds, blocks=int(whole.sum()), blocks_left_out=int((~whole).sum()))


def sensitivity_table(
    design: Design, outcomes: Outcomes, policies: tuple[str, ...], outputs: Sequence[str], seed: int
) -> pd.DataFrame:
    """Return the sensitivity indices of every output under every policy.

    One row per output, policy, index and parameter: ``policy``, ``output``, and the columns of `analyse`. `seed` is the
    seed of the bootstrap.
    """
    parts = []
    for output in outputs:
        values = outcomes.matrix(output, policies, len(design.probabilities))
        for policy, runs in zip(policies, values, strict=True):
            indices = analyse(design, runs, seed=seed)
            indices.insert(0, "policy", policy)
            indices.insert(1, "output", output)
            parts.append(indices)
    return pd.concat(parts, ignore_index=True)


def sensitivity_warnings(table: pd.DataFrame, section: SensitivitySection) -> list[str]:
    """Return warnings about omitted blocks and uncertain Sobol indices.

    There is one warning per policy and output with omitted blocks (see `analyse`), and one for all Sobol indices whose
    intervals are too wide to rank parameters.
    """
    blocks, warnings = "Sobol samples" if section.method == "sobol" else "Morris trajectories", []
    for row in table.drop_duplicates(["policy", "output"]).to_dict("records"):
        if row["blocks_left_out"]:
            few = "; too few remain for an estimate" if np.isnan(row["value"]) else ""
            warnings.append(
                f"sensitivity of {row['output']} under {row['policy']} leaves out {row['blocks_left_out']:,} of "
                f"{section.samples:,} {blocks}, in which a run failed or lacks the output{few}"
            )
    half_width = (table["high"] - table["low"]) / 2
    if section.method == "sobol" and half_width.max() > _WIDE:
        widest = table.iloc[int(half_width.argmax())]
        outputs = table[half_width > _WIDE].drop_duplicates(["policy", "output"])
        warnings.append(
            f"sensitivity: {len(outputs):,} outputs have indices that are uncertain by more than {_WIDE:g}; the "
            f"widest is {widest['output']} under {widest['policy']} ({half_width.max():.2f}); use more samples"
        )
    return warnings
