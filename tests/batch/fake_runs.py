"""Runs that need no scenario, some of which go wrong; importable by worker processes, which share this path."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reidsim.engine.batch.tasks import RunTask

# Workers have the import path of the process that starts them.
sys.path.append(str(Path(__file__).parent))


def tasks(n):
    """Return n tasks, numbered from 0."""
    return [RunTask(f"{number:016x}", number, 0, number, {}) for number in range(n)]


@dataclass(frozen=True)
class Square:
    """Squares the number of a task; at some of them it does what it is told to instead."""

    raises: tuple = ()
    kills: tuple = ()
    kills_once: tuple = ()
    hangs: tuple = ()
    folder: str = ""

    def __call__(self, task):
        number = task.point
        if self.folder:
            with (Path(self.folder) / "begun.txt").open("a") as file:
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
        return {"runs": {"policy": ["a", "b"], "square": [number**2, number / 7]}}, ()


def end_at_once():
    os._exit(3)


class NeverStarts:
    """Ends the process that is given it."""

    def __call__(self, task):
        return {}, ()

    def __reduce__(self):
        return end_at_once, ()
