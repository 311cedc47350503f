"""Risks of every person behind released records, for an adversary with knowledge.

The probability that a sample unique is a population unique is estimated for each knowledge set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import (
    Knowledge,
    KnowledgeSets,
    Network,
    Progress,
    RiskName,
    Risks,
    count_sets,
    draw_sets,
    enumerate_sets,
    risks_of,
)
from reidsim.adversaries.response import arrays_of
from reidsim.core.errors import InputError
from reidsim.linkage.equivalence import ValueTree, make_elements
from reidsim.linkage.group_sizes import GroupFrequencies
from reidsim.linkage.people import RowSets
from reidsim.linkage.uniqueness.group_sizes import (
    FixedUniqueness,
    UniquenessEstimate,
    UniquenessMethod,
    estimate_uniqueness,
)
from reidsim.linkage.uniqueness.log_linear import SampleCells, benedetti_franconi_uniqueness, fitting_model
from reidsim.populations.population import Codes, added_up, distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Methods that use the values or weights of the unique records, not only the group sizes.
WeightedMethod = Literal["log-linear", "benedetti-franconi"]
Method = Literal["auto", "exact", "monte-carlo"]

# Limits for the exact method, about a minute of computation: number of knowledge sets, and sets times persons. Beyond
# either limit, sets are drawn.
_MOST_SETS = 2**16
_MOST_WORK = 4 * 10**9


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

    Returns
    -------
    chances : ndarray of float64, shape (3, n_sets)
        Probability that a sample unique on the set is a population unique, and the lower and upper end of its interval:
        three equal rows for a fixed probability, and 0 for a set on which no record is unique.
    estimates : tuple of UniquenessEstimate or None
        Estimate of each set; None for a fixed probability or a set on which no record is unique.

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


@dataclass(frozen=True, eq=False)
class Assessment:
    """Risks of the persons behind released records, and how they were computed.

    Parameters
    ----------
    risks : Risks
        Risks of each person.
    sets : tuple of tuple of str
        Names of the known attributes, for each knowledge set used.
    probability : ndarray of float64, shape (n_sets,)
        Probability of each set, averaged over persons.
    chances : ndarray of float64, shape (3, n_sets)
        Probability that a sample unique on the set is a population unique, and the lower and upper end of its interval;
        NaN if the population is known.
    uniqueness : tuple of UniquenessEstimate or None
        Estimate behind each column of `chances`; None for sets without an estimate.
    n_cells : int
        Number of groups of persons with the same kind of knowledge about them and equal values of all attributes that
        may be known. Each group is assessed once.
    drawn : ndarray of int, shape (n_kinds, n_trials), optional
        Position in `sets` of the set drawn for each kind of person in each trial; None if the risks are exact.
    """

    risks: Risks
    sets: tuple[tuple[str, ...], ...]
    probability: NDArray[np.float64]
    chances: NDArray[np.float64]
    uniqueness: tuple[UniquenessEstimate | None, ...]
    n_cells: int
    drawn: NDArray[np.intp] | None = None

    def standard_error_of_mean(self, risk: RiskName | Network) -> float:
        """Return the standard error of the mean of a risk over all persons.

        It is 0 if the risks are exact. Otherwise, it is the standard deviation over trials of the mean in a trial,
        divided by the square root of the number of trials.

        Parameters
        ----------
        risk : {"prosecutor", "journalist", "marketer"} or Network
            A network selects the overall risk through the network.
        """
        totals = self.risks.totals
        if self.drawn is None or totals is None:
            return 0.0
        if isinstance(risk, Network):
            p, j, m = risk.coefficients
            by_set = p * totals.prosecutor + j * totals.journalist + m * totals.marketer
        else:
            by_set = getattr(totals, risk)
        means = np.take_along_axis(by_set, self.drawn, axis=1).sum(axis=0) / max(len(self.risks.prosecutor), 1)
        return float(means.std(ddof=1) / np.sqrt(len(means)))


def assess(
    persons: Codes,
    knowledge: Knowledge,
    uniqueness: UniquenessModel,
    *,
    released: Codes | None = None,
    trees: Mapping[str, ValueTree] | None = None,
    method: Method = "auto",
    trials: int = 1000,
    rng: np.random.Generator | None = None,
    person: NDArray[np.intp] | None = None,
    people: NDArray[np.int64] | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Compute the risks of every person behind released records (Xia et al. 2021).

    Parameters
    ----------
    persons : ndarray of int32, shape (n, n_attributes)
        Codes of the true values, over ``knowledge.attributes``; nodes of the value tree for attributes with a tree.
    knowledge : Knowledge
        Knowledge of the adversary about each person.
    uniqueness : FixedUniqueness, EstimatedUniqueness or KnownPopulation
        Source of the probabilities of population uniqueness, for journalist risk.
    released : ndarray of int32, shape (n, n_attributes), optional
        Codes of the persons' released records, in the same order. Default: the true values.
    trees : mapping of str to ValueTree, optional
        Value tree by attribute. Without a tree, only equal values match.
    method : {"auto", "exact", "monte-carlo"}
        "auto" is exact, unless there are more than 65,536 knowledge sets, or the number of sets times the number of
        distinct persons exceeds 4 * 10**9.
    trials : int
        Number of knowledge sets drawn by the Monte Carlo method.
    rng : numpy.random.Generator, optional
        Generator of the Monte Carlo method.
    person : ndarray of int, shape (n,), optional
        Number of the person behind each record, from 0, if people can have several records. Matches then count
        distinct people, and each record has its own risks. Default: one record per person.
    people : ndarray of int64, shape (n,), optional
        Number of persons that each row represents, equal in all values. Default: 1. Not allowed if people have
        several records.
    progress : callable, optional
        Called with the number of knowledge sets done and their total number.

    Returns
    -------
    Assessment

    Raises
    ------
    InputError
        If a person's record does not include the person's values; if the population is smaller than the sample, or is
        known and lacks a person; if the population is known and records are generalized; if there are too many sets for
        the exact method; if the Monte Carlo method has no generator; or if people have several records, and these are
        generalized in different ways or sets are drawn.
    """
    n = knowledge.n_persons
    by_position = {knowledge.attributes.index(name): tree for name, tree in (trees or {}).items()}
    kinds = knowledge.kind_of_person
    sets = _sets(persons, knowledge, method, trials, rng)
    asked, relevant = _what_matters(persons, knowledge, sets)
    given = asked if released is None else [*asked, *(released[:, position] for position in relevant)]
    # Persons with equal relevant values are assessed once; equal records share a row.
    first, cell = distinct_rows(asked, n)
    loads = np.bincount(cell, weights=people).astype(np.int64)
    record, record_of = distinct_rows(given, n)
    counts = np.bincount(record_of, weights=people).astype(np.int64)
    rows = persons if released is None else released
    row_sets = None
    if person is not None:
        if sets.drawn is not None:
            problem, expected = (
                "Monte Carlo needs one record per person",
                "fewer knowledge sets, all of which can be listed",
            )
            raise InputError(problem, where="expectation.method", found="monte-carlo", expected=expected)
        _require_alike(rows, person, by_position)
        row_sets, _ = RowSets.from_rows(record_of, person)
    used = {position: by_position[position] for position in relevant if position in by_position}
    elements = make_elements(persons[first], None if released is None else rows[record], counts, used, row_sets)
    if isinstance(uniqueness, KnownPopulation):
        if released is not None and (released != persons).any():
            raise InputError("population uniques are defined only for unchanged records", where="released")
        uncounted = risks_of(elements, kinds[first], sets, np.zeros(sets.n_sets), loads=loads, progress=progress)
        risks = _with_known_population(uncounted, persons[first], kinds[first], sets, uniqueness, used, loads)
        found: SetUniqueness = np.full((3, sets.n_sets), np.nan), (None,) * sets.n_sets
    else:
        found = uniqueness_by_set(rows[record], counts, sets, uniqueness, record_of, row_sets)
        risks = risks_of(elements, kinds[first], sets, found[0], loads=loads, progress=progress)
    weights = (np.ones(n) if people is None else people) if person is None else 1 / np.bincount(person)[person]
    shares = np.bincount(kinds, weights=weights, minlength=len(sets.probability)) / max(weights.sum(), 1)
    of_persons: dict[str, Any] = {name: array[cell] for name, array in arrays_of(risks).items()}
    return Assessment(
        risks=replace(risks, **of_persons, trials=None if sets.drawn is None else trials),
        sets=tuple(tuple(knowledge.attributes[position] for position in known) for known in sets.sets),
        probability=shares @ sets.probability,
        chances=found[0],
        uniqueness=found[1],
        n_cells=len(first),
        drawn=sets.drawn,
    )


def _what_matters(
    persons: Codes, knowledge: Knowledge, sets: KnowledgeSets
) -> tuple[list[NDArray[np.integer]], list[int]]:
    """Return the columns that determine risks, and the attributes that may be known.

    The columns, shape (n_persons,), are the kind of person and the values of each attribute that is in at least one
    set. The second result is the positions of these attributes, ascending.
    """
    relevant = sorted({position for known in sets.sets for position in known})
    return [knowledge.kind_of_person, *(persons[:, position] for position in relevant)], relevant


def _sets(
    persons: Codes, knowledge: Knowledge, method: Method, trials: int, rng: np.random.Generator | None
) -> KnowledgeSets:
    """Return the knowledge sets, listed or drawn, as `KnowledgeSets`.

    They are listed if `method` is "exact", if there is only one set, or if `method` is "auto" and the limits described
    in `assess` are kept. The other arguments are those of `assess`.

    Raises
    ------
    InputError
        If the sets must be drawn and `rng` is None, or if they are too many to list.
    """
    # A single knowledge set, as in the worst case, needs no draws.
    if method == "exact" or count_sets(knowledge) == 1:
        return enumerate_sets(knowledge)
    if method == "auto" and count_sets(knowledge) <= _MOST_SETS:
        listed = enumerate_sets(knowledge)
        distinct, _ = distinct_rows(_what_matters(persons, knowledge, listed)[0], knowledge.n_persons)
        if listed.n_sets * len(distinct) <= _MOST_WORK:
            return listed
    if rng is None:
        raise InputError("Monte Carlo needs a random generator", where="rng", expected="numpy.random.Generator")
    return draw_sets(knowledge, trials, rng)


def _with_known_population(
    risks: Risks,
    persons: Codes,
    kinds: NDArray[np.integer],
    sets: KnowledgeSets,
    population: KnownPopulation,
    trees: Mapping[int, ValueTree],
    loads: NDArray[np.int64],
) -> Risks:
    """Return the risks, with journalist risk counted in the known population.

    Journalist risk is then the probability that the person is the only match both among the records and in the
    population.

    Parameters
    ----------
    risks : Risks
        Risks among the records.
    persons, kinds, sets, trees, loads
        Arguments of `risks_of` and `make_elements` for these risks.
    population : KnownPopulation
        The population.

    Raises
    ------
    InputError
        If a person is not in the population.
    """
    everybody = make_elements(persons, population.cells, population.counts.astype(np.int64), trees)
    try:
        there = risks_of(everybody, kinds, sets, np.zeros(sets.n_sets), loads=loads)
    except InputError:
        raise InputError(
            "a person in the records is not in the known population", expected="each person in the known population"
        ) from None
    # If the records are not a sample of the population, a value combination can be unique there but not here.
    alone = np.minimum(there.prosecutor, risks.prosecutor)
    counted = replace(risks, journalist=alone, journalist_square=alone, journalist_low=alone, journalist_high=alone)
    if risks.totals is None or there.totals is None:
        return counted
    of_sets = np.minimum(there.totals.prosecutor, risks.totals.prosecutor)
    return replace(counted, totals=replace(risks.totals, journalist=of_sets))


def _require_alike(released: Codes, person: NDArray[np.intp], trees: Mapping[int, ValueTree]) -> None:
    """Raise InputError if a person's records are generalized to different levels.

    Otherwise, a match could be counted more than once. Ungeneralized values of a person may differ in depth.

    Parameters
    ----------
    released : ndarray of int32, shape (n, n_attributes)
        Codes of the released records: nodes of the value tree for attributes with a tree.
    person : ndarray of int, shape (n,)
        Number of each record's person.
    trees : mapping of int to ValueTree
        Value tree by position of the attribute.
    """
    first = np.unique(person, return_index=True)[1][person]
    for position, tree in trees.items():
        depth, is_group = tree.depth[released[:, position]], released[:, position] >= tree.attribute.size
        # Ungeneralized values are disjoint, so only groups at different levels can overlap.
        differs = (depth != depth[first]) & (np.bincount(person, weights=is_group)[person] > 0)
        if differs.any():
            row = int(differs.argmax())
            raise InputError(
                "records of the same person are generalized to different levels",
                where=f"row {row + 1}",
                found=tree.labels[released[row, position]],
                expected=f"a value at the level used in row {int(first[row]) + 1}, which belongs to the same person",
            )
