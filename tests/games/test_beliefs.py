"""Publisher and adversary plan with their beliefs and are paid by the truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, small_games

from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import evaluate
from reidsim.games.record_game import Constraint

MISTAKES = ("loss", "gain", "cost")


@st.composite
def beliefs(draw, small):
    """Draw the publisher's beliefs about loss, gain and cost of a game."""
    n = small.n_records
    believed = {name: tuple(draw(amounts) for _ in range(n)) for name in draw(st.sets(st.sampled_from(MISTAKES)))}
    return replace(small, **believed)


@given(small=small_games(), data=st.data())
def test_a_mistaken_publisher_plays_the_best_strategy_of_its_own_game_and_is_paid_by_the_true_one(small, data):
    believed = data.draw(beliefs(small))
    for no_attack in (False, True):
        choice = backward_induction(believed.game(), {"it": Constraint(no_attack=no_attack)})["it"]
        equilibrium = evaluate(small.game(), choice)
        for i in range(small.n_records):
            imagined, true = believed.paper(i), small.paper(i)
            g = imagined.algorithm_1(lambda g, paper=imagined, safe=no_attack: not (safe and paper.attacks(g)))
            assert choice.strategies[i] == imagined.number(g)
            if g is not None:
                publisher, adversary, attacks = true.play(g)
                close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
                assert equilibrium.publisher_payoff[i] == pytest.approx(publisher, **close)
                assert equilibrium.adversary_payoff[i] == pytest.approx(adversary, **close)
                assert equilibrium.attacked[i] == attacks


@given(small=small_games(), data=st.data())
def test_nothing_is_gained_by_being_mistaken(small, data):
    truth, belief = small.game(), data.draw(beliefs(small)).game()
    informed = evaluate(truth, branch_and_bound(truth)).publisher_payoff
    mistaken = evaluate(truth, branch_and_bound(belief)).publisher_payoff
    assert (mistaken <= informed + 1e-9 * small.scale).all()


@given(small=small_games())
def test_who_believes_the_truth_gets_what_he_expects(small):
    belief, truth = small.game(), small.game()
    choice = branch_and_bound(belief)
    expected, obtained = evaluate(belief, choice), evaluate(truth, choice)
    for name in ("publisher_payoff", "adversary_payoff", "attacked", "success_probability"):
        np.testing.assert_array_equal(getattr(expected, name), getattr(obtained, name))


@given(small=small_games(mistaken_adversary=True))
def test_an_adversary_who_counts_other_people_decides_by_those_and_succeeds_by_the_true_ones(small):
    game = small.game()
    for strategy in range(game.space.size):
        response = game.outcome(strategy).response
        for i in range(small.n_records):
            paper = small.paper(i)
            g = paper.strategies[strategy]
            assert response.attacks[i] == paper.attacks(g)
            assert response.success[i] == paper.pi(g)
            assert response.believed_success[i] == paper.believed_pi(g)


@given(small=small_games(mistaken_adversary=True))
def test_an_adversary_gains_nothing_by_counting_other_people(small):
    deceived, informed = small.game(), replace(small, believed_people=None).game()
    for strategy in range(deceived.space.size):
        worse = deceived.outcome(strategy).response.adversary_payoff
        better = informed.outcome(strategy).response.adversary_payoff
        assert (worse <= better + 1e-9 * small.scale).all()
