"""The parameters of a genealogy.

They are the content of a recipe and its files, as checked arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, locating, refuse_rows
from reidsim.populations.census_cells import largest_remainders
from reidsim.populations.figure_files import read_figures
from reidsim.populations.genealogy.recipe import Children, GenealogyRecipe, Labels, Migration
from reidsim.tables import numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Allowed difference from 1 of the sum of published frequencies, which are rounded; they are rescaled to sum to 1.
_ROUNDING = 1e-6
_ALLELES = 256
# Columns of the table of individuals other than the loci.
RESERVED_NAMES = (
    *("individual", "father", "mother", "sex", "generation", "subpopulation", "surname", "birth_year", "state"),
    *("wealth", "rank", "mutations", "age"),
)
_LOCUS_COLUMNS = ("locus", "mutation_rate", "lowest", "highest", "first", "frequencies")


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


def genealogy_parameters(recipe: GenealogyRecipe, folder: Path, *, name: str) -> GenealogyParameters:
    """Return the parameters of a recipe; `folder` contains the files that it names.

    Raises
    ------
    InputError
        If a file cannot be used, a value is missing or out of its range, a name is repeated, or probabilities do not
        sum to 1; the message names the file and row, or the key.
    """
    sizes = np.array(recipe.people.subpopulations, dtype=np.int64)
    founders, marriage, children = recipe.founders, recipe.marriage, recipe.children
    years = list(founders.birth_years)
    if years != sorted(years):
        raise InputError("the first year is after the last year", where="founders.birth_years", found=years)
    ranks = np.array(marriage.ranks, dtype=np.int64)
    if (np.diff(ranks) <= 0).any():
        raise InputError("wealth levels are not increasing", where="marriage.ranks", found=list(marriage.ranks))
    loci, rates, lowest, highest, alleles = _read_loci(recipe.loci.file, folder)
    surnames, surname_shares = _read_labels(founders.surnames, folder)
    states, state_shares = _read_labels(founders.states, folder)
    _, wealth_shares = _read_labels(founders.wealth, folder)
    ages, age_shares = _mother_ages(children)
    return GenealogyParameters(
        name=name,
        subpopulations=sizes,
        generations=recipe.people.generations,
        loci=loci,
        mutation_rates=rates,
        lowest=lowest,
        highest=highest,
        founder_alleles=alleles,
        surnames=surnames,
        surname_shares=surname_shares,
        states=states,
        state_shares=state_shares,
        wealth_shares=wealth_shares,
        founder_birth_years=founders.birth_years,
        migration_generations=tuple(sorted(set(recipe.migration.generations))),
        migration_shares=_migration_shares(recipe.migration, len(sizes)),
        rank_starts=ranks,
        **marriage.model_dump(exclude={"ranks"}),
        mean_children=children.mean,
        father_at_least=children.father_at_least,
        mother_ages=ages,
        mother_age_shares=age_shares,
        wealth_steps=np.array(children.wealth_steps, dtype=np.int64),
        state_from=_shares(np.array(list(children.state_from.model_dump().values())), "children.state_from"),
    )


def _read_loci(file: str, folder: Path) -> tuple[tuple[str, ...], Floats, Ints, Ints, Floats]:
    """Return names, mutation rates, lowest and highest alleles of the loci.

    The last item holds the founders' allele frequencies, shape (n_loci, 256).
    """
    frame, path = read_figures(file, folder, _LOCUS_COLUMNS)
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
    bounds, expected = [*zip(frame["lowest"], frame["highest"], strict=True)], "increasing whole numbers from 1 to 255"
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
    return tuple(names), rates, low.astype(np.int64), high.astype(np.int64), alleles


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


def _read_labels(labels: Labels, folder: Path) -> tuple[tuple[str, ...], Floats]:
    """Return the labels in a file, and the share of people with each label.

    With ``labels.largest``, only the most frequent labels are kept; their shares sum to 1.
    """
    frame, path = read_figures(labels.file, folder, [labels.label, labels.people])
    _require_names(frame[labels.label], path)
    people = numbers(frame, labels.people, path)
    if labels.largest is not None:
        # Keep the order of the file; among ties, keep the first labels.
        people = people.nlargest(labels.largest, keep="first").sort_index()
    with locating(path):
        shares = _shares(np.asarray(people, dtype=np.float64), f"column {labels.people!r}")
    return tuple(frame[labels.label][people.index]), shares


def _require_names(names: pd.Series[str], path: Path) -> None:
    refuse_rows(names.eq(""), "name missing", source=path, column=names.name, found=names)
    refuse_rows(names.duplicated(), "name given twice", source=path, column=names.name, found=names)


def _migration_shares(migration: Migration, n_subpopulations: int) -> Floats:
    if not migration.generations:
        return np.eye(n_subpopulations)
    where, lengths = "migration.shares", [len(row) for row in migration.shares]
    if lengths != [n_subpopulations] * n_subpopulations:
        problem = "the numbers of rows and columns differ from the number of subpopulations"
        found, expected = f"rows of {lengths}", f"{n_subpopulations} rows of {n_subpopulations} numbers"
        raise InputError(problem, where=where, found=found, expected=expected)
    rows = enumerate(migration.shares, start=1)
    return np.array([_summing_to_one(np.array(row), f"{where}: row {number}") for number, row in rows])


def _mother_ages(children: Children) -> tuple[Ints, Floats]:
    """Return the possible ages of mothers and the share of each age."""
    where = "children.mother_ages"
    weights: dict[int, float] = {}
    for first, last, weight in children.mother_ages:
        if first > last:
            raise InputError("the first age is above the last age", where=where, found=[first, last, weight])
        for age in range(first, last + 1):
            if age in weights:
                raise InputError("age in two groups", where=where, found=age)
            weights[age] = weight
    ages = sorted(weights)
    return np.array(ages, dtype=np.int64), _shares(np.array([weights[age] for age in ages]), where)


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
