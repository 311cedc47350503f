"""Linkage in the directions "person" and "both": it depends on how all records are shared, not on one alone.

In direction "record" an adversary takes a shared row and asks who it is; what it finds depends on that row. In
direction "person" it takes a person and asks which row is theirs: every shared row that fits the person's true values
is a candidate, so how one record is shared changes what is found of others. In both directions it does what works
better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.errors import InputError
from reidsim.games.adversary_types import TypesGame
from reidsim.games.full_domain.risk import GivenSizes
from reidsim.games.people import PeopleLattice, PeopleLinkage
from reidsim.games.record_game import WITHHELD, Linker, RecordGame, shared_rows
from reidsim.linkage.fitting_rows import FittingRows
from reidsim.linkage.people import ranges
from reidsim.populations.population import Counts
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats, Rows, Strategies

LookedUp = Literal["person", "both"]


class DirectedLinker:
    """Links persons to rows, or does so and links rows to people, whichever tells more (a `Linker`).

    Parameters
    ----------
    lattice : GeneralizationLattice
        Over the records, one row each; or a `PeopleLattice`, whose records are the rows of a person each.
    direction : {"person", "both"}
    by_record : Linker
        Links rows to people: direction "record".
    released : Linker
        Links rows to people of the release.
    kind : ndarray of int64, shape (n_records,)
        Which amounts a record has; an adversary replies alike to records of one kind.
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
        self._last: tuple[bytes, GivenSizes] | None = None

    def link(self, strategy: int, rows: Rows | None = None) -> Linkage:
        """Link records as if all of the release were shared in one form: then the rows of a class fit its persons."""
        return self._worse(self._released.link(strategy, rows).group_sizes, strategy, rows)

    def given(self, strategies: Strategies) -> GivenSizes:
        """Return what linkage yields if every record is shared as `strategies` (n_records,) say."""
        # The same release is evaluated under several amounts, and against several adversaries.
        key = strategies.tobytes()
        if self._last is None or self._last[0] != key:
            fitting = self.rows.of_records(strategies)
            sizes: Floats = np.maximum(fitting, 1).astype(np.float64)
            self._limit(sizes, strategies)
            whole = np.array_equal(sizes, np.rint(sizes))
            self._last = key, GivenSizes(sizes.astype(np.int64) if whole else sizes)
        return self._last[1]

    def weighted(self, strategies: Strategies) -> Floats:
        """Return one over the probability that a guess is right that prefers rows which fit fewer people, (n_records,).

        Of the rows that fit a person, each is taken with a probability in proportion to one over the people of the
        release whom it fits. In direction "both", at most the people who fit the person's row. 1 where none is shared.
        """
        people = np.ones(len(self.rows.cell_of_entry))
        for strategy, rows in shared_rows(strategies):
            linked = self._released.link(strategy, rows)
            linked = linked.of_records if isinstance(linked, PeopleLinkage) else linked
            people[ranges(self.rows.begin[rows], np.diff(self.rows.begin)[rows])[0]] = linked.group_sizes
        found = self.rows.least(self.rows.weight_of_entries(strategies, 1 / people) * people)
        sizes: Floats = np.where(strategies != WITHHELD, found, 1.0)
        self._limit(sizes, strategies)
        return sizes

    def _limit(self, sizes: Floats, strategies: Strategies) -> None:
        """Lower sizes to the people who fit each record's row, in direction "both"."""
        if self.direction == "both":
            for strategy, rows in shared_rows(strategies):
                sizes[rows] = np.minimum(sizes[rows], self.by_record.link(strategy, rows).group_sizes)

    def _worse(self, fitting: Counts, strategy: int, rows: Rows | None) -> Linkage:
        if self.direction == "person":
            return Linkage(fitting, fitting)
        sizes = np.minimum(fitting, self.by_record.link(strategy, rows).group_sizes)
        return Linkage(sizes, sizes)


def directed_linker(game: RecordGame) -> DirectedLinker | None:
    """Return what links persons to rows in a game; None in direction "record".

    Raises
    ------
    InputError
        If several adversaries do not all link with the same.
    """
    linkers = [each.linker for each in game.types] if isinstance(game, TypesGame) else [game.linker]
    directed = [linker for linker in linkers if isinstance(linker, DirectedLinker)]
    if not directed:
        return None
    if any(linker is not directed[0] for linker in linkers):
        raise InputError("adversaries look records up in several ways", expected="all in one direction and one risk")
    return directed[0]


def by_record(game: RecordGame) -> RecordGame:
    """Return the same game in direction "record"."""

    def linker_of(linker: Linker) -> Linker:
        return linker.by_record if isinstance(linker, DirectedLinker) else linker

    if isinstance(game, TypesGame):
        return game.with_types([replace(each, linker=linker_of(each.linker)) for each in game.types])
    return replace(game, linker=linker_of(game.linker))


def without_attacked(game: RecordGame, strategies: Strategies) -> Strategies:
    """Withhold every record that is attacked, until none of those that are left is; any set of rows has such a rest.

    A record that is withheld no longer fits others, so that these may be attacked in turn.
    """
    strategies = strategies.copy()
    while True:
        given, attacked = game.given(strategies), np.zeros(len(strategies), dtype=np.bool_)
        for strategy, rows in shared_rows(strategies):
            attacked[rows] = given.outcome(strategy, rows).response.invited
        if not attacked.any():
            return strategies
        strategies[attacked] = WITHHELD
