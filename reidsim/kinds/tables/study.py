"""Study of a table scenario: its data, adversaries, linkers and games."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.drawn_lists import DrawnLists, DrawnListsLinker
from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.load import load_knowledge
from reidsim.adversaries.planners import Amount
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import sequential_attack
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.errors import InputError, locating, refuse_first
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.directions.linker import DirectedLinker
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.node_payoffs import Prices
from reidsim.games.full_domain.solutions import MOST_NODES
from reidsim.games.people import adversary_of_people
from reidsim.games.record_game import AdmissibleGroups, AttributeLinker, Choice, Linker, PopulationLinker, RecordGame
from reidsim.kinds.tables.consistency import lists_every_form, walks_whole_lattice
from reidsim.kinds.tables.people import ReleasedPeople, Waves
from reidsim.kinds.tables.policy import WHERE, policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.staged_attack import StagedAttack, staged_records
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.individual_risk import SampledPeople, sizes_among
from reidsim.linkage.people import RowSets
from reidsim.linkage.sensitive_values import SensitiveGroups, SensitiveValues
from reidsim.populations.domain import Codes
from reidsim.populations.population import Population
from reidsim.releases.lattice import MOST_NUMBERED, GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows, Strategies, StrategySpace
from reidsim.scenarios.adversary_schema import AdversarySection, Risk
from reidsim.scenarios.agents import loaded_alone, named
from reidsim.scenarios.attack_recipe import require_recipe
from reidsim.scenarios.hierarchies import over_domain
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.people import Keys
from reidsim.scenarios.python_objects import people_named, planner
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.study import Study, World, digest_of
from reidsim.validation import revalidated

PRICES = ("benefit", "loss", "gain", "cost")


# Resource with which an adversary links: people whom a sequential attack can look up, background knowledge about the
# persons of the cells, or an attack in stages, which infers attributes before it links; None for linkage with all
# people, or with lists drawn from them.
Resource = Population | Knowledge | StagedAttack | None


@dataclass(frozen=True, eq=False)
class TablesStudy(Study[TablesScenario]):
    """Records of a scenario by distinct cell, with people, payoffs and adversaries.

    The rows of its games are the cells, weighted by their records. If people have several records, the rows are the
    distinct sets of cells of a person's records, weighted by their people.

    Parameters
    ----------
    loaded : Scenario
    lattice : GeneralizationLattice
        Over the distinct cells; records in a cell have the same values and the same payoff parameters.
    cell_of_record : ndarray of int, shape (n_records,)
        The cell of each record.
    kind : ndarray of int64, shape (n_rows,)
        Index of the payoff parameters of each game row.
    prices : Prices
        Payoff parameters of every kind of record, shape (1, n_kinds) each, in currency units.
    population : Population or None
        The population, over the quasi-identifiers.
    dataset : Population
        The released records or people, counted by cell.
    safe_harbor : ndarray of int64, shape (n_rows,), optional
        The least generalization of each game row that Safe Harbor accepts.
    sampled : SampledPeople or None
        The people that the released records represent, if sampling weights are known and needed.
    persons : ReleasedPeople, optional
        The person of each record, if people may have several; otherwise each record is a person.
    household_of : ndarray of int, shape (n_subjects,), optional
        The household of each person of the release.
    waves : Waves, optional
        The releases that contain each person, if there are several releases.
    drawn : DrawnLists, optional
        Resources that are lists drawn from the people; with such lists, each record is a separate row.
    sensitive : SensitiveValues, optional
        Values of the sensitive columns of all records of the table.
    owns : dict of Resource
        Resource with which each adversary links, by name; the name of a single, unnamed adversary is None.
    linkers : dict
        Cache of the linkers of cells. The first item of a key identifies the resource; it is None for linkage with all
        people. Linkers do not depend on payoff parameters, so that derived studies can reuse them.
    """

    lattice: GeneralizationLattice
    cell_of_record: NDArray[np.intp]
    kind: NDArray[np.int64]
    prices: Prices
    population: Population | None
    dataset: Population
    safe_harbor: Strategies | None
    sampled: SampledPeople | None = None
    persons: ReleasedPeople | None = None
    household_of: Keys | None = None
    waves: Waves | None = None
    drawn: DrawnLists | None = None
    sensitive: SensitiveValues | None = None
    owns: dict[str | None, Resource] = field(default_factory=lambda: dict[str | None, Resource]({None: None}))
    linkers: dict[tuple[object, ...], Linker] = field(default_factory=dict, repr=False)

    # Data subjects and game rows

    @property
    def n_records(self) -> int:
        """Number of released records."""
        return len(self.cell_of_record)

    @property
    def released(self) -> NDArray[np.int64]:
        """Number of records in each cell, shape (n_cells,)."""
        return np.bincount(self.cell_of_record, minlength=self.lattice.n_records)

    @property
    def space(self) -> GeneralizationLattice:
        """Generalizations of the game rows."""
        return self.lattice if self.persons is None else self.persons.space

    @property
    def row_sets(self) -> RowSets:
        """Cells of the records of each game row; each row is a cell if each record is a person."""
        if self.persons is not None:
            return self.persons.row_sets
        cells = np.arange(self.lattice.n_records + 1)
        return RowSets(cells, cells[:-1], np.ones_like(cells[:-1]), self.released)

    @property
    def weights(self) -> NDArray[np.int64]:
        """Number of data subjects in each game row, shape (n_rows,)."""
        return self.row_sets.people

    @property
    def row_of_subject(self) -> Keys:
        """Game row of each data subject, shape (n_subjects,)."""
        return self.cell_of_record if self.persons is None else self.persons.set_of_person

    @property
    def row_of_record(self) -> Keys:
        """Game row of the person of each record, shape (n_records,)."""
        return self.row_of_subject if self.persons is None else self.row_of_subject[self.persons.of_record]

    @property
    def n_subjects(self) -> int:
        """Number of data subjects: people, or records if each is a person."""
        return len(self.row_of_subject)

    @property
    def units(self) -> tuple[str, str]:
        """Singular and plural of the counted unit: record, or person with a person key."""
        return ("record", "records") if self.persons is None else ("person", "people")

    def people(self, risk: Risk) -> Population:
        """Return the candidates for a record's person under a risk.

        They are the population (journalist), the people estimated from the sample (sample), or the released records or
        people (prosecutor, or journalist without a population).
        """
        if risk == "sample":
            assert self.sampled is not None  # noqa: S101 - present whenever the scenario has sample risk
            return self.sampled
        return self.population if risk == "journalist" and self.population is not None else self.dataset

    @property
    def linked_population(self) -> Population:
        """True candidates for a record's person, by `linked_risk`."""
        return self.people(self.scenario.linked_risk)

    # Payoff parameters

    def prices_of(self, economics: EconomicsSection) -> Prices:
        """Return the payoff parameters of every kind of record for an economics section.

        If at least one parameter comes from a column of the records, the study's parameters are returned unchanged.
        """
        if self.scenario.has_price_columns:
            return self.prices
        return Prices.of_kinds(economics.benefit, economics.loss, economics.adversary_gain, economics.cost)

    def believed(self, prices: Prices) -> Prices:
        """Return the payoff parameters that the publisher believes in.

        Parameters
        ----------
        prices : Prices
            True parameters, which apply where the scenario gives no belief.
        """
        given = {name: getattr(self.scenario.beliefs, name) for name in PRICES[1:]}
        return replace(prices, **{name: np.asarray(value) for name, value in given.items() if value is not None})

    def of_cells(self, amounts: Floats) -> Floats:
        """Return an amount per game row, (n_rows,), from one per kind, (1, n_kinds)."""
        return np.asarray(amounts[0, self.kind] if amounts.shape[1] > 1 else np.full(len(self.kind), amounts[0, 0]))

    def gain_and_cost(self, prices: Prices) -> list[Amount]:
        """Return the adversary's gain and cost, in currency units.

        Each is a number if it is equal for all kinds, else an array of shape (n_rows,).
        """
        both = (prices.gain[0], prices.cost[0])
        return [float(each[0]) if (each == each[0]).all() else each[self.kind] for each in both]

    # Constraints of generalizations

    @property
    def sensitive_groups(self) -> SensitiveGroups:
        """Sensitive values of the records that match each game row."""
        assert self.sensitive is not None  # noqa: S101 - the scenario has the column that limits and gains need
        return self.sensitive.groups(self.lattice)

    @property
    def admissible(self) -> AdmissibleGroups | None:
        """Generalizations within the limits on sensitive columns; None without limits."""
        limits = self.scenario.publisher.attribute_limits
        if not limits or self.sensitive is None:
            return None
        row_sets = None if self.persons is None else self.persons.space.row_sets
        return AdmissibleGroups(self.sensitive_groups, limits, self.sensitive.columns, row_sets)

    @property
    def minimum(self) -> tuple[int, ...]:
        """Lowest level of each attribute that policies may choose."""
        return tuple(attribute.minimum_level for attribute in self.scenario.attributes.values())

    @property
    def n_nodes(self) -> int:
        """Number of lattice nodes at or above the minimum levels."""
        return math.prod(np.subtract(self.lattice.shape, self.minimum).tolist())

    def require_walkable(self) -> None:
        """Check that the lattice is small enough for the search that the scenario needs.

        Raises
        ------
        InputError
            If the lattice is too large. The error names the key that requires the search.
        """
        size, most = self.lattice.size, f"at most {MOST_NODES:,}"
        if size >= MOST_NUMBERED:
            expected, hint = "fewer than 2**62", "use fewer attributes or levels"
            raise InputError("too many generalizations", where="attributes", found=size, expected=expected, hint=hint)
        if size > MOST_NODES and lists_every_form(self.scenario):
            hint = 'use "iceberg" or "branch-and-bound", which skip most generalizations'
            problem = "too many generalizations of a record for this solver"
            raise InputError(problem, where="publisher.solver", found=size, expected=most, hint=hint)
        if self.n_nodes > MOST_NODES and walks_whole_lattice(self.scenario):
            hint = 'set publisher.search = "anytime" and a budget, publisher.nodes or publisher.seconds'
            problem = "too many nodes for an exact search"
            raise InputError(problem, where=WHERE, found=self.n_nodes, expected=most, hint=hint)

    # Adversaries

    @property
    def own(self) -> Resource:
        """Resource of a single, unnamed adversary; None with named adversaries."""
        return self.owns.get(None)

    @property
    def registry(self) -> Population | None:
        """People that the sequential attack of a single, unnamed adversary can look up."""
        return self.own if isinstance(self.own, Population) else None

    @property
    def holds(self) -> tuple[str, ...]:
        """Names of the lists in which the adversary looks records up."""
        # Ties between lists are broken by the order in the scenario file, not by the order in `holds`.
        return tuple(name for name in self.scenario.resources if name in (self.scenario.adversary.holds or ()))

    @property
    def _guesses(self) -> bool:
        """Whether a sequential attack does not know group sizes before it has access to the registry."""
        section = self.scenario.adversary
        return section.plans_sequentially and section.sequential.belief == "unknown" and not section.holds

    @property
    def links_with_everybody(self) -> bool:
        """Whether the adversary links with all people and knows their values."""
        return self.own is None and not self._guesses and not self.holds

    @cached_property
    def each(self) -> dict[str | None, TablesStudy]:
        """Study against each adversary alone, by name; {None: self} without names."""
        return {name: self if name is None else self._alone(name, own) for name, own in self.owns.items()}

    def _alone(self, name: str, own: Resource) -> TablesStudy:
        """Return the study against one named adversary; its gain and cost apply."""
        amounts = {price: np.asarray(amount) for price, amount in self.scenario.adversaries[name].amounts.items()}
        loaded, prices = loaded_alone(self.loaded, name), replace(self.prices, **amounts)
        return replace(self, loaded=loaded, prices=prices, owns={None: own})

    def equipped(self) -> TablesStudy:
        """Return the study with the resources of its adversaries, read from files.

        With several adversaries, cells are split until no adversary needs finer ones.

        Raises
        ------
        InputError
            If a resource cannot be used.
        """
        section, loaded, study, cells = self.scenario.adversary, self.loaded, self, 0
        if self.scenario.adversaries:
            owns: dict[str | None, Resource] = {}
            while cells < study.lattice.n_records:
                # All adversaries share one partition, so that a split for one requires another pass for the others.
                cells = study.lattice.n_records
                for name in self.scenario.adversaries:
                    with named(name):
                        found = study._alone(name, None).equipped()
                    owns[name] = found.own
                    if found.lattice is not study.lattice:
                        study = replace(found, loaded=loaded, prices=self.prices, linkers={})
            return replace(study, owns=owns)
        own: Resource = None
        if section.stages is not None:
            path = require_recipe(loaded.folder / section.stages, "adversary.stages")
            study, own = staged_records(self, path)
        elif section.knowledge is not None:
            own = self._knowledge_of(self.lattice.codes)
        elif section.plans_sequentially and not section.holds:
            own = self._registry()
        return replace(study, owns={None: own})

    def _knowledge_of(self, codes: Codes) -> Knowledge:
        recipe, folder = str(self.scenario.adversary.knowledge), self.loaded.folder
        return load_knowledge(recipe, self.lattice.domain, codes, base=folder)

    def _registry(self) -> Population | None:
        given, where = self.scenario.adversary.sequential.registry, "adversary.sequential.registry"
        if given is None:
            return None
        with locating(where=where):
            domain = self.lattice.domain
            everybody = people_named(given, self.loaded).marginal(domain.names)
            registry = over_domain(domain, everybody, self.scenario.attributes)
        problem, most = "the registry has more people than the population", self.linked_population.total
        refuse_first((registry.total > most, problem, where, registry.total, f"at most {most:,.0f}"))
        return registry

    @property
    def _coverage(self) -> float:
        """Share of the linked population in the registry; 1 without a registry."""
        return 1.0 if self.registry is None else float(self.registry.total / self.linked_population.total)

    def sequential_attack(self, economics: EconomicsSection) -> SequentialAttack:
        """Return the sequential attack with the gain and cost of payoff parameters."""
        plan = self.scenario.adversary.sequential
        return sequential_attack(plan, economics.adversary_gain, economics.cost, coverage=self._coverage)

    def planner(self, gain: Amount, cost: Amount) -> Adversary:
        """Return the planner of the scenario's adversary for a gain and a cost.

        Raises
        ------
        InputError
            If a user's adversary cannot be created, or if gain or cost of a sequential adversary differ by record.
        """
        section, own = self.scenario.adversary, self.own
        if section.planner == "one-shot" and isinstance(own, StagedAttack):
            return section.erring(own.by(gain, cost), "adversary.rationality")
        size = round((self.registry or self.linked_population).total) if self._guesses else None
        return planner(section, gain, cost, loaded=self.loaded, coverage=self._coverage, registry_size=size)

    def adversary(self, prices: Prices) -> Adversary:
        """Return the scenario's adversary with the gain and cost in `prices`."""
        return self.planner(*self.gain_and_cost(prices))

    # Linkage

    def linker(self, risk: Risk) -> PopulationLinker:
        """Return the linker that counts, for each cell, the people who match it."""
        key = (None, risk)
        if key not in self.linkers:
            self.linkers[key] = PopulationLinker(sizes_among(self.people(risk), self.lattice))
        linker = self.linkers[key]
        assert isinstance(linker, PopulationLinker)  # noqa: S101 - this key holds no other type
        return linker

    def own_linker(self, risk: Risk, *, guessed: bool = False) -> Linker:
        """Return the linker of the scenario's adversary, for cells.

        If `guessed`, only the coverage of lists drawn from the people is known, and not their members.
        """
        section, own, everybody = self.scenario.adversary, self.own, self.linker(risk)
        if isinstance(own, StagedAttack):
            return own.linker
        identifies = not section.looks_up and section.gains_from == "identity"
        if identifies and self.links_with_everybody:
            return everybody
        key = (self.holds or None if own is None else id(own), risk, guessed, section.direction, section.gains_from)
        if key in self.linkers:
            return self.linkers[key]
        linker: Linker
        if section.direction != "record":
            of_rows, released = (
                each if self.persons is None else self.persons.linker(each)
                for each in (everybody, self.linker("prosecutor"))
            )
            linker = DirectedLinker(self.space, section.direction, of_rows, released, self.kind)
        elif section.gains_from != "identity":
            linker = AttributeLinker(self.sensitive_groups, section.gains_from)
        elif isinstance(own, Knowledge):
            linker = KnowledgeLinker(self.lattice, self.people(risk), own)
        elif self.drawn is not None and self.holds:
            linker = DrawnListsLinker(self.lattice, self.drawn, self.holds, guessed=guessed)
        else:
            sizes = everybody.group_sizes if own is None else self.group_sizes
            linker = PopulationLinker(sizes, population=everybody.group_sizes)
        self.linkers[key] = linker
        return linker

    @property
    def group_sizes(self) -> GroupSizes:
        """Group sizes of the distinct cells: in the registry if there is one."""
        if self.registry is not None:
            return GroupSizes(self.registry, self.lattice, holds_records=False)
        return self.linker(self.scenario.linked_risk).group_sizes

    # Games

    def of_people(self, linker: Linker, adversary: Adversary) -> tuple[Linker, Adversary]:
        """Convert a linker and an adversary of cells to the rows of the games."""
        if self.persons is None:
            return linker, adversary
        linker = linker if isinstance(linker, DirectedLinker) else self.persons.linker(linker)
        return linker, adversary_of_people(adversary)

    def _against_each(self, game_of: Callable[[TablesStudy], RecordGame]) -> RecordGame:
        """Combine the games against each adversary alone into one game.

        With one adversary, return its game; with several, return a `TypesGame` with their weights.
        """
        games = {}
        for name, study in self.each.items():
            with named(name):
                games[str(name)] = game = game_of(study)
        if len(games) == 1:
            return game
        sections, agents = self.scenario.adversaries, self.scenario.agents
        types = [
            AdversaryType(name, sections[name].weight, each.linker, each.adversary) for name, each in games.items()
        ]
        return TypesGame(game.space, types, game.benefit, game.loss, "one-of" if agents is None else agents.together)

    def game_on(self, space: StrategySpace, linker_of: Callable[[TablesStudy], Linker]) -> RecordGame:
        """Return the true game in another strategy space.

        Parameters
        ----------
        space : StrategySpace
            Generalizations that replace the lattice of the study.
        linker_of : callable
            Returns the linker for the study against one adversary alone.
        """
        return self._against_each(lambda study: study._record_game(linker_of(study), study.prices, space))

    def _record_game(self, linker: Linker, prices: Prices, space: StrategySpace | None = None) -> RecordGame:
        """Return the game of the rows against the scenario's adversary.

        The linker links cells; it is converted to rows if people have several records.
        """
        linker, adversary = self.of_people(linker, self.adversary(prices))
        benefit, loss = self.of_cells(prices.benefit), self.of_cells(prices.loss)
        return RecordGame(self.space if space is None else space, linker, adversary, benefit, loss)

    def _planned(self, prices: Prices) -> RecordGame:
        """Return the game against one adversary with the publisher's linkage beliefs."""
        scenario = self.scenario
        linker = self.own_linker(scenario.planned_risk, guessed=scenario.beliefs.lists == "coverage")
        return self._record_game(linker, prices)

    @cached_property
    def truth(self) -> RecordGame:
        """True game; a `TypesGame` if the scenario has several adversaries."""
        return self.game_on(self.space, lambda study: study.own_linker(study.scenario.adversary.risk))

    @cached_property
    def belief(self) -> RecordGame:
        """Game with the publisher's beliefs, on which the publisher plans."""
        return self._against_each(lambda study: study._planned(study.believed(study.prices)))

    @cached_property
    def choices_by_record(self) -> dict[str, Choice]:
        """Choices of policies in `belief` with direction "record", as far as they are known, by policy."""
        return {}

    def game(self, economics: EconomicsSection) -> RecordGame:
        """Return the true game with the payoff parameters of an economics section."""
        return replace(self, prices=self.prices_of(economics)).truth

    def planned_game(self, economics: EconomicsSection) -> RecordGame:
        """Return the publisher's planning game if it believes in `economics`."""
        study = replace(self, prices=self.prices_of(economics))
        return study._against_each(lambda each: each._planned(each.prices))

    def solve(self, policy: str, game: RecordGame) -> Choice:
        """Return the choice of a policy in a game on the study's records."""
        return policy_named(policy).choose(self, game, 0)

    def world(self, draw: int = 0) -> World:
        """Return the games of a draw; all draws have the same records."""
        return World(self.truth, self.belief, self.weights)

    def node_game(
        self, risk: Risk, prices: Prices, *, no_attack: bool = False, minimum: Sequence[int] | None = None
    ) -> FullDomainGame:
        """Return the full-domain game against a one-shot adversary.

        The adversary knows all quasi-identifiers of all people.
        """
        return FullDomainGame(
            lattice=self.space,
            released=self.weights,
            prices=prices,
            kind=self.kind if prices.n_kinds > 1 else None,
            population=self.population if risk == "journalist" else None,
            no_attack=no_attack,
            safe_class=self.scenario.publisher.safe_class,
            suppression_limit=self.scenario.publisher.suppression_limit,
            minimum=self.minimum if minimum is None else minimum,
        )

    # Other studies on the same data

    def lattice_of(self, codes: Codes) -> GeneralizationLattice:
        """Return the lattice over other records, shape (n, n_attributes)."""
        return GeneralizationLattice(self.lattice.hierarchies, codes, self.lattice.loss_attributes)

    def game_of(self, codes: Codes) -> RecordGame:
        """Return the true game of other records.

        Parameters
        ----------
        codes : ndarray of int32, shape (n, n_attributes)
            Category codes; all records have the first kind of payoff parameters.
        """
        return self._on_records(codes, np.zeros(len(codes), dtype=np.int64)).truth

    def on_cells(self, cells: Rows) -> TablesStudy:
        """Return the study with one record for each listed cell; cells may repeat."""
        return self._on_records(self.lattice.codes[cells], self.kind[cells], cells)

    def _on_records(self, codes: Codes, kind: NDArray[np.int64], cells: Rows | None = None) -> TablesStudy:
        owns = {}
        for name, study in self.each.items():
            with named(name):
                owns[name] = study._own_of(codes, cells)
        return replace(
            self,
            lattice=self.lattice_of(codes),
            cell_of_record=np.arange(len(codes)),
            kind=kind,
            drawn=self.drawn if self.drawn is None or cells is None else self.drawn.of_records(cells),
            owns=owns,
            persons=None,
            linkers={},
        )

    def _own_of(self, codes: Codes, cells: Rows | None = None) -> Resource:
        """Return the adversary's resource for other records, which may be in `cells`.

        Raises
        ------
        InputError
            If `cells` is missing for an attack in stages or with lists. These use more of a record than its
            quasi-identifiers.
        """
        own = self.own
        if cells is None:
            staged = "a multi-stage attack is supported only on the records of the scenario"
            lists = "lists are supported only for the records of the scenario"
            refuse_first(
                (isinstance(own, StagedAttack), staged, "adversary.stages", None, None),
                (self.holds, lists, "adversary.holds", None, None),
            )
        elif isinstance(own, StagedAttack):
            return replace(own, linker=own.linker.of_records(self.lattice_of(codes), cells))
        return self._knowledge_of(codes) if isinstance(own, Knowledge) else own

    def on_cells_of(self, other: TablesStudy) -> TablesStudy:
        """Return this study on the finer cells of another study."""
        study = replace(other, loaded=self.loaded, linkers={})
        if None not in self.owns:
            return study.equipped()
        return replace(study, owns={None: self._own_of(other.lattice.codes)})

    def with_adversary(self, section: AdversarySection) -> TablesStudy:
        """Return the study of the same records against another adversary.

        If the adversary infers attributes that are not quasi-identifiers, cells are split by these attributes.

        Raises
        ------
        InputError
            If a resource with which the adversary links cannot be used.
        """
        before, alone = self.scenario.adversary, None in self.owns
        if section == before and alone:
            return self
        # pydantic does not validate copies.
        checked = {name: getattr(section, name) for name in AdversarySection.model_fields}
        if section.planner in self.loaded.given:
            checked["planner"] = "one-shot"
        whole = revalidated(AdversarySection, checked, self.loaded.path)
        section = whole.model_copy(update={"planner": section.planner})
        study = self.with_sections(adversary=section, adversaries={})
        study = study.by_subject() if section.looks_up else study
        if alone and _linkage_of(section) == _linkage_of(before):
            return study
        everybody = {key: linker for key, linker in study.linkers.items() if key[0] is None}
        return replace(study, linkers=everybody).equipped()

    def with_loaded(self, loaded: Scenario[TablesScenario]) -> TablesStudy:
        """Return the study of a scenario with other payoffs, beliefs or publisher.

        Raises
        ------
        InputError
            If the publisher would have to search too many nodes.
        """
        study = replace(self, loaded=loaded)
        with locating(loaded.path):
            study.require_walkable()
        return replace(study, prices=study.prices_of(loaded.scenario.economics))

    def of_rows(self, rows: NDArray[np.integer[Any]], **changes: Any) -> TablesStudy:
        """Return the study on selected game rows, with further fields replaced.

        Parameters
        ----------
        rows : ndarray of int, shape (n,)
            Selected game rows; rows may repeat.
        **changes
            Fields of the study that change with the rows, such as `lattice`.
        """
        harbor = None if self.safe_harbor is None else self.safe_harbor[rows]
        return replace(self, kind=self.kind[rows], safe_harbor=harbor, linkers={}, **changes)

    def split(self, rows: Rows, people: NDArray[np.int64]) -> TablesStudy:
        """Return the study on selected game rows with new numbers of people.

        The new study defines the possible generalizations only. Group sizes still come from the rows of this study.

        Parameters
        ----------
        rows : ndarray of int, shape (n,)
            Selected game rows; rows may repeat.
        people : ndarray of int64, shape (n,)
            Number of people in each new row.
        """
        if self.persons is None:
            cells = np.repeat(np.arange(len(rows)), people)
            return self.of_rows(rows, lattice=self.lattice_of(self.lattice.codes[rows]), cell_of_record=cells)
        persons, cells = self.persons.split(rows).among(people)
        return self.of_rows(rows, persons=persons, cell_of_record=cells)

    def by_subject(self) -> TablesStudy:
        """Return the study in which each data subject has its own game row."""
        rows = self.row_of_subject
        if len(rows) == self.space.n_records:
            return self
        if self.persons is not None:
            return self.of_rows(rows, persons=self.persons.split(rows))
        return self.split(rows, np.ones(len(rows), dtype=np.int64))

    def among(self, participants: NDArray[np.int64]) -> TablesStudy:
        """Return the study on the records of the participants, on the same cells.

        Safe Harbor generalizations do not change, because Safe Harbor counts residents and not participants.

        Parameters
        ----------
        participants : ndarray of int64, shape (n_rows,)
            Number of participants in each game row; the sum is at least 1.
        """
        lattice, kept, persons = self.lattice, dict[tuple[object, ...], Linker](), self.persons
        for risk in self.scenario.risks:
            # Participation changes the released table, on which prosecutor risk depends. The population stays.
            if self.people(risk) is not self.dataset:
                self.linker(risk)
                kept |= {key: linker for key, linker in self.linkers.items() if key[1] == risk}
            elif persons is None:
                kept[None, risk] = PopulationLinker(self.linker(risk).group_sizes.among(participants))
        if persons is None:
            cells = np.repeat(np.arange(lattice.n_records), participants)
            dataset = Population.from_records(lattice.domain, lattice.codes, participants, name=self.dataset.name)
        else:
            persons, cells = persons.among(participants)
            dataset = persons.counted(self.dataset.name)
        return replace(self, cell_of_record=cells, dataset=dataset, persons=persons, linkers=kept)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the coded records, hierarchies, payoff parameters and people."""
        parts: list[Any] = [self.lattice.codes, self.cell_of_record, self.kind]
        parts += [hierarchy.groups for hierarchy in self.lattice.hierarchies]
        parts += [getattr(self.prices, price) for price in PRICES]
        parts += [self.persons and self.persons.of_record, self.household_of]
        parts += [] if self.waves is None else [self.waves.enters, self.waves.leaves, self.waves.sensitive]
        parts += [] if self.sensitive is None else [each.codes for each in self.sensitive.columns]
        parts += [self.population, self.sampled, *(study.registry for study in self.each.values())]
        if self.drawn is not None:
            parts.append(self.drawn.person)
            parts += [column for each in self.drawn.lists.values() for column in (each.person, *each.columns.values())]
        return digest_of(repr([h.labels for h in self.lattice.hierarchies]), parts)


def _linkage_of(section: AdversarySection) -> tuple[object, ...]:
    """Return the settings of an adversary that determine its linker."""
    plan = section.sequential if section.plans_sequentially else None
    settings = (section.knowledge, section.stages, section.holds, section.risk, section.direction, section.gains_from)
    return (*settings, plan and (plan.registry, plan.belief))
