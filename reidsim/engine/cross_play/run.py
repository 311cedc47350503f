"""Run cross-play: every defender against every adversary of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from reidsim.engine.batch import Executor
from reidsim.engine.batch.batch_run import Ended, Job, Keeping, run_job
from reidsim.engine.batch.design import Design
from reidsim.engine.cross_play.result import CrossPlayOptions, CrossPlayResult, with_equilibria
from reidsim.engine.cross_play.single_play import CrossPlayWork, table_of
from reidsim.engine.results import begun, make_manifest
from reidsim.errors import locating
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES, who_may_come, without_adversary_uncertainty
from reidsim.scenarios.study import Progress


def has_several_plays(scenario: ScenarioHead) -> bool:
    """Return whether cross-play of a scenario is a batch.

    It is a batch if the scenario has several replications, a sweep, or uncertain parameters other than the choice among
    named adversaries: in cross-play, all of these play.
    """
    drawn = scenario.uncertainty is not None and set(scenario.uncertainty.parameters) > set(
        (WHO_COMES,) if who_may_come(scenario.uncertainty) else ()
    )
    return scenario.replications > 1 or scenario.sweep is not None or drawn


def cross_play_loaded(
    loaded: Scenario[ScenarioHead],
    options: CrossPlayOptions | None = None,
    executor: Executor | None = None,
    **keeping: Unpack[Keeping],
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario."""
    options, loaded = options or CrossPlayOptions(), without_adversary_uncertainty(loaded)
    if not has_several_plays(loaded.scenario):
        return _once(loaded, options, keeping.get("progress"))
    return run_job(CrossPlayJob(options), loaded, executor, **keeping)


def _once(loaded: Scenario[ScenarioHead], options: CrossPlayOptions, progress: Progress | None) -> CrossPlayResult:
    """Play once, at the scenario's own values; an error in a game is raised."""
    kind, clock, report = begun(loaded, progress)
    with locating(loaded.path):
        # Called before data are read, so that a scenario without policies fails at once.
        kind.policies_of(loaded.scenario)
        table = table_of(kind.build(loaded), options)
        clock.lap("build")
        tables, warnings = table.play(options, report)
    clock.lap("play")
    facts = {"cross_play": options.facts, "own_adversary": table.opponents.own, **kind.facts(table.study)}
    manifest = make_manifest(loaded, clock.laps, facts)
    result = CrossPlayResult(loaded.name, tables.pop("runs"), manifest, warnings, replies=tables)
    return with_equilibria(result, options)


class CrossPlayJob(Job[CrossPlayResult]):
    """The batch job that plays every defender against every adversary in each run.

    Parameters
    ----------
    options : CrossPlayOptions
    """

    table = "cross_play"

    def __init__(self, options: CrossPlayOptions) -> None:
        self._options = options
        self.options = {"cross_play": options.facts}

    def work(self, loaded: Scenario[ScenarioHead], design: Design) -> CrossPlayWork:
        """Return the callable that does one run of cross-play."""
        return CrossPlayWork(loaded, self._options)

    def result(self, ended: Ended) -> CrossPlayResult:
        """Return the result of the batch."""
        tables = ended.tables
        runs = tables[self.table if ended.stored else "runs"]
        replies = {name: table for name, table in tables.items() if name.startswith("double_oracle")}
        found = CrossPlayResult(ended.loaded.name, runs, ended.manifest, ended.warnings, ended.design, replies)
        result = with_equilibria(found, self._options)
        # The stored warnings already include the warnings about equilibria.
        return replace(result, warnings=ended.warnings) if ended.stored else result
