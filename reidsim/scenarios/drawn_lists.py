"""Lists of a scenario's people, used as external resources.

A list is defined by its section, its recipe, and the defaults of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError, listed, refuse_rows, require_among
from reidsim.populations.catalogue import recipe_of
from reidsim.populations.drawn_lists import ListRule, PeopleList, draw_lists
from reidsim.populations.resources import ANYONE, Coverage, ResourceRecipe
from reidsim.populations.sampling import UNKNOWN
from reidsim.populations.social_media import FiguresByAge, SocialMediaModel, load_social_media
from reidsim.random_streams import nested_stream, word_of
from reidsim.scenarios.people_values import AGE, Integers, People
from reidsim.scenarios.resource_schema import DrawnResourceSection, Together
from reidsim.scenarios.voter_lists import VoterLists
from reidsim.tables import read_table, require_columns

Floats = NDArray[np.float64]

_TWITTER = "twitter-use-by-age"
# Share of alleles missing from the database of Wan et al. 2021.
_ALLELES_MISSING = 0.3
# Attribute of the people = name of the attribute in social-media recipes, if it differs.
_SAID_AS = {"age": "year of birth", "birth_year": "year of birth"}
# Separate random streams for the membership and the values of a list.
_MEMBERSHIP, _CONTENTS = 0, 1


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
        Correlation of list memberships; see `reidsim.populations.drawn_lists.membership_numbers`.
    """

    people: People
    rules: Mapping[str, ListRule]
    read: Mapping[str, PeopleList]
    prices: Mapping[str, float]
    buyers: Mapping[str, tuple[str, ...]]
    together: Together

    def draw(self, seed: int, replication: int = 0) -> dict[str, PeopleList]:
        """Return one draw of all lists, by name; lists from files are the same in each.

        Each list has its own random streams, so that adding a list changes no other list.
        """

        def stream(decision: int, name: str) -> np.random.Generator:
            return nested_stream(seed, "lists", (decision, word_of(name), replication))

        membership, contents = partial(stream, _MEMBERSHIP), partial(stream, _CONTENTS)
        values = self.people.values
        drawn = draw_lists(values, self.rules, self.together, membership, contents) if self.rules else {}
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
    """Return the lists of a scenario.

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
    rules, read, prices, buyers = {}, {}, {}, {}
    for name, section in sections.items():
        try:
            source = _Source(section, people, folder, attributes(name), (alleles_missing or {}).get(name), population)
            if section.kind == "file":
                read[name] = source.read(name)
            else:
                rules[name] = source.rule()
            prices[name], buyers[name] = source.price(), source.buyers()
        except InputError as error:
            raise error if error.source else error.located(where=f"resources.{name}") from None
    return ListsOfPeople(people, rules, read, prices, buyers, together)


class _Source:
    """Definition of a list by its section, recipe and kind.

    Keys missing in the section come from the recipe, then from the defaults of the kind.
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
        self.recipe: ResourceRecipe | None = None
        self.model: SocialMediaModel | None = None
        self.voters = VoterLists(people, section.states)
        self.alleles_missing = alleles_missing
        if alleles_missing is None:
            self.alleles_missing = _ALLELES_MISSING if section.kind == "genealogy" else 0.0
        if section.kind == "social-media":
            recipe = section.recipe or _TWITTER
            self.model = load_social_media(resolve(recipe, "populations", "social-media recipe", base=folder))
        elif section.recipe is not None:
            found = recipe_of(resolve(section.recipe, "populations", "recipe", base=folder))
            if not isinstance(found, ResourceRecipe):
                raise InputError("the recipe does not describe a resource", where="recipe", found=section.recipe)
            if found.population.removesuffix(".toml") != population.removesuffix(".toml"):
                raise InputError(
                    "the recipe belongs to another population",
                    where="recipe",
                    found=found.population,
                    expected=population,
                )
            self.recipe = found
        of_recipe = self.recipe.attributes if self.recipe is not None else None
        self.attributes = attributes or of_recipe or self._attributes_of_kind()
        require_among("no such attribute", self.attributes, people.values, where="attributes")

    def rule(self) -> ListRule:
        """Return the rule by which the list is drawn."""
        size = getattr(self.section, "size", None) or (self.recipe.size if self.recipe else None)
        of_recipe = self.recipe.missing if self.recipe else {}
        missing = {**self._missing_of_kind(), **of_recipe, **self.section.missing}
        return ListRule(self.attributes, self._chance(size), size, self.section.errors, missing)

    def price(self) -> float:
        """Return the price of the list."""
        if self.section.price is not None:
            return self.section.price
        if self.section.kind == "voter-list":
            return self.voters.price()
        return self.recipe.price if self.recipe else 0.0

    def buyers(self) -> tuple[str, ...]:
        """Return the adversaries who may have the list."""
        return self.section.buyers or (self.recipe.buyers if self.recipe else (ANYONE,))

    def read(self, name: str) -> PeopleList:
        """Return the list `name` of kind ``file``, read from its file.

        Raises
        ------
        InputError
            If the file cannot be read, lacks a column, or has a person twice or an invalid value.
        """
        given = self.section.__dict__
        path = data_file(str(given["file"]), self.folder, "scenarios")
        columns = {attribute: given["columns"].get(attribute, attribute) for attribute in self.attributes}
        person = self.section.person or "person"
        frame = read_table(path, delimiter=given["delimiter"], comment="#", encoding=given.get("encoding"))
        require_columns(frame, [person, *columns.values()], path)
        about = _people_of_rows(frame[person], self.people, path)
        values = {
            attribute: _values_of_rows(frame[column], self.people.labels.get(attribute), path)
            for attribute, column in columns.items()
        }
        return PeopleList(name, about, values, self.people.n_people)

    def _chance(self, size: int | None) -> Floats:
        """Return each person's probability of being in the list, shape (n_people,).

        If `size`, the number of people in the list, is given, the numbers are relative weights of the draw.
        """
        section, people = self.section, self.people
        coverage = section.coverage
        if coverage is None and self.recipe is not None:
            coverage = self.recipe.coverage
        if coverage is not None:
            chance = self._by_coverage(coverage)
        elif section.kind == "voter-list":
            chance = self.voters.registered()
        elif self.model is not None and self.model.recipe.use is not None:
            chance = self._at_ages(self.model.recipe.use, "coverage")
        elif self.model is not None or size is not None:
            chance = np.ones(people.n_people)
        else:
            raise InputError(
                "coverage and size of the list are missing", where="coverage", expected="coverage, size or both"
            )
        if section.kind == "genealogy" and people.loci:
            # A genealogy identifies people by their alleles.
            chance = chance * np.any([people.values[locus] != UNKNOWN for locus in people.loci], axis=0)
        if section.kind == "voter-list" and section.states and coverage is not None:
            chance = chance * (self.voters.state_of_person >= 0)
        for attribute, values in {**(self.recipe.among if self.recipe else {}), **section.among}.items():
            codes, labels = people.coded(attribute, f"among.{attribute}")
            require_among(f"not a value of {attribute!r}", values, labels, where=f"among.{attribute}")
            chance = chance * np.isin(codes, [labels.index(value) for value in values])
        return chance

    def _by_coverage(self, coverage: Coverage) -> Floats:
        if isinstance(coverage, float):
            return np.full(self.people.n_people, coverage)
        chance = np.ones(self.people.n_people)
        for group in coverage if isinstance(coverage, tuple) else (coverage,):
            chance *= group.chances(*self.people.coded(group.by, "coverage.by"))
        return chance

    def _attributes_of_kind(self) -> tuple[str, ...]:
        """Return the people's attributes that lists of this kind contain."""
        if self.section.kind == "voter-list":
            return self.voters.attributes()
        return tuple(name for name in self.people.values if self.model is None or self._figures(name) is not None)

    def _missing_of_kind(self) -> dict[str, float | Floats]:
        missing: dict[str, float | Floats] = {}
        if self.alleles_missing:
            missing |= {name: self.alleles_missing for name in self.attributes if name in self.people.loci}
        if self.section.kind == "voter-list":
            missing |= self.voters.missing(self.attributes)
        for name in self.attributes if self.model is not None else ():
            # Attributes without figures, such as names, are in every profile.
            figures = self._figures(name)
            if figures is not None:
                missing[name] = 1.0 - self._at_ages(figures, f"missing.{_SAID_AS.get(name, name)}")
        return missing

    def _figures(self, name: str) -> FiguresByAge | None:
        """Return an attribute's figures in the social-media recipe, or None."""
        figures = self.model.recipe.attributes if self.model is not None else {}
        return figures.get(name) or figures.get(_SAID_AS.get(name, ""))

    def _at_ages(self, figures: FiguresByAge, where: str) -> Floats:
        """Return each person's probability by age, shape (n_people,).

        The probability is 0 at ages without a figure.
        """
        if figures.overall is not None and not figures.by_age:
            return np.full(self.people.n_people, figures.overall.probability)
        if AGE not in self.people.values:
            raise InputError(
                "figures by age need an age for each person",
                where=where,
                expected="this key, or people with an attribute 'age'",
            )
        return np.nan_to_num(figures.at(self.people.numbers(AGE, "recipe")))


def _people_of_rows(cells: pd.Series[str], people: People, path: Path) -> Integers:
    """Return the person of each row of a file, shape (n_rows,).

    A person is identified by the position among the people. The position is -1 if the row has no person, or a person
    who is not among the people.
    """
    text = cells.str.strip()
    is_given = text.ne("")
    wrong = is_given & ~text.str.fullmatch(r"\d{1,18}")
    expected = "a whole number of at least 0, or an empty cell"
    refuse_rows(
        wrong, "not a row number of the population", source=path, column=cells.name, found=cells, expected=expected
    )
    number = text.where(is_given, "-1").astype(np.int64)
    repeated = is_given & number.duplicated()
    refuse_rows(
        repeated, "person given twice", source=path, column=cells.name, found=number, expected="one row per person"
    )
    rows = people.rows if people.rows is not None else np.arange(people.n_people)
    place = np.minimum(np.searchsorted(rows, number), len(rows) - 1)
    return np.where(is_given & (rows[place] == number), place, -1)


def _values_of_rows(cells: pd.Series[str], labels: Sequence[str] | None, path: Path) -> Integers:
    """Return a column of a file as numbers or codes, shape (n_rows,).

    With `labels`, the code of a cell is the position of its label. Empty cells are ``UNKNOWN``.
    """
    is_given = cells.str.strip().ne("")
    if labels is None:
        readable = cells.str.fullmatch(r"\d{1,18}")
        values = cells.where(readable, str(UNKNOWN)).astype(np.int64).to_numpy()
    else:
        values = pd.Index(labels).get_indexer(pd.Index(cells)).astype(np.int64)
        readable = pd.Series(values >= 0)
    expected = "a whole number" if labels is None else f"one of {listed(labels)}"
    refuse_rows(
        is_given & ~readable,
        "the population has no such value",
        source=path,
        column=cells.name,
        found=cells,
        expected=expected,
    )
    return np.where(is_given, values, UNKNOWN)
