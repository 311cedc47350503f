"""Schema of a scenario file of case records that are released over time, and the publisher's policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from reidsim.core.errors import refuse_first, require_among
from reidsim.core.validation import Section, with_csv_file
from reidsim.games.cross_play import FixedForms, Game, SameForm, record_game_of, require_comparable
from reidsim.games.record_game import Choice
from reidsim.releases.lattice import Floats
from reidsim.scenarios.adversary_schema import AdversarySection, PoliciesSection, PublisherScenario
from reidsim.scenarios.hierarchies import GeneralizedSection
from reidsim.scenarios.registry import PartName, Policies, Policy, with_policy
from reidsim.scenarios.schema import RESERVED_NAMES, Count, Delimiter, ReadIf, Share, Text, with_key

FIXED, PK = "fixed", "pk"
POLICIES: Policies[Policy] = Policies()


@POLICIES.register("no-protection")
class NoProtection(Policy):
    """Policy that releases every table unchanged."""

    label, description, is_rule = "No protection", "all records are released unchanged", True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice` with strategy 0, no generalization, for every row of the game."""
        return FixedForms(self.name, 0).choose(game)


@POLICIES.register(FIXED)
class FixedLevels(Policy):
    """Policy that releases every table at the levels in ``publisher.fixed``."""

    label, description, is_rule = "Fixed", "all tables are released at the levels set in the scenario", True

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice` with the same generalization for every row of the game.

        It has the scenario's levels, ``publisher.fixed``; attributes that the key does not name have level 0.

        Raises
        ------
        InputError
            If a level exceeds the last level of an attribute's hierarchy.
        """
        return FixedForms(self.name, study.fixed_form).choose(game)


@POLICIES.register(PK)
class KeepsPk(Policy):
    """Policy that releases the most useful generalization with PK within a threshold.

    PK is the share of records in equivalence classes of fewer than ``publisher.k`` records. A quantile of it over
    simulated tables must be at most the scenario's threshold; see `SimulatedTables.keep`. The choice is made in the
    first of every ``review`` periods, from the utilities and the number of cases of this period's table, and kept until
    the next review. If no generalization qualifies, every attribute is released at the last level of its hierarchy.
    """

    label, is_rule = "PK", True
    description = (
        "generalization with the highest utility whose PK does not exceed the threshold in "
        "simulated tables; chosen again at each review"
    )

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice`: one generalization per period, in all rows of the period.

        A row of the game represents equal cases in the table of a period. See the class for the rule.

        Raises
        ------
        InputError
            If there are more than a million generalizations, the scenario has no population, or a table has more cases
            than the population has people.
        """
        rule, lattice = study.scenario.publisher, study.lattice
        require_comparable(self.name, lattice.size)
        strategies, evaluated = np.empty((2, lattice.n_records), dtype=np.int64)
        for number, (table, size) in enumerate(zip(lattice.tables, lattice.sizes.tolist(), strict=True)):
            if number % rule.review == 0:
                chosen = _best_within(study, lattice.utilities(number), size)
            strategies[table], evaluated[table] = chosen
        return Choice(strategies, self.name, evaluated, exact=False)


def _best_within(study: Any, utilities: Floats, size: int) -> tuple[int, int]:
    """Return the generalization of policy ``pk``, and how many were simulated.

    Generalizations are tried in order of falling utility (rounded to 12 decimals; of equal utilities, the lowest number
    first) until the quantile of PK in simulated tables of `size` cases is within the scenario's threshold.
    Generalizations that are nowhere coarser than a refused one are skipped. If none is within the threshold, the last
    generalization is returned, with all attributes at their last level.

    Parameters
    ----------
    study : DynamicStudy
    utilities : ndarray of float64, shape (n_strategies,)
        Utility of each generalization for the table of the period.
    size : int
        Number of cases in the table.
    """
    rule, lattice = study.scenario.publisher, study.lattice
    levels, refused, tried = lattice.all_levels(np.arange(lattice.size)), np.zeros(lattice.size, dtype=np.bool_), 0
    for form in np.argsort(-np.round(utilities, 12), kind="stable").tolist():
        if refused[form]:
            continue
        tried += 1
        if study.tables.keep(form, size, rule.k, rule.threshold, rule.quantile):
            return form, tried
        # In each simulated table, more specific generalizations have smaller classes and therefore a larger PK.
        refused |= (levels <= levels[form]).all(axis=1)
    return lattice.size - 1, tried


@POLICIES.register("basic")
class Basic(Policy):
    """Policy that releases each table in the generalization with the highest payoff.

    The payoff is the publisher's, summed over all cases of the period's table. The table is withheld if every
    generalization pays less than withholding; see `SameForm`.
    """

    label = "Basic"
    description = "generalization with the highest payoff in each period, whether or not records are attacked"

    def choose(self, study: Any, game: Game, draw: int) -> Choice:
        """Return a `Choice`: the best generalization of each period's table, for all rows.

        The best one has the highest payoff summed over the table's cases; if `forbids_attacks` is set, only
        generalizations under which no case is attacked are considered. A row of the game represents equal cases in the
        table of a period; its strategy is -1 if the table is withheld.

        Raises
        ------
        InputError
            If there are more than a million generalizations.
        """
        played, lattice = record_game_of(game), study.lattice
        search = SameForm(self.name, lattice.counts, no_attack=self.forbids_attacks)
        strategies, evaluated = np.empty((2, lattice.n_records), dtype=np.int64)
        for table in lattice.tables:
            strategies[table], evaluated[table] = search.best_of(played, np.arange(table.start, table.stop))
        return Choice(strategies, "same-form", evaluated, exact=True)


@POLICIES.register("no-attack")
class NoAttack(Basic):
    """Policy `Basic` limited to generalizations under which no attack pays.

    The table is withheld if no generalization without an attack pays at least as much as withholding.
    """

    label, forbids_attacks = "No-attack", True
    description = (
        "generalization with the highest payoff in each period among the generalizations without an attacked record"
    )


PolicyName = Annotated[str, PartName(POLICIES)]


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
        column with the period of each case: numbers, or dates such as `2020-03-01`
    forecast
        column with the added benefit per record of a forecast from the period's table, equal for all records of a
        period; default: 0
    table
        contents of a period's table: the cases of the period, or all cases up to it
    """

    path: Text | None = None
    delimiter: Annotated[Delimiter, with_csv_file("path")] = ","
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

    policies: tuple[PolicyName, ...] = Field(default=("no-protection", "basic", "no-attack"), min_length=1)
    fixed: Annotated[dict[str, Annotated[int, Field(ge=0)]], with_policy(FIXED)] = Field(default={})
    k: Count = 11
    threshold: Share = 0.01
    quantile: Annotated[Share, with_policy(PK)] = 0.975
    simulations: Annotated[Count, with_policy(PK)] = 1000
    review: Annotated[Count, with_policy(PK)] = 1

    @model_validator(mode="after")
    def _consistent(self) -> DynamicPublisherSection:
        missing, expected = "levels of policy 'fixed' are missing", "a level of at least one attribute"
        return self.unless((FIXED in self.policies and not self.fixed, missing, "fixed", expected, None))


_WITHOUT_AGENTS_OR_PK = ReadIf(
    lambda section, scenario: scenario.agents is None or PK in section.policies, f"with policy {PK}, or without agents"
)


class DynamicScenario(PublisherScenario):
    """A publisher releases a table of cases in each period.

    All rows of a table have the same generalization; tables of different periods may have different ones.

    Attributes
    ----------
    game
        kind of scenario: a publisher releases a table of cases in each period
    population
        people who may become a case; needed by `[epidemic]` and by policy `pk` (see section `publisher`)
    voters
        list in which the adversary looks people up; default: the population
    release
        file of case records to release, and contents of each period's table
    epidemic
        simulation of the cases; set either this section or `release.path`
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
    attributes: dict[str, GeneralizedSection] = Field(min_length=1)
    publisher: DynamicPublisherSection = DynamicPublisherSection()

    @property
    def columns(self) -> dict[str, str]:
        """Column of each attribute in the file of cases; by default, it has the attribute's name."""
        return {name: section.column or name for name, section in self.attributes.items()}

    @model_validator(mode="after")
    def _consistent(self) -> DynamicScenario:
        epidemic, release, agents = self.epidemic, self.release, self.agents
        taken = next((name for name in self.attributes if name in (*RESERVED_NAMES, PERIOD)), None)
        reserved = "attribute name reserved for a column of the results"
        refuse_first((taken, reserved, f"attributes.{taken}", None, "another name"))
        require_among("no such attribute", self.publisher.fixed, self.attributes, where="publisher.fixed")
        ambiguous, given = (release.path is None) == (epidemic is None), "neither" if epidemic is None else "both"
        one_source, draws = "either release.path or [epidemic]", epidemic is not None or PK in self.publisher.policies
        needed = f"a population, for {f'policy {PK}' if epidemic is None else 'epidemic'}"
        if epidemic is not None:
            require_among("no such attribute", (epidemic.area,), self.attributes, where="epidemic.area")
        forecast, participation = epidemic is not None and release.forecast, agents is not None and agents.participation
        repeated = agents and release.table == "cumulative"
        refuse_first(
            (ambiguous, "the cases are missing or given twice", "release.path", given, one_source),
            (self.population is None and draws, "section missing", "population", None, needed),
            (forecast, "the key needs a file", "release.forecast", release.forecast, "release.path"),
            (repeated, "agents need tables that contain each case once", "release.table", "cumulative", "period"),
            (participation, "participation is not supported for cases", "agents.participation", None, None),
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
