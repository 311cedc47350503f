"""The command that finds the amount at which another policy pays most."""

from __future__ import annotations

from typing import Annotated

import typer

from reidsim.commands import arguments


def switch(
    scenario: arguments.ScenarioArgument,
    key: Annotated[
        str,
        typer.Option("--key", help="economics.loss, economics.gain, economics.benefit or economics.cost."),
    ] = "economics.loss",
    low: Annotated[
        float | None, typer.Option("--from", help="Lowest value (default: 0).", metavar="AMOUNT", min=0.0)
    ] = None,
    high: Annotated[
        float | None,
        typer.Option("--to", help="Highest value (default: four times the scenario's).", metavar="AMOUNT", min=0.0),
    ] = None,
    link_gain: Annotated[
        bool,
        typer.Option("--link-gain", help="Set the adversary's gain to the loss at each point."),
    ] = False,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Find the amount at which another policy pays the publisher most, and write a results folder.

    Example: reidsim switch wan2015 --key economics.benefit

    Example: reidsim switch mine.toml --key economics.loss
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    with arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.switch.run import switch_loaded
        from reidsim.reports.switch_table import switch_table, switch_text

        folder = arguments.results_folder(output, f"{loaded.name}-switch")
        result = switch_loaded(loaded, key, low=low, high=high, link_gain=link_gain, progress=progress)
        arguments.draw_and_write(result, folder, progress)
    arguments.print_tables([switch_table(result)])
    for line in switch_text(result):
        typer.echo(line)
    arguments.print_warnings(result.warnings)
    typer.echo(f"Results in {folder}")
