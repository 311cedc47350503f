"""Commands that run, check, explain or show one scenario."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reidsim import interrupts
from reidsim.commands import arguments, batch
from reidsim.interrupts import stop_if_interrupted
from reidsim.progress import DelayedProgress
from reidsim.terminal import echo, note, progress_console

if TYPE_CHECKING:
    from reidsim.engine.results import RunResult


def run(
    scenario: arguments.ScenarioArgument,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    executor: batch.ExecutorOption = None,
    workers: batch.WorkersOption = None,
    scheduler: batch.SchedulerOption = None,
    timeout: batch.TimeoutOption = None,
    resume: batch.ResumeOption = False,
    rerun_failed: batch.RerunFailedOption = False,
    json: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON, to standard output.")] = False,
    group_readable: arguments.GroupReadableOption = False,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Run a scenario, print the measures of each policy and write a results folder.

    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim run wan2015 --set economics.loss=600 -o results/doubled-loss

    Example: reidsim run mine.toml --seed 7
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    with arguments.waiting(f"reading {scenario}"):
        from reidsim.engine.batch.cluster import executor_named
        from reidsim.engine.batch.design import has_several_runs
        from reidsim.engine.run import run_loaded
        from reidsim.reports.summary_table import summary_tables
        from reidsim.scenarios.people import counted_units, unit_sentence

        stop_if_interrupted()
    where = batch.Where(workers=workers, scheduler=scheduler, timeout=timeout)
    if has_several_runs(loaded.scenario):
        named = executor_named(executor or "auto", **where)
        batch.run_several(
            loaded, output, named, resume=resume, rerun_failed=rerun_failed, group_readable=group_readable, as_json=json
        )
        return
    batch.refuse_options_of_batches(loaded.path, executor=executor, **where, resume=resume, rerun_failed=rerun_failed)
    folder = arguments.results_folder(output, loaded.name)
    with arguments.waiting(f"reading {scenario}") as progress:
        result = run_loaded(loaded, progress=progress)
        stop_if_interrupted()
        progress("writing", 0, 1)
        result.save(folder)
    interrupts.tell_kept(f"the results without figures are kept in {folder}")
    title, units = f"{loaded.name}: {loaded.scenario.title}", counted_units(loaded.content)
    try:
        if json:
            arguments.print_json(result, folder)
        else:
            if unit := unit_sentence(result.manifest):
                arguments.tell(unit)
            arguments.print_tables(summary_tables(result.summary, title, result.measures, units=units))
            arguments.print_verdict(result)
        arguments.print_warnings(result.warnings)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # The reader of the output has closed the pipe (rich raises SystemExit); still complete the results.
        _draw(result, folder)
        raise
    _draw(result, folder)
    arguments.tell_results(folder, group_readable=group_readable, silent=json)


def _draw(result: RunResult, folder: Path) -> None:
    """Add the figures to a results folder, after its measures were printed."""
    console = progress_console()
    if console.is_terminal:
        console.print("figures follow; Ctrl-C keeps these results", highlight=False)
    with DelayedProgress(console, "drawing figures"):
        from reidsim.engine.results import add_figures
        from reidsim.reports.illustration import illustrate

        stop_if_interrupted()
        add_figures(result, folder, illustrate)


def check(
    scenario: arguments.ScenarioArgument,
    set_: arguments.SetOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Check that a scenario and all files that it names are valid.

    Example: reidsim check my.toml

    Example: reidsim check wan2015 --set economics.loss=600
    """
    loaded = arguments.load(scenario, set_, allow_code=allow_code)
    with arguments.waiting(f"checking {scenario}"):
        from reidsim.engine.run import describe

        told = describe(loaded)
    arguments.tell(f"{loaded.name} is ready: {told}")


def explain(
    scenario: arguments.ScenarioArgument,
    set_: arguments.SetOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Print the agents of a scenario and their actions in each phase of a round.

    Example: reidsim explain market

    Example: reidsim explain mine.toml
    """
    from reidsim.reports.explanation import explanation

    loaded = arguments.load(scenario, set_, allow_code=allow_code)
    echo(explanation(loaded), nl=False)


def serve(
    scenario: Annotated[
        str,
        typer.Argument(
            help="Name of a bundled scenario, or path of a TOML file; a scenario of kind `risk` has no such page.",
            metavar="SCENARIO",
        ),
    ] = "wan2015",
    set_: arguments.SetOption = None,
    port: Annotated[
        int, typer.Option(help="Network port on this computer; 0 for any free port.", min=0, max=65_535)
    ] = 8765,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Show a scenario as a web page on this computer only; requires `pip install 'reidsim[web]'`.

    Example: reidsim serve wan2015 --port 8765

    Example: reidsim serve mine.toml
    """
    loaded = arguments.load(scenario, set_, allow_code=allow_code)
    with ExitStack() as starting:
        starting.enter_context(arguments.waiting(f"opening {scenario}"))
        from reidsim.web.server import serve as run_server

        def tell(address: str) -> None:
            starting.close()
            note(f"{loaded.name} at {address} (Ctrl-C to stop)")

        run_server(loaded, port, tell)
