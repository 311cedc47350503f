"""Recipes of kind ``ystr-genealogy``: the schema, and the parameters read from its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from reidsim.errors import InputError, locating, refuse_rows
from reidsim.populations.census import largest_remainders
from reidsim.populations.recipe import RecipeHead, Seed, read_figures
from reidsim.tables import numbers
from reidsim.validation import Section

# Allowed difference from 1 of the sum of published frequencies, which are rounded; they are rescaled to sum to 1.
_ROUNDING = 1e-6
_ALLELES = 256
# Columns of the table of individuals other than the loci.
RESERVED_NAMES = (
    *("individual", "father", "mother", "sex", "generation", "subpopulation", "surname", "birth_year", "state"),
    *("wealth", "rank", "mutations", "age"),
)
_LOCUS_COLUMNS = ("locus", "mutation_rate", "lowest", "highest", "first", "frequencies")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Engine = Literal["vectorised", "simupop"]
Probability = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]
Year = Annotated[int, Field(ge=-10_000, le=10_000)]
Age = Annotated[int, Field(ge=1, le=100)]
Years = Annotated[int, Field(ge=0, le=200)]
# A couple needs a man and a woman.
Size = Annotated[int, Field(ge=2, lt=2**31)]


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
        """Return the parameters of the loci; see `GenealogyParameters`."""
        frame, path = read_figures(self.file, folder, _LOCUS_COLUMNS)
        names = frame["locus"]
        _require_names(names, path)
        rate, problem = "mutation_rate", "locus name reserved for another column"
        refuse_rows(names.isin(RESERVED_NAMES), problem, source=path, column="locus", found=names)
        missing, expected = frame[rate].eq(""), "a number of mutations per generation"
        refuse_rows(missing, "mutation rate missing", source=path, column=rate, found=names, expected=expected)
        rates, low, high, first = (
            np.asarray(numbers(frame, column, path), dtype=np.float64) for column in _LOCUS_COLUMNS[1:5]
        )
        refuse_rows(rates > 1, "probability out of range", source=path, column=rate, found=frame[rate])
        # Bounds must differ: simuPOP's mutator cannot distinguish a locus with one allele from an unbounded locus.
        allowed = (low >= 1) & (low < high) & (high < _ALLELES) & (low % 1 == 0) & (high % 1 == 0)
        bounds, expected = (
            [*zip(frame["lowest"], frame["highest"], strict=True)],
            "increasing whole numbers from 1 to 255",
        )
        where = "lowest and highest"
        refuse_rows(~allowed, "invalid bounds of alleles", source=path, column=where, found=bounds, expected=expected)
        alleles = np.zeros((len(frame), _ALLELES))
        for row, text in enumerate(frame["frequencies"]):
            frequencies = _frequencies(text, path, row + 1)
            last = first[row] + len(frequencies) - 1
            if first[row] % 1 or first[row] < low[row] or last > high[row]:
                where, found = f"row {row + 1}, columns 'first' and 'frequencies'", f"{first[row]:g} to {last:g}"
                expected = f"whole numbers from {low[row]:g} to {high[row]:g}"
                problem = "allele of a founder outside the bounds"
                raise InputError(problem, source=path, where=where, found=found, expected=expected)
            alleles[row, int(first[row]) : int(last) + 1] = frequencies
        lowest, highest = low.astype(np.int64), high.astype(np.int64)
        loci = {"loci": tuple(names), "mutation_rates": rates, "lowest": lowest, "highest": highest}
        return loci | {"founder_alleles": alleles}


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

        With ``largest``, only the most frequent labels are kept; their shares sum to 1.
        """
        frame, path = read_figures(self.file, folder, [self.label, self.people])
        _require_names(frame[self.label], path)
        people = numbers(frame, self.people, path)
        if self.largest is not None:
            # Keep the order of the file; among ties, keep the first labels.
            people = people.nlargest(self.largest, keep="first").sort_index()
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
        """Return the shares, shape (n_subpopulations, n_subpopulations)."""
        if not self.generations:
            return np.eye(n_subpopulations)
        where, lengths = "migration.shares", [len(row) for row in self.shares]
        if lengths != [n_subpopulations] * n_subpopulations:
            problem = "the numbers of rows and columns differ from the number of subpopulations"
            found, expected = f"rows of {lengths}", f"{n_subpopulations} rows of {n_subpopulations} numbers"
            raise InputError(problem, where=where, found=found, expected=expected)
        rows = enumerate(self.shares, start=1)
        return np.array([_summing_to_one(np.array(row), f"{where}: row {number}") for number, row in rows])


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

    def ages(self) -> tuple[Ints, Floats]:
        """Return the possible ages of mothers and the share of each age."""
        where = "children.mother_ages"
        weights: dict[int, float] = {}
        for first, last, weight in self.mother_ages:
            if first > last:
                raise InputError("the first age is above the last age", where=where, found=[first, last, weight])
            for age in range(first, last + 1):
                if age in weights:
                    raise InputError("age in two groups", where=where, found=age)
                weights[age] = weight
        ages = sorted(weights)
        return np.array(ages, dtype=np.int64), _shares(np.array([weights[age] for age in ages]), where)


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

    def parameters(self, folder: Path, name: str) -> GenealogyParameters:
        """Return the parameters of the recipe; `folder` contains the files that it names.

        Raises
        ------
        InputError
            If a file cannot be used, a value is missing or out of its range, a name is repeated, or probabilities do
            not sum to 1; the message names the file and row, or the key.
        """
        founders, marriage, children = self.founders, self.marriage, self.children
        years, ranks = list(founders.birth_years), np.array(marriage.ranks, dtype=np.int64)
        if years != sorted(years):
            raise InputError("the first year is after the last year", where="founders.birth_years", found=years)
        if (np.diff(ranks) <= 0).any():
            raise InputError("wealth levels are not increasing", where="marriage.ranks", found=list(marriage.ranks))
        loci = self.loci.read(folder)
        surnames, surname_shares = founders.surnames.read(folder)
        states, state_shares = founders.states.read(folder)
        _, wealth_shares = founders.wealth.read(folder)
        mother_ages, mother_age_shares = children.ages()
        odds = np.array(list(children.state_from.model_dump().values()))
        return GenealogyParameters(
            name=name,
            subpopulations=np.array(self.people.subpopulations, dtype=np.int64),
            generations=self.people.generations,
            **loci,
            surnames=surnames,
            surname_shares=surname_shares,
            states=states,
            state_shares=state_shares,
            wealth_shares=wealth_shares,
            founder_birth_years=founders.birth_years,
            migration_generations=tuple(sorted(set(self.migration.generations))),
            migration_shares=self.migration.matrix(len(self.people.subpopulations)),
            rank_starts=ranks,
            **marriage.model_dump(exclude={"ranks"}),
            mean_children=children.mean,
            father_at_least=children.father_at_least,
            mother_ages=mother_ages,
            mother_age_shares=mother_age_shares,
            wealth_steps=np.array(children.wealth_steps, dtype=np.int64),
            state_from=_shares(odds, "children.state_from"),
        )


def _frequencies(text: str, path: Path, row: int) -> Floats:
    where = f"row {row}, column 'frequencies'"
    try:
        frequencies = np.array([float(part) for part in text.split()])
    except ValueError:
        frequencies = np.array([-1.0])
    if not len(frequencies) or not (frequencies >= 0).all():
        expected = "numbers of 0 or more"
        raise InputError("invalid frequencies", source=path, where=where, found=text, expected=expected)
    with locating(path):
        return _summing_to_one(frequencies, where)


def _require_names(names: pd.Series[str], path: Path) -> None:
    refuse_rows(names.eq(""), "name missing", source=path, column=names.name, found=names)
    refuse_rows(names.duplicated(), "name given twice", source=path, column=names.name, found=names)


def _shares(weights: Floats, where: str) -> Floats:
    total = weights.sum()
    if not total > 0:
        raise InputError("weights sum to 0", where=where, expected="a positive sum")
    return np.asarray(weights / total, dtype=np.float64)


def _summing_to_one(probabilities: Floats, where: str) -> Floats:
    total = float(probabilities.sum())
    if abs(total - 1) > _ROUNDING:
        raise InputError("probabilities do not sum to 1", where=where, found=round(total, 9), expected="a sum of 1")
    return np.asarray(probabilities / total)
