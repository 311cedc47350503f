"""Read the cases of a scenario from a file, or simulate them as an epidemic wave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError, locating, refuse_rows
from reidsim.kinds.dynamic.schema import DynamicScenario, EpidemicSection
from reidsim.populations.domain import Attribute, Codes, Domain, natural_categories
from reidsim.populations.population import Population
from reidsim.portable_math import exp
from reidsim.random_counts import draw_multinomial, draw_multivariate_hypergeometric
from reidsim.random_streams import random_stream
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.records import select_columns
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.hierarchies import hierarchy_of, hierarchy_rows, over_domain
from reidsim.scenarios.hierarchy_schema import Table
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import people_named, table_named
from reidsim.tables import numbers, read_table, require_columns


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases of a scenario, and the people to link them to.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_cases, n_attributes)
        Category codes over the domain of the hierarchies; one row per case, in the order of the file or, if simulated,
        of the periods.
    period : ndarray of int64, shape (n_cases,)
        Number of each case's period, from 0.
    periods : tuple of str
        Labels of the periods, in order; each period has at least one case.
    forecast : ndarray of float64, shape (n_periods,)
        Benefit that a forecast adds to each record of the period, in currency units.
    hierarchies : tuple of Hierarchy
        Hierarchy of each attribute, in the order of the columns of `codes`.
    population, voters : Population, optional
        People who may become a case, and people in the adversary's list, over the same domain.
    """

    codes: Codes
    period: NDArray[np.int64]
    periods: tuple[str, ...]
    forecast: Floats
    hierarchies: tuple[Hierarchy, ...]
    population: Population | None
    voters: Population | None


def read_cases(loaded: Scenario[DynamicScenario]) -> Cases:
    """Read or simulate the cases, and read the people of `population` and `voters`.

    The categories of an attribute are the categories of the population; without one, of the list; without either, the
    values in the file. Periods without a simulated case are left out; the other periods keep their labels.

    Raises
    ------
    InputError
        If a file cannot be used, or a hierarchy lacks a value; the message names the value, its row and its column.
    """
    scenario = loaded.scenario
    names = tuple(scenario.attributes)
    population = None if scenario.population is None else _people("population", scenario.population.recipe, loaded)
    voters = None if scenario.voters is None else _people("voters", scenario.voters.recipe, loaded)
    people = population or voters
    path, frame = _file(loaded)
    labels = None if frame is None else _labels(scenario, frame, path)
    if people is not None:
        domain = people.domain
    else:
        assert labels is not None  # noqa: S101 - simulated cases have a population; for the type checker
        domain = Domain(tuple(Attribute(name, natural_categories(labels[name])) for name in names))
    hierarchies = tuple(_hierarchy(name, domain[name], loaded) for name in names)
    if voters is not None:
        with locating(where="voters.recipe"):
            voters = over_domain(domain, voters, scenario.attributes)
    if labels is None or frame is None:
        assert scenario.epidemic is not None  # noqa: S101 - the schema guarantees it; for the type checker
        assert population is not None  # noqa: S101 - as above
        groups = hierarchies[names.index(scenario.epidemic.area)].groups
        codes, period = _epidemic(scenario.epidemic, population, groups, scenario.seed)
        periods: tuple[str, ...] = tuple(str(number + 1) for number in range(scenario.epidemic.periods))
        forecast = np.zeros(len(periods))
    else:
        codes = _codes(scenario, labels, domain, path)
        periods, period = _periods(frame, scenario.release.period, path)
        forecast = _forecast(scenario.release.forecast, frame, period, len(periods), path)
    held, period = np.unique(period, return_inverse=True)
    periods = tuple(periods[number] for number in held)
    return Cases(codes, period.astype(np.int64), periods, forecast[held], hierarchies, population, voters)


def columns_of(scenario: DynamicScenario) -> dict[str, str]:
    """Return the column of the file for each attribute; by default, its name."""
    return {name: section.column or name for name, section in scenario.attributes.items()}


def _people(key: str, recipe: str, loaded: Scenario[DynamicScenario]) -> Population:
    """Return the people of a recipe, counted by combination of attribute values.

    Counts that are not whole numbers are refused; the message names the section `key`.
    """
    with locating(where=f"{key}.recipe"):
        people = people_named(recipe, loaded).marginal(tuple(loaded.scenario.attributes))
        if not np.issubdtype(people.counts.dtype, np.integer):
            raise InputError(
                "the population has expected counts", found=people.name, expected="whole numbers of people"
            )
    return people


def _file(loaded: Scenario[DynamicScenario]) -> tuple[Path, pd.DataFrame | None]:
    section = loaded.scenario.release
    if section.path is None:
        return loaded.path, None
    return table_named(section.path, loaded, "release.path", partial(read_table, delimiter=section.delimiter))


def _labels(scenario: DynamicScenario, frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    columns = columns_of(scenario)
    labels = select_columns(frame, columns, {}, path)
    for name, column in columns.items():
        missing = labels[name].eq("")
        refuse_rows(missing, "value missing", source=path, column=column, expected="a value in every row")
    return labels


def _codes(scenario: DynamicScenario, labels: pd.DataFrame, domain: Domain, path: Path) -> Codes:
    columns = columns_of(scenario)
    with locating(path):
        return np.column_stack([domain[name].encode(labels[name], columns[name]) for name in columns])


def _hierarchy(name: str, attribute: Attribute, loaded: Scenario[DynamicScenario]) -> Hierarchy:
    section = loaded.scenario.attributes[name]
    table = isinstance(section.hierarchy, Table)
    rows = hierarchy_rows(name, section, loaded, set(attribute.categories)) if table else None
    return hierarchy_of(attribute, section.hierarchy, loaded.folder, f"attributes.{name}.hierarchy", rows)


def _periods(frame: pd.DataFrame, column: str, path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    require_columns(frame, [column], path)
    values = frame[column].str.strip()
    refuse_rows(values.eq(""), "value missing", source=path, column=column, expected="the period of the case")
    attribute = Attribute(column, natural_categories(values))
    return attribute.categories, attribute.encode(values).astype(np.int64)


def _forecast(column: str | None, frame: pd.DataFrame, period: NDArray[np.int64], n_periods: int, path: Path) -> Floats:
    """Return the benefit per record of each period's forecast, shape (n_periods,).

    Amounts are in currency units; 0 without a column.
    """
    if column is None:
        return np.zeros(n_periods)
    require_columns(frame, [column], path)
    amounts = np.asarray(numbers(frame, column, path), dtype=np.float64)
    first = np.unique(period, return_index=True)[1]
    like = first[period]
    refuse_rows(
        amounts != amounts[like],
        "cases of the same period have different benefits of the forecast",
        source=path,
        column=column,
        found=amounts,
        expected=lambda row: f"{amounts[like[row]]:g}, as in row {int(like[row]) + 1}",
    )
    return amounts[first]


def _epidemic(
    section: EpidemicSection, population: Population, groups: NDArray[np.int32], seed: int
) -> tuple[Codes, NDArray[np.int64]]:
    """Draw distinct people as cases, and draw the period of each.

    The numbers of cases by area and period are multinomial, in proportion to the area's people times a normal curve
    around the area's peak. Within an area, every person is equally likely to become a case.

    Returns
    -------
    codes : ndarray of int32, shape (n_cases, n_attributes)
        Category codes of the cases, in the order of periods.
    period : ndarray of int64, shape (n_cases,)
        Number of each case's period, from 0.
    """
    where = "epidemic.level"
    if section.level >= len(groups):
        raise InputError("no such level", where=where, found=section.level, expected=f"at most {len(groups) - 1}")
    rng = random_stream(seed, "epidemic")
    area = groups[section.level][population.cells[:, population.domain.position(section.area)]]
    people = np.bincount(area, weights=population.counts)
    peaks = section.peak + section.spread * rng.random(len(people))
    distance = (np.arange(1, section.periods + 1) - peaks[:, None]) / section.width
    wave = people[:, None] * exp(-(distance**2) / 2)
    if not wave.sum() > 0:
        raise InputError("no period has cases", where="epidemic.peak", found=section.peak)
    drawn = draw_multinomial(rng, section.cases, np.asarray(wave.ravel(), dtype=np.float64)).reshape(wave.shape)
    cells, period = [], []
    for number, by_period in enumerate(drawn):
        n_cases, here = int(by_period.sum()), np.flatnonzero(area == number)
        if n_cases > people[number]:
            raise InputError(
                "more cases than people in an area",
                where="epidemic.cases",
                found=section.cases,
                expected=f"fewer cases, because one area has only {int(people[number]):,} people",
            )
        if n_cases:
            counts = draw_multivariate_hypergeometric(rng, population.counts[here].astype(np.int64), n_cases)
            cells.append(rng.permutation(np.repeat(here, counts)))
            period.append(np.repeat(np.arange(section.periods), by_period))
    order = np.argsort(np.concatenate(period), kind="stable")
    return population.cells[np.concatenate(cells)[order]], np.concatenate(period)[order]


def shared_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a scenario's content that determines cases and people."""
    used = ("population", "voters", "release", "epidemic", "attributes", "seed")
    return {key: content[key] for key in used if key in content}
