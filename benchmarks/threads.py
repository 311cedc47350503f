"""Single runs in several threads against the same in one, which gives the same bytes.

Run by hand, on an idle machine: ``python benchmarks/threads.py``. Seconds are of the wall, so the ratio is what a user
gains; other programs that keep the cores busy change it. The busiest thread's seconds of the processor do not depend on
them, and tell what the ratio would be on idle cores, were nothing else shared.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numba
from figures import figure

from reidsim.adversaries.multistage.two_stage import forget_inferences
from reidsim.games.masking import game as masking_game
from reidsim.games.masking.best_first import best_first
from reidsim.games.masking.greedy import greedy
from reidsim.kinds.masking.study import MaskingStudy
from reidsim.scenarios.load import load_scenario
from reidsim.scenarios.registry import kind_of
from reidsim.threads import done_in_threads

SOLVERS = {"best-first": best_first, "greedy": greedy}


class BusySeconds:
    """Counts seconds of the processor by thread, in the place of `done_in_threads`."""

    def __init__(self) -> None:
        self.by_thread: Counter[int] = Counter()

    def __call__(self, work: Callable[[Any], Any], parts: Sequence[Any], threads: int) -> Iterator[Any]:
        """Do the parts of some work."""

        def timed(part: Any) -> Any:
            begun = time.thread_time()
            done = work(part)
            self.by_thread[threading.get_ident()] += time.thread_time() - begun
            return done

        return done_in_threads(timed, parts, threads)


def solved(study: MaskingStudy, name: str, threads: int) -> tuple[float, float, bytes]:
    """Solve the game anew; return seconds of the wall, those of the busiest thread, and the strategies."""
    numba.config.NUMBA_NUM_THREADS = threads
    busy = masking_game.done_in_threads = BusySeconds()
    forget_inferences()
    study._drawn.clear()
    game, _ = study.games(0)
    _ = game.arrays, game.attack_arrays, game.memory
    begun, own = time.perf_counter(), time.thread_time()
    choice = SOLVERS[name](game)
    game.evaluate(choice)
    wall, own = time.perf_counter() - begun, time.thread_time() - own
    own -= busy.by_thread.pop(threading.get_ident(), 0.0) if threads > 1 else own
    return wall, own + max(busy.by_thread.values()), choice.strategies.tobytes()


def main() -> None:
    """Print both times of each solver."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000, help="subjects")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    sizes = {"targets.size": given.targets, "resources.registry.size": max(20_000, given.targets), "replications": 1}
    loaded = load_scenario("wan2021", sizes)
    study = kind_of(loaded.scenario).build(loaded)
    for name in SOLVERS:
        solved(study, name, 1)
        runs = [[solved(study, name, threads) for _ in range(given.repeats)] for threads in (1, given.threads)]
        if len({strategies for each in runs for *_, strategies in each}) > 1:
            raise SystemExit(f"{name}: other strategies in {given.threads} threads")
        (one, alone), (several, busiest) = (
            [min(column) for column in list(zip(*each, strict=True))[:2]] for each in runs
        )
        work = f"masking, {name}, {given.targets:,} subjects, {given.threads} threads"
        row = figure(work, several, "one thread", one, 1.7)
        print(f"{work}: {several:.2f} s, one thread {one:.2f} s: {row['ratio']:.2f} times as fast")
        print(f"  busiest thread {busiest:.2f} s of the processor, alone {alone:.2f} s: {alone / busiest:.2f} times")


if __name__ == "__main__":
    main()
