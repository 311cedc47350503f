"""Arguments, options and helpers that several commands share."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reidsim.bundled import resolve
from reidsim.interrupts import stop_if_interrupted
from reidsim.progress import DelayedProgress
from reidsim.seeds import LARGEST_SEED
from reidsim.terminal import console, echo, note, progress_console

if TYPE_CHECKING:
    from rich.table import Table

    from reidsim.engine.results import Result, RunResult
    from reidsim.scenarios.load import Scenario
    from reidsim.scenarios.schema import ScenarioHead
    from reidsim.scenarios.study import Progress

ScenarioArgument = Annotated[
    str, typer.Argument(help="Name of a bundled scenario, or path of a TOML file.", metavar="SCENARIO")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Value that replaces the value of a scenario key, such as economics.loss=600.",
        metavar="KEY=VALUE",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option(help="Seed of all random draws (default: the scenario's seed).", min=0, max=LARGEST_SEED)
]
AllowCodeOption = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Allow the scenario to run Python code from modules that it names; only for code that you trust.",
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option(help="Character encoding of a CSV file, such as latin-1 (default: UTF-8).", metavar="NAME")
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option("--keep", help="Column to copy unchanged, in addition to the quasi-identifiers.", metavar="COLUMN"),
]
KeepIdentifierOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-identifier", help="Column to copy although its values could identify most people.", metavar="COLUMN"
    ),
]
KeepFreeTextOption = Annotated[
    bool,
    typer.Option(
        "--keep-free-text", help="Copy kept columns although they contain free text, which may identify people."
    ),
]
GroupReadableOption = Annotated[
    bool, typer.Option("--group-readable", help="Allow your user group to read the results (default: only you).")
]

ResultsOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="New results folder (default: the next numbered folder in results/)."),
]

# Exit code of a batch with failed runs.
INCOMPLETE = 3

# Name of standard output as an output file.
STANDARD_OUTPUT = Path("-")


def overrides_of(texts: Sequence[str] | None) -> dict[str, object]:
    """Return the values of the option `--set`, by key path."""
    from reidsim.overrides import parse_override

    return dict(parse_override(text) for text in texts or [])


def waiting(task: str) -> DelayedProgress:
    """Return a progress reporter that prints to standard error after a delay."""
    return DelayedProgress(progress_console(), task)


def load(
    scenario: str,
    set_: Sequence[str] | None,
    *,
    seed: int | None = None,
    allow_code: bool = False,
    also_read: Collection[str] = (),
) -> Scenario[ScenarioHead]:
    """Return the scenario with the options of a command applied.

    Slow modules are imported late, so that an error in a name is reported at once.
    """
    resolve(scenario, "scenarios", "scenario")
    with waiting(f"reading {scenario}"):
        from reidsim.scenarios.load import Scenario

        stop_if_interrupted()
        return Scenario.load(scenario, overrides_of(set_), seed=seed, allow_code=allow_code, also_read=also_read)


def results_folder(output: Path | None, name: str) -> Path:
    """Return the folder for results: `output`, or the next free folder of this name.

    Check that it is free.
    """
    from reidsim.engine.results import next_free_folder, require_free

    folder = output or next_free_folder(Path("results"), name)
    require_free(folder)
    return folder


def draw_and_write(result: Result, folder: Path, progress: Progress) -> None:
    """Write a results folder with its figures.

    Raise KeyboardInterrupt instead if there was an interrupt.
    """
    from reidsim.reports.illustration import illustrate

    stop_if_interrupted()
    progress("drawing figures and writing results", 0, 1)
    result.save(folder, illustrate=illustrate)


def print_tables(tables: Iterable[Table], *, always: bool = False) -> None:
    """Print tables one below another.

    With the option `--quiet`, they are printed only if `always` is true.
    """
    for table in tables:
        console(always=always).print(table)


def print_json(result: RunResult, folder: Path) -> None:
    """Print the summary of a run or batch as JSON, even with the option `--quiet`."""
    import pandas as pd

    from reidsim.validation import plain

    by = result.summary.reset_index()
    rows = [
        {str(column): None if pd.isna(value) else value for column, value in row.items()}
        for row in by.to_dict(orient="records")
    ]
    content = {
        "scenario": result.name,
        "folder": str(folder),
        "state": result.manifest.get("state", "complete"),
        "seed": result.manifest["seed"],
        "summary": rows,
        "warnings": list(result.warnings),
    }
    echo(json.dumps(content, indent=2, default=plain, allow_nan=False))


def print_warnings(warnings: Sequence[str]) -> None:
    """Print warnings to standard error, except with the option `--quiet`."""
    for warning in warnings:
        tell(f"warning: {warning}", stderr=True)


def tell(text: str, *, stderr: bool = False) -> None:
    """Print text, except with the option `--quiet`.

    Lines are wrapped only in a terminal.
    """
    to = console(stderr=stderr)
    to.print(text, soft_wrap=not to.is_terminal, markup=False, highlight=False, emoji=False)


def print_verdict(result: Result) -> None:
    """Print the verdict on a result, if it compares anything; see `verdict_of`."""
    from reidsim.reports.verdict import verdict_of

    told = verdict_of(result)
    if told:
        console().print(told, markup=False, highlight=False, emoji=False)


def tell_results(folder: Path, *, group_readable: bool, result: Result | None = None, silent: bool = False) -> None:
    """Set the permissions of a results folder and print its path, unless `silent`.

    Exit with code 3 if `result` is incomplete: runs of a batch, or points of a stress test, failed.
    """
    from reidsim.engine.results import open_to_group

    if group_readable:
        open_to_group(folder)
    is_incomplete = result is not None and result.manifest.get("state") == "incomplete"
    if not silent:
        note(f"{'Incomplete results' if is_incomplete else 'Results'} in {folder}")
    if is_incomplete:
        raise typer.Exit(INCOMPLETE)
