"""Run a scenario of any kind once, at its own values."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pandas as pd

from reidsim.engine.results import RunResult, begun, make_manifest, release_file_facts, run_table
from reidsim.engine.rounds import describe_rounds, play_rounds
from reidsim.errors import locating
from reidsim.games.reidentified import Reidentified, distribution_table, evenly_mixed, measures_table
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.registry import kind_of
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.study import Played, Progress, Study, equilibria_of

_LOGGER = logging.getLogger(__name__)
# Manifest key of the publisher's expected loss under each policy, in currency units per person.
EXPECTED_LOSSES = "expected_losses"


def run_once(
    loaded: Scenario[ScenarioHead],
    *,
    study: Study[Any] | None = None,
    progress: Progress | None = None,
    explain: bool = False,
) -> RunResult:
    """Return the result of one run of a scenario, at its own values.

    Parameters
    ----------
    loaded : Scenario
    study : Study, optional
        Study of the scenario; built from `loaded` if not given.
    progress : callable, optional
        Called with the task, the completed steps and all steps.
    explain : bool
        Whether to find the wrong beliefs by which guarantees fail in scenarios with agents, by playing the policies
        again without these beliefs; see `broken_guarantees`.

    Raises
    ------
    InputError
        If a file, adversary or policy that the scenario names cannot be used, or a policy cannot be played.
    """
    kind, clock, report = begun(loaded, progress)
    study = study or kind.build(loaded)
    clock.lap("build")
    _LOGGER.info("%s: data read in %.2f s", loaded.name, clock.laps["build"])
    with locating(loaded.path):
        if not kind.decides:
            played = _assess(study, report)
        elif kind.in_rounds(loaded.scenario):
            played = play_rounds(study, report, explain=explain)
        else:
            played = play_policies(study, report)
    clock.lap("play")
    _LOGGER.info("%s: policies evaluated in %.2f s", loaded.name, clock.laps["play"])
    for warning in played.warnings:
        _LOGGER.warning("%s: %s", loaded.name, warning)
    facts = {**(kind.facts(study) if kind.decides else {}), **release_file_facts(loaded), **played.facts}
    manifest = make_manifest(loaded, clock.laps, facts)
    return RunResult(
        loaded.name, played.runs, played.records, played.analysis, manifest, played.warnings, played.by, played.measured
    )


def check_once(loaded: Scenario[ScenarioHead]) -> str:
    """Check all inputs of one run of a scenario; return one line on its size.

    No game is solved.

    Raises
    ------
    InputError
        If a file, adversary or policy that the scenario names cannot be used.
    """
    loaded.makers()
    kind = kind_of(loaded.scenario)
    study = kind.build(loaded)
    with locating(loaded.path):
        return describe_rounds(study) if kind.in_rounds(loaded.scenario) else kind.describe(study)


def play_policies(study: Study[Any], report: Progress) -> Played:
    """Return the outcomes of every policy in every draw of a study without rounds.

    Records, facts, warnings and most tables for figures are from the first draw. Runtimes and the distribution of the
    number of people re-identified cover all draws.
    """
    kind, scenario = kind_of(study.scenario), study.scenario
    runs, runtimes = [], []
    people: dict[str, list[Reidentified]] = {}
    for draw in range(study.draws):
        single = study.draws == 1
        if not single:
            report("playing", draw, study.draws)
        outcomes = kind.play(study, draw, progress=(lambda *done: report("playing", *done)) if single else None)
        equilibria = equilibria_of(outcomes)
        found = kind.reidentified(study, draw, equilibria)
        summary = kind.summarise(study, draw, equilibria).join(measures_table(found))
        for policy, each in found.items():
            people.setdefault(policy, []).append(each)
        runs.append(run_table(study.loaded.name, scenario.seed, draw, summary))
        seconds = kind.runtimes(outcomes)
        seconds.insert(0, "replication", draw)
        runtimes.append(seconds)
        if draw == 0:
            records = kind.records(study, draw, equilibria)
            analysis = kind.analyse(study, outcomes, report)
            warnings = (*analysis.left_out, *kind.warnings(study, draw, outcomes))
            facts = {"policies": kind.facts_of_policies(study, outcomes)}
    mixed = {policy: evenly_mixed(each) for policy, each in people.items()}
    analysis = replace(
        analysis, runtimes=pd.concat(runtimes, ignore_index=True), reidentified=distribution_table(mixed)
    )
    losses = {name: each.lost / each.n for name, each in mixed.items() if each.lost is not None}
    return Played(pd.concat(runs, ignore_index=True), records, analysis, {**facts, EXPECTED_LOSSES: losses}, warnings)


def _assess(study: Study[Any], report: Progress) -> Played:
    """Return the outcomes of a scenario without a decision maker, as an assessment."""
    found = kind_of(study.scenario).assess(study, report)
    runs = found.runs.assign(state="complete", seed=study.scenario.seed)
    runs.insert(0, "scenario", study.loaded.name)
    return replace(found, runs=runs)
