"""Unconfirmed success: an exploit yields only a signal, and a claim may be wrong.

The model. It equals the single-record attack, except that the adversary does not observe whether an exploit hit. It
observes a signal, independent between exploits: positive with probability se (sensitivity) if the exploited person is
the right one, and with probability 1 - sp (sp: specificity) otherwise. At the first positive signal, the adversary
claims the person, and the attack on the record ends. It receives the gain if the claim is right and pays the cost C_F
of a false claim otherwise, both one step after the exploit. After a negative signal, it can exploit the next candidate
or stop without a claim. It exploits no person twice, and detection does not depend on the signal. A record is
re-identified if the right person is claimed.

Why it is still a chain in j. After j exploits with negative signals, the right person is any of the N - j people not
exploited with weight sp^j, or any of the j exploited people with weight (1 - se) sp^(j - 1), where N = g / prior. By
Bayes' rule, the next exploit meets the right person with probability ``h_j = 1 / (N - j k)``,
``k = (se + sp - 1) / sp``, which depends only on j. Let c_j be the expected outlay and a_j the probability that
detection lets the attack continue. The value of the attack is

    W_j = max(0, -c_j + gamma (h_j se G - (1 - h_j) (1 - sp) C_F + a_j sp (1 - k h_j) W_{j+1})).

With h' = k h, these are the values of a confirmed attack (Eq. 3) with other parameters: prior k prior, gain
(se G + (1 - sp) C_F) / (k sp), exploit cost C_e + gamma (1 - sp) C_F, discount gamma sp, and the penalty due at once.
Results for confirmed attacks therefore hold here too; for example, the value of a group never rises with its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.exploit_values import ExploitValues, exploit_values, running_sums
from reidsim.errors import InputError


@dataclass(frozen=True)
class UnconfirmedSuccess:
    """Signal of an exploit's success.

    Parameters
    ----------
    sensitivity : float
        Probability of a positive signal from the right person.
    specificity : float
        Probability of a negative signal from any other person. A positive signal must make the person more likely to
        be the right one: the sum of sensitivity and specificity is above 1.
    false_claim_cost : float
        C_F, cost of claiming the wrong person, in currency units.

    Raises
    ------
    InputError
        If a value is out of its range.
    """

    sensitivity: float
    specificity: float
    false_claim_cost: float = 0.0

    def __post_init__(self) -> None:
        for name in ("sensitivity", "specificity"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise InputError("probability out of range", where=name, found=share, expected="0 to 1")
        if not self.sensitivity + self.specificity > 1:
            found = (self.sensitivity, self.specificity)
            expected = "a sum above 1"
            raise InputError(
                "the signal is uninformative", where="sensitivity, specificity", found=found, expected=expected
            )
        if not 0 <= self.false_claim_cost < np.inf:
            expected = "0 or more, finite"
            raise InputError(
                "amount out of range", where="false_claim_cost", found=self.false_claim_cost, expected=expected
            )

    @property
    def weight_removed(self) -> float:
        """Share k by which a negative signal rules out a candidate; 1 if confirmed."""
        return min(1.0, (self.sensitivity + self.specificity - 1.0) / self.specificity)


def confirmed_equivalent(attack: SequentialAttack, signal: UnconfirmedSuccess) -> SequentialAttack:
    """Return the attack with confirmed success and equal values of linked groups.

    Only the values are equal, not the re-identification probabilities and the numbers of exploits; see
    `unconfirmed_values`.
    """
    k, false_claim = signal.weight_removed, (1.0 - signal.specificity) * signal.false_claim_cost
    return replace(
        attack,
        gain=(signal.sensitivity * attack.gain + false_claim) / (k * signal.specificity),
        exploit_cost=attack.exploit_cost + attack.discount * false_claim,
        prior=k * attack.prior,
        discount=attack.discount * signal.specificity,
        penalty=attack.penalty_due,
        penalty_timing="at-action",
    )


def unconfirmed_values(attack: SequentialAttack, signal: UnconfirmedSuccess, largest: int) -> ExploitValues:
    """Compute the value of linked groups with unconfirmed success, by group size.

    Sizes run up to `largest`, or up to the first size with value 0.

    Parameters
    ----------
    attack : SequentialAttack
        Parameters of the attack.
    signal : UnconfirmedSuccess
        Signal of an exploit's success.
    largest : int
        Largest group size of interest.

    Returns
    -------
    ExploitValues
        `exploits_if_missing` is not a number of exploits here: it is scaled so that ``prior / g x exploits_if_missing``
        is the probability of claiming the right person. `value_if_missing` has no meaning for this attack: it belongs
        to the attack of `confirmed_equivalent`.

    Raises
    ------
    InputError
        If the number of penalties is limited, and the table grows too large before a size has value 0.
    """
    equivalent = confirmed_equivalent(attack, signal)
    table = exploit_values(equivalent, largest, specificity=signal.specificity)
    if attack.counts_penalties:
        return replace(table, exploits_if_missing=signal.sensitivity * table.exploits_if_missing)
    detection = attack.detection(table.largest)
    going_on = 1.0 - detection if attack.detection_ends_attack else np.ones(table.largest)
    # Probability of reaching exploit j with negative signals if the right person is not among the first j.
    reach = np.concatenate([[1.0], np.cumprod(signal.specificity * going_on)])[:-1]
    made, made_in_order = running_sums(reach), running_sums(np.arange(table.largest) * reach)
    m, sizes = table.exploits_undetected, np.maximum(np.arange(table.largest + 1), 1)
    return replace(
        table,
        exploits_if_missing=signal.sensitivity * made[m],
        expected_exploits=made[m] - equivalent.prior / sizes * made_in_order[m],
    )
