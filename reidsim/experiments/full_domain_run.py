"""Running a scenario of the game at dataset level."""

from __future__ import annotations

import math
from collections.abc import Mapping

from reidsim.experiments.full_domain_nodes import FullDomainTables, node_tables
from reidsim.experiments.full_domain_policies import (
    SPLITS,
    PolicyOutcome,
    class_table,
    measures_table,
    optima_table,
    release_table,
    solve_full_domain,
)
from reidsim.experiments.record_level import outcomes_by_record
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.scenarios.full_domain import FullDomainStudy, build_full_domain
from reidsim.scenarios.full_domain_schema import FullDomainScenario, walks_whole_lattice
from reidsim.scenarios.load import LoadedScenario
from reidsim.wording import counted

# Beyond it, walking a lattice takes minutes on tables of some ten thousand records.
_MANY_NODES = 200_000


def describe_full_domain(loaded: LoadedScenario[FullDomainScenario]) -> str:
    """Put the game together and say in a line how large it is."""
    study = build_full_domain(loaded)
    people = "" if study.population is None else f", {counted(study.population.total, 'person', 'people')}"
    cells, nodes = study.lattice.n_records, study.lattice.size
    size = (
        f"{counted(study.n_records, 'record')} in {counted(cells, 'distinct cell')}, {counted(nodes, 'node')}{people}"
    )
    if study.n_nodes > _MANY_NODES and walks_whole_lattice(loaded.scenario):
        size += '; to walk them all may take long, publisher.search = "anytime" has a budget'
    return size


def run_full_domain(loaded: LoadedScenario[FullDomainScenario], report: Progress) -> RunResult:
    """Solve every policy of a scenario at dataset level and work out its figures."""
    clock = Clock()
    report("reading", 0, 1)
    study = build_full_domain(loaded)
    clock.lap("build")
    outcomes = solve_full_domain(study, progress=lambda done, total: report("solving", done, total))
    clock.lap("solve")
    equilibria = {policy: outcome.equilibrium for policy, outcome in outcomes.items()}
    summary = measures_table(study, outcomes)
    records = outcomes_by_record(study.lattice, study.cell_of_record, equilibria)
    clock.lap("tables")
    figures = _figures(study, outcomes)
    clock.lap("figures")
    facts = {
        "records": study.n_records,
        "distinct_cells": study.lattice.n_records,
        "nodes": study.lattice.size,
        "population": None if study.population is None else study.population.name,
        "people": None if study.population is None else study.population.total,
        "data_hash": study.fingerprint,
        **release_file_facts(loaded),
        "policies": {
            policy: {
                "node": [study.lattice.describe(node) for node in outcome.nodes],
                "solver": outcome.equilibrium.solver,
                "proved_optimal": outcome.exact,
                "gap": None if math.isnan(outcome.gap) else outcome.gap,
                "nodes_evaluated": outcome.evaluated,
            }
            for policy, outcome in outcomes.items()
        },
    }
    seed = loaded.scenario.seed
    manifest = make_manifest(loaded, clock.laps, facts)
    runs = run_table(loaded.name, seed, 0, summary)
    warnings = (*figures.left_out, *full_domain_warnings(study, outcomes))
    return RunResult(loaded.name, runs, records, figures, manifest, warnings)


def _figures(study: FullDomainStudy, outcomes: Mapping[str, PolicyOutcome]) -> FullDomainTables:
    top_nodes, front, left_out = node_tables(study, outcomes)
    return FullDomainTables(
        optima=optima_table(study, outcomes),
        classes=class_table(study, outcomes),
        released=release_table(study, outcomes),
        top_nodes=top_nodes,
        front=front,
        left_out=left_out,
    )


def full_domain_warnings(study: FullDomainStudy, outcomes: Mapping[str, PolicyOutcome]) -> tuple[str, ...]:
    """Return what a reader of the outcomes should know about the records and the choices made."""
    warnings = []
    if study.outside:
        people = "" if study.population is None else study.population.name
        warnings.append(
            f"{study.outside} of {study.n_records} records are more than the people with their values in population "
            f"{people!r}; a record with nobody there counts as the only such person"
        )
    for policy, outcome in outcomes.items():
        limit = study.scenario.publisher.suppression_limit
        split = outcome.equilibrium.solver == SPLITS
        ended = (outcome.gap > 0 and not split) or outcome.unproved_rounds > 0
        if outcome.equilibrium.withheld.all():
            warnings.append(
                f"{policy}: nothing that pays was found within the budget; no release"
                if ended
                else f"{policy}: nothing pays while at most {limit:.0%} of the records are suppressed; no release"
            )
        if outcome.gap > 0:
            reason = f"the limit of {limit:.0%} suppressed records binds" if split else "the budget ended the search"
            warnings.append(f"{policy}: {reason}; the payout may be {outcome.gap:.2%} of the best case higher")
        if outcome.unproved_rounds:
            warnings.append(
                f"{policy}: the budget ended {outcome.unproved_rounds} of {len(outcome.nodes)} rounds; "
                "another node may pay more there"
            )
    return tuple(warnings)
