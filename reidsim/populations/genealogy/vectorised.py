"""The default engine for genealogies, in compiled code.

It processes whole generations. The order of events follows the research code of Wan et al. 2021. Before a generation
marries, the germ line of each man may mutate (all his sons inherit the result; his own haplotype does not change), and
in some generations people migrate. Then couples form in each subpopulation and have children, one couple after the
other, until the next generation is complete; the last couple's number of children is reduced if necessary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.populations.genealogy.columns import (
    TASK,
    Columns,
    Progress,
    as_genealogy,
    empty_columns,
    joined,
    no_couple,
)
from reidsim.populations.genealogy.genealogy import MAN, NO_ALLELE, WOMAN, Genealogy, Mutations
from reidsim.populations.genealogy.kernels import BirthRules, MarriageRules, bear, marry
from reidsim.populations.genealogy.parameters import Floats, GenealogyParameters
from reidsim.random_counts import draw_binomial


@dataclass(frozen=True)
class _Streams:
    """One random stream per kind of event.

    Changing one rule then does not affect the draws of other events.
    """

    founders: np.random.Generator
    mutation: np.random.Generator
    migration: np.random.Generator
    marriage: np.random.Generator
    children: np.random.Generator

    @classmethod
    def from_seed(cls, seed: int) -> _Streams:
        root = np.random.SeedSequence(seed, spawn_key=tuple(b"genealogy"))
        return cls(*(np.random.default_rng(child) for child in root.spawn(5)))


def simulate(parameters: GenealogyParameters, seed: int, *, progress: Progress | None = None) -> Genealogy:
    """Simulate a genealogy.

    Parameters
    ----------
    parameters : GenealogyParameters
        Parameters of the recipe.
    seed : int
        Root seed; it determines the result exactly.
    progress : callable, optional
        Called as ``progress(task, generations done, generations)``.

    Returns
    -------
    Genealogy

    Raises
    ------
    InputError
        If no couple is possible in a subpopulation.
    """
    p = parameters
    streams = _Streams.from_seed(seed)
    columns = empty_columns(p)
    _found(columns, p, streams.founders)
    marriage_rules = MarriageRules(
        p.n_ranks, p.years_older, p.years_younger, p.accepted_anyway, p.leaves_pool, _children_cumulative(p)
    )
    birth_rules = BirthRules(
        p.mother_ages,
        np.cumsum(p.mother_age_shares),
        p.father_at_least,
        p.wealth_steps,
        p.rank_starts,
        np.cumsum(p.state_from),
        np.cumsum(p.state_shares),
    )
    mutations = []
    for parents_from in range(0, p.total - p.people, p.people):
        start = parents_from + p.people
        transmitted, mutated = _mutate(columns, parents_from, start, p, streams.mutation)
        mutations.append(mutated)
        people = np.split(np.arange(parents_from, start, dtype=np.int32), np.cumsum(p.subpopulations)[:-1])
        generation = parents_from // p.people
        if generation in p.migration_generations:
            people = migrate(people, p.migration_shares, streams.migration)
        first_child = start
        for subpopulation, size in enumerate(p.subpopulations.tolist()):
            if not marry(streams.marriage, people[subpopulation], columns, marriage_rules, first_child, size):
                raise no_couple(subpopulation, generation)
            first_child += size
        bear(streams.children, start, first_child, columns, birth_rules, transmitted, parents_from)
        if progress is not None:
            progress(TASK, generation + 2, p.generations)
    return as_genealogy(p, columns, mutations, engine="vectorised", seed=seed)


def _found(columns: Columns, p: GenealogyParameters, rng: np.random.Generator) -> None:
    n = p.people
    columns.sex[:n] = np.where(np.arange(n) % 2 == 0, MAN, WOMAN)
    columns.birth_year[:n] = rng.integers(*p.founder_birth_years, size=n, endpoint=True)
    columns.surname[:n] = _draws(p.surname_shares, n, rng)
    columns.state[:n] = _draws(p.state_shares, n, rng)
    columns.wealth[:n] = _draws(p.wealth_shares, n, rng)
    columns.rank[:n] = np.searchsorted(p.rank_starts, columns.wealth[:n], side="right")
    for locus, frequencies in enumerate(p.founder_alleles):
        columns.haplotypes[:n, locus] = _draws(frequencies, n, rng)
    columns.haplotypes[:n][columns.sex[:n] == WOMAN] = NO_ALLELE


def _draws(shares: Floats, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    # Positions with share 0 are excluded; otherwise rounding errors could select one.
    positions = np.flatnonzero(shares)
    found = np.searchsorted(np.cumsum(shares[positions]), rng.random(n), side="right")
    return np.asarray(positions[np.minimum(found, len(positions) - 1)])


def _mutate(
    columns: Columns, start: int, stop: int, p: GenealogyParameters, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], Mutations]:
    """Return the haplotypes that people pass on, and the mutations in them.

    The people are in rows `start` to `stop` (exclusive). At a mutation, an allele changes by one repeat up or down;
    steps beyond the bounds of the locus have no effect.
    """
    transmitted = columns.haplotypes[start:stop].copy()
    men = np.flatnonzero(columns.sex[start:stop] == MAN)
    parts = []
    for locus, rate in enumerate(p.mutation_rates):
        # Men mutate independently: draw their number from a binomial distribution, then a random set of this size.
        mutants = men[rng.choice(len(men), int(draw_binomial(rng, len(men), rate)), replace=False, shuffle=False)]
        before = transmitted[mutants, locus]
        steps = 2 * rng.integers(2, size=len(mutants)) - 1
        after = np.clip(before + steps, p.lowest[locus], p.highest[locus]).astype(np.uint8)
        moved = after != before
        transmitted[mutants, locus] = after
        parts.append(
            Mutations(
                individual=(start + mutants[moved]).astype(np.int32),
                locus=np.full(np.count_nonzero(moved), locus, dtype=np.int16),
                before=before[moved],
                after=after[moved],
            )
        )
    return transmitted, joined(parts)


def migrate(people: list[NDArray[np.int32]], shares: Floats, rng: np.random.Generator) -> list[NDArray[np.int32]]:
    """Return the people of each subpopulation after the moves of a generation.

    Parameters
    ----------
    people : list of ndarray of int32
        Rows of the residents of each subpopulation.
    shares : ndarray of float64, shape (n_subpopulations, n_subpopulations)
        Share of each subpopulation (row) that moves to each subpopulation (column); numbers of people are rounded down,
        and the remaining people do not move.
    rng : numpy.random.Generator
        Source of the draw of the people who move.
    """
    arrivals: list[list[NDArray[np.int32]]] = [[] for _ in people]
    for source, residents in enumerate(people):
        shuffled = rng.permutation(residents)
        moved = 0
        for target, share in enumerate(shares[source]):
            if target != source:
                going = int(len(residents) * share)
                arrivals[target].append(shuffled[moved : moved + going])
                moved += going
        arrivals[source].append(shuffled[moved:])
    return [np.concatenate(rows) for rows in arrivals]


def _children_cumulative(p: GenealogyParameters) -> Floats:
    """Return the probabilities of at most 1, 2, ... children.

    The distribution is a zero-truncated Poisson distribution.
    """
    most = int(p.mean_children + 12 * np.sqrt(p.mean_children) + 30)
    log_terms = np.cumsum(np.log(p.mean_children) - np.log(np.arange(1, most + 1)))
    terms = np.exp(log_terms - log_terms.max())
    return np.asarray(np.cumsum(terms) / terms.sum())
