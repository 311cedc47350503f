"""The game that a publisher believes in, by its beliefs about adversary types."""

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

# Adversary types, and the absence of all adversaries, are omitted from the game below this probability.
NEGLIGIBLE = 1e-12


class NoLinker:
    """Linker without any match, for an adversary who never attacks."""

    def __init__(self, n: int) -> None:
        self._n = n

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return infinite group sizes; see `Linker`."""
        sizes = np.full(self._n if rows is None else len(rows), np.inf)
        return Linkage(sizes, sizes)


def believed_game(setting: Setting, weights: Floats, equipment: Sequence[Equipment | None]) -> RecordGame:
    """Return the game that a publisher believes in.

    Parameters
    ----------
    setting : Setting
        Fixed parameters of the model.
    weights : ndarray of float64, shape (n_types,)
        Probability that each type is present, as the publisher believes; for "one-of", the sum is at most 1.
    equipment : sequence of Equipment or None
        Equipment of each type, as the publisher believes; None for a type who can attack no record.
    """
    n = setting.n_cells
    # Types are named by number: a name chosen by the user might equal `_NOBODY`.
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
