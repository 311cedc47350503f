"""The command line.

Errors are printed to standard error in one line; exit code 2 means invalid input.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version as installed_version
from itertools import chain
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reidsim.commands.arguments import QuietOption, VerboseOption, print_warnings, typer_command
from reidsim.commands.data import apply, describe, desk, list_, new, populate, report, schema, serve, share, show
from reidsim.commands.studies import attack, attributes, check, cross_play, explain, rerun, run, score, stress, switch
from reidsim.core import interrupts
from reidsim.core.errors import InputError
from reidsim.core.terminal import echo, set_verbosity


class _Grouped(TyperGroup):
    """A command group whose help lists the commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each group under its heading.

        The text of a command is the first sentence of its docstring.
        """
        for heading, functions in _GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(_name_of(each), (each.__doc__ or "").partition(".\n")[0]) for each in functions])


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
# All commands, by heading of the program's help.
_GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "Start": (desk, new, check, run, serve, list_, show),
    "Results": (report, share, apply, rerun),
    "Studies": (stress, switch, attributes, cross_play, score, attack),
    "Data": (populate, describe, explain, schema),
}


def _name_of(function: Callable[..., None]) -> str:
    return function.__name__.strip("_").replace("_", "-")


for function in chain.from_iterable(_GROUPS.values()):
    command, text = typer_command(function)
    app.command(_name_of(function), help=text)(command)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    set_verbosity(quiet=quiet, verbose=verbose)
    if version:
        typer.echo(installed_version("reidsim"))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; the entry point ``reidsim``.

    Errors that a user can correct are printed in one line to standard error, and the process exits with a code, such as
    2 for wrong input. Defects raise their error.
    """
    interrupts.remember()
    # Print a warning in one line, without its location in the code.
    warnings.showwarning = lambda message, *_, **__: print_warnings([str(message)])
    sys.unraisablehook = _report_unraisable
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BaseException as error:
        ending = _ending(error)
        if ending is None:
            raise
        message, code = ending
        if isinstance(error, OSError) or not message:
            # Buffered output cannot be written.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if message:
            echo(f"reidsim: {message}", err=True)
        sys.exit(code)
    finally:
        interrupts.forget()


def _ending(error: BaseException) -> tuple[str, int] | None:
    """Return the message and exit code for an error; None if the error is a defect or an ordinary exit.

    The code is 2 for wrong input, errors of user-defined code, too little memory and output that cannot be written; 141
    with an empty message for a closed pipe. For an interrupt, see `interrupts.ending`.
    """
    if isinstance(error, InputError):
        return str(error), 2
    if interrupts.caused(error, BrokenPipeError):
        # End like a program that was stopped by a closed pipe (SIGPIPE); typer and rich end with a code of their own.
        return "", 141
    if any(text in str(error) for text in _NO_ROOM):
        return _NO_MEMORY, 2
    # typer ends quietly with 130 on an interrupt; a library may have caught an interrupt and raised another error.
    if isinstance(error, Exception):
        is_interrupt = interrupts.came() or interrupts.caused(error)
    else:
        is_interrupt = isinstance(error, SystemExit) and error.code == 130
    if is_interrupt:
        return interrupts.ending()
    if not isinstance(error, Exception):
        return None
    # Imported here because it is slow to import and only needed after an error.
    from reidsim.scenarios.registry import fault_of_parts

    fault = fault_of_parts(error)
    if fault is not None:
        return str(fault), 2
    if isinstance(error, MemoryError):
        return _NO_MEMORY, 2
    return (f"output cannot be written: {error.strerror or error}", 2) if isinstance(error, OSError) else None


def _report_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Report an error that Python cannot raise, unless it is an interrupt.

    The report is that of Python. An interrupt inside a callback of compiled code is recorded elsewhere and ends the
    run.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
