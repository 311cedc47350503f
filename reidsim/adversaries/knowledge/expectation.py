"""Expected prosecutor, journalist and marketer risk of every person.

The expectation is over the knowledge sets. The sets are visited as a tree: each step adds one attribute, and adding
an attribute can only split the groups of matching people. If a person has a single match, it stays the only match for
all sets below; the person then leaves the tree with the total probability of these sets. People who have no knowledge
set below a node are skipped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Floats, KnowledgeSets
from reidsim.core.errors import InputError
from reidsim.linkage.equivalence import (
    Elements,
    Holders,
    Split,
    count_matches,
    keep_groups,
    split_groups,
    whole,
)
from reidsim.populations.domain import distinct_rows

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Progress = Callable[[int, int], None]
RiskName = Literal["prosecutor", "journalist", "marketer"]


@dataclass(frozen=True)
class Network:
    """Capabilities of the adversary, each a probability (Xia et al. 2021, Table 1).

    Parameters
    ----------
    p_m : float
        Probability that the person's membership in the data is disclosed.
    p_fm : float
        Probability that the adversary finds a disclosed membership.
    p_cu : float
        Probability that the adversary can confirm that a person is unique in the population.
    p_c : float
        Probability that the adversary can confirm that a record chosen at random is the person's.
    """

    p_m: float
    p_fm: float
    p_cu: float
    p_c: float

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


@dataclass(frozen=True, eq=False)
class SetTotals:
    """Sums over persons of the quantity behind each risk, by kind and knowledge set.

    Given a knowledge set, the quantities of a person are: 1 if only the person's own record matches, else 0
    (prosecutor); the same times the probability that a sample unique is a population unique (journalist); and one over
    the number of matching records (marketer).

    Parameters
    ----------
    prosecutor, journalist, marketer : ndarray of float64, shape (n_kinds, n_sets)
        Sum over the persons of a kind, given that the adversary knows the set; defined for the possible sets of the
        kind only.
    """

    prosecutor: Floats
    journalist: Floats
    marketer: Floats


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
        Expectations over the knowledge sets of the squares of the quantities behind the two risks; see `SetTotals`.
    journalist_low, journalist_high : ndarray of float64
        Interval of `journalist`: its values if every probability that a sample unique is a population unique is at the
        lower or upper end of its interval; equal to `journalist` without intervals.
    trials : int, optional
        Number of knowledge sets drawn; None if the expectation is exact.
    totals : SetTotals, optional
        Sums by knowledge set, if sets are drawn.
    """

    prosecutor: Floats
    journalist: Floats
    marketer: Floats
    journalist_square: Floats
    marketer_square: Floats
    journalist_low: Floats
    journalist_high: Floats
    trials: int | None = None
    totals: SetTotals | None = None

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
        """Return the standard error of each person's risk; 0 if exact.

        Parameters
        ----------
        risk : {"prosecutor", "journalist", "marketer"} or Network
            A network selects the overall probability of re-identification through the network.

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
    chances = np.atleast_2d(np.asarray(unique, dtype=np.float64))
    n, low, high = elements.n_persons, *((0, 0) if len(chances) == 1 else (1, 2))
    parts = _parts(elements, sets.sets)
    place = {attribute: number for number, part in enumerate(parts) for attribute in part}
    paths = [tuple(sorted({place[attribute] for attribute in known})) for known in sets.sets]
    # The sets of a subtree are adjacent, so a difference of cumulative sums is the sum over a subtree.
    order = sorted(range(sets.n_sets), key=paths.__getitem__)
    p, b = sets.probability[:, order], chances[:, order]
    weights = np.stack([p, p * b[0], p * b[low], p * b[high], p * b[0] ** 2])
    n_kinds = 0 if sets.drawn is None else len(p)
    sums = _Sums(
        kinds=np.ascontiguousarray(kinds, dtype=np.int64),
        loads=np.ones(n) if loads is None else loads.astype(np.float64),
        wanted=np.zeros(n, dtype=np.bool_),
        matches=np.zeros(n, dtype=np.int64),
        of_persons=np.zeros((7, n)),
        steps=np.zeros((n_kinds, sets.n_sets + 1)),
        shares=np.zeros((n_kinds, sets.n_sets)),
    )
    below = np.concatenate([np.zeros((*weights.shape[:2], 1)), np.cumsum(weights, axis=2)], axis=2)
    joined = [_joined(elements, part) for part in parts]
    # Values of each part, and a work array of zeros.
    columns = [(column, np.zeros(int(column.max(initial=0)) + 1, dtype=np.int64)) for column in joined]
    ordered = [paths[number] for number in order]

    def visit(split: Split, first: int, last: int, depth: int) -> None:
        """Add a subtree of knowledge sets to the sums.

        It has the sets from `first` to `last` (exclusive) in the order of the tree, which share their first `depth`
        parts (groups of attributes). `split` has the elements in groups that agree on these parts.
        """
        ends_here = len(ordered[first]) == depth
        weight_below = np.ascontiguousarray(below[:, :, last] - below[:, :, first])
        weight_here = np.ascontiguousarray(p[:, first]) if ends_here else np.zeros(len(p))
        counted = (elements.asks, elements.records, elements.holders)
        persons, met = _add_up(split, *counted, weight_here, weight_below, sums, first, last)
        if not met:
            expected = "the record of each person among the released records"
            raise InputError("no released record matches a person", expected=expected)
        if progress is not None and ends_here:
            progress(first + 1, len(ordered))
        if first + ends_here == last or not len(persons):
            return
        sums.wanted[persons] = True
        kept, starts = keep_groups(split.order, split.starts, elements.asks, elements.records, sums.wanted)
        sums.wanted[persons] = False
        for part, children in groupby(range(first + ends_here, last), key=lambda number: ordered[number][depth]):
            start, *others = children
            deeper = Split(*split_groups(kept, starts, *columns[part]), persons)
            visit(deeper, start, start + len(others) + 1, depth + 1)

    if ordered:
        visit(whole(elements), 0, len(ordered), 0)
    totals = None
    if sets.drawn is not None:
        places = np.argsort(order)
        alone = np.cumsum(sums.steps, axis=1)[:, places]
        totals = SetTotals(alone, alone * chances[0], alone + sums.shares[:, places])
    alone, share, square, uniques, low_uniques, high_uniques, unique_square = np.clip(sums.of_persons, 0.0, 1.0)
    return Risks(alone, uniques, share, unique_square, square, low_uniques, high_uniques, totals=totals)


class _Sums(NamedTuple):
    """Work arrays and sums of the tree.

    Attributes
    ----------
    kinds, loads : ndarray of int64 and float64, shape (n_persons,)
        Kind of each person, and number of persons that it represents.
    wanted, matches : ndarray of bool and int64, shape (n_persons,)
        Work arrays, filled with False and 0.
    of_persons : ndarray of float64, shape (7, n_persons)
        Sample unique; 1 / matches and its square; population unique, its low and high ends, and its square.
    steps, shares : ndarray of float64, shape (n_kinds, n_sets + 1) and (n_kinds, n_sets)
        By kind and set: uniques, as differences from the previous set; sum of 1 / matches over the other persons.
        Without rows if not needed.
    """

    kinds: Integers
    loads: Floats
    wanted: NDArray[np.bool_]
    matches: Integers
    of_persons: Floats
    steps: Floats
    shares: Floats


@numba.njit(cache=True)
def _add_up(
    split: Split,
    asks: Positions,
    records: Integers,
    holders: Holders,
    here: Floats,
    below: Floats,
    sums: _Sums,
    first: int,
    last: int,
) -> tuple[Positions, bool]:
    """Add the contribution of a node of the tree to the sums of its persons.

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
    sums : _Sums
        Sums, changed in place.
    first, last : int
        Range of the subtree's sets; the node's own set is the first.

    Returns
    -------
    persons : ndarray of int32
        Persons with several matching records and a possible knowledge set below.
    met : bool
        Whether each person matches a record.
    """
    order, starts, persons = split
    kinds, loads, wanted, matches, of_persons, steps, shares = sums
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


def _joined(elements: Elements, part: tuple[int, ...]) -> Positions:
    """Return one column, (n_elements,), for attributes that are always known together.

    Elements have equal numbers if they agree in all attributes of `part`, which holds positions of attributes.
    """
    if len(part) == 1:
        return elements.columns[part[0]]
    return distinct_rows([elements.columns[attribute] for attribute in part], elements.n_elements)[1].astype(np.int32)
