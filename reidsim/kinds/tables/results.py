"""Results of a table study: measures, tables, facts and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.planning import attack_threshold
from reidsim.games.directions.linker import directed_linker
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.risk import records_outside
from reidsim.games.record_game import WITHHELD, shared_rows
from reidsim.games.solvers import branch_and_bound
from reidsim.kinds.tables.outcomes import (
    TablesAnalysis,
    class_table,
    figure_tables,
    found_by,
    node_tables,
    optima_table,
    record_table,
    release_table,
)
from reidsim.kinds.tables.policies import SPLITS, SolvedPolicy, TablesChoice
from reidsim.kinds.tables.policy import POLICIES, policy_named
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.people import distinct_people, largest_in_groups
from reidsim.releases.strategy_space import Strategies
from reidsim.scenarios.kind import Kind
from reidsim.scenarios.people import HOUSEHOLD
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome, Progress, solver_facts
from reidsim.wording import counted


class TablesResults(Kind):
    """Part of the kind of tables that computes results of outcomes; see `Kind`."""

    def summarise(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return means over the data subjects, with measures specific to the scenario.

        These are measures of person lookups, of attribute inference and of households.
        """
        summary, household = super().summarise(study, draw, equilibria), study.household_of
        if study.scenario.looks_up:
            summary = summary.join(_direction_measures(study, equilibria))
        if study.scenario.infers:
            summary = summary.join(_attribute_measures(study, equilibria))
        if household is not None:
            risks = [found.risk[study.row_of_subject] for found in equilibria.values()]
            summary[HOUSEHOLD] = [largest_in_groups(risk, household).mean() for risk in risks]
        return summary

    def further_measures(self, study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return attack thresholds and the deviation of a heuristic search.

        Returns
        -------
        DataFrame
            For a record-level study with a single adversary and planner ``fmdp``: ``attack_threshold``, the smallest
            known group size that is not attacked. It is the same for all policies, and missing if all group sizes are
            attacked. With solver ``lattice-search``: the measures of `search_deviation` for the policies that it
            solves.
        """
        measures, publisher = super().further_measures(study, equilibria), study.scenario.publisher
        if publisher.unit == "table":
            return measures
        if len(study.each) == 1:
            (alone,) = study.each.values()
            adversary, plan = alone.scenario.adversary, alone.scenario.adversary.sequential
            # A threshold exists only for known group sizes, confirmed matches and an adversary without errors.
            if adversary.plans_sequentially and not adversary.errs and plan.belief == "known" and not plan.unconfirmed:
                found = attack_threshold(alone.sequential_attack(alone.scenario.economics))
                measures["attack_threshold"] = np.nan if found is None else float(found)
        if publisher.solver == "lattice-search":
            searched = {name: one for name, one in equilibria.items() if one.solver == "lattice-search"}
            if searched:
                # Lattice search solves only policies without a constraint, and these have the same optimum.
                best = evaluate(study.truth, branch_and_bound(study.belief))
                tie, weights = study.truth.tie(), study.weights
                rows = {name: search_deviation(one, best, tie, weights) for name, one in searched.items()}
                measures = measures.join(pd.DataFrame.from_dict(rows, orient="index"))
        return measures

    def records(self, study: TablesStudy, draw: int, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
        """Return the records with their released quasi-identifiers."""
        return record_table(study, equilibria)

    def analyse(self, study: TablesStudy, outcomes: Mapping[str, Any], report: Progress) -> AnalysisTables:
        """Return the tables behind the figures of records or of lattice nodes."""
        if study.scenario.publisher.unit == "record":
            return figure_tables(study, progress=lambda done, total: report("figures", done, total))
        top_nodes, front, left_out = node_tables(study, outcomes)
        return TablesAnalysis(
            optima=optima_table(study, outcomes),
            classes=class_table(study, outcomes),
            released=release_table(study, outcomes),
            top_nodes=top_nodes,
            front=front,
            left_out=left_out,
        )

    def runtimes(self, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
        """Return the run time in seconds and the nodes evaluated by policy."""
        table = super().runtimes(outcomes)
        nodes = [int(outcomes[policy].equilibrium.evaluated.max(initial=0)) for policy in table["policy"]]
        return table.assign(nodes_evaluated=nodes)

    def facts(self, study: TablesStudy) -> dict[str, Any]:
        """Return the manifest facts about records, strategies and people."""
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
        """Return the chosen nodes and the solver facts by policy.

        With agents, the facts are about the last round.
        """
        facts: dict[str, dict[str, Any]] = {}
        for policy, outcome in outcomes.items():
            equilibrium, gap, nodes = outcome.equilibrium, np.nan, list[int]()
            if outcome.choice is not None:
                found = found_by(outcome)
                nodes, gap = list(found.nodes), found.gap
            elif policy_named(policy).searches_nodes(study.scenario.publisher):
                nodes = np.unique(equilibrium.strategies[~equilibrium.withheld]).tolist()
            facts[policy] = {
                "node": [study.lattice.describe(node) for node in nodes],
                **solver_facts(equilibrium, study.row_of_subject),
                "gap": None if np.isnan(gap) else gap,
                "nodes_evaluated": int(equilibrium.evaluated.max(initial=0)),
            }
        return facts

    def warnings(self, study: TablesStudy, draw: int, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
        """Yield the warnings about the records and about each policy's choice."""
        yield from _warnings_of_records(study)
        per_record = study.scenario.publisher.unit == "record"
        for policy, outcome in outcomes.items():
            if per_record and not isinstance(outcome.choice, TablesChoice):
                withheld = int(study.weights[outcome.equilibrium.withheld].sum())
                reason = "have no strategy that satisfies the constraint and are withheld (payoff 0)"
                if withheld:
                    yield f"{policy}: {withheld} {study.units[1]} {reason}"
            else:
                yield from _warnings_of_node(study, policy, outcome)
        if study.scenario.looks_up:
            yield from _direction_warnings(study, outcomes)


def _warnings_of_node(study: TablesStudy, policy: str, outcome: PolicyOutcome) -> Iterator[str]:
    """Yield the warnings about the search for one or a few generalizations."""
    publisher, units, equilibrium = study.scenario.publisher, study.units[1], outcome.equilibrium
    within = f"no release with at most {publisher.suppression_limit:.0%} suppressed {units} is profitable"
    nothing = equilibrium.withheld.all()
    if outcome.choice is None:
        if nothing:
            yield f"{policy}: {within} in the last round"
        if publisher.search == "anytime" and not equilibrium.exact and not policy_named(policy).is_rule:
            yield f"{policy}: the node of the last round is not proved optimal; another node may have a higher payoff"
        return
    found, split = found_by(outcome), equilibrium.solver == SPLITS
    if nothing:
        ended = (found.gap > 0 and not split) or found.unproved_rounds > 0
        reason = "no profitable release was found within the budget" if ended else within
        yield f"{policy}: {reason}; nothing is released"
    if found.gap > 0:
        limit = f"the limit of {publisher.suppression_limit:.0%} suppressed {units} binds"
        reason = limit if split else "the budget ended the search"
        yield f"{policy}: {reason}; the payoff may be higher by up to {found.gap:.2%} of the best case"
    if found.unproved_rounds:
        yield (
            f"{policy}: the budget ended {found.unproved_rounds} of {len(found.nodes)} rounds; "
            "another node may have a higher payoff in these rounds"
        )


def _warnings_of_records(study: TablesStudy) -> Iterator[str]:
    """Yield the warnings about the records, their weights and the population."""
    sampled, population, unit = study.sampled, study.population, study.units
    if sampled is not None and study.scenario.release.estimator == "benedetti-franconi":
        # Sampling weights estimate the risk of sample uniques badly, unless the sample is the whole population.
        sets, alone = distinct_people(sampled.sample), sampled.sample.counts == 1
        unique = int(alone.sum() if sets is None else np.maximum.reduceat(alone[sets.cells], sets.start[:-1]).sum())
        if unique and sampled.total > sampled.sample.total:
            hint = ': compare release.estimator = "log-linear"' * (sets is None)
            yield (
                f"{unique:,} of {int(sampled.sample.total):,} {'records' if sets is None else 'people'} are unique in "
                f"the sample; their risk by Benedetti and Franconi may be inaccurate{hint}"
            )
    if study.scenario.publisher.unit == "table":
        counts = study.dataset.counts.astype(np.int64)
        lattice = study.lattice_of(study.dataset.cells)
        if population is not None and (outside := records_outside(lattice, counts, population)):
            yield (
                f"{outside} of {study.n_subjects} {unit[1]} exceed the people with the same values in "
                f"population {population.name!r}; a {unit[0]} without a match counts as the only such person"
            )
        return
    lines = {
        f"{outside} of {study.n_records} records have values that no person in population "
        f"{each.linked_population.name!r} has; each counts as the only such person": None
        for each in study.each.values()
        # A registry may be incomplete, so that a record without a match there is no error.
        if each.registry is None and (outside := int(study.released[each.group_sizes.outside].sum()))
    }
    yield from lines


def search_deviation(
    found: Equilibrium, best: Equilibrium, tie: NDArray[np.float64], weights: NDArray[np.int64]
) -> dict[str, float]:
    """Return the deviation of a search from the optimum, as means over records.

    The measures are from Wan et al. 2015, Eq. 6.

    Parameters
    ----------
    found, best : Equilibrium
        Outcomes of the search and of an exact solver, for the same cells.
    tie : ndarray of float64, shape (n_cells,)
        Tie tolerance: largest difference between payoffs that count as equal, in currency units.
    weights : ndarray of int64, shape (n_cells,)
        Number of records in each cell.

    Returns
    -------
    dict of str to float
        ``publisher_payoff_difference`` and ``adversary_payoff_difference`` (mean absolute differences, currency units
        per record), ``share_optimal`` (share of records with the optimal payoff) and ``evaluated`` (strategies computed
        per record).
    """
    difference = np.abs(found.publisher_payoff - best.publisher_payoff)
    adversary = np.abs(found.adversary_payoff - best.adversary_payoff)
    return {
        "publisher_payoff_difference": float(np.average(difference, weights=weights)),
        "adversary_payoff_difference": float(np.average(adversary, weights=weights)),
        "share_optimal": float(np.average(difference <= tie, weights=weights)),
        "evaluated": float(np.average(found.evaluated, weights=weights)),
    }


def _attribute_measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the measures of attribute inference, indexed by policy.

    Returns
    -------
    DataFrame
        ``inference``: largest success probability of an inference. With limits on sensitive columns also
        ``beyond_limits``: share of records whose group exceeds a limit.
    """
    groups, weights = study.sensitive_groups, study.weights
    rows = {}
    for name, equilibrium in equilibria.items():
        highest, beyond = 0.0, 0
        for node, released in shared_rows(equilibrium.strategies):
            success = groups.success("attribute", node)
            success = success if study.persons is None else study.persons.space.row_sets.combined(np.maximum, success)
            highest = max(highest, float(success[released].max()))
            if study.admissible is not None:
                beyond += int(weights[released][~study.admissible.at(node, released)].sum())
        rows[name] = {"inference": highest, "beyond_limits": beyond / study.n_subjects}
    measures = pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")
    return measures[["inference"]] if study.admissible is None else measures


def _direction_measures(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return the effect of person lookups on each policy, indexed by policy.

    Returns
    -------
    DataFrame
        ``utility_price`` and ``exposed_by_record`` compare a policy with its choice against an adversary who asks whose
        record a row is (direction "record"): the mean utility that the policy loses, and the share of records that the
        scenario's adversary would attack under that choice. Both are missing for rules and for user-defined policies.
        For ``exposed_to_weighted`` of all policies, see the function.
    """
    rows = {}
    for name, equilibrium in equilibria.items():
        price = exposed = np.nan
        policy = policy_named(name)
        if isinstance(policy, SolvedPolicy) and not policy.is_rule:
            before = evaluate(study.truth, policy.choice_by_record(study, study.belief))
            price = float(np.mean(before.utility) - np.mean(equilibrium.utility))
            exposed = float(np.mean(before.attack_probability))
        rows[name] = (price, exposed, exposed_to_weighted(study, equilibrium.strategies))
    columns = ["utility_price", "exposed_by_record", "exposed_to_weighted"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("policy")


def _direction_warnings(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
    """Yield a warning if a no-attack policy depends on how the adversary guesses."""
    for name, outcome in outcomes.items():
        if name in POLICIES and POLICIES[name].forbids_attacks and not outcome.equilibrium.attacked.any():
            exposed = round(exposed_to_weighted(study, outcome.equilibrium.strategies) * study.n_subjects)
            if exposed:
                yield (
                    f"{name}: no person is at risk if the adversary treats all matching rows as equally likely; "
                    f"{exposed:,} of {counted(study.n_subjects, 'person is', 'people are')} at risk if the adversary "
                    "prefers the rows that match the fewest people"
                )


def exposed_to_weighted(study: TablesStudy, strategies: Strategies) -> float:
    """Return the share of records attacked if guesses favour rows that fit few people.

    The adversary looks a person up and picks one of the matching released rows, each with a weight of 1 / number of
    people who match the row. Withheld records count in the denominator.

    Parameters
    ----------
    study : TablesStudy
    strategies : ndarray of int64, shape (n_records,)
    """
    truth = study.truth
    linker, shared = directed_linker(truth), np.flatnonzero(strategies != WITHHELD)
    assert linker is not None  # noqa: S101 - called only for scenarios with person lookups
    sizes = linker.weighted(strategies)[shared]
    reply = truth.adversary.respond(Linkage(sizes, sizes, by_chance=True), shared)
    return float(reply.attack_probability.sum() / max(len(strategies), 1))
