"""Average of adversary types, and adversaries with replaced gain and cost."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from reidsim.adversaries.erring import ErringAdversary
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.errors import InputError
from reidsim.games.adversary_types import AdversaryType


def averaged(types: tuple[AdversaryType, ...]) -> tuple[AdversaryType, ...]:
    """Return the types, each replaced by the average type (`average_type`).

    Names and weights are kept.
    """
    average = average_type(types)
    return tuple(replace(average, name=each.name, weight=each.weight) for each in types)


def average_type(types: tuple[AdversaryType, ...]) -> AdversaryType:
    """Return the type of largest weight, with the mean gain and cost of all types.

    Means are weighted by the weights of the types. Amounts of money have a mean; linkers and attack plans do not, so
    they are taken from the type of largest weight (the first of these, if several have it).

    Raises
    ------
    InputError
        If a type has no gain and cost, or if the mean amounts differ by record and the type of largest weight makes a
        sequential attack.
    """
    weights = np.array([each.weight for each in types])
    prices = [_gain_and_cost(each) for each in types]
    gain, cost = (
        sum(share * amount for share, amount in zip(weights / weights.sum(), amounts, strict=True))
        for amounts in zip(*prices, strict=True)
    )
    heaviest = types[int(weights.argmax())]
    return AdversaryType("average", 1.0, heaviest.linker, repriced(heaviest.adversary, gain, cost))


def repriced(adversary: Adversary, gain: Any, cost: Any) -> Adversary:
    """Return an adversary with another gain of a success and cost of an attempt.

    Both are in currency units per record: one number, or one per record. For a sequential attack, the cost is the cost
    of an exploit.

    Raises
    ------
    InputError
        If the adversary has no gain and cost to replace, or if it makes a sequential attack and the amounts differ by
        record.
    """
    if isinstance(adversary, ErringAdversary):
        changed: Any = repriced(adversary.adversary, gain, cost)
        return replace(adversary, adversary=changed)
    if isinstance(adversary, SequentialAdversary):
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack needs the same gain and the same cost for all records")
        return replace(adversary, attack=replace(adversary.attack, gain=float(gain), exploit_cost=float(cost)))
    if not is_dataclass(adversary):
        raise InputError("the adversary has no gain and cost to replace", found=type(adversary).__name__)
    repriced_adversary: Adversary = replace(adversary, gain=gain, cost=cost)
    return repriced_adversary


def _gain_and_cost(each: AdversaryType) -> tuple[Any, Any]:
    adversary: Any = each.adversary.adversary if isinstance(each.adversary, ErringAdversary) else each.adversary
    if isinstance(adversary, SequentialAdversary):
        return adversary.attack.gain, adversary.attack.exploit_cost
    if not (hasattr(adversary, "gain") and hasattr(adversary, "cost")):
        expected = "an adversary with a gain and a cost"
        raise InputError(
            "the adversary type has no gain and cost to average",
            where=each.name,
            found=type(adversary).__name__,
            expected=expected,
        )
    return adversary.gain, adversary.cost
