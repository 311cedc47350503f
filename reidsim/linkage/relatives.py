"""Relatedness of relatives, and match probabilities in a genomic database.

Matches follow Erlich et al. 2018 (doi:10.1126/science.aau4832, supplement, section 3). For two people who are M meioses
apart, a genome of L Morgans consists of ``L M + 22`` blocks. The two share each block in a segment of m Morgans or
longer with probability ``2 r exp(-m M)``, where r is their relatedness. A match requires several such segments. M is
the length of the shortest path between the two people; r includes all paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from reidsim.core.numerics import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Pedigree row of an unknown parent.
NO_PARENT = -1
_CHROMOSOMES = 22


@dataclass(frozen=True)
class Matching:
    """Definition of a match in a search of the database.

    Parameters
    ----------
    genome : float
        Length of the genome, in Morgans (L).
    segment : float
        Minimum length of a detected segment, in Morgans (m).
    segments : int
        Minimum number of shared segments in a match (n_s).
    """

    genome: float = 35.0
    segment: float = 0.06
    segments: int = 2

    def probability(self, meioses: NDArray[np.generic], relatedness: Floats) -> Floats:
        """Return the probability that two people match, elementwise.

        Parameters
        ----------
        meioses : ndarray
            Number of meioses between the two people (M).
        relatedness : ndarray of float64, same shape
            Expected fraction of the genome shared by the two people (r); 1/2 for full siblings.

        Returns
        -------
        ndarray of float64, same shape
            0 if the number of blocks, ``L M + 22``, is `segments` - 1 or less.
        """
        distance = np.asarray(meioses, dtype=np.float64)
        blocks = self.genome * distance + _CHROMOSOMES
        return at_least(self.segments, blocks, np.minimum(2.0 * relatedness * np.exp(-self.segment * distance), 1.0))


def at_least(number: int, trials: Floats | float, chance: Floats | float) -> Floats:
    """Return the probability of at least `number` successes in independent trials.

    Parameters
    ----------
    number : int
        Minimum number of successes, 1 or more.
    trials, chance : float or ndarray of float64
        Number of trials and success probability of each, of equal shape. The number of trials need not be a whole
        number. The result is 0 if it is `number` - 1 or less.
    """
    others = np.maximum(np.asarray(trials, dtype=np.float64) - number + 1.0, 0.0)
    # Upper tail of the binomial distribution as an incomplete beta function.
    return np.where(others > 0, scipy.special.betainc(float(number), np.maximum(others, 1e-300), chance), 0.0)


@dataclass(frozen=True, eq=False)
class Relatives:
    """Pairs of relatives, in both directions, sorted by the first person.

    Parameters
    ----------
    starts : ndarray of int64, shape (n_people + 1,)
        The relatives of person i are pairs ``starts[i]`` to ``starts[i + 1] - 1``.
    other : ndarray of int64, shape (n_pairs,)
        The relative of each pair, as a position among the people.
    meioses : ndarray of int64, shape (n_pairs,)
        Number of meioses on the shortest path through a common ancestor.
    relatedness : ndarray of float64, shape (n_pairs,)
        Wright's coefficient of relationship, through all common ancestors in the pedigree.
    """

    starts: Ints
    other: Ints
    meioses: Ints
    relatedness: Floats


def relatives_within(father: Ints, mother: Ints, rows: Ints, generations: int) -> Relatives:
    """Return all pairs of relatives up to a number of generations, as `Relatives`.

    Descendants and ancestors of a person count as relatives. Distance is the shortest path through a common ancestor.
    Relatedness is Wright's coefficient of relationship (1922), ``2 k / sqrt((1 + F_i) (1 + F_j))``, with k the kinship
    of persons i and j and F the inbreeding coefficient. Founders are unrelated and not inbred.

    Parameters
    ----------
    father, mother : ndarray of int64, shape (n_pedigree,)
        Pedigree row of each person's parents; -1 if unknown.
    rows : ndarray of int64, shape (n_people,)
        Pedigree rows of the people among whom relatives are searched.
    generations : int
        Generations back. Pairs are at most ``2 * generations`` meioses apart; 2 generations reach first cousins.
    """
    n, furthest = len(father), 2 * generations
    known = [np.flatnonzero(parent != NO_PARENT) for parent in (father, mother)]
    child = np.concatenate(known)
    parent = np.concatenate([father[known[0]], mother[known[1]]])
    above = scipy.sparse.csr_array((np.ones(len(child)), (child, parent)), shape=(n, n))
    # ways[g] counts the paths from each person to each ancestor g generations earlier; generation 0 is the person.
    ways = [scipy.sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n))]
    while len(ways) <= furthest and ways[-1].nnz:
        ways.append(scipy.sparse.csr_array(ways[-1] @ above))
    found: list[tuple[Ints, Ints, Ints]] = []
    seen = np.arange(len(rows), dtype=np.int64) * (len(rows) + 1)
    for meioses in range(1, furthest + 1):
        pairs = scipy.sparse.csr_array((len(rows), len(rows)))
        for up in range(meioses + 1):
            if up < len(ways) and meioses - up < len(ways):
                pairs = pairs + ways[up] @ ways[meioses - up].T
        pairs = pairs.tocoo()
        key = pairs.row.astype(np.int64) * len(rows) + pairs.col
        new = ~np.isin(key, seen)
        seen = np.concatenate([seen, key[new]])
        one, other = pairs.row[new].astype(np.int64), pairs.col[new].astype(np.int64)
        found.append((one, other, np.full(len(one), meioses, dtype=np.int64)))
    one, other, distance = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((other, one))
    one, other, distance = one[order], other[order], distance[order]
    starts = np.searchsorted(one, np.arange(len(rows) + 1)).astype(np.int64)
    return Relatives(starts, other, distance, _relationships(father, mother, rows, starts, other))


def _relationships(father: Ints, mother: Ints, rows: Ints, starts: Ints, other: Ints) -> Floats:
    """Return Wright's coefficient of relationship of each pair, shape (n_pairs,).

    See `relatives_within` and `Relatives` for the arguments.
    """
    generation, later = np.full(len(father), -1), np.zeros(len(father), dtype=np.int64)
    while not np.array_equal(later, generation):
        generation = later
        # An unknown parent counts as one generation before the founders.
        later = np.maximum(*[np.where(parent == NO_PARENT, -1, generation[parent]) for parent in (father, mother)]) + 1
    order = np.argsort(generation, kind="stable")
    place = np.full(len(father), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    twice_kinship, inbreeding = _twice_kinship(father, mother, order, place, rows, starts, other)
    of_own = 1.0 + inbreeding[rows]
    one = np.repeat(np.arange(len(rows)), np.diff(starts))
    return np.asarray(twice_kinship / np.sqrt(of_own[one] * of_own[other]))


@compiled()
def _twice_kinship(
    father: Ints, mother: Ints, order: Ints, place: Ints, rows: Ints, starts: Ints, other: Ints
) -> tuple[Floats, Floats]:
    """Return twice the kinship of each pair, and the inbreeding of each person.

    The matrix of twice the kinships is ``T D T'``, with T the shares of genes by descent and D the variance that each
    person's own meioses add (Henderson 1976). Two passes over the pedigree yield one row (Colleau 2002).

    Parameters
    ----------
    order : ndarray of int64, shape (n_pedigree,)
        Pedigree rows, parents before children.
    place : ndarray of int64, shape (n_pedigree,)
        Position of each person in `rows`; -1 for people who are not in `rows`.
    father, mother, rows, starts, other
        See `relatives_within` and `Relatives`.

    Returns
    -------
    twice_kinship : ndarray of float64, shape (n_pairs,)
    inbreeding : ndarray of float64, shape (n_pedigree,)
    """
    n = len(father)
    inbreeding, added = np.zeros(n), np.ones(n)
    twice = np.empty(len(other))
    # Linked list of children by father, because a person's inbreeding is the kinship of the parents.
    first, following = np.full(n, -1), np.full(n, -1)
    for child in range(n):
        if father[child] >= 0 and mother[child] >= 0:
            following[child], first[father[child]] = first[father[child]], child
    shares, row = np.zeros(n), np.empty(n)
    for at in range(n):
        person = order[at]
        for parent in (father[person], mother[person]):
            if parent >= 0:
                added[person] -= (1.0 + inbreeding[parent]) / 4.0
        if place[person] < 0 and first[person] < 0:
            continue
        shares[person] = 1.0
        for before in range(at, -1, -1):
            each = order[before]
            share = shares[each]
            if share != 0.0:
                for parent in (father[each], mother[each]):
                    if parent >= 0:
                        shares[parent] += share / 2.0
        for now in range(n):
            each = order[now]
            value = shares[each] * added[each]
            shares[each] = 0.0
            for parent in (father[each], mother[each]):
                if parent >= 0:
                    value += row[parent] / 2.0
            row[each] = value
        child = first[person]
        while child >= 0:
            inbreeding[child] = row[mother[child]] / 2.0
            child = following[child]
        if place[person] >= 0:
            for pair in range(starts[place[person]], starts[place[person] + 1]):
                twice[pair] = row[rows[other[pair]]]
    return twice, inbreeding


@dataclass(frozen=True)
class Ancestry:
    """A Wright-Fisher population of monogamous couples.

    Parents are drawn at random. All cousins are full cousins.

    Parameters
    ----------
    couples : float
        Number of couples in the present generation (N_0).
    children : float
        Children per couple (r); each earlier generation is smaller by the factor 2 / r.
    """

    couples: float = 90_000_000.0
    children: float = 2.5

    @property
    def people(self) -> float:
        """Number of people in the present generation: two per couple."""
        return 2.0 * self.couples

    def sharing(self, generations: int) -> Floats:
        """Return the distribution of the nearest shared ancestral couple, (generations,).

        Entry g - 1 is the probability that two people share their nearest ancestral couple g generations ago: 1 for
        siblings, 2 for first cousins (Erlich et al. 2018, equation 2).
        """
        back = np.arange(1, generations + 1)
        each = np.minimum(4.0 ** (back - 1) / (self.couples * (2.0 / self.children) ** back), 1.0)
        return np.asarray(each * np.concatenate([[1.0], np.cumprod(1.0 - each)[:-1]]))
