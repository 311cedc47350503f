"""The keys that every population recipe has, and the means by which it makes its population."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field

from reidsim.bundled import data_file
from reidsim.errors import InputError
from reidsim.populations.population import Individuals, Population
from reidsim.tables import read_table, require_columns
from reidsim.validation import LARGEST_SEED, Section

Share = Annotated[float, Field(ge=0, le=1)]
# Above the limit, differences between payoffs are smaller than rounding errors.
Money = Annotated[float, Field(ge=0, le=1e15, description="currency units per record")]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]


def _ends_no_cell(delimiter: str) -> str:
    if delimiter in '"\r\n\0':
        expected = 'one character other than ", a null character and a line break'
        raise InputError("invalid delimiter", found=delimiter, expected=expected)
    return delimiter


Delimiter = Annotated[str, Field(min_length=1, max_length=1), AfterValidator(_ends_no_cell)]


@dataclass(frozen=True)
class Making:
    """The means by which a recipe makes its population.

    Parameters
    ----------
    folder : Path
        Folder of the recipe's files.
    name : str
        Name of the population.
    seed : int
        Seed of the draw.
    expected : bool
        Whether to return expected counts (float64) instead of a draw, if the recipe has them.
    other : callable
        Returns the population or individuals of another recipe, given its name and `expected`.
    progress : callable, optional
        Called with the task, the number of completed steps and their total number; only for genealogies.
    """

    folder: Path
    name: str
    seed: int
    expected: bool = False
    other: Callable[[str, bool], Population | Individuals] | None = None
    progress: Callable[[str, int, int], None] | None = None

    def cells(self, recipe: str, *, expected: bool | None = None) -> Population:
        """Return the population of another recipe, counted by cell."""
        made = self._other(recipe, self.expected if expected is None else expected)
        return made if isinstance(made, Population) else made.population()

    def people(self, recipe: str) -> Individuals:
        """Return the population of another recipe, one row per person."""
        made = self._other(recipe, False)
        return Individuals.from_population(made) if isinstance(made, Population) else made

    def _other(self, recipe: str, expected: bool) -> Population | Individuals:
        assert self.other is not None  # noqa: S101 # given for a recipe that names another one
        return self.other(recipe, expected)

    def rng(self, kind: str = "") -> np.random.Generator:
        """Return the random generator of a draw.

        With `kind`, it is a separate stream: a population drawn with the same seed does not reveal the people drawn.
        """
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=tuple(kind.encode())))


class RecipeHead(Section):
    """The keys that every recipe has.

    Attributes
    ----------
    title
        title shown by `reidsim list`
    source
        origin of the figures
    """

    title: str = ""
    source: str = ""


def read_figures(
    file: str, folder: Path, columns: Iterable[str], *, delimiter: str = ",", encoding: str | None = None
) -> tuple[pd.DataFrame, Path]:
    """Return a recipe's data file as a table of text.

    The table must have the required columns.

    Parameters
    ----------
    file : str
        Path relative to the recipe's folder, or ``bundled:`` and a path. Lines at the top of the file that start with
        ``#`` are skipped.
    folder : Path
        Folder of the recipe.
    columns : iterable of str
        Required columns.
    delimiter, encoding
        Delimiter and encoding of a CSV file.

    Returns
    -------
    frame : DataFrame
        Content of the file; every value is text.
    path : Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a column.
    """
    path = data_file(file, folder, "populations")
    frame = read_table(path, delimiter=delimiter, comment="#", encoding=encoding)
    require_columns(frame, columns, path)
    return frame, path
