"""Inaccurate resources: linkage through them, and learning from attempts."""

import numpy as np
import pytest
from scipy.integrate import quad

from reidsim.adversaries.response import Linkage, ListedCandidates, PlanLinkage
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.agents.learning import AccuracyBelief
from reidsim.agents.profile import InaccurateLinker


class _Pair:
    def link(self, strategy, rows=None):
        return Linkage(np.array([2.0, 6.0]), np.array([3.0, 9.0]))


def test_a_guess_succeeds_as_often_as_the_entries_are_right():
    """True success: 4/5 of 1/2 or 1/6; believed success: 1/2 of 1/3 or 1/9."""
    linkage = InaccurateLinker(_Pair(), accuracy=0.8, expected_accuracy=0.5).link(0)
    np.testing.assert_allclose(1 / linkage.group_sizes, [0.8 / 2, 0.8 / 6])
    np.testing.assert_allclose(1 / linkage.believed_group_sizes, [0.5 / 3, 0.5 / 9])
    assert linkage.by_chance


def test_wrong_entries_of_a_drawn_list_lower_the_success_of_a_sequential_attack_by_plans():
    """The list names one candidate, who is the right person if the entry is correct."""
    one = np.ones(1)
    linkage = PlanLinkage(
        one, one, by_chance=True, candidates=ListedCandidates(np.array([1]), one), among=np.array([True]), plans=((),),
        plan_believed=one[None], plan_success=one[None], prices=np.zeros(1),
    )  # fmt: skip
    adversary = SequentialAdversary(SequentialAttack(gain=100.0))
    assert adversary.respond(linkage).success.tolist() == [1.0]
    reply = adversary.respond(linkage.inaccurate(0.5, 0.25))
    # The effective group sizes are 2 and, as the adversary believes, 4.
    assert adversary.weigh(linkage.inaccurate(0.5, 0.25)).worth < adversary.weigh(linkage).worth
    assert reply.exploits.tolist() == pytest.approx([1.5])


def test_a_failure_tells_less_where_a_right_entry_may_fail_too():
    """Bayes' rule by integration: success is accuracy times the own chance."""
    share, attempts, successes = np.array([0.5, 0.0, 0.25, 1.0]), np.array([3, 7, 4, 2.5]), np.array([1, 0, 1, 2.0])

    def density(accuracy):
        prior = accuracy ** (0.4 * 10 - 1) * (1 - accuracy) ** (0.6 * 10 - 1)
        return prior * np.prod((share * accuracy) ** successes * (1 - share * accuracy) ** (attempts - successes))

    belief = AccuracyBelief(0.4, 10.0)
    belief.learn(share, attempts, successes)
    expected = quad(lambda accuracy: accuracy * density(accuracy), 0, 1)[0] / quad(density, 0, 1)[0]
    assert belief.mean == pytest.approx(expected, rel=1e-5)
