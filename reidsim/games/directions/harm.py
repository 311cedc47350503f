"""Harm to a person by the number of fitting rows and of fitting people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.errors import InputError
from reidsim.games.directions.effects import Harm
from reidsim.games.directions.linker import DirectedLinker
from reidsim.games.record_game import RecordGame
from reidsim.releases.strategy_space import Floats

# Limit on combinations of payoff parameters times records; each product is one number of 8 bytes in memory.
MOST_HELD = 100_000_000


@dataclass(frozen=True, eq=False)
class Replies:
    """Hold the adversary's reply to each record under every strategy.

    For directions "person", "record" and "both" see `reidsim.games.directions.linker`.

    Parameters
    ----------
    needed : ndarray of int64, shape (n_records,)
        Number of rows that must fit a person so that an attack in direction "person" does not pay; 1 if no such attack
        pays, and more than the number of records if such an attack always pays.
    unattacked : ndarray of bool, shape (n_records, n_strategies)
        Whether an attack in direction "record" does not pay under a strategy; true for all in direction "person".
    loss : Harm
        The publisher's expected loss, in currency units.
    """

    needed: NDArray[np.int64]
    unattacked: NDArray[np.bool_]
    loss: Harm

    def ignored(self) -> Replies:
        """Return the replies of an adversary who attacks no record, with the same loss."""
        return replace(self, needed=np.zeros_like(self.needed), unattacked=np.ones_like(self.unattacked))

    @property
    def shortage(self) -> Harm:
        """Number of rows that each person lacks until no attack pays, as a `Harm`.

        Direction "record" is not included.
        """
        n_records = len(self.needed)
        needs, kind = np.unique(self.needed, return_inverse=True)
        lacking = np.maximum(needs[:, None] - np.arange(n_records + 2), 0).astype(np.float64)
        nobody = np.zeros((0, 0), dtype=np.float32)
        return Harm(kind.astype(np.int64), lacking, np.ones(n_records), nobody, np.zeros((0, 0)))


def replies_in(game: RecordGame, linker: DirectedLinker) -> Replies:
    """Return the replies of the adversary of a game.

    Parameters
    ----------
    game : RecordGame
    linker : DirectedLinker
        Linker of the game.

    Raises
    ------
    InputError
        If records times combinations of payoff parameters exceed `MOST_HELD`.
    """
    kind, by_rows, needed = by_rows_of(game, linker)
    people, by_people, unattacked = _by_people(game, linker)
    loss = Harm(kind, by_rows, np.array(game.loss, dtype=np.float64), people, by_people)
    return Replies(needed[kind], unattacked, loss)


def by_rows_of(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Return the adversary's reply by number of fitting rows, direction "person".

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Index of the combination of payoff parameters (kind) of each record.
    ndarray of float64, shape (n_kinds, n_records + 2)
        Probability that a person of each kind is attacked and re-identified, by the number of rows that fit it; for 0
        rows, as for 1.
    ndarray of int64, shape (n_kinds,)
        Number of rows that must fit so that no attack pays; see `Replies`.

    Raises
    ------
    InputError
        If records times combinations of payoff parameters exceed `MOST_HELD`.
    """
    n_records = game.n_records
    kinds, first, kind = np.unique(linker.kind, return_index=True, return_inverse=True)
    if len(kinds) * n_records > MOST_HELD:
        raise InputError(
            "too many combinations of payoff parameters times records",
            found=len(kinds) * n_records,
            expected=f"at most {MOST_HELD:,}",
        )
    sizes = np.arange(1, n_records + 2)
    by_rows, needed = np.zeros((len(kinds), n_records + 2)), np.empty(len(kinds), dtype=np.int64)
    for number, record in enumerate(first.tolist()):
        reply = game.adversary.respond(Linkage(sizes, sizes), np.full(len(sizes), record, dtype=np.intp))
        by_rows[number, 1:] = reply.reidentified
        attacked = np.flatnonzero(reply.invited)
        needed[number] = sizes[attacked[-1]] + 1 if len(attacked) else 1
    by_rows[:, 0] = by_rows[:, 1]
    return kind.astype(np.int64), by_rows, needed


def _by_people(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.float32], Floats, NDArray[np.bool_]]:
    """Return the adversary's reply in direction "record" to each record by strategy.

    The arrays, shape (n_records, n_strategies), are the number of people who fit the row (at most the number of records
    plus 1), the probability that the person is attacked and re-identified, and whether an attack does not pay. The
    first is (0, 0) in direction "person", and the second is (0, 0) if all numbers of people are integers.
    """
    n_records, n_forms = game.n_records, game.space.size
    if linker.direction == "person":
        nobody = np.zeros((0, 0), dtype=np.float32)
        return nobody, np.zeros((0, 0)), np.ones((n_records, n_forms), dtype=np.bool_)
    people = np.empty((n_records, n_forms), dtype=np.float32)
    unattacked = np.empty((n_records, n_forms), dtype=np.bool_)
    reidentified: Floats = np.zeros((0, 0))
    for form in range(n_forms):
        sizes = linker.by_record.link(form).group_sizes
        reply = game.adversary.respond(Linkage(sizes, sizes))
        people[:, form], unattacked[:, form] = np.minimum(sizes, n_records + 1), ~reply.invited
        if not np.issubdtype(sizes.dtype, np.integer):
            # Expected counts need not be integers, so they cannot index the table by number of rows.
            reidentified = np.empty((n_records, n_forms)) if not len(reidentified) else reidentified
            reidentified[:, form] = reply.reidentified
    return people, reidentified, unattacked
