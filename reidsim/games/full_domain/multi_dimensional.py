"""Multi-dimensional global recoding: the domain is split into regions, each of which is generalized in its own way.

A recoding starts from the whole domain at the top node and splits regions again and again, each time one attribute by
one level of its hierarchy (as Mondrian does: LeFevre et al. 2006, Mondrian Multidimensional K-Anonymity, ICDE). A
region is a class of some node, so equal records have equal forms, every record of a region is released in the region's
form, and no record outside it is: the class sizes of the node are those of the release. Splitting everything down to
one node is full-domain generalization; record-level generalization is what every record would choose if its choice did
not bind those in its region. The payout lies between theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.full_domain.best_splits import best_splits
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import WITHHELD
from reidsim.releases.strategy_space import Strategies


@dataclass(frozen=True, eq=False)
class MultiDimensional:
    """The region of each cell, at one parameter point.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_cells,)
        The node of the cell's region; -1 where its records are suppressed.
    regions : ndarray of int64, shape (n_cells,)
        The node of the cell's region, whether its records are suppressed or not.
    payout : float
        Publisher's payoff over all records; 0 when no recoding keeps to the suppression limit.
    bound : float
        No recoding by splits pays more.
    best_case : float
        The payout if every record were shared as it is and none attacked.
    evaluated : int
        Nodes computed, in all walks.
    exact : bool
        Whether nothing pays more.
    """

    strategies: Strategies
    regions: Strategies
    payout: float
    bound: float
    best_case: float
    evaluated: int
    exact: bool

    @property
    def gap(self) -> float:
        """How far the payout may be from the optimum, as a share of the best case; 0 when proved optimal."""
        return 0.0 if self.exact or not self.best_case else (self.bound - self.payout) / self.best_case


@dataclass(frozen=True, eq=False)
class Recoding:
    """One recoding: what it pays, and how many records it suppresses.

    Parameters
    ----------
    regions, strategies : ndarray of int64, shape (n_cells,)
        See `MultiDimensional`.
    payout : float
    suppressed : int
    """

    regions: Strategies
    strategies: Strategies
    payout: float
    suppressed: int

    def value(self, charge: float) -> float:
        """Return what it is worth when each suppressed record is charged for."""
        return self.payout - charge * self.suppressed


class Recodings(Protocol):
    """All recodings of some records by splits."""

    def best(self, charge: float) -> Recoding:
        """Return the one worth most when each suppressed record is charged for."""
        ...

    def one_node(self) -> Recoding | None:
        """Return the best that is one node for all records and keeps to the limit, if there is one."""
        ...


def multi_dimensional(game: FullDomainGame) -> MultiDimensional:
    """Find the recoding by splits that pays most within the suppression limit.

    If the best of all recodings suppresses too many records, each suppressed one is charged for (a Lagrange
    multiplier), and the charge set to where a recoding that keeps to the limit and one that does not are worth the
    same, until no other is worth more. The recoding left then pays within a gap of the best; so does one node for all
    records, which is taken if it pays more.

    Parameters
    ----------
    game : FullDomainGame
        Its first parameter point is played.

    Returns
    -------
    MultiDimensional
        Exact if the limit does not bind, and with a bound otherwise.

    Raises
    ------
    InputError
        If what each class does best does not fit in 2 GiB of memory.
    """
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    charged = _Charged(game)
    return charged.solution(*within_limit(charged, game.n_records, game.most_suppressed, float(game.best_case[0])))


def within_limit(
    recodings: Recodings, n_records: int, most_suppressed: int, best_case: float
) -> tuple[Recoding, float]:
    """Return the best recoding found that keeps to a limit, and what none can exceed; see `multi_dimensional`.

    Parameters
    ----------
    recodings : Recodings
    n_records, most_suppressed : int
        Records in all, and those that may be suppressed.
    best_case : float
        The payout if every record were shared as it is and none attacked.

    Returns
    -------
    Recoding
        Everything is suppressed if none keeps to the limit.
    float
    """
    over = recodings.best(0.0)
    if over.suppressed <= most_suppressed:
        return over, over.payout
    # One record less to suppress is then worth more than everything that can be lost by it.
    kept = recodings.best(2 * max(best_case, 1.0))
    if kept.suppressed > most_suppressed:
        return Recoding(kept.regions, np.full_like(kept.regions, WITHHELD), 0.0, n_records), 0.0
    bound = over.payout
    tie = INDIFFERENCE * max(best_case, 1.0)
    while over.suppressed > kept.suppressed:
        charge = (over.payout - kept.payout) / (over.suppressed - kept.suppressed)
        between = recodings.best(charge)
        bound = min(bound, between.value(charge) + charge * most_suppressed)
        if between.value(charge) <= over.value(charge) + tie:
            break
        if between.suppressed > most_suppressed:
            over = between
        else:
            kept = between
    one_node = recodings.one_node()
    return (kept if one_node is None or one_node.payout <= kept.payout + tie else one_node), bound


class _Charged:
    """Recodings of a game whose suppressed records are charged for, and the walks that it took to find them."""

    def __init__(self, game: FullDomainGame) -> None:
        self._game = game
        self._evaluated = 0

    def best(self, charge: float) -> Recoding:
        """Return the recoding worth most at a charge."""
        splits = best_splits(self._game, charge=charge)
        self._evaluated += splits.evaluated
        game, strategies = self._game, splits.regions.copy()
        for node in np.unique(splits.regions).tolist():
            here = np.flatnonzero(splits.regions == node)
            strategies[here[~game.kept_at(node)[here]]] = WITHHELD
        suppressed = int(game.released[strategies == WITHHELD].sum())
        return Recoding(splits.regions, strategies, splits.value + charge * suppressed, suppressed)

    def one_node(self) -> Recoding | None:
        """Return the best node for all records that keeps to the limit, if there is one."""
        game, solution = self._game, search(self._game)
        self._evaluated += solution.evaluated
        node = int(solution.nodes[0])
        if node == NO_SOLUTION:
            return None
        regions = np.full(game.lattice.n_records, node, dtype=np.int64)
        strategies = np.where(game.kept_at(node), regions, WITHHELD)
        return Recoding(regions, strategies, float(solution.payout[0]), int(solution.suppressed[0]))

    def solution(self, recoding: Recoding, bound: float) -> MultiDimensional:
        """Return a recoding that keeps to the limit as the solution."""
        best_case = float(self._game.best_case[0])
        exact = bound <= recoding.payout + INDIFFERENCE * max(best_case, 1.0)
        return MultiDimensional(
            recoding.strategies, recoding.regions, recoding.payout, max(bound, recoding.payout), best_case,
            self._evaluated, exact,
        )  # fmt: skip
