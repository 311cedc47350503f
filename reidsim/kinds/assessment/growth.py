"""Simulate smaller and larger cohorts from a release (Xia et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.core.errors import InputError, locating
from reidsim.core.randomness import draw_multivariate_hypergeometric
from reidsim.kinds.assessment.schema import ThresholdSection
from reidsim.kinds.assessment.study import Release, RiskStudy
from reidsim.linkage.equivalence import ValueTree
from reidsim.populations.domain import Codes, distinct_rows

Positions = NDArray[np.intp]
# A simulated cohort, whose rows stand for `Release.people`, and the knowledge of each adversary about the rows.
Cohort = tuple[Release, dict[str, Knowledge]]


@dataclass(frozen=True, eq=False)
class Pool:
    """People who may be in a cohort of any size, by type.

    A type consists of people with equal true values and equal released values.

    Parameters
    ----------
    release : Release
        Released and true values of each type, one row per type.
    knowledge : dict of str to Knowledge
        Knowledge of each adversary about the types.
    members : ndarray of int, shape (n_members,)
        Type of each member; the members are the people of the release.
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
        """Return the type of each person, in the order in which people join the cohort.

        Members come first, in random order. A prefix of the order is therefore a random sample of the members, and
        cohorts are nested by size. Newcomers are drawn from the population without replacement, or from the members
        with replacement.

        Parameters
        ----------
        rng : numpy.random.Generator
        size : int
            Number of people. If there are more members, all members are returned.

        Returns
        -------
        ndarray of int, shape (max(size, n_members),)

        Raises
        ------
        InputError
            If a stratum of the population has fewer people than newcomers.
        """
        kept = rng.permutation(self.members)
        joined = self.members[rng.integers(len(kept), size=max(size - len(kept), 0))]
        if self.others is None:
            return np.concatenate([kept, joined])
        # Each newcomer replaces a member of its stratum.
        wanted, drawn = self.stratum[joined], np.empty(len(joined), dtype=np.intp)
        for stratum in np.unique(wanted):
            kinds, places = np.flatnonzero(self.stratum == stratum), np.flatnonzero(wanted == stratum)
            there, many = int(self.others[kinds].sum()), len(places)
            if many > there:
                raise InputError(
                    "more newcomers than similar people in the population",
                    where="threshold.sizes",
                    found=f"{many:,} newcomers with the same threshold.like_members",
                    expected=f"at most {there:,}",
                )
            counts = draw_multivariate_hypergeometric(rng, self.others[kinds], many)
            drawn[places] = rng.permutation(np.repeat(kinds, counts))
        return np.concatenate([kept, drawn])

    def cohort(self, order: Positions) -> Cohort:
        """Return the cohort of people with given types: its `Release` and `Knowledge`.

        The release has one row per distinct type, with the number of people in `Release.people`; the dict has the
        knowledge of each adversary about these rows.

        Parameters
        ----------
        order : ndarray of int, shape (n_people,)
            Type of each person.
        """
        kinds, people = np.unique(order, return_counts=True)
        return replace(_rows(self.release, kinds), people=people), _about(self.knowledge, kinds)


def grown_cohorts(
    study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]
) -> Iterator[tuple[int, int, Cohort]]:
    """Yield the number of the draw, the size and the cohort, for each draw and size.

    Draws are numbered from 0. Sizes, in people, are the values of ``threshold.sizes``, ascending, without the size of
    the release itself; without other sizes, nothing is yielded. A cohort is a `Release` and the knowledge of each
    adversary about its rows; see `Pool.cohort`.

    Parameters
    ----------
    study : RiskStudy
    section : ThresholdSection
    release : Release
        The members.
    knowledge : mapping of str to Knowledge
        Knowledge of each adversary about the members.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    sizes = sorted(set(section.sizes) - {release.n_records})
    if not sizes:
        return
    with locating(study.loaded.path):
        pool = pool_of(study, section, release, knowledge)
    for draw in range(section.draws):
        with locating(study.loaded.path):
            order = pool.order(study.stream("cohort", release.n_records, draw), sizes[-1])
        yield from ((draw, size, pool.cohort(order[:size])) for size in sizes)


def pool_of(study: RiskStudy, section: ThresholdSection, release: Release, knowledge: Mapping[str, Knowledge]) -> Pool:
    """Return the `Pool` of people from whom cohorts are simulated.

    If ``threshold.newcomers`` is "members", or no cohort is larger than the release, the pool has only the members of
    the release. Otherwise it also has the other people of the population. Members are removed from the population: each
    type loses as many people as it has members, or all people if it has more members than people.

    Raises
    ------
    InputError
        If the population is too small, or the generalization of newcomers' values is undefined.
    """
    n, largest, names = release.n_records, max(section.sizes), release.domain.names
    if section.newcomers != "population" or largest <= n:
        first, kind = distinct_rows([*release.true_values.T, *release.codes.T], n)
        return Pool(_rows(release, first), _about(knowledge, first), kind.astype(np.intp), None, np.zeros_like(first))
    cells = study.people.cells
    by_attribute = zip(names, cells.T, release.codes.T, strict=True)
    joining = np.column_stack([_as_released(own, shown, release.trees.get(a), a) for a, own, shown in by_attribute])
    # Without true values, the released values replace them, for newcomers and members equally.
    persons = None if release.persons is None else np.concatenate([release.persons, cells])
    everybody = replace(release, codes=np.concatenate([release.codes, joining]), persons=persons)
    first, kind = distinct_rows([*everybody.true_values.T, *everybody.codes.T], everybody.n_records)
    others = np.zeros(len(first), dtype=np.int64)
    np.add.at(others, kind, np.concatenate([np.full(n, -1), study.people.counts.astype(np.int64)]))
    others = np.maximum(others, 0)
    if n + others.sum() < largest:
        problem, most = "the cohort is larger than the population", f"at most {n + others.sum():,}"
        raise InputError(problem, where="threshold.sizes", found=largest, expected=most)
    kinds = _rows(everybody, first)
    alike = [kinds.codes[:, names.index(name)] for name in section.like_members]
    stratum = distinct_rows(alike, len(first))[1].astype(np.intp)
    return Pool(kinds, study.knowledge(kinds), kind[:n].astype(np.intp), others, stratum)


def _rows(release: Release, rows: Positions) -> Release:
    """Return a `Release` with some rows of a release, in the given order.

    Only values and true values are selected; other fields are unchanged.

    Parameters
    ----------
    release : Release
    rows : ndarray of int, shape (n,)
        Positions of the rows.
    """
    persons = None if release.persons is None else release.persons[rows]
    return replace(release, codes=release.codes[rows], persons=persons)


def _about(knowledge: Mapping[str, Knowledge], persons: Positions) -> dict[str, Knowledge]:
    """Return the knowledge of each adversary about some of the persons, by name.

    Parameters
    ----------
    knowledge : mapping of str to Knowledge
        Knowledge about all persons.
    persons : ndarray of int, shape (n,)
        Positions of the persons.
    """
    found = {}
    for name, known in knowledge.items():
        sources = (replace(each, profile_of_person=each.profile_of_person[persons]) for each in known.sources)
        found[name] = replace(known, sources=tuple(sources))
    return found


def _as_released(values: Codes, members: Codes, tree: ValueTree | None, name: str) -> Codes:
    """Return the codes of newcomers' values, generalized like the members' values.

    The groups among the members' values must not include each other, so each value belongs to at most one group. A
    value in none of the groups is generalized to the widest group that includes no released value. If no member's value
    is generalized, values stay unchanged.

    Parameters
    ----------
    values : ndarray of int32, shape (n,)
        Codes of the newcomers' ungeneralized values.
    members : ndarray of int32, shape (n_members,)
        Codes of the members' released values, in `tree`.
    tree : ValueTree or None
        None if the attribute has neither groups nor suppressed values; values then stay unchanged.
    name : str
        Name of the attribute, for messages.

    Raises
    ------
    InputError
        If a group among the members' values includes another one.
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
    chains = tree.chain[: tree.attribute.size].tolist()
    nodes = [next(node for node in chain if node in used or node not in strictly_above) for chain in chains]
    return np.array(nodes, dtype=np.int32)[values]
