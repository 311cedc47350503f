"""The people of a scenario by attribute, as the basis of lists."""

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
    """The people of a scenario, by attribute.

    Parameters
    ----------
    values : mapping of str to ndarray of int64, shape (n_people,)
        Whole numbers of 0 or more; ``UNKNOWN`` (-1) where a value is missing.
    labels : mapping of str to sequence of str
        Of attributes whose numbers are codes; others are the numbers themselves.
    loci : tuple of str
        Attributes that are alleles.
    rows : ndarray of int64, shape (n_people,), optional
        Row of the population that each is; in order, if not given.
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
        """Return the code of each person's value, -1 where it is missing, and the values as text.

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
        """Return each person's value of an attribute as a whole number.

        Raises
        ------
        InputError
            If there is no such attribute, or a value is not known or no number.
        """
        codes, labels = self.coded(attribute, where)
        numbers = [whole_number(label) for label in labels]
        if (codes == UNKNOWN).any() or None in numbers:
            raise InputError("not a whole number of everybody", where=where, found=attribute)
        return np.array(numbers, dtype=np.int64)[codes]
