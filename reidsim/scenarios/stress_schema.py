"""Schema of the section ``stress``.

Sensitivity, robustness, discovery, belief curves and policy maps.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reidsim.core.measures import columns_of
from reidsim.errors import refuse_first, require_distinct
from reidsim.games.measures import ADVERSARY_PAYOFF, PUBLISHER_PAYOFF, RISK, SHARE_ATTACKED, UTILITY
from reidsim.scenarios.amounts import Share
from reidsim.scenarios.design_schema import SweepSection, SweepValues
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.validation import Section

Criterion = Literal["maximin", "minimax-regret", "quantile"]
Level = Annotated[float, Field(gt=0, lt=1)]
_DEFAULT_OUTPUTS = tuple(columns_of((PUBLISHER_PAYOFF, ADVERSARY_PAYOFF, UTILITY, SHARE_ATTACKED, RISK)))


class SensitivitySection(Section):
    """Sensitivity analysis: the effect of each uncertain parameter on the outputs.

    Attributes
    ----------
    method
        `sobol` computes indices that divide the variance among parameters; `morris` screens many parameters at less
        cost
    samples
        number N of base samples of `sobol` (a power of 2), or of trajectories of `morris`
    second_order
        with `sobol`: whether to compute indices of pairs, which takes N (2 d + 2) points for d parameters
    levels
        with `morris`: number of different values of each parameter
    confidence
        confidence level of the intervals
    resamples
        number of bootstrap resamples
    """

    method: Literal["sobol", "morris"] = "sobol"
    samples: Annotated[int, Field(ge=2, le=2**20)] = 128
    second_order: Annotated[bool, with_key("method", "sobol")] = False
    levels: Annotated[Literal[4, 6, 8, 10], with_key("method", "morris")] = 4
    confidence: Level = 0.95
    resamples: Annotated[int, Field(ge=10, le=100_000)] = 200

    @model_validator(mode="after")
    def _power_of_two(self) -> SensitivitySection:
        below = 1 << (self.samples.bit_length() - 1)
        is_wrong = self.method == "sobol" and self.samples != below
        self.refuse_if(is_wrong, "the number of samples is not a power of 2", "samples", f"{below} or {2 * below}")
        return self


class RobustnessSection(Section):
    """Robustness analysis of policies, and of the strategies of each record.

    Attributes
    ----------
    samples
        number of parameter points; default: `uncertainty.samples`
    quantile
        with criterion `quantile`: level of the payoff quantile that is maximized; level 0 gives `maximin`
    criteria
        criteria that choose a robust strategy for each record
    """

    samples: Annotated[int, Field(ge=1, le=2**20)] | None = None
    quantile: Annotated[
        Share, ReadIf(lambda section, scenario: "quantile" in section.criteria, 'with "quantile" in criteria')
    ] = 0.1
    criteria: tuple[Criterion, ...] = ("maximin", "minimax-regret", "quantile")

    @model_validator(mode="after")
    def _once(self) -> RobustnessSection:
        require_distinct("criterion given twice", self.criteria, where="criteria")
        return self


class DiscoverySection(Section):
    """Scenario discovery: boxes of parameter values with mostly bad outcomes.

    The boxes are computed from the points of the robustness analysis.

    Attributes
    ----------
    output
        measure of the game, or `risk_quantile`, that defines a bad outcome
    policy
        policy whose outcome is examined; default: each policy
    below
        outcomes below this value are bad
    above
        outcomes above this value are bad
    restrictions
        largest number of bounds of a box
    smallest
        smallest share of the points that a box contains
    """

    output: str = PUBLISHER_PAYOFF.column
    policy: str | None = None
    below: float | None = None
    above: float | None = None
    restrictions: Annotated[int, Field(ge=1, le=20)] = 3
    smallest: Annotated[float, Field(gt=0, le=0.5)] = 0.05

    @model_validator(mode="after")
    def _one_side(self) -> DiscoverySection:
        problem = "the bound of bad outcomes is missing or given twice"
        refuse_first(((self.below is None) == (self.above is None), problem, None, None, "either below or above"))
        return self


class BeliefCurveSection(Section):
    """Payoffs of policies by true and by believed value of one parameter.

    At least one of the two varies; the other one has the scenario's own value by default.

    Attributes
    ----------
    key
        key path of the parameter, such as `"economics.cost"` or `"resources.registry.size"`
    true
        true values; default: the scenario's value
    believed
        believed values; default: the scenario's belief
    """

    key: str = Field(min_length=1)
    true: SweepValues | None = None
    believed: SweepValues | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> BeliefCurveSection:
        is_fixed = self.true is None and self.believed is None
        refuse_first((is_fixed, "no values to vary", None, None, "true or believed values"))
        for values in (self.true, self.believed):
            if values is not None:
                SweepSection(values={self.key: values})
        return self


class AxisSection(Section):
    """One axis of a map.

    Attributes
    ----------
    key
        key path of the parameter, such as `"economics.loss"`
    values
        values along the axis
    """

    key: str = Field(min_length=1)
    values: SweepValues


class PolicyMapSection(Section):
    """A map of the best policy over two parameters.

    Attributes
    ----------
    x
        horizontal axis
    y
        vertical axis
    """

    x: AxisSection
    y: AxisSection

    @model_validator(mode="after")
    def _two_keys(self) -> PolicyMapSection:
        self.refuse_if(self.x.key == self.y.key, "both axes are the same parameter", "y.key")
        self.as_sweep()
        return self

    def as_sweep(self) -> SweepSection:
        """Return the points of the map as a sweep in which y changes fastest."""
        return SweepSection(values={axis.key: axis.values for axis in (self.x, self.y)})


class StressSection(Section):
    """Analyses of `reidsim stress`; default: sensitivity and robustness.

    Attributes
    ----------
    outputs
        outputs of the sensitivity analysis: measures, or `risk_quantile`
    policies
        policies to compare; default: all policies of the scenario
    planning
        planning of the publisher in the sensitivity analysis and the map: with the values at each point, or once with
        the scenario's values
    risk_level
        level of `risk_quantile`, the share of records whose risk does not exceed it; .05, .25, .5, .75 or .95 if points
        are runs of a batch
    sensitivity
        effect of each uncertain parameter on the outputs
    robustness
        payoffs of policies and of record strategies over all points
    discovery
        parameter values that lead to bad outcomes
    beliefs
        payoffs of publishers with wrong beliefs
    map
        best policy over two parameters
    guarantee
        whether to compute the smallest error in a belief that breaks the no-attack guarantee
    """

    outputs: tuple[str, ...] = Field(default=_DEFAULT_OUTPUTS, min_length=1)
    policies: tuple[str, ...] = ()
    planning: Literal["informed", "as-believed"] = "informed"
    risk_level: Level = 0.95
    sensitivity: SensitivitySection | None = None
    robustness: RobustnessSection | None = None
    discovery: DiscoverySection | None = None
    beliefs: tuple[BeliefCurveSection, ...] = ()
    map: PolicyMapSection | None = None
    guarantee: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> StressSection:
        require_distinct("output given twice", self.outputs, where="outputs")
        require_distinct("policy given twice", self.policies, where="policies")
        return self

    @property
    def has_parts(self) -> bool:
        """Whether the section requests any analysis explicitly."""
        parts = (self.sensitivity, self.robustness, self.discovery, self.map)
        return any(part is not None for part in parts) or bool(self.beliefs) or self.guarantee
