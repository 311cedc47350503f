"""Schema of a scenario of the kind ``risk``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

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
    samples: Count = 1
    path: Text | None = None
    persons: Text | None = None
    delimiter: Annotated[Delimiter, with_key("path")] = ","
    attributes: tuple[str, ...] = ()
    columns: dict[str, str] = Field(default={})
    weight: Text | None = None
    person: PersonKey | None = None
    household: Text | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> RiskReleaseSection:
        drawn, weight, person = self.path is None, self.weight, self.person
        of_file = ("columns", "persons", "weight", "person", "household")
        given = next((key for key in of_file if drawn and getattr(self, key)), None)
        of = "need" if given in ("columns", "persons") else "needs"
        weight_is_attribute = weight in (*self.attributes, *self.columns.values())
        both = weight is not None and person is not None
        exclusive = "sampling weights and a person key exclude each other"
        lists: dict[str, list[Any]] = {"sizes": list(self.sizes), "attributes": list(self.attributes)}
        attributes = [self.columns.get(name, name) for name in self.attributes]
        keys = [(key, column) for key in ("person", "household") for column in key_columns(getattr(self, key))]
        other_column = "a column that is no attribute"
        refuse_first(
            (drawn == (not self.sizes), "the records are missing or given twice", None, None, "either sizes or path"),
            (not drawn and self.samples > 1, "all samples of a file are equal", "samples", self.samples, "1"),
            (given, f"{given} {of} a file", given, None, "path instead of sizes"),
            (weight_is_attribute, "the column of sampling weights is also an attribute", "weight", weight, None),
            (both, exclusive, "weight", weight, "either weight or person"),
            *((len({*v}) != len(v), "value given twice", name, v, None) for name, v in lists.items()),
            *((c in attributes, f"the key of {key}s is a quasi-identifier", key, c, other_column) for key, c in keys),
        )
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

    method: Literal["fixed", "pitman", "ewens", "snb", "zayatz", "log-linear", "benedetti-franconi", "known"] = "pitman"
    value: Share | None = None
    population_size: Count | None = None
    level: Annotated[
        float,
        Field(gt=0, lt=1),
        ReadIf(lambda section, scenario: section.estimates, "with a method that estimates the probability"),
    ] = 0.95

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
    like_members: tuple[str, ...] = ()


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
        uniqueness, release, threshold, people = self.uniqueness, self.release, self.threshold, self.population
        sized, weighted = uniqueness.population_size is not None, release.weight is not None
        known, estimates, where = uniqueness.method == "known", uniqueness.estimates, "uniqueness.population_size"
        needed = f"a recipe, {'to count population uniques' if known else 'to draw samples'}"
        sizes = f"population_size with method {uniqueness.method!r}, or release.weight"
        one_size, twice = "either uniqueness.population_size or release.weight", "the number of people is given twice"
        named_worst = WORST_CASE in self.knowledge
        reserved = "name reserved for the worst case, which is always included"
        refuse_first(
            (named_worst, reserved, f"knowledge.{WORST_CASE}", None, None),
            ((known or release.sizes) and people is None, "section missing", "population", None, needed),
            (estimates and sized and weighted, twice, where, None, one_size),
            (estimates and not sized and not weighted, "key missing", where, None, sizes),
            (self.trees and release.path is None, "value trees need a file of records", "trees", None, "release.path"),
        )
        if threshold is None:
            return self
        newcomers, like, sizes_of_cohorts = threshold.newcomers, threshold.like_members, threshold.sizes
        several = len(release.sizes) > 1 or release.samples > 1
        keyed = (release.person or release.weight or release.household) is not None
        no_effect = "like_members has no effect if members are drawn again"
        source, from_people = "a recipe, from which newcomers are drawn", newcomers == "population"
        single = "cohorts need a single release with one record per person and no weights"
        one_release = "only release.path, or one value of release.sizes and one sample"
        refuse_first(
            (like and not from_people, no_effect, "threshold.like_members", list(like), 'newcomers = "population"'),
            (from_people and people is None, "section missing", "population", None, source),
            (sizes_of_cohorts and (several or keyed), single, "threshold.sizes", list(sizes_of_cohorts), one_release),
        )
        return self
