"""Run cross-play: every defender against every adversary of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from reidsim.engine.batch import Executor
from reidsim.engine.batch.batch_run import Ended, Job, Keeping, run_job
from reidsim.engine.batch.design import Design
from reidsim.engine.batch.executors.choice import executor_named
from reidsim.engine.cross_play.once import CrossPlayWork, table_of
from reidsim.engine.cross_play.result import CrossPlayOptions, CrossPlayResult, with_equilibria
from reidsim.engine.results import begun, make_manifest
from reidsim.errors import InputError, locating
from reidsim.games.double_oracle import Sum
from reidsim.progress import watched
from reidsim.scenarios.load import Scenario
from reidsim.scenarios.read_keys import READ_BY_CROSS_PLAY
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import WHO_COMES, who_may_come, whoever_comes
from reidsim.scenarios.study import Progress


@watched
def cross_play(
    scenario: str | Path,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    knowledge: str | None = None,
    stages: str | Path | None = None,
    attack_rate: float = 0.5,
    equilibrium: bool = False,
    double_oracle: Sum | None = None,
    tolerance: float = 0.01,
    executor: str = "auto",
    workers: int | None = None,
    scheduler: str | None = None,
    timeout: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    rerun_failed: bool = False,
    progress: Progress | None = None,
) -> CrossPlayResult:
    """Play every defender against every adversary of a scenario.

    They play at every point and replication.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario with policies, or a TOML file.
    overrides : mapping of str to object, optional
        Values by key path that replace the scenario's.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    allow_code : bool
        Whether modules that the scenario names as adversary or policy may run.
    knowledge : str, optional
        Knowledge recipe of the adversary with partial knowledge; default: the scenario's recipe.
    stages : str or Path, optional
        Attack recipe of the multistage adversary; default: the scenario's recipe. Not for masking scenarios, which
        define their own stages.
    attack_rate : float
        Probability with which the random adversary attacks a record.
    equilibrium : bool
        Whether to compute optimal mixtures and equilibria of the payoffs.
    double_oracle : {"zero-sum", "general-sum"}, optional
        Whether to run the double oracle, which adds best replies to mixtures until no player can gain more than the
        tolerance. In the zero-sum game, the adversary minimizes the defender's payoff; in the general-sum game, it
        maximizes its own payoff.
    tolerance : float
        Tolerance of the double oracle, in currency units per record.
    executor, workers, scheduler, timeout, folder, resume, rerun_failed
        See `reidsim.run_batch`; only for scenarios with replications, a sweep or uncertain parameters.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    CrossPlayResult

    Raises
    ------
    InputError
        If the scenario or a file that it names cannot be used, or the scenario has no policies.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.cross_play("wan2015").matrix("regret")  # doctest: +SKIP
    >>> prices = {"sweep.values": {"economics.loss": [100, 300, 600]}}
    >>> reidsim.cross_play("wan2015", overrides=prices, folder="played").worst_cases  # doctest: +SKIP
    """
    if (resume or rerun_failed) and folder is None:
        raise InputError("no folder to resume from", where="folder", expected="the folder of a batch")
    loaded = Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code, also_read=READ_BY_CROSS_PLAY)
    options = CrossPlayOptions(
        knowledge,
        None if stages is None else str(stages),
        attack_rate,
        equilibrium=equilibrium,
        double_oracle=double_oracle,
        tolerance=tolerance,
    )
    named = executor_named(executor, workers=workers, scheduler=scheduler, timeout=timeout)
    if not has_several_plays(loaded.scenario):
        given = {"workers": workers, "scheduler": scheduler, "timeout": timeout, "folder": folder}
        if several := [name for name, value in given.items() if value is not None]:
            expected = "replications, sweep or uncertainty in the scenario"
            raise InputError("the scenario is a single run", source=loaded.path, found=several[0], expected=expected)
    return cross_play_loaded(
        loaded,
        options,
        executor=named,
        folder=None if folder is None else Path(folder),
        resume=resume,
        rerun_failed=rerun_failed,
        progress=progress,
    )


def has_several_plays(scenario: ScenarioHead) -> bool:
    """Return whether cross-play of a scenario is a batch.

    It is a batch if the scenario has replications, a sweep or uncertain parameters.
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
    """Return the cross-play of a loaded scenario; see `cross_play`."""
    options, loaded = options or CrossPlayOptions(), whoever_comes(loaded)
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
