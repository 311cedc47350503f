"""The command that plays every defender against every adversary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from reidsim.commands.arguments import (
    AllowCodeOption,
    GroupReadableOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    overrides_of,
    print_warnings,
    tell_results,
)
from reidsim.interrupts import stop_if_interrupted
from reidsim.progress import DelayedProgress


def cross_play(
    scenario: ScenarioArgument,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="New folder for results (default: results/NAME-cross-play-001, ...)."),
    ] = None,
    set_: SetOption = None,
    seed: SeedOption = None,
    knowledge: Annotated[
        str | None,
        typer.Option(
            help="Knowledge recipe of the adversary with partial knowledge; the scenario's if none.", metavar="RECIPE"
        ),
    ] = None,
    stages: Annotated[
        str | None, typer.Option(help="Attack recipe of the adversary who attacks in stages.", metavar="RECIPE")
    ] = None,
    attack_rate: Annotated[
        float, typer.Option(help="Probability with which the random adversary attacks.", min=0.0, max=1.0)
    ] = 0.5,
    measure: Annotated[
        str,
        typer.Option(
            help="What is printed: publisher_payoff, adversary_payoff, utility, share_attacked, risk or regret."
        ),
    ] = "publisher_payoff",
    group_readable: GroupReadableOption = False,
    allow_code: AllowCodeOption = False,
) -> None:
    """Play every defender against every adversary of a scenario, and write a results folder.

    Example: reidsim cross-play wan2015 --measure regret

    Example: reidsim cross-play mine.toml -o results/played
    """
    # Imported late so that --help and errors in the scenario do not wait for numerical libraries.
    from reidsim.engine.cross_play import cross_play_loaded
    from reidsim.engine.results import next_free_folder, require_free
    from reidsim.games.cross_play import require_measure
    from reidsim.reports.cross_play_table import cross_play_tables
    from reidsim.reports.illustration import illustrate
    from reidsim.scenarios.load import load_scenario

    stop_if_interrupted()
    require_measure(measure, where="--measure")
    loaded = load_scenario(scenario, overrides_of(set_), seed=seed, allow_code=allow_code)
    folder = output or next_free_folder(Path("results"), f"{loaded.name}-cross-play")
    require_free(folder)
    with DelayedProgress(Console(stderr=True)) as progress:
        result = cross_play_loaded(
            loaded, knowledge=knowledge, stages=stages, attack_rate=attack_rate, progress=progress
        )
        stop_if_interrupted()
        progress("drawing and writing", 0, 1)
        result.save(folder, illustrate=illustrate)
    for table in cross_play_tables(result, measure):
        Console().print(table)
    print_warnings(result.warnings)
    tell_results(folder, group_readable=group_readable)
