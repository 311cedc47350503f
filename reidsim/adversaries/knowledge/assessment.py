"""Risks of every person behind released records, for an adversary with knowledge.

The probability that a sample unique is a population unique is estimated for each knowledge set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge, KnowledgeSets, count_sets, draw_sets, enumerate_sets
from reidsim.adversaries.response import arrays_of
from reidsim.core.errors import InputError
from reidsim.core.numerics import compiled
from reidsim.core.validation import Section
from reidsim.linkage.equivalence import (
    Elements,
    Holders,
    Split,
    ValueTree,
    count_matches,
    keep_groups,
    make_elements,
    split_groups,
    whole,
)
from reidsim.linkage.group_sizes import GroupFrequencies
from reidsim.linkage.people import RowSets
from reidsim.linkage.uniqueness import (
    FixedUniqueness,
    SampleCells,
    UniquenessEstimate,
    UniquenessMethod,
    benedetti_franconi_uniqueness,
    estimate_uniqueness,
    fitting_model,
)
from reidsim.populations.population import Codes, Share, added_up, distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Progress = Callable[[int, int], None]
RiskName = Literal["prosecutor", "journalist", "marketer"]
# Methods that use the values or weights of the unique records, not only the group sizes.
WeightedMethod = Literal["log-linear", "benedetti-franconi"]
Method = Literal["auto", "exact", "monte-carlo"]

# Limits for the exact method, about a minute of computation: number of knowledge sets, and sets times persons. Beyond
# either limit, sets are drawn.
_MOST_SETS = 2**16
_MOST_WORK = 4 * 10**9


class Network(Section):
    """Capabilities of the adversary.

    They are the probabilities of the events by which an adversary re-identifies a person (Xia et al. 2021, Table 1).

    Attributes
    ----------
    p_m
        probability that a person's membership in the data is disclosed
    p_fm
        probability that the adversary learns of a disclosed membership
    p_cu
        probability that the adversary can confirm a population unique
    p_c
        probability that the adversary can confirm a match drawn at random
    """

    p_m: Share = 0.5
    p_fm: Share = 0.5
    p_cu: Share = 0.5
    p_c: Share = 0.5

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """Weights of prosecutor, journalist and marketer risk in the overall probability.

        Given the known values, let a be the group size, u = [a = 1], and b the probability of being unique in the
        population. The routes are independent, so the person is re-identified with probability
        ``1 - (1 - u p_m p_fm) (1 - u b p_cu) (1 - p_c / a)``. This is ``p_c / a`` for a > 1, and ``1 - A + A b p_cu``
        with ``A = (1 - p_m p_fm) (1 - p_c)`` for a = 1. It is therefore linear in u, u b and 1 / a, and its expectation
        depends only on the three risks.
        """
        missed = (1 - self.p_m * self.p_fm) * (1 - self.p_c)
        return 1 - missed - self.p_c, missed * self.p_cu, self.p_c

    def overall(self, prosecutor: Floats, journalist: Floats, marketer: Floats) -> Floats:
        """Return the overall probability of re-identification, given the three risks.

        It is their sum weighted with `coefficients`, cut off at 0 and 1. All arrays have equal shape.
        """
        p, j, m = self.coefficients
        return np.clip(p * prosecutor + j * journalist + m * marketer, 0.0, 1.0)


@dataclass(frozen=True)
class Risks:
    """Risks of each person (Xia et al. 2021); arrays of shape (n_persons,) in [0, 1].

    Parameters
    ----------
    prosecutor : ndarray of float64
        Probability that only the person's own record matches the known values.
    journalist : ndarray of float64
        Probability that, in addition, no other person in the population has the known values.
    marketer : ndarray of float64
        Expectation of 1 / number of matching records.
    journalist_square, marketer_square : ndarray of float64
        Expectations over the knowledge sets of the squares of the quantities behind the two risks; see `totals`.
    journalist_low, journalist_high : ndarray of float64
        Interval of `journalist`: its values if every probability that a sample unique is a population unique is at the
        lower or upper end of its interval; equal to `journalist` without intervals.
    trials : int, optional
        Number of knowledge sets drawn; None if the expectation is exact.
    totals : mapping of str to ndarray of float64, shape (n_kinds, n_sets), optional
        If knowledge sets were drawn: for each risk, the sum of its quantity over the persons of a kind, given that the
        adversary knows the set; defined for the possible sets of the kind only. The quantities of a person are: 1 if
        only the person's own record matches, else 0 (prosecutor); the same times the probability that a sample unique
        is a population unique (journalist); and one over the number of matching records (marketer).
    """

    prosecutor: Floats
    journalist: Floats
    marketer: Floats
    journalist_square: Floats
    marketer_square: Floats
    journalist_low: Floats
    journalist_high: Floats
    trials: int | None = None
    totals: Mapping[str, Floats] | None = None

    @property
    def method(self) -> Literal["exact", "monte-carlo"]:
        """Method of the risks: "exact", or "monte-carlo" if knowledge sets were drawn."""
        return "exact" if self.trials is None else "monte-carlo"

    def overall(self, network: Network) -> Floats:
        """Return each person's overall probability of re-identification, (n_persons,).

        `network` has the probabilities of the adversary's capabilities; see `Network`.
        """
        return network.overall(self.prosecutor, self.journalist, self.marketer)

    def standard_error(self, risk: RiskName | Network) -> Floats:
        """Return the standard error of each person's risk.

        It is 0 for all persons if the risks are exact: no knowledge sets were drawn.

        Parameters
        ----------
        risk : {"prosecutor", "journalist", "marketer"} or Network
            A `Network` stands for the overall probability of re-identification; see `overall`.

        Returns
        -------
        ndarray of float64, shape (n_persons,)
        """
        if self.trials is None:
            return np.zeros(len(self.prosecutor))
        if isinstance(risk, Network):
            mean = self.overall(risk)
            p, j, m = risk.coefficients
            square = (
                (p + m) ** 2 * self.prosecutor
                + 2 * (p + m) * j * self.journalist
                + j**2 * self.journalist_square
                + m**2 * (self.marketer_square - self.prosecutor)
            )
        else:
            # The quantity behind prosecutor risk is 0 or 1, so its square is itself.
            mean = getattr(self, risk)
            square = mean if risk == "prosecutor" else getattr(self, f"{risk}_square")
        return np.sqrt(np.maximum(square - mean**2, 0.0) / max(self.trials - 1, 1))


def risks_of(
    elements: Elements,
    kinds: NDArray[np.integer],
    sets: KnowledgeSets,
    unique: Floats,
    *,
    loads: Integers | None = None,
    progress: Progress | None = None,
) -> Risks:
    """Compute the expected risks of persons over their knowledge sets.

    Parameters
    ----------
    elements : Elements
        The persons and the released records.
    kinds : ndarray of int, shape (n_persons,)
        Kind of each person: its row of ``sets.probability``.
    sets : KnowledgeSets
        Knowledge sets over the attributes of `elements`.
    unique : ndarray of float64, shape (n_sets,) or (3, n_sets)
        Probability that a sample unique is a population unique, by knowledge set; with three rows, also the ends of
        its interval.
    loads : ndarray of int64, shape (n_persons,), optional
        Number of persons that each one represents in totals. Default: 1.
    progress : callable, optional
        Called with the number of sets done and their total number.

    Returns
    -------
    Risks

    Raises
    ------
    InputError
        If a person matches no record.
    """
    n, chances = elements.n_persons, np.broadcast_to(unique, (3, len(sets.sets)))
    parts = _parts(elements, sets.sets)
    place = {attribute: number for number, part in enumerate(parts) for attribute in part}
    paths = [tuple(sorted({place[attribute] for attribute in known})) for known in sets.sets]
    # The sets of a subtree are adjacent, so a difference of cumulative sums is the sum over a subtree.
    order = sorted(range(len(sets.sets)), key=paths.__getitem__)
    p, b = sets.probability[:, order], chances[:, order]
    weights = np.stack([p, *(p * each for each in b), p * b[0] ** 2])
    n_kinds = 0 if sets.drawn is None else len(p)
    kind_of_person = np.ascontiguousarray(kinds, dtype=np.int64)
    loads_of_persons = np.ones(n) if loads is None else loads.astype(np.float64)
    # Work arrays and sums of the tree; see `_add_up`.
    wanted, matches, of_persons = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64), np.zeros((7, n))
    steps, shares = np.zeros((n_kinds, len(sets.sets) + 1)), np.zeros((n_kinds, len(sets.sets)))
    below = np.concatenate([np.zeros((*weights.shape[:2], 1)), np.cumsum(weights, axis=2)], axis=2)
    # One column for the attributes of each part, and a work array of zeros.
    of_parts = ([elements.columns[attribute] for attribute in part] for part in parts)
    numbers = [distinct_rows(each, len(elements.asks))[1].astype(np.int32) for each in of_parts]
    columns = [(column, np.zeros(int(column.max(initial=0)) + 1, dtype=np.int64)) for column in numbers]
    ordered = [paths[number] for number in order]

    def visit(split: Split, first: int, last: int, depth: int) -> None:
        """Add the contribution of a subtree of knowledge sets to the risks of all persons.

        The subtree has the sets from `first` to `last` (exclusive) in the order of the tree; they share their first
        `depth` parts (groups of attributes). `split` has the elements in groups that agree on these parts. A person who
        is alone in a group is not followed further, because more attributes leave the person alone.

        Raises
        ------
        InputError
            If a person matches no record.
        """
        ends_here = len(ordered[first]) == depth
        weight_below = np.ascontiguousarray(below[:, :, last] - below[:, :, first])
        weight_here = np.ascontiguousarray(p[:, first]) if ends_here else np.zeros(len(p))
        persons, met = _add_up(
            split,
            elements.asks,
            elements.records,
            elements.holders,
            weight_here,
            weight_below,
            kind_of_person,
            loads_of_persons,
            wanted,
            matches,
            of_persons,
            steps,
            shares,
            first,
            last,
        )
        if not met:
            raise InputError("no released record matches a person", expected="a released record of each person")
        if progress is not None and ends_here:
            progress(first + 1, len(ordered))
        if first + ends_here == last or not len(persons):
            return
        wanted[persons] = True
        kept, starts = keep_groups(split.order, split.starts, elements.asks, elements.records, wanted)
        wanted[persons] = False
        for part, children in groupby(range(first + ends_here, last), key=lambda number: ordered[number][depth]):
            start, *others = children
            deeper = Split(*split_groups(kept, starts, *columns[part]), persons)
            visit(deeper, start, start + len(others) + 1, depth + 1)

    if ordered:
        visit(whole(elements), 0, len(ordered), 0)
    totals = None
    if sets.drawn is not None:
        places = np.argsort(order)
        alone = np.cumsum(steps, axis=1)[:, places]
        totals = {"prosecutor": alone, "journalist": alone * chances[0], "marketer": alone + shares[:, places]}
    alone, share, square, uniques, low_uniques, high_uniques, unique_square = np.clip(of_persons, 0.0, 1.0)
    return Risks(alone, uniques, share, unique_square, square, low_uniques, high_uniques, totals=totals)


@compiled()
def _add_up(
    split: Split,
    asks: Positions,
    records: Integers,
    holders: Holders,
    here: Floats,
    below: Floats,
    kinds: Integers,
    loads: Floats,
    wanted: NDArray[np.bool_],
    matches: Integers,
    of_persons: Floats,
    steps: Floats,
    shares: Floats,
    first: int,
    last: int,
) -> tuple[Positions, bool]:
    """Add the contribution of a node of the tree to the sums of its persons.

    `of_persons`, `steps` and `shares` are changed in place.

    Parameters
    ----------
    split : Split
        Elements at the node.
    asks, records, holders
        Arrays of the elements; see `Elements`.
    here : ndarray of float64, shape (n_kinds,)
        Probability of the node's own set.
    below : ndarray of float64, shape (5, n_kinds)
        Sums over the sets of the subtree, by kind of person: probability; its products with the probability of
        population uniqueness, with the low and the high end of that probability, and with its square.
    kinds, loads : ndarray of int64 and float64, shape (n_persons,)
        Kind of each person, and number of persons that it represents.
    wanted, matches : ndarray of bool and int64, shape (n_persons,)
        Work arrays, filled with False and 0 before and after the call.
    of_persons : ndarray of float64, shape (7, n_persons)
        Sample unique; 1 / matches and its square; population unique, its low and high ends, and its square.
    steps, shares : ndarray of float64, shape (n_kinds, n_sets + 1) and (n_kinds, n_sets)
        By kind and set: uniques, as differences from the previous set; sum of 1 / matches over the other persons.
        Without rows if not needed.
    first, last : int
        Range of the subtree's sets; the node's own set is the first.

    Returns
    -------
    persons : ndarray of int32
        Persons with several matching records and a possible knowledge set below.
    met : bool
        Whether each person with a possible knowledge set below matches a record.
    """
    order, starts, persons = split
    for person in persons:
        wanted[person] = below[0, kinds[person]] > 0
    count_matches(order, starts, asks, records, holders, wanted, matches)
    several = np.empty(len(persons), dtype=np.int32)
    n, met, by_set = 0, True, len(steps) > 0
    for person in persons:
        if not wanted[person]:
            continue
        found, kind = matches[person], kinds[person]
        wanted[person], matches[person] = False, 0
        if found == 1:
            for row in range(7):
                of_persons[row, person] += below[max(row - 2, 0), kind]
            if by_set:
                steps[kind, first] += loads[person]
                steps[kind, last] -= loads[person]
        elif found > 1:
            of_persons[1, person] += here[kind] / found
            of_persons[2, person] += here[kind] / found / found
            if by_set and here[kind] > 0:
                shares[kind, first] += loads[person] / found
            several[n] = person
            n += 1
        else:
            met = False
    return several[:n].copy(), met


def _parts(elements: Elements, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the groups of attributes that are known in the same sets.

    Each group is a tuple of positions of attributes, ascending; attributes that are in no set are omitted. Groups with
    more values come first, because they separate people sooner.
    """
    holders: dict[int, list[int]] = defaultdict(list)
    for number, known in enumerate(sets):
        for attribute in known:
            holders[attribute].append(number)
    parts: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for attribute in sorted(holders):
        parts[tuple(holders[attribute])].append(attribute)

    def values(part: tuple[int, ...]) -> int:
        return int(np.prod([np.float64(elements.columns[a].max(initial=0)) + 1 for a in part]))

    return sorted(map(tuple, parts.values()), key=lambda part: (-values(part), part))


@dataclass(frozen=True)
class EstimatedUniqueness:
    """Uniqueness estimated from the records, separately for each knowledge set.

    Parameters
    ----------
    method : {"pitman", "ewens", "zayatz", "log-linear", "benedetti-franconi"}
        Estimator: the first three use group sizes, "log-linear" the log-linear model that fits (see `fitting_model`),
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
    model: UniquenessModel,
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
    model : FixedUniqueness, EstimatedUniqueness or KnownPopulation
        Source of the probabilities.
    record : ndarray of int, shape (n_records,), optional
        Position in `released` of each record, needed if the model has weights and records are not in the order of the
        rows.
    row_sets : RowSets, optional
        People behind the rows of `released`, if people can have several records: group sizes then count distinct
        people.

    Returns
    -------
    chances : ndarray of float64, shape (3, n_sets)
        Probability that a sample unique on the set is a population unique, and the lower and upper end of its interval:
        three equal rows for a fixed probability, NaN for a known population, and 0 for a set on which no record is
        unique.
    estimates : tuple of UniquenessEstimate or None
        Estimate of each set; None without an estimate.

    Raises
    ------
    InputError
        If an estimate is requested, and the population is smaller than the sample or the method cannot be used.
    """
    if not isinstance(model, EstimatedUniqueness):
        chance = model.p_unique_given_sample_unique if isinstance(model, FixedUniqueness) else np.nan
        return np.full((3, len(sets.sets)), chance), (None,) * len(sets.sets)
    columns = [np.ascontiguousarray(released[:, position]) for position in range(released.shape[1])]
    # Number of people that each record of a row represents, for the methods that use weights.
    people = np.full(len(counts), model.population_size / counts.sum())
    if model.weights is not None:
        rows = np.repeat(np.arange(len(counts)), counts) if record is None else record
        people = np.bincount(rows, weights=model.weights, minlength=len(counts)) / counts
    chances = np.zeros((3, len(sets.sets)))
    estimates: list[UniquenessEstimate | None] = []
    for number, known in enumerate(sets.sets):
        of_set = [columns[position] for position in known]
        _, group = distinct_rows(of_set, len(counts))
        n_groups = int(group.max()) + 1
        sizes = added_up(counts, group, n_groups) if row_sets is None else row_sets.in_classes(group, n_groups)
        frequencies, cells = GroupFrequencies.from_group_sizes(sizes), (of_set, people, counts)
        if frequencies.uniques == 0:
            estimates.append(None)
            continue
        if model.method == "log-linear":
            estimate = fitting_model(SampleCells.of_records(*cells)).uniqueness(level=model.level)
        elif model.method == "benedetti-franconi":
            estimate = benedetti_franconi_uniqueness(SampleCells.of_records(*cells), level=model.level)
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
            A `Network` stands for the overall probability of re-identification; see `Risks.overall`.
        """
        totals = self.risks.totals
        if self.drawn is None or totals is None:
            return 0.0
        if isinstance(risk, Network):
            p, j, m = risk.coefficients
            by_set = p * totals["prosecutor"] + j * totals["journalist"] + m * totals["marketer"]
        else:
            by_set = totals[risk]
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
        "auto" is exact, unless one kind of person may have more than 65,536 knowledge sets, or the number of sets times
        the number of distinct persons exceeds 4 * 10**9.
    trials : int
        Number of knowledge sets drawn by the Monte Carlo method.
    rng : numpy.random.Generator, optional
        Generator of the Monte Carlo method.
    person : ndarray of int, shape (n,), optional
        Number of the person behind each record, from 0, if people can have several records. Matches then count distinct
        people, and each record has its own risks. Default: one record per person.
    people : ndarray of int64, shape (n,), optional
        Number of persons that each row represents; all have the row's values. Default: 1. Not allowed if people have
        several records.
    progress : callable, optional
        Called with the number of knowledge sets done and their total number.

    Returns
    -------
    Assessment

    Raises
    ------
    InputError
        If no released record matches a person's values; if an estimate is requested for a population smaller than the
        sample; if the population is known, and lacks a person or records are generalized; if there are too many sets
        for the exact method; if the Monte Carlo method has no generator; or if people have several records, and these
        are generalized in different ways or sets are drawn.
    """
    if isinstance(uniqueness, KnownPopulation) and released is not None and (released != persons).any():
        raise InputError("population uniques are defined only for unchanged records", where="released")
    n, kinds = knowledge.n_persons, knowledge.kind_of_person
    by_position = {knowledge.attributes.index(name): tree for name, tree in (trees or {}).items()}
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
            raise InputError(
                "Monte Carlo needs one record per person",
                where="expectation.method",
                found="monte-carlo",
                expected="fewer knowledge sets, all of which can be listed",
            )
        _require_alike(rows, person, by_position)
        row_sets, _ = RowSets.from_rows(record_of, person)
    used = {position: by_position[position] for position in relevant if position in by_position}
    elements = make_elements(persons[first], None if released is None else rows[record], counts, used, row_sets)
    chances, estimates = uniqueness_by_set(rows[record], counts, sets, uniqueness, record_of, row_sets)
    risks = risks_of(elements, kinds[first], sets, np.nan_to_num(chances), loads=loads, progress=progress)
    if isinstance(uniqueness, KnownPopulation):
        risks = _with_known_population(risks, persons[first], kinds[first], sets, uniqueness, used, loads)
    weights = (np.ones(n) if people is None else people) if person is None else 1 / np.bincount(person)[person]
    shares = np.bincount(kinds, weights=weights, minlength=len(sets.probability)) / max(weights.sum(), 1)
    of_persons: dict[str, Any] = {name: array[cell] for name, array in arrays_of(risks).items()}
    return Assessment(
        risks=replace(risks, **of_persons, trials=None if sets.drawn is None else trials),
        sets=tuple(tuple(knowledge.attributes[position] for position in known) for known in sets.sets),
        probability=shares @ sets.probability,
        chances=chances,
        uniqueness=estimates,
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
        if len(listed.sets) * len(distinct) <= _MOST_WORK:
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
        there = risks_of(everybody, kinds, sets, np.zeros(len(sets.sets)), loads=loads)
    except InputError:
        raise InputError(
            "a person in the records is not in the known population", expected="each person in the known population"
        ) from None
    # If the records are not a sample of the population, a value combination can be unique there but not here.
    alone = np.minimum(there.prosecutor, risks.prosecutor)
    counted = replace(risks, journalist=alone, journalist_square=alone, journalist_low=alone, journalist_high=alone)
    if risks.totals is None or there.totals is None:
        return counted
    of_sets = np.minimum(there.totals["prosecutor"], risks.totals["prosecutor"])
    return replace(counted, totals={**risks.totals, "journalist": of_sets})


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
