"""Policies of Wan et al. 2021 that need no search."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from reidsim.games.cross_play import Game
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.releases.lattice import MaskingSpace


def fixed_choice(
    game: Game,
    policy: str,
    rng: np.random.Generator,
    *,
    opt_in_rate: float = 0.05,
    sharing_rate: float = 0.15,
    linked: Collection[str] = (),
) -> Choice:
    """Return the strategies of a policy of a masking game that needs no search.

    Policy ``"no-protection"`` shares all attributes, ``"demographics-only"`` the attributes named in `linked`,
    ``"random-masking"`` each attribute of each record with probability `sharing_rate`. Under ``"random-opt-in"``,
    records share everything with probability `opt_in_rate`, and are withheld otherwise. Any other name shares all
    attributes.

    Parameters
    ----------
    game : RecordGame or MaskingGame
        Game over a `MaskingSpace`; the adversary has no effect.
    policy : str
        Name of the policy.
    rng : numpy.random.Generator
        Source of the draws of the random policies.
    opt_in_rate, sharing_rate : float
        Probabilities, see above.
    linked : collection of str
        Names of the attributes shared by ``"demographics-only"``.

    Returns
    -------
    Choice
        Not exact; one strategy evaluated per record.
    """
    n, space = game.n_records, game.space
    assert isinstance(space, MaskingSpace)  # noqa: S101 - the game is one in which attributes are masked
    shape = (n, len(space.attributes))
    shared = np.ones(shape, dtype=np.bool_)
    if policy == "demographics-only":
        shared &= np.array([name in linked for name in space.attributes])
    elif policy == "random-masking":
        shared = rng.random(shape) < sharing_rate
    strategies = space.masking(shared)
    if policy == "random-opt-in":
        strategies = np.where(rng.random(n) < opt_in_rate, strategies, WITHHELD)
    return Choice(strategies, policy, np.ones(n, dtype=np.int64), exact=False)
