"""Measures that only some record-level studies have: what deters an attack, how good a heuristic search is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.planning import attack_threshold
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.directions.linker import by_record, directed_linker
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD
from reidsim.kinds.tables.measures import (
    ADVERSARY_PAYOFF_DIFFERENCE,
    ATTACK_THRESHOLD,
    EVALUATED,
    EXPOSED_BY_RECORD,
    EXPOSED_TO_WEIGHTED,
    PUBLISHER_PAYOFF_DIFFERENCE,
    SHARE_OPTIMAL,
    UTILITY_PRICE,
)
from reidsim.kinds.tables.policies import POLICIES
from reidsim.kinds.tables.solving import choose
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.study import PolicyOutcome


def further_measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return what a study has besides the measures of every record-level game, indexed by policy.

    Returns
    -------
    DataFrame
        With planner ``fmdp`` of one adversary: ``attack_threshold``, the smallest known group that is not attacked, the
        same for every policy (missing if every group is). With solver ``lattice-search``: the measures of
        `search_deviation`, for the policies that it solves.
    """
    measures = pd.DataFrame(index=pd.Index(list(equilibria), name="policy"))
    if len(study.each) == 1:
        (alone,) = study.each.values()
        adversary, plan = alone.scenario.adversary, alone.scenario.adversary.sequential
        # Thresholds are those of known groups and of hits that are seen; who errs has none.
        if adversary.plans_sequentially and not adversary.errs and plan.belief == "known" and not plan.unconfirmed:
            found = attack_threshold(alone.sequential_attack(alone.scenario.economics))
            measures[ATTACK_THRESHOLD.column] = np.nan if found is None else float(found)
    if study.scenario.publisher.solver == "lattice-search":
        searched = {name: one for name, one in equilibria.items() if one.solver == "lattice-search"}
        if searched:
            # This search is of policies without a constraint, which all have the same optimum.
            best = evaluate(study.truth, branch_and_bound(study.belief))
            tie, weights = study.truth.tie(), study.weights
            rows = {name: search_deviation(one, best, tie, weights) for name, one in searched.items()}
            measures = measures.join(pd.DataFrame.from_dict(rows, orient="index"))
    return measures


def search_deviation(
    found: Equilibrium, best: Equilibrium, tie: NDArray[np.float64], weights: NDArray[np.int64]
) -> dict[str, float]:
    """Tell how far a search stays from the optimum (Wan et al. 2015, Eq. 6), as means over records.

    Parameters
    ----------
    found, best : Equilibrium
        Of the same cells.
    tie : ndarray of float64, shape (n_cells,)
        Payoffs that are no further apart are equal.
    weights : ndarray of int64, shape (n_cells,)
        Records of each cell.

    Returns
    -------
    dict of str to float
        ``publisher_payoff_difference`` and ``adversary_payoff_difference`` (means of the absolute differences),
        ``share_optimal`` (of records with the optimal payoff) and ``evaluated`` (strategies computed per record).
    """
    difference = np.abs(found.publisher_payoff - best.publisher_payoff)
    adversary = np.abs(found.adversary_payoff - best.adversary_payoff)
    return {
        PUBLISHER_PAYOFF_DIFFERENCE.column: float(np.average(difference, weights=weights)),
        ADVERSARY_PAYOFF_DIFFERENCE.column: float(np.average(adversary, weights=weights)),
        SHARE_OPTIMAL.column: float(np.average(difference <= tie, weights=weights)),
        EVALUATED.column: float(np.average(found.evaluated, weights=weights)),
    }


def direction_measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return what looking persons up changes for each policy, indexed by policy.

    Returns
    -------
    DataFrame
        ``utility_price`` and ``exposed_by_record`` of policies that plan, against what they pick in direction "record"
        (missing for rules and for policies of one's own); ``exposed_to_weighted`` of all.
    """
    truth, alone = study.truth, by_record(study.belief)
    rows = {}
    for name, equilibrium in equilibria.items():
        price = exposed = np.nan
        if name in POLICIES and not POLICIES[name].is_rule:
            before = evaluate(truth, choose(study, name, alone))
            price = float(np.mean(before.utility) - np.mean(equilibrium.utility))
            exposed = float(np.mean(before.attack_probability))
        rows[name] = (price, exposed, exposed_to_weighted(study, equilibrium.strategies))
    columns = [each.column for each in (UTILITY_PRICE, EXPOSED_BY_RECORD, EXPOSED_TO_WEIGHTED)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("policy")


def direction_warnings(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
    """Yield what the promise of a policy that forbids attacks rests on, where that is how the adversary guesses."""
    for name, outcome in outcomes.items():
        if name in POLICIES and POLICIES[name].forbids_attacks and not outcome.equilibrium.attacked.any():
            exposed = round(exposed_to_weighted(study, outcome.equilibrium.strategies) * study.n_records)
            if exposed:
                yield (
                    f"{name}: nobody is at risk if all rows that fit a person are taken for equally likely; "
                    f"{exposed:,} of {study.n_records:,} are if rows that fit fewer people are taken for likelier"
                )


def exposed_to_weighted(study: TablesStudy, strategies: Strategies) -> float:
    """Return the share of records attacked with a guess that prefers rows which fit fewer people."""
    truth = study.truth
    linker, shared = directed_linker(truth), np.flatnonzero(strategies != WITHHELD)
    assert linker is not None  # noqa: S101 - of a scenario in which persons are looked up
    sizes = linker.weighted(strategies)[shared]
    reply = truth.adversary.respond(Linkage(sizes, sizes, by_chance=True), shared)
    return float(reply.attack_probability.sum() / max(len(strategies), 1))
