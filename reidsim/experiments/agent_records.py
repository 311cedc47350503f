"""Running a record-level scenario with agents."""

from __future__ import annotations

from reidsim.agents.profile import Setting
from reidsim.experiments.agent_run import (
    analysis_of,
    budget_warnings,
    play_all,
    played_by,
    run_means,
    solver_facts,
    with_participation,
)
from reidsim.experiments.record_level import constraint_of, fixed_choice, is_fixed, record_table
from reidsim.experiments.record_run import study_warnings
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.lattice_search import lattice_search
from reidsim.games.record_game import Choice, RecordGame
from reidsim.scenarios.agents_records import record_setting
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.build import RecordStudy, build_study
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.schema import RecordScenario
from reidsim.wording import counted


def agent_setting(study: RecordStudy, agents: AgentsSection) -> Setting:
    """Return the world of a record-level study; its policies are those of the study.

    Raises
    ------
    InputError
        If a type of adversary cannot be used.
    """
    solver = study.scenario.publisher.solver

    def solve(policy: str, game: RecordGame) -> Choice:
        if is_fixed(policy):
            return fixed_choice(policy, study)
        constraint = constraint_of(policy, study)
        if solver == "backward-induction":
            return backward_induction(game, {policy: constraint})[policy]
        return branch_and_bound(game, constraint) if solver == "branch-and-bound" else lattice_search(game)

    return record_setting(study, agents, solve, is_fixed)


def describe_record_agents(loaded: LoadedScenario[RecordScenario]) -> str:
    """Put the world together and say in a line how large it is."""
    study = build_study(loaded)
    setting = agent_setting(study, _agents_of(loaded))
    forms = counted(setting.space.size, "strategy", "strategies")
    records = counted(setting.n_cells, "distinct record")
    return f"{counted(setting.n_subjects, 'data subject')} with {records}, {forms}, {played_by(setting)}"


def run_record_agents(loaded: LoadedScenario[RecordScenario], report: Progress) -> RunResult:
    """Play every policy of a record-level scenario with agents; records are those of the last round."""
    clock = Clock()
    agents = _agents_of(loaded)
    report("reading", 0, 1)
    study = build_study(loaded)
    world = agent_setting(study, agents)
    clock.lap("build")
    policies = loaded.scenario.publisher.policies
    played, first = play_all(world, policies, agents.draws, report)
    clock.lap("play")
    analysis = analysis_of(played)
    last = {policy: each.last for policy, each in first.items()}
    records = record_table(study, last)
    if agents.participation is not None:
        records = with_participation(records, first)
    clock.lap("tables")
    facts = {
        "records": study.n_records,
        "distinct_cells": study.lattice.n_records,
        "strategies": study.lattice.size,
        "population": study.linked_population.name,
        "people": study.linked_population.total,
        "data_hash": study.fingerprint,
        **release_file_facts(loaded),
        "policies": solver_facts(last, study.cell_of_record),
    }
    seed = loaded.scenario.seed
    manifest = make_manifest(loaded, clock.laps, facts)
    runs = run_table(loaded.name, seed, 0, run_means(played, policies))
    warnings = (*budget_warnings(world.profiles), *study_warnings(study, last))
    return RunResult(loaded.name, runs, records, analysis, manifest, warnings)


def _agents_of(loaded: LoadedScenario[RecordScenario]) -> AgentsSection:
    return loaded.scenario.agents or AgentsSection()
