"""Schema of the section ``figures`` of a record-level scenario.

It requests additional tables and figures of a run.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reidsim.scenarios.amounts import Count, Money
from reidsim.validation import Section


class AttackChanges(Section):
    """Parameters of the sequential attack that replace the scenario's values."""

    gain: Money | None = Field(default=None, description="value that replaces the scenario's value")
    exploit_cost: Money | None = Field(default=None, description="value that replaces the scenario's value")
    access_cost: Money | None = Field(default=None, description="value that replaces the scenario's value")
    link_cost: Money | None = Field(default=None, description="value that replaces the scenario's value")
    penalty: Money | None = Field(default=None, description="value that replaces the scenario's value")
    max_penalties: Count | None = Field(default=None, description="value that replaces the scenario's value")
    detection_intercept: float | None = Field(default=None, description="value that replaces the scenario's value")
    detection_slope: float | None = Field(default=None, description="value that replaces the scenario's value")
    prior: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="value that replaces the scenario's value"
    )
    discount: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="value that replaces the scenario's value"
    )


class FileAttackSection(Section):
    """An attack on all records by one adversary who pays for access once."""

    budget: Count | None = Field(default=None, description="largest number of exploits; default: no limit")
    draws: Annotated[int, Field(ge=2)] = Field(
        default=1000, description="number of random draws that estimate the value of a plan with a budget"
    )


class SequentialFiguresSection(Section):
    """Figures on the behaviour of the sequential planner."""

    settings: dict[str, AttackChanges] = Field(
        default={"as in the scenario": AttackChanges()},
        min_length=1,
        description="settings of the sequential attack to compare, by name; default: only the scenario's own",
    )
    largest_group: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=60, description="largest group size in the figures, which start at 1"
    )
    beliefs: bool = Field(
        default=False,
        description="whether to compare known with unknown group sizes for every record; needs "
        "`adversary.sequential.registry`",
    )
    file_attack: FileAttackSection | None = Field(
        default=None, description="attack on all records by one adversary who pays for access once"
    )


class FiguresSection(Section):
    """Additional tables and figures of a run."""

    strategies: dict[str, str] | None = Field(
        default=None,
        description="category by attribute, which selects the record whose strategies are computed and drawn",
    )
    sequential: SequentialFiguresSection | None = Field(
        default=None, description='figures of the sequential attack by group size; only with planner `"fmdp"`'
    )
