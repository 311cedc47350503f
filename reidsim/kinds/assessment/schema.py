"""Schema of a scenario of the kind ``risk``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.errors import InputError, refuse_first
from reidsim.scenarios.amounts import Count, Delimiter, Money, PersonKey, PopulationSeed, Share, Text
from reidsim.scenarios.people import key_columns
from reidsim.scenarios.read_keys import ReadIf, with_key
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import Section

# Columns of the tables of a run, besides the attributes.
RISK_NAMES = ("journalist", "prosecutor", "marketer", "overall")
RISK_COLUMNS = (
    *("record", "records", "knowledge", "journalist_low", "journalist_high", *RISK_NAMES),
    *(f"{risk}_standard_error" for risk in RISK_NAMES),
)
WORST_CASE = "worst-case"

Shares = Annotated[tuple[Share, ...], Field(min_length=1)]


class RiskPopulationSection(Section):
    """The population of the records."""

    recipe: str = Field(description="bundled population, or path of a recipe")
    seed: PopulationSeed = None


class RiskReleaseSection(Section):
    """The released records: random samples of the population, or a file."""

    sizes: tuple[Count, ...] = Field(
        default=(), description="number of records in each random sample, drawn without replacement"
    )
    samples: Count = Field(default=1, description="number of samples of each size")
    path: Text | None = Field(default=None, description="CSV or Parquet file of records, in place of samples")
    persons: Text | None = Field(
        default=None, description="file of the true values before generalization, with the rows and columns of `path`"
    )
    delimiter: Annotated[Delimiter, with_key("path")] = Field(default=",", description="column separator of a CSV file")
    attributes: tuple[str, ...] = Field(default=(), description="released attributes; default: all")
    columns: dict[str, str] = Field(
        default={}, description="column of the file, by attribute; default: the attribute's name"
    )
    weight: Text | None = Field(default=None, description="column with sampling weights, each at least 1")
    person: PersonKey | None = Field(
        default=None,
        description="column that identifies the person of each record, or columns whose combined values do; "
        "risks are then computed by person",
    )
    household: Text | None = Field(
        default=None,
        description="column that identifies the person's household; with it, results have the measure `household_risk`",
    )

    @model_validator(mode="after")
    def _one_origin(self) -> RiskReleaseSection:
        drawn = self.path is None
        of_file = ("columns", "persons", "weight", "person", "household")
        given = next((key for key in of_file if drawn and getattr(self, key)), None)
        of = "need" if given in ("columns", "persons") else "needs"
        refuse_first(
            (drawn == (not self.sizes), "the records are missing or given twice", None, None, "either sizes or path"),
            (not drawn and self.samples > 1, "all samples of a file are equal", "samples", self.samples, "1"),
            (given, f"{given} {of} a file", given, None, "path instead of sizes"),
            (
                self.weight is not None and self.weight in (*self.attributes, *self.columns.values()),
                "the column of sampling weights is also an attribute",
                "weight",
                self.weight,
                None,
            ),
            (
                self.weight is not None and self.person is not None,
                "sampling weights and a person key exclude each other",
                "weight",
                self.weight,
                "either weight or person",
            ),
            *(
                (len(set(values)) != len(values), "value given twice", name, list(values), None)
                for name, values in (("sizes", self.sizes), ("attributes", self.attributes))
            ),
        )
        attributes = [self.columns.get(name, name) for name in self.attributes]
        for key in ("person", "household"):
            for column in key_columns(getattr(self, key)):
                if column in attributes:
                    raise InputError(
                        f"the key of {key}s is a quasi-identifier",
                        where=key,
                        found=column,
                        expected="a column that is no attribute",
                    )
        return self


class TreeSection(Section):
    """The groups into which values of an attribute may be generalized."""

    groups: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default={}, description="values or smaller groups in each group"
    )
    file: Text | None = Field(
        default=None, description="hierarchy file, in place of `groups`: one row per value, one column per level"
    )
    delimiter: Annotated[Delimiter, with_key("file")] = Field(
        default=";", description="column separator of the hierarchy file"
    )

    @model_validator(mode="after")
    def _one_way(self) -> TreeSection:
        if (self.file is None) == (not self.groups):
            raise InputError("the groups are missing or given twice", expected="either groups or file")
        return self


class UniquenessSection(Section):
    """Probability that a sample unique is a population unique."""

    method: Literal["fixed", "pitman", "ewens", "snb", "zayatz", "log-linear", "benedetti-franconi", "known"] = Field(
        default="pitman",
        description="source of the probability: a fixed value, an estimate by a statistical model, or the "
        "population (`known`)",
    )
    value: Share | None = Field(default=None, description="with method `fixed`: the probability")
    population_size: Count | None = Field(
        default=None,
        description="number of people in the population, for estimates; replaced by the sum of "
        "`release.weight`, if set",
    )
    level: Annotated[
        float,
        Field(gt=0, lt=1),
        ReadIf(lambda section, scenario: section.estimates, "with a method that estimates the probability"),
    ] = Field(default=0.95, description="confidence level of the intervals")

    @model_validator(mode="after")
    def _complete(self) -> UniquenessSection:
        needed = {"fixed": "value", "known": None}.get(self.method, "population_size")
        for key in ("value", "population_size"):
            given = getattr(self, key) is not None
            # Weights may determine the number of people.
            if given != (key == needed) and (given or key == "value"):
                problem = "key missing" if key == needed else "the key belongs to another method"
                raise InputError(problem, where=key, expected=f"{needed or 'no key'} with method {self.method!r}")
        return self

    @property
    def estimates(self) -> bool:
        """Whether the method estimates from a sample."""
        return self.method not in ("fixed", "known")


class NetworkSection(Section):
    """Capabilities of the adversary."""

    p_m: Share = Field(default=0.5, description="probability that a person's membership in the data is disclosed")
    p_fm: Share = Field(default=0.5, description="probability that the adversary learns of a disclosed membership")
    p_cu: Share = Field(default=0.5, description="probability that the adversary can confirm a population unique")
    p_c: Share = Field(default=0.5, description="probability that the adversary can confirm a match drawn at random")


class ExpectationSection(Section):
    """Computation of expectations over knowledge sets."""

    method: Literal["auto", "exact", "monte-carlo"] = Field(
        default="auto",
        description="computation of expectations: `exact` enumerates all knowledge sets, `monte-carlo` draws "
        "some, `auto` is exact where this is feasible",
    )
    trials: Annotated[int, Field(ge=2), with_key("method", "auto", "monte-carlo")] = Field(
        default=1000, description="number of knowledge sets drawn by the Monte Carlo method"
    )


class AttackSection(Section):
    """Gain and cost of an attack."""

    gain: Money = Field(description="adversary's gain from a re-identification")
    cost: Money = Field(default=0.0, description="adversary's cost of an attempt")


class ThresholdSection(Section):
    """The accepted risk, and the groups for which it is checked (Xia et al. 2023)."""

    risk_accepted: Share = Field(
        default=0.09, description="largest accepted risk of a person; .09 is the risk in a group of 11"
    )
    percentile: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.95, description="share of people whose risk must not exceed the accepted risk"
    )
    risk: Literal["marketer", "prosecutor", "journalist", "overall"] = Field(
        default="marketer",
        description="risk that is compared with the accepted risk; `marketer` is 1 / group size, for people "
        "known to be in the data",
    )
    groups: tuple[str, ...] = Field(
        default=(), description="attributes whose values define the groups of people that are assessed separately"
    )
    sizes: tuple[Count, ...] = Field(
        default=(), description="sizes, in people, of smaller and larger cohorts that are simulated from the release"
    )
    draws: Annotated[Count, with_key("sizes")] = Field(default=20, description="number of simulations of each size")
    newcomers: Annotated[Literal["members", "population"], with_key("sizes")] = Field(
        default="members",
        description="people added to larger cohorts: members drawn again, or other people of the population",
    )
    like_members: tuple[str, ...] = Field(
        default=(),
        description="attributes in which people added from the population have the same shares as the members",
    )


class SettingsSection(Section):
    """Values of capabilities; all combinations are computed."""

    p_m: Shares = Field(description="values of `network.p_m`")
    p_fm: Shares = Field(description="values of `network.p_fm`")
    p_cu: Shares = Field(description="values of `network.p_cu`")
    p_c: Shares = Field(description="values of `network.p_c`")
    records: Count | None = Field(
        default=None, description="number of records in each sample; default: the first of `release.sizes`"
    )
    trials: Count | None = Field(
        default=None,
        description="number of simulated outcomes per person, as in the paper; default: exact probabilities",
    )


class RiskFiguresSection(Section):
    """Further tables and figures of a run."""

    settings: SettingsSection | None = Field(
        default=None, description="overall risk for all combinations of capabilities"
    )


class RiskScenario(ScenarioHead):
    """Re-identification risk of a release under partial background knowledge."""

    elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("adversary", "adversaries"),
        "an entry of section knowledge for each adversary, because this kind of scenario has no attacks",
    )

    game: Literal["risk"] = Field(description="kind of scenario: re-identification risk of a release, without a game")
    population: RiskPopulationSection | None = Field(
        default=None,
        description="population of the records; needed for samples and for uniqueness method `known`",
    )
    release: RiskReleaseSection = Field(description="released records")
    trees: dict[str, TreeSection] = Field(
        default={}, description="groups into which the values of a file are generalized, by attribute"
    )
    knowledge: dict[str, str] = Field(
        min_length=1, description="knowledge recipe of each adversary, by name; each is compared with the worst case"
    )
    uniqueness: UniquenessSection = Field(description="probability that a sample unique is a population unique")
    network: NetworkSection = Field(default=NetworkSection(), description="capabilities of the adversary")
    expectation: ExpectationSection = Field(
        default=ExpectationSection(), description="computation of expectations over knowledge sets"
    )
    attack: AttackSection | None = Field(
        default=None, description="adversary's gain and cost; adds payoffs to the results"
    )
    threshold: ThresholdSection | None = Field(
        default=None, description="accepted risk, and the groups for which it is checked"
    )
    figures: RiskFiguresSection = Field(default=RiskFiguresSection(), description="additional tables and figures")

    @model_validator(mode="after")
    def _consistent(self) -> RiskScenario:
        sized, estimates = self.uniqueness.population_size is not None, self.uniqueness.estimates
        weighted, known = self.release.weight is not None, self.uniqueness.method == "known"
        needed = "to count population uniques" if known else "to draw samples"
        sizes = f"population_size with method {self.uniqueness.method!r}, or release.weight"
        where = "uniqueness.population_size"
        refuse_first(
            (
                WORST_CASE in self.knowledge,
                "name reserved for the worst case, which is always included",
                f"knowledge.{WORST_CASE}",
                None,
                None,
            ),
            (
                (known or self.release.sizes) and self.population is None,
                "section missing",
                "population",
                None,
                f"a recipe, {needed}",
            ),
            (
                estimates and sized and weighted,
                "the number of people is given twice",
                where,
                None,
                "either uniqueness.population_size or release.weight",
            ),
            (estimates and not sized and not weighted, "key missing", where, None, sizes),
            (
                self.trees and self.release.path is None,
                "value trees need a file of records",
                "trees",
                None,
                "release.path",
            ),
        )
        if self.threshold is not None:
            self._check_growth(self.threshold)
        return self

    def _check_growth(self, threshold: ThresholdSection) -> None:
        release, from_people = self.release, threshold.newcomers == "population"
        several = len(release.sizes) > 1 or release.samples > 1
        keyed = (release.person or release.weight or release.household) is not None
        refuse_first(
            (
                threshold.like_members and not from_people,
                "like_members has no effect if members are drawn again",
                "threshold.like_members",
                list(threshold.like_members),
                'newcomers = "population"',
            ),
            (
                from_people and self.population is None,
                "section missing",
                "population",
                None,
                "a recipe, from which newcomers are drawn",
            ),
            (
                threshold.sizes and (several or keyed),
                "cohorts need a single release with one record per person and no weights",
                "threshold.sizes",
                list(threshold.sizes),
                "only release.path, or one value of release.sizes and one sample",
            ),
        )
