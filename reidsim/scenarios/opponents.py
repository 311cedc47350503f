"""Every adversary model that can play in a scenario, with the scenario's prices, and why the others cannot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from reidsim.adversaries.knowledge.adversary import KnowledgeLinker
from reidsim.adversaries.knowledge.load import load_knowledge
from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.response import Adversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks
from reidsim.errors import InputError
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.full_domain.prices import Prices
from reidsim.games.masking.always_shared import PartialMaskingGame, PartialMaskingSpace
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import Linker, RecordGame
from reidsim.releases.focused import FocusedSpace
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.build import RecordStudy, build_study
from reidsim.scenarios.full_domain import FullDomainStudy
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.masking import MaskingStudy, build_masking_study
from reidsim.scenarios.masking_schema import MaskingScenario
from reidsim.scenarios.schema import RecordScenario, SequentialSection
from reidsim.scenarios.staged_attack import StagedAttack
from reidsim.validation import validated

ADVERSARIES = ("one-shot", "fmdp", "multistage", "partial-knowledge", "always", "never", "random")

NO_STAGES = "nothing says what it infers, and from what"
NO_RECIPE = "the scenario names no knowledge recipe"
ONE_STAGE = "nothing is inferred, so it is the one-shot adversary"

# Sections that say what else is worked out of a scenario.
_NOT_PLAYED = ("figures", "agents", "stress", "sweep", "uncertainty")

Amount = float | Floats
# A game against an adversary in truth, and as the defender believes it to be.
Games = tuple[Game, Game]

S = TypeVar("S", RecordScenario, MaskingScenario)


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


def opponents_of_records(
    study: RecordStudy, *, knowledge: str | None = None, staged: StagedAttack | None = None, rate: float = 0.5
) -> Opponents:
    """Return the adversaries of a record-level scenario.

    Parameters
    ----------
    study : RecordStudy
    knowledge : str, optional
        Knowledge recipe; that of the scenario, if not given.
    staged : StagedAttack, optional
        On the records of the study.
    rate : float
        Probability of an attack of the random adversary.
    """
    section = study.scenario.adversary
    recipe = knowledge or section.knowledge
    plain = _with_adversary(study, {"risk": section.risk})
    own = "partial-knowledge" if section.knowledge is not None else section.planner

    def simple(make: Callable[[Amount, Amount], Adversary]) -> Games:
        economics = (plain.scenario.economics, plain.scenario.beliefs.of(plain.scenario.economics))
        truth, belief = (
            replace(plain.game(prices), adversary=make(prices.adversary_gain, prices.cost)) for prices in economics
        )
        return truth, belief

    def sequential() -> Games:
        written = dict(study.loaded.content.get("adversary", {}))
        for other in ("knowledge", "stages"):
            written.pop(other, None)
        return _games(_with_adversary(study, {**written, "planner": "fmdp"}))

    def informed() -> Games:
        if recipe is None:
            raise InputError(NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        return _games(_with_adversary(study, {"risk": section.risk, "knowledge": recipe}))

    def in_stages() -> Games:
        attack = _inferring(staged)
        truth, belief = (replace(record_game_of(game), linker=attack.linker) for game in simple(attack.by))
        return truth, belief

    return _opponents(
        own,
        simple,
        {"fmdp": sequential, "partial-knowledge": informed, "multistage": in_stages},
        rate,
        _asked_for(knowledge, staged),
    )


def opponents_of_dataset(
    study: FullDomainStudy, *, knowledge: str | None = None, staged: StagedAttack | None = None, rate: float = 0.5
) -> Opponents:
    """Return the adversaries of a scenario at dataset level; see `opponents_of_records`."""
    planned = study.linker(study.scenario.adversary.risk), study.linker(study.planned_risk)

    def games(make: Callable[[Amount, Amount], Adversary], linkers: tuple[Linker, Linker] = planned) -> Games:
        truth, belief = (
            replace(study.record_game(linker, prices), adversary=make(*_gain_and_cost(study, prices)))
            for linker, prices in zip(linkers, (study.prices, study.believed(study.prices)), strict=True)
        )
        return truth, belief

    def informed() -> Games:
        if knowledge is None:
            raise InputError(NO_RECIPE, expected="the option --knowledge")
        known = load_knowledge(knowledge, study.lattice.domain, study.lattice.codes)
        risks = (study.scenario.adversary.risk, study.planned_risk)
        people = {"journalist": study.population or study.dataset, "prosecutor": study.dataset}
        truth, belief = (KnowledgeLinker(study.lattice, people[risk], known) for risk in risks)
        return games(OneShotAdversary, (truth, belief))

    def in_stages() -> Games:
        attack = _inferring(staged)
        return games(attack.by, (attack.linker, attack.linker))

    others: dict[str, Callable[[], Games]] = {
        "fmdp": lambda: games(_sequential),
        "partial-knowledge": informed,
        "multistage": in_stages,
    }
    return _opponents("one-shot", games, others, rate, _asked_for(knowledge, staged))


def opponents_of_subjects(study: MaskingStudy, *, knowledge: str | None = None, rate: float = 0.5) -> Opponents:
    """Return the adversaries of a masking scenario in its first draw; see `opponents_of_records`."""
    both = study.games(0)
    section = study.scenario.adversary
    staged = bool(both[0].attack.inferences)
    own = "partial-knowledge" if section.knowledge is not None else "multistage" if staged else "one-shot"

    def one_stage(game: MaskingGame) -> MaskingGame:
        if section.knowledge is None:
            return game.one_stage()
        if isinstance(game.space, PartialMaskingSpace):
            return PartialMaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)
        return MaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)

    linked = one_stage(both[0]), one_stage(both[1])

    def simple(make: Callable[[Amount, Amount], Adversary]) -> Games:
        truth, belief = (replace(_focused(game), adversary=make(game.attack.gain, game.attack.cost)) for game in linked)
        return truth, belief

    def sequential() -> Games:
        registered = linked[0].world.registered
        prior = 1.0 if registered is None else float(registered.mean())
        return simple(partial(_sequential, prior=prior))

    def informed() -> Games:
        if section.knowledge is not None and knowledge is None:
            return both
        if knowledge is None:
            raise InputError(NO_RECIPE, expected="adversary.knowledge, or the option --knowledge")
        written: dict[str, object] = {"knowledge": knowledge, "resource": study.scenario.register}
        truth, belief = build_masking_study(_reloaded(study.loaded, MaskingScenario, written)).games(0)
        return _focused(truth), _focused(belief)

    def in_stages() -> Games:
        if not staged:
            if section.knowledge is None:
                raise InputError(ONE_STAGE)
            raise InputError(NO_STAGES, expected="adversary.stages in place of adversary.knowledge")
        return both

    others = {
        # Compiled solvers take nothing for granted, so they would mask what nobody looks at in every way.
        "one-shot": lambda: linked if own == "one-shot" else (_focused(linked[0]), _focused(linked[1])),
        "fmdp": sequential,
        "partial-knowledge": informed,
        "multistage": in_stages,
    }
    return _opponents(own, simple, others, rate, _asked_for(knowledge, None))


def _opponents(
    own: str,
    simple: Callable[[Callable[[Amount, Amount], Adversary]], Games],
    others: dict[str, Callable[[], Games]],
    rate: float,
    asked_for: Collection[str],
) -> Opponents:
    """Make every adversary, from how games against simple ones and against the others are made.

    Who is asked for and cannot play is an error.
    """
    always, never = simple(AlwaysAttacks), simple(NeverAttacks)

    def at_random() -> Games:
        return tuple(_mixed(a, n, rate) for a, n in zip(always, never, strict=True))  # type: ignore[return-value]

    makers: dict[str, Callable[[], Games]] = {
        "one-shot": lambda: simple(OneShotAdversary),
        "always": lambda: always,
        "never": lambda: never,
        "random": at_random,
        **others,
    }
    opponents, left_out = [], []
    for name in ADVERSARIES:
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


def _mixed(always: Game, never: Game, rate: float) -> TypesGame:
    """Return what is to be expected of an adversary who attacks each record with a probability."""
    one, other = record_game_of(always), record_game_of(never)
    types = (
        AdversaryType("attacks", rate, one.linker, one.adversary),
        AdversaryType("does not", 1.0 - rate, other.linker, other.adversary),
    )
    return TypesGame(one.space, types, one.benefit, one.loss)


def _asked_for(knowledge: str | None, staged: StagedAttack | None) -> tuple[str, ...]:
    """Return the adversaries who need what is given."""
    given = {"partial-knowledge": knowledge, "multistage": staged}
    return tuple(name for name, needed in given.items() if needed is not None)


def _inferring(staged: StagedAttack | None) -> StagedAttack:
    if staged is None:
        raise InputError(NO_STAGES, expected="adversary.stages, or the option --stages")
    return staged


def _with_adversary(study: RecordStudy, adversary: dict[str, object]) -> RecordStudy:
    """Return the study of the same scenario with another adversary."""
    loaded = _reloaded(study.loaded, RecordScenario, adversary)
    # An attack in stages is given by itself.
    own = study.scenario.adversary.model_copy(update={"stages": None})
    if loaded.scenario.adversary.model_copy(update={"stages": None}) == own:
        return study
    other, lattice = build_study(loaded), study.lattice
    if lattice.n_records == other.lattice.n_records:
        return other
    # The study tells records apart that are the same to this adversary.
    return replace(
        other, lattice=lattice, cell_of_record=study.cell_of_record, linker=other.linker_of(lattice),
        safe_harbor=study.safe_harbor,
    )  # fmt: skip


def _reloaded(loaded: LoadedScenario[S], model: type[S], adversary: dict[str, object]) -> LoadedScenario[S]:
    """Read a scenario again with another adversary, without what depends on the adversary or is not played."""
    content = {key: value for key, value in loaded.content.items() if key not in _NOT_PLAYED}
    content["adversary"] = adversary
    return LoadedScenario(loaded.name, loaded.path, validated(model, content, loaded.path), content)


def _games(study: RecordStudy) -> Games:
    return study.truth, study.belief


def _gain_and_cost(study: FullDomainStudy, prices: Prices) -> tuple[Amount, Amount]:
    if prices.n_kinds == 1:
        return float(prices.gain[0, 0]), float(prices.cost[0, 0])
    return prices.gain[0, study.kind], prices.cost[0, study.kind]


def _sequential(gain: Amount, cost: Amount, *, prior: float = 1.0) -> SequentialAdversary:
    """Return the sequential adversary with the defaults of a scenario's section for it."""
    if np.ndim(gain) or np.ndim(cost):
        raise InputError("a sequential attack has one gain and one cost for all records")
    defaults = SequentialSection()
    attack = SequentialAttack(
        gain=float(np.asarray(gain)),
        exploit_cost=float(np.asarray(cost)),
        access_cost=defaults.access_cost,
        link_cost=defaults.link_cost,
        penalty=defaults.penalty,
        max_penalties=defaults.max_penalties,
        detection_intercept=defaults.detection_intercept,
        detection_slope=defaults.detection_slope,
        prior=prior,
        discount=defaults.discount,
    )
    return SequentialAdversary(attack)
