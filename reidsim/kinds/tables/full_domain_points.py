"""A study at dataset level at several prices, for sweeps: what walks the lattice does so once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.search import search
from reidsim.kinds.tables.node_games import node_strategies, planned_game, search_is_of_nodes
from reidsim.kinds.tables.outcomes import TablesOutcome, outcome_of, play
from reidsim.kinds.tables.solving import TablesChoice
from reidsim.kinds.tables.study import TablesStudy
from reidsim.kinds.tables.table_data import PRICES
from reidsim.portable_math import dot

# Points of one walk. The first of them to be asked for takes the time of all, so more would make runs uneven.
MOST_POINTS = 20


class FullDomainPoints:
    """The policies of a study at several points of its prices.

    Parameters
    ----------
    studies : sequence of TablesStudy
        The study at each point: alike but for amounts of money, planned with the same risk. One amount holds for all
        records.
    """

    def __init__(self, studies: Sequence[TablesStudy]) -> None:
        self._studies = studies
        believed = [study.believed(study.prices) for study in studies]
        self._prices = Prices(*(np.concatenate([getattr(at, price) for at in believed]) for price in PRICES))
        self._nodes = cache(lambda policy: search(self._game(policy), prune=studies[0].scenario.publisher.prune))
        self._by_record = cache(lambda policy: record_level(self._game(policy)))

    def outcomes(self, point: int) -> dict[str, TablesOutcome]:
        """Return what `reidsim.kinds.tables.outcomes.play` does at one of the points.

        Nodes evaluated are those of the walk for all points.
        """
        return {policy: self._outcome(policy, point) for policy in self._studies[point].scenario.publisher.policies}

    def _outcome(self, policy: str, point: int) -> TablesOutcome:
        study = self._studies[point]
        if search_is_of_nodes(study, policy):
            return outcome_of(study, policy, self._of_node(study, policy, point), study.truth)
        if study.policy(policy).way == "record-level":
            return outcome_of(study, policy, self._of_records(study, policy, point), study.truth)
        return play(study, (policy,))[policy]

    def _game(self, policy: str) -> FullDomainGame:
        return planned_game(self._studies[0], policy, self._studies[0].scenario.planned_risk, self._prices)

    def _of_node(self, study: TablesStudy, policy: str, point: int) -> TablesChoice:
        game, solution = self._game(policy), self._nodes(policy)
        node = int(solution.nodes[point])
        return TablesChoice(
            node_strategies(game, node, point),
            "exact",
            np.full(study.space.n_records, solution.evaluated, dtype=np.int64),
            bool(solution.proved[point]),
            planned_payout=float(solution.payout[point]),
            nodes=() if node == NO_SOLUTION else (node,),
            gap=float(solution.gap[point]),
        )

    def _of_records(self, study: TablesStudy, policy: str, point: int) -> TablesChoice:
        best = self._by_record(policy)
        payout = dot(best.payoff[point], study.weights)
        evaluated = np.full(study.space.n_records, best.evaluated, dtype=np.int64)
        return TablesChoice(best.strategies[point], "record-level", evaluated, exact=True, planned_payout=payout)
