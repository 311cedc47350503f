"""From a masking scenario with agents to their world: data subjects against several adversaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.stages import Identify, InferByLinkage, Stage
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting, Solve
from reidsim.errors import InputError, listed
from reidsim.games.masking.fixed_policies import game_of_policy
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import Linker
from reidsim.scenarios.agents import check_resources, economics_of, profile_of, rules_of, types_of
from reidsim.scenarios.agents_equipment import needs_resources, simple_planner
from reidsim.scenarios.agents_schema import AgentsSection, AgentTypeSection
from reidsim.scenarios.masking import MaskingStudy
from reidsim.scenarios.masking_schema import MaskingScenario
from reidsim.scenarios.schema import EconomicsSection

# Policies that do not depend on who attacks.
FIXED_POLICIES = ("no-protection", "demographics-only", "random-opt-in", "random-masking", "k-anonymity")


@dataclass(eq=False)
class _MaskingEquip:
    """Equips a type of a masking scenario; see `reidsim.agents.profile.Equip`."""

    scenario: MaskingScenario
    truth: MaskingGame
    believed: MaskingGame
    section: AgentTypeSection
    agents: AgentsSection
    _linkers: dict[tuple[Holdings, bool], Linker] = field(default_factory=dict)

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        game = self.believed if believed else self.truth
        held = holds if self.needs_resources else frozenset(self.scenario.resources)
        if game.attack.identify.resource not in held:
            return None
        truth = self.scenario.economics
        economics = self.scenario.beliefs.of(truth) if believed else truth
        attack = replace(game.attack, stages=stages_with(game.attack, held))
        # What a game links by besides stages, such as partial knowledge, is in its linker.
        key = (held, believed and self.believed is not self.truth)
        if key not in self._linkers:
            inferring = attack.inferences or type(game.record_game.linker) is MultistageLinker
            linker = MultistageLinker(attack, game.world, game.space) if inferring else game.record_game.linker
            self._linkers[key] = linker
        return Equipment(self._linkers[key], self._adversary(attack, game, economics))

    @property
    def needs_resources(self) -> bool:
        """Whether the type holds less than all resources from the start."""
        return needs_resources(self.section)

    def _adversary(self, attack: MultistageAttack, game: MaskingGame, economics: EconomicsSection) -> Adversary:
        own = economics_of(self.section, economics, self.agents)
        simple = simple_planner(self.section, own, self.scenario.seed, self.agents)
        if simple is not None:
            return simple
        gain, cost = own.adversary_gain, own.cost
        if isinstance(game.record_game.adversary, MultistageAttack) and self.section.planner is None:
            return replace(attack, gain=gain, cost=cost)
        return OneShotAdversary(gain, cost)


def stages_with(attack: MultistageAttack, holds: Holdings) -> tuple[Stage, ...]:
    """Return the stages that can be carried out with some resources.

    Without the resource of a stage what it would infer is not known, and no later stage links on it.
    """
    lost = {stage.infers for stage in attack.inferences if stage.resource not in holds}
    stages: list[Stage] = []
    for stage in attack.stages:
        if stage.resource not in holds:
            continue
        if isinstance(stage, Identify | InferByLinkage):
            on = tuple(name for name in stage.on if name not in lost)
            if isinstance(stage, InferByLinkage) and not on:
                lost.add(stage.infers)
                continue
            stages.append(replace(stage, on=on))
        else:
            stages.append(stage)
    return tuple(stages)


def masking_profiles(
    scenario: MaskingScenario, agents: AgentsSection, truth: MaskingGame, believed: MaskingGame
) -> tuple[AdversaryProfile, ...]:
    """Return the types of adversary of a masking scenario.

    Raises
    ------
    InputError
        If a type lacks a resource that it needs, or what it names does not exist.
    """
    _check_prices(scenario, agents)
    check_resources(agents, scenario.resources)
    profiles = []
    for name, section in types_of(agents).items():
        equip = _MaskingEquip(scenario, truth, believed, section, agents)
        _check_type(name, section, equip, truth.attack.identify.resource)
        as_believed = profile_of(name, section, scenario.beliefs.of(scenario.economics), agents, equip)
        profile = profile_of(name, section, scenario.economics, agents, equip)
        profiles.append(replace(profile, believed=as_believed))
    return tuple(profiles)


def masking_setting(
    study: MaskingStudy,
    agents: AgentsSection,
    games: tuple[MaskingGame, MaskingGame],
    policy: str,
    solve: Solve,
    draw: int,
) -> Setting:
    """Return the world in which data subjects follow a policy.

    Parameters
    ----------
    study : MaskingStudy
    agents : AgentsSection
    games : tuple of MaskingGame
        As it is and as subjects believe it to be, in one draw of the tables.
    policy : str
        Two of the policies are played against adversaries who infer nothing.
    solve : callable
        See `Setting`.
    draw : int
        Which of all draws of rounds this is.

    Raises
    ------
    InputError
        As `masking_profiles`; names the file.
    """
    truth, believed = (game_of_policy(game, policy) for game in games)
    try:
        profiles = masking_profiles(study.scenario, agents, truth, believed)
    except InputError as error:
        raise error.located(study.loaded.path) from None
    return Setting(
        space=truth.space,
        cell_of_subject=np.arange(truth.n_records),
        benefit=np.asarray(truth.benefit),
        loss=np.asarray(truth.loss),
        believed_loss=np.asarray(believed.loss),
        profiles=profiles,
        solve=solve,
        is_fixed=FIXED_POLICIES.__contains__,
        seed=study.scenario.seed,
        replication=draw,
        **rules_of(agents),
    )


def _check_prices(scenario: MaskingScenario, agents: AgentsSection) -> None:
    for name, resource in agents.resources.items():
        where = f"agents.resources.{name}"
        if name not in scenario.resources:
            raise InputError("no such resource", where=where, expected=f"one of {listed(scenario.resources)}")
        if resource.attributes or resource.coverage < 1:
            raise InputError(
                "who and what is in a resource is told where it is drawn", where=where, expected="a price only"
            )


def _check_type(name: str, section: AgentTypeSection, equip: _MaskingEquip, register: str) -> None:
    where = f"agents.types.{name}"
    if section.planner == "fmdp" or section.knowledge is not None:
        key = "planner" if section.planner == "fmdp" else "knowledge"
        raise InputError("not in a masking game", where=f"{where}.{key}", found=getattr(section, key))
    if section.accuracy < 1 or section.expected_accuracy is not None:
        raise InputError("accuracy is not of masking scenarios", where=f"{where}.accuracy", found=section.accuracy)
    if equip.needs_resources and register not in {*(section.holds or ()), *section.buys}:
        raise InputError(
            "a planner without the resource that it needs", where=f"{where}.holds", found=list(section.holds or ()),
            expected=f"{register!r}, in which it looks people up, held or bought",
        )  # fmt: skip
