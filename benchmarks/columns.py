"""A file of 12 quasi-identifiers, drafted and solved, against a plain reference that evaluates every strategy.

Run by hand: ``python benchmarks/columns.py``; 300,000 records take one to two minutes. With ``--budget 60``, it solves
12 columns of four levels (16.8 million strategies) within 60 seconds of the processor instead, and prints the gaps.

The reference counts the groups of a sample of strategies with numpy, and its time is extrapolated to all strategies.
Neither compilation nor the reading of the file is counted. No sampled strategy pays any record more than the choice.
"""

from __future__ import annotations

import argparse
import time
import types
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from figures import figure, grown

import reidsim
from reidsim.games import iceberg
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import RecordGame
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.policies import TablesChoice
from reidsim.kinds.tables.schema import policy_named
from reidsim.kinds.tables.study import TablesStudy

POLICIES = ("basic", "no-attack")


def file_of(records: int) -> pd.DataFrame:
    """Return a file of people with 12 columns that others may know."""
    rng = np.random.default_rng(20261124)

    def drawn(labels: list[str], skew: float) -> np.ndarray:
        shares = 1 / np.arange(1, len(labels) + 1) ** skew
        return rng.choice(labels, records, p=shares / shares.sum())

    zips = sorted(map(str, rng.choice(np.arange(10_000, 99_999), 1500, replace=False)))
    return pd.DataFrame({
        "age": np.clip(rng.gamma(6, 8, records).astype(int), 0, 99),
        "sex": drawn(["F", "M"], 0),
        "zip": drawn(zips, 0.6),
        "race": drawn(["White", "Black", "Asian", "Native", "Pacific", "Other"], 1.2),
        "marital_status": drawn(["married", "single", "divorced", "widowed"], 0.8),
        "education": drawn([f"level {level}" for level in range(1, 13)], 0.7),
        "occupation": drawn([f"occupation {number}" for number in range(300)], 1),
        "country_of_birth": drawn([f"country {number}" for number in range(60)], 1.6),
        "religion": drawn(["none", "catholic", "protestant", "muslim", "jewish", "hindu"], 1),
        "household_size": drawn([str(size) for size in range(1, 9)], 0.8),
        "employment": drawn(["employed", "retired", "student", "homemaker"], 1),
        "admission_date": (np.datetime64("2023-01-01") + rng.integers(0, 730, records)).astype(str),
    })  # fmt: skip


def plain_payoffs(study: TablesStudy, game: RecordGame, strategy: int) -> np.ndarray:
    """Return the payoff of a strategy under each policy, (n_policies, n_records); minus infinity where attacked."""
    lattice = study.lattice
    pairs = zip(lattice.hierarchies, lattice.levels(strategy), strict=True)
    columns = [each.groups[level][lattice.codes[:, at]] for at, (each, level) in enumerate(pairs)]
    # Mixed-radix numbers, numbered anew where they would not fit.
    keys = np.zeros(lattice.n_records, dtype=np.int64)
    for column in columns:
        if int(keys.max()) * (int(column.max()) + 1) >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1]
        keys = keys * (int(column.max()) + 1) + column
    _, group, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    success = 1 / sizes[group]
    economics = study.scenario.economics
    attacked = economics.adversary_gain * success > economics.cost * (1 + 1e-12)
    benefit = game.benefit_of(strategy)
    return np.array([benefit - game.loss * success * attacked, np.where(attacked, -np.inf, benefit)])


def study_of(table: pd.DataFrame) -> TablesStudy:
    """Return the study of a draft in which all columns are quasi-identifiers, solved by iceberg."""
    draft = reidsim.new(table, quasi_identifiers=list(table.columns))
    return build_study(draft.scenario.overridden({"publisher.solver": "iceberg", "adversary.direction": "record"}))


def growth_in_columns(sizes: Sequence[int]) -> None:
    """Time the record-level search of 20,000 records for ever more columns, and so strategies."""
    table = file_of(20_000)
    for columns in sizes:
        study = study_of(table.iloc[:, :columns])
        begun = time.process_time()
        policy_named("no-attack").choose(study, study.truth, 0)
        grown("record-level search over strategies", study.lattice.size, time.process_time() - begun)


def columns_of(kind: str, records: int, columns: int = 12) -> pd.DataFrame:
    """Return a file of columns of 8 values: independent with equal or skewed shares, or with a latent cause."""
    rng, size = np.random.default_rng(7), (records, columns)
    shares = 1 / np.arange(1, 9)
    if kind == "uniform":
        values = rng.integers(0, 8, size)
    elif kind == "skewed":
        values = rng.choice(8, size, p=shares / shares.sum())
    else:
        cause = rng.integers(0, 8, records)[:, None]
        values = np.clip(cause + np.rint(rng.normal(0, 1, size)).astype(int), 0, 7)
    return pd.DataFrame({f"c{at}": column for at, column in enumerate(values.T)})


def gaps(records: int, seconds: float) -> None:
    """Print the proved gap and the likely gap after a budget, for each kind of columns."""
    # Seconds of the processor, so that other programs do not change the result much.
    cast("Any", iceberg).time = types.SimpleNamespace(monotonic=time.process_time)
    for rows, budget in ((300, 1.0), (records, seconds)):
        for kind in ("uniform", "skewed", "latent"):
            table = columns_of(kind, rows)
            study = build_study(
                reidsim.Scenario.from_frames(
                    table,
                    hierarchies={str(name): reidsim.intervals(2, 4) for name in table},
                    economics={"benefit": 100, "loss": 100, "gain": 60, "cost": 4},
                    adversary={"direction": "record"},
                    publisher={"policies": ["basic"], "solver": "iceberg", "search": "anytime", "seconds": budget},
                )
            )
            found = cast("TablesChoice", policy_named("basic").choose(study, study.truth, 0))
            print(f"{rows:,} {kind}: gap {found.gap:.3f}, likely {found.likely_gap:.3f} from {found.drawn} records")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--sample", type=int, default=20, help="strategies of the plain reference")
    parser.add_argument("--budget", type=float, help="print the gaps after so many seconds, instead")
    options = parser.parse_args()
    if options.budget is not None:
        gaps(options.records, options.budget)
        return
    for records in (500, options.records):
        # A few records compile everything.
        study = study_of(file_of(records))
        game = study.truth
        begun, processor = time.perf_counter(), time.process_time()
        choices = {name: policy_named(name).choose(study, game, 0) for name in POLICIES}
        wall, seconds = time.perf_counter() - begun, time.process_time() - processor
    size = study.lattice.size
    print(
        f"{study.n_records:,} records, {size:,} strategies, solver {choices['basic'].solver}: {wall:.1f} s of the wall"
    )
    begun = time.process_time()
    paid = [plain_payoffs(study, game, at) for at in np.linspace(0, size - 1, options.sample).astype(int).tolist()]
    plain = (time.process_time() - begun) / options.sample * size
    for place, policy in enumerate(POLICIES):
        choice = choices[policy]
        found = evaluate(game, choice)
        worth = np.where(choice.strategies < 0, -np.inf, found.publisher_payoff)
        assert all((worth >= each[place] - 1e-6).all() for each in paid)
        evaluated = choice.evaluated.mean()
        print(f"{policy}: utility {found.utility.mean():.4f}, {evaluated:,.1f} strategies evaluated per record")
    row = figure(f"{study.n_records:,} records, {size:,} strategies", seconds, "every strategy in numpy", plain, 10)
    print(f"processor: {seconds:.1f} s, plain {plain:,.0f} s (extrapolated), ratio {row['ratio']:.0f}")


if __name__ == "__main__":
    main()
