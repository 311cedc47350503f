"""Tables behind the figures of the game at dataset level: nodes, the Pareto front, payout curves, run times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from reidsim.experiments.run_result import AnalysisTables
from reidsim.games.equilibrium import evaluate
from reidsim.games.full_domain.nodes import NodeOutcomes, every_node
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.search import search
from reidsim.games.measures import averages
from reidsim.games.record_game import Choice, PopulationLinker
from reidsim.kinds.tables.outcomes import PolicyOutcome
from reidsim.kinds.tables.policies import POLICIES
from reidsim.kinds.tables.schema import NodesSection
from reidsim.kinds.tables.solving import node_strategies, planned_game, rule_of, search_nodes, whole_game
from reidsim.kinds.tables.study import PRICES, TablesStudy
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.adversary_schema import Risk

_PARAMETERS = ("benefit", "loss", "gain", "cost")
# Listing all nodes of a lattice of this size takes seconds.
_MOST_NODES_LISTED = 100_000
# Policies that choose one node for the whole table.
NODE_POLICIES = ("basic", "no-attack", "sh-friendly")


@dataclass(frozen=True, eq=False, kw_only=True)
class FullDomainAnalysis(AnalysisTables):
    """Tables of a study at dataset level; a table that was not asked for is empty.

    Parameters
    ----------
    optima, classes, released : DataFrame
        Of the policies; see `reidsim.experiments.full_domain_policies`.
    top_nodes : DataFrame
        The nodes that pay most, by policy.
    front : DataFrame
        The nodes that no other beats in both payout and share attacked, by policy.
    curves : DataFrame
        Payouts while one parameter changes.
    runtimes : DataFrame
        Seconds that solving takes.
    """

    optima: pd.DataFrame = field(default_factory=pd.DataFrame)
    classes: pd.DataFrame = field(default_factory=pd.DataFrame)
    released: pd.DataFrame = field(default_factory=pd.DataFrame)
    top_nodes: pd.DataFrame = field(default_factory=pd.DataFrame)
    front: pd.DataFrame = field(default_factory=pd.DataFrame)
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    runtimes: pd.DataFrame = field(default_factory=pd.DataFrame)


def node_tables(
    study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Return the nodes that pay most and the Pareto front of payout against share attacked, as the publisher plans.

    After a search with a budget both are of the nodes that it worked out. Otherwise every node is worked out; unless
    the scenario asks for that, only in lattices of at most 100,000 nodes.

    Returns
    -------
    top, front : DataFrame
        Columns policy, node, payout, relative_payout, suppressed, attacked, share_attacked (of all records) and
        adversary_payout.
    left_out : tuple of str
        What is not listed, and why.
    """
    section = study.scenario.analysis.nodes or NodesSection()
    policies = [policy for policy in outcomes if policy in NODE_POLICIES]
    if not section.top or not policies:
        return pd.DataFrame(), pd.DataFrame(), ()
    listable = study.scenario.analysis.nodes is not None or study.n_nodes <= _MOST_NODES_LISTED
    best: list[pd.DataFrame] = []
    front: list[pd.DataFrame] = []
    for policy in policies:
        nodes = outcomes[policy].found.listed
        if nodes is None and listable:
            nodes = every_node(whole_game(study, policy, study.belief))
        if nodes is not None:
            best.append(_node_rows(study, policy, nodes.best(section.top)))
            front.append(_node_rows(study, policy, nodes.pareto_front()))
    if not best:
        reason = f"the nodes that pay most are not listed: there are {study.n_nodes:,}; analysis.nodes asks for them"
        return pd.DataFrame(), pd.DataFrame(), (reason,)
    return pd.concat(best, ignore_index=True), pd.concat(front, ignore_index=True), ()


def _node_rows(study: TablesStudy, policy: str, nodes: NodeOutcomes) -> pd.DataFrame:
    best_case = float(study.prices.benefit[0, study.kind] @ study.released)
    return pd.DataFrame(
        {
            "policy": policy,
            "node": [study.lattice.describe(node) for node in nodes.nodes.tolist()],
            "payout": nodes.payout,
            "relative_payout": nodes.payout / best_case if best_case else 0.0,
            "suppressed": nodes.suppressed,
            "attacked": nodes.attacked,
            "share_attacked": nodes.attacked / study.n_records,
            "adversary_payout": nodes.adversary_payoff,
        }
    )


def curve_table(study: TablesStudy, *, progress: Callable[[int, int], None] | None = None) -> pd.DataFrame:
    """Follow every policy of the scenario's curves while one parameter changes, others as in the scenario.

    The adversary's gain moves with the publisher's loss unless the scenario states it. A policy plans with each of
    the risks asked for, and with what the publisher believes of prices; what it really pays is worked out under the
    scenario's risk, as everything else here. A search with a budget has it at each point.

    Returns
    -------
    DataFrame
        One row per parameter, value, policy and planned risk (``risk``; empty for rules), with the columns node,
        publisher_payoff and adversary_payoff (means over records), relative_payout, share_attacked and
        share_suppressed (of records that are not shared, or with every value suppressed), and of the choice as
        planned gap (as a share of the best case) and proved_optimal.
    """
    section = study.scenario.analysis.curves
    if section is None:
        return pd.DataFrame()
    risks = section.risks or (study.scenario.planned_risk,)
    truth = study.linker(study.scenario.adversary.risk)
    rows: list[dict[str, object]] = []
    ranges = {name: getattr(section, name) for name in _PARAMETERS if getattr(section, name) is not None}
    plans = [
        (parameter, values.values, policy, risk)
        for parameter, values in ranges.items()
        for policy in section.policies
        for risk in ((None,) if POLICIES[policy].is_rule else risks)
    ]
    for number, (parameter, values, policy, risk) in enumerate(plans):
        if progress is not None:
            progress(number, len(plans))
        prices = _along(study, parameter, values)
        for point, chosen in enumerate(_planned(study, policy, risk, prices)):
            here = {"parameter": parameter, "value": float(values[point]), "policy": policy, "risk": risk or ""}
            paid = _paid(study, truth, prices.point(point), chosen.strategies)
            rows.append(
                here | {"node": chosen.node} | paid | {"gap": chosen.gap, "proved_optimal": chosen.proved_optimal}
            )
    return pd.DataFrame(rows)


def _along(study: TablesStudy, parameter: str, values: np.ndarray) -> Prices:
    """Return the prices at the points of a curve."""
    amounts = {price: np.full(len(values), getattr(study.prices, price)[0, 0]) for price in PRICES}
    amounts[parameter] = values
    if parameter == "loss" and study.scenario.economics.gain is None:
        amounts["gain"] = values
    return Prices(**amounts)


class _Planned(NamedTuple):
    """What a policy chooses at one point: a node (empty if there is not one for all), and the node of each cell."""

    node: str
    strategies: Strategies
    gap: float = 0.0
    proved_optimal: bool = True


def _planned(study: TablesStudy, policy: str, risk: Risk | None, prices: Prices) -> Iterator[_Planned]:
    if risk is None or POLICIES[policy].is_rule:
        yield from [_Planned("", rule_of(study, policy))] * prices.n_points
        return
    game = planned_game(study, policy, risk, study.believed(prices))
    if policy not in NODE_POLICIES:
        yield from (_Planned("", strategies) for strategies in record_level(game).strategies)
        return
    solution, _ = search_nodes(study, game)
    for point, node in enumerate(solution.nodes.tolist()):
        name = study.lattice.describe(node) if node >= 0 else ""
        gap, proved = float(solution.gap[point]), bool(solution.proved[point])
        yield _Planned(name, node_strategies(game, node, point), gap, proved)


def _paid(study: TablesStudy, linker: PopulationLinker, prices: Prices, strategies: Strategies) -> dict[str, float]:
    nothing = np.zeros(study.lattice.n_records, dtype=np.int64)
    measures = averages(
        evaluate(study.record_game(linker, prices), Choice(strategies, "", nothing, exact=True)), study.released
    )
    benefit = float(prices.benefit[0, 0])
    paid = {"publisher_payoff": measures["publisher_payoff"], "adversary_payoff": measures["adversary_payoff"]}
    relative = measures["publisher_payoff"] / benefit if benefit else 0.0
    shares = {name: measures[name] for name in ("share_attacked", "share_suppressed")}
    return {**paid, "relative_payout": relative, **shares}


def runtime_table(study: TablesStudy, *, progress: Callable[[int, int], None] | None = None) -> pd.DataFrame:
    """Measure how long solving takes with class sizes of the dataset, reading left out.

    Returns
    -------
    DataFrame
        One row per value of the loss (and gain), policy and whether branches were left out (``pruned``), with the
        columns seconds and nodes_evaluated.
    """
    section = study.scenario.analysis.runtimes
    if section is None:
        return pd.DataFrame()
    values = np.array(section.loss)
    plans = [(policy, pruned) for policy in ("basic", "no-attack") for pruned in (True, False)]
    if section.record_level:
        plans += [("record-level", True), ("record-level-no-attack", True)]
    rows = []
    for number, (policy, pruned) in enumerate(plans):
        if progress is not None:
            progress(number, len(plans))
        points = _along(study, "loss", values)
        # Compiled code is loaded when it is first used.
        _seconds(study, policy, points.point(0), pruned)
        for point, value in enumerate(values.tolist()):
            seconds, nodes = _seconds(study, policy, points.point(point), pruned)
            rows.append(
                {"value": value, "policy": policy, "pruned": pruned, "seconds": seconds, "nodes_evaluated": nodes}
            )
    return pd.DataFrame(rows)


def _seconds(study: TablesStudy, policy: str, prices: Prices, pruned: bool) -> tuple[float, int]:
    game = planned_game(study, policy, "prosecutor", prices)
    start = time.perf_counter()
    evaluated = (
        record_level(game).evaluated if policy.startswith("record-level") else search(game, prune=pruned).evaluated
    )
    return time.perf_counter() - start, evaluated
