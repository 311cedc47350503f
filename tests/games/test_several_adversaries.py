"""Masking against several adversaries: compiled search, oracle, branch and bound."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from tiers import examples

from reidsim.adversaries.linkers import MultistageLinker
from reidsim.adversaries.response import AlwaysAttacks, NeverAttacks, OneShotAdversary, RandomAttacks
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.agents.profile import InaccurateLinker
from reidsim.games.composite import AdversaryType, RememberingAdversary, RememberingLinker, TypesGame
from reidsim.games.masking.searches import best_against_several
from reidsim.games.record_game import WITHHELD, Constraint, RecordGame
from reidsim.games.solvers import branch_and_bound
from reidsim.releases.lattice import MaskingSpace


@st.composite
def worlds_of_types(draw, **options):
    """Draw a world, its game against types, and the oracle's types for each target."""
    world = draw(small_worlds(**options))
    game = world.game
    kinds = [
        (
            draw(st.booleans()),
            draw(st.sampled_from([150.0, 30.0, 60.0])),
            draw(st.sampled_from([10.0, 0.0, 20.0])),
            draw(st.sampled_from([game.attack.confidence_threshold, 0.4])),
            draw(st.booleans()),
        )
        for _ in range(draw(st.integers(2, 3)))
    ]
    together = draw(st.sampled_from(["one-of", "all"]))
    weights = [1 / len(kinds)] * len(kinds) if together == "one-of" else [0.5, 1.0, 0.25][: len(kinds)]
    types = []
    for number, (infers, gain, cost, theta, overconfident) in enumerate(kinds):
        attack = game.attack if infers else game.attack.one_stage()
        attack = replace(attack, gain=gain, cost=cost, confidence_threshold=theta, overconfident=overconfident)
        linker = MultistageLinker(attack, game.world, game.space)
        types.append(AdversaryType(str(number), weights[number], linker, attack))
    played = TypesGame(game.space, types, np.asarray(game.benefit), np.asarray(game.loss), together)
    plain = [
        [
            replace(
                own.attack,
                stages=own.attack.stages if infers else [],
                gain=gain,
                cost=cost,
                theta=theta,
                overconfident=overconfident,
            )
            for infers, gain, cost, theta, overconfident in kinds
        ]
        for own in world.plain
    ]
    return world, played, plain


def best_by_hand(own, attacks, weights, together, no_attack):
    """Return the number of a target's best strategy, or None.

    The lowest number of equal payoffs wins.
    """
    payoffs = {}
    for number, levels in enumerate(own.strategies()):
        replies = [attack.reply(levels, own.masked)[:2] for attack in attacks]
        if no_attack and any(attacked for attacked, _ in replies):
            continue
        risks = [weight * success * attacked for weight, (attacked, success) in zip(weights, replies, strict=True)]
        risk = sum(risks) if together == "one-of" else 1 - np.prod([1 - each for each in risks])
        payoffs[number] = own.worth(levels) - own.loss * risk
    if not payoffs:
        return WITHHELD
    highest = max(payoffs.values())
    return min(number for number, payoff in payoffs.items() if payoff >= highest - 1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"levels": True}, {"chain": "neighbour"}, {"supported": True, "levels": True}], ids=str
)
@examples(12, fast=4)
@given(no_attack=st.booleans(), data=st.data())
def test_the_best_masking_is_that_of_trying_all(options, no_attack, data):
    _, game, plain = worlds = data.draw(worlds_of_types(most_targets=2, **options))
    choice = best_against_several(game, no_attack=no_attack)
    assert choice.solver == "best-first"
    assert choice.exact
    weights = [each.weight for each in game.types]
    exact = [
        best_by_hand(own, attacks, weights, game.together, no_attack)
        for own, attacks in zip(worlds[0].plain, plain, strict=True)
    ]
    np.testing.assert_array_equal(choice.strategies, exact)
    event(f"somebody masks: {bool((choice.strategies > 0).any())}")


@given(worlds_of_types(levels=True), st.booleans(), st.booleans())
@examples(15, fast=5)
def test_it_is_branch_and_bound_where_worth_and_amounts_differ_by_record(worlds, no_attack, with_nobody):
    game = worlds[1]
    space, n = game.space, game.n_records
    rng = np.random.default_rng(n)
    own = MaskingSpace(
        space.attributes, rng.choice([0.5, 1.0, 2.0], (n, len(space.attributes))), n, space.kept, space.groups
    )
    types = [
        replace(each, adversary=replace(each.adversary, gain=rng.choice([30.0, 150.0], n)),
                linker=MultistageLinker(each.linker.attack, each.linker.world, own))
        for each in game.types
    ]  # fmt: skip
    if with_nobody and game.together == "all":
        types.append(AdversaryType("nobody", 1.0, types[0].linker, NeverAttacks()))
    played = TypesGame(own, types, rng.choice([20.0, 100.0], n), rng.choice([40.0, 150.0], n), game.together)
    found = best_against_several(played, no_attack=no_attack)
    exact = branch_and_bound(played, Constraint(no_attack=no_attack))
    assert found.solver == "best-first"
    np.testing.assert_array_equal(found.strategies, exact.strategies)


class Unsaid:
    """A linker that does not declare the attributes it uses."""

    def __init__(self, linker):
        self.link = linker.link


@pytest.mark.deep
@given(worlds_of_types(chain="three-stage"), st.booleans())
@examples(5)
def test_other_attacks_are_played_as_by_branch_and_bound(worlds, is_said):
    game = worlds[1]
    simple = [replace(each, adversary=OneShotAdversary(30.0, 1.0)) for each in game.types]
    for types in (game.types, simple):
        # With few attributes the replies are tabulated, unless the linker does not declare them.
        told = [each if is_said else replace(each, linker=Unsaid(each.linker)) for each in types]
        played = game.with_types(told)
        found, best = best_against_several(played), branch_and_bound(played)
        assert found.solver == ("best-first" if is_said else "branch-and-bound")
        np.testing.assert_array_equal(found.strategies, best.strategies)


@examples(12)
@given(no_attack=st.booleans(), data=st.data())
def test_who_looks_at_few_attributes_is_played_as_by_branch_and_bound(no_attack, data):
    """Any planner, with another staged adversary or alone, with inaccurate resources.

    The planners are one-shot, sequential, random and always.
    """
    world = data.draw(small_worlds(chain="two-stage"))
    game = world.game
    one_stage = game.attack.one_stage()
    links = MultistageLinker(one_stage, game.world, game.space)
    gain, cost = data.draw(st.sampled_from([150.0, 60.0])), data.draw(st.sampled_from([10.0, 0.0, 25.0]))
    planners = {
        "once": OneShotAdversary(gain, cost),
        "in sequence": SequentialAdversary(SequentialAttack(gain=gain, exploit_cost=cost, penalty=20.0)),
        "at random": RandomAttacks(gain, cost, rate=0.3),
        "always": AlwaysAttacks(gain, cost),
    }
    names = data.draw(st.lists(st.sampled_from(sorted(planners)), min_size=1, max_size=2, unique=True))
    types = [AdversaryType(name, 0.25, links, planners[name]) for name in names]
    if "in sequence" not in names:
        types = [replace(each, linker=InaccurateLinker(links, 0.5, 0.75)) for each in types]
    if data.draw(st.booleans()):
        types.append(
            AdversaryType("in stages", 0.5, MultistageLinker(game.attack, game.world, game.space), game.attack)
        )
    played = TypesGame(game.space, types, np.asarray(game.benefit), np.asarray(game.loss), "all")
    if len(types) == 1:
        played = RecordGame(game.space, types[0].linker, types[0].adversary, played.benefit, played.loss)
    found = best_against_several(played, no_attack=no_attack)
    best = branch_and_bound(played, Constraint(no_attack=no_attack))
    assert found.solver == "best-first"
    np.testing.assert_array_equal(found.strategies, best.strategies)


@examples(12, fast=4)
@given(data=st.data())
def test_who_remembers_is_played_as_by_branch_and_bound(data):
    world, game, _ = data.draw(worlds_of_types(chain="two-stage"))
    n, meet = game.n_records, world.game.space.meet
    pasts = st.lists(st.integers(-1, game.space.size - 1), min_size=n, max_size=n).map(np.array)
    past, other = data.draw(pasts), data.draw(pasts)
    types = [
        replace(
            each,
            linker=RememberingLinker((each.linker,), np.zeros(n, np.intp), np.arange(n), known, meet),
            adversary=RememberingAdversary(each.adversary),
        )
        for each, known in zip(game.types, data.draw(st.sampled_from([[past] * 3, [past, other, past]])), strict=False)
    ]
    played = game.with_types(types)
    found, best = best_against_several(played), branch_and_bound(played)
    know_the_same = all((each.linker.past == past).all() for each in types)
    assert found.solver == ("best-first" if know_the_same else "branch-and-bound")
    np.testing.assert_array_equal(found.strategies, best.strategies)
