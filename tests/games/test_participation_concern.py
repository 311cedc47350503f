"""Concern for relatives, where all pairs of people have equal relatedness.

With k other members, the gain of joining is own(k) + v_i + concern * r * p * relatives(k), where each pair matches
with probability p and has relatedness r. A set of k people is an equilibrium if no member loses (k - 1 other members)
and no outsider gains (k other members), so the members are the people with the largest value of services. If two
matches identify a person, as in Table 1 of Guo et al. 2023, relatives(k) has the sign of b - (n - 1 - k) c p for
k > 0: it changes once, from negative to positive. So for any two neighbouring numbers of members, one makes members
lose or outsiders gain if the concern outweighs their own gain: only 0 and n members are equilibria.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize
from tiers import examples

from reidsim.games.participation.crowd import Crowd
from reidsim.games.participation.families import Families, profile
from reidsim.games.participation.game import Values
from reidsim.linkage.relatives import Ancestry, Matching

RELATEDNESS = 0.25


class AlikeFamily:
    """A family with one match probability, in which only values of services differ."""

    def __init__(self, services, match, benefit, harm, needed=2, near=True):
        self.services = np.sort(services)[::-1]
        self.n, self.match, self.harm, self.needed = len(services), match, harm, needed
        self.benefit = benefit * near
        self.near = near

    def own(self, others: int) -> float:
        """Return a person's gain without services, given the number of other members."""
        found = 1 - (1 - self.match) ** others
        unseen = sum(
            math.comb(others, few) * self.match**few * (1 - self.match) ** (others - few)
            for few in range(min(self.needed, others + 1))
        )
        return self.benefit * found - self.harm * unseen

    def relatives(self, others: int) -> float:
        """Return the gain of all relatives, divided by the match probability."""
        p, short, outside = self.match, self.needed - 1, self.n - 1 - others
        gladdened = others * self.benefit * (1 - p) ** (others - 1) if others else 0.0
        at_stake = math.comb(others, short) * p**short * (1 - p) ** (others - short) if others >= short else 0.0
        return gladdened - outside * self.harm * at_stake

    def gain(self, place: int, others: int, concern: float) -> float:
        weight = concern * RELATEDNESS * self.match
        return self.own(others) + float(self.services[place]) + weight * self.relatives(others)

    def sizes(self, concern: float) -> set[int]:
        """Return the numbers of members at which no person wants to change."""
        return {
            k
            for k in range(self.n + 1)
            if (k == 0 or self.gain(k - 1, k - 1, concern) >= 0) and (k == self.n or self.gain(k, k, concern) <= 0)
        }

    def bound(self) -> float:
        """Return the concern above which only 0 and n members can be equilibria."""
        weight, largest, smallest = RELATEDNESS * self.match, self.services[0], self.services[-1]
        last = self.n - 1
        least = [0.0, -(self.own(last) + smallest) / (weight * self.relatives(last)) if self.near else 0.0]
        for k in range(2, self.n):
            inside, outside = self.relatives(k - 1), self.relatives(k)
            ways = []
            if inside < 0:
                ways.append((self.own(k - 1) + largest) / (-weight * inside))
            if outside > 0:
                ways.append(-(self.own(k) + smallest) / (weight * outside))
            least.append(min(ways))
        return max(least)

    def game(self, concern: float) -> Families:
        n = self.n
        pairs = n * (n - 1)
        other = np.array([j for i in range(n) for j in range(n) if j != i], dtype=np.int64)
        values = Values(np.full(n, self.benefit), self.services, np.full(n, self.harm), concern)
        return Families(
            values, np.arange(n + 1, dtype=np.int64) * (n - 1), other, np.full(pairs, self.match),
            np.full(pairs, self.near), np.full(pairs, RELATEDNESS), self.needed,
        )  # fmt: skip

    def counted(self, concern: float) -> set[int]:
        """Return the equilibrium numbers by enumeration of every profile."""
        found, _ = self.game(concern).profiles()
        return {int(profile(number, self.n).sum()) for number in np.flatnonzero(found).tolist()}


@st.composite
def families(draw, needed=(1, 2, 3), most=7):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    harm = draw(st.floats(1, 20))
    services = rng.uniform(0, 0.95 * harm, draw(st.integers(3, most)))
    return AlikeFamily(
        services, draw(st.floats(0.05, 0.9)), draw(st.floats(0.5, 20)), harm, draw(st.sampled_from(needed)),
        draw(st.booleans()),
    )  # fmt: skip


@given(families(), st.floats(0, 50))
@examples(60)
def test_equilibria_of_people_related_alike_are_those_of_the_condition(family, concern):
    # A gain within rounding of 0 may count as either sign.
    gains = [family.gain(place, others, concern) for place in range(family.n) for others in range(family.n)]
    assume(min(map(abs, gains)) > 1e-9)
    assert family.counted(concern) == family.sizes(concern)


@given(families(needed=(2,)), st.floats(1.001, 100))
@examples(60)
def test_beyond_the_bound_only_nobody_and_everybody_are_equilibria(family, times):
    concern = (family.bound() + 1e-6) * times
    found = family.counted(concern)
    assert 0 in found
    assert found <= {0, family.n}
    if family.near:
        assert family.n in found


def test_concern_ends_the_equilibrium_at_a_small_part():
    """As in Guo et al. 2023: three equilibria without concern; with it only 0 and all."""
    family = AlikeFamily(np.array([8.6, 8.3, 4.6, 4.3, 3.9, 3.6, 3.4, 1.2]), 0.22, 9.4, 10.0)
    assert family.counted(0) == family.sizes(0) == {0, 2, 8}
    assert family.counted(family.bound() + 0.01) == {0, 8}


def test_concern_makes_an_equilibrium_where_three_matches_identify():
    """Two members find each other and expose no other.

    A third would expose all others.
    """
    family = AlikeFamily(np.full(6, 1.0), 0.8, 2.0, 10.0, needed=3)
    assert family.counted(0) == {0, 6}
    assert family.counted(100) == {0, 2, 6}


def crowd_alike(concern):
    one = np.ones(4)
    return Crowd(Values(5 * one, one, 10 * one, concern), Ancestry(), Matching())


@pytest.mark.parametrize("concern", [0.0, 0.5, 5.0, 1e6])
def test_a_crowd_has_an_equilibrium_between_nobody_and_everybody_at_any_concern(concern):
    """The gain is continuous in the share of members, negative at 0, positive at 1."""
    game = crowd_alike(concern)
    nobody, between, everybody = game.equilibria()
    assert (nobody, everybody) == (0, 1)
    assert game.wishing(between * 0.999) == 0
    assert game.wishing(between * 1.001) == 1


def test_the_larger_the_concern_the_nearer_joining_is_to_what_leaves_relatives_as_they_are():
    game = crowd_alike(0.0)
    (near, near_weight), (far, far_weight) = game.match(3), game.match(5)
    people = game.ancestry.people

    def ahead(share):
        inside = share * people
        glad = 5 * share * float(near @ near_weight) * (1 - near.sum()) ** inside
        sorry = 10 * (1 - share) * float(far @ far_weight) * inside * far.sum() * (1 - far.sum()) ** (inside - 1)
        return glad - sorry

    least = optimize.brentq(ahead, 1e-3, 0.5)
    shares = [crowd_alike(concern).equilibria()[1] for concern in (0.0, 0.5, 5.0, 1e6)]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(least, rel=1e-3)
