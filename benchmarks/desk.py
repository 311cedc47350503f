"""Times below the page of Desk: a file read, the first decision, and a decision after a change of payoff parameters.

Run by hand: ``python benchmarks/desk.py``. Files have 6 quasi-identifiers with independent values, so that nearly all
of the 30,000 records, and two thirds of the 300,000, are different cells. A decision is a run of the three policies of
a draft; its releases are then read back, in both directions of a search. A change of the loss keeps the data in memory.
Seconds are of the processor, the fewest of some repeats. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import pandas as pd
from figures import figure
from memory import peak_mib

import reidsim
from reidsim.core.tables import read_table
from reidsim.reports.page.sources import StoredRun
from reidsim.reports.shared.file import releases_of

# Processor seconds in which the page shows a changed decision, by number of records.
GOALS = {30_000: 0.5, 300_000: 5.0}
T = TypeVar("T")


def write_people(path: Path, rows: int, seed: int = 1) -> None:
    """Write a file of people with 6 quasi-identifiers and a diagnosis."""
    rng = np.random.default_rng(seed)
    values = {
        "age": rng.integers(0, 95, rows),
        "sex": rng.choice(["F", "M"], rows),
        "zip": rng.choice([f"37{code:03}" for code in range(200)], rows),
        "race": rng.choice(["White", "Black", "Asian", "Other"], rows, p=[0.7, 0.2, 0.07, 0.03]),
        "marital_status": rng.choice(["single", "married", "divorced", "widowed"], rows),
        "education": rng.choice(["primary", "secondary", "tertiary"], rows),
        "diagnosis": rng.choice(["I10", "E11", "J45", "C50"], rows),
    }
    pd.DataFrame(values).to_csv(path, index=False)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor seconds and the result of a piece of work."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def decisions(path: Path, rows: int, repeats: int) -> None:
    """Print the seconds of drafting, of the first decision, and of decisions after a change of the loss."""
    drafting, draft = timed(lambda: reidsim.new(path))
    first, held = timed(lambda: draft.scenario.hold())
    playing, result = timed(held.run)
    reading, _ = timed(lambda: releases_of(StoredRun.from_result(result)))
    print(
        f"{rows:,} records: draft {drafting:.2f} s, first decision {first + playing:.2f} s, read back {reading:.2f} s"
    )
    changes, backs = list[float](), list[float]()
    for number in range(repeats):
        changed = held.with_(loss=400 + 50 * number)
        seconds, result = timed(changed.run)
        changes.append(seconds)
        seconds, _ = timed(partial(releases_of, StoredRun.from_result(result)))
        backs.append(seconds)
    goal = GOALS.get(rows, 0.5 * rows / 30_000)
    print(f"  another loss {min(changes):.2f} s, read back {min(backs):.2f} s; goal {goal:.2g} s")
    figure(f"decision after a change of the loss, {rows:,} records", min(changes), "goal of Desk", goal)


def main() -> None:
    """Print the seconds of decisions and of reading a large file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=list(GOALS), help="Records of the files.")
    parser.add_argument("--read", type=int, default=1_000_000, help="Rows of the file that is only read.")
    parser.add_argument("--repeats", type=int, default=3, help="Changes of the loss; the quickest counts.")
    options = parser.parse_args()
    with TemporaryDirectory() as place:
        path = Path(place) / "people.csv"
        write_people(path, options.read)
        before, steps = peak_mib(), list[tuple[int, int]]()
        seconds, table = timed(lambda: read_table(path, progress=lambda *step: steps.append(step)))
        size = path.stat().st_size / 2**20
        print(
            f"{len(table):,} rows read in {seconds:.2f} s, {len(steps)} steps; peak memory {peak_mib():.0f} MiB, "
            f"{peak_mib() - before:.0f} MiB more than before, for a file of {size:.0f} MiB"
        )
        write_people(path, 1_000)
        reidsim.new(path).run()
        for rows in options.rows:
            write_people(path, rows)
            decisions(path, rows, options.repeats)


if __name__ == "__main__":
    main()
