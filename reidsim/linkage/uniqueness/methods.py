"""Estimates of population uniqueness from a sample by every method, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reidsim.errors import InputError
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.individual_risk import individual_risk
from reidsim.linkage.uniqueness.estimate import Found, UniquenessEstimate, require_usable
from reidsim.linkage.uniqueness.log_linear import SIGNIFICANT, LogLinearModel, all_pairs, fitting_model
from reidsim.linkage.uniqueness.pitman import pitman
from reidsim.linkage.uniqueness.sample_cells import Floats, SampleCells, benedetti_franconi_uniqueness
from reidsim.linkage.uniqueness.snb import snb
from reidsim.linkage.uniqueness.zayatz import zayatz
from reidsim.wording import counted

UniquenessMethod = Literal["pitman", "ewens", "snb", "zayatz"]
# Methods that use only group sizes, for samples with equal probabilities.
_BY_GROUP_SIZES: tuple[UniquenessMethod, ...] = ("pitman", "ewens", "zayatz")


def estimate_uniqueness(
    frequencies: GroupFrequencies,
    population_size: int,
    *,
    method: UniquenessMethod = "pitman",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> UniquenessEstimate:
    """Estimate population uniqueness from a sample's group sizes.

    If the sample is the whole population, every sample unique is unique, and the intervals have no width.

    Parameters
    ----------
    frequencies : GroupFrequencies
        Group sizes of the sample.
    population_size : int
        Number of people in the population, including the sample.
    method : {"pitman", "ewens", "snb", "zayatz"}
        Pitman's formula, Ewens's formula, slide negative binomial model, or Zayatz's estimator.
    level : float
        Confidence level of the intervals, between 0 and 1.
    rng : numpy.random.Generator, optional
        Random generator for Zayatz's bootstrap; the other methods need none.

    Raises
    ------
    InputError
        If the level is not between 0 and 1, or the sample does not fit the population or the model.
    """
    require_usable(frequencies, population_size, level)
    sample = frequencies, int(population_size), level
    if frequencies.records == population_size:
        level, uniques = 1.0, float(frequencies.uniques)
        found = Found((uniques, uniques, uniques), (1.0, 1.0, 1.0), note="the sample is the whole population")
    elif method == "zayatz":
        found = zayatz(*sample, np.random.default_rng() if rng is None else rng)
    else:
        found = snb(*sample) if method == "snb" else pitman(*sample, ewens=method == "ewens")
    sizes = int(population_size), frequencies.records, frequencies.uniques
    return UniquenessEstimate(method, *sizes, *found.uniques, *found.staying, level, found.parameters, found.note)


@dataclass(frozen=True)
class Uniqueness:
    """Estimates of population uniqueness from a sample by several methods.

    Parameters
    ----------
    estimates : tuple of UniquenessEstimate
    taken : str
        Method of the chosen estimate.
    reason : str
        Reason of the choice, in a sentence without a full stop.
    cells : SampleCells
        Cells of the sample.
    risks : dict of str to ndarray of float64, shape (n_cells,)
        Expected 1 / size of each cell's group in the population, by method.
    """

    estimates: tuple[UniquenessEstimate, ...]
    taken: str
    reason: str
    cells: SampleCells
    risks: dict[str, Floats]


def uniqueness_of_sample(cells: SampleCells, *, rng: np.random.Generator, level: float = 0.95) -> Uniqueness:
    """Estimate population uniqueness by every method, and choose an estimate.

    The choice is the log-linear model of `fitting_model`, with as many interactions as its bias requires. If the table
    of all combinations of values is too large to be fitted, the choice is Pitman's formula. Among the methods that use
    only group sizes, it fits long tails, and on known populations it errs on the high side more often. The individual
    risk is never chosen, because it makes a record of weight w population unique with probability 1 / w, independent of
    its values.

    Parameters
    ----------
    cells : SampleCells
    rng : numpy.random.Generator
        Random generator for Zayatz's bootstrap.
    level : float
        Confidence level of the intervals.

    Raises
    ------
    InputError
        If the sample is a single record of a larger population, or the level is not between 0 and 1.
    """
    models: list[LogLinearModel] = []
    risks = {"benedetti-franconi": individual_risk(cells.records, cells.people)}
    try:
        fitting = fitting_model(cells)
        models = [LogLinearModel(cells), LogLinearModel(cells, all_pairs(cells), start=fitting)]
        models.insert(1, fitting)
        taken, reason = fitting.method, _reason_of_model(models[0], fitting)
        risks = {model.method: model.individual_risk() for model in models} | risks
    except InputError as error:
        reason = f"the table of all combinations of values has {error.found:,} cells, too many for a log-linear model"
        reason += "" if cells.equal_weights else "; the estimate assumes equal sampling weights, but the weights differ"
        taken = "pitman"
    size = round(cells.population_size)
    by_sizes = [
        estimate_uniqueness(cells.frequencies, size, method=method, level=level, rng=rng) for method in _BY_GROUP_SIZES
    ]
    estimates = (
        *{model.method: model.uniqueness(level=level) for model in models}.values(),
        benedetti_franconi_uniqueness(cells, level=level),
        *by_sizes,
    )
    return Uniqueness(estimates, taken, reason, cells, risks)


def _reason_of_model(independence: LogLinearModel, fitting: LogLinearModel) -> str:
    reason = f"the model with independent attributes has a bias of z = {independence.bias_z:.1f}"
    if fitting.pairs:
        pairs = counted(len(fitting.pairs), "interaction")
        reason += f", the model with {pairs} of two attributes has a bias of z = {fitting.bias_z:.1f}"
    if abs(fitting.bias_z) <= SIGNIFICANT:
        return f"{reason}: no significant bias"
    if fitting.bias_z < 0:
        return f"{reason}: the estimate is probably too low"
    return f"{reason}: the estimate is probably too high, which is conservative"
