"""Masking games against several adversaries, of whom it is not known who comes, and against those who infer nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reidsim.adversaries.erring import ErringAdversary
from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.response import Adversary
from reidsim.games.adversary_types import AdversaryType, Together, TypesGame
from reidsim.games.defenders.defender import Game
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import Linker


def against_whoever_comes(
    games: Mapping[str, MaskingGame], weights: Mapping[str, float], together: Together = "one-of"
) -> TypesGame:
    """Return the game against several adversaries, given that against each alone.

    Parameters
    ----------
    games : mapping of str to MaskingGame
        By adversary, on the same targets, strategies, benefits and losses.
    weights : mapping of str to float
        How likely each comes.
    together : str
        Whether one of them comes, or each independently of the others.

    Raises
    ------
    InputError
        As `TypesGame`.
    """
    alone = {name: game.record_game for name, game in games.items()}
    types = [AdversaryType(name, weights[name], game.linker, game.adversary) for name, game in alone.items()]
    first = next(iter(alone.values()))
    return TypesGame(next(iter(games.values())).space, types, first.benefit, first.loss, together)


def without_inference(game: Game) -> Game:
    """Return a game against the same adversaries, who infer nothing and link on what is released alone."""
    if isinstance(game, MaskingGame):
        return game.one_stage()
    if not isinstance(game, TypesGame):
        return replace(game, **_without_inference(game.linker, game.adversary))
    return game.with_types([replace(each, **_without_inference(each.linker, each.adversary)) for each in game.types])


def _without_inference(linker: Linker, adversary: Adversary) -> dict[str, Any]:
    """Return what an adversary links with and how it replies if it infers nothing, as fields of a game."""
    if isinstance(linker, MultistageLinker):
        linker = MultistageLinker(linker.attack.one_stage(), linker.world, linker.space)
    if isinstance(adversary, MultistageAttack):
        adversary = adversary.one_stage()
    elif isinstance(adversary, ErringAdversary) and isinstance(adversary.adversary, MultistageAttack):
        adversary = adversary.of(adversary.adversary.one_stage())
    return {"linker": linker, "adversary": adversary}
