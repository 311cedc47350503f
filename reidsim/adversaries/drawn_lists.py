"""Linking records to lists that were drawn from the people whom the records are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import agreeing, suppressible
from reidsim.adversaries.response import Linkage, ListedCandidates, one_over
from reidsim.errors import InputError
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import Codes
from reidsim.populations.people_lists import PeopleList
from reidsim.populations.population import Population
from reidsim.populations.sampling import UNKNOWN
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Rows


@dataclass(frozen=True, eq=False)
class DrawnLists:
    """Lists, and which people the records are about; the adversary sees the first alone.

    Parameters
    ----------
    lists : mapping of str to PeopleList
        Columns are codes over the domain of the records.
    person : ndarray of int64, shape (n_records,)
        Row of the people that each record is about; -1 for none of them.
    prices : mapping of str to float
        What each list costs.
    buyers : mapping of str to tuple of str
        Names of the adversaries who may have each.
    """

    lists: Mapping[str, PeopleList]
    person: NDArray[np.int64]
    prices: Mapping[str, float]
    buyers: Mapping[str, tuple[str, ...]]

    def own(self, name: str) -> NDArray[np.int64]:
        """Return the row of a list that each record's person has, -1 for none, shape (n_records,)."""
        return np.where(self.person >= 0, self.lists[name].record_of[self.person], -1)

    def of_records(self, rows: Rows) -> DrawnLists:
        """Return the same lists for some of the records."""
        return replace(self, person=self.person[rows])


class DrawnListsLinker:
    """Links records to the people of the lists held, by what is released.

    A missing value agrees with every other. The adversary takes what a list says to be right, and each record's person
    to be in it with the list's coverage; it believes to succeed with the coverage over the number of people who agree.
    Of several lists it uses, for each record and form, the one with which it believes to succeed best; of equals the
    first. In truth it succeeds, with one over that number, if the person's own row is one of those that agree.

    Parameters
    ----------
    lattice : GeneralizationLattice
    drawn : DrawnLists
        About the records of the lattice.
    held : sequence of str
        Lists that the adversary has, in order.
    guessed : bool
        Whether no more than their coverage is known of who is in them: an attempt then succeeds as the adversary
        believes, on whomever.

    Raises
    ------
    InputError
        If lists are of other records, or none is held.
    """

    # Those linked to are not everybody.
    population: GroupSizes | None = None

    def __init__(
        self, lattice: GeneralizationLattice, drawn: DrawnLists, held: Sequence[str], *, guessed: bool = False
    ) -> None:
        if len(drawn.person) != lattice.n_records or not held:
            raise InputError("no list of the records", found=len(drawn.person), expected=str(lattice.n_records))
        self._lattice, self._guessed = lattice, guessed
        self._suppressing = replace(lattice, hierarchies=tuple(map(suppressible, lattice.hierarchies)))
        self._lists = [_ListOfRecords(self._suppressing, drawn.lists[name], drawn.own(name)) for name in held]

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the candidates of all records, or of `rows`, shared as `strategy`, in the list that is used."""
        levels = self._lattice.levels(strategy)
        first, *others = self._lists
        sizes, among = first.candidates(levels, rows)
        coverage = np.full(len(sizes), first.coverage)
        believed = first.believed(sizes)
        for other in others:
            counts, there = other.candidates(levels, rows)
            hoped = other.believed(counts)
            better = hoped > believed
            believed, sizes = np.where(better, hoped, believed), np.where(better, counts, sizes)
            among, coverage = np.where(better, there, among), np.where(better, other.coverage, coverage)
        success = np.where(among, 1.0 / np.maximum(sizes, 1), 0.0)
        candidates = ListedCandidates(sizes, coverage)
        linked = Linkage(one_over(success), one_over(believed), by_chance=True, candidates=candidates, among=among)
        return linked.as_believed() if self._guessed else linked


class _ListOfRecords:
    """One list: its rows by which values they lack, and the own row of each record's person."""

    def __init__(self, lattice: GeneralizationLattice, listed: PeopleList, own: NDArray[np.int64]) -> None:
        names = lattice.domain.names
        codes = np.column_stack(
            [listed.columns[name] if name in listed.columns else np.full(listed.n_records, UNKNOWN) for name in names]
        ).astype(np.int32)
        self.coverage = listed.coverage
        self._lattice, self._own = lattice, own
        self._said: Codes = np.where((own >= 0)[:, None], codes[own], UNKNOWN)
        self._parts = list(_by_missing(lattice, codes, listed.name))

    def candidates(
        self, levels: Sequence[int], rows: Rows | None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:  # fmt: skip
        """Return how many people of the list agree with each record, and whether its own person is one of them."""
        n = len(self._own) if rows is None else len(rows)
        sizes = np.zeros(n, dtype=np.int64)
        for lacking, groups in self._parts:
            # A value that is lacking is as one that is not released.
            asked = np.where(lacking, np.array(self._lattice.shape) - 1, levels)
            node = int(asked @ np.array(self._lattice.strides))
            sizes += np.asarray(groups.at(node, rows), dtype=np.int64)
        chosen = slice(None) if rows is None else rows
        among = agreeing(self._lattice, levels, self._lattice.codes[chosen], self._said[chosen])
        return sizes, among & (self._own[chosen] >= 0)

    def believed(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely the adversary believes an attempt at one of so many people to succeed."""
        return np.where(sizes > 0, self.coverage / np.maximum(sizes, 1), 0.0)


def _by_missing(
    lattice: GeneralizationLattice, codes: Codes, name: str
) -> Iterator[tuple[NDArray[np.bool_], GroupSizes]]:
    """Yield the rows of a list that lack the same values, counted by the others."""
    patterns, number = np.unique(codes == UNKNOWN, axis=0, return_inverse=True)
    for pattern, lacking in enumerate(patterns):
        known = np.where(lacking, 0, codes[number.ravel() == pattern]).astype(np.int32)
        people = Population.from_records(lattice.domain, known, name=name)
        yield lacking, GroupSizes(people, lattice, holds_records=False)
