"""Cost of cross-play as a batch, against a bare loop over the same runs, and of equilibria.

Run by hand: ``python benchmarks/cross_play.py``. Ratios are of times measured in the same run; the batch is whole: its
journal, tables, statistics and worst cases on disk. Batch and loop take turns, so that other work slows both.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from figures import figure
from needs import require_file

from reidsim.engine.batch.design import content_of_run, design_of, tasks_of
from reidsim.engine.batch.executors import SerialExecutor
from reidsim.engine.cross_play import CrossPlayOptions, CrossPlayWork, cross_play_loaded
from reidsim.engine.scenario import cross_play
from reidsim.games.matrix_games import equilibrium, zero_sum
from reidsim.scenarios.scenario import Scenario

TOWN = Path(__file__).resolve().parents[1] / "tests" / "scenarios" / "town" / "town.toml"
_BLOCK = 100


def in_blocks(n: int) -> None:
    """Play n runs that differ in the loss, in blocks of a hundred, as batches and in loops."""
    options = CrossPlayOptions()
    cross_play(TOWN)
    loop = batch = 0.0
    for start in range(0, n, _BLOCK):
        losses = np.linspace(50, 600, n)[start : start + _BLOCK].tolist()
        loaded: Scenario[Any] = Scenario.load(TOWN, {"figures": {}, "sweep": {"values": {"economics.loss": losses}}})
        design = design_of(loaded)
        tasks = tasks_of(loaded, design, content_of_run(loaded) | {"cross_play": options.facts})
        work = CrossPlayWork(loaded, play=options)
        begun = time.perf_counter()
        for task in tasks:
            work(task)
        loop += time.perf_counter() - begun
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            cross_play_loaded(loaded, options, SerialExecutor(), folder=Path(folder) / "played")
            batch += time.perf_counter() - begun
    print(f"{n:,} small runs: bare loop {loop:.1f} s, batch {batch:.1f} s, ratio {batch / loop:.3f} (at most 1.15)")
    figure(f"{n:,} runs of cross-play as a batch", batch, "bare loop", loop, 1.15, at_most=True)


def mixtures(n_games: int) -> None:
    """Solve games as large as a table of cross-play, some of whose rows are equal."""
    rng = np.random.default_rng(np.random.SeedSequence(1))
    seconds: dict[str, Any] = {"linear program": 0.0, "best and worst equilibrium": 0.0}
    for _ in range(n_games):
        first, second = (rng.normal(scale=50, size=(16, 7)) for _ in range(2))
        first, second = np.vstack([first, first[:4]]), np.vstack([second, second[:4]])
        begun = time.perf_counter()
        zero_sum(first)
        solved = time.perf_counter()
        equilibrium(first, second)
        equilibrium(first, second, for_rows="worst")
        seconds["linear program"] += solved - begun
        seconds["best and worst equilibrium"] += time.perf_counter() - solved
    times = ", ".join(f"{name} {1000 * each / n_games:.0f} ms" for name, each in seconds.items())
    print(f"20 plans against 7 adversaries: {times}")


def best_replies() -> None:
    """Add best replies to the game of the town."""
    begun = time.perf_counter()
    cross_play(TOWN)
    plain = time.perf_counter() - begun
    begun = time.perf_counter()
    found = cross_play(TOWN, double_oracle="zero-sum", tolerance=1e-6).replies["double_oracle"]
    added = time.perf_counter() - begun - plain
    print(f"double oracle: {len(found)} iterations in {added:.2f} s, cross-play itself {plain:.2f} s")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="small runs")
    parser.add_argument("--games", type=int, default=20, help="games solved")
    chosen = parser.parse_args()
    require_file(TOWN, "the town that tests have")
    in_blocks(chosen.runs)
    mixtures(chosen.games)
    best_replies()


if __name__ == "__main__":
    main()
