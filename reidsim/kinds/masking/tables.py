"""The tables of a masking scenario: targets and resources, drawn from people or read from files, in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.multistage.world import ListedTargets, MultistageWorld, PersonTable
from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError
from reidsim.kinds.masking.schema import (
    TARGETS,
    MaskingScenario,
    ResourceSection,
    TableSection,
    TargetsSection,
)
from reidsim.linkage.row_groups import RowGroups
from reidsim.populations.catalogue import as_individuals, make
from reidsim.populations.counted import natural_categories
from reidsim.populations.genealogy.genealogy import Genealogy
from reidsim.populations.genealogy.people import genealogy_individuals
from reidsim.populations.individuals import Individuals
from reidsim.populations.people_lists import PeopleList
from reidsim.populations.sampling import UNKNOWN
from reidsim.scenarios.attack_stages import InferSurnameSection
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.people import require_distinct_people
from reidsim.scenarios.people_lists import ListsOfPeople, People, lists_of_people
from reidsim.tables import read_table, require_columns
from reidsim.wording import whole_number

AGE, BIRTH_YEAR = "age", "birth_year"
# What an allele that is not known is written as.
NO_ALLELE = 0
# People whom rows with counts may stand for: each takes a row in memory.
_MOST_COUNTED = 50_000_000

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MaskingTables:
    """Where targets and resources come from.

    Parameters
    ----------
    loaded : LoadedScenario
    loci : tuple of str
        Attributes whose values are alleles, 0 for unknown.
    values : mapping of str to ndarray of int64, shape (n_people,)
        Attributes of the people that tables are drawn from; of none, if tables are files.
    labels : mapping of str to tuple of str
        Of attributes whose numbers are codes of categories.
    files : mapping of str to PersonTable
        Tables that were read.
    lists : ListsOfPeople, optional
        Resources that are lists drawn from the people.
    """

    loaded: LoadedScenario[MaskingScenario]
    loci: tuple[str, ...]
    values: Mapping[str, Integers]
    labels: Mapping[str, tuple[str, ...]]
    files: Mapping[str, PersonTable]
    lists: ListsOfPeople | None = None

    @cached_property
    def n_people(self) -> int:
        """People that tables are drawn from."""
        return len(next(iter(self.values.values()))) if self.values else 0

    @property
    def prices(self) -> dict[str, float]:
        """What resources cost whoever buys them."""
        given = {name: section.price or 0.0 for name, section in self.loaded.scenario.resources.items()}
        return given if self.lists is None else {**given, **self.lists.prices}

    @property
    def buyers(self) -> dict[str, tuple[str, ...]]:
        """Who may have the resources; anybody, those that are not told."""
        resources = self.loaded.scenario.resources
        given = {name: section.buyers for name, section in resources.items() if section.buyers is not None}
        return given if self.lists is None else {**given, **self.lists.buyers}

    def draw(
        self, rng: np.random.Generator, sizes: Mapping[str, int] | None = None, replication: int = 0
    ) -> dict[str | None, MultistageWorld]:
        """Draw targets and resources, or take those read from files, as each of several adversaries attacks them.

        The people are put in random order: targets come first, resources that hold them start with them, and
        resources of others are taken from the end (Wan et al. 2021). A target counts as registered if drawn for the
        registry on which the attack ends, or in files if someone there has all that the attack links on.

        Parameters
        ----------
        rng : numpy.random.Generator
        sizes : mapping of str to int, optional
            Of resources, instead of the scenario's. They hold the same people, as far as they go.
        replication : int
            Which draw of the lists of people, each of which has streams of its own.

        Returns
        -------
        dict of str to MultistageWorld
            By adversary, None if there is one: of the same tables; who is registered depends on where an attack ends.

        Raises
        ------
        InputError
            If there are too few people for tables that have nobody in common.
        """
        scenario = self.loaded.scenario
        if self.files:
            resources = {name: self.files[name] for name in scenario.resources}
            return self._as_attacked(self.files[TARGETS], resources, {}, self._found_in_registry)
        order = rng.permutation(self.n_people)
        believed = sizes or {}
        n_targets = self._size(scenario.targets.size, self.n_people, TARGETS)
        rows = {TARGETS: order[:n_targets]}
        taken, end = n_targets, self.n_people
        samples = {name: section for name, section in scenario.resources.items() if not section.is_list}
        for name, section in samples.items():
            if section.holds == "targets":
                size = self._size(believed.get(name, section.size), self.n_people, name, least=n_targets)
                rows[name] = order[:size]
                taken = max(taken, size)
        for name, section in samples.items():
            if section.holds == "others":
                size = self._size(believed.get(name, section.size), end - taken, name)
                rows[name] = order[end - size : end]
                end -= size
            elif section.holds == "anyone":
                size = self._size(believed.get(name, section.size), self.n_people, name)
                rows[name] = rng.permutation(self.n_people)[:size]
        targets = PersonTable(TARGETS, {attribute: values[rows[TARGETS]] for attribute, values in self.values.items()})
        resources = {name: self._resource(name, rows[name], rng) for name in samples}
        drawn = {} if self.lists is None else self.lists.draw(scenario.seed, replication)
        resources |= {name: self._listed(each) for name, each in drawn.items()}
        rows |= {name: each.person for name, each in drawn.items()}
        listed = {name: ListedTargets(each.record_of[rows[TARGETS]], each.coverage) for name, each in drawn.items()}
        resources = {name: resources[name] for name in scenario.resources}
        return self._as_attacked(
            targets, resources, listed, lambda attacked: np.isin(rows[TARGETS], rows[attacked.register])
        )

    def _as_attacked(
        self,
        targets: PersonTable,
        resources: Mapping[str, PersonTable],
        listed: Mapping[str, ListedTargets],
        registered: Callable[[MaskingScenario], NDArray[np.bool_] | None],
    ) -> dict[str | None, MultistageWorld]:
        """Return the world of each adversary, given who is registered: one object where attacks end alike."""
        by_end: dict[tuple[str, tuple[str, ...]], MultistageWorld] = {}
        found = {}
        for name, scenario in self.loaded.scenario.each.items():
            end = scenario.register, scenario.linked_on
            if end not in by_end:
                by_end[end] = MultistageWorld(targets, resources, registered(scenario), listed)
            found[name] = by_end[end]
        return found

    def label(self, attribute: str, values: Integers) -> list[str]:
        """Return values of an attribute as text."""
        labels = self.labels.get(attribute)
        return [str(value) if labels is None else labels[value] for value in values.tolist()]

    def _found_in_registry(self, scenario: MaskingScenario) -> NDArray[np.bool_] | None:
        """Tell for each target of a file whether the registry has someone with all that the attack links on.

        Raises
        ------
        InputError
            If the registry is said to hold all targets and does not; names the row.
        """
        name, on = scenario.register, scenario.linked_on
        targets, registry = self.files[TARGETS], self.files[name]
        if not (set(on) <= set(targets.columns) and set(on) <= set(registry.columns)):
            # The attack itself says what is wrong with that.
            return None
        groups = RowGroups([registry.column(attribute) for attribute in on], registry.n_rows)
        found = np.asarray(groups.find([targets.column(attribute) for attribute in on], targets.n_rows) >= 0)
        if scenario.resources[name].holds == "targets" and not found.all():
            row = int((~found).argmax())
            raise InputError(
                f"target is not in resource {name!r}, which is said to hold all targets",
                source=targets.name,
                where=f"row {row + 1}",
                found={each: self.label(each, targets.column(each)[row : row + 1])[0] for each in on},
                expected=f"someone like that in {registry.name}",
            )
        return found

    def _size(self, size: int | None, most: int, name: str, *, least: int = 1) -> int:
        if size is None or not least <= size <= most:
            where = "targets.size" if name == TARGETS else f"resources.{name}.size"
            raise InputError("size that cannot be drawn", where=where, found=size, expected=f"{least} to {most}")
        return size

    def _listed(self, drawn: PeopleList) -> PersonTable:
        """Return a list as a table: 0 for alleles that are not known, as everywhere, and what else is missing apart."""
        columns = {name: np.where(values == UNKNOWN, 0, values) for name, values in drawn.columns.items()}
        missing = {name: values == UNKNOWN for name, values in drawn.columns.items() if name not in self.loci}
        return PersonTable(drawn.name, columns, missing=missing)

    def _resource(self, name: str, rows: NDArray[np.intp], rng: np.random.Generator) -> PersonTable:
        section = self.loaded.scenario.resources[name]
        columns = {attribute: self.values[attribute][rows] for attribute in section.attributes}
        loci = [attribute for attribute in section.attributes if attribute in self.loci]
        if section.missing_alleles and loci:
            alleles = np.stack([columns[locus] for locus in loci], axis=1)
            lost = rng.choice(alleles.size, int(alleles.size * section.missing_alleles), replace=False, shuffle=False)
            alleles.ravel()[lost] = NO_ALLELE
            columns |= {locus: alleles[:, position] for position, locus in enumerate(loci)}
        return PersonTable(name, columns)


def masking_tables(loaded: LoadedScenario[MaskingScenario]) -> MaskingTables:
    """Make or read what a scenario's tables are drawn from.

    Raises
    ------
    InputError
        If a recipe or file cannot be used, or lacks an attribute that the scenario names.
    """
    scenario = loaded.scenario
    wanted = {TARGETS: scenario.subjects.attributes} | {n: s.attributes for n, s in scenario.resources.items()}
    if scenario.targets.file is not None:
        return _read_tables(loaded, wanted)
    values, labels, loci, rows = _people(loaded)
    for table, attributes in wanted.items():
        for attribute in attributes:
            if attribute not in values:
                where = "subjects.attributes" if table == TARGETS else f"resources.{table}.attributes"
                raise InputError(
                    "no such attribute", where=where, found=attribute, expected=f"one of {', '.join(values)}"
                )
    return MaskingTables(loaded, loci, values, labels, {}, _lists(loaded, values, labels, loci, rows))


def _lists(
    loaded: LoadedScenario[MaskingScenario], values: Mapping[str, Integers], labels: Mapping[str, tuple[str, ...]],
    loci: tuple[str, ...], rows: Integers,
) -> ListsOfPeople | None:  # fmt: skip
    """Return how the lists of a scenario are drawn; None if it has none."""
    sections = {name: section for name, section in loaded.scenario.resources.items() if section.is_list}
    population = loaded.scenario.population
    if not sections or population is None:
        return None
    known = {
        name: np.where(each == NO_ALLELE, UNKNOWN, each) if name in loci else each for name, each in values.items()
    }
    given = {name: section.missing_alleles for name, section in sections.items()}
    return lists_of_people(
        sections, People(known, labels, loci, rows), loaded.folder, population.together,
        attributes=lambda name: sections[name].attributes, population=population.recipe,
        alleles_missing={name: share for name, share in given.items() if share is not None},
    )  # fmt: skip


def _people(
    loaded: LoadedScenario[MaskingScenario],
) -> tuple[dict[str, Integers], dict[str, tuple[str, ...]], tuple[str, ...], Integers]:
    """Return the people's values, labels of codes, loci, and the row of the population that each is."""
    section = loaded.scenario.population
    if section is None:
        raise InputError("section missing", where="population")
    made = make(resolve(section.recipe, "populations", "population", base=loaded.folder), seed=section.seed)
    loci: tuple[str, ...] = ()
    if isinstance(made, Genealogy):
        loci = made.loci
        living = None if section.generations is None else made.living(section.generations, women=section.women)
        people = genealogy_individuals(made, living)
        rows = np.arange(people.n_people) if living is None else living
    elif section.generations is not None:
        raise InputError("not a genealogy", where="population.generations", found=section.recipe)
    else:
        people = as_individuals(made)
        rows = np.arange(people.n_people)
    values, labels = _whole_numbers(people)
    if section.reference_year is not None:
        if BIRTH_YEAR not in values:
            raise InputError(f"no attribute {BIRTH_YEAR!r}", where="population.reference_year", found=section.recipe)
        # The last generation spreads over decades, so that a few of its people are born after the year.
        born = values[BIRTH_YEAR] <= section.reference_year
        if not born.any():
            where, expected = "population.reference_year", f"{values[BIRTH_YEAR].min()} or later"
            raise InputError("nobody is born yet", where=where, found=section.reference_year, expected=expected)
        values = {attribute: column[born] for attribute, column in values.items()}
        values[AGE] = section.reference_year - values[BIRTH_YEAR]
        rows = rows[born]
    return values, labels, loci, rows


def _whole_numbers(people: Individuals) -> tuple[dict[str, Integers], dict[str, tuple[str, ...]]]:
    """Return attributes as numbers: their own where all categories are whole numbers, else codes; 0 if missing."""
    values, labels = {}, {}
    for position, attribute in enumerate(people.domain.attributes):
        codes = people.codes[:, position]
        read = [whole_number(category) for category in attribute.categories if category.isdecimal()]
        if len(read) == attribute.size and None not in read:
            numbers = np.array(read, dtype=np.int64)
            values[attribute.name] = np.where(codes == UNKNOWN, NO_ALLELE, numbers[codes])
        elif (codes == UNKNOWN).any():
            raise InputError("value missing", where=f"{people.name}, {attribute.name!r}")
        else:
            values[attribute.name] = codes.astype(np.int64)
            labels[attribute.name] = attribute.categories
    return values, labels


def _read_tables(loaded: LoadedScenario[MaskingScenario], wanted: Mapping[str, tuple[str, ...]]) -> MaskingTables:
    scenario, each = loaded.scenario, list(loaded.scenario.each.values())
    sections: dict[str, TableSection] = {TARGETS: scenario.targets, **scenario.resources}
    # Whatever an attack infers of the targets must be known to tell whether it is right.
    inferred = [stage.infers for one in each for stage in one.adversary.stages if stage.stage != "identify"]
    wanted = {**wanted, TARGETS: tuple(dict.fromkeys((*wanted[TARGETS], *inferred)))}
    loci = tuple(dict.fromkeys(name for one in each for name in named_loci(one)))
    linked = {name for one in each for name in (*linked_in_stages(one), *one.linked_on)}
    # One adversary may infer from what another links on, who cannot do so where it is missing.
    needed = {name for one in each for name in {*linked_in_stages(one), *one.linked_on} - {*named_loci(one)}}
    by_knowledge = any(one.adversary.knowledge is not None for one in each)
    frames, paths, counts = {}, {}, {}
    for table, section in sections.items():
        path = paths[table] = data_file(str(section.file), loaded.folder, "scenarios")
        frame = read_table(path, delimiter=section.delimiter, comment="#")
        columns = {attribute: section.columns.get(attribute, attribute) for attribute in wanted[table]}
        require_columns(frame, columns.values(), path)
        frames[table] = pd.DataFrame({attribute: frame[column] for attribute, column in columns.items()})
        if isinstance(section, ResourceSection) and section.count is not None:
            require_columns(frame, [section.count], path)
            counts[table] = _people_counted(frame[section.count], path)
        if isinstance(section, TargetsSection) and section.person is not None:
            require_distinct_people(frame, section.person, path)
    labels: dict[str, tuple[str, ...]] = {}
    for attribute in dict.fromkeys(name for names in wanted.values() for name in names):
        columns_of = {paths[table]: frame[attribute] for table, frame in frames.items() if attribute in frame}
        if attribute not in loci and _is_text(columns_of):
            labels[attribute] = natural_categories(pd.concat(list(columns_of.values())))
        elif by_knowledge and attribute not in (*linked, *loci):
            # No stage names the loci, and what nobody is looked up by may be unknown.
            loci = (*loci, attribute)
    files = {}
    for table, frame in frames.items():
        path = paths[table]
        values = {a: _numbers(frame[a], labels.get(a), a in loci and a not in needed, path) for a in wanted[table]}
        if table in counts:
            values = {attribute: np.asarray(column).repeat(counts[table]) for attribute, column in values.items()}
        files[table] = PersonTable(str(path), values)
    return MaskingTables(loaded, loci, {}, labels, files)


def linked_in_stages(scenario: MaskingScenario) -> set[str]:
    """Return the attributes that a stage of the attack links on."""
    stages = scenario.adversary.stages
    return {name for stage in stages if not isinstance(stage, InferSurnameSection) for name in stage.on}


def named_loci(scenario: MaskingScenario) -> tuple[str, ...]:
    """Return the attributes that files hold as alleles: those named as loci, and all of a genealogy not linked on."""
    linked = linked_in_stages(scenario)
    loci: list[str] = []
    for stage in scenario.adversary.stages:
        if isinstance(stage, InferSurnameSection):
            carried = scenario.resources[stage.resource].attributes
            loci += stage.loci or ()
            loci += [name for name in carried if name not in linked and name != stage.infers]
    return tuple(dict.fromkeys(loci))


def _is_text(columns: Mapping[Path, pd.Series[str]]) -> bool:
    """Tell whether an attribute's values are labels rather than numbers; where most are numbers, all have to be."""
    number = {path: column.str.fullmatch(r"[+-]?[\d.]+") | (column == "") for path, column in columns.items()}
    share = float(pd.concat(list(number.values())).mean())
    if share == 1 or share < 0.5:
        return share < 1
    path = next(path for path, is_number in number.items() if not is_number.all())
    row = int((~number[path]).to_numpy().argmax())
    place = f"row {row + 1}, column {columns[path].name!r}"
    found = columns[path].iloc[row]
    raise InputError("not a number, as most values are", source=path, where=place, found=found, expected="a number")


def _people_counted(column: pd.Series[str], path: Path) -> Integers:
    counts = _numbers(column, None, False, path)
    if counts.sum() > _MOST_COUNTED:
        where, expected = f"column {column.name!r}", f"at most {_MOST_COUNTED:,}"
        raise InputError("too many people", source=path, where=where, found=int(counts.sum()), expected=expected)
    return counts


def _numbers(column: pd.Series[str], labels: tuple[str, ...] | None, alleles: bool, path: Path) -> Integers:
    """Return a column of text as whole numbers: as they are, as positions among `labels`, or 0 for unknown alleles."""
    where = f"column {column.name!r}"
    blank = column == ""
    if alleles:
        column = column.mask(blank, str(NO_ALLELE))
    elif blank.any():
        raise InputError("value missing", source=path, where=f"row {int(blank.argmax()) + 1}, {where}")
    if labels is not None:
        return np.asarray(pd.Index(labels).get_indexer(pd.Index(column)), dtype=np.int64)
    wrong = ~column.str.fullmatch(r"\d{1,18}")
    if wrong.any():
        row = int(wrong.argmax())
        expected = "a whole number of repeats, or nothing where it is not known" if alleles else "0 or more"
        place = f"row {row + 1}, {where}"
        raise InputError("not a whole number", source=path, where=place, found=column.iloc[row], expected=expected)
    return column.to_numpy().astype(np.int64)
