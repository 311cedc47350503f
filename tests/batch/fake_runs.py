"""Runs that need no scenario, some of which go wrong; importable by worker processes, which share this path."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from reidsim.experiments.batch.tasks import RunTask


def tasks(n, **values):
    """Return n tasks; `values` are lists of values by task number."""
    return [RunTask(f"{number:016x}", number, 0, number, {}) for number in range(n)]


@dataclass(frozen=True)
class Square:
    """Squares the number of the task; does what it is told to at some of them."""

    raises: tuple = ()
    kills: tuple = ()
    kills_once: tuple = ()
    hangs: tuple = ()
    seconds: float = 0.0
    folder: str = ""

    def __call__(self, task):
        number = task.point
        if self.folder:
            with (Path(self.folder) / "done.txt").open("a") as file:
                file.write(f"{number}\n")
        if number in self.raises:
            raise ValueError(f"no square\nof {number}")
        if number in self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if number in self.kills_once:
            marker = Path(self.folder) / f"killed-{number}"
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        if number in self.hangs:
            time.sleep(3600)
        time.sleep(self.seconds)
        return {"runs": {"policy": ["a", "b"], "square": [number**2, -(number**2)]}}, ()


def killed_while_unpickled():
    os._exit(3)


class NeverStarts:
    def __call__(self, task):
        return {}, ()

    def __reduce__(self):
        return killed_while_unpickled, ()
