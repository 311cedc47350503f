"""Adversaries who hold and buy in rounds of agents, as opponents of cross-play: each alone, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks, RandomAttacks
from reidsim.agents.profile import AdversaryProfile, Setting
from reidsim.errors import InputError, locating
from reidsim.games.adversary_types import AdversaryType, Together, TypesGame
from reidsim.games.cross_play import Opponent
from reidsim.games.defenders.defender import Game
from reidsim.games.record_game import RecordGame
from reidsim.games.type_replies import averaged
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, StrategySpace
from reidsim.scenarios.adversary_schema import TOGETHER
from reidsim.scenarios.opponents import Opponents
from reidsim.scenarios.study import Study

# The column of all types together, and what a defender may plan against besides.
TYPES, AVERAGE_TYPE, WORST_OF_TYPES = TOGETHER, "average-type", "worst-of-types"
LEFT_OUT = (
    "of section agents cross-play takes one round, each adversary with all that it holds or may buy: rounds, prices of "
    "resources, budgets, exclusion, learning and participation are left out"
)

_View = Literal["truth", "belief"]


def types_of_setting(setting: Setting, space: StrategySpace | None = None) -> Opponents:
    """Return the adversaries of a world of agents, each by its name, and all together, named ``types``.

    A defender may plan on ``average-type`` and ``worst-of-types`` besides.

    Parameters
    ----------
    setting : Setting
    space : StrategySpace, optional
        That of the setting, if not given.

    Raises
    ------
    InputError
        If one cannot play.
    """
    space, together = setting.space if space is None else space, setting.meeting
    assert not isinstance(space, MaskingSpace)  # noqa: S101 # searches would mask what nobody looks at in every way
    types: dict[_View, list[AdversaryType]] = {"truth": [], "belief": []}
    for profile in setting.profiles:
        with locating(where=f"adversaries.{profile.name}"):
            for view, each in types.items():
                each.append(_equipped(profile, view, space))
    losses: dict[_View, Floats] = {"truth": setting.loss, "belief": setting.believed_loss}

    def game(of: Sequence[AdversaryType], view: _View, together: Together) -> RecordGame:
        return _played(space, of, setting.benefit, losses[view], together)

    opponents = []
    for true, believed in zip(types["truth"], types["belief"], strict=True):
        alone = (
            game([replace(true, weight=1.0)], "truth", "one-of"),
            game([replace(believed, weight=1.0)], "belief", "one-of"),
        )
        opponents.append(Opponent(true.name, *alone))
    mix = game(types["truth"], "truth", together), game(types["belief"], "belief", together)
    opponents.append(Opponent(TYPES, *mix, among_all=False))
    ideas, no_average = _ideas(space, types["belief"], setting.benefit, losses["belief"], together)
    return Opponents(tuple(opponents), left_out=(LEFT_OUT, *no_average), ideas=ideas)


def ideas_of_several(study: Study[Any], draw: int = 0) -> Opponents:
    """Return what a defender may plan on where a scenario has several adversaries by name; nothing where it has one."""
    game = study.world(draw).belief
    if not isinstance(game, TypesGame):
        return Opponents()
    ideas, no_average = _ideas(game.space, game.types, game.benefit, game.loss, game.together)
    return Opponents(left_out=no_average, ideas=ideas)


def _ideas(
    space: StrategySpace, types: Sequence[AdversaryType], benefit: Floats, loss: Floats, together: Together
) -> tuple[dict[str, Game], tuple[str, ...]]:
    """Return the games of planning against the average of types and the worst of them, and why one is left out."""
    ideas: dict[str, Game] = {WORST_OF_TYPES: _played(space, types, benefit, loss, "worst")}
    try:
        average = _played(space, averaged(tuple(types)), benefit, loss, together)
    except InputError as error:
        return ideas, (f"nobody plans against {AVERAGE_TYPE!r}: {error}",)
    return {AVERAGE_TYPE: average, **ideas}, ()


def _played(
    space: StrategySpace, types: Sequence[AdversaryType], benefit: Floats, loss: Floats, together: Together
) -> RecordGame:
    """Return the game against types."""
    parts = [part for each in types for part in _parts(each, together)]
    if len(parts) == 1 and together == "one-of":
        return RecordGame(space, parts[0].linker, parts[0].adversary, benefit, loss)
    return TypesGame(space, parts, benefit, loss, together)


def _equipped(profile: AdversaryProfile, view: _View, space: StrategySpace) -> AdversaryType:
    """Return a type with all that it holds or may buy, as it is or as the publisher takes it to be."""
    seen = profile if view == "truth" or profile.believed is None else profile.believed
    equipment = seen.equip(seen.holds | frozenset(seen.prices), seen.expected_accuracy, believed=view == "belief")
    if equipment is None:
        raise InputError("nothing can be attacked with what it holds or may buy")
    if len(equipment.linker.link(space.most_specific).group_sizes) != space.n_records:
        raise InputError("it does not distinguish records by what an attack in stages infers")
    return AdversaryType(profile.name, profile.weight, equipment.linker, equipment.adversary)


def _parts(each: AdversaryType, together: Together) -> list[AdversaryType]:
    """Return what is to be expected of a type: one that attacks at random is one that does or does not."""
    random = each.adversary
    if not isinstance(random, RandomAttacks):
        return [each]
    always = AlwaysAttacks(random.gain, random.cost)
    attacks = replace(each, name=f"{each.name} attacks", weight=each.weight * random.rate, adversary=always)
    if together != "one-of":
        return [attacks]
    never = NeverAttacks(random.gain, random.cost)
    stays = replace(each, name=f"{each.name} does not", weight=each.weight * (1.0 - random.rate), adversary=never)
    return [attacks, stays]
