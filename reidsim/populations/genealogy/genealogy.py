"""Genealogies: individuals of several generations, stored as arrays.

Individuals have parents, traits and Y haplotypes. An engine fills the columns generation by generation.
"""

from __future__ import annotations

import hashlib
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.core.errors import InputError, refuse_first
from reidsim.populations.population import UNKNOWN, Attribute, Domain, Individuals

# Called as progress(task, generations done, generations).
Progress = Callable[[str, int, int], None]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
class GenealogyParameters:
    """All parameters that determine a genealogy, except the seed and the engine.

    Parameters
    ----------
    name : str
        Name of the recipe.
    subpopulations : ndarray of int64, shape (n_subpopulations,)
        Number of people of each subpopulation, equal in every generation.
    generations : int
        Number of generations, including the founders.
    loci : tuple of str
        Names of the loci.
    mutation_rates : ndarray of float64, shape (n_loci,)
        Mutation probability per generation of each locus.
    lowest, highest : ndarray of int64, shape (n_loci,)
        Bounds of the alleles (numbers of repeats), 1 to 255.
    founder_alleles : ndarray of float64, shape (n_loci, 256)
        Probability of each allele among founders.
    surnames, states : tuple of str
        Names of the surnames and states.
    surname_shares, state_shares, wealth_shares : ndarray of float64
        Probabilities of founders' surnames, states and wealth levels (from 0); one value each, with sum 1.
    founder_birth_years : tuple of int
        First and last birth year of founders; all years in between are equally likely.
    migration_generations : tuple of int
        Generations in which people migrate before they marry.
    migration_shares : ndarray of float64, shape (n_subpopulations, n_subpopulations)
        Share of each subpopulation (row) that moves to each subpopulation (column).
    rank_starts : ndarray of int64, shape (n_ranks - 1,)
        Wealth level at which each rank after the first starts.
    years_older, years_younger : int
        Largest number of years by which a suitable husband is older or younger than his wife. He is also at least as
        wealthy as she.
    accepted_anyway : float
        Probability that a man and a woman who meet marry although they are not suitable.
    leaves_pool : float
        Probability that a man or a woman does not marry again after a marriage; the last one of a rank always can.
    mean_children : float
        Mean of the Poisson distribution of children before zero truncation.
    father_at_least : int
        Minimum age of a father, in years.
    mother_ages : ndarray of int64, shape (n_ages,)
        Possible ages of a mother at a birth, in years.
    mother_age_shares : ndarray of float64, shape (n_ages,)
        Probability of each of these ages.
    wealth_steps : ndarray of int64, shape (n_steps,)
        Steps of a child's wealth relative to the parents' mean, equally likely.
    state_from : ndarray of float64, shape (3,)
        Probabilities that a child's state is the father's, the mother's, or drawn at random.
    """

    name: str
    subpopulations: Ints
    generations: int
    loci: tuple[str, ...]
    mutation_rates: Floats
    lowest: Ints
    highest: Ints
    founder_alleles: Floats
    surnames: tuple[str, ...]
    surname_shares: Floats
    states: tuple[str, ...]
    state_shares: Floats
    wealth_shares: Floats
    founder_birth_years: tuple[int, int]
    migration_generations: tuple[int, ...]
    migration_shares: Floats
    rank_starts: Ints
    years_older: int
    years_younger: int
    accepted_anyway: float
    leaves_pool: float
    mean_children: float
    father_at_least: int
    mother_ages: Ints
    mother_age_shares: Floats
    wealth_steps: Ints
    state_from: Floats

    def __post_init__(self) -> None:
        highest = len(self.wealth_shares) + self.generations * int(np.abs(self.wealth_steps).max())
        # Genealogies store rows of people as 32-bit integers, states and wealth as 16-bit integers.
        few, too_rich = f"at most {2**15 - 1:,}", "the highest level of wealth is too high"
        refuse_first(
            (self.total >= 2**31, "too many people", "people", self.total, f"at most {2**31 - 1:,}"),
            (len(self.states) >= 2**15, "too many states", "founders.states", len(self.states), few),
            (highest >= 2**15, too_rich, "children.wealth_steps", highest, few),
        )

    @property
    def people(self) -> int:
        """Number of people in one generation."""
        return int(self.subpopulations.sum())

    @property
    def total(self) -> int:
        """Number of people in all generations."""
        return self.people * self.generations


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

    def living(self, generations: int = 3, *, women: bool = False) -> Rows:
        """Return the rows of the men of the last generations, ascending.

        They are assumed to be alive (Wan et al. 2021).

        Parameters
        ----------
        generations : int
            Number of generations; a number larger than `n_generations` means all.
        women : bool
            Whether to include women.
        """
        return np.flatnonzero((self.generation >= self.n_generations - generations) & (women | (self.sex == MAN)))

    def content_digest(self) -> str:
        """Return the SHA-256 of all columns, names, engine and seed, in hexadecimal."""
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


# The columns of a genealogy with a row per individual, in a form that compiled functions accept; see `Genealogy`.
Columns = namedtuple(
    "Columns", "father mother sex generation subpopulation surname birth_year state wealth rank haplotypes"
)


def empty_columns(parameters: GenealogyParameters) -> Columns:
    """Return `Columns` for all individuals, for an engine to fill.

    Generation and subpopulation are filled, and parents are `NO_PARENT`; other columns have undefined values.
    """
    p, n = parameters, parameters.total
    of_birth = np.repeat(np.arange(len(p.subpopulations), dtype=np.int16), p.subpopulations)
    return Columns(
        father=np.full(n, NO_PARENT, np.int32),
        mother=np.full(n, NO_PARENT, np.int32),
        sex=np.empty(n, np.uint8),
        generation=np.repeat(np.arange(p.generations, dtype=np.int16), p.people),
        subpopulation=np.tile(of_birth, p.generations),
        surname=np.empty(n, np.int32),
        birth_year=np.empty(n, np.int32),
        state=np.empty(n, np.int16),
        wealth=np.empty(n, np.int16),
        rank=np.empty(n, np.int8),
        haplotypes=np.empty((n, len(p.loci)), np.uint8),
    )


def as_genealogy(p: GenealogyParameters, columns: Columns, mutations: list[Mutations], **engine: Any) -> Genealogy:
    """Return the `Genealogy` of filled columns and of mutations, in any order.

    `p` are the parameters, from which it takes its names. `engine` holds the name of the engine and the seed, as
    ``engine`` and ``seed``.
    """
    # One empty part, for genealogies of one generation.
    nothing: list[Any] = [np.empty(0, dtype) for dtype in (np.int32, np.int16, np.uint8, np.uint8)]
    parts = [Mutations(*nothing), *mutations]
    joined = [np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Mutations)]
    order = np.lexsort((joined[1], joined[0]))
    engine |= {"surnames": p.surnames, "states": p.states, "loci": p.loci, "recipe": p.name}
    return Genealogy(**columns._asdict(), mutations=Mutations(*(column[order] for column in joined)), **engine)


def no_couple(subpopulation: int, generation: int) -> InputError:
    """Return, without raising it, the InputError for a subpopulation without couples.

    No couple is possible, because no wealth rank has both a man and a woman. Subpopulations and generations are
    numbered from 0.
    """
    problem, where = "no rank has both a man and a woman", f"subpopulation {subpopulation}, generation {generation}"
    return InputError(f"{problem}, so nobody can marry", where=where, hint="use more people or fewer ranks")


def genealogy_individuals(genealogy: Genealogy, rows: Rows | None = None) -> Individuals:
    """Return people of a genealogy as `Individuals`, with their traits and alleles.

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
