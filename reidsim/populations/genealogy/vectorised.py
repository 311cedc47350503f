"""The default engine for genealogies, in compiled code.

It processes whole generations. The order of events follows the research code of Wan et al. 2021. Before a generation
marries, the germ line of each man may mutate (all his sons inherit the result; his own haplotype does not change), and
in some generations people migrate. Then couples form in each subpopulation and have children, one couple after the
other, until the next generation is complete; the last couple's number of children is reduced if necessary.
"""

from __future__ import annotations

from collections import namedtuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.core.randomness import draw_binomial, first_above
from reidsim.populations.genealogy.genealogy import (
    MAN,
    NO_ALLELE,
    TASK,
    WOMAN,
    Columns,
    Floats,
    Genealogy,
    GenealogyParameters,
    Mutations,
    Progress,
    as_genealogy,
    empty_columns,
    no_couple,
)

# Parameters of marriages and births in a form that compiled functions accept; see `GenealogyParameters`. The array
# `children` holds the probabilities of at most 1, 2, ... children. The last cumulative probability of an array is 1.
MarriageRules = namedtuple("MarriageRules", "n_ranks years_older years_younger accepted_anyway leaves_pool children")
BirthRules = namedtuple(
    "BirthRules",
    "mother_ages mother_age_cumulative father_at_least wealth_steps rank_starts state_from_cumulative state_cumulative",
)


def simulate(parameters: GenealogyParameters, seed: int, *, progress: Progress | None = None) -> Genealogy:
    """Simulate a genealogy with the default engine.

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
    # One random stream per kind of event: changing one rule does not affect the draws of other events.
    root = np.random.SeedSequence(seed, spawn_key=tuple(b"genealogy"))
    of_founders, of_mutations, of_moves, of_couples, of_children = map(np.random.default_rng, root.spawn(5))
    columns = empty_columns(p)
    _found(columns, p, of_founders)
    # Zero-truncated Poisson distribution of the number of children.
    most = int(p.mean_children + 12 * np.sqrt(p.mean_children) + 30)
    log_terms = np.cumsum(np.log(p.mean_children) - np.log(np.arange(1, most + 1)))
    terms = np.exp(log_terms - log_terms.max())
    children, n_ranks = np.cumsum(terms) / terms.sum(), len(p.rank_starts) + 1
    marriage_rules = MarriageRules(n_ranks, p.years_older, p.years_younger, p.accepted_anyway, p.leaves_pool, children)
    birth_rules = BirthRules(
        p.mother_ages,
        np.cumsum(p.mother_age_shares),
        p.father_at_least,
        p.wealth_steps,
        p.rank_starts,
        np.cumsum(p.state_from),
        np.cumsum(p.state_shares),
    )
    mutations: list[Mutations] = []
    for parents_from in range(0, p.total - p.people, p.people):
        start = parents_from + p.people
        transmitted, mutated = _mutate(columns, parents_from, start, p, of_mutations)
        mutations += mutated
        people = np.split(np.arange(parents_from, start, dtype=np.int32), np.cumsum(p.subpopulations)[:-1])
        generation = parents_from // p.people
        if generation in p.migration_generations:
            people = migrate(people, p.migration_shares, of_moves)
        first_child = start
        for subpopulation, size in enumerate(p.subpopulations.tolist()):
            if not marry(of_couples, people[subpopulation], columns, marriage_rules, first_child, size):
                raise no_couple(subpopulation, generation)
            first_child += size
        bear(of_children, start, first_child, columns, birth_rules, transmitted, parents_from)
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
) -> tuple[NDArray[np.uint8], list[Mutations]]:
    """Return the haplotypes that people pass on, and the mutations in them.

    Haplotypes have shape (n_people, n_loci), 0 for women; mutations are a list with one `Mutations` per locus. The
    people are in rows `start` to `stop` (exclusive). At a mutation, an allele changes by one repeat up or down; steps
    beyond the bounds of the locus have no effect.
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
    return transmitted, parts


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

    Returns
    -------
    list of ndarray of int32
        Rows of the residents of each subpopulation after the moves.
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


@numba.njit(cache=True)
def marry(
    rng: np.random.Generator, people: NDArray[np.int32], columns: Columns, rules: MarriageRules, start: int, size: int
) -> bool:
    """Form couples until their children fill a subpopulation.

    A couple is drawn at random within a rank. It is suitable if the difference in age is within the limits of the rules
    and the man is at least as wealthy as the woman. The parents of each child are stored in `columns`.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the draws.
    people : ndarray of int32, shape (n_people,)
        Rows of the people who may marry.
    columns : Columns
        ``father`` and ``mother`` are filled from row `start` on; siblings are neighbours.
    rules : MarriageRules
        Parameters of marriages.
    start, size : int
        First row and number of the children.

    Returns
    -------
    bool
        Whether a couple is possible, that is, whether a rank has a man and a woman; if False, `columns` is unchanged.
    """
    # Pools of women and men by rank; the first n[sex, rank] entries of a pool are still available.
    of_rank = np.bincount(columns.rank[people].astype(np.int64), minlength=rules.n_ranks)
    pool_start = np.cumsum(of_rank) - of_rank
    pools, n = np.empty((2, len(people)), dtype=np.int32), np.zeros((2, rules.n_ranks), dtype=np.int64)
    for person in people:
        sex, rank = columns.sex[person], columns.rank[person]
        pools[sex, pool_start[rank] + n[sex, rank]] = person
        n[sex, rank] += 1
    if not ((n[MAN] > 0) & (n[WOMAN] > 0)).any():
        return False
    filled = 0
    while filled < size:
        # A rank is chosen with probability proportional to its number of people, married or not.
        rank = columns.rank[people[int(rng.random() * len(people))]]
        if n[MAN, rank] == 0 or n[WOMAN, rank] == 0:
            continue
        while True:
            man_at = pool_start[rank] + int(rng.random() * n[MAN, rank])
            woman_at = pool_start[rank] + int(rng.random() * n[WOMAN, rank])
            man, woman = pools[MAN, man_at], pools[WOMAN, woman_at]
            gap = columns.birth_year[man] - columns.birth_year[woman]
            suited = -rules.years_older <= gap <= rules.years_younger and columns.wealth[man] >= columns.wealth[woman]
            if suited or rng.random() < rules.accepted_anyway:
                break
        children = min(1 + first_above(rules.children, rng.random()), size - filled)
        columns.father[start + filled : start + filled + children] = man
        columns.mother[start + filled : start + filled + children] = woman
        filled += children
        for sex, at in ((MAN, man_at), (WOMAN, woman_at)):
            if n[sex, rank] > 1 and rng.random() < rules.leaves_pool:
                n[sex, rank] -= 1
                pools[sex, at] = pools[sex, pool_start[rank] + n[sex, rank]]
    return True


@numba.njit(cache=True)
def bear(
    rng: np.random.Generator,
    start: int,
    stop: int,
    columns: Columns,
    rules: BirthRules,
    transmitted: NDArray[np.uint8],
    parents_from: int,
) -> None:
    """Fill the columns of the children in rows `start` to `stop` (exclusive).

    The columns ``father`` and ``mother`` of these rows must be filled already, as must all columns of the parents.

    `transmitted` holds the haplotypes that men pass on, shape (n_parents, n_loci); its first row belongs to row
    `parents_from` of `columns`.
    """
    for child in range(start, stop):
        father, mother = columns.father[child], columns.mother[child]
        columns.surname[child] = columns.surname[father]
        mother_age = rules.mother_ages[first_above(rules.mother_age_cumulative, rng.random())]
        columns.birth_year[child] = max(
            columns.birth_year[mother] + mother_age, columns.birth_year[father] + rules.father_at_least
        )
        step = rules.wealth_steps[int(rng.random() * len(rules.wealth_steps))]
        # Computed as twice the wealth, which is an integer; the division by 2 rounds towards 0.
        doubled = int(columns.wealth[father]) + int(columns.wealth[mother]) + 2 * step
        wealth = doubled // 2 if doubled >= 0 else -(-doubled // 2)
        columns.wealth[child] = wealth
        columns.rank[child] = np.searchsorted(rules.rank_starts, wealth, side="right")
        source = first_above(rules.state_from_cumulative, rng.random())
        if source == 0:
            columns.state[child] = columns.state[father]
        elif source == 1:
            columns.state[child] = columns.state[mother]
        else:
            columns.state[child] = first_above(rules.state_cumulative, rng.random())
        columns.sex[child] = MAN if rng.random() < 0.5 else WOMAN
        # The haplotypes that mothers pass on are `NO_ALLELE`.
        from_parent = father if columns.sex[child] == MAN else mother
        columns.haplotypes[child] = transmitted[from_parent - parents_from]
