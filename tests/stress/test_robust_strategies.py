"""Robust best replies, against brute force over small games."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, game_of, small_games
from tiers import examples

from reidsim.adversaries.response import OneShotAdversary
from reidsim.games.record_game import RecordGame
from reidsim.games.solvers import CRITERIA, robust_choices


@st.composite
def uncertain_games(draw):
    """Draw a small game and the payoff parameters of each of its points."""
    small = draw(small_games(max_attributes=3, max_strategies=16, max_records=3))
    points = draw(st.lists(st.tuples(amounts, amounts, amounts, amounts), min_size=1, max_size=4))
    return small, [small.with_money(*point) for point in points]


def games_at(small, points):
    """Return the games of all points over one lattice and one linker."""
    lattice = small.lattice()
    linker = small.linker(lattice)
    return [
        RecordGame(
            lattice,
            linker,
            OneShotAdversary(np.array(point.gain), np.array(point.cost)),
            np.array(point.benefit),
            np.array(point.loss),
        )
        for point in points
    ]


def promised(payoffs, criterion, quantile, best):
    """Return a criterion's value of one strategy's payoffs at all points.

    A larger value is better.
    """
    if criterion == "maximin":
        return min(payoffs)
    if criterion == "minimax-regret":
        return -max(b - p for b, p in zip(best, payoffs, strict=True))
    place = max(1, math.ceil(quantile * len(payoffs) - 1e-9))
    return sorted(payoffs)[place - 1]


def brute_force(points, i, criterion, quantile):
    """Return the criterion's values of all strategies of record i."""
    papers = [point.paper(i) for point in points]
    payoffs = [[paper.play(g)[0] for paper in papers] for g in papers[0].strategies]
    best = np.max(payoffs, axis=0).tolist()
    return [promised(each, criterion, quantile, best) for each in payoffs]


@examples(60)
@given(uncertain_games(), st.sampled_from([0.1, 0.5, 0.75]))
def test_robust_strategies_are_those_of_brute_force(drawn, quantile):
    small, points = drawn
    found = robust_choices(games_at(small, points), quantile=quantile)
    assert set(found) == set(CRITERIA)
    for criterion, robust in found.items():
        for i in range(small.n_records):
            scale = max(float(point.scale[i]) for point in points)
            strategy, value = int(robust.strategies[i]), float(robust.value[i])
            values = brute_force(points, i, criterion, quantile)
            best, sign = max(values), -1 if criterion == "minimax-regret" else 1
            assert sign * value == pytest.approx(best, abs=1e-9 * scale)
            # The strategy attains its value, and no earlier strategy has a better one.
            assert values[strategy] == pytest.approx(best, abs=1e-9 * scale)
            assert all(earlier <= best - 1e-13 * scale for earlier in values[:strategy])


@examples(25)
@given(uncertain_games())
def test_criteria_keep_what_they_promise_and_no_other_promises_more(drawn):
    """Maximin has the highest worst payoff; its regret is at least the minimax regret."""
    small, points = drawn
    games = games_at(small, points)
    found = robust_choices(games, quantile=0.0)
    scale = np.max([point.scale for point in points], axis=0)
    # Quantile 0 is the worst payoff.
    assert np.allclose(found["quantile"].value / scale, found["maximin"].value / scale, atol=1e-9)
    assert (found["minimax-regret"].value >= 0).all()
    if len(points) == 1:
        assert np.allclose(found["minimax-regret"].value, 0)
        assert found["maximin"].strategies.tolist() == found["minimax-regret"].strategies.tolist()


def test_records_in_chunks_are_solved_as_all_at_once(monkeypatch):
    people = [(a, b) for a in range(4) for b in range(3)] * 2 + [(0, 0), (3, 2)]
    levels = [((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)), ((0, 1, 2), (0, 0, 0))]
    small = game_of(levels, people, people[:9], benefit=10.0, loss=30.0, gain=30.0, cost=8.0)
    games = games_at(small, [small, small.with_money(10.0, 3.0, 30.0, 2.0), small.with_money(4.0, 30.0, 9.0, 1.0)])
    whole = robust_choices(games)
    monkeypatch.setattr("reidsim.games.solvers._CHUNK", 6)
    done = []
    parts = robust_choices(games, progress=lambda *step: done.append(step))
    assert done[-1] == (9, 9)
    assert len(done) == 5
    for criterion in CRITERIA:
        assert whole[criterion].strategies.tolist() == parts[criterion].strategies.tolist()
        assert whole[criterion].value.tolist() == parts[criterion].value.tolist()
