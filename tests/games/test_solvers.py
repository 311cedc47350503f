"""The three solvers, against the paper's algorithms, on games with many ties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from small_games import game_of, small_games
from tiers import examples

from reidsim.adversaries.response import OneShotAdversary, arrays_of
from reidsim.games import iceberg as iceberg_module
from reidsim.games import record_game
from reidsim.games.iceberg import RISK, fits, iceberg, upper_mean
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import Choice, Constraint, PopulationLinker, RecordGame
from reidsim.games.solvers import backward_induction, branch_and_bound, lattice_search
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice


def constraints_of(small):
    minimum = small.minimum_numbers()
    return {
        "none": Constraint(),
        "no-attack": Constraint(no_attack=True),
        "minimum": Constraint(minimum=minimum),
        "both": Constraint(no_attack=True, minimum=minimum),
    }


def allowed_by_the_paper(small, i, name):
    paper = small.paper(i)

    def allowed(g):
        if name in ("no-attack", "both") and paper.attacks(g):
            return False
        if name in ("minimum", "both"):
            return all(level >= least for level, least in zip(g, small.minimum[i], strict=True))
        return True

    return allowed


def assert_outcomes_are_the_papers(small, choice, expected):
    """Compare strategies and all results with the paper's strategy of every record."""
    equilibrium = evaluate(small.game(), choice)
    for i, g in enumerate(expected):
        paper = small.paper(i)
        close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
        assert choice.strategies[i] == paper.number(g)
        if g is None:
            assert equilibrium.withheld[i]
            continue
        publisher, adversary, attacks = paper.play(g)
        assert equilibrium.attacked[i] == attacks
        assert equilibrium.publisher_payoff[i] == pytest.approx(publisher, **close)
        assert equilibrium.adversary_payoff[i] == pytest.approx(adversary, **close)
        assert equilibrium.success_probability[i] == paper.pi(g)
        assert equilibrium.utility[i] * paper.V == pytest.approx(paper.v(g), **close)
        assert equilibrium.generalization_intensity[i] == pytest.approx(paper.intensity(g))


@given(small=st.one_of(small_games(), small_games(mistaken_adversary=True)))
@examples(80)
def test_solvers_are_the_papers_algorithms(small):
    constraints = constraints_of(small)
    for name, constraint in constraints.items():
        expected = [small.paper(i).algorithm_1(allowed_by_the_paper(small, i, name)) for i in range(small.n_records)]
        alone = backward_induction(small.game(), constraint)
        bounded = branch_and_bound(small.game(), constraint)
        for choice in (alone, bounded):
            assert choice.exact
            assert_outcomes_are_the_papers(small, choice, expected)
        assert (alone.evaluated == small.lattice().size).all()
        assert ((bounded.evaluated >= 1) & (bounded.evaluated <= small.lattice().size)).all()
        found = iceberg(small.game(), constraint)
        assert (found.solver, found.exact) == ("iceberg" if fits(small.game()) else "branch-and-bound", True)
        np.testing.assert_array_equal(found.strategies, alone.strategies)
    choice = lattice_search(small.game())
    paths = [small.paper(i).algorithm_2() for i in range(small.n_records)]
    assert not choice.exact
    assert choice.evaluated.tolist() == [len(seen) for _, seen in paths]
    assert_outcomes_are_the_papers(small, choice, [g for g, _ in paths])


@given(small=small_games(max_strategies=200, max_records=8), name=st.sampled_from(["none", "no-attack", "both"]))
@examples(100)
def test_records_decided_one_by_one_are_decided_as_in_groups(small, name):
    constraint = constraints_of(small)[name]
    with pytest.MonkeyPatch.context() as patch:
        # No step in groups: every record is left open for a decision of its own.
        patch.setattr(iceberg_module, "_SHARE", 10**9)
        found = iceberg(small.game(), constraint)
    np.testing.assert_array_equal(found.strategies, backward_induction(small.game(), constraint).strategies)
    assert found.exact
    assert not found.gap.any()


@pytest.mark.deep
@given(
    small=small_games(max_strategies=200, max_records=8),
    nodes=st.sampled_from([1, 30, 100, 1000]),
    first=st.sampled_from([4, 16, 64]),
)
@examples(150)
def test_the_gap_of_a_budget_bounds_the_distance_to_the_optimum(small, nodes, first):
    game = small.game()
    for name, constraint in constraints_of(small).items():
        with pytest.MonkeyPatch.context() as patch:
            # With short passes, bounds come from lattices with few of the attributes.
            patch.setattr(iceberg_module, "_FIRST", first)
            found = iceberg(game, constraint, nodes=nodes)
        optimum = backward_induction(game, constraint)
        payoff, best = (evaluate(game, choice).publisher_payoff for choice in (found, optimum))
        slack = 10 * game.tie()
        assert (payoff <= best + slack).all(), name
        assert (best <= payoff + found.gap + slack).all(), name
        assert found.exact == (not found.gap.any())
        proved = found.gap == 0
        np.testing.assert_array_equal(found.strategies[proved], optimum.strategies[proved])


@given(small=small_games(), seed=st.integers(0, 2**32 - 1))
@examples(60)
def test_a_choice_of_many_strategies_is_evaluated_as_one_of_few(small, seed):
    game, rng = small.game(), np.random.default_rng(seed)
    strategies = rng.integers(-1, game.space.size, game.n_records)
    choice = Choice(strategies, "given", np.ones(game.n_records, dtype=np.int64), exact=False)
    few = evaluate(game, choice)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_game, "_MANY_LINKED", 0)
        many = evaluate(game, choice)
    for name, array in arrays_of(few).items():
        np.testing.assert_array_equal(getattr(many, name), array)


# Games written by hand. One attribute of four values, merged in pairs, then all.
PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))


def one_record(people, hierarchies=(PAIRS,), **money):
    return game_of(hierarchies, people, [(0,) * len(hierarchies)], **money)


@given(seed=st.integers(0, 2**32 - 1), first=st.sampled_from([16, 120]), no_attack=st.booleans())
@examples(60)
def test_bounds_from_few_attributes_hold_on_independent_columns(seed, first, no_attack):
    # The levels of one or two of the four attributes are searched.
    rng = np.random.default_rng(seed)
    people = [tuple(row) for row in rng.integers(0, 8, (60, 4)).tolist()]
    money = {"benefit": 100.0, "loss": float(rng.choice([20, 100])), "gain": 60.0, "cost": float(rng.uniform(5, 25))}
    halves = tuple(tuple(value // size for value in range(8)) for size in (1, 2, 4, 8))
    game = game_of([halves] * 4, people, people[:12], **money).game()
    constraint = Constraint(no_attack=no_attack)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iceberg_module, "_FIRST", first)
        patch.setattr(iceberg_module, "_POOL", 0)
        found = iceberg(game, constraint, nodes=1)
    optimum = backward_induction(game, constraint)
    payoff, best = (evaluate(game, choice).publisher_payoff for choice in (found, optimum))
    assert (best <= payoff + found.gap + 10 * game.tie()).all()
    # Without an attack, the best case is 100 for each record.
    assert (payoff + found.gap < 100).all()
    proved = found.gap == 0
    np.testing.assert_array_equal(found.strategies[proved], optimum.strategies[proved])


@pytest.mark.parametrize("draws", [100, pytest.param(4000, marks=pytest.mark.deep)])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_bound_of_a_mean_holds_in_99_of_100_samples_at_any_time(draws, share):
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(draws):
        values = (rng.random(60) < share).astype(float)
        missed += any(upper_mean(values[:n]) < share for n in range(10, 61, 10))
    # The binomial number of misses is at most this with a probability of 0.999.
    assert missed <= stats.binom.ppf(0.999, draws, RISK)


def test_the_bound_of_a_mean_is_near_equal_values():
    assert 0.1 < upper_mean(np.full(400, 0.1)) < 0.13
    assert upper_mean(np.empty(0)) == pytest.approx(1.0)


@pytest.mark.parametrize("seeds", [20, pytest.param(1000, marks=pytest.mark.deep)])
def test_the_likely_gap_bounds_the_distance_to_the_optimum(seeds, monkeypatch):
    # The search has no strategies other than the first two, and draws a third as many records as there are.
    rng = np.random.default_rng(5)
    people = [tuple(row) for row in rng.integers(0, 8, (120, 3)).tolist()]
    halves = tuple(tuple(value // size for value in range(8)) for size in (1, 2, 4, 8))
    game = game_of([halves] * 3, people, people, benefit=100.0, loss=100.0, gain=60.0, cost=12.0).game()
    weights = rng.integers(1, 5, game.n_records)
    best = evaluate(game, backward_induction(game)).publisher_payoff
    monkeypatch.setattr(iceberg_module, "_within", lambda *arguments: None)
    for name, value in {"_POOL": 0, "_ROUNDS": 0, "_MOST_DRAWN": 40}.items():
        monkeypatch.setattr(iceberg_module, name, value)
    tight, missed = 0, 0
    for seed in range(seeds):
        found = iceberg(game, nodes=10**9, weights=weights, seed=seed)
        with monkeypatch.context() as patch:
            patch.setattr(iceberg_module, "_MOST_DRAWN", 0)
            start = iceberg(game, nodes=10**9, weights=weights, seed=seed)
        assert (found.drawn, start.drawn) == (40, 0)
        tight += found.likely_gap < start.likely_gap
        missed += found.likely_gap < weights @ (best - evaluate(game, start).publisher_payoff)
    assert tight == seeds
    assert missed <= stats.binom.ppf(0.999, seeds, RISK)


def test_payoffs_are_equal_to_rounding_of_the_loss_where_it_dwarfs_the_benefit():
    # n people, or n + 1 if a second value joins. The loss at which both differ by the cost of joining is so large that
    # payoffs are rounded by more than 1e-12 of the benefit.
    merged = Hierarchy.from_labels(Attribute("a", ("0", "1", "2")), [["01", "01", "2"]])
    lattice = GeneralizationLattice((merged,), np.array([[0]], dtype=np.int32))
    for n in range(100_000, 100_006):
        people = Population(lattice.domain, np.array([[0], [1]], dtype=np.int32), np.array([n, 1]))
        loss = math.log(2) / math.log(3) / (1 / n - 1 / (n + 1))
        linker = PopulationLinker(GroupSizes(people, lattice))
        game = RecordGame(lattice, linker, OneShotAdversary(loss, 0.0), 1.0, loss)
        assert backward_induction(game, Constraint()).strategies.tolist() == [0]
        assert branch_and_bound(game).strategies.tolist() == [0]
        assert lattice_search(game).strategies.tolist() == [1]


def test_lattice_search_takes_the_last_of_equally_good_children():
    # Children are in the order of attributes: first (1, 0), which is strategy 2, then (0, 1), which is strategy 1.
    two = ((0, 1), (0, 0))
    people = [(0, 0), (0, 1), (1, 0), (1, 1)]
    game = one_record(people, (two, two), benefit=10.0, loss=100.0, gain=100.0, cost=30.0)
    # 10 - 100 at (0, 0); 5 - 50 at (0, 1) and (1, 0), both attacked; 0 - 25 at (1, 1), charged though not attacked.
    choice = lattice_search(game.game())
    assert choice.strategies.tolist() == [3]
    assert choice.evaluated.tolist() == [4]  # (0, 0), both its children and the one child of (0, 1)
    stops = game.with_money(10.0, 100.0, 100.0, 50.0)
    assert lattice_search(stops.game()).strategies.tolist() == [1]


def test_branch_and_bound_keeps_the_first_of_equals_though_it_meets_it_last():
    # Record (0, 0) loses log 2 by merging either attribute; the others lose more by merging the second, so on average
    # (1, 0), strategy 3, shares more than (0, 1), strategy 1, and is computed first.
    a, b = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1, 2, 3, 4), (0, 0, 1, 1, 1), (0, 0, 0, 0, 0))
    people = [(0, 0)] + [(1, 0)] * 9 + [(0, 1)] * 9
    records = [(0, 0), (2, 2), (3, 3), (2, 4)]
    game = game_of([a, b], people, records, benefit=100.0, loss=60.0, gain=60.0, cost=6.0)
    average = game.lattice().average_utility
    assert average(3) > average(1)
    for constraint in (Constraint(), Constraint(no_attack=True)):
        found = branch_and_bound(game.game(), constraint)
        assert found.strategies[0] == 1
        assert found.evaluated[0] == 3
        assert backward_induction(game.game(), constraint).strategies[0] == 1


def test_branch_and_bound_works_out_one_strategy_of_a_record_that_nobody_attacks():
    game = one_record([(0,)] * 1000, benefit=10.0, loss=1.0, gain=1.0, cost=4.0)
    assert branch_and_bound(game.game()).evaluated.tolist() == [1]
