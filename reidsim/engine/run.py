"""Run a scenario, given its name or file.

Return the result in memory or write it to a folder.
"""

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
from reidsim.scenarios.load import Scenario
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
    """Return the result of one run of a scenario.

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
        If the scenario or a file that it names cannot be used.

    Examples
    --------
    >>> import reidsim
    >>> result = reidsim.run("wan2015", overrides={"economics.loss": 600})  # doctest: +SKIP
    >>> result.summary["publisher_payoff"]  # doctest: +SKIP
    """
    return run_loaded(Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code), progress=progress)


def run_loaded(loaded: Scenario[ScenarioHead], *, progress: Progress | None = None) -> RunResult:
    """Return the result of a loaded scenario, in memory; see `run`."""
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
    """Return the result of all points and replications of a scenario.

    Parameters
    ----------
    scenario, overrides, seed, allow_code, progress
        See `run`.
    executor : str
        ``"serial"`` (runs in this process), ``"processes"`` (in several processes of this computer), ``"dask"`` (on a
        dask cluster), or ``"auto"`` (in this process; in several processes if the batch takes more than a few seconds).
    workers : int, optional
        Number of processes; default: the number of cores, if memory suffices.
    scheduler : str, optional
        Address of a dask cluster's scheduler; default: start a cluster on this computer.
    timeout : float, optional
        Seconds after which a run is stopped and reported as failed; only with executor ``"processes"``.
    folder : str or Path, optional
        New results folder. If the batch fails, it keeps the finished runs.
    resume : bool
        Whether to continue the batch in the folder.
    rerun_failed : bool
        Whether to continue the batch in the folder and repeat its failed runs.

    Returns
    -------
    RunResult
        A `BatchResult` with statistics over runs. For a masking scenario with replications only (no sweep, no uncertain
        parameters), the same result as from `run`.

    Raises
    ------
    InputError
        If the scenario or a file that it names cannot be used, or the folder is in use.

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
        Scenario.load(scenario, overrides, seed=seed, allow_code=allow_code),
        executor_named(executor, workers=workers, scheduler=scheduler, timeout=timeout),
        folder=None if folder is None else Path(folder),
        resume=resume,
        rerun_failed=rerun_failed,
        progress=progress,
    )


def describe(loaded: Scenario[ScenarioHead]) -> str:
    """Check that all files and parts of a scenario can be used.

    Return a one-line description of its size.

    Raises
    ------
    InputError
        If a file, value or hierarchy cannot be used, or the game lacks a requested output or part.
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
