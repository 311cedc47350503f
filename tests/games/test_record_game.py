"""Properties of every record-level game."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import game_of, small_games
from tiers import examples

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.errors import InputError
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import evaluate
from reidsim.games.lattice_search import lattice_search
from reidsim.games.record_game import Choice, Constraint, RecordGame

factors = st.floats(1e-3, 1e3, allow_nan=False, allow_infinity=False)


def solve(small, **constraint):
    game = small.game()
    return evaluate(game, backward_induction(game, {"it": Constraint(**constraint)})["it"])


@given(small=small_games())
def test_no_constraint_pays_the_publisher_more_than_the_basic_game(small):
    basic = solve(small)
    assert not basic.withheld.any()
    for constraint in ({"no_attack": True}, {"minimum": small.minimum_numbers()}):
        constrained = solve(small, **constraint)
        feasible = ~constrained.withheld
        tie = 1e-9 * small.scale
        assert (basic.publisher_payoff + tie >= constrained.publisher_payoff)[feasible].all()


@given(small=small_games())
def test_without_attack_the_adversary_gets_nothing(small):
    safe = solve(small, no_attack=True)
    assert not safe.attacked.any()
    assert not safe.adversary_payoff.any()
    shared = ~safe.withheld
    np.testing.assert_allclose(
        safe.publisher_payoff[shared], (np.array(small.benefit) * safe.utility)[shared], rtol=0, atol=1e-9
    )


@given(small=small_games())
def test_an_adversary_who_knows_the_people_never_loses(small):
    game = small.game()
    for strategy in range(game.space.size):
        assert (game.outcome(strategy).response.adversary_payoff >= 0).all()


@given(small=small_games(), factor=factors)
@examples(80)
def test_the_unit_of_money_changes_no_strategy(small, factor):
    scaled = small.scaled(factor)
    for constraint in (Constraint(), Constraint(no_attack=True), Constraint(minimum=small.minimum_numbers())):
        here, there = (backward_induction(s.game(), {"it": constraint})["it"] for s in (small, scaled))
        np.testing.assert_array_equal(here.strategies, there.strategies)
        here, there = (branch_and_bound(s.game(), constraint) for s in (small, scaled))
        np.testing.assert_array_equal(here.strategies, there.strategies)
        np.testing.assert_array_equal(here.evaluated, there.evaluated)
    here, there = (lattice_search(s.game()) for s in (small, scaled))
    np.testing.assert_array_equal(here.strategies, there.strategies)
    before, after = solve(small), solve(scaled)
    for name in ("publisher_payoff", "adversary_payoff"):
        np.testing.assert_allclose(
            getattr(after, name), getattr(before, name) * factor, rtol=1e-9, atol=1e-9 * factor * small.scale.max()
        )


@given(small=small_games(), data=st.data())
def test_more_people_never_make_an_attack_more_likely_to_succeed(small, data):
    cells = st.tuples(*(st.integers(0, size - 1) for size in small.sizes))
    newcomers = data.draw(st.lists(cells, max_size=10))
    game = small.game()
    fuller = RecordGame(
        game.space,
        replace(small, people=(*small.people, *newcomers)).linker(game.space),
        game.adversary,
        game.benefit,
        game.loss,
    )
    for strategy in range(game.space.size):
        before, after = game.outcome(strategy), fuller.outcome(strategy)
        assert (after.response.success <= before.response.success).all()
        assert (after.publisher_payoff >= before.publisher_payoff).all()
        assert (after.response.attacks <= before.response.attacks).all()
    best_before, best_after = solve(small), evaluate(fuller, branch_and_bound(fuller))
    assert (best_after.publisher_payoff >= best_before.publisher_payoff - 1e-9 * small.scale).all()


@given(small=small_games())
def test_along_successors_utility_never_rises_and_groups_never_shrink(small):
    game = small.game()
    for strategy in range(game.space.size):
        upper = game.outcome(strategy)
        for successor in game.space.successors(strategy):
            lower = game.outcome(successor)
            assert successor > strategy
            assert (lower.utility <= upper.utility).all()
            assert (lower.response.success <= upper.response.success).all()
            assert (lower.response.attacks <= upper.response.attacks).all()
            assert game.space.average_utility(successor) <= game.space.average_utility(strategy)


@given(small=small_games(), data=st.data())
def test_the_order_of_the_records_does_not_matter(small, data):
    order = data.draw(st.permutations(range(small.n_records)))
    shuffled = small.with_records_in_order(order)
    for constraint in ({}, {"no_attack": True}):
        before, after = solve(small, **constraint), solve(shuffled, **constraint)
        np.testing.assert_array_equal(before.expand(np.array(order)).strategies, after.strategies)
        np.testing.assert_array_equal(before.expand(np.array(order)).publisher_payoff, after.publisher_payoff)
        np.testing.assert_array_equal(before.expand(np.array(order)).attacked, after.attacked)
    minimum = Constraint(minimum=small.minimum_numbers())
    before = branch_and_bound(small.game(), minimum)
    after = branch_and_bound(shuffled.game(), Constraint(minimum=shuffled.minimum_numbers()))
    np.testing.assert_array_equal(before.strategies[order], after.strategies)
    searched = lattice_search(small.game()), lattice_search(shuffled.game())
    np.testing.assert_array_equal(searched[0].strategies[order], searched[1].strategies)
    np.testing.assert_array_equal(searched[0].evaluated[order], searched[1].evaluated)


@given(small=small_games(), data=st.data())
def test_the_order_of_the_attributes_does_not_matter_to_the_publishers_payoff(small, data):
    # Strategies may differ between equal payoffs, and then so may the adversary's payoff.
    turned = small.with_attributes_in_order(data.draw(st.permutations(range(len(small.sizes)))))
    pairs = [
        ({}, {}),
        ({"no_attack": True}, {"no_attack": True}),
        ({"minimum": small.minimum_numbers()}, {"minimum": turned.minimum_numbers()}),
    ]
    for here, there in pairs:
        before, after = solve(small, **here), solve(turned, **there)
        np.testing.assert_array_equal(before.withheld, after.withheld)
        difference = np.abs(before.publisher_payoff - after.publisher_payoff)
        assert (difference <= 1e-9 * small.scale).all()


@given(small=small_games(), data=st.data())
def test_a_record_fares_the_same_alone_as_among_others(small, data):
    i = data.draw(st.integers(0, small.n_records - 1))
    alone, among = small.with_records_in_order([i]), solve(small)
    assert solve(alone).strategies[0] == among.strategies[i]
    assert solve(alone).publisher_payoff[0] == among.publisher_payoff[i]
    assert branch_and_bound(alone.game()).strategies[0] == among.strategies[i]


@given(small=small_games(), data=st.data())
def test_playing_some_rows_is_playing_all_and_looking_at_those(small, data):
    game = small.game()
    strategy = data.draw(st.integers(0, game.space.size - 1))
    rows = np.array(data.draw(st.lists(st.integers(0, small.n_records - 1), max_size=6)), dtype=np.intp)
    some, everything = game.outcome(strategy, rows), game.outcome(strategy)
    np.testing.assert_array_equal(some.publisher_payoff, everything.publisher_payoff[rows])
    np.testing.assert_array_equal(some.utility, everything.utility[rows])
    for name in ("attacks", "success", "believed_success", "adversary_payoff", "exploits", "reidentified"):
        np.testing.assert_array_equal(getattr(some.response, name), getattr(everything.response, name)[rows])
    np.testing.assert_array_equal(game.benefit_of(strategy, rows), game.benefit_of(strategy)[rows])
    np.testing.assert_array_equal(game.tie(rows), game.tie()[rows])
    constraint = Constraint(no_attack=True, minimum=small.minimum_numbers())
    np.testing.assert_array_equal(
        constraint.allows(game.space, strategy, some.response.attacks, rows),
        constraint.allows(game.space, strategy, everything.response.attacks)[rows],
    )


@given(small=small_games(), data=st.data())
def test_evaluating_any_strategies_gives_the_papers_payoffs(small, data):
    game = small.game()
    strategies = [data.draw(st.integers(-1, game.space.size - 1)) for _ in range(small.n_records)]
    equilibrium = evaluate(game, Choice(np.array(strategies), "drawn", np.arange(small.n_records), exact=False))
    assert equilibrium.solver == "drawn"
    assert equilibrium.evaluated.tolist() == list(range(small.n_records))
    for i, strategy in enumerate(strategies):
        paper = small.paper(i)
        found = equilibrium.expand(np.array([i]))
        if strategy < 0:
            assert found.withheld.tolist() == [True]
            assert found.publisher_payoff == found.adversary_payoff == found.utility == found.success_probability == 0
            assert found.generalization_intensity == 1
            assert not found.attacked.any()
        else:
            g = paper.strategies[strategy]
            publisher, adversary, attacks = paper.play(g)
            assert found.publisher_payoff[0] == pytest.approx(publisher, rel=1e-9, abs=1e-9 * small.scale[i])
            assert found.adversary_payoff[0] == pytest.approx(adversary, rel=1e-9, abs=1e-9 * small.scale[i])
            assert found.attacked[0] == attacks
            assert found.success_probability[0] == paper.pi(g)
            assert found.generalization_intensity[0] == pytest.approx(paper.intensity(g))


PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
MONEY = {"benefit": 10.0, "loss": 3.0, "gain": 5.0, "cost": 1.0}
THREE_RECORDS = game_of([PAIRS], [(0,), (1,), (1,), (2,)], [(0,), (1,), (3,)], **MONEY)


@pytest.mark.parametrize("name", ["benefit", "loss"])
@pytest.mark.parametrize("amount", [-1.0, float("nan")])
def test_a_game_rejects_negative_and_missing_amounts(name, amount):
    game = THREE_RECORDS.game()
    money = {"benefit": game.benefit, "loss": game.loss, name: np.array([1.0, amount, 2.0])}
    with pytest.raises(InputError, match=f"{name} of the publisher is negative"):
        RecordGame(game.space, game.linker, game.adversary, **money)


def test_one_amount_stands_for_all_records():
    many = THREE_RECORDS.game()
    one = RecordGame(many.space, many.linker, OneShotAdversary(5.0, 1.0), 10.0, 3.0)
    for strategy in range(many.space.size):
        here, there = one.outcome(strategy), many.outcome(strategy)
        np.testing.assert_array_equal(here.publisher_payoff, there.publisher_payoff)
        np.testing.assert_array_equal(here.response.adversary_payoff, there.response.adversary_payoff)
