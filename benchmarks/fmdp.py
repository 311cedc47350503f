"""Speed of the sequential planner, shown as ratios measured in one run.

Run by hand: ``python benchmarks/fmdp.py``.

5,000 records of North Carolina whose group size in a registry of n records is unknown, penalised once (setting b of
Xia et al. 2015). Backward induction plans for all of them; the linear programs are slow, so they plan for a sample
and their times are extrapolated (marked in the output). Values are compared on the sample. Compilation is not
counted.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
from figures import figure
from memory import peak_mib

from reidsim.adversaries.factored_mdp import Method
from reidsim.adversaries.sequential.attack import SequentialAttack, _solved, program_values
from reidsim.adversaries.sequential.planning import BinomialBelief, plan_unknown
from reidsim.populations.catalogue import load_population

ATTACK = SequentialAttack(
    gain=8000.0, access_cost=100.0, exploit_cost=10.0, penalty=10_000.0, max_penalties=1, prior=0.63
)


def program_seconds(solver: Method, n: int, sample: np.ndarray, records: int) -> tuple[np.ndarray, float]:
    """Return V(x_0) of a sample of shares, and the extrapolated seconds of a program for each record.

    As in the paper, each record is planned for on its own. The Two-Level program solves the clusters of linked groups
    once for all records, so only the rest of its time grows with their number.
    """
    attack, one = replace(ATTACK, solver=solver), np.ones(1, dtype=np.int64)
    _solved.cache_clear()
    start, once = time.perf_counter(), 0.0
    if solver == "two-level":
        # Beyond the cut, whatever the belief.
        program_values(attack, np.arange(101))
        once = time.perf_counter() - start
    worth = []
    for share in sample:
        if solver == "linear-program":
            _solved.cache_clear()
        worth.append(plan_unknown(attack, one, BinomialBelief(n, np.array([share]))).value[0])
    seconds = time.perf_counter() - start - once
    return np.array(worth), once + seconds * records / len(sample)


def induction_seconds(n: int, share: np.ndarray, attack: SequentialAttack = ATTACK) -> float:
    """Shortest of five timings of backward induction; the table is made anew each time."""
    times = []
    for repeat in range(5):
        # A gain that differs in its last digits, so that no table is found kept from the run before.
        fresh = replace(attack, gain=attack.gain + 1e-9 * (repeat + 1))
        start = time.perf_counter()
        plan_unknown(fresh, np.ones(len(share), dtype=np.int64), BinomialBelief(n, share))
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=40, help="records that the linear programs plan for")
    sample = parser.parse_args().sample
    population = load_population("north-carolina-2010")
    share = population.counts / population.counts.sum()
    rng = np.random.default_rng(0)
    records = rng.choice(share, 5_000, p=share)
    induction_seconds(5_000, records)
    for n in (5_000, 50_000, 500_000):
        plain, plain_seconds = program_seconds("linear-program", n, records[:sample], len(records))
        two_level, two_level_seconds = program_seconds("two-level", n, records[:sample], len(records))
        ours = induction_seconds(n, records)
        exact = plan_unknown(ATTACK, np.ones(sample, dtype=np.int64), BinomialBelief(n, records[:sample])).value
        print(f"n = {n:>7,}: backward induction {1e3 * ours:.2f} ms for 5,000 records")
        for name, values, seconds in (
            ("linear program", plain, plain_seconds),
            ("two-level linear program", two_level, two_level_seconds),
        ):
            apart = np.abs(values - exact).max() / max(np.abs(exact).max(), 1.0)
            print(
                f"  {name}: {seconds:,.1f} s (from {sample} records), RATIO {seconds / ours:,.0f}, "
                f"largest relative difference {apart:.1e}"
            )
            figure(f"sequential adversary, n = {n:,}", ours, name, seconds)
    print("to reach at n = 50,000: 5,000 times the linear program, 2,000 times the two-level one")
    for n in (10**4, 10**6, 10**8):
        print(f"n = {n:>11,}, same shares: {1e3 * induction_seconds(n, records):8.2f} ms")
    distinct = np.sort(rng.random(1_000_000)) * 1e-5
    print(f"1,000,000 distinct records, n = 6,018,999: {induction_seconds(6_018_999, distinct):.2f} s")
    print(f"peak memory of the process {peak_mib():,.0f} MiB")


if __name__ == "__main__":
    main()
