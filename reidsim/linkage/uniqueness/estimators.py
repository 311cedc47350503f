"""Estimators of population uniqueness by name."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from reidsim.errors import InputError, not_among
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.uniqueness.estimate import UniquenessEstimate
from reidsim.linkage.uniqueness.ewens import ewens_uniqueness
from reidsim.linkage.uniqueness.pitman import pitman_uniqueness
from reidsim.linkage.uniqueness.snb import snb_uniqueness
from reidsim.linkage.uniqueness.zayatz import zayatz_uniqueness

UniquenessMethod = Literal["pitman", "ewens", "snb", "zayatz"]


def estimate_uniqueness(
    frequencies: GroupFrequencies,
    population_size: int,
    *,
    method: UniquenessMethod = "pitman",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> UniquenessEstimate:
    """Estimate population uniqueness from a sample's group sizes.

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
        If there is no such method, Zayatz's lacks a generator, the level is not between 0 and 1, or the sample does not
        fit the population or the model.
    """
    without_draws = {"pitman": pitman_uniqueness, "ewens": ewens_uniqueness, "snb": snb_uniqueness}
    if method in without_draws:
        return without_draws[method](frequencies, population_size, level=level)
    if method == "zayatz":
        if rng is None:
            raise InputError("the bootstrap needs a random generator", where="rng", expected="numpy.random.Generator")
        return zayatz_uniqueness(frequencies, population_size, rng=rng, level=level)
    methods = get_args(UniquenessMethod)
    raise not_among("unknown method", method, methods, where="method")
