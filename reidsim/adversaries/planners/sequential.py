"""The planner ``fmdp``: a sequential attack as a factored Markov decision process."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from reidsim.adversaries.planners.base import EVERYBODY, EXPECTED_PAYOFF, GAINS, Amount, Planner, Register, planners
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess
from reidsim.errors import InputError


@planners.register("fmdp")
class Sequential(Planner):
    """Make an adversary who plans each attack step by step (Xia et al. 2015).

    The steps are: pay for access, link, exploit candidates one by one. The adversary may stop at any step.
    """

    label = "the sequential attack"
    provides = frozenset({EXPECTED_PAYOFF, GAINS})
    keys = ("sequential",)

    @classmethod
    def make(cls, section: Any, gain: Amount, cost: Amount, register: Register = EVERYBODY) -> SequentialAdversary:
        """Return the sequential adversary; `cost` is the cost of one exploit.

        Raises
        ------
        InputError
            If gain or cost differ by record, or a parameter of the section is out of its range.
        """
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack needs the same gain and the same cost for all records")
        signal = section.sequential.unconfirmed
        seen = None if signal is None else UnconfirmedSuccess(**signal.model_dump())
        attack = sequential_attack(section.sequential, float(gain), float(cost), coverage=register.coverage)
        return SequentialAdversary(attack, register.size, seen)


def sequential_attack(section: Any, gain: float, exploit_cost: float, *, coverage: float = 1.0) -> SequentialAttack:
    """Return the parameters of a sequential attack.

    Parameters
    ----------
    section : SequentialSection
        The other parameters.
    gain, exploit_cost : float
        Gain from exploiting the right person and cost of an exploit, in currency units per record.
    coverage : float
        Probability that the record's person is in the register; the prior if the section has none.
    """
    names = [field.name for field in fields(SequentialAttack)]
    known = {name: getattr(section, name) for name in names if hasattr(section, name)}
    prior = coverage if section.prior is None else section.prior
    return SequentialAttack(**{**known, "gain": gain, "exploit_cost": exploit_cost, "prior": prior})
