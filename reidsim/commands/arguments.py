"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from reidsim.engine.run_result import RunResult

ScenarioArgument = Annotated[
    str, typer.Argument(help="Name of a bundled scenario, or a TOML file.", metavar="SCENARIO")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Replace a value of the scenario, such as economics.loss=600.", metavar="KEY=VALUE"),
]
SeedOption = Annotated[int | None, typer.Option(help="Root of all random draws, instead of the scenario's.", min=0)]
AllowCodeOption = Annotated[
    bool,
    typer.Option("--allow-code", help="Run modules that the scenario names as adversary or policy, if you trust them."),
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option("--keep", help="A column to copy as it is besides the quasi-identifiers.", metavar="COLUMN"),
]
KeepIdentifierOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-identifier", help="A column to copy though most people could be named by it.", metavar="COLUMN"
    ),
]
GroupReadableOption = Annotated[
    bool, typer.Option("--group-readable", help="Let your group read the results; else nobody but you can.")
]

# As the name of a file to write.
STANDARD_OUTPUT = Path("-")


def results_option(name: str) -> Any:
    """Return the option for the folder of results, of this name by default."""
    return typer.Option("-o", "--output", help=f"New folder for results (default: results/{name}-001, ...).")


def overrides_of(texts: Sequence[str] | None) -> dict[str, object]:
    """Return what `--set` was given, as value by key path."""
    from reidsim.overrides import parse_override

    return dict(parse_override(text) for text in texts or [])


def print_warnings(warnings: Sequence[str]) -> None:
    """Print warnings to standard error, one line each."""
    console = Console(stderr=True)
    for warning in warnings:
        console.print(f"warning: {warning}", soft_wrap=True, markup=False, highlight=False)


def print_verdict(result: RunResult) -> None:
    """Print what a run says about the choice between its policies, where there is one."""
    from reidsim.reports.verdict import has_verdict, verdict

    if has_verdict(result.summary):
        rounds = getattr(result.analysis, "rounds", None)
        told = verdict(result.summary, result.manifest["content"], rounds=rounds)
        Console().print(told, markup=False, highlight=False, emoji=False)


def tell_results(folder: Path, *, group_readable: bool) -> None:
    """Say where results are, once those may read them who are to."""
    from reidsim.engine.results import open_to_group

    if group_readable:
        open_to_group(folder)
    typer.echo(f"Results in {folder}")
