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

    start: float | None = Field(default=None, ge=0, alias="from")
    stop: float | None = Field(default=None, ge=0, alias="to")
    points: Annotated[int, Field(ge=2, le=10_000)] | None = None
    listed: tuple[Money, ...] | None = Field(default=None, alias="values")

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

    benefit: Range
    loss: Range
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

    benefit: Range | None = None
    loss: Range | None = None
    cost: Range | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> LinesSection:
        if self.benefit is None and self.loss is None and self.cost is None:
            raise InputError("nothing changes", expected="a range of benefit, loss or cost")
        return self


class AttackChanges(Section):
    """Parameters of the sequential attack that differ from those of the scenario's adversary."""

    gain: Money | None = None
    exploit_cost: Money | None = None
    access_cost: Money | None = None
    link_cost: Money | None = None
    penalty: Money | None = None
    max_penalties: Annotated[int, Field(ge=1)] | None = None
    detection_intercept: float | None = None
    detection_slope: float | None = None
    prior: Annotated[float, Field(gt=0, le=1)] | None = None
    discount: Annotated[float, Field(gt=0, le=1)] | None = None


class ThresholdsSection(Section):
    """From which group size on the adversary stays away, while one parameter changes."""

    base: AttackChanges = Field(default=AttackChanges(), description="what else differs from the adversary")
    access_cost: Range | None = None
    exploit_cost: Range | None = None
    penalty: Range | None = None
    detection: Range | None = Field(default=None, description="probability that the first exploit is detected")

    @model_validator(mode="after")
    def _changes_something(self) -> ThresholdsSection:
        if not any((self.access_cost, self.exploit_cost, self.penalty, self.detection)):
            raise InputError("nothing changes", expected="a range of access_cost, exploit_cost, penalty or detection")
        return self


class RuntimesSection(Section):
    """How long the three solvers take for records whose group size is unknown."""

    registry_sizes: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)
    records: Annotated[int, Field(ge=1)] = Field(default=5, description="how many records are planned for")


class FileAttackSection(Section):
    """All records attacked by one adversary who pays for access once."""

    budget: Annotated[int, Field(ge=1)] | None = Field(default=None, description="exploits it can make at most")
    draws: Annotated[int, Field(ge=2)] = Field(default=1000, description="of who is where, for the budget's plan")


class SequentialAnalysisSection(Section):
    """How the planner of the sequential attack behaves."""

    settings: dict[str, AttackChanges] = Field(
        default={"as in the scenario": AttackChanges()}, min_length=1, description="compared with each other"
    )
    largest_group: Annotated[int, Field(ge=1, le=100_000)] = Field(default=60, description="group sizes drawn")
    beliefs: bool = Field(default=False, description="compare known with unknown group sizes, record by record")
    file_attack: FileAttackSection | None = None
    thresholds: ThresholdsSection | None = None
    runtimes: RuntimesSection | None = None


class AnalysisSection(Section):
    """What is worked out and drawn besides the policies."""

    strategies: dict[str, str] | None = Field(default=None, description="record whose whole strategy space is drawn")
    maps: MapsSection | None = None
    lines: LinesSection | None = None
    search_deviation: LinesSection | None = Field(
        default=None, description="how far lattice-based search stays from the optimum"
    )
    sequential: SequentialAnalysisSection | None = None
