"""Running a masking scenario with agents: data subjects against several adversaries, round after round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from reidsim.adversaries.multistage.attack import MultistageAttack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.agents.profile import Setting
from reidsim.errors import InputError
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
from reidsim.experiments.masking_policies import play_policy as solve_alone
from reidsim.experiments.masking_policies import record_table
from reidsim.experiments.masking_run import game_warnings
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.defenders.defender import withholding
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.several_adversaries import best_against_several
from reidsim.games.record_game import WITHHELD, Choice, RecordGame
from reidsim.scenarios.agents_masking import FIXED_POLICIES, masking_setting
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.load import LoadedScenario
from reidsim.scenarios.masking import MaskingStudy, build_masking_study
from reidsim.scenarios.masking_schema import MaskingPolicy, MaskingScenario
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
            last: dict[MaskingPolicy, Equilibrium] = {policy: first[policy].last for policy in policies}
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
    """Return the world in which data subjects follow a policy.

    Parameters
    ----------
    study : MaskingStudy
    games : tuple of MaskingGame
        As they are and as subjects believe them to be, in this replication.
    policy : str
    replication, draw : int
        Which draw of the tables, and which of several runs of all rounds on it.
    """
    agents = _agents_of(study.scenario)
    solve = solver_of(study, games[1], replication)
    return masking_setting(study, agents, games, policy, solve, replication * agents.draws + draw)


def solver_of(study: MaskingStudy, believed: MaskingGame, replication: int) -> Callable[[str, RecordGame], Choice]:
    """Return what picks the strategies of a policy against any adversaries.

    One adversary who attacks in stages is played by the scenario's own solver, several by best-first search where they
    attack in two stages at most, and else by branch and bound.
    """

    def solve(policy: str, game: RecordGame) -> Choice:
        alone = isinstance(game.adversary, MultistageAttack) and isinstance(game.linker, MultistageLinker)
        if alone or policy in FIXED_POLICIES:
            played = believed if policy in FIXED_POLICIES else _as_masking_game(believed, game)
            found = solve_alone(study, played, played, policy, replication)  # type: ignore[arg-type]
            return Choice(found.strategies, found.solver, found.evaluated, found.exact)
        if policy == "opt-in":
            everything = np.full(game.n_records, game.space.most_specific, dtype=np.int64)
            payoff = game.outcome(game.space.most_specific).publisher_payoff
            one = np.ones(game.n_records, dtype=np.int64)
            return Choice(np.where(payoff > 0, everything, WITHHELD), policy, one, exact=True)
        if policy in ("masking", "no-attack-masking", "one-stage-masking"):
            return withholding(game, best_against_several(game, no_attack=policy == "no-attack-masking"))
        raise InputError(
            "not against several adversaries", source=study.loaded.path, where="subjects.policies", found=policy
        )

    return solve


def _as_masking_game(believed: MaskingGame, game: RecordGame) -> MaskingGame:
    """Return a record game against one adversary who attacks in stages as a game of the compiled solvers."""
    assert isinstance(game.adversary, MultistageAttack)  # noqa: S101 # as the caller has seen
    assert isinstance(game.linker, MultistageLinker)  # noqa: S101
    return type(believed)(believed.space, game.adversary, game.linker.world, game.benefit, game.loss)


def _agents_of(scenario: MaskingScenario) -> AgentsSection:
    return scenario.agents or AgentsSection()
