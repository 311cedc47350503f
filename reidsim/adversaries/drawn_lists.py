"""Linkage of records to lists that were drawn from a simulated population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import agreeing, suppressible
from reidsim.adversaries.response import Linkage, ListedCandidates, one_over
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import Codes
from reidsim.populations.population import UNKNOWN, Population
from reidsim.populations.resources import PeopleList
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True, eq=False)
class DrawnLists:
    """Lists of people, and the person behind each record.

    The adversary sees the lists but not `person`.

    Parameters
    ----------
    lists : mapping of str to PeopleList
        Lists by name; their columns are codes over the domain of the records.
    person : ndarray of int64, shape (n_records,)
        Row of the record's person in the population; -1 if the person is not in it.
    prices : mapping of str to float
        Price of each list, in currency units.
    buyers : mapping of str to tuple of str
        Names of the adversaries who can obtain each list.
    """

    lists: Mapping[str, PeopleList]
    person: NDArray[np.int64]
    prices: Mapping[str, float]
    buyers: Mapping[str, tuple[str, ...]]

    def own(self, name: str) -> NDArray[np.int64]:
        """Return the list row of each record's person, -1 if absent, (n_records,)."""
        return np.where(self.person >= 0, self.lists[name].record_of[self.person], -1)

    def of_records(self, rows: Rows) -> DrawnLists:
        """Return the same lists for the records in `rows`."""
        return replace(self, person=self.person[rows])


class DrawnListsLinker:
    """Linker of released records to the people in the lists that an adversary holds.

    A missing value matches every value. The adversary assumes that the entries of a list are correct, and that each
    record's person is in the list with a probability equal to the list's coverage. Its believed success probability is
    the coverage divided by the number of matching people. If it holds several lists, it uses, for each record and
    strategy, the list with the highest believed success probability; the first one among ties. The true success
    probability is one over the number of matching people if the person's own row matches, else 0.

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice of the records.
    drawn : DrawnLists
        Lists for the records of the lattice.
    held : sequence of str
        Names of the lists that the adversary holds, in order.
    guessed : bool
        Whether only the coverage of the lists is known, not their members. An attempt then succeeds with the
        probability that the adversary believes in.
    """

    # The lists do not contain the whole population.
    population: GroupSizes | None = None

    def __init__(
        self, lattice: GeneralizationLattice, drawn: DrawnLists, held: Sequence[str], *, guessed: bool = False
    ) -> None:
        self._lattice, self._guessed = lattice, guessed
        self._suppressing = replace(lattice, hierarchies=tuple(map(suppressible, lattice.hierarchies)))
        self._lists = [_ListOfRecords(self._suppressing, drawn.lists[name], drawn.own(name)) for name in held]

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link all records, or only `rows`, released with `strategy`; see `Linker`."""
        levels = self._lattice.levels(strategy)
        sizes, among = map(np.stack, zip(*(each.candidates(levels, rows) for each in self._lists), strict=True))
        coverage = np.array([each.coverage for each in self._lists])
        believed = np.where(sizes > 0, coverage[:, None] / np.maximum(sizes, 1), 0.0)
        best = believed.argmax(axis=0)
        sizes, among, believed = (np.take_along_axis(each, best[None], axis=0)[0] for each in (sizes, among, believed))
        success = np.where(among, 1.0 / np.maximum(sizes, 1), 0.0)
        candidates = ListedCandidates(sizes, coverage[best])
        linked = Linkage(one_over(success), one_over(believed), by_chance=True, candidates=candidates, among=among)
        return linked.as_believed() if self._guessed else linked


class _ListOfRecords:
    """One list: its rows by missing values, and the row of each record's person."""

    def __init__(self, lattice: GeneralizationLattice, listed: PeopleList, own: NDArray[np.int64]) -> None:
        names = lattice.domain.names
        codes = np.column_stack(
            [listed.columns[name] if name in listed.columns else np.full(len(listed.person), UNKNOWN) for name in names]
        ).astype(np.int32)
        self.coverage = listed.coverage
        self._lattice, self._own = lattice, own
        self._said: Codes = np.where((own >= 0)[:, None], codes[own], UNKNOWN)
        # Each pattern of missing values with the group sizes of its list rows.
        patterns, number = np.unique(codes == UNKNOWN, axis=0, return_inverse=True)
        self._parts = []
        for pattern, lacking in enumerate(patterns):
            known = np.where(lacking, 0, codes[number.ravel() == pattern]).astype(np.int32)
            people = Population.from_records(lattice.domain, known, name=listed.name)
            self._parts.append((lacking, GroupSizes(people, lattice, holds_records=False)))

    def candidates(self, levels: Sequence[int], rows: Rows | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of matching people and whether the record's person is one.

        Both arrays have one entry per record.
        """
        n = len(self._own) if rows is None else len(rows)
        sizes = np.zeros(n, dtype=np.int64)
        for lacking, groups in self._parts:
            # A missing value in the list matches every value, like a suppressed value in the record.
            asked = np.where(lacking, np.array(self._lattice.shape) - 1, levels)
            node = int(asked @ np.array(self._lattice.strides))
            sizes += np.asarray(groups.at(node, rows), dtype=np.int64)
        chosen = slice(None) if rows is None else rows
        among = agreeing(self._lattice, levels, self._lattice.codes[chosen], self._said[chosen])
        return sizes, among & (self._own[chosen] >= 0)
