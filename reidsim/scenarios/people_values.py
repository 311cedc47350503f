"""Attribute values of a scenario's people, from which lists are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reidsim.errors import InputError, require_among
from reidsim.populations.sampling import UNKNOWN
from reidsim.wording import whole_number

Integers = NDArray[np.int64]
AGE, STATE = "age", "state"


@dataclass(frozen=True, eq=False)
class People:
    """Attribute values of a scenario's people.

    Parameters
    ----------
    values : mapping of str to ndarray of int64, shape (n_people,)
        Whole numbers of 0 or more; ``UNKNOWN`` (-1) where a value is missing.
    labels : mapping of str to sequence of str
        Values as text, for attributes whose numbers are codes. The numbers of other attributes are the values.
    loci : tuple of str
        Attributes whose values are alleles.
    rows : ndarray of int64, shape (n_people,), optional
        Row of each person in the population, ascending; by default 0, 1, 2, ...
    """

    values: Mapping[str, Integers]
    labels: Mapping[str, Sequence[str]]
    loci: tuple[str, ...] = ()
    rows: Integers | None = None

    @property
    def n_people(self) -> int:
        """Number of people."""
        return len(next(iter(self.values.values())))

    def coded(self, attribute: str, where: str) -> tuple[Integers, list[str]]:
        """Return the code of each person's value, and the values as text.

        The codes have shape (n_people,). The code is -1 if the value is missing.

        Raises
        ------
        InputError
            If there is no such attribute.
        """
        require_among("no such attribute", (attribute,), self.values, where=where)
        values = self.values[attribute]
        if attribute in self.labels:
            return values, list(self.labels[attribute])
        known = np.unique(values[values != UNKNOWN])
        return np.where(values == UNKNOWN, UNKNOWN, np.searchsorted(known, values)), list(map(str, known.tolist()))

    def numbers(self, attribute: str, where: str) -> Integers:
        """Return each person's value of an attribute as a whole number, shape (n_people,).

        Raises
        ------
        InputError
            If there is no such attribute, or a value is missing or not a whole number.
        """
        codes, labels = self.coded(attribute, where)
        numbers = [whole_number(label) for label in labels]
        if (codes == UNKNOWN).any() or None in numbers:
            raise InputError("the attribute is not a whole number for each person", where=where, found=attribute)
        return np.array(numbers, dtype=np.int64)[codes]
