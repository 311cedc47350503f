"""Make the adversary that a scenario's section describes."""

from __future__ import annotations

from typing import Any

from reidsim.adversaries.planners.base import Amount, Register, planners
from reidsim.adversaries.planners.sequential import sequential_attack
from reidsim.adversaries.response import Adversary
from reidsim.scenarios.adversary_schema import PlannerSection
from reidsim.scenarios.given import made_adversary
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
    """Return the adversary that a section describes, with its errors of judgement.

    Parameters
    ----------
    section : PlannerSection
    gain, cost : float or ndarray of float64, shape (n_records,)
        Currency units per record.
    loaded : LoadedScenario
        Resolves planners of users: objects in memory, modules in the scenario's folder.
    coverage : float
        Probability that a record's person is in the adversary's register.
    registry_size : int, optional
        Number of people in the register, for a sequential attack that does not know group sizes before access.

    Raises
    ------
    InputError
        If amounts of a sequential attack differ by record, or a planner of the user cannot be made or cannot err.
    """
    name = section.planner
    if name in planners and name not in loaded.given:
        perfect = planners[name].make(section, gain, cost, Register(coverage, registry_size))
    else:
        where = "adversary" if name in loaded.given else "adversary.planner"
        part = loaded.given[name] if name in loaded.given else loaded.part("adversaries", name, where)
        perfect = made_adversary(part, gain, cost, section.parameters, where=where, name=name)
    return section.erring(perfect, "adversary.rationality")
