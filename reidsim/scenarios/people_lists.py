"""From a scenario's resources to the lists drawn from its people: what each kind of list takes for granted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError, listed, require_among
from reidsim.populations.catalogue import Recipe, recipe_of
from reidsim.populations.people_lists import ListRule, PeopleList, Streams, draw_lists
from reidsim.populations.resource_recipe import Coverage, ResourceRecipe, chance_by_value
from reidsim.populations.resources import ANYONE
from reidsim.populations.sampling import UNKNOWN
from reidsim.populations.social_media import SocialMediaModel, load_social_media
from reidsim.random_streams import nested_stream, word_of
from reidsim.scenarios.people_values import AGE, Integers, People
from reidsim.scenarios.resource_schema import DrawnResourceSection, Together
from reidsim.scenarios.voter_lists import VoterLists
from reidsim.tables import read_table, require_columns

Floats = NDArray[np.float64]

_TWITTER = "twitter-use-by-age"
# Alleles that the database of Wan et al. 2021 lacks.
_ALLELES_MISSING = 0.3
# Other names by which a social-media recipe knows what people have.
_SAID_AS = {"age": "year of birth", "birth_year": "year of birth"}
# Decisions about lists.
_MEMBERSHIP, _CONTENTS = 0, 1


@dataclass(frozen=True, eq=False)
class ListsOfPeople:
    """The lists of a scenario, ready to be drawn.

    Parameters
    ----------
    people : People
    rules : mapping of str to ListRule
        Of lists that are drawn.
    read : mapping of str to PeopleList
        Lists that were read; the same in every draw.
    prices : mapping of str to float
        What each costs.
    buyers : mapping of str to tuple of str
        Who may have each.
    together : float or mapping
        See `reidsim.populations.people_lists.Ties`.
    """

    people: People
    rules: Mapping[str, ListRule]
    read: Mapping[str, PeopleList]
    prices: Mapping[str, float]
    buyers: Mapping[str, tuple[str, ...]]
    together: Together

    def draw(self, seed: int, replication: int = 0) -> dict[str, PeopleList]:
        """Draw the lists: each from streams of its own, so that one more changes none of the others."""

        def streams(decision: int) -> Streams:
            return lambda name: nested_stream(seed, "lists", (decision, word_of(name), replication))

        drawn = draw_lists(
            self.people.values, self.rules, self.together, streams(_MEMBERSHIP), streams(_CONTENTS)
        ) if self.rules else {}  # fmt: skip
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
    """Put together how the lists of a scenario are drawn.

    Parameters
    ----------
    sections : mapping of str to DrawnResourceSection
        Resources with a kind.
    people : People
    folder : Path
        Of the scenario.
    together : float or mapping
    attributes : callable
        Returns what a list carries, by its name; all that lists of its kind tell, if it is empty.
    alleles_missing : mapping of str to float, optional
        Share of the alleles that are missing, by list; that of its kind where not given.
    population : str
        The scenario's recipe of the people; a recipe of kind ``resource`` must be about them.

    Raises
    ------
    InputError
        Names the resource and key.
    """
    rules, read, prices, buyers = {}, {}, {}, {}
    for name, section in sections.items():
        try:
            maker = _Maker(name, section, people, folder, attributes(name), (alleles_missing or {}).get(name))
            maker.check_population(population)
            if section.kind == "file":
                read[name] = maker.read()
            else:
                rules[name] = maker.rule()
            prices[name], buyers[name] = maker.price(), maker.buyers()
        except InputError as error:
            raise error if error.source else error.located(where=f"resources.{name}") from None
    return ListsOfPeople(people, rules, read, prices, buyers, together)


class _Maker:
    """Makes the rule of one list; what its section does not say is as its recipe or kind has it."""

    def __init__(
        self, name: str, section: DrawnResourceSection, people: People, folder: Path, attributes: tuple[str, ...],
        alleles_missing: float | None,
    ) -> None:  # fmt: skip
        self.name, self.section, self.people, self.folder = name, section, people, folder
        self.file: ResourceRecipe | None = None
        self.model: SocialMediaModel | None = None
        self.alleles_missing, self.voters = alleles_missing, VoterLists(people, section.states)
        if section.kind == "social-media":
            recipe = section.recipe or _TWITTER
            self.model = load_social_media(resolve(recipe, "populations", "social-media recipe", base=folder))
        elif section.recipe is not None:
            read: Recipe = recipe_of(resolve(section.recipe, "populations", "recipe", base=folder))
            if not isinstance(read, ResourceRecipe):
                raise InputError("not a recipe of a resource", where="recipe", found=section.recipe)
            self.file = read
        self.attributes = attributes or (self.file.attributes if self.file else None) or self._told()
        require_among("no such attribute", self.attributes, people.values, where="attributes")

    def check_population(self, population: str) -> None:
        """Check that a recipe is about the scenario's people."""
        if self.file is not None and self.file.population.removesuffix(".toml") != population.removesuffix(".toml"):
            raise InputError(
                "recipe about other people", where="recipe", found=self.file.population, expected=population
            )

    def rule(self) -> ListRule:
        """Return how the list is drawn."""
        file, section = self.file, self.section
        size = section.__dict__.get("size") or (file.size if file else None)
        errors = section.errors
        missing: dict[str, float | Floats] = {**self._missing_of_kind(), **(file.missing if file else {})}
        return ListRule(
            self.attributes, self._chance(size), size, errors, {**missing, **section.missing}
        )  # fmt: skip

    def price(self) -> float:
        """Return what the list costs."""
        if self.section.price is not None:
            return self.section.price
        if self.section.kind == "voter-list":
            return self.voters.price()
        return self.file.price if self.file else 0.0

    def buyers(self) -> tuple[str, ...]:
        """Return who may have the list."""
        return self.section.buyers or (self.file.buyers if self.file else (ANYONE,))

    def read(self) -> PeopleList:
        """Read a list of kind ``file``."""
        given = self.section.__dict__
        path = data_file(str(given["file"]), self.folder, "scenarios")
        columns = {attribute: given["columns"].get(attribute, attribute) for attribute in self.attributes}
        person, encoding = self.section.person or "person", given.get("encoding")
        return list_in_file(
            self.name, path, self.people, person, columns, delimiter=given["delimiter"], encoding=encoding
        )

    def _chance(self, size: int | None) -> Floats:
        """Return the probability of each person to be in the list, or its weight."""
        file, section = self.file, self.section
        coverage = section.coverage if section.coverage is not None else (file.coverage if file else None)
        if coverage is not None:
            chance = self._by_coverage(coverage)
        elif section.kind == "voter-list":
            chance = self.voters.registered()
        elif self.model is not None:
            chance = self._users(self.model)
        elif size is not None:
            chance = np.ones(self.people.n_people)
        else:
            raise InputError("nothing says who is in it", where="coverage", expected="coverage, size or both")
        if section.kind == "genealogy" and self.people.loci:
            # Whoever has no allele has nothing to be found by.
            chance = chance * np.any([self.people.values[locus] != UNKNOWN for locus in self.people.loci], axis=0)
        if section.kind == "voter-list" and section.states and coverage is not None:
            chance = chance * (self.voters.state_of_person() >= 0)
        for attribute, values in {**(file.among if file else {}), **section.among}.items():
            codes, labels = self.people.coded(attribute, f"among.{attribute}")
            require_among(f"not a value of {attribute!r}", values, labels, where=f"among.{attribute}")
            chance = chance * np.isin(codes, [labels.index(value) for value in values])
        return chance

    def _by_coverage(self, coverage: Coverage) -> Floats:
        if isinstance(coverage, float):
            return np.full(self.people.n_people, coverage)
        chance = np.ones(self.people.n_people)
        for group in coverage if isinstance(coverage, tuple) else (coverage,):
            chance *= chance_by_value(group, *self.people.coded(group.by, "coverage.by"))
        return chance

    def _told(self) -> tuple[str, ...]:
        """Return the attributes of the people that lists of the kind tell."""
        if self.section.kind == "voter-list":
            return self.voters.told()
        if self.model is not None:
            return tuple(name for name in self.people.values if self._learned(name) is not None)
        return tuple(self.people.values)

    def _missing_of_kind(self) -> dict[str, float | Floats]:
        missing: dict[str, float | Floats] = {}
        share = self.alleles_missing
        if share is None:
            share = _ALLELES_MISSING if self.section.kind == "genealogy" else 0.0
        missing |= {name: share for name in self.attributes if name in self.people.loci and share}
        if self.section.kind == "voter-list":
            missing |= self.voters.not_told(self.attributes)
        if self.model is not None:
            for name in self.attributes:
                figures = self._learned(name)
                # A name is what a profile has.
                if figures is not None:
                    missing[name] = 1.0 - self._by_age(self.model, figures, uses=False)
        return missing

    def _users(self, model: SocialMediaModel) -> Floats:
        """Return the probability that each person uses a platform; 0 at ages without a figure."""
        if model.recipe.use is None:
            return np.ones(self.people.n_people)
        return self._by_age(model, "use", uses=True)

    def _learned(self, name: str) -> str | None:
        """Return what a social-media recipe calls an attribute; None if it cannot be learned from posts."""
        assert self.model is not None  # noqa: S101 # of a list of that kind
        return next((said for said in (name, _SAID_AS.get(name)) if said in self.model.attributes), None)

    def _by_age(self, model: SocialMediaModel, figures: str, *, uses: bool) -> Floats:
        part = model.recipe.use if uses else model.recipe.attributes[figures]
        assert part is not None  # noqa: S101 # asked for where there is one
        if not part.by_age:
            assert part.overall is not None  # noqa: S101 # one of both is given
            return np.full(self.people.n_people, part.overall.probability)
        if AGE not in self.people.values:
            where = "coverage" if uses else f"missing.{figures}"
            raise InputError("figures by age", where=where, expected="it given, or people with an attribute 'age'")
        ages = self.people.numbers(AGE, "recipe")
        found = np.zeros(self.people.n_people)
        for figure in part.by_age:
            first, last = figure.bounds
            found[(ages >= first) & (ages <= (np.inf if last is None else last))] = figure.probability
        return found


def list_in_file(
    name: str,
    path: Path,
    people: People,
    person: str,
    columns: Mapping[str, str],
    *,
    delimiter: str,
    encoding: str | None = None,
) -> PeopleList:
    """Read a list.

    Parameters
    ----------
    name : str
    path : Path
        CSV or Parquet file with a row per entry.
    people : People
    person : str
        Column that says whom each row is about: a row of the population, from 0, or nothing.
    columns : mapping of str to str
        Column of each attribute that the list carries.
    delimiter : str
    encoding : str, optional
        UTF-8 if not given.

    Raises
    ------
    InputError
        If the file cannot be used: names the row and column.
    """
    frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding)
    require_columns(frame, [person, *columns.values()], path)
    rows = people.rows if people.rows is not None else np.arange(people.n_people)
    about = _positions(frame[person].tolist(), rows, path, person)
    values = {
        attribute: _read_values(frame[column].tolist(), people.labels.get(attribute), path, column)
        for attribute, column in columns.items()
    }
    return PeopleList(name, about, values, people.n_people)


def _positions(cells: Sequence[str], rows: Integers, path: Path, column: str) -> Integers:
    """Return whom each row of a file is about, as a position among the people; -1 for nobody of them."""
    number = np.full(len(cells), -1, dtype=np.int64)
    for row, text in enumerate(cells):
        if not text.strip():
            continue
        if not text.strip().isdecimal():
            raise InputError(
                "not a row of the population", source=path, where=f"row {row + 1}, column {column!r}", found=text,
                expected="a whole number from 0, or nothing",
            )  # fmt: skip
        number[row] = int(text)
    given = np.flatnonzero(number >= 0)
    twice = given[np.unique(number[given], return_index=True)[1]]
    if len(twice) < len(given):
        row = int(np.setdiff1d(given, twice)[0])
        raise InputError(
            "a person has two rows", source=path, where=f"row {row + 1}, column {column!r}", found=int(number[row]),
            expected="one row for each person",
        )  # fmt: skip
    place = np.minimum(np.searchsorted(rows, number), len(rows) - 1)
    return np.where((number >= 0) & (rows[place] == number), place, -1)


def _read_values(cells: Sequence[str], labels: Sequence[str] | None, path: Path, column: str) -> Integers:
    """Return a column of a file as the people's values; ``UNKNOWN`` where a cell is empty."""
    place = None if labels is None else {label: position for position, label in enumerate(labels)}
    values = np.full(len(cells), UNKNOWN, dtype=np.int64)
    for row, text in enumerate(cells):
        if not text.strip():
            continue
        found = (int(text) if text.isdecimal() else None) if place is None else place.get(text)
        if found is None:
            raise InputError(
                "not a value of the people", source=path, where=f"row {row + 1}, column {column!r}", found=text,
                expected="a whole number" if labels is None else f"one of {listed(labels)}",
            )  # fmt: skip
        values[row] = found
    return values
