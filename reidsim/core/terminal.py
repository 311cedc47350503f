"""Print text without control characters, and progress bars.

The options `--quiet` and `--verbose` determine the amount of output. Text from files (titles, column names, values,
messages) may contain escape sequences that move the cursor, rename the window or reverse the reading direction.
Everything that the command line prints passes through this module.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Iterable
from types import TracebackType

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment

# Control sequences (CSI), strings that end with BEL or ST (OSC, DCS and others), and two-character escapes. Of an
# unterminated string, the pattern matches only the beginning.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
# C0 except tab and newline, DEL, C1, line separators, and marks that change the reading direction.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# Delay before the bar appears, so that quick work shows none.
_PATIENCE_SECONDS = 0.6
_LOGGER = logging.getLogger("reidsim")


def printable(text: str) -> str:
    """Return text without escape sequences, control and direction characters.

    Tabs and line feeds are kept.
    """
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


class PrintableConsole(Console):
    """A console that keeps its own styles and removes control characters from text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of an object, without control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class _LogHandler(logging.Handler):
    """Print informational log messages on standard error.

    Messages of warning level or above are skipped: the command line prints warnings and errors itself.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of `record` if it is below warning level."""
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


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text, such as requested data or an error, also when quiet.

    Control characters are removed; see `printable`. It goes to standard output, or to standard error if `err`, with a
    line end if `nl`.
    """
    print(printable(text), end="\n" if nl else "", file=sys.stderr if err else sys.stdout, flush=True)


def note(text: str, *, err: bool = False) -> None:
    """Print a line on standard output or standard error, unless quiet."""
    if not _Verbosity.quiet:
        echo(text, err=err)


def console(*, always: bool = False) -> Console:
    """Return a console for standard output.

    It prints nothing when quiet, unless `always` is set.
    """
    return PrintableConsole(quiet=_Verbosity.quiet and not always)


def progress_console() -> Console:
    """Return the console of progress bars.

    It is silent when quiet, and when verbose because bars would mix with log messages.
    """
    return PrintableConsole(stderr=True, quiet=_Verbosity.quiet or _Verbosity.verbose)


class DelayedProgress:
    """Progress bars, one line per task, that appear after a short delay.

    The delay counts once, from the start of the context. Nothing is shown if the console is neither a terminal nor a
    notebook. A task with a single step has a bar that moves to and fro. When a new task starts, the lines of finished
    tasks and of tasks with a single step disappear. A task that starts while a task of several steps is unfinished is
    part of the current step of that task; its line disappears when this step is complete.

    Parameters
    ----------
    console : Console
    task : str, optional
        Name of the first task.
    """

    def __init__(self, console: Console, task: str | None = None) -> None:
        self._is_watched = console.is_jupyter or console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._since = time.monotonic()
        # The timer shows the bar during work that reports no steps.
        self._timer = threading.Timer(_PATIENCE_SECONDS, self._bar.start)
        self._timer.daemon = True
        if task is not None:
            self(task, 0, 1)

    def __enter__(self) -> DelayedProgress:
        """Start the delay after which the bar is shown; return the object itself."""
        if self._is_watched:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Cancel the delay and remove the bar."""
        self._timer.cancel()
        if self._is_watched:
            self._timer.join()
            self._bar.stop()

    def __call__(self, task: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of a task are done.

        A new task gets a line, and lines of tasks that are over are removed; see the class. Nothing happens if nothing
        is shown.
        """
        if not self._is_watched:
            return
        tasks = self._bar.tasks
        known = next((each for each in tasks if each.description == task), None)
        if known is None:
            over = [each for each in tasks if each.total is None or each.finished]
        else:
            over = tasks[tasks.index(known) + 1 :] if done > known.completed else []
        for each in over:
            self._bar.remove_task(each.id)
        number = self._bar.add_task(task) if known is None else known.id
        self._bar.update(number, completed=done, total=None if total <= 1 else total)
        if time.monotonic() - self._since >= _PATIENCE_SECONDS:
            self._bar.start()
