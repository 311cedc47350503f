"""The command that writes the report of a results folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from reidsim.commands.arguments import STANDARD_OUTPUT, waiting
from reidsim.interrupts import stop_if_interrupted
from reidsim.terminal import note, printable


def report(
    folder: Annotated[Path, typer.Argument(help="Results folder of a run.", metavar="DIR")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="New file (default: report.html or report.md in DIR), or - for standard output."
        ),
    ] = None,
    file_format: Annotated[
        Literal["html", "markdown"] | None,
        typer.Option("--format", help="Format (default: by the ending of the output file, otherwise html)."),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="Scenario file whose comments replace the comments stored with the run."),
    ] = None,
    no_cells: Annotated[
        bool, typer.Option("--no-cells", help="Omit sample rows and the records with the highest risk.")
    ] = False,
    shared: Annotated[
        Path | None,
        typer.Option(
            "--shared",
            help="File written by `reidsim share` (default: the newest one in or beside DIR).",
            metavar="FILE",
        ),
    ] = None,
    break_even: Annotated[
        bool | None,
        typer.Option(
            "--break-even/--no-break-even",
            help="Solve the game at 10 to 25 other values of the loss, to find break-even points (default: "
            "if the run took at most 5 seconds).",
        ),
    ] = None,
    author: Annotated[str, typer.Option("--author", help="Author, printed in the heading.", metavar="NAME")] = "",
    institution: Annotated[
        str, typer.Option("--institution", help="Institution of the author, printed in the heading.", metavar="NAME")
    ] = "",
) -> None:
    """Write a report of a run: one self-contained HTML page, or Markdown.

    Example: reidsim report results/wan2015-001 --author "Ada Moss" --institution "Town Clinic"

    Example: reidsim report results/wan2015-001 -o report.md
    """
    named: dict[str, Any] = {
        "scenario_file": scenario,
        "cells": not no_cells,
        "author": author,
        "institution": institution,
        "shared_file": shared,
        "break_even": break_even,
    }
    with waiting(f"reading {folder}") as progress:
        from reidsim.reports.page.report import report_text, write_report

        stop_if_interrupted()
        if output == STANDARD_OUTPUT:
            text = report_text(folder, file_format=file_format or "html", progress=progress, **named)
        else:
            written = write_report(folder, output, file_format=file_format, progress=progress, **named)
    if output == STANDARD_OUTPUT:
        # Reports are encoded in UTF-8, independent of the terminal's encoding.
        typer.echo((printable(text) if sys.stdout.isatty() else text).encode(), nl=False)
    else:
        note(f"Report in {written}")
