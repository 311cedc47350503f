"""The command line. Errors go to standard error in one line; exit code 2 means that something given was wrong."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from reidsim import __version__
from reidsim.bundled import bundled_names, resolve
from reidsim.errors import InputError
from reidsim.progress import DelayedProgress
from reidsim.validation import read_text, read_toml

app = typer.Typer(
    name="reidsim",
    help="What will a rational adversary do with shared records, and what is the publisher's best reply?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScenarioArgument = Annotated[
    str, typer.Argument(help="Name of a bundled scenario, or a TOML file.", metavar="SCENARIO")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Replace a value of the scenario, such as economics.loss=600.", metavar="KEY=VALUE"),
]
SeedOption = Annotated[int | None, typer.Option(help="Root of all random draws, instead of the scenario's.", min=0)]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def run(
    scenario: ScenarioArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="New folder for results (default: results/NAME-001, ...).")
    ] = None,
    set_: SetOption = None,
    seed: SeedOption = None,
) -> None:
    """Run a scenario, print its measures by policy and write a results folder.

    Example: reidsim run wan2015 --set economics.loss=600 -o results/doubled-loss
    """
    # Imported late so that --help and errors in the scenario do not wait for numerical libraries.
    from reidsim.experiments.results import next_free_folder, require_free
    from reidsim.experiments.run import run_loaded
    from reidsim.reports.illustration import illustrate
    from reidsim.reports.summary_table import summary_tables
    from reidsim.scenarios.load import load_scenario, parse_override

    loaded = load_scenario(scenario, dict(parse_override(text) for text in set_ or []), seed=seed)
    folder = output or next_free_folder(Path("results"), loaded.name)
    require_free(folder)
    errors = Console(stderr=True)
    with DelayedProgress(errors) as progress:
        result = run_loaded(loaded, progress=progress)
        progress("drawing and writing", 0, 1)
        result.save(folder, illustrate=illustrate)
    for table in summary_tables(result.summary, f"{loaded.name}: {loaded.scenario.title}"):
        Console().print(table)
    for warning in result.warnings:
        errors.print(f"warning: {warning}", soft_wrap=True, markup=False, highlight=False)
    typer.echo(f"Results in {folder}")


@app.command()
def check(scenario: ScenarioArgument, set_: SetOption = None) -> None:
    """Check that a scenario and every file it names can be used, without solving it.

    Example: reidsim check my.toml
    """
    from reidsim.scenarios.build import build_study
    from reidsim.scenarios.load import load_scenario, parse_override

    loaded = load_scenario(scenario, dict(parse_override(text) for text in set_ or []))
    study = build_study(loaded)
    typer.echo(
        f"{loaded.name} is ready: {study.n_records:,} records in {study.lattice.n_records:,} distinct cells, "
        f"{study.lattice.size:,} strategies, {study.linked_population.total:,.0f} people"
    )


@app.command("list")
def list_() -> None:
    """List the bundled scenarios and populations.

    Example: reidsim list
    """
    for folder in ("scenarios", "populations"):
        typer.echo(f"{folder}:")
        names = bundled_names(folder)
        width = max(map(len, names))
        for name in names:
            title = read_toml(resolve(name, folder, folder)).get("title", "")
            typer.echo(f"  {name:<{width}}  {title}")


@app.command()
def show(scenario: ScenarioArgument) -> None:
    """Print a scenario, to copy and edit.

    Example: reidsim show wan2015 > mine.toml
    """
    typer.echo(read_text(resolve(scenario, "scenarios", "scenario")), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    Example: reidsim schema > scenario.schema.json
    """
    from reidsim.scenarios.schema import Scenario

    typer.echo(json.dumps(Scenario.model_json_schema(by_alias=True), indent=2))


@app.command()
def reproduce(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Scenarios of the papers, such as wan2015; all if none.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File for the page, instead of printing it.")
    ] = None,
) -> None:
    """Run the papers' studies and compare every printed number with ours (Markdown).

    Example: reidsim reproduce wan2015
    """
    from reidsim.reports.ledger import ledger_page
    from reidsim.reports.reproduction import reproduce as reproduce_papers

    page = ledger_page(reproduce_papers(papers or []))
    if output is None:
        typer.echo(page, nl=False)
    else:
        try:
            output.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", source=output) from None


def main() -> None:
    """Run the command line; the entry point ``reidsim``."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except InputError as error:
        _end(str(error), 2)
    except (SystemExit, SystemError) as error:
        # typer ends quietly with 130 on Ctrl-C; compiled code turns the interrupt into a SystemError that carries it.
        interrupt = error.code == 130 if isinstance(error, SystemExit) else _carries_interrupt(error)
        if not interrupt:
            raise
        _end("interrupted; nothing was written", 130)
    except BrokenPipeError:
        # The reader of a pipe went away; what is still buffered has nowhere to go.
        _discard_output()
        sys.exit(1)
    except OSError as error:
        _discard_output()
        _end(f"output cannot be written: {error.strerror or error}", 2)


def _end(message: str, code: int) -> NoReturn:
    print(f"reidsim: {message}", file=sys.stderr)
    sys.exit(code)


def _carries_interrupt(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _discard_output() -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
