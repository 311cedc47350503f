"""Commands that check, run and analyse a scenario; most write a results folder.

Commands import slow modules only after they have read the scenario, so that an error in its name is reported without
delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from reidsim.commands import arguments
from reidsim.core import interrupts
from reidsim.core.errors import InputError
from reidsim.core.terminal import echo, note

if TYPE_CHECKING:
    from reidsim.engine.results import Result, RunResult
    from reidsim.scenarios.scenario import Scenario
    from reidsim.scenarios.schema import ScenarioHead


def run(
    scenario: arguments.ScenarioArgument,
    changes: arguments.Changes,
    batch: arguments.BatchOptions,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
    json: bool = False,
    group_readable: arguments.GroupReadableOption = False,
) -> None:
    """Run a scenario, print its measures and write results.

    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim run wan2015 --set economics.loss=600 -o results/doubled-loss

    Example: reidsim run mine.toml --seed 7

    Parameters
    ----------
    json
        Print only the summary, as JSON, to standard output.
    """
    loaded = changes.load(scenario, seed=seed)
    from reidsim.engine.batch.design import has_several_runs
    from reidsim.engine.batch.runner import run_batch_loaded, run_loaded

    if has_several_runs(loaded.scenario):
        result, folder = _run_several(loaded, loaded.name, run_batch_loaded, batch, output)
        _print_measures(loaded, result, folder, as_json=json)
    else:
        batch.refuse_for_single_run(loaded.path, reads_files=loaded.scenario.counts_records)
        folder = arguments.results_folder(output, loaded.name)
        with arguments.waiting(f"reading {scenario}") as progress:
            result = run_loaded(loaded, executor=batch.execution.start(), progress=progress)
            interrupts.stop_if_interrupted()
            progress("writing", 0, 1)
            result.save(folder)
        _print_measures(loaded, result, folder, as_json=json)
    arguments.tell_results(result, folder, group_readable=group_readable, silent=json)


def _run_several(
    loaded: Scenario[ScenarioHead],
    name: str,
    play: Callable[..., Result],
    batch: arguments.BatchOptions,
    folder: Path | None,
    **options: Any,
) -> tuple[Any, Path]:
    """Run or continue a batch and write its results folder; return result and folder.

    `play` is called with the scenario, `options` and the options of the batch. If `folder` is None, it is the next free
    folder ``results/NAME-NNN``, for `name`, or, to continue a batch, the latest one.

    Raises
    ------
    InputError
        If there is no batch to continue, a new batch has a folder that is not empty, or `play` raises it.
    """
    from reidsim.engine.batch.folder import telling_kept

    executor = batch.execution.start()
    if not (batch.resume or batch.rerun_failed):
        folder = arguments.results_folder(folder, name)
    elif folder is None:
        folders = sorted(Path("results").glob(f"{name}-[0-9][0-9][0-9]"))
        if not folders:
            expected = "option -o with the folder of the batch"
            raise InputError("no batch to continue", source=f"results/{name}-001", expected=expected)
        folder = folders[-1]
    with (
        telling_kept(folder, f"continue with --resume -o {folder}"),
        arguments.waiting(f"reading {loaded.name}") as progress,
    ):
        result = play(
            loaded,
            **options,
            executor=executor,
            folder=folder,
            resume=batch.resume,
            rerun_failed=batch.rerun_failed,
            progress=progress,
        )
    return result, folder


def _print_measures(loaded: Scenario[ScenarioHead], result: RunResult, folder: Path, *, as_json: bool) -> None:
    """Print the measures of a run or batch, the verdict and the warnings.

    Measures are printed as tables; only a single run has a verdict. If `as_json` is true, print the summary as JSON,
    with `folder`, instead of tables and verdict.
    """
    from reidsim.engine.batch.statistics import BatchResult
    from reidsim.reports.terminal import batch_tables, summary_tables
    from reidsim.scenarios.kind import counted_units, unit_sentence

    title = f"{loaded.name}: {loaded.scenario.title}"
    if as_json:
        arguments.print_json(result, folder)
        arguments.print_warnings(result.warnings)
    elif isinstance(result, BatchResult):
        arguments.print_results(result, batch_tables(result, title))
    else:
        if unit := unit_sentence(result.manifest):
            note(unit)
        tables = summary_tables(result.summary, title, result.measures, units=counted_units(loaded.content))
        arguments.print_results(result, tables, verdict=True)


def rerun(
    folder: Path,
    run: Annotated[str, typer.Option()],
    output: arguments.OutputOption = None,
    group_readable: arguments.GroupReadableOption = False,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Repeat one run of a batch.

    Its measures are printed and compared with the stored results.

    Example: reidsim rerun results/wan2021-001 --run 0/17

    Example: reidsim rerun results/wan2021-001 --run 0/17 -o results/run-17

    Parameters
    ----------
    folder : DIR
        Results folder of a batch, complete or not.
    run : KEY
        Run to repeat: POINT/REPLICATION, or the first characters of its key in runs.parquet.
    output
        New folder for the results of the run, including its records.
    """
    with arguments.waiting(f"reading {folder}") as progress:
        from reidsim.engine.batch import runner
        from reidsim.engine.results import require_free
        from reidsim.reports.terminal import summary_tables

        if output is not None:
            require_free(output)
        with_records = output is not None
        repeated = runner.rerun(folder, run, with_records=with_records, allow_code=allow_code, progress=progress)
    task = repeated.task
    title = f"{repeated.run.name}: run {task.key}, point {task.point}, replication {task.replication}"
    arguments.print_tables(summary_tables(repeated.run.summary, title, repeated.run.measures))
    for line in (*(f"{key} = {value}" for key, value in task.values.items()), repeated.verdict):
        note(line)
    arguments.print_warnings(repeated.run.warnings)
    if output is not None and repeated.single is not None:
        repeated.single.save(output)
        arguments.tell_results(repeated.single, output, group_readable=group_readable)


def check(scenario: arguments.ScenarioArgument, changes: arguments.Changes) -> None:
    """Check that a scenario and all files that it names are valid.

    Example: reidsim check my.toml

    Example: reidsim check wan2015 --set economics.loss=600
    """
    loaded = changes.load(scenario)
    with arguments.waiting(f"checking {scenario}"):
        from reidsim.engine.stress.run import describe

        size = describe(loaded)
    note(f"{loaded.name} is ready: {size}")


def explain(scenario: arguments.ScenarioArgument, changes: arguments.Changes) -> None:
    """Print the agents of a scenario, the phases of a round, and why adversaries act.

    Example: reidsim explain market

    Example: reidsim explain mine.toml
    """
    loaded = changes.load(scenario)
    with arguments.waiting(f"reading {scenario}"):
        from reidsim.reports import description

        explained = description.explain(loaded)
    echo(explained.text, nl=False)


def stress(
    scenario: arguments.ScenarioArgument,
    changes: arguments.Changes,
    execution: arguments.Execution,
    output: arguments.ResultsOption = None,
    method: Literal["sobol", "morris", "tornado"] | None = None,
    samples: Annotated[int | None, typer.Option(min=2)] = None,
    runs: Path | None = None,
    seed: arguments.SeedOption = None,
    group_readable: arguments.GroupReadableOption = False,
) -> None:
    """Test how uncertain parameters change the decision.

    The analyses are sensitivity, robustness and wrong beliefs.

    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim stress wan2015-stress --method morris -o results/screening

    Example: reidsim stress wan2015-stress

    Parameters
    ----------
    method
        Method of the sensitivity analysis (default: the scenario's method).
    samples
        Number of base samples (sobol) or trajectories (morris) of the sensitivity analysis.
    runs
        Folder that keeps completed runs, which later commands reuse.
    """
    loaded = changes.load(scenario, seed=seed)
    from reidsim.engine.batch.folder import telling_kept
    from reidsim.engine.stress.run import stress_loaded, with_method
    from reidsim.reports.study_tables import stress_tables

    loaded = with_method(loaded, method, samples)
    executor = execution.start()
    with telling_kept(runs, f"repeat the command with --runs {runs} to continue"):
        result, folder = _study(
            f"{loaded.name}-stress", stress_loaded, output, loaded=loaded, executor=executor, runs=runs
        )
    arguments.print_results(result, stress_tables(result, loaded.name), verdict=True)
    arguments.tell_results(result, folder, group_readable=group_readable)


def _study(name: str, play: Callable[..., Result], output: Path | None, **options: Any) -> tuple[Any, Path]:
    """Compute a study and write its results folder; return result and folder.

    `play` is called with `options` and the progress. The folder is `output`; by default, the next free folder
    ``results/NAME-NNN``, for `name`.
    """
    with arguments.waiting(f"reading {name}") as progress:
        folder = arguments.results_folder(output, name)
        result = play(**options, progress=progress)
        interrupts.stop_if_interrupted()
        progress("writing results", 0, 1)
        result.save(folder)
    return result, folder


def attributes(
    scenario: arguments.ScenarioArgument,
    changes: arguments.Changes,
    orders: Annotated[int, typer.Option(min=2)] = 50,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
) -> None:
    """Compute the effect of each column on risk and payoff.

    The effects of the quasi-identifiers are Shapley values.

    Example: reidsim attributes wan2015

    Example: reidsim attributes mine.toml --seed 7

    Parameters
    ----------
    orders
        Number of random orders of the columns, if there are more than 10 columns.
    """
    loaded = changes.load(scenario, seed=seed)
    from reidsim.engine.attributes import attributes_loaded
    from reidsim.reports.study_tables import attributes_tables

    result, folder = _study(f"{loaded.name}-attributes", attributes_loaded, output, loaded=loaded, orders=orders)
    arguments.print_results(result, attributes_tables(result))
    arguments.tell_results(result, folder)


def switch(
    scenario: arguments.ScenarioArgument,
    changes: arguments.Changes,
    key: str = "economics.loss",
    low: Annotated[float | None, typer.Option("--from", min=0.0)] = None,
    high: Annotated[float | None, typer.Option("--to", min=0.0)] = None,
    link_gain: bool = False,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
) -> None:
    """Find the amounts at which the best policy changes.

    The best policy has the highest payoff. The amounts are written to a results folder.

    Example: reidsim switch wan2015 --key economics.benefit

    Example: reidsim switch mine.toml --key economics.loss

    Parameters
    ----------
    key
        Payoff parameter that varies: economics.loss, economics.gain, economics.benefit or economics.cost.
    low : AMOUNT
        Lowest value of the parameter (default: 0).
    high : AMOUNT
        Highest value of the parameter (default: four times the scenario's value).
    link_gain
        Set the adversary's gain equal to the loss at each point.
    """
    loaded = changes.load(scenario, seed=seed)
    from reidsim.engine.switch import switch_loaded
    from reidsim.reports.study_tables import switch_table, switch_text

    amounts: dict[str, Any] = {"key": key, "low": low, "high": high, "link_gain": link_gain}
    result, folder = _study(f"{loaded.name}-switch", switch_loaded, output, loaded=loaded, **amounts)
    arguments.print_results(result, [switch_table(result)], below=switch_text(result))
    arguments.tell_results(result, folder)


def score(
    file: Path,
    scenario: Annotated[str, typer.Option()],
    changes: arguments.Changes,
    key: str | None = None,
    control: Path | None = None,
    sensitive: list[str] | None = None,
    synthetic: bool = False,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
) -> None:
    """Compute payoff and risk of any released file.

    The file is compared with the policies of a scenario. If another program perturbed the file, key `noise` of the
    scenario describes how. With `--control`, a second table has claims about people.

    Example: reidsim score released.csv --scenario my.toml

    Example: reidsim score released.csv --scenario my.toml -o results/scored

    Example: reidsim score perturbed.csv --scenario my.toml --set noise=estimated

    Example: reidsim score synthetic.csv --scenario my.toml --synthetic --control others.csv --sensitive income

    Parameters
    ----------
    file : FILE
        Released file, written by reidsim, ARX, sdcMicro or any other program.
    scenario : SCENARIO
        Name of a bundled scenario, or path of a TOML file.
    key : COLUMN
        Column in both files that identifies the record (default: the rows are in the same order).
    control : FILE
        People who are not in the released file, in the form of the original records; adds a table of claims.
    sensitive : COLUMN
        Column whose values an adversary infers (default: publisher.sensitive).
    synthetic
        The rows belong to no records; there are only claims.
    """
    loaded = changes.load(scenario, seed=seed)
    with arguments.waiting(f"reading {scenario}") as progress:
        from reidsim.engine.score import score_loaded
        from reidsim.reports.study_tables import claims_tables
        from reidsim.reports.terminal import summary_tables
        from reidsim.scenarios.kind import counted_units

        folder = arguments.results_folder(output, f"{loaded.name}-score")
        options: Any = {"key": key, "control": control, "sensitive": sensitive or (), "synthetic": synthetic}
        result = score_loaded(loaded, file, progress=progress, **options)
        interrupts.stop_if_interrupted()
        result.save(folder)
    units = counted_units(result.manifest["content"])
    title = f"policies of {loaded.name}" if synthetic else f"{file.name} as a policy of {loaded.name}"
    tables = summary_tables(result.summary, title, result.measures.values(), units=units)
    arguments.print_results(result, tables, below=claims_tables(result))
    arguments.tell_results(result, folder)


@dataclass(frozen=True)
class AttackOptions:
    """Options of an attack, named as in `reidsim.attack`.

    Parameters
    ----------
    truth : FILE
        File with the person of each row of FILE, in a column `person` or with the name of option --id.
    id : COLUMN
        Column of the register that identifies a person (default: each row is another person).
    person : COLUMN
        Column of FILE that links the rows of a person (default: rows are attacked one by one).
    gain : AMOUNT
        Gain of a correct claim (default: the scenario's).
    cost : AMOUNT
        Cost of a claim (default: the scenario's).
    coverage : SHARE
        Probability that the person of a row is in the register.
    encoding : NAME
        Character encoding of the CSV files, such as latin-1 (default: UTF-8).
    """

    truth: Path | None = None
    id: str | None = None
    person: str | None = None
    gain: Annotated[float | None, typer.Option(min=0.0)] = None
    cost: Annotated[float | None, typer.Option(min=0.0)] = None
    coverage: float = 1.0
    encoding: arguments.EncodingOption = None


def attack(
    file: Path,
    register: Annotated[Path, typer.Option()],
    options: AttackOptions,
    scenario: str | None = None,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
    allow_code: arguments.AllowCodeOption = False,
) -> None:
    """Attack a released file: link it to a register of people with Splink.

    People are claimed where a claim pays, and the claims are compared with the prediction of the game. It requires `pip
    install 'reidsim[attack]'`.

    Example: reidsim attack shared.csv --register people.csv --id name --gain 300 --cost 4

    Example: reidsim attack shared.csv --register people.csv --scenario my.toml --truth key.csv

    Parameters
    ----------
    file : FILE
        Released file, written by reidsim or any other program.
    register : FILE
        File of people with their values, in columns of the same names.
    scenario : SCENARIO
        Scenario whose hierarchies, column names, gain and cost are used.
    """
    loaded = None if scenario is None else arguments.Changes(allow_code=allow_code).load(scenario)
    from reidsim.engine import red_team
    from reidsim.reports.study_tables import attack_tables

    inputs: Any = {"data": file, "register": register, "scenario": loaded, "seed": seed}
    result, folder = _study(f"{file.stem}-attack", red_team.attack, output, **inputs, **vars(options))
    arguments.print_results(result, attack_tables(result))
    arguments.tell_results(result, folder)


def cross_play(
    scenario: arguments.ScenarioArgument,
    changes: arguments.Changes,
    batch: arguments.BatchOptions,
    output: arguments.ResultsOption = None,
    seed: arguments.SeedOption = None,
    knowledge: str | None = None,
    stages: str | None = None,
    attack_rate: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.5,
    measure: str = "publisher_payoff",
    equilibrium: bool = False,
    double_oracle: Literal["zero-sum", "general-sum"] | None = None,
    tolerance: float = 0.01,
    group_readable: arguments.GroupReadableOption = False,
) -> None:
    """Play every defender against every adversary of a scenario.

    A scenario with replications, a sweep or uncertain parameters is run as a batch, with the options of a batch.
    Exit code 0: complete. 2: wrong input. 3: some runs of a batch failed; the results omit them.

    Example: reidsim cross-play wan2015 --measure regret

    Example: reidsim cross-play mine.toml --set replications=50 -o results/played

    Parameters
    ----------
    knowledge : RECIPE
        Knowledge recipe of the adversary with partial background knowledge (default: the scenario's recipe).
    stages : RECIPE
        Attack recipe of the adversary that attacks in stages.
    attack_rate
        Probability that the random adversary attacks a record.
    measure
        Measure to print: publisher_payoff, adversary_payoff, utility, share_attacked, risk or regret.
    equilibrium
        Compute optimal mixed strategies and equilibria of the payoff matrix.
    double_oracle
        Add best responses to the payoff matrix (double oracle): zero-sum assumes the most harmful adversary,
        general-sum the adversary with its own payoffs.
    tolerance
        Stop the double oracle when the gains of both sides from a best response sum to at most this amount.
    """
    loaded = changes.load(scenario, seed=seed, for_cross_play=True)
    from reidsim.engine.cross_play import CrossPlayOptions, cross_play_loaded, has_several_plays
    from reidsim.games.cross_play import require_measure
    from reidsim.reports.study_tables import cross_play_tables, double_oracle_tables, equilibrium_tables

    require_measure(measure, where="--measure")
    options = CrossPlayOptions(
        knowledge, stages, attack_rate, equilibrium=equilibrium, double_oracle=double_oracle, tolerance=tolerance
    )
    name = f"{loaded.name}-cross-play"
    if has_several_plays(loaded.scenario):
        result, folder = _run_several(loaded, name, cross_play_loaded, batch, output, options=options)
    else:
        batch.refuse_for_single_run(loaded.path)
        result, folder = _study(name, cross_play_loaded, output, loaded=loaded, options=options)
    below = (*equilibrium_tables(result), *double_oracle_tables(result))
    arguments.print_results(result, cross_play_tables(result, measure), verdict=True, below=below)
    arguments.tell_results(result, folder, group_readable=group_readable)
