"""The adversaries of a masking scenario in repeated rounds and in cross-play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from reidsim.adversaries.multistage.attack import Identify, InferByLinkage, MultistageAttack, Stage
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.response import Adversary, planners
from reidsim.agents.profile import Equipment, Holdings, Setting
from reidsim.core.errors import InputError, locating
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import Linker, RecordGame
from reidsim.kinds.masking.policies import policy_named
from reidsim.kinds.masking.schema import MaskingAdversarySection
from reidsim.kinds.masking.study import Games, MaskingStudy, build_masking_study, presence_of
from reidsim.scenarios.adversary_schema import TOGETHER, AgentsSection, WeightedSection
from reidsim.scenarios.agents import (
    NO_RECIPE,
    NO_STAGES,
    ONE_STAGE,
    OWN_ADVERSARY,
    OpponentOptions,
    Opponents,
    are_equipped,
    check_resources,
    economics_of,
    linker_of,
    name_of,
    named,
    played_by,
    profile_of,
    rules_of,
    types_of,
    with_adversaries,
    with_detection,
)
from reidsim.scenarios.agents import (
    Games as GamesAgainst,
)
from reidsim.scenarios.python_objects import planner
from reidsim.scenarios.resources import IdentifySection
from reidsim.scenarios.schema import economics_of as economics_and_belief
from reidsim.scenarios.study import World

# Sections for further computations on a scenario, which do not affect its games.
_NOT_PLAYED = ("figures", "agents", "stress", "sweep", "uncertainty", "adversaries")


@dataclass(eq=False)
class _MaskingEquip:
    """Callable that returns an adversary's linker and planner, given its resources.

    See `reidsim.agents.profile.Equip`. Without the resource of the attack's last stage, the adversary cannot attack,
    and the result is None.

    Parameters
    ----------
    study : MaskingStudy
        Study against this adversary alone.
    games : tuple of MaskingGame
        The true and the believed game against this adversary alone.
    section : WeightedSection
        Settings of the adversary in rounds.
    agents : AgentsSection
        Rules of the rounds.
    """

    study: MaskingStudy
    games: Games
    section: WeightedSection
    agents: AgentsSection
    _linkers: dict[tuple[Holdings, int], Linker] = field(default_factory=dict)

    def __call__(self, holds: Holdings, expected_accuracy: float, *, believed: bool = False) -> Equipment | None:
        game, held = self.games[believed], self._held(holds)
        if game.attack.identify.resource not in held:
            return None
        attack = replace(game.attack, stages=stages_with(game.attack, held))
        # The linker of a game also contains linkage without stages, such as linkage with partial knowledge.
        linker, key = game.record_game.linker, (held, id(game))
        if key not in self._linkers:
            inferring = attack.inferences or type(linker) is MultistageLinker
            self._linkers[key] = MultistageLinker(attack, game.world, game.space) if inferring else linker
        linker = linker_of(self.section, self._linkers[key], expected_accuracy)
        return Equipment(linker, self.adversary(attack, believed=believed))

    def _held(self, holds: Holdings) -> Holdings:
        return holds if self.section.needs_resources else frozenset(self.study.scenario.resources)

    def lists(self, holds: Holdings, used: int) -> tuple[str, ...]:
        """Return the names of resources that an attack used: inferences, then last stage.

        `holds` has the names of the adversary's resources. Bit i of `used` is set if the attack used the inference of
        stage i, from 0, of the stages that these resources allow.
        """
        stages = stages_with(self.games[0].attack, self._held(holds))
        inferred = [stage.resource for number, stage in enumerate(stages[:-1]) if used >> number & 1]
        return (*inferred, *(stage.resource for stage in stages[-1:]))

    def adversary(self, attack: MultistageAttack, *, believed: bool = False) -> Adversary:
        """Return the planner of an attack, with the adversary's gain and cost in rounds.

        Parameters
        ----------
        attack : MultistageAttack
            Attack with only the stages for which the adversary has the resources; its gain and cost are replaced.
        believed : bool
            Whether gain and cost are the ones that the data subjects believe in.
        """
        section, economics = self.study.scenario.adversary, economics_and_belief(self.study.scenario)[believed]
        own = economics_of(self.section, economics, self.agents, sequential=section.plans_sequentially)
        attack = replace(attack, gain=own.adversary_gain, cost=own.cost)
        return self.study.planned(with_detection(section, self.agents), attack, self.games[believed].world)

    def check(self, where: str) -> None:
        """Check that the adversary has or may buy the resource of its attack.

        Raises
        ------
        InputError
            If it lacks the resource; the message names the key below `where`, the key path of the adversary's section.
        """
        section, register = self.section, self.games[0].attack.identify.resource
        if section.needs_resources and register not in {*(section.holds or ()), *section.buys}:
            raise InputError(
                "the adversary lacks the resource of its attack",
                where=f"{where}.holds",
                found=list(section.holds or ()),
                expected=f"{register!r} in holds or buys",
            )


def stages_with(attack: MultistageAttack, holds: Holdings) -> tuple[Stage, ...]:
    """Return the stages of an attack that can be carried out with the resources held.

    A stage without its resource is left out. The adversary then cannot infer the attribute of this stage, and no later
    stage links on it. An inference by linkage without any attribute to link on is also left out. `holds` has names of
    resources.
    """
    lost = {stage.infers for stage in attack.inferences if stage.resource not in holds}
    stages: list[Stage] = []
    for stage in attack.stages:
        if stage.resource not in holds:
            continue
        if isinstance(stage, Identify | InferByLinkage):
            stage = replace(stage, on=tuple(name for name in stage.on if name not in lost))
            if isinstance(stage, InferByLinkage) and not stage.on:
                lost.add(stage.infers)
                continue
        stages.append(stage)
    return tuple(stages)


def setting_of(study: MaskingStudy, agents: AgentsSection, policy: str, replication: int, draw: int) -> Setting:
    """Return the `Setting` of repeated rounds in which data subjects follow a policy.

    Parameters
    ----------
    study : MaskingStudy
    agents : AgentsSection
        Rules of the rounds.
    policy : str
        Name of the policy. Under a policy with `in_another_game`, adversaries link on released attributes only and
        infer no attribute.
    replication : int
        Number of the draw of the tables, from 0.
    draw : int
        Number of the run of all rounds on these tables, from 0.

    Raises
    ------
    InputError
        If an adversary lacks a required resource, names an unknown one or one that it may not have, or has inaccurate
        resources in sequential attacks; or if adversaries remember earlier releases and the levels of an attribute are
        not nested (a group of values splits again at a later level). The message names the scenario file.
    """
    games = study.games_against_each(replication)
    if policy_named(policy).in_another_game:
        games = {name: (truth.one_stage(), believed.one_stage()) for name, (truth, believed) in games.items()}
    truth, believed = next(iter(games.values()))
    scenario, source, profiles = study.scenario, study.loaded.path, []
    used = {own or OWN_ADVERSARY: sorted({stage.resource for stage in e.stages}) for own, e in study.each.items()}
    with locating(source):
        check_resources(scenario, scenario.resources, study.tables.buyers, used)
        for name, path, section in types_of(scenario):
            own = name if study.alone else None
            equip = _MaskingEquip(study.each[own], games[own], section, agents)
            with named(own):
                equip.check(path)
                views = enumerate(economics_and_belief(equip.study.scenario))
                both = [(amounts, equip.adversary(games[own][i].attack, believed=bool(i))) for i, amounts in views]
                profile = profile_of(name, section, agents, equip, both, study.tables.prices)
            profiles.append(replace(profile, lists=equip.lists))
    if agents.remembers and agents.rounds > 1 and not truth.space.is_nested:
        raise InputError(
            "releases at levels that are not nested cannot be combined",
            source=source,
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
        profiles=tuple(profiles),
        solve=lambda name, game: policy_named(name).defender(study, replication).choose(game),
        is_fixed=lambda policy: policy_named(policy).is_rule,
        forbids_attacks=lambda policy: policy_named(policy).forbids_attacks,
        seed=scenario.seed,
        replication=replication * agents.draws + draw,
        **rules_of(scenario, agents),
    )


def masking_adversaries(study: MaskingStudy, options: OpponentOptions, draw: int = 0) -> Opponents:
    """Return the `Opponents` of cross-play in a draw of a scenario's tables.

    In cross-play, each policy plays against each adversary. They are the scenario's adversaries, an adversary for each
    built-in planner who links without inference, ``partial-knowledge`` and ``multistage``. The result also contains the
    reasons why adversaries cannot play. Named adversaries with resources for rounds are not included; see
    `MaskingKind.opponent_types`.

    Parameters
    ----------
    study : MaskingStudy
    options : OpponentOptions
        Knowledge recipe and attack rate of adversaries that the scenario does not describe.
    draw : int
        Number of the draw of the tables, from 0.

    Raises
    ------
    InputError
        If the scenario's own adversary, or one that the options describe, cannot play.
    """
    if study.alone:
        others, world = _unnamed(study, options, draw), study.world(draw)
        if are_equipped(study.scenario):
            # The named adversaries play with the resources they own and may buy; see `MaskingKind.opponent_types`.
            return replace(others, own=TOGETHER)
        alone = {str(name): World(*games, world.weights) for name, games in study.games_against_each(draw).items()}
        return with_adversaries(others, alone, world)
    both = study.games(draw)
    section, knowledge, recipe = study.scenario.adversary, options.knowledge, study.scenario.adversary.knowledge
    staged = bool(both[0].attack.inferences)
    own = name_of(section, "partial-knowledge" if recipe is not None else "multistage" if staged else "")
    # One-shot versions of the games, with the linkage of the scenario's own adversary.
    once = replace(both[0], planner=None), replace(both[1], planner=None)

    def one_stage(game: MaskingGame) -> MaskingGame:
        if recipe is None:
            return game.one_stage()
        return MaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)

    linked = one_stage(once[0]), one_stage(once[1])

    def planned(name: str) -> Callable[[], GamesAgainst]:
        plan = {"planner": name, "parameters": {}, "rate": options.attack_rate, "rationality": "perfect"}
        changed = section.model_copy(update=plan)

        def game(of: MaskingGame) -> RecordGame:
            attack, coverage = of.attack, presence_of(linked[0].world, linked[0].attack.identify.resource)
            adversary = planner(changed, attack.gain, attack.cost, loaded=study.loaded, coverage=coverage)
            return replace(_focused(of), adversary=adversary)

        return lambda: (game(linked[0]), game(linked[1]))

    def informed() -> GamesAgainst:
        if knowledge is None and recipe is None:
            raise InputError(NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        if knowledge is None:
            return once
        content = {key: value for key, value in study.loaded.content.items() if key not in _NOT_PLAYED}
        content["adversary"] = {"knowledge": knowledge, "resource": study.scenario.register}
        truth, belief = build_masking_study(study.loaded.with_content(content)).games(draw)
        return _focused(truth), _focused(belief)

    def in_stages() -> GamesAgainst:
        if not staged and recipe is None:
            raise InputError(ONE_STAGE)
        if not staged:
            raise InputError(NO_STAGES, expected="adversary.stages in place of adversary.knowledge")
        return once

    makers = {name: planned(name) for name in planners}
    # Compiled solvers treat all attributes as relevant and would enumerate maskings of attributes that nobody links on.
    makers["one-shot"] = lambda: (_focused(linked[0]), _focused(linked[1]))
    makers |= {"partial-knowledge": informed, "multistage": in_stages}
    if own != "partial-knowledge" or knowledge is None:
        makers[own] = lambda: both
    return played_by(own, makers, options.asks_for)


def _unnamed(study: MaskingStudy, options: OpponentOptions, draw: int) -> Opponents:
    """Return the `Opponents` that a scenario with several adversaries does not name.

    They link on the same resource and attributes as the named adversaries. If named adversaries differ in these, no
    unnamed adversary can play, and the result has only the reason. For the parameters, see `masking_adversaries`.

    Raises
    ------
    InputError
        If named adversaries differ in resource or attributes and the options have a knowledge recipe.
    """
    ends = [game.attack.one_stage().identify for game, _ in study.games_against_each(draw).values()]
    if len({(end.resource, frozenset(end.on)) for end in ends}) > 1:
        differ = "link on different resources or attributes"
        if options.knowledge is not None:
            problem = f"the adversaries of the scenario {differ}"
            expected = "the recipe in a section [adversaries.NAME]"
            raise InputError(problem, where="knowledge", found=options.knowledge, expected=expected)
        reason = f"adversaries that the scenario does not name cannot play: the named adversaries {differ}"
        return Opponents(left_out=(reason,))
    end = IdentifySection(stage="identify", resource=ends[0].resource, on=ends[0].on)
    section = MaskingAdversarySection(stages=(end,))
    loaded = study.loaded.with_sections(adversary=section, adversaries={})
    plain = MaskingStudy(loaded, replace(study.tables, loaded=loaded), (ends[0],))
    found = masking_adversaries(plain, options, draw)
    # Drop the reason about stages: the named adversaries attack in stages.
    return replace(found, left_out=tuple(reason for reason in found.left_out if ONE_STAGE not in reason))


def _focused(game: MaskingGame) -> RecordGame:
    """Return the `RecordGame` of a masking game, for an adversary without inference.

    Its strategy space enumerates only the levels of the attributes on which the last stage of the attack links. Linker
    and adversary are unchanged.
    """
    return replace(game.record_game, space=replace(game.space, focus=frozenset(game.attack.identify.on)))
