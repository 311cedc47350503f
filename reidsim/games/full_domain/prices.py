"""Payoff parameters by kind of record, at several parameter points."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats

# Benefit, loss, gain and cost.
FourArrays = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Prices:
    """Benefit, loss, gain and cost at each parameter point, for each kind of record.

    Records of a kind have the same payoff parameters.

    Parameters
    ----------
    benefit, loss : ndarray of float64, shape (n_points, n_kinds)
        Publisher's benefit from an ungeneralized record, and loss if the record is re-identified; currency units per
        record. Scalars, (n_points,) and (n_points, n_kinds) are accepted and broadcast.
    gain, cost : ndarray of float64, shape (n_points, n_kinds)
        Adversary's gain from a re-identified record, and cost of an attempt; currency units per record.

    Raises
    ------
    InputError
        If an amount is negative or not finite.
    """

    benefit: Floats
    loss: Floats
    gain: Floats
    cost: Floats

    def __post_init__(self) -> None:
        given = [np.asarray(getattr(self, item.name), dtype=np.float64) for item in fields(self)]
        spread = np.broadcast_arrays(*(array if array.ndim > 1 else array.reshape(-1, 1) for array in given))
        for item, array in zip(fields(self), spread, strict=True):
            if not (array >= 0).all() or not np.isfinite(array).all():
                wrong = array[~((array >= 0) & np.isfinite(array))][0].item()
                raise InputError("payoff parameter out of range", where=item.name, found=wrong, expected="0 or more")
            # Compiled functions warn of views of broadcast arrays.
            object.__setattr__(self, item.name, np.array(array, order="C"))

    @classmethod
    def of_kinds(cls, benefit: ArrayLike, loss: ArrayLike, gain: ArrayLike, cost: ArrayLike) -> Prices:
        """Return the prices of kinds of records, arrays of shape (n_kinds,), at one point."""
        return cls(*(np.atleast_2d(np.asarray(price, dtype=np.float64)) for price in (benefit, loss, gain, cost)))

    @property
    def n_points(self) -> int:
        """Number of parameter points."""
        return len(self.benefit)

    @property
    def n_kinds(self) -> int:
        """Number of kinds of records."""
        return int(self.benefit.shape[1])

    @property
    def arrays(self) -> FourArrays:
        """Benefit, loss, gain and cost, (n_points, n_kinds) each."""
        return self.benefit, self.loss, self.gain, self.cost

    def point(self, number: int) -> Prices:
        """Return the prices at one point, given its number from 0."""
        return self.points(np.array([number]))

    def points(self, numbers: NDArray[np.intp]) -> Prices:
        """Return the prices at some points, given their numbers from 0."""
        return Prices(*(array[numbers] for array in self.arrays))
