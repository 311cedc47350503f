"""From a record-level scenario with agents to their world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.agents.accuracy import InaccurateLinker
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting, Solve
from reidsim.errors import InputError, listed
from reidsim.games.record_game import Linker
from reidsim.random_streams import random_stream
from reidsim.scenarios.agents import (
    check_resources,
    detection_intercept,
    economics_of,
    profile_of,
    rules_of,
    types_of,
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
        As if the type were the only adversary.
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
        return self.section.holds is not None or bool(self.section.buys)

    def adversary(self, economics: EconomicsSection) -> Adversary:
        """Return the planner of the type under some economics."""
        own = economics_of(self.section, economics, self.agents)
        gain, cost = own.adversary_gain, own.cost
        if self.section.planner == "always":
            return AlwaysAttacks(gain, cost)
        if self.section.planner == "never":
            return NeverAttacks(gain, cost)
        if self.section.planner == "random":
            seed = int(random_stream(self.study.scenario.seed, "agents").integers(2**63))
            return RandomAttacks(gain, cost, self.section.rate, seed)
        if self.study.scenario.adversary.planner == "fmdp":
            # The sequential attack reckons with fines itself.
            own = economics.model_copy(
                update={"gain": gain, "cost": economics.cost if self.section.cost is None else self.section.cost}
            )
        return self.study.adversary(own)

    def _linker(self, holds: Holdings) -> Linker:
        if not self.needs_resources:
            return self.study.linker
        if holds not in self._linkers:
            lattice = self.study.lattice
            everybody = np.zeros(lattice.n_records, dtype=np.intp)
            names = lattice.domain.names
            sources = []
            for name in sorted(holds):
                resource = self.agents.resources[name]
                group = AttributeGroup(resource.attributes or names)
                sources.append(Source(name, (SourceProfile((group,), resource.coverage),), everybody))
            knowledge = Knowledge(names, tuple(sources))
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
    _check_attributes(study, agents)
    profiles = []
    for name, section in types_of(agents).items():
        own = _study_of_type(study, section, agents)
        equip = _RecordEquip(own, name, section, agents)
        _check_planner(own, name, section, equip.needs_resources)
        more: dict[str, object] = {}
        planner = equip.adversary(own.scenario.economics)
        if isinstance(planner, SequentialAdversary):
            attack = planner.attack
            more = {
                "expected_fine": 0.0,
                "access_outlay": attack.access_cost + attack.link_cost,
                "exploit_outlay": attack.exploit_cost,
                "cheapest": attack.access_cost + attack.link_cost + attack.exploit_cost,
                "single_exploit": False,
            }
        profiles.append(profile_of(name, section, own.scenario.economics, agents, equip, **more))
    return tuple(profiles)


def record_setting(
    study: RecordStudy,
    agents: AgentsSection,
    solve: Solve,
    is_fixed: Callable[[str], bool],
) -> Setting:
    """Return the world of a record-level scenario.

    Parameters
    ----------
    study : RecordStudy
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
        seed=study.scenario.seed,
        **rules_of(agents),
    )


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


def _check_planner(study: RecordStudy, name: str, section: AgentTypeSection, needs_resources: bool) -> None:
    where = f"agents.types.{name}"
    planner = section.planner or study.scenario.adversary.planner
    partial = needs_resources or study.scenario.adversary.knowledge is not None
    if needs_resources and not (section.holds or section.buys):
        raise InputError(
            "a planner without the resource that it needs", where=f"{where}.holds", found=[],
            expected="a resource that it holds or buys",
        )  # fmt: skip
    if planner == "fmdp":
        if partial:
            raise InputError(
                "planner fmdp attacks through its own registry", where=where, found="resources or knowledge",
                expected="adversary.sequential.registry",
            )  # fmt: skip
        if section.accuracy < 1 or section.expected_accuracy is not None:
            raise InputError("accuracy is of planners who attempt a record once", where=f"{where}.accuracy")


def _check_attributes(study: RecordStudy, agents: AgentsSection) -> None:
    names = study.lattice.domain.names
    for name, resource in agents.resources.items():
        for attribute in resource.attributes:
            if attribute not in names:
                raise InputError(
                    "not a quasi-identifier", where=f"agents.resources.{name}.attributes", found=attribute,
                    expected=f"one of {listed(names)}",
                )  # fmt: skip
