"""A population with one row of codes per person.

It is for uses that need more than counts by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.memory import require_memory
from reidsim.populations.domain import Codes, Domain
from reidsim.populations.population import Population
from reidsim.populations.sampling import UNKNOWN


@dataclass(frozen=True)
class Individuals:
    """People with attributes from a domain, one row per person.

    Parameters
    ----------
    domain : Domain
        Attributes and their values.
    codes : ndarray of int32, shape (n_people, n_attributes)
        Codes of the people's values; ``UNKNOWN`` (-1) for a missing value.
    name : str
        Name in messages and results.
    source : str
        Origin of the figures.

    Raises
    ------
    InputError
        If the population is empty.
    """

    domain: Domain
    codes: Codes
    name: str = "individuals"
    source: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.codes) == 0:
            raise InputError("the population is empty", where=self.name)

    def __repr__(self) -> str:
        return f"Individuals({self.name!r}: {len(self.codes):,} people, {self.domain})"

    @classmethod
    def of(cls, population: Population) -> Individuals:
        """Return one row per person of a population counted by cell.

        Rows are in the order of its cells.

        Raises
        ------
        InputError
            If the population has expected counts, or the rows do not fit into memory.
        """
        counts = population.whole_counts("expected counts cannot be converted to individuals")
        needed = int(counts.sum()) * len(population.domain.attributes) * population.cells.itemsize
        require_memory(needed, "too many people for one row per person", where=population.name)
        codes = np.repeat(population.cells, counts, axis=0)
        return cls(population.domain, codes, name=population.name, source=population.source)

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(self.codes)

    def column(self, attribute: str) -> Codes:
        """Return the codes of an attribute, shape (n_people,)."""
        return self.codes[:, self.domain.position(attribute)]

    def select(self, attributes: Sequence[str]) -> Individuals:
        """Return the same people with a subset of their attributes, in the given order."""
        columns = [self.domain.position(name) for name in attributes]
        return replace(self, domain=self.domain.select(attributes), codes=self.codes[:, columns])

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Individuals:
        """Return a subset of the people, selected by row numbers or by a mask."""
        return replace(self, codes=self.codes[rows])

    def population(self) -> Population:
        """Return the population of these people, counted by cell.

        Raises
        ------
        InputError
            If a value is missing; the message names the attribute and the number of missing values.
        """
        missing = (self.codes == UNKNOWN).sum(axis=0)
        if missing.any():
            position = int(missing.argmax())
            where, found = f"{self.name}, {self.domain.names[position]!r}", f"{int(missing[position])} missing"
            raise InputError("people with missing values cannot be counted in cells", where=where, found=found)
        return Population.from_records(self.domain, self.codes, name=self.name, source=self.source)

    def to_frame(self) -> pd.DataFrame:
        """Return a table of labels, one categorical column per attribute.

        Missing values are NaN.
        """
        return self.domain.decode(self.codes)
