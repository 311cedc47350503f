"""Genealogies of individuals with parents, traits and Y haplotypes: result, default engine and recipe.

An engine fills the columns generation by generation. The default engine, `simulate`, is compiled. The order of events
follows the research code of Wan et al. 2021. Before a generation marries, the germ line of each man may mutate (all his
sons inherit the result; his own haplotype does not change), and in some generations people migrate. Then couples form
in each subpopulation and have children, one couple after the other, until the next generation is complete; the last
couple's number of children is reduced if necessary.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows
from reidsim.core.files import require_memory
from reidsim.core.numerics import compiled, draw_binomial, first_above
from reidsim.core.tables import numbers
from reidsim.core.validation import Section
from reidsim.populations.population import (
    UNKNOWN,
    Domain,
    Floats,
    Individuals,
    Integers,
    Making,
    RecipeHead,
    Seed,
    normalised,
    read_figures,
)

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
    subpopulations: Integers
    generations: int
    loci: tuple[str, ...]
    mutation_rates: Floats
    lowest: Integers
    highest: Integers
    founder_alleles: Floats
    surnames: tuple[str, ...]
    surname_shares: Floats
    states: tuple[str, ...]
    state_shares: Floats
    wealth_shares: Floats
    founder_birth_years: tuple[int, int]
    migration_generations: tuple[int, ...]
    migration_shares: Floats
    rank_starts: Integers
    years_older: int
    years_younger: int
    accepted_anyway: float
    leaves_pool: float
    mean_children: float
    father_at_least: int
    mother_ages: Integers
    mother_age_shares: Floats
    wealth_steps: Integers
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
        Index into `states`: state at birth.
    wealth : ndarray of int16, shape (n,)
        Wealth level; inherited levels may be below 0 or above the highest level of founders.
    rank : ndarray of int8, shape (n,)
        Wealth rank, from 0; people marry within a rank.
    haplotypes : ndarray of uint8, shape (n, n_loci)
        Alleles (numbers of repeats) at birth; ``NO_ALLELE`` (0) for women.
    mutations : Mutations
        Differences between a man's haplotype at birth and the haplotype that his sons inherit.
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


# The columns of a genealogy with a row per individual, in a form that compiled functions accept; see `Genealogy`.
Columns = namedtuple(
    "Columns", "father mother sex generation subpopulation surname birth_year state wealth rank haplotypes"
)
# Data types of the columns with one value per individual, in order.
COLUMN_TYPES = (np.int32, np.int32, np.uint8, np.int16, np.int16, np.int32, np.int32, np.int16, np.int16, np.int8)


def empty_columns(parameters: GenealogyParameters) -> Columns:
    """Return `Columns` for all individuals, for an engine to fill.

    Generation and subpopulation are filled, and parents are `NO_PARENT`; other columns have undefined values.
    """
    p, n = parameters, parameters.total
    columns = Columns._make([*(np.empty(n, dtype) for dtype in COLUMN_TYPES), np.empty((n, len(p.loci)), np.uint8)])
    columns.father[:] = columns.mother[:] = NO_PARENT
    columns.generation[:] = np.repeat(np.arange(p.generations), p.people)
    columns.subpopulation[:] = np.tile(np.repeat(np.arange(len(p.subpopulations)), p.subpopulations), p.generations)
    return columns


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
    categories, columns = {}, []
    for name, of_all in values.items():
        missing = (of_all == NO_ALLELE) & (name not in TRAITS)
        labels, first = named.get(name), 0
        if labels is None:
            first, last = int(of_all[~missing].min()), int(of_all[~missing].max())
            labels = tuple(map(str, range(first, last + 1)))
        categories[name] = labels
        columns.append(np.where(missing, UNKNOWN, of_all.astype(np.int32) - first))
    codes = np.column_stack(columns).astype(np.int32)
    codes = codes if rows is None else codes[rows]
    return Individuals(
        Domain.from_categories(categories), codes, name=g.recipe, source=f"{g.engine} engine, seed {g.seed}"
    )


# Parameters of marriages and births in a form that compiled functions accept; see `GenealogyParameters`. The array
# `children` holds the probabilities of at most 1, 2, ... children. The last cumulative probability of an array is 1.
Rules = namedtuple(
    "Rules",
    "n_ranks years_older years_younger accepted_anyway leaves_pool children mother_ages mother_age_cumulative "
    "father_at_least wealth_steps rank_starts state_from_cumulative state_cumulative",
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
    rules = Rules(
        n_ranks=len(p.rank_starts) + 1,
        **{name: getattr(p, name) for name in Rules._fields if hasattr(p, name)},
        children=np.cumsum(terms) / terms.sum(),
        mother_age_cumulative=np.cumsum(p.mother_age_shares),
        state_from_cumulative=np.cumsum(p.state_from),
        state_cumulative=np.cumsum(p.state_shares),
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
            if not marry(of_couples, people[subpopulation], columns, rules, first_child, size):
                raise no_couple(subpopulation, generation)
            first_child += size
        bear(of_children, start, first_child, columns, rules, transmitted, parents_from)
        if progress is not None:
            progress(TASK, generation + 2, p.generations)
    return as_genealogy(p, columns, mutations, engine="vectorised", seed=seed)


def _found(columns: Columns, p: GenealogyParameters, rng: np.random.Generator) -> None:
    n = p.people
    columns.sex[:n] = np.where(np.arange(n) % 2 == 0, MAN, WOMAN)
    columns.birth_year[:n] = rng.integers(*p.founder_birth_years, size=n, endpoint=True)
    for name in ("surname", "state", "wealth"):
        getattr(columns, name)[:n] = _draws(getattr(p, f"{name}_shares"), n, rng)
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
        individual = (start + mutants[moved]).astype(np.int32)
        parts.append(Mutations(individual, np.full(len(individual), locus, np.int16), before[moved], after[moved]))
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
    moves = []
    for source, residents in enumerate(people):
        going = (len(residents) * shares[source]).astype(np.int64)
        going[source] = 0
        parts = np.split(rng.permutation(residents), np.cumsum(going))
        # Those who remain come last.
        moves.append([*parts[:source], parts[-1], *parts[source + 1 : -1]])
    return [np.concatenate(rows) for rows in zip(*moves, strict=True)]


@compiled()
def marry(
    rng: np.random.Generator, people: NDArray[np.int32], columns: Columns, rules: Rules, start: int, size: int
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
    rules : Rules
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


@compiled()
def bear(
    rng: np.random.Generator,
    start: int,
    stop: int,
    columns: Columns,
    rules: Rules,
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
        of_parent = columns.state[father if source == 0 else mother]
        columns.state[child] = of_parent if source < 2 else first_above(rules.state_cumulative, rng.random())
        columns.sex[child] = MAN if rng.random() < 0.5 else WOMAN
        # The haplotypes that mothers pass on are `NO_ALLELE`.
        from_parent = father if columns.sex[child] == MAN else mother
        columns.haplotypes[child] = transmitted[from_parent - parents_from]


_ALLELES = 256
# Columns of the table of individuals other than the loci.
RESERVED_NAMES = (
    *("individual", "father", "mother", "sex", "generation", "subpopulation", "surname", "birth_year", "state"),
    *("wealth", "rank", "mutations", "age"),
)
_LOCUS_COLUMNS = ("locus", "mutation_rate", "lowest", "highest", "first", "frequencies")

# Bytes per person in addition to one byte per locus; fitted to the peak memory of making and writing 3,000,000 and
# 9,000,000 people.
_PERSON_BYTES = 60

# Modules whose function `simulate` makes a genealogy, by engine.
_ENGINES = {"vectorised": __name__, "simupop": "reidsim.populations.genealogy.simupop_engine"}
Engine = Literal["vectorised", "simupop"]
Probability = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Year = Annotated[int, Field(ge=-10_000, le=10_000)]
Age = Annotated[int, Field(ge=1, le=100)]
Years = Annotated[int, Field(ge=0, le=200)]
# A couple needs a man and a woman.
Size = Annotated[int, Field(ge=2, lt=2**31)]


class People(Section):
    """The number of people in each generation.

    Attributes
    ----------
    subpopulations
        number of people in each subpopulation, equal in all generations
    generations
        number of generations, founders included
    """

    subpopulations: tuple[Size, ...] = Field(min_length=1, max_length=1000)
    generations: Annotated[int, Field(ge=1, le=10000)]


class Loci(Section):
    """The table with one row per locus.

    Attributes
    ----------
    file
        CSV file with one row per locus
    """

    file: str

    def read(self, folder: Path) -> dict[str, Any]:
        """Return the parameters of the loci by name; see `GenealogyParameters`.

        The names are ``loci``, ``mutation_rates``, ``founder_alleles``, ``lowest`` and ``highest``.

        Raises
        ------
        InputError
            If the file cannot be used; a name of a locus is missing, repeated or reserved; a mutation rate is above 1;
            bounds of alleles are not increasing whole numbers from 1 to 255; or frequencies are invalid, do not sum to
            1 or are outside the bounds.
        """
        frame, path = read_figures(self.file, folder, _LOCUS_COLUMNS)
        names, rate = frame["locus"], "mutation_rate"
        _require_names(names, path)
        problem = "locus name reserved for another column"
        refuse_rows(names.isin(RESERVED_NAMES), problem, source=path, column="locus", found=names)
        rates, low, high, first = (
            np.asarray(numbers(frame, column, path), dtype=np.float64) for column in _LOCUS_COLUMNS[1:5]
        )
        refuse_rows(rates > 1, "probability out of range", source=path, column=rate, found=frame[rate])
        # Bounds must differ: simuPOP's mutator cannot distinguish a locus with one allele from an unbounded locus.
        invalid = (low < 1) | (low >= high) | (high >= _ALLELES) | (low % 1 > 0) | (high % 1 > 0)
        bounds = (frame["lowest"] + " to " + frame["highest"]).tolist()
        where, expected = "lowest and highest", "increasing whole numbers from 1 to 255"
        refuse_rows(invalid, "invalid bounds of alleles", source=path, column=where, found=bounds, expected=expected)
        alleles = np.zeros((len(frame), _ALLELES))
        for row, text in enumerate(frame["frequencies"]):
            where = f"row {row + 1}, column 'frequencies'"
            frequencies = pd.to_numeric(pd.Series(text.split(), dtype="str"), errors="coerce").to_numpy(dtype=float)
            last = first[row] + len(frequencies) - 1
            with locating(path):
                outside = first[row] % 1 or first[row] < low[row] or last > high[row]
                found = f"{first[row]:g} to {last:g}"
                is_wrong, positive = not len(frequencies) or not (frequencies >= 0).all(), "numbers of 0 or more"
                refuse_first(
                    (is_wrong, "invalid frequencies", where, text, positive),
                    (outside, "allele of a founder outside the bounds", where, found, f"alleles {bounds[row]}"),
                )
                alleles[row, int(first[row]) : int(last) + 1] = normalised(frequencies[None, :], where)
        limits = {"lowest": low.astype(np.int64), "highest": high.astype(np.int64)}
        return {"loci": tuple(names), "mutation_rates": rates, "founder_alleles": alleles, **limits}


class Labels(Section):
    """Table of labels, with the number of people of each label.

    Attributes
    ----------
    file
        CSV file with one row per label
    label
        column with the labels, without repetitions
    people
        column with the number of people of each label
    largest
        number of most frequent labels to keep; default: all
    """

    file: str
    label: str
    people: str
    largest: Annotated[int, Field(ge=1)] | None = None

    def read(self, folder: Path) -> tuple[tuple[str, ...], Floats]:
        """Return the labels in the file, and the share of people with each label.

        Labels are in the order of the file, and the shares, shape (n_labels,), sum to 1. With ``largest``, only the
        most frequent labels are kept; among ties, the first ones.

        Raises
        ------
        InputError
            If the file cannot be used, a label is missing or repeated, or no label has people.
        """
        frame, path = read_figures(self.file, folder, [self.label, self.people])
        _require_names(frame[self.label], path)
        # Keep the order of the file; among ties, keep the first labels.
        people = numbers(frame, self.people, path).nlargest(self.largest or len(frame), keep="first").sort_index()
        with locating(path):
            shares = _shares(np.asarray(people, dtype=np.float64), f"column {self.people!r}")
        return tuple(frame[self.label][people.index]), shares


class Founders(Section):
    """The first generation.

    Attributes
    ----------
    birth_years
        first and last year of birth; all years between them are equally likely
    surnames
        table of surnames
    states
        table of states
    wealth
        table of wealth levels; the rows are levels 0, 1 and so on
    """

    birth_years: tuple[Year, Year]
    surnames: Labels
    states: Labels
    wealth: Labels


class Migration(Section):
    """Moves between subpopulations, before the marriages of some generations.

    Attributes
    ----------
    generations
        generations before whose marriages people move; the founders are generation 0
    shares
        share of each subpopulation (row) that moves to each subpopulation (column)
    """

    generations: tuple[Annotated[int, Field(ge=0)], ...] = ()
    shares: tuple[tuple[Probability, ...], ...] = ()

    def matrix(self, n_subpopulations: int) -> Floats:
        """Return the shares, shape (n_subpopulations, n_subpopulations).

        Item (i, j) is the share of subpopulation i that moves to j; each row sums to 1. Without generations in which
        people move, it is the identity matrix.

        Raises
        ------
        InputError
            If the shares have another shape, or a row does not sum to 1.
        """
        if not self.generations:
            return np.eye(n_subpopulations)
        where, lengths = "migration.shares", [len(row) for row in self.shares]
        n, problem = n_subpopulations, "the numbers of rows and columns differ from the number of subpopulations"
        refuse_first((lengths != [n] * n, problem, where, f"rows of {lengths}", f"{n} rows of {n} numbers"))
        return normalised(np.array(self.shares), lambda row: f"{where}: row {row + 1}")


class Marriage(Section):
    """The rules of marriage.

    Attributes
    ----------
    ranks
        wealth levels at which the second and later ranks start; people marry within a rank
    years_older
        largest number of years by which a suitable husband is older than his wife
    years_younger
        largest number of years by which a suitable husband is younger than his wife
    accepted_anyway
        probability that an unsuitable pair marries, in each attempt
    leaves_pool
        probability that a spouse does not marry again after a marriage
    """

    ranks: tuple[int, ...] = Field(default=(), max_length=100)
    years_older: Years
    years_younger: Years
    # With lower probabilities, an unsuitable pair would be tried for minutes.
    accepted_anyway: Annotated[float, Field(ge=0.001, le=1)]
    leaves_pool: Probability


class StateFrom(Section):
    """Odds of the source of a child's state.

    Attributes
    ----------
    father
        relative probability that a child has the father's state
    mother
        relative probability that a child has the mother's state
    anywhere
        relative probability that a child's state is drawn from the distribution of the founders
    """

    father: Weight
    mother: Weight
    anywhere: Weight


class Children(Section):
    """The number and traits of children.

    Attributes
    ----------
    mean
        mean of the Poisson distribution of the number of children, which is truncated to exclude 0
    father_at_least
        lowest age of a father, in years
    mother_ages
        ages of mothers: first age, last age and relative probability of each year in between
    wealth_steps
        steps, all equally likely, that are added to the parents' mean wealth level
    state_from
        origin of a child's state
    """

    mean: Annotated[float, Field(gt=0, le=50)]
    father_at_least: Age
    mother_ages: tuple[tuple[Age, Age, Weight], ...] = Field(min_length=1)
    wealth_steps: tuple[Annotated[int, Field(ge=-100, le=100)], ...] = Field(min_length=1)
    state_from: StateFrom

    def ages(self) -> tuple[Integers, Floats]:
        """Return the possible ages of mothers, ascending, and the share of each age.

        Ages are in years; both arrays have shape (n_ages,), and the shares sum to 1.

        Raises
        ------
        InputError
            If a first age is above the last one, an age is in two groups, or all relative probabilities are 0.
        """
        where = "children.mother_ages"
        weights: dict[int, float] = {}
        for first, last, weight in self.mother_ages:
            ages = range(first, last + 1)
            twice = next((age for age in ages if age in weights), None)
            refuse_first(
                (not ages, "the first age is above the last age", where, [first, last, weight], None),
                (twice is not None, "age in two groups", where, twice, None),
            )
            weights |= dict.fromkeys(ages, weight)
        possible = sorted(weights)
        return np.array(possible, dtype=np.int64), _shares(np.array([weights[age] for age in possible]), where)


class GenealogyRecipe(RecipeHead):
    """Recipe of a genealogy of several generations, simulated as in Wan et al. 2021.

    Attributes
    ----------
    kind
        kind of recipe
    seed
        seed of all random draws
    engine
        program that simulates the genealogy: the package's own or simuPOP
    people
        number of people in each generation
    loci
        table of loci
    founders
        first generation
    migration
        moves between subpopulations; default: none
    marriage
        rules of marriage
    children
        number and traits of children
    """

    kind: Literal["ystr-genealogy"]
    seed: Seed
    engine: Engine = "vectorised"
    people: People
    loci: Loci
    founders: Founders
    migration: Migration = Migration()
    marriage: Marriage
    children: Children

    def make(self, at: Making) -> Genealogy:
        """Return the `Genealogy`, simulated with the recipe's engine.

        Raises
        ------
        InputError
            If the recipe or one of its files cannot be used (see `parameters`), simuPOP is required but not installed,
            no couple is possible, or the genealogy does not fit into memory.
        """
        parameters = self.parameters(at.folder, at.name)
        needed = parameters.total * (_PERSON_BYTES + len(parameters.loci))
        require_memory(needed, f"{parameters.total:,} people do not fit into memory", where="people")
        made: Genealogy = import_module(_ENGINES[self.engine]).simulate(parameters, at.seed, progress=at.progress)
        return made

    def parameters(self, folder: Path, name: str) -> GenealogyParameters:
        """Return the `GenealogyParameters` of the recipe, read from its files.

        `folder` contains the files that the recipe names, and `name` is the name of the recipe.

        Raises
        ------
        InputError
            If a file cannot be used, a value is missing or out of its range, a name is repeated, or probabilities do
            not sum to 1; the message names the file and row, or the key.
        """
        founders, marriage, children = self.founders, self.marriage, self.children
        years, ranks = founders.birth_years, np.array(marriage.ranks, dtype=np.int64)
        late, falling = "the first year is after the last year", "wealth levels are not increasing"
        refuse_first(
            (years[0] > years[1], late, "founders.birth_years", list(years), None),
            ((np.diff(ranks) <= 0).any(), falling, "marriage.ranks", list(marriage.ranks), None),
        )
        surnames, surname_shares = founders.surnames.read(folder)
        states, state_shares = founders.states.read(folder)
        mother_ages, mother_age_shares = children.ages()
        return GenealogyParameters(
            name=name,
            subpopulations=np.array(self.people.subpopulations, dtype=np.int64),
            generations=self.people.generations,
            **self.loci.read(folder),
            surnames=surnames,
            surname_shares=surname_shares,
            states=states,
            state_shares=state_shares,
            wealth_shares=founders.wealth.read(folder)[1],
            founder_birth_years=years,
            migration_generations=tuple(sorted(set(self.migration.generations))),
            migration_shares=self.migration.matrix(len(self.people.subpopulations)),
            rank_starts=ranks,
            **marriage.model_dump(exclude={"ranks"}),
            mean_children=children.mean,
            father_at_least=children.father_at_least,
            mother_ages=mother_ages,
            mother_age_shares=mother_age_shares,
            wealth_steps=np.array(children.wealth_steps, dtype=np.int64),
            state_from=_shares(np.array(list(children.state_from.model_dump().values())), "children.state_from"),
        )


def _require_names(names: pd.Series[str], path: Path) -> None:
    refuse_rows(names.eq(""), "name missing", source=path, column=names.name, found=names)
    refuse_rows(names.duplicated(), "name given twice", source=path, column=names.name, found=names)


def _shares(weights: Floats, where: str) -> Floats:
    total = weights.sum()
    refuse_first((not total > 0, "weights sum to 0", where, None, "a positive sum"))
    return np.asarray(weights / total, dtype=np.float64)
