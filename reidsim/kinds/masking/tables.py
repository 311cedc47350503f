"""Read, simulate and draw the targets and resources of a masking scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.multistage.attack import ListedTargets, MultistageWorld, PersonTable
from reidsim.core.errors import InputError, refuse_first, refuse_rows, require_among
from reidsim.core.files import data_file, resolve
from reidsim.core.tables import read_table, require_columns
from reidsim.core.wording import whole_number
from reidsim.kinds.masking.schema import TARGETS, MaskingScenario, ResourceSection, TableSection, TargetsSection
from reidsim.linkage.people import RowGroups
from reidsim.populations.catalogue import as_individuals, make
from reidsim.populations.genealogy.genealogy import Genealogy, genealogy_individuals
from reidsim.populations.population import UNKNOWN, Attribute, Domain, shared_categories
from reidsim.scenarios.kind import keys_of_records
from reidsim.scenarios.resources import AGE, InferSurnameSection, Integers, ListsOfPeople, People, lists_of_people
from reidsim.scenarios.scenario import Scenario

# Code of an unknown allele.
NO_ALLELE = 0
BIRTH_YEAR = "birth_year"
# Maximum number of people that rows with counts may represent: each person takes a row in memory.
_MOST_COUNTED = 50_000_000


@dataclass(frozen=True, eq=False)
class MaskingTables:
    """Sources of the targets (data subjects) and resources of a masking scenario.

    Parameters
    ----------
    loaded : Scenario
    people : People
        Labels and loci, and the population with `NO_ALLELE` (0) for unknown alleles; without values if tables are
        files.
    files : mapping of str to PersonTable
        Tables from files, by name of the resource, or ``targets``; empty if tables are drawn.
    lists : ListsOfPeople, optional
        Resources that are lists drawn from the population; None if there are none.
    """

    loaded: Scenario[MaskingScenario]
    people: People
    files: Mapping[str, PersonTable]
    lists: ListsOfPeople | None = None

    @property
    def n_people(self) -> int:
        """Number of people in the population of drawn tables; 0 if the tables are files."""
        return self.people.n_people if self.people.values else 0

    @property
    def prices(self) -> dict[str, float]:
        """Price of each resource for its buyers, in currency units; 0 without a price."""
        given = {name: section.price or 0.0 for name, section in self.loaded.scenario.resources.items()}
        return given if self.lists is None else {**given, **self.lists.prices}

    @property
    def buyers(self) -> dict[str, tuple[str, ...]]:
        """Names of adversaries that may hold a resource, by resource.

        Any adversary may hold a resource that the dict does not contain.
        """
        resources = self.loaded.scenario.resources
        given = {name: section.buyers for name, section in resources.items() if section.buyers is not None}
        return given if self.lists is None else {**given, **self.lists.buyers}

    def label(self, attribute: str, values: Integers) -> list[str]:
        """Return values of an attribute as text, one per value.

        `values`, shape (n,), has codes of the labels, if the attribute has labels, otherwise numbers.
        """
        labels = self.people.labels.get(attribute)
        return [str(value) if labels is None else labels[value] for value in values.tolist()]

    def domain(self, names: tuple[str, ...]) -> Domain:
        """Return the `Domain` of attributes for an adversary with background knowledge.

        `names` are the attributes on which it links. The categories cover the whole population, or all files, so they
        are equal in every draw.

        Raises
        ------
        InputError
            If alleles of a locus among the attributes are unknown for a person.
        """
        attributes = []
        for name in names:
            labels = self.people.labels.get(name)
            if labels is None:
                holders = [table.columns[name] for table in self.files.values() if name in table.columns]
                values = np.unique(np.concatenate(holders) if holders else self.people.values[name])
                if name in self.people.loci and values[0] == NO_ALLELE:
                    raise InputError(
                        "linkage on a locus needs known alleles",
                        where="adversary.resource",
                        found=name,
                        expected="a resource without the locus",
                    )
                labels = tuple(map(str, values.tolist()))
            attributes.append(Attribute(name, tuple(labels)))
        return Domain(tuple(attributes))

    def draw(
        self, rng: np.random.Generator, sizes: Mapping[str, int] | None = None, replication: int = 0
    ) -> dict[str | None, MultistageWorld]:
        """Draw targets and resources, or take the files, for each adversary.

        A target is a data subject. The people are put in random order: the targets come first, resources that contain
        the targets start with them, and resources of other people are taken from the end (Wan et al. 2021). A drawn
        target is registered if it is also in the registry, the resource of the last stage. With files, a target is
        registered if a row of the registry has all its linked values.

        Parameters
        ----------
        rng : numpy.random.Generator
        sizes : mapping of str to int, optional
            Sizes of resources in place of the scenario's sizes. As far as the sizes allow, a resource has the same
            people with the same missing alleles.
        replication : int
            Number of the draw of the lists of people; each number has its own random streams.

        Returns
        -------
        dict of str to MultistageWorld
            World by adversary; the key is None for a single adversary. All worlds have the same tables. They differ in
            the registered targets, which depend on the last stage of the attack.

        Raises
        ------
        InputError
            If there are too few people for disjoint tables, a resource that must contain the targets is smaller than
            their number, or a registry from a file lacks such a target.
        """
        scenario, people = self.loaded.scenario, self.people.values
        if self.files:
            resources = {name: self.files[name] for name in scenario.resources}
            return self._as_attacked(self.files[TARGETS], resources, {}, self._found_in_registry)
        order = rng.permutation(self.n_people)
        samples = {name: section for name, section in scenario.resources.items() if not section.is_list}
        anyone = {name: rng.permutation(self.n_people) for name, of in samples.items() if of.holds == "anyone"}
        rows = true_rows = self._rows(order, anyone, {})
        # Draw for the scenario's own sizes first, so that beliefs do not change the alleles of a person.
        lost = {name: self._lost(name, len(true_rows[name]), rng) for name in samples}
        if sizes:
            rows = self._rows(order, anyone, sizes)
        drawn, resources = {} if self.lists is None else self.lists.draw(scenario.seed, replication), {}
        for name, each in drawn.items():
            # Unknown alleles are 0; other missing values are also 0, and marked in the table's masks.
            columns = {a: np.where(values == UNKNOWN, 0, values) for a, values in each.columns.items()}
            unknown = {a: values == UNKNOWN for a, values in each.columns.items() if a not in self.people.loci}
            resources[name] = PersonTable(each.name, columns, missing=unknown)
        for name, section in samples.items():
            missing = lost[name]
            if sizes:
                # People in both resources keep their missing alleles.
                place = pd.Index(true_rows[name]).get_indexer(pd.Index(rows[name]))
                missing = missing[place]
                missing[place < 0] = self._lost(name, int((place < 0).sum()), rng)
            columns = {attribute: people[attribute][rows[name]] for attribute in section.attributes}
            for locus, unknown in zip(self._loci_of(name), missing.T, strict=True):
                columns[locus][unknown] = NO_ALLELE
            resources[name] = PersonTable(name, columns)
        subjects, members = rows[TARGETS], {**rows, **{name: each.person for name, each in drawn.items()}}
        targets = PersonTable(TARGETS, {attribute: values[subjects] for attribute, values in people.items()})
        listed = {name: ListedTargets(each.record_of[subjects], each.coverage) for name, each in drawn.items()}
        resources = {name: resources[name] for name in scenario.resources}
        return self._as_attacked(
            targets, resources, listed, lambda attacked: np.isin(subjects, members[attacked.register])
        )

    def _rows(
        self, order: NDArray[np.intp], anyone: Mapping[str, NDArray[np.intp]], sizes: Mapping[str, int]
    ) -> dict[str, NDArray[np.intp]]:
        """Return the people in the table of targets and in each sampled resource.

        The result has an array of people by name of the table, shape (size,). People are numbered as in the population.
        Resources with ``holds`` "targets" start with the targets, "others" are taken from the end of the order,
        "anyone" have an order of their own.

        Parameters
        ----------
        order : ndarray of int, shape (n_people,)
            All people in random order.
        anyone : mapping of str to ndarray of int, shape (n_people,)
            All people in another random order, for each resource that holds anyone.
        sizes : mapping of str to int
            Sizes of tables that replace the scenario's.

        Raises
        ------
        InputError
            If a size is missing, too large for disjoint tables, or smaller than the number of targets in a resource
            that must contain them.
        """
        scenario, n = self.loaded.scenario, self.n_people

        def sized(name: str, most: int, least: int = 1) -> int:
            table = scenario.targets if name == TARGETS else scenario.resources[name]
            size = sizes.get(name, table.size)
            if size is None or not least <= size <= most:
                where = "targets.size" if name == TARGETS else f"resources.{name}.size"
                raise InputError("size out of range", where=where, found=size, expected=f"{least} to {most}")
            return size

        taken, end = sized(TARGETS, n), n
        rows = {TARGETS: order[:taken]}
        samples = {name: section.holds for name, section in scenario.resources.items() if not section.is_list}
        for name in (name for name, holds in samples.items() if holds == "targets"):
            rows[name] = order[: sized(name, n, len(rows[TARGETS]))]
            taken = max(taken, len(rows[name]))
        for name, holds in samples.items():
            if holds == "others":
                start = end - sized(name, end - taken)
                rows[name], end = order[start:end], start
            elif holds == "anyone":
                rows[name] = anyone[name][: sized(name, n)]
        return rows

    def _as_attacked(
        self,
        targets: PersonTable,
        resources: Mapping[str, PersonTable],
        listed: Mapping[str, ListedTargets],
        registered: Callable[[MaskingScenario], NDArray[np.bool_] | None],
    ) -> dict[str | None, MultistageWorld]:
        """Return the `MultistageWorld` of each adversary, by name; None for a single one.

        Adversaries with the same registry (resource of the last stage) and linked attributes share one object.

        Parameters
        ----------
        targets : PersonTable
        resources : mapping of str to PersonTable
        listed : mapping of str to ListedTargets
            Rows of the targets in each drawn list.
        registered : callable
            Returns whether each target is in the registry, shape (n_targets,), or None if unknown, given the scenario
            against one adversary.
        """
        each = self.loaded.scenario.each
        ends = {(scenario.register, scenario.linked_on): scenario for scenario in each.values()}
        worlds = {end: MultistageWorld(targets, resources, registered(one), listed) for end, one in ends.items()}
        return {name: worlds[scenario.register, scenario.linked_on] for name, scenario in each.items()}

    def _found_in_registry(self, scenario: MaskingScenario) -> NDArray[np.bool_] | None:
        """Return whether a registry row has all linked values of each target.

        The tables are files. The registry is the resource of the last stage of the attack. The result has shape
        (n_targets,); it is None if a linked attribute is missing from a table, which the attack reports as an error.
        `scenario` is the scenario against one adversary.

        Raises
        ------
        InputError
            If the registry should contain all targets but does not; the message names the row.
        """
        name, on = scenario.register, scenario.linked_on
        targets, registry = self.files[TARGETS], self.files[name]
        if not (set(on) <= set(targets.columns) and set(on) <= set(registry.columns)):
            # The attack reports missing attributes with a clearer error.
            return None
        groups = RowGroups([registry.column(attribute) for attribute in on], registry.n_rows)
        found = np.asarray(groups.find([targets.column(attribute) for attribute in on], targets.n_rows) >= 0)
        if scenario.resources[name].holds == "targets" and not found.all():
            row, expected = int((~found).argmax()), f"a person with these values in {registry.name}"
            problem = f'a target is not in resource {name!r}, although holds = "targets"'
            values = {each: self.label(each, targets.column(each)[row : row + 1])[0] for each in on}
            raise InputError(problem, source=targets.name, where=f"row {row + 1}", found=values, expected=expected)
        return found

    def _loci_of(self, name: str) -> list[str]:
        return [each for each in self.loaded.scenario.resources[name].attributes if each in self.people.loci]

    def _lost(self, name: str, n_people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which alleles are missing in a resource, shape (n_people, n_loci).

        The number of missing alleles is the scenario's share of all alleles, rounded down; `rng` draws their places.
        `name` is the name of the resource, `n_people` its number of people.
        """
        share = self.loaded.scenario.resources[name].missing_alleles
        lost = np.zeros((n_people, len(self._loci_of(name))), dtype=np.bool_)
        if share and lost.size:
            lost.ravel()[rng.choice(lost.size, int(lost.size * share), replace=False, shuffle=False)] = True
        return lost


def masking_tables(loaded: Scenario[MaskingScenario], before: MaskingTables | None = None) -> MaskingTables:
    """Return the sources of a scenario's tables: people of a population, or files.

    Parameters
    ----------
    loaded : Scenario
    before : MaskingTables, optional
        Tables of another scenario; their people are reused if the folder and the section ``population`` are the same
        and no tables are files.

    Raises
    ------
    InputError
        If a recipe or file cannot be used, a file has an invalid value, or the people lack an attribute that the
        scenario names.
    """
    scenario = loaded.scenario
    wanted = {TARGETS: scenario.subjects.attributes} | {n: s.attributes for n, s in scenario.resources.items()}
    if scenario.targets.file is not None:
        return _read_tables(loaded, wanted)
    same = before is not None and not before.files and before.loaded.folder == loaded.folder
    reused = before is not None and same and before.loaded.scenario.population == scenario.population
    people = before.people if before is not None and reused else _people(loaded)
    for table, attributes in wanted.items():
        where = "subjects.attributes" if table == TARGETS else f"resources.{table}.attributes"
        require_among("no such attribute", attributes, people.values, where=where)
    lists, population = {name: each for name, each in scenario.resources.items() if each.is_list}, scenario.population
    if not lists or population is None:
        return MaskingTables(loaded, people, {})
    alleles = {name: np.where(people.values[name] == NO_ALLELE, UNKNOWN, people.values[name]) for name in people.loci}
    shares = {name: section.missing_alleles for name, section in lists.items()}
    found = lists_of_people(
        lists,
        replace(people, values={**people.values, **alleles}),
        loaded.folder,
        population.together,
        attributes=lambda name: lists[name].attributes,
        population=population.recipe,
        alleles_missing={name: share for name, share in shares.items() if share is not None},
    )
    return MaskingTables(loaded, people, {}, found)


def _people(loaded: Scenario[MaskingScenario]) -> People:
    """Return the people of a scenario's population, with 0 for unknown alleles.

    An attribute keeps its own numbers if all categories are whole numbers; otherwise it has codes and labels. With a
    reference year, people born later are left out, and an attribute ``age`` is added.

    Raises
    ------
    InputError
        If the section ``population`` is missing or cannot be used, a value of an attribute with labels is missing, or
        no person is born by the reference year.
    """
    section = loaded.scenario.population
    if section is None:
        raise InputError("section missing", where="population")
    made = make(resolve(section.recipe, "populations", "population", base=loaded.folder), seed=section.seed)
    loci: tuple[str, ...] = ()
    if isinstance(made, Genealogy):
        loci = made.loci
        living = None if section.generations is None else made.living(section.generations, women=section.women)
        people, n_rows = genealogy_individuals(made, living), len(made)
    elif section.generations is not None:
        raise InputError("the population is not a genealogy", where="population.generations", found=section.recipe)
    else:
        people, living = as_individuals(made), None
        n_rows = people.n_people
    rows = np.arange(people.n_people) if living is None else living
    values, labels, year = dict[str, Integers](), {}, section.reference_year
    for position, attribute in enumerate(people.domain.attributes):
        codes = people.codes[:, position]
        read = [whole_number(category) for category in attribute.categories if category.isdecimal()]
        if len(read) == attribute.size and None not in read:
            values[attribute.name] = np.where(codes == UNKNOWN, NO_ALLELE, np.array(read, dtype=np.int64)[codes])
        elif (codes == UNKNOWN).any():
            raise InputError("value missing", where=f"{people.name}, {attribute.name!r}")
        else:
            values[attribute.name], labels[attribute.name] = codes.astype(np.int64), attribute.categories
    if year is None:
        return People(values, labels, loci, rows, n_rows)
    where, lacking = "population.reference_year", f"the population has no attribute {BIRTH_YEAR!r}"
    refuse_first((BIRTH_YEAR not in values, lacking, where, section.recipe, None))
    # The last generation spreads over decades, so some people are born after the reference year.
    born, expected = values[BIRTH_YEAR] <= year, f"{values[BIRTH_YEAR].min()} or later"
    refuse_first((not born.any(), "no person is born by the reference year", where, year, expected))
    values = {attribute: column[born] for attribute, column in values.items()}
    return People({**values, AGE: year - values[BIRTH_YEAR]}, labels, loci, rows[born], n_rows)


def _read_tables(loaded: Scenario[MaskingScenario], wanted: Mapping[str, tuple[str, ...]]) -> MaskingTables:
    scenario, each = loaded.scenario, list(loaded.scenario.each.values())
    sections: dict[str, TableSection] = {TARGETS: scenario.targets, **scenario.resources}
    # The targets' table must contain inferred attributes, which decide whether an inference is correct.
    inferred = [stage.infers for one in each for stage in one.adversary.stages if stage.stage != "identify"]
    wanted = {**wanted, TARGETS: tuple(dict.fromkeys((*wanted[TARGETS], *inferred)))}
    loci = tuple(dict.fromkeys(name for one in each for name in named_loci(one)))
    # An adversary may infer from an attribute on which another adversary links; linkage does not allow missing values.
    linked = [(linked_in_stages(one) | {*one.linked_on}, {*named_loci(one)}) for one in each]
    needed = {name for on, own_loci in linked for name in on - own_loci}
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
            number = counts[table] = _numbers(frame[section.count], None, False, path)
            if (total := int(number.sum())) > _MOST_COUNTED:
                where, most = f"column {section.count!r}", f"at most {_MOST_COUNTED:,}"
                raise InputError("too many people", source=path, where=where, found=total, expected=most)
        if isinstance(section, TargetsSection) and section.person is not None:
            repeated = pd.Series(keys_of_records(frame, section.person, path)).duplicated()
            expected = "one row for each subject"
            refuse_rows(repeated, "person given twice", source=path, column=section.person, expected=expected)
    labels: dict[str, tuple[str, ...]] = {}
    for attribute in dict.fromkeys(name for names in wanted.values() for name in names):
        columns_of = [(paths[table], frame[attribute]) for table, frame in frames.items() if attribute in frame]
        if attribute not in loci and _is_text(columns_of):
            labels[attribute] = shared_categories(columns_of)
        elif by_knowledge and attribute not in loci and not any(attribute in on for on, _ in linked):
            # Without stages, no section names the loci; an attribute on which nobody links may be unknown.
            loci = (*loci, attribute)
    files = {}
    for table, frame in frames.items():
        path, people = paths[table], counts.get(table, 1)
        values = {a: _numbers(frame[a], labels.get(a), a in loci and a not in needed, path) for a in wanted[table]}
        files[table] = PersonTable(str(path), {name: column.repeat(people) for name, column in values.items()})
    return MaskingTables(loaded, People({}, labels, loci), files)


def linked_in_stages(scenario: MaskingScenario) -> set[str]:
    """Return the names of attributes on which at least one stage of the attack links.

    Stages that infer surnames do not count as linkage. The scenario has one adversary. An attribute from which surnames
    are inferred counts only if another stage links on it.
    """
    stages = scenario.adversary.stages
    return {name for stage in stages if not isinstance(stage, InferSurnameSection) for name in stage.on}


def named_loci(scenario: MaskingScenario) -> tuple[str, ...]:
    """Return the names of the attributes that files contain as alleles.

    For each stage that infers a surname, these are its named loci, and all attributes of its resource on which no stage
    links and which it does not infer. The scenario has one adversary.
    """
    linked, loci = linked_in_stages(scenario), list[str]()
    for stage in scenario.adversary.stages:
        if isinstance(stage, InferSurnameSection):
            carried = scenario.resources[stage.resource].attributes
            loci += (*(stage.loci or ()), *(name for name in carried if name not in linked and name != stage.infers))
    return tuple(dict.fromkeys(loci))


def _is_text(columns: Sequence[tuple[Path, pd.Series[str]]]) -> bool:
    """Return whether an attribute's values are labels, not numbers.

    They are labels if less than half of the values in all tables are numbers or empty. `columns` has the file of each
    table and the attribute's column as text.

    Raises
    ------
    InputError
        If the values are not labels, but one is not a number; the message names file and row.
    """
    numbers = [column.str.fullmatch(r"[+-]?[\d.]+") | (column == "") for _, column in columns]
    if float(pd.concat(numbers).mean()) < 0.5:
        return True
    for (path, column), is_number in zip(columns, numbers, strict=True):
        problem = "not a number, although most values are numbers"
        refuse_rows(~is_number, problem, source=path, column=column.name, found=column, expected="a number")
    return False


def _numbers(column: pd.Series[str], labels: tuple[str, ...] | None, alleles: bool, path: Path) -> Integers:
    """Return a column of text as whole numbers, shape (n_rows,), int64.

    With `labels`, the result has positions among them.

    Parameters
    ----------
    column : Series of str
    labels : tuple of str or None
        All values of an attribute that is text; None for numbers.
    alleles : bool
        Whether an empty value is allowed, as an unknown allele, 0.
    path : Path
        File of the column, for messages.

    Raises
    ------
    InputError
        If a value is empty (unless `alleles`), or is not a whole number from 0 to 2**31 - 1 (without `labels`).
    """
    blank = column == ""
    if alleles:
        column = column.mask(blank, str(NO_ALLELE))
    else:
        refuse_rows(blank, "value missing", source=path, column=column.name)
    if labels is not None:
        return np.asarray(pd.Index(labels).get_indexer(pd.Index(column)), dtype=np.int64)
    wrong = ~column.str.fullmatch(r"\d{1,18}")
    expected = "a whole number of repeats, or an empty cell if unknown" if alleles else "0 or more"
    refuse_rows(wrong, "not a whole number", source=path, column=column.name, found=column, expected=expected)
    numbers = column.to_numpy().astype(np.int64)
    expected = "a whole number below 2**31"
    refuse_rows(numbers >= 2**31, "number too large", source=path, column=column.name, found=column, expected=expected)
    return numbers
