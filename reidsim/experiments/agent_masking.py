"""Running a masking scenario with agents: data subjects against several adversaries, round after round."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reidsim.agents.profile import Setting
from reidsim.experiments.agent_run import (
    PlayedPolicy,
    analysis_of,
    budget_warnings,
    play_policy,
    played_by,
    run_means,
    solver_facts,
    with_participation,
)
from reidsim.experiments.masking_policies import record_table
from reidsim.experiments.masking_run import game_warnings
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.game import MaskingGame
from reidsim.kinds.masking.rounds import setting_of
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.load import LoadedScenario
from reidsim.wording import counted


def describe_masking_agents(loaded: LoadedScenario[MaskingScenario]) -> str:
    """Put the world of the first replication together and say in a line how large it is."""
    study = build_masking_study(loaded)
    games = study.games(0)
    setting = subject_setting(study, games, loaded.scenario.subjects.policies[0])
    return (
        f"{counted(setting.n_subjects, 'data subject')}, {counted(setting.space.size, 'strategy', 'strategies')}, "
        f"{played_by(setting)}, {counted(loaded.scenario.replications, 'replication')}"
    )


def run_masking_agents(loaded: LoadedScenario[MaskingScenario], report: Progress) -> RunResult:
    """Play every policy of a masking scenario with agents; records are those of the last round of the first draw."""
    clock = Clock()
    report("reading", 0, 1)
    study = build_masking_study(loaded)
    clock.lap("build")
    scenario, agents = loaded.scenario, _agents_of(loaded.scenario)
    policies = scenario.subjects.policies
    runs: list[pd.DataFrame] = []
    played: list[PlayedPolicy] = []
    first: dict[str, PlayedPolicy] = {}
    warnings: tuple[str, ...] = ()
    for replication in range(scenario.replications):
        report("playing", replication, scenario.replications)
        games = study.games(replication)
        here = []
        for draw in range(agents.draws):
            for policy in policies:
                setting = subject_setting(study, games, policy, replication, draw)
                here.append(play_policy(setting, policy, replication=replication, draw=draw))
                first.setdefault(policy, here[-1])
        played += here
        runs.append(run_table(loaded.name, scenario.seed, replication, run_means(here, policies)))
        if replication == 0:
            last: dict[str, Equilibrium] = {policy: first[policy].last for policy in policies}
            records = record_table(study, games[0], last)
            warnings = (*budget_warnings(setting.profiles), *game_warnings(games[0], last))
            if agents.participation is not None:
                records = with_participation(records, first)
    clock.lap("play")
    facts = {
        "records": games[0].n_records,
        "strategies": games[0].space.size,
        "people": study.tables.n_people,
        "resources": {name: table.n_rows for name, table in games[0].world.resources.items()},
        "data_hash": study.fingerprint,
        **release_file_facts(loaded),
        "policies": solver_facts({policy: each.last for policy, each in first.items()}, np.arange(games[0].n_records)),
    }
    manifest = make_manifest(loaded, clock.laps, facts)
    table = pd.concat(runs, ignore_index=True)
    return RunResult(loaded.name, table, records, analysis_of(played), manifest, warnings, "subject")


def subject_setting(
    study: MaskingStudy, games: tuple[MaskingGame, MaskingGame], policy: str, replication: int = 0, draw: int = 0
) -> Setting:
    """Return the world in which data subjects follow a policy; see `reidsim.kinds.masking.rounds.setting_of`."""
    return setting_of(study, _agents_of(study.scenario), games, policy, replication, draw)


def _agents_of(scenario: MaskingScenario) -> AgentsSection:
    return scenario.agents or AgentsSection()
