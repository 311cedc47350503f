"""Speed of the masking game, shown as ratios measured in one run.

Run by hand: ``python benchmarks/masking.py``. The bundled scenario is played (1,000 subjects, registry and genealogy of
20,000, 12 loci), or the arrays of ``--inputs FILE.npz`` (S targets, I registry, G genealogy, mu, weights).

The plain reference, written here from the paper and checked against the package on the subjects it solves, is backward
induction with pruning for one subject: a Python loop over strategies that carries out both stages of the attack for
each, with numpy over the genealogy, the candidates and the registry. Its inferences from a set of loci are kept for the
strategies that share the same loci. It is timed on a sample, ours whole. The inference of surnames is timed alone, too:
many sets of loci of every subject, beside the plain one. Several adversaries are played beside branch and bound, which
finds the same strategies; the first inference of surnames is part of both. Times are processor seconds in one thread;
compilation is shown apart (it is cached on disk).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np
from figures import figure, grown
from memory import peak_mib
from needs import require_file

from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.multistage import attack as multistage
from reidsim.adversaries.multistage.attack import (
    Identify,
    InferSurname,
    MultistageAttack,
    MultistageWorld,
    PersonTable,
)
from reidsim.games.composite import AdversaryType, Together, TypesGame
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import (
    anytime,
    best_against_several,
    best_first,
    greedy,
    masking_backward_induction,
    same_strategy,
)
from reidsim.games.record_game import Constraint
from reidsim.games.solvers import branch_and_bound
from reidsim.kinds.masking.kind import MASKING
from reidsim.kinds.masking.study import MaskingStudy, build_masking_study
from reidsim.linkage.surname_inference import Ancestry, SurnameInference
from reidsim.releases.lattice import MaskingSpace, entropy
from reidsim.scenarios.scenario import Scenario

GAIN, LOSS, COST, BENEFIT, THETA, N_E = 150.0, 150.0, 10.0, 100.0, 0.5, 10_000.0
RATES = 1e-3 * np.array(
    [2.381, 2.081, 1.781, 2.803, 2.298, 3.081, 0.552, 0.893, 1.498, 0.425, 5.762, 1.590, 4.769, 6.359, 3.754, 2.180]
)

Result = TypeVar("Result")


def person_table(name: str, attributes: Sequence[str], values: np.ndarray) -> PersonTable:
    """Return a `PersonTable` from an array of shape (n_rows, n_attributes)."""
    return PersonTable(name, dict(zip(attributes, np.asarray(values).T, strict=True)))


def two_stage_attack(loci: tuple[str, ...], rates: np.ndarray) -> MultistageAttack:
    """Return the two-stage attack of Wan et al. 2021 with the paper's parameters."""
    stages = (InferSurname(loci, Ancestry(tuple(rates.tolist()))), Identify(("age", "state", "surname")))
    return MultistageAttack(stages, 150.0, 10.0)


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the processor seconds of a call, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def bundled_study(n_targets: int, n_loci: int) -> MaskingStudy:
    """Return the study of the bundled scenario, for its first loci."""
    loaded: Scenario[Any] = Scenario.load("wan2021")
    attributes = list(loaded.scenario.subjects.attributes[: 2 + n_loci])
    changes = {"targets.size": n_targets, "subjects.attributes": attributes}
    return build_masking_study(Scenario.load("wan2021", changes))


def game_of_arrays(path: Path) -> MaskingGame:
    """Read the arrays of a file: columns ID, unused, age, state, loci, surname, unused."""
    arrays = np.load(path, allow_pickle=False)
    m = len(arrays["weights"]) - 2
    loci = tuple(f"locus{j + 1}" for j in range(m))
    at = [*range(4, 4 + m)]
    attributes = ("age", "state", *loci)
    targets = person_table("targets", (*attributes, "surname"), arrays["S"][:, [2, 3, *at, 20]])
    men = person_table("genealogy", (*loci, "surname"), arrays["G"][:, [*at, 4 + m]])
    people = person_table("registry", ("age", "state", "surname"), arrays["I"][:, [2, 3, 20]])
    world = MultistageWorld(targets, {"genealogy": men, "registry": people})
    space = MaskingSpace(attributes, arrays["weights"], targets.n_rows)
    return MaskingGame(space, two_stage_attack(loci, arrays["mu"][:m]), world, BENEFIT, LOSS)


def made_up_game(n_targets: int, n_men: int, n_people: int, n_loci: int, seed: int = 0) -> MaskingGame:
    """Make up lines of descent: men of a line share a surname and, but for mutations, their alleles."""
    rng = np.random.default_rng(seed)
    total = n_people + n_men
    n_lines = max(total // 20, 1)
    rates = np.resize(RATES, n_loci)
    line_surname = np.minimum(rng.zipf(1.4, n_lines), 1000) - 1
    line_alleles = 14 + np.rint(rng.normal(0, 1.3, (n_lines, n_loci))).astype(np.int64)
    line = rng.integers(0, n_lines, total)
    mutations = rng.binomial(8, rates, (total, n_loci)) * rng.choice([-1, 1], (total, n_loci))
    alleles = line_alleles[line] + mutations
    age = np.rint(110 * rng.beta(1.3, 1.5, total)).astype(np.int64)
    state = np.minimum(rng.geometric(0.06, total) - 1, 50)
    surname = line_surname[line]
    loci = tuple(f"locus{j + 1}" for j in range(n_loci))
    known = np.where(rng.random((n_men, n_loci)) < 0.3, 0, alleles[n_people:])

    def table(name: str, rows: slice) -> dict[str, np.ndarray]:
        return {"age": age[rows], "state": state[rows], "surname": surname[rows]}

    targets = table("targets", slice(n_targets)) | {c: alleles[:n_targets, j] for j, c in enumerate(loci)}
    men = {"surname": surname[n_people:]} | {c: known[:, j] for j, c in enumerate(loci)}
    world = MultistageWorld(
        PersonTable("targets", targets),
        {
            "registry": PersonTable("registry", table("registry", slice(n_people))),
            "genealogy": PersonTable("genealogy", men),
        },
    )
    weights = np.array([entropy(age), entropy(state), *(entropy(known[:, j]) for j in range(n_loci))])
    space = MaskingSpace(("age", "state", *loci), weights, n_targets)
    return MaskingGame(space, two_stage_attack(loci, rates), world, BENEFIT, LOSS)


class PlainSubject:
    """Backward induction with pruning for one subject at a time, as in the paper."""

    def __init__(self, game: MaskingGame) -> None:
        stage, world = game.attack.inferences[0], game.world
        assert isinstance(stage, InferSurname)
        self.rates = np.array(stage.ancestry.mutation_rates)
        self.men = world.resource("genealogy").matrix(stage.loci)
        self.surnames = world.resource("genealogy").column("surname")
        self.people = world.resource("registry").matrix(("age", "state"))
        self.people_surnames = world.resource("registry").column("surname")
        self.targets = world.targets.matrix(("age", "state"))
        self.alleles = world.targets.matrix(stage.loci)
        self.true_surnames = world.targets.column("surname")
        self.weights = game.space.weights
        self.t = np.arange(201)
        meeting = (1 - 1 / N_E) ** self.t
        self.random_survival = 1 - np.cumsum(meeting / meeting.sum())

    def distributions(self, agree: np.ndarray, differ: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and distributions of patterns of agreement, one per row."""
        p = np.exp(-self.t * (1 / N_E + 2 * agree @ self.rates)[:, None])
        for j, mu in enumerate(self.rates):
            p[differ[:, j]] *= 1 - np.exp(-2 * mu * self.t)
        p /= p.sum(axis=1, keepdims=True)
        return p @ self.t, p

    def infer(self, target: np.ndarray, shared: np.ndarray) -> tuple[int, float]:
        """Stage I."""
        if not shared.any():
            return -1, 0.0
        agree = (self.men == target) & shared
        matches = agree.sum(axis=1)
        rows = np.flatnonzero(matches >= 0.8 * matches.max())
        differ = shared & ~agree[rows] & (self.men[rows] != 0)
        distances, p = self.distributions(agree[rows], differ)
        # Equal patterns may differ in the last digits of a matrix product.
        order = np.argsort(distances.round(9), kind="stable")[:10]
        surname = self.surnames[rows[order[0]]]
        other = [k for k in order if self.surnames[rows[k]] != surname]
        survival = 1 - np.cumsum(p[other[0]]) if other else np.ones(201)
        return int(surname), float((p[order[0]] * survival * self.random_survival)[1:].sum())

    def payoff(self, i: int, shared: np.ndarray, inferred: dict[bytes, tuple[int, float]]) -> tuple[float, float, bool]:
        """Return the subject's payoff of a strategy, the confidence and whether it is attacked."""
        loci = shared[2:]
        key = loci.tobytes()
        if key not in inferred:
            inferred[key] = self.infer(self.alleles[i], loci)
        surname, confidence = inferred[key]
        same = ((self.people == self.targets[i]) | ~shared[:2]).all(axis=1)
        believed = success = 1 / same.sum()
        people = (same & (self.people_surnames == surname)).sum()
        if people and confidence >= THETA and GAIN * confidence / people > GAIN * believed * (1 + 1e-12):
            believed, success = confidence / people, (surname == self.true_surnames[i]) / people
        attacked = GAIN * believed > COST * (1 + 1e-12)
        worth = BENEFIT * self.weights[shared].sum() / self.weights.sum()
        return worth - LOSS * success * attacked, confidence, attacked

    def solve(self, i: int) -> float:
        """Return the best payoff."""
        m = len(self.weights)
        best, best_confidence = -np.inf, np.inf
        inferred: dict[bytes, tuple[int, float]] = {}
        closed: list[int] = []
        for code in range(2**m - 1, -1, -1):
            if any(code & above == code for above in closed):
                continue
            shared = np.array([bool(code >> (m - 1 - j) & 1) for j in range(m)])
            payoff, confidence, attacked = self.payoff(i, shared, inferred)
            if payoff > best or (payoff == best and confidence < best_confidence):
                best, best_confidence = payoff, confidence
            elif not attacked and payoff < best:
                closed.append(code)
        return max(best, 0.0)


def compilation() -> None:
    """Time of the first call of each solver, which compiles or reads compiled code from disk."""
    small = made_up_game(10, 100, 100, 4)
    solvers = (best_first, greedy, masking_backward_induction, same_strategy)
    seconds = [timed(partial(solver, small))[0] for solver in solvers]
    print(f"first calls of the solvers (compiling, or reading the compilation cache): {sum(seconds):.1f} s")


def solvers(game: MaskingGame, sample: int) -> None:
    """Compare solvers on the same subjects."""
    n = game.n_records

    def fresh() -> MaskingGame:
        multistage._kept.clear()
        return MaskingGame(game.space, game.attack, game.world, game.benefit, game.loss)

    before = peak_mib()
    cold, exact = timed(lambda: best_first(fresh()))
    solved = game.evaluate(exact)
    print(f"{n:,} subjects, {game.space.size:,} strategies, peak memory {peak_mib():,.0f} MiB ({before:,.0f} before)")
    print(f"  exact, best first: {cold:.2f} s (to reach 2); {exact.evaluated.mean():.0f} strategies each;", end=" ")
    print(f"mean payoff {solved.publisher_payoff.mean():.2f}")
    seconds, choice = timed(lambda: masking_backward_induction(fresh()))
    assert (choice.strategies == exact.strategies).all()
    print(f"  exact, backward induction: {seconds:.2f} s; {choice.evaluated.mean():.0f} each; same strategies")
    seconds, choice = timed(lambda: greedy(fresh()))
    lost = solved.publisher_payoff - game.evaluate(choice).publisher_payoff
    each = choice.evaluated.mean()
    print(f"  greedy: {seconds:.2f} s; {each:.0f} each; loses {lost.mean():.2f}, at most {lost.max():.2f}")
    seconds, choice = timed(lambda: same_strategy(fresh()))
    print(f"  one strategy for all, exact: {seconds:.2f} s; {game.space.describe(int(choice.strategies[0]))}")
    rows = np.random.default_rng(0).choice(n, min(sample, n), replace=False).tolist()
    plain = PlainSubject(game)
    seconds, payoffs = timed(lambda: [plain.solve(i) for i in rows])
    np.testing.assert_allclose(solved.publisher_payoff[rows], payoffs, atol=1e-9)
    each = seconds / len(rows)
    print(f"plain backward induction with pruning, {len(rows)} subjects, same payoffs: {each:.1f} s each")
    print(f"  RATIO per subject: {each / (cold / n):,.0f} (to reach 3,000)")
    figure(f"masking, exact, {n:,} subjects", cold, "plain backward induction", each * n, 3000.0)


def policies(study: MaskingStudy) -> None:
    """Time all policies of the scenario."""
    seconds, outcomes = timed(lambda: MASKING.play(study, 0))
    print(f"  all {len(outcomes)} policies: {seconds:.2f} s")


def inference(game: MaskingGame, n_sets: int, sample: int) -> None:
    """Infer surnames of all subjects from random sets of half of their loci or more, beside the plain inference."""
    stage, men = game.attack.inferences[0], game.world.resource("genealogy")
    assert isinstance(stage, InferSurname)
    rng = np.random.default_rng(0)
    n_loci = len(stage.loci)
    ranks = rng.random((game.n_records, n_sets, n_loci)).argsort(axis=2)
    shared = ranks < rng.integers((n_loci + 1) // 2, n_loci + 1, (game.n_records, n_sets, 1))
    alleles = game.world.targets.matrix(stage.loci)
    made = [SurnameInference(stage.ancestry, men.matrix(stage.loci), men.column("surname")) for _ in range(3)]
    tries = [timed(partial(each.infer, alleles, shared)) for each in made]
    seconds, found = min(each for each, _ in tries), tries[0][1]
    plain = PlainSubject(game)
    pairs = [(i, k) for i in range(min(sample, game.n_records)) for k in range(min(50, n_sets))]
    each, expected = timed(lambda: [plain.infer(alleles[i], shared[i, k]) for i, k in pairs])
    for (i, k), (surname, confidence) in zip(pairs, expected, strict=True):
        assert found[0][i, k] == surname
        np.testing.assert_allclose(found[1][i, k], confidence, atol=1e-9)
    n = game.n_records * n_sets
    print(f"surnames alone, {n:,} sets of loci: {seconds:.3f} s = {1e6 * seconds / n:.2f} us each;", end=" ")
    print(f"RATIO to the plain inference: {each / len(pairs) * n / seconds:,.0f}")
    figure(f"surnames inferred, {n:,} sets of loci", seconds, "plain inference", each / len(pairs) * n)


def two_adversaries(game: MaskingGame, thresholds: tuple[float, float], together: Together) -> TypesGame:
    """Return the game against two who infer surnames, on people of its own: nothing inferred before is met again."""
    world = replace(game.world)
    types = []
    for gain, threshold in zip((GAIN, 0.4 * GAIN), thresholds, strict=True):
        attack = replace(game.attack, gain=gain, confidence_threshold=threshold)
        types.append(AdversaryType(f"{gain:g}", 0.5, MultistageLinker(attack, world, game.space), attack))
    return TypesGame(game.space, types, np.asarray(game.benefit), np.asarray(game.loss), together)


def several(game: MaskingGame) -> None:
    """Play two adversaries who infer surnames, with one threshold and with two, beside branch and bound."""
    best_against_several(two_adversaries(made_up_game(10, 100, 100, 4), (0.5, 0.3), "one-of"))
    ways = ("one threshold", (0.5, 0.5)), ("two thresholds", (0.5, 0.3))
    for (name, thresholds), together, no_attack in product(ways, get_args(Together)[:2], (False, True)):
        multistage._kept.clear()
        played = two_adversaries(game, thresholds, together)
        seconds, ours = timed(partial(best_against_several, played, no_attack=no_attack))
        bounded, plain = timed(partial(branch_and_bound, played, Constraint(no_attack=no_attack)))
        assert (ours.strategies == plain.strategies).all()
        label = f"two adversaries, {name}, {together}{', no attack' if no_attack else ''}, {game.n_records:,} subjects"
        print(f"{label}: {seconds:.2f} s; RATIO to branch and bound: {bounded / seconds:.0f} (to reach 20)")
        figure(label, seconds, "branch and bound", bounded, 20.0)


def growth(largest: int, subjects: int) -> None:
    """Time the exact game as loci, tables and subjects grow, in made-up worlds."""
    for n_loci in (8, 10, 12, 14, 16):
        game = made_up_game(1000, 20_000, 20_000, n_loci)
        seconds, choice = timed(partial(best_first, game))
        goal = " (to reach 30)" if n_loci == 16 else ""
        print(
            f"{n_loci:>3} loci, 1,000 subjects: {seconds:6.2f} s{goal}; {choice.evaluated.mean():,.0f} strategies each"
        )
    for n_loci in (20, 30, 60):
        game = made_up_game(100, 20_000, 20_000, n_loci)
        seconds, bounded = timed(partial(anytime, game, most_evaluated=2000))
        proved = (bounded.gap == 0).mean()
        print(
            f"{n_loci:>3} loci, 100 subjects, at most 2,000 strategies each: {seconds:6.2f} s; "
            f"mean gap {bounded.gap.mean():.2f}, {100 * proved:.0f} % proved optimal"
        )
    sizes = [(20_000, 20_000)] + [pair for size in (100_000, largest) for pair in ((size, 20_000), (20_000, size))]
    for men, people in sizes:
        game = made_up_game(1000, men, people, 12)
        seconds, choice = timed(partial(best_first, game))
        print(
            f"genealogy {men:>9,}, registry {people:>9,}, 1,000 subjects: {seconds:6.2f} s; "
            f"{choice.evaluated.mean():,.0f} strategies each; peak {peak_mib():,.0f} MiB"
        )
    growth_in_subjects((10_000, subjects))


def growth_in_subjects(sizes: Sequence[int]) -> None:
    """Time the exact game for ever more subjects of 12 loci."""
    for n in sizes:
        game = made_up_game(n, 20_000, max(20_000, n), 12)
        seconds, choice = timed(partial(best_first, game))
        grown("masking game over subjects", n, seconds)
        print(
            f"{n:>9,} subjects: {seconds:6.2f} s = {1e3 * seconds / n:.2f} ms each; "
            f"{choice.evaluated.mean():,.0f} strategies each; peak {peak_mib():,.0f} MiB"
        )


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=Path, help="arrays to play instead of the bundled scenario")
    parser.add_argument("--targets", type=int, default=1_000, help="subjects of the bundled scenario")
    parser.add_argument("--loci", type=int, default=12, help="loci of the bundled scenario")
    parser.add_argument("--sample", type=int, default=10, help="subjects solved by the plain reference")
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest genealogy and registry")
    parser.add_argument("--subjects", type=int, default=100_000, help="largest number of subjects")
    parser.add_argument("--skip-growth", action="store_true")
    arguments = parser.parse_args()
    if arguments.inputs:
        require_file(arguments.inputs, "the arrays of --inputs")
    compilation()
    study = bundled_study(arguments.targets, arguments.loci)
    game = game_of_arrays(arguments.inputs) if arguments.inputs else study.games(0)[0]
    solvers(game, arguments.sample)
    inference(game, 200, arguments.sample)
    if not arguments.inputs:
        policies(study)
        several(bundled_study(min(arguments.targets, 300), arguments.loci).games(0)[0])
    if not arguments.skip_growth:
        growth(arguments.largest, arguments.subjects)


if __name__ == "__main__":
    main()
