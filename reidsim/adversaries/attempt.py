"""What an attack would be worth to an adversary, before it decides whether to make it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import INDIFFERENCE, Adversary, Linkage, Response
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats, Rows


@dataclass(frozen=True)
class Attempt:
    """One attempt at each record, which hits or does not; arrays of shape (n,), money in currency units per record.

    Parameters
    ----------
    success, believed_success : ndarray of float64
        Probability that it names the right person, in truth and as the adversary believes.
    gain, price : float or ndarray of float64
        What the right person is worth, and what is paid whether or not it is the right one.
    """

    success: Floats
    believed_success: Floats
    gain: float | Floats
    price: float | Floats

    @property
    def pays(self) -> NDArray[np.bool_]:
        """Whether the adversary expects more than nothing of it; not where it is indifferent."""
        return np.asarray(self.gain * self.believed_success > self.price * (1 + INDIFFERENCE))

    @property
    def worth(self) -> Floats:
        """Expected payoff, as the adversary believes."""
        return np.asarray(self.gain * self.believed_success - self.price)

    @property
    def payoff(self) -> Floats:
        """Expected payoff, in truth."""
        return np.asarray(self.gain * self.success - self.price)

    @property
    def exploits(self) -> Floats:
        """People acted against."""
        return np.ones(len(self.success))

    def made(self, attacks: NDArray[np.bool_]) -> Response:
        """Return the reply of whoever makes it where `attacks` (n,) says so."""
        return Response(
            attacks=attacks,
            success=self.success,
            believed_success=self.believed_success,
            adversary_payoff=np.where(attacks, self.payoff, 0.0),
            exploits=attacks.astype(np.float64),
            gain=self.gain,
        )


@dataclass(frozen=True)
class PlannedAttempt:
    """An attack that goes on as planned once it has begun; arrays of shape (n,).

    Parameters
    ----------
    success, believed_success : ndarray of float64
        Probability that it ends with the right person, in truth and as the adversary believes.
    worth, payoff : ndarray of float64
        Expected payoff as the adversary believes, and in truth.
    pays : ndarray of bool
        Whether the adversary expects more than nothing of it; not where it is indifferent.
    exploits : ndarray of float64
        Expected number of people acted against.
    gain : float
        What the right person is worth.
    """

    success: Floats
    believed_success: Floats
    worth: Floats
    payoff: Floats
    pays: NDArray[np.bool_]
    exploits: Floats
    gain: float

    def made(self) -> Response:
        """Return the reply of whoever makes it where it pays."""
        amounts = (self.success, self.believed_success, self.payoff, self.exploits)
        return Response(self.pays, *(np.where(self.pays, amount, 0.0) for amount in amounts), gain=self.gain)


def check_amounts(gain: float | Floats, cost: float | Floats) -> None:
    """Refuse an adversary whose gain or cost is negative somewhere."""
    for name, amount in (("gain", gain), ("cost", cost)):
        lowest = np.min(amount)
        if not lowest >= 0:
            raise InputError(f"{name} of the adversary is negative", found=float(lowest), expected="0 or more")


def of_rows(amount: float | Floats, rows: Rows | slice | None) -> float | Floats:
    """Return an amount, which may differ between records, for the records asked for."""
    return amount if rows is None or np.ndim(amount) == 0 else np.asarray(amount)[rows]


@runtime_checkable
class Weighing(Adversary, Protocol):
    """An adversary who decides by what an attack would be worth."""

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt | PlannedAttempt:
        """Return what an attack on each record would be worth, whether or not it is made; see `Adversary`."""
        ...
