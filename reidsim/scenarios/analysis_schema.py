"""What the analysis section of a scenario file may say."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reidsim.errors import InputError
from reidsim.validation import Section

# Above the limit, payoffs lose the digits that tell strategies apart.
Money = Annotated[float, Field(ge=0, le=1e15, description="currency units per record")]


class Range(Section):
    """Values of a parameter: evenly spaced, or listed."""

    start: float | None = Field(default=None, ge=0, alias="from", description="first value")
    stop: float | None = Field(default=None, ge=0, alias="to", description="last value, above the first")
    points: Annotated[int, Field(ge=2, le=10_000)] | None = Field(
        default=None, description="how many evenly spaced values"
    )
    listed: tuple[Money, ...] | None = Field(
        default=None, alias="values", description="the values themselves, at least one, none twice"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Range:
        spaced = [self.start, self.stop, self.points]
        if self.listed is not None and any(part is not None for part in spaced):
            raise InputError("both a list and an interval of values", expected="either values, or from, to and points")
        if self.listed is None:
            if self.start is None or self.stop is None or self.points is None:
                raise InputError("incomplete range", expected="from, to and points, or values")
            if self.start >= self.stop:
                raise InputError("empty range", found=[self.start, self.stop], expected="from below to")
        elif not self.listed:
            raise InputError("empty range", expected="at least one value")
        elif len(set(self.listed)) < len(self.listed):
            raise InputError("value given twice", found=list(self.listed))
        return self

    @property
    def values(self) -> NDArray[np.float64]:
        """The values, in the order given."""
        if self.listed is not None:
            return np.array(self.listed, dtype=np.float64)
        assert self.start is not None  # noqa: S101 - held by the validator, said for the type checker
        assert self.stop is not None  # noqa: S101
        assert self.points is not None  # noqa: S101
        return np.linspace(self.start, self.stop, self.points)


class MapsSection(Section):
    """Maps of strategies and payoffs over the publisher's benefit and loss."""

    benefit: Range = Field(description="values of the benefit")
    loss: Range = Field(description="values of the loss")
    records: tuple[dict[str, str], ...] = Field(default=(), description="attribute = category of each record mapped")
    dataset: bool = Field(default=True, description="also map the averages over all records")

    @model_validator(mode="after")
    def _maps_something(self) -> MapsSection:
        repeated = [record for record in self.records if self.records.count(record) > 1]
        if repeated:
            raise InputError("record given twice", where="records", found=repeated[0])
        if not self.records and not self.dataset:
            raise InputError("nothing to map", expected="records, or dataset = true")
        return self


class LinesSection(Section):
    """Payoffs while one parameter changes."""

    benefit: Range | None = Field(
        default=None, description="values of the benefit, the other prices as in `[economics]`"
    )
    loss: Range | None = Field(default=None, description="values of the loss, and of the gain unless that is given")
    cost: Range | None = Field(default=None, description="values of the cost")

    @model_validator(mode="after")
    def _changes_something(self) -> LinesSection:
        if self.benefit is None and self.loss is None and self.cost is None:
            raise InputError("nothing changes", expected="a range of benefit, loss or cost")
        return self


class AttackChanges(Section):
    """Parameters of the sequential attack that differ from those of the scenario's adversary."""

    gain: Money | None = Field(default=None, description="in place of the gain of `[economics]`")
    exploit_cost: Money | None = Field(default=None, description="in place of `economics.cost`")
    access_cost: Money | None = Field(default=None, description="in place of `adversary.sequential.access_cost`")
    link_cost: Money | None = Field(default=None, description="in place of `adversary.sequential.link_cost`")
    penalty: Money | None = Field(default=None, description="in place of `adversary.sequential.penalty`")
    max_penalties: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="in place of `adversary.sequential.max_penalties`"
    )
    detection_intercept: float | None = Field(
        default=None, description="in place of `adversary.sequential.detection_intercept`"
    )
    detection_slope: float | None = Field(
        default=None, description="in place of `adversary.sequential.detection_slope`"
    )
    prior: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="in place of `adversary.sequential.prior`"
    )
    discount: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="in place of `adversary.sequential.discount`"
    )


class ThresholdsSection(Section):
    """From which group size on the adversary stays away, while one parameter changes."""

    base: AttackChanges = Field(
        default=AttackChanges(),
        description="what differs from `[economics]` and `[adversary.sequential]` in these tables",
    )
    access_cost: Range | None = Field(default=None, description="values of the price of access")
    exploit_cost: Range | None = Field(default=None, description="values of the cost of an exploit")
    penalty: Range | None = Field(default=None, description="values of the fine")
    detection: Range | None = Field(
        default=None, description="values of the probability that the first exploit is detected, between 0 and 1"
    )

    @model_validator(mode="after")
    def _changes_something(self) -> ThresholdsSection:
        if not any((self.access_cost, self.exploit_cost, self.penalty, self.detection)):
            raise InputError("nothing changes", expected="a range of access_cost, exploit_cost, penalty or detection")
        return self


class RuntimesSection(Section):
    """How long the three solvers take for records whose group size is unknown."""

    registry_sizes: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1, description="people in the registry")
    records: Annotated[int, Field(ge=1)] = Field(default=5, description="how many records are planned for")


class FileAttackSection(Section):
    """All records attacked by one adversary who pays for access once."""

    budget: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="exploits that can be made at most; without it only the unlimited attack is planned"
    )
    draws: Annotated[int, Field(ge=2)] = Field(
        default=1000, description="draws of who is where, to value the plan within the budget"
    )


class SequentialAnalysisSection(Section):
    """How the planner of the sequential attack behaves."""

    settings: dict[str, AttackChanges] = Field(
        default={"as in the scenario": AttackChanges()},
        min_length=1,
        description="settings compared with each other; the scenario's own, if not given",
    )
    largest_group: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=60, description="plan for group sizes from 1 to this"
    )
    beliefs: bool = Field(
        default=False,
        description="compare known with unknown group sizes for every record; needs `adversary.sequential.registry`",
    )
    file_attack: FileAttackSection | None = Field(
        default=None, description="all records attacked by one adversary who pays for access once"
    )
    thresholds: ThresholdsSection | None = Field(
        default=None, description="from which group size on the adversary stays away, while one deterrent grows"
    )
    runtimes: RuntimesSection | None = Field(default=None, description="how long three solvers take")


class AnalysisSection(Section):
    """What is worked out and drawn besides the policies."""

    strategies: dict[str, str] | None = Field(
        default=None,
        description="attribute = category of one record, every attribute given; its whole strategy space is worked "
        "out and drawn",
    )
    maps: MapsSection | None = Field(default=None, description="the basic game over benefit and loss")
    lines: LinesSection | None = Field(default=None, description="every policy while one price changes")
    search_deviation: LinesSection | None = Field(
        default=None, description="lattice-based search against the optimum while one price changes"
    )
    sequential: SequentialAnalysisSection | None = Field(
        default=None, description='how the planner of the sequential attack behaves; only with planner `"fmdp"`'
    )
