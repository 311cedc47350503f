"""Simulate smaller and larger cohorts from a release (Xia et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.errors import InputError, locating
from reidsim.kinds.assessment.release import Release
from reidsim.kinds.assessment.schema import ThresholdSection
from reidsim.kinds.assessment.study import RiskStudy
from reidsim.linkage.value_tree import ValueTree
from reidsim.populations.domain import Codes, distinct_rows
from reidsim.random_counts import draw_multivariate_hypergeometric

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Cohort:
    """A simulated cohort; people with equal values share a row.

    Parameters
    ----------
    release : Release
    knowledge : dict of str to Knowledge
        Knowledge of each adversary about the people of the rows.
    people : ndarray of int64, shape (n_rows,)
        Number of people of each row.
    """

    release: Release
    knowledge: dict[str, Knowledge]
    people: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of people."""
        return int(self.people.sum())


@dataclass(frozen=True, eq=False)
class Pool:
    """The people who may be in a cohort as it grows, by type.

    A type consists of people with equal true values and equal released values.

    Parameters
    ----------
    release : Release
        One row per type.
    knowledge : dict of str to Knowledge
        Knowledge of each adversary about the types.
    members : ndarray of int, shape (n_members,)
        Type of each member.
    others : ndarray of int64, shape (n_types,), optional
        Number of people of each type in the population, without the members; None if members are drawn repeatedly.
    stratum : ndarray of int, shape (n_types,)
        Stratum of each type, from 0: types with equal released values of ``threshold.like_members``. The stratum of a
        newcomer from the population is that of a member drawn at random.
    """

    release: Release
    knowledge: dict[str, Knowledge]
    members: Positions
    others: NDArray[np.int64] | None
    stratum: Positions

    def order(self, rng: np.random.Generator, size: int) -> Positions:
        """Return the types of people in the order in which they join the cohort.

        Members come first, in random order. A prefix of the order is therefore a random sample of the members, and
        cohorts are nested by size. Newcomers are drawn from the population without replacement, or from the members
        with replacement.

        Parameters
        ----------
        rng : numpy.random.Generator
        size : int
            Number of people; at least all members are returned.
        """
        kept = rng.permutation(self.members)
        likened = self.members[rng.integers(len(kept), size=max(size - len(kept), 0))]
        joined = likened if self.others is None else self._of_strata(rng, self.others, self.stratum[likened])
        return np.concatenate([kept, joined])

    def cohort(self, order: Positions) -> Cohort:
        """Return the cohort of people of the given types.

        `order` contains the type of each person, shape (n_people,); see the method `order`.
        """
        kinds, people = np.unique(order, return_counts=True)
        release = replace(
            self.release,
            codes=self.release.codes[kinds],
            persons=None if self.release.persons is None else self.release.persons[kinds],
        )
        return Cohort(release, _about(self.knowledge, kinds), people)

    def _of_strata(self, rng: np.random.Generator, others: NDArray[np.int64], wanted: Positions) -> Positions:
        """Return the type of each newcomer, drawn without replacement from its stratum.

        `others` is as in `Pool`; `wanted` is the stratum of each newcomer, shape (n_newcomers,).
        """
        drawn = np.empty(len(wanted), dtype=np.intp)
        by_stratum, places = np.argsort(self.stratum, kind="stable"), np.argsort(wanted, kind="stable")
        present, start, number = np.unique(wanted[places], return_index=True, return_counts=True)
        ends = np.searchsorted(self.stratum[by_stratum], [present, present + 1])
        for first, last, begin, many in zip(*ends.tolist(), start.tolist(), number.tolist(), strict=True):
            kinds = by_stratum[first:last]
            there = int(others[kinds].sum())
            if many > there:
                raise InputError(
                    "more newcomers than similar people in the population",
                    where="threshold.sizes",
                    found=f"{many:,} newcomers with the same threshold.like_members",
                    expected=f"at most {there:,}",
                )
            counts = draw_multivariate_hypergeometric(rng, others[kinds], many)
            drawn[places[begin : begin + many]] = rng.permutation(np.repeat(kinds, counts))
        return drawn


def grown_cohorts(
    study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]
) -> Iterator[tuple[int, Cohort]]:
    """Yield the number of the draw, from 0, and the cohort, for each draw and size.

    Sizes are those of ``threshold.sizes``, ascending, without the size of the release itself.
    """
    sizes = sorted(set(section.sizes) - {release.n_records})
    if not sizes:
        return
    with locating(study.loaded.path):
        pool = pool_of(study, section, release, knowledge)
    for draw in range(section.draws):
        with locating(study.loaded.path):
            order = pool.order(study.stream("cohort", release.n_records, draw), sizes[-1])
        for size in sizes:
            yield draw, pool.cohort(order[:size])


def pool_of(study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]) -> Pool:
    """Return the pool of people for the cohorts.

    Members are removed from the population: each type loses as many people as it has members, or all people if it has
    more members than people.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    n, largest, names = release.n_records, max(section.sizes), release.domain.names
    shown, own = release.codes, release.codes if release.persons is None else release.persons
    counts = np.ones(n, dtype=np.int64)
    grows = section.newcomers == "population" and largest > n
    if grows:
        population = study.population
        assert population is not None  # noqa: S101 - the schema guarantees it; for the type checker
        columns = [
            _as_released(population.cells[:, i], shown[:, i], release.trees.get(name), name)
            for i, name in enumerate(names)
        ]
        joining = np.column_stack(columns)
        # Without true values, the released values replace them, for newcomers and members equally.
        own = np.concatenate([own, joining if release.persons is None else population.cells])
        shown = np.concatenate([shown, joining])
        counts = np.concatenate([-counts, population.counts.astype(np.int64)])
    first, kind = distinct_rows([*own.T, *shown.T], len(own))
    kinds = replace(release, codes=shown[first], persons=None if release.persons is None else own[first])
    others, stratum = None, np.zeros(len(first), dtype=np.intp)
    if grows:
        others = np.zeros(len(first), dtype=np.int64)
        np.add.at(others, kind, counts)
        others = np.maximum(others, 0)
        if n + others.sum() < largest:
            raise InputError(
                "the cohort is larger than the population",
                where="threshold.sizes",
                found=largest,
                expected=f"at most {n + others.sum():,}",
            )
        alike = [kinds.codes[:, names.index(name)] for name in section.like_members]
        stratum = distinct_rows(alike, len(first))[1].astype(np.intp)
    known = study.knowledge(kinds) if grows else _about(knowledge, first)
    return Pool(kinds, known, kind[:n].astype(np.intp), others, stratum)


def _about(knowledge: Mapping[str, Knowledge], persons: Positions) -> dict[str, Knowledge]:
    """Return the knowledge of each adversary about the given persons."""
    return {
        name: replace(
            whole,
            sources=tuple(
                replace(source, profile_of_person=source.profile_of_person[persons]) for source in whole.sources
            ),
        )
        for name, whole in knowledge.items()
    }


def _as_released(values: Codes, members: Codes, tree: ValueTree | None, name: str) -> Codes:
    """Return newcomers' values, generalized like the members' values.

    The groups among the members' values must not include each other, so each value belongs to at most one group. A
    value in none of the groups is generalized to the widest group that includes no released value. If no member's value
    is generalized, values stay unchanged.
    """
    if tree is None:
        return values
    used = np.unique(members)
    above = np.unique(tree.chain[used])
    strictly_above = np.setdiff1d(np.unique(tree.parent[above[above >= 0]]), [-1])
    mixed = np.intersect1d(used, strictly_above)
    if len(mixed):
        raise InputError(
            "newcomers cannot be generalized like members, because groups of the members overlap",
            where=f"threshold.newcomers, column {name!r}",
            found=tree.labels[mixed[0]],
            expected='groups that do not overlap, or newcomers = "members"',
        )
    if (used < tree.attribute.size).all():
        return values
    node_of = np.arange(tree.attribute.size, dtype=np.int32)
    for value in range(tree.attribute.size):
        chain = tree.chain[value]
        node_of[value] = next(node for node in chain.tolist() if node in used or node not in strictly_above)
    return node_of[values]


def growth_warnings(study: RiskStudy) -> tuple[str, ...]:
    """Return a warning if larger cohorts repeat members, which understates risk."""
    section = study.scenario.threshold
    if section is None or section.newcomers != "members" or max(section.sizes, default=0) <= study.sizes[0]:
        return ()
    return ("larger cohorts repeat members, which understates their risk (threshold.newcomers)",)
