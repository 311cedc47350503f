"""The distribution of the number of people re-identified, against a plain sum term by term.

Run by hand: ``python benchmarks/reidentified.py``.

The plain reference convolves one attempt after the other, whose time grows with the square of their number; it is timed
on a sample, on which both must agree to 1e-12, and extrapolated. Ours is timed whole, for attempts of a million
different probabilities, of one over group sizes, rare ones and nearly certain ones. It neglects less than 1e-12 of
the probability (see `reidsim.linkage.totals`).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from figures import figure

from reidsim.linkage.totals import Floats, successes


def term_by_term(chance: Floats) -> Floats:
    """Return the probability of each number of successes by adding one attempt after the other."""
    masses = np.zeros(len(chance) + 1)
    masses[0] = 1.0
    for number, p in enumerate(chance.tolist(), start=1):
        masses[1 : number + 1] = masses[1 : number + 1] * (1 - p) + masses[:number] * p
        masses[0] *= 1 - p
    return masses


def attempts(number: int) -> dict[str, Floats]:
    """Return probabilities of success, shape (number,), by kind."""
    rng = np.random.default_rng(1)
    drawn = rng.random(number)
    return {
        "any probability": drawn,
        "one over group sizes": 1 / rng.integers(1, 400, number),
        "rare": drawn**20,
        "nearly certain": 1 - drawn**20,
    }


def main() -> None:
    """Print seconds, ratios and the largest difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=1_000_000, help="attempts timed whole (default %(default)s)")
    parser.add_argument("--sample", type=int, default=20_000, help="of the plain reference (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="timings; the best counts (default %(default)s)")
    options = parser.parse_args()
    for name, chance in attempts(options.attempts).items():
        sample = chance[: options.sample]
        start = time.perf_counter()
        plain = term_by_term(sample)
        seconds_plain = (time.perf_counter() - start) * (options.attempts / len(sample)) ** 2
        found = successes(sample)
        ours = np.zeros(len(plain))
        ours[found.values] = found.masses
        difference = float(np.abs(ours - plain).sum())
        if not difference < 1e-12:
            raise SystemExit(f"{name}: the two differ by {difference:.1e} in all")
        seconds = np.inf
        for _ in range(options.repeats):
            start = time.perf_counter()
            whole = successes(chance)
            seconds = min(seconds, time.perf_counter() - start)
        figure(f"distribution of re-identified people, {name}", seconds, "term by term", seconds_plain)
        print(
            f"{name}: {options.attempts:,} attempts in {seconds:.2f} s, term by term {seconds_plain:,.0f} s "
            f"({seconds_plain / seconds:,.0f} times as long), {len(whole.masses):,} numbers; on {len(sample):,} "
            f"the two differ by {difference:.0e}"
        )


if __name__ == "__main__":
    main()
