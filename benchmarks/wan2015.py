"""Speed of the record-level game, shown as ratios measured in one run.

Run by hand: ``python benchmarks/wan2015.py``.

Plain references, written here from the paper and checked against the package on the records they solve:
- per record: a Python loop over the 288 strategies that slices the population for each and keeps the best of the four
  policies as it goes (backward induction as in Algorithm 1);
- per parameter point: whole-array numpy over records x strategies with precomputed utilities and probabilities.
Both are timed on a sample and extrapolated; ours is timed whole. Compilation is not counted (it is cached on disk).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from figures import figure, grown
from memory import peak_mib

from reidsim.adversaries.response import OneShotAdversary
from reidsim.games.outcomes import Equilibrium, evaluate
from reidsim.games.record_game import PopulationLinker, RecordGame
from reidsim.games.solvers import (
    Options,
    backward_induction,
    best_options,
    branch_and_bound,
    lattice_search,
    undominated_options,
)
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.study import TablesStudy
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Domain, Population, distinct_rows
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice
from reidsim.scenarios.scenario import Scenario

Result = TypeVar("Result")
GAMES = ("basic", "no-attack", "sh-friendly")


def best_time(work: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """Return the shortest of repeated timings, in CPU seconds, and the result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def four_policies(study: TablesStudy) -> dict[str, Equilibrium]:
    """From records and population to the outcome of all four policies; nothing is kept from an earlier call."""
    codes = study.lattice.codes[study.cell_of_record]
    first, cells = distinct_rows(list(codes.T), len(codes))
    lattice = replace(study.lattice, codes=codes[first])
    linker, prices = PopulationLinker(GroupSizes(study.linked_population, lattice)), study.scenario.economics
    one_shot = OneShotAdversary(prices.adversary_gain, prices.cost)
    benefit, loss = (np.full(lattice.n_records, amount) for amount in (prices.benefit, prices.loss))
    game = RecordGame(lattice, linker, one_shot, benefit, loss)
    choices = {name: study.solve(name, game) for name in (*GAMES, "safe-harbor")}
    return {name: evaluate(game, choice).expand(cells) for name, choice in choices.items()}


def plain_record(study: TablesStudy, dense: np.ndarray, code: np.ndarray, harbor: tuple[int, ...]) -> dict[str, float]:
    """Solve one record by slicing the population for each strategy; the publisher's payoff under each policy."""
    benefit, loss, cost = 1200.0, 300.0, 4.0
    hierarchies = study.lattice.hierarchies
    greatest = sum(np.log(h.attribute.size) for h in hierarchies if h.attribute.name != "sex")
    best = dict.fromkeys(GAMES, -np.inf)
    for levels in np.ndindex(*study.lattice.shape):
        members = [
            np.flatnonzero(h.groups[k] == h.groups[k][v]) for h, k, v in zip(hierarchies, levels, code, strict=True)
        ]
        people = max(int(dense[np.ix_(*members)].sum()), 1)
        counted = [len(m) for m, h in zip(members, hierarchies, strict=True) if h.attribute.name != "sex"]
        value = benefit * (1 - sum(np.log(counted)) / greatest)
        attacked = loss / people > cost
        payoff = value - loss / people if attacked else value
        best["basic"] = max(best["basic"], payoff)
        if not attacked:
            best["no-attack"] = max(best["no-attack"], payoff)
        if all(level >= least for level, least in zip(levels, harbor, strict=True)):
            best["sh-friendly"] = max(best["sh-friendly"], payoff)
        if levels == harbor:
            best["safe-harbor"] = payoff
    return best


def per_record(study: TablesStudy, repeats: int, sample: int) -> dict[str, object]:
    """Compare the four-policy solution with the plain loop; return the figure."""
    four_policies(study)
    before = peak_mib()
    ours, solved = best_time(lambda: four_policies(study), repeats)
    print(
        f"four policies, {study.n_records:,} records: {ours:.3f} s = {1e6 * ours / study.n_records:.1f} us per record"
    )
    print(f"  peak memory of the process {peak_mib():,.0f} MiB ({before:,.0f} MiB before timing)")
    population = study.linked_population
    dense = np.zeros(population.domain.shape, dtype=np.int64)
    dense[tuple(population.cells.T)] = population.counts
    rows = np.random.default_rng(0).choice(study.n_records, sample, replace=False)
    codes = study.lattice.codes[study.cell_of_record[rows]]
    assert study.safe_harbor is not None
    minima = study.lattice.all_levels(study.safe_harbor[study.cell_of_record[rows]]).tolist()
    start = time.process_time()
    plain = [plain_record(study, dense, code, tuple(minimum)) for code, minimum in zip(codes, minima, strict=True)]
    per_plain = (time.process_time() - start) / sample
    for row, payoffs in zip(rows, plain, strict=True):
        for name, payoff in payoffs.items():
            assert abs(solved[name].publisher_payoff[row] - payoff) < 1e-6, (row, name)
    print(f"plain per-record loop, {sample} records, same payoffs: {1e3 * per_plain:.1f} ms per record")
    ratio = per_plain / (ours / study.n_records)
    print(f"  RATIO per record: {ratio:,.0f} (to reach 2,000)")
    return figure("four policies", ours, "plain loop", ours * ratio, 2000.0)


def grid(study: TablesStudy, size: int, repeats: int, sample: int) -> dict[str, object]:
    """Compare a grid of benefit and loss, exact with ties, with plain numpy per point; return the figure."""
    benefit, loss = np.meshgrid(np.linspace(30, 1500, size), np.linspace(500, 25_000, size), indexing="ij")
    points = list(zip(benefit.ravel().tolist(), loss.ravel().tolist(), strict=True))

    def ours() -> tuple[Options, list[float]]:
        options = undominated_options(
            study.lattice, PopulationLinker(GroupSizes(study.linked_population, study.lattice))
        )
        payoffs = []
        for value, worst in points:
            best = best_options(options, value, worst, worst, 4.0)
            success = options.success[best]
            harm = np.where(worst * success > 4.0 * (1 + 1e-12), success, 0.0)
            payoff = value * options.utility[best] - worst * harm
            payoffs.append(float(np.average(payoff, weights=study.weights)))
        return options, payoffs

    ours()
    seconds, (options, averages) = best_time(ours, repeats)
    kept = len(options.strategies) / study.lattice.n_records
    print(f"{len(points):,} points x {study.n_records:,} records: {seconds:.2f} s ({kept:.0f} of 288 strategies kept)")
    print(f"  peak memory of the process {peak_mib():,.0f} MiB")
    strategies = range(study.lattice.size)
    utility = np.stack([study.lattice.utility(s) for s in strategies], axis=1)
    success = np.stack([1 / study.group_sizes.at(s) for s in strategies], axis=1)
    chosen = np.random.default_rng(0).choice(len(points), sample, replace=False)
    start = time.process_time()
    for point in chosen:
        value, worst = points[point]
        attacked = worst * success > 4.0 * (1 + 1e-12)
        payoff = value * utility - np.where(attacked, worst * success, 0.0)
        best = (payoff >= payoff.max(axis=1, keepdims=True) - 1e-12 * (value + worst)).argmax(axis=1)
        mean = np.average(payoff[np.arange(len(best)), best], weights=study.weights)
        chosen = best_options(options, value, worst, worst, 4.0)
        assert (np.where(chosen < 0, -1, options.strategies[chosen]) == best).all()
        assert abs(mean - averages[point]) < 1e-6
    plain = (time.process_time() - start) / sample * len(points)
    print(f"plain numpy, {sample} points, same strategies: {plain:.0f} s for the grid (extrapolated)")
    print(f"  RATIO on the grid: {plain / seconds:,.0f} (to reach 200)")
    return figure(f"{size} x {size} grid of benefit and loss", seconds, "plain numpy", plain, 200.0)


def figures(
    repeats: int = 5, sample_records: int = 20, size: int = 50, sample_points: int = 20
) -> list[dict[str, object]]:
    """Return the figures of the per-record solution and of the grid, as `figures.figure` has them."""
    study = build_study(Scenario.load("wan2015"))
    return [per_record(study, repeats, sample_records), grid(study, size, repeats, sample_points)]


def growth_in_records(study: TablesStudy, sizes: Sequence[int] = (10_000, 100_000, 1_000_000)) -> None:
    """Time the basic game for ever more records drawn from the population."""
    population = study.linked_population
    share = population.counts / population.counts.sum()
    for n in sizes:
        drawn = np.random.default_rng(0).choice(len(share), n, p=share)

        def solve(drawn: np.ndarray = drawn) -> tuple[object, int]:
            first, _ = distinct_rows(list(population.cells[drawn].T), len(drawn))
            game = study.on_records(population.cells[drawn][first]).truth
            return backward_induction(game), game.n_records

        seconds, (_, cells) = best_time(solve, 2)
        grown("record-level game over records", n, seconds)
        each = 1e6 * seconds / n
        print(f"{n:>9,} records ({cells:,} cells), 288 strategies: {seconds:6.2f} s = {each:6.2f} us per record")


def growth_in_strategies() -> None:
    """Time all solvers on ever larger lattices over a made-up population of 1e6 people and 32,561 records."""
    for sizes in ((6, 4, 2, 6), (5, 5, 5, 5, 4, 2), (5, 5, 5, 5, 5, 8, 2)):
        rng = np.random.default_rng(0)
        attributes = [Attribute(f"a{i}", tuple(map(str, range(2 ** (levels - 1))))) for i, levels in enumerate(sizes)]
        hierarchies = tuple(
            Hierarchy.from_labels(a, [[str(v >> level) for v in range(a.size)] for level in range(1, levels)])
            for a, levels in zip(attributes, sizes, strict=True)
        )
        people = np.column_stack(
            [np.minimum(rng.geometric(4 / (a.size + 4), 1_000_000), a.size) - 1 for a in attributes]
        )
        people = people.astype(np.int32)
        domain = Domain(tuple(attributes))
        population = Population.from_records(domain, people)
        first, _ = distinct_rows(list(people[:32_561].T), 32_561)
        lattice = GeneralizationLattice(hierarchies, people[first])
        n = lattice.n_records

        def fresh(
            lattice: GeneralizationLattice = lattice, population: Population = population, n: int = n
        ) -> RecordGame:
            linker = PopulationLinker(GroupSizes(population, lattice))
            return RecordGame(lattice, linker, OneShotAdversary(300.0, 4.0), np.full(n, 1200.0), np.full(n, 300.0))

        line = f"{lattice.size:>7,} strategies ({n:,} of {np.prod([float(s) for s in domain.shape]):.0e} cells):"
        exact = None
        for name, solver in (
            ("backward induction", lambda game: backward_induction(game)),
            ("branch and bound", branch_and_bound),
            ("lattice search", lattice_search),
        ):
            start = time.process_time()
            choice = solver(fresh())
            seconds = time.process_time() - start
            line += f" {name} {seconds:.2f} s ({choice.evaluated.mean():,.1f} each);"
            if choice.exact:
                assert exact is None or (choice.strategies == exact).all()
                exact = choice.strategies
        print(line, f"peak {peak_mib():,.0f} MiB")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sample-records", type=int, default=20)
    parser.add_argument("--grid", type=int, default=50, help="values of benefit and of loss")
    parser.add_argument("--sample-points", type=int, default=20)
    parser.add_argument("--skip-growth", action="store_true")
    arguments = parser.parse_args()
    figures(arguments.repeats, arguments.sample_records, arguments.grid, arguments.sample_points)
    if not arguments.skip_growth:
        study = build_study(Scenario.load("wan2015"))
        growth_in_records(study)
        growth_in_strategies()


if __name__ == "__main__":
    main()
