"""Every adversary model that can play in a scenario, with the scenario's prices, and why the others cannot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from reidsim.adversaries.response import Adversary
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.errors import InputError
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.masking.always_shared import PartialMaskingGame, PartialMaskingSpace
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import RecordGame
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.focused import FocusedSpace
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.adversary_schema import AdversarySection
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.planners import planner

ADVERSARIES = ("one-shot", "fmdp", "multistage", "partial-knowledge", "always", "never", "random")

NO_STAGES = "nothing says what it infers, and from what"
NO_RECIPE = "the scenario names no knowledge recipe"
ONE_STAGE = "nothing is inferred, so it is the one-shot adversary"

# Sections that say what else is worked out of a scenario.
_NOT_PLAYED = ("figures", "agents", "stress", "sweep", "uncertainty")

Amount = float | Floats
# A game against an adversary in truth, and as the defender believes it to be.
Games = tuple[Game, Game]


@dataclass(frozen=True, eq=False)
class Opponents:
    """The adversaries of a scenario.

    Parameters
    ----------
    opponents : tuple of Opponent
        In the order of `ADVERSARIES`.
    own : str
        The one that the scenario is about.
    left_out : tuple of str
        Those that cannot play, with the reason.
    ideas : dict of str to RecordGame or MaskingGame
        Further games that a defender may plan on.
    """

    opponents: tuple[Opponent, ...]
    own: str
    left_out: tuple[str, ...]
    ideas: dict[str, Game] = field(default_factory=dict)


def opponents_of_tables(
    study: TablesStudy, *, knowledge: str | None = None, stages: str | None = None, rate: float = 0.5
) -> tuple[TablesStudy, Opponents]:
    """Return the adversaries of a scenario about a table, and the study on whose cells they all play.

    Parameters
    ----------
    study : TablesStudy
    knowledge : str, optional
        Knowledge recipe; that of the scenario, if not given.
    stages : str, optional
        Absolute path of an attack recipe; that of the scenario, if not given.
    rate : float
        Probability of an attack of the random adversary.
    """
    own = study.scenario.adversary
    recipe, path = knowledge or own.knowledge, stages or own.stages
    if path is not None and study.own.staged is None:
        # Cells are told apart by all that anybody looks at.
        staged = _against(study, own, planner="one-shot", knowledge=None, stages=path)
        study = replace(
            staged, loaded=study.loaded, own=study.own.of_other_records(study.loaded, study, staged.lattice.codes),
            linkers={},
        )  # fmt: skip

    def against(**changes: object) -> Games:
        other = _against(study, own, **changes)
        return other.truth, other.belief

    def plain(planner: str, **changes: object) -> Callable[[], Games]:
        return lambda: against(planner=planner, knowledge=None, stages=None, parameters={}, **changes)

    def informed() -> Games:
        if recipe is None:
            raise InputError(NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        return against(planner="one-shot", knowledge=recipe, stages=None, parameters={})

    def in_stages() -> Games:
        if path is None:
            raise InputError(NO_STAGES, expected="adversary.stages, or the option --stages")
        return against(planner="one-shot", knowledge=None, stages=path, parameters={})

    makers: dict[str, Callable[[], Games]] = {
        "one-shot": plain("one-shot"),
        "fmdp": plain("fmdp"),
        "multistage": in_stages,
        "partial-knowledge": informed,
        "always": plain("always"),
        "never": plain("never"),
        "random": plain("random", rate=rate),
    }
    name = _own_name(own)
    makers[name] = lambda: (study.truth, study.belief)
    asked_for = _asked_for(knowledge, stages)
    return study, _opponents(name, makers, asked_for)


def _against(study: TablesStudy, own: AdversarySection, **changes: object) -> TablesStudy:
    """Return the study on the same cells against another adversary; a registry is of sequential attacks alone."""
    if changes.get("planner") != "fmdp" or changes.get("stages") or changes.get("knowledge"):
        changes["sequential"] = own.sequential.model_copy(update={"registry": None, "belief": "known"})
    return study.with_adversary(own.model_copy(update=changes))


def _own_name(own: AdversarySection) -> str:
    """Return what the scenario's own adversary is called: by its planner, or by what a one-shot one links with."""
    linked = "partial-knowledge" if own.knowledge is not None else "multistage" if own.stages is not None else ""
    return _name_of(own.planner, linked)


def _name_of(planner: str, linked_by: str) -> str:
    if planner == "one-shot":
        return linked_by or planner
    return f"{planner}-{linked_by}" if linked_by else planner


def opponents_of_subjects(study: MaskingStudy, *, knowledge: str | None = None, rate: float = 0.5) -> Opponents:
    """Return the adversaries of a masking scenario in its first draw; see `opponents_of_records`."""
    both = study.games(0)
    section = study.scenario.adversary
    staged = bool(both[0].attack.inferences)
    linked_by = "partial-knowledge" if section.knowledge is not None else "multistage" if staged else ""
    own = _name_of(section.planner, linked_by)
    # Those who attack once, linking as the scenario's own adversary does.
    once = (replace(both[0], planner=None), replace(both[1], planner=None))

    def one_stage(game: MaskingGame) -> MaskingGame:
        if section.knowledge is None:
            return game.one_stage()
        if isinstance(game.space, PartialMaskingSpace):
            return PartialMaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)
        return MaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)

    linked = one_stage(once[0]), one_stage(once[1])

    def simple(make: Callable[[Amount, Amount], Adversary]) -> Games:
        truth, belief = (replace(_focused(game), adversary=make(game.attack.gain, game.attack.cost)) for game in linked)
        return truth, belief

    def sequential() -> Games:
        registered = linked[0].world.registered
        coverage = 1.0 if registered is None else float(registered.mean())
        plan = section.model_copy(update={"planner": "fmdp", "parameters": {}})
        return simple(partial(planner, plan, loaded=study.loaded, coverage=coverage))

    def informed() -> Games:
        if section.knowledge is not None and knowledge is None:
            return once
        if knowledge is None:
            raise InputError(NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        written: dict[str, object] = {"knowledge": knowledge, "resource": study.scenario.register}
        truth, belief = build_masking_study(_reloaded(study.loaded, written)).games(0)
        return _focused(truth), _focused(belief)

    def in_stages() -> Games:
        if not staged:
            if section.knowledge is None:
                raise InputError(ONE_STAGE)
            raise InputError(NO_STAGES, expected="adversary.stages in place of adversary.knowledge")
        return once

    makers: dict[str, Callable[[], Games]] = {
        # Compiled solvers take nothing for granted, so they would mask what nobody looks at in every way.
        "one-shot": lambda: (_focused(linked[0]), _focused(linked[1])),
        "fmdp": sequential,
        "partial-knowledge": informed,
        "multistage": in_stages,
        "always": lambda: simple(AlwaysAttacks),
        "never": lambda: simple(NeverAttacks),
        "random": lambda: simple(partial(RandomAttacks, rate=rate)),
    }
    if own != "partial-knowledge" or knowledge is None:
        makers[own] = lambda: both
    return _opponents(own, makers, _asked_for(knowledge, None))


def _opponents(own: str, makers: Mapping[str, Callable[[], Games]], asked_for: Collection[str]) -> Opponents:
    """Make every adversary; who is asked for and cannot play is an error."""
    opponents, left_out = [], []
    names = (*ADVERSARIES, *(name for name in makers if name not in ADVERSARIES))
    for name in names:
        try:
            truth, belief = makers[name]()
            # What only the first reply shows, such as group sizes that a planner cannot take.
            for game in (truth, belief):
                record_game_of(game).outcome(record_game_of(game).space.most_specific)
        except InputError as error:
            if name == own or name in asked_for:
                raise
            left_out.append(f"adversary {name!r} cannot play: {error}")
        else:
            opponents.append(Opponent(name, truth, belief))
    return Opponents(tuple(opponents), own, tuple(left_out))


def _focused(game: MaskingGame) -> RecordGame:
    """Return a masking game against an adversary who infers nothing, for solvers that mask what it looks at only."""
    return replace(game.record_game, space=FocusedSpace(game.space, game.attack.identify.on))


def _asked_for(knowledge: str | None, stages: str | None) -> tuple[str, ...]:
    """Return the adversaries who need what is given."""
    given = {"partial-knowledge": knowledge, "multistage": stages}
    return tuple(name for name, needed in given.items() if needed is not None)


def _reloaded(loaded: LoadedScenario[MaskingScenario], adversary: dict[str, object]) -> LoadedScenario[MaskingScenario]:
    """Read a scenario again with another adversary, without what depends on the adversary or is not played."""
    content = {key: value for key, value in loaded.content.items() if key not in _NOT_PLAYED}
    content["adversary"] = adversary
    return loaded.with_content(content)
