"""The command that computes what risk and payoff each quasi-identifier adds."""

from __future__ import annotations

from typing import Annotated

import typer

from reidsim.commands import arguments


def attributes(
    scenario: arguments.ScenarioArgument,
    orders: Annotated[int, typer.Option(help="Orders drawn, if there are more than 10 columns.", min=2)] = 50,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Compute what risk and payoff each quasi-identifier adds, with its Shapley share.

    Example: reidsim attributes wan2015

    Example: reidsim attributes mine.toml --seed 7
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    with arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.attributes.run import attributes_loaded
        from reidsim.reports.attributes_table import attributes_tables

        folder = arguments.results_folder(output, f"{loaded.name}-attributes")
        result = attributes_loaded(loaded, orders=orders, progress=progress)
        arguments.draw_and_write(result, folder, progress)
    arguments.print_tables(attributes_tables(result))
    arguments.print_warnings(result.warnings)
    typer.echo(f"Results in {folder}")
