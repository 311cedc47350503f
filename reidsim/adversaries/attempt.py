"""Expected payoff of an attack, before the adversary decides whether to make it."""

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
    """One attempt per record, which succeeds or fails; arrays of shape (n,).

    Parameters
    ----------
    success, believed_success : ndarray of float64
        Success probability, in truth and as the adversary believes.
    gain, price : float or ndarray of float64
        Gain from a success, and cost of the attempt, in currency units per record.
    """

    success: Floats
    believed_success: Floats
    gain: float | Floats
    price: float | Floats

    @property
    def pays(self) -> NDArray[np.bool_]:
        """Whether the adversary expects a positive payoff; False if indifferent."""
        return np.asarray(self.gain * self.believed_success > self.price * (1 + INDIFFERENCE))

    @property
    def worth(self) -> Floats:
        """Expected payoff as the adversary believes, in currency units per record."""
        return np.asarray(self.gain * self.believed_success - self.price)

    @property
    def payoff(self) -> Floats:
        """True expected payoff, in currency units per record."""
        return np.asarray(self.gain * self.success - self.price)

    @property
    def exploits(self) -> Floats:
        """Number of exploits (people the adversary acts against): one per record."""
        return np.ones(len(self.success))

    def made(self, attacks: NDArray[np.bool_]) -> Response:
        """Return the reply of an adversary who makes the attempts in `attacks`, (n,)."""
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
    """An attack in steps that follows a plan once begun; arrays of shape (n,).

    Parameters
    ----------
    success, believed_success : ndarray of float64
        Success probability of the attack, in truth and as the adversary believes.
    worth, payoff : ndarray of float64
        Expected payoff as the adversary believes, and in truth, in currency units per record.
    pays : ndarray of bool
        Whether the adversary expects a positive payoff; False if indifferent.
    exploits : ndarray of float64
        Expected number of exploits (people the adversary acts against).
    gain : float
        Gain from a success, in currency units per record.
    """

    success: Floats
    believed_success: Floats
    worth: Floats
    payoff: Floats
    pays: NDArray[np.bool_]
    exploits: Floats
    gain: float

    def made(self) -> Response:
        """Return the reply of an adversary who makes the profitable attacks."""
        amounts = (self.success, self.believed_success, self.payoff, self.exploits)
        return Response(self.pays, *(np.where(self.pays, amount, 0.0) for amount in amounts), gain=self.gain)


def check_amounts(gain: float | Floats, cost: float | Floats) -> None:
    """Raise InputError if a gain or cost is negative."""
    for name, amount in (("gain", gain), ("cost", cost)):
        lowest = np.min(amount)
        if not lowest >= 0:
            raise InputError(f"{name} of the adversary is negative", found=float(lowest), expected="0 or more")


def of_rows(amount: float | Floats, rows: Rows | slice | None) -> float | Floats:
    """Return the amounts of the records in `rows`; a single amount is returned as is."""
    return amount if rows is None or np.ndim(amount) == 0 else np.asarray(amount)[rows]


@runtime_checkable
class Weighing(Adversary, Protocol):
    """An adversary who decides by the expected payoff of an attack."""

    def weigh(self, linkage: Linkage, rows: Rows | None = None) -> Attempt | PlannedAttempt:
        """Return the attack on each record with its expected payoff.

        The result includes unprofitable attacks. Parameters are the parameters of `Adversary.respond`.
        """
        ...
