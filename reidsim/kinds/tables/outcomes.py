"""Play the policies of a table study and tabulate their outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd

from reidsim.adversaries.response import INDIFFERENCE
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.file_attack import plan_file, plan_with_budget
from reidsim.adversaries.sequential.planning import (
    BinomialBelief,
    exploits_undetected,
    plan_baseline,
    plan_known,
    plan_unknown,
)
from reidsim.core.errors import InputError, refuse_first
from reidsim.core.numerics import dot, random_stream
from reidsim.games.composite import PeopleLinkage
from reidsim.games.cross_play import record_game_of
from reidsim.games.full_domain.search import best_nodes, every_node, pareto_front
from reidsim.games.outcomes import Attempts, Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.games.solvers import Options, best_options, no_progress, undominated_options
from reidsim.kinds.tables.policies import TablesChoice, everywhere
from reidsim.kinds.tables.release import coded_record
from reidsim.kinds.tables.schema import WHERE, NodesSection, policy_named
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.lattice import Floats, Strategies
from reidsim.releases.records import released_class_sizes, released_table
from reidsim.scenarios.adversary_schema import EconomicsSection
from reidsim.scenarios.kind import AnalysisTables, PolicyOutcome, kind_of
from reidsim.scenarios.schema import SequentialFiguresSection

# Largest number of nodes that are all listed by default; this takes seconds.
_MOST_NODES_LISTED = 100_000


def paid_in(study: TablesStudy, policy: str, choice: Choice) -> RecordGame:
    """Return the record game in which a policy's choice is paid; see `Policy.paid_in`.

    It is the study's true game, unless the policy replaces the linkage.

    Parameters
    ----------
    study : TablesStudy
    policy : str
        Name of the policy.
    choice : Choice
        The policy's choice.
    """
    return record_game_of(policy_named(policy).paid_in(study, study.truth, choice))


def found_by(outcome: PolicyOutcome) -> TablesChoice:
    """Return the choice of an outcome as a `TablesChoice`.

    It has details of the policy's search. A choice of another class gets the default details: no nodes, gap 0, and a
    planned payout of NaN, as it is unknown. An outcome without a choice (of rounds) gets its strategies and the default
    details.
    """
    found = outcome.equilibrium
    choice = outcome.choice or Choice(found.strategies, found.solver, found.evaluated, found.exact)
    return choice if isinstance(choice, TablesChoice) else TablesChoice(**vars(choice))


def optima_table(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return one row per policy: chosen node, total payoffs and search details.

    Parameters
    ----------
    study : TablesStudy
    outcomes : mapping of str to PolicyOutcome
        Outcome of each policy, with one entry per game row.

    Returns
    -------
    DataFrame
        Columns ``policy``, ``node`` (levels of the node chosen for the table; after local recoding, levels of the node
        of each round; after a perturbation, strengths by attribute; empty for policies that choose no node), ``payout``
        and ``adversary_payout`` (true payoff of the publisher and of the adversary, summed over all records, in
        currency units), ``relative_payout`` (payout as a share of the best case, in which all records are unchanged and
        none is attacked; 0 if the best case is 0), ``planned_payout`` (payout that the publisher expects under its
        beliefs), ``records``, ``suppressed`` and ``attacked`` (numbers of records), ``nodes_evaluated``, ``gap`` (see
        `TablesChoice`) and ``proved_optimal`` (true for a policy with a fixed rule, because it does not optimize). With
        ``release.person``, ``people`` is the number of people, and ``suppressed`` and ``attacked`` count people.
    """
    weights, rows = study.weights, []
    for policy, outcome in outcomes.items():
        equilibrium, found = outcome.equilibrium, found_by(outcome)
        payout = dot(equilibrium.publisher_payoff, weights)
        rows.append(
            {
                "policy": policy,
                "node": " | ".join(map(policy_named(policy).space(study).describe, found.nodes)),
                "payout": payout,
                "relative_payout": _relative(study, payout),
                "planned_payout": found.planned_payout,
                "adversary_payout": dot(equilibrium.adversary_payoff, weights),
                "records": study.n_records,
                **({} if study.persons is None else {"people": study.n_subjects}),
                "suppressed": int(weights[equilibrium.withheld].sum()),
                "attacked": int(weights[equilibrium.attacked].sum()),
                "nodes_evaluated": int(equilibrium.evaluated.max(initial=0)),
                "gap": found.gap,
                # A rule does not optimize, so that there is nothing to prove.
                "proved_optimal": policy_named(policy).is_rule or equilibrium.exact,
            }
        )
    return pd.DataFrame(rows)


def _relative(study: TablesStudy, payout: Any) -> Any:
    """Return payouts as a share of the best case: all records unchanged and no attack.

    `payout`, the publisher's payoff over all records in currency units, is a number or an array, and so is the
    result. If the best case is 0, the result is the number 0.
    """
    best_case = dot(study.of_cells(study.prices.benefit), study.weights)
    return payout / best_case if best_case else 0.0


def class_table(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return a table of the equivalence classes of each policy that decides by class.

    Returns
    -------
    DataFrame
        One row per policy and class; empty, without columns, if no policy decides by class (`TablesChoice.classes`).
        Columns policy, node (its levels), the quasi-identifiers at the node, records, people (true group size with
        which the adversary links), suppressed, attacked (both in records; all records of a person who is suppressed or
        attacked count), publisher_payoff and adversary_payoff (sums over the records of the class, in currency units; a
        person's payoff is spread evenly over the person's records).
    """
    lattice, sets, parts = study.lattice, study.row_sets, []
    # Each line is a cell of a game row; `share` turns a payoff per data subject into a sum over the line's records.
    cell, row, people = sets.cells, sets.owner, sets.people[sets.owner]
    records, share = sets.rows * people, sets.rows / sets.rows_of_person[row] * people
    totals = ("records", "people", "suppressed", "attacked", "publisher_payoff", "adversary_payoff")
    for policy, outcome in outcomes.items():
        found, equilibrium = found_by(outcome), outcome.equilibrium
        if found.classes is None:
            continue
        linker, sizes = paid_in(study, policy, found).linker, np.ones(len(cell))
        distinct, number = np.unique(found.classes, return_inverse=True)
        for node in distinct.tolist():
            here = np.flatnonzero(found.classes == node)
            linkage, (entries, start) = linker.link(node, here), sets.entries_of(here)
            if isinstance(linkage, PeopleLinkage):
                sizes[entries] = linkage.of_records.group_sizes
            else:
                sizes[entries] = linkage.group_sizes.repeat(np.diff(start))
        described = np.array([lattice.describe(node) for node in distinct.tolist()], dtype=object)
        released = lattice.released(found.classes[row], cell).astype("str")
        lines = released.assign(
            policy=policy,
            node=described[number][row],
            records=records,
            people=sizes,
            suppressed=records * equilibrium.withheld[row],
            attacked=records * equilibrium.attacked[row],
            publisher_payoff=share * equilibrium.publisher_payoff[row],
            adversary_payoff=share * equilibrium.adversary_payoff[row],
        )
        by = lines.groupby(["policy", "node", *released], sort=False, observed=True)
        parts.append(by.agg(dict.fromkeys(totals, "sum") | {"people": "first"}).reset_index())
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def release_table(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return the released table of each policy: one row per policy and record.

    Returns
    -------
    DataFrame
        Columns policy, record (from 0), the quasi-identifiers (all ``*`` if suppressed) and class_size: the number of
        released records with the same labels or, with ``release.person``, the number of people with such a record (0 if
        suppressed).
    """
    person, parts = None if study.persons is None else study.persons.of_record, []
    for policy, outcome in outcomes.items():
        strategies = outcome.equilibrium.strategies[study.row_of_record]
        space = policy_named(policy).space(study)
        table = released_table(space, strategies, study.cell_of_record).astype("str")
        columns = {"policy": policy, "record": np.arange(study.n_records), **table}
        parts.append(pd.DataFrame(columns | {"class_size": released_class_sizes(table, person)}))
    return pd.concat(parts, ignore_index=True)


def table_level_analysis(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> AnalysisTables:
    """Return the tables of a study with one generalization for the table.

    Tables ``optima``, ``classes`` and ``released`` are the results of `optima_table`, `class_table` and
    `release_table`. ``top_nodes`` has the nodes with the largest payouts, ``front`` the Pareto front.

    The front has the nodes for which no other node has at least the payout with at most as many attacked records; both
    are planned values. After a search with a budget, both tables are limited to the nodes that it evaluated. Otherwise
    every node is computed. In lattices of more than 100,000 nodes this requires the scenario section ``figures.nodes``.

    Returns
    -------
    AnalysisTables
        ``top_nodes`` and ``front`` are tables with one row per policy and node: ``policy``, ``node`` (levels),
        ``payout`` and ``adversary_payout`` (planned, sums over all records, in currency units), ``relative_payout``
        (payout as a share of the best case), ``suppressed``, ``attacked`` (numbers of records or people) and
        ``share_attacked`` (of all records or people). The first has at most ``figures.nodes.top`` nodes per policy, in
        order of falling payout. Both are absent without a policy that searches for one node, or if
        ``figures.nodes.top`` is 0. They are also absent if there are too many nodes to list; ``left_out`` then has a
        note with the reason.
    """
    section, publisher = study.scenario.figures.nodes or NodesSection(), study.scenario.publisher
    listable = study.scenario.figures.nodes is not None or study.n_nodes <= _MOST_NODES_LISTED
    parts, left_out = dict[str, list[pd.DataFrame]](), tuple[str, ...]()
    for name, outcome in outcomes.items() if section.top else ():
        policy: Any = policy_named(name)
        if policy.scope(publisher) != "node":
            continue
        nodes = found_by(outcome).listed
        if nodes is None and not listable:
            reason = f"there are {study.n_nodes:,} nodes; set figures.nodes to list them"
            left_out = (f"the best nodes are not listed: {reason}",)
            continue
        nodes = every_node(policy.whole_game(study, study.belief)) if nodes is None else nodes
        for table, kept in (("top_nodes", best_nodes(nodes, section.top)), ("front", pareto_front(nodes))):
            rows = {
                "policy": name,
                "node": [study.lattice.describe(node) for node in kept.nodes.tolist()],
                "payout": kept.payout,
                "relative_payout": _relative(study, kept.payout),
                "suppressed": kept.suppressed,
                "attacked": kept.attacked,
                "share_attacked": kept.attacked / study.n_subjects,
                "adversary_payout": kept.adversary_payoff,
            }
            parts.setdefault(table, []).append(pd.DataFrame(rows))
    tables = {
        "optima": optima_table(study, outcomes),
        "classes": class_table(study, outcomes),
        "released": release_table(study, outcomes),
        **{table: pd.concat(each, ignore_index=True) for table, each in parts.items()},
    }
    return AnalysisTables(tables, () if parts else left_out)


class DroppedColumns:
    """Player of a study's policies with any set of quasi-identifiers dropped.

    A dropped column is at the highest level of its hierarchy in all records. A policy that optimizes chooses among the
    remaining generalizations. A rule keeps its levels of the other columns.

    Parameters
    ----------
    study : TablesStudy

    Raises
    ------
    InputError
        If no policy of the scenario can be played with dropped columns.
    """

    def __init__(self, study: TablesStudy) -> None:
        publisher, self.names = study.scenario.publisher, study.lattice.domain.names
        greedy = publisher.solver == "lattice-search"
        self.policies = tuple(
            policy.name
            for policy in map(policy_named, publisher.policies)
            if policy.has_lowest_level and not (greedy and policy.scope(publisher) == "unit")
        )
        found, expected = list(publisher.policies), "a policy such as basic or no-attack"
        refuse_first(
            (not self.policies, "no policy supports a minimum level of a column", WHERE, found, expected),
            source=study.loaded.path,
        )
        # Branch and bound is also exact, and searches only the remaining generalizations.
        solver = {"solver": "branch-and-bound"} if publisher.unit == "record" else {}
        self._study = study.with_sections(publisher=publisher.model_copy(update=solver))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about omitted policies, and about columns that stay informative.

        A dropped column stays informative if the highest level of its hierarchy has several groups.
        """
        policies, hierarchies = self._study.scenario.publisher.policies, self._study.lattice.hierarchies
        reason = "the policy does not support a minimum level of a column"
        left_out = [f"policy {name} is left out: {reason}" for name in policies if name not in self.policies]
        text = "when it is dropped: the highest level of its hierarchy"
        groups = {name: each.n_groups[-1] for name, each in zip(self.names, hierarchies, strict=True)}
        kept = [f"column {name} keeps {number} groups {text}" for name, number in groups.items() if number > 1]
        return (*left_out, *kept)

    def play(self, kept: Collection[str]) -> Mapping[str, Equilibrium]:
        """Return the `Equilibrium` of each policy if only columns `kept` may be released.

        `kept` has names of quasi-identifiers; all others are at their highest level. Keys are the policies that support
        this, `policies`. Rows of an outcome are the game rows of the study.
        """
        study, lattice, found = self._study, self._study.lattice, dict[str, Equilibrium]()
        attributes = {
            name: each if name in kept else each.model_copy(update={"minimum_level": levels - 1})
            for (name, each), levels in zip(study.scenario.attributes.items(), lattice.shape, strict=True)
        }
        limited = study.with_sections(attributes=attributes)
        lowest = everywhere(study, lattice.index(limited.minimum))
        for name, outcome in kind_of(limited.scenario).play(limited, 0, self.policies).items():
            found[name], choice = outcome.equilibrium, found_by(outcome)
            joined = lattice.join(np.maximum(choice.strategies, 0), lowest)
            choice = replace(choice, strategies=np.where(choice.strategies == WITHHELD, WITHHELD, joined))
            if not np.array_equal(choice.strategies, found[name].strategies):
                found[name] = evaluate(paid_in(limited, name, choice), choice)
        return found


def figure_tables(study: TablesStudy, *, progress: Callable[[int, int], object] = no_progress) -> AnalysisTables:
    """Compute the tables that the scenario section ``figures`` requests.

    Their names in the `AnalysisTables` are ``strategies``, ``attacks``, ``beliefs`` and ``file_attack``; see
    `strategy_table`, `attack_table`, `belief_table` and `file_table`. Tables that the section does not request are
    absent. `progress` is called with the number of tables done and in total.
    """
    wanted, sequential = study.scenario.figures, study.scenario.figures.sequential
    work: dict[str, Any] = {
        "strategies": wanted.strategies is not None and partial(strategy_table, study, wanted.strategies),
        "attacks": sequential and partial(attack_table, study, sequential),
        "beliefs": sequential and sequential.beliefs and partial(belief_table, study, sequential),
        "file_attack": sequential and sequential.file_attack and partial(file_table, study, sequential),
    }
    tables, makers = dict[str, Any](), {name: make for name, make in work.items() if make}
    for number, (name, make) in enumerate(makers.items(), start=1):
        tables[name] = make()
        progress(number, len(makers))
    return AnalysisTables(tables)


def strategy_table(study: TablesStudy, record: Mapping[str, str]) -> pd.DataFrame:
    """Return the outcome of every strategy for one record (Wan et al. 2015, Fig. 5).

    Parameters
    ----------
    study : TablesStudy
    record : mapping of str to str
        Value of each quasi-identifier, as a category.

    Returns
    -------
    DataFrame
        One row per strategy in lattice order: ``record`` (its values, in every row), ``strategy``,
        ``generalization_intensity``, ``utility``, ``publisher_payoff`` and ``adversary_payoff`` (in currency units),
        ``attacked``, ``success_probability`` and the quasi-identifiers as released.

    Raises
    ------
    InputError
        If a value is missing or unknown, or the adversary is supported only on the records of the scenario.
    """
    alone = study.on_records(coded_record(study.lattice.domain, record, "figures.strategies"))
    lattice, every = alone.lattice, np.arange(alone.lattice.size)
    outcomes = [alone.truth.outcome(strategy) for strategy in every.tolist()]
    outcome_table = pd.DataFrame(
        {
            "record": ", ".join(record[name] for name in lattice.domain.names),
            "strategy": [lattice.describe(strategy) for strategy in every.tolist()],
            "generalization_intensity": lattice.generalization_intensity(every),
            "utility": [outcome.utility[0] for outcome in outcomes],
            "publisher_payoff": [outcome.publisher_payoff[0] for outcome in outcomes],
            "adversary_payoff": [outcome.response.adversary_payoff[0] for outcome in outcomes],
            "attacked": [bool(outcome.response.attacks[0]) for outcome in outcomes],
            "success_probability": [outcome.response.success[0] for outcome in outcomes],
        }
    )
    return pd.concat([outcome_table, lattice.released(every, np.zeros_like(every)).astype("str")], axis=1)


def settings_of(study: TablesStudy, section: SequentialFiguresSection) -> dict[str, SequentialAttack]:
    """Return the `SequentialAttack` under each setting of the comparison, by name.

    A setting of `section` replaces some parameters of the scenario's sequential attack.
    """
    base = study.sequential_attack(study.scenario.economics)
    return {name: replace(base, **change.model_dump(exclude_none=True)) for name, change in section.settings.items()}


def attack_table(study: TablesStudy, section: SequentialFiguresSection) -> pd.DataFrame:
    """Return the planned attack for each group size (Xia et al. 2015, Figs. 6 to 8).

    Returns
    -------
    DataFrame
        One row per setting, planner ("fmdp", or "baseline": one random exploit, Eq. 7) and group size, from 1 to
        ``figures.sequential.largest_group``. Columns setting, planner, group_size, value (expected payoff at the
        outset, in currency units), risk (probability of re-identification) and exploits (number of exploits if none
        succeeds and none is detected; 0 if the adversary does not attack).
    """
    sizes, parts = np.arange(1, section.largest_group + 1), []
    for setting, attack in settings_of(study, section).items():
        for planner, plan, made in (
            ("fmdp", plan_known(attack, sizes), exploits_undetected(attack, sizes)),
            ("baseline", plan_baseline(attack, sizes), np.ones_like(sizes)),
        ):
            values = {"value": plan.value, "risk": plan.reidentified, "exploits": np.where(plan.accesses, made, 0)}
            parts.append(pd.DataFrame({"setting": setting, "planner": planner, "group_size": sizes, **values}))
    return pd.concat(parts, ignore_index=True)


def belief_table(study: TablesStudy, section: SequentialFiguresSection) -> pd.DataFrame:
    """Return risks under known and unknown group sizes (Xia et al. 2015, Fig. 9).

    The records are unchanged, without generalization.

    Returns
    -------
    DataFrame
        One row per setting and distinct pair of group_size (in the registry) and match_probability (share of the
        population with the record's values). Further columns are risk_known and risk_unknown (probabilities of
        re-identification) and records (number of records of the pair).

    Raises
    ------
    InputError
        If the attack has no registry.
    """
    registry, where = study.registry, "adversary.sequential.registry"
    if registry is None:
        raise InputError("the attack has no registry", source=study.loaded.path, where=where, expected="a population")
    link = study.truth.linker.link(study.lattice.most_specific)
    sizes, share, parts = link.group_sizes, cast("Floats", link.match_probability), []
    for setting, attack in settings_of(study, section).items():
        columns = {
            "setting": setting,
            "group_size": sizes,
            "match_probability": share,
            "risk_known": plan_known(attack, sizes).reidentified,
            "risk_unknown": plan_unknown(attack, sizes, BinomialBelief(round(registry.total), share)).reidentified,
        }
        cells = pd.DataFrame(columns | {"records": study.weights})
        parts.append(cells.groupby(list(columns), as_index=False, observed=True).sum())
    return pd.concat(parts, ignore_index=True)


def file_table(study: TablesStudy, section: SequentialFiguresSection) -> pd.DataFrame:
    """Return separate attacks on records and one attack on the whole file, compared.

    The attack on the file pays for access once. The records are unchanged, without generalization. Settings with a
    limit on penalties are omitted, because the penalties of records in one file would depend on each other.

    Returns
    -------
    DataFrame
        One row per setting and plan: "one by one", "whole file", and, if the section sets a budget and detection does
        not end the attack, "whole file with budget". Columns setting, plan, value (expected payoff at the outset, sum
        over all records, in currency units), upper_bound (on the value of any plan within the budget; missing for the
        first two plans), standard_error (of the value, which is simulated if a budget binds; risk and exploits are then
        also estimates; 0 for the first two plans), share_attacked (share of records that may be exploited), risk (mean
        probability of re-identification) and exploits (expected number over all records).
    """
    sizes = np.asarray(study.group_sizes.at(study.lattice.most_specific))[study.cell_of_record]
    rows, budgeted = [], section.file_attack
    for setting, attack in settings_of(study, section).items():
        if attack.counts_penalties:
            continue
        alone, whole = plan_known(attack, sizes), plan_file(attack, sizes)
        plans: list[tuple[str, float, float, float, Any]] = [
            ("one by one", alone.value.sum(), np.nan, 0.0, alone),
            ("whole file", whole.value, np.nan, 0.0, whole),
        ]
        if budgeted is not None and budgeted.budget is not None and not attack.detection_ends_attack:
            rng = random_stream(study.scenario.seed, "file-attack")
            plan = plan_with_budget(attack, sizes, budgeted.budget, rng, draws=budgeted.draws)
            bound = attack.discount * plan.upper_bound - attack.access_cost
            plans.append(("whole file with budget", plan.value, bound, attack.discount * plan.standard_error, plan))
        for name, *value, found in plans:
            risk, exploits = float(found.reidentified.mean()), found.exploits
            rows.append((setting, name, *value, float((exploits > 0).mean()), risk, float(exploits.sum())))
    columns = ["setting", "plan", "value", "upper_bound", "standard_error", "share_attacked", "risk", "exploits"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True, eq=False)
class PointPlan:
    """Strategies of a publisher, and their outcome under any true payoff parameters.

    Parameters
    ----------
    strategies : ndarray of int64, shape (n_cells,)
        Strategy of each cell; -1 if it is withheld.
    equilibrium : callable
        Returns the `Equilibrium`, by cell, given the section of true payoff parameters.
    one_shot_success : ndarray of float64, shape (n_cells,), optional
        Success probability of an attack on each cell, if it does not depend on payoff parameters; None for
        `SolvedPoints`.
    """

    strategies: Strategies
    equilibrium: Callable[[EconomicsSection], Equilibrium]
    one_shot_success: Floats | None = None


@dataclass(frozen=True, eq=False)
class SolvedPoints:
    """Planner under any payoff parameters that solves the study again for every plan.

    It supports any adversary.

    Parameters
    ----------
    study : TablesStudy
    """

    study: TablesStudy

    def plan(self, policy: str, believed: EconomicsSection) -> PointPlan:
        """Solve the game with believed payoff parameters, and return the `PointPlan`.

        Parameters
        ----------
        policy : str
            Name of the policy.
        believed : EconomicsSection
            Payoff parameters with which the publisher plans; see `Kind.amount_points`.
        """
        own = policy_named(policy)
        choice = own.choose(self.study, self.study.game(believed, believed=True), 0)

        def outcome(truth: EconomicsSection) -> Equilibrium:
            return evaluate(record_game_of(own.paid_in(self.study, self.study.game(truth), choice)), choice)

        return PointPlan(choice.strategies, outcome)

    def play(self, strategies: Strategies) -> PointPlan:
        """Return the `PointPlan` of given strategies, without solving a game.

        `strategies`, shape (n_rows,), has the strategy of each game row; -1 if it is withheld.
        """
        choice = Choice(strategies, "given", np.zeros(len(strategies), dtype=np.int64), exact=False)
        return PointPlan(strategies, lambda truth: evaluate(self.study.game(truth), choice))


@dataclass(frozen=True, eq=False)
class OneShotPoints(SolvedPoints):
    """Faster `SolvedPoints` that compares only undominated strategies of each record.

    A strategy is dropped only if it is never best against a one-shot adversary, whatever the payoff parameters. As this
    reduction takes as long as solving about 40 games, the first games are solved.

    Parameters
    ----------
    study : TablesStudy
    solved_first : int
        Number of games of a policy that are solved before its strategies are reduced.
    solved : Counter
        Number of games that were solved, by policy.
    rules : dict
        Cache of the plans of rules, by policy.
    thinned : dict
        Cache of the undominated strategies, by whether a policy has minimum levels.
    """

    solved_first: int = 40
    solved: Counter[str] = field(default_factory=Counter, repr=False)
    rules: dict[str, PointPlan] = field(default_factory=dict, repr=False)
    thinned: dict[bool, Options] = field(default_factory=dict, repr=False)

    def plan(self, policy: str, believed: EconomicsSection) -> PointPlan:
        """Return the `PointPlan` of the best of the undominated strategies of each record.

        If the policy is a rule, the plan has the rule's strategies instead, and `believed` is not used.

        Parameters
        ----------
        policy : str
            Name of the policy.
        believed : EconomicsSection
            Payoff parameters with which the publisher plans; see `Kind.amount_points`.
        """
        rule: Any = policy_named(policy)
        if rule.is_rule:
            if policy not in self.rules:
                self.rules[policy] = self.play(rule.form(self.study))
            return self.rules[policy]
        constraint = rule.constraint(self.study)
        restricted = constraint.minimum is not None
        if restricted not in self.thinned:
            self.solved[policy] += 1
            if self.solved[policy] <= self.solved_first:
                return self.play(super().plan(policy, believed).strategies)
            self.thinned[restricted] = undominated_options(self.study.space, self.study.truth.linker, constraint)
        options = self.thinned[restricted]
        chosen = best_options(
            options,
            believed.benefit,
            believed.loss,
            believed.adversary_gain,
            believed.cost,
            no_attack=constraint.no_attack,
        )
        withheld, nothing = chosen < 0, np.zeros(len(chosen))
        return _replied(
            Equilibrium(
                strategies=np.where(withheld, WITHHELD, options.strategies.take(chosen)),
                publisher_payoff=nothing,
                adversary_payoff=nothing,
                attacked=withheld,
                success_probability=np.where(withheld, 0.0, options.success.take(chosen)),
                utility=np.where(withheld, 0.0, options.utility.take(chosen)),
                generalization_intensity=np.where(withheld, 1.0, options.intensity.take(chosen)),
                solver="thinned",
                evaluated=np.diff(options.start),
                exact=True,
            )
        )

    def play(self, strategies: Strategies) -> PointPlan:
        """Return the `PointPlan` of given strategies, without solving a game.

        `strategies`, shape (n_cells,), has the strategy of each cell; -1 if it is withheld.
        """
        one = np.ones(len(strategies), dtype=np.int64)
        return _replied(evaluate(self.study.truth, Choice(strategies, "thinned", one, exact=False)))


def _replied(outcome: Equilibrium) -> PointPlan:
    """Return the `PointPlan` of strategies against a one-shot adversary.

    The adversary attacks a cell if gain times success probability exceeds the cost by more than rounding. `outcome` has
    the strategy, utility, success probability and intensity of each cell; its payoffs and attacks are replaced, as they
    follow from the payoff parameters (Wan et al. 2015, Table 3).
    """

    def reply(truth: EconomicsSection) -> Equilibrium:
        gain, success = truth.adversary_gain, outcome.success_probability
        attacked = gain * success > truth.cost * (1 + INDIFFERENCE)
        risk, payoff = np.where(attacked, success, 0.0), np.where(attacked, gain * success - truth.cost, 0.0)
        return replace(
            outcome,
            publisher_payoff=truth.benefit * outcome.utility - truth.loss * risk,
            adversary_payoff=payoff,
            attacked=attacked,
            attempts=Attempts.of_one(risk, payoff, gain, truth.loss),
        )

    return PointPlan(outcome.strategies, reply, outcome.success_probability)
