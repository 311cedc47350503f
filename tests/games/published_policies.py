"""The eight scenarios of Wan et al. 2021: four fixed policies and four games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from reidsim.games.adversary_types import TypesGame
from reidsim.games.defenders.defender import Game, OptIn, outcome_of, withholding
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.fixed_policies import fixed_choice
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.opponents import without_inference
from reidsim.games.masking.searches import best_against_several, best_first
from reidsim.games.record_game import Choice

PublishedPolicy = Literal[
    "no-protection",
    "demographics-only",
    "random-opt-in",
    "random-masking",
    "opt-in",
    "masking",
    "no-attack-masking",
    "one-stage-masking",
]
MASKING_POLICIES: tuple[PublishedPolicy, ...] = get_args(PublishedPolicy)

Solver = Callable[..., Choice]


def solve_policy(
    game: MaskingGame | TypesGame,
    policy: PublishedPolicy,
    rng: np.random.Generator,
    *,
    solver: Solver = best_first,
    opt_in_rate: float = 0.05,
    sharing_rate: float = 0.15,
) -> Equilibrium:
    """Pick strategies by one of the eight policies and compute the outcome.

    Parameters
    ----------
    game : MaskingGame or TypesGame
        Game against one or several multistage attacks; demographics-only and one-stage-masking are played against the
        same adversaries without inference.
    policy : str
        One of `MASKING_POLICIES`.
    rng : numpy.random.Generator
        Random generator for the two random policies.
    solver : callable
        Solves the three masking games against one adversary: takes a game and `no_attack`.
    opt_in_rate : float
        Probability of sharing everything under random-opt-in.
    sharing_rate : float
        Probability of sharing each attribute under random-masking.

    Returns
    -------
    Equilibrium
    """
    played: Game = without_inference(game) if policy in ("demographics-only", "one-stage-masking") else game
    if policy in ("masking", "one-stage-masking", "no-attack-masking"):
        no_attack = policy == "no-attack-masking"
        if isinstance(played, MaskingGame):
            return played.evaluate(solver(played, no_attack=no_attack))
        assert isinstance(played, TypesGame)
        return outcome_of(played, withholding(played, best_against_several(played, no_attack=no_attack)))
    if policy == "opt-in":
        return outcome_of(played, OptIn().choose(game))
    linkers = [game.record_game.linker] if isinstance(game, MaskingGame) else [each.linker for each in game.types]
    linked = {name for linker in linkers for name in linker.attack.identify.on}
    rates = {"opt_in_rate": opt_in_rate, "sharing_rate": sharing_rate}
    return outcome_of(played, fixed_choice(game, policy, rng, linked=linked, **rates))
