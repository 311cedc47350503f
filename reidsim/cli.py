"""The command line. Errors go to standard error in one line; exit code 2 means that something given was wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn, TextIO

import typer
from rich.console import Console

from reidsim import __version__
from reidsim.bundled import bundled_names, resolve
from reidsim.errors import InputError, nearest
from reidsim.progress import DelayedProgress
from reidsim.validation import read_text, read_toml

app = typer.Typer(
    name="reidsim",
    help="What will a rational adversary do with shared records, and what is the publisher's best reply?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# Folders of what comes along, and what their files are. A name in several is that of the first.
_BUNDLED_FOLDERS = {
    "scenarios": "scenarios",
    "populations": "populations",
    "populations/knowledge": "knowledge of adversaries",
}

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
    from reidsim.overrides import parse_override
    from reidsim.reports.illustration import illustrate
    from reidsim.reports.summary_table import summary_tables
    from reidsim.scenarios.load import load_scenario

    _stop_if_interrupted()
    loaded = load_scenario(scenario, dict(parse_override(text) for text in set_ or []), seed=seed)
    folder = output or next_free_folder(Path("results"), loaded.name)
    require_free(folder)
    errors = Console(stderr=True)
    with DelayedProgress(errors) as progress:
        result = run_loaded(loaded, progress=progress)
        _stop_if_interrupted()
        progress("drawing and writing", 0, 1)
        result.save(folder, illustrate=illustrate)
    for table in summary_tables(result.summary, f"{loaded.name}: {loaded.scenario.title}", result.defender):
        Console().print(table)
    for warning in result.warnings:
        errors.print(f"warning: {warning}", soft_wrap=True, markup=False, highlight=False)
    typer.echo(f"Results in {folder}")


@app.command()
def check(scenario: ScenarioArgument, set_: SetOption = None) -> None:
    """Check that a scenario and every file it names can be used, without solving it.

    Example: reidsim check my.toml
    """
    from reidsim.experiments.run import describe
    from reidsim.overrides import parse_override
    from reidsim.scenarios.load import load_scenario

    loaded = load_scenario(scenario, dict(parse_override(text) for text in set_ or []))
    typer.echo(f"{loaded.name} is ready: {describe(loaded)}")


@app.command("list")
def list_() -> None:
    """List the bundled scenarios, populations, knowledge of adversaries and social-media models.

    Example: reidsim list
    """
    titles: dict[str, dict[str, str]] = {heading: {} for heading in (*_BUNDLED_FOLDERS.values(), "social media")}
    for folder, kind in _BUNDLED_FOLDERS.items():
        for name in bundled_names(folder):
            content = read_toml(resolve(name, folder, folder))
            heading = "social media" if content.get("kind") == "social-media" else kind
            titles[heading][name] = content.get("title", "")
    for heading, named in titles.items():
        typer.echo(f"{heading}:")
        width = max(map(len, named))
        for name, title in named.items():
            typer.echo(f"  {name:<{width}}  {title}")


@app.command()
def populate(
    recipe: Annotated[str, typer.Argument(help="Name of a bundled population, or a TOML file.", metavar="RECIPE")],
    output: Annotated[Path, typer.Option("-o", "--output", help="New file (Parquet).")],
    seed: Annotated[int | None, typer.Option(help="Of the draw, instead of the recipe's.", min=0)] = None,
    expected: Annotated[bool, typer.Option("--expected", help="Expected counts instead of a draw.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Replace a value of the recipe, such as people=5000.", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Make a population, genealogy or external resource and write it as Parquet.

    Example: reidsim populate ystr-genealogy-small -o families.parquet --seed 7
    """
    from reidsim.overrides import parse_override
    from reidsim.populations.populate import populate as make_file

    with DelayedProgress(Console(stderr=True)) as progress:
        written = make_file(
            recipe,
            output,
            counts="expected" if expected else "sample",
            seed=seed,
            set=dict(parse_override(text) for text in set_ or []),
            progress=progress,
        )
    truth = "" if written.truth is None else f"; who they are about in {written.truth}"
    typer.echo(f"{written.people:,.0f} people in {written.rows:,} rows: {written.path}{truth}")


@app.command()
def describe(
    file: Annotated[Path, typer.Argument(help="CSV, or Parquet such as reidsim populate writes.", metavar="FILE")],
    columns: Annotated[
        list[str] | None, typer.Option("--column", help="An attribute that an attacker may know; all if none.")
    ] = None,
    count: Annotated[str | None, typer.Option(help="Column with the number of records of each row.")] = None,
    population_size: Annotated[
        int | None, typer.Option(help="People in the population that the file is a random sample of.", min=1)
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
) -> None:
    """Print cells, uniques, k-anonymity profile and population uniqueness of a file.

    Example: reidsim describe people.csv --column age --column sex --population-size 5000
    """
    from reidsim.reports.description import describe_file
    from reidsim.reports.description_table import description_tables

    description = describe_file(file, columns=columns, count=count, population_size=population_size, level=level)
    for table in description_tables(description):
        Console().print(table)
    for warning in description.warnings:
        Console(stderr=True).print(f"warning: {warning}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of a bundled scenario or recipe, or a TOML file.", metavar="NAME")],
) -> None:
    """Print a scenario or a recipe, to copy and edit.

    Example: reidsim show wan2015 > mine.toml
    """
    folder = next((folder for folder in _BUNDLED_FOLDERS if name in bundled_names(folder)), "scenarios")
    try:
        path = resolve(name, folder, "scenario")
    except InputError as error:
        recipes = [recipe for others in list(_BUNDLED_FOLDERS)[1:] for recipe in bundled_names(others)]
        close = None if error.hint else nearest(name, recipes)
        raise error if close is None else InputError(error.problem, found=name, hint=close) from None
    typer.echo(read_text(path), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    Example: reidsim schema > scenario.schema.json
    """
    from pydantic.json_schema import models_json_schema

    from reidsim.scenarios.load import GAMES

    inputs, definitions = models_json_schema([(model, "validation") for model in GAMES.values()], by_alias=True)
    typer.echo(json.dumps({"anyOf": list(inputs.values()), **definitions}, indent=2))


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
    _remember_interrupts()
    warnings.showwarning = _print_warning
    sys.unraisablehook = _report_unraisable
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
    except (RuntimeError, ValueError):
        # What a library makes of an interrupt that it swallowed.
        if not _interrupts:
            raise
        _end("interrupted; nothing was written", 130)


_interrupts: list[int] = []


def _remember_interrupts() -> None:
    """Note interrupts as they come: libraries that are being imported may take one for a part that is missing."""
    _interrupts.clear()
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _interrupted):
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def _stop_if_interrupted() -> None:
    if _interrupts:
        raise KeyboardInterrupt


def _report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Stay silent on an interrupt that came inside a callback of compiled code: it is remembered, and ends the run."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as one line, without the place in the code that gave it."""
    print(f"warning: {message}", file=file or sys.stderr)


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
