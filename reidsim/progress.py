"""Show a progress bar on terminals and in notebooks, after a delay."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

# Delay before the bar appears, so that quick work shows none.
_PATIENCE_SECONDS = 0.6
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Rate(ProgressColumn):
    """Steps per second, or seconds per step."""

    def render(self, task: Task) -> Text:
        """Return the text beside the bar of a task."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:.1f}/s" if task.speed >= 1 else f"{1 / task.speed:.1f} s each")


class _Steps(MofNCompleteColumn):
    """Completed and total steps; empty for a task without steps."""

    def render(self, task: Task) -> Text:
        """Return the text beside the bar of a task."""
        return Text("") if task.total is None else super().render(task)


class DelayedProgress:
    """A progress bar for each task, shown after a delay.

    Nothing is shown if the console is neither a terminal nor a notebook. A single-step task has a bar that moves to and
    fro, and its line disappears with the next task. Tasks that started during a step of another task are parts of this
    step; their lines disappear when the other task completes the step.

    Parameters
    ----------
    console : Console
    task : str, optional
        Name of the first task.
    """

    def __init__(self, console: Console, task: str | None = None) -> None:
        self._is_watched = console.is_jupyter or console.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), _Steps(), _Rate(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._since = time.monotonic()
        # The timer shows the bar during work that reports no steps.
        self._timer = threading.Timer(_PATIENCE_SECONDS, self._bar.start)
        self._timer.daemon = True
        if task is not None:
            self(task, 0, 1)

    def __enter__(self) -> DelayedProgress:
        """Start the timer."""
        if self._is_watched:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._timer.cancel()
        if self._is_watched:
            self._timer.join()
            self._bar.stop()

    def __call__(self, task: str, done: int, total: int) -> None:
        """Report that `done` of `total` steps of a task are done."""
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
        steps = None if total <= 1 else total
        number = self._bar.add_task(task, total=steps) if known is None else known.id
        self._bar.update(number, completed=done, total=steps)
        if time.monotonic() - self._since >= _PATIENCE_SECONDS:
            self._bar.start()


def watched(play: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function so that it shows a progress bar in notebooks.

    The function has an argument ``progress``; there is no bar if the caller passes it.
    """

    @functools.wraps(play)
    def shown(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        console = Console(stderr=True)
        if kwargs.get("progress") is not None or not console.is_jupyter:
            return play(*args, **kwargs)
        with DelayedProgress(console) as bar:
            kwargs["progress"] = bar
            return play(*args, **kwargs)

    return shown
