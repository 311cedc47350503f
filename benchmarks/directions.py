"""Cost and speed of protection against adversaries who look people up in the released rows.

Run by hand: ``python benchmarks/directions.py``; all 32,561 records of wan2015 take half a minute.

Policies are planned in direction "record" and in the requested direction; both are evaluated in the latter. The counts
of rows that fit each person are compared with a plain loop over a sample of persons, whose time is extrapolated.
Compilation is not counted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from figures import figure

from reidsim.games.directions.best_replies import DirectedLinker, by_record, directed_linker
from reidsim.games.outcomes import evaluate
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import exposed_to_weighted
from reidsim.kinds.tables.schema import policy_named
from reidsim.kinds.tables.study import TablesStudy
from reidsim.populations.catalogue import load_population
from reidsim.releases.lattice import Strategies
from reidsim.releases.records import records_of
from reidsim.scenarios.scenario import Scenario


def study_of(scenario: str, records: int, direction: str) -> TablesStudy:
    """Return the study of a scenario, on a number of records of the Adult data set (0: its own records)."""
    changes: dict[str, object] = {"adversary.direction": direction, "figures.strategies": None}
    if not records:
        return build_study(Scenario.load(scenario, changes))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.csv"
        records_of(load_population("adult")).sample(records, random_state=1).to_csv(path, index=False)
        changes |= {"release.table": None, "release.path": str(path), "release.format": "csv"}
        return build_study(Scenario.load(scenario, changes))


def plain_counts(linker: DirectedLinker, strategies: Strategies, persons: list[int]) -> list[int]:
    """Count the rows that fit some persons, row by row."""
    lattice = linker.lattice
    levels = lattice.all_levels(np.maximum(strategies, 0)).tolist()
    groups, codes = [h.groups.tolist() for h in lattice.hierarchies], lattice.codes.tolist()
    return [
        sum(
            form >= 0
            and all(g[level][a] == g[level][b] for g, level, a, b in zip(groups, at, row, codes[person], strict=True))
            for form, at, row in zip(strategies.tolist(), levels, codes, strict=True)
        )
        for person in persons
    ]


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="wan2015", help="scenario, bundled or a file")
    parser.add_argument(
        "--records", type=int, default=0, help="records drawn from the table `adult` in place of all of the scenario's"
    )
    parser.add_argument("--direction", choices=["person", "both"], default="both")
    parser.add_argument("--policies", nargs="+", default=["basic", "no-attack"])
    parser.add_argument("--sample", type=int, default=20, help="persons of the plain count")
    options = parser.parse_args()
    # A few records compile everything.
    small = study_of("wan2015", 300, options.direction)
    for policy in options.policies:
        policy_named(policy).choose(small, small.belief, 0)
    study = study_of(options.scenario, options.records, options.direction)
    truth = study.truth
    linker = directed_linker(truth)
    assert linker is not None
    print(f"{study.n_records:,} records, {study.lattice.size} forms, direction {options.direction}")
    print(
        "policy, planned in, people whom one row fits, fewest rows that fit, attacked, with a weighted guess, utility, "
        "seconds"
    )
    for policy in options.policies:
        for planned, game in (("record", by_record(study.belief)), (options.direction, study.belief)):
            begun = time.process_time()
            choice = policy_named(policy).choose(study, game, 0)
            seconds = time.process_time() - begun
            fitting = linker.rows.of_records(choice.strategies)[choice.strategies >= 0]
            found = evaluate(truth, choice)
            weighted = exposed_to_weighted(study, truth, choice.strategies)
            print(
                f"{policy}, {planned}, {np.count_nonzero(fitting == 1):,}, {fitting.min():,}, "
                f"{np.count_nonzero(found.attacked):,}, "
                f"{weighted * study.n_records:,.0f}, {found.utility.mean():.4f}, "
                f"{seconds:.1f}"
            )
    begun = time.process_time()
    fitting = linker.rows.of_records(choice.strategies)
    ours = time.process_time() - begun
    persons = np.linspace(0, study.n_records - 1, min(options.sample, study.n_records)).astype(int).tolist()
    begun = time.process_time()
    if plain_counts(linker, choice.strategies, persons) != fitting[persons].tolist():
        raise SystemExit("the plain count finds others")
    plain = (time.process_time() - begun) / len(persons) * study.n_records
    figure("rows that match every person", ours, "plain loop", plain)
    print(f"rows that match every person: {ours:.3f} s, plain loop {plain:.0f} s (extrapolated): {plain / ours:,.0f}x")


if __name__ == "__main__":
    main()
