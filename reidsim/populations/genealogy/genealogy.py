"""Genealogies: individuals of several generations, stored as arrays.

Individuals have parents, traits and Y haplotypes. An engine fills the columns generation by generation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.genealogy.recipe import GenealogyParameters
from reidsim.populations.population import UNKNOWN, Individuals

# Called as progress(task, generations done, generations).
Progress = Callable[[str, int, int], None]
Rows = NDArray[np.int64]
Haplotypes = NDArray[np.uint8]

NO_PARENT = -1
NO_ALLELE = 0
WOMAN = 0
MAN = 1
TASK = "making the genealogy"
SEXES = ("F", "M")
# Attributes that come before the loci in the domain.
TRAITS = ("generation", "subpopulation", "sex", "birth_year", "state", "surname", "wealth")


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


class Columns(NamedTuple):
    """The columns of a genealogy; see `Genealogy`."""

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
    haplotypes: NDArray[np.uint8]


def empty_columns(parameters: GenealogyParameters) -> Columns:
    """Return columns in which only generation, subpopulation and founders' parents are filled.

    The founders' parents are `NO_PARENT`; the other columns are uninitialized.
    """
    p, n = parameters, parameters.total
    wide, middle, byte = (np.int32, np.int16, np.uint8)
    of_birth = np.repeat(np.arange(len(p.subpopulations), dtype=middle), p.subpopulations)
    columns = Columns(
        father=np.empty(n, wide),
        mother=np.empty(n, wide),
        sex=np.empty(n, byte),
        generation=np.repeat(np.arange(p.generations, dtype=middle), p.people),
        subpopulation=np.tile(of_birth, p.generations),
        surname=np.empty(n, wide),
        birth_year=np.empty(n, wide),
        state=np.empty(n, middle),
        wealth=np.empty(n, middle),
        rank=np.empty(n, np.int8),
        haplotypes=np.empty((n, len(p.loci)), byte),
    )
    columns.father[: p.people] = columns.mother[: p.people] = NO_PARENT
    return columns


def as_genealogy(
    parameters: GenealogyParameters, columns: Columns, mutations: list[Mutations], *, engine: str, seed: int
) -> Genealogy:
    """Return the genealogy that consists of these columns and mutations.

    Parameters
    ----------
    parameters : GenealogyParameters
        Source of the recipe's name and of the names of surnames, states and loci.
    columns : Columns
        Filled columns.
    mutations : list of Mutations
        Mutations of each generation except the last; they are joined.
    engine : str
        Name of the engine.
    seed : int
        Seed of the simulation.
    """
    return Genealogy(
        **columns._asdict(),
        mutations=joined(mutations),
        surnames=parameters.surnames,
        states=parameters.states,
        loci=parameters.loci,
        recipe=parameters.name,
        engine=engine,
        seed=seed,
    )


def joined(mutations: list[Mutations]) -> Mutations:
    """Return one list of all mutations, sorted by individual and locus."""
    if not mutations:
        nothing = np.empty(0, dtype=np.uint8)
        return Mutations(nothing.astype(np.int32), nothing.astype(np.int16), nothing, nothing)
    columns = [np.concatenate([getattr(part, item.name) for part in mutations]) for item in fields(Mutations)]
    order = np.lexsort((columns[1], columns[0]))
    return Mutations(*(column[order] for column in columns))


def no_couple(subpopulation: int, generation: int) -> InputError:
    """Return the error for a subpopulation in which no couple is possible."""
    problem, where = "no rank has both a man and a woman", f"subpopulation {subpopulation}, generation {generation}"
    return InputError(f"{problem}, so nobody can marry", where=where, hint="use more people or fewer ranks")


def genealogy_individuals(genealogy: Genealogy, rows: Rows | None = None) -> Individuals:
    """Return people of a genealogy with their traits and alleles.

    Parameters
    ----------
    genealogy : Genealogy
        Genealogy of the people.
    rows : ndarray of int64, shape (n_people,), optional
        Rows of the people, such as ``genealogy.living()``; default: all people.

    Returns
    -------
    Individuals
        Individuals with attributes `TRAITS` and the loci; alleles of women are missing (``UNKNOWN``). A numeric
        attribute has a category for every integer from its smallest to its largest value in the whole genealogy.
    """
    g = genealogy
    named = {"sex": SEXES, "state": g.states, "surname": g.surnames}
    values = {name: getattr(g, name) for name in TRAITS} | dict(zip(g.loci, g.haplotypes.T, strict=True))
    attributes, columns = [], []
    for name, of_all in values.items():
        missing = (of_all == NO_ALLELE) & (name not in TRAITS)
        labels, first = named.get(name), 0
        if labels is None:
            first, last = int(of_all[~missing].min()), int(of_all[~missing].max())
            labels = tuple(map(str, range(first, last + 1)))
        attributes.append(Attribute(name, labels))
        columns.append(np.where(missing, UNKNOWN, of_all.astype(np.int32) - first))
    codes = np.column_stack(columns).astype(np.int32)
    codes = codes if rows is None else codes[rows]
    return Individuals(Domain(tuple(attributes)), codes, name=g.recipe, source=f"{g.engine} engine, seed {g.seed}")
