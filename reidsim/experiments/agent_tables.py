"""Running a scenario about a table with agents: one publisher, several adversaries, round after round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from reidsim.experiments.agent_run import (
    analysis_of,
    budget_warnings,
    play_all,
    played_by,
    run_means,
    solver_facts,
    with_participation,
)
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.equilibrium import Equilibrium
from reidsim.kinds.tables.outcomes import facts_of, record_table, warnings_of_records, warnings_of_withheld
from reidsim.kinds.tables.policies import POLICIES, policy_named
from reidsim.kinds.tables.rounds import setting_of
from reidsim.kinds.tables.schema import TablesScenario
from reidsim.kinds.tables.study import TablesStudy, build_study
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.load import LoadedScenario
from reidsim.wording import counted


def describe_table_agents(loaded: LoadedScenario[TablesScenario]) -> str:
    """Put the world together and say in a line how large it is."""
    study = build_study(loaded)
    setting = setting_of(study, _agents_of(loaded))
    forms = counted(setting.space.size, "strategy", "strategies")
    records = counted(setting.n_cells, "distinct record")
    return f"{counted(setting.n_subjects, 'data subject')} with {records}, {forms}, {played_by(setting)}"


def run_table_agents(loaded: LoadedScenario[TablesScenario], report: Progress) -> RunResult:
    """Play every policy of a scenario about a table with agents; records are those of the last round."""
    clock = Clock()
    agents = _agents_of(loaded)
    report("reading", 0, 1)
    study = build_study(loaded)
    world = setting_of(study, agents)
    clock.lap("build")
    policies = loaded.scenario.publisher.policies
    played, first = play_all(world, policies, agents.draws, report)
    clock.lap("play")
    last = {policy: each.last for policy, each in first.items()}
    records = record_table(study, last)
    if agents.participation is not None:
        records = with_participation(records, first)
    clock.lap("tables")
    facts = {
        **facts_of(study),
        **release_file_facts(loaded),
        "policies": _facts_of_policies(study, last),
    }
    seed = loaded.scenario.seed
    manifest = make_manifest(loaded, clock.laps, facts)
    runs = run_table(loaded.name, seed, 0, run_means(played, policies))
    warnings = (*budget_warnings(world.profiles), *_warnings(study, last))
    return RunResult(loaded.name, runs, records, analysis_of(played), manifest, warnings)


def _facts_of_policies(study: TablesStudy, last: Mapping[str, Equilibrium]) -> dict[str, dict[str, object]]:
    """Say by policy what was chosen in the last round, and how."""
    facts = solver_facts(last, study.cell_of_record)
    unit = study.scenario.publisher.unit
    for policy, equilibrium in last.items():
        one_node = policy in POLICIES and POLICIES[policy].walks(unit) == "search"
        nodes = np.unique(equilibrium.strategies[~equilibrium.withheld]).tolist() if one_node else []
        facts[policy]["node"] = [study.lattice.describe(node) for node in nodes]
        facts[policy]["nodes_evaluated"] = int(equilibrium.evaluated.max(initial=0))
    return facts


def _warnings(study: TablesStudy, last: Mapping[str, Equilibrium]) -> Iterator[str]:
    """Yield what a reader should know about the records, and about the choices of the last round."""
    yield from warnings_of_records(study)
    publisher = study.scenario.publisher
    if publisher.unit == "record":
        yield from warnings_of_withheld(study, last)
        return
    for policy, equilibrium in last.items():
        if equilibrium.withheld.all():
            limit = publisher.suppression_limit
            yield f"{policy}: nothing pays in the last round while at most {limit:.0%} of the records are suppressed"
        if publisher.search == "anytime" and not equilibrium.exact and not policy_named(policy).is_rule:
            yield f"{policy}: the node of the last round is not proved optimal; another may pay more"


def _agents_of(loaded: LoadedScenario[TablesScenario]) -> AgentsSection:
    return loaded.scenario.agents or AgentsSection()
