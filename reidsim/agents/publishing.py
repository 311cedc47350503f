"""The game that a publisher believes in: adversary types with what it thinks of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.adversaries.simple_behaviours import NeverAttacks
from reidsim.agents.profile import Equipment, Setting
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.record_game import RecordGame
from reidsim.releases.strategy_space import Rows

Floats = NDArray[np.float64]

_NOBODY = "nobody"

# Below this probability a type, or that nobody comes, is left out of the game.
NEGLIGIBLE = 1e-12


class NoLinker:
    """Links nothing, for an adversary who never attacks."""

    def __init__(self, n: int) -> None:
        self._n = n

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return groups too large to find anybody; see `Linker`."""
        sizes = np.full(self._n if rows is None else len(rows), np.inf)
        return Linkage(sizes, sizes)


def believed_game(setting: Setting, weights: Floats, equipment: Sequence[Equipment | None]) -> RecordGame:
    """Return the game that a publisher plays.

    Parameters
    ----------
    setting : Setting
    weights : ndarray of float64, shape (n_types,)
        Probability that each type is there, as the publisher believes; for "one-of" they sum to at most 1.
    equipment : sequence of Equipment or None
        Of each type, as the publisher believes.
    """
    n = setting.n_cells
    # The name of a type is the user's, and only told apart here.
    types = [
        AdversaryType(str(number), float(min(weight, 1.0)), means.linker, means.adversary)
        for number, (weight, means) in enumerate(zip(weights.tolist(), equipment, strict=True))
        if means is not None and weight > NEGLIGIBLE
    ]
    rest = 1.0 - fsum(each.weight for each in types)
    if len(types) == 1 and abs(rest) <= NEGLIGIBLE:
        only = types[0]
        return RecordGame(setting.space, only.linker, only.adversary, setting.benefit, setting.believed_loss)
    if not types or (setting.meeting == "one-of" and rest > NEGLIGIBLE):
        types.append(AdversaryType(_NOBODY, rest if setting.meeting == "one-of" else 1.0, NoLinker(n), NeverAttacks()))
    return TypesGame(setting.space, types, setting.benefit, setting.believed_loss, setting.meeting)
