"""From a scenario at dataset level with agents to their world: one publisher of a whole table, several adversaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.groups import Knowledge
from reidsim.adversaries.knowledge.load import load_knowledge
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.agents.accuracy import InaccurateLinker
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting
from reidsim.errors import InputError
from reidsim.games.record_game import Choice, Linker, RecordGame
from reidsim.populations.population import Population
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.agents import check_resources, economics_of, profile_of, rules_of, types_of
from reidsim.scenarios.agents_equipment import (
    check_attributes,
    check_has_resource,
    knowledge_held,
    needs_resources,
    simple_planner,
)
from reidsim.scenarios.agents_schema import AgentsSection, AgentTypeSection
from reidsim.scenarios.full_domain import FullDomainStudy
from reidsim.scenarios.full_domain_schema import Risk
from reidsim.scenarios.schema import EconomicsSection

# Picks the strategies of a policy in a game that is played on a study's records.
SolveOn = Callable[[FullDomainStudy, str, RecordGame], Choice]


@dataclass(eq=False)
class _DatasetEquip:
    """Equips a type of a scenario at dataset level; see `reidsim.agents.profile.Equip`.

    Parameters
    ----------
    study : FullDomainStudy
        On the records of those who take part.
    economics : EconomicsSection
        The scenario's, with one gain and one cost for all records.
    section : AgentTypeSection
    agents : AgentsSection
    recipe : Knowledge, optional
        What the type knows by its knowledge recipe.
    """

    study: FullDomainStudy
    economics: EconomicsSection
    section: AgentTypeSection
    agents: AgentsSection
    recipe: Knowledge | None
    _linkers: dict[tuple[Holdings, Risk], Linker] = field(default_factory=dict)

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        if needs_resources(self.section) and not holds:
            return None
        scenario = self.study.scenario
        linker = self._linker(holds, self.study.planned_risk if believed else scenario.adversary.risk)
        if min(self.section.accuracy, expected_accuracy) < 1.0:
            linker = InaccurateLinker(linker, self.section.accuracy, expected_accuracy)
        economics = scenario.beliefs.of(self.economics) if believed else self.economics
        return Equipment(linker, self._adversary(economics))

    def _adversary(self, economics: EconomicsSection) -> Adversary:
        own = economics_of(self.section, economics, self.agents)
        simple = simple_planner(self.section, own, self.study.scenario.seed)
        return simple or OneShotAdversary(own.adversary_gain, own.cost)

    def _linker(self, holds: Holdings, risk: Risk) -> Linker:
        study = self.study
        if self.recipe is None and not needs_resources(self.section):
            return study.linker(risk)
        if (holds, risk) not in self._linkers:
            names, n = study.lattice.domain.names, study.lattice.n_records
            knowledge = knowledge_held(self.agents, holds, names, n) if self.recipe is None else self.recipe
            people = study.population if risk == "journalist" else None
            self._linkers[holds, risk] = KnowledgeLinker(study.lattice, people or study.dataset, knowledge)
        return self._linkers[holds, risk]


def full_domain_setting(
    study: FullDomainStudy, agents: AgentsSection, solve: SolveOn, is_fixed: Callable[[str], bool]
) -> Setting:
    """Return the world of a scenario at dataset level.

    The records of those who stay away are not in the table: they count neither in its class sizes nor in the sum that
    the publisher maximises.

    Parameters
    ----------
    study : FullDomainStudy
        On all records.
    agents : AgentsSection
    solve : callable
        Called with the study on the records of those who take part, a policy, and the game believed in.
    is_fixed : callable
        See `Setting`.

    Raises
    ------
    InputError
        If a type of adversary cannot be used; names the file.
    """
    try:
        check_resources(agents, agents.resources)
        check_attributes(agents, study.lattice.domain.names)
        for name, section in types_of(agents).items():
            _check_type(name, section)
        economics = _economics(study, agents)
        recipes = {
            name: load_knowledge(section.knowledge, study.lattice.domain, study.lattice.codes, base=study.loaded.folder)
            for name, section in agents.types.items()
            if section.knowledge is not None
        }
    except InputError as error:
        raise error.located(study.loaded.path) from None

    def among(setting: Setting, participants: NDArray[np.int64]) -> Setting:
        part = taking_part(study, participants)
        profiles = _profiles(part, economics, agents, recipes)
        return replace(setting, profiles=profiles, solve=partial(solve, part))

    benefit, loss = (_of_cells(study, amounts) for amounts in (study.prices.benefit, study.prices.loss))
    return Setting(
        space=study.lattice,
        cell_of_subject=study.cell_of_record,
        benefit=benefit,
        loss=loss,
        believed_loss=_of_cells(study, study.believed(study.prices).loss),
        profiles=_profiles(study, economics, agents, recipes),
        solve=partial(solve, study),
        is_fixed=is_fixed,
        among=among,
        seed=study.scenario.seed,
        **rules_of(agents),
    )


def taking_part(study: FullDomainStudy, participants: NDArray[np.int64]) -> FullDomainStudy:
    """Return the study on the records of those who take part, on the same cells.

    Parameters
    ----------
    study : FullDomainStudy
    participants : ndarray of int64, shape (n_cells,)
        Records of each cell; one at least in all.
    """
    lattice, risks = study.lattice, (study.scenario.adversary.risk, study.planned_risk)
    return replace(
        study,
        cell_of_record=np.repeat(np.arange(lattice.n_records), participants),
        dataset=Population.from_records(lattice.domain, lattice.codes, participants, name=study.dataset.name),
        # Those in the released table are others, the population is the same.
        linkers={"journalist": study.linker("journalist")} if "journalist" in risks else {},
    )


def _profiles(
    study: FullDomainStudy, economics: EconomicsSection, agents: AgentsSection, recipes: Mapping[str, Knowledge]
) -> tuple[AdversaryProfile, ...]:
    profiles = []
    for name, section in types_of(agents).items():
        equip = _DatasetEquip(study, economics, section, agents, recipes.get(name))
        as_believed = profile_of(name, section, study.scenario.beliefs.of(economics), agents, equip)
        profiles.append(replace(profile_of(name, section, economics, agents, equip), believed=as_believed))
    return tuple(profiles)


def _economics(study: FullDomainStudy, agents: AgentsSection) -> EconomicsSection:
    """Return the economics with the one gain and cost that the records have, for types that do not give their own.

    Raises
    ------
    InputError
        If a type takes one that differs by record.
    """
    amounts = {}
    for price in ("gain", "cost"):
        given = getattr(study.prices, price)
        amounts[price] = float(given.flat[0])
        if (given == given.flat[0]).all():
            continue
        lacking = [name for name, section in types_of(agents).items() if getattr(section, price) is None]
        if lacking:
            where = f"agents.types.{lacking[0]}.{price}"
            raise InputError(
                f"agents have one {price} for all records, those of the scenario differ by record", where=where,
                expected="an amount",
            )  # fmt: skip
    return study.scenario.economics.model_copy(update=amounts)


def _check_type(name: str, section: AgentTypeSection) -> None:
    if section.planner == "fmdp":
        raise InputError(
            "not in a game at dataset level", where=f"agents.types.{name}.planner", found=section.planner,
            expected="one-shot, always, never or random",
        )  # fmt: skip
    check_has_resource(name, section)


def _of_cells(study: FullDomainStudy, amounts: Floats) -> Floats:
    """Return an amount of each cell, of amounts (1, n_kinds) of each kind of record or (1, 1) of all."""
    return np.asarray(amounts[0, study.kind] if amounts.shape[1] > 1 else np.full(len(study.kind), amounts[0, 0]))
