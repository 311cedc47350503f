"""A progress bar that appears only where somebody watches and only when there is something to wait for."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_PATIENCE_SECONDS = 2.0
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Rate(ProgressColumn):
    """Steps per second, or seconds per step."""

    def render(self, task: Task) -> Text:
        """Return what is shown beside the bar of a task."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:.1f}/s" if task.speed >= 1 else f"{1 / task.speed:.1f} s each")


class DelayedProgress:
    """Shows progress on a terminal or in a notebook once work has taken two seconds; silent anywhere else."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._since = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> DelayedProgress:
        """Start the clock."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, task: str, done: int, total: int) -> None:
        """Note that `done` of `total` steps of a task are done."""
        if (
            not (self._console.is_terminal or self._console.is_jupyter)
            or time.monotonic() - self._since < _PATIENCE_SECONDS
        ):
            return
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                _Rate(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
        if task not in self._tasks:
            self._tasks[task] = self._bar.add_task(task, total=total)
        self._bar.update(self._tasks[task], completed=done, total=total)


def watched(play: Callable[_P, _R]) -> Callable[_P, _R]:
    """Show a bar in a notebook while a function works that reports its progress, unless it is told how to.

    The function has an argument ``progress``, called with what is being done, how much is done, and how much there is.
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
