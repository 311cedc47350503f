"""The command line.

Errors are printed to standard error in one line; exit code 2 means invalid input.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from reidsim import __version__, interrupts
from reidsim.commands.batch import rerun
from reidsim.commands.catalogue import list_, schema, show
from reidsim.commands.cross_play import cross_play
from reidsim.commands.new import new
from reidsim.commands.populations import describe, populate
from reidsim.commands.report import report
from reidsim.commands.run import check, explain, run, serve
from reidsim.commands.share import apply, share
from reidsim.commands.studies import attributes, score, stress, switch
from reidsim.errors import InputError
from reidsim.terminal import is_quiet, printable, set_verbosity


class _Grouped(TyperGroup):
    """A command group whose help lists the commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each group under its heading."""
        for heading, lines in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(_name_of(function), line) for function, line in lines.items()])


_QUIET = typer.Option("-q", "--quiet", help="Print only errors and requested data.")
_VERBOSE = typer.Option("-v", "--verbose", help="Print progress and log messages to standard error.")


def _with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the verbosity options, which every command has."""

    @wraps(command)
    def run(*, quiet: bool = False, verbose: bool = False, **given: Any) -> None:
        if quiet or verbose:
            set_verbosity(quiet=quiet, verbose=verbose)
        command(**given)

    signature, names = inspect.signature(command, eval_str=True), {"quiet": _QUIET, "verbose": _VERBOSE}
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
        for name, option in names.items()
    ]
    whole = signature.replace(parameters=[*signature.parameters.values(), *more])
    run.__signature__ = whole  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in whole.parameters.values()} | {"return": None}
    return run


_NO_MEMORY = "not enough memory; run reidsim check SCENARIO to print the size of the scenario"
# Parts of error messages from Python and the operating system if memory is too short for a thread or a library.
_NO_ROOM = ("can't start new thread", "failed to map segment from shared object", "annot allocate memory")

app = typer.Typer(
    name="reidsim",
    cls=_Grouped,
    help="Choose a release of personal records that accounts for the incentives of an adversary.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# All commands with their lines in the program's help, by heading.
_GROUPS: dict[str, dict[Callable[..., None], str]] = {
    "Start": {
        new: "Draft a scenario from your own file of records",
        check: "Check a scenario and its files without running it",
        run: "Run a scenario, print its measures and write results",
        serve: "Show a scenario as a web page on this computer",
        list_: "List the bundled scenarios and populations",
        show: "Print a scenario or recipe as a file to edit",
    },
    "Results": {
        report: "Write a report of a run",
        share: "Write the released records of a policy",
        apply: "Release new records by the rules of an earlier release",
        rerun: "Repeat one run of a batch",
    },
    "Studies": {
        stress: "Test how uncertain parameters change the decision",
        switch: "Find the amounts at which the best policy changes",
        attributes: "Compute the effect of each column on risk and payoff",
        cross_play: "Play every defender against every adversary",
        score: "Compute payoff and risk of any released file",
    },
    "Data": {
        populate: "Write a population as a Parquet file",
        describe: "Estimate the uniqueness of the records in a file",
        explain: "Print the agents of a scenario and the phases of a round",
        schema: "Print the JSON Schema of scenario files",
    },
}


def _name_of(function: Callable[..., None]) -> str:
    return function.__name__.strip("_").replace("_", "-")


for group in _GROUPS.values():
    for command, line in group.items():
        app.command(_name_of(command), short_help=line)(_with_verbosity(command))


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
    quiet: Annotated[bool, _QUIET] = False,
    verbose: Annotated[bool, _VERBOSE] = False,
) -> None:
    set_verbosity(quiet=quiet, verbose=verbose)
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; the entry point ``reidsim``."""
    interrupts.remember()
    warnings.showwarning = _print_warning
    sys.unraisablehook = _report_unraisable
    try:
        try:
            app()
        except Exception as error:
            fault = None if interrupts.came() or _tells_of_memory(error) else _fault_of_parts(error)
            if fault is None:
                raise
            raise fault from error
        finally:
            sys.stdout.flush()
    except InputError as error:
        _end(str(error), 2)
    except (SystemExit, SystemError) as error:
        if interrupts.carries(error, BrokenPipeError):
            # typer and rich end with a code of their own.
            _end_unread()
        # typer ends quietly with 130 on an interrupt; compiled code turns it into a SystemError that carries it.
        interrupt = error.code == 130 if isinstance(error, SystemExit) else interrupts.caused(error)
        if not interrupt:
            raise
        _end(interrupts.message(), interrupts.exit_code())
    except MemoryError:
        # The objects of the failed computation are released by now, so there is memory to print the message.
        _end(_NO_MEMORY, 2)
    except BrokenPipeError:
        _end_unread()
    except ImportError as error:
        if not _tells_of_memory(error):
            raise
        _end(_NO_MEMORY, 2)
    except OSError as error:
        _discard_output()
        _end(f"output cannot be written: {error.strerror or error}", 2)
    except (RuntimeError, ValueError) as error:
        if _tells_of_memory(error):
            _end(_NO_MEMORY, 2)
        # A library may have caught an interrupt and raised another error.
        if not interrupts.came():
            raise
        _end(interrupts.message(), interrupts.exit_code())
    finally:
        interrupts.forget()


def _fault_of_parts(error: Exception) -> InputError | None:
    """Return the error to report if a user's adversary, policy or kind raised `error`.

    The result is None for any other error.
    """
    if isinstance(error, InputError | BrokenPipeError):
        return None
    # Imported here because it is slow to import and only needed after an error.
    from reidsim.scenarios.user_defined import fault_of_parts

    return fault_of_parts(error)


def _tells_of_memory(error: Exception) -> bool:
    return any(text in str(error) for text in _NO_ROOM)


def _report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Do not print an interrupt inside a callback of compiled code.

    It is recorded elsewhere and ends the run.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _print_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning in one line, without its location in the code."""
    if not is_quiet():
        print(printable(f"warning: {message}"), file=file or sys.stderr)


def _end(message: str, code: int) -> NoReturn:
    print(printable(f"reidsim: {message}"), file=sys.stderr)
    sys.exit(code)


def _end_unread() -> NoReturn:
    """End like a program that was stopped by a closed pipe (SIGPIPE).

    Buffered output is not written.
    """
    _discard_output()
    sys.exit(141)


def _discard_output() -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
