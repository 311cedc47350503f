"""Whether a person unique among the records is unique in the population, for every set of known attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.sets import KnowledgeSets
from reidsim.linkage.group_frequencies import GroupFrequencies
from reidsim.linkage.people import RowSets
from reidsim.linkage.uniqueness.estimate import FixedUniqueness, UniquenessEstimate
from reidsim.linkage.uniqueness.estimators import UniquenessMethod, estimate_uniqueness
from reidsim.linkage.uniqueness.log_linear import fitting_model
from reidsim.linkage.uniqueness.sample_cells import SampleCells
from reidsim.linkage.uniqueness.sample_uniques import benedetti_franconi_uniqueness
from reidsim.populations.domain import Codes, added_up, distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Methods that look at who the unique records are, and not at the sizes of groups alone.
WeightedMethod = Literal["log-linear", "benedetti-franconi"]


@dataclass(frozen=True)
class EstimatedUniqueness:
    """Estimate it from the groups of records, for each knowledge set on its own.

    Parameters
    ----------
    method : {"pitman", "ewens", "snb", "zayatz", "log-linear", "benedetti-franconi"}
        By the sizes of groups; by the log-linear model that fits (see `fitting_model`); or by the weights of unique
        records.
    population_size : int
        People from whom the records are a random sample.
    level : float
        Confidence level of the intervals.
    seed : int
        Of Zayatz's bootstrap; the other methods draw nothing.
    weights : ndarray of float64, shape (n_records,), optional
        People that each record represents, for the last two methods; the same number for all, if not given.
    """

    method: UniquenessMethod | WeightedMethod
    population_size: int
    level: float = 0.95
    seed: int = 0
    weights: Floats | None = field(default=None, kw_only=True, repr=False, compare=False)

    def cells(
        self, record: NDArray[np.intp], counts: Integers, columns: Sequence[Codes], known: Sequence[int]
    ) -> SampleCells:
        """Return the cells of records over some columns (n_rows,), given the row of each record."""
        people = np.full(len(counts), self.population_size / counts.sum())
        if self.weights is not None:
            people = np.bincount(record, weights=self.weights, minlength=len(counts)) / counts
        return SampleCells.of_records([columns[position] for position in known], people, counts)


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """Count it in the population, which is known.

    Parameters
    ----------
    cells : ndarray of int32, shape (n_cells, n_attributes)
        Values of the people over the attributes of the records, ungeneralized.
    counts : ndarray of int64, shape (n_cells,)
        People of each.

    """

    cells: Codes
    counts: Integers


UniquenessModel = FixedUniqueness | EstimatedUniqueness | KnownPopulation


class SetUniqueness(NamedTuple):
    """Chances of being unique in the population, given that one is unique among the records, by knowledge set.

    Attributes
    ----------
    chances : ndarray of float64, shape (3, n_sets)
        The chance and the two ends of its interval; 0 for sets on which no record is unique.
    estimates : tuple of UniquenessEstimate or None
        Behind each chance; None where nothing was estimated.
    """

    chances: Floats
    estimates: tuple[UniquenessEstimate | None, ...]


def uniqueness_by_set(
    released: Codes,
    counts: Integers,
    sets: KnowledgeSets,
    model: FixedUniqueness | EstimatedUniqueness,
    record: NDArray[np.intp] | None = None,
    row_sets: RowSets | None = None,
) -> SetUniqueness:
    """Take or estimate the chance of being unique in the population for every knowledge set.

    Parameters
    ----------
    released : ndarray of int32, shape (n_rows, n_attributes)
        Distinct released records.
    counts : ndarray of int64, shape (n_rows,)
        Records of each.
    sets : KnowledgeSets
    model : FixedUniqueness or EstimatedUniqueness
    record : ndarray of int, shape (n_records,), optional
        The row of each record, where these have weights.
    row_sets : RowSets, optional
        Whose the records are, over the rows of `released`: groups are then of different people.

    Raises
    ------
    InputError
        If the population is smaller than the sample, or the method cannot be used.
    """
    if isinstance(model, FixedUniqueness):
        chance = np.full((3, sets.n_sets), model.p_unique_given_sample_unique)
        return SetUniqueness(chance, (None,) * sets.n_sets)
    columns = [np.ascontiguousarray(released[:, position]) for position in range(released.shape[1])]
    chances = np.zeros((3, sets.n_sets))
    estimates: list[UniquenessEstimate | None] = []
    rows = np.repeat(np.arange(len(counts)), counts) if record is None else record
    for number, known in enumerate(sets.sets):
        frequencies = _frequencies([columns[position] for position in known], counts, row_sets)
        if frequencies.uniques == 0:
            estimates.append(None)
            continue
        if model.method == "log-linear":
            estimate = fitting_model(model.cells(rows, counts, columns, known)).uniqueness(level=model.level)
        elif model.method == "benedetti-franconi":
            estimate = benedetti_franconi_uniqueness(model.cells(rows, counts, columns, known), level=model.level)
        else:
            rng = np.random.default_rng(np.random.SeedSequence(model.seed, spawn_key=(*b"uniqueness", *known)))
            estimate = estimate_uniqueness(
                frequencies, model.population_size, method=model.method, level=model.level, rng=rng
            )
        chances[:, number] = (estimate.p_unique_given_sample_unique, estimate.low, estimate.high)
        estimates.append(estimate)
    return SetUniqueness(chances, tuple(estimates))


def _frequencies(columns: Sequence[Codes], counts: Integers, row_sets: RowSets | None) -> GroupFrequencies:
    _, group = distinct_rows(columns, len(counts))
    if row_sets is not None:
        return GroupFrequencies.from_group_sizes(row_sets.in_classes(group, int(group.max()) + 1))
    return GroupFrequencies.from_group_sizes(added_up(counts, group, int(group.max()) + 1))
