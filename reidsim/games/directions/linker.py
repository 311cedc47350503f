"""Linkage in directions "person" and "both", by the strategies of all records.

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
from reidsim.errors import InputError
from reidsim.games.adversary_types import TypesGame
from reidsim.games.people import PeopleLattice, PeopleLinkage
from reidsim.games.record_game import WITHHELD, FixedLinkage, Linker, RecordGame, linker_of_release, shared_rows
from reidsim.linkage.fitting_rows import FittingRows
from reidsim.linkage.people import ranges
from reidsim.populations.population import Counts
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

LookedUp = Literal["person", "both"]


class DirectedLinker:
    """Link persons to rows; in direction "both", also rows to people (a `Linker`).

    Parameters
    ----------
    lattice : GeneralizationLattice
        Lattice with one row per record; or a `PeopleLattice`, in which a record holds all rows of a person.
    direction : {"person", "both"}
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

        Then the rows of an equivalence class fit the persons of the class. In direction "both", the group size is the
        smaller of the two directions.
        """
        return self._worse(self._released.link(strategy, rows).group_sizes, strategy, rows)

    def with_strategies(self, strategies: Strategies) -> FixedLinkage:
        """Return the linker of a release.

        `strategies` (n_records,) holds one strategy per record, -1 if withheld.

        The group size of a person is the number of released rows that fit it, at least 1; in direction "both", at most
        the number of people who fit the person's row.
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

        The adversary draws one of the rows that fit a person. The probability of a row is proportional to 1 over the
        number of people of the release that the row fits. In direction "both", the result is at most the number of
        people who fit the person's row. The result is 1 for a withheld record (strategy -1).
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
        """Limit sizes in place to the people who fit each row, in direction "both"."""
        if self.direction == "both":
            linker = linker_of_release(self.by_record, strategies)
            for strategy, rows in shared_rows(strategies):
                sizes[rows] = np.minimum(sizes[rows], linker.link(strategy, rows).group_sizes)

    def _worse(self, fitting: Counts, strategy: int, rows: Rows | None) -> Linkage:
        if self.direction == "person":
            return Linkage(fitting, fitting)
        sizes = np.minimum(fitting, self.by_record.link(strategy, rows).group_sizes)
        return Linkage(sizes, sizes)


def directed_linker(game: RecordGame) -> DirectedLinker | None:
    """Return the directed linker of a game; None in direction "record".

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
    """Return the same game in direction "record"."""

    def linker_of(linker: Linker) -> Linker:
        return linker.by_record if isinstance(linker, DirectedLinker) else linker

    if isinstance(game, TypesGame):
        return game.with_types([replace(each, linker=linker_of(each.linker)) for each in game.types])
    return replace(game, linker=linker_of(game.linker))


def without_attacked(game: RecordGame, strategies: Strategies) -> Strategies:
    """Withhold records until an attack pays on no remaining record.

    Each round withholds all records on which an attack pays.

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
