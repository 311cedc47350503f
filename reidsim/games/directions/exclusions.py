"""Generalize records so that no assignment of all rows to people excludes anybody who fits a row.

Exclusions come from components of `reidsim.linkage.assignments` that paths enter but do not leave. In each round, one
record of each such component is generalized like a row outside the component that fits it. The record's row then also
fits the person of that row, so that a path leaves the component. If no such strategy is allowed, a record is withheld,
which may then be anybody's. Otherwise, rows only become more general, so no row fits fewer people, and no person fewer
rows, than before.

A chain of components takes many rounds. It ends at once if a record is suppressed in each component without a way out,
also in those that no path enters yet. This is done after some rounds, when it loses no more benefit than all of them.

A row of the game may hold several equal records. Only one of them is generalized in a round, so the row is divided into
parts whose records have one strategy each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reidsim.games.record_game import WITHHELD, RecordGame, shared_rows
from reidsim.linkage.assignments import components, edges_between
from reidsim.linkage.partition import FittingRows
from reidsim.linkage.people import ranges
from reidsim.populations.population import distinct_rows
from reidsim.releases.lattice import Floats, GeneralizationLattice, Rows, Strategies

Positions = NDArray[np.intp]
# Number of rounds before records may be suppressed. Without them, files of 1,000 records in which three people are
# enough for an attack not to pay lose 2 to 3 % of their utility; ten rounds change less than 0.2 %.
_FEWEST_ROUNDS = 5
# Returns for which of some rows of the game a strategy is allowed.
Allowed = Callable[[int, Rows], NDArray[np.bool_]]


class Parts(NamedTuple):
    """Parts of the rows of a game.

    Attributes
    ----------
    row : ndarray of int, shape (n_parts,)
        Row of the game to which each part belongs.
    people : ndarray of int64, shape (n_parts,)
        Number of people in each part.
    strategy : ndarray of int64, shape (n_parts,)
        Strategy of each part; -1 if withheld.
    cell : ndarray of int64, shape (n_parts,)
        Cell of each part.
    """

    row: Positions
    people: NDArray[np.int64]
    strategy: Strategies
    cell: NDArray[np.int64]


def without_exclusions(
    game: RecordGame,
    lattice: GeneralizationLattice,
    rows: FittingRows,
    kind: NDArray[np.int64],
    people: NDArray[np.int64],
    strategies: Strategies,
    allowed: Allowed,
) -> tuple[Strategies, NDArray[np.int64]]:
    """Return a release in which nobody who fits a row is excluded.

    Parameters
    ----------
    game : RecordGame
    lattice : GeneralizationLattice
        Lattice of the game's strategies.
    rows : FittingRows
        Fitting rows of the game, in which each person has one row.
    kind, people : ndarray of int64, shape (n_rows,)
        Index of each row's payoff parameters, and its number of people.
    strategies : ndarray of int64, shape (n_rows,)
        Strategy of each row; -1 if withheld.
    allowed : callable
        See `Allowed`.

    Returns
    -------
    strategies : ndarray of int64, shape (n_rows,)
        Strategy of each row, or of its other records if some of them have a strategy of their own.
    apart : ndarray of int64, shape (n_rows,)
        Number of records of each row that have a strategy of their own.
    """
    n, lost = game.n_records, [0.0]
    parts = Parts(np.arange(n), people, strategies, rows.cell_of_entry)
    while True:
        most = sum(lost) if len(lost) > _FEWEST_ROUNDS else -np.inf
        at, changed, lost_now = _cheapest_ways_out(game, lattice, rows, kind, parts, allowed, most)
        if not len(at):
            return parts.strategy[:n], np.bincount(parts.row[n:], minlength=n)
        parts = _generalized(parts, at, changed)
        lost.append(lost_now)


def _cheapest_ways_out(
    game: RecordGame,
    lattice: GeneralizationLattice,
    rows: FittingRows,
    kind: NDArray[np.int64],
    parts: Parts,
    allowed: Allowed,
    most: float,
) -> tuple[Positions, Strategies, float]:
    """Return parts that are to be generalized, one of each component without a way out, and their strategies.

    The arrays have shape (n,). The third result is the benefit lost. Records are suppressed instead, also in components
    that no path enters, if this loses at most `most` more.
    """
    strategy, has_people = parts.strategy, parts.people > 0
    shared = np.flatnonzero(has_people & (strategy != WITHHELD))
    withheld = np.unique(parts.cell[has_people & (strategy == WITHHELD)])
    fits, form = rows.forms(parts.cell[shared], strategy[shared])
    found = components(fits, parts.cell[shared], form, withheld)
    cell, from_form = edges_between(fits, found)
    of_form = np.zeros(fits.shape[1], dtype=np.int64)
    of_form[form] = strategy[shared]
    has_way_out = np.zeros(int(found.of_cell.max(initial=0)) + 1, dtype=np.bool_)
    has_way_out[found.of_form[from_form]], has_way_out[found.of_cell[withheld]] = True, True
    into = ~has_way_out[found.of_cell[cell]]
    # Rows with one strategy that fit the same cell are equal.
    cell, like = np.divmod(np.unique(cell[into] * lattice.size + of_form[from_form[into]]), lattice.size)
    # Of equal records with equal strategies, the first is enough.
    alike = [parts.cell[shared], kind[parts.row[shared]], strategy[shared]]
    shared = shared[distinct_rows(alike, len(shared))[0]]
    begin, end = (np.searchsorted(parts.cell[shared], cell, side) for side in ("left", "right"))
    at, start = ranges(begin, end - begin)

    def cheapest(at: Positions, like: Strategies) -> tuple[Positions, Strategies, float]:
        """Return the part of each component that loses least, its strategy, and the loss of all."""
        row, changed = parts.row[at], lattice.join(strategy[at], like)
        for new, places in shared_rows(changed):
            changed[places[~allowed(new, row[places])]] = WITHHELD
        lost = benefit_of_each(game, strategy[at], row) - benefit_of_each(game, changed, row)
        # Ties do not depend on which records share a row of the game.
        order = np.lexsort((strategy[at], kind[row], parts.cell[at], changed, lost, changed == WITHHELD))
        best = order[np.unique(found.of_cell[parts.cell[at[order]]], return_index=True)[1]]
        best = best[np.argsort(at[best])]
        # Sorted, because rounding depends on the order.
        return at[best], changed[best], float(np.sort(lost[best]).sum())

    *ways, lost = cheapest(shared[at], np.repeat(like, np.diff(start)))
    ends = shared[~has_way_out[found.of_cell[parts.cell[shared]]]]
    *suppressed, lost_at_most = cheapest(ends, np.full(len(ends), lattice.size - 1))
    if len(cell) and lost_at_most <= most + lost:
        ways, lost = suppressed, lost_at_most
    return ways[0], ways[1], lost


def _generalized(parts: Parts, at: Positions, changed: Strategies) -> Parts:
    """Return the parts after one record of each part `at` takes the strategy `changed`."""
    strategy, people, is_divided = parts.strategy.copy(), parts.people.copy(), parts.people[at] > 1
    strategy[at[~is_divided]] = changed[~is_divided]
    new = at[is_divided]
    people[new] -= 1
    return Parts(
        np.append(parts.row, parts.row[new]),
        np.append(people, np.ones_like(new)),
        np.append(strategy, changed[is_divided]),
        np.append(parts.cell, parts.cell[new]),
    )


def benefit_of_each(game: RecordGame, strategies: Strategies, rows: Rows) -> Floats:
    """Return the benefit of some rows of a game, each under its own strategy, in currency units, shape (n,).

    It is 0 for withheld rows (strategy -1).
    """
    benefit = np.zeros(len(rows))
    for strategy, places in shared_rows(strategies):
        benefit[places] = game.benefit_of(strategy, rows[places])
    return benefit
