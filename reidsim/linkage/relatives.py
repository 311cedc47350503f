"""How near relatives are, and how likely a search of a genomic database matches them.

Matches follow Erlich et al. 2018 (doi:10.1126/science.aau4832, supplement, section 3): of two people who are M meioses
apart, the genome of L Morgans falls into ``L M + 22`` blocks, each shared with probability ``2 r exp(-m M)`` in a
segment of m Morgans or longer, where r is their relatedness; a match takes several such segments. M is that of the
shortest path between them, r counts all paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import betainc

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_PARENT = -1
_CHROMOSOMES = 22


@dataclass(frozen=True)
class Matching:
    """What a search of the database takes for a match.

    Parameters
    ----------
    genome : float
        Length of the genome, in Morgans (L).
    segment : float
        Least length of a segment that is detected, in Morgans (m).
    segments : int
        Segments that make a match (n_s).
    """

    genome: float = 35.0
    segment: float = 0.06
    segments: int = 2

    def probability(self, meioses: NDArray[np.generic], relatedness: Floats) -> Floats:
        """Return the probability that two people match, of arrays of any one shape.

        Parameters
        ----------
        meioses : ndarray
            Meioses between the two.
        relatedness : ndarray of float64
            Expected share of the genome that they share, 1/2 of full siblings.
        """
        distance = np.asarray(meioses, dtype=np.float64)
        blocks = self.genome * distance + _CHROMOSOMES
        shared = np.minimum(2.0 * relatedness * np.exp(-self.segment * distance), 1.0)
        return at_least(self.segments, blocks, shared)


def at_least(number: int, trials: Floats | float, chance: Floats | float) -> Floats:
    """Return how likely so many of independent trials succeed at least; trials need not be whole, nor as many.

    Parameters
    ----------
    number : int
        1 or more.
    trials, chance : float or ndarray of float64
        Of one shape.
    """
    others = np.maximum(np.asarray(trials, dtype=np.float64) - number + 1.0, 0.0)
    # The upper tail of the binomial distribution.
    return np.where(others > 0, betainc(float(number), np.maximum(others, 1e-300), chance), 0.0)


@dataclass(frozen=True, eq=False)
class Relatives:
    """Pairs of relatives, each both ways, in order of the first.

    Parameters
    ----------
    starts : ndarray of int64, shape (n_people + 1,)
        Where the relatives of each person start.
    other : ndarray of int64, shape (n_pairs,)
        The relative.
    meioses : ndarray of int64, shape (n_pairs,)
        Of the shortest way through common ancestors.
    relatedness : ndarray of float64, shape (n_pairs,)
        Wright's coefficient of relationship, through all common ancestors in the pedigree.
    """

    starts: Ints
    other: Ints
    meioses: Ints
    relatedness: Floats


def relatives_within(father: Ints, mother: Ints, rows: Ints, generations: int) -> Relatives:
    """Return who of some people is a relative of whom, by the shortest path through a common ancestor.

    Relatedness is Wright's coefficient of relationship (1922), ``2 k / sqrt((1 + F_i) (1 + F_j))``, with k the kinship
    of persons i and j and F the inbreeding coefficient. Founders are unrelated, and not inbred.

    Parameters
    ----------
    father, mother : ndarray of int64, shape (n_pedigree,)
        Rows of the parents; -1 if unknown.
    rows : ndarray of int64, shape (n_people,)
        The people among whom relatives are found.
    generations : int
        Pairs at most twice so many meioses apart: 2 reaches first cousins.
    """
    n, furthest = len(father), 2 * generations
    known = [np.flatnonzero(parent != NO_PARENT) for parent in (father, mother)]
    child = np.concatenate(known)
    parent = np.concatenate([father[known[0]], mother[known[1]]])
    above = sparse.csr_array((np.ones(len(child)), (child, parent)), shape=(n, n))
    # Ways from each person to each ancestor who lived so many generations earlier, from 0 on: the person itself.
    ways = [sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n))]
    while len(ways) <= furthest and ways[-1].nnz:
        ways.append(sparse.csr_array(ways[-1] @ above))
    found: list[tuple[Ints, Ints, Ints]] = []
    seen = np.arange(len(rows), dtype=np.int64) * (len(rows) + 1)
    for meioses in range(1, furthest + 1):
        pairs = sparse.csr_array((len(rows), len(rows)))
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
    """Return Wright's coefficient of relationship of each pair, shape (n_pairs,); see `Relatives`."""
    generation = np.zeros(len(father), dtype=np.int64)
    while True:
        # A parent of -1 adds nothing.
        of_parents = [np.where(parent == NO_PARENT, -1, generation[parent]) for parent in (father, mother)]
        later = np.maximum(*of_parents) + 1
        if np.array_equal(later, generation):
            break
        generation = later
    order = np.argsort(generation, kind="stable")
    place = np.full(len(father), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    twice_kinship, inbreeding = _twice_kinship(father, mother, order, place, rows, starts, other)
    of_own = 1.0 + inbreeding[rows]
    one = np.repeat(np.arange(len(rows)), np.diff(starts))
    return np.asarray(twice_kinship / np.sqrt(of_own[one] * of_own[other]))


@njit(cache=True)
def _twice_kinship(
    father: Ints, mother: Ints, order: Ints, place: Ints, rows: Ints, starts: Ints, other: Ints
) -> tuple[Floats, Floats]:
    """Return twice the kinship of each pair, shape (n_pairs,), and the inbreeding of each person, (n_pedigree,).

    Twice the kinship of everybody is the matrix ``T D T'``, with T the shares of genes by descent and D the variance
    that each person's own meioses add (Henderson 1976). Two passes over the pedigree yield one row (Colleau 2002).

    Parameters
    ----------
    order : ndarray of int64, shape (n_pedigree,)
        Rows of the pedigree, parents before children.
    place : ndarray of int64, shape (n_pedigree,)
        Number of each person among `rows`; -1 for others.
    others
        See `relatives_within` and `Relatives`.
    """
    n = len(father)
    inbreeding, added = np.zeros(n), np.ones(n)
    twice = np.empty(len(other))
    # Children by father: a person's inbreeding is the kinship of the parents.
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
    """A population of monogamous couples whose parents are drawn at random (Wright-Fisher), of full cousins only.

    Parameters
    ----------
    couples : float
        Of the present generation (N_0).
    children : float
        Of each couple (r), so that earlier generations were smaller by 2 / r.
    """

    couples: float = 90_000_000.0
    children: float = 2.5

    @property
    def people(self) -> float:
        """How many people live in the present generation."""
        return 2.0 * self.couples

    def sharing(self, generations: int) -> Floats:
        """Return how likely two people share their nearest ancestral couple 1, 2, ... generations ago, (generations,).

        Siblings share it one generation ago, first cousins two. (Erlich et al. 2018, equation 2.)
        """
        back = np.arange(1, generations + 1)
        each = np.minimum(4.0 ** (back - 1) / (self.couples * (2.0 / self.children) ** back), 1.0)
        earlier = np.concatenate([[1.0], np.cumprod(1.0 - each)[:-1]])
        return np.asarray(each * earlier)
