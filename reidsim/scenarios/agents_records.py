"""From a record-level scenario with agents to their world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.agents.accuracy import InaccurateLinker
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting, Solve
from reidsim.errors import InputError
from reidsim.games.record_game import Linker
from reidsim.populations.population import Population
from reidsim.scenarios.agents import (
    check_resources,
    detection_intercept,
    economics_of,
    profile_of,
    rules_of,
    types_of,
)
from reidsim.scenarios.agents_equipment import (
    check_attributes,
    check_has_resource,
    knowledge_held,
    needs_resources,
    simple_planner,
)
from reidsim.scenarios.agents_schema import AgentsSection, AgentTypeSection
from reidsim.scenarios.build import RecordStudy, build_study
from reidsim.scenarios.schema import EconomicsSection


@dataclass(eq=False)
class _RecordEquip:
    """Equips a type of a record-level scenario; see `reidsim.agents.profile.Equip`.

    Parameters
    ----------
    study : RecordStudy
        As if the type were the only adversary; under prosecutor risk on the records of those who take part.
    name : str
    section : AgentTypeSection
    agents : AgentsSection
    """

    study: RecordStudy
    name: str
    section: AgentTypeSection
    agents: AgentsSection
    _linkers: dict[Holdings, Linker] = field(default_factory=dict)

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        if self.needs_resources and not holds:
            return None
        linker = self._linker(holds)
        if min(self.section.accuracy, expected_accuracy) < 1.0:
            linker = InaccurateLinker(linker, self.section.accuracy, expected_accuracy)
        truth = self.study.scenario.economics
        economics = self.study.scenario.beliefs.of(truth) if believed else truth
        return Equipment(linker, self.adversary(economics))

    @property
    def needs_resources(self) -> bool:
        """Whether the type can attack only with resources that it holds or buys."""
        return needs_resources(self.section)

    def adversary(self, economics: EconomicsSection) -> Adversary:
        """Return the planner of the type under some economics."""
        own = economics_of(self.section, economics, self.agents)
        simple = simple_planner(self.section, own, self.study.scenario.seed)
        if simple is not None:
            return simple
        if self.study.scenario.adversary.planner == "fmdp":
            # The sequential attack reckons with fines itself.
            cost = economics.cost if self.section.cost is None else self.section.cost
            own = economics.model_copy(update={"gain": own.adversary_gain, "cost": cost})
        return self.study.adversary(own)

    def _linker(self, holds: Holdings) -> Linker:
        if not self.needs_resources:
            return self.study.linker
        if holds not in self._linkers:
            lattice = self.study.lattice
            knowledge = knowledge_held(self.agents, holds, lattice.domain.names, lattice.n_records)
            self._linkers[holds] = KnowledgeLinker(lattice, self.study.linked_population, knowledge)
        return self._linkers[holds]


def record_profiles(study: RecordStudy, agents: AgentsSection) -> tuple[AdversaryProfile, ...]:
    """Return the types of adversary of a record-level scenario.

    Raises
    ------
    InputError
        If a type lacks a resource that it needs, or what it names does not exist.
    """
    check_resources(agents, agents.resources)
    check_attributes(agents, study.lattice.domain.names)
    profiles = []
    for name, section in types_of(agents).items():
        own = _study_of_type(study, section, agents)
        equip = _RecordEquip(own, name, section, agents)
        check_has_resource(name, section)
        _check_planner(own, name, section)
        truth = own.scenario.economics
        believed = _profile(equip, own.scenario.beliefs.of(truth))
        profiles.append(replace(_profile(equip, truth), believed=believed))
    return tuple(profiles)


def _profile(equip: _RecordEquip, economics: EconomicsSection) -> AdversaryProfile:
    """Return the profile of a type under some economics."""
    more: dict[str, object] = {}
    planner = equip.adversary(economics)
    if isinstance(planner, SequentialAdversary):
        attack = planner.attack
        more = {
            "expected_fine": 0.0,
            "access_outlay": attack.access_cost + attack.link_cost,
            "exploit_outlay": attack.exploit_cost,
            "cheapest": attack.access_cost + attack.link_cost + attack.exploit_cost,
            "single_exploit": False,
        }
    return profile_of(equip.name, equip.section, economics, equip.agents, equip, **more)


def record_setting(
    study: RecordStudy,
    agents: AgentsSection,
    solve: Solve,
    is_fixed: Callable[[str], bool],
) -> Setting:
    """Return the world of a record-level scenario.

    Under prosecutor risk the records of those who stay away count in no class size.

    Parameters
    ----------
    study : RecordStudy
        On all records.
    agents : AgentsSection
    solve, is_fixed : callable
        See `Setting`.

    Raises
    ------
    InputError
        As `record_profiles`; names the file.
    """
    try:
        profiles = record_profiles(study, agents)
    except InputError as error:
        raise error.located(study.loaded.path) from None

    def among(setting: Setting, participants: NDArray[np.int64]) -> Setting:
        return replace(setting, profiles=record_profiles(taking_part(study, participants), agents))

    truth, believed = study.scenario.economics, study.scenario.beliefs.of(study.scenario.economics)
    n = study.lattice.n_records
    return Setting(
        space=study.lattice,
        cell_of_subject=study.cell_of_record,
        benefit=np.full(n, truth.benefit),
        loss=np.full(n, truth.loss),
        believed_loss=np.full(n, believed.loss),
        profiles=profiles,
        solve=solve,
        is_fixed=is_fixed,
        # Under journalist risk records hide in the population, whoever of it takes part.
        among=among if study.scenario.adversary.risk == "prosecutor" else None,
        seed=study.scenario.seed,
        **rules_of(agents),
    )


def taking_part(study: RecordStudy, participants: NDArray[np.int64]) -> RecordStudy:
    """Return a study under prosecutor risk on the records of those who take part, on the same cells.

    What Safe Harbor accepts stays: it counts residents, whether they take part or not.

    Parameters
    ----------
    study : RecordStudy
    participants : ndarray of int64, shape (n_cells,)
        Records of each cell; one at least in all.
    """
    lattice, name = study.lattice, study.linked_population.name
    part = replace(
        study,
        linked_population=Population.from_records(lattice.domain, lattice.codes, participants, name=name),
        cell_of_record=np.repeat(np.arange(lattice.n_records), participants),
    )
    return replace(part, linker=part.linker_of(lattice))


def _study_of_type(study: RecordStudy, section: AgentTypeSection, agents: AgentsSection) -> RecordStudy:
    """Return the study in which a type is the only adversary."""
    scenario = study.scenario
    adversary, planner = scenario.adversary, section.planner or scenario.adversary.planner
    change: dict[str, object] = {"planner": "fmdp" if planner == "fmdp" else "one-shot"}
    if section.knowledge is not None:
        change["knowledge"] = section.knowledge
    elif section.holds is not None or section.buys:
        change["knowledge"] = None
    if planner == "fmdp" and agents.enforcement.detection > 0:
        rules = {
            "penalty": agents.enforcement.fine,
            "detection_intercept": detection_intercept(agents),
            "detection_slope": 0.0,
        }
        change["sequential"] = adversary.sequential.model_copy(update=rules)
    own = adversary.model_copy(update=change)
    if own == adversary:
        return study
    loaded = replace(study.loaded, scenario=scenario.model_copy(update={"adversary": own}))
    if planner == "fmdp" and own.sequential.registry is not None and study.registry is None:
        return build_study(loaded)
    registry = study.registry if planner == "fmdp" else None
    changed = replace(study, loaded=loaded, registry=registry)
    same_linker = (
        own.planner == adversary.planner and own.knowledge == adversary.knowledge and registry is study.registry
    )
    return changed if same_linker else replace(changed, linker=changed.linker_of(study.lattice))


def _check_planner(study: RecordStudy, name: str, section: AgentTypeSection) -> None:
    where = f"agents.types.{name}"
    planner = section.planner or study.scenario.adversary.planner
    partial = needs_resources(section) or study.scenario.adversary.knowledge is not None
    if planner == "fmdp":
        if partial:
            raise InputError(
                "planner fmdp attacks through its own registry", where=where, found="resources or knowledge",
                expected="adversary.sequential.registry",
            )  # fmt: skip
        if section.accuracy < 1 or section.expected_accuracy is not None:
            raise InputError("accuracy is of planners who attempt a record once", where=f"{where}.accuracy")
