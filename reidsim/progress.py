"""A progress bar that appears only where somebody watches and only when there is something to wait for."""

from __future__ import annotations

import functools
import threading
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

_PATIENCE_SECONDS = 0.6
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Rate(ProgressColumn):
    """Steps per second, or seconds per step."""

    def render(self, task: Task) -> Text:
        """Return what is shown beside the bar of a task."""
        if not task.speed:
            return Text("")
        return Text(f"{task.speed:.1f}/s" if task.speed >= 1 else f"{1 / task.speed:.1f} s each")


class _Steps(MofNCompleteColumn):
    """Steps done of those there are; nothing for work that is not done in steps."""

    def render(self, task: Task) -> Text:
        """Return what is shown beside the bar of a task."""
        return Text("") if task.total is None else super().render(task)


class DelayedProgress:
    """Shows progress on a terminal or in a notebook once work has taken a while; silent anywhere else.

    Work that is done in one step fills no bar, which moves to and fro instead. The line of what is done leaves with the
    next task, those of what is part of a step with the next step.

    Parameters
    ----------
    console : Console
    task : str, optional
        What is done first.
    """

    def __init__(self, console: Console, task: str | None = None) -> None:
        self._watched = console.is_jupyter or console.is_terminal
        self._console = console
        self._since = time.monotonic()
        self._bar: Progress | None = None
        # Steps done and all steps of each task that is under way, and its line if there is one.
        self._steps: dict[str, tuple[int, int]] = {} if task is None else {task: (0, 1)}
        self._lines: dict[str, TaskID] = {}
        # The bar appears when its time has come, whatever the program is at.
        self._timer = threading.Timer(_PATIENCE_SECONDS, self._show)
        self._timer.daemon = True
        self._lock = threading.RLock()
        self._over = False

    def __enter__(self) -> DelayedProgress:
        """Start the clock."""
        if self._watched:
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, task: str, done: int, total: int) -> None:
        """Note that `done` of `total` steps of a task are done."""
        if not self._watched:
            return
        with self._lock:
            begun = list(self._steps)
            if task not in self._steps:
                over = [other for other, (ended, steps) in self._steps.items() if steps <= 1 or ended >= steps]
            elif done > self._steps[task][0]:
                over = begun[begun.index(task) + 1 :]
            else:
                over = []
            for other in over:
                self._leave(other)
            self._steps[task] = (done, total)
            if time.monotonic() - self._since >= _PATIENCE_SECONDS:
                self._show()

    def _leave(self, task: str) -> None:
        del self._steps[task]
        if self._bar is not None and task in self._lines:
            self._bar.remove_task(self._lines.pop(task))

    def _show(self) -> None:
        with self._lock:
            if self._over or not self._steps:
                return
            if self._bar is None:
                self._bar = Progress(
                    TextColumn("{task.description}"),
                    BarColumn(),
                    _Steps(),
                    _Rate(),
                    TimeRemainingColumn(),
                    console=self._console,
                    transient=True,
                )
                self._bar.start()
            for task, (done, total) in self._steps.items():
                steps = None if total <= 1 else total
                if task not in self._lines:
                    self._lines[task] = self._bar.add_task(task, total=steps)
                self._bar.update(self._lines[task], completed=done, total=steps)


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
