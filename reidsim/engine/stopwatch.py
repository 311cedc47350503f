"""Seconds that work takes, whatever else the computer does."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds since it was made: of the wall, or of the processor where other programs keep it busy."""

    def __init__(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """The lesser of the two."""
        return min(time.perf_counter() - self._begun[0], time.process_time() - self._begun[1])
