"""Policies of Wan et al. 2021 that need no search."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.errors import InputError
from reidsim.games.adversary_types import TypesGame
from reidsim.games.defenders.fixed import OptIn
from reidsim.games.masking.game import MaskingGame
from reidsim.games.record_game import WITHHELD, Choice
from reidsim.linkage.number_checks import check_share
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Strategies


def fixed_choice(
    game: MaskingGame | TypesGame,
    policy: str,
    rng: np.random.Generator,
    *,
    opt_in_rate: float = 0.05,
    sharing_rate: float = 0.15,
    linked: Collection[str] | None = None,
) -> Choice:
    """Return the strategies of the policies that need no search.

    Policy opt-in is the game with two strategies: share all attributes if this pays more than withholding the record (0
    without earlier releases), otherwise withhold it. Policy demographics-only shares the attributes in `linked`, by
    default the attributes of an attack's last stage. Under random-opt-in, records that do not share everything are
    withheld. For the other parameters see `solve_policy`.

    Raises
    ------
    InputError
        If the policy needs a search or is unknown, or a rate is not a share.
    """
    check_share("opt_in_rate", opt_in_rate)
    check_share("sharing_rate", sharing_rate)
    n, space = game.n_records, game.space
    assert isinstance(space, MaskingSpace)  # noqa: S101 - the game is one in which attributes are masked
    everything = np.full(n, space.most_specific, dtype=np.int64)
    if policy == "no-protection":
        return _fixed(policy, everything)
    if policy == "demographics-only":
        on = _linked_on(game) if linked is None else linked
        shared = np.array([name in on for name in space.attributes])
        return _fixed(policy, np.broadcast_to(space.masking(shared), (n,)).copy())
    if policy == "random-opt-in":
        return _fixed(policy, np.where(rng.random(n) < opt_in_rate, everything, WITHHELD))
    if policy == "random-masking":
        return _fixed(policy, space.masking(rng.random((n, len(space.attributes))) < sharing_rate))
    if policy == "opt-in":
        return OptIn(policy).choose(game)
    raise InputError("the policy needs a search", found=policy)


def _linked_on(game: MaskingGame | TypesGame) -> set[str]:
    """Return the attributes that any adversary links on in its last stage."""
    linkers = [game.record_game.linker] if isinstance(game, MaskingGame) else [each.linker for each in game.types]
    return {name for each in linkers if isinstance(each, MultistageLinker) for name in each.attack.identify.on}


def _fixed(policy: str, strategies: Strategies) -> Choice:
    return Choice(strategies, policy, np.ones(len(strategies), dtype=np.int64), exact=False)
