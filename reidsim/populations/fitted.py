"""Population of recipes of kind ``fitted``: people fitted to published margins."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.errors import InputError, listed, locating
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.figure_files import read_figures
from reidsim.populations.population import Population
from reidsim.populations.proportional_fitting import Margin, fit_margins
from reidsim.populations.recipe import RecipeHead, Seed
from reidsim.populations.value_groups import values_in_order
from reidsim.random_counts import draw_multinomial
from reidsim.tables import numbers
from reidsim.validation import Section

Floats = NDArray[np.float64]

# Maximum number of cells of the table, which is dense: 400 MB per copy.
_MOST_CELLS = 50_000_000


class CountTable(Section):
    """A CSV file of counts, one row per cell.

    Rows of the same cell are added; a cell without a row has count 0.
    """

    file: str = Field(description="CSV file with one row per cell; rows of the same cell are added")
    columns: dict[str, str] = Field(min_length=1, description="column of the file, by attribute")
    count: str = Field(description="column of the file with the counts")


class StartingPoint(Section):
    """The starting table: a population or a table of counts.

    It determines the odds ratios of the attributes.
    """

    population: str | None = Field(default=None, description="population that gives the odds ratios")
    attributes: tuple[str, ...] = Field(default=(), description="attributes of the population to use; default: all")
    table: CountTable | None = Field(default=None, description="counts in a CSV file, in place of a population")

    @model_validator(mode="after")
    def _has_one_table(self) -> StartingPoint:
        if (self.population is None) == (self.table is None):
            raise InputError("the starting table is missing or given twice", expected="either population or table")
        if self.attributes and self.population is None:
            raise InputError(
                "attributes without a population", where="attributes", expected="key population in the same section"
            )
        return self


class MarginTable(CountTable):
    """A margin of the population: counts by a subset of its attributes."""

    name: str = Field(default="", description="name of the margin in messages")


class FittedRecipe(RecipeHead):
    """Recipe of people fitted to the margins of published tables."""

    kind: Literal["fitted"] = Field(description="kind of recipe")
    seed: Seed = Field(description="seed of the random draw")
    people: Annotated[int, Field(gt=0, lt=2**53)] | None = Field(
        default=None, description="number of people to which all margins are scaled; default: no scaling"
    )
    start: StartingPoint | None = Field(
        default=None, description="starting point, which determines the odds ratios; default: equal cells"
    )
    margin: tuple[MarginTable, ...] = Field(min_length=1, description="tables whose counts the population must have")
    tolerance: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=1e-9,
        description="largest accepted difference between margins and fitted counts, as a share of the people",
    )
    max_rounds: Annotated[int, Field(gt=0)] = Field(
        default=1000, description="largest number of rounds of iterative proportional fitting"
    )


def fitted_population(
    recipe: FittedRecipe, start: Population | None, folder: Path, *, name: str, expected: bool, seed: int
) -> Population:
    """Return the population of a recipe of kind ``fitted``.

    Parameters
    ----------
    recipe : FittedRecipe
        Parsed recipe.
    start : Population or None
        The population that ``recipe.start`` names, if any.
    folder : Path
        Folder of the recipe's files.
    name : str
        Name of the population.
    expected : bool
        Whether to return the fitted counts (float64) instead of drawing people from them.
    seed : int
        Seed of the draw.

    Returns
    -------
    Population
        Population over the attributes of the starting table, followed by further attributes of margins, in order. Its
        `source` states the remaining error of the margins.

    Raises
    ------
    InputError
        If a file cannot be used, margins contradict each other or cannot be reached, or there are more than 50 million
        cells.
    """
    tables = [(margin, *_read(margin, folder)) for margin in recipe.margin]
    known, counts = _start(recipe, start, folder)
    domain = _domain(known, tables)
    _require_few_cells(domain)
    # In the starting table, attributes that occur only in margins are independent of all other attributes.
    added = (1,) * (len(domain.attributes) - counts.ndim)
    table = np.broadcast_to(counts.reshape(*counts.shape, *added), domain.shape)
    margins = []
    for number, (section, frame, path) in enumerate(tables, start=1):
        title = section.name or f"{number} ({listed(section.columns)})"
        target = _counted(section, frame, domain.select(tuple(section.columns)), path)
        if recipe.people is not None:
            target = target * (recipe.people / max(target.sum(), np.finfo(float).tiny))
        axes = tuple(domain.position(attribute) for attribute in section.columns)
        margins.append(Margin(title, axes, target))
    fitted = fit_margins(table, margins, domain, tolerance=recipe.tolerance, max_rounds=recipe.max_rounds)
    if not fitted.converged:
        raise InputError(
            "no table found with all margins",
            where=f"margin {fitted.worst!r}",
            found=f"an error of {fitted.error:.2g} of the people after {fitted.rounds} rounds",
            expected=f"at most {recipe.tolerance:g}",
            hint="use a starting table with fewer empty cells, or check that all margins agree",
        )
    source = f"{recipe.source} ({fitted})" if recipe.source else str(fitted)
    if expected:
        return Population.from_dense(domain, fitted.table, name=name, source=source)
    people = round(float(fitted.table.sum()))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(b"fitted")))
    drawn = draw_multinomial(rng, people, fitted.table.ravel()).reshape(domain.shape)
    return Population.from_dense(domain, drawn, name=name, source=source)


def _require_few_cells(domain: Domain, where: str | None = None, hint: str | None = None) -> None:
    cells, expected = prod(domain.shape), f"at most {_MOST_CELLS:,}"
    if cells > _MOST_CELLS:
        raise InputError("too many cells to fit", where=where, found=cells, expected=expected, hint=hint)


def _read(table: CountTable, folder: Path) -> tuple[pd.DataFrame, Path]:
    return read_figures(table.file, folder, [*table.columns.values(), table.count])


def _start(recipe: FittedRecipe, start: Population | None, folder: Path) -> tuple[tuple[Attribute, ...], Floats]:
    """Return the attributes and counts of the starting table.

    By default, there are no attributes and one cell with count 1.
    """
    if recipe.start is None:
        return (), np.ones(())
    if recipe.start.table is not None:
        section = recipe.start.table
        frame, path = _read(section, folder)
        attributes = tuple(Attribute(name, values_in_order(frame[column])) for name, column in section.columns.items())
        return attributes, _counted(section, frame, Domain(attributes), path)
    if start is None:
        raise InputError("the starting population is missing", where="start.population")
    if recipe.start.attributes:
        start = start.marginal(recipe.start.attributes)
    _require_few_cells(start.domain, where="start", hint="select fewer attributes with start.attributes")
    counts = np.zeros(start.domain.shape)
    counts[tuple(start.cells.T)] = start.counts
    return start.domain.attributes, counts


def _domain(known: tuple[Attribute, ...], tables: list[tuple[MarginTable, pd.DataFrame, Path]]) -> Domain:
    """Return the domain of the known attributes and further attributes of margins.

    The latter have all values that occur.
    """
    names = [attribute.name for attribute in known]
    seen: dict[str, list[pd.Series[str]]] = {}
    for section, frame, _ in tables:
        for attribute, column in section.columns.items():
            if attribute not in names:
                seen.setdefault(attribute, []).append(frame[column])
    added = (Attribute(name, values_in_order(pd.concat(columns))) for name, columns in seen.items())
    return Domain((*known, *added))


def _counted(table: CountTable, frame: pd.DataFrame, domain: Domain, path: Path) -> Floats:
    """Return the counts of a file as a table over the domain of its attributes."""
    people = numbers(frame, table.count, path).to_numpy(dtype=np.float64)
    columns = zip(domain.attributes, table.columns.values(), strict=True)
    with locating(path):
        codes = [attribute.encode(frame[column], column) for attribute, column in columns]
    counts = np.zeros(domain.shape)
    np.add.at(counts, tuple(codes), people)
    return counts
