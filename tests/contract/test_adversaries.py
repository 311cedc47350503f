"""The contract of every adversary, tested on every strategy space."""

import math
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from contract_worlds import ATTACK, COST, GAIN, PLAYERS, SPACES, in_steps
from found import at_least
from sequential_programs.paper_attack import paper_of

from reidsim.adversaries.response import (
    KNOWABLE,
    TRUTH,
    AlwaysAttacks,
    Linkage,
    NeverAttacks,
    PlanLinkage,
    RandomAttacks,
    Response,
    declared_information,
)
from reidsim.adversaries.sequential.attack import UnconfirmedSuccess
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.core.errors import InputError

NAMES = at_least(20, sorted(PLAYERS))
# Adversaries who plan before they attack.
PLANNERS = [name for name in NAMES if name.split("-")[1] not in ("always", "never", "random")]
FIELDS = [item.name for item in fields(Response)]


def values_of(reply, field):
    """Return a reply's value per record, with the default where the reply omits it.

    The defaults: an attack has frequency 1, and records that invite an attack are profitable.
    """
    value = getattr(reply, "invited" if field == "pays" else field)
    if field in ("plan", "used"):
        return np.zeros(reply.attacks.shape) if value is None else value
    if field == "gain":
        return np.broadcast_to(value, reply.attacks.shape)
    return np.ones(reply.attacks.shape) if field == "frequency" and value is None else value


def replies(player, adversary=None):
    """Return the reply to every strategy."""
    adversary = adversary or player.adversary
    return [adversary.respond(player.linker.link(strategy)) for strategy in range(player.space.size)]


def assert_same(one, other):
    for mine, theirs in zip(one, other, strict=True):
        for name in FIELDS:
            np.testing.assert_array_equal(values_of(mine, name), values_of(theirs, name), err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_replies_are_well_formed(name):
    player = PLAYERS[name]
    for reply in replies(player):
        for field in FIELDS:
            assert values_of(reply, field).shape == (player.space.n_records,)
        assert reply.attacks.dtype == np.bool_
        assert ((reply.success >= 0) & (reply.success <= 1)).all()
        assert ((reply.believed_success >= 0) & (reply.believed_success <= 1)).all()
        assert (reply.adversary_payoff[~reply.attacks] == 0).all()
        assert (reply.exploits[~reply.attacks] == 0).all()
        often = np.ones(len(reply.attacks)) if reply.frequency is None else reply.frequency
        # A group in the registry may turn out to be empty, and a list may be abandoned before a record is attacked.
        assert (reply.exploits[reply.attacks] >= (0 if in_steps(name) else often[reply.attacks])).all()
        assert np.isfinite(reply.adversary_payoff).all()
        # The gain of a success is known and at least the expected gain over all attempts.
        assert (reply.gain * reply.reidentified >= reply.adversary_payoff - 1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_adversaries_and_linkers_survive_pickling(name):
    player = PLAYERS[name]
    adversary, linker = pickle.loads(pickle.dumps((player.adversary, player.linker)))  # noqa: S301
    assert_same(replies(player), replies(replace(player, linker=linker), adversary))


@pytest.mark.parametrize("name", NAMES)
def test_some_records_get_the_reply_that_they_get_among_all(name):
    player, rows = PLAYERS[name], np.array([7, 0, 7, 2])
    for strategy, whole in enumerate(replies(player)):
        some = player.adversary.respond(player.linker.link(strategy, rows), rows)
        for field in FIELDS:
            np.testing.assert_array_equal(values_of(some, field), values_of(whole, field)[rows])


def changed(linkage, field):
    """Return the linkage with another value in one field, whatever the field means."""
    value = getattr(linkage, field)
    if field in ("group_sizes", "believed_group_sizes"):
        other = np.where(np.arange(len(value)) % 2, value * 4, np.maximum(np.floor(value / 4), 1)).astype(value.dtype)
        return replace(linkage, **{field: other})
    if field == "match_probability":
        return replace(linkage, match_probability=None if value is None else value[::-1] / 3)
    if field in ("plan_success", "plan_believed"):
        return replace(linkage, **{field: None if value is None else value[:, ::-1] * 0.3})
    if field == "prices":
        return replace(linkage, prices=None if value is None else value + 1)
    if field == "by_chance":
        # The flag whether sizes count people describes the units, not the knowledge.
        return linkage
    if field in ("candidates", "among"):
        # No adversary here uses a list; see tests/games/test_listed_people.py.
        assert value is None
        return linkage
    assert field == "plans"
    return replace(linkage, plans=tuple((number,) for number in range(len(value))))


@pytest.mark.parametrize("name", NAMES)
def test_decisions_rest_on_what_is_declared_and_never_on_the_truth(name):
    player = PLAYERS[name]
    adversary = player.adversary
    declared = declared_information(adversary)
    changes = dict.fromkeys(declared, 0)
    for strategy in range(player.space.size):
        linkage = player.linker.link(strategy)
        expected = adversary.respond(linkage).attacks
        for item in fields(linkage):
            decided = adversary.respond(changed(linkage, item.name)).attacks
            if item.name in declared:
                changes[item.name] += int((decided != expected).sum())
            else:
                np.testing.assert_array_equal(decided, expected, err_msg=item.name)
    if name in PLANNERS:
        assert sum(changes.values()) > 0


def test_information_that_nobody_can_have_is_refused():
    class Clairvoyant(OneShot):
        decides_on = frozenset({"group_sizes"})

    with pytest.raises(
        InputError, match=r"Clairvoyant.decides_on: an adversary cannot base its decision on this field; found 'group"
    ):
        declared_information(Clairvoyant())
    assert declared_information(OneShot()) == KNOWABLE
    assert not KNOWABLE & TRUTH


class OneShot:
    """A third-party adversary that declares no properties."""

    def respond(self, linkage, rows=None):
        raise NotImplementedError


def at_truth(linkage):
    """Return the linkage of an adversary with correct beliefs."""
    if isinstance(linkage, PlanLinkage):
        return replace(linkage, believed_group_sizes=linkage.group_sizes, plan_believed=linkage.plan_success)
    return replace(linkage, believed_group_sizes=linkage.group_sizes)


@pytest.mark.parametrize("name", [name for name in NAMES if not in_steps(name)])
def test_one_attempt_is_never_worth_more_than_the_best_one(name):
    """No attempt beats the best plan, which an adversary with true beliefs reaches."""
    player = PLAYERS[name]
    for strategy in range(player.space.size):
        linkage = player.linker.link(strategy)
        # Adversaries who know plans know which people are not in the registry; the one-shot adversary does not.
        by_plan = isinstance(linkage, PlanLinkage) and not name.endswith("one-shot")
        if by_plan:
            best = (GAIN * linkage.plan_success - linkage.prices[:, None]).max(axis=0) - COST
        else:
            best = GAIN / np.maximum(linkage.group_sizes, 1) - COST
        best = np.maximum(best, 0.0)
        assert (player.adversary.respond(linkage).adversary_payoff <= best + 1e-9).all()
        informed = player.adversary.respond(at_truth(linkage)).adversary_payoff
        assert (informed <= best + 1e-9).all()
        if name in PLANNERS:
            np.testing.assert_allclose(informed, best, atol=1e-9)


def groups_and_prices(linkage):
    """Return each record's group size and lookup price under the most profitable plan."""
    n = len(linkage.group_sizes)
    if not isinstance(linkage, PlanLinkage):
        return linkage.group_sizes.tolist(), [0.0] * n
    hoped = np.maximum(GAIN * linkage.plan_believed - linkage.prices[:, None], 0)
    # The first of equal plans.
    plan = (hoped >= hoped.max(axis=0) - 1e-9).argmax(axis=0)
    success = linkage.plan_success[plan, np.arange(n)]
    groups = [math.ceil(1 / chance - 1e-9) if chance > 0 else 0 for chance in success.tolist()]
    return groups, linkage.prices[plan].tolist()


@pytest.mark.parametrize("space", sorted(SPACES))
def test_a_sequential_attack_is_worth_what_its_decision_process_says(space):
    player = PLAYERS[f"{space}-fmdp"]
    worth = {}
    for strategy in range(player.space.size):
        linkage = at_truth(player.linker.link(strategy))
        reply = player.adversary.respond(linkage)
        believed = player.adversary.respond(player.linker.link(strategy))
        for record, (size, price) in enumerate(zip(*groups_and_prices(linkage), strict=True)):
            if (size, price) not in worth:
                attack = replace(ATTACK, link_cost=ATTACK.link_cost + price)
                worth[size, price] = paper_of(attack).v_outset({size: 1.0})
            assert reply.adversary_payoff[record] == pytest.approx(worth[size, price], abs=1e-7)
            assert believed.adversary_payoff[record] <= worth[size, price] + 1e-7


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: AlwaysAttacks(-1.0, 1.0), "gain of the adversary is negative"),
        (lambda: AlwaysAttacks(1.0, np.array([1.0, -2.0])), "cost of the adversary is negative; found -2.0"),
        (lambda: RandomAttacks(1.0, float("nan")), "cost of the adversary is negative"),
        (
            lambda: SequentialAdversary(ATTACK, 10, UnconfirmedSuccess(sensitivity=0.9, specificity=0.9)),
            "needs known group sizes",
        ),
    ],
)
def test_impossible_adversaries_are_refused(make, problem):
    with pytest.raises(InputError, match=problem):
        make()


def test_amounts_by_record_go_with_the_records():
    gain, cost = np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0])
    linkage = Linkage(np.array([2, 5]), np.array([2, 5]))
    reply = AlwaysAttacks(gain, cost).respond(linkage, np.array([2, 0]))
    np.testing.assert_allclose(reply.adversary_payoff, [30 / 2 - 3, 10 / 5 - 1])
    assert (NeverAttacks().respond(linkage).success == [0.5, 0.2]).all()


def test_nobody_is_found_in_an_empty_group():
    linkage = Linkage(np.array([0, 1]), np.array([0, 1]))
    np.testing.assert_array_equal(AlwaysAttacks(10.0, 1.0).respond(linkage).adversary_payoff, [-1.0, 9.0])
