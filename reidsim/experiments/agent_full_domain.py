"""Running a scenario at dataset level with agents: one publisher of a whole table, several adversaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.agents.profile import Setting
from reidsim.errors import InputError, listed
from reidsim.experiments.agent_run import (
    analysis_of,
    budget_warnings,
    play_all,
    played_by,
    run_means,
    with_participation,
)
from reidsim.experiments.full_domain_policies import fixed_strategies, node_strategies, planned_game
from reidsim.experiments.full_domain_policies import solve as solve_node
from reidsim.experiments.full_domain_run import full_domain_warnings
from reidsim.experiments.record_level import is_fixed, outcomes_by_record
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import Progress, RunResult, run_table
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import Equilibrium, evaluate
from reidsim.games.full_domain.any_adversary import AnyAdversaryGame
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.prices import Prices
from reidsim.games.full_domain.record_level import record_level
from reidsim.games.record_game import WITHHELD, Choice, Constraint, RecordGame
from reidsim.scenarios.agents_full_domain import full_domain_setting
from reidsim.scenarios.agents_schema import AgentsSection
from reidsim.scenarios.full_domain import FullDomainStudy, build_full_domain
from reidsim.scenarios.full_domain_schema import AGENT_POLICIES, NODE_POLICIES, FullDomainScenario
from reidsim.scenarios.load import LoadedScenario
from reidsim.wording import counted


def dataset_setting(study: FullDomainStudy, agents: AgentsSection) -> Setting:
    """Return the world of a study at dataset level; its policies are those of the study.

    Raises
    ------
    InputError
        If a type of adversary cannot be used.
    """
    return full_domain_setting(study, agents, choose, is_fixed)


def choose(study: FullDomainStudy, policy: str, game: RecordGame) -> Choice:
    """Pick the form of each cell's records in the game that the publisher believes in.

    A single one-shot adversary who knows everything is played by the scenario's own solver, any others by the same
    search with their replies to each record.

    Parameters
    ----------
    study : FullDomainStudy
        On the records of those who take part.
    policy : str
        One that can be played with agents.
    game : RecordGame
        Against the adversaries as the publisher believes them to be.

    Raises
    ------
    InputError
        If the policy cannot be played with agents.
    """
    require_playable(study, policy)
    n = study.lattice.n_records
    if is_fixed(policy):
        return Choice(fixed_strategies(policy, study), "fixed", np.zeros(n, dtype=np.int64), exact=False)
    played = _believed(study, policy, game)
    if policy.startswith("record-level"):
        return _record_level(played)
    solution, _ = solve_node(study, played)
    evaluated = np.full(n, solution.evaluated, dtype=np.int64)
    strategies = node_strategies(played, int(solution.nodes[0]))
    return Choice(strategies, study.scenario.publisher.search, evaluated, exact=solution.exact)


def require_playable(study: FullDomainStudy, policy: str) -> None:
    """Check that a policy can be played with agents.

    Raises
    ------
    InputError
        Names the file.
    """
    if policy not in AGENT_POLICIES:
        raise InputError(
            "not a policy of scenarios with agents", source=study.loaded.path, where="publisher.policies",
            found=policy, expected=f"among {listed(AGENT_POLICIES)}",
        )  # fmt: skip


def _believed(study: FullDomainStudy, policy: str, game: RecordGame) -> FullDomainGame:
    """Return the game of the whole dataset against the adversaries of a record game."""
    prices, adversary = study.believed(study.prices), game.adversary
    alone = study.record_game(study.linker(study.planned_risk), prices)
    # A publisher who foresees purchases also looks at games with higher losses.
    same = game.linker is alone.linker and np.array_equal(game.loss, alone.loss)
    if not (same and isinstance(adversary, OneShotAdversary)):
        return AnyAdversaryGame.of(planned_game(study, policy, study.planned_risk, prices), game)
    own = Prices(prices.benefit, prices.loss, np.asarray(adversary.gain), np.asarray(adversary.cost))
    return planned_game(study, policy, study.planned_risk, own)


def _record_level(played: FullDomainGame) -> Choice:
    n = played.lattice.n_records
    if not isinstance(played, AnyAdversaryGame):
        best = record_level(played)
        return Choice(best.strategies[0], "record-level", np.full(n, best.evaluated, dtype=np.int64), exact=True)
    game, minimum = played.record_game, np.full(n, played.lattice.index(played.lowest), dtype=np.int64)
    choice = branch_and_bound(game, Constraint(no_attack=played.no_attack, minimum=minimum))
    pays = evaluate(game, choice).publisher_payoff > game.tie()
    return replace(choice, strategies=np.where(pays, choice.strategies, WITHHELD))


def describe_full_domain_agents(loaded: LoadedScenario[FullDomainScenario]) -> str:
    """Put the world together and say in a line how large it is."""
    study = build_full_domain(loaded)
    setting = dataset_setting(study, _agents_of(loaded))
    forms = counted(setting.space.size, "node")
    records = counted(setting.n_cells, "distinct record")
    return f"{counted(setting.n_subjects, 'data subject')} with {records}, {forms}, {played_by(setting)}"


def run_full_domain_agents(loaded: LoadedScenario[FullDomainScenario], report: Progress) -> RunResult:
    """Play every policy of a scenario at dataset level with agents; records are those of the last round."""
    clock = Clock()
    agents = _agents_of(loaded)
    report("reading", 0, 1)
    study = build_full_domain(loaded)
    world = dataset_setting(study, agents)
    clock.lap("build")
    policies = loaded.scenario.publisher.policies
    played, first = play_all(world, policies, agents.draws, report)
    clock.lap("play")
    last = {policy: each.last for policy, each in first.items()}
    records = outcomes_by_record(study.lattice, study.cell_of_record, last)
    if agents.participation is not None:
        records = with_participation(records, first)
    clock.lap("tables")
    facts = {
        "records": study.n_records,
        "distinct_cells": study.lattice.n_records,
        "nodes": study.lattice.size,
        "population": None if study.population is None else study.population.name,
        "people": None if study.population is None else study.population.total,
        "data_hash": study.fingerprint,
        **release_file_facts(loaded),
        "policies": _policy_facts(study, last),
    }
    seed = loaded.scenario.seed
    manifest = make_manifest(loaded, clock.laps, facts)
    runs = run_table(loaded.name, seed, 0, run_means(played, policies))
    warnings = (*budget_warnings(world.profiles), *_warnings(study, last))
    return RunResult(loaded.name, runs, records, analysis_of(played), manifest, warnings)


def _policy_facts(study: FullDomainStudy, last: Mapping[str, Equilibrium]) -> dict[str, dict[str, object]]:
    """Say by policy what was chosen in the last round, and how."""
    facts = {}
    for policy, equilibrium in last.items():
        nodes = np.unique(equilibrium.strategies[~equilibrium.withheld]).tolist() if policy in NODE_POLICIES else []
        facts[policy] = {
            "node": [study.lattice.describe(node) for node in nodes],
            "solver": equilibrium.solver,
            "proved_optimal": equilibrium.exact,
            "nodes_evaluated": int(equilibrium.evaluated.max()),
        }
    return facts


def _warnings(study: FullDomainStudy, last: Mapping[str, Equilibrium]) -> Iterator[str]:
    """Yield what a reader should know about the records, and about the choices of the last round."""
    yield from full_domain_warnings(study, {})
    publisher = study.scenario.publisher
    for policy, equilibrium in last.items():
        if equilibrium.withheld.all():
            limit = publisher.suppression_limit
            yield f"{policy}: nothing pays in the last round while at most {limit:.0%} of the records are suppressed"
        if publisher.search == "anytime" and not equilibrium.exact and not is_fixed(policy):
            yield f"{policy}: the node of the last round is not proved optimal; another may pay more"


def _agents_of(loaded: LoadedScenario[FullDomainScenario]) -> AgentsSection:
    return loaded.scenario.agents or AgentsSection()
