"""Linkage and replies in directions "person" and "both".

In direction "record", an adversary takes a shared row and searches for its person; the result depends on that row
alone. In direction "person", it takes a person and searches for the person's row. Every shared row that fits the
person's true values is a candidate, so each record's strategy affects the results for other persons. In direction
"both", the adversary uses the direction with the higher success probability.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.core.errors import InputError
from reidsim.games.composite import PeopleLattice, PeopleLinkage, TypesGame
from reidsim.games.directions.effects import Harm
from reidsim.games.record_game import WITHHELD, FixedLinkage, Linker, RecordGame, linker_of_release, shared_rows
from reidsim.linkage.partition import FittingRows
from reidsim.linkage.people import ranges
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies

LookedUp = Literal["person", "both"]
# Limit on combinations of payoff parameters times records; each product is one number of 8 bytes in memory.
MOST_HELD = 100_000_000
# Numbers of people who fit each record, and the harm for them, if only rows matter.
_NOBODY = np.zeros((0, 0), dtype=np.float32), np.zeros((0, 0))


class DirectedLinker:
    """Link persons to rows; in direction "both", also rows to people (a `Linker`).

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice with one row per record; or a `PeopleLattice`, in which a record holds all rows of a person.
    direction : {"person", "both"}
        Whether the adversary searches for the row of a person, or uses the better of the two directions for each
        record.
    by_record : Linker
        Linker from rows to people, as in direction "record".
    released : Linker
        Linker from rows to the people of the release: the group size of a row counts the people whose records are
        released, if all records have the same strategy.
    kind : ndarray of int64, shape (n_records,)
        Index of each record's payoff parameters. An adversary replies in the same way to all records of a kind.
    """

    def __init__(
        self,
        lattice: GeneralizationLattice,
        direction: LookedUp,
        by_record: Linker,
        released: Linker,
        kind: NDArray[np.int64],
    ) -> None:
        self.lattice, self.direction, self.by_record, self.kind = lattice, direction, by_record, kind
        self.rows = FittingRows(lattice, lattice.row_sets if isinstance(lattice, PeopleLattice) else None)
        self._released = released
        # The releases of all policies are evaluated under several payoff parameters, and against several adversaries.
        self._of_release = lru_cache(maxsize=4)(self._counted)

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Return the linkage if the whole release had one strategy.

        The group size of each record (of all, or of `rows`), true and believed, counts the people of the release in its
        equivalence class: the rows of a class fit the persons of the class. In direction "both", it is the smaller of
        this and the group size in direction "record".
        """
        sizes = self._released.link(strategy, rows).group_sizes
        if self.direction == "both":
            sizes = np.minimum(sizes, self.by_record.link(strategy, rows).group_sizes)
        return Linkage(sizes, sizes)

    def with_strategies(self, strategies: Strategies) -> FixedLinkage:
        """Return the linker of a release, with the linkage of each record.

        `strategies` (n_records,) holds one strategy per record, -1 if withheld.

        The group size of a record's person, true and believed, is the number of released rows that fit it, at least 1;
        in direction "both", at most the number of people who fit the person's row.
        """
        # A choice of a user may have integers of another size.
        return self._of_release(strategies.astype(np.int64).tobytes())

    def _counted(self, release: bytes) -> FixedLinkage:
        strategies = np.frombuffer(release, dtype=np.int64)
        sizes: Floats = np.maximum(self.rows.of_records(strategies), 1).astype(np.float64)
        self._limit(sizes, strategies)
        whole = np.array_equal(sizes, np.rint(sizes))
        return FixedLinkage.from_sizes(sizes.astype(np.int64) if whole else sizes)

    def weighted(self, strategies: Strategies) -> Floats:
        """Return 1 / success probability of a guess weighted to rarer rows, (n_records,).

        The release is `strategies` (n_records,). The adversary draws one of the rows that fit a person. The probability
        of a row is proportional to 1 over the number of people of the release that the row fits. In direction "both",
        the result is at most the number of people who fit the person's row. The result is 1 for a withheld record
        (strategy -1).
        """
        people = np.ones(len(self.rows.cell_of_entry))
        released = linker_of_release(self._released, strategies)
        for strategy, rows in shared_rows(strategies):
            linked = released.link(strategy, rows)
            linked = linked.of_records if isinstance(linked, PeopleLinkage) else linked
            people[ranges(self.rows.begin[rows], np.diff(self.rows.begin)[rows])[0]] = linked.group_sizes
        found = self.rows.least(self.rows.weight_of_entries(strategies, 1 / people) * people)
        sizes: Floats = np.where(strategies != WITHHELD, found, 1.0)
        self._limit(sizes, strategies)
        return sizes

    def _limit(self, sizes: Floats, strategies: Strategies) -> None:
        """Limit group sizes in place to the people who fit each row, in direction "both".

        In direction "person", and for withheld records (strategy -1), sizes are unchanged. `sizes` and `strategies`
        have shape (n_records,).
        """
        if self.direction == "both":
            linker = linker_of_release(self.by_record, strategies)
            for strategy, rows in shared_rows(strategies):
                sizes[rows] = np.minimum(sizes[rows], linker.link(strategy, rows).group_sizes)


def directed_linker(game: RecordGame) -> DirectedLinker | None:
    """Return the `DirectedLinker` of a game; None in direction "record".

    Raises
    ------
    InputError
        If the adversary types do not all share one linker.
    """
    linkers = [each.linker for each in game.types] if isinstance(game, TypesGame) else [game.linker]
    directed = [linker for linker in linkers if isinstance(linker, DirectedLinker)]
    if not directed:
        return None
    if any(linker is not directed[0] for linker in linkers):
        raise InputError(
            "adversaries have different directions or risks",
            expected="the same direction and the same risk for all adversaries",
        )
    return directed[0]


def by_record(game: RecordGame) -> RecordGame:
    """Return the same game in direction "record", from released rows to people.

    Each `DirectedLinker` is replaced by its linker in this direction; other linkers are unchanged.
    """

    def linker_of(linker: Linker) -> Linker:
        return linker.by_record if isinstance(linker, DirectedLinker) else linker

    if isinstance(game, TypesGame):
        return game.with_types([replace(each, linker=linker_of(each.linker)) for each in game.types])
    return replace(game, linker=linker_of(game.linker))


def without_attacked(game: RecordGame, strategies: Strategies) -> Strategies:
    """Withhold records until an attack pays on no remaining record.

    Each round withholds all records on which an attack pays. The result is a new array of strategies (n_records,), -1
    for withheld records.

    A withheld row no longer fits other persons, so an attack on them may become profitable. The loop ends, at the
    latest when all records are withheld.
    """
    strategies = strategies.copy()
    while True:
        released, attacked = game.with_strategies(strategies), np.zeros(len(strategies), dtype=np.bool_)
        for strategy, rows in shared_rows(strategies):
            attacked[rows] = released.outcome(strategy, rows).response.invited
        if not attacked.any():
            return strategies
        strategies[attacked] = WITHHELD


def replies_in(game: RecordGame, linker: DirectedLinker) -> tuple[NDArray[np.int64], NDArray[np.bool_], Harm]:
    """Return the adversary's reply to each record under every strategy, in a game with a directed linker.

    Returns
    -------
    needed : ndarray of int64, shape (n_records,)
        Number of rows that must fit a person so that an attack in direction "person" does not pay; 1 if no such attack
        pays, and more than the number of records if such an attack always pays.
    unattacked : ndarray of bool, shape (n_records, n_strategies)
        Whether an attack in direction "record" does not pay under a strategy; true for all in direction "person".
    loss : Harm
        The publisher's expected loss, in currency units.

    Raises
    ------
    InputError
        If records times combinations of payoff parameters exceed `MOST_HELD`.
    """
    kind, by_rows, needed = by_rows_of(game, linker)
    people, by_people, unattacked = _by_people(game, linker)
    return needed[kind], unattacked, Harm(kind, by_rows, np.array(game.loss), people, by_people)


def shortage(needed: NDArray[np.int64], weight: float) -> Harm:
    """Return the rows that each person lacks to be safe, weighted, as harm.

    A person is safe if no attack in direction "person" pays. The result is a `Harm`. `needed` (n_records,) is the
    number of rows that must fit each person to be safe; each row that is lacking counts `weight`, in currency units.
    """
    n_records = len(needed)
    needs, kind = np.unique(needed, return_inverse=True)
    lacking = np.maximum(needs[:, None] - np.arange(n_records + 2), 0).astype(np.float64)
    return Harm(kind.astype(np.int64), lacking, np.full(n_records, weight), *_NOBODY)


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
        Number of rows that must fit so that no attack pays; see `replies_in`.

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
    first two have shape (0, 0) in direction "person", and the last is then all True. The second also has shape (0, 0)
    if all numbers of people are integers.
    """
    n_records, n_forms = game.n_records, game.space.size
    if linker.direction == "person":
        return *_NOBODY, np.ones((n_records, n_forms), dtype=np.bool_)
    people = np.empty((n_records, n_forms), dtype=np.float32)
    unattacked = np.empty((n_records, n_forms), dtype=np.bool_)
    reidentified = _NOBODY[1]
    for form in range(n_forms):
        sizes = linker.by_record.link(form).group_sizes
        reply = game.adversary.respond(Linkage(sizes, sizes))
        people[:, form], unattacked[:, form] = np.minimum(sizes, n_records + 1), ~reply.invited
        if not np.issubdtype(sizes.dtype, np.integer):
            # Expected counts need not be integers, so they cannot index the table by number of rows.
            reidentified = np.empty((n_records, n_forms)) if not len(reidentified) else reidentified
            reidentified[:, form] = reply.reidentified
    return people, reidentified, unattacked
