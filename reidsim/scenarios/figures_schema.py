"""Schema of the section ``figures`` of a record-level scenario.

It requests additional tables and figures of a run.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reidsim.scenarios.amounts import Count, Money
from reidsim.validation import Section


class AttackChanges(Section):
    """Parameters of the sequential attack that replace the scenario's values.

    Attributes
    ----------
    gain
        value that replaces the scenario's value
    exploit_cost
        value that replaces the scenario's value
    access_cost
        value that replaces the scenario's value
    link_cost
        value that replaces the scenario's value
    penalty
        value that replaces the scenario's value
    max_penalties
        value that replaces the scenario's value
    detection_intercept
        value that replaces the scenario's value
    detection_slope
        value that replaces the scenario's value
    prior
        value that replaces the scenario's value
    discount
        value that replaces the scenario's value
    """

    gain: Money | None = None
    exploit_cost: Money | None = None
    access_cost: Money | None = None
    link_cost: Money | None = None
    penalty: Money | None = None
    max_penalties: Count | None = None
    detection_intercept: float | None = None
    detection_slope: float | None = None
    prior: Annotated[float, Field(gt=0, le=1)] | None = None
    discount: Annotated[float, Field(gt=0, le=1)] | None = None


class FileAttackSection(Section):
    """An attack on all records by one adversary who pays for access once.

    Attributes
    ----------
    budget
        largest number of exploits; default: no limit
    draws
        number of random draws that estimate the value of a plan with a budget
    """

    budget: Count | None = None
    draws: Annotated[int, Field(ge=2)] = 1000


class SequentialFiguresSection(Section):
    """Figures on the behaviour of the sequential planner.

    Attributes
    ----------
    settings
        settings of the sequential attack to compare, by name; default: only the scenario's own
    largest_group
        largest group size in the figures, which start at 1
    beliefs
        whether to compare known with unknown group sizes for every record; needs `adversary.sequential.registry`
    file_attack
        attack on all records by one adversary who pays for access once
    """

    settings: dict[str, AttackChanges] = Field(default={"as in the scenario": AttackChanges()}, min_length=1)
    largest_group: Annotated[int, Field(ge=1, le=100_000)] = 60
    beliefs: bool = False
    file_attack: FileAttackSection | None = None


class FiguresSection(Section):
    """Additional tables and figures of a run.

    Attributes
    ----------
    strategies
        category by attribute, which selects the record whose strategies are computed and drawn
    sequential
        figures of the sequential attack by group size; only with planner `"fmdp"`
    """

    strategies: dict[str, str] | None = None
    sequential: SequentialFiguresSection | None = None
