"""From the planner that a scenario names to the adversary who replies, in every kind of scenario."""

from __future__ import annotations

from typing import Any

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.unconfirmed import UnconfirmedSuccess
from reidsim.adversaries.simple_behaviours import simple_adversary
from reidsim.errors import InputError
from reidsim.scenarios.adversary_schema import PlannerSection, SequentialSection
from reidsim.scenarios.given import Amount, made_adversary
from reidsim.scenarios.load import LoadedScenario

__all__ = ["Amount", "planner", "sequential_attack"]


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
        If amounts of a sequential attack differ by record, or an adversary of one's own cannot be made or cannot err.
    """
    perfect = _perfect(section, gain, cost, loaded, coverage, registry_size)
    return section.erring(perfect, "adversary.rationality")


def _perfect(
    section: PlannerSection,
    gain: Amount,
    cost: Amount,
    loaded: LoadedScenario[Any],
    coverage: float,
    registry_size: int | None,
) -> Adversary:
    """Return the adversary without its errors."""
    if section.planner in loaded.given:
        part = loaded.given[section.planner]
        return made_adversary(part, gain, cost, section.parameters, where="adversary", name=section.planner)
    if section.planner == "one-shot":
        return OneShotAdversary(gain, cost)
    simple = simple_adversary(section.planner, gain, cost, section.rate)
    if simple is not None:
        return simple
    if section.planner == "fmdp":
        signal = section.sequential.unconfirmed
        seen = None if signal is None else UnconfirmedSuccess(**signal.model_dump())
        if np.ndim(gain) or np.ndim(cost):
            raise InputError("a sequential attack has one gain and one cost for all records")
        attack = sequential_attack(section.sequential, float(gain), float(cost), coverage=coverage)
        return SequentialAdversary(attack, registry_size, seen)
    where = "adversary.planner"
    part = loaded.part("adversaries", section.planner, where)
    return made_adversary(part, gain, cost, section.parameters, where=where, name=section.planner)


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
        solver=section.solver,
    )
