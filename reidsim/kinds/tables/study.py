"""Study of a table scenario: linkers, games and derived studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.errors import locating
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.attributes import AttributeLinker
from reidsim.games.directions.linker import DirectedLinker
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.prices import Prices
from reidsim.games.people import adversary_of_people
from reidsim.games.record_game import Linker, PopulationLinker, RecordGame
from reidsim.kinds.tables.own_adversary import OwnAdversary, alone, planner_of, sequential_attack_of
from reidsim.kinds.tables.policy import TablesPolicy, policy_named
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.table_data import PRICES, TableData
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.linkage.individual_risk import sizes_among
from reidsim.populations.domain import Codes
from reidsim.populations.population import Population
from reidsim.releases.strategy_space import Rows, StrategySpace
from reidsim.scenarios.adversary_schema import AdversarySection, Risk
from reidsim.scenarios.agents import meeting_of
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.several_adversaries import named
from reidsim.scenarios.study import World, digest_of
from reidsim.validation import revalidated


@dataclass(frozen=True, eq=False)
class TablesStudy(TableData):
    """Study of a table scenario: linkers, games and derived studies.

    See `TableData` for the other parameters.

    Parameters
    ----------
    own : OwnAdversary
        Registry, background knowledge, stages or lists with which the scenario's adversary links.
    owns : dict of str to OwnAdversary
        The same for each adversary by name, if the scenario has several adversaries.
    linkers : dict
        Cache of the linkers of cells. The first item of a key is an `OwnAdversary`, or None for linkage with all
        people. Linkers do not depend on payoff parameters, so that derived studies can reuse them.
    """

    own: OwnAdversary = field(default_factory=OwnAdversary)
    owns: dict[str, OwnAdversary] = field(default_factory=dict)
    linkers: dict[tuple[object, ...], Linker] = field(default_factory=dict, repr=False)

    def policy(self, name: str) -> TablesPolicy:
        """Return the policy with this name."""
        return policy_named(name)

    # Adversaries

    @cached_property
    def each(self) -> dict[str | None, TablesStudy]:
        """Study against each adversary alone, by name; {None: self} without names."""
        return {name: alone(self, name, own) for name, own in self.owns.items()} or {None: self}

    def _against_each(self, game_of: Callable[[TablesStudy], RecordGame]) -> RecordGame:
        """Combine the games against each adversary alone into one game.

        With one adversary, return its game; with several, return a `TypesGame` with their weights.
        """
        types, game = [], None
        for name, study in self.each.items():
            with named(name):
                game = game_of(study)
            if name is None or len(self.each) == 1:
                return game
            weight = self.scenario.adversaries[name].weight
            types.append(AdversaryType(name, weight, game.linker, game.adversary))
        assert game is not None  # noqa: S101 - `each` is never empty
        return TypesGame(game.space, types, game.benefit, game.loss, meeting_of(self.scenario.agents))

    # Linkage and games

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
        direction = self.scenario.adversary.direction
        if direction != "record":
            key = (None, risk, direction)
            if key not in self.linkers:
                everybody, released = self.linker(risk), self.linker("prosecutor")
                self.linkers[key] = (
                    DirectedLinker(self.lattice, direction, everybody, released, self.kind)
                    if self.persons is None
                    else DirectedLinker(
                        self.space, direction, self.persons.linker(everybody), self.persons.linker(released), self.kind
                    )
                )
            return self.linkers[key]
        gains_from = self.scenario.adversary.gains_from
        if gains_from != "identity":
            inferred = (None, risk, gains_from)
            if inferred not in self.linkers:
                self.linkers[inferred] = AttributeLinker(self.sensitive_groups, gains_from)
            return self.linkers[inferred]
        if self.own.links_with_everybody:
            return self.linker(risk)
        own = (self.own, risk, guessed)
        if own not in self.linkers:
            self.linkers[own] = self.own.linker(self.lattice, self.people(risk), self.linker(risk), guessed=guessed)
        return self.linkers[own]

    @property
    def group_sizes(self) -> GroupSizes:
        """Group sizes of the distinct cells: in the registry if there is one."""
        if self.own.registry is not None:
            return GroupSizes(self.own.registry, self.lattice, holds_records=False)
        return self.linker(self.scenario.linked_risk).group_sizes

    def sequential_attack(self, economics: EconomicsSection) -> SequentialAttack:
        """Return the sequential attack with the gain and cost of payoff parameters."""
        return sequential_attack_of(self, economics.adversary_gain, economics.cost)

    def adversary(self, prices: Prices) -> Adversary:
        """Return the scenario's adversary with the gain and cost in `prices`."""
        return planner_of(self, *self.gain_and_cost(prices))

    def record_game(self, linker: Linker, prices: Prices) -> RecordGame:
        """Return the record-level game of the rows against the scenario's adversary.

        Parameters
        ----------
        linker : Linker
            Links cells; it is converted to rows if people have several records.
        prices : Prices
            Payoff parameters of each kind of record.
        """
        benefit, loss = self.of_cells(prices.benefit), self.of_cells(prices.loss)
        linker, adversary = self.of_people(linker, self.adversary(prices))
        return RecordGame(self.space, linker, adversary, benefit, loss)

    def of_people(self, linker: Linker, adversary: Adversary) -> tuple[Linker, Adversary]:
        """Convert a linker and an adversary of cells to the rows of the games."""
        if self.persons is None:
            return linker, adversary
        linker = linker if isinstance(linker, DirectedLinker) else self.persons.linker(linker)
        return linker, adversary_of_people(adversary)

    def game(self, economics: EconomicsSection) -> RecordGame:
        """Return the true game with the payoff parameters of an economics section."""
        return replace(self, prices=self.prices_of(economics)).truth

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
                owns[name] = study.own.of_other_records(study.loaded, study, codes, cells)
        own = owns.pop(None, self.own)
        return replace(
            self,
            lattice=self.lattice_of(codes),
            cell_of_record=np.arange(len(codes)),
            kind=kind,
            own=own,
            owns={str(name): each for name, each in owns.items()},
            persons=None,
            linkers={},
        )

    def game_on(self, space: StrategySpace, linker_of: Callable[[TablesStudy], Linker]) -> RecordGame:
        """Return the true game in another strategy space.

        Parameters
        ----------
        space : StrategySpace
            Generalizations that replace the lattice of the study.
        linker_of : callable
            Returns the linker for the study against one adversary alone.
        """
        return self._against_each(lambda study: replace(study.record_game(linker_of(study), study.prices), space=space))

    @property
    def truth(self) -> RecordGame:
        """True game; a `TypesGame` if the scenario has several adversaries."""
        return self._against_each(
            lambda study: study.record_game(study.own_linker(study.scenario.adversary.risk), study.prices)
        )

    @property
    def belief(self) -> RecordGame:
        """Game with the publisher's beliefs, on which the publisher plans."""
        return self._against_each(lambda study: study._planned(study.believed(study.prices)))

    def planned_game(self, economics: EconomicsSection) -> RecordGame:
        """Return the publisher's planning game if it believes in `economics`."""
        study = replace(self, prices=self.prices_of(economics))
        return study._against_each(lambda each: each._planned(each.prices))

    def _planned(self, prices: Prices) -> RecordGame:
        """Return the game against one adversary with the publisher's linkage beliefs."""
        scenario = self.scenario
        linker = self.own_linker(scenario.planned_risk, guessed=scenario.beliefs.lists == "coverage")
        return self.record_game(linker, prices)

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

    def by_row(self) -> TablesStudy:
        """Return the study in which each record is a cell, even if records are equal."""
        if len(self.cell_of_record) == self.lattice.n_records:
            return self
        of = self.cell_of_record
        return self.of_rows(of, lattice=self.lattice_of(self.lattice.codes[of]), cell_of_record=np.arange(len(of)))

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

    def with_adversary(self, section: AdversarySection) -> TablesStudy:
        """Return the study of the same records against another adversary.

        If the adversary infers attributes that are not quasi-identifiers, cells are split by these attributes.

        Raises
        ------
        InputError
            If a resource with which the adversary links cannot be used.
        """
        before = self.scenario.adversary
        if section == before and not self.owns:
            return self
        # pydantic does not validate copies.
        checked = {name: getattr(section, name) for name in AdversarySection.model_fields}
        if section.planner in self.loaded.given:
            checked["planner"] = "one-shot"
        whole = revalidated(AdversarySection, checked, self.loaded.path)
        section = whole.model_copy(update={"planner": section.planner})
        study = self.with_sections(adversary=section, adversaries={})
        study = study.by_subject() if section.looks_up else study
        if _links(section) == _links(before) and not self.owns:
            return study
        everybody = {key: linker for key, linker in study.linkers.items() if key[0] is None}
        return OwnAdversary.of(replace(study, own=OwnAdversary(), owns={}, linkers=everybody))

    def on_cells_of(self, other: TablesStudy) -> TablesStudy:
        """Return this study on the finer cells of another study."""
        if self.owns:
            return OwnAdversary.of(replace(other, loaded=self.loaded, own=OwnAdversary(), linkers={}))
        own = self.own.of_other_records(self.loaded, self, other.lattice.codes)
        return replace(other, loaded=self.loaded, own=own, linkers={})

    def with_loaded(self, loaded: Scenario[TablesScenario]) -> TablesStudy:
        """Return the study of a scenario with other payoffs, beliefs or publisher.

        Raises
        ------
        InputError
            If the publisher would have to search too many nodes.
        """
        study = replace(self, loaded=loaded)
        study = replace(study, prices=study.prices_of(loaded.scenario.economics))
        with locating(loaded.path):
            study.require_walkable()
        return study

    def among(self, participants: NDArray[np.int64]) -> TablesStudy:
        """Return the study on the records of the participants, on the same cells.

        Safe Harbor generalizations do not change, because Safe Harbor counts residents and not participants.

        Parameters
        ----------
        participants : ndarray of int64, shape (n_rows,)
            Number of participants in each game row; the sum is at least 1.
        """
        lattice = self.lattice
        # Participation changes the released table, on which prosecutor risk depends. The population stays.
        same = [risk for risk in self.scenario.risks if self.people(risk) is not self.dataset]
        for risk in same:
            self.linker(risk)
        kept = {key: linker for key, linker in self.linkers.items() if key[1] in same}
        if self.persons is None:
            for risk in self.scenario.risks.difference(same):
                kept[None, risk] = PopulationLinker(self.linker(risk).group_sizes.among(participants))
            persons, cells = None, np.repeat(np.arange(lattice.n_records), participants)
            dataset = Population.from_records(lattice.domain, lattice.codes, participants, name=self.dataset.name)
        else:
            persons, cells = self.persons.among(participants)
            dataset = persons.counted(self.dataset.name)
        return replace(self, cell_of_record=cells, dataset=dataset, persons=persons, linkers=kept)

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
        if self.persons is None:
            return self.by_row()
        if self.persons.row_sets.n_sets == self.n_subjects:
            return self
        return self.of_rows(self.row_of_subject, persons=self.persons.split(self.row_of_subject))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the coded records, hierarchies, payoff parameters and people."""
        parts: list[Any] = [self.lattice.codes, self.cell_of_record, self.kind]
        parts += [hierarchy.groups for hierarchy in self.lattice.hierarchies]
        parts += [getattr(self.prices, price) for price in PRICES]
        parts += [self.persons and self.persons.of_record, self.household_of]
        parts += [] if self.waves is None else [self.waves.enters, self.waves.leaves, self.waves.sensitive]
        parts += [] if self.sensitive is None else [each.codes for each in self.sensitive.columns]
        parts += [self.population, self.sampled, *(study.own.registry for study in self.each.values())]
        if self.drawn is not None:
            parts.append(self.drawn.person)
            parts += [column for each in self.drawn.lists.values() for column in (each.person, *each.columns.values())]
        return digest_of(repr([h.labels for h in self.lattice.hierarchies]), parts)


def _links(section: AdversarySection) -> tuple[object, ...]:
    """Return the settings of an adversary that determine its linker."""
    plan = section.sequential if section.plans_sequentially else None
    return (
        section.knowledge,
        section.stages,
        section.holds,
        plan and (plan.registry, plan.belief),
        section.risk,
        section.direction,
        section.gains_from,
    )
