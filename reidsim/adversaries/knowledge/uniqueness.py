"""Probability that a sample unique is a population unique, for each knowledge set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import KnowledgeSets
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.people import RowSets
from reidsim.linkage.uniqueness.group_sizes import (
    FixedUniqueness,
    UniquenessEstimate,
    UniquenessMethod,
    estimate_uniqueness,
)
from reidsim.linkage.uniqueness.log_linear import SampleCells, benedetti_franconi_uniqueness, fitting_model
from reidsim.populations.domain import Codes, added_up, distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Methods that use the values or weights of the unique records, not only the group sizes.
WeightedMethod = Literal["log-linear", "benedetti-franconi"]


@dataclass(frozen=True)
class EstimatedUniqueness:
    """Uniqueness estimated from the records, separately for each knowledge set.

    Parameters
    ----------
    method : {"pitman", "ewens", "snb", "zayatz", "log-linear", "benedetti-franconi"}
        Estimator: the first four use group sizes, "log-linear" the log-linear model that fits (see `fitting_model`),
        "benedetti-franconi" the weights of the unique records.
    population_size : int
        Number of people in the population from which the records are a random sample.
    level : float
        Confidence level of the intervals.
    seed : int
        Seed of Zayatz's bootstrap; the other methods use no random numbers.
    weights : ndarray of float64, shape (n_records,), optional
        Number of people that each record represents, for the last two methods. Default: equal weights.
    """

    method: UniquenessMethod | WeightedMethod
    population_size: int
    level: float = 0.95
    seed: int = 0
    weights: Floats | None = field(default=None, kw_only=True, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """Uniqueness counted in a known population.

    Parameters
    ----------
    cells : ndarray of int32, shape (n_cells, n_attributes)
        Codes of the people's values over the attributes of the records, not generalized.
    counts : ndarray of int64, shape (n_cells,)
        Number of people in each cell.

    """

    cells: Codes
    counts: Integers


UniquenessModel = FixedUniqueness | EstimatedUniqueness | KnownPopulation


# Probabilities that a sample unique is a population unique with the lower and upper end of their intervals, shape
# (3, n_sets), and the estimate of each. On a set without unique records, the estimate is None and the probability 0. A
# fixed probability has no estimate.
SetUniqueness = tuple[Floats, tuple[UniquenessEstimate | None, ...]]


def uniqueness_by_set(
    released: Codes,
    counts: Integers,
    sets: KnowledgeSets,
    model: FixedUniqueness | EstimatedUniqueness,
    record: NDArray[np.intp] | None = None,
    row_sets: RowSets | None = None,
) -> SetUniqueness:
    """Return the probabilities of population uniqueness for every knowledge set.

    Parameters
    ----------
    released : ndarray of int32, shape (n_rows, n_attributes)
        Codes of the distinct released records.
    counts : ndarray of int64, shape (n_rows,)
        Number of records of each row.
    sets : KnowledgeSets
        Knowledge sets.
    model : FixedUniqueness or EstimatedUniqueness
        Fixed probability or estimator.
    record : ndarray of int, shape (n_records,), optional
        Row of each record, if records have weights.
    row_sets : RowSets, optional
        People behind the rows of `released`, if people can have several records: group sizes then count distinct
        people.

    Raises
    ------
    InputError
        If the population is smaller than the sample, or the method cannot be used.
    """
    if isinstance(model, FixedUniqueness):
        return np.full((3, sets.n_sets), model.p_unique_given_sample_unique), (None,) * sets.n_sets
    columns = [np.ascontiguousarray(released[:, position]) for position in range(released.shape[1])]
    # Number of people that each record of a row represents, for the methods that use weights.
    people = np.full(len(counts), model.population_size / counts.sum())
    if model.weights is not None:
        rows = np.repeat(np.arange(len(counts)), counts) if record is None else record
        people = np.bincount(rows, weights=model.weights, minlength=len(counts)) / counts
    chances = np.zeros((3, sets.n_sets))
    estimates: list[UniquenessEstimate | None] = []
    for number, known in enumerate(sets.sets):
        of_set = [columns[position] for position in known]
        _, group = distinct_rows(of_set, len(counts))
        n_groups = int(group.max()) + 1
        sizes = added_up(counts, group, n_groups) if row_sets is None else row_sets.in_classes(group, n_groups)
        frequencies = GroupFrequencies.from_group_sizes(sizes)
        if frequencies.uniques == 0:
            estimates.append(None)
            continue
        if model.method == "log-linear":
            estimate = fitting_model(SampleCells.of_records(of_set, people, counts)).uniqueness(level=model.level)
        elif model.method == "benedetti-franconi":
            cells = SampleCells.of_records(of_set, people, counts)
            estimate = benedetti_franconi_uniqueness(cells, level=model.level)
        else:
            rng = np.random.default_rng(np.random.SeedSequence(model.seed, spawn_key=(*b"uniqueness", *known)))
            estimate = estimate_uniqueness(
                frequencies, model.population_size, method=model.method, level=model.level, rng=rng
            )
        chances[:, number] = (estimate.p_unique_given_sample_unique, estimate.low, estimate.high)
        estimates.append(estimate)
    return chances, tuple(estimates)
