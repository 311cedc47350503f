"""Who exists, one by one: a row of codes per person, where counts by cell do not tell enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.populations.domain import Codes, Domain
from reidsim.populations.population import Population
from reidsim.populations.sampling import UNKNOWN

# Rows of codes made from counts; more people are better left as counts.
_MOST_PEOPLE = 10**8


@dataclass(frozen=True)
class Individuals:
    """People of a domain, one row each.

    Parameters
    ----------
    domain : Domain
    codes : ndarray of int32, shape (n_people, n_attributes)
        ``UNKNOWN`` (-1) where a value is missing.
    name : str
        How messages and results call them.
    source : str
        Where they come from.

    Raises
    ------
    InputError
        If there is nobody, or the codes are not over the domain.
    """

    domain: Domain
    codes: Codes
    name: str = "individuals"
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.shape[1] != len(self.domain.attributes):
            raise InputError(
                "codes and domain disagree",
                where=self.name,
                found=f"codes of shape {self.codes.shape}",
                expected=f"{len(self.domain.attributes)} columns",
            )
        if len(self.codes) == 0:
            raise InputError("the population is empty", where=self.name)
        for position, attribute in enumerate(self.domain.attributes):
            column = self.codes[:, position]
            if column.min() < UNKNOWN or column.max() >= attribute.size:
                raise InputError(
                    "code outside the categories",
                    where=f"{self.name}, {attribute.name!r}",
                    found=int(column.max() if column.max() >= attribute.size else column.min()),
                    expected=f"{UNKNOWN} (missing) to {attribute.size - 1}",
                )

    def __repr__(self) -> str:
        return f"Individuals({self.name!r}: {len(self.codes):,} people, {self.domain})"

    @classmethod
    def of(cls, population: Population) -> Individuals:
        """Return one row per person of a population counted by cell, in the order of its cells.

        Raises
        ------
        InputError
            If its counts are expected ones, or more people than fit in memory.
        """
        if not np.issubdtype(population.counts.dtype, np.integer):
            raise InputError(
                "individuals cannot be made of expected counts", where=population.name, expected="whole people"
            )
        if population.total > _MOST_PEOPLE:
            raise InputError(
                "too many people for a row each",
                where=population.name,
                found=int(population.total),
                expected=f"at most {_MOST_PEOPLE:,}",
            )
        codes = np.repeat(population.cells, population.counts.astype(np.int64), axis=0)
        return cls(population.domain, codes, name=population.name, source=population.source)

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.codes)

    def column(self, attribute: str) -> Codes:
        """Return everybody's codes of one attribute, shape (n_people,)."""
        return self.codes[:, self.domain.position(attribute)]

    def select(self, attributes: Sequence[str]) -> Individuals:
        """Return the same people with some of their attributes, in the order given."""
        columns = [self.domain.position(name) for name in attributes]
        return replace(self, domain=self.domain.select(attributes), codes=self.codes[:, columns])

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Individuals:
        """Return some of the people, by row numbers or a mask."""
        return replace(self, codes=self.codes[rows])

    def population(self) -> Population:
        """Return the people counted by cell.

        Raises
        ------
        InputError
            If a value is missing; names the attribute and how many.
        """
        missing = (self.codes == UNKNOWN).sum(axis=0)
        if missing.any():
            position = int(missing.argmax())
            raise InputError(
                "people with missing values have no cell",
                where=f"{self.name}, {self.domain.names[position]!r}",
                found=f"{int(missing[position])} missing",
            )
        return Population.from_records(self.domain, self.codes, name=self.name, source=self.source)

    def to_frame(self) -> pd.DataFrame:
        """Return labels, one categorical column per attribute; missing values are NaN."""
        return self.domain.decode(self.codes)
