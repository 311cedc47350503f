"""Runs without a scenario, some of which fail; importable by worker processes."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reidsim.engine.batch.design import RunTask

# Workers inherit the import path of the process that starts them.
sys.path.append(str(Path(__file__).parent))


def tasks(n):
    """Return n tasks, numbered from 0."""
    return [RunTask(f"{number:016x}", number, 0, number, {}) for number in range(n)]


@dataclass(frozen=True)
class Square:
    """Squares a task's number; given numbers raise, kill the process or hang instead."""

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
    """Ends the process that unpickles it."""

    def __call__(self, task):
        return {}, ()

    def __reduce__(self):
        return end_at_once, ()
