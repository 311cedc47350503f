"""Stress tests: points computed at once against single runs, and robust strategies; ratios measured in one run.

Run by hand: ``python benchmarks/stress.py``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

from reidsim.engine.stress.run import Evaluator
from reidsim.games.solvers import robust_choices
from reidsim.kinds.tables.kind import TABLES
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario


def main() -> None:
    """Print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50, help="prices at which policies are played")
    n_points = parser.parse_args().points
    loaded: Scenario[Any] = Scenario.load("wan2015")
    policies = tuple(loaded.scenario.publisher.policies)
    evaluator = Evaluator(loaded, policies, 0.95)
    study = evaluator.plans.study
    rng = np.random.default_rng(1)
    points = pd.DataFrame(
        {
            "economics.benefit": rng.uniform(50, 2000, n_points),
            "economics.loss": rng.uniform(50, 2000, n_points),
            "economics.cost": rng.uniform(0, 200, n_points),
        }
    )
    begun = time.perf_counter()
    solved = TABLES.summarise(study, 0, equilibria_of(TABLES.play(study)))
    single = time.perf_counter() - begun
    print(f"solving four policies of a study that is built: {single:.2f} s")

    begun = time.perf_counter()
    own = evaluator.at(pd.DataFrame({"economics.cost": [4.0]}), "informed")
    first = time.perf_counter() - begun
    payoff = own.matrix("publisher_payoff", policies, 1)[:, 0]
    assert np.allclose(payoff, solved.loc[list(policies), "publisher_payoff"])
    begun = time.perf_counter()
    evaluator.at(points, "informed")
    each = (time.perf_counter() - begun) / n_points
    print(f"the first point, which thins strategies: {first:.2f} s; each further one: {1000 * each:.1f} ms")
    print(f"single runs take {single / each:.0f} times as long as further points")

    truths = [truth for truth, _ in evaluator.economics(points)]
    begun = time.perf_counter()
    robust_choices([study.game(truth) for truth in truths])
    seconds = time.perf_counter() - begun
    plays = 2 * n_points * study.lattice.size * study.lattice.n_records
    print(f"robust strategies over {n_points} points: {seconds:.1f} s, {plays / seconds / 1e6:.0f} million plays/s")


if __name__ == "__main__":
    main()
