"""A study at dataset level at several prices, for sweeps: what walks the lattice does so once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from reidsim.experiments.full_domain_policies import (
    PolicyOutcome,
    node_strategies,
    planned_game,
    play_full_domain,
)
from reidsim.experiments.record_points import MONEY_KEYS
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import RecordLevelSolution, record_level
from reidsim.games.full_domain.search import FullDomainSolution, search
from reidsim.games.record_game import Choice
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.full_domain import PRICES, FullDomainStudy, has_price_columns
from reidsim.scenarios.full_domain_schema import NODE_POLICIES, FullDomainScenario

# Whose class sizes the publisher plans with is no amount, but no more of the study than the amounts are.
_KEYS = frozenset((*MONEY_KEYS, "beliefs.risk"))
_RECORD_LEVEL = ("record-level", "record-level-no-attack")
# Points of one walk. The first of them to be asked for takes the time of all, so more would make runs uneven.
MOST_POINTS = 20


def walks_at_once(scenario: FullDomainScenario, keys: Iterable[str]) -> bool:
    """Tell whether points of these keys of a scenario can be solved in walks that they share.

    Not those of a search with a budget, which each point has of its own; and not those that change what only the time
    depends on, such as ``publisher.prune``.
    """
    exact = scenario.publisher.search == "exact"
    return exact and scenario.agents is None and not has_price_columns(scenario) and set(keys) <= _KEYS


class FullDomainPoints:
    """The policies of a study at several points of its prices.

    Parameters
    ----------
    studies : sequence of FullDomainStudy
        The study at each point: alike but for amounts of money, planned with the same risk. One amount holds for all
        records.
    """

    def __init__(self, studies: Sequence[FullDomainStudy]) -> None:
        self._studies = studies
        believed = [study.believed(study.prices) for study in studies]
        self._prices = Prices(*(np.concatenate([getattr(at, price) for at in believed]) for price in PRICES))
        self._nodes = cache(lambda policy: search(self._game(policy), prune=studies[0].scenario.publisher.prune))
        self._by_record = cache(lambda policy: record_level(self._game(policy)))

    def outcomes(self, point: int) -> dict[str, PolicyOutcome]:
        """Return what `reidsim.experiments.full_domain_policies.solve_full_domain` does at one of the points.

        Nodes worked out are those of the walk for all points.
        """
        return {policy: self._outcome(policy, point) for policy in self._studies[point].scenario.publisher.policies}

    def _outcome(self, policy: str, point: int) -> PolicyOutcome:
        study = self._studies[point]
        if policy in NODE_POLICIES:
            return self._of_node(study, self._game(policy), self._nodes(policy), point)
        if policy in _RECORD_LEVEL:
            return self._of_records(study, self._by_record(policy), point)
        return play_full_domain(study, policy)

    def _game(self, policy: str) -> FullDomainGame:
        return planned_game(self._studies[0], policy, self._studies[0].planned_risk, self._prices)

    def _of_node(
        self, study: FullDomainStudy, game: FullDomainGame, solution: FullDomainSolution, point: int
    ) -> PolicyOutcome:
        node = int(solution.nodes[point])
        return PolicyOutcome(
            _equilibrium(study, node_strategies(game, node, point), "exact", solution.evaluated),
            planned_payout=float(solution.payout[point]),
            evaluated=solution.evaluated,
            nodes=() if node == NO_SOLUTION else (node,),
            gap=float(solution.gap[point]),
            exact=bool(solution.proved[point]),
        )

    def _of_records(self, study: FullDomainStudy, best: RecordLevelSolution, point: int) -> PolicyOutcome:
        equilibrium = _equilibrium(study, best.strategies[point], "record-level", best.evaluated)
        return PolicyOutcome(equilibrium, float(best.payoff[point] @ study.released), best.evaluated)


def _equilibrium(study: FullDomainStudy, strategies: Strategies, solver: str, evaluated: int) -> Equilibrium:
    linker = study.linker(study.scenario.adversary.risk)
    worked_out = np.full(study.lattice.n_records, evaluated, dtype=np.int64)
    return evaluate(study.record_game(linker, study.prices), Choice(strategies, solver, worked_out, exact=True))
