"""The command that plays every defender against every adversary."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from reidsim.commands import arguments, batch
from reidsim.interrupts import stop_if_interrupted
from reidsim.scenarios.read_keys import READ_BY_CROSS_PLAY


def cross_play(
    scenario: arguments.ScenarioArgument,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    knowledge: Annotated[
        str | None,
        typer.Option(
            help="Knowledge recipe of the adversary with partial background knowledge (default: the "
            "scenario's recipe).",
            metavar="RECIPE",
        ),
    ] = None,
    stages: Annotated[
        str | None, typer.Option(help="Attack recipe of the adversary that attacks in stages.", metavar="RECIPE")
    ] = None,
    attack_rate: Annotated[
        float, typer.Option(help="Probability that the random adversary attacks a record.", min=0.0, max=1.0)
    ] = 0.5,
    measure: Annotated[
        str,
        typer.Option(
            help="Measure to print: publisher_payoff, adversary_payoff, utility, share_attacked, risk or regret."
        ),
    ] = "publisher_payoff",
    equilibrium: Annotated[
        bool,
        typer.Option("--equilibrium", help="Compute optimal mixed strategies and equilibria of the payoff matrix."),
    ] = False,
    double_oracle: Annotated[
        Literal["zero-sum", "general-sum"] | None,
        typer.Option(
            "--double-oracle",
            help="Add best responses to the payoff matrix (double oracle): zero-sum assumes the most "
            "harmful adversary, general-sum the adversary with its own payoffs.",
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Stop the double oracle when the gains of both sides from a best response sum to at most this amount."
        ),
    ] = 0.01,
    executor: batch.ExecutorOption = None,
    workers: batch.WorkersOption = None,
    scheduler: batch.SchedulerOption = None,
    timeout: batch.TimeoutOption = None,
    resume: batch.ResumeOption = False,
    rerun_failed: batch.RerunFailedOption = False,
    group_readable: arguments.GroupReadableOption = False,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Play every defender against every adversary of a scenario, and write a results folder.

    A scenario with replications, a sweep or uncertain parameters is run as a batch, with the options of a batch.
    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim cross-play wan2015 --measure regret

    Example: reidsim cross-play mine.toml --set replications=50 -o results/played
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code, also_read=READ_BY_CROSS_PLAY)
    with arguments.waiting(f"reading {scenario}"):
        from reidsim.engine.batch.cluster import executor_named
        from reidsim.engine.batch.folder import telling_kept
        from reidsim.engine.cross_play.run import CrossPlayOptions, cross_play_loaded, has_several_plays
        from reidsim.games.cross_play import require_measure
        from reidsim.reports.cross_play_tables import cross_play_tables, double_oracle_tables, equilibrium_tables
        from reidsim.reports.illustration import illustrate

        stop_if_interrupted()
    require_measure(measure, where="--measure")
    options = CrossPlayOptions(
        knowledge,
        stages,
        attack_rate,
        equilibrium=equilibrium,
        double_oracle=double_oracle,
        tolerance=tolerance,
    )
    name, several = f"{loaded.name}-cross-play", has_several_plays(loaded.scenario)
    where, named = batch.Where(workers=workers, scheduler=scheduler, timeout=timeout), None
    if several:
        named = executor_named(executor or "auto", **where)
    else:
        batch.refuse_options_of_batches(
            loaded.path, executor=executor, **where, resume=resume, rerun_failed=rerun_failed
        )
    goes_on = resume or rerun_failed
    folder = output or batch.latest_folder(name) if goes_on else arguments.results_folder(output, name)
    how_to_go_on = f"continue with --resume -o {folder}"
    with telling_kept(folder if several else None, how_to_go_on), arguments.waiting(f"reading {scenario}") as progress:
        result = cross_play_loaded(
            loaded,
            options,
            executor=named,
            folder=folder if several else None,
            resume=resume,
            rerun_failed=rerun_failed,
            progress=progress,
            illustrate=illustrate,
        )
        if not several:
            arguments.draw_and_write(result, folder, progress)
    arguments.print_tables(cross_play_tables(result, measure))
    arguments.print_verdict(result)
    arguments.print_tables((*equilibrium_tables(result), *double_oracle_tables(result)))
    arguments.print_warnings(result.warnings)
    arguments.tell_results(folder, group_readable=group_readable, result=result)
