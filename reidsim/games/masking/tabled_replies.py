"""Replies of an adversary who looks at few attributes: computed once for each form of these, however it plans."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Adversary
from reidsim.games.record_game import Linker
from reidsim.releases.masking import MaskingSpace
from reidsim.releases.strategy_space import Floats, Strategies

# Forms of what is looked at, and of all records together.
_MOST_FORMS = 256
_MOST_REPLIES = 20_000_000


@dataclass(frozen=True, eq=False)
class TabledReplies:
    """What an adversary does about every form of a record.

    Parameters
    ----------
    invited : ndarray of bool, shape (n_records, n_forms)
        Whether an attack pays, as the adversary believes.
    reidentified : ndarray of float64, shape (n_records, n_forms)
        Probability that it attacks and names the right person.
    form : ndarray of int32, shape (n_strategies,)
        The form of what it looks at, by strategy.
    """

    invited: NDArray[np.bool_]
    reidentified: Floats
    form: NDArray[np.int32]

    def of(self, target: int, strategies: Strategies) -> tuple[NDArray[np.bool_], Floats]:
        """Return whether attacks on strategies of a record pay, and with what probability it re-identifies it."""
        forms = self.form[strategies]
        return self.invited[target, forms], self.reidentified[target, forms]


def tabled(linker: Linker, adversary: Adversary, space: MaskingSpace) -> TabledReplies | None:
    """Work out the replies of an adversary; None if its linkage looks at too much, or does not say at what.

    Parameters
    ----------
    linker : Linker
        One that looks at some attributes only names them as `looked_at`.
    adversary : Adversary
    space : MaskingSpace
    """
    looked_at: tuple[str, ...] | None = getattr(linker, "looked_at", None)
    if looked_at is None:
        return None
    positions = [position for position, name in enumerate(space.attributes) if name in looked_at]
    shape = [space.shape[position] for position in positions]
    n_forms = prod(shape)
    if n_forms > _MOST_FORMS or n_forms * space.n_records > _MOST_REPLIES:
        return None
    places = space.number(np.eye(len(space.attributes), dtype=np.int64))[positions]
    strategies, form = np.arange(space.size), np.zeros(space.size, dtype=np.int32)
    for place, size, position in zip(places.tolist(), shape, positions, strict=True):
        form = form * size + (strategies // place % space.shape[position]).astype(np.int32)
    # Attributes that must be shared have one level only. Records may be others than those of the space.
    met, first = np.unique(form, return_index=True)
    replies = [adversary.respond(linker.link(strategy)) for strategy in first.tolist()]
    invited = np.zeros((len(replies[0].attacks), n_forms), dtype=np.bool_)
    reidentified = np.zeros((len(replies[0].attacks), n_forms))
    for number, response in zip(met.tolist(), replies, strict=True):
        invited[:, number], reidentified[:, number] = response.invited, response.reidentified
    return TabledReplies(invited, reidentified, form)
