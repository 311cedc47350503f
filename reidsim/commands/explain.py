"""The command that tells who acts in a scenario, and in what order."""

from __future__ import annotations

import typer

from reidsim.commands.arguments import ScenarioArgument, SetOption, overrides_of


def explain(scenario: ScenarioArgument, set_: SetOption = None) -> None:
    """Print the agents of a scenario, and who acts in each phase of a round.

    Example: reidsim explain market
    """
    from reidsim.reports.explanation import explanation
    from reidsim.scenarios.load import load_scenario

    typer.echo(explanation(load_scenario(scenario, overrides_of(set_))), nl=False)
