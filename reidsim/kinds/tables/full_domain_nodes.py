"""Tables behind the figures of the game at dataset level: the nodes that pay most, and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from reidsim.games.full_domain.nodes import NodeOutcomes, every_node
from reidsim.kinds.tables.node_games import search_is_of_nodes, whole_game
from reidsim.kinds.tables.outcomes import TablesOutcome
from reidsim.kinds.tables.schema import NodesSection
from reidsim.kinds.tables.study import TablesStudy
from reidsim.portable_math import dot
from reidsim.scenarios.study import AnalysisTables

# Listing all nodes of a lattice of this size takes seconds.
_MOST_NODES_LISTED = 100_000


@dataclass(frozen=True, eq=False, kw_only=True)
class FullDomainTables(AnalysisTables):
    """Tables of a study at dataset level; a table that was not asked for is empty.

    Parameters
    ----------
    optima, classes, released : DataFrame
        Of the policies; see `reidsim.kinds.tables.outcomes`.
    top_nodes : DataFrame
        The nodes that pay most, by policy.
    front : DataFrame
        The nodes that no other beats in both payout and share attacked, by policy.
    """

    optima: pd.DataFrame = field(default_factory=pd.DataFrame)
    classes: pd.DataFrame = field(default_factory=pd.DataFrame)
    released: pd.DataFrame = field(default_factory=pd.DataFrame)
    top_nodes: pd.DataFrame = field(default_factory=pd.DataFrame)
    front: pd.DataFrame = field(default_factory=pd.DataFrame)


def node_tables(
    study: TablesStudy, outcomes: Mapping[str, TablesOutcome]
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Return the nodes that pay most and the Pareto front of payout against share attacked, as the publisher plans.

    After a search with a budget both are of the nodes that it computed. Otherwise every node is computed; unless
    the scenario asks for that, only in lattices of at most 100,000 nodes.

    Returns
    -------
    top, front : DataFrame
        Columns policy, node, payout, relative_payout, suppressed, attacked, share_attacked (of all records) and
        adversary_payout.
    left_out : tuple of str
        What is not listed, and why.
    """
    section = study.scenario.figures.nodes or NodesSection()
    policies = [policy for policy in outcomes if search_is_of_nodes(study, policy)]
    if not section.top or not policies:
        return pd.DataFrame(), pd.DataFrame(), ()
    listable = study.scenario.figures.nodes is not None or study.n_nodes <= _MOST_NODES_LISTED
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
        reason = f"the nodes that pay most are not listed: there are {study.n_nodes:,}; figures.nodes asks for them"
        return pd.DataFrame(), pd.DataFrame(), (reason,)
    return pd.concat(best, ignore_index=True), pd.concat(front, ignore_index=True), ()


def _node_rows(study: TablesStudy, policy: str, nodes: NodeOutcomes) -> pd.DataFrame:
    best_case = dot(study.of_cells(study.prices.benefit), study.weights)
    return pd.DataFrame(
        {
            "policy": policy,
            "node": [study.lattice.describe(node) for node in nodes.nodes.tolist()],
            "payout": nodes.payout,
            "relative_payout": nodes.payout / best_case if best_case else 0.0,
            "suppressed": nodes.suppressed,
            "attacked": nodes.attacked,
            "share_attacked": nodes.attacked / study.n_subjects,
            "adversary_payout": nodes.adversary_payoff,
        }
    )
