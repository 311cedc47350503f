"""What the command line prints: text without control characters, as much of it as `--quiet` and `--verbose` ask for.

Text from files (titles, column names, values, messages) may hold escape sequences that move the cursor, rename the
window or reverse the reading direction. Everything that the command line prints passes through this module.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Control sequences (CSI), strings that end with BEL or ST (OSC, DCS and others), and escapes of two characters; of a
# string without an end, only the beginning.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 except tab and newline, DEL, C1, line separators, and marks that change the reading direction.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_LOGGER = logging.getLogger("reidsim")


def printable(text: str) -> str:
    """Return text without escape sequences, control characters and marks of reading direction."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


class PrintableConsole(Console):
    """A console that prints its own styles, and no control characters from the text that it is given."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of an object."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class _LogHandler(logging.Handler):
    """Prints log messages on standard error; the command line prints warnings and errors itself."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        if record.levelno < logging.WARNING:
            echo(f"{record.name}: {record.getMessage()}", err=True)


class _Verbosity:
    quiet = verbose = False


def set_verbosity(*, quiet: bool = False, verbose: bool = False) -> None:
    """Print errors and asked-for data alone (quiet), or log messages in place of progress bars (verbose)."""
    _Verbosity.quiet, _Verbosity.verbose = quiet, verbose
    _LOGGER.handlers = [each for each in _LOGGER.handlers if not isinstance(each, _LogHandler)]
    _LOGGER.setLevel(logging.INFO if verbose else logging.NOTSET)
    if verbose:
        _LOGGER.addHandler(_LogHandler())


def is_quiet() -> bool:
    """Return whether errors and asked-for data alone are printed."""
    return _Verbosity.quiet


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text that a command was asked for, or an error."""
    typer.echo(printable(text), err=err, nl=nl)


def note(text: str) -> None:
    """Print a line on standard output, unless quiet."""
    if not _Verbosity.quiet:
        echo(text)


def console(*, stderr: bool = False, always: bool = False) -> Console:
    """Return a console of standard output or standard error that prints nothing if quiet, or always prints."""
    return PrintableConsole(stderr=stderr, quiet=_Verbosity.quiet and not always)


def progress_console() -> Console:
    """Return the console of progress bars, which would mix with log messages."""
    return PrintableConsole(stderr=True, quiet=_Verbosity.quiet or _Verbosity.verbose)
