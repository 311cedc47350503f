"""Speed and memory of simulated populations, shown as ratios measured in one run.

Run by hand: ``python benchmarks/populations.py``.

Genealogies: the published one (60,000 people in each of ten generations) by simuPOP and by the default engine, with the
same rules; then the default engine alone on ever more people. Both are checked for the invariants of pedigrees.
Counts of a large population are drawn by `random_counts.py`, and by numpy, whose draws depend on its version.
The national population: individuals and counts by cell against a plain loop (`populations_national.py`, run first, so
that the memory it reports is its own). Compilation is not counted (it is cached on disk). Needs simuPOP, but for
``--skip-engines``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow.parquet as pq
from figures import figure, grown
from memory import peak_mib
from needs import require_package
from populations_national import national

from reidsim.core.numerics import Counts, draw_binomial, draw_multinomial, draw_multivariate_hypergeometric
from reidsim.populations.catalogue import genealogy_table, make_genealogy, read_population_file
from reidsim.populations.genealogy.genealogy import Genealogy

Made = TypeVar("Made")
GENERATIONS = 10


def timed(work: Callable[[], Made], repeats: int = 1) -> tuple[Made, float]:
    """Return the result and the shortest of repeated timings, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        made = work()
        times.append(time.perf_counter() - start)
    return made, min(times)


def vectorised(people: int, seed: int = 1) -> Genealogy:
    """Make a genealogy with a number of people per generation, from a recipe."""
    return make_genealogy("ystr-genealogy", engine="vectorised", people=people, seed=seed)


def simupop(people: int, seed: int = 1) -> Genealogy:
    """Make the same kind of genealogy with simuPOP."""
    return make_genealogy("ystr-genealogy", engine="simupop", people=people, seed=seed)


def counts(repeats: int = 5) -> None:
    """Compare draws of whole populations with numpy's."""
    rng = np.random.default_rng(1)
    # Areas and shares of ages by sex as in North Carolina; a list has 63 percent of the people.
    areas, shares = rng.integers(100, 12_000, 806), rng.dirichlet(np.full(242, 0.7))
    people = rng.multinomial(areas, shares).ravel()
    size, chances = int(0.63 * people.sum()), rng.random(len(people))
    draws: dict[str, tuple[Callable[[], Counts], Callable[[], Counts]]] = {
        "multinomial": (lambda: draw_multinomial(rng, areas, shares), lambda: rng.multinomial(areas, shares)),
        "binomial": (lambda: draw_binomial(rng, people, chances), lambda: rng.binomial(people, chances)),
        "multivariate hypergeometric": (
            lambda: draw_multivariate_hypergeometric(rng, people, size),
            lambda: rng.multivariate_hypergeometric(people, size, method="marginals"),
        ),
    }
    print(f"counts of {people.sum():,} people in {len(people):,} cells:")
    for name, (ours, numpys) in draws.items():
        ours()
        (_, own), (_, other) = timed(ours, repeats), timed(numpys, repeats)
        print(f"  {name}: {own:.3f} s, numpy {other:.3f} s; RATIO: {own / other:.1f} (to stay below 4)")
        figure(f"{name} draws", own, "numpy", other, 4.0, at_most=True)


def engines(people: int, repeats: int) -> None:
    """Compare the two engines."""
    simupop(300)
    ours, fast = timed(lambda: vectorised(people), 5)
    _, slow = timed(lambda: simupop(people), repeats)
    print(f"genealogy of {people:,} x {GENERATIONS}, from the recipe on: vectorised {fast:.3f} s, simuPOP {slow:.2f} s")
    print(f"  RATIO: {slow / fast:,.0f} (to reach 50)")
    figure(f"genealogy of {people:,} x {GENERATIONS}", fast, "simuPOP", slow, 50.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "genealogy.parquet"
        _, writing = timed(lambda: pq.write_table(genealogy_table(ours), path, compression="zstd") or ours, 3)
        again, reading = timed(lambda: read_population_file(path), 3)
        assert isinstance(again, Genealogy)
        assert genealogy_table(again).equals(genealogy_table(ours))
        size = path.stat().st_size / 1e6
    print(f"  kept on disk: written in {writing:.2f} s, read in {reading:.2f} s, {size:.1f} MB")


def growth(sizes: list[int]) -> None:
    """Show time and memory on more and more people."""
    print("vectorised engine alone (peak memory of the process so far; 40 bytes per person are the result):")
    for total in sizes:
        genealogy, seconds = timed(partial(vectorised, total // GENERATIONS))
        assert len(genealogy) == total
        grown("genealogy over people", total, seconds)
        print(
            f"  {total:>12,} people: {seconds:7.2f} s = {1e9 * seconds / total:4.0f} ns per person, "
            f"peak {peak_mib():6,.0f} MiB"
        )


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=60_000, help="of each generation, for the two engines")
    parser.add_argument("--repeats", type=int, default=2, help="timings of simuPOP")
    parser.add_argument("--largest", type=int, default=100_000_000, help="people of the largest national population")
    parser.add_argument("--skip-growth", action="store_true")
    parser.add_argument("--skip-engines", action="store_true", help="without simuPOP")
    arguments = parser.parse_args()
    if not arguments.skip_engines:
        require_package("simuPOP", 'pip install "simuPOP>=1.1.17"', "--skip-engines")
    national(20_000, arguments.largest)
    counts()
    vectorised(300)
    if not arguments.skip_growth:
        growth([100_000, 1_000_000, 3_000_000, 10_000_000])
    if not arguments.skip_engines:
        engines(arguments.people, arguments.repeats)


if __name__ == "__main__":
    main()
