"""The double oracle, against the linear program over all plans."""

import numpy as np
import pytest
from contract_worlds import SPACES
from scipy.optimize import linprog
from test_cross_play import mixed, opponents

from reidsim.core.errors import InputError
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.cross_play import (
    BestReply,
    FixedForms,
    Opponent,
    OptIn,
    cross_play,
    mixed_game,
    outcome_of,
    record_game_of,
)
from reidsim.games.matrix_games import double_oracle, zero_sum

WEIGHTS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
BEST = BestReply("best", may_withhold=True)
MATHEMATICALLY = 1e-7


@pytest.fixture(scope="module")
def players():
    return opponents("lattice")


@pytest.fixture(scope="module")
def played(players):
    return cross_play(players, [BEST, OptIn(), FixedForms("all", 0)], own="one-shot", weights=WEIGHTS)


def value_over_all_plans(players, weights):
    """Return the value that a mixture of all plans guarantees.

    Payoffs are means over records, so a mixture matters only through the frequency of each form for each record.
    """
    share = weights / weights.sum()
    n, n_forms = len(weights), record_game_of(players[0].truth).space.size
    paid = np.zeros((len(players), n, n_forms + 1))  # the last form withholds the record, at payoff 0
    for form in range(n_forms):
        plan = FixedForms("plan", form)
        for number, each in enumerate(players):
            game = record_game_of(each.truth)
            paid[number, :, form] = share * outcome_of(game, plan.choose(game)).publisher_payoff
    flat = paid.reshape(len(players), -1)
    below = np.hstack([-flat, np.ones((len(players), 1))])
    whole = np.hstack([np.kron(np.eye(n), np.ones(n_forms + 1)), np.zeros((n, 1))])
    cost = np.append(np.zeros(flat.shape[1]), -1.0)
    bounds = [(0, None)] * flat.shape[1] + [(None, None)]
    found = linprog(cost, below, np.zeros(len(players)), whole, np.ones(n), bounds, method="highs")
    return -found.fun


@pytest.mark.deep
def test_the_value_is_that_of_all_plans(players, played):
    found = double_oracle(played, players, BEST, own="one-shot", tolerance=MATHEMATICALLY, weights=WEIGHTS)
    last = found.iterations.iloc[-1]
    assert last["best_exploitability"] <= MATHEMATICALLY
    assert last["publisher_payoff"] == pytest.approx(value_over_all_plans(players, WEIGHTS), abs=1e-6)
    assert found.left_out == ()
    # Better than any mixture of the named plans, which do not include all plans of the game.
    assert last["publisher_payoff"] > zero_sum(played.matrix("publisher_payoff").to_numpy()).row_payoff + 0.01
    assert last["defenders"] < len(played.matrix("risk"))


@pytest.mark.parametrize(
    ("space", "game"), [("lattice", "zero-sum"), pytest.param("masking", "general-sum", marks=pytest.mark.deep)]
)
def test_exploitability_is_never_negative_and_falls(space, game):
    players = opponents(space)
    play = cross_play(players, [BEST, OptIn()], own="one-shot")
    found = double_oracle(play, players, BEST, own="one-shot", game=game, tolerance=1e-6)
    steps = found.iterations
    assert (steps["exploitability"] >= 0).all()
    assert (steps["best_exploitability"].diff().dropna() <= 0).all()
    np.testing.assert_allclose(steps["best_exploitability"], steps["exploitability"].cummin())
    assert steps["best_exploitability"].iloc[-1] <= 1e-6
    for _, mixture in found.mixtures.groupby("player"):
        assert mixture["probability"].sum() == pytest.approx(1.0)
    assert steps["iteration"].tolist() == list(range(1, len(steps) + 1))
    assert (steps["added_defender"] + steps["added_adversary"]).iloc[:-1].ne("").all()


def test_the_game_against_a_mixture_pays_the_mean(players):
    share = {"one-shot": 0.5, "fmdp": 0.3, "random": 0.2}
    games = {each.name: record_game_of(each.truth) for each in players if each.name in share}
    together, plan = mixed_game(games, share), FixedForms("all", 3)
    mean = sum(share[name] * outcome_of(game, plan.choose(game)).publisher_payoff for name, game in games.items())
    np.testing.assert_allclose(outcome_of(together, plan.choose(together)).publisher_payoff, mean, atol=1e-12)


@pytest.mark.deep
def test_those_who_come_together_take_no_part_and_who_stops_early_says_so(players):
    first = SPACES["lattice"]["one-shot"].game
    types = [AdversaryType("a", 0.5, first.linker, first.adversary)]
    both = TypesGame(first.space, types, first.benefit, first.loss, "all")
    several = [*players, Opponent("both", both, among_all=False), Opponent("mixed", mixed("lattice", 0.2))]
    play = cross_play(several, [BEST], own="both")
    found = double_oracle(play, several, BEST, own="both", most_iterations=1)
    assert found.left_out[0] == ("double oracle leaves 'both' out: its adversaries attack together")
    assert found.left_out[1].startswith("double oracle ended after 1 iterations with an exploitability of ")
    assert "both" not in set(found.mixtures["strategy"])
    with pytest.raises(InputError, match="no adversary attacks alone"):
        double_oracle(play, [several[-2]], BEST, own="both")
    with pytest.raises(InputError, match="the initial plan is missing; found 'other vs one-shot'"):
        double_oracle(play, several, BestReply("other"), own="both")
