"""Multi-dimensional global recoding: each region of the domain has its own node.

A recoding starts from the whole domain at the top node and repeatedly splits regions, each time one attribute by one
level of its hierarchy (as Mondrian does: LeFevre et al. 2006, Mondrian Multidimensional K-Anonymity, ICDE). A region is
a class of some node. So equal records are released equally, every record of a region is released at the region's node,
and no record outside the region falls into its class: class sizes at the node equal class sizes in the release.

If all regions are split down to the same node, the recoding is a full-domain generalization. In record-level
generalization, each record chooses its own node without binding other records. The payout of multi-dimensional
recoding lies between the payouts of these two.
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
    """A solution: the region of each cell at one parameter point.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_cells,)
        The node of the cell's region; -1 where its records are suppressed.
    regions : ndarray of int64, shape (n_cells,)
        The node of the cell's region, whether its records are suppressed or not.
    payout : float
        Publisher's payoff over all records, in currency units; 0 if no recoding keeps to the suppression limit. Then
        all records are suppressed.
    bound : float
        Upper bound of the payout of any recoding by splits within the suppression limit.
    best_case : float
        Payout if every record were released ungeneralized and none attacked.
    evaluated : int
        Number of nodes computed, over all walks.
    exact : bool
        Whether the payout is proved to be the optimum.
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
        """Bound on the distance to the optimal payout, as a share of `best_case`.

        It is 0 if the recoding is proved optimal.
        """
        return 0.0 if self.exact or not self.best_case else (self.bound - self.payout) / self.best_case


@dataclass(frozen=True, eq=False)
class Recoding:
    """One recoding, its payout and its number of suppressed records.

    Parameters
    ----------
    regions, strategies : ndarray of int64, shape (n_cells,)
        See `MultiDimensional`.
    payout : float
        Publisher's payoff over all records, in currency units.
    suppressed : int
        Number of suppressed records.
    """

    regions: Strategies
    strategies: Strategies
    payout: float
    suppressed: int

    def value(self, charge: float) -> float:
        """Return the payout minus `charge` for each suppressed record.

        The charge is in currency units.
        """
        return self.payout - charge * self.suppressed


class Recodings(Protocol):
    """All recodings of some records by splits."""

    def best(self, charge: float) -> Recoding:
        """Return the recoding with the highest value at a charge; see `Recoding.value`.

        The suppression limit does not apply.
        """
        ...

    def one_node(self) -> Recoding | None:
        """Return the best single node within the suppression limit, or None."""
        ...


def multi_dimensional(game: FullDomainGame) -> MultiDimensional:
    """Find the recoding with the highest payout within the suppression limit.

    If the best unconstrained recoding suppresses too many records, each suppressed record is charged (a Lagrange
    multiplier). The charge is set so that a recoding within the limit and a recoding beyond it have equal value. This
    is repeated until no recoding has a higher value at the charge. The recoding within the limit is then within `gap`
    of the optimum. The best single node for all records replaces it if its payout is higher.

    Parameters
    ----------
    game : FullDomainGame
        Only its first parameter point is solved.

    Returns
    -------
    MultiDimensional
        Exact if the best unconstrained recoding is within the limit, or the bound equals the payout.

    Raises
    ------
    InputError
        If the best choices of all classes do not fit in 2 GiB of memory.
    """
    if game.prices.n_points > 1:
        game = replace(game, prices=game.prices.point(0))
    charged = _Charged(game)
    return charged.solution(*within_limit(charged, game.n_records, game.most_suppressed, float(game.best_case[0])))


def within_limit(
    recodings: Recodings, n_records: int, most_suppressed: int, best_case: float
) -> tuple[Recoding, float]:
    """Return the best recoding found within the suppression limit, and an upper bound.

    See `multi_dimensional` for the method.

    Parameters
    ----------
    recodings : Recodings
    n_records, most_suppressed : int
        Number of records, and maximum number of suppressed records.
    best_case : float
        Payout if every record were released ungeneralized and none attacked.

    Returns
    -------
    recoding : Recoding
        Suppresses all records, with payout 0, if no recoding is within the limit.
    bound : float
        Upper bound of the payout of any recoding within the limit.
    """
    over = recodings.best(0.0)
    if over.suppressed <= most_suppressed:
        return over, over.payout
    # At this charge, releasing one more record is worth more than any loss of payout it can cause.
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
    """Find recodings of a full-domain game at a charge for each suppressed record.

    Counts the nodes computed over all searches; see `Recodings`.
    """

    def __init__(self, game: FullDomainGame) -> None:
        self._game = game
        self._evaluated = 0

    def best(self, charge: float) -> Recoding:
        """Return the recoding with the highest value at a charge; see `Recoding.value`."""
        splits = best_splits(self._game, charge=charge)
        self._evaluated += splits.evaluated
        game, strategies = self._game, splits.regions.copy()
        for node in np.unique(splits.regions).tolist():
            here = np.flatnonzero(splits.regions == node)
            strategies[here[~game.kept_at(node)[here]]] = WITHHELD
        suppressed = int(game.released[strategies == WITHHELD].sum())
        return Recoding(splits.regions, strategies, splits.value + charge * suppressed, suppressed)

    def one_node(self) -> Recoding | None:
        """Return the best single node within the suppression limit, or None."""
        game, solution = self._game, search(self._game)
        self._evaluated += solution.evaluated
        node = int(solution.nodes[0])
        if node == NO_SOLUTION:
            return None
        regions = np.full(game.lattice.n_records, node, dtype=np.int64)
        strategies = np.where(game.kept_at(node), regions, WITHHELD)
        return Recoding(regions, strategies, float(solution.payout[0]), int(solution.suppressed[0]))

    def solution(self, recoding: Recoding, bound: float) -> MultiDimensional:
        """Return a recoding within the limit and its bound as the solution."""
        best_case = float(self._game.best_case[0])
        exact = bound <= recoding.payout + INDIFFERENCE * max(best_case, 1.0)
        return MultiDimensional(
            recoding.strategies,
            recoding.regions,
            recoding.payout,
            max(bound, recoding.payout),
            best_case,
            self._evaluated,
            exact,
        )
