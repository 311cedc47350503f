"""Solving a study at dataset level: every policy of its scenario, chosen by belief and evaluated on the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reidsim.experiments.record_level import averages, is_fixed
from reidsim.experiments.run_result import MEASURES
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.anytime import anytime_search
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.local_recoding import local_recoding
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.risk import GivenSizes
from reidsim.games.full_domain.search import FullDomainSolution, search
from reidsim.games.record_game import WITHHELD, Choice, Linker
from reidsim.releases.full_domain import released_class_sizes, released_table
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.full_domain import FullDomainStudy
from reidsim.scenarios.full_domain_schema import Risk

# Policies that choose one node for the whole dataset.
NODE_POLICIES = ("basic", "no-attack", "sh-friendly")


@dataclass(frozen=True, eq=False)
class PolicyOutcome:
    """What a policy chose and what came of it.

    Parameters
    ----------
    equilibrium : Equilibrium
        Of the distinct cells, on the truth.
    nodes : tuple of int
        Nodes that the dataset was generalized to: one, or one per round of local recoding; none for other policies
        and where there is no solution.
    planned_payout : float
        The payout that the publisher expected, over all records; NaN for fixed policies.
    evaluated : int
        Nodes worked out.
    gap : float
        How far the payout may be from the optimum, as a share of the best case.
    exact : bool
        Whether the choice is proved optimal for what the publisher believed.
    """

    equilibrium: Equilibrium
    nodes: tuple[int, ...]
    planned_payout: float
    evaluated: int
    gap: float
    exact: bool


def solve_full_domain(
    study: FullDomainStudy, *, progress: Callable[[int, int], None] | None = None
) -> dict[str, PolicyOutcome]:
    """Play every policy of the scenario: choose by what the publisher believes, evaluate by what is true.

    Returns
    -------
    dict of str to PolicyOutcome
        Per policy, in the scenario's order.
    """
    policies = study.scenario.publisher.policies
    truth = study.linker(study.scenario.adversary.risk)
    outcomes: dict[str, PolicyOutcome] = {}
    for number, policy in enumerate(policies):
        if progress is not None:
            progress(number, len(policies))
        outcomes[policy] = _play(study, policy, truth)
    return outcomes


def _play(study: FullDomainStudy, policy: str, truth: Linker) -> PolicyOutcome:
    if is_fixed(policy):
        return _outcome(study, fixed_strategies(policy, study), truth, "fixed", np.nan, 0)
    game = planned_game(study, policy, study.planned_risk, study.planned_prices)
    # Sizes that the choice itself yields are those of the truth when both rest on the same people.
    same_risk = study.planned_risk == study.scenario.adversary.risk
    if policy.startswith("record-level"):
        best = record_level(game)
        linker = GivenSizes(best.sizes[0]) if same_risk else truth
        payout = float(best.payoff[0] @ game.released)
        return _outcome(study, best.strategies[0], linker, "record-level", payout, best.evaluated)
    if policy.startswith("local-recoding"):
        recoded = local_recoding(game, rounds=study.scenario.publisher.rounds, prune=study.scenario.publisher.prune)
        linker = GivenSizes(recoded.sizes) if same_risk else truth
        evaluated = sum(solution.evaluated for solution in recoded.rounds)
        nodes = tuple(int(solution.nodes[0]) for solution in recoded.rounds)
        return _outcome(study, recoded.strategies, linker, "rounds", recoded.payout, evaluated, nodes, exact=False)
    solution = solve(study, game)
    node = int(solution.nodes[0])
    nodes = () if node == NO_SOLUTION else (node,)
    return _outcome(
        study, node_strategies(game, node), truth, study.scenario.publisher.search, float(solution.payout[0]),
        solution.evaluated, nodes, gap=float(solution.gap[0]), exact=solution.exact,
    )  # fmt: skip


def _outcome(
    study: FullDomainStudy,
    strategies: Strategies,
    linker: Linker,
    solver: str,
    payout: float,
    evaluated: int,
    nodes: tuple[int, ...] = (),
    *,
    gap: float = 0.0,
    exact: bool = True,
) -> PolicyOutcome:
    worked_out = np.full(study.lattice.n_records, evaluated, dtype=np.int64)
    choice = Choice(strategies, solver, worked_out, exact=exact)
    equilibrium = evaluate(study.record_game(linker, study.prices), choice)
    return PolicyOutcome(equilibrium, nodes, payout, evaluated, gap, exact)


def fixed_strategies(policy: str, study: FullDomainStudy) -> Strategies:
    """Return the node that a rule prescribes for each cell."""
    if policy == "safe-harbor":
        return study.safe_harbor_strategies
    node = study.lattice.most_specific if policy == "no-protection" else study.lattice.size - 1
    return np.full(study.lattice.n_records, node, dtype=np.int64)


def planned_game(study: FullDomainStudy, policy: str, risk: Risk, prices: Prices) -> FullDomainGame:
    """Return the game on which a policy plans."""
    minimum = study.safe_harbor_minimum if policy == "sh-friendly" else None
    return study.game(risk, prices, no_attack=policy.endswith("no-attack"), minimum=minimum)


def solve(study: FullDomainStudy, game: FullDomainGame) -> FullDomainSolution:
    """Search as the scenario says."""
    publisher = study.scenario.publisher
    if publisher.search == "anytime":
        return anytime_search(game, nodes=publisher.nodes, seconds=publisher.seconds)
    return search(game, prune=publisher.prune)


def node_strategies(game: FullDomainGame, node: int, point: int = 0) -> Strategies:
    """Return the node for every cell that is kept there, -1 for the others, shape (n_cells,)."""
    return np.where(game.kept_at(node, point), node, WITHHELD)


def measures_table(study: FullDomainStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Average the outcomes of each policy over all records, indexed by policy, one column per name in `MEASURES`."""
    released = study.released
    rows = [averages(outcome.equilibrium, released) for outcome in outcomes.values()]
    return pd.DataFrame(rows, index=pd.Index(list(outcomes), name="policy"), columns=list(MEASURES))


def optima_table(study: FullDomainStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return one row per policy: the node chosen, payouts over all records, and how the node was found."""
    released = study.released
    best_case = float(study.prices.benefit[0, study.kind] @ released)
    rows = []
    for policy, outcome in outcomes.items():
        equilibrium = outcome.equilibrium
        payout = float(equilibrium.publisher_payoff @ released)
        rows.append(
            {
                "policy": policy,
                "node": " | ".join(map(study.lattice.describe, outcome.nodes)),
                "payout": payout,
                "relative_payout": payout / best_case if best_case else 0.0,
                "planned_payout": outcome.planned_payout,
                "adversary_payout": float(equilibrium.adversary_payoff @ released),
                "records": study.n_records,
                "suppressed": int(released[equilibrium.withheld].sum()),
                "attacked": int(released[equilibrium.attacked].sum()),
                "nodes_evaluated": outcome.evaluated,
                "gap": outcome.gap,
                "proved_optimal": outcome.exact,
            }
        )
    return pd.DataFrame(rows)


def class_table(study: FullDomainStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return one row per equivalence class at the node of each policy that chose one node.

    Returns
    -------
    DataFrame
        Columns policy, the quasi-identifiers at the node, records, people (in the truth), suppressed, attacked,
        publisher_payoff and adversary_payoff (over the class's records).
    """
    names, parts = list(study.lattice.domain.names), []
    truth = study.linker(study.scenario.adversary.risk)
    for policy, outcome in outcomes.items():
        if policy not in NODE_POLICIES or not outcome.nodes:
            continue
        (node,), equilibrium, released = outcome.nodes, outcome.equilibrium, study.released
        cells = np.arange(study.lattice.n_records)
        table = study.lattice.released(np.full(len(cells), node), cells).astype("str")
        table["records"] = released
        table["people"] = truth.link(node).group_sizes
        table["suppressed"] = released * equilibrium.withheld
        table["attacked"] = released * equilibrium.attacked
        table["publisher_payoff"] = released * equilibrium.publisher_payoff
        table["adversary_payoff"] = released * equilibrium.adversary_payoff
        sums = ("records", "suppressed", "attacked", "publisher_payoff", "adversary_payoff")
        how = {"people": "first"} | dict.fromkeys(sums, "sum")
        classes = table.groupby(names, sort=False).agg(how).reset_index()
        classes.insert(0, "policy", policy)
        parts.append(classes[["policy", *names, "records", "people", *sums[1:]]])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def release_table(study: FullDomainStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return the dataset as each policy releases it, in the order of the records.

    Returns
    -------
    DataFrame
        Columns policy, record (from 0), the quasi-identifiers (``*`` in all where suppressed) and class_size, the
        number of released records with the same labels (0 where suppressed).
    """
    parts = []
    for policy, outcome in outcomes.items():
        table = released_table(study.lattice, outcome.equilibrium.strategies, study.cell_of_record).astype("str")
        table["class_size"] = released_class_sizes(table)
        table.insert(0, "policy", policy)
        table.insert(1, "record", np.arange(study.n_records))
        parts.append(table)
    return pd.concat(parts, ignore_index=True)
