"""What a study of a table tells of its outcomes: measures, tables, facts, and what a reader should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.planning import attack_threshold
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.directions.linker import by_record, directed_linker
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD, shared_rows
from reidsim.kinds.tables.measures import (
    ADVERSARY_PAYOFF_DIFFERENCE,
    ATTACK_THRESHOLD,
    BEYOND_LIMITS,
    EVALUATED,
    EXPOSED_BY_RECORD,
    EXPOSED_TO_WEIGHTED,
    INFERENCE,
    PUBLISHER_PAYOFF_DIFFERENCE,
    SHARE_OPTIMAL,
    UTILITY_PRICE,
)
from reidsim.kinds.tables.outcomes import (
    FullDomainTables,
    TablesOutcome,
    class_table,
    node_tables,
    optima_table,
    record_table,
    release_table,
)
from reidsim.kinds.tables.people import household_risk, warning_of_estimator
from reidsim.kinds.tables.policy import POLICIES, policy_named
from reidsim.kinds.tables.record_figures import figure_tables
from reidsim.kinds.tables.solving import SPLITS, TablesChoice, choose
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.people import HOUSEHOLD
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome, Progress, solver_facts
from reidsim.wording import counted


class TablesResults(Kind):
    """What comes of policies of a table: the part of its kind that makes tables and facts of it; see `Kind`."""

    def summarise(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Average the outcomes over all who are counted, and add measures of lookups, inference and households."""
        summary, household = super().summarise(study, draw, equilibria), study.household_of
        if study.scenario.looks_up:
            summary = summary.join(direction_measures(study, equilibria))
        if study.scenario.infers:
            summary = summary.join(attribute_measures(study, equilibria))
        if household is not None:
            risks = [household_risk(found, study.row_of_subject, household).mean() for found in equilibria.values()]
            summary[HOUSEHOLD] = risks
        return summary

    def further_measures(self, study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return what deters attacks, and how good a heuristic search is."""
        if study.scenario.publisher.unit == "record":
            return further_measures(study, equilibria)
        return super().further_measures(study, equilibria)

    def records(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return records with their quasi-identifiers as released."""
        return record_table(study, equilibria)

    def analyse(self, study: TablesStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the tables behind figures of records, or of the nodes of a lattice."""
        if study.scenario.publisher.unit == "record":
            return figure_tables(study, progress=lambda done, total: report("figures", done, total))
        top_nodes, front, left_out = node_tables(study, outcomes)
        return FullDomainTables(
            optima=optima_table(study, outcomes),
            classes=class_table(study, outcomes),
            released=release_table(study, outcomes),
            top_nodes=top_nodes,
            front=front,
            left_out=left_out,
        )

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return seconds and nodes of each policy."""
        nodes = [
            int(each.equilibrium.evaluated.max(initial=0)) for each in outcomes.values() if each.seconds is not None
        ]
        return super().runtimes(outcomes).assign(nodes_evaluated=nodes)

    def facts(self, study: TablesStudy) -> dict[str, Any]:
        """Return facts about records, strategies and people."""
        people = study.linked_population if study.scenario.publisher.unit == "record" else study.population
        return {
            "records": study.n_records,
            **({} if study.persons is None else {"released_people": study.n_subjects}),
            **({} if study.waves is None else {"waves": list(study.waves.labels)}),
            "distinct_cells": study.lattice.n_records,
            "strategies": study.lattice.size,
            "population": None if people is None else people.name,
            "people": None if people is None else people.total,
            "data_hash": study.fingerprint,
        }

    def facts_of_policies(self, study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, Any]]:
        """Say by policy what was chosen, and how it was found; of rounds of agents, in the last of them."""
        facts: dict[str, dict[str, Any]] = {}
        for policy, outcome in outcomes.items():
            nodes, gap = _nodes_of(study, policy, outcome.equilibrium), np.nan
            if isinstance(outcome, TablesOutcome):
                nodes, gap = outcome.found.nodes, outcome.found.gap
            facts[policy] = {
                "node": [study.lattice.describe(node) for node in nodes],
                **solver_facts(outcome.equilibrium, study.row_of_subject),
                "gap": None if np.isnan(gap) else gap,
                "nodes_evaluated": int(outcome.equilibrium.evaluated.max(initial=0)),
            }
        return facts

    def warnings(self, study: TablesStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield what to know about the records and the choices made."""
        yield from _warnings_of_records(study)
        per_record = study.scenario.publisher.unit == "record"
        for policy, outcome in outcomes.items():
            if per_record and not isinstance(outcome.choice, TablesChoice):
                yield from _warnings_of_withheld(study, policy, outcome.equilibrium)
            elif isinstance(outcome, TablesOutcome):
                yield from _warnings_of_search(study, policy, outcome)
            else:
                yield from _warnings_of_last_round(study, policy, outcome.equilibrium)
        if study.scenario.looks_up:
            yield from direction_warnings(study, outcomes)


def _warnings_of_search(study: TablesStudy, policy: str, outcome: TablesOutcome) -> Iterator[str]:
    limit, found, units = study.scenario.publisher.suppression_limit, outcome.found, study.units[1]
    split = outcome.equilibrium.solver == SPLITS
    if outcome.equilibrium.withheld.all():
        ended = (found.gap > 0 and not split) or found.unproved_rounds > 0
        yield (
            f"{policy}: nothing that pays was found within the budget; no release"
            if ended
            else f"{policy}: nothing pays while at most {limit:.0%} of the {units} are suppressed; no release"
        )
    if found.gap > 0:
        reason = f"the limit of {limit:.0%} suppressed {units} binds" if split else "the budget ended the search"
        yield f"{policy}: {reason}; the payout may be {found.gap:.2%} of the best case higher"
    if found.unproved_rounds:
        yield (
            f"{policy}: the budget ended {found.unproved_rounds} of {len(found.nodes)} rounds; "
            "another node may pay more there"
        )


def _warnings_of_last_round(study: TablesStudy, policy: str, equilibrium: Equilibrium) -> Iterator[str]:
    publisher = study.scenario.publisher
    if equilibrium.withheld.all():
        limit = publisher.suppression_limit
        units = study.units[1]
        yield f"{policy}: nothing pays in the last round while at most {limit:.0%} of the {units} are suppressed"
    if publisher.search == "anytime" and not equilibrium.exact and not policy_named(policy).is_rule:
        yield f"{policy}: the node of the last round is not proved optimal; another may pay more"


def _warnings_of_records(study: TablesStudy) -> Iterator[str]:
    """Yield what a reader should know about the records and the people."""
    warning = warning_of_estimator(study.scenario, study.sampled)
    if warning is not None:
        yield warning
    if study.scenario.publisher.unit == "table":
        if study.outside:
            people = "" if study.population is None else study.population.name
            yield (
                f"{study.outside} of {study.n_subjects} {study.units[1]} are more than the people with their values in "
                f"population {people!r}; a {study.units[0]} with nobody there counts as the only such person"
            )
        return
    told = {
        f"{outside} of {study.n_records} records have values that nobody in population "
        f"{each.linked_population.name!r} has; each counts as the only such person": None
        for each in study.each.values()
        # A registry need not hold everybody.
        if each.own.registry is None and (outside := int(study.released[each.group_sizes.outside].sum()))
    }
    yield from told


def _warnings_of_withheld(study: TablesStudy, policy: str, equilibrium: Equilibrium) -> Iterator[str]:
    withheld = int(study.weights[equilibrium.withheld].sum())
    if withheld:
        units = study.units[1]
        yield (
            f"{policy}: {withheld} {units} have no strategy that satisfies the constraint and are withheld (payoff 0)"
        )


def _nodes_of(study: TablesStudy, policy: str, equilibrium: Equilibrium) -> Sequence[int]:
    """Return the node in which a policy shares all records; nothing if it shares them in several."""
    if policy not in POLICIES or POLICIES[policy].walks(study.scenario.publisher.unit) != "search":
        return ()
    nodes: list[int] = np.unique(equilibrium.strategies[~equilibrium.withheld]).tolist()
    return nodes


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


def attribute_measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return what each policy reveals of sensitive columns, indexed by policy.

    Returns
    -------
    DataFrame
        ``inference``, and with limits ``beyond_limits``.
    """
    groups, limits, weights = study.sensitive_groups, study.scenario.publisher.attribute_limits, study.weights
    rows = {}
    for name, equilibrium in equilibria.items():
        highest, beyond = 0.0, 0
        for node, released in shared_rows(equilibrium.strategies):
            highest = max(highest, float(groups.success("attribute", node)[released].max()))
            beyond += int(weights[released][~groups.within(limits, node)[released]].sum())
        rows[name] = {INFERENCE.column: highest, BEYOND_LIMITS.column: beyond / study.n_subjects}
    measures = pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")
    return measures if limits else measures[[INFERENCE.column]]


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
            exposed = round(exposed_to_weighted(study, outcome.equilibrium.strategies) * study.n_subjects)
            if exposed:
                yield (
                    f"{name}: nobody is at risk if the adversary treats all matching rows as equally likely; "
                    f"{exposed:,} of {counted(study.n_subjects, 'person is', 'people are')} at risk if the adversary "
                    "favours the rows that match the fewest people"
                )


def exposed_to_weighted(study: TablesStudy, strategies: Strategies) -> float:
    """Return the share of records attacked with a guess that prefers rows which fit fewer people."""
    truth = study.truth
    linker, shared = directed_linker(truth), np.flatnonzero(strategies != WITHHELD)
    assert linker is not None  # noqa: S101 - of a scenario in which persons are looked up
    sizes = linker.weighted(strategies)[shared]
    reply = truth.adversary.respond(Linkage(sizes, sizes, by_chance=True), shared)
    return float(reply.attack_probability.sum() / max(len(strategies), 1))
