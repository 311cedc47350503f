"""The command that tests how uncertain parameters change a decision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from reidsim.commands import arguments
from reidsim.commands.batch import ExecutorOption, SchedulerOption, TimeoutOption, WorkersOption
from reidsim.interrupts import stop_if_interrupted


def stress(
    scenario: arguments.ScenarioArgument,
    output: arguments.ResultsOption = None,
    method: Annotated[
        Literal["sobol", "morris"] | None, typer.Option("--method", help="Compute sensitivity by this method.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Base samples or trajectories of the sensitivity analysis.", min=2)
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", help="Folder that keeps finished runs for later commands."),
    ] = None,
    executor: ExecutorOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    timeout: TimeoutOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    group_readable: arguments.GroupReadableOption = False,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Test how uncertain parameters change the decision: sensitivity, robustness, mistaken beliefs.

    Example: reidsim stress wan2015-stress --method morris -o results/screening

    Example: reidsim stress wan2015-stress
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    from reidsim.engine.batch.journal import telling_kept

    how_to_go_on = f"the same command with --runs {runs} goes on from there"
    with telling_kept(runs, how_to_go_on), arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.batch.executors.choice import executor_named
        from reidsim.engine.stress.run import stress_loaded, with_method
        from reidsim.reports.stress_tables import stress_tables

        stop_if_interrupted()
        loaded = with_method(loaded, method, samples)
        named = executor_named(executor or "auto", workers=workers, scheduler=scheduler, timeout=timeout)
        folder = arguments.results_folder(output, f"{loaded.name}-stress")
        result = stress_loaded(loaded, executor=named, progress=progress, runs=runs)
        arguments.draw_and_write(result, folder, progress)
    arguments.print_tables(stress_tables(result, loaded.name))
    arguments.print_verdict(result)
    arguments.print_warnings(result.warnings)
    arguments.tell_results(folder, group_readable=group_readable)
