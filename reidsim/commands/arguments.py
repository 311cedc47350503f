"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

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

# As the name of a file to write.
STANDARD_OUTPUT = Path("-")


def overrides_of(texts: Sequence[str] | None) -> dict[str, object]:
    """Return what `--set` was given, as value by key path."""
    from reidsim.overrides import parse_override

    return dict(parse_override(text) for text in texts or [])


def print_warnings(warnings: Sequence[str]) -> None:
    """Print warnings to standard error, one line each."""
    console = Console(stderr=True)
    for warning in warnings:
        console.print(f"warning: {warning}", soft_wrap=True, markup=False, highlight=False)
