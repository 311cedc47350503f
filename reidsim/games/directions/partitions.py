"""Releases in which each row is protected by equal rows.

In the best partition, no row fits a person of another part. All records of an equivalence class at a node of the
lattice take the node's strategy, or the class is divided into its classes at a node one step below, and so on. So each
record has the payoff of a release with one strategy for the whole table. The best division of each class follows from
those of the classes in it (dynamic programming over the lattice).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reidsim.games.record_game import WITHHELD, RecordGame
from reidsim.linkage.partition import FittingRows
from reidsim.releases.lattice import Floats, GeneralizationLattice, Strategies

Allowed = Callable[[int, NDArray[np.bool_]], NDArray[np.bool_]]

# Limit on records times strategies, for each of which a payoff is computed; ten million take a second. Beyond it,
# levels are left out.
MOST_DIVIDED = 30_000_000
# Smallest relative gain by dividing a class; smaller ones may be rounding errors.
_LEAST_GAIN = 1e-9


def best_partition(
    game: RecordGame,
    lattice: GeneralizationLattice,
    rows: FittingRows,
    people: NDArray[np.int64],
    allowed: Allowed,
    report: Callable[[], object],
) -> Strategies | None:
    """Return the partition of the records that has the highest total payoff.

    Parameters
    ----------
    game : RecordGame
    lattice : GeneralizationLattice
        Lattice of the game's strategies.
    rows : FittingRows
        Fitting rows of the game, in which each person has one row.
    people : ndarray of int64, shape (n_records,)
        Number of people with each record.
    allowed : callable
        Returns for which records a strategy is allowed, given the records on which an attack pays under it.
    report : callable
        Called at each node.

    Returns
    -------
    ndarray of int64, shape (n_records,), or None
        Strategy of each record. None if no partition is allowed.
    """
    kept = _kept_levels(lattice, game.n_records)
    members: dict[int, NDArray[np.int32]] = {}
    divisions: dict[int, NDArray[np.int32]] = {}
    values: dict[int, Floats] = {}
    nodes = _nodes(lattice, kept)
    for node in nodes:
        report()
        of_record, outcome = rows.classes(node), game.outcome(node)
        n = int(of_record.max(initial=-1)) + 1
        # One record of each class; classes without records have no value.
        member = np.zeros(n, dtype=np.int32)
        member[of_record] = np.arange(len(of_record))
        within = np.bincount(of_record, ~allowed(node, outcome.response.invited), n) == 0
        value = np.where(within, np.bincount(of_record, outcome.publisher_payoff * people, n), -np.inf)
        division = np.full(n, WITHHELD, dtype=np.int32)
        for level, levels, stride in zip(lattice.levels(node), kept, lattice.strides, strict=True):
            if level == levels[0]:
                continue
            below = node - (level - levels[levels.index(level) - 1]) * stride
            divided = np.bincount(of_record[members[below]], values[below], n)
            better = divided - _LEAST_GAIN * np.abs(divided) > value
            value, division = np.where(better, divided, value), np.where(better, below, division)
        members[node], values[node], divisions[node] = member, value, division
    if np.isneginf(values[nodes[-1]]).any():
        return None
    strategies = np.full(game.n_records, lattice.size - 1)
    for node in reversed(nodes):
        at = np.flatnonzero(strategies == node)
        if len(at):
            division = divisions[node][rows.classes(node)[at]]
            strategies[at] = np.where(division == WITHHELD, node, division)
    return strategies


def release_of_equal_rows(
    game: RecordGame,
    lattice: GeneralizationLattice,
    rows: FittingRows,
    people: NDArray[np.int64],
    needed: NDArray[np.int64],
    allowed: Allowed,
    report: Callable[[], object],
) -> tuple[Strategies, int]:
    """Return a release in which each row equals rows of enough people.

    Strategies are tried in the order of the benefit that all records have under them. All records that can have a
    strategy together take it. This need not be the best such release. In files of 300 to 4,000 people, trying first the
    strategy with the highest benefit of the records that can have it lost more, and so did dividing classes.

    Parameters
    ----------
    game, lattice, rows, people, allowed, report
        See `best_partition`.
    needed : ndarray of int64, shape (n_records,)
        For each record, number of people who must have an equal row.

    Returns
    -------
    strategies : ndarray of int64, shape (n_records,)
        Strategy of each record; -1 if withheld.
    n_tried : int
        Number of strategies that were tried.
    """
    strategies, nobody = np.full(game.n_records, WITHHELD), np.zeros(game.n_records, dtype=np.bool_)
    nodes = _nodes(lattice, _kept_levels(lattice, len(rows.cell_of_entry)))
    benefit = {node: (people * game.benefit_of(node)).sum() for node in nodes}
    for node in sorted(nodes, key=lambda node: -benefit[node]):
        report()
        strategies[rows.in_large_classes(node, needed, (strategies == WITHHELD) & allowed(node, nobody))] = node
    return strategies, len(nodes)


def _kept_levels(lattice: GeneralizationLattice, n_rows: int) -> list[list[int]]:
    """Return the levels of each attribute that a release uses: all, or fewer if the limit requires it.

    The highest level of an attribute is kept. The middle level of the attribute with most levels is left out first.
    """
    kept = [list(range(n)) for n in lattice.shape]
    while n_rows * math.prod(map(len, kept)) > MOST_DIVIDED and (most := max(kept, key=len))[1:]:
        del most[(len(most) - 1) // 2]
    return kept


def _nodes(lattice: GeneralizationLattice, kept: list[list[int]]) -> list[int]:
    """Return the nodes that have only these levels of each attribute, in ascending order."""
    levels = np.stack(np.meshgrid(*kept, indexing="ij"), axis=-1)
    nodes: list[int] = np.sort(lattice.number(levels), axis=None).tolist()
    return nodes
