"""From the planner that a scenario names to the adversary who replies, in every kind of scenario."""

from __future__ import annotations

from typing import Any

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.errors import InputError
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.adversary_schema import PlannerSection, SequentialSection
from reidsim.scenarios.load import LoadedScenario

Amount = float | Floats


def planner(
    section: PlannerSection,
    gain: Amount,
    cost: Amount,
    *,
    loaded: LoadedScenario[Any],
    coverage: float = 1.0,
    registry_size: int | None = None,
) -> Adversary:
    """Return the adversary that a section asks for.

    Parameters
    ----------
    section : PlannerSection
    gain, cost : float or ndarray of float64, shape (n_records,)
        Currency units per record.
    loaded : LoadedScenario
        Whose folder may hold the module of an adversary of one's own, and which says if its code may run.
    coverage : float
        Probability that a record's person can be looked up, for a sequential attack.
    registry_size : int, optional
        People who can be looked up, for a sequential attack that does not know group sizes before access.

    Raises
    ------
    InputError
        If amounts of a sequential attack differ by record, or an adversary of one's own cannot be made.
    """
    if section.planner == "one-shot":
        return OneShotAdversary(gain, cost)
    if section.planner == "always":
        return AlwaysAttacks(gain, cost)
    if section.planner == "never":
        return NeverAttacks(gain, cost)
    if section.planner == "random":
        return RandomAttacks(gain, cost, section.rate)
    if section.planner == "fmdp":
        signal = section.sequential.unconfirmed
        seen = None if signal is None else UnconfirmedSuccess(**signal.model_dump())
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack has one gain and one cost for all records")
        attack = sequential_attack(section.sequential, float(gain), float(cost), coverage=coverage)
        return SequentialAdversary(attack, registry_size, seen)
    where = "adversary.planner"
    made = loaded.part("adversaries", section.planner, where)
    try:
        own = made(gain=gain, cost=cost, **section.parameters)
    except InputError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"cannot be made: {reason}", where=where, found=section.planner) from None
    if not callable(getattr(own, "respond", None)):
        raise InputError(
            "not an adversary", where=where, found=section.planner, expected="an object with respond(linkage, rows)"
        )
    adversary: Adversary = own
    return adversary


def sequential_attack(
    section: SequentialSection, gain: float, exploit_cost: float, *, coverage: float = 1.0
) -> SequentialAttack:
    """Return the parameters of a sequential attack; `coverage` is its prior if the section gives none."""
    return SequentialAttack(
        gain=gain,
        access_cost=section.access_cost,
        link_cost=section.link_cost,
        exploit_cost=exploit_cost,
        penalty=section.penalty,
        max_penalties=section.max_penalties,
        detection_intercept=section.detection_intercept,
        detection_slope=section.detection_slope,
        prior=coverage if section.prior is None else section.prior,
        discount=section.discount,
        penalty_timing=section.penalty_timing,
        detection_ends_attack=section.detection_ends_attack,
    )
