"""The parameters of a sequential re-identification attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.factored_mdp import METHODS, Method
from reidsim.adversaries.rationality import logistic
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.errors import InputError


@dataclass(frozen=True)
class SequentialAttack:
    """Gains, costs and risks of an attack (Xia et al. 2015, sections 3 and 4).

    An adversary can access a registry, link the record to it, and exploit the candidates of the record's equivalence
    class one by one. Each exploit can hit the right person and can be detected. The adversary can stop at any time.
    Amounts are in currency units per record. Each action takes one time step, and later amounts are discounted.

    Parameters
    ----------
    gain : float
        G, gain from exploiting the right person; collected once, one step after the exploit.
    access_cost, link_cost, exploit_cost : float
        C_d, C_l and C_e, costs paid at the time of the action.
    penalty : float
        C_p, penalty for a detected exploit.
    max_penalties : int or None
        n_f, maximum number of penalties; None for no limit (the paper's infinity).
    detection_intercept, detection_slope : float
        h0 and h1: the j-th exploit (from 0) is detected with probability ``1 / (1 + exp(-(h0 + h1 j)))`` (Eq. 4).
    prior : float
        Probability that the record's person is in the registry, in (0, 1].
    discount : float
        gamma, value of one currency unit one step later, in (0, 1]. The paper does not print it; .9 reproduces its
        thresholds.
    penalty_timing : {"next-state", "at-action"}
        Whether the penalty is charged one step after the exploit, like the gain, or at once.
    detection_ends_attack : bool
        Whether a detected exploit is the last exploit (a hit still counts).
    solver : {"backward-induction", "linear-program", "two-level"}
        Method that plans the attack on each record; all three give the same plan. See `programs`.

    Raises
    ------
    InputError
        If a value is out of its range, or the penalty timing or solver is unknown.
    """

    gain: float
    access_cost: float = 0.0
    link_cost: float = 0.0
    exploit_cost: float = 0.0
    penalty: float = 0.0
    max_penalties: int | None = None
    detection_intercept: float = -4.59
    detection_slope: float = 0.0
    prior: float = 1.0
    discount: float = 0.9
    penalty_timing: Literal["next-state", "at-action"] = "next-state"
    detection_ends_attack: bool = False
    solver: Method = "backward-induction"

    def __post_init__(self) -> None:
        for name in ("gain", "access_cost", "link_cost", "exploit_cost", "penalty"):
            amount = getattr(self, name)
            if not 0 <= amount < np.inf:
                raise InputError("amount out of range", where=name, found=amount, expected="0 or more, finite")
        for name in ("prior", "discount"):
            share = getattr(self, name)
            if not 0 < share <= 1:
                raise InputError("value out of range", where=name, found=share, expected="above 0, at most 1")
        for name in ("detection_intercept", "detection_slope"):
            if not np.isfinite(getattr(self, name)):
                raise InputError("value out of range", where=name, found=getattr(self, name), expected="a number")
        if self.max_penalties is not None and not (isinstance(self.max_penalties, int) and self.max_penalties >= 1):
            expected = "a whole number of 1 or more, or no limit"
            raise InputError("value out of range", where="max_penalties", found=self.max_penalties, expected=expected)
        if self.penalty_timing not in ("next-state", "at-action"):
            expected = "'next-state' or 'at-action'"
            raise InputError("unknown timing", where="penalty_timing", found=self.penalty_timing, expected=expected)
        if self.solver not in METHODS:
            expected = f"one of {', '.join(METHODS)}"
            raise InputError("unknown solver", where="solver", found=self.solver, expected=expected)

    @property
    def counts_penalties(self) -> bool:
        """Whether the number of penalties paid so far affects later exploits."""
        return self.max_penalties is not None and not self.detection_ends_attack and self.penalty > 0

    @property
    def indifference(self) -> float:
        """Largest payoff that counts as 0, in currency units.

        It is the rounding error of the expected gain from a group of one person.
        """
        return INDIFFERENCE * self.gain * self.prior

    @property
    def penalty_due(self) -> float:
        """Value of the penalty at the time of the exploit, in currency units."""
        return self.penalty * (self.discount if self.penalty_timing == "next-state" else 1.0)

    def detection(self, exploits: int) -> NDArray[np.float64]:
        """Return the detection probability of each exploit, shape (exploits,) (Eq. 4)."""
        return logistic(self.detection_intercept + self.detection_slope * np.arange(exploits))


def checked_group_sizes(group_sizes: NDArray[np.number]) -> NDArray[np.int64]:
    """Return group sizes as int64.

    Raises
    ------
    InputError
        If a group size is negative or not a whole number.
    """
    sizes = np.asarray(group_sizes)
    finite = np.isfinite(sizes)
    whole = np.where(finite, sizes, 0).astype(np.int64)
    wrong = ~(finite & (sizes == whole) & (sizes >= 0))
    if wrong.any():
        expected = "whole numbers of 0 or more"
        raise InputError(
            "invalid group size", where="group sizes", found=sizes[wrong].flat[0].item(), expected=expected
        )
    return whole
