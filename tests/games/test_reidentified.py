"""The number of re-identified people and worst payoffs, against full enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replies_to_types import against
from small_games import small_games
from tiers import examples

from reidsim.adversaries.response import Presence, RandomAttacks
from reidsim.core.wording import columns_of
from reidsim.games.composite import AdversaryType, TypesGame
from reidsim.games.outcomes import REIDENTIFIED, Attempts, evaluate, reidentified, reidentified_in
from reidsim.games.solvers import branch_and_bound


def no_draws():
    raise AssertionError("nothing has to be drawn")


def worst(outcomes, place, share=0.05):
    """Return the mean over the lowest share of outcomes, each (probability, ...)."""
    left, total = share, 0.0
    for outcome in sorted(outcomes, key=lambda each: each[place]):
        taken = min(left, outcome[0])
        total, left = total + taken * outcome[place], left - taken
    return total / share


def gone_through(attempts, numbers, kept):
    """Return every outcome: probability, number re-identified, and both payoffs."""
    row = np.repeat(np.arange(len(numbers)), numbers)
    types = range(len(attempts.presence.weights))
    if attempts.presence.one_of:
        cases = [(attempts.presence.weights[t], (t,)) for t in types]
        cases.append((1 - sum(attempts.presence.weights), ()))
    else:
        cases = [
            (math.prod(w if t in who else 1 - w for t, w in enumerate(attempts.presence.weights)), who)
            for size in range(len(types) + 1)
            for who in itertools.combinations(types, size)
        ]
    outcomes = {}
    for probability, who in cases:
        reached = {(0, 0.0, 0.0): probability}
        for person in row:
            ends = itertools.product(*([(t, end) for end in ("none", "failed", "hit")] for t in who))
            reached = together(reached, [of_person(attempts, each, person) for each in ends])
        for (number, lost, earned), mass in reached.items():
            place = (number, kept - lost, earned)
            outcomes[place] = outcomes.get(place, 0.0) + mass
    return [(mass, *place) for place, mass in outcomes.items()]


def of_person(attempts, ends, row):
    """Return the probability of given ends of one person's attempts, with totals.

    The totals are number, loss and gain.
    """
    mass, hit, earned = 1.0, False, 0.0
    for t, end in ends:
        often, risk, gain = attempts.attempted[t, row], attempts.risk[t, row], attempts.gain[t, row]
        mass *= {"none": 1 - often, "failed": often - risk, "hit": risk}[end]
        if end != "none":
            # The payoff is an expectation: attack probability times a failure's payoff, plus gain times the probability
            # of a hit.
            failure = (attempts.payoff[t, row] - risk * gain) / often if often else 0.0
            earned += failure + gain * (end == "hit")
        hit |= end == "hit"
    return mass, int(hit), attempts.loss[row] * hit, earned


def together(reached, ends):
    """Return probabilities of sums after adding one person's attempts."""
    sums = {}
    for ((number, lost, earned), before), (mass, *more) in itertools.product(reached.items(), ends):
        if before * mass > 0:
            place = (number + more[0], lost + more[1], round(earned + more[2], 9))
            sums[place] = sums.get(place, 0.0) + before * mass
    return sums


@st.composite
def small_attempts(draw):
    n_types, n_rows = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    one_of = draw(st.booleans())
    weights = [draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in range(n_types)]
    if one_of:
        weights = [weight / max(sum(weights), 1.0) for weight in weights]
    chances = st.sampled_from([0.0, 0.1, 0.5, 1 / 3, 1.0])
    money = st.sampled_from([0.0, 2.0, 2.5, 100.0])

    def table(values, rows=n_types):
        return np.array([[draw(values) for _ in range(n_rows)] for _ in range(rows)])

    # Certain attempts together with random attempts.
    attempted, success, gain = table(st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.0])), table(chances), table(money)
    payoff = attempted * (gain * success - table(st.sampled_from([0.0, 1.0, 2.25, 40.0])))
    of_people = table(money, 1)[0]
    attempts = Attempts(Presence(tuple(weights), one_of), attempted * success, payoff, attempted, gain, of_people)
    return attempts, np.array([draw(st.integers(0, 2)) for _ in range(n_rows)])


@examples(80)
@given(small_attempts())
def test_it_is_what_going_through_everything_gives(small):
    attempts, numbers = small
    n, kept = max(int(numbers.sum()), 1), 50.0
    outcomes = gone_through(attempts, numbers, kept)
    found = reidentified(n, attempts.cases(numbers, kept), no_draws)
    masses = np.zeros(n + 1)
    for mass, number, _, _ in outcomes:
        masses[number] += mass
    ours = np.zeros(n + 1)
    ours[found.people.values] = found.people.masses
    assert np.abs(ours - masses).max() < 1e-12
    measures = found.measures()
    assert measures["reidentified_any"] == pytest.approx(1 - masses[0], abs=1e-12)
    for column, level in (("reidentified_median", 0.5), ("reidentified_95", 0.95), ("reidentified_99", 0.99)):
        assert measures[column] == np.searchsorted(np.cumsum(masses), level - 1e-9)
    assert measures["publisher_payoff_cvar"] == pytest.approx(worst(outcomes, 2) / n, abs=1e-7)
    assert measures["adversary_payoff_cvar"] == pytest.approx(worst(outcomes, 3) / n, abs=1e-7)
    assert [column for column in measures if "error" not in column] == columns_of(REIDENTIFIED)


@examples(30)
@given(small_games(), st.sampled_from([0.2, 0.75]), st.sampled_from(["one-of", "all"]))
def test_a_game_of_types_is_the_mixture_over_who_comes(small, weight, together):
    game = small.game()
    rare = RandomAttacks(30.0, 4.0, rate=0.4)
    types = [
        AdversaryType("own", weight, game.linker, game.adversary),
        AdversaryType("rare", 1 - weight, game.linker, rare),
    ]
    played = TypesGame(game.space, types, game.benefit, game.loss, together)
    choice = branch_and_bound(played)
    numbers = np.arange(game.n_records) % 3
    equilibrium = evaluate(played, choice)
    found = reidentified_in(equilibrium, numbers, lambda: np.random.default_rng(0))
    alone = {name: evaluate(against(played, name), choice) for name in ("own", "rare")}
    parts = {name: reidentified_in(each, numbers, lambda: np.random.default_rng(0)) for name, each in alone.items()}
    # The mean does not depend on which adversaries are present.
    assert (found.people.values @ found.people.masses) == pytest.approx(float(equilibrium.risk @ numbers), abs=1e-9)
    if together == "one-of":
        for number in range(int(numbers.sum()) + 1):
            at_most = [
                float(each.people.masses[each.people.values <= number].sum()) for each in (found, *parts.values())
            ]
            assert at_most[0] == pytest.approx(weight * at_most[1] + (1 - weight) * at_most[2], abs=1e-12)
    for measured, payoff in ((found.publisher, "publisher_payoff"), (found.adversary, "adversary_payoff")):
        if not measured.drawn:
            mean = float(measured.values @ measured.masses)
            assert mean == pytest.approx(float(getattr(equilibrium, payoff) @ numbers), rel=1e-9, abs=1e-6)
