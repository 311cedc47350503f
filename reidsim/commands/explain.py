"""The command that prints who acts in a scenario, and in what order."""

from __future__ import annotations

import typer

from reidsim.commands.arguments import AllowCodeOption, ScenarioArgument, SetOption, load


def explain(scenario: ScenarioArgument, set_: SetOption = None, allow_code: AllowCodeOption = False) -> None:
    """Print the agents of a scenario, and who acts in each phase of a round.

    Example: reidsim explain market

    Example: reidsim explain mine.toml
    """
    from reidsim.reports.explanation import explanation

    loaded = load(scenario, set_, allow_code=allow_code)
    typer.echo(explanation(loaded), nl=False)
