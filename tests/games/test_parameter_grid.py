"""Thinned strategies and compiled loops over many parameter points against the solver of a single point."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, game_of, small_games
from tiers import examples

from reidsim.games.backward_induction import backward_induction
from reidsim.games.equilibrium import evaluate
from reidsim.games.parameter_grid import (
    Options,
    ParameterPoints,
    average_outcomes,
    best_options,
    fixed_options,
    undominated_options,
)
from reidsim.games.record_game import Choice, Constraint
from reidsim.linkage.risk import UniformGuess

MEASURES = ("publisher_payoff", "adversary_payoff", "generalization_intensity", "share_attacked", "risk")


def strategies_at(options, points, point, *, no_attack=False):
    """Return the strategy of every record at one point, -1 where it is withheld."""
    chosen = best_options(options, points, point, no_attack=no_attack)
    return np.where(chosen < 0, -1, options.strategies[chosen])


@st.composite
def points_of(draw, small):
    """Money for one point: what the small game was drawn with (often a tie), or anything else."""
    if draw(st.booleans()):
        return small.benefit[0], small.loss[0], small.gain[0], small.cost[0]
    gain = draw(amounts)
    worth = gain / small.paper(0).n_p(draw(st.sampled_from(small.paper(0).strategies)))
    return draw(amounts), draw(amounts), gain, draw(st.sampled_from([worth, 4.0, 0.0]))


def averages(equilibrium, weights):
    return {
        "publisher_payoff": np.average(equilibrium.publisher_payoff, weights=weights),
        "adversary_payoff": np.average(equilibrium.adversary_payoff, weights=weights),
        "generalization_intensity": np.average(equilibrium.generalization_intensity, weights=weights),
        "share_attacked": np.average(equilibrium.attacked, weights=weights),
        "risk": np.average(np.where(equilibrium.attacked, equilibrium.success_probability, 0), weights=weights),
    }


def assert_point_is(found, point, expected, small):
    for name in MEASURES:
        assert getattr(found, name)[point] == pytest.approx(expected[name], rel=1e-9, abs=1e-9 * small.scale.max())


@given(small=small_games(same_money=True), data=st.data())
@examples(100)
def test_every_point_is_the_game_solved_there(small, data):
    money = [data.draw(points_of(small)) for _ in range(3)]
    weights = np.array([data.draw(st.integers(1, 5)) for _ in range(small.n_records)])
    points = ParameterPoints.broadcast(*np.transpose(money))
    minimum = small.minimum_numbers()
    lattice = small.lattice()
    for least in (None, minimum):
        options = undominated_options(lattice, small.linker(lattice), Constraint(minimum=least))
        for no_attack in (False, True):
            constraint = Constraint(no_attack=no_attack, minimum=least)
            found = average_outcomes(options, weights, points, no_attack=no_attack)
            for point, here_amounts in enumerate(money):
                here = small.with_money(*here_amounts)
                choice = backward_induction(here.game(), {"it": constraint})["it"]
                solved = strategies_at(options, points, point, no_attack=no_attack)
                np.testing.assert_array_equal(solved, choice.strategies)
                assert_point_is(found, point, averages(evaluate(here.game(), choice), weights), here)


@given(small=small_games(same_money=True), data=st.data())
@examples(100)
def test_points_of_one_threshold_are_what_each_is_alone(small, data):
    """Where several points share gain and cost, options that cannot win are left out for all of them."""
    gain, cost = data.draw(amounts), data.draw(st.sampled_from([4.0, 0.0, 1.0]))
    benefit, loss = (np.array([data.draw(amounts) for _ in range(6)]) for _ in range(2))
    weights = np.array([data.draw(st.integers(1, 5)) for _ in range(small.n_records)])
    options = undominated_options(small.lattice(), small.linker())
    points = ParameterPoints.broadcast(benefit, loss, gain, cost)
    for no_attack in (False, True):
        together = average_outcomes(options, weights, points, no_attack=no_attack)
        for point in range(6):
            # Money may cancel; without anything of it a sum is 0, to the last bit.
            rounding = 1e-12 * (benefit[point] + loss[point] + gain + cost)
            alone = ParameterPoints.broadcast(benefit[point], loss[point], gain, cost)
            expected = average_outcomes(options, weights, alone, no_attack=no_attack)
            for name in MEASURES:
                most = rounding if name.endswith("payoff") else 0.0
                one = pytest.approx(float(getattr(expected, name)[0]), rel=1e-12, abs=most)
                assert getattr(together, name)[point] == one


@pytest.mark.parametrize("no_attack", [False, True])
def test_many_points_of_few_thresholds_against_all_options(no_attack):
    """Many points share a threshold of attack, in any order, some with nothing at stake or nothing to gain."""
    rng = np.random.default_rng(7)
    n, size, n_points = 6, 12, 300
    utility, success = np.sort(rng.random((2, n, size)))[:, :, ::-1]
    options = Options(np.arange(n + 1) * size, np.tile(np.arange(size), n), utility.ravel(), success.ravel(),
                      rng.random(n * size))  # fmt: skip
    weights = rng.integers(1, 5, n)
    benefit, loss = rng.uniform(0, 100, n_points), rng.uniform(0, 300, n_points)
    benefit[::50], loss[::75] = 0.0, 0.0
    gain, cost = rng.choice([0.0, 20.0, 50.0, 200.0], n_points), 10.0
    found = average_outcomes(options, weights, ParameterPoints(benefit, loss, gain, np.full(n_points, cost)),
                             no_attack=no_attack)  # fmt: skip
    attacked = gain[:, None, None] * success > cost
    harm = np.where(attacked, success, 0.0)
    payoff = benefit[:, None, None] * utility - loss[:, None, None] * harm
    payoff[attacked & no_attack] = -np.inf
    best = payoff.argmax(axis=2)
    withheld = np.isneginf(payoff.max(axis=2))

    def averaged(values, of_withheld=0.0):
        every = np.broadcast_to(values, payoff.shape)
        chosen = np.take_along_axis(every, best[:, :, None], axis=2)[:, :, 0]
        return np.where(withheld, of_withheld, chosen) @ weights / weights.sum()

    expected = (
        averaged(payoff), averaged(gain[:, None, None] * harm - cost * attacked),
        averaged(options.intensity.reshape(n, size), 1.0), averaged(attacked), averaged(harm),
    )  # fmt: skip
    for name, values in zip(MEASURES, expected, strict=True):
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-12, atol=1e-10, err_msg=name)


@given(small=small_games(same_money=True), data=st.data())
def test_a_fixed_policy_is_averaged_over_its_strategies(small, data):
    money = data.draw(points_of(small))
    size = small.lattice().size
    strategies = np.array([data.draw(st.integers(0, size - 1)) for _ in range(small.n_records)])
    weights = np.array([data.draw(st.integers(1, 5)) for _ in range(small.n_records)])
    here = small.with_money(*money)
    options = fixed_options(small.lattice(), small.linker(), strategies)
    choice = Choice(strategies, "fixed", np.zeros(len(strategies), dtype=np.int64), exact=False)
    points = ParameterPoints.broadcast(*money)
    assert_point_is(
        average_outcomes(options, weights, points), 0, averages(evaluate(here.game(), choice), weights), here
    )


@given(small=small_games())
def test_options_are_strategies_that_nothing_better_or_earlier_dominates(small):
    lattice = small.lattice()
    options = undominated_options(lattice, small.linker())
    for i in range(small.n_records):
        paper = small.paper(i)
        paper.V = 1.0
        # Rounded, since a sum of logarithms depends on its order.
        utility = [round(paper.v(g), 9) for g in paper.strategies]
        pi = [paper.pi(g) for g in paper.strategies]
        numbers = range(len(paper.strategies))
        undominated = [
            b
            for b in numbers
            if all(pi[a] > pi[b] for a in range(b))
            or not any(
                pi[a] <= pi[b] and (utility[a] > utility[b] or (utility[a] == utility[b] and a < b)) for a in numbers
            )
        ]
        own = options.of_record(i)
        assert sorted(own.strategies.tolist()) == undominated
        assert (np.diff(own.utility) <= 1e-12).all()
        assert own.success.tolist() == [pi[strategy] for strategy in own.strategies]
        for strategy, kept, intensity in zip(own.strategies, own.utility, own.intensity, strict=True):
            assert kept == pytest.approx(paper.v(paper.strategies[strategy]), abs=1e-12)
            assert intensity == pytest.approx(paper.intensity(paper.strategies[strategy]))


@given(small=small_games(same_money=True))
def test_a_record_of_many_keeps_its_own_options(small):
    lattice = small.lattice()
    options = undominated_options(lattice, small.linker(lattice))
    points = ParameterPoints.broadcast(*(getattr(small, name)[0] for name in ("benefit", "loss", "gain", "cost")))
    together = strategies_at(options, points, 0)
    for i in range(small.n_records):
        assert strategies_at(options.of_record(i), points, 0).tolist() == [together[i]]


@given(small=small_games())
@examples(30)
def test_records_thinned_a_few_at_a_time_keep_the_same_options(small):
    lattice = small.lattice()
    whole = undominated_options(lattice, small.linker(lattice))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reidsim.games.parameter_grid._CHUNK", 1)
        chunked = undominated_options(lattice, small.linker(lattice))
    for name in ("start", "strategies", "utility", "success", "intensity"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(chunked, name))


def test_of_options_that_pay_the_same_the_first_in_lattice_order_is_played_though_another_shares_more():
    # (1, 0), strategy 2: 75 - 75/3 attacked; (0, 1), strategy 1: 50 left alone among 15. Everything else pays less.
    a, b = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1, 2, 3), (0, 0, 0, 0))
    people = [(0, 0)] + [(1, 0)] * 2 + [(0, 1)] * 14
    game = game_of([a, b], people, [(0, 0)], benefit=100.0, loss=75.0, gain=75.0, cost=5.0)
    assert backward_induction(game.game(), {"it": Constraint()})["it"].strategies.tolist() == [1]
    options = undominated_options(game.lattice(), game.linker())
    assert {1, 2} <= set(options.strategies.tolist())
    points = ParameterPoints.broadcast(100.0, [75.0, 75.0 - 1e-6], 75.0, 5.0)
    assert strategies_at(options, points, 0).tolist() == [1]
    assert strategies_at(options, points, 1).tolist() == [2]


def test_where_sharing_is_worth_nothing_utility_does_not_count():
    a, b = ((0, 1), (0, 0)), ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
    people = [(0, 0)] + [(1, 0)] * 9 + [(0, 2)] * 9
    game = game_of([a, b], people, [(0, 0)], benefit=0.0, loss=10.0, gain=10.0, cost=1.0)
    points = ParameterPoints.broadcast(0.0, 10.0, 10.0, 1.0)
    best = backward_induction(game.game(), {"it": Constraint()})["it"].strategies
    found = strategies_at(undominated_options(game.lattice(), game.linker()), points, 0)
    np.testing.assert_array_equal(found, best)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_utilities_that_differ_by_the_order_of_addition_are_equal(order):
    # Merging two values and five values loses log 2 + log 5, merging ten log 10; two, four and eight alike. Both ways
    # hide the record among twelve, which nobody attacks.
    def merging(k, size):
        return (tuple(range(size)), tuple(max(0, value - k + 1) for value in range(size)))

    people = [(0, 0, 0), (1, 0, 0)] + [(0, 0, 1)] * 11 + [(1, 1, 0)] * 10
    for k in (4, 5):
        for size in range(2 * k, 26):
            hierarchies = [merging(2, 7), merging(k, 9), merging(2 * k, size)]
            game = game_of(hierarchies, people, [(0, 0, 0)], benefit=100.0, loss=90.0, gain=90.0, cost=90 / 12)
            game = game.with_attributes_in_order(order)
            points = ParameterPoints.broadcast(100.0, 90.0, 90.0, 90 / 12)
            options = undominated_options(game.lattice(), game.linker())
            best = backward_induction(game.game(), {"it": Constraint()})["it"].strategies
            np.testing.assert_array_equal(strategies_at(options, points, 0), best)


def test_points_take_scalars_and_arrays_of_one_length():
    points = ParameterPoints.broadcast(1200, [100, 200, 300], [100, 200, 300], 4.0)
    assert points.n_points == 3
    assert points.benefit.tolist() == [1200.0] * 3
    assert points.loss.tolist() == points.gain.tolist() == [100.0, 200.0, 300.0]
    assert points.cost.tolist() == [4.0] * 3


class Halved(UniformGuess):
    """An attack succeeds half as often."""

    def success_probability(self, group_sizes):
        return super().success_probability(group_sizes) / 2


@given(small=small_games(same_money=True))
@examples(20)
def test_another_risk_model_gives_another_success_probability(small):
    lattice = small.lattice()
    plain = undominated_options(lattice, small.linker(lattice))
    halved = undominated_options(lattice, small.linker(lattice), risk=Halved())
    np.testing.assert_array_equal(halved.strategies, plain.strategies)
    np.testing.assert_array_equal(halved.success, plain.success / 2)
