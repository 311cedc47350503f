"""Commands that run, check, explain or show one scenario, and repeat a run of a batch."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reidsim.commands import arguments
from reidsim.core import interrupts
from reidsim.core.interrupts import stop_if_interrupted
from reidsim.core.terminal import echo, note

if TYPE_CHECKING:
    from reidsim.engine.results import RunResult
    from reidsim.scenarios.load import Scenario
    from reidsim.scenarios.schema import ScenarioHead


def run(
    scenario: arguments.ScenarioArgument,
    changes: arguments.Changes,
    batch: arguments.BatchOptions,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
    json: bool = False,
    group_readable: arguments.GroupReadableOption = False,
) -> None:
    """Run a scenario, print its measures and write results.

    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim run wan2015 --set economics.loss=600 -o results/doubled-loss

    Example: reidsim run mine.toml --seed 7

    Parameters
    ----------
    json
        Print only the summary, as JSON, to standard output.
    """
    loaded = changes.load(scenario, seed=seed)
    with arguments.waiting(f"reading {scenario}"):
        from reidsim.engine.batch.design import has_several_runs
        from reidsim.engine.batch.runner import run_loaded

    if has_several_runs(loaded.scenario):
        result, folder = _run_several(loaded, output, batch)
        _print_measures(loaded, result, folder, as_json=json)
    else:
        batch.refuse_for_single_run(loaded.path)
        folder = arguments.results_folder(output, loaded.name)
        with arguments.waiting(f"reading {scenario}") as progress:
            result = run_loaded(loaded, progress=progress)
            stop_if_interrupted()
            progress("writing", 0, 1)
            result.save(folder)
        interrupts.tell_kept(f"the results without figures are kept in {folder}")
        try:
            _print_measures(loaded, result, folder, as_json=json)
            sys.stdout.flush()
        finally:
            # Complete the results also if the reader of the output has closed the pipe.
            with arguments.waiting("drawing figures; Ctrl-C keeps these results"):
                from reidsim.engine.results import add_figures
                from reidsim.reports.illustration import illustrate

                stop_if_interrupted()
                add_figures(result, folder, illustrate)
    arguments.tell_results(result, folder, group_readable=group_readable, silent=json)


def _run_several(
    loaded: Scenario[ScenarioHead], folder: Path | None, batch: arguments.BatchOptions
) -> tuple[RunResult, Path]:
    """Run or continue a batch and write its results folder; return both.

    The first value is the result, the second the folder. If `folder` is None, it is the next free one in ``results/``
    or, to continue a batch, the latest one of the scenario. If a batch has no folder to continue, InputError is raised.
    """
    from reidsim.engine.batch.folder import telling_kept
    from reidsim.engine.results import next_free_folder

    executor, name = batch.execution.start(), loaded.name
    if folder is None:
        folder = batch.latest_folder(name) if batch.goes_on else next_free_folder(Path("results"), name)
    how_to_go_on = f"continue with --resume -o {folder}"
    with telling_kept(folder, how_to_go_on), arguments.waiting(f"reading {name}") as progress:
        from reidsim.engine.batch.runner import run_batch_loaded
        from reidsim.reports.illustration import illustrate

        result = run_batch_loaded(
            loaded,
            executor,
            folder=folder,
            resume=batch.resume,
            rerun_failed=batch.rerun_failed,
            progress=progress,
            illustrate=illustrate,
        )
    return result, folder


def _print_measures(loaded: Scenario[ScenarioHead], result: RunResult, folder: Path, *, as_json: bool) -> None:
    """Print the measures of a run or batch, the verdict and the warnings.

    Measures are printed as tables; only a single run has a verdict. If `as_json` is true, print the summary as JSON,
    with `folder`, instead of tables and verdict.
    """
    from reidsim.engine.batch.statistics import BatchResult
    from reidsim.reports.terminal import batch_tables, summary_tables
    from reidsim.scenarios.people import counted_units, unit_sentence

    title = f"{loaded.name}: {loaded.scenario.title}"
    if as_json:
        arguments.print_json(result, folder)
        arguments.print_warnings(result.warnings)
    elif isinstance(result, BatchResult):
        arguments.print_results(result, batch_tables(result, title))
    else:
        if unit := unit_sentence(result.manifest):
            note(unit)
        tables = summary_tables(result.summary, title, result.measures, units=counted_units(loaded.content))
        arguments.print_results(result, tables, verdict=True)


def rerun(
    folder: Path,
    run: Annotated[str, typer.Option()],
    output: arguments.OutputOption = None,
    group_readable: arguments.GroupReadableOption = False,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Repeat one run of a batch.

    Its measures are printed and compared with the stored results.

    Example: reidsim rerun results/wan2021-001 --run 0/17

    Example: reidsim rerun results/wan2021-001 --run 0/17 -o results/run-17

    Parameters
    ----------
    folder : DIR
        Results folder of a batch, complete or not.
    run : KEY
        Run to repeat: POINT/REPLICATION, or the first characters of its key in runs.parquet.
    output
        New folder for the results of the run, including its records.
    """
    with arguments.waiting(f"reading {folder}") as progress:
        from reidsim.engine.batch.runner import rerun_one
        from reidsim.engine.results import require_free
        from reidsim.reports.illustration import illustrate
        from reidsim.reports.terminal import summary_tables

        if output is not None:
            require_free(output)
        repeated = rerun_one(folder, run, progress=progress, with_records=output is not None, allow_code=allow_code)
    task = repeated.task
    title = f"{repeated.name}: run {task.key}, point {task.point}, replication {task.replication}"
    arguments.print_tables(summary_tables(repeated.summary, title, repeated.measures))
    for line in (*(f"{key} = {value}" for key, value in task.values.items()), repeated.verdict):
        note(line)
    arguments.print_warnings(repeated.warnings)
    if output is not None and repeated.result is not None:
        repeated.result.save(output, illustrate=illustrate)
        arguments.tell_results(repeated.result, output, group_readable=group_readable)


def check(scenario: arguments.ScenarioArgument, changes: arguments.Changes) -> None:
    """Check that a scenario and all files that it names are valid.

    Example: reidsim check my.toml

    Example: reidsim check wan2015 --set economics.loss=600
    """
    loaded = changes.load(scenario)
    with arguments.waiting(f"checking {scenario}"):
        from reidsim.engine.stress.run import describe

        size = describe(loaded)
    note(f"{loaded.name} is ready: {size}")


def explain(scenario: arguments.ScenarioArgument, changes: arguments.Changes) -> None:
    """Print the agents of a scenario and the phases of a round.

    Example: reidsim explain market

    Example: reidsim explain mine.toml
    """
    from reidsim.reports.explanation import explanation

    echo(explanation(changes.load(scenario)), nl=False)


def serve(
    changes: arguments.Changes,
    scenario: Annotated[str, typer.Argument()] = "wan2015",
    port: Annotated[int, typer.Option(min=0, max=65_535)] = 8765,
) -> None:
    """Show a scenario as a web page on this computer.

    No other computer can open the page. It requires `pip install 'reidsim[web]'`.

    Example: reidsim serve wan2015 --port 8765

    Example: reidsim serve mine.toml

    Parameters
    ----------
    scenario : SCENARIO
        Name of a bundled scenario, or path of a TOML file; a scenario of kind `risk` has no such page.
    port
        Network port on this computer; 0 for any free port.
    """
    loaded = changes.load(scenario)
    with ExitStack() as starting:
        starting.enter_context(arguments.waiting(f"opening {scenario}"))
        from reidsim.web.server import serve as run_server

        def started(address: str) -> None:
            starting.close()
            note(f"{loaded.name} at {address} (Ctrl-C to stop)")

        run_server(loaded, port, started)
