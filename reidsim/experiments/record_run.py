"""Running a record-level scenario."""

from __future__ import annotations

from collections.abc import Mapping

from reidsim.experiments.record_figures import figure_tables
from reidsim.experiments.record_level import record_table, solve_policies, summarise
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.equilibrium import Equilibrium
from reidsim.scenarios.build import RecordStudy, build_study
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import RecordScenario
from reidsim.wording import counted


def describe_record_level(loaded: LoadedScenario[RecordScenario]) -> str:
    """Put the game together and say in a line how large it is."""
    study = build_study(loaded)
    return (
        f"{counted(study.n_records, 'record')} in {counted(study.lattice.n_records, 'distinct cell')}, "
        f"{counted(study.lattice.size, 'strategy', 'strategies')}, "
        f"{counted(study.linked_population.total, 'person', 'people')}"
    )


def run_record_level(loaded: LoadedScenario[RecordScenario], report: Progress) -> RunResult:
    """Solve every policy of a record-level scenario and work out its figures."""
    clock = Clock()
    report("reading", 0, 1)
    study = build_study(loaded)
    clock.lap("build")
    equilibria = solve_policies(study, progress=lambda done, total: report("solving", done, total))
    clock.lap("solve")
    summary, records = summarise(study, equilibria), record_table(study, equilibria)
    clock.lap("tables")
    figures = figure_tables(study, progress=lambda done, total: report("figures", done, total))
    clock.lap("figures")
    solvers = {
        policy: {
            "solver": equilibrium.solver,
            "proved_optimal": equilibrium.exact,
            "strategies_evaluated_per_record": round(float(equilibrium.evaluated[study.cell_of_record].mean()), 3),
            "withheld": int(equilibrium.withheld[study.cell_of_record].sum()),
        }
        for policy, equilibrium in equilibria.items()
    }
    facts = {
        "records": study.n_records,
        "distinct_cells": study.lattice.n_records,
        "strategies": study.lattice.size,
        "population": study.linked_population.name,
        "people": study.linked_population.total,
        "data_hash": study.fingerprint,
        **release_file_facts(loaded),
        "policies": solvers,
    }
    seed = loaded.scenario.seed
    manifest = make_manifest(loaded, clock.laps, facts)
    runs = run_table(loaded.name, seed, 0, summary)
    return RunResult(loaded.name, runs, records, figures, manifest, study_warnings(study, equilibria))


def study_warnings(study: RecordStudy, equilibria: Mapping[str, Equilibrium]) -> tuple[str, ...]:
    """Return what a reader of the outcomes should know about the records and the strategies found."""
    warnings = []
    outside = int(study.multiplicity[study.group_sizes.outside].sum())
    # A registry need not hold everybody.
    if outside and study.registry is None:
        warnings.append(
            f"{outside} of {study.n_records} records have values that nobody in population "
            f"{study.linked_population.name!r} has; each counts as the only such person"
        )
    for policy, equilibrium in equilibria.items():
        withheld = int(equilibrium.withheld[study.cell_of_record].sum())
        if withheld:
            warnings.append(
                f"{policy}: {withheld} records have no strategy that satisfies the constraint and are "
                "withheld (payoff 0)"
            )
    return tuple(warnings)
