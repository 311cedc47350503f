"""Schema of a scenario file of case records that are released over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from reidsim.core.errors import refuse_first, require_among
from reidsim.core.validation import Section
from reidsim.kinds.dynamic.policies import FIXED, PK, PolicyName
from reidsim.scenarios.adversary_schema import AdversarySection, PoliciesSection, PublisherScenario
from reidsim.scenarios.hierarchies import GeneralizedSection
from reidsim.scenarios.read_keys import Count, Delimiter, ReadIf, Share, Text, with_key
from reidsim.scenarios.registry import with_policy
from reidsim.scenarios.schema import RECORD_COLUMNS

# Column of records.parquet with the period of each case.
PERIOD = "period"


class CasePopulationSection(Section):
    """The people who may become a case.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe
    """

    recipe: Text


class VotersSection(Section):
    """The list in which the adversary looks records up.

    Attributes
    ----------
    recipe
        bundled population, or path of a recipe
    coverage
        probability that a person is in the list; default: the list's share of the population, or 1 without a population
    """

    recipe: Text
    coverage: Annotated[float, Field(gt=0, le=1)] | None = None


class CasesSection(Section):
    """The case records to release, and the contents of a table.

    Attributes
    ----------
    path
        file of cases, one per row; replaced by `[epidemic]` for simulated cases
    delimiter
        column separator of a CSV file
    period
        column with the period of each case: whole numbers, or text such as `2020-03-01`
    forecast
        column with the added benefit per record of a forecast from the period's table, equal for all records of a
        period; default: 0
    table
        contents of a period's table: the cases of the period, or all cases up to it
    """

    path: Text | None = None
    delimiter: Annotated[Delimiter, with_key("path")] = ","
    period: Annotated[Text, with_key("path")] = PERIOD
    forecast: Text | None = None
    table: Literal["period", "cumulative"] = "period"


class EpidemicSection(Section):
    """Cases drawn from the population: a wave that moves from area to area.

    Attributes
    ----------
    periods
        number of periods, which are numbered from 1
    cases
        number of cases in all periods together, each a different person
    area
        attribute whose groups are the areas
    level
        hierarchy level of the groups in `area`
    peak
        earliest period with most cases in an area
    spread
        largest delay of an area's peak after `peak`, in periods; the delay of each area is drawn from a uniform
        distribution
    width
        standard deviation of the wave in an area, in periods
    """

    periods: Count
    cases: Count
    area: Text
    level: Annotated[int, Field(ge=0)] = 0
    peak: float
    spread: Annotated[float, Field(ge=0)] = 0.0
    width: Annotated[float, Field(gt=0)]


class DynamicPublisherSection(PoliciesSection):
    """How the publisher decides in each period.

    Attributes
    ----------
    policies
        policies to compare, each named once
    fixed
        with policy `fixed`: level of each attribute; default: 0
    k
        size of equivalence classes below which records count in PK; PK is the share of a table's records in classes of
        fewer than `k` records
    threshold
        largest PK that policy `pk` allows
    quantile
        with policy `pk`: share of simulated tables whose PK must not exceed the threshold
    simulations
        with policy `pk`: number of simulated tables
    review
        with policy `pk`: number of periods for which a generalization is kept; it is chosen for the number of cases in
        the first of them
    """

    policies: tuple[PolicyName, ...] = Field(
        default=("no-protection", "basic", "no-attack"), json_schema_extra={"minItems": 1}
    )
    fixed: Annotated[dict[str, Annotated[int, Field(ge=0)]], with_policy(FIXED)] = Field(default={})
    k: Count = 11
    threshold: Share = 0.01
    quantile: Annotated[Share, with_policy(PK)] = 0.975
    simulations: Annotated[Count, with_policy(PK)] = 1000
    review: Annotated[Count, with_policy(PK)] = 1

    @model_validator(mode="after")
    def _consistent(self) -> DynamicPublisherSection:
        self.require_policies()
        missing, expected = "levels of policy 'fixed' are missing", "a level of at least one attribute"
        refuse_first((FIXED in self.policies and not self.fixed, missing, "fixed", None, expected))
        return self


_WITHOUT_AGENTS_OR_PK = ReadIf(
    lambda section, scenario: scenario.agents is None or PK in section.policies, f"with policy {PK}, or without agents"
)


class DynamicScenario(PublisherScenario):
    """A publisher releases cases in periods; each table has one generalization.

    Attributes
    ----------
    game
        kind of scenario: a publisher releases a table of cases in each period
    population
        people who may become a case; needed by `[epidemic]` and by policy `pk`
    voters
        list in which the adversary looks people up; default: the population
    release
        case records to release
    epidemic
        simulated cases, in place of `release.path`
    attributes
        quasi-identifiers; their order is the order of levels in the lattice
    publisher
        decisions of the publisher in each period
    """

    read_if: ClassVar[Mapping[str, ReadIf]] = {
        "attributes.*.column": ReadIf(lambda section, scenario: scenario.release.path is not None, "with release.path"),
        "publisher.k": _WITHOUT_AGENTS_OR_PK,
        "publisher.threshold": _WITHOUT_AGENTS_OR_PK,
    }

    game: Literal["dynamic"]
    population: CasePopulationSection | None = None
    voters: VotersSection | None = None
    release: CasesSection = CasesSection()
    epidemic: EpidemicSection | None = None
    attributes: dict[str, GeneralizedSection] = Field(json_schema_extra={"minProperties": 1})
    publisher: DynamicPublisherSection = DynamicPublisherSection()

    @model_validator(mode="after")
    def _consistent(self) -> DynamicScenario:
        epidemic, release, agents = self.epidemic, self.release, self.agents
        taken = next((name for name in self.attributes if name in (*RECORD_COLUMNS, PERIOD)), None)
        reserved = "attribute name reserved for a column of the results"
        refuse_first(
            (not self.attributes, "no quasi-identifiers", "attributes", None, "one or more attributes"),
            (taken, reserved, f"attributes.{taken}", None, "another name"),
        )
        require_among("no such attribute", self.publisher.fixed, self.attributes, where="publisher.fixed")
        ambiguous, given = (release.path is None) == (epidemic is None), "neither" if epidemic is None else "both"
        one_source, draws = "either release.path or [epidemic]", epidemic is not None or PK in self.publisher.policies
        needed = f"a population, for {f'policy {PK}' if epidemic is None else 'epidemic'}"
        refuse_first(
            (ambiguous, "the cases are missing or given twice", "release.path", given, one_source),
            (self.population is None and draws, "section missing", "population", None, needed),
        )
        if epidemic is not None:
            require_among("no such attribute", (epidemic.area,), self.attributes, where="epidemic.area")
        forecast, participation = epidemic is not None and release.forecast, agents is not None and agents.participation
        repeated = agents and release.table == "cumulative"
        no_repetition = "agents need tables that contain each case once"
        no_participation = "participation is not supported for cases"
        refuse_first(
            (forecast, "the key needs a file", "release.forecast", release.forecast, "release.path"),
            (repeated, no_repetition, "release.table", "cumulative", "period"),
            (participation, no_participation, "agents.participation", None, None),
        )
        for where, section in self.every_adversary.items():
            self.refuse(section, where)
        return self

    def refuse(self, section: AdversarySection, where: str) -> None:
        """Check that this kind of scenario supports an adversary section.

        The adversary must know all quasi-identifiers of all people in the list: without partial knowledge, stages,
        registry, or sequential planning with an unknown group size. Its risk cannot be ``sample``, because cases have
        no weights, and ``journalist`` risk needs a list or a population.

        Parameters
        ----------
        section : AdversarySection
        where : str
            Key path of the section, for messages.

        Raises
        ------
        InputError
            If a key is not supported; the message names the key.
        """
        sequential, risk, unlisted = section.sequential, section.risk, self.voters is None and self.population is None
        keys = {
            "knowledge": section.knowledge is not None,
            "stages": section.stages is not None,
            "sequential.registry": sequential.registry is not None,
            "sequential.belief": section.plans_sequentially and sequential.belief == "unknown",
        }
        problem = "not supported for cases released over time"
        expected = "an adversary who knows all quasi-identifiers; section [voters] names the list"
        needed, people = "journalist risk needs a list or a population", "[voters] or [population], or risk prosecutor"
        refuse_first(
            *((given, problem, f"{where}.{key}", None, expected) for key, given in keys.items()),
            (risk == "sample", "cases have no weights", f"{where}.risk", "sample", "journalist"),
            (risk == "journalist" and unlisted, needed, f"{where}.risk", "journalist", people),
        )
