"""Genealogies: individuals of several generations, stored as arrays.

Individuals have parents, traits and Y haplotypes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError

Rows = NDArray[np.int64]
Haplotypes = NDArray[np.uint8]

NO_PARENT = -1
NO_ALLELE = 0
WOMAN = 0
MAN = 1


@dataclass(frozen=True)
class Mutations:
    """Mutations between a man's Y haplotype and the haplotype of his sons.

    All his sons inherit the same haplotype. Men without sons are included.

    Parameters
    ----------
    individual : ndarray of int32, shape (n_mutations,)
        Row of the man. Mutations are sorted by man, then by locus.
    locus : ndarray of int16, shape (n_mutations,)
        Position of the locus.
    before, after : ndarray of uint8, shape (n_mutations,)
        Allele of the man, and allele of his sons.
    """

    individual: NDArray[np.int32]
    locus: NDArray[np.int16]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.individual)


@dataclass(frozen=True)
class Genealogy:
    """The individuals of all generations.

    They are identified by row number and sorted by generation.

    Parameters
    ----------
    father, mother : ndarray of int32, shape (n,)
        Rows of the parents; ``NO_PARENT`` (-1) for founders.
    sex : ndarray of uint8, shape (n,)
        ``WOMAN`` (0) or ``MAN`` (1).
    generation : ndarray of int16, shape (n,)
        Number of the generation; the founders are generation 0.
    subpopulation : ndarray of int16, shape (n,)
        Subpopulation at birth.
    surname : ndarray of int32, shape (n,)
        Index into `surnames`.
    birth_year : ndarray of int32, shape (n,)
        Year of birth.
    state : ndarray of int16, shape (n,)
        Index into `states`.
    wealth : ndarray of int16, shape (n,)
        Wealth level; inherited levels may be below 0 or above the highest level of founders.
    rank : ndarray of int8, shape (n,)
        Wealth rank, from 0; people marry within a rank.
    haplotypes : ndarray of uint8, shape (n, n_loci)
        Alleles (numbers of repeats) at birth; ``NO_ALLELE`` (0) for women.
    mutations : Mutations
        Mutations that fathers pass on.
    surnames, states, loci : tuple of str
        Names of the surnames, states and loci.
    recipe : str
        Name of the recipe.
    engine : str
        Name of the engine, "vectorised" or "simupop".
    seed : int
        Seed of the simulation.
    """

    father: NDArray[np.int32]
    mother: NDArray[np.int32]
    sex: NDArray[np.uint8]
    generation: NDArray[np.int16]
    subpopulation: NDArray[np.int16]
    surname: NDArray[np.int32]
    birth_year: NDArray[np.int32]
    state: NDArray[np.int16]
    wealth: NDArray[np.int16]
    rank: NDArray[np.int8]
    haplotypes: Haplotypes
    mutations: Mutations
    surnames: tuple[str, ...]
    states: tuple[str, ...]
    loci: tuple[str, ...]
    recipe: str
    engine: str
    seed: int

    def __repr__(self) -> str:
        return f"Genealogy({self.recipe!r}: {len(self):,} people)"

    def __len__(self) -> int:
        return len(self.father)

    @property
    def n_generations(self) -> int:
        """Number of generations, including the founders."""
        return int(self.generation[-1]) + 1

    def males_of(self, generations: Iterable[int]) -> Rows:
        """Return the rows of the men of some generations.

        Parameters
        ----------
        generations : iterable of int
            Numbers of generations; the founders are 0, and negative numbers count from the end (-1 is the last).

        Returns
        -------
        ndarray of int64, shape (n_men,)
            Row numbers in ascending order.

        Raises
        ------
        InputError
            If a generation does not exist.
        """
        count = self.n_generations
        wanted = np.zeros(count, dtype=np.bool_)
        for generation in generations:
            if not -count <= generation < count:
                expected = f"{-count} to {count - 1}"
                raise InputError("no such generation", where="generations", found=generation, expected=expected)
            wanted[generation] = True
        return np.flatnonzero((self.sex == MAN) & wanted[self.generation])

    def living(self, generations: int = 3, *, women: bool = False) -> Rows:
        """Return the rows of the men of the last generations.

        They are assumed to be alive (Wan et al. 2021).

        Parameters
        ----------
        generations : int
            Number of generations; a number larger than `n_generations` means all.
        women : bool
            Whether to include women.
        """
        if women:
            return np.flatnonzero(self.generation >= self.n_generations - generations)
        return self.males_of(range(-min(generations, self.n_generations), 0))

    def content_digest(self) -> str:
        """Return the SHA-256 of all columns, names and the seed, in hexadecimal."""
        digest = hashlib.sha256()
        for field in fields(self):
            value: Any = getattr(self, field.name)
            parts = [getattr(value, f.name) for f in fields(value)] if isinstance(value, Mutations) else [value]
            for part in parts:
                array = isinstance(part, np.ndarray)
                digest.update(f"{field.name}={(part.dtype.str, part.shape) if array else part!r};".encode())
                if array:
                    digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()
