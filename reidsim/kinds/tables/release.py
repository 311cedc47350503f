"""Read records, population, hierarchies and payoff columns of a table scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from reidsim.errors import InputError, locating, nearest
from reidsim.kinds.tables.data_schema import AttributeSection
from reidsim.kinds.tables.people import people_of_records, sampling_weights
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.sensitive import read_sensitive
from reidsim.kinds.tables.waves import Waves, read_waves
from reidsim.linkage.sensitive_values import SensitiveAttribute
from reidsim.populations.counted import natural_categories
from reidsim.populations.domain import Attribute, Codes, Domain
from reidsim.populations.population import Population
from reidsim.populations.sampling import complete_records
from reidsim.random_streams import random_stream
from reidsim.releases.adult import read_adult
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.records import records_of, redraw_top_code, select_columns
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.hierarchies import hierarchy_of, hierarchy_rows, no_place, over_domain
from reidsim.scenarios.hierarchy_schema import Table
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import Keys
from reidsim.scenarios.python_objects import people_named, table_named
from reidsim.tables import DELIMITERS, numbers, read_table, require_columns


@dataclass(frozen=True, eq=False)
class ReleasedRecords:
    """Input data of a table scenario, as read.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_records, n_attributes)
        Category codes of the quasi-identifiers, completed from the population.
    hierarchies : tuple of Hierarchy
        One per quasi-identifier; they contain the domain.
    population : Population or None
        The population, over the same domain.
    prices : dict of str to ndarray of float64, shape (n_records,)
        Payoff parameters from columns of the records, in currency units, by ``benefit``, ``loss``, ``gain`` or
        ``cost``.
    weights : ndarray of float64, shape (n_records,), or None
        Number of people that each record represents, if known.
    person, household : ndarray of int, shape (n_records,), optional
        Numbers of the person and the household of each record.
    waves : Waves, optional
        The releases that contain each data subject.
    sensitive : tuple of SensitiveAttribute
        Values of the sensitive columns.
    """

    codes: Codes
    hierarchies: tuple[Hierarchy, ...]
    population: Population | None
    prices: dict[str, Floats]
    weights: Floats | None = None
    person: Keys | None = None
    household: Keys | None = None
    waves: Waves | None = None
    sensitive: tuple[SensitiveAttribute, ...] = ()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Attribute values of a table as text, and their source."""

    source: str | Path
    labels: pd.DataFrame
    columns: Mapping[str, str]

    def require_values(self, name: str, known: pd.Index[str], section: AttributeSection) -> None:
        """Check that each value, also a missing one, has a row in the hierarchy file."""
        labels = self.labels[name]
        wrong = ~labels.isin(known)
        if not wrong.any():
            return
        row = int(wrong.to_numpy().argmax())
        place = f"row {row + 1}, column {self.columns[name]!r}"
        if labels.iloc[row] == "":
            assert isinstance(section.hierarchy, Table)  # noqa: S101 - for the type checker
            raise InputError(
                "value missing",
                source=self.source,
                where=place,
                expected=f"a value, or a row for missing values in {section.hierarchy.file}",
            )
        raise no_place(labels.iloc[row], self.source, place, section, nearest(labels.iloc[row], known))


def read_release(loaded: Scenario[TablesScenario]) -> ReleasedRecords:
    """Read the records, the population, the hierarchies and the payoff columns.

    Information loss counts all categories of an attribute, including categories that do not occur. The categories are
    the categories in the population if a recipe makes it, because a release is valued by the information about people
    (Wan et al. 2015); otherwise the rows of the attribute's hierarchy file; otherwise the values that occur. With
    ``unknown = "nobody"``, values that occur only in the records are further categories. A missing value is a category.
    The publisher's unit does not affect these rules.

    Raises
    ------
    InputError
        If a file cannot be used, or a value is not in its hierarchy. The error names the value, its row and the
        hierarchy.
    """
    scenario, attributes = loaded.scenario, loaded.scenario.attributes
    source, frame = _records(loaded)
    in_records = {name: a.column or name for name, a in attributes.items() if not a.draw}
    records = _Rows(source, attribute_labels(frame, in_records, attributes, source), in_records)
    people, rows_of_people = _people(loaded, in_records)
    files = [records] if rows_of_people is None else [records, rows_of_people]
    by_people = people is not None and rows_of_people is None
    tables = {
        name: hierarchy_rows(name, a, loaded, _used(name, files, people, whole=by_people))
        for name, a in attributes.items()
        if isinstance(a.hierarchy, Table)
    }
    listed = {} if by_people else tables
    domain = Domain(
        tuple(Attribute(name, _categories(name, a, listed, people, records.labels)) for name, a in attributes.items())
    )
    for name in listed:
        for file in files:
            if name in file.labels:
                file.require_values(name, domain[name].labels, attributes[name])
    population = None if people is None else over_domain(domain, people, attributes)
    codes = np.full((len(frame), len(attributes)), -1, dtype=np.int32)
    for position, name in enumerate(attributes):
        if name in records.labels:
            codes[:, position] = _encode(domain[name], records)
    if population is None:
        if any(attribute.top_code is not None for attribute in attributes.values()):
            raise InputError("top codes are redrawn from a population", where="population", expected="a recipe or path")
    else:
        codes = _completed(loaded, population, codes, source)
    hierarchies = tuple(
        hierarchy_of(domain[name], a.hierarchy, loaded.folder, f"attributes.{name}.hierarchy", tables.get(name))
        for name, a in attributes.items()
    )
    prices: dict[str, Floats] = {}
    for price, column in scenario.economics.columns:
        if column is not None:
            require_columns(frame, [column], Path(source))
            prices[price] = np.asarray(numbers(frame, column, Path(source)), dtype=np.float64)
    weights = sampling_weights(scenario.release, frame, source)
    person, household = people_of_records(scenario, frame, source, prices, weights)
    sensitive = read_sensitive(loaded, frame, source)
    waves = None
    if scenario.releases is not None:
        values = sensitive[0].codes if sensitive else None
        waves = read_waves(scenario.releases, frame, source, person, values)
    return ReleasedRecords(codes, hierarchies, population, prices, weights, person, household, waves, sensitive)


def columns_of_release(loaded: Scenario[TablesScenario], columns: Mapping[str, str]) -> tuple[str | Path, pd.DataFrame]:
    """Return the source of the records and selected columns, one row per record.

    Parameters
    ----------
    loaded : Scenario
    columns : mapping of str to str
        Column in the file for each name in the result.

    Raises
    ------
    InputError
        If a column is missing.
    """
    source, frame = _records(loaded)
    return source, select_columns(frame, columns, {}, source)


def _records(loaded: Scenario[TablesScenario]) -> tuple[str | Path, pd.DataFrame]:
    section = loaded.scenario.release
    if section.path is None:
        assert section.table is not None  # noqa: S101 - ensured by the schema, repeated for the type checker
        return section.table, records_of(people_named(section.table, loaded))
    read = read_adult if section.format == "adult" else partial(_delimited, loaded)
    return table_named(section.path, loaded, "release.path", read)


def attribute_labels(
    frame: pd.DataFrame, columns: Mapping[str, str], attributes: Mapping[str, AttributeSection], source: str | Path
) -> pd.DataFrame:
    """Return the attributes' columns under the attributes' names, as category labels.

    The readings and renamed values of the scenario are applied.

    Parameters
    ----------
    frame : DataFrame
    columns : mapping of str to str
        Column of each attribute.
    attributes : mapping of str to AttributeSection
    source : str or Path
        Source of the frame, for messages.

    Raises
    ------
    InputError
        If a column is missing, or a value cannot be read.
    """
    renamed = {name: a.values for name, a in attributes.items()}
    return select_columns(frame, columns, renamed, source, _readings(attributes))


def _readings(attributes: Mapping[str, AttributeSection]) -> dict[str, Callable[[str], str]]:
    """Return the function that reads a value, for each attribute with a reading."""
    return {name: a.reading.label for name, a in attributes.items() if a.reading is not None}


def _delimited(loaded: Scenario[TablesScenario], path: Path) -> pd.DataFrame:
    section = loaded.scenario.release
    frame = read_table(path, delimiter=section.delimiter, header=section.header, encoding=section.encoding)
    if not section.header:
        frame.columns = pd.Index([str(number) for number in range(1, frame.shape[1] + 1)])
    if frame.shape[1] == 1 and len(loaded.scenario.attributes) > 1:
        text = str(frame.columns[0] if section.header else frame.iloc[0, 0])
        other = next((character for character in DELIMITERS if character in text), None)
        if other is not None:
            raise InputError(
                "the file has one column",
                source=path,
                where="row 1" if not section.header else "header",
                found=text,
                expected=f"columns separated by {section.delimiter!r}",
                hint=f"set release.delimiter = {other!r} if this character separates the columns",
            )
    return frame


def _people(loaded: Scenario[TablesScenario], columns: Mapping[str, str]) -> tuple[Population | None, _Rows | None]:
    """Return the population over the attributes, and its rows if it is from a file.

    The domain has only the categories of the population.
    """
    section, attributes = loaded.scenario.population, loaded.scenario.attributes
    if section is None:
        return None, None
    if section.path is None:
        assert section.recipe is not None  # noqa: S101 - ensured by the schema, repeated for the type checker
        population = people_named(section.recipe, loaded, counts=section.counts, seed=section.seed)
        for name in attributes:
            require_attribute(population, name)
        # The readings of the records apply to people, too, so that equal days or numbers are one category.
        return population.marginal(tuple(attributes)).relabelled(_readings(attributes)), None
    drawn = [name for name, attribute in attributes.items() if attribute.draw]
    in_people = {**columns, **{name: attributes[name].column or name for name in drawn}}
    path, frame = table_named(section.path, loaded, "population.path", partial(_delimited, loaded))
    labels = attribute_labels(frame, in_people, attributes, path)
    domain = Domain(tuple(Attribute(name, natural_categories(labels[name])) for name in attributes))
    people = Population.from_records(domain, domain.encode(labels), name=path.name, source=str(path.name))
    return people, _Rows(path, labels, in_people)


def _used(name: str, files: Sequence[_Rows], people: Population | None, *, whole: bool) -> set[str]:
    """Return the values of an attribute in the records and the population.

    If `whole`, categories of the population that do not occur are included.
    """
    used = {label for file in files if name in file.labels for label in file.labels[name].unique()}
    if people is not None:
        position, categories = people.domain.position(name), people.domain[name].categories
        used.update(categories if whole else (categories[code] for code in np.unique(people.cells[:, position])))
    return used


def _categories(
    name: str,
    attribute: AttributeSection,
    tables: Mapping[str, list[list[str]]],
    people: Population | None,
    labels: pd.DataFrame,
) -> tuple[str, ...]:
    if name in tables:
        return tuple(row[0] for row in tables[name])
    if people is None:
        return natural_categories(labels[name])
    known = people.domain[name].categories
    if attribute.unknown == "error" or name not in labels:
        return known
    return (*known, *natural_categories(labels[name][~labels[name].isin(known)]))


def _encode(attribute: Attribute, records: _Rows) -> Codes:
    with locating(records.source):
        return attribute.encode(records.labels[attribute.name], records.columns[attribute.name])


def _completed(loaded: Scenario[TablesScenario], population: Population, codes: Codes, source: str | Path) -> Codes:
    rng = random_stream(loaded.scenario.seed, "release")
    for name, attribute in loaded.scenario.attributes.items():
        if attribute.top_code is not None:
            codes = redraw_top_code(population, codes, name, attribute.top_code, rng)
    with locating(source):
        return complete_records(population, codes, rng)


def require_attribute(population: Population, name: str) -> None:
    """Check that the population has an attribute; the error names the scenario key."""
    try:
        population.domain.position(name)
    except InputError as error:
        raise InputError(
            f"population {population.name!r} has no such attribute",
            where=f"attributes.{name}",
            expected=error.expected,
            hint=error.hint,
        ) from None


def coded_records(domain: Domain, records: Sequence[Mapping[str, str]], where: str) -> Codes:
    """Encode records given as attribute = category, shape (n_records, n_attributes).

    Raises
    ------
    InputError
        If an attribute is missing or unknown, or a category is not in the domain. The error names the key `where`.
    """
    expected = f"a value for each of {', '.join(domain.names)}"
    for record in records:
        for problem, wrong in (
            ("attribute missing", set(domain.names) - set(record)),
            ("no such attribute", set(record) - set(domain.names)),
        ):
            if wrong:
                raise InputError(problem, where=where, found=min(wrong), expected=expected)
    with locating(where=where):
        return domain.encode(pd.DataFrame(list(records)))
