"""Adversary of a table scenario: its linkage resources and its planner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reidsim.adversaries.drawn_lists import DrawnLists, DrawnListsLinker
from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.load import load_knowledge
from reidsim.adversaries.planners import Amount
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import sequential_attack
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.errors import InputError, locating
from reidsim.games.record_game import Linker, PopulationLinker
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import Codes
from reidsim.populations.population import Population
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Rows
from reidsim.scenarios.attack_recipe import recipe_of_scenario
from reidsim.scenarios.hierarchies import over_domain
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import people_named, planner
from reidsim.scenarios.several_adversaries import loaded_alone, named

if TYPE_CHECKING:
    from reidsim.kinds.tables.schema import TablesScenario
    from reidsim.kinds.tables.staged_attack import StagedAttack
    from reidsim.kinds.tables.study import TablesStudy


@dataclass(frozen=True, eq=False)
class OwnAdversary:
    """Resources with which an adversary links; by default, it links with all people.

    Parameters
    ----------
    registry : Population, optional
        People that a sequential attack can look up.
    guesses : bool
        Whether a sequential attack does not know group sizes before it has access to the registry.
    knowledge : Knowledge, optional
        Background knowledge about the persons of the cells.
    staged : StagedAttack, optional
        Attack in stages, which infers attributes before it links.
    holds : tuple of str
        Names of the lists drawn from the people in which the adversary looks records up.
    drawn : DrawnLists, optional
        All lists of the scenario, with the persons of the cells.
    """

    registry: Population | None = None
    guesses: bool = False
    knowledge: Knowledge | None = None
    staged: StagedAttack | None = None
    holds: tuple[str, ...] = ()
    drawn: DrawnLists | None = None

    @staticmethod
    def of(study: TablesStudy) -> TablesStudy:
        """Return the study with the resources of its adversaries, read from files.

        Raises
        ------
        InputError
            If a resource cannot be used.
        """
        if study.scenario.adversaries:
            return _of_each(study)
        section, loaded = study.scenario.adversary, study.loaded
        if section.stages is not None:
            from reidsim.kinds.tables.staged_attack import staged_records

            path = recipe_of_scenario(section.stages, loaded.folder)
            assert path is not None  # noqa: S101 - the section names stages
            finer, staged = staged_records(study, path)
            return replace(finer, own=OwnAdversary(staged=staged))
        if section.holds:
            # Ties between lists are broken by the order in the scenario file, not by the order in `holds`.
            holds = tuple(name for name in study.scenario.resources if name in section.holds)
            return replace(study, own=OwnAdversary(holds=holds, drawn=study.drawn))
        if section.knowledge is not None:
            lattice = study.lattice
            known = load_knowledge(section.knowledge, lattice.domain, lattice.codes, base=loaded.folder)
            return replace(study, own=OwnAdversary(knowledge=known))
        if not section.plans_sequentially:
            return study
        guesses = section.sequential.belief == "unknown"
        return replace(study, own=OwnAdversary(registry=_registry(study), guesses=guesses))

    def of_other_records(
        self, loaded: Scenario[TablesScenario], study: TablesStudy, codes: Codes, cells: Rows | None = None
    ) -> OwnAdversary:
        """Return the same resources for other records.

        Parameters
        ----------
        loaded : Scenario
        study : TablesStudy
        codes : ndarray of int32, shape (n, n_attributes)
            Category codes of the records.
        cells : ndarray of int, shape (n,), optional
            Cells of the study to which the records belong.

        Raises
        ------
        InputError
            If `cells` is missing for an attack in stages or with lists. These use more of a record than its
            quasi-identifiers.
        """
        if self.staged is not None and cells is not None:
            linker = self.staged.linker.of_records(study.lattice_of(codes), cells)
            return replace(self, staged=replace(self.staged, linker=linker))
        if self.staged is not None:
            raise InputError(
                "a multi-stage attack is supported only on the records of the scenario", where="adversary.stages"
            )
        if self.drawn is not None and cells is not None:
            return replace(self, drawn=self.drawn.of_records(cells))
        if self.drawn is not None:
            raise InputError("lists are supported only for the records of the scenario", where="adversary.holds")
        if self.knowledge is None:
            return self
        section = loaded.scenario.adversary
        known = load_knowledge(str(section.knowledge), study.lattice.domain, codes, base=loaded.folder)
        return replace(self, knowledge=known)

    @property
    def links_with_everybody(self) -> bool:
        """Whether the adversary links with all people and knows their values."""
        linked = (self.registry, self.knowledge, self.staged, self.drawn)
        return not self.guesses and all(each is None for each in linked)

    def linker(
        self, lattice: GeneralizationLattice, people: Population, everybody: PopulationLinker, *, guessed: bool = False
    ) -> Linker:
        """Return the linker of the records of a lattice.

        Parameters
        ----------
        lattice : GeneralizationLattice
        people : Population
            Candidates for the person of a record.
        everybody : PopulationLinker
            Links with all people.
        guessed : bool
            Whether only the coverage of lists drawn from the people is known, and not their members.
        """
        if self.staged is not None:
            return self.staged.linker
        if self.knowledge is not None:
            return KnowledgeLinker(lattice, people, self.knowledge)
        if self.drawn is not None:
            return DrawnListsLinker(lattice, self.drawn, self.holds, guessed=guessed)
        sizes = everybody.group_sizes
        if self.registry is not None:
            return PopulationLinker(GroupSizes(self.registry, lattice, holds_records=False), population=sizes)
        return PopulationLinker(sizes, population=sizes) if self.guesses else everybody


def _of_each(study: TablesStudy) -> TablesStudy:
    """Return the study with the resources of each adversary, on common cells.

    Cells are split until no adversary needs finer ones.
    """
    cells = 0
    while cells < study.lattice.n_records:
        # All adversaries share one partition, so that a split for one requires another pass for the others.
        cells, owns = study.lattice.n_records, {}
        for name in study.scenario.adversaries:
            with named(name):
                found = OwnAdversary.of(alone(study, name, OwnAdversary()))
            owns[name] = found.own
            if found.lattice is not study.lattice:
                study = replace(found, loaded=study.loaded, own=OwnAdversary(), linkers={})
    return replace(study, owns=owns)


def alone(study: TablesStudy, name: str, own: OwnAdversary) -> TablesStudy:
    """Return the study against a single named adversary of the scenario.

    `own` holds the resources with which this adversary links; its own gain and cost replace the scenario's.
    """
    section = study.scenario.adversaries[name]
    amounts = {price: np.asarray(amount) for price, amount in section.amounts.items()}
    loaded, prices = loaded_alone(study.loaded, name), replace(study.prices, **amounts)
    return replace(study, loaded=loaded, prices=prices, own=own, owns={})


def planner_of(study: TablesStudy, gain: Amount, cost: Amount) -> Adversary:
    """Return the planner of a study's adversary for a gain and a cost.

    Raises
    ------
    InputError
        If a user's adversary cannot be created, or if gain or cost of a sequential adversary differ by record.
    """
    section = study.scenario.adversary
    if section.planner == "one-shot" and study.own.staged is not None:
        return section.erring(study.own.staged.by(gain, cost), "adversary.rationality")
    listed = study.own.registry or study.linked_population
    return planner(
        section,
        gain,
        cost,
        loaded=study.loaded,
        coverage=_coverage(study),
        registry_size=round(listed.total) if study.own.guesses else None,
    )


def sequential_attack_of(study: TablesStudy, gain: float, cost: float) -> SequentialAttack:
    """Return the parameters of the sequential attack for a gain and a cost."""
    return sequential_attack(study.scenario.adversary.sequential, gain, cost, coverage=_coverage(study))


def _coverage(study: TablesStudy) -> float:
    registry = study.own.registry
    return 1.0 if registry is None else float(registry.total / study.linked_population.total)


def _registry(study: TablesStudy) -> Population | None:
    given = study.scenario.adversary.sequential.registry
    if given is None:
        return None
    where = "adversary.sequential.registry"
    with locating(where=where):
        domain = study.lattice.domain
        everybody = people_named(given, study.loaded).marginal(domain.names)
        registry = over_domain(domain, everybody, study.scenario.attributes)
    people = study.linked_population
    if registry.total > people.total:
        raise InputError(
            "the registry has more people than the population",
            where=where,
            found=registry.total,
            expected=f"at most {people.total:,.0f}",
        )
    return registry
