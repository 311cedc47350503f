"""Commands that analyse a scenario.

They are stress test, effects of attributes, switch points, and score of a released file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from reidsim.commands import arguments
from reidsim.commands.batch import ExecutorOption, SchedulerOption, TimeoutOption, WorkersOption
from reidsim.interrupts import stop_if_interrupted
from reidsim.terminal import note


def stress(
    scenario: arguments.ScenarioArgument,
    output: arguments.ResultsOption = None,
    method: Annotated[
        Literal["sobol", "morris"] | None,
        typer.Option("--method", help="Method of the sensitivity analysis (default: the scenario's method)."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            help="Number of base samples (sobol) or trajectories (morris) of the sensitivity analysis.",
            min=2,
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", help="Folder that keeps completed runs, which later commands reuse."),
    ] = None,
    executor: ExecutorOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    timeout: TimeoutOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    group_readable: arguments.GroupReadableOption = False,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Analyse the effect of uncertain parameters: sensitivity, robustness and wrong beliefs.

    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim stress wan2015-stress --method morris -o results/screening

    Example: reidsim stress wan2015-stress
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    from reidsim.engine.batch.folder import telling_kept

    how_to_go_on = f"repeat the command with --runs {runs} to continue"
    with telling_kept(runs, how_to_go_on), arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.batch.cluster import executor_named
        from reidsim.engine.stress.run import stress_loaded, with_method
        from reidsim.reports.study_tables import stress_tables

        stop_if_interrupted()
        loaded = with_method(loaded, method, samples)
        named = executor_named(executor or "auto", workers=workers, scheduler=scheduler, timeout=timeout)
        folder = arguments.results_folder(output, f"{loaded.name}-stress")
        result = stress_loaded(loaded, executor=named, progress=progress, runs=runs)
        arguments.draw_and_write(result, folder, progress)
    arguments.print_tables(stress_tables(result, loaded.name))
    arguments.print_verdict(result)
    arguments.print_warnings(result.warnings)
    arguments.tell_results(folder, group_readable=group_readable, result=result)


def attributes(
    scenario: arguments.ScenarioArgument,
    orders: Annotated[
        int, typer.Option(help="Number of random orders of the columns, if there are more than 10 columns.", min=2)
    ] = 50,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Compute the contribution of each quasi-identifier to risk and payoff (Shapley values).

    Example: reidsim attributes wan2015

    Example: reidsim attributes mine.toml --seed 7
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    with arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.attributes.run import attributes_loaded
        from reidsim.reports.study_tables import attributes_tables

        folder = arguments.results_folder(output, f"{loaded.name}-attributes")
        result = attributes_loaded(loaded, orders=orders, progress=progress)
        arguments.draw_and_write(result, folder, progress)
    arguments.print_tables(attributes_tables(result))
    arguments.print_warnings(result.warnings)
    note(f"Results in {folder}")


def switch(
    scenario: arguments.ScenarioArgument,
    key: Annotated[
        str,
        typer.Option(
            "--key",
            help="Payoff parameter that varies: economics.loss, economics.gain, economics.benefit or economics.cost.",
        ),
    ] = "economics.loss",
    low: Annotated[
        float | None,
        typer.Option("--from", help="Lowest value of the parameter (default: 0).", metavar="AMOUNT", min=0.0),
    ] = None,
    high: Annotated[
        float | None,
        typer.Option(
            "--to",
            help="Highest value of the parameter (default: four times the scenario's value).",
            metavar="AMOUNT",
            min=0.0,
        ),
    ] = None,
    link_gain: Annotated[
        bool,
        typer.Option("--link-gain", help="Set the adversary's gain equal to the loss at each point."),
    ] = False,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Find the amounts at which the policy with the highest payoff changes, and write a results folder.

    Example: reidsim switch wan2015 --key economics.benefit

    Example: reidsim switch mine.toml --key economics.loss
    """
    loaded = arguments.load(scenario, set_, seed=seed, allow_code=allow_code)
    with arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.switch.run import switch_loaded
        from reidsim.reports.study_tables import switch_table, switch_text

        folder = arguments.results_folder(output, f"{loaded.name}-switch")
        result = switch_loaded(loaded, key, low=low, high=high, link_gain=link_gain, progress=progress)
        arguments.draw_and_write(result, folder, progress)
    arguments.print_tables([switch_table(result)])
    for line in switch_text(result):
        note(line)
    arguments.print_warnings(result.warnings)
    note(f"Results in {folder}")


def score(
    file: Annotated[
        Path,
        typer.Argument(help="Released file, written by reidsim, ARX, sdcMicro or any other program.", metavar="FILE"),
    ],
    scenario: Annotated[
        str, typer.Option("--scenario", help="Name of a bundled scenario, or path of a TOML file.", metavar="SCENARIO")
    ],
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="Column in both files that identifies the record (default: the rows are in the same order).",
            metavar="COLUMN",
        ),
    ] = None,
    output: arguments.ResultsOption = None,
    set_: arguments.SetOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Compute payoff and risk of a released file, and compare it with the policies of a scenario.

    Example: reidsim score released.csv --scenario my.toml

    Example: reidsim score released.csv --scenario my.toml -o results/scored
    """
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
    note(f"Results in {folder}")
