"""External resources: registries, files and lists of some people of a population.

A registry is counted by cell. A file has one row per person; an example is a genealogy database. In a list, values can
also be wrong, and memberships of a person in several lists can be correlated. The records, which the adversary sees,
are stored separately from the true person of each record. Adversary models use only the records; payoffs are computed
from both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, cast

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, listed, locating, refuse_first, require_among
from reidsim.core.files import read_toml, resolve
from reidsim.core.numerics import draw_multivariate_hypergeometric
from reidsim.core.validation import Section, validated
from reidsim.populations.population import (
    UNKNOWN,
    Attribute,
    Codes,
    Floats,
    Individuals,
    Integers,
    Making,
    Population,
    RecipeHead,
    Seed,
    Share,
    exactly_one,
    group_codes,
    number_range,
)

Ages = NDArray[np.integer]
ANYONE = "anyone"


class CoverageByGroup(Section):
    """Probability that a person is listed, by the value of one attribute.

    Attributes
    ----------
    by
        attribute on which the probability depends
    shares
        probability for each value or range of numbers, such as `"18..29"` or `"65.."`
    """

    by: str
    shares: dict[str, Share] = Field(min_length=1)

    def chances(self, codes: NDArray[np.integer], categories: Sequence[str]) -> Floats:
        """Return each person's probability to be listed, shape (n_people,).

        It is the share of the person's value. `codes` holds each person's code of the attribute `by`, shape
        (n_people,), and `categories` the attribute's values.

        Raises
        ------
        InputError
            If a key is neither a value nor a range, a value has two shares, or a person has no value or no share.
        """
        groups = {key: (key,) for key in self.shares}
        with locating(where="coverage.shares"):
            group_of = group_codes(Attribute(self.by, tuple(categories)), groups, complete=False)
        problem = "people with a missing value have no share"
        refuse_first(((codes < 0).any(), problem, f"coverage.by = {self.by!r}", None, None))
        group = group_of[codes]
        expected = f"a share for {categories[codes[group.argmin()]]!r}"
        refuse_first(((group < 0).any(), "share missing", "coverage.shares", None, expected))
        return np.asarray(np.array(list(self.shares.values()))[group])


# One share for all, shares by one attribute, or shares by several attributes, which are multiplied.
Coverage = Share | CoverageByGroup | Annotated[tuple[CoverageByGroup, ...], Field(min_length=1)]


def listing_chances(
    coverage: Coverage | None,
    among: Mapping[str, Sequence[str]],
    n_people: int,
    coded: Callable[[str, str], tuple[NDArray[np.integer], Sequence[str]]],
) -> Floats:
    """Return each person's probability to be listed, shape (n_people,).

    It is the coverage (default: 1; the product of several coverages by group), and 0 for people whose value of an
    attribute of `among` is not one of the values listed there.

    `coded` returns each person's code of an attribute and the attribute's values, given its name and the key naming it.

    Raises
    ------
    InputError
        If a value is unknown, or a person has no share.
    """
    chance = np.full(n_people, coverage if isinstance(coverage, float) else 1.0)
    groups = (coverage,) if isinstance(coverage, CoverageByGroup) else coverage
    for group in groups if isinstance(groups, tuple) else ():
        chance *= group.chances(*coded(group.by, "coverage.by"))
    for attribute, values in among.items():
        codes, labels = coded(attribute, f"among.{attribute}")
        require_among(f"not a value of {attribute!r}", values, labels, where=f"among.{attribute}")
        chance *= np.isin(codes, [labels.index(value) for value in values])
    return chance


def coded_in(people: Individuals) -> Callable[[str, str], tuple[Codes, tuple[str, ...]]]:
    """Return the argument `coded` of `listing_chances` for people of a population.

    It is a function that returns each person's code of an attribute, and the attribute's values.
    """
    return lambda name, _: (people.column(name), people.domain[name].categories)


class ResourceRecipe(RecipeHead):
    """Recipe of a file about some people of a population.

    An example is a genealogy database. At least one of ``size`` and ``coverage`` is required.

    Attributes
    ----------
    kind
        kind of recipe
    population
        population with whole numbers of people
    seed
        seed of the random draw
    size
        exact number of people in the file
    coverage
        probability that the file contains a person: one number, or tables by attribute, which are multiplied;
        weights of the draw if `size` is set
    among
        values that a person must have to be in the file, by attribute
    attributes
        attributes in the file; default: all attributes of the population
    missing
        share of missing values, by attribute
    price
        price of the file, paid once
    buyers
        kinds of adversary who may have the file
    """

    kind: Literal["resource"]
    population: str
    seed: Seed
    size: Annotated[int, Field(gt=0)] | None = None
    coverage: Coverage | None = None
    among: dict[str, tuple[str, ...]] = Field(default={})
    attributes: tuple[str, ...] | None = Field(default=None, min_length=1)
    missing: dict[str, Share] = Field(default={})
    price: Annotated[float, Field(ge=0)] = 0.0
    buyers: tuple[str, ...] = Field(default=(ANYONE,), min_length=1)

    @model_validator(mode="after")
    def _lists_someone(self) -> ResourceRecipe:
        nobody = self.size is None and self.coverage is None
        return self.unless((nobody, "size and coverage are missing", "", "size, coverage or both", None))

    def make(self, at: Making) -> ExternalResource:
        """Return the `ExternalResource`, drawn from its population.

        It has one record per drawn person, in random order, with the recipe's attributes; the required shares of values
        are missing. `at` has the seed and the other population; see `Making`.

        Raises
        ------
        InputError
            If an attribute or value does not exist, a person has no probability, or fewer people can be listed than
            required.
        """
        world, rng = at.people(self.population), at.rng(self.kind)
        chance = listing_chances(self.coverage, self.among, world.n_people, coded_in(world))
        person = draw_people(chance, rng, self.size)
        records = world.take(person).select(self.attributes or world.domain.names)
        require_among("not an attribute of the resource", self.missing, records.domain.names, where="missing")
        missing = {records.domain.position(each): share for each, share in self.missing.items()}
        codes = with_values_missing(records.codes, missing, rng)
        seen = replace(records, codes=codes, name=at.name, source=self.source)
        return ExternalResource(seen, person, world.n_people, price=self.price, buyers=self.buyers)


class RegistryRecipe(RecipeHead):
    """Recipe of a registry of people drawn at random from another population.

    Attributes
    ----------
    kind
        kind of recipe
    population
        population with whole numbers of people
    size
        number of people in the registry
    seed
        seed of the random draw
    """

    kind: Literal["registry"]
    population: str
    size: Annotated[int, Field(gt=0)]
    seed: Seed

    def make(self, at: Making) -> Population:
        """Return a registry, a `Population`, drawn from the recipe's population.

        It is a simple random sample of ``size`` people; for errors see `draw_registry`.
        """
        return draw_registry(at.cells(self.population), self.size, at.rng(self.kind), name=at.name, source=self.source)


def draw_registry(
    population: Population, size: int, rng: np.random.Generator, *, name: str = "registry", source: str = ""
) -> Population:
    """Return a registry: a simple random sample of `size` people.

    People are drawn without replacement.

    Parameters
    ----------
    population : Population
        A population with integer counts.
    size : int
        Number of people in the registry.
    rng : numpy.random.Generator
        Source of the draw.
    name, source : str
        Name and source of the registry.

    Returns
    -------
    Population
        The cells with a drawn person; the counts (int64) sum to `size`, and no cell has more people than in
        `population`. The share ``size / population.total`` is the prior probability of Xia et al. 2015 that a person
        is in the registry.

    Raises
    ------
    InputError
        If `size` is less than 1 or exceeds the population, or the population has expected counts.

    Notes
    -----
    The counts of all cells have a multivariate hypergeometric distribution: a cell with n of N people has on average
    ``n size / N`` people in the registry, with variance ``n (size/N) (1 - size/N) (N - n) / (N - 1)``. Xia et al. (CIKM
    2015, section 6.2) assume that their registry is such a sample.
    """
    counts = population.whole_counts("a registry cannot be drawn from expected counts")
    people = int(counts.sum())
    expected = f"1 to {people}, the number of people in {population.name!r}"
    refuse_first((not 1 <= size <= people, "size of the registry out of range", "size", size, expected))
    drawn = draw_multivariate_hypergeometric(rng, counts, size)
    listed = drawn > 0
    return Population(population.domain, population.cells[listed], drawn[listed], name=name, source=source)


@dataclass(frozen=True)
class ExternalResource:
    """A file about some people of a population.

    Parameters
    ----------
    records : Individuals
        The records, which the adversary sees; missing values are ``UNKNOWN``.
    person : ndarray of int64, shape (n_records,)
        True person of each record, as a row of the population. No person has two records.
    n_people : int
        Number of people in the population.
    price : float
        Price in currency units, paid once.
    buyers : tuple of str
        Kinds of adversary who may buy the resource; ``"anyone"`` for all.
    """

    records: Individuals
    person: NDArray[np.int64]
    n_people: int
    price: float = 0.0
    buyers: tuple[str, ...] = (ANYONE,)

    def __repr__(self) -> str:
        return f"ExternalResource({len(self.person):,} rows about {self.n_people:,} people)"

    @property
    def name(self) -> str:
        """Name in messages and results."""
        return self.records.name

    @property
    def coverage(self) -> float:
        """Share of the population's people who have a record, in (0, 1]."""
        return self.records.n_people / self.n_people

    def record_of(self) -> NDArray[np.int64]:
        """Return the row in `records` of each person's record, shape (n_people,).

        Persons are the rows of the population. The result is -1 for people without a record.
        """
        record = np.full(self.n_people, -1, dtype=np.int64)
        record[self.person] = np.arange(len(self.person))
        return record


def draw_people(chance: Floats, rng: np.random.Generator, size: int | None = None) -> NDArray[np.int64]:
    """Return the people who get a record in a file or list.

    Each person gets one independently with the person's probability, or exactly `size` people get one.

    Parameters
    ----------
    chance : ndarray of float64, shape (n_people,)
        Probability that a person has a record, independent of other people; with `size`, weight of the person in the
        draw without replacement.
    rng : numpy.random.Generator
        Source of the draw.
    size : int, optional
        Number of records. Default: each person is drawn independently.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Rows of the people in random order, so that the position in the file is uninformative.

    Raises
    ------
    InputError
        If `size` is below 1, fewer than `size` people can be drawn, or no person was drawn.
    """
    possible = np.flatnonzero(chance > 0)
    if size is None:
        drawn = possible[rng.random(len(possible)) < chance[possible]]
        refuse_first((not len(drawn), "the list is empty", "coverage", None, "a larger coverage or population"))
        return rng.permutation(drawn).astype(np.int64)
    refuse_first((not 1 <= size <= len(possible), "size out of range", "size", size, f"1 to {len(possible)}"))
    weights = chance[possible]
    if (weights == weights[0]).all():
        return rng.permutation(possible)[:size].astype(np.int64)
    # Exponential times with each person's weight as rate: the smallest are a weighted draw without replacement.
    rings = rng.standard_exponential(len(possible)) / weights
    return rng.permutation(possible[np.argsort(rings, kind="stable")[:size]]).astype(np.int64)


def with_values_missing(
    codes: NDArray[np.int32], missing: Mapping[int, float], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return a copy of a file's codes with a share of some values missing.

    Columns with the same share are treated together: exactly ``int(records x columns x share)`` of their values become
    missing, and every set of this many values is equally likely (as in the genealogy database of Wan et al. 2021).

    Parameters
    ----------
    codes : ndarray of int32, shape (n_records, n_attributes)
        Codes of the file.
    missing : mapping of int to float
        Share of missing values, by position of the column, in [0, 1]; other columns are unchanged.
    rng : numpy.random.Generator
        Source of the draw.
    """
    codes = codes.copy()
    for share in dict.fromkeys(missing.values()):
        columns = np.array([column for column, each in missing.items() if each == share])
        lost = rng.choice(len(codes) * len(columns), int(len(codes) * len(columns) * share), replace=False)
        rows, chosen = np.divmod(lost, len(columns))
        codes[rows, columns[chosen]] = UNKNOWN
    return codes


# Lists of people, drawn for each replication of a scenario.

# A function that returns the random generator of a list, given its name.
Streams = Callable[[str], np.random.Generator]
# Correlation of memberships: one value for all pairs of lists, or values by pair of names.
Correlation = float | Mapping[str, Mapping[str, float]]

# Name of the random stream of the factor common to all lists; no list has this name.
_COMMON = ""


@dataclass(frozen=True, eq=False)
class PeopleList:
    """A list of records about some people.

    Parameters
    ----------
    name : str
        Name of the list.
    person : ndarray of int64, shape (n_records,)
        True person of each record, in random order, or -1 for records about other people. No person has two records.
    columns : mapping of str to ndarray of int64, shape (n_records,)
        Values in the list, by attribute; ``UNKNOWN`` (-1) for a missing value.
    n_people : int
        Number of people from whom the list was drawn.
    """

    name: str
    person: Integers
    columns: Mapping[str, Integers]
    n_people: int

    @property
    def coverage(self) -> float:
        """Share of the `n_people` people who have a record in the list."""
        return float((self.person >= 0).sum() / self.n_people)

    @cached_property
    def record_of(self) -> Integers:
        """Row of each person's record in the list, shape (n_people,); -1 without a record."""
        record = np.full(self.n_people, -1, dtype=np.int64)
        known = self.person >= 0
        record[self.person[known]] = np.flatnonzero(known)
        return record


@dataclass(frozen=True, eq=False)
class ListRule:
    """The parameters of drawing a list.

    Parameters
    ----------
    attributes : tuple of str
        Attributes of the list.
    chance : ndarray of float64, shape (n_people,)
        Probability that each person is in the list; with `size`, weight of the person in the draw.
    size : int, optional
        Number of records; people are drawn one after the other without replacement, with these weights. By default,
        each person is in the list with its own probability, independently of other people.
    errors : mapping of str to float
        Probability that a value is wrong, by attribute. A wrong value is the value of a random person with another
        value.
    missing : mapping of str to float or ndarray of float64, shape (n_people,)
        Probability that a value is missing, by attribute; independent of whether the value is wrong.
    """

    attributes: tuple[str, ...]
    chance: Floats
    size: int | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, float | Floats] = field(default_factory=dict)


def draw_lists(
    people: Mapping[str, Integers],
    rules: Mapping[str, ListRule],
    correlation: Correlation,
    membership: Streams,
    contents: Streams,
) -> dict[str, PeopleList]:
    """Return a `PeopleList` for each rule, drawn from people, by name.

    Parameters
    ----------
    people : mapping of str to ndarray of int64, shape (n_people,)
        Values as integers of 0 or more, by attribute; ``UNKNOWN`` (-1) for a missing value.
    rules : mapping of str to ListRule
        Parameters of each list, by name.
    correlation : float or mapping
        See `membership_numbers`.
    membership, contents : callable
        Functions that return the random generator of the membership, and of the values, of a list, given its name.

    Raises
    ------
    InputError
        If too few people can be drawn, no person was drawn, an attribute does not exist, or an attribute with errors
        has only one value.
    """
    n_people = len(next(iter(people.values())))
    lists = {}
    for name, uniform in membership_numbers(tuple(rules), correlation, n_people, membership):
        with locating(where=f"resources.{name}"):
            lists[name] = _list(name, people, _members(rules[name], uniform), rules[name], contents(name))
    return lists


def membership_numbers(
    names: tuple[str, ...], correlation: Correlation, n_people: int, streams: Streams
) -> Iterator[tuple[str, Floats]]:
    """Yield, for each list, one uniform number per person.

    People with low numbers are in the list. The numbers of a person have a Gaussian copula, so the correlation does not
    change the distribution of the members of a single list.

    Parameters
    ----------
    names : tuple of str
        Names of the lists, in order.
    correlation : float or mapping of str to mapping of str to float
        Correlation of the normal variables of two lists. Either one value in [0, 1] for all pairs, the share of the
        variance from a common factor; or a value in (-1, 1) by pair of names (0 for other pairs), in which case each
        list is drawn conditional on the lists before it.
    n_people : int
        Number of people.
    streams : callable
        Function that returns the random generator of a list, given its name.

    Raises
    ------
    InputError
        If a name is unknown, a list is paired with itself, a pair has two different values, or the correlation matrix
        is not positive definite.
    """
    if isinstance(correlation, Mapping):
        own: list[Floats] = []
        for name, row in zip(names, _cholesky_factor(names, correlation), strict=True):
            own.append(streams(name).standard_normal(n_people))
            used = np.flatnonzero(row)
            yield name, scipy.special.ndtr(sum((row[k] * own[k] for k in used[1:]), row[used[0]] * own[used[0]]))
        return
    common = np.sqrt(correlation) * streams(_COMMON).standard_normal(n_people)
    for name in names:
        yield name, scipy.special.ndtr(np.sqrt(1.0 - correlation) * streams(name).standard_normal(n_people) + common)


def _cholesky_factor(names: tuple[str, ...], by_pair: Mapping[str, Mapping[str, float]]) -> Floats:
    """Return the triangular matrix that gives normal variables these correlations.

    The matrix is lower triangular, shape (n_lists, n_lists), in the order of `names`; it is applied to independent
    normal variables. Pairs that `by_pair` does not have are uncorrelated.

    Raises
    ------
    InputError
        If a name is unknown, a pair has two different correlations or the same list twice, or the correlation matrix is
        not positive definite.
    """
    correlation = np.eye(len(names))
    for name, other, strength in ((n, o, s) for n, others in by_pair.items() for o, s in others.items()):
        where = f"together.{name}.{other}"
        require_among("no such list", (name, other), names, where=where)
        i, j = names.index(name), names.index(other)
        before = float(correlation[i, j])
        refuse_first(
            (i == j, "correlation out of range", where, strength, "two different lists"),
            (before not in (0.0, strength), "pair given twice", where, strength, str(before)),
        )
        correlation[i, j] = correlation[j, i] = strength
    try:
        return np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)
    except np.linalg.LinAlgError:
        problem, expected = "correlations are inconsistent", "a positive definite matrix"
        raise InputError(problem, where="together", expected=expected) from None


def _members(rule: ListRule, uniform: Floats) -> Integers:
    """Return the people in a list, in ascending order, as numbers.

    `uniform` has the uniform number of each person, shape (n_people,). Without a size, people are listed whose number
    is below their probability; with a size, so many people are drawn without replacement by weight.

    Raises
    ------
    InputError
        If nobody is listed, or the size is not between 1 and the number of people with a weight above 0.
    """
    chance = rule.chance
    if rule.size is None:
        person = np.flatnonzero((uniform < chance) | (chance >= 1))
        refuse_first((not len(person), "the list is empty", "coverage", None, "a larger coverage or population"))
        return person
    possible = np.flatnonzero(chance > 0)
    refuse_first((not 1 <= rule.size <= len(possible), "size out of range", "size", rule.size, f"1 to {len(possible)}"))
    # Exponential times with each person's weight as rate: the smallest are a weighted draw without replacement.
    rings = -np.log1p(-uniform[possible]) / chance[possible]
    return np.sort(possible[np.argpartition(rings, rule.size - 1)[: rule.size]])


def _list(
    name: str, people: Mapping[str, Integers], person: Integers, rule: ListRule, rng: np.random.Generator
) -> PeopleList:
    """Return the `PeopleList` with records of the people in `person`, in random order.

    `person` has numbers of people, ascending; `people` has the values of all people by attribute. Values become wrong
    or missing by the rule.

    Raises
    ------
    InputError
        If the rule names an attribute that the list does not have, or all people have the value that must be replaced.
    """
    require_among("no such attribute", rule.errors, rule.attributes, where="errors")
    require_among("no such attribute", rule.missing, rule.attributes, where="missing")
    columns = {}
    for attribute in rule.attributes:
        values = columns[attribute] = people[attribute][person]
        share, lost = rule.errors.get(attribute, 0.0), rule.missing.get(attribute, 0.0)
        if share > 0:
            wrong = np.flatnonzero((rng.random(len(values)) < share) & (values != UNKNOWN))
            values[wrong] = _other_values(people[attribute], values[wrong], rng, attribute)
        if np.ndim(lost) or lost > 0:
            values[rng.random(len(values)) < (np.asarray(lost)[person] if np.ndim(lost) else lost)] = UNKNOWN
    order = rng.permutation(len(person))
    shuffled = {attribute: values[order] for attribute, values in columns.items()}
    return PeopleList(name, person[order], shuffled, len(rule.chance))


def _other_values(population: Integers, values: Integers, rng: np.random.Generator, attribute: str) -> Integers:
    """Return, for each value, the value of a random person with a different value.

    `population` has the values of all people, -1 if missing; each of `values` is one of these values, and not missing.
    `attribute` is for the message.

    Raises
    ------
    InputError
        If nobody has a different value.
    """
    found, counts = np.unique(population[population != UNKNOWN], return_counts=True)
    ends = np.cumsum(counts)
    own = np.searchsorted(found, values)
    others = ends[-1] - counts[own]
    problem = "all people have the same value, so no wrong value can be drawn"
    refuse_first((not others.all(), problem, "errors", attribute, None))
    place = (rng.random(len(values)) * others).astype(np.int64)
    # Skip the people with the value itself.
    place += np.where(place >= ends[own] - counts[own], counts[own], 0)
    return np.asarray(found[np.searchsorted(ends, place, side="right")], dtype=np.int64)


# Social media.


class Figure(Section):
    """A probability with its basis.

    It is published, assumed, or calibrated to a published result.

    Attributes
    ----------
    probability
        probability
    source
        publication of the figure
    assumed
        reason for an assumed figure
    calibrated
        published result to which the figure was calibrated
    """

    probability: Annotated[float, Field(ge=0, le=1)]
    source: Annotated[str, Field(min_length=1)] | None = None
    assumed: Annotated[str, Field(min_length=1)] | None = None
    calibrated: Annotated[str, Field(min_length=1)] | None = None

    _one_basis = exactly_one(
        *("source", "assumed", "calibrated"), problem="the origin of the figure is missing or given twice"
    )


class AgeFigure(Figure):
    """A probability for people in a range of ages.

    Attributes
    ----------
    ages
        range of ages, such as `"18..29"` or `"65.."`
    """

    ages: str

    @model_validator(mode="after")
    def _has_a_range(self) -> AgeFigure:
        no_range, expected = number_range(self.ages) is None, "a range such as '18..29' or '65..'"
        return self.unless((no_range, "not a range of ages", "ages", expected))

    @property
    def bounds(self) -> tuple[int, float]:
        """First and last age of the range, in years, both included.

        The last is infinity if the range is open.
        """
        return number_range(self.ages) or (0, np.inf)


class FiguresByAge(Section):
    """A probability for all ages together, by age group, or both.

    Each probability has exactly one of ``source``, ``assumed`` and ``calibrated``. If there are age groups, they apply
    to people of a known age, and an age outside them is an error.

    Attributes
    ----------
    overall
        figure for people of all ages together
    by_age
        figures for age groups, which do not overlap
    """

    overall: Figure | None = None
    by_age: tuple[AgeFigure, ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> FiguresByAge:
        pairs = pairwise(sorted(self.by_age, key=lambda figure: figure.bounds[0]))
        both = next((f"{one.ages} and {two.ages}" for one, two in pairs if two.bounds[0] <= one.bounds[1]), None)
        return self.unless(
            (self.overall is None and not self.by_age, "figure missing", "", "overall, by_age or both", None),
            (both, "age in two groups", "by_age", None, both),
        )

    def at(self, ages: Ages) -> Floats:
        """Return the probability at each age (in years), same shape as `ages`.

        Without age groups, it is the overall probability. Otherwise, it is NaN for ages outside all groups.
        """
        found = np.full(ages.shape, np.nan if self.by_age else cast("Figure", self.overall).probability)
        for figure in self.by_age:
            first, last = figure.bounds
            found[(ages >= first) & (ages <= last)] = figure.probability
        return found

    def probability(self, age: int | Ages | None) -> Floats:
        """Return the probability at each age (in years), in the shape of `age`.

        If `age` is None, it is the probability for people of all ages together, an array of shape ().

        Raises
        ------
        InputError
            If there is no figure for an age, or `age` is None and there is no overall figure.
        """
        if age is None:
            refuse_first((self.overall is None, "no figure for people of all ages", None, None, "overall"))
            return np.asarray(cast("Figure", self.overall).probability)
        found = self.at(ages := np.asarray(age))
        if np.isnan(found).any():
            groups = listed(figure.ages for figure in self.by_age)
            raise InputError("no figure for an age", found=int(ages[np.isnan(found)].flat[0]), expected=groups)
        return found


class SocialMediaRecipe(RecipeHead):
    """Recipe of the probability that posts reveal each attribute of a person.

    Attributes
    ----------
    kind
        kind of recipe
    platform
        name of the social-media platform
    use
        probability that a person uses the platform; default: `attributes` already contains it
    attributes
        probability that an attribute can be learned, by attribute: of a platform user or, without `use`, of any person
    """

    kind: Literal["social-media"]
    platform: str
    use: FiguresByAge | None = None
    attributes: dict[str, FiguresByAge] = Field(min_length=1)

    def presence(self, age: int | Ages | None = None) -> Floats:
        """Return the probability that a person uses the platform.

        It is 1 without the key ``use``, because the probabilities in ``attributes`` then already contain it.

        Parameters
        ----------
        age : int or ndarray of int, optional
            In years; people of all ages together, if not given.

        Returns
        -------
        ndarray of float64, of the shape of `age`; () if it is not given

        Raises
        ------
        InputError
            If there is no figure for an age, or for people of all ages together.
        """
        with locating(where="use"):
            return np.ones(np.shape(0 if age is None else age)) if self.use is None else self.use.probability(age)

    def learnable(self, attribute: str, age: int | Ages | None = None) -> Floats:
        """Return the probability that an attribute of a platform user can be learned.

        Without the key ``use``, it is the probability for any person. `age` and the shape of the result are as in
        `presence`. For two attributes of one user, the events are independent.

        Raises
        ------
        InputError
            If the recipe has no such attribute, or no figure for an age or for people of all ages together.
        """
        require_among("no such attribute", (attribute,), self.attributes)
        with locating(where=f"attributes.{attribute}"):
            return self.attributes[attribute].probability(age)


def load_social_media(recipe: str | Path) -> SocialMediaRecipe:
    """Return a parsed `SocialMediaRecipe`.

    `recipe` is the name of a bundled recipe, such as ``"twitter-attributes"``, or a TOML file.

    Raises
    ------
    InputError
        If the recipe cannot be used, for example because a probability has no ``source``, ``assumed`` or
        ``calibrated``.
    """
    path = resolve(recipe, "populations", "social-media recipe")
    return validated(SocialMediaRecipe, read_toml(path), path)
