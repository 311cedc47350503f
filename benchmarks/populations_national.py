"""Speed and memory of the national population, shown as a ratio measured in one run.

Run by hand: ``python benchmarks/populations_national.py``.

The plain reference draws one person after the other in a Python loop, attribute after attribute, from dictionaries of
cumulative shares; it is timed on a sample and its state mix is compared with ours. Compilation is not counted (it is
cached on disk). Memory is the largest that the process has held so far, so the smaller population comes first.
"""

from __future__ import annotations

import argparse
import random
import time
from itertools import accumulate

import numpy as np
from figures import figure
from memory import peak_mib

from reidsim.core.files import bundled_folder, read_toml
from reidsim.core.validation import validated
from reidsim.populations.counted import AttributeModel, AttributeModelRecipe, build_model, counts_by_cell
from reidsim.populations.population import Population


def plain_people(model: AttributeModel, people: int, seed: int) -> list[list[int]]:
    """Draw people one by one in a Python loop."""
    draw = random.Random(seed)  # noqa: S311
    tables = []
    for conditional in model.conditionals:
        given = [(model.domain.position(each.name), each.group_of.tolist()) for each in conditional.conditions]
        by_group = {
            group: list(accumulate(conditional.shares[group].tolist()))
            for group in np.ndindex(conditional.shares.shape[:-1])
        }
        tables.append((given, by_group, range(conditional.shares.shape[-1])))
    drawn = []
    for _ in range(people):
        person: list[int] = []
        for given, by_group, values in tables:
            sums = by_group[tuple(groups[person[position]] for position, groups in given)]
            person += draw.choices(values, cum_weights=sums)
        drawn.append(person)
    return drawn


def national(sample: int = 20_000, largest: int = 100_000_000) -> None:
    """Time 1,583,020 individuals and `largest` people as counts by cell, against the plain loop on a sample."""
    path = bundled_folder("populations") / "united-states-xia2021.toml"
    recipe = validated(AttributeModelRecipe, read_toml(path), path)
    start = time.perf_counter()
    model = build_model(recipe, path.parent)
    print(f"recipe and files read: {1e3 * (time.perf_counter() - start):.0f} ms")
    counts_by_cell(model, 10, 0)

    before = peak_mib()
    start = time.perf_counter()
    codes = np.repeat(*counts_by_cell(model, recipe.people, recipe.seed), axis=0)
    ours = time.perf_counter() - start
    population = Population.from_records(model.domain, codes)
    added = time.perf_counter() - start - ours
    print(f"{recipe.people:,} individuals, {codes.shape[1]} attributes: {ours:.2f} s; added up by cell: {added:.2f} s")
    print(f"  {len(population.counts):,} cells; peak memory {peak_mib():,.0f} MiB ({before:,.0f} MiB before)")

    start = time.perf_counter()
    plain = np.array(plain_people(model, sample, 0))
    per_plain = (time.perf_counter() - start) / sample
    state = model.domain.position("state")
    share = model.conditionals[state].shares
    for drawn in (plain, codes):
        seen = np.bincount(drawn[:, state], minlength=len(share)) / len(drawn)
        assert (np.abs(seen - share) < 5 * np.sqrt(share * (1 - share) / len(drawn)) + 1e-9).all()
    print(f"plain loop, {sample:,} people, same shares: {1e6 * per_plain:.1f} us per person")
    print(f"  RATIO per person: {per_plain / (ours / recipe.people):,.0f}")
    figure(f"{recipe.people:,} individuals, national", ours, "plain loop", per_plain * recipe.people)

    for people in (recipe.people, largest):
        start = time.perf_counter()
        cells, counts = counts_by_cell(model, people, recipe.seed)
        seconds = time.perf_counter() - start
        assert counts.sum() == people
        print(f"{people:,} people as counts by cell: {seconds:.2f} s, {len(cells):,} cells")
        print(f"  peak memory {peak_mib():,.0f} MiB; RATIO per person: {per_plain / (seconds / people):,.0f}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Speed and memory of the national population.")
    parser.add_argument("--sample", type=int, default=20_000, help="people of the plain loop")
    parser.add_argument("--largest", type=int, default=100_000_000, help="people of the largest population")
    arguments = parser.parse_args()
    national(arguments.sample, arguments.largest)


if __name__ == "__main__":
    main()
