"""Build the setting in which a masking scenario is played in repeated rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.stages import Identify, InferByLinkage, Stage
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.agents.profile import AdversaryProfile, Equipment, Holdings, Setting
from reidsim.errors import InputError, locating
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import Linker
from reidsim.kinds.masking.policy import policy_named
from reidsim.kinds.masking.study import MaskingStudy, presence_of
from reidsim.scenarios.adversary_schema import WeightedSection
from reidsim.scenarios.agents import (
    OWN_ADVERSARY,
    check_accuracy,
    check_resources,
    economics_of,
    linker_of,
    profile_of,
    rules_of,
    section_of,
    sequential_rules,
    types_of,
)
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.python_objects import planner
from reidsim.scenarios.schema import EconomicsSection
from reidsim.scenarios.schema import economics_of as economics_and_belief
from reidsim.scenarios.several_adversaries import named


@dataclass(eq=False)
class _MaskingEquip:
    """Callable that returns an adversary's linker and planner, given its resources.

    See `reidsim.agents.profile.Equip`. Without the resource of the attack's last stage, the adversary cannot attack.
    """

    study: MaskingStudy
    truth: MaskingGame
    believed: MaskingGame
    section: WeightedSection
    agents: AgentsSection
    where: str
    _linkers: dict[tuple[Holdings, bool], Linker] = field(default_factory=dict)

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        game = self.believed if believed else self.truth
        held = holds if self.section.needs_resources else frozenset(self.study.scenario.resources)
        if game.attack.identify.resource not in held:
            return None
        truth = self.study.scenario.economics
        economics = self.study.scenario.beliefs.of(truth) if believed else truth
        attack = replace(game.attack, stages=stages_with(game.attack, held))
        # The linker of a game also contains linkage without stages, such as linkage with partial knowledge.
        key = (held, believed and self.believed is not self.truth)
        if key not in self._linkers:
            inferring = attack.inferences or type(game.record_game.linker) is MultistageLinker
            linker = MultistageLinker(attack, game.world, game.space) if inferring else game.record_game.linker
            self._linkers[key] = linker
        linker = linker_of(self.section, self._linkers[key], expected_accuracy)
        return Equipment(linker, self.adversary(attack, game, economics))

    def lists(self, holds: Holdings, used: int) -> tuple[str, ...]:
        """Return the resources that an attack used: of inferences, then of the last stage.

        Bit i of `used` is set if the attack used the inference of stage i, from 0, of the stages that `holds` allows.
        """
        held = holds if self.section.needs_resources else frozenset(self.study.scenario.resources)
        stages = stages_with(self.truth.attack, held)
        return tuple(stage.resource for number, stage in enumerate(stages[:-1]) if used >> number & 1) + tuple(
            stage.resource for stage in stages[-1:]
        )

    def adversary(self, attack: MultistageAttack, game: MaskingGame, economics: EconomicsSection) -> Adversary:
        """Return the adversary's planner with the gain and cost of the payoff parameters.

        Parameters
        ----------
        attack : MultistageAttack
            Attack with only the stages for which the adversary has the resources.
        game : MaskingGame
            True or believed game, for the prior that a target is in the last stage's resource.
        economics : EconomicsSection
            True or believed payoff parameters.
        """
        adversary = self.study.scenario.adversary
        own = economics_of(self.section, economics, self.agents, sequential=adversary.plans_sequentially)
        gain, cost = own.adversary_gain, own.cost
        if adversary.plans_sequentially:
            rules = adversary.sequential.model_copy(update=sequential_rules(self.agents))
            sequential = adversary.model_copy(update={"sequential": rules})
            coverage = presence_of(game.world, game.attack.identify.resource)
            return planner(sequential, gain, cost, loaded=self.study.loaded, coverage=coverage)
        if adversary.planner != "one-shot":
            return planner(adversary, gain, cost, loaded=self.study.loaded)
        in_stages = self.study.knowledge is None
        once = replace(attack, gain=gain, cost=cost) if in_stages else OneShotAdversary(gain, cost)
        return adversary.erring(once, f"{self.where}.rationality")


def stages_with(attack: MultistageAttack, holds: Holdings) -> tuple[Stage, ...]:
    """Return the stages that can be carried out with the given resources.

    Without the resource of a stage, the adversary cannot infer its attribute, and no later stage links on it.
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
    study: MaskingStudy, agents: AgentsSection, games: Mapping[str | None, tuple[MaskingGame, MaskingGame]]
) -> tuple[AdversaryProfile, ...]:
    """Return the profile of each adversary type in repeated rounds.

    Parameters
    ----------
    study : MaskingStudy
    agents : AgentsSection
    games : mapping of str to tuple of MaskingGame
        True game and believed game against each adversary.

    Raises
    ------
    InputError
        If an adversary lacks a required resource, or names an unknown resource.
    """
    scenario = study.scenario
    used = {
        name or OWN_ADVERSARY: sorted({stage.resource for stage in against.stages})
        for name, against in study.each.items()
    }
    check_resources(scenario, scenario.resources, study.tables.buyers, used)
    prices, profiles = study.tables.prices, []
    for name, section in types_of(scenario).items():
        own, where = name if study.alone else None, section_of(scenario, name)
        against, (truth, believed) = study.each[own], games[own]
        with named(own):
            equip = _MaskingEquip(against, truth, believed, section, agents, where)
            _check_equipped(section, equip, truth, where)
            both = [
                (economics, equip.adversary(game.attack, game, economics))
                for economics, game in zip(economics_and_belief(against.scenario), (truth, believed), strict=True)
            ]
            profile = profile_of(name, section, agents, equip, both, prices)
        profiles.append(replace(profile, lists=equip.lists))
    return tuple(profiles)


def setting_of(
    study: MaskingStudy,
    agents: AgentsSection,
    games: Mapping[str | None, tuple[MaskingGame, MaskingGame]],
    policy: str,
    replication: int = 0,
    draw: int = 0,
) -> Setting:
    """Return the setting of repeated rounds in which data subjects follow a policy.

    Parameters
    ----------
    study : MaskingStudy
    agents : AgentsSection
    games : mapping of str to tuple of MaskingGame
        True game and believed game against each adversary, in one draw of the tables.
    policy : str
        Name of the policy. Some policies face adversaries without inference.
    replication, draw : int
        Number of the draw of the tables, and number of the run of all rounds on these tables.

    Raises
    ------
    InputError
        As for `masking_profiles`, or if adversaries remember earlier releases whose levels are not nested; names the
        file.
    """
    if study.policy(policy).without_inference:
        games = {name: (truth.one_stage(), believed.one_stage()) for name, (truth, believed) in games.items()}
    truth, believed = next(iter(games.values()))
    with locating(study.loaded.path):
        profiles = masking_profiles(study, agents, games)
    if agents.remembers and agents.rounds > 1 and not truth.space.is_nested:
        raise InputError(
            "releases at levels that are not nested cannot be combined",
            source=study.loaded.path,
            where="agents.remembers",
            found=True,
            expected="false, or groups that only merge between levels",
        )
    return Setting(
        space=truth.space,
        meet=truth.space.meet,
        cell_of_subject=np.arange(truth.n_records),
        benefit=np.asarray(truth.benefit),
        loss=np.asarray(truth.loss),
        believed_loss=np.asarray(believed.loss),
        profiles=profiles,
        solve=lambda name, game: policy_named(name).defender(study, replication).choose(game),
        is_fixed=lambda policy: policy_named(policy).is_rule,
        forbids_attacks=lambda policy: policy_named(policy).forbids_attacks,
        seed=study.scenario.seed,
        replication=replication * agents.draws + draw,
        **rules_of(study.scenario, agents),
    )


def _check_equipped(section: WeightedSection, equip: _MaskingEquip, game: MaskingGame, where: str) -> None:
    register = game.attack.identify.resource
    if section.needs_resources and register not in {*(section.holds or ()), *section.buys}:
        raise InputError(
            "the adversary lacks the resource of its attack",
            where=f"{where}.holds",
            found=list(section.holds or ()),
            expected=f"{register!r} in holds or buys",
        )
    planner = equip.adversary(game.attack, game, equip.study.scenario.economics)
    check_accuracy(section, planner, where)
