"""Schema of a scenario of the kind ``risk``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.core.errors import InputError, refuse_first
from reidsim.core.validation import Section
from reidsim.scenarios.read_keys import (
    Count,
    Delimiter,
    Money,
    PersonKey,
    PopulationSeed,
    ReadIf,
    Share,
    Text,
    with_key,
)
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import key_columns

# Columns of the tables of a run, besides the attributes.
RISK_NAMES = ("journalist", "prosecutor", "marketer", "overall")
RISK_COLUMNS = (
    *("record", "records", "knowledge", "journalist_low", "journalist_high", *RISK_NAMES),
    *(f"{risk}_standard_error" for risk in RISK_NAMES),
)
WORST_CASE = "worst-case"

Shares = Annotated[tuple[Share, ...], Field(min_length=1)]


class RiskPopulationSection(Section):
    """The population of the records.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe
    """

    recipe: str
    seed: PopulationSeed = None


class RiskReleaseSection(Section):
    """The released records: random samples of the population, or a file.

    Attributes
    ----------
    sizes
        number of records in each random sample, drawn without replacement
    samples
        number of samples of each size
    path
        CSV or Parquet file of records, in place of samples
    persons
        file of the true values before generalization, with the rows and columns of `path`
    delimiter
        column separator of a CSV file
    attributes
        released attributes; default: all
    columns
        column of the file, by attribute; default: the attribute's name
    weight
        column with sampling weights, each at least 1
    person
        column that identifies the person of each record, or columns whose combined values do; risks are then computed
        by person
    household
        column that identifies the person's household; with it, results have the measure `household_risk`
    """

    sizes: tuple[Count, ...] = ()
    samples: Annotated[Count, with_key("sizes")] = 1
    path: Text | None = None
    persons: Annotated[Text | None, with_key("path")] = None
    delimiter: Annotated[Delimiter, with_key("path")] = ","
    attributes: tuple[str, ...] = ()
    columns: Annotated[dict[str, str], with_key("path")] = Field(default={})
    weight: Annotated[Text | None, with_key("path")] = None
    person: Annotated[PersonKey | None, with_key("path")] = None
    household: Annotated[Text | None, with_key("path")] = None

    @model_validator(mode="after")
    def _consistent(self) -> RiskReleaseSection:
        if (self.path is None) == (not self.sizes):
            raise InputError("the records are missing or given twice", expected="either sizes or path")
        is_attribute = self.weight in (*self.attributes, *self.columns.values())
        self.refuse_if(is_attribute, "the column of sampling weights is also an attribute", "weight")
        exclusive = "sampling weights and a person key exclude each other"
        self.refuse_if(self.weight and self.person, exclusive, "weight", "either weight or person")
        for key in ("sizes", "attributes"):
            values = list(getattr(self, key))
            self.refuse_if(len({*values}) < len(values), "value given twice", key, found=values)
        attributes = [self.columns.get(name, name) for name in self.attributes]
        for key in ("person", "household"):
            for column in key_columns(getattr(self, key)):
                problem, expected = f"the key of {key}s is a quasi-identifier", "a column that is no attribute"
                self.refuse_if(column in attributes, problem, key, expected, found=column)
        return self


class TreeSection(Section):
    """The groups into which values of an attribute may be generalized.

    Attributes
    ----------
    groups
        values or smaller groups in each group
    file
        hierarchy file, in place of `groups`: one row per value, one column per level
    delimiter
        column separator of the hierarchy file
    """

    groups: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default={})
    file: Text | None = None
    delimiter: Annotated[Delimiter, with_key("file")] = ";"

    @model_validator(mode="after")
    def _one_way(self) -> TreeSection:
        if (self.file is None) == (not self.groups):
            raise InputError("the groups are missing or given twice", expected="either groups or file")
        return self


_ESTIMATES = ReadIf(lambda section, scenario: section.estimates, "with a method that estimates the probability")


class UniquenessSection(Section):
    """Probability that a sample unique is a population unique.

    Attributes
    ----------
    method
        source of the probability: a fixed value, an estimate by a statistical model, or the population (`known`)
    value
        with method `fixed`: the probability
    population_size
        number of people in the population, for estimates; replaced by the sum of `release.weight`, if set
    level
        confidence level of the intervals
    """

    method: Literal["fixed", "pitman", "ewens", "zayatz", "log-linear", "benedetti-franconi", "known"] = "pitman"
    value: Annotated[Share | None, with_key("method", "fixed")] = None
    population_size: Annotated[Count | None, _ESTIMATES] = None
    level: Annotated[float, Field(gt=0, lt=1), _ESTIMATES] = 0.95

    @model_validator(mode="after")
    def _complete(self) -> UniquenessSection:
        missing = self.method == "fixed" and self.value is None
        self.refuse_if(missing, "key missing", "value", "value with method 'fixed'")
        return self

    @property
    def estimates(self) -> bool:
        """Whether the method estimates from a sample: it is neither `fixed` nor `known`."""
        return self.method not in ("fixed", "known")


class NetworkSection(Section):
    """Capabilities of the adversary.

    Attributes
    ----------
    p_m
        probability that a person's membership in the data is disclosed
    p_fm
        probability that the adversary learns of a disclosed membership
    p_cu
        probability that the adversary can confirm a population unique
    p_c
        probability that the adversary can confirm a match drawn at random
    """

    p_m: Share = 0.5
    p_fm: Share = 0.5
    p_cu: Share = 0.5
    p_c: Share = 0.5


class ExpectationSection(Section):
    """Computation of expectations over knowledge sets.

    Attributes
    ----------
    method
        computation of expectations: `exact` enumerates all knowledge sets, `monte-carlo` draws some, `auto` is exact
        where this is feasible
    trials
        number of knowledge sets drawn by the Monte Carlo method
    """

    method: Literal["auto", "exact", "monte-carlo"] = "auto"
    trials: Annotated[int, Field(ge=2), with_key("method", "auto", "monte-carlo")] = 1000


class AttackSection(Section):
    """Gain and cost of an attack.

    Attributes
    ----------
    gain
        adversary's gain from a re-identification
    cost
        adversary's cost of an attempt
    """

    gain: Money
    cost: Money = 0.0


class ThresholdSection(Section):
    """The accepted risk, and the groups for which it is checked (Xia et al. 2023).

    Attributes
    ----------
    risk_accepted
        largest accepted risk of a person; .09 is the risk in a group of 11
    percentile
        share of people whose risk must not exceed the accepted risk
    risk
        risk that is compared with the accepted risk; `marketer` is 1 / group size, for people known to be in the data
    groups
        attributes whose values define the groups of people that are assessed separately
    sizes
        sizes, in people, of smaller and larger cohorts that are simulated from the release
    draws
        number of simulations of each size
    newcomers
        people added to larger cohorts: members drawn again, or other people of the population
    like_members
        attributes in which people added from the population have the same shares as the members
    """

    risk_accepted: Share = 0.09
    percentile: Annotated[float, Field(gt=0, le=1)] = 0.95
    risk: Literal["marketer", "prosecutor", "journalist", "overall"] = "marketer"
    groups: tuple[str, ...] = ()
    sizes: tuple[Count, ...] = ()
    draws: Annotated[Count, with_key("sizes")] = 20
    newcomers: Annotated[Literal["members", "population"], with_key("sizes")] = "members"
    like_members: Annotated[tuple[str, ...], with_key("newcomers", "population")] = ()


class SettingsSection(Section):
    """Values of capabilities; all combinations are computed.

    Attributes
    ----------
    p_m
        values of `network.p_m`
    p_fm
        values of `network.p_fm`
    p_cu
        values of `network.p_cu`
    p_c
        values of `network.p_c`
    records
        number of records in each sample; default: the first of `release.sizes`
    trials
        number of simulated outcomes per person, as in the paper; default: exact probabilities
    """

    p_m: Shares
    p_fm: Shares
    p_cu: Shares
    p_c: Shares
    records: Count | None = None
    trials: Count | None = None


class RiskFiguresSection(Section):
    """Further tables and figures of a run.

    Attributes
    ----------
    settings
        overall risk for all combinations of capabilities
    """

    settings: SettingsSection | None = None


class RiskScenario(ScenarioHead):
    """Re-identification risk of a release under partial background knowledge.

    Attributes
    ----------
    game
        kind of scenario: re-identification risk of a release, without a game
    population
        population of the records; needed for samples and for uniqueness method `known`
    release
        released records
    trees
        groups into which the values of a file are generalized, by attribute
    knowledge
        knowledge recipe of each adversary, by name; each is compared with the worst case
    uniqueness
        probability that a sample unique is a population unique
    network
        capabilities of the adversary
    expectation
        computation of expectations over knowledge sets
    attack
        adversary's gain and cost; adds payoffs to the results
    threshold
        accepted risk, and the groups for which it is checked
    figures
        additional tables and figures
    """

    elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("adversary", "adversaries"),
        "an entry of section knowledge for each adversary, because this kind of scenario has no attacks",
    )

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        "trees": ReadIf(lambda section, scenario: scenario.release.path, "with release.path")
    }

    game: Literal["risk"]
    population: RiskPopulationSection | None = None
    release: RiskReleaseSection
    trees: dict[str, TreeSection] = Field(default={})
    knowledge: dict[str, str] = Field(min_length=1)
    uniqueness: UniquenessSection
    network: NetworkSection = NetworkSection()
    expectation: ExpectationSection = ExpectationSection()
    attack: AttackSection | None = None
    threshold: ThresholdSection | None = None
    figures: RiskFiguresSection = RiskFiguresSection()

    @model_validator(mode="after")
    def _consistent(self) -> RiskScenario:
        uniqueness, release, threshold = self.uniqueness, self.release, self.threshold
        problem = "name reserved for the worst case, which is always included"
        refuse_first((WORST_CASE in self.knowledge, problem, f"knowledge.{WORST_CASE}", None, None))
        uses = {
            "to count population uniques": uniqueness.method == "known",
            "to draw samples": release.sizes,
            "from which newcomers are drawn": threshold is not None and threshold.newcomers == "population",
        }
        for use in (use for use, needed in uses.items() if needed and self.population is None):
            raise InputError("section missing", where="population", expected=f"a recipe, {use}")
        weighted = release.path is not None and release.weight is not None
        if uniqueness.estimates and (uniqueness.population_size is not None) == weighted:
            problem, expected = "key missing", f"population_size with method {uniqueness.method!r}, or release.weight"
            if weighted:
                problem = "the number of people is given twice"
                expected = "either uniqueness.population_size or release.weight"
            raise InputError(problem, where="uniqueness.population_size", expected=expected)
        several = len(release.sizes) > 1 or release.samples > 1 or release.person or release.weight or release.household
        if threshold is not None and threshold.sizes and several:
            problem = "cohorts need a single release with one record per person and no weights"
            expected = "only release.path, or one value of release.sizes and one sample"
            raise InputError(problem, where="threshold.sizes", found=list(threshold.sizes), expected=expected)
        return self
