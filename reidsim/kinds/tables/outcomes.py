"""Play the policies of a table study and tabulate their outcomes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.games.defenders.defender import record_game_of
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.nodes import NodeOutcomes, every_node
from reidsim.games.people import PeopleLinkage
from reidsim.games.record_game import Choice, RecordGame
from reidsim.kinds.tables.node_games import whole_game
from reidsim.kinds.tables.people import household_risk
from reidsim.kinds.tables.policy import POLICIES, policy_named
from reidsim.kinds.tables.schema import NodesSection
from reidsim.kinds.tables.solving import TablesChoice, choose_all
from reidsim.kinds.tables.study import TablesStudy
from reidsim.portable_math import dot
from reidsim.releases.full_domain import released_class_sizes, released_table
from reidsim.releases.strategy_space import Floats
from reidsim.scenarios.people import HOUSEHOLD, PERSON
from reidsim.scenarios.study import AnalysisTables, PolicyOutcome
from reidsim.scenarios.study import record_table as outcomes_by_record

# Marks threads that have solved a table, so that measured run times exclude the loading of compiled code.
_warm = threading.local()


@dataclass(frozen=True, eq=False)
class TablesOutcome(PolicyOutcome):
    """Choice of a policy for a table, and its outcome.

    See `PolicyOutcome` for the other parameters. The equilibrium is over the game rows: the distinct cells or, with a
    key of people, the row sets.

    Parameters
    ----------
    people : ndarray of float64, shape (n_cells,), optional
        True group size of each cell, in people, in the equivalence class for which the policy decides; only for
        policies that decide by class. If people have several records, there is an item for each cell of each row set.
    """

    people: Floats | None = None

    @property
    def found(self) -> TablesChoice:
        """The choice as a `TablesChoice`, with details of its search.

        A choice of another class gets the default details: no nodes, gap 0, and an unknown planned payout.
        """
        if isinstance(self.choice, TablesChoice):
            return self.choice
        choice = self.choice
        assert choice is not None  # noqa: S101 - outcomes of `play` have a choice
        return TablesChoice(choice.strategies, choice.solver, choice.evaluated, choice.exact)


def play(
    study: TablesStudy,
    policies: Sequence[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, TablesOutcome]:
    """Play policies: choose in the believed game, evaluate in the true game.

    Parameters
    ----------
    study : TablesStudy
    policies : sequence of str, optional
        Names of policies; by default, the scenario's.
    progress : callable, optional
        Called with the number of steps done and the total.

    Returns
    -------
    dict of str to TablesOutcome
        Outcome of each policy, in the order of `policies`.
    """
    names = study.scenario.publisher.policies if policies is None else tuple(policies)
    truth, belief = study.truth, study.belief
    known = [name for name in names if name in POLICIES]
    choices = choose_all(study, known, belief, progress=progress)
    for name in names:
        if name not in choices:
            choices[name] = policy_named(name).defender(study, 0).choose(belief)
    return {name: outcome_of(study, name, choices[name], truth) for name in names}


def play_one_by_one(study: TablesStudy, policies: Sequence[str] | None = None) -> dict[str, TablesOutcome]:
    """Play each policy separately and record its run time in seconds.

    The first call in a thread plays all policies once before, so that run times exclude the loading of compiled code.
    """
    names = study.scenario.publisher.policies if policies is None else tuple(policies)
    if not getattr(_warm, "solved", False):
        play(study, names)
        _warm.solved = True
    outcomes = {}
    for name in names:
        begun = time.perf_counter()
        outcome = play(study, (name,))[name]
        outcomes[name] = replace(outcome, seconds=time.perf_counter() - begun)
    return outcomes


def outcome_of(study: TablesStudy, policy: str, choice: Choice, truth: RecordGame) -> TablesOutcome:
    """Return the outcome of a choice in the true game.

    Payoffs are those of the policy's own game where it defines one; see `Policy.paid_in`.
    """
    game = record_game_of(study.policy(policy).paid_in(study, truth, choice))
    people = None
    if isinstance(choice, TablesChoice) and choice.classes is not None:
        people = np.ones(len(lines_of(study).cell))
        for node in np.unique(choice.classes).tolist():
            here = np.flatnonzero(choice.classes == node)
            linkage = game.linker.link(node, here)
            if isinstance(linkage, PeopleLinkage) and study.persons is not None:
                people[study.persons.row_sets.entries_of(here)[0]] = linkage.of_records.group_sizes
            else:
                people[here] = linkage.group_sizes
    return TablesOutcome(evaluate(game, choice), choice, people=people)


def optima_table(study: TablesStudy, outcomes: Mapping[str, TablesOutcome]) -> pd.DataFrame:
    """Return one row per policy: chosen node, payouts and search details.

    Returns
    -------
    DataFrame
        Columns ``policy``, ``node`` (levels of the table's generalization, or of one per round of local recoding; empty
        for other policies), ``payout`` and ``adversary_payout`` (true payoffs, sums over all records, in currency
        units), ``relative_payout`` (payout as a share of the best case: all records unchanged, none attacked),
        ``planned_payout`` (sum that the publisher expects), ``records``, ``suppressed`` and ``attacked`` (numbers of
        records), ``nodes_evaluated``, ``gap`` (see `TablesChoice`) and ``proved_optimal`` (always true for rules). With
        a key of people, ``people`` is their number, and ``suppressed`` and ``attacked`` count people.
    """
    weights = study.weights
    best_case = dot(study.of_cells(study.prices.benefit), weights)
    rows = []
    for policy, outcome in outcomes.items():
        equilibrium, found = outcome.equilibrium, outcome.found
        payout = dot(equilibrium.publisher_payoff, weights)
        is_rule = policy_named(policy).is_rule
        rows.append(
            {
                "policy": policy,
                "node": " | ".join(map(study.lattice.describe, found.nodes)),
                "payout": payout,
                "relative_payout": payout / best_case if best_case else 0.0,
                "planned_payout": found.planned_payout,
                "adversary_payout": dot(equilibrium.adversary_payoff, weights),
                "records": study.n_records,
                **({} if study.persons is None else {"people": study.n_subjects}),
                "suppressed": int(weights[equilibrium.withheld].sum()),
                "attacked": int(weights[equilibrium.attacked].sum()),
                "nodes_evaluated": int(equilibrium.evaluated.max(initial=0)),
                "gap": found.gap,
                # A rule does not optimize, so that there is nothing to prove.
                "proved_optimal": is_rule or equilibrium.exact,
            }
        )
    return pd.DataFrame(rows)


def class_table(study: TablesStudy, outcomes: Mapping[str, TablesOutcome]) -> pd.DataFrame:
    """Return one row per equivalence class of each policy that decides by class.

    Returns
    -------
    DataFrame
        Columns policy, node, the quasi-identifiers at the node, records, people (true group size), suppressed, attacked
        (both in records; all records of a person who is suppressed or attacked count), publisher_payoff and
        adversary_payoff (sums over the records of the class, in currency units; a person's payoff is spread evenly
        over the person's records).
    """
    lattice, lines = study.lattice, lines_of(study)
    names, parts = list(lattice.domain.names), []
    for policy, outcome in outcomes.items():
        nodes = outcome.found.classes
        if nodes is None:
            continue
        equilibrium = outcome.equilibrium
        table = lattice.released(nodes[lines.row], lines.cell).astype("str")
        distinct, number = np.unique(nodes, return_inverse=True)
        described = np.array([lattice.describe(node) for node in distinct.tolist()], dtype=object)
        table["node"] = described[number][lines.row]
        table["records"] = lines.records
        table["people"] = outcome.people
        table["suppressed"] = lines.records * equilibrium.withheld[lines.row]
        table["attacked"] = lines.records * equilibrium.attacked[lines.row]
        table["publisher_payoff"] = lines.share * equilibrium.publisher_payoff[lines.row]
        table["adversary_payoff"] = lines.share * equilibrium.adversary_payoff[lines.row]
        sums = ("records", "suppressed", "attacked", "publisher_payoff", "adversary_payoff")
        how = {"people": "first"} | dict.fromkeys(sums, "sum")
        classes = table.groupby(["node", *names], sort=False, observed=True).agg(how).reset_index()
        classes.insert(0, "policy", policy)
        parts.append(classes[["policy", "node", *names, "records", "people", *sums[1:]]])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


class Lines(NamedTuple):
    """Pairs of game row and cell, ordered by row; arrays of shape (n_lines,).

    Attributes
    ----------
    cell, row : ndarray of int
        Cell and game row of the pair.
    records : ndarray of int64
        Number of records in the cell that belong to people of the row.
    share : ndarray
        Factor from a payoff per data subject of the row to the sum of payoffs of these records.
    """

    cell: NDArray[np.intp]
    row: NDArray[np.intp]
    records: NDArray[np.int64]
    share: NDArray[np.number[Any]]


def lines_of(study: TablesStudy) -> Lines:
    """Return the cells of each game row; each row is a cell if records are people."""
    if study.persons is None:
        each = np.arange(study.lattice.n_records)
        return Lines(each, each, study.released, study.released)
    sets = study.persons.row_sets
    row, people = sets.owner, sets.people[sets.owner]
    return Lines(sets.cells, row, sets.rows * people, sets.rows / sets.rows_of_person[row] * people)


def release_table(study: TablesStudy, outcomes: Mapping[str, TablesOutcome]) -> pd.DataFrame:
    """Return the table released by each policy, in the order of the records.

    Returns
    -------
    DataFrame
        Columns policy, record (from 0), the quasi-identifiers (all ``*`` if suppressed) and class_size: the number of
        released records with the same labels, or the number of people with such a record (0 if suppressed).
    """
    person = None if study.persons is None else study.persons.of_record
    parts = []
    for policy, outcome in outcomes.items():
        strategies = outcome.equilibrium.strategies[study.row_of_record]
        table = released_table(study.lattice, strategies, study.cell_of_record).astype("str")
        table["class_size"] = released_class_sizes(table, person)
        table.insert(0, "policy", policy)
        table.insert(1, "record", np.arange(study.n_records))
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def record_table(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return one row per record and policy, with the released quasi-identifiers.

    Quasi-identifiers are missing if the record is withheld.

    Returns
    -------
    DataFrame
        The columns of every kind (see `reidsim.scenarios.study.record_table`) and the quasi-identifiers; records in the
        order of the release. With a person key also ``person``, numbered by first appearance; outcomes are then per
        person and repeat in all records of a person. With households also ``household_risk``.
    """
    lattice, cells = study.lattice, study.cell_of_record
    return outcomes_by_record(
        equilibria,
        study.row_of_record,
        lattice.describe,
        beside=_of_people(study),
        released=lambda record: lattice.released(record.strategies, cells),
    )


def _of_people(study: TablesStudy) -> Callable[[Equilibrium], dict[str, NDArray[Any]]]:
    """Return a function that makes the person and household columns of a policy."""
    person = np.arange(study.n_records) if study.persons is None else study.persons.of_record
    known = {} if study.persons is None else {PERSON: person}
    household = study.household_of
    if household is None:
        return lambda equilibrium: dict(known)
    return lambda equilibrium: {
        **known,
        HOUSEHOLD: household_risk(equilibrium, study.row_of_subject, household)[person],
    }


# Largest number of nodes that are all listed by default; this takes seconds.
_MOST_NODES_LISTED = 100_000


@dataclass(frozen=True, eq=False, kw_only=True)
class FullDomainTables(AnalysisTables):
    """Tables of a full-domain study; a table that was not requested is empty.

    Parameters
    ----------
    optima, classes, released : DataFrame
        Results of `optima_table`, `class_table` and `release_table`.
    top_nodes : DataFrame
        The nodes with the largest payouts, by policy; see `node_tables`.
    front : DataFrame
        The Pareto front of payout against share attacked, by policy; see `node_tables`.
    """

    optima: pd.DataFrame = field(default_factory=pd.DataFrame)
    classes: pd.DataFrame = field(default_factory=pd.DataFrame)
    released: pd.DataFrame = field(default_factory=pd.DataFrame)
    top_nodes: pd.DataFrame = field(default_factory=pd.DataFrame)
    front: pd.DataFrame = field(default_factory=pd.DataFrame)


def node_tables(
    study: TablesStudy, outcomes: Mapping[str, TablesOutcome]
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Return the nodes with the largest payouts, and the Pareto front.

    The front is over payout and share of records attacked; both are planned values. After a search with a budget, both
    tables are limited to the nodes that it evaluated. Otherwise every node is computed. In lattices of more than
    100,000 nodes this requires the scenario section ``figures.nodes``.

    Returns
    -------
    top, front : DataFrame
        One row per policy and node: ``policy``, ``node`` (levels), ``payout`` and ``adversary_payout`` (planned, sums
        over all records, in currency units), ``relative_payout`` (payout as a share of the best case), ``suppressed``,
        ``attacked`` (numbers of records or people) and ``share_attacked`` (of all records or people). Both are empty
        without a policy that searches for one node, and if ``figures.nodes.top`` is 0.
    left_out : tuple of str
        Notes on tables that are not listed, with the reason.
    """
    section = study.scenario.figures.nodes or NodesSection()
    policies = [policy for policy in outcomes if study.policy(policy).picks_node(study.scenario.publisher)]
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
        reason = f"the best nodes are not listed: there are {study.n_nodes:,} nodes; set figures.nodes to list them"
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
