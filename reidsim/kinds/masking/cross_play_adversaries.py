"""List the adversaries that can play in a masking scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from reidsim.adversaries.planners.base import planners
from reidsim.adversaries.response import Adversary
from reidsim.errors import InputError
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import RecordGame
from reidsim.kinds.masking.schema import MaskingAdversarySection, MaskingScenario
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study, presence_of
from reidsim.releases.focused import FocusedSpace
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.adversary_schema import TOGETHER
from reidsim.scenarios.agents import are_equipped
from reidsim.scenarios.attack_recipe import IdentifySection
from reidsim.scenarios.cross_play_adversaries import (
    NO_RECIPE,
    NO_STAGES,
    ONE_STAGE,
    Games,
    OpponentOptions,
    Opponents,
    name_of,
    played_by,
    with_adversaries,
)
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.python_objects import planner
from reidsim.scenarios.rationality_schema import PERFECT
from reidsim.scenarios.study import World

# Sections for further computations on a scenario, which do not affect its games.
_NOT_PLAYED = ("figures", "agents", "stress", "sweep", "uncertainty")

Amount = float | Floats


def masking_adversaries(study: MaskingStudy, options: OpponentOptions, draw: int = 0) -> Opponents:
    """Return the adversaries of cross-play in a draw of a scenario's tables.

    The result also contains the reasons why other adversaries cannot play. Named adversaries with resources for rounds
    are not included; see `MaskingKind.opponent_types`.
    """
    if study.alone and are_equipped(study.scenario):
        # The named adversaries play with the resources they own and may buy; see `MaskingKind.opponent_types`.
        return replace(_unnamed(study, options, draw), own=TOGETHER)
    if study.alone:
        games = study.games_against_each(draw)
        alone = {name: World(*games[name], study.world(draw).weights) for name in study.alone}
        return with_adversaries(_unnamed(study, options, draw), alone, study.world(draw))
    both = study.games(draw)
    section, knowledge = study.scenario.adversary, options.knowledge
    staged = bool(both[0].attack.inferences)
    linked_by = "partial-knowledge" if section.knowledge is not None else "multistage" if staged else ""
    own = name_of(section, linked_by)
    # One-shot versions of the games, with the linkage of the scenario's own adversary.
    once = (replace(both[0], planner=None), replace(both[1], planner=None))

    def one_stage(game: MaskingGame) -> MaskingGame:
        if section.knowledge is None:
            return game.one_stage()
        return MaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)

    linked = one_stage(once[0]), one_stage(once[1])

    def simple(make: Callable[[Amount, Amount], Adversary]) -> Games:
        truth, belief = (replace(_focused(game), adversary=make(game.attack.gain, game.attack.cost)) for game in linked)
        return truth, belief

    def planned(name: str) -> Callable[[], Games]:
        def games() -> Games:
            coverage = presence_of(linked[0].world, linked[0].attack.identify.resource)
            plan = {"planner": name, "parameters": {}, "rate": options.attack_rate, **PERFECT}
            return simple(partial(planner, section.model_copy(update=plan), loaded=study.loaded, coverage=coverage))

        return games

    def informed() -> Games:
        if section.knowledge is not None and knowledge is None:
            return once
        if knowledge is None:
            raise InputError(NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        written: dict[str, object] = {"knowledge": knowledge, "resource": study.scenario.register}
        truth, belief = build_masking_study(_reloaded(study.loaded, written)).games(draw)
        return _focused(truth), _focused(belief)

    def in_stages() -> Games:
        if not staged:
            if section.knowledge is None:
                raise InputError(ONE_STAGE)
            raise InputError(NO_STAGES, expected="adversary.stages in place of adversary.knowledge")
        return once

    makers: dict[str, Callable[[], Games]] = {name: planned(name) for name in planners}
    # Compiled solvers treat all attributes as relevant and would enumerate maskings of attributes that nobody links on.
    makers["one-shot"] = lambda: (_focused(linked[0]), _focused(linked[1]))
    makers |= {"partial-knowledge": informed, "multistage": in_stages}
    if own != "partial-knowledge" or knowledge is None:
        makers[own] = lambda: both
    return played_by(own, makers, options.asks_for)


def _unnamed(study: MaskingStudy, options: OpponentOptions, draw: int) -> Opponents:
    """Return the adversaries that a scenario with several adversaries does not name.

    They link on the same resource and attributes as the named adversaries. If named adversaries differ in these, no
    unnamed adversary can play.
    """
    ends = [game.attack.one_stage().identify for game, _ in study.games_against_each(draw).values()]
    if len({(end.resource, frozenset(end.on)) for end in ends}) > 1:
        if options.knowledge is not None:
            raise InputError(
                "the adversaries of the scenario link on different resources or attributes",
                where="knowledge",
                found=options.knowledge,
                expected="the recipe in a section [adversaries.NAME]",
            )
        reason = "the named adversaries link on different resources or attributes"
        return Opponents((), "", (f"adversaries that the scenario does not name cannot play: {reason}",))
    end = IdentifySection(stage="identify", resource=ends[0].resource, on=ends[0].on)
    section = MaskingAdversarySection(stages=(end,))
    loaded = study.loaded.with_sections(adversary=section, adversaries={})
    plain = MaskingStudy(loaded, replace(study.tables, loaded=loaded), (ends[0],))
    found = masking_adversaries(plain, options, draw)
    # Drop the reason about stages: the named adversaries attack in stages.
    return replace(found, left_out=tuple(reason for reason in found.left_out if ONE_STAGE not in reason))


def _focused(game: MaskingGame) -> RecordGame:
    """Return a masking game against an adversary without inference.

    Its strategy space has only the attributes on which the adversary links.
    """
    return replace(game.record_game, space=FocusedSpace(game.space, game.attack.identify.on))


def _reloaded(loaded: Scenario[MaskingScenario], adversary: dict[str, object]) -> Scenario[MaskingScenario]:
    """Load a scenario again with another adversary.

    The result lacks the named adversaries and the sections that are not played.
    """
    content = {key: value for key, value in loaded.content.items() if key not in _NOT_PLAYED}
    content.pop("adversaries", None)
    content["adversary"] = adversary
    return loaded.with_content(content)
