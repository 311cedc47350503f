"""The participation game, against enumeration in plain Python, and its properties."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from reidsim.games.participation.families import Crowd, Families, Values, outcome, profile, unsettled
from reidsim.linkage.relatives import Ancestry, Matching


class Oracle:
    """The game by its definition: every set of matching relatives is enumerated."""

    def __init__(self, match, near, relatedness, benefit, services, harm, concern, needed):
        self.__dict__.update(locals())

    def payoff(self, person, joined):
        others = [j for j in range(len(joined)) if joined[j] and j != person and self.match[person][j] > 0]
        found = traced = 0.0
        for hits in itertools.product([False, True], repeat=len(others)):
            chance = 1.0
            for j, hit in zip(others, hits, strict=True):
                chance *= self.match[person][j] if hit else 1 - self.match[person][j]
            found += chance * any(hit and self.near[person][j] for j, hit in zip(others, hits, strict=True))
            traced += chance * (sum(hits) >= self.needed)
        if joined[person]:
            return self.benefit[person] * found + self.services[person] - self.harm[person]
        return -self.harm[person] * traced

    def utility(self, person, joined):
        relatives = [j for j in range(len(joined)) if self.match[person][j] > 0]
        kin = sum(self.relatedness[person][j] * self.payoff(j, joined) for j in relatives)
        return self.payoff(person, joined) + self.concern * kin

    def gain(self, person, joined):
        both = [[*joined[:person], choice, *joined[person + 1 :]] for choice in (True, False)]
        return self.utility(person, both[0]) - self.utility(person, both[1])


def game_of(seed, n=5, concern=0.0, needed=2, density=0.7):
    """Return a small game, and its oracle."""
    rng = np.random.default_rng(seed)
    related = np.triu(rng.random((n, n)) < density, 1)
    match = np.where(related, rng.choice([1.0, 0.5, rng.random()], (n, n)), 0.0)
    near, relatedness = rng.random((n, n)) < 0.6, rng.random((n, n)) / 2
    match, near, relatedness = (np.triu(each, 1) + np.triu(each, 1).T for each in (match, near, relatedness))
    benefit, services, harm = rng.uniform(0, 10, n), rng.uniform(-3, 4, n), rng.uniform(0, 10, n)
    one, other = map(np.ascontiguousarray, np.nonzero(match))
    starts = np.searchsorted(one, np.arange(n + 1))
    families = Families(
        Values(benefit, services, harm, concern), starts, other, match[one, other], near[one, other].astype(bool),
        relatedness[one, other], needed,
    )  # fmt: skip
    arrays = (each.tolist() for each in (match, near, relatedness, benefit, services, harm))
    return families, Oracle(*arrays, concern, needed)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.7, 2.0]), st.sampled_from([1, 2, 3]))
def test_payoffs_gains_and_equilibria_are_those_of_enumeration(seed, concern, needed):
    game, oracle = game_of(seed, 4, concern, needed)
    equilibria, welfare = game.profiles()
    for number, joined in enumerate(profile(number, 4) for number in range(16)):
        flags = joined.tolist()
        payoffs = [oracle.payoff(person, flags) for person in range(4)]
        gains = np.array([oracle.gain(person, flags) for person in range(4)])
        assert outcome(game, joined).payoff == pytest.approx(payoffs, abs=1e-9)
        assert game.gains(joined) == pytest.approx(gains, abs=1e-9)
        assert welfare[number] == pytest.approx(sum(payoffs), abs=1e-9)
        assert equilibria[number] == np.all(np.where(joined, gains >= -1e-9, gains <= 1e-9))
        assert equilibria[number] == (not unsettled(game, joined).any())


@given(st.integers(0, 2**32 - 1))
def test_without_concern_best_replies_reach_the_least_and_the_greatest_equilibrium(seed):
    """Members attract members, so a least and a greatest equilibrium exist (Topkis)."""
    game, _ = game_of(seed, 7)
    numbers = np.flatnonzero(game.profiles()[0])
    least, greatest = (game.replies(np.full(7, start)) for start in (False, True))
    assert least[1]
    assert greatest[1]
    joined = np.array([profile(int(number), 7) for number in numbers])
    assert np.array_equal(least[0], joined.all(axis=0))
    assert np.array_equal(greatest[0], joined.any(axis=0))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0]))
def test_replies_that_settle_are_equilibria_and_none_beats_the_planner(seed, concern):
    game, _ = game_of(seed, 6, concern)
    rng = np.random.default_rng(seed)
    starts = [rng.random(6) < 0.5 for _ in range(4)]
    planned, proved = game.best_plan(starts)
    assert proved
    best = outcome(game, planned).payoff.sum()
    assert best == pytest.approx(game.profiles()[1].max(), abs=1e-9)
    for start in starts:
        joined, settled = game.replies(start, rng)
        assert settled != unsettled(game, joined).any()
        assert outcome(game, joined).payoff.sum() <= best + 1e-9


# The population of Guo et al. 2023, Table 1.


def crowd(concern=0.0, n=400, seed=2023):
    rng = np.random.default_rng(seed)
    amounts = (amount * rng.uniform(0.5, 1.5, n) for amount in (5.0, 1.0, 10.0))
    return Crowd(Values(*amounts, concern), Ancestry(), Matching())


def test_a_crowd_is_paid_by_the_number_who_joined():
    game = crowd(n=10)
    joined = np.arange(10) < 3
    found, traced = game.match(3)[0].sum(), game.match(5)[0].sum()
    inside = 0.3 * 180e6
    chances = game.chances(joined)
    assert chances[0] == pytest.approx(np.full(10, 1 - (1 - found) ** inside), rel=1e-9)
    assert chances[1] == pytest.approx(np.full(10, binom.sf(1, inside, traced)), rel=1e-9)
    own = game.values.benefit * chances[0] + game.values.services - game.values.harm * (1 - chances[1])
    assert game.gains(joined) == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("joining", [0.0005, 0.004, 0.3])
def test_concern_weighs_what_one_more_person_changes_for_relatives(joining):
    """The derivative of all payoffs by the number of members, with weights of 1."""
    game = crowd(concern=1.0, n=50)
    weights = game.keenest(joining)
    people, step = 180e6, 200.0

    def total(inside):
        found = 1 - (1 - game.match(3)[0].sum()) ** inside
        traced = binom.sf(1, round(inside), game.match(5)[0].sum())
        values = game.values
        return people * float((weights * values.benefit * found - (1 - weights) * values.harm * traced).mean())

    inside = round(joining * people)
    slope = (total(inside + step) - total(inside - step)) / (2 * step)
    alike = Crowd(**{**vars(game), "matching": Related()})
    assert alike.gains(weights)[0] - alike.without_concern().gains(weights)[0] == pytest.approx(
        slope, rel=2e-3, abs=1e-6
    )


class Related(Matching):
    """Standard matches, of relatives who count like oneself."""


@pytest.fixture(autouse=True)
def _relatives_count_fully(monkeypatch):
    match = Crowd.match

    def counted(self, generations):
        found, relatedness = match(self, generations)
        return found, np.ones_like(relatedness) if isinstance(self.matching, Related) else relatedness

    monkeypatch.setattr(Crowd, "match", counted)


def test_the_three_equilibria_of_the_paper_and_the_one_that_withstands_drop_outs():
    """Guo et al. 2023, abstract: none, a small share, all; the small one is unstable."""
    game = crowd()
    nobody, few, everybody = game.equilibria()
    assert (nobody, everybody) == (0.0, 1.0)
    assert 0.001 < few < 0.01
    assert [round(game.returns(share, 0.05), 6) for share in (nobody, few, everybody)] == [0.0, 0.0, 1.0]
    assert game.returns(few, -0.05) == pytest.approx(1.0, abs=1e-6)


def test_concern_for_relatives_moves_the_small_equilibrium_up_and_does_not_end_it():
    """The paper then has only the equilibria 0 and 1; see docs/explanation/participation.md."""
    few = [crowd(concern).equilibria()[1:-1] for concern in (0.0, 1.0, 3.0)]
    assert [len(found) for found in few] == [1, 1, 1]
    assert few[0][0] < few[1][0] < few[2][0]


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("concern", [0.0, 1.0])
def test_best_replies_of_a_crowd_settle_on_equilibria(start, concern):
    game = crowd(concern)
    joined, settled = game.replies(np.full(400, start))
    assert settled
    assert not unsettled(game, joined).any()
    assert joined.all() == joined.any() == start
