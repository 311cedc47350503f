"""Compiled kernels for the marriages and births of a generation."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from reidsim.populations.genealogy.columns import Columns
from reidsim.populations.genealogy.genealogy import MAN, NO_ALLELE, WOMAN
from reidsim.populations.genealogy.parameters import Floats, Ints
from reidsim.random_counts import first_above


class MarriageRules(NamedTuple):
    """Parameters of marriages; see `GenealogyParameters`.

    `children` holds the probabilities of at most 1, 2, ... children.
    """

    n_ranks: int
    years_older: int
    years_younger: int
    accepted_anyway: float
    leaves_pool: float
    children: Floats


class BirthRules(NamedTuple):
    """Parameters of births; see `GenealogyParameters`.

    The last cumulative probability of each array is 1.
    """

    mother_ages: Ints
    mother_age_cumulative: Floats
    father_at_least: int
    wealth_steps: Ints
    rank_starts: Ints
    state_from_cumulative: Floats
    state_cumulative: Floats


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
    # Pools of men and women by rank; the first n_men or n_women entries of a pool are still available.
    pool_start = np.zeros(rules.n_ranks + 1, dtype=np.int64)
    for person in people:
        pool_start[columns.rank[person] + 1] += 1
    pool_start = np.cumsum(pool_start)
    n_men = np.zeros(rules.n_ranks, dtype=np.int64)
    n_women = np.zeros(rules.n_ranks, dtype=np.int64)
    men = np.empty(len(people), dtype=np.int32)
    women = np.empty(len(people), dtype=np.int32)
    for person in people:
        rank = columns.rank[person]
        if columns.sex[person] == MAN:
            men[pool_start[rank] + n_men[rank]] = person
            n_men[rank] += 1
        else:
            women[pool_start[rank] + n_women[rank]] = person
            n_women[rank] += 1
    if not ((n_men > 0) & (n_women > 0)).any():
        return False
    filled = 0
    while filled < size:
        # A rank is chosen with probability proportional to its number of people, married or not.
        rank = columns.rank[people[int(rng.random() * len(people))]]
        if n_men[rank] == 0 or n_women[rank] == 0:
            continue
        while True:
            man_at = pool_start[rank] + int(rng.random() * n_men[rank])
            woman_at = pool_start[rank] + int(rng.random() * n_women[rank])
            man, woman = men[man_at], women[woman_at]
            gap = columns.birth_year[man] - columns.birth_year[woman]
            suited = -rules.years_older <= gap <= rules.years_younger and columns.wealth[man] >= columns.wealth[woman]
            if suited or rng.random() < rules.accepted_anyway:
                break
        children = min(1 + first_above(rules.children, rng.random()), size - filled)
        for child in range(start + filled, start + filled + children):
            columns.father[child] = man
            columns.mother[child] = woman
        filled += children
        if n_men[rank] > 1 and rng.random() < rules.leaves_pool:
            n_men[rank] -= 1
            men[man_at] = men[pool_start[rank] + n_men[rank]]
        if n_women[rank] > 1 and rng.random() < rules.leaves_pool:
            n_women[rank] -= 1
            women[woman_at] = women[pool_start[rank] + n_women[rank]]
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

    The parents must be filled already.

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
        rank = 0
        while rank < len(rules.rank_starts) and wealth >= rules.rank_starts[rank]:
            rank += 1
        columns.rank[child] = rank
        source = first_above(rules.state_from_cumulative, rng.random())
        if source == 0:
            columns.state[child] = columns.state[father]
        elif source == 1:
            columns.state[child] = columns.state[mother]
        else:
            columns.state[child] = first_above(rules.state_cumulative, rng.random())
        if rng.random() < 0.5:
            columns.sex[child] = MAN
            for locus in range(transmitted.shape[1]):
                columns.haplotypes[child, locus] = transmitted[father - parents_from, locus]
        else:
            columns.sex[child] = WOMAN
            for locus in range(transmitted.shape[1]):
                columns.haplotypes[child, locus] = NO_ALLELE
