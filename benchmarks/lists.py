"""Speed of lists drawn from people, and of linking to them, against plain loops.

Run by hand: ``python benchmarks/lists.py``.

Four lists of people are drawn whose memberships go together, with wrong and missing values; a sample of people by a
plain loop does the same. Then attacked records are looked up in one of the lists, with missing values that agree with
every other, against a plain loop over its rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

import numpy as np
from figures import figure
from numpy.typing import NDArray
from scipy.special import ndtri

from reidsim.linkage.people import OpenRowGroups
from reidsim.populations.population import UNKNOWN
from reidsim.populations.resources import ListRule, PeopleList, Streams, draw_lists

SIZES = {"age": 100, "sex": 2, "race": 6, "state": 51, "surname": 20_000}
TOGETHER, ERROR, MISSING = 0.3, 0.05, 0.2
Integers = NDArray[np.int64]


def streams(seed: int) -> Streams:
    """Return a generator for each name."""
    return lambda name: np.random.default_rng([seed, *name.encode()])


def drawn(people: Mapping[str, Integers], n: int) -> dict[str, PeopleList]:
    """Return four lists."""
    chance = np.where(people["age"] >= 18, 0.65, 0.0)
    rules = {
        name: ListRule(
            tuple(SIZES), chance, None, {"state": ERROR, "surname": ERROR}, {"age": MISSING, "race": MISSING}
        )
        for name in ("voters", "brokers", "posts", "clients")
    }
    return draw_lists(people, rules, TOGETHER, streams(1), streams(2))


def plain(people: Mapping[str, list[int]], n: int) -> int:
    """Draw four lists person by person; return how many rows they have."""
    rng = np.random.default_rng(1)
    rows = 0
    for person in range(n):
        common = rng.standard_normal()
        for _ in range(4):
            number = np.sqrt(TOGETHER) * common + np.sqrt(1 - TOGETHER) * rng.standard_normal()
            if people["age"][person] < 18 or number >= ndtri(0.65):
                continue
            said = {name: values[person] for name, values in people.items()}
            for name in ("state", "surname"):
                if rng.random() < ERROR:
                    other = said[name]
                    while other == said[name]:
                        other = people[name][int(rng.integers(n))]
                    said[name] = other
            for name in ("age", "race"):
                if rng.random() < MISSING:
                    said[name] = UNKNOWN
            rows += 1
    return rows


def found_plainly(columns: list[list[int]], asked: list[int]) -> int:
    """Return how many rows of a list agree with values, row by row."""
    return sum(
        all(value in (UNKNOWN, wanted) for value, wanted in zip(row, asked, strict=True))
        for row in zip(*columns, strict=True)
    )


def main() -> None:
    """Draw, look up, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=5_000, help="people drawn by the plain loop")
    parser.add_argument("--records", type=int, default=1_000, help="records looked up")
    parser.add_argument("--plain-records", type=int, default=3, help="records looked up by the plain loop")
    options = parser.parse_args()
    n, rng = options.people, np.random.default_rng(0)
    people = {name: rng.integers(0, size, n) for name, size in SIZES.items()}

    start = time.perf_counter()
    lists = drawn(people, n)
    seconds = time.perf_counter() - start
    few = {name: values[: options.sample].tolist() for name, values in people.items()}
    start = time.perf_counter()
    plain(few, options.sample)
    slow = (time.perf_counter() - start) * n / options.sample
    rows = sum(len(each.person) for each in lists.values())
    figure(f"four lists of {n:,} people", seconds, "plain loop", slow)
    print(
        f"four lists of {n:,} people, {rows:,} rows: {seconds:.2f} s; plain loop {slow:,.0f} s, {slow / seconds:,.0f} x"
    )

    names = ("age", "sex", "race", "state")
    columns = [lists["voters"].columns[name] for name in names]
    missing = [values == UNKNOWN if (values == UNKNOWN).any() else None for values in columns]
    chosen = rng.integers(0, n, options.records)
    start = time.perf_counter()
    groups = OpenRowGroups(columns, missing, len(columns[0]))
    sizes = groups.count([people[name][chosen] for name in names], options.records)
    seconds = time.perf_counter() - start
    as_lists = [values.tolist() for values in columns]
    start = time.perf_counter()
    for record in range(options.plain_records):
        asked = [int(people[name][chosen[record]]) for name in names]
        if found_plainly(as_lists, asked) != sizes[record]:
            raise SystemExit(f"record {record}: the plain loop finds other people")
    slow = (time.perf_counter() - start) * options.records / options.plain_records
    print(
        f"{options.records:,} records looked up in {len(columns[0]):,} rows with missing values: {seconds:.2f} s; "
        f"plain loop {slow:,.0f} s, {slow / seconds:,.0f} x"
    )


if __name__ == "__main__":
    main()
