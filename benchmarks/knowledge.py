"""Speed of exact risks under partial knowledge, shown as ratios measured in one run.

Run by hand: ``python benchmarks/knowledge.py``.

The plain reference is the published method: for each person and trial, draw the background knowledge and compare the
person to every record (one numpy comparison per known attribute). It is timed on a sample of persons and extrapolated
(marked in the output), and its error is measured against the exact expectation. Compilation is not counted. Memory is
the peak of the process so far, so smaller problems come first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from figures import figure, grown
from memory import peak_mib

from reidsim.adversaries.knowledge.assessment import Assessment, assess
from reidsim.adversaries.knowledge.groups import (
    AttributeGroup,
    Knowledge,
    Source,
    SourceProfile,
    everything,
    load_knowledge,
)
from reidsim.core.files import bundled_folder, read_toml
from reidsim.core.validation import validated
from reidsim.linkage.uniqueness import FixedUniqueness
from reidsim.populations.counted import AttributeModelRecipe, build_model, counts_by_cell
from reidsim.populations.population import Codes, Domain

FIXED = FixedUniqueness(0.66)


def groups(names: tuple[str, ...], known: tuple[str, ...], probability: float, n: int) -> Knowledge:
    """Return a source that reveals some attributes independently."""
    profile = SourceProfile(tuple(AttributeGroup((name,), probability) for name in known))
    return Knowledge(names, (Source("groups", (profile,), np.zeros(n, dtype=np.intp)),))


def timed(codes: Codes, knowledge: Knowledge, repeats: int = 1) -> tuple[Assessment, float]:
    """Return an assessment and the shortest of its times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = assess(codes, knowledge, FIXED, method="exact")
        times.append(time.perf_counter() - start)
    return found, min(times)


def plain(codes: Codes, knowledge: Knowledge, persons: np.ndarray, trials: int) -> tuple[np.ndarray, float]:
    """Return marketer risks of some persons by trial after trial, and the seconds that all persons would take."""
    rng = np.random.default_rng(0)
    (source,) = knowledge.sources
    risks = np.zeros(len(persons))
    start = time.perf_counter()
    for number, person in enumerate(persons):
        profile = source.profiles[source.profile_of_person[person]]
        for _ in range(trials):
            matches = np.ones(len(codes), dtype=np.bool_)
            for group in profile.groups:
                if rng.random() < group.probability:
                    for name in group.attributes:
                        column = knowledge.attributes.index(name)
                        matches &= codes[:, column] == codes[person, column]
            risks[number] += 1 / np.count_nonzero(matches)
    seconds = (time.perf_counter() - start) * len(codes) / len(persons)
    return risks / trials, seconds


def compare(codes: Codes, knowledge: Knowledge, sample: int, trials: int) -> None:
    """Time both on the same records and print the error of the plain one."""
    n = len(codes)
    persons = np.random.default_rng(1).choice(n, sample, replace=False)
    found, ours = timed(codes, knowledge, repeats=5)
    risks, seconds = plain(codes, knowledge, persons, trials)
    error = np.sqrt(np.mean((risks - found.risks.marketer[persons]) ** 2))
    print(f"n = {n:,}, {len(found.sets)} knowledge sets: exact {1e3 * ours:.1f} ms")
    figure(f"exact risks of {n:,} people", ours, f"Monte Carlo, {trials:,} trials", seconds)
    print(
        f"  plain Monte Carlo, {trials:,} trials: {seconds:,.1f} s (from {sample} persons), "
        f"RATIO {seconds / ours:,.0f}; its error in marketer risk {error:.1e} (exact: 0)"
    )


def national(people: int) -> tuple[Domain, Codes]:
    """Draw people of the bundled national population."""
    path = bundled_folder("populations") / "united-states-xia2021.toml"
    model = build_model(validated(AttributeModelRecipe, read_toml(path), path), path.parent)
    return model.domain, np.repeat(*counts_by_cell(model, people, 1), axis=0)


def growth_in_people(sizes: Sequence[int]) -> None:
    """Time exact risks under Twitter profiles for ever more people."""
    domain, codes = national(max(sizes))
    for n in sizes:
        # The first people are of the first cells, so that some from everywhere are taken.
        some = codes[:: len(codes) // n][:n]
        _, seconds = timed(some, load_knowledge("twitter", domain, some), repeats=2)
        grown("exact risks over people", n, seconds)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=20, help="persons of the plain Monte Carlo")
    parser.add_argument("--trials", type=int, default=1000, help="of the plain Monte Carlo")
    parser.add_argument("--largest", type=int, default=1_583_020, help="records of the largest release")
    arguments = parser.parse_args()
    domain, codes = national(arguments.largest)
    names = domain.names
    timed(codes[:100], groups(names, names, 0.3, 100))
    twitter = load_knowledge("twitter", domain, codes[:1000])
    print("to reach: 500 times faster at n = 1,000, at equal or better accuracy")
    compare(codes[:1000], twitter, arguments.sample, arguments.trials)
    known = tuple(name for group in twitter.sources[0].profiles[0].groups for name in group.attributes)
    n = min(40_000, len(codes))
    for some in (known, names):
        found, seconds = timed(codes[:n], groups(names, some, 0.3, n), repeats=3)
        print(f"n = {n:,}, {len(some)} groups, {len(found.sets):,} knowledge sets: exact {seconds:.2f} s")
    print(f"  peak memory {peak_mib():,.0f} MiB")
    n = len(codes)
    for recipe in ("worst-case", "voter-registration", "twitter", "voter-registration-and-twitter"):
        knowledge = everything(names, n) if recipe == "worst-case" else load_knowledge(recipe, domain, codes)
        found, seconds = timed(codes, knowledge)
        print(
            f"n = {n:,}, {recipe}: exact {seconds:.1f} s, {len(found.sets)} knowledge sets, "
            f"{found.n_cells:,} different persons; peak memory {peak_mib():,.0f} MiB"
        )


if __name__ == "__main__":
    main()
