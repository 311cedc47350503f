"""The command that plays a released file as a policy of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reidsim.commands import arguments
from reidsim.interrupts import stop_if_interrupted


def score(
    file: Annotated[
        Path, typer.Argument(help="Released file, made by reidsim, ARX, sdcMicro or anything else.", metavar="FILE")
    ],
    scenario: Annotated[
        str, typer.Option("--scenario", help="Name of a bundled scenario, or a TOML file.", metavar="SCENARIO")
    ],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="Column of both files that identifies the record (default: rows are in order).",
            metavar="COLUMN",
        ),
    ] = None,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Compute payoff and risk of a released file, beside the policies of a scenario.

    Example: reidsim score released.csv --scenario my.toml

    Example: reidsim score released.csv --scenario my.toml -o results/scored
    """  # fmt: skip
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    with arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.score import score_loaded
        from reidsim.reports.summary_table import summary_tables
        from reidsim.scenarios.people import counted_units

        folder = arguments.results_folder(output, f"{loaded.name}-score")
        result = score_loaded(loaded, file, key=key, progress=progress)
        stop_if_interrupted()
        result.save(folder)
    units = counted_units(result.manifest["content"])
    title = f"{file.name} as a policy of {loaded.name}"
    arguments.print_tables(summary_tables(result.summary, title, result.measures.values(), units=units))
    arguments.print_warnings(result.warnings)
    typer.echo(f"Results in {folder}")
