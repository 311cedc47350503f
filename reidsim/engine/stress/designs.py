"""The points at which sensitivity is computed: from probabilities to values of the uncertain parameters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from reidsim.engine.batch.sampling import Floats, draw_points, quantiles
from reidsim.engine.stress.sensitivity import Design, morris_design, sobol_design
from reidsim.errors import InputError
from reidsim.random_streams import random_stream
from reidsim.scenarios.design_schema import Discrete, Distribution, LogNormal, Normal, UncertaintySection
from reidsim.scenarios.stress_schema import SensitivitySection

# A grid of Morris begins and ends at the first and last value; those of a distribution without bounds are here.
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
            "sensitivity is defined for independent parameters", where="uncertainty.correlations", found=keys,
            expected="none; robustness takes correlations into account",
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
    """Tell whether all values are numbers; truth values are none."""
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
