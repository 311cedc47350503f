"""Schema shared by scenario files of every kind.

There is one section class per table of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reidsim.adversaries.response import EXPECTED_PAYOFF, GAINS, planners_without
from reidsim.core.errors import InputError
from reidsim.core.validation import Section, merged, overlap
from reidsim.scenarios.design_schema import MOST_POINTS, Replications, StressSection, SweepSection, UncertaintySection
from reidsim.scenarios.read_keys import Count, Money, ReadIf, Seed, Text

# Columns of records.parquet and of the table of a record's strategies, besides the attributes.
RECORD_COLUMNS = (
    "record",
    "policy",
    "strategy",
    "publisher_payoff",
    "adversary_payoff",
    "attacked",
    "success_probability",
    "utility",
    "generalization_intensity",
)
# Keys that change only payoff parameters and therefore do not affect linkage.
MONEY_KEYS = (
    *(f"economics.{name}" for name in ("benefit", "loss", "gain", "cost")),
    *(f"beliefs.{name}" for name in ("loss", "gain", "cost")),
)


def _of_some(amount: str, *ignoring: str) -> ReadIf:
    """Return the condition that some adversary uses an amount of the economics.

    An adversary does not use the amount if it has its own, or if its planner is among `ignoring`.
    """

    def holds(section: Any, scenario: Any) -> bool:
        return any(
            each.planner not in ignoring and getattr(each, amount, None) is None
            for each in scenario.every_adversary.values()
        )

    return ReadIf(
        holds, f"with an adversary without its own {amount} and with a planner other than {', '.join(ignoring)}"
    )


_GAINED = _of_some("gain", *planners_without(GAINS))
_WEIGHED_GAIN, _WEIGHED_COST = (_of_some(amount, *planners_without(EXPECTED_PAYOFF)) for amount in ("gain", "cost"))


class EconomicsSection(Section):
    """Payoff parameters: benefit, loss, gain and cost.

    In the masking game, the benefit and loss belong to a data subject instead of a publisher.

    Attributes
    ----------
    benefit
        publisher's benefit from releasing a record unchanged (V, B)
    loss
        publisher's loss if a record is re-identified (L)
    gain
        adversary's gain if a record is re-identified (G); default: the loss
    cost
        adversary's cost of an attempt, or of an exploit with planner `fmdp` (c, C)
    """

    benefit: Money
    loss: Money
    gain: Annotated[Money | None, _GAINED] = None
    cost: Money

    @property
    def adversary_gain(self) -> float:
        """The adversary's gain; equal to the publisher's loss if not given."""
        return self.loss if self.gain is None else self.gain


class BeliefsSection(Section):
    """The publisher's beliefs about payoff parameters.

    A parameter without a belief has its true value.

    Attributes
    ----------
    loss
        value that the decision-maker believes; default: the true value
    gain
        value that the decision-maker believes; default: the true value
    cost
        value that the decision-maker believes; default: the true value
    """

    loss: Money | None = None
    gain: Annotated[Money | None, _WEIGHED_GAIN] = None
    cost: Annotated[Money | None, _WEIGHED_COST] = None

    def believed_economics(self, truth: EconomicsSection) -> EconomicsSection:
        """Return the believed payoff parameters, given the true ones.

        A parameter without a belief has its true value. In particular, a believed loss does not change the believed
        gain, even if the true gain follows the true loss.
        """
        believed = {name: getattr(self, name) for name in ("loss", "gain", "cost") if getattr(self, name) is not None}
        own = {"benefit": truth.benefit, "loss": truth.loss, "gain": truth.adversary_gain, "cost": truth.cost}
        return EconomicsSection(**own | believed)


class KeptSection(Section):
    """A column that is shared unchanged although its values differ between people.

    Attributes
    ----------
    known_to
        outsiders who can know a person's value in the column
    reason
        reason why no outsider can know the values; printed in the report
    """

    known_to: Literal["nobody"]
    reason: Text


# Keys that belong together. An adversary that sets a key of the first tuple inherits no key of the second tuple.
_SAID_TOGETHER = (
    (("planner",), ("planner", "rate", "parameters")),
    (("rationality",), ("rationality", "precision", "prospect")),
    (("knowledge", "stages"), ("knowledge", "stages", "resource", "overconfident", "holds")),
)


def spelled_out(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return scenario data with the defaults copied into each adversary's section.

    Subsections of an adversary are merged with the defaults key by key. Any other value of the adversary replaces the
    default. Some defaults are not copied: keys that belong to another key of the adversary (`_SAID_TOGETHER`; for
    example, an own ``planner`` inherits no ``rate``), rationality for a planner without expected payoffs, and, beside
    own resources, ``holds`` and in most cases ``knowledge`` and ``stages``. The result has no ``[adversary]``. If
    ``[adversary]`` is missing, or ``[adversaries]`` is missing or empty, the data are returned unchanged.
    """
    defaults, several = content.get("adversary"), content.get("adversaries")
    if not (isinstance(defaults, Mapping) and isinstance(several, Mapping) and several):
        return content
    whole = {key: value for key, value in content.items() if key != "adversary"}
    whole["adversaries"] = {
        name: _with_defaults(own, defaults) if isinstance(own, Mapping) else own for name, own in several.items()
    }
    return whole


def _with_defaults(own: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    left_out = {key for given, together in _SAID_TOGETHER if any(name in own for name in given) for key in together}
    if own.get("planner") in planners_without(EXPECTED_PAYOFF):
        left_out |= {"rationality", "precision", "prospect"}
    if own.get("holds") is not None or own.get("buys"):
        # An adversary's resources determine its background knowledge, unless the defaults assign resources to
        # knowledge sources explicitly.
        by_resources = isinstance(defaults.get("stages"), list) or "resource" in defaults
        left_out |= {"holds"} if by_resources else {"holds", "knowledge", "stages"}
    return merged({key: value for key, value in defaults.items() if key not in left_out}, own)


class ScenarioHead(Section):
    """Keys of every scenario.

    Attributes
    ----------
    title
        title printed above the results
    source
        origin of the study and its figures
    seed
        seed of all random draws; the option `--seed` overrides it
    replications
        number of runs, each with different random draws; more than one make a batch
    sweep
        batch of runs over listed values of keys
    uncertainty
        batch of runs over values drawn from distributions of keys
    kept
        columns that `reidsim share --keep` copies and that no outsider knows, by column
    stress
        analyses that `reidsim stress` performs
    """

    title: str = ""
    source: str = ""
    seed: Seed = 0
    replications: Replications = 1
    sweep: SweepSection | None = None
    uncertainty: UncertaintySection | None = None
    kept: dict[str, KeptSection] = Field(default={})
    stress: StressSection | None = None

    # Conditions that depend on other sections than the key's own, by pattern of the key path; see `ReadIf`.
    read_if: ClassVar[Mapping[str, ReadIf]] = {}

    @classmethod
    def spelled_out(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return scenario data with ``[adversary]`` copied into named adversaries.

        Keys that an adversary has itself are kept; see the function `spelled_out` for all rules.
        """
        return spelled_out(data)

    @classmethod
    def as_written(cls, error: InputError, data: Mapping[str, Any]) -> InputError:
        """Return an error with the key path of the scenario file as the user wrote it.

        An error in ``adversaries.NAME.key`` names ``adversary.key`` if the value was inherited from the defaults. Other
        errors are unchanged. `data` are the plain data of the scenario, with defaults not yet copied.
        """
        section, _, rest = (error.where or "").partition(".")
        if section != "adversaries" or spelled_out(data) is data:
            return error
        name, _, key = rest.partition(".")
        own, first = data["adversaries"].get(name), key.partition(".")[0].partition("[")[0]
        if not isinstance(own, Mapping) or first in own or first not in data["adversary"]:
            return error
        return error.but(where=f"adversary.{key}")

    @property
    def every_adversary(self) -> Mapping[str, Any]:
        """The sections of all adversaries, by key path.

        The mapping is empty for a kind without adversaries.
        """
        several = {f"adversaries.{name}": section for name, section in getattr(self, "adversaries", {}).items()}
        return several or ({"adversary": self.adversary} if hasattr(self, "adversary") else {})

    @model_validator(mode="after")
    def _has_feasible_design(self) -> Self:
        swept = {} if self.sweep is None else self.sweep.values
        uncertain = {} if self.uncertainty is None else self.uncertainty.parameters
        points, samples = self.sweep and self.sweep.n_points, self.uncertainty and self.uncertainty.samples
        numbers = {"sweep.values": points or 1, "uncertainty.samples": samples or 1, "replications": self.replications}
        runs, most = math.prod(numbers.values()), max(numbers, key=numbers.__getitem__)
        found = f"{runs:,} ({' x '.join(f'{n:,} of {key}' for key, n in numbers.items() if n > 1)})"
        twice = next((key for key in uncertain if any(overlap(key, other) for other in swept)), None)
        where, expected = f"uncertainty.parameters.{twice}", "the key in either sweep or uncertainty"
        return self.unless(
            (runs > MOST_POINTS, "too many runs", most, f"at most {MOST_POINTS:,}", found),
            (twice, "key both swept and uncertain", where, expected, None),
        )


def economics_of(scenario: ScenarioHead) -> tuple[EconomicsSection, EconomicsSection]:
    """Return the true and the believed payoff parameters of a scenario.

    Both are equal if the kind has no beliefs.
    """
    economics: EconomicsSection = getattr(scenario, "economics")  # noqa: B009 - only some kinds have it
    beliefs: BeliefsSection | None = getattr(scenario, "beliefs", None)
    return economics, economics if beliefs is None else beliefs.believed_economics(economics)


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
