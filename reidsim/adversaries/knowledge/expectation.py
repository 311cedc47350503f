"""Expected prosecutor, journalist and marketer risk of every person.

The expectation is over the knowledge sets. The sets are visited as a tree: each step adds one attribute, and adding
an attribute can only split the groups of matching people. If a person has a single match, it stays the only match for
all sets below; the person then leaves the tree with the total probability of these sets. People who have no knowledge
set below a node are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.network import Network
from reidsim.adversaries.knowledge.sets import KnowledgeSets
from reidsim.linkage.equivalence import (
    Elements,
    Holders,
    Split,
    keep_groups,
    matching_people,
    matching_records,
    require_matches,
    split_groups,
    whole,
)
from reidsim.populations.domain import distinct_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.int32]
Progress = Callable[[int, int], None]


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
        """Method by which the risks were computed."""
        return "exact" if self.trials is None else "monte-carlo"

    def overall(self, network: Network) -> Floats:
        """Return the overall probability of re-identification through a network."""
        return network.overall(self.prosecutor, self.journalist, self.marketer)

    def standard_error(self, risk: Literal["prosecutor", "journalist", "marketer"] | Network) -> Floats:
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
            mean = getattr(self, risk)
            square = {
                "prosecutor": self.prosecutor,
                "journalist": self.journalist_square,
                "marketer": self.marketer_square,
            }[risk]
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
    each = np.ones(elements.n_persons) if loads is None else loads.astype(np.float64)
    tree = _Tree(elements, np.ascontiguousarray(kinds, dtype=np.int64), sets, chances, each, progress)
    tree.visit()
    sums = np.clip(tree.sums, 0.0, 1.0)
    low, high = (3, 3) if len(chances) == 1 else (4, 5)
    totals = None if sets.drawn is None else tree.totals(chances[0])
    return Risks(sums[0], sums[3], sums[1], sums[6], sums[2], sums[low], sums[high], totals=totals)


class _Tree:
    """Depth-first traversal of all knowledge sets."""

    def __init__(
        self,
        elements: Elements,
        kinds: Integers,
        sets: KnowledgeSets,
        unique: Floats,
        loads: Floats,
        progress: Progress | None,
    ) -> None:
        self._elements, self._kinds, self._loads, self._progress = elements, kinds, loads, progress
        parts = _parts(elements, sets.sets)
        self._columns = [_joined(elements, part) for part in parts]
        place = {attribute: number for number, part in enumerate(parts) for attribute in part}
        paths = [tuple(sorted({place[attribute] for attribute in known})) for known in sets.sets]
        order = sorted(range(sets.n_sets), key=paths.__getitem__)
        self._paths = [paths[number] for number in order]
        self._order = order
        # The sets of a subtree are adjacent, so a difference of cumulative sums is the sum over a subtree.
        p = sets.probability[:, order]
        b = unique[:, order]
        weights = np.stack([p, *(p * row for row in b), *([p * b[0]] * (3 - len(b))), p * b[0] ** 2])
        self._p = p
        self._below = np.concatenate([np.zeros((*weights.shape[:2], 1)), np.cumsum(weights, axis=2)], axis=2)
        self._wanted = np.zeros(elements.n_persons, dtype=np.bool_)
        self._matches = np.zeros(elements.n_persons, dtype=np.int64)
        self._count = [np.zeros(int(column.max(initial=0)) + 1, dtype=np.int64) for column in self._columns]
        # Rows: sample unique; 1 / matches and its square; population unique, its low and high ends, and its square.
        self.sums = np.zeros((7, elements.n_persons))
        # By kind and set: uniques, as differences from the previous set; sum of 1 / matches over the other persons.
        n_kinds = 0 if sets.drawn is None else len(p)
        self._steps, self._shares = np.zeros((n_kinds, sets.n_sets + 1)), np.zeros((n_kinds, sets.n_sets))

    def totals(self, unique: Floats) -> SetTotals:
        """Return the sums over persons by kind and set.

        `unique` holds the probability that a sample unique is a population unique, shape (n_sets,).
        """
        place = np.argsort(self._order)
        alone = np.cumsum(self._steps, axis=1)[:, place]
        return SetTotals(alone, alone * unique, alone + self._shares[:, place])

    def visit(self) -> None:
        """Visit all sets and accumulate the sums."""
        if self._paths:
            self._node(whole(self._elements), 0, len(self._paths), 0)

    def _node(self, split: Split, first: int, last: int, depth: int) -> None:
        """Visit the subtree of the sets from `first` to `last` (exclusive).

        These sets share their first `depth` parts.
        """
        elements = self._elements
        ends_here = len(self._paths[first]) == depth
        children = self._children(first + ends_here, last, depth)
        below = np.ascontiguousarray(self._below[:, :, last] - self._below[:, :, first])
        here = np.ascontiguousarray(self._p[:, first]) if ends_here else np.zeros(len(self._p))
        persons, met = _add_up(
            split.order,
            split.starts,
            split.persons,
            elements.asks,
            elements.records,
            elements.holders,
            self._kinds,
            here,
            below,
            self._wanted,
            self._matches,
            self.sums,
            self._loads,
            self._steps,
            self._shares,
            first,
            last,
        )
        if not met:
            require_matches(np.zeros(1, dtype=np.int64))
        if self._progress is not None and ends_here:
            self._progress(first + 1, len(self._paths))
        if children and len(persons):
            self._wanted[persons] = True
            order, starts = keep_groups(split.order, split.starts, elements.asks, elements.records, self._wanted)
            self._wanted[persons] = False
            for start, stop in children:
                part = self._paths[start][depth]
                self._node(
                    Split(*split_groups(order, starts, self._columns[part], self._count[part]), persons),
                    start,
                    stop,
                    depth + 1,
                )

    def _children(self, first: int, last: int, depth: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        start = first
        for number in range(first, last):
            if number + 1 == last or self._paths[number + 1][depth] != self._paths[start][depth]:
                found.append((start, number + 1))
                start = number + 1
        return found


@numba.njit(cache=True)
def _add_up(
    order: Positions,
    starts: Integers,
    persons: Positions,
    asks: Positions,
    records: Integers,
    holders: Holders,
    kinds: Integers,
    here: Floats,
    below: Floats,
    wanted: NDArray[np.bool_],
    matches: Integers,
    sums: Floats,
    loads: Floats,
    steps: Floats,
    shares: Floats,
    first: int,
    last: int,
) -> tuple[Positions, bool]:
    """Add the contribution of a node of the tree to the sums of its persons.

    Parameters
    ----------
    order, starts, persons : ndarray
        Split of the elements at the node; see `Split`.
    asks, records, kinds : ndarray
        Arrays of the elements and kind of each person.
    holders : Holders
        Holders of the elements' records.
    here : ndarray of float64, shape (n_kinds,)
        Probability of the node's own set.
    below : ndarray of float64, shape (5, n_kinds)
        Sums over the sets of the subtree: probability; its products with the probability of population uniqueness, with
        the low and the high end of that probability, and with its square.
    wanted, matches : ndarray, shape (n_persons,)
        Work arrays, filled with False and 0.
    sums : ndarray of float64, shape (7, n_persons)
        Sums by person, changed in place.
    loads : ndarray of float64, shape (n_persons,)
        Number of persons that each one represents.
    steps, shares : ndarray of float64, shape (n_kinds, n_sets + 1) and (n_kinds, n_sets)
        Sums by kind and set, changed in place; without rows if not needed.
    first, last : int
        Range of the subtree's sets; the node's own set is the first.

    Returns
    -------
    persons : ndarray of int32
        Persons with several matching records and a possible knowledge set below.
    met : bool
        Whether each person matches a record.
    """
    for person in persons:
        wanted[person] = below[0, kinds[person]] > 0
    if len(holders.start) > 0:
        matching_people(order, starts, asks, holders, wanted, matches)
    else:
        matching_records(order, starts, asks, records, wanted, matches)
    several = np.empty(len(persons), dtype=np.int32)
    n = 0
    met = True
    by_set = len(steps) > 0
    for person in persons:
        if not wanted[person]:
            continue
        wanted[person] = False
        found = matches[person]
        matches[person] = 0
        kind = kinds[person]
        if found == 1:
            sums[0, person] += below[0, kind]
            sums[1, person] += below[0, kind]
            sums[2, person] += below[0, kind]
            for row in range(4):
                sums[3 + row, person] += below[1 + row, kind]
            if by_set:
                steps[kind, first] += loads[person]
                steps[kind, last] -= loads[person]
        elif found > 1:
            sums[1, person] += here[kind] / found
            sums[2, person] += here[kind] / found / found
            if by_set and here[kind] > 0:
                shares[kind, first] += loads[person] / found
            several[n] = person
            n += 1
        else:
            met = False
    return several[:n].copy(), met


def _parts(elements: Elements, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the groups of attributes that are always known together.

    Groups with more values come first, because they separate people sooner.
    """
    holders: dict[int, list[int]] = {}
    for number, known in enumerate(sets):
        for attribute in known:
            holders.setdefault(attribute, []).append(number)
    parts: dict[tuple[int, ...], list[int]] = {}
    for attribute, numbers in sorted(holders.items()):
        parts.setdefault(tuple(numbers), []).append(attribute)

    def values(part: tuple[int, ...]) -> int:
        return int(np.prod([np.float64(elements.columns[a].max(initial=0)) + 1 for a in part]))

    return sorted((tuple(part) for part in parts.values()), key=lambda part: (-values(part), part))


def _joined(elements: Elements, part: tuple[int, ...]) -> Positions:
    """Return one column for attributes that are always known together."""
    if len(part) == 1:
        return elements.columns[part[0]]
    return distinct_rows([elements.columns[attribute] for attribute in part], elements.n_elements)[1].astype(np.int32)
