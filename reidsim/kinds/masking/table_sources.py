"""Read or simulate the people behind the tables of a masking scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.adversaries.multistage.world import PersonTable
from reidsim.bundled import data_file, resolve
from reidsim.errors import InputError, refuse_rows, require_among
from reidsim.kinds.masking.schema import TARGETS, MaskingScenario
from reidsim.kinds.masking.tables import NO_ALLELE, Integers, MaskingTables
from reidsim.kinds.masking.tables_schema import ResourceSection, TableSection, TargetsSection
from reidsim.populations.catalogue import as_individuals, make
from reidsim.populations.counted import natural_categories
from reidsim.populations.genealogy.genealogy import Genealogy
from reidsim.populations.genealogy.people import genealogy_individuals
from reidsim.populations.individuals import Individuals
from reidsim.populations.sampling import UNKNOWN
from reidsim.scenarios.attack_recipe import InferSurnameSection
from reidsim.scenarios.drawn_lists import ListsOfPeople, lists_of_people
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import require_distinct_people
from reidsim.scenarios.people_values import People
from reidsim.tables import read_table, require_columns
from reidsim.wording import whole_number

AGE, BIRTH_YEAR = "age", "birth_year"
# Maximum number of people that rows with counts may represent: each person takes a row in memory.
_MOST_COUNTED = 50_000_000


def masking_tables(loaded: Scenario[MaskingScenario], before: MaskingTables | None = None) -> MaskingTables:
    """Read or simulate the people of a scenario's tables.

    Parameters
    ----------
    loaded : Scenario
    before : MaskingTables, optional
        Tables of another scenario; their people are reused if the population is the same.

    Raises
    ------
    InputError
        If a recipe or file cannot be used, or lacks an attribute that the scenario names.
    """
    scenario = loaded.scenario
    wanted = {TARGETS: scenario.subjects.attributes} | {n: s.attributes for n, s in scenario.resources.items()}
    if scenario.targets.file is not None:
        return _read_tables(loaded, wanted)
    if before is not None and before.are_drawn_from(loaded):
        values, labels, loci, rows = before.values, before.labels, before.loci, before.rows
    else:
        values, labels, loci, rows = _people(loaded)
    for table, attributes in wanted.items():
        where = "subjects.attributes" if table == TARGETS else f"resources.{table}.attributes"
        require_among("no such attribute", attributes, values, where=where)
    lists = _lists(loaded, values, labels, loci, rows)
    return MaskingTables(loaded, loci, values, labels, {}, lists, rows)


def _lists(
    loaded: Scenario[MaskingScenario],
    values: Mapping[str, Integers],
    labels: Mapping[str, tuple[str, ...]],
    loci: tuple[str, ...],
    rows: Integers,
) -> ListsOfPeople | None:
    """Return the resources that are lists of people, ready to be drawn.

    None if no resource is a list, or the scenario has no population.
    """
    sections = {name: section for name, section in loaded.scenario.resources.items() if section.is_list}
    population = loaded.scenario.population
    if not sections or population is None:
        return None
    known = {
        name: np.where(each == NO_ALLELE, UNKNOWN, each) if name in loci else each for name, each in values.items()
    }
    given = {name: section.missing_alleles for name, section in sections.items()}
    return lists_of_people(
        sections,
        People(known, labels, loci, rows),
        loaded.folder,
        population.together,
        attributes=lambda name: sections[name].attributes,
        population=population.recipe,
        alleles_missing={name: share for name, share in given.items() if share is not None},
    )


def _people(
    loaded: Scenario[MaskingScenario],
) -> tuple[Mapping[str, Integers], Mapping[str, tuple[str, ...]], tuple[str, ...], Integers]:
    """Return values by attribute, labels of codes, loci, and each person's row.

    The row is the person's row in the population.
    """
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
        raise InputError("the population is not a genealogy", where="population.generations", found=section.recipe)
    else:
        people = as_individuals(made)
        rows = np.arange(people.n_people)
    values, labels = _whole_numbers(people)
    if section.reference_year is not None:
        if BIRTH_YEAR not in values:
            raise InputError(
                f"the population has no attribute {BIRTH_YEAR!r}",
                where="population.reference_year",
                found=section.recipe,
            )
        # The last generation spreads over decades, so some people are born after the reference year.
        born = values[BIRTH_YEAR] <= section.reference_year
        if not born.any():
            where, expected = "population.reference_year", f"{values[BIRTH_YEAR].min()} or later"
            raise InputError(
                "no person is born by the reference year", where=where, found=section.reference_year, expected=expected
            )
        values = {attribute: column[born] for attribute, column in values.items()}
        values[AGE] = section.reference_year - values[BIRTH_YEAR]
        rows = rows[born]
    return values, labels, loci, rows


def _whole_numbers(people: Individuals) -> tuple[dict[str, Integers], dict[str, tuple[str, ...]]]:
    """Return attributes as numbers, and the labels of attributes that are codes.

    An attribute keeps its own numbers if all categories are whole numbers; a missing number is 0.
    """
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


def _read_tables(loaded: Scenario[MaskingScenario], wanted: Mapping[str, tuple[str, ...]]) -> MaskingTables:
    scenario, each = loaded.scenario, list(loaded.scenario.each.values())
    sections: dict[str, TableSection] = {TARGETS: scenario.targets, **scenario.resources}
    # The targets' table must contain inferred attributes, which decide whether an inference is correct.
    inferred = [stage.infers for one in each for stage in one.adversary.stages if stage.stage != "identify"]
    wanted = {**wanted, TARGETS: tuple(dict.fromkeys((*wanted[TARGETS], *inferred)))}
    loci = tuple(dict.fromkeys(name for one in each for name in named_loci(one)))
    linked = {name for one in each for name in (*linked_in_stages(one), *one.linked_on)}
    # An adversary may infer from an attribute on which another adversary links; linkage does not allow missing values.
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
            # Without stages, no section names the loci; an attribute on which nobody links may be unknown.
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
    """Return the attributes that files contain as alleles.

    These are the named loci, and all attributes of a genealogy that are neither linked on nor inferred.
    """
    linked = linked_in_stages(scenario)
    loci: list[str] = []
    for stage in scenario.adversary.stages:
        if isinstance(stage, InferSurnameSection):
            carried = scenario.resources[stage.resource].attributes
            loci += stage.loci or ()
            loci += [name for name in carried if name not in linked and name != stage.infers]
    return tuple(dict.fromkeys(loci))


def _is_text(columns: Mapping[Path, pd.Series[str]]) -> bool:
    """Return whether an attribute's values are labels.

    If at least half of the values are numbers, the others are an error.
    """
    number = {path: column.str.fullmatch(r"[+-]?[\d.]+") | (column == "") for path, column in columns.items()}
    share = float(pd.concat(list(number.values())).mean())
    if share == 1 or share < 0.5:
        return share < 1
    path = next(path for path, is_number in number.items() if not is_number.all())
    row = int((~number[path]).to_numpy().argmax())
    place = f"row {row + 1}, column {columns[path].name!r}"
    found = columns[path].iloc[row]
    raise InputError(
        "not a number, although most values are numbers", source=path, where=place, found=found, expected="a number"
    )


def _people_counted(column: pd.Series[str], path: Path) -> Integers:
    counts = _numbers(column, None, False, path)
    if counts.sum() > _MOST_COUNTED:
        where, expected = f"column {column.name!r}", f"at most {_MOST_COUNTED:,}"
        raise InputError("too many people", source=path, where=where, found=int(counts.sum()), expected=expected)
    return counts


def _numbers(column: pd.Series[str], labels: tuple[str, ...] | None, alleles: bool, path: Path) -> Integers:
    """Return a column of text as whole numbers.

    With `labels`, return positions among them; with `alleles`, an unknown value is 0.
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
    return column.to_numpy().astype(np.int64)
