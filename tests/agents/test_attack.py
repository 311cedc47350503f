"""Budgets and purchases, against enumeration."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games
from tiers import examples

from reidsim.adversaries.response import AlwaysAttacks, Linkage, OneShotAdversary, RandomAttacks
from reidsim.agents.attack import Observation, Replies, replies_to, targets_within
from reidsim.agents.profile import AdversaryProfile, Equipment
from reidsim.games.composite import RememberingAdversary, RememberingLinker
from reidsim.games.record_game import PopulationLinker
from reidsim.linkage.group_sizes import GroupSizes


def replies_of(worth, outlay):
    worth, outlay = np.array(worth, dtype=float), np.array(outlay, dtype=float)
    n = len(worth)
    attacks, ones = np.ones(n, dtype=bool), np.ones(n)
    return Replies(attacks, ones, worth, ones, worth, outlay, ones, attacks, np.zeros(n, dtype=int))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(0, 12),
)
def test_with_one_price_the_most_valuable_records_are_attacked(cells, budget):
    worth, participants = (np.array(column) for column in zip(*cells, strict=True))
    targets = targets_within(replies_of(worth, np.full(len(worth), 2.0)), participants, float(budget))
    each = sorted((w for w, n in cells for _ in range(n)), reverse=True)
    assert targets @ worth == sum(each[: budget // 2])
    assert (targets <= participants).all()


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.floats(0.1, 5), st.integers(0, 3)), min_size=1, max_size=6),
    st.floats(0, 20),
)
def test_a_budget_is_kept_and_no_cell_of_a_higher_rate_is_passed_over(cells, budget):
    worth, outlay, participants = (np.array(column) for column in zip(*cells, strict=True))
    targets = targets_within(replies_of(worth, outlay), participants, budget)
    assert targets @ outlay <= budget * (1 + 1e-6) + 1e-6
    assert (targets == np.floor(targets)).all()
    rate = worth / outlay
    incomplete = (targets < participants) & (participants > 0)
    if incomplete.any():
        assert not targets[rate < rate[incomplete].max()].any()


def test_who_attacks_now_and_then_needs_money_for_what_it_attacks_alone():
    """Of 3 records, an expected 1.2 are attacked, at a cost of 10 each."""
    replies = replace(replies_of([5.0], [10.0]), frequency=np.array([0.4]))
    assert targets_within(replies, np.array([3]), 12.0) == pytest.approx([1.2])
    assert targets_within(replies, np.array([3]), 11.9) == pytest.approx([1.0])


class _Known:
    """Group sizes that halve with every resource held."""

    def __init__(self, sizes, holds):
        self.sizes = np.maximum(np.array(sizes, dtype=float) / 2 ** len(holds), 1)

    def link(self, strategy, rows=None):
        sizes = self.sizes if rows is None else self.sizes[rows]
        return Linkage(sizes, sizes)


def buyer(prices, budget=np.inf):
    return AdversaryProfile("buyer", equip=lambda *_, **__: None, weight=1.0, gain=10.0, cheapest=1.0, prices=prices,
                            budget=budget)  # fmt: skip


def plan_for(profile, strategies, participants, rounds, equip):
    """Plan the purchases and attacks of an adversary without resources."""
    return Observation(
        profile, frozenset(), participants, rounds, lambda holds: replies_to(profile, equip(holds), strategies)
    ).best_plan()


@given(
    st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=5),
    st.lists(st.floats(0, 30), min_size=1, max_size=3),
    st.one_of(st.just(np.inf), st.floats(0, 40)),
    st.integers(1, 4),
)
def test_the_purchase_is_the_best_of_all(sizes, prices, budget, rounds):
    named = {f"r{number}": price for number, price in enumerate(prices)}
    profile, n = buyer(named, budget), len(sizes)
    strategies, participants = np.zeros(n, dtype=np.int64), np.full(n, 2)

    def equip(holds):
        return Equipment(_Known(sizes, holds), OneShotAdversary(10.0, 1.0))

    plan = plan_for(profile, strategies, participants, rounds, equip)

    def worth(bought):
        price = sum(named[name] for name in bought)
        replies = replies_to(profile, equip(frozenset(bought)), strategies)
        now = targets_within(replies, participants, budget - price) @ replies.worth
        later = targets_within(replies, participants, budget) @ replies.worth
        return now + (rounds - 1) * later - price

    sets = [c for size in range(len(named) + 1) for c in combinations(named, size)]
    best = max(worth(bought) for bought in sets if sum(named[name] for name in bought) <= budget)
    assert worth(tuple(plan.buys)) == pytest.approx(best, abs=1e-9)
    assert plan.spent == sum(named[name] for name in plan.buys)


def test_nothing_is_bought_that_pays_just_its_price():
    """One in 4 gains 10 / 4 - 1 = 1.5 and one in 2 gains 4: for 3 records 7.5 more."""
    for price, bought in ((7.5, set()), (7.4, {"list"})):
        plan = plan_for(
            buyer({"list": price}), np.zeros(1, dtype=np.int64), np.array([3]), 1,
            lambda holds: Equipment(_Known([4], holds), OneShotAdversary(10.0, 1.0)),
        )  # fmt: skip
        assert plan.buys == bought


def test_nobody_is_attacked_without_equipment_and_withheld_records_never_are():
    profile = buyer({})
    equipment = Equipment(_Known([1, 1], ()), OneShotAdversary(10.0, 1.0))
    assert not replies_to(profile, None, np.zeros(2, dtype=np.int64)).attacks.any()
    replies = replies_to(profile, equipment, np.array([-1, 0]))
    np.testing.assert_array_equal(replies.attacks, [False, True])
    for values in (replies.success, replies.payoff, replies.exploits, replies.worth, replies.outlay):
        assert values[0] == 0


def test_an_attack_made_now_and_then_is_worth_and_costs_as_much_where_it_is_made():
    profile, strategies = replace(buyer({}), expected_fine=3.0), np.zeros(2, dtype=np.int64)
    often, always = (
        replies_to(profile, Equipment(_Known([1, 4], ()), adversary), strategies)
        for adversary in (RandomAttacks(10.0, 1.0, rate=0.4), AlwaysAttacks(10.0, 1.0))
    )
    assert always.frequency.tolist() == [1.0, 1.0]
    assert often.frequency.tolist() == [0.4, 0.4]
    for name in ("attacks", "success", "payoff", "exploits", "worth", "outlay"):
        np.testing.assert_allclose(getattr(often, name), getattr(always, name), rtol=1e-12, err_msg=name)


@examples(60)
@given(small_games(), st.data())
def test_replies_to_all_records_at_once_are_those_to_each_on_its_own(small, data):
    game = small.game()
    n, forms = game.n_records, st.integers(-1, game.space.size - 1)
    strategies, past = (np.array(data.draw(st.lists(forms, min_size=n, max_size=n))) for _ in range(2))
    sizes, others = (GroupSizes(small.population(people), game.space) for people in (small.people, small.people[::2]))
    linker = PopulationLinker(sizes, data.draw(st.sampled_from([None, sizes, others])))
    adversary = OneShotAdversary(small.gain[0], small.cost[0])
    equipment = Equipment(linker, adversary)
    if data.draw(st.booleans()):
        which = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
        linkers = (linker, small.linker()) if data.draw(st.booleans()) else (linker,)
        which = which % len(linkers)
        remembering = RememberingLinker(linkers, which, np.arange(n), past, game.space.meet)
        equipment = Equipment(remembering, RememberingAdversary(adversary))
    profile = replace(buyer({}), gain=small.gain[0])
    found = replies_to(profile, equipment, strategies)
    for row, strategy in enumerate(strategies.tolist()):
        # A withheld record can be attacked only through an earlier release.
        if strategy < 0 and not (isinstance(equipment.linker, RememberingLinker) and past[row] >= 0):
            assert not found.attacks[row]
            assert found.success[row] == found.payoff[row] == found.exploits[row] == 0
            continue
        rows = np.array([row])
        alone = equipment.adversary.respond(equipment.linker.link(strategy, rows), rows)
        assert found.attacks[row] == alone.attacks[0]
        assert found.success[row] == alone.success[0]
        assert found.payoff[row] == alone.adversary_payoff[0]
        assert found.exploits[row] == alone.exploits[0]
