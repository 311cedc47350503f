"""Speed and memory of agents, shown as ratios measured in one run.

Run by hand: ``python benchmarks/agents.py``.

- One round of the model against the bare solver of the same game: the scenario's own records, then a sample of a
  million people of the population as records. Compilation and the roll-up of group sizes, which both share, are not
  counted.
  The draws of breaches by subject are made for the first policy, before the measurement.
- Memory of a round beyond the records and the solver's own, in bytes per data subject.
- The round against a plain mesa model in which every data subject is an agent that decides in Python: whether to take
  part (all subjects), and in which release to choose its record given all group sizes (a sample, extrapolated).
- Each of several rounds with changing participants and adversaries with memory against the same choice in plain mesa.
- Deciding whether to take part against copying as many bytes as it reads and writes, which nothing can be faster than.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import mesa
import numpy as np
from figures import figure, grown

from reidsim.agents.model import ReidentificationModel
from reidsim.agents.profile import ParticipationRule, Setting
from reidsim.games.outcomes import evaluate
from reidsim.games.solvers import backward_induction, branch_and_bound
from reidsim.kinds.tables.build import build_study, setting_of
from reidsim.kinds.tables.study import TablesStudy
from reidsim.populations.population import Population, distinct_rows
from reidsim.scenarios.adversary_schema import AgentsSection
from reidsim.scenarios.scenario import Scenario

# For rounds that differ in participants and in earlier releases.
ROUNDS = 4
RULE = ParticipationRule(reward=5.0, harm=4000.0, expected_risk=0.0003)


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Return the shortest of repeated processor times, in seconds."""
    times = []
    for _ in range(repeats):
        gc.collect()
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def peak_bytes(work: Callable[[], object]) -> int:
    """Return how much more memory than before a piece of work holds at once."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    work()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def sampled_study(study: TablesStudy, n: int) -> TablesStudy:
    """Return the study with a sample of the population as records."""
    people = study.linked_population
    share = people.counts / people.counts.sum()
    rows = np.random.default_rng(2015).choice(len(people.cells), size=n, p=share)
    codes = people.cells[rows]
    first, cell_of_record = distinct_rows(list(codes.T), len(codes))
    lattice = replace(study.lattice, codes=codes[first])
    return replace(
        study,
        lattice=lattice,
        cell_of_record=cell_of_record,
        kind=np.zeros(len(first), dtype=np.int64),
        dataset=Population.from_records(lattice.domain, codes),
        safe_harbor=None,
        linkers={},
    )


def play(setting: Setting) -> None:
    """Play one round of the basic game."""
    ReidentificationModel(setting, "basic").run().release()


def solve(study: TablesStudy) -> None:
    """Solve the same game without agents."""
    game = study.truth
    if study.scenario.publisher.solver == "branch-and-bound":
        evaluate(game, branch_and_bound(game))
    else:
        evaluate(game, backward_induction(game))


def moved_bytes(model: ReidentificationModel) -> int:
    """Return how many bytes are read or written at least when all subjects learn and decide."""
    per_subject = model.setting.cell_of_subject.nbytes + 2 * model.participates.nbytes
    per_subject += model.harm.nbytes + 2 * model.expected_risk.nbytes
    # The risk of each cell is read, and so is how many of it take part, which is written again.
    return per_subject + 3 * model.participants.nbytes


def copying_time(n_bytes: int, repeats: int) -> float:
    """Return how long it takes to read one half of some bytes and write the other."""
    source, target = np.ones(n_bytes // 16), np.ones(n_bytes // 16)
    return best_time(lambda: np.copyto(target, source), repeats)


class _PlainSubject(mesa.Agent):
    """A data subject as mesa's tutorials write one."""

    model: _PlainModel

    def __init__(self, model: _PlainModel, harm: float, row: int) -> None:
        super().__init__(model)
        self.harm, self.row = harm, row
        self.expected_risk, self.participates, self.breach = RULE.expected_risk, True, 0.001

    def decide(self) -> None:
        """Learn from the round and decide on the next."""
        met = (self.breach + self.model.rate) / 2 if self.participates else self.model.rate
        self.expected_risk += RULE.learning_rate * (met - self.expected_risk)
        self.participates = self.harm * self.expected_risk <= RULE.reward

    def choose(self) -> None:
        """Choose a release of the record, given published group sizes and utilities."""
        best, chosen = -np.inf, -1
        for strategy, (sizes, utility) in enumerate(self.model.forms):
            success = 1 / sizes[self.row]
            payoff = 1200 * utility[self.row]
            if 300 * success > 4:
                payoff -= 300 * success
            if payoff > best:
                best, chosen = payoff, strategy
        self.strategy = chosen


class _PlainModel(mesa.Model):
    """A plain model of data subjects."""

    def __init__(self, n: int) -> None:
        super().__init__(rng=1)
        self.rate = 0.001
        self.forms: list[Any] = []
        harm = np.random.default_rng(1).lognormal(8, 1, n)
        for row, each in enumerate(harm.tolist()):
            _PlainSubject(self, each, row)


def compare(name: str, study: TablesStudy, repeats: int, sample: int) -> None:
    """Print the ratios for one study."""
    setting = setting_of(study, AgentsSection())
    n = setting.n_subjects
    # Group sizes are rolled up, and code is compiled, on the first call.
    solve(study)
    play(setting)
    bare, ours = best_time(lambda: solve(study), repeats), best_time(lambda: play(setting), repeats)
    memory, own = peak_bytes(lambda: play(setting)), peak_bytes(lambda: solve(study))
    deciding = replace(setting, participation=RULE)
    with_subjects = best_time(lambda: play(deciding), repeats)
    full = peak_bytes(lambda: play(deciding))
    print(f"{name}: {n:,} data subjects, {setting.n_cells:,} distinct records, {setting.space.size} strategies")
    print(f"  bare solver {bare:.3f} s, one round {ours:.3f} s: {ours / bare:.2f} times (to reach: at most 1.5)")
    figure(f"{name}: one round", ours, "bare solver", bare, 1.5, at_most=True)
    print(f"  with subjects who decide {with_subjects:.3f} s: {with_subjects / bare:.2f} times")
    print(
        f"  memory beyond the solver's own {max(memory - own, 0) / n:.0f} bytes per subject, with subjects who decide"
    )
    print(f"  {max(full - own, 0) / n:.0f} (to reach: at most 200); the solver's own {own / n:.0f}")
    model = ReidentificationModel(deciding, "basic").run()
    # Before there are a million agents of the plain model, which collecting garbage would drag through the caches.
    vectorised = best_time(model.learn, max(repeats, 9))
    least = copying_time(moved_bytes(model), max(repeats, 9))
    begun = time.process_time()
    plain = _PlainModel(n)
    created = time.process_time() - begun
    decided = best_time(lambda: plain.agents.do("decide"), 1)
    print(
        f"  whether to take part: plain mesa {decided:.3f} s (and {created:.1f} s to make the agents), one call for all"
    )
    print(
        f"  {vectorised * 1000:.1f} ms: {decided / vectorised:.0f} times, {(created + decided) / vectorised:.0f} with"
    )
    print("  making them (to reach: 100);")
    print(
        f"  copying as many bytes ({moved_bytes(model) / n:.0f} per subject) takes {least * 1000:.2f} ms: "
        f"one call takes {vectorised / least:.1f} times"
    )
    print(f"  that floor, which is {decided / least:.0f} times as fast as plain mesa")  # fmt: skip
    figure(f"{name}: learning and participation decision", vectorised, "plain mesa", decided, 100.0)
    few = _PlainModel(sample)
    cells = setting.cell_of_subject[:sample]
    linker = study.own_linker()
    few.forms = [
        (linker.link(s, cells).group_sizes.tolist(), setting.space.utility(s, cells).tolist())
        for s in range(setting.space.size)
    ]
    chosen = best_time(lambda: few.agents.do("choose"), 1) * n / sample
    figure(f"{name}: choice of a release, whole round", ours, "plain mesa", chosen, 100.0)
    remembering = replace(setting_of(study, AgentsSection(rounds=ROUNDS)), participation=RULE)
    play(remembering)
    each = best_time(lambda: play(remembering), repeats) / ROUNDS
    figure(f"{name}: round with joining and leaving people", each, "plain mesa", chosen, 100.0)
    print(f"  which release to choose: plain mesa {chosen:.1f} s (extrapolated), a whole round {ours:.3f} s: "
          f"{chosen / ours:.0f} times (to reach: 100)")  # fmt: skip
    print(f"  rounds of people who come and go and adversaries who remember, {each:.3f} s: {chosen / each:.0f} times")


def growth_in_subjects(study: TablesStudy, sizes: Sequence[int]) -> None:
    """Time a round of agents for ever more data subjects drawn from the population."""
    for n in sizes:
        setting = setting_of(sampled_study(study, n), AgentsSection())
        play(setting)
        grown("round of agents over data subjects", n, best_time(partial(play, setting), 2))


def growth_in_rounds(study: TablesStudy, sizes: Sequence[int]) -> None:
    """Time ever more rounds of agents."""
    for rounds in sizes:
        setting = replace(setting_of(study, AgentsSection(rounds=rounds)), participation=RULE)
        play(setting)
        grown("agents over rounds", rounds, best_time(partial(play, setting), 2))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", type=int, default=1_000_000, help="records sampled for the large study")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sample", type=int, default=2_000, help="subjects who choose a form in plain mesa")
    chosen = parser.parse_args()
    # Garbage is collected before each timing, without the imported modules.
    gc.freeze()
    for solver in ("backward-induction", "branch-and-bound"):
        study = build_study(Scenario.load("wan2015", {"publisher.solver": solver}))
        compare(f"wan2015, {solver}", study, chosen.repeats, chosen.sample)
        compare(f"sample, {solver}", sampled_study(study, chosen.subjects), chosen.repeats, chosen.sample)


if __name__ == "__main__":
    main()
