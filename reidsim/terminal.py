"""Print text without control characters, as `--quiet` and `--verbose` allow.

Text from files (titles, column names, values, messages) may contain escape sequences that move the cursor, rename the
window or reverse the reading direction. Everything that the command line prints passes through this module.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Control sequences (CSI), strings that end with BEL or ST (OSC, DCS and others), and two-character escapes. Of an
# unterminated string, the pattern matches only the beginning.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 except tab and newline, DEL, C1, line separators, and marks that change the reading direction.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

_LOGGER = logging.getLogger("reidsim")


def printable(text: str) -> str:
    """Return text without escape sequences, control and direction characters."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


class PrintableConsole(Console):
    """A console that keeps its own styles and removes control characters from text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of an object, without control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class _LogHandler(logging.Handler):
    """Print informational log messages on standard error.

    The command line prints warnings and errors itself.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message below warning level."""
        if record.levelno < logging.WARNING:
            echo(f"{record.name}: {record.getMessage()}", err=True)


class _Verbosity:
    quiet = verbose = False


def set_verbosity(*, quiet: bool = False, verbose: bool = False) -> None:
    """Set the amount of output for the whole process.

    Parameters
    ----------
    quiet : bool
        Print only errors and requested data.
    verbose : bool
        Print log messages in place of progress bars.
    """
    _Verbosity.quiet, _Verbosity.verbose = quiet, verbose
    _LOGGER.handlers = [each for each in _LOGGER.handlers if not isinstance(each, _LogHandler)]
    _LOGGER.setLevel(logging.INFO if verbose else logging.NOTSET)
    if verbose:
        _LOGGER.addHandler(_LogHandler())


def is_quiet() -> bool:
    """Return whether only errors and requested data are printed."""
    return _Verbosity.quiet


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print requested data or an error, also when quiet."""
    typer.echo(printable(text), err=err, nl=nl)


def note(text: str) -> None:
    """Print a line on standard output, unless quiet."""
    if not _Verbosity.quiet:
        echo(text)


def console(*, stderr: bool = False, always: bool = False) -> Console:
    """Return a console for standard output or standard error.

    It prints nothing when quiet, unless `always` is set.
    """
    return PrintableConsole(stderr=stderr, quiet=_Verbosity.quiet and not always)


def progress_console() -> Console:
    """Return the console of progress bars.

    It is silent when quiet, and when verbose because bars would mix with log messages.
    """
    return PrintableConsole(stderr=True, quiet=_Verbosity.quiet or _Verbosity.verbose)
