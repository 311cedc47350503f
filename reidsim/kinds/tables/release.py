"""Read the data of a table scenario: records, people and hierarchies.

These are also the sensitive columns, the waves of several releases, and attacks in stages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.linkers import LatticeAttackLinker
from reidsim.adversaries.multistage.attack import MultistageAttack, MultistageWorld, PersonTable
from reidsim.core.errors import InputError, locating, refuse_first, refuse_rows, require_among
from reidsim.core.files import BUNDLED, data_file, resolve
from reidsim.core.numerics import random_stream
from reidsim.core.tables import (
    DELIMITERS,
    MISSING_MARKS,
    numbers,
    read_coded_table,
    read_distinct_rows,
    read_table,
    require_columns,
    spelled_plainly,
)
from reidsim.kinds.tables.schema import (
    AttributeSection,
    PopulationSection,
    PublisherSection,
    ReleaseSection,
    ReleasesSection,
    TablesScenario,
)
from reidsim.linkage.people import RowGroups, SensitiveAttribute
from reidsim.populations.catalogue import as_individuals, make, recipe_of
from reidsim.populations.counted import CountsRecipe
from reidsim.populations.population import (
    Attribute,
    Codes,
    Domain,
    Population,
    complete_records,
    natural_categories,
    shared_categories,
)
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.records import read_adult, records_of, redraw_top_code, select_columns
from reidsim.scenarios.hierarchies import Table, hierarchy_of, hierarchy_rows, over_domain
from reidsim.scenarios.kind import Keys, is_missing_key, key_columns, keys_of_records, numbered_times, require_same
from reidsim.scenarios.resources import AttackRecipe, stage_of
from reidsim.scenarios.scenario import Scenario, people_named, table_named

Integers = NDArray[np.int64]

# Texts of the column `leaves` for records that stay to the end.
_NEVER = ("", "na", "nan", "none")
# Notations of sensitive values, in lower case: missing values, numbers with separated thousands, dates, and numbers
# with leading zeros or with zeros at the end of decimals.
_MISSING = {mark.lower() for mark in MISSING_MARKS}
_GROUPED = re.compile(r"(\d{1,3}(?:[.,' ]\d{3})+)([.,]\d+)?")
_DATE = re.compile(r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})")
_NUMBER = re.compile(r"([-+]?)0*(\d+)(?:[.,](\d*?)0*)?")


class ReleasedRecords(NamedTuple):
    """Records of a table scenario and their population.

    Attributes
    ----------
    source : str or Path
        File of the records, or name of the population that is released.
    frame : DataFrame
        All columns of the records, one row per record; or their distinct quasi-identifiers, if
        `TablesScenario.counts_records`.
    row : ndarray of int, shape (n_records,)
        Row of `frame` of each record.
    codes : ndarray of int8, int16 or int32, shape (n_rows, n_attributes)
        Category codes of the quasi-identifiers of each row, completed from the population.
    hierarchies : tuple of Hierarchy
        One per quasi-identifier; they contain the domain.
    population : Population or None
        The population, over the same domain.
    """

    source: str | Path
    frame: pd.DataFrame
    row: NDArray[np.integer[Any]]
    codes: NDArray[np.signedinteger[Any]]
    hierarchies: tuple[Hierarchy, ...]
    population: Population | None


@dataclass(frozen=True, eq=False)
class Waves:
    """Waves (successive releases) in which each record or person is released.

    Parameters
    ----------
    labels : tuple of str
        Labels of the waves in order, as in the file.
    enters, leaves : ndarray of int64, shape (n,)
        Indices, from 0, of the first wave with the person or record, and of the first later wave without it; the number
        of waves if it stays.
    sensitive : ndarray of int64, shape (n,), optional
        Code of the value of the person or record in the first sensitive column; None without a sensitive column.
    """

    labels: tuple[str, ...]
    enters: NDArray[np.int64]
    leaves: NDArray[np.int64]
    sensitive: NDArray[np.int64] | None = None

    @cached_property
    def schedule(self) -> NDArray[np.bool_]:
        """Whether each person or record is in each wave: bool, shape (n_waves, n)."""
        waves = np.arange(len(self.labels))[:, None]
        return (self.enters <= waves) & (waves < self.leaves)


# A file of records or people: its source for messages, its attribute values as text (one row per record, one column per
# attribute), and the column of the file of each attribute.
_Rows = tuple[str | Path, pd.DataFrame, Mapping[str, str]]


def read_release(loaded: Scenario[TablesScenario]) -> ReleasedRecords:
    """Return a scenario's records, population and hierarchies, as `ReleasedRecords`.

    Information loss counts all categories of an attribute, including categories that do not occur. The categories are
    the categories in the population if a recipe makes it, because a release is valued by the information about people
    (Wan et al. 2015); otherwise the rows of the attribute's hierarchy file; otherwise the values that occur. With
    ``unknown = "nobody"``, values that occur only in the records are further categories. A missing value is a category.
    The publisher's unit does not affect these rules.

    Raises
    ------
    InputError
        If a file cannot be used, or a value is not in its hierarchy; the error names the value, its row and the
        hierarchy.
    """
    scenario, attributes = loaded.scenario, loaded.scenario.attributes
    columns = scenario.columns
    in_records = {name: columns[name] for name, a in attributes.items() if not a.draw}
    source, frame, row = _rows_of_records(loaded, [*in_records.values()])
    labels = attribute_labels(frame, in_records, attributes, source)
    people, rows_of_people = _people(loaded)
    tables, categories = {}, {}
    for name, a in attributes.items():
        if isinstance(a.hierarchy, Table):
            used = set(labels.get(name, ())) | set(() if people is None else people.domain[name].categories)
            where = f"attributes.{name}.hierarchy.file"
            tables[name] = hierarchy_rows(a.hierarchy, loaded.folder, used, {name, columns[name]}, where)
        # A recipe determines the categories; otherwise, hierarchy files do.
        if isinstance(a.hierarchy, Table) and (people is None or rows_of_people is not None):
            categories[name] = tuple(row[0] for row in tables[name])
            expected = f"a row for the value in {a.hierarchy.file}"
            for path, texts, places in filter(None, ((source, labels, in_records), rows_of_people)):
                if name in texts:
                    refuse_rows(
                        ~texts[name].isin(categories[name]),
                        "value missing from its hierarchy",
                        source=path,
                        column=places[name],
                        found=texts[name],
                        expected=expected,
                        known=categories[name],
                    )
        elif people is None:
            categories[name] = natural_categories(labels[name])
        else:
            categories[name] = known = people.domain[name].categories
            if a.unknown == "nobody" and name in labels:
                categories[name] += natural_categories(labels[name][~labels[name].isin(known)])
    domain = Domain(tuple(Attribute(name, values) for name, values in categories.items()))
    population = None if people is None else over_domain(domain, people, attributes)
    # The smallest type that holds the codes: those of a large file take most of its memory.
    kind = np.min_scalar_type(-max(map(len, categories.values()), default=1))
    codes, rng = np.full((len(frame), len(attributes)), -1, dtype=kind), random_stream(scenario.seed, "release")
    with locating(source):
        for position, name in enumerate(attributes):
            if name in labels:
                codes[:, position] = domain[name].encode(labels.pop(name), in_records[name])
    if population is not None:
        for name, a in attributes.items():
            if a.top_code is not None:
                codes = redraw_top_code(population, codes, name, a.top_code, rng)
        with locating(source):
            codes = complete_records(population, codes, rng)
    hierarchies = tuple(
        hierarchy_of(domain[name], a.hierarchy, loaded.folder, f"attributes.{name}.hierarchy", tables.get(name))
        for name, a in attributes.items()
    )
    return ReleasedRecords(source, frame, row, codes, hierarchies, population)


def columns_of_release(loaded: Scenario[TablesScenario], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of selected columns of the records.

    Parameters
    ----------
    loaded : Scenario
    columns : mapping of str to str
        Column in the file of the records for each name in the result.

    Returns
    -------
    DataFrame
        Text, one row per record, one column per key of `columns`.

    Raises
    ------
    InputError
        If a column is missing.
    """
    source, frame = original_records(loaded)
    return select_columns(frame, columns, {}, source)


def read_records(section: ReleaseSection, path: Path, *, trim: bool = True) -> pd.DataFrame:
    """Read all columns of a file of records as text; one row per record.

    If the file has no header, the columns are named ``"1"``, ``"2"`` and so on. Format "adult" is the UCI file of the
    Adult data set.

    Parameters
    ----------
    section : ReleaseSection
        Format, delimiter, header and encoding of the file.
    path : Path
    trim : bool
        Whether spaces around values are removed; without effect on format "adult".
    """
    if section.format == "adult":
        return read_adult(path)
    options = section.model_dump(include={"delimiter", "header", "encoding", "sheet"})
    frame = read_coded_table(path, trim=trim, **options)
    if not section.header:
        frame.columns = pd.Index([str(number) for number in range(1, frame.shape[1] + 1)])
    return frame


def _table(loaded: Scenario[TablesScenario], section: ReleaseSection, path: Path) -> pd.DataFrame:
    """Read a file of records or people as a DataFrame of text.

    Raises
    ------
    InputError
        If the file cannot be read; or if it has one column, the scenario has several attributes, and the first line has
        another usual delimiter.
    """
    frame = read_records(section, path)
    _refuse_joined_columns(loaded, section, frame, path)
    return frame


def _refuse_joined_columns(
    loaded: Scenario[TablesScenario], section: ReleaseSection, frame: pd.DataFrame, path: Path
) -> None:
    first, where = (frame.columns[0], "header") if section.header else (frame.iloc[0, 0], "row 1")
    other = next((delimiter for delimiter in DELIMITERS if delimiter in str(first)), None)
    joined = other is not None and frame.shape[1] == 1 and len(loaded.scenario.attributes) > 1
    expected = f"columns separated by {section.delimiter!r}, or release.delimiter = {other!r}"
    refuse_first((joined, "the file has one column", where, str(first), expected), source=path)


def original_records(loaded: Scenario[TablesScenario]) -> tuple[str | Path, pd.DataFrame]:
    """Return the source of the records, and all their columns as text; one row per record."""
    section = loaded.scenario.release
    if section.path is None:
        return str(section.table), records_of(people_named(str(section.table), loaded))
    return table_named(section.path, loaded, "release.path", partial(_table, loaded, section))


def _rows_of_records(
    loaded: Scenario[TablesScenario], columns: Sequence[str]
) -> tuple[str | Path, pd.DataFrame, NDArray[np.integer[Any]]]:
    """Return the source of the records, their rows, and the row of each record; see `ReleasedRecords`."""
    section = loaded.scenario.release
    if not loaded.scenario.counts_records:
        source, frame = original_records(loaded)
        return source, frame, np.arange(len(frame))
    options = section.model_dump(include={"delimiter", "encoding"})
    read = partial(read_distinct_rows, columns=columns, over_files=loaded.over_files, **options)
    path, (frame, row) = table_named(str(section.path), loaded, "release.path", read)
    _refuse_joined_columns(loaded, section, frame, path)
    return path, frame, row


def attribute_labels(
    frame: pd.DataFrame, columns: Mapping[str, str], attributes: Mapping[str, AttributeSection], source: str | Path
) -> pd.DataFrame:
    """Return a table of category labels: one row per record, one column per attribute.

    Columns have the attributes' names. The scenario's readings and renamed values are applied.

    Parameters
    ----------
    frame : DataFrame
        All columns of the file, as text.
    columns : mapping of str to str
        Column of `frame` for each attribute; only these attributes are in the result.
    attributes : mapping of str to AttributeSection
    source : str or Path
        Source of the frame, for messages.

    Raises
    ------
    InputError
        If a column is missing, or a value cannot be read.
    """
    return select_columns(frame, columns, {name: section.label for name, section in attributes.items()}, source)


def _people(loaded: Scenario[TablesScenario]) -> tuple[Population | None, _Rows | None]:
    """Return the population over the attributes, and its rows if from a file.

    Both results are None without a section ``population``; the second is also None for a recipe. The domain has only
    the categories of the population.

    Raises
    ------
    InputError
        If the recipe or file cannot be used, or the population lacks an attribute.
    """
    section, attributes = loaded.scenario.population, loaded.scenario.attributes
    if section is None:
        return None, None
    if section.path is None:
        path = resolve(str(section.recipe), "populations", "population", base=loaded.folder)
        recipe = recipe_of(path) if loaded.scenario.release.person is not None and path.suffix == ".toml" else None
        if isinstance(recipe, CountsRecipe) and recipe.count is None:
            _refuse_repeated_people(loaded, *recipe.read(path.parent))
        population = people_named(str(section.recipe), loaded, counts=section.counts, seed=section.seed)
        problem = f"population {population.name!r} has no such attribute"
        for name in attributes:
            require_among(problem, (name,), population.domain.names, where=f"attributes.{name}")
        # The readings of the records apply to people, too, so that equal days or numbers are one category.
        readings = {name: each.reading.label for name, each in attributes.items() if each.reading is not None}
        return population.marginal(tuple(attributes)).relabelled(readings), None
    read = partial(_table, loaded, loaded.scenario.release.model_copy(update={"format": "csv"}))
    path, frame = table_named(section.path, loaded, "population.path", read)
    _refuse_repeated_people(loaded, frame, path)
    labels = attribute_labels(frame, loaded.scenario.columns, attributes, path)
    domain = Domain(tuple(Attribute(name, natural_categories(labels[name])) for name in attributes))
    people = Population.from_records(domain, domain.encode(labels), name=path.name, source=str(path.name))
    return people, (path, labels, loaded.scenario.columns)


def _refuse_repeated_people(loaded: Scenario[TablesScenario], frame: pd.DataFrame, path: Path) -> None:
    """Check that no person has two rows in a population, if it has the columns of ``release.person``.

    Rows without a value in one of these columns are people without a row in the release.

    Raises
    ------
    InputError
        If a person has two rows, or as `keys_of_records`.
    """
    columns = key_columns(loaded.scenario.release.person)
    if not columns or not set(columns) <= set(frame):
        return
    keys = frame.loc[~np.any([is_missing_key(frame[name]) for name in columns], axis=0), list(columns)]
    refuse_rows(
        pd.Series(keys_of_records(keys, columns, path), keys.index).duplicated(),
        "a second row of a person, which would count as a second person",
        source=path,
        column=" and ".join(columns),
        found=keys.astype("str").agg(" ".join, axis=1),
        expected="one row per person in the population",
    )


def people_in_order(loaded: Scenario[TablesScenario], section: PopulationSection, domain: Domain) -> Codes:
    """Return the codes of a scenario's people over a domain, shape (n_people, n_attributes).

    People are in the order of ``population.path``, or of the rows that ``reidsim populate`` writes for the recipe.
    `section` is the section ``population``.

    Raises
    ------
    InputError
        As `read_release`; or if the population has expected counts.
    """
    attributes, (_, rows) = loaded.scenario.attributes, _people(loaded)
    if rows is not None:
        return domain.encode(rows[1])
    recipe = resolve(str(section.recipe), "populations", "population", base=loaded.folder)
    people = as_individuals(make(recipe, counts=section.counts, seed=section.seed)).select(tuple(attributes))
    readings = {name: each.reading.label for name, each in attributes.items() if each.reading is not None}
    return domain.encode(select_columns(people.to_frame(), {name: name for name in attributes}, readings, people.name))


def coded_record(domain: Domain, record: Mapping[str, str], where: str) -> Codes:
    """Return the codes of one record, given as text, shape (1, n_attributes), int32.

    Parameters
    ----------
    domain : Domain
    record : mapping of str to str
        Category of each attribute.
    where : str
        Key path of the record in the scenario, for messages.

    Raises
    ------
    InputError
        If an attribute is missing or unknown, or a category is not in the domain. The error names the key `where`.
    """
    require_among("no such attribute", record, domain.names, where=where)
    with locating(where=where):
        require_among("attribute missing", domain.names, record)
        return domain.encode(pd.DataFrame([record]))


def _plain_value(text: str) -> str:
    """Return a value in one notation: as by `spelled_plainly`; numbers, dates and missing values in one format.

    Thousands of a number may have separators, and a date may begin with the day or with the year.
    """
    plain = spelled_plainly(text)
    if grouped := _GROUPED.fullmatch(plain):
        plain = re.sub(r"\D", "", grouped[1]) + (grouped[2] or "")
    if date := _DATE.fullmatch(plain):
        parts = [part.lstrip("0") for part in date.group(1, 2, 3)]
        return "-".join(parts if len(date[1]) == 4 else reversed(parts))
    if number := _NUMBER.fullmatch(plain):
        return f"{number[1]}{number[2]}.{number[3] or ''}".rstrip(".")
    return "" if plain in _MISSING else plain


def sensitive_attributes(
    publisher: PublisherSection,
    frame: pd.DataFrame,
    source: str | Path,
    rows_of: Callable[[str, Table], list[list[str]]],
) -> tuple[SensitiveAttribute, ...]:
    """Return a `SensitiveAttribute` per sensitive column; missing values are one value.

    Parameters
    ----------
    publisher : PublisherSection
        Names of the sensitive columns, and their hierarchies.
    frame : DataFrame
        The records.
    source : str or Path
        Source of the records, for messages.
    rows_of : callable
        Returns the rows of a column's hierarchy file, given the column's name and its section.

    Raises
    ------
    InputError
        If a column is missing, or a hierarchy cannot be used or lacks a value of its column.
    """
    names, columns = key_columns(publisher.sensitive), []
    require_columns(frame, list(names), Path(source))
    for name in names:
        text = frame[name].astype("str").str.strip()
        number, values = pd.factorize(text, sort=True)
        plain = pd.Series(values, dtype="str").map(_plain_value)
        alike, groups = values[plain.duplicated(keep=False)], None
        # The first spelling stands for all.
        text = pd.Series(plain.map(dict(zip(plain[::-1], values[::-1], strict=True))).to_numpy()[number], dtype="str")
        codes: NDArray[np.signedinteger[Any]] = pd.factorize(text, sort=True)[0]
        section = publisher.sensitive_hierarchies.get(name)
        if section is not None:
            rows = rows_of(name, section) if isinstance(section, Table) else None
            attribute = Attribute(name, natural_categories(text) if rows is None else tuple(row[0] for row in rows))
            with locating(source):
                codes = attribute.encode(text)
            groups = hierarchy_of(attribute, section, Path(), f"publisher.sensitive_hierarchies.{name}", rows).groups
        columns.append(SensitiveAttribute.from_codes(name, codes.astype(np.int64), groups, tuple(alike)))
    return tuple(columns)


def read_waves(
    section: ReleasesSection, records: ReleasedRecords, person: Keys | None, sensitive: Sequence[SensitiveAttribute]
) -> Waves:
    """Return the waves in which each record or person is released, as `Waves`.

    The waves are the distinct times in the columns of ``enters`` and ``leaves``; see `numbered_times`. A record whose
    value of ``leaves`` is empty (or na, nan or none) stays to the end, as do all records without this column. If
    `person` is given, the result has one entry per person.

    Parameters
    ----------
    section : ReleasesSection
        Names of the columns.
    records : ReleasedRecords
    person : ndarray of int, shape (n_records,), or None
        Person of each record.
    sensitive : sequence of SensitiveAttribute
        Sensitive columns of the records; only the first is used.

    Raises
    ------
    InputError
        If a column is missing, a value is neither a number nor a date (or not of the same type as the first one), a
        record does not leave after it enters, or a person's records differ. The error names the row.
    """
    source, frame = records.source, records.frame
    require_columns(frame, list(section.columns.values()), Path(source))
    enters, leaves = (
        pd.Series("", index=frame.index) if column is None else frame[column].astype("str").str.strip()
        for column in (section.enters, section.leaves)
    )
    stays = leaves.str.lower().isin(_NEVER)
    labels, (first, last) = numbered_times((enters, leaves.mask(stays, enters)), "not a wave", source)
    last = np.where(stays, len(labels), last)
    early, problem = last <= first, "a record leaves before its release"
    expected = f"a wave after {enters.iloc[int(early.argmax())]}"
    refuse_rows(early, problem, source=source, column=section.leaves, found=leaves, expected=expected)
    person = np.arange(len(frame)) if person is None else person
    one = np.unique(person, return_index=True)[1]
    for key, column in section.columns.items():
        require_same(first if key == "enters" else last, person, f"releases.{key}", source, column)
    return Waves(labels, first[one], last[one], sensitive[0].codes[one] if sensitive else None)


# Limit of `PersonTable` on the people in a row; checked here to name the place in the file.
_MOST_PEOPLE = 2**31


def staged_attack(
    recipe: AttackRecipe, path: Path, lattice: GeneralizationLattice, truth: pd.DataFrame
) -> LatticeAttackLinker:
    """Return the linker of an attack in stages on the records of a lattice.

    Gain and cost of the attack are 0.

    Parameters
    ----------
    recipe : AttackRecipe
    path : Path
        Path of the recipe.
    lattice : GeneralizationLattice
        Over the cells of the records.
    truth : DataFrame
        True values, as text, of the inferred attributes that are not quasi-identifiers, one row per cell.

    Raises
    ------
    InputError
        If a resource of the recipe cannot be used, or a stage needs an attribute that is neither released nor inferred.
        The error names the file.
    """
    with locating(path):
        stages = tuple(stage_of(section, path.parent) for section in recipe.stages)
        attack = MultistageAttack(stages, 0.0, 0.0, recipe.confidence_threshold)
        attack.check_attributes(lattice.domain.names)
        tables = {name: _resource(name, recipe, path.parent) for name in recipe.resources}
        targets = dict[str, NDArray[Any]]()
        coded: dict[str, Callable[[pd.Series[str], str], NDArray[Any]]] = {}
        for position, hierarchy in enumerate(lattice.hierarchies):
            name, where = hierarchy.attribute.name, f"attributes.{hierarchy.attribute.name}.hierarchy"
            is_locus = name in recipe.loci
            generalized = is_locus and any(groups > 1 for groups in hierarchy.n_groups[1:])
            refuse_first((generalized, "alleles cannot be generalized", where, None, 'rule = "suppress"'))
            coded[name] = _alleles if is_locus else hierarchy.attribute.encode
            with locating("the records"):
                categories = pd.Series(hierarchy.attribute.categories, dtype="str")
                targets[name] = coded[name](categories, name)[lattice.codes[:, position]]
        for name in map(str, truth.columns):
            of_tables = [(source, frame[name]) for source, frame, _ in tables.values() if name in frame]
            coded[name] = Attribute(name, shared_categories([("the records", truth[name]), *of_tables])).encode
            with locating("the records"):
                targets[name] = coded[name](truth[name], name)
        resources = {}
        for resource, (source, frame, counts) in tables.items():
            with locating(source):
                columns = {name: coded[name](frame[name], name) for name in map(str, frame.columns)}
            resources[resource] = PersonTable(resource, columns, counts)
        world = MultistageWorld(PersonTable("the records", targets), resources)
        on = attack.identify.on
        registry = world.resource(attack.identify.resource)
        groups = RowGroups([registry.column(name) for name in on], registry.n_rows)
        # The person of a record counts as listed if a registry row agrees in all attributes on which the attack links.
        listed = np.asarray(groups.find([world.targets.column(name) for name in on], world.targets.n_rows) >= 0)
        return LatticeAttackLinker(attack, replace(world, registered=listed), lattice)


def _resource(name: str, recipe: AttackRecipe, folder: Path) -> tuple[str, pd.DataFrame, Integers | None]:
    """Return the source of a resource, its attributes, and the people in each row.

    The attributes are the ones that stages need, as text, one column each, "" for unknown values. They are read from
    the file of the resource or made from its population. Without numbers of people, each row is one person.

    Parameters
    ----------
    name : str
        Name of the resource.
    recipe : AttackRecipe
    folder : Path
        Folder of the recipe.

    Raises
    ------
    InputError
        If no stage uses the resource, or its file or population cannot be used.
    """
    section, needed = recipe.resources[name], recipe.needed_of(name)
    refuse_first((not needed, "no stage uses the resource", f"resources.{name}", None, "a resource of a stage"))
    try:
        if section.file is None:
            return _population_resource(str(section.population), needed, folder)
        path, counts = data_file(section.file, folder, "populations"), None
        # In a user's file, a row may begin with any character, as in a file of records.
        comment = "#" if section.file.startswith(BUNDLED) else None
        frame = read_table(path, delimiter=section.delimiter, comment=comment, encoding=section.encoding)
        columns = {attribute: section.columns.get(attribute, attribute) for attribute in needed}
        require_columns(frame, [*columns.values(), *filter(None, [section.count])], path)
        if section.count is not None:
            given = np.asarray(numbers(frame, section.count, path), dtype=np.float64)
            refuse = partial(refuse_rows, source=path, column=section.count, found=frame[section.count])
            refuse(given != np.floor(given), "not a whole number")
            refuse(given >= _MOST_PEOPLE, "count too large", expected="a number below 2**31")
            counts = given.astype(np.int64)
        return str(path), pd.DataFrame({name: frame[column] for name, column in columns.items()}), counts
    except InputError as error:
        raise error if error.source else error.located(where=f"resources.{name}") from None


def _population_resource(
    population: str, needed: tuple[str, ...], folder: Path
) -> tuple[str, pd.DataFrame, Integers | None]:
    made, counts = make(resolve(population, "populations", "population", base=folder)), None
    if isinstance(made, Population):
        made = made.marginal(needed)
        domain, codes, counts = made.domain, made.cells, made.whole_counts("the population has expected counts")
    else:
        people = as_individuals(made).select(needed)
        domain, codes = people.domain, people.codes
    return population, domain.decode(codes).astype("str").fillna(""), counts


def _alleles(texts: pd.Series[str], name: str) -> Integers:
    """Return the alleles of locus `name` as numbers of repeats, shape (n_rows,).

    An empty text is an unknown allele, 0.

    Raises
    ------
    InputError
        If a value is not a whole number of at most nine digits.
    """
    column = texts.mask(texts == "", "0")
    wrong, problem = ~column.str.fullmatch(r"\d{1,9}").to_numpy(), "not a whole number of repeats"
    expected = "a whole number, or an empty cell if unknown"
    refuse_rows(wrong, problem, column=name, found=column, expected=expected)
    return column.to_numpy().astype(np.int64)
