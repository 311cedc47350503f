"""Running a scenario: from its name or file to a result in memory or in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reidsim.engine.batch.batch_run import run_batch_loaded
from reidsim.engine.batch.design import at_point, check_points, design_of, has_several_runs, is_batch
from reidsim.engine.batch.executors.choice import executor_named
from reidsim.engine.run_result import RunResult
from reidsim.engine.single_run import check_once, run_once
from reidsim.engine.stress.checks import check_stress
from reidsim.errors import InputError
from reidsim.progress import watched
from reidsim.scenarios.load import LoadedScenario, load_scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.scenarios.several_adversaries import whoever_comes
from reidsim.scenarios.study import Progress
from reidsim.wording import counted


@watched
def run(
    scenario: str | Path,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Run a scenario.

    Parameters
    ----------
    scenario : str or Path
        Name of a bundled scenario, such as ``"wan2015"``, or a TOML file.
    overrides : mapping of str to object, optional
        Values by key path that replace the scenario's, such as ``{"economics.loss": 600}``.
    seed : int, optional
        Root of all random draws; the scenario's, if not given.
    allow_code : bool
        Whether modules that the scenario names as adversary or policy may run.
    progress : callable, optional
        Called with the task, the completed steps and all steps.

    Returns
    -------
    RunResult

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used.

    Examples
    --------
    >>> import reidsim
    >>> result = reidsim.run("wan2015", overrides={"economics.loss": 600})  # doctest: +SKIP
    >>> result.summary["publisher_payoff"]  # doctest: +SKIP
    """
    return run_loaded(load_scenario(scenario, overrides, seed=seed, allow_code=allow_code), progress=progress)


def run_loaded(loaded: LoadedScenario[ScenarioHead], *, progress: Progress | None = None) -> RunResult:
    """Run a scenario that has been read, in memory; see `run`."""
    if is_batch(loaded.scenario):
        return run_batch_loaded(loaded, progress=progress)
    return run_once(loaded, progress=progress, explain=True)


@watched
def run_batch(
    scenario: str | Path,
    *,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    allow_code: bool = False,
    executor: str = "auto",
    workers: int | None = None,
    scheduler: str | None = None,
    timeout: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    rerun_failed: bool = False,
    progress: Progress | None = None,
) -> RunResult:
    """Run every point and replication of a scenario.

    Parameters
    ----------
    scenario, overrides, seed, allow_code, progress
        As of `run`.
    executor : str
        Where runs are done: ``"serial"`` (in this process), ``"processes"`` (of this computer), ``"dask"``, or
        ``"auto"``: in this process, and in several if that takes more than some seconds.
    workers : int, optional
        Processes; as many as there are cores, if not given.
    scheduler : str, optional
        Address of a dask cluster; one of this computer is started, if not given.
    timeout : float, optional
        Seconds after which a run is given up (in processes only).
    folder : str or Path, optional
        New results folder. Runs that ended are kept there if the batch fails.
    resume : bool
        Go on with the batch of the folder.
    rerun_failed : bool
        Go on with it, and repeat its failed runs.

    Returns
    -------
    RunResult
        A `BatchResult`, with statistics over runs; for replications of the masking game alone, the result of `run`.

    Raises
    ------
    InputError
        If the scenario or a file it names cannot be used, or the folder is taken.

    Examples
    --------
    >>> import reidsim
    >>> sweep = {"sweep.values": {"economics.loss": [100, 300, 600]}}
    >>> result = reidsim.run_batch("wan2015", overrides=sweep, executor="processes", folder="out")  # doctest: +SKIP
    >>> result.statistics  # doctest: +SKIP
    """
    if (resume or rerun_failed) and folder is None:
        raise InputError("no folder to resume from", where="folder", expected="the folder of a batch")
    return run_batch_loaded(
        load_scenario(scenario, overrides, seed=seed, allow_code=allow_code),
        executor_named(executor, workers=workers, scheduler=scheduler, timeout=timeout),
        folder=None if folder is None else Path(folder),
        resume=resume,
        rerun_failed=rerun_failed,
        progress=progress,
    )


def describe(loaded: LoadedScenario[ScenarioHead]) -> str:
    """Check that all files and parts of a scenario can be used; return its size in a line.

    Raises
    ------
    InputError
        If a file, value or hierarchy cannot be used, or the game has no such output or part.
    """
    if loaded.scenario.stress is not None:
        check_stress(loaded)
    loaded = whoever_comes(loaded)
    if not is_batch(loaded.scenario):
        if has_several_runs(loaded.scenario):
            design_of(loaded)
        return check_once(loaded)
    design = design_of(loaded)
    check_points(loaded, design)
    first = check_once(at_point(loaded, design.values(0)))
    points = f"{counted(len(design.points), 'point')}, {counted(design.replications, 'replication')} of each"
    return f"{points}; the first: {first}"
