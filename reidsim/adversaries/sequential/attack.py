"""The parameters of a sequential re-identification attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from reidsim.adversaries.factored_mdp import METHODS, Method
from reidsim.adversaries.rationality import logistic
from reidsim.adversaries.response import INDIFFERENCE, check_fields
from reidsim.core.errors import InputError
from reidsim.core.validation import Section
from reidsim.populations.recipe import Money, Share


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

    See Also
    --------
    plan_known : plan for known group sizes.
    plan_unknown : plan for a belief about group sizes.

    References
    ----------
    Xia et al. 2015, Process-Driven Data Privacy, CIKM. https://doi.org/10.1145/2806416.2806580

    Examples
    --------
    >>> import reidsim
    >>> attack = reidsim.SequentialAttack(gain=300, access_cost=20, exploit_cost=10)
    >>> reidsim.plan_known(attack, [1, 5, 50]).accesses.tolist()
    [True, True, False]
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
        amounts, problem = "gain access_cost link_cost exploit_cost penalty", "value out of range"
        check_fields(self, amounts, lambda x: 0 <= x < np.inf, "amount out of range", "0 or more, finite")
        check_fields(self, "prior discount", lambda x: 0 < x <= 1, problem, "above 0, at most 1")
        check_fields(self, "detection_intercept detection_slope", np.isfinite, problem, "a number")
        check_fields(self, "max_penalties", _is_limit, problem, "a whole number of 1 or more, or no limit")
        timings = ("next-state", "at-action")
        check_fields(self, "penalty_timing", timings.__contains__, "unknown timing", "'next-state' or 'at-action'")
        check_fields(self, "solver", METHODS.__contains__, "unknown solver", f"one of {', '.join(METHODS)}")

    @property
    def counts_penalties(self) -> bool:
        """Whether the number of penalties paid so far affects later exploits.

        It does if penalties are limited and above 0, and detection does not end the attack.
        """
        return self.max_penalties is not None and not self.detection_ends_attack and self.penalty > 0

    @property
    def indifference(self) -> float:
        """Largest payoff that counts as 0, in currency units.

        It is the rounding error of the expected gain from a group of one person.
        """
        return INDIFFERENCE * self.gain * self.prior

    @property
    def penalty_due(self) -> float:
        """Value of the penalty at the time of the exploit, in currency units.

        It is the penalty, discounted by one step if it is charged in the next state.
        """
        return self.penalty * (self.discount if self.penalty_timing == "next-state" else 1.0)

    def detection(self, exploits: int) -> NDArray[np.float64]:
        """Return the detection probability of each exploit, shape (exploits,) (Eq. 4).

        `exploits` is the number of exploits; item j belongs to exploit j, from 0.
        """
        return logistic(self.detection_intercept + self.detection_slope * np.arange(exploits))

    def going_on(self, exploits: int) -> NDArray[np.float64]:
        """Return the probability that detection does not end the attack, by exploit.

        The shape is (exploits,). It is 1 unless `detection_ends_attack` is true.
        """
        return 1.0 - self.detection(exploits) if self.detection_ends_attack else np.ones(exploits)


def _is_limit(number: object) -> bool:
    return number is None or (isinstance(number, int) and number >= 1)


class UnconfirmedSuccess(Section):
    """A noisy signal of success, in place of its observation.

    The adversary claims the first candidate with a positive signal. A positive signal must
    make a person more likely to be the right one: the sum of sensitivity and specificity is above 1.

    Attributes
    ----------
    sensitivity
        probability of a positive signal if the candidate is the right person
    specificity
        probability of a negative signal if the candidate is a wrong person
    false_claim_cost
        cost of a claim about a wrong person
    """

    sensitivity: Share
    specificity: Share
    false_claim_cost: Money = 0.0

    @model_validator(mode="after")
    def _informative(self) -> UnconfirmedSuccess:
        is_wrong, expected = self.sensitivity + self.specificity <= 1, "a sum with specificity above 1"
        self.refuse_if(is_wrong, "the signal is uninformative", "sensitivity", expected)
        return self


def checked_group_sizes(group_sizes: NDArray[np.number]) -> NDArray[np.int64]:
    """Return group sizes as int64, in the same shape.

    Raises
    ------
    InputError
        If a group size is negative or not a whole number.
    """
    sizes = np.asarray(group_sizes)
    whole = np.where(np.isfinite(sizes), sizes, -1).astype(np.int64)
    wrong = (whole < 0) | (whole != sizes)
    if wrong.any():
        found, expected = sizes[wrong].flat[0].item(), "whole numbers of 0 or more"
        raise InputError("invalid group size", where="group sizes", found=found, expected=expected)
    return whole
