"""Searches of the masking game in several threads against the same in one, which give the same bytes.

Run by hand, on an idle machine: ``python benchmarks/threads.py``. Seconds are wall-clock time: the ratio is a user's
gain; other programs that keep the cores busy change it. The busiest thread's seconds of the processor do not depend on
them, and give the ratio on idle cores without other shared resources.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numba
from figures import figure

from reidsim.adversaries.multistage import attack as multistage
from reidsim.core.numerics import done_in_threads
from reidsim.games.masking import game as masking_game
from reidsim.games.masking.searches import best_first, greedy
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.scenarios.scenario import Scenario

SOLVERS = {"best-first": best_first, "greedy": greedy}


class BusySeconds:
    """Counts seconds of the processor of the busiest thread of each call, in the place of `done_in_threads`.

    Where there are no more parts than threads, each counts as a thread: on a busy machine one may do two of them.
    """

    def __init__(self, *modules: ModuleType) -> None:
        self.busiest = 0.0
        self._own = threading.get_ident()
        for module in modules:
            vars(module)["done_in_threads"] = self

    def __call__(self, work: Callable[[Any], Any], parts: Sequence[Any], threads: int) -> Iterator[Any]:
        """Do the parts of some work."""
        by_thread: defaultdict[int, float] = defaultdict(float)

        def timed(place: int) -> Any:
            begun, thread = time.thread_time(), threading.get_ident()
            done = work(parts[place])
            if thread != self._own:
                by_thread[place if len(parts) <= threads else thread] += time.thread_time() - begun
            return done

        yield from done_in_threads(timed, range(len(parts)), threads)
        self.busiest += max(by_thread.values(), default=0.0)

    def critical(self, work: Callable[[], Any]) -> tuple[float, float, Any]:
        """Do some work; return wall-clock seconds, seconds of its longest threads, and the result."""
        begun, own = time.perf_counter(), time.thread_time()
        done = work()
        wall, own = time.perf_counter() - begun, time.thread_time() - own
        return wall, own + self.busiest, done


def masked(study: MaskingStudy, name: str, threads: int) -> tuple[float, float, bytes]:
    """Solve a masking game; return wall-clock seconds, seconds of the longest thread, and the strategies."""
    numba.config.NUMBA_NUM_THREADS = threads  # type: ignore[attr-defined]
    busy = BusySeconds(masking_game)
    multistage._kept.clear()
    # A copy of the study draws its tables anew.
    game, _ = replace(study).games(0)
    _ = game.arrays, game.staged_linker.compiled

    def solve() -> bytes:
        choice = SOLVERS[name](game)
        game.evaluate(choice)
        return choice.strategies.tobytes()

    return busy.critical(solve)


def compared(work: str, solve: Callable[[int], tuple[float, float, bytes]], threads: int, repeats: int) -> None:
    """Print the times of some work in several threads and in one."""
    solve(1)
    runs = [[solve(number) for _ in range(repeats)] for number in (1, threads)]
    if len({strategies for each in runs for *_, strategies in each}) > 1:
        raise SystemExit(f"{work}: other strategies in {threads} threads")
    (one, alone), (several, busiest) = ([min(column) for column in list(zip(*each, strict=True))[:2]] for each in runs)
    work = f"{work}, {threads} threads"
    row = figure(work, several, "one thread", one, 1.7)
    print(f"{work}: {several:.2f} s, one thread {one:.2f} s: {row['ratio']:.2f} times as fast")
    print(f"  longest threads {busiest:.2f} s of the processor, alone {alone:.2f} s: {alone / busiest:.2f} times")


def main() -> None:
    """Print both times of each solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000, help="subjects")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    sizes = {"targets.size": given.targets, "resources.registry.size": max(20_000, given.targets), "replications": 1}
    study = build_masking_study(Scenario.load("wan2021", sizes))
    for name in SOLVERS:
        solve = partial(masked, study, name)
        compared(f"masking, {name}, {given.targets:,} subjects", solve, given.threads, given.repeats)


if __name__ == "__main__":
    main()
