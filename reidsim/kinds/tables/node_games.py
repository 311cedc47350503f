"""Full-domain games of a table study, and their search."""

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
    """Return the full-domain game of a policy, with the adversaries of a record game.

    Compiled searches can solve it if there is a single one-shot adversary that links with all people, losses are the
    publisher's believed losses, and there are neither sample risk nor limits on sensitive columns; otherwise it is an
    `AnyAdversaryGame`.
    """
    risk, prices = study.scenario.planned_risk, study.believed(study.prices)
    # Compiled searches need one count of people per class; sample risk estimates it from two counts.
    own = None if risk == "sample" else _prices_against(study, game, prices)
    # Compiled searches do not support limits on sensitive columns. They also need the study's losses: a publisher who
    # foresees purchases of resources plans on games with higher losses.
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
    """Return whether the responses depend on class sizes only.

    This needs one-shot adversary types that link with the same people, guess uniformly and have one gain and one cost.
    """
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
    """Return the full-domain game of a policy against a one-shot adversary."""
    minimum = study.safe_harbor_minimum if study.policy(policy).within_safe_harbor else None
    return study.node_game(risk, prices, no_attack=study.policy(policy).forbids_attacks, minimum=minimum)


def _prices_against(study: TablesStudy, game: RecordGame, prices: Prices) -> Prices | None:
    """Return the payoff parameters of a game against a one-shot adversary.

    Return None for other adversaries, or if the gains and costs by row do not match the study's kinds.
    """
    adversary = game.adversary
    if not isinstance(adversary, OneShotAdversary) or not isinstance(adversary.risk, UniformGuess):
        return None
    if not np.ndim(adversary.gain) and not np.ndim(adversary.cost):
        return Prices(prices.benefit, prices.loss, np.asarray(adversary.gain), np.asarray(adversary.cost))
    gain, cost = study.gain_and_cost(prices)
    return prices if np.array_equal(adversary.gain, gain) and np.array_equal(adversary.cost, cost) else None


def search_nodes(study: TablesStudy, game: FullDomainGame) -> tuple[FullDomainSolution, NodeOutcomes | None]:
    """Search the lattice by the scenario's method, exact or with a budget.

    Returns
    -------
    solution : FullDomainSolution
    outcomes : NodeOutcomes or None
        Outcomes of the evaluated nodes after a search with a budget; None after an exact search, or for several points.
    """
    publisher = study.scenario.publisher
    if publisher.search == "exact":
        return search(game, prune=publisher.prune), None
    if game.prices.n_points > 1:
        return anytime_search(game, nodes=publisher.nodes, seconds=publisher.seconds), None
    return explore(game, nodes=publisher.nodes, seconds=publisher.seconds)


def node_strategies(game: FullDomainGame, node: int, point: int = 0) -> Strategies:
    """Return `node` for each released cell and -1 for suppressed ones, (n_cells,)."""
    return np.where(game.kept_at(node, point), node, WITHHELD)
