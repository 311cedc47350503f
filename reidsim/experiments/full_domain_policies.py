"""Solving a study at dataset level: every policy of its scenario, chosen by belief and evaluated on the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.errors import InputError
from reidsim.experiments.record_level import averages, is_fixed
from reidsim.experiments.run_result import MEASURES
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.anytime import anytime_search, explore
from reidsim.games.full_domain.game import NO_SOLUTION, FullDomainGame
from reidsim.games.full_domain.local_recoding import local_recoding, sizes_in_rounds
from reidsim.games.full_domain.multi_dimensional import multi_dimensional
from reidsim.games.full_domain.nodes import NodeOutcomes
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.full_domain.risk import GivenSizes
from reidsim.games.full_domain.search import FullDomainSolution, search
from reidsim.games.record_game import WITHHELD, Choice, Linker
from reidsim.releases.full_domain import released_class_sizes, released_table
from reidsim.releases.strategy_space import Floats, Strategies
from reidsim.scenarios.full_domain import FullDomainStudy
from reidsim.scenarios.full_domain_schema import Risk
from reidsim.scenarios.given import given_policies

# What the outcome of multi-dimensional recoding calls its solver.
SPLITS = "splits"


class ClassesOfCells(NamedTuple):
    """In what class each cell is when it is decided on, released or not; arrays of shape (n_cells,).

    Parameters
    ----------
    nodes : ndarray of int64
    people : ndarray of float64
        Among how many people the cell's records hide there, in truth.
    """

    nodes: Strategies
    people: Floats


@dataclass(frozen=True, eq=False)
class PolicyOutcome:
    """What a policy chose and what came of it.

    Parameters
    ----------
    equilibrium : Equilibrium
        Of the distinct cells, on the truth.
    planned_payout : float
        The payout that the publisher expected, over all records; NaN for fixed policies.
    evaluated : int
        Nodes worked out.
    nodes : tuple of int
        Nodes that the dataset was generalized to: one, or one per round of local recoding; none for other policies
        and where there is no solution.
    gap : float
        How far the payout may be from the optimum, as a share of the best case; NaN where nothing bounds it.
    exact : bool
        Whether the choice is proved optimal for what the publisher believed.
    unproved_rounds : int
        Rounds of local recoding that a budget ended.
    classes : ClassesOfCells, optional
        For policies that decide class by class.
    listed : NodeOutcomes, optional
        What the nodes worked out lead to, where a search with a budget has kept that.
    """

    equilibrium: Equilibrium
    planned_payout: float
    evaluated: int
    nodes: tuple[int, ...] = ()
    gap: float = 0.0
    exact: bool = True
    unproved_rounds: int = 0
    classes: ClassesOfCells | None = None
    listed: NodeOutcomes | None = None


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
    outcomes: dict[str, PolicyOutcome] = {}
    for number, policy in enumerate(policies):
        if progress is not None:
            progress(number, len(policies))
        outcomes[policy] = play_full_domain(study, policy)
    return outcomes


def play_full_domain(study: FullDomainStudy, policy: str) -> PolicyOutcome:
    """Play one policy: choose by what the publisher believes, evaluate by what is true."""
    truth = study.linker(study.scenario.adversary.risk)
    if is_fixed(policy):
        strategies = fixed_strategies(policy, study)
        return PolicyOutcome(_equilibrium(study, strategies, truth, "fixed", 0), np.nan, 0)
    if policy in study.loaded.given:
        (own,) = given_policies(study.loaded.given, [policy])
        believed = study.record_game(study.linker(study.planned_risk), study.believed(study.prices))
        choice = own.choose(believed)
        payout = float(evaluate(believed, choice).publisher_payoff @ study.released)
        equilibrium = evaluate(study.record_game(truth, study.prices), choice)
        return PolicyOutcome(equilibrium, payout, int(choice.evaluated.max()), exact=choice.exact)
    game = planned_game(study, policy, study.planned_risk, study.believed(study.prices))
    if policy.startswith("record-level"):
        best = record_level(game)
        payout = float(best.payoff[0] @ game.released)
        equilibrium = _equilibrium(study, best.strategies[0], truth, "record-level", best.evaluated)
        return PolicyOutcome(equilibrium, payout, best.evaluated)
    if policy.startswith("multi-dimensional"):
        return _split(study, game, truth)
    if policy.startswith("local-recoding"):
        return _recode(study, game)
    solution, listed = solve(study, game)
    node = int(solution.nodes[0])
    found = node != NO_SOLUTION
    everywhere = np.full(study.lattice.n_records, node, dtype=np.int64)
    solver = study.scenario.publisher.search
    return PolicyOutcome(
        _equilibrium(study, node_strategies(game, node), truth, solver, solution.evaluated, exact=solution.exact),
        planned_payout=float(solution.payout[0]),
        evaluated=solution.evaluated,
        nodes=(node,) if found else (),
        gap=float(solution.gap[0]),
        exact=solution.exact,
        classes=ClassesOfCells(everywhere, _people(truth, node)) if found else None,
        listed=listed,
    )


def _split(study: FullDomainStudy, game: FullDomainGame, truth: Linker) -> PolicyOutcome:
    """Play multi-dimensional recoding, whose classes are those of the dataset at their nodes."""
    try:
        best = multi_dimensional(game)
    except InputError as error:
        raise error.located(study.loaded.path, "publisher.policies") from None
    people = np.ones(study.lattice.n_records)
    for node in np.unique(best.regions).tolist():
        here = np.flatnonzero(best.regions == node)
        people[here] = _people(truth, node, here)
    return PolicyOutcome(
        _equilibrium(study, best.strategies, truth, SPLITS, best.evaluated, exact=best.exact),
        planned_payout=best.payout,
        evaluated=best.evaluated,
        gap=best.gap,
        exact=best.exact,
        classes=ClassesOfCells(best.regions, people),
    )


def _recode(study: FullDomainStudy, game: FullDomainGame) -> PolicyOutcome:
    """Play local recoding, whose classes are among the records left for their round."""
    recoded = local_recoding(game, rounds=study.scenario.publisher.rounds, solve=lambda part: solve(study, part)[0])
    nodes = tuple(int(solution.nodes[0]) for solution in recoded.rounds)
    sizes = sizes_in_rounds(study.game(study.scenario.adversary.risk, study.prices), nodes, recoded.strategies)
    evaluated = sum(solution.evaluated for solution in recoded.rounds)
    at = np.where(recoded.strategies == WITHHELD, nodes[-1] if nodes else WITHHELD, recoded.strategies)
    return PolicyOutcome(
        _equilibrium(study, recoded.strategies, GivenSizes(sizes), "rounds", evaluated, exact=False),
        planned_payout=recoded.payout,
        evaluated=evaluated,
        nodes=nodes,
        gap=np.nan,
        exact=False,
        unproved_rounds=sum(not solution.exact for solution in recoded.rounds),
        classes=ClassesOfCells(at, sizes) if nodes else None,
    )


def _people(truth: Linker, node: int, cells: NDArray[np.intp] | None = None) -> Floats:
    return np.asarray(truth.link(node, cells).group_sizes, dtype=np.float64)


def _equilibrium(
    study: FullDomainStudy, strategies: Strategies, linker: Linker, solver: str, evaluated: int, *, exact: bool = True
) -> Equilibrium:
    worked_out = np.full(study.lattice.n_records, evaluated, dtype=np.int64)
    return evaluate(study.record_game(linker, study.prices), Choice(strategies, solver, worked_out, exact=exact))


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


def solve(study: FullDomainStudy, game: FullDomainGame) -> tuple[FullDomainSolution, NodeOutcomes | None]:
    """Search as the scenario says, and tell what the nodes worked out lead to if a budget limits their number."""
    publisher = study.scenario.publisher
    if publisher.search == "exact":
        return search(game, prune=publisher.prune), None
    if game.prices.n_points > 1:
        return anytime_search(game, nodes=publisher.nodes, seconds=publisher.seconds), None
    return explore(game, nodes=publisher.nodes, seconds=publisher.seconds)


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
    """Return one row per equivalence class of each policy that decides on classes.

    Returns
    -------
    DataFrame
        Columns policy, node, the quasi-identifiers at the node, records, people (in the truth), suppressed, attacked,
        publisher_payoff and adversary_payoff (over the class's records).
    """
    lattice, released = study.lattice, study.released
    names, parts = list(lattice.domain.names), []
    cells = np.arange(lattice.n_records)
    for policy, outcome in outcomes.items():
        if outcome.classes is None:
            continue
        nodes, people = outcome.classes
        equilibrium = outcome.equilibrium
        table = lattice.released(nodes, cells).astype("str")
        distinct, number = np.unique(nodes, return_inverse=True)
        table["node"] = np.array([lattice.describe(node) for node in distinct.tolist()], dtype=object)[number]
        table["records"] = released
        table["people"] = people
        table["suppressed"] = released * equilibrium.withheld
        table["attacked"] = released * equilibrium.attacked
        table["publisher_payoff"] = released * equilibrium.publisher_payoff
        table["adversary_payoff"] = released * equilibrium.adversary_payoff
        sums = ("records", "suppressed", "attacked", "publisher_payoff", "adversary_payoff")
        how = {"people": "first"} | dict.fromkeys(sums, "sum")
        classes = table.groupby(["node", *names], sort=False).agg(how).reset_index()
        classes.insert(0, "policy", policy)
        parts.append(classes[["policy", "node", *names, "records", "people", *sums[1:]]])
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
