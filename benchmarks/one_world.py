"""A round of the bundled scenario one-world, against the solvers that it calls.

Run by hand: ``python benchmarks/one_world.py``.

Per policy: processor time of all rounds, and the part of it that picking the form of each record takes. What both
share, tables that are drawn and functions that are compiled, is not counted.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from reidsim.agents.model import ReidentificationModel
from reidsim.agents.profile import Setting
from reidsim.games.record_game import Choice, RecordGame
from reidsim.kinds.masking.kind import MASKING
from reidsim.scenarios.scenario import Scenario


class TimedSolver:
    """Picks forms as a setting does, and adds up the processor time of that."""

    def __init__(self, setting: Setting) -> None:
        self._solve = setting.solve
        self.seconds, self.calls = 0.0, 0

    def __call__(self, policy: str, game: RecordGame) -> Choice:
        """Pick the strategies of a policy in a game."""
        begun = time.process_time()
        choice = self._solve(policy, game)
        self.seconds += time.process_time() - begun
        self.calls += 1
        return choice


def played(setting: Setting, policy: str) -> tuple[float, TimedSolver]:
    """Play all rounds; return their processor time, and the solver that was called in them."""
    solver = TimedSolver(setting)
    model = ReidentificationModel(replace(setting, solve=solver), policy)
    begun = time.process_time()
    model.run()
    seconds = time.process_time() - begun
    model.release()
    return seconds, solver


def main() -> None:
    """Print the ratio of each policy that searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    study = MASKING.build(Scenario.load("one-world", {"agents.rounds": options.rounds}))
    # Compiles the functions that both share.
    ReidentificationModel(replace(MASKING.settings(study)("masking", 0, 0), rounds=1), "masking").run().release()
    for policy in ("masking", "no-attack-masking"):
        seconds, solver = played(MASKING.settings(study)(policy, 0, 0), policy)
        rounds = f"{options.rounds} rounds in {seconds:.2f} s"
        ratio = f"{seconds / solver.seconds:.2f} times" if solver.seconds else "no solver called"
        print(f"{policy}: {rounds}, {solver.calls} solutions in {solver.seconds:.2f} s: {ratio}")


if __name__ == "__main__":
    main()
