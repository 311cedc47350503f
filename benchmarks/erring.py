"""Cost of erring adversaries: branch and bound against enumeration, and compiled searches.

Run by hand: ``python benchmarks/erring.py``.

Each record's best form is found by branch and bound and by backward induction, which must agree, at several precisions.
Then one node for the whole table and the best masking of every subject are searched against an adversary who does not
err, by the compiled searches, and against one who does, by the general ones. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from figures import figure

from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import Weighing
from reidsim.games.full_domain.game import AnyAdversaryGame
from reidsim.games.full_domain.search import search
from reidsim.games.masking.searches import best_first
from reidsim.games.solvers import backward_induction, branch_and_bound
from reidsim.kinds.masking.study import build_masking_study
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario

Result = TypeVar("Result")


def best_time(work: Callable[[], Result], repeats: int) -> tuple[float, Result]:
    """Return the shortest of repeated timings in CPU seconds, and the result."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        result = work()
        times.append(time.process_time() - begun)
    return min(times), result


def by_record(scenario: str, precisions: list[float], repeats: int) -> None:
    """Compare branch and bound with enumeration, record by record."""
    game = build_study(Scenario.load(scenario)).truth
    assert isinstance(game.adversary, Weighing)
    print(f"{scenario}: {game.n_records:,} distinct records, {game.space.size} forms")
    print("precision, forms evaluated per record, seconds, enumeration evaluates, seconds, times as fast")
    for precision in (None, *precisions):
        played = game
        if precision is not None:
            played = replace(game, adversary=ErringAdversary(game.adversary, precision))
        # Once before, so that people have been rolled up for every node.
        backward_induction(played)
        enumerating, every = best_time(partial(backward_induction, played), repeats)
        bounding, bounded = best_time(partial(branch_and_bound, played), repeats)
        errs = "no errors" if precision is None else f"precision {precision:g}"
        figure(f"branch and bound, {scenario}, {errs}", bounding, "enumeration", enumerating)
        if not np.array_equal(bounded.strategies, every.strategies):
            raise SystemExit("branch and bound finds others")
        print(
            f"{'no errors' if precision is None else precision}, {bounded.evaluated.mean():.2f}, {bounding:.4f}, "
            f"{every.evaluated.mean():.0f}, {enumerating:.4f}, {enumerating / bounding:.1f}"
        )


def whole_table(scenario: str, precision: float, repeats: int) -> None:
    """Compare the general search for one node with the compiled one that takes no errors."""
    study = build_study(Scenario.load(scenario))
    game = study.node_game(study.scenario.planned_risk, study.prices)
    truth = study.truth
    assert isinstance(truth.adversary, Weighing)
    erring = replace(truth, adversary=ErringAdversary(truth.adversary, precision))
    general = AnyAdversaryGame.from_record_game(game, erring)
    search(general)
    enumerating, every = best_time(lambda: search(general, prune=False), 1)
    seconds = {}
    for name, played in (("compiled, no errors", game), ("general, logit", general)):
        seconds[name], found = best_time(partial(search, played), repeats)
        print(f"{scenario}, {name}: {found.evaluated:,} of {game.lattice.size:,} nodes, {seconds[name]:.4f} s")
    if abs(every.payout - found.payout) > 1e-9 * abs(found.payout):
        raise SystemExit("the bound changes the payout")
    print(f"general over compiled: {seconds['general, logit'] / seconds['compiled, no errors']:.1f}")
    print(f"enumerated: {enumerating:.4f} s, {enumerating / seconds['general, logit']:,.0f} times as long")


def masking(targets: int, loci: int, precision: float, repeats: int) -> None:
    """Compare branch and bound against a two-stage attack with errors with the compiled search without."""
    loaded: Scenario[Any] = Scenario.load("wan2021")
    attributes = list(loaded.scenario.subjects.attributes[: 2 + loci])
    changes = {"targets.size": targets, "subjects.attributes": attributes}
    game = build_masking_study(Scenario.load("wan2021", changes)).games(0)[0]
    erring = replace(game, planner=ErringAdversary(game.attack, precision))
    seconds = {}
    for name, played in (("compiled, no errors", game), ("general, logit", erring)):
        best_first(played)
        seconds[name], found = best_time(partial(best_first, played), repeats)
        print(f"wan2021, {targets:,} subjects, {name}: {found.evaluated.mean():.1f} forms each, {seconds[name]:.3f} s")
    print(f"general over compiled: {seconds['general, logit'] / seconds['compiled, no errors']:.1f}")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="wan2015", help="scenario of single records")
    parser.add_argument("--table", default="arx-example", help="scenario of a whole table")
    parser.add_argument("--precisions", nargs="+", type=float, default=[0.0, 0.01, 0.1, 1.0, 100.0])
    parser.add_argument("--targets", type=int, default=200, help="subjects who mask")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    by_record(options.scenario, options.precisions, options.repeats)
    whole_table(options.table, 0.1, options.repeats)
    masking(options.targets, 12, 0.1, options.repeats)


if __name__ == "__main__":
    main()
