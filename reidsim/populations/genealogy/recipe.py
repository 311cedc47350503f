"""Recipes of kind ``ystr-genealogy``: the schema, and the parameters in its files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from reidsim.core.errors import locating, refuse_first, refuse_rows
from reidsim.core.files import require_memory
from reidsim.core.tables import numbers
from reidsim.core.validation import Section
from reidsim.populations.genealogy import genealogy, simupop_engine
from reidsim.populations.genealogy.genealogy import Floats, Genealogy, GenealogyParameters, Ints
from reidsim.populations.population import Making, RecipeHead, Seed, normalised, read_figures

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
                outside, found = (
                    first[row] % 1 or first[row] < low[row] or last > high[row],
                    f"{first[row]:g} to {last:g}",
                )
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

    def ages(self) -> tuple[Ints, Floats]:
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
        simulate = simupop_engine.simulate if self.engine == "simupop" else genealogy.simulate
        return simulate(parameters, at.seed, progress=at.progress)

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
