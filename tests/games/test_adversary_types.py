"""Games against several adversary types, against brute force over every form."""

from dataclasses import replace

import numpy as np
import pytest
from contract_worlds import ATTACK, SMALL, SPACES, types_of
from hypothesis import given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from replies_to_types import replies_to_types
from small_games import amounts, game_of, small_games
from tiers import examples

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.sequential.adversary import SequentialAdversary
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks
from reidsim.errors import InputError
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.defenders.best_reply import BestReply
from reidsim.games.equilibrium import evaluate
from reidsim.games.record_game import Constraint
from reidsim.games.type_replies import average_type, averaged, repriced

WAYS = ("one-of", "all", "worst")


@st.composite
def games_of_types(draw, most_types=3):
    """Draw a game and its types, each with own people, payoff parameters and a weight."""
    small = draw(small_games(max_attributes=3, max_strategies=24, max_records=3))
    n = small.n_records
    types = []
    for _ in range(draw(st.integers(1, most_types))):
        people = draw(st.sampled_from([small.people, small.people[: len(small.people) // 2 + 1]]))
        gain = tuple(draw(amounts) for _ in range(n))
        cost = tuple(draw(st.sampled_from([g / 2, g / 3, 0.0, 1.0, 5.0])) for g in gain)
        types.append(replace(small, people=people, gain=gain, cost=cost))
    shares = [draw(st.integers(1 if not number else 0, 4)) for number in range(len(types))]
    return small, types, [share / sum(shares) for share in shares]


def types_game(small, types, weights, together="one-of"):
    lattice = small.lattice()
    made = [
        AdversaryType(
            f"type {number}", weight, each.linker(lattice), OneShotAdversary(np.array(each.gain), np.array(each.cost))
        )
        for number, (each, weight) in enumerate(zip(types, weights, strict=True))
    ]
    return TypesGame(lattice, made, np.array(small.benefit), np.array(small.loss), together)


def payoff_by_hand(small, types, weights, together, i, g):
    """Return the publisher's payoff of record i as g, and whether any type attacks."""
    hits = [each.paper(i).pi(g) if each.paper(i).attacks(g) else 0.0 for each in types]
    attacks = any(each.paper(i).attacks(g) for each, weight in zip(types, weights, strict=True) if weight > 0)
    if together == "one-of":
        risk = sum(weight * hit for weight, hit in zip(weights, hits, strict=True))
    elif together == "all":
        spared = 1.0
        for weight, hit in zip(weights, hits, strict=True):
            spared *= 1.0 - weight * hit
        risk = 1.0 - spared
    else:
        risk = max(hit for weight, hit in zip(weights, hits, strict=True) if weight > 0)
    return small.paper(i).v(g) - small.loss[i] * risk, attacks


@pytest.mark.parametrize("together", WAYS)
@pytest.mark.parametrize("no_attack", [False, True])
@given(case=games_of_types())
@examples(25)
def test_solvers_find_the_best_reply_to_all_types(together, no_attack, case):
    small, types, weights = case
    game = types_game(small, types, weights, together)
    constraint = Constraint(no_attack=no_attack)
    fast = branch_and_bound(game, constraint)
    thorough = backward_induction(game, {"it": constraint})["it"]
    np.testing.assert_array_equal(fast.strategies, thorough.strategies)
    found = evaluate(game, fast)
    for i in range(small.n_records):
        values = [payoff_by_hand(small, types, weights, together, i, g) for g in small.paper(i).strategies]
        allowed = [value for value, attacks in values if not (no_attack and attacks)]
        close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
        if not allowed:
            assert found.withheld[i]
            continue
        assert found.publisher_payoff[i] == pytest.approx(max(allowed), **close)
        value, attacks = values[fast.strategies[i]]
        assert found.publisher_payoff[i] == pytest.approx(value, **close)
        assert found.attacked[i] == attacks


@pytest.mark.parametrize("together", WAYS)
@given(case=games_of_types(most_types=1))
@examples(20)
def test_one_type_is_the_game_against_it(together, case):
    small, types, weights = case
    game = types_game(small, types, weights, together)
    alone = game.against("type 0")
    for strategy in range(game.space.size):
        one, other = game.outcome(strategy), alone.outcome(strategy)
        np.testing.assert_allclose(one.publisher_payoff, other.publisher_payoff, atol=1e-12 * small.scale.max())
        for field in ("attacks", "success", "believed_success", "adversary_payoff", "exploits"):
            np.testing.assert_allclose(
                getattr(one.response, field), getattr(other.response, field), rtol=1e-12, err_msg=field
            )


@given(case=games_of_types())
@examples(30)
def test_more_than_one_adversary_never_helps_the_publisher(case):
    """An additional attacker reduces the payoff of every form, and so the best payoff."""
    small, types, _ = case
    together = types_game(small, types, [1.0] * len(types), "all")
    scale = np.array(small.scale)
    for number in range(len(types)):
        fewer = types_game(small, types[:number] + types[number + 1 :], [1.0] * (len(types) - 1), "all") if (
            len(types) > 1
        ) else together  # fmt: skip
        for strategy in range(together.space.size):
            more = together.outcome(strategy).publisher_payoff
            assert (more <= fewer.outcome(strategy).publisher_payoff + 1e-12 * scale).all()
        best = evaluate(together, branch_and_bound(together)).publisher_payoff
        assert (best <= evaluate(fewer, branch_and_bound(fewer)).publisher_payoff + 1e-9 * scale).all()
        alone = together.against(f"type {number}")
        assert (best <= evaluate(alone, branch_and_bound(alone)).publisher_payoff + 1e-9 * scale).all()


@given(case=games_of_types())
@examples(30)
def test_no_reply_beats_that_to_the_types_and_none_has_a_better_worst_case_than_that_to_the_worst(case):
    small, types, weights = case
    game = types_game(small, types, weights)
    replies = replies_to_types(game)
    allowance = 1e-9 * np.array(small.scale)
    best, safest = replies["types"], replies["worst"]
    for reply in replies.values():
        assert (best.expected.publisher_payoff >= reply.expected.publisher_payoff - allowance).all()
        assert (safest.worst_payoff >= reply.worst_payoff - allowance).all()
    for i in range(small.n_records):
        worst_cases = [payoff_by_hand(small, types, weights, "worst", i, g)[0] for g in small.paper(i).strategies]
        assert safest.worst_payoff[i] == pytest.approx(max(worst_cases), rel=1e-9, abs=allowance[i])


@given(case=games_of_types())
@examples(25)
def test_the_expectation_is_the_weighted_mean_over_types(case):
    small, types, weights = case
    game = types_game(small, types, weights)
    for strategy in range(game.space.size):
        outcome = game.outcome(strategy)
        replies = game.responses(strategy)
        parts = [game.against(each.name).outcome(strategy) for each in game.types]
        for payoff, amounts_of in (
            (outcome.publisher_payoff, [part.publisher_payoff for part in parts]),
            (outcome.response.adversary_payoff, [reply.adversary_payoff for reply in replies.values()]),
            (outcome.response.exploits, [reply.exploits for reply in replies.values()]),
        ):
            np.testing.assert_allclose(payoff, np.tensordot(weights, amounts_of, 1), atol=1e-9 * small.scale.max())


@given(case=games_of_types(), data=st.data())
@examples(20)
def test_order_of_types_and_types_that_never_come_change_nothing(case, data):
    small, types, weights = case
    order = data.draw(st.permutations(range(len(types))))
    for together in WAYS:
        game = types_game(small, types, weights, together)
        other = game.with_types([game.types[number] for number in order])
        idle = AdversaryType("nobody", 0.0, game.types[0].linker, AlwaysAttacks(1e9, 0.0))
        larger = game.with_types([idle, *game.types])
        for strategy in range(game.space.size):
            expected = game.outcome(strategy)
            for same in (other.outcome(strategy), larger.outcome(strategy)):
                np.testing.assert_allclose(same.publisher_payoff, expected.publisher_payoff, rtol=1e-9, atol=1e-9)
                np.testing.assert_array_equal(same.response.attacks, expected.response.attacks)


@given(world=small_worlds(chain="two-stage", levels=True), weight=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
@examples(20)
def test_types_of_the_masking_game(world, weight):
    """Two adversaries, with and without a genealogy; the oracle runs both attacks."""
    game = world.game.record_game
    plain = world.game.one_stage().record_game
    types = [
        AdversaryType("with", weight, game.linker, game.adversary),
        AdversaryType("without", 1.0 - weight, plain.linker, plain.adversary),
    ]
    both = TypesGame(world.space, types, game.benefit, game.loss)
    chosen = evaluate(both, branch_and_bound(both))
    for i, oracle in enumerate(world.plain):
        single = replace(oracle, attack=replace(oracle.attack, stages=[], on=("age", "state")))
        values = []
        for strategy in range(world.space.size):
            levels = world.levels(strategy)
            values.append(weight * oracle.payoff(levels) + (1 - weight) * single.payoff(levels))
        assert chosen.publisher_payoff[i] == pytest.approx(max(values), abs=1e-9)


@pytest.mark.parametrize("space", sorted(SPACES))
@pytest.mark.parametrize("together", WAYS)
def test_every_planner_can_be_a_type(space, together):
    game = types_of(space, together)
    fast, thorough = branch_and_bound(game), backward_induction(game, {"it": Constraint()})["it"]
    np.testing.assert_array_equal(fast.strategies, thorough.strategies)
    assert (fast.evaluated <= thorough.evaluated).all()
    rows = np.array([3, 0, 3])
    whole, some = game.outcome(1), game.outcome(1, rows)
    np.testing.assert_array_equal(some.publisher_payoff, whole.publisher_payoff[rows])
    assert set(game.responses(0)) == set(SPACES[space])


def test_the_average_type_has_the_mean_gain_and_cost_of_the_heaviest_type_s_planner():
    linker, other = SMALL.linker(), SMALL.linker()
    types = (
        AdversaryType("a", 0.2, linker, OneShotAdversary(100.0, 10.0)),
        AdversaryType("b", 0.5, other, SequentialAdversary(ATTACK)),
        AdversaryType("c", 0.3, linker, NeverAttacks()),
    )
    average = average_type(types)
    assert average.linker is other
    assert average.weight == 1.0
    assert average.adversary.attack.gain == pytest.approx(0.2 * 100 + 0.5 * ATTACK.gain)
    assert average.adversary.attack.exploit_cost == pytest.approx(0.2 * 10 + 0.5 * ATTACK.exploit_cost)
    assert average.adversary.attack.penalty == ATTACK.penalty
    assert [(each.name, each.weight) for each in averaged(types)] == [("a", 0.2), ("b", 0.5), ("c", 0.3)]
    assert repriced(NeverAttacks(), 3.0, 1.0).gain == 3.0


def test_a_publisher_who_takes_the_average_for_the_types_loses():
    """Nine of ten adversaries gain 0, one gains 1,000: on average 100, below the cost."""
    hierarchy = (((0, 1), (0, 0)),)
    small = game_of(hierarchy, [(0,), (0,), (1,), (1,)], [(0,)], benefit=100.0, loss=1000.0, gain=0.0, cost=60.0)
    poor, rich = small, replace(small, gain=(1000.0,))
    game = types_game(small, [poor, rich], [0.9, 0.1])
    replies = replies_to_types(game)
    # Unchanged (two people): 100, minus 1,000 x 1/2 in one case of ten. Suppressed: 0, minus 25.
    assert replies["types"].choice.strategies.tolist() == [0]
    assert replies["types"].expected.publisher_payoff[0] == pytest.approx(100 - 0.1 * 500)
    assert replies["average"].choice.strategies.tolist() == [0]
    assert replies["worst"].choice.strategies.tolist() == [1]
    assert replies["worst"].worst_payoff[0] == pytest.approx(-250.0)
    assert replies["types"].worst_payoff[0] == pytest.approx(-400.0)


def test_mistaken_weights_are_paid_for_in_the_truth():
    small = SMALL.with_money(100.0, 150.0, 60.0, 9.0)
    types = [small, replace(small, gain=(5.0,) * 12)]
    believed, truth = types_game(small, types, [0.1, 0.9]), types_game(small, types, [0.9, 0.1])
    mistaken, informed = replies_to_types(believed, truth)["types"], replies_to_types(truth)["types"]
    assert (mistaken.expected.publisher_payoff <= informed.expected.publisher_payoff + 1e-9).all()
    careful = replies_to_types(believed, truth, defender=BestReply(no_attack=True))["types"]
    assert not careful.expected.attacked.any()


class Stranger:
    """An adversary without payoff parameters."""

    def respond(self, linkage, rows=None):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda a, b: ([], "one-of"), "no adversary type; expected one of positive weight"),
        (lambda a, b: ([replace(a, weight=0.0)], "all"), "no adversary type"),
        (lambda a, b: ([a, b], "some"), "unknown way of types; found 'some'; expected one of one-of, all, worst"),
        (lambda a, b: ([a, replace(b, name="a")], "one-of"), "type given twice; found 'a'"),
        (lambda a, b: ([a, replace(b, weight=0.4)], "one-of"), "weights of the types do not sum to 1; found 0.9"),
        (lambda a, b: ([a, replace(b, weight=1.5)], "all"), "b: weight of a type out of range; found 1.5"),
        (lambda a, b: ([a, replace(b, weight=float("nan"))], "all"), "b: weight of a type out of range"),
    ],
)
def test_impossible_types_are_refused(make, problem):
    linker = SMALL.linker()
    one, other = (AdversaryType(name, 0.5, linker, OneShotAdversary(1.0, 1.0)) for name in "ab")

    def game():
        types, together = make(one, other)
        return TypesGame(SMALL.lattice(), types, np.ones(12), np.ones(12), together)

    with pytest.raises(InputError, match=problem):
        game()


def test_types_without_an_average_or_a_name_are_refused():
    linker = SMALL.linker()
    game = TypesGame(SMALL.lattice(), [AdversaryType("x", 1.0, linker, Stranger())], np.ones(12), np.ones(12))
    with pytest.raises(InputError, match="x: type has no average; found 'Stranger'"):
        average_type(game.types)
    with pytest.raises(InputError, match="the adversary has no gain and cost to replace; found 'Stranger'"):
        repriced(Stranger(), 1.0, 1.0)
    with pytest.raises(InputError, match="one gain and one cost"):
        repriced(SequentialAdversary(ATTACK), np.ones(3), 1.0)
    with pytest.raises(InputError, match="no such type; found 'y'; expected one of x"):
        game.against("y")
