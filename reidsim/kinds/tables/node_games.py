"""The game of one generalization for all records that a study of tables plays, and its search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.games.adversary_types import TypesGame
from reidsim.games.full_domain.any_adversary import AnyAdversaryGame
from reidsim.games.full_domain.anytime import anytime_search, explore
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.incumbents import FullDomainSolution
from reidsim.games.full_domain.nodes import NodeOutcomes
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.search import search
from reidsim.games.record_game import WITHHELD, RecordGame
from reidsim.linkage.risk import UniformGuess
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.adversary_schema import Risk

if TYPE_CHECKING:
    from reidsim.kinds.tables.study import TablesStudy


def whole_game(study: TablesStudy, policy: str, game: RecordGame) -> FullDomainGame:
    """Return the game of one node for all records against the adversaries of a record game."""
    risk, prices = study.scenario.planned_risk, study.believed(study.prices)
    # Compiled searches count people, whom sample risk estimates from two counts.
    own = None if risk == "sample" else _prices_against(study, game, prices)
    # A publisher who foresees purchases also looks at games with higher losses. Compiled searches know no limits on
    # sensitive columns.
    if study.admissible is not None:
        own = None
    if own is not None and game.linker is study.linker(risk) and np.array_equal(game.loss, study.of_cells(prices.loss)):
        return planned_game(study, policy, risk, own)
    return AnyAdversaryGame.of(
        planned_game(study, policy, risk, prices),
        game,
        by_size=_replies_by_size(study, game, risk),
        admissible=study.admissible,
    )


def _replies_by_size(study: TablesStudy, game: RecordGame, risk: Risk) -> bool:
    """Tell whether one-shot types reply to nothing but sizes of classes, which are the same for all of them."""
    if not isinstance(game, TypesGame) or risk == "sample" or np.ptp(game.benefit) or np.ptp(game.loss):
        return False
    return all(
        each.linker is study.linker(risk)
        and isinstance(each.adversary, OneShotAdversary)
        and isinstance(each.adversary.risk, UniformGuess)
        and not np.ndim(each.adversary.gain)
        and not np.ndim(each.adversary.cost)
        for each in game.types
    )


def planned_game(study: TablesStudy, policy: str, risk: Risk, prices: Prices) -> FullDomainGame:
    """Return the game of one node for all records on which a policy plans against a one-shot adversary."""
    minimum = study.safe_harbor_minimum if study.policy(policy).within_safe_harbor else None
    return study.node_game(risk, prices, no_attack=study.policy(policy).forbids_attacks, minimum=minimum)


def _prices_against(study: TablesStudy, game: RecordGame, prices: Prices) -> Prices | None:
    """Return the amounts of a game against one one-shot adversary; None if it is another, or they fit no kind."""
    adversary = game.adversary
    if not isinstance(adversary, OneShotAdversary) or not isinstance(adversary.risk, UniformGuess):
        return None
    if not np.ndim(adversary.gain) and not np.ndim(adversary.cost):
        return Prices(prices.benefit, prices.loss, np.asarray(adversary.gain), np.asarray(adversary.cost))
    gain, cost = study.gain_and_cost(prices)
    return prices if np.array_equal(adversary.gain, gain) and np.array_equal(adversary.cost, cost) else None


def search_nodes(study: TablesStudy, game: FullDomainGame) -> tuple[FullDomainSolution, NodeOutcomes | None]:
    """Search as the scenario says, and tell what the nodes evaluated lead to if a budget limits their number."""
    publisher = study.scenario.publisher
    if publisher.search == "exact":
        return search(game, prune=publisher.prune), None
    if game.prices.n_points > 1:
        return anytime_search(game, nodes=publisher.nodes, seconds=publisher.seconds), None
    return explore(game, nodes=publisher.nodes, seconds=publisher.seconds)


def node_strategies(game: FullDomainGame, node: int, point: int = 0) -> Strategies:
    """Return the node for every cell that is kept there, -1 for the others, shape (n_cells,)."""
    return np.where(game.kept_at(node, point), node, WITHHELD)
