"""The masking game, against the published code and brute force on tiny worlds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from masking_worlds import person_table, small_worlds, two_stage_attack
from tiers import cases, examples

from reidsim.adversaries.multistage.attack import InferByLinkage, MultistageAttack, MultistageWorld, PersonTable
from reidsim.core.errors import InputError
from reidsim.games.cross_play import OptIn
from reidsim.games.masking.game import (
    MaskingGame,
    birth_decades,
    fairness,
    fairness_of_usefulness,
    gini,
    state_groups,
    usefulness,
)
from reidsim.games.masking.searches import (
    anytime,
    best_first,
    fixed_choice,
    greedy,
    masking_backward_induction,
    same_strategy,
)
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import WITHHELD, Choice, Constraint
from reidsim.games.solvers import branch_and_bound
from reidsim.releases.lattice import MaskingSpace

CARRIED = Path(__file__).parent / "wan2021"
FULL_SIZE = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "wan2021"
EXACT_SOLVERS = (best_first, masking_backward_induction)


def game_of(inputs, weights=None):
    """Return the game of the published code's input arrays."""
    weights = inputs["weights"] if weights is None else weights
    n_loci = len(weights) - 2
    loci = tuple(f"locus{j + 1}" for j in range(n_loci))
    attributes = ("age", "state", *loci)
    at = [*range(4, 4 + n_loci)]
    targets = person_table("targets", (*attributes, "surname"), inputs["S"][:, [2, 3, *at, 20]])
    genealogy = person_table("genealogy", (*loci, "surname"), inputs["G"][:, [*at, 4 + n_loci]])
    registry = person_table("registry", ("age", "state", "surname"), inputs["I"][:, [2, 3, 20]])
    world = MultistageWorld(targets, {"genealogy": genealogy, "registry": registry})
    attack = two_stage_attack(loci, inputs["mu"][:n_loci])
    return MaskingGame(MaskingSpace(attributes, weights, targets.n_rows), attack, world)


def assert_equals_published(game, choice, outputs, scenario):
    """Check every subject's strategy, attack, success and payoffs."""
    found = game.evaluate(choice)
    strategy = game.space.shared(np.maximum(found.strategies, 0)) & (found.strategies >= 0)[:, None]
    # The research code's cache may confuse two subjects; these columns are computed without the cache.
    suffix = "_uncached" if f"s{scenario}_attack_uncached" in outputs else ""
    np.testing.assert_array_equal(strategy, outputs[f"s{scenario}_strategy"])
    np.testing.assert_array_equal(found.attacked, outputs[f"s{scenario}_attack{suffix}"])
    for name, values in (
        (f"success_rate{suffix}", found.success_probability),
        ("payoff", found.publisher_payoff),
        ("attacker_payoff", found.adversary_payoff),
        ("utility", found.utility),
    ):
        np.testing.assert_allclose(values, outputs[f"s{scenario}_{name}"], rtol=0, atol=1e-9)


def published_choice(game, outputs, scenario):
    """Return the published strategies of a scenario without search."""
    shared = outputs[f"s{scenario}_strategy"]
    strategies = game.space.masking(shared)
    if scenario in (2, 4):
        strategies[~shared.any(axis=1)] = WITHHELD
    return Choice(strategies, "published", np.ones(len(strategies), np.int64), exact=False)


@pytest.fixture(
    scope="module", params=cases(["small_bf_m6", "small_bf_m6_missing0", "mid_bf_m8_clean"], ["small_bf_m6_missing0"])
)
def exact_oracle(request):
    outputs = np.load(CARRIED / f"{request.param}.npz", allow_pickle=False)
    return game_of(outputs), outputs


@pytest.fixture(scope="module")
def full_size():
    if not (FULL_SIZE / "inputs_p2021_i0.npz").is_file():
        pytest.skip(f"the full-size inputs are not in {FULL_SIZE}: too large for the repository")
    inputs = np.load(FULL_SIZE / "inputs_p2021_i0.npz", allow_pickle=False)
    return game_of(inputs), inputs, np.load(FULL_SIZE / "greedy_p2021_i0.npz", allow_pickle=False)


@pytest.mark.parametrize("scenario", range(5))
def test_fixed_policies_equal_the_published_code(exact_oracle, scenario):
    game, outputs = exact_oracle
    assert_equals_published(game, published_choice(game, outputs, scenario), outputs, scenario)


def test_policies_without_chance_pick_the_published_strategies(exact_oracle):
    game, outputs = exact_oracle
    rng, linked = np.random.default_rng(0), game.attack.identify.on
    for scenario, policy in ((0, "no-protection"), (1, "demographics-only")):
        assert_equals_published(game, fixed_choice(game, policy, rng, linked=linked), outputs, scenario)
    assert_equals_published(game, OptIn().choose(game), outputs, 4)


@pytest.mark.parametrize("solver", EXACT_SOLVERS)
@pytest.mark.parametrize("scenario", [5, 6, 7])
def test_exact_solvers_equal_the_published_code(exact_oracle, solver, scenario):
    game, outputs = exact_oracle
    played = game.one_stage() if scenario == 7 else game
    choice = solver(played, no_attack=scenario == 6)
    assert choice.exact
    assert_equals_published(played, choice, outputs, scenario)


@pytest.mark.parametrize("scenario", [5, 6, 7])
def test_the_best_first_search_breaks_ties_as_the_published_code(scenario):
    """With equal weights many strategies have equal payoffs.

    The confidence breaks ties.
    """
    inputs = np.load(CARRIED / "mid_bf_m8_clean.npz", allow_pickle=False)
    outputs = np.load(CARRIED / "mid_bf_m8_uniform_clean.npz", allow_pickle=False)
    game = game_of(inputs, np.ones(10))
    played = game.one_stage() if scenario == 7 else game
    assert_equals_published(played, best_first(played, no_attack=scenario == 6), outputs, scenario)


def test_confidence_and_surname_equal_the_published_code():
    """Use the only file without random ties between nearest men in the published code."""
    outputs = np.load(CARRIED / "mid_bf_m8_clean.npz", allow_pickle=False)
    game = game_of(outputs)
    for scenario in (0, 3, 5, 6, 7):
        surnames, confidence = game.confidence(published_choice(game, outputs, scenario).strategies)
        np.testing.assert_allclose(confidence, outputs[f"s{scenario}_confidence"], atol=1e-7)
        np.testing.assert_array_equal(surnames, outputs[f"s{scenario}_inferred_surname"])


@pytest.mark.deep
@pytest.mark.parametrize("scenario", [3, 5, 6, 7])
def test_full_size_equals_the_published_greedy_code(full_size, scenario):
    game, _, outputs = full_size
    if scenario < 5:
        assert_equals_published(game, published_choice(game, outputs, scenario), outputs, scenario)
        return
    played = game.one_stage() if scenario == 7 else game
    assert_equals_published(played, greedy(played, no_attack=scenario == 6), outputs, scenario)


@pytest.mark.deep
def test_full_size_exact_games_equal_the_reference(full_size):
    """Compare means with another exact solver's, to the digits noted."""
    game, _, _ = full_size
    expected = {
        "masking": (85.19, 0.8612, 0.9938), "no-attack-masking": (84.99, 0.8499, 1.0),
        "one-stage-masking": (90.58, 0.9153, 0.9936),
    }  # fmt: skip
    for policy, (payoff, utility, privacy) in expected.items():
        played = game.one_stage() if policy == "one-stage-masking" else game
        found = played.evaluate(best_first(played, no_attack=policy == "no-attack-masking"))
        assert found.publisher_payoff.mean() == pytest.approx(payoff, abs=0.005)
        assert found.utility.mean() == pytest.approx(utility, abs=5e-5)
        assert 1 - (found.attacked * found.success_probability).mean() == pytest.approx(privacy, abs=5e-5)


def test_usefulness_and_fairness_equal_the_published_code(full_size):
    game, inputs, outputs = full_size
    values = game.world.targets.matrix(game.space.attributes)
    decades, states = birth_decades(values[:, 0]), state_groups(values[:, 1])
    assert set(decades) == set(range(10))
    assert set(states) == set(range(5))
    for scenario in range(8):
        shared = outputs[f"s{scenario}_strategy"]
        found = {"usefulness": usefulness(values, shared, inputs["weights"])}
        for name in ("payoff", "privacy", "utility"):
            found[f"fairness_wrt_{name}"] = fairness(outputs[f"s{scenario}_{name}"], [decades, states])
        found["fairness_wrt_usefulness"] = fairness_of_usefulness(
            values, shared, inputs["weights"], [(0, decades), (1, states)]
        )
        for name, value in found.items():
            assert value == pytest.approx(outputs[f"s{scenario}_{name}"][0], abs=1e-12), (scenario, name)


def plain_levels(small, choice):
    return [None if s == WITHHELD else small.levels(s) for s in choice.strategies.tolist()]


KINDS = {
    "two-stage": {},
    "nearest neighbour": {"chain": "neighbour"},
    "minority support": {"supported": True},
    "overconfident": {"overconfident": True},
}


@pytest.mark.parametrize("kind", KINDS)
@examples(30, fast=4)
@given(levels=st.booleans(), no_attack=st.booleans(), data=st.data())
def test_solvers_equal_plain_loops_over_all_strategies(kind, levels, no_attack, data):
    """Compare strategies and payoffs of every target; the oracle computes the weights."""
    small = data.draw(small_worlds(levels=levels, most_targets=2, **KINDS[kind]))
    game = small.game
    expected = [plain.solve(no_attack) for plain in small.plain]
    payoffs = [0.0 if s is None else plain.payoff(s) for plain, s in zip(small.plain, expected, strict=True)]
    for solver in (*EXACT_SOLVERS, anytime):
        choice = solver(game, no_attack=no_attack)
        assert choice.exact
        np.testing.assert_allclose(game.evaluate(choice).publisher_payoff, payoffs, atol=1e-9)
        # Anytime search visits the greedy strategies first, which changes the order of ties.
        assert plain_levels(small, choice) == expected or solver is anytime
    assert plain_levels(small, greedy(game, no_attack=no_attack)) == [p.greedy(no_attack) for p in small.plain]
    general = branch_and_bound(game.record_game, Constraint(no_attack=no_attack)).strategies
    found = [-np.inf if s < 0 else p.payoff(small.levels(s)) for p, s in zip(small.plain, general, strict=True)]
    np.testing.assert_allclose(np.maximum(found, 0.0), payoffs, atol=1e-9)
    sums = {s: sum(plain.payoff(small.levels(s)) for plain in small.plain) for s in range(small.space.size)}
    one, best = int(same_strategy(game).strategies[0]), max(sums.values())
    if best < -1e-9:
        assert one == WITHHELD
    else:
        assert sums[one] == pytest.approx(best, abs=1e-9)
        assert all(s >= one for s, total in sums.items() if total > best - 1e-10)


@examples(20)
@given(no_attack=st.booleans(), overconfident=st.booleans(), data=st.data())
def test_three_stage_games_equal_plain_loops(no_attack, overconfident, data):
    """Branch and bound solves chains without a compiled form."""
    small = data.draw(small_worlds(chain="three-stage", most_targets=2, overconfident=overconfident))
    assert not small.game.is_compiled
    choice = best_first(small.game, no_attack=no_attack)
    expected = [0.0 if (s := plain.solve(no_attack)) is None else plain.payoff(s) for plain in small.plain]
    np.testing.assert_allclose(small.game.evaluate(choice).publisher_payoff, expected, atol=1e-9)


@given(small_worlds())
def test_without_inference_the_search_finds_the_best_of_all_strategies(small):
    """The linked state stands between attributes that can only be released or masked."""
    attack = replace(small.game.attack, stages=(replace(small.game.attack.identify, on=("state",)),))
    game = MaskingGame(small.space, attack, small.game.world, 100.0, 150.0)
    assert game.is_compiled
    found = best_first(game)
    alternatives = [replace(found, strategies=np.full(game.n_records, each)) for each in range(game.space.size)]
    every = [evaluate(game.record_game, choice).publisher_payoff for choice in alternatives]
    np.testing.assert_allclose(game.evaluate(found).publisher_payoff, np.max(every, axis=0), atol=1e-9)


@examples(30)
@given(data=st.data())
def test_anytime_search_bounds_what_is_missed(data):
    small = data.draw(small_worlds())
    no_attack = data.draw(st.booleans())
    best = small.game.evaluate(best_first(small.game, no_attack=no_attack)).publisher_payoff
    before = np.full(len(best), -np.inf)
    gap_before = np.full(len(best), np.inf)
    for budget in (1, 2, 5, 50):
        choice = anytime(small.game, most_evaluated=budget, no_attack=no_attack)
        found = small.game.evaluate(choice).publisher_payoff
        assert (found + choice.gap >= best - 1e-9).all()
        assert (found <= best + 1e-9).all()
        assert (found >= before - 1e-9).all()
        assert (choice.gap <= gap_before + 1e-9).all()
        before, gap_before = found, choice.gap
    assert choice.exact
    np.testing.assert_allclose(found, best, atol=1e-9)


def random_game(n, n_loci, seed=0, size=300):
    """Return an artificial world.

    Alleles are 1 .. 6, a third missing in the genealogy.
    """
    rng = np.random.default_rng(seed)
    loci = tuple(f"locus{j}" for j in range(n_loci))
    people = np.column_stack([rng.integers(0, 90, size), rng.integers(0, 50, size), rng.integers(0, 40, size)])
    alleles = rng.integers(1, 7, (size, n_loci))
    men = alleles[rng.permutation(size)] * (rng.random((size, n_loci)) > 0.3)
    targets = person_table("targets", ("age", "state", "surname", *loci), np.hstack([people[:n], alleles[:n]]))
    world = MultistageWorld(
        targets,
        {
            "registry": person_table("registry", ("age", "state", "surname"), people),
            "genealogy": person_table(
                "genealogy", ("surname", *loci), np.column_stack([rng.permutation(people[:, 2]), men])
            ),
        },
    )
    weights = rng.uniform(0.5, 4.0, n_loci + 2)
    space = MaskingSpace(("age", "state", *loci), weights, n)
    return MaskingGame(space, two_stage_attack(loci, rng.uniform(5e-4, 6e-3, n_loci)), world)


def test_sixty_loci_are_searched_within_a_budget():
    game = random_game(20, 60)
    choice = anytime(game, most_evaluated=300)
    found = game.evaluate(choice)
    assert (choice.evaluated <= 300 + 61 * 63).all()
    assert (found.publisher_payoff + choice.gap <= 100).all()
    assert (choice.gap >= 0).all()
    assert (found.publisher_payoff >= game.evaluate(greedy(game)).publisher_payoff - 1e-9).all()


def three_stage_game():
    """Return the artificial world, with states inferred from a voter list."""
    game = random_game(10, 3)
    voters = PersonTable("voters", dict(game.world.resource("registry").columns))
    world = MultistageWorld(game.world.targets, {**game.world.resources, "voters": voters})
    first, last = game.attack.stages
    attack = MultistageAttack((first, InferByLinkage("state", "voters", ("surname",)), last), 150.0, 10.0)
    return MaskingGame(game.space, attack, world)


def test_a_surname_inferred_with_no_confidence_at_all_is_not_believed():
    """A locus that never mutates differs: no common ancestor, although theta is 0."""
    targets = PersonTable("targets", {"a": np.array([5]), "age": np.array([1]), "surname": np.array([1])})
    genealogy = PersonTable("genealogy", {"a": np.array([6]), "surname": np.array([1])})
    people = {"age": np.array([1, 1, 1]), "surname": np.array([1, 2, 2])}
    world = MultistageWorld(targets, {"genealogy": genealogy, "registry": PersonTable("registry", people)})
    attack = two_stage_attack(("a",), np.zeros(1), linked=("age",), confidence_threshold=0.0)
    game = MaskingGame(MaskingSpace(("age", "a"), np.ones(2), 1), replace(attack, overconfident=True), world)
    everything = Choice(np.zeros(1, np.int64), "", np.ones(1, np.int64), exact=True)
    assert game.confidence(everything.strategies)[1][0] == 0
    for found in (game.evaluate(everything).success_probability[0], game.record_game.outcome(0).response.success[0]):
        assert found == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda g: anytime(g, most_evaluated=0), "maximum number of strategies too small"),
        (lambda g: MaskingGame(g.space, g.attack, g.world, -1.0), "benefit of the publisher is negative"),
        (lambda g: MaskingGame(MaskingSpace(("age",), np.ones(1), 10), g.attack, g.world), "neither released"),
        (lambda g: masking_backward_induction(random_game(2, 25)), "too many strategies for backward induction"),
        (lambda g: greedy(three_stage_game()), "this solver does not support the attack.*best-first"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make(random_game(10, 3))


# Usefulness and fairness by hand; `test_masking_game` has the published code's.


VALUES = np.array([[1, 5], [1, 6], [2, 5], [2, 6]])


def test_usefulness_is_one_minus_the_weighted_distance():
    """Attribute 1: shared 1, 1, 2 of 1, 1, 2, 2, distance 1/6; attribute 2: 1."""
    shared = np.array([[1, 0], [1, 0], [1, 0], [0, 0]], dtype=bool)
    assert usefulness(VALUES, shared, np.array([3.0, 1.0])) == pytest.approx(3 / 4 * 5 / 6)
    assert usefulness(VALUES, np.ones((4, 2), bool), np.array([3.0, 1.0])) == pytest.approx(1)
    assert usefulness(VALUES, np.zeros((4, 2), bool), np.array([3.0, 1.0])) == 0


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=12))
def test_gini_is_half_the_relative_mean_difference(values):
    n, moved = len(values), [v + 1e-7 for v in values]
    differences = sum(abs(a - b) for a in moved for b in moved)
    assert gini(np.array(values)) == pytest.approx(differences / (2 * n * sum(moved)), abs=1e-9)


def test_fairness_is_the_mean_over_groupings():
    values = np.array([0.0, 0.0, 1.0, 1.0])
    apart, mixed = np.array([0, 0, 1, 1]), np.array([7, 9, 7, 9])
    assert fairness(values, [apart]) == pytest.approx(1 / 2, abs=1e-6)
    assert fairness(values, [mixed]) == pytest.approx(1)
    assert fairness(values, [apart, mixed]) == pytest.approx(3 / 4, abs=1e-6)


def test_who_masks_the_grouping_attribute_counts_in_no_group():
    """Both groups share the second attribute; the second group masks the grouping one."""
    shared = np.array([[1, 1], [1, 1], [0, 1], [0, 1]], dtype=bool)
    found = fairness_of_usefulness(VALUES, shared, np.ones(2), [(0, VALUES[:, 0])])
    assert found == pytest.approx(1 - gini(np.array([1.0, 0.0])))


def test_published_groups():
    years = np.array([1880, 1909, 1910, 1919, 1920, 1989, 1990, 2020])
    assert birth_decades(2020 - years).tolist() == [0, 0, 1, 1, 2, 8, 9, 9]
    assert state_groups(np.array([0, 10, 11, 20, 21, 40, 41, 50])).tolist() == [0, 0, 1, 1, 2, 3, 4, 4]
