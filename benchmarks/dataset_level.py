"""Speed of the game at dataset level, shown as ratios measured in one run.

Run by hand: ``python benchmarks/dataset_level.py``; ``--growth`` adds rows to 1e7 and quasi-identifiers to 15;
``--budget 10`` prints, instead, the proved gaps of 15 quasi-identifiers (a billion nodes) after 10 CPU seconds.

On the example data of ARX (30,162 rows, 9 quasi-identifiers, 12,960 nodes; ``arx-example``). The plain reference,
written here from the paper, groups the generalized rows of a node with pandas and adds up payouts; it is checked
against the package on the nodes it computes, timed on a sample of nodes and extrapolated. Ours is timed whole, from
distinct cells on: neither side includes reading files or compilation (cached on disk). CPU seconds, one
thread.

The search is also timed against a walk of the lattice that closes branches by their benefit alone. ARX is not measured
here, because it is a Java program; docs/explanation/comparison.md cites its times.
"""

from __future__ import annotations

import argparse
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from columns import columns_of
from figures import figure, grown
from memory import peak_mib

from reidsim.adversaries.response import OneShotAdversary
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.full_domain import search as full_domain_search
from reidsim.games.full_domain.game import AnyAdversaryGame, Followed, FullDomainGame
from reidsim.games.full_domain.search import (
    FullDomainSolution,
    Incumbent,
    every_node,
    explore,
    multi_dimensional,
    record_level,
    search,
)
from reidsim.games.record_game import Prices
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.study import TablesStudy
from reidsim.populations.population import Attribute, distinct_rows
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.scenarios.scenario import Scenario

AMOUNTS = [300.0, 600.0, 1000.0, 2000.0]
BENEFIT, COST = 1200.0, 4.0


def prices(amount: float) -> Prices:
    """Return payoff parameters with equal gain and loss."""
    return Prices(*np.array([[BENEFIT], [amount], [amount], [COST]]))


def cpu_time(work: Callable[[FullDomainGame], object], game: FullDomainGame, repeats: int) -> float:
    """Return the shortest of repeated timings of work on a game without earlier results, in CPU seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work(replace(game))
        times.append(time.process_time() - start)
    return min(times)


def walk_of(game: FullDomainGame) -> Incumbent:
    """Return the best node, by a walk to every node that its benefit without any attack does not close."""
    incumbent = Incumbent(game)

    def enter(node: int, levels: Sequence[int], followed: Followed) -> Followed | None:
        return followed if incumbent.is_beaten_at(game.bound(levels), node, sum(levels)) else None

    for visit in game.walk(enter):
        incumbent.offer(visit.node, sum(visit.levels), game.outcomes(visit))
    return incumbent


def search_against_types(study: TablesStudy, number: int, game: FullDomainGame) -> FullDomainSolution:
    """Search a game against several one-shot types of different gains and costs."""
    linker, n = study.linker("prosecutor"), study.lattice.n_records
    gain, loss = float(game.prices.gain[0]), np.full(n, float(game.prices.loss[0]))
    types = [
        AdversaryType(f"{each}", 1 / number, linker, OneShotAdversary(gain * (1 - 0.1 * each), COST + each))
        for each in range(number)
    ]
    played = TypesGame(study.lattice, types, np.full(n, BENEFIT), loss)
    return search(AnyAdversaryGame.from_record_game(game, played, by_size=True))


def figures(study: TablesStudy, amounts: Sequence[float] = AMOUNTS, repeats: int = 3) -> list[dict[str, object]]:
    """Time the search at single points and against several types, each beside its reference.

    Returns
    -------
    list of dict
        Of each piece of work, as `figures.figure` has it.
    """
    rows: list[dict[str, object]] = []

    for no_attack in (False, True):
        name = "no-attack" if no_attack else "basic"
        for amount in amounts:
            game = study.node_game("prosecutor", prices(amount), no_attack=no_attack)
            assert walk_of(game).node == search(game).node
            ours = walk = np.inf
            for _ in range(repeats):
                ours = min(ours, cpu_time(search, game, 1))
                walk = min(walk, cpu_time(walk_of, game, 1))
            rows.append(figure(f"{name}, G = L = {amount:.0f}", ours, "walk of the lattice", walk))
        game = study.node_game("prosecutor", prices(1000), no_attack=no_attack)
        one = cpu_time(search, game, repeats)
        for number in (2, 5):
            seconds = cpu_time(partial(search_against_types, study, number), game, repeats)
            rows.append(figure(f"{name}, {number} types", seconds, "one type", one, number, at_most=True))
    return rows


def plain_node(study: TablesStudy, node: int, amount: float, no_attack: bool) -> float:
    """Compute the payout of one node with a groupby over the generalized rows."""
    cells = study.cell_of_record
    table = study.lattice.released(np.full(len(cells), node), cells)
    size = table.groupby(list(table.columns), observed=True)[table.columns[0]].transform("size").to_numpy()
    worth = BENEFIT * study.lattice.utility(node)[cells]
    attacked = amount > COST * size
    if no_attack:
        return float(worth[size > amount / COST].sum())
    return float(np.maximum(worth - np.where(attacked, amount / size, 0.0), 0.0).sum())


def full_domain(study: TablesStudy, amounts: Sequence[float], repeats: int, sample: int) -> None:
    """Time every setting with and without pruning, and the plain reference."""
    nodes = np.random.default_rng(1).choice(study.lattice.size, sample, replace=False).tolist()
    print(
        f"{'game':<10}{'G = L':>6}{'optimum':>20}{'relative':>10}"
        f"{'pruned s':>10}{'nodes':>8}{'whole s':>9}{'plain s*':>10}"
    )
    for no_attack in (False, True):
        for amount in amounts:
            game = study.node_game("prosecutor", prices(amount), no_attack=no_attack)
            solution = search(game)
            pruned = cpu_time(search, game, repeats)
            whole = cpu_time(partial(search, prune=False), game, repeats)
            relative = solution.payout / solution.best_case
            outcomes = every_node(game)
            start = time.process_time()
            payouts = [plain_node(study, node, amount, no_attack) for node in nodes]
            plain = (time.process_time() - start) / sample * study.lattice.size
            assert np.allclose(payouts, outcomes.payout[nodes], rtol=1e-9, atol=1e-6)
            print(
                f"{'no-attack' if no_attack else 'basic':<10}{amount:>6.0f}"
                f"{study.lattice.describe(solution.node):>20}{relative:>10.6f}{pruned:>10.3f}"
                f"{solution.evaluated:>8,}{whole:>9.3f}{plain:>10,.0f}"
            )
    print(f"* {sample} nodes timed, extrapolated to {study.lattice.size:,}; peak memory so far {peak_mib():,.0f} MiB")


def by_record(study: TablesStudy, amounts: Sequence[float], repeats: int) -> None:
    """Time record-level generalization of all records."""
    for no_attack in (False, True):
        for amount in amounts:
            game = study.node_game("prosecutor", prices(amount), no_attack=no_attack)
            payout = float(record_level(game).payoff @ game.released) / game.best_case
            seconds = cpu_time(record_level, game, repeats)
            print(
                f"record-level {'no-attack' if no_attack else 'basic':<10} {amount:>6.0f} {payout:.6f} {seconds:.3f} s"
            )
    print(f"peak memory so far {peak_mib():,.0f} MiB")


def by_rule(table: str, repeats: int) -> None:
    """Time policies that limit class sizes or the average risk, whole, at three suppression limits."""
    for policy, key, value in (("k-anonymity", "k", 5), ("average-risk", "max_average_risk", 0.05)):
        for limit in (0.0, 0.05, 1.0):
            publisher = {"unit": "table", "policies": [policy], key: value, "suppression_limit": limit}
            changes = {f"publisher.{name}": setting for name, setting in publisher.items()}
            study = build_study(Scenario.load("arx-example", {"release.table": table, **changes}))
            game, times = study.game(), []
            for _ in range(repeats):
                start = time.process_time()
                choice = study.solve(policy, game)
                times.append(time.process_time() - start)
            suppressed = study.weights[choice.strategies < 0].sum() / study.n_records
            print(
                f"{policy}, {key} = {value:g}, suppression limit {limit:4.0%}: {min(times):.3f} s, "
                f"{choice.evaluated.max():,} nodes evaluated, {suppressed:.1%} suppressed"
            )


def by_region(study: TablesStudy, amounts: Sequence[float]) -> None:
    """Time the best multi-dimensional recoding beside the payouts that it lies between."""
    for no_attack in (False, True):
        for amount in amounts:
            game = study.node_game("prosecutor", prices(amount), no_attack=no_attack)
            best_case = game.best_case
            one_node = search(game).payout / best_case
            start = time.process_time()
            payout = multi_dimensional(replace(game)).payout / best_case
            seconds = time.process_time() - start
            print(
                f"multi-dimensional {'no-attack' if no_attack else 'basic':<10} {amount:>6.0f} {payout:.6f} "
                f"(one node {one_node:.6f}) {seconds:.3f} s"
            )
    print(f"peak memory so far {peak_mib():,.0f} MiB")


def game_of(codes: np.ndarray, amount: float = 1000, *, no_attack: bool = False) -> FullDomainGame:
    """Return a game of rows, shape (n_rows, n_attributes), of 8 values in 4 levels (8, 4, 2, 1 groups)."""
    levels = [[f"{value // 2 ** (depth + 1)}" for value in range(8)] for depth in range(3)]
    hierarchies = tuple(
        Hierarchy.from_labels(Attribute(f"q{number}", tuple(map(str, range(8)))), levels)
        for number in range(codes.shape[1])
    )
    first, cell = distinct_rows(list(codes.T), len(codes))
    lattice = GeneralizationLattice(hierarchies, codes[first])
    return FullDomainGame(lattice, np.bincount(cell), prices(amount), no_attack=no_attack)


def synthetic(rows: int, attributes: int, seed: int = 1) -> FullDomainGame:
    """Return a game of rows with skewed values."""
    share = 0.6 ** np.arange(8)
    codes = np.random.default_rng(seed).choice(8, (rows, attributes), p=share / share.sum())
    return game_of(codes.astype(np.int32))


def gaps(seconds: float) -> None:
    """Print the payout found, its bound and the proved gap, as shares of the best case, for each kind of columns."""
    # Seconds of the processor, so that other programs do not change the result much.
    cast("Any", full_domain_search).time = types.SimpleNamespace(monotonic=time.process_time)
    explore(synthetic(300, 5), nodes=1000)  # compiles everything
    for rows in (10_000, 100_000):
        for kind in ("uniform", "skewed", "latent"):
            codes = columns_of(kind, rows, 15).to_numpy(dtype=np.int32)
            for amount, no_attack in ((300, False), (600, False), (1000, False), (1000, True)):
                found = explore(game_of(codes, amount, no_attack=no_attack), seconds=seconds)[0]
                print(
                    f"{rows:>7,} {kind:<8}{'no-attack' if no_attack else 'basic':<10} G = L = {amount:<5}"
                    f"payout {found.payout / found.best_case:.3f}, bound {found.bound / found.best_case:.3f}, "
                    f"gap {found.gap:.3f}"
                )


def growth_in_rows(sizes: Sequence[int]) -> None:
    """Time the exact search of 1,024 nodes for ever more rows of 5 attributes."""
    for rows in sizes:
        game = synthetic(rows, 5)
        start = time.process_time()
        search(game)
        grown("full-domain search over rows", rows, time.process_time() - start)


def growth() -> None:
    """Time growing tables: exact search while the lattice can be walked, the anytime search beyond."""
    print(f"{'rows':>12}{'attributes':>12}{'nodes':>16}{'cells':>12}{'search s':>10}{'evaluated':>11}{'gap':>8}")
    for rows, attributes in (
        (10**4, 5),
        (10**5, 5),
        (10**6, 5),
        (10**7, 5),
        (10**4, 7),
        (10**4, 9),
        (10**4, 12),
        (10**4, 15),
    ):
        game = synthetic(rows, attributes)
        start = time.process_time()
        walkable = game.lattice.size <= 20_000
        solution = search(game) if walkable else explore(game, seconds=10.0)[0]
        seconds = time.process_time() - start
        print(
            f"{rows:>12,}{attributes:>12}{game.lattice.size:>16,}{game.lattice.n_records:>12,}{seconds:>10.2f}"
            f"{solution.evaluated:>11,}{solution.gap:>8.3f}"
        )
    print(f"peak memory {peak_mib():,.0f} MiB")


def main() -> None:
    """Print all ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", default="adult-arx", help="records; adult-arx-sample is a tenth of them")
    parser.add_argument("--amounts", type=float, nargs="+", default=AMOUNTS, help="gain and loss, one after the other")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=40, help="nodes timed with the plain reference")
    parser.add_argument("--skip-regions", action="store_true", help="without multi-dimensional recoding (two minutes)")
    parser.add_argument("--growth", action="store_true", help="also grow rows and quasi-identifiers")
    parser.add_argument("--budget", type=float, help="print the gaps after so many seconds, instead")
    options = parser.parse_args()
    if options.budget is not None:
        gaps(options.budget)
        return
    study = build_study(Scenario.load("arx-example", {"release.table": options.table}))
    print(f"{study.n_records:,} rows, {study.lattice.n_records:,} cells, {study.lattice.size:,} nodes")
    for row in figures(study, options.amounts, options.repeats):
        wanted = f" (to reach {row['to_reach']:g})" if row["to_reach"] else ""
        print(f"{row['work']:<24}{row['seconds']:>8.3f} s  {row['ratio']:>5.1f} times {row['against']}{wanted}")
    by_rule(options.table, options.repeats)
    by_record(study, options.amounts, options.repeats)
    full_domain(study, options.amounts, options.repeats, options.sample)
    if not options.skip_regions:
        by_region(study, options.amounts)
    if options.growth:
        growth()


if __name__ == "__main__":
    main()
