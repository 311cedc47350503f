"""Running a scenario about a table of records."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reidsim.errors import InputError
from reidsim.experiments.full_domain_nodes import FullDomainTables, node_tables
from reidsim.experiments.record_figures import RecordFigures, figure_tables
from reidsim.experiments.record_measures import further_measures
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.measures import MEASURES, averages
from reidsim.kinds.tables.outcomes import (
    PolicyOutcome,
    class_table,
    equilibria_of,
    facts_of,
    facts_of_policies,
    optima_table,
    play,
    record_table,
    release_table,
    warnings_of,
)
from reidsim.kinds.tables.schema import TablesScenario, walks_whole_lattice
from reidsim.kinds.tables.study import TablesStudy, build_study
from reidsim.measures import columns_of
from reidsim.scenarios.load import LoadedScenario
from reidsim.wording import counted

# Beyond it, walking a lattice takes minutes on tables of some ten thousand records.
_MANY_NODES = 200_000


def describe_tables(loaded: LoadedScenario[TablesScenario]) -> str:
    """Put the game together and say in a line how large it is."""
    study = build_study(loaded)
    # Amounts that the adversary cannot plan with are told before anything is played.
    study.adversary(study.prices)
    people = study.linked_population if loaded.scenario.publisher.unit == "record" else study.population
    size = (
        f"{counted(study.n_records, 'record')} in {counted(study.lattice.n_records, 'distinct cell')}, "
        f"{counted(study.lattice.size, 'strategy', 'strategies')}"
    )
    size += "" if people is None else f", {counted(people.total, 'person', 'people')}"
    if study.n_nodes > _MANY_NODES and walks_whole_lattice(loaded.scenario):
        size += '; to walk them all may take long, publisher.search = "anytime" has a budget'
    return size


def summarise(study: TablesStudy, equilibria: Mapping[str, Equilibrium]) -> pd.DataFrame:
    """Average the outcomes of each policy over all records.

    Returns
    -------
    DataFrame
        Indexed by policy, one column per measure in `MEASURES`.
    """
    weights = study.released
    rows = [averages(equilibrium, weights) for equilibrium in equilibria.values()]
    return pd.DataFrame(rows, index=pd.Index(list(equilibria), name="policy"), columns=columns_of(MEASURES))


def summary_of_run(study: TablesStudy, outcomes: Mapping[str, PolicyOutcome]) -> pd.DataFrame:
    """Return the measures of a run of a batch: those of every policy, and further ones that only some studies have."""
    equilibria = equilibria_of(outcomes)
    summary = summarise(study, equilibria)
    return summary.join(further_measures(study, equilibria)) if study.scenario.publisher.unit == "record" else summary


def run_tables(loaded: LoadedScenario[TablesScenario], report: Progress) -> RunResult:
    """Play every policy of a scenario about a table and compute the tables behind its figures."""
    clock = Clock()
    report("reading", 0, 1)
    study = build_study(loaded)
    clock.lap("build")
    try:
        outcomes = play(study, progress=lambda done, total: report("solving", done, total))
    except InputError as error:
        raise error.located(loaded.path) from None
    clock.lap("solve")
    equilibria = equilibria_of(outcomes)
    summary, records = summarise(study, equilibria), record_table(study, equilibria)
    clock.lap("tables")
    analysis = _analyse(study, outcomes, report)
    clock.lap("figures")
    facts = {
        **facts_of(study),
        **release_file_facts(loaded),
        "policies": facts_of_policies(study, outcomes),
    }
    manifest = make_manifest(loaded, clock.laps, facts)
    runs = run_table(loaded.name, loaded.scenario.seed, 0, summary)
    warnings = (*analysis.left_out, *warnings_of(study, outcomes))
    return RunResult(loaded.name, runs, records, analysis, manifest, warnings)


def _analyse(
    study: TablesStudy, outcomes: Mapping[str, PolicyOutcome], report: Progress
) -> RecordFigures | FullDomainTables:
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
