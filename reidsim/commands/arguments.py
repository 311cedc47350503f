"""Declare the arguments and options of commands; load scenarios and print results.

A command is a function. The section ``Parameters`` of its docstring has the help text of each argument and option, and
a placeholder for its value after a colon. Options that several commands share are the fields of a class.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

import typer

from reidsim.core.errors import InputError
from reidsim.core.files import resolve
from reidsim.core.interrupts import stop_if_interrupted
from reidsim.core.terminal import DelayedProgress, console, echo, note, progress_console, set_verbosity
from reidsim.core.validation import LARGEST_SEED, parse_override

if TYPE_CHECKING:
    from rich.table import Table

    from reidsim.engine.batch.executors import Executor
    from reidsim.engine.results import Result, RunResult
    from reidsim.scenarios.scenario import Scenario
    from reidsim.scenarios.schema import ScenarioHead

ScenarioArgument = Annotated[
    str, typer.Argument(help="Name of a bundled scenario, or path of a TOML file.", metavar="SCENARIO")
]
SeedOption = Annotated[
    int | None, typer.Option(help="Seed of all random draws (default: the scenario's seed).", min=0, max=LARGEST_SEED)
]
AllowCodeOption = Annotated[
    bool,
    typer.Option(
        help="Allow the scenario to run Python code from modules that it names; only for code that you trust."
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option(help="Character encoding of a CSV file, such as latin-1 (default: UTF-8).", metavar="NAME")
]
GroupReadableOption = Annotated[
    bool, typer.Option(help="Allow your user group to read the results (default: only you).")
]
OutputOption = Annotated[Path | None, typer.Option("-o", "--output")]
NewFileOption = Annotated[Path, typer.Option("-o", "--output")]
ResultsOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="New results folder (default: the next numbered folder in results/)."),
]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Print only errors and requested data.")]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Print progress and log messages to standard error.")
]
# Exit code of a batch with failed runs.
INCOMPLETE = 3
# Name, placeholder and help text of each entry in the section ``Parameters`` of a docstring.
_HEADING = "\n\nParameters\n----------\n"
_DESCRIBED = re.compile(r"^(\w+)(?: : (.+))?\n((?: {4}.+\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Verbosity:
    """Options of every command."""

    quiet: QuietOption = False
    verbose: VerboseOption = False


@dataclass(frozen=True)
class Changes:
    """Changes of a scenario by options.

    Parameters
    ----------
    set_ : KEY=VALUE
        Value that replaces the value of a scenario key, such as economics.loss=600.
    """

    set_: Sequence[str] = ()
    allow_code: AllowCodeOption = False

    def load(self, scenario: str, *, seed: int | None = None, for_cross_play: bool = False) -> Scenario[ScenarioHead]:
        """Return a scenario with the changes of the options.

        An unknown name or an unreadable option `--set` is reported before slow modules are imported.

        Parameters
        ----------
        scenario : str
            Name of a bundled scenario, or path of a TOML file.
        seed : int, optional
            Seed in place of the scenario's.
        for_cross_play : bool
            Whether the command is cross-play, which reads further keys of the scenario.

        Raises
        ------
        InputError
            If the scenario or a change cannot be used.
        """
        resolve(scenario, "scenarios", "scenario")
        changes = dict(map(parse_override, self.set_))
        with waiting(f"reading {scenario}"):
            from reidsim.scenarios.scenario import Scenario
            from reidsim.scenarios.schema import READ_BY_CROSS_PLAY

            stop_if_interrupted()
            also_read = READ_BY_CROSS_PLAY if for_cross_play else ()
            return Scenario.load(scenario, changes, seed=seed, allow_code=self.allow_code, also_read=also_read)


@dataclass(frozen=True)
class Execution:
    """Execution of the runs of a batch.

    Parameters
    ----------
    executor
        Execution of the runs of a batch: one after the other, in several processes, or on a Dask cluster, which also
        reads the files of a large table of a single run (default: auto).
    workers
        Number of processes (default and maximum: one per core).
    scheduler : ADDRESS
        Address of a Dask scheduler, such as tcp://10.0.0.1:8786.
    timeout : SECONDS
        Time limit of one run of a batch, in seconds.
    """

    executor: Literal["auto", "serial", "processes", "dask"] | None = None
    workers: Annotated[int | None, typer.Option(min=1)] = None
    scheduler: str | None = None
    timeout: float | None = None

    def start(self) -> Executor:
        """Return the executor (see `Executor`) that the options name, by default ``auto``."""
        from reidsim.engine.batch.executors import executor_named

        name = self.executor or "auto"
        return executor_named(name, workers=self.workers, scheduler=self.scheduler, timeout=self.timeout)


@dataclass(frozen=True)
class BatchOptions:
    """Options of commands that run a batch if the scenario needs several runs.

    Parameters
    ----------
    resume
        Continue the batch in the output folder (default: the scenario's latest folder in results/).
    rerun_failed
        Continue the batch as --resume does, and repeat failed runs.
    """

    execution: Execution
    resume: bool = False
    rerun_failed: bool = False

    def refuse_for_single_run(self, source: Path, *, reads_files: bool = False) -> None:
        """Check that no option of a batch is given, because the scenario has a single run.

        `source` is the scenario's file, for messages, and `reads_files` whether a cluster may read its records.

        Raises
        ------
        InputError
            If an option is given; the message names the first one.
        """
        for name, value in {**vars(self.execution), "resume": self.resume, "rerun_failed": self.rerun_failed}.items():
            on_cluster = reads_files and self.execution.executor == "dask" and name in ("executor", "scheduler")
            if value and not on_cluster:
                raise InputError(
                    "the scenario is a single run",
                    source=source,
                    found=_option_name(name),
                    expected="replications, sweep or uncertainty in the scenario",
                )


def typer_command(function: Callable[..., None]) -> tuple[Callable[..., None], str]:
    """Return a command as typer reads it, with the options of every command, and its help text.

    Calling the returned function sets the verbosity and calls `function`. The help text is the docstring of `function`
    up to the section ``Parameters``.
    """

    def run(**values: Any) -> None:
        verbosity = _called(Verbosity, values)
        if verbosity.quiet or verbosity.verbose:
            set_verbosity(quiet=verbosity.quiet, verbose=verbosity.verbose)
        _called(function, values)

    parameters = [*_options_of(function), *_options_of(Verbosity)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run, (inspect.getdoc(function) or "").partition(_HEADING)[0]


def _called(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a function with the values of its options, and return its result.

    `values` are by parameter name. A parameter whose type is a class of options receives an object of the class, made
    from the values of its fields. A value of None is omitted, also from such an object, so that the default applies.
    """
    options: dict[str, Any] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind: Any = parameter.annotation
        value = _called(kind, values) if _is_group(kind) else values[parameter.name]
        options |= {} if value is None else {parameter.name: value}
    return function(**options)


def _options_of(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command with declarations for typer, its own before shared ones.

    Parameters without a default are arguments, others are options. Shared ones are the fields of a parameter whose type
    is a class of options. Help text and placeholder come from the section ``Parameters`` of the docstrings.
    """
    described = (inspect.getdoc(function) or "").partition(_HEADING)[2]
    texts = {name: (metavar or None, " ".join(text.split())) for name, metavar, text in _DESCRIBED.findall(described)}
    shared: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind: Any = parameter.annotation
        if _is_group(kind):
            shared += _options_of(kind)
            continue
        declared: Any = typer.Argument() if parameter.default is parameter.empty else typer.Option()
        if get_origin(kind) is Annotated:
            kind, declared = kind.__origin__, copy(kind.__metadata__[0])
        if isinstance(declared, typer.models.OptionInfo) and declared.default is ...:
            declared.default = _option_name(parameter.name)
        if parameter.name in texts:
            declared.metavar, declared.help = texts[parameter.name]
        if kind == Sequence[str]:
            # typer knows lists, but no other sequences.
            kind, parameter = list[str], parameter.replace(default=None)
        yield parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[kind, declared])
    yield from shared


def _is_group(kind: Any) -> bool:
    """Return whether a type is a class whose fields are options: a dataclass."""
    return hasattr(kind, "__dataclass_fields__")


def _option_name(parameter: str) -> str:
    return "--" + parameter.strip("_").replace("_", "-")


@contextmanager
def waiting(task: str) -> Iterator[DelayedProgress]:
    """Return a context that shows progress on standard error after a delay.

    It gives a callback that sets the task and its completed part; `task` is the first one. At the end, the context
    raises KeyboardInterrupt if a library caught an interrupt.
    """
    with DelayedProgress(progress_console(), task) as progress:
        yield progress
    stop_if_interrupted()


def results_folder(output: Path | None, name: str) -> Path:
    """Return the folder for results: `output`, or the next free one.

    The next free folder is ``results/NAME-NNN``, for `name`. The folder is not created.

    Raises
    ------
    InputError
        If `output` is a file, a folder that is not empty, or ``-``.
    """
    from reidsim.engine.results import next_free_folder, require_free

    folder = output or next_free_folder(Path("results"), name)
    require_free(folder)
    return folder


def print_tables(tables: Iterable[Table], *, always: bool = False) -> None:
    """Print tables to standard output, one below another.

    With the option `--quiet`, they are printed only if `always` is true.
    """
    for table in tables:
        console(always=always).print(table)


def print_json(result: RunResult, folder: Path) -> None:
    """Print the summary of a run or batch as JSON to standard output.

    It is also printed with the option `--quiet`. The object has the name of the scenario, the folder, state, seed,
    summary (one object per row, null for a missing value) and warnings.
    """
    import pandas as pd

    from reidsim.core.validation import plain

    rows = result.summary.reset_index().to_dict(orient="records")
    content = {
        "scenario": result.name,
        "folder": str(folder),
        "state": result.manifest.get("state", "complete"),
        "seed": result.manifest["seed"],
        "summary": [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in rows],
        "warnings": list(result.warnings),
    }
    echo(json.dumps(content, indent=2, default=plain, allow_nan=False))


def print_warnings(warnings: Sequence[str]) -> None:
    """Print warnings to standard error, except with the option `--quiet`."""
    for warning in warnings:
        note(f"warning: {warning}", err=True)


def print_results(
    result: Result, tables: Iterable[Table], *, verdict: bool = False, below: Iterable[Table | str] = ()
) -> None:
    """Print tables of a result, its verdict, further tables, and the warnings.

    With the option `--quiet`, nothing is printed.

    Parameters
    ----------
    result : Result
        Result with the warnings.
    tables : iterable of Table
        Tables to print first.
    verdict : bool
        Whether to print the verdict, a text that compares the policies; omitted if there is none to compare.
    below : iterable of Table or str
        Tables and lines below the verdict.
    """
    from reidsim.reports.verdict import verdict_of

    print_tables(tables)
    if verdict and (text := verdict_of(result)):
        console().print(text, markup=False, highlight=False, emoji=False)
    for each in below:
        console().print(each, markup=False, highlight=False, emoji=False)
    print_warnings(result.warnings)


def tell_results(result: Result, folder: Path, *, group_readable: bool = False, silent: bool = False) -> None:
    """Print the path of a results folder, unless `silent`, and set its permissions.

    If `group_readable` is true, the user's group may read the folder; otherwise the permissions stay unchanged. Exit
    with code 3 if the result is incomplete: runs of a batch, or points of a stress test, failed.
    """
    from reidsim.engine.results import open_to_group

    if group_readable:
        open_to_group(folder)
    is_incomplete = result.manifest.get("state") == "incomplete"
    if not silent:
        note(f"{'Incomplete results' if is_incomplete else 'Results'} in {folder}")
    if is_incomplete:
        raise typer.Exit(INCOMPLETE)
