"""User-defined attacks, planned as factored Markov decision processes."""

import copy
import pickle

import numpy as np
import pytest
from contract_worlds import ATTACK, PLAYERS

import reidsim
from reidsim.adversaries.factored_mdp import METHODS
from reidsim.adversaries.rationality import ErringAdversary
from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.attack import attack_process
from reidsim.adversaries.sequential.planning import SequentialAdversary

GAIN = 100.0


def asking(group, cost=10.0, most=3):
    """Return a process that asks up to `most` people until the right one is found."""
    return reidsim.FactoredMDP(
        {"asked": range(most + 1), "found": (False, True), "over": (False, True)},
        {
            "stop": reidsim.Action({"over": True}),
            "ask": reidsim.Action(
                {
                    "asked": lambda asked: asked + 1,
                    "found": lambda asked: {True: 1 / (group - asked), False: 1 - 1 / (group - asked)},
                },
                reward=[-cost, lambda asked: GAIN / (group - asked)],
                allowed=lambda asked, found: asked < min(most, group) and not found,
            ),
        },
        terminal=lambda over: over,
        discount=1.0,
    )


def found(found):
    return found


def asker(method="backward-induction", **options):
    return reidsim.FactoredMDPAdversary(
        lambda group: asking(group, **options), success=found, gain=GAIN, exploit="ask", method=method
    )


def expected(group, cost=10.0, most=3):
    """Return success, payoff and people asked, in closed form.

    Hits become more likely with each miss, so either all are asked or nobody.
    """
    asked = min(most, group)
    made = sum(1 - j / group for j in range(asked))
    return asked / group, GAIN * asked / group - cost * made, made


@pytest.mark.parametrize("method", METHODS)
def test_an_attack_of_one_s_own_is_played_as_in_closed_form(method):
    sizes = np.array([[1, 2, 3], [7, 11, 12]])
    for row in sizes:
        reply = asker(method).respond(Linkage(row, row))
        for at, size in enumerate(row.tolist()):
            success, payoff, made = expected(size)
            # Of 11 people, an attack is worth zero up to rounding, and an indifferent adversary does not attack.
            assert reply.attacks[at] == (payoff > 1e-9)
            if payoff > 1e-9:
                assert reply.success[at] == reply.believed_success[at] == pytest.approx(success)
                assert reply.adversary_payoff[at] == pytest.approx(payoff)
                assert reply.exploits[at] == pytest.approx(made)
            else:
                assert (reply.success[at], reply.adversary_payoff[at], reply.exploits[at]) == (0, 0, 0)
    assert reply.attacks.tolist() == [True, False, False]  # 300 / g - 10 (3 - 3 / g) > 0 for g < 11


def test_decisions_rest_on_belief_and_outcomes_on_the_truth():
    reply = asker().respond(Linkage(np.array([20, 4, 2, 0]), np.array([4, 20, 4, 4])))
    assert reply.attacks.tolist() == [True, False, True, True]
    success, payoff, _ = expected(20)
    assert (reply.success[0], reply.adversary_payoff[0]) == (pytest.approx(success), pytest.approx(payoff))
    assert reply.believed_success[0] == pytest.approx(expected(4)[0])
    # Two people are fewer than the plan would ask; without a match, no step is possible.
    assert (reply.success[2], reply.exploits[2]) == (pytest.approx(1), pytest.approx(expected(2)[2]))
    assert (reply.success[3], reply.adversary_payoff[3], reply.exploits[3]) == (0, 0, 0)


@pytest.mark.parametrize("name", [name for name in PLAYERS if name.endswith("-fmdp")])
def test_the_paper_s_attack_as_a_process_replies_like_the_sequential_adversary(name):
    player = PLAYERS[name]
    own = reidsim.FactoredMDPAdversary(
        lambda group: attack_process(ATTACK, {group: 1.0}), success=lambda x_s: x_s, gain=ATTACK.gain
    )
    for strategy in range(player.space.size):
        linkage = player.linker.link(strategy)
        sizes = np.minimum(np.maximum(np.ceil(linkage.believed_group_sizes), 1), 30).astype(int)
        mine, theirs = (each.respond(Linkage(sizes, sizes)) for each in (own, SequentialAdversary(ATTACK)))
        np.testing.assert_array_equal(mine.attacks, theirs.attacks)
        for field in ("success", "believed_success", "adversary_payoff", "exploits"):
            np.testing.assert_allclose(getattr(mine, field), getattr(theirs, field), rtol=1e-9, err_msg=field)


def test_it_can_err():
    linkage = Linkage(np.array([2, 40]), np.array([2, 40]))
    reply = ErringAdversary(asker(), precision=0.05).respond(linkage)
    assert reply.attacks.all()
    # All decisions after the first are optimal: among 40 people, the adversary asks one by mistake and stops.
    for at, (size, most) in enumerate([(2, 3), (40, 1)]):
        _, payoff, made = expected(size, most=most)
        chance = 1 / (1 + np.exp(-0.05 * payoff))
        assert reply.frequency[at] == pytest.approx(chance)
        assert reply.adversary_payoff[at] == pytest.approx(chance * payoff)
        assert reply.exploits[at] == pytest.approx(chance * made)


def test_it_survives_copy_and_pickle_after_use():
    adversary = reidsim.FactoredMDPAdversary(asking, success=found, gain=GAIN, exploit="ask")
    linkage = Linkage(np.array([2, 5]), np.array([2, 5]))
    before = adversary.respond(linkage)
    for duplicate in (copy.copy(adversary), pickle.loads(pickle.dumps(adversary))):  # noqa: S301
        np.testing.assert_array_equal(duplicate.respond(linkage).adversary_payoff, before.adversary_payoff)


def with_group_as_start(group):
    return reidsim.FactoredMDP(
        {"group": range(1, 9), "over": (False, True)},
        {"stop": reidsim.Action({"over": True}), "ask": reidsim.Action({"over": True}, reward=5)},
        terminal=lambda over: over,
        start={"group": group},
    )


@pytest.mark.parametrize(
    ("attack", "gain", "problem"),
    [
        (with_group_as_start, GAIN, "attack: the start state depends on the group size"),
        (lambda group: None, GAIN, "the attack is not a process"),
        (lambda group: 1 / 0, GAIN, "ZeroDivisionError"),
        (asking, float("nan"), "gain: value out of range"),
    ],
)
def test_an_attack_that_cannot_be_planned_is_refused(attack, gain, problem):
    with pytest.raises(reidsim.InputError, match=problem):
        reidsim.FactoredMDPAdversary(attack, success=found, gain=gain).respond(Linkage(np.array([3]), np.array([4])))
