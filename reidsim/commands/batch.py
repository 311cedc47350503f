"""Options and helpers of commands that run batches.

The module also has the command that repeats a single run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import typer

from reidsim.commands.arguments import (
    AllowCodeOption,
    GroupReadableOption,
    print_json,
    print_tables,
    print_verdict,
    print_warnings,
    tell_results,
    waiting,
)
from reidsim.errors import InputError
from reidsim.terminal import note

if TYPE_CHECKING:
    from reidsim.engine.batch.executors import Executor
    from reidsim.scenarios.load import Scenario
    from reidsim.scenarios.schema import ScenarioHead


ExecutorOption = Annotated[
    Literal["auto", "serial", "processes", "dask"] | None,
    typer.Option(
        "--executor",
        help="Execution of the runs of a batch: one after the other, in several processes, or on a Dask "
        "cluster (default: auto).",
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Number of processes (default and maximum: one per core).", min=1)
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786.", metavar="ADDRESS"),
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", help="Time limit of one run of a batch, in seconds.", metavar="SECONDS")
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume", help="Continue the batch in the output folder (default: the scenario's latest folder in results/)."
    ),
]
RerunFailedOption = Annotated[
    bool, typer.Option("--rerun-failed", help="Continue the batch as --resume does, and repeat failed runs.")
]


class Where(TypedDict):
    """Values of the options that choose the executor of a batch."""

    workers: int | None
    scheduler: str | None
    timeout: float | None


def rerun(
    folder: Annotated[Path, typer.Argument(help="Results folder of a batch, complete or not.", metavar="DIR")],
    run: Annotated[
        str,
        typer.Option(
            "--run",
            help="Run to repeat: POINT/REPLICATION, or the first characters of its key in runs.parquet.",
            metavar="KEY",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="New folder for the results of the run, including its records."),
    ] = None,
    group_readable: GroupReadableOption = False,
    allow_code: AllowCodeOption = False,
) -> None:
    """Repeat one run of a batch, print its measures and compare them with the stored results.

    Example: reidsim rerun results/wan2021-001 --run 0/17

    Example: reidsim rerun results/wan2021-001 --run 0/17 -o results/run-17
    """
    with waiting(f"reading {folder}") as progress:
        from reidsim.engine.batch.runner import rerun_one
        from reidsim.engine.results import require_free
        from reidsim.reports.illustration import illustrate
        from reidsim.reports.summary_table import summary_tables

        if output is not None:
            require_free(output)
        repeated = rerun_one(folder, run, progress=progress, with_records=output is not None, allow_code=allow_code)
    task = repeated.task
    title = f"{repeated.name}: run {task.key}, point {task.point}, replication {task.replication}"
    print_tables(summary_tables(repeated.summary, title, repeated.measures))
    for key, value in task.values.items():
        note(f"{key} = {value}")
    note(repeated.verdict)
    print_warnings(repeated.warnings)
    if output is not None and repeated.result is not None:
        repeated.result.save(output, illustrate=illustrate)
        tell_results(output, group_readable=group_readable)


def run_several(
    loaded: Scenario[ScenarioHead],
    folder: Path | None,
    executor: Executor,
    *,
    resume: bool,
    rerun_failed: bool,
    group_readable: bool,
    as_json: bool = False,
) -> None:
    """Run a batch, print its means and write its results folder.

    By default, `folder` is the next free one in ``results/`` or, to continue a batch, the latest one of the scenario.
    See `reidsim.commands.run.run` for the other arguments. Exit with code 3 if runs failed.
    """
    from reidsim.engine.batch.folder import telling_kept
    from reidsim.engine.results import next_free_folder

    name, goes_on = loaded.name, resume or rerun_failed
    folder = folder or (latest_folder(name) if goes_on else next_free_folder(Path("results"), name))
    with telling_kept(folder, f"continue with --resume -o {folder}"), waiting(f"reading {loaded.name}") as progress:
        from reidsim.engine.batch.result import BatchResult
        from reidsim.engine.run import run_batch_loaded
        from reidsim.reports.illustration import illustrate
        from reidsim.reports.summary_table import batch_tables, summary_tables
        from reidsim.scenarios.people import counted_units

        result = run_batch_loaded(
            loaded,
            executor,
            folder=folder,
            resume=resume,
            rerun_failed=rerun_failed,
            progress=progress,
            illustrate=illustrate,
        )
    title = f"{loaded.name}: {loaded.scenario.title}"
    if as_json:
        print_json(result, folder)
    elif isinstance(result, BatchResult):
        print_tables(batch_tables(result, title))
    else:
        print_tables(summary_tables(result.summary, title, result.measures, units=counted_units(loaded.content)))
        print_verdict(result)
    print_warnings(result.warnings)
    tell_results(folder, group_readable=group_readable, result=result, silent=as_json)


def refuse_options_of_batches(source: Path, **options: object) -> None:
    """Raise an error if options of batches are given for a scenario with a single run.

    An option is given if its value is true, such as a number above 0.

    Raises
    ------
    InputError
        If such an option is given; the message names the first one.
    """
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise InputError(
            "the scenario is a single run",
            source=source,
            found=given[0],
            expected="replications, sweep or uncertainty in the scenario",
        )


def latest_folder(name: str) -> Path:
    """Return the folder ``results/NAME-NNN`` with the highest three-digit number.

    Raises
    ------
    InputError
        If there is no such folder.
    """
    folders = sorted(Path("results").glob(f"{name}-[0-9][0-9][0-9]"))
    if not folders:
        raise InputError(
            "no batch to continue", source=f"results/{name}-001", expected="option -o with the folder of the batch"
        )
    return folders[-1]
