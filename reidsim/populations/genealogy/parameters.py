"""The parameters of a genealogy: the content of a recipe and its files, as checked arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.census_cells import largest_remainders

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
        for problem, where, found, bits in (
            ("too many people", "people", self.total, 31),
            ("too many states", "founders.states", len(self.states), 15),
            ("the highest level of wealth is too high", "children.wealth_steps", highest, 15),
        ):
            if found >= 2**bits:
                raise InputError(problem, where=where, found=found, expected=f"at most {2**bits - 1:,}")

    @property
    def people(self) -> int:
        """Number of people in one generation."""
        return int(self.subpopulations.sum())

    @property
    def total(self) -> int:
        """Number of people in all generations."""
        return self.people * self.generations

    @property
    def n_ranks(self) -> int:
        """Number of wealth ranks."""
        return len(self.rank_starts) + 1

    def resized(self, *, people: int | None = None, generations: int | None = None) -> GenealogyParameters:
        """Return the same rules for another number of people or generations.

        The number of people is per generation. People are divided among subpopulations in the proportions of the
        recipe, by largest remainders.

        Raises
        ------
        InputError
            If a subpopulation would have fewer than two people, or the number of generations is not 1 to 10,000.
        """
        sizes = self.subpopulations
        if people is not None:
            shares = (sizes / sizes.sum())[None, :]
            sizes = largest_remainders(np.array([float(people)]), shares)[0]
            if sizes.min() < 2:
                expected = "at least 2 in every subpopulation"
                raise InputError("too few people", where="people", found=people, expected=expected)
        if generations is not None and not 1 <= generations <= 10_000:
            raise InputError("value not allowed", where="generations", found=generations, expected="1 to 10,000")
        return replace(self, subpopulations=sizes, generations=generations or self.generations)
