"""Construct the adversary that a scenario's section describes."""

from __future__ import annotations

from typing import Any

from reidsim.adversaries.planners.base import Amount, Register, planners
from reidsim.adversaries.planners.sequential import sequential_attack
from reidsim.adversaries.response import Adversary
from reidsim.scenarios.adversary_schema import PlannerSection
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import made_adversary

__all__ = ["Amount", "planner", "sequential_attack"]


def planner(
    section: PlannerSection,
    gain: Amount,
    cost: Amount,
    *,
    loaded: Scenario[Any],
    coverage: float = 1.0,
    registry_size: int | None = None,
) -> Adversary:
    """Return the adversary that a section describes, with its bounded rationality.

    Parameters
    ----------
    section : PlannerSection
    gain, cost : float or ndarray of float64, shape (n_records,)
        Currency units per record.
    loaded : Scenario
        Finds user-defined planners: Python objects, installed parts, and modules in the scenario's folder.
    coverage : float
        Probability that a record's person is in the adversary's register.
    registry_size : int, optional
        Number of people in the register, for a sequential attack that does not know group sizes before access.

    Raises
    ------
    InputError
        If the gain or cost of a sequential attack differs between records, or a user-defined planner cannot be made or
        does not support bounded rationality.
    """
    name = section.planner
    if name in planners and name not in loaded.given:
        perfect = planners[name].make(section, gain, cost, Register(coverage, registry_size))
    else:
        where = "adversary" if name in loaded.given else "adversary.planner"
        part = loaded.given[name] if name in loaded.given else loaded.part("adversaries", name, where)
        perfect = made_adversary(part, gain, cost, section.parameters, where=where, name=name)
    return section.erring(perfect, "adversary.rationality")
