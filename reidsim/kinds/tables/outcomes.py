"""Playing the policies of a study about a table, and tables of what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.kinds.tables.policies import POLICIES, policy_named
from reidsim.kinds.tables.solving import SPLITS, TablesChoice, choose_all, truth_of
from reidsim.kinds.tables.study import TablesStudy
from reidsim.releases.full_domain import released_class_sizes, released_table
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.releases.strategy_space import Floats


@dataclass(frozen=True, eq=False)
class PolicyOutcome:
    """What a policy chose and what came of it.

    Parameters
    ----------
    equilibrium : Equilibrium
        Of the distinct cells, on the truth.
    choice : Choice
    people : ndarray of float64, shape (n_cells,), optional
        Among how many people the records of each cell hide, in truth, in the classes in which they are decided on;
        for policies that decide class by class.
    """

    equilibrium: Equilibrium
    choice: Choice
    people: Floats | None = None

    @property
    def found(self) -> TablesChoice:
        """How the choice was found; nothing is known of how others find theirs."""
        if isinstance(self.choice, TablesChoice):
            return self.choice
        choice = self.choice
        return TablesChoice(choice.strategies, choice.solver, choice.evaluated, choice.exact)


def play(
    study: TablesStudy,
    policies: Sequence[str] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, PolicyOutcome]:
    """Play policies, those of the scenario if none are given: choose by what is believed, evaluate by what is true.

    Returns
    -------
    dict of str to PolicyOutcome
        Per policy, in their order.
    """
    names = study.scenario.publisher.policies if policies is None else tuple(policies)
    truth, belief = study.truth, study.belief
    known = [name for name in names if name in POLICIES]
    choices = choose_all(study, known, belief, progress=progress)
    for name in names:
        if name not in choices:
            choices[name] = policy_named(name).defender(study, 0).choose(belief)
    return {name: outcome_of(study, name, choices[name], truth) for name in names}


def outcome_of(study: TablesStudy, policy: str, choice: Choice, truth: RecordGame) -> PolicyOutcome:
    """Return what comes of a choice in the true game."""
    game = truth_of(study, policy, choice, truth)
    people = None
    if isinstance(choice, TablesChoice) and choice.classes is not None:
        people = np.ones(study.lattice.n_records)
        for node in np.unique(choice.classes).tolist():
            here = np.flatnonzero(choice.classes == node)
            people[here] = game.linker.link(node, here).group_sizes
    return PolicyOutcome(evaluate(game, choice), choice, people)


def equilibria_of(outcomes: Mapping[str, PolicyOutcome]) -> dict[str, Equilibrium]:
    """Return the equilibria of outcomes, by policy."""
    return {policy: outcome.equilibrium for policy, outcome in outcomes.items()}


def optima_table(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return one row per policy: the node chosen, payouts over all records, and how the node was found."""
    released = study.released
    best_case = float(study.of_cells(study.prices.benefit) @ released)
    rows = []
    for policy, outcome in outcomes.items():
        equilibrium, found = outcome.equilibrium, outcome.found
        payout = float(equilibrium.publisher_payoff @ released)
        is_rule = policy_named(policy).is_rule
        rows.append(
            {
                "policy": policy,
                "node": " | ".join(map(study.lattice.describe, found.nodes)),
                "payout": payout,
                "relative_payout": payout / best_case if best_case else 0.0,
                "planned_payout": found.planned_payout,
                "adversary_payout": float(equilibrium.adversary_payoff @ released),
                "records": study.n_records,
                "suppressed": int(released[equilibrium.withheld].sum()),
                "attacked": int(released[equilibrium.attacked].sum()),
                "nodes_evaluated": int(equilibrium.evaluated.max(initial=0)),
                "gap": found.gap,
                # A rule has nothing to prove.
                "proved_optimal": is_rule or equilibrium.exact,
            }
        )
    return pd.DataFrame(rows)


def class_table(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
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
        nodes = outcome.found.classes
        if nodes is None:
            continue
        equilibrium = outcome.equilibrium
        table = lattice.released(nodes, cells).astype("str")
        distinct, number = np.unique(nodes, return_inverse=True)
        table["node"] = np.array([lattice.describe(node) for node in distinct.tolist()], dtype=object)[number]
        table["records"] = released
        table["people"] = outcome.people
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


def release_table(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return the table as each policy releases it, in the order of the records.

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


def record_table(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Return one row per record and policy, with the quasi-identifiers as released (missing when withheld).

    Returns
    -------
    DataFrame
        Columns record, policy, strategy, publisher_payoff, adversary_payoff, attacked, success_probability, utility,
        generalization_intensity and the quasi-identifiers; records numbered from 0 in the order of the release.
    """
    return outcomes_by_record(study.lattice, study.cell_of_record, equilibria)


def outcomes_by_record(
    lattice: GeneralizationLattice, cells: NDArray[np.intp], equilibria: Mapping[str, Equilibrium]
) -> pd.DataFrame:
    """Return the table of `record_table`; `cells` (n_records,) tells the cell of each record."""
    used, parts = sorted({int(s) for e in equilibria.values() for s in np.unique(e.strategies)}), []
    position = {strategy: at for at, strategy in enumerate(used)}
    names = ["withheld" if strategy == WITHHELD else lattice.describe(strategy) for strategy in used]
    labels = pd.Index(names, dtype="str")
    for number, equilibrium in enumerate(equilibria.values()):
        record = equilibrium.expand(cells)
        strategy_code = np.array([position[s] for s in equilibrium.strategies.tolist()], dtype=np.int32)[cells]
        outcome = pd.DataFrame(
            {
                "record": np.arange(len(cells)),
                "policy": pd.Categorical.from_codes(
                    np.full(len(cells), number), categories=pd.Index(list(equilibria), dtype="str")
                ),
                "strategy": pd.Categorical.from_codes(strategy_code, categories=labels),
                "publisher_payoff": record.publisher_payoff,
                "adversary_payoff": record.adversary_payoff,
                "attacked": record.attacked,
                "success_probability": record.success_probability,
                "utility": record.utility,
                "generalization_intensity": record.generalization_intensity,
            }
        )
        parts.append(pd.concat([outcome, lattice.released(record.strategies, cells)], axis=1))
    return pd.concat(parts, ignore_index=True)


def warnings_of(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> Iterator[str]:
    """Yield what a reader of the outcomes should know about the records and the choices made."""
    yield from warnings_of_records(study)
    per_record = study.scenario.publisher.unit == "record"
    for policy, outcome in outcomes.items():
        limit, found = study.scenario.publisher.suppression_limit, outcome.found
        split = outcome.equilibrium.solver == SPLITS
        ended = (found.gap > 0 and not split) or found.unproved_rounds > 0
        if per_record and not isinstance(outcome.choice, TablesChoice):
            yield from warnings_of_withheld(study, {policy: outcome.equilibrium})
        elif outcome.equilibrium.withheld.all():
            yield (
                f"{policy}: nothing that pays was found within the budget; no release"
                if ended
                else f"{policy}: nothing pays while at most {limit:.0%} of the records are suppressed; no release"
            )
        if found.gap > 0:
            reason = f"the limit of {limit:.0%} suppressed records binds" if split else "the budget ended the search"
            yield f"{policy}: {reason}; the payout may be {found.gap:.2%} of the best case higher"
        if found.unproved_rounds:
            yield (
                f"{policy}: the budget ended {found.unproved_rounds} of {len(found.nodes)} rounds; "
                "another node may pay more there"
            )


def warnings_of_equilibria(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> Iterator[str]:
    """Yield the same of policies that pick the best generalization of each record, and of rules."""
    yield from warnings_of_records(study)
    yield from warnings_of_withheld(study, equilibria)


def warnings_of_records(study: TablesStudy) -> Iterator[str]:
    """Yield what a reader should know about the records and the people."""
    if study.scenario.publisher.unit == "table":
        if study.outside:
            people = "" if study.population is None else study.population.name
            yield (
                f"{study.outside} of {study.n_records} records are more than the people with their values in "
                f"population {people!r}; a record with nobody there counts as the only such person"
            )
        return
    outside = int(study.released[study.group_sizes.outside].sum())
    # A registry need not hold everybody.
    if outside and study.registry is None:
        yield (
            f"{outside} of {study.n_records} records have values that nobody in population "
            f"{study.linked_population.name!r} has; each counts as the only such person"
        )


def warnings_of_withheld(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> Iterator[str]:
    """Yield which policies leave records without any generalization that they allow."""
    for policy, equilibrium in equilibria.items():
        withheld = int(study.released[equilibrium.withheld].sum())
        if withheld:
            yield (
                f"{policy}: {withheld} records have no strategy that satisfies the constraint and are withheld "
                "(payoff 0)"
            )


def facts_of(study: TablesStudy) -> dict[str, Any]:
    """Return facts about a study for manifests."""
    people = study.linked_population if study.scenario.publisher.unit == "record" else study.population
    return {
        "records": study.n_records,
        "distinct_cells": study.lattice.n_records,
        "strategies": study.lattice.size,
        "population": None if people is None else people.name,
        "people": None if people is None else people.total,
        "data_hash": study.fingerprint,
    }


def facts_of_policies(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> dict[str, dict[str, object]]:
    """Say by policy what was chosen, and how it was found."""
    facts = {}
    for policy, outcome in outcomes.items():
        equilibrium, found = outcome.equilibrium, outcome.found
        facts[policy] = {
            "node": [study.lattice.describe(node) for node in found.nodes],
            "solver": equilibrium.solver,
            "proved_optimal": equilibrium.exact,
            "gap": None if np.isnan(found.gap) else found.gap,
            "nodes_evaluated": int(equilibrium.evaluated.max(initial=0)),
            "strategies_evaluated_per_record": round(float(equilibrium.evaluated[study.cell_of_record].mean()), 3),
            "withheld": int(study.released[equilibrium.withheld].sum()),
        }
    return facts
