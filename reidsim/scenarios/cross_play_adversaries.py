"""The adversaries of cross-play.

They are one adversary per planner, adversaries with other linkage (partial knowledge, attack in stages), the scenario's
own adversary or adversaries, and the types of repeated rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

from reidsim.adversaries.planners import planners
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.agents.profile import AdversaryProfile, Setting
from reidsim.errors import InputError, locating
from reidsim.games.adversary_types import AdversaryType, Together, TypesGame, averaged
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import Game, record_game_of
from reidsim.games.record_game import RecordGame
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, StrategySpace
from reidsim.scenarios.adversary_schema import TOGETHER, AdversarySection, PlannerSection, opponent_names
from reidsim.scenarios.study import Study, World

NO_STAGES = "the scenario names no attack recipe"
NO_RECIPE = "the scenario names no knowledge recipe"
ONE_STAGE = "the attack has no inference stages, so it equals the one-shot attack"

# The true game against an adversary, and the game that the defender believes in.
Games = tuple[Game, Game]
S = TypeVar("S", bound=Study[Any])


@dataclass(frozen=True, eq=False)
class Opponents:
    """The adversaries of a scenario.

    Parameters
    ----------
    opponents : tuple of Opponent
        Adversaries, in the order of `opponent_names`.
    own : str
        Name of the scenario's own adversary; empty if it is not among them.
    left_out : tuple of str
        Sentences about adversaries that cannot play.
    ideas : dict of str to RecordGame or MaskingGame
        Further games in which a defender may plan although no adversary plays like that, by name; see
        `types_of_setting`.
    """

    opponents: tuple[Opponent, ...] = ()
    own: str = ""
    left_out: tuple[str, ...] = ()
    ideas: dict[str, Game] = field(default_factory=dict)

    def beside(self, others: Opponents) -> Opponents:
        """Return other opponents followed by these; in `left_out`, these come first.

        The scenario's own adversary is that of `others`.
        """
        return replace(
            others,
            opponents=(*others.opponents, *self.opponents),
            left_out=(*self.left_out, *others.left_out),
            ideas={**others.ideas, **self.ideas},
        )


@dataclass(frozen=True)
class OpponentOptions:
    """Options for adversaries that the scenario does not describe.

    Parameters
    ----------
    knowledge : str, optional
        Knowledge recipe of the adversary with partial knowledge; by default the scenario's.
    stages : str, optional
        Attack recipe of the multistage adversary; by default the scenario's.
    attack_rate : float
        Probability with which the random adversary attacks a record.
    """

    knowledge: str | None = None
    stages: str | None = None
    attack_rate: float = 0.5

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Adversaries that the options describe."""
        given = {"partial-knowledge": self.knowledge, "multistage": self.stages}
        return tuple(name for name, needed in given.items() if needed is not None)


def opponents_by_planner(study: Study[Any], options: OpponentOptions, draw: int = 0) -> Opponents:
    """Return the adversaries of a scenario in one draw of its study.

    Each built-in planner gives a perfectly rational adversary, who has neither partial knowledge nor stages; the
    adversaries ``multistage`` and ``partial-knowledge`` have the recipe in the options, else that of the scenario. The
    scenario's own adversary is added, or replaces the one of the same name. Adversaries that cannot play are left out,
    with the reason. The rows of the study must distinguish records by every
    attribute that any of the adversaries uses for linkage.

    Raises
    ------
    InputError
        If the scenario's own adversary, or one whose recipe is in the options, cannot play.
    """
    own: AdversarySection = study.scenario.adversary
    world, rate = study.world(draw), {"rate": options.attack_rate}

    def against(planner: str = "one-shot", knowledge: Any = None, stages: Any = None, **changes: object) -> Games:
        recipes = {"knowledge": knowledge, "stages": stages, "parameters": {}, "rationality": "perfect"}
        games = study_against(study, planner=planner, **recipes, **changes).world(draw)
        return games.truth, games.belief

    def linked(key: str, recipe: str | None, problem: str) -> Games:
        if recipe is None:
            raise InputError(problem, expected=f"adversary.{key}, or the option --{key}")
        return against(**{key: recipe})

    makers: dict[str, Callable[[], Games]] = {
        name: partial(against, name, **(rate if "rate" in planners[name].keys else {})) for name in planners
    }
    makers["multistage"] = partial(linked, "stages", options.stages or own.stages, NO_STAGES)
    makers["partial-knowledge"] = partial(linked, "knowledge", options.knowledge or own.knowledge, NO_RECIPE)
    name = name_of(own, "partial-knowledge" if own.knowledge is not None else "multistage" if own.stages else "")
    makers[name] = lambda: (world.truth, world.belief)
    return played_by(name, makers, options.asks_for)


def study_against(study: S, **changes: object) -> S:
    """Return a study with some keys of its adversary changed.

    The registry of a sequential attack is kept only if the changed adversary attacks sequentially and has no recipe of
    knowledge or stages.
    """
    own: AdversarySection = study.scenario.adversary
    is_sequential = "sequential" in planners[str(changes.get("planner"))].keys
    if not is_sequential or changes.get("stages") or changes.get("knowledge"):
        changes["sequential"] = own.sequential.model_copy(update={"registry": None, "belief": "known"})
    return study.with_adversary(own.model_copy(update=changes))


def name_of(section: PlannerSection, linked_by: str) -> str:
    """Return the name of an adversary, composed of planner, linkage and rationality.

    The planner ``one-shot`` is omitted if the adversary has a recipe; the rationality is omitted if it is perfect.
    """
    name = section.planner
    if linked_by:
        name = linked_by if name == "one-shot" else f"{name}-{linked_by}"
    return f"{name}-{section.rationality}" if section.errs else name


def with_adversaries(others: Opponents, alone: Mapping[str, World], together: World) -> Opponents:
    """Return other opponents, followed by the scenario's named adversaries.

    The last opponent, ``types``, is all named adversaries together. It is the scenario's own adversary in cross-play.
    """
    games = {name: (world.truth, world.belief) for name, world in {**alone, TOGETHER: together}.items()}
    for name, both in games.items():
        with locating(where=None if name == TOGETHER else f"adversaries.{name}"):
            _reply(both)
    own = tuple(Opponent(name, *both, among_all=name != TOGETHER) for name, both in games.items())
    return replace(others, opponents=(*others.opponents, *own), own=TOGETHER)


def played_by(own: str, makers: Mapping[str, Callable[[], Games]], wanted: Collection[str]) -> Opponents:
    """Return all adversaries that can play: those of `opponent_names`, then others.

    Parameters
    ----------
    own : str
        Name of the scenario's own adversary.
    makers : mapping of str to callable
        Functions that return the true and the believed game, by name of the adversary.
    wanted : collection of str
        Names of the adversaries that options describe.

    Raises
    ------
    InputError
        If the scenario's own adversary, or one in `wanted`, cannot play.
    """
    opponents, left_out = [], []
    for name in dict.fromkeys((*opponent_names(), *makers)):
        try:
            truth, belief = makers[name]()
            _reply((truth, belief))
        except InputError as error:
            if name == own or name in wanted:
                raise
            left_out.append(f"adversary {name!r} cannot play: {error}")
        else:
            opponents.append(Opponent(name, truth, belief))
    return Opponents(tuple(opponents), own, tuple(left_out))


def _reply(games: Games) -> None:
    """Compute one response in each game, because some errors occur only in a response."""
    for game in games:
        record_game_of(game).outcome(record_game_of(game).space.most_specific)


# Column of the game against all types, and two further games on which a defender may plan.
TYPES, AVERAGE_TYPE, WORST_OF_TYPES = TOGETHER, "average-type", "worst-of-types"
LEFT_OUT = (
    "cross-play evaluates one round of section agents; each adversary has all resources in holds and buys; prices of "
    "resources, budgets, exclusion, learning, participation and further rounds are ignored"
)

_View = Literal["truth", "belief"]


def types_of_setting(setting: Setting, space: StrategySpace | None = None) -> Opponents:
    """Return the adversary types of repeated rounds as opponents.

    Each type plays alone under its name; the game against all types together is named ``types``.

    A defender may also plan in the games ``average-type`` (every type replaced by the one of largest weight, with the
    mean gain and cost of all types) and ``worst-of-types`` (for each record, against the type that is worst for it).

    Parameters
    ----------
    setting : Setting
    space : StrategySpace, optional
        Strategy space of the games; by default that of the setting.

    Raises
    ------
    InputError
        If a type cannot play.
    """
    space, together = setting.space if space is None else space, setting.meeting
    assert not isinstance(space, MaskingSpace)  # noqa: S101 # searches would mask what nobody looks at in every way
    views: dict[_View, Floats] = {"truth": setting.loss, "belief": setting.believed_loss}
    types: dict[_View, list[AdversaryType]] = {view: [] for view in views}
    for profile in setting.profiles:
        with locating(where=f"adversaries.{profile.name}"):
            for view, each in types.items():
                each.append(_equipped(profile, view, space))

    def opponent(name: str, met: Together, of: Mapping[_View, Sequence[AdversaryType]], *, among_all: bool) -> Opponent:
        truth, belief = (_played(space, of[view], setting.benefit, loss, met) for view, loss in views.items())
        return Opponent(name, truth, belief, among_all=among_all)

    opponents = [
        opponent(name, "one-of", {view: [replace(each[n], weight=1.0)] for view, each in types.items()}, among_all=True)
        for n, name in enumerate(profile.name for profile in setting.profiles)
    ]
    opponents.append(opponent(TYPES, together, types, among_all=False))
    found = _ideas(space, types["belief"], setting.benefit, setting.believed_loss, together)
    return replace(found, opponents=tuple(opponents), left_out=(LEFT_OUT, *found.left_out))


def ideas_of_several(study: Study[Any], draw: int = 0) -> Opponents:
    """Return the games ``average-type`` and ``worst-of-types`` for planning.

    See `types_of_setting`. There are none if the scenario has only one adversary.
    """
    game = study.world(draw).belief
    if not isinstance(game, TypesGame):
        return Opponents()
    return _ideas(game.space, game.types, game.benefit, game.loss, game.together)


def _ideas(
    space: StrategySpace, types: Sequence[AdversaryType], benefit: Floats, loss: Floats, together: Together
) -> Opponents:
    """Return the games against the average type and the worst type, as games for planning."""
    ideas: dict[str, Game] = {WORST_OF_TYPES: _played(space, types, benefit, loss, "worst")}
    try:
        average = _played(space, averaged(tuple(types)), benefit, loss, together)
    except InputError as error:
        return Opponents(left_out=(f"no policy plans against {AVERAGE_TYPE!r}: {error}",), ideas=ideas)
    return Opponents(ideas={AVERAGE_TYPE: average, **ideas})


def _played(
    space: StrategySpace, types: Sequence[AdversaryType], benefit: Floats, loss: Floats, together: Together
) -> RecordGame:
    """Return the game against adversary types."""
    parts = [part for each in types for part in _parts(each, together)]
    if len(parts) == 1 and together == "one-of":
        return RecordGame(space, parts[0].linker, parts[0].adversary, benefit, loss)
    return TypesGame(space, parts, benefit, loss, together)


def _equipped(profile: AdversaryProfile, view: _View, space: StrategySpace) -> AdversaryType:
    """Return a type, true or believed, with all resources that it holds or may buy."""
    seen = profile if view == "truth" or profile.believed is None else profile.believed
    equipment = seen.equip(seen.holds | frozenset(seen.prices), seen.expected_accuracy, believed=view == "belief")
    if equipment is None:
        raise InputError("the adversary has no resources that allow an attack")
    if len(equipment.linker.link(space.most_specific).group_sizes) != space.n_records:
        raise InputError("the resources of the adversary do not distinguish records by inferred attributes")
    return AdversaryType(profile.name, profile.weight, equipment.linker, equipment.adversary)


def _parts(each: AdversaryType, together: Together) -> list[AdversaryType]:
    """Return types of fixed behaviour that give the expected outcome of a type.

    A random attacker becomes a type that always attacks and one that never does, weighted by its attack rate. The
    second one is left out unless `together` is ``one-of``.
    """
    random = each.adversary
    if not isinstance(random, RandomAttacks):
        return [each]
    attacks, stays = ("attacks", random.rate, AlwaysAttacks), ("does not", 1.0 - random.rate, NeverAttacks)
    return [
        replace(each, name=f"{each.name} {does}", weight=each.weight * share, adversary=made(random.gain, random.cost))
        for does, share, made in ((attacks, stays) if together == "one-of" else (attacks,))
    ]
