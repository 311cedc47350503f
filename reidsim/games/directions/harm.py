"""What an adversary's replies cost the publisher, by how many rows fit a person and how many people fit its row."""

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

# Kinds of amounts times records that are held in memory, 8 bytes each.
MOST_HELD = 100_000_000


@dataclass(frozen=True, eq=False)
class Replies:
    """How an adversary replies to each record, however it is shared.

    Parameters
    ----------
    needed : ndarray of int64, shape (n_records,)
        Rows that must fit a person so that nobody attacks it on their account; more than there are records, if it is
        attacked however many fit.
    unattacked : ndarray of bool, shape (n_records, n_forms)
        Whether nobody attacks the record on account of the people who fit its row in a form.
    loss : Harm
        The publisher's expected loss.
    """

    needed: NDArray[np.int64]
    unattacked: NDArray[np.bool_]
    loss: Harm

    def ignored(self) -> Replies:
        """Return the replies of an adversary who attacks nobody, with the same loss."""
        return replace(self, needed=np.zeros_like(self.needed), unattacked=np.ones_like(self.unattacked))

    @property
    def shortage(self) -> Harm:
        """How many rows each person lacks, in place of the loss."""
        n_records = len(self.needed)
        needs, kind = np.unique(self.needed, return_inverse=True)
        lacking = np.maximum(needs[:, None] - np.arange(n_records + 2), 0).astype(np.float64)
        nobody = np.zeros((0, 0), dtype=np.float32)
        return Harm(kind.astype(np.int64), lacking, np.ones(n_records), nobody, np.zeros((0, 0)))


def replies_in(game: RecordGame, linker: DirectedLinker) -> Replies:
    """Return how the adversary of a game replies.

    Parameters
    ----------
    game : RecordGame
    linker : DirectedLinker
        Of the game.

    Raises
    ------
    InputError
        If there are too many records or amounts.
    """
    kind, by_rows, needed = by_rows_of(game, linker)
    people, by_people, unattacked = _by_people(game, linker)
    loss = Harm(kind, by_rows, np.ascontiguousarray(game.loss, dtype=np.float64), people, by_people)
    return Replies(needed[kind], unattacked, loss)


def by_rows_of(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Return how the adversary replies to the number of rows that fit a person.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        The kind of amounts of each record.
    ndarray of float64, shape (n_kinds, n_records + 2)
        Probability of a re-identification of a person of each kind whom so many rows fit.
    ndarray of int64, shape (n_kinds,)
        Rows that must fit; see `Replies`.

    Raises
    ------
    InputError
        If there are too many records or amounts.
    """
    n_records = game.n_records
    kinds, first, kind = np.unique(linker.kind, return_index=True, return_inverse=True)
    if len(kinds) * n_records > MOST_HELD:
        raise InputError(
            "too many different amounts to look each person up with", found=len(kinds) * n_records,
            expected=f"at most {MOST_HELD:,} amounts times records",
        )  # fmt: skip
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
    """Return the people who fit each record's row in each form, what they cost, and whether nobody attacks."""
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
            # Expected counts need not be whole.
            reidentified = np.empty((n_records, n_forms)) if not len(reidentified) else reidentified
            reidentified[:, form] = reply.reidentified
    return people, reidentified, unattacked
