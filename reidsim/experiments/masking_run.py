"""Running a scenario of the masking game: every policy, in every replication."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from reidsim.adversaries.knowledge.sets import count_sets, enumerate_sets
from reidsim.errors import InputError
from reidsim.experiments.masking_policies import play_policy, record_table, summarise
from reidsim.experiments.release_file import release_file_facts
from reidsim.experiments.results import Clock, make_manifest
from reidsim.experiments.run_result import AnalysisTables, Progress, RunResult, run_table
from reidsim.experiments.search_path import search_path_table
from reidsim.games.equilibrium import Equilibrium
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.partial_knowledge import PartialKnowledgeGame
from reidsim.kinds.masking.schema import MaskingScenario
from reidsim.kinds.masking.solving import GENERAL_SOLVERS
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.scenarios.load import LoadedScenario
from reidsim.wording import counted


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskingAnalysis(AnalysisTables):
    """Tables behind the figures of a masking game.

    Parameters
    ----------
    runtimes : DataFrame
        Seconds of each policy, by replication.
    search_path : DataFrame
        The strategies of a greedy search of one record, in the first replication.
    """

    runtimes: pd.DataFrame
    search_path: pd.DataFrame = field(default_factory=pd.DataFrame)


def describe_masking(loaded: LoadedScenario[MaskingScenario]) -> str:
    """Put the game of the first replication together and say in a line how large it is."""
    study = build_masking_study(loaded)
    game, _ = study.games(0)
    check_policies(study, game)
    resources = ", ".join(f"{name} of {table.n_rows:,}" for name, table in game.world.resources.items())
    known = ""
    if isinstance(game, PartialKnowledgeGame):
        linked = ", ".join(game.knowledge.attributes)
        known = f", up to {counted(count_sets(game.knowledge), 'knowledge set')} per subject, linked on {linked}"
    return (
        f"{counted(game.n_records, 'subject')}, {counted(game.space.size, 'strategy', 'strategies')}, {resources}, "
        f"{counted(loaded.scenario.replications, 'replication')}{known}"
    )


def run_masking(loaded: LoadedScenario[MaskingScenario], report: Progress) -> RunResult:
    """Play every policy of a scenario of the masking game in every replication."""
    clock = Clock()
    report("reading", 0, 1)
    study = build_masking_study(loaded)
    clock.lap("build")
    scenario = loaded.scenario
    warnings: tuple[str, ...] = ()
    rows, runtimes, solvers, records, path = [], [], {}, pd.DataFrame(), pd.DataFrame()
    for replication in range(scenario.replications):
        report("playing", replication, scenario.replications)
        truth, believed = study.games(replication)
        if replication == 0:
            check_policies(study, truth)
        equilibria: dict[str, Equilibrium] = {}
        for policy in scenario.subjects.policies:
            begun = time.perf_counter()
            equilibria[policy] = play_policy(study, policy, replication)
            seconds = time.perf_counter() - begun
            runtimes.append({"replication": replication, "policy": policy, "seconds": seconds})
        rows.append(run_table(loaded.name, scenario.seed, replication, summarise(study, truth, equilibria)))
        if replication == 0:
            records = record_table(study, truth, equilibria)
            path = search_path(study, truth, believed, equilibria)
            warnings = game_warnings(truth, equilibria)
            solvers = {
                policy: {
                    "solver": equilibrium.solver,
                    "proved_optimal": equilibrium.exact,
                    "strategies_evaluated_per_record": round(float(equilibrium.evaluated.mean()), 3),
                    "withheld": int(equilibrium.withheld.sum()),
                    **({} if equilibrium.gap is None else {"largest_gap": float(equilibrium.gap.max())}),
                }
                for policy, equilibrium in equilibria.items()
            }
    clock.lap("play")
    facts = {
        "records": truth.n_records,
        "strategies": truth.space.size,
        "people": study.tables.n_people,
        "resources": {name: table.n_rows for name, table in truth.world.resources.items()},
        "data_hash": study.fingerprint,
        **release_file_facts(loaded),
        "policies": solvers,
    }
    if isinstance(truth, PartialKnowledgeGame):
        facts["knowledge"] = _knowledge_facts(truth)
    manifest = make_manifest(loaded, clock.laps, facts)
    analysis = MaskingAnalysis(runtimes=pd.DataFrame(runtimes), search_path=path)
    return RunResult(loaded.name, pd.concat(rows, ignore_index=True), records, analysis, manifest, warnings, "subject")


def search_path(
    study: MaskingStudy, truth: MaskingGame, believed: MaskingGame, equilibria: Mapping[str, Equilibrium]
) -> pd.DataFrame:
    """Return the greedy search of the record that the scenario names; an empty table if it names none."""
    record = study.scenario.figures.search_path
    if record is None:
        return pd.DataFrame()

    def label(attribute: str, value: int) -> str:
        return study.tables.label(attribute, np.array([value]))[0]

    return search_path_table(truth, believed, record, equilibria, label)


def _knowledge_facts(game: PartialKnowledgeGame) -> dict[str, object]:
    """Say how success probabilities were worked out, and what the sources cost."""
    known = game.knowledge
    return {
        "method": "exact",
        "knowledge_sets": enumerate_sets(known).n_sets,
        "linked_on": list(known.attributes),
        "price": known.total_price,
    }


def game_warnings(game: MaskingGame, equilibria: Mapping[str, Equilibrium]) -> tuple[str, ...]:
    """Return what a reader of the outcomes should know about the targets and the strategies found."""
    warnings = []
    registered = game.world.registered
    if registered is not None and not registered.all():
        warnings.append(
            f"{int((~registered).sum())} of {game.n_records} targets are not in resource "
            f"{game.attack.identify.resource!r}; no attack on them succeeds"
        )
    for policy, equilibrium in equilibria.items():
        if equilibrium.gap is not None and equilibrium.gap.any():
            warnings.append(
                f"{policy}: {int((equilibrium.gap > 0).sum())} of {game.n_records} strategies are not proved optimal; "
                f"a better one could pay at most {equilibrium.gap.max():,.2f} more"
            )
    return tuple(warnings)


def check_policies(study: MaskingStudy, game: MaskingGame) -> None:
    """Refuse what a policy cannot do before anything is played."""
    section, adversary = study.scenario.subjects, study.scenario.adversary
    if "k-anonymity" in section.policies and game.n_records < section.k:
        raise InputError(
            "too few records for k-anonymity", source=study.loaded.path, where="subjects.k", found=section.k,
            expected=f"at most {game.n_records}, the number of subjects",
        )  # fmt: skip
    if game.is_compiled or section.solver in GENERAL_SOLVERS:
        return
    stages = ", ".join(stage.stage for stage in adversary.stages)
    attacked = "partial knowledge" if adversary.knowledge is not None else f"an attack of the stages {stages}"
    against = attacked if adversary.planner == "one-shot" else f"planner {adversary.planner!r}"
    raise InputError(
        f"not against {against}", source=study.loaded.path, where="subjects.solver", found=section.solver,
        expected=f"one of {', '.join(GENERAL_SOLVERS)}",
    )  # fmt: skip
