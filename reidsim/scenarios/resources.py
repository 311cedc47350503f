"""External resources of adversaries: attack recipes, and lists of people.

An attack recipe has the stages and resources of a multistage attack, which links generalized records to people. A list
is defined by its section, its recipe, and the defaults of its kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.core.errors import InputError, listed, locating, refuse_first, refuse_rows, require_among
from reidsim.core.files import bundled_folder, data_file, resolve
from reidsim.core.numerics import random_stream, word_of
from reidsim.core.tables import numbers, read_table, require_columns
from reidsim.core.validation import Section
from reidsim.core.wording import whole_number
from reidsim.populations.catalogue import recipe_of
from reidsim.populations.census import VOTING_AGE, VoterProfile, voter_profile
from reidsim.populations.population import UNKNOWN
from reidsim.populations.resources import (
    ANYONE,
    Coverage,
    FiguresByAge,
    ListRule,
    PeopleList,
    ResourceRecipe,
    draw_lists,
    listing_chances,
    load_social_media,
)
from reidsim.scenarios.adversary_schema import BeliefsSection
from reidsim.scenarios.schema import Delimiter, Money, Share, Text, with_key

if TYPE_CHECKING:
    from reidsim.adversaries.multistage.attack import Stage

_BUNDLED_RATES = bundled_folder("populations") / "figures" / "ystr-loci.csv.gz"


class InferSurnameSection(Section):
    """A stage that infers a surname from loci, using a genealogy.

    Attributes
    ----------
    stage
        stage that infers a surname from loci
    resource
        resource with the genealogy
    infers
        attribute of the genealogy that the stage infers
    loci
        loci that are compared; default: all loci of the genealogy
    method
        choice of the nearest candidate: smallest expected number of generations to the closest common ancestor, or
        smallest difference in repeats
    mutation_rates
        file with the columns `locus` and `mutation_rate`; default: the bundled rates
    effective_population
        effective population size N in the distribution of the time to the closest common ancestor
    candidate_share
        smallest number of agreeing loci of a candidate, as a share of the largest number in the genealogy
    price
        price of using the inference on a record
    """

    stage: Literal["infer-surname"]
    resource: str
    infers: str = "surname"
    loci: tuple[str, ...] | None = Field(default=None, min_length=1)
    method: Literal["tmrca", "nearest-neighbour"] = "tmrca"
    mutation_rates: str | None = None
    effective_population: Annotated[float, Field(gt=0), with_key("method", "tmrca")] = 10_000.0
    candidate_share: Annotated[Share, with_key("method", "tmrca")] = 0.8
    price: Money = 0.0


class InferByLinkageSection(Section):
    """A stage that infers an attribute by linkage to a table.

    The inferred value is the most frequent one among the matching rows.

    Attributes
    ----------
    stage
        stage that infers the most frequent value among the matching rows
    resource
        resource to which the stage links
    infers
        attribute that the stage infers
    on
        attributes that must match if their values are known, released or inferred
    price
        price of using the inference on a record
    """

    stage: Literal["infer-by-linkage"]
    resource: str
    infers: str
    on: tuple[str, ...] = Field(min_length=1)
    price: Money = 0.0


class IdentifySection(Section):
    """The last stage: the adversary names one of the people who match.

    Attributes
    ----------
    stage
        stage that names one of the matching people
    resource
        resource in which people are looked up (the registry)
    on
        attributes that must match if their values are known; default: none, so that all people match
    """

    stage: Literal["identify"]
    resource: str
    on: tuple[str, ...] = ()


StageSection = Annotated[InferSurnameSection | InferByLinkageSection | IdentifySection, Field(discriminator="stage")]


def stage_of(section: StageSection, folder: Path, loci: tuple[str, ...] = ()) -> Stage:
    """Return the stage that a section describes.

    Parameters
    ----------
    section : InferSurnameSection, InferByLinkageSection or IdentifySection
    folder : Path
        Folder of the recipe; relative paths start there.
    loci : tuple of str
        Loci from which a surname is inferred; if empty, the loci of the section. Ignored for other stages.
    """
    # Imported here because reading a scenario does not need these modules.
    from reidsim.adversaries.multistage.attack import Identify, InferByLinkage, InferSurname
    from reidsim.linkage.surname_inference import Ancestry

    if isinstance(section, IdentifySection):
        return Identify(section.on, section.resource)
    if isinstance(section, InferByLinkageSection):
        return InferByLinkage(section.infers, section.resource, section.on, section.price)
    loci = loci or section.loci or ()
    ancestry = Ancestry(mutation_rates(section.mutation_rates, folder, loci), section.effective_population)
    return InferSurname(
        loci, ancestry, section.resource, section.infers, section.method, section.candidate_share, section.price
    )


def mutation_rates(file: str | None, folder: Path, loci: tuple[str, ...]) -> tuple[float, ...]:
    """Return the mutation rate of each locus per generation, in the order of `loci`.

    The rates are read from `file`, relative to `folder`, or from the bundled table.

    Raises
    ------
    InputError
        If the file cannot be used, or lacks a locus.
    """
    path = _BUNDLED_RATES if file is None else data_file(file, folder, "scenarios")
    frame = read_table(path, comment="#")
    require_columns(frame, ["locus", "mutation_rate"], path)
    rates = dict(zip(frame["locus"], numbers(frame, "mutation_rate", path), strict=True))
    require_among("mutation rate missing for a locus", loci, rates, source=path)
    return tuple(rates[locus] for locus in loci)


class AttackResourceSection(Section):
    """A table of people that the adversary can search.

    Attributes
    ----------
    population
        bundled population, or path of a recipe
    file
        CSV or Parquet file of people, with a header; replaces `population`
    delimiter
        column separator of a CSV file
    encoding
        character encoding of a CSV file, such as `latin-1`
    columns
        column of the file, by attribute; default: the attribute's name
    count
        column with the number of people in each row; default: one person per row
    """

    population: Text | None = None
    file: Text | None = None
    delimiter: Delimiter = ","
    encoding: str = "utf-8"
    columns: dict[str, str] = Field(default={})
    count: Text | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        no_file, problem = self.file is None, "the people of the resource are missing or given twice"
        return self.unless(
            ((self.population is None) == no_file, problem, "", "either population or file", None),
            (no_file and self.count is not None, "the key needs a file", "count", "this key only with a file", None),
            (no_file and self.columns, "the key needs a file", "columns", "this key only with a file", None),
        )


class AttackRecipe(Section):
    """An attack in stages on generalized records.

    Attributes
    ----------
    title
        title of the recipe
    source
        origin of the figures
    confidence_threshold
        theta: smallest confidence with which an inference is used
    stages
        stages in order; the last one is `identify`
    resources
        resources of the adversary
    columns
        column of the records with the true value of each inferred attribute; default: the attribute's name
    """

    title: str = ""
    source: str = ""
    confidence_threshold: Share = 0.5
    stages: tuple[StageSection, ...] = Field(min_length=2)
    resources: dict[str, AttackResourceSection] = Field(min_length=1)
    columns: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def _consistent(self) -> AttackRecipe:
        for number, stage in enumerate(self.stages):
            require_among("no such resource", (stage.resource,), self.resources, where=f"stages[{number}].resource")
            is_missing = isinstance(stage, InferSurnameSection) and stage.loci is None
            refuse_first((is_missing, "key missing", f"stages[{number}].loci", None, "a list of loci"))
        require_among("no stage infers the attribute", self.columns, self.inferred, where="columns")
        return self

    @property
    def inferred(self) -> tuple[str, ...]:
        """Attributes that stages infer, in the order of the stages."""
        return tuple(stage.infers for stage in self.stages if stage.stage != "identify")

    def needed_of(self, resource: str) -> tuple[str, ...]:
        """Return the attributes that a resource must have, because stages use them.

        They are the attributes on which a stage links to the resource, and the attributes that it infers from it.
        """
        uses = [
            (*(getattr(stage, "loci", ()) or getattr(stage, "on", ())), getattr(stage, "infers", ""))
            for stage in self.stages
            if stage.resource == resource
        ]
        return tuple(dict.fromkeys(name for names in uses for name in names if name))

    @property
    def loci(self) -> frozenset[str]:
        """Attributes whose values are alleles: the loci of stages that infer a surname."""
        stages = (stage for stage in self.stages if stage.stage == "infer-surname")
        return frozenset(name for stage in stages for name in stage.loci or ())


def require_recipe(path: Path, where: str) -> Path:
    """Return the path of an attack recipe, which the key or argument `where` names.

    Raises
    ------
    InputError
        If there is no such file.
    """
    if not os.path.isfile(path):
        problem = "is a folder" if os.path.isdir(path) else "no such file"
        raise InputError(problem, source=path, where=where, expected="an attack recipe (TOML)")
    return path


ListKind = Literal["voter-list", "genealogy", "social-media", "broker-file", "file"]
# One correlation for all pairs of lists, or one for each listed pair.
Together = Annotated[
    Share | dict[str, dict[str, Annotated[float, Field(gt=-1, lt=1)]]],
    Field(
        description="correlation between memberships in lists (Gaussian copula): one number for all pairs, or "
        "a number for each pair, as in `{ broker = { club = 0.5 } }`"
    ),
]

# Kinds of list that have each key; None stands for a resource without a kind.
_DRAWN = ("voter-list", "genealogy", "social-media", "broker-file")
_KINDS_WITH = {
    "recipe": ("social-media", "broker-file", "genealogy"),
    "states": ("voter-list",),
    "person": ("file",),
    "coverage": (None, *_DRAWN),
    "among": _DRAWN,
    "missing": _DRAWN,
    "errors": (*_DRAWN, "file"),
}


class DrawnResourceSection(Section):
    """An external resource of adversaries.

    With a `kind`, it is a list of the scenario's people.

    Attributes
    ----------
    kind
        kind of list of the scenario's people, which determines its defaults; `"file"` reads the list from a file, all
        other kinds are drawn
    recipe
        recipe of kind `resource` or `social-media` with the defaults of a list
    states
        states that a voter list covers; default: all
    coverage
        probability that the resource contains a person: one number, or tables by attribute, which are multiplied;
        weights of the draw if `size` is set
    among
        values that a person must have to be in the list, by attribute
    missing
        probability that a value in a list is missing, by attribute
    errors
        probability that a value in a list is wrong, by attribute; without it, the values of a list from a file must be
        the true values
    person
        column of the file with the person's row in the population (`population.path`, or the recipe's rows as
        `reidsim populate` writes them), counted from 0; empty for other people
    price
        price that an adversary pays once for the resource
    buyers
        adversaries who may hold or buy the resource; default: all
    """

    kind: ListKind | None = None
    recipe: Text | None = None
    states: tuple[str, ...] = ()
    coverage: Coverage | None = None
    among: dict[str, tuple[str, ...]] = Field(default={})
    missing: dict[str, Share] = Field(default={})
    errors: dict[str, Share] = Field(default={})
    person: Text | None = None
    price: Money | None = None
    buyers: tuple[str, ...] | None = Field(default=None, min_length=1)

    @property
    def is_list(self) -> bool:
        """Whether the resource is a list of the scenario's people."""
        return self.kind is not None

    @model_validator(mode="after")
    def _of_a_kind(self) -> Self:
        needed, wrong = 'this key only with `kind`, such as "broker-file"', f"not supported with kind {self.kind!r}"
        for key, kinds in _KINDS_WITH.items():
            refused = key in self.model_fields_set and self.kind not in kinds
            self.unless(
                (refused and not self.kind, "the key needs a list drawn from the people", key, needed, None),
                (refused, wrong, key, f"kind {listed(filter(None, kinds))}"),
            )
        return self


class ListBeliefsSection(BeliefsSection):
    """Beliefs in planning; a parameter without a belief has its true value.

    Attributes
    ----------
    lists
        knowledge of the decision-maker about lists: the members of each list, or only its coverage
    """

    lists: Literal["members", "coverage"] = "members"

    def check_lists(self, drawn: Collection[str]) -> None:
        """Check that the scenario has lists if beliefs are about their coverage.

        Raises
        ------
        InputError
            If it has none; `drawn` are the names of its lists.
        """
        problem, expected = "no list is drawn from the people", "a resource with `kind`"
        refuse_first((self.lists == "coverage" and not drawn, problem, "beliefs.lists", self.lists, expected))


def check_buyer(name: str, where: str, resources: Collection[str], buyers: Mapping[str, Collection[str]]) -> None:
    """Check that an adversary may have each of its resources.

    Parameters
    ----------
    name : str
        Name of the adversary.
    where : str
        Key path that names the resources, for error messages.
    resources : collection of str
        Names of the adversary's resources.
    buyers : mapping of str to collection of str
        Adversaries who may have each resource; anyone may have a resource without an entry.

    Raises
    ------
    InputError
        For the first resource that the adversary may not have.
    """
    for resource in resources:
        may = buyers.get(resource, (ANYONE,))
        expected = f"{name!r} in resources.{resource}.buyers, which lists {listed(may)}"
        is_wrong = ANYONE not in may and name not in may
        refuse_first((is_wrong, "the adversary may not have the resource", where, resource, expected))


def drawn_lists_of(resources: Mapping[str, DrawnResourceSection]) -> tuple[str, ...]:
    """Return the names of the resources that are lists of the scenario's people."""
    return tuple(name for name, section in resources.items() if section.is_list)


def check_together(together: object, lists: Collection[str]) -> None:
    """Check that the correlations of list memberships name only lists of the scenario.

    `together` is one number, which is always accepted, or a mapping by pairs of names; `lists` are the names of lists.

    Raises
    ------
    InputError
        If another name occurs; the message names the key.
    """
    if not isinstance(together, Mapping):
        return
    for name, others in together.items():
        where, otherwise = f"population.together.{name}", "resources with `kind`"
        require_among("no such list", (name, *others), lists, where=where, otherwise=otherwise)


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

AGE, STATE = "age", "state"
_TWITTER = "twitter-use-by-age"
# Share of alleles missing from the database of Wan et al. 2021.
_ALLELES_MISSING = 0.3
# Attribute of the people = name of the attribute in social-media recipes, if it differs.
_SAID_AS = {"age": "year of birth", "birth_year": "year of birth"}
# Separate random streams for the membership and the values of a list.
_MEMBERSHIP, _CONTENTS = 0, 1
# Field of a state's profile that determines whether its voter list has an attribute; None for attributes of every list.
_FACT_OF = {
    **dict.fromkeys(("age", "birth_year", "year of birth"), "birth"),
    **{name: name for name in ("sex", "race", "ethnicity", "party")},
    **dict.fromkeys(("zip", "zip3", "county"), "address"),
    **dict.fromkeys(("state", "surname"), None),
}
_NO_RECIPE = ResourceRecipe.model_construct(kind="resource", population="", seed=0)


@dataclass(frozen=True, eq=False)
class People:
    """Attribute values of a scenario's people.

    Parameters
    ----------
    values : mapping of str to ndarray of int64, shape (n_people,)
        Whole numbers of 0 or more; ``UNKNOWN`` (-1) where a value is missing.
    labels : mapping of str to sequence of str
        Values as text, for attributes whose numbers are codes. The numbers of other attributes are the values.
    loci : tuple of str
        Attributes whose values are alleles.
    rows : ndarray of int64, shape (n_people,), optional
        Row of each person in the file or recipe of the population; by default 0, 1, 2, ...
    n_rows : int, optional
        Number of rows of this file or recipe, some of which may be left out; by default the number of people.
    """

    values: Mapping[str, Integers]
    labels: Mapping[str, Sequence[str]]
    loci: tuple[str, ...] = ()
    rows: Integers | None = None
    n_rows: int | None = None

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(next(iter(self.values.values())))

    def coded(self, attribute: str, where: str) -> tuple[Integers, list[str]]:
        """Return the code of each person's value, and the values as text.

        The codes, shape (n_people,), are positions in the list of texts; -1 if the value is missing. `where` is the key
        in messages.

        Raises
        ------
        InputError
            If there is no such attribute.
        """
        require_among("no such attribute", (attribute,), self.values, where=where)
        values = self.values[attribute]
        if attribute in self.labels:
            return values, list(self.labels[attribute])
        known = np.unique(values[values != UNKNOWN])
        return np.where(values == UNKNOWN, UNKNOWN, np.searchsorted(known, values)), list(map(str, known.tolist()))

    def numbers(self, attribute: str, where: str) -> Integers:
        """Return each person's value of an attribute as a whole number, shape (n_people,).

        A trailing plus sign is ignored: ``90+`` counts as 90. `where` is the key in messages.

        Raises
        ------
        InputError
            If there is no such attribute, or a value is missing or not a whole number.
        """
        codes, labels = self.coded(attribute, where)
        numbers = [whole_number(label) for label in labels]
        is_wrong = (codes == UNKNOWN).any() or None in numbers
        refuse_first((is_wrong, "the attribute is not a whole number for each person", where, attribute, None))
        return np.array(numbers, dtype=np.int64)[codes]


@dataclass(frozen=True, eq=False)
class ListsOfPeople:
    """The lists of a scenario, ready to be drawn.

    Parameters
    ----------
    people : People
    rules : mapping of str to ListRule
        Rules of the lists that are drawn.
    read : mapping of str to PeopleList
        Lists from files; the same in every draw.
    prices : mapping of str to float
        Price of each list in currency units.
    buyers : mapping of str to tuple of str
        Adversaries who may have each list.
    together : float or mapping
        Correlation of list memberships; see `reidsim.populations.resources.membership_numbers`.
    """

    people: People
    rules: dict[str, ListRule]
    read: dict[str, PeopleList]
    prices: dict[str, float]
    buyers: dict[str, tuple[str, ...]]
    together: Together

    def draw(self, seed: int, replication: int = 0) -> dict[str, PeopleList]:
        """Return one draw of all lists, by name; lists from files are the same in each.

        `seed` is the root seed, `replication` the number of the draw. Each list has its own random streams, so that
        adding a list changes no other list.
        """

        def stream(decision: int, name: str) -> np.random.Generator:
            return random_stream(seed, "lists", decision, word_of(name), replication)

        streams = partial(stream, _MEMBERSHIP), partial(stream, _CONTENTS)
        drawn = draw_lists(self.people.values, self.rules, self.together, *streams) if self.rules else {}
        return {**drawn, **self.read}


def lists_of_people(
    sections: Mapping[str, DrawnResourceSection],
    people: People,
    folder: Path,
    together: Together = 0.0,
    *,
    attributes: Callable[[str], tuple[str, ...]],
    alleles_missing: Mapping[str, float] | None = None,
    population: str = "",
) -> ListsOfPeople:
    """Return the lists of a scenario, ready to be drawn.

    Parameters
    ----------
    sections : mapping of str to DrawnResourceSection
        Sections of the resources with a kind, by name.
    people : People
    folder : Path
        Folder of the scenario.
    together : float or mapping
        Correlation of list memberships, one for all pairs or by pairs of names.
    attributes : callable
        Returns the attributes of a list, given its name. If empty, the list has the attributes of its recipe or kind.
    alleles_missing : mapping of str to float, optional
        Share of missing alleles, by list; by default 0.3 for kind ``genealogy`` and 0 for other kinds.
    population : str
        Population recipe of the scenario; a recipe of kind ``resource`` must refer to the same population.

    Raises
    ------
    InputError
        If a list or its recipe cannot be used; the message names the resource and the key.
    """
    lists, missing = ListsOfPeople(people, {}, {}, {}, {}, together), alleles_missing or {}
    for name, section in sections.items():
        try:
            source = _Source(section, people, folder, attributes(name), missing.get(name), population)
            if section.kind == "file":
                lists.read[name] = source.read(name)
            else:
                lists.rules[name] = source.rule()
            lists.prices[name], lists.buyers[name] = source.price(), section.buyers or source.recipe.buyers
        except InputError as error:
            raise error if error.source else error.located(where=f"resources.{name}") from None
    return lists


class _Source:
    """Definition of a list by its section, recipe and kind.

    Keys missing in the section come from the recipe, then from the defaults of the kind.

    Parameters
    ----------
    section : DrawnResourceSection
    people : People
        The people of the scenario, some of whom are in the list.
    folder : Path
        Folder of the scenario; relative paths start there.
    attributes : tuple of str
        Attributes of the list; if empty, those of its recipe or kind.
    alleles_missing : float, optional
        Share of missing alleles; default: 0.3 for kind ``genealogy`` and 0 for other kinds.
    population : str
        Population recipe of the scenario.

    Raises
    ------
    InputError
        If the recipe cannot be used or belongs to another population, or the people lack an attribute.
    """

    def __init__(
        self,
        section: DrawnResourceSection,
        people: People,
        folder: Path,
        attributes: tuple[str, ...],
        alleles_missing: float | None,
        population: str,
    ) -> None:
        self.section, self.people, self.folder = section, people, folder
        self.recipe, self.use, self.figures = _NO_RECIPE, None, dict[str, FiguresByAge]()
        by_kind = _ALLELES_MISSING if section.kind == "genealogy" else 0.0
        self.alleles_missing = by_kind if alleles_missing is None else alleles_missing
        if section.kind == "social-media":
            recipe = section.recipe or _TWITTER
            model = load_social_media(resolve(recipe, "populations", "social-media recipe", base=folder))
            self.use, self.figures = model.use, dict(model.attributes)
        elif section.recipe is not None:
            found = recipe_of(resolve(section.recipe, "populations", "recipe", base=folder))
            if not isinstance(found, ResourceRecipe):
                raise InputError("the recipe does not describe a resource", where="recipe", found=section.recipe)
            is_other = found.population.removesuffix(".toml") != population.removesuffix(".toml")
            refuse_first((is_other, "the recipe belongs to another population", "recipe", found.population, population))
            self.recipe = found
        self.attributes = attributes or self.recipe.attributes or self._attributes_of_kind()
        require_among("no such attribute", self.attributes, people.values, where="attributes")

    def rule(self) -> ListRule:
        """Return the rule by which the list is drawn; see `ListRule`.

        Raises
        ------
        InputError
            If neither coverage nor size is known, or the people lack an attribute that is needed.
        """
        size = getattr(self.section, "size", None) or self.recipe.size
        missing = {**self._missing_of_kind(), **self.recipe.missing, **self.section.missing}
        return ListRule(self.attributes, self._chance(size), size, self.section.errors, missing)

    def price(self) -> float:
        """Return the price of the list in currency units.

        Without a price in the section, it is that of the recipe (0 without a recipe); for a voter list, the sum of the
        prices in all states that the list covers.
        """
        if self.section.price is not None or self.section.kind != "voter-list":
            return self.recipe.price if self.section.price is None else self.section.price
        return fsum(profile.price for profile in self.profiles.values())

    def read(self, name: str) -> PeopleList:
        """Return the list of kind ``file``, read from its file; it is named `name`.

        Raises
        ------
        InputError
            If the file cannot be read, lacks a column, or has a person twice or an invalid value; or if a person's
            value differs from the population, and the section has no errors in the attribute.
        """
        section: Any = self.section
        path, person = data_file(section.file, self.folder, "scenarios"), section.person or "person"
        columns = {attribute: section.columns.get(attribute, attribute) for attribute in self.attributes}
        frame = read_table(path, delimiter=section.delimiter, comment="#", encoding=getattr(section, "encoding", None))
        require_columns(frame, [person, *columns.values()], path)
        listed, values = _people_of_rows(frame[person], self.people, path), dict[str, Integers]()
        for attribute, column in columns.items():
            is_known = (listed >= 0) & (not section.errors.get(attribute))
            own = np.where(is_known, self.people.values[attribute][listed], UNKNOWN)
            values[attribute] = _values_of_rows(frame[column], self.people.labels.get(attribute), own, path)
        return PeopleList(name, listed, values, self.people.n_people)

    def _chance(self, size: int | None) -> Floats:
        """Return each person's probability of being in the list, shape (n_people,).

        If `size`, the number of people in the list, is given, the numbers are relative weights of the draw. Without a
        coverage, voter lists use shares of registered people, social media the figures of their recipe.

        Raises
        ------
        InputError
            If there is neither a coverage, a size, nor such a figure.
        """
        section, people = self.section, self.people
        coverage = self.recipe.coverage if section.coverage is None else section.coverage
        chance = listing_chances(coverage, {**self.recipe.among, **section.among}, people.n_people, people.coded)
        if coverage is None and section.kind == "voter-list":
            # The share of adults of the person's state who are registered; 0 for minors and people of other states.
            adult = self._ages("registration needs", "coverage", "coverage") >= VOTING_AGE
            shares = np.array([profile.registered_share for profile in self.profiles.values()])
            chance *= np.where(adult & (self.state_of_person >= 0), shares[self.state_of_person], 0.0)
        elif coverage is None and self.use is not None:
            chance *= self._at_ages(self.use, "coverage")
        elif coverage is None and size is None and section.kind != "social-media":
            problem, expected = "coverage and size of the list are missing", "coverage, size or both"
            raise InputError(problem, where="coverage", expected=expected)
        if section.kind == "genealogy" and people.loci:
            # A genealogy identifies people by their alleles.
            chance *= np.any([people.values[locus] != UNKNOWN for locus in people.loci], axis=0)
        if section.kind == "voter-list" and section.states and coverage is not None:
            chance *= self.state_of_person >= 0
        return chance

    def _attributes_of_kind(self) -> tuple[str, ...]:
        """Return the people's attributes that lists of this kind contain.

        Voter lists contain an attribute if the list of at least one state does.
        """
        names = self.people.values
        if self.section.kind == "voter-list":
            profiles = self.profiles.values()
            return tuple(name for name in names if name in _FACT_OF and any(_has(each, name) for each in profiles))
        return tuple(name for name in names if self.section.kind != "social-media" or self._figures(name))

    def _missing_of_kind(self) -> dict[str, float | Floats]:
        """Return the probability that a value is missing, by attribute.

        The probability is one number or an array, shape (n_people,); attributes that are never missing have no entry. A
        person's entry in a voter list has the attributes that the list of the person's state has. An `InputError` is
        raised if voter lists do not contain an attribute.
        """
        missing: dict[str, float | Floats] = {}
        expected = f'one of {listed(_FACT_OF, 20)}, or a list of kind "broker-file"'
        for name in self.attributes:
            if self.alleles_missing and name in self.people.loci:
                missing[name] = self.alleles_missing
            if self.section.kind == "voter-list":
                unknown = name not in _FACT_OF
                refuse_first((unknown, "voter lists do not contain the attribute", "attributes", name, expected))
                lacks = np.array([not _has(profile, name) for profile in self.profiles.values()], dtype=float)
                if lacks.any():
                    missing[name] = np.where(self.state_of_person >= 0, lacks[self.state_of_person], 0.0)
            # Attributes without figures, such as names, are in every profile.
            if (figures := self._figures(name)) is not None:
                missing[name] = 1.0 - self._at_ages(figures, f"missing.{_SAID_AS.get(name, name)}")
        return missing

    def _figures(self, name: str) -> FiguresByAge | None:
        """Return an attribute's figures in the social-media recipe, or None.

        The recipe may name the attribute as `_SAID_AS` does.
        """
        return self.figures.get(name) or self.figures.get(_SAID_AS.get(name, ""))

    def _at_ages(self, figures: FiguresByAge, where: str) -> Floats:
        """Return each person's probability by age, shape (n_people,).

        The probability is 0 at ages without a figure. `where` is the key in the message if people have no age.
        """
        if figures.overall is not None and not figures.by_age:
            return np.full(self.people.n_people, figures.overall.probability)
        return np.nan_to_num(figures.at(self._ages("figures by age need", where, "recipe")))

    def _ages(self, needed: str, where: str, of_value: str) -> Integers:
        """Return each person's age in years, shape (n_people,).

        `needed` begins the message if people have no ages, and `where` is its key; `of_value` is the key of the error
        about an age that is missing or not a whole number.
        """
        expected = "this key, or people with an attribute 'age'"
        refuse_first((AGE not in self.people.values, f"{needed} an age for each person", where, None, expected))
        return self.people.numbers(AGE, of_value)

    @cached_property
    def profiles(self) -> dict[str, VoterProfile]:
        """Profile of the voter list of each state, by the state's label.

        Labels are those of the people's data. Without states in the section, these are all states in which the people
        live. If people have no attribute ``state``, the section must name one state, whose label is empty. An
        `InputError` is raised if a state is not known, or nobody lives there.
        """
        states, people = self.section.states, self.people
        with locating(where="states"):
            if STATE not in people.values:
                problem = "the people have no attribute 'state'"
                refuse_first((len(states) != 1, problem, None, list(states) or None, "the state of all people"))
                return {"": voter_profile(states[0])}
            profiles = {label: voter_profile(label) for label in people.coded(STATE, "states")[1]}
            wanted = [voter_profile(state).state for state in states]
            require_among("no person lives in the state", wanted, [profile.state for profile in profiles.values()])
        return {label: each for label, each in profiles.items() if not wanted or each.state in wanted}

    @cached_property
    def state_of_person(self) -> NDArray[np.intp]:
        """Position of each person's state in `profiles`, shape (n_people,).

        It is -1 for people in other states. It is 0 for all if people have no attribute ``state``. An `InputError` is
        raised if the state of a person is missing.
        """
        if STATE not in self.people.values:
            return np.zeros(self.people.n_people, dtype=np.intp)
        codes, labels = self.people.coded(STATE, "states")
        refuse_first(((codes == UNKNOWN).any(), "the state of a person is missing", "states", None, None))
        return pd.Index(list(self.profiles)).get_indexer(pd.Index(labels))[codes]


def _has(profile: VoterProfile, name: str) -> bool:
    """Return whether the voter list of a state has an attribute, a key of `_FACT_OF`."""
    return getattr(profile, _FACT_OF[name] or "state") not in (None, False)


def _people_of_rows(cells: pd.Series[str], people: People, path: Path) -> Integers:
    """Return the person of each row of a file, shape (n_rows,).

    A person is identified by the position among the people. The position is -1 if the row has no person, or a person
    who is not among the people. `cells` are row numbers of the population as text, or empty; `path` is for messages.

    Raises
    ------
    InputError
        If a cell is not the number of a row of the population, or two rows have the same person.
    """
    refuse = partial(refuse_rows, source=path, column=cells.name)
    text, last = cells.str.strip(), (people.n_rows or people.n_people) - 1
    is_given = text.ne("")
    number = text.where(text.str.fullmatch(r"\d{1,18}"), "-1").astype(np.int64)
    wrong, expected = is_given & ~number.between(0, last), f"a whole number from 0 to {last:,}, or an empty cell"
    refuse(wrong, "not a row number of the population", found=cells, expected=expected)
    refuse(is_given & number.duplicated(), "person given twice", found=number, expected="one row per person")
    rows = people.rows if people.rows is not None else np.arange(people.n_people)
    return np.where(is_given, pd.Index(rows).get_indexer(pd.Index(number)), -1)


def _values_of_rows(cells: pd.Series[str], labels: Sequence[str] | None, own: Integers, path: Path) -> Integers:
    """Return a column of a file as numbers or codes, shape (n_rows,).

    With `labels`, the code of a cell is the position of its label. Empty cells are ``UNKNOWN`` (-1). `own` is the true
    value of the person of each row, ``UNKNOWN`` if the cell may differ from it. `path` is for messages.

    Raises
    ------
    InputError
        If a cell is not one of `labels` or, without labels, not a whole number of 0 or more; or if it is not the
        person's value.
    """
    refuse = partial(refuse_rows, source=path, column=cells.name, found=cells)
    is_given = cells.str.strip().ne("")
    if labels is None:
        expected, is_number = "a whole number", cells.str.fullmatch(r"\d{1,18}")
        values = cells.where(is_number, str(UNKNOWN)).astype(np.int64).to_numpy()
    else:
        expected, values = f"one of {listed(labels)}", pd.Index(labels).get_indexer(pd.Index(cells)).astype(np.int64)
    refuse(is_given & (values < 0), "the population has no such value", expected=expected)

    def true_value(row: int) -> str:
        return f"{own[row] if labels is None else labels[own[row]]}, or a share of errors in this attribute of the list"

    differs = is_given & (own != UNKNOWN) & (values != own)
    refuse(differs, "the person has another value in the population", expected=true_value)
    return np.where(is_given, values, UNKNOWN)
