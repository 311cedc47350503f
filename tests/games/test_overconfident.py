"""The overconfident adversary of Wan et al. 2021, who trusts an inferred surname."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from test_masking_game import CARRIED, game_of
from test_several_adversaries import best_by_hand

from reidsim.adversaries.multistage.attack import two_stage_attack
from reidsim.adversaries.multistage.linkage import MultistageLinker
from reidsim.adversaries.multistage.world import MultistageWorld, PersonTable
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.masking.game import MaskingGame
from reidsim.games.masking.searches import best_first, greedy, masking_backward_induction
from reidsim.games.masking.several_adversaries import best_against_several
from reidsim.games.record_game import WITHHELD, Choice, Constraint
from reidsim.releases.masking import MaskingSpace


def with_adversary(game, **changes):
    return MaskingGame(game.space, replace(game.attack, **changes), game.world, game.benefit, game.loss)


@pytest.mark.parametrize("chain", ["two-stage", "neighbour", "three-stage"])
@given(data=st.data())
def test_every_reply_is_that_of_the_plain_adversary(chain, data):
    """Compare attack, true and believed success of every strategy, also when compiled."""
    small = data.draw(small_worlds(chain=chain, overconfident=True, most_targets=2))
    game = small.game
    for strategy in range(small.space.size):
        one = Choice(np.full(game.n_records, strategy), "", np.ones(game.n_records, np.int64), exact=False)
        found, outcome = game.evaluate(one), game.record_game.outcome(strategy)
        for i, plain in enumerate(small.plain):
            attacks, success, believed, price = plain.attack.reply(small.levels(strategy), plain.masked)
            assert found.attacked[i] == outcome.response.attacks[i] == attacks
            assert outcome.response.believed_success[i] == pytest.approx(believed)
            if attacks:
                assert found.success_probability[i] == outcome.response.success[i] == pytest.approx(success)
                assert found.adversary_payoff[i] == pytest.approx(plain.attack.gain * success - price)
            assert found.publisher_payoff[i] == pytest.approx(plain.payoff(small.levels(strategy)))
            event(f"believed and true success differ: {attacks and abs(believed - success) > 1e-9}")


@given(data=st.data())
def test_exact_solvers_equal_brute_force(data):
    small = data.draw(
        small_worlds(levels=data.draw(st.booleans()), supported=data.draw(st.booleans()), overconfident=True)
    )
    no_attack = data.draw(st.booleans())
    expected = [plain.solve(no_attack) for plain in small.plain]
    for solver in (best_first, masking_backward_induction):
        found = solver(small.game, no_attack=no_attack).strategies.tolist()
        assert [None if s == WITHHELD else small.levels(s) for s in found] == expected
    found = greedy(small.game, no_attack=no_attack).strategies.tolist()
    assert [None if s == WITHHELD else small.levels(s) for s in found] == [p.greedy(no_attack) for p in small.plain]


@given(small_worlds(chain="three-stage", most_targets=2, overconfident=True))
def test_three_stage_games_equal_brute_force(small):
    found = small.game.evaluate(best_first(small.game)).publisher_payoff
    expected = [0.0 if (s := plain.solve()) is None else plain.payoff(s) for plain in small.plain]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(small_worlds(most_targets=2), st.booleans(), st.booleans())
def test_beside_a_confident_adversary_it_keeps_its_own_beliefs(small, together, no_attack):
    """Both types infer equal surnames from shared computations, and reply differently."""
    game, together = small.game, "one-of" if together else "all"
    types = []
    for overconfident in (False, True):
        attack = replace(game.attack, overconfident=overconfident)
        linker = MultistageLinker(attack, game.world, game.space)
        types.append(AdversaryType(str(overconfident), 0.5, linker, attack))
    played = TypesGame(game.space, types, np.asarray(game.benefit), np.asarray(game.loss), together)
    found = best_against_several(played, no_attack=no_attack)
    assert found.solver == "best-first"
    expected = [
        best_by_hand(
            own, [replace(own.attack, overconfident=each) for each in (False, True)], [0.5, 0.5], together, no_attack
        )
        for own in small.plain
    ]
    np.testing.assert_array_equal(found.strategies, expected)
    general = branch_and_bound(played, Constraint(no_attack=no_attack))
    np.testing.assert_array_equal(general.strategies, expected)


@pytest.fixture(scope="module")
def town():
    return game_of(np.load(CARRIED / "mid_bf_m8_clean.npz", allow_pickle=False))


def test_doubt_below_the_threshold_still_keeps_the_surname_from_use(town):
    """With theta 1 no surname is used, so both equal the one-stage adversary."""
    alike = [with_adversary(town, overconfident=each, confidence_threshold=1.0) for each in (False, True)]
    choices = [best_first(game) for game in (*alike, town.one_stage())]
    for choice in choices[1:]:
        np.testing.assert_array_equal(choice.strategies, choices[0].strategies)
    # The nearest neighbour is trusted in any case.
    first, last = town.attack.stages
    certain = [
        with_adversary(town, stages=(replace(first, method="nearest-neighbour"), last), overconfident=each)
        for each in (False, True)
    ]
    found = [game.evaluate(best_first(game)) for game in certain]
    np.testing.assert_array_equal(found[0].strategies, found[1].strategies)
    np.testing.assert_array_equal(found[0].publisher_payoff, found[1].publisher_payoff)


def test_a_surname_inferred_with_no_confidence_at_all_is_not_believed():
    """A locus that never mutates differs: no common ancestor, although theta is 0."""
    targets = PersonTable("targets", {"a": np.array([5]), "age": np.array([1]), "surname": np.array([1])})
    genealogy = PersonTable("genealogy", {"a": np.array([6]), "surname": np.array([1])})
    people = {"age": np.array([1, 1, 1]), "surname": np.array([1, 2, 2])}
    world = MultistageWorld(targets, {"genealogy": genealogy, "registry": PersonTable("registry", people)})
    attack = two_stage_attack(("a",), np.zeros(1), linked=("age",), confidence_threshold=0.0)
    game = MaskingGame(MaskingSpace(("age", "a"), np.ones(2), 1), replace(attack, overconfident=True), world)
    everything = Choice(np.zeros(1, np.int64), "", np.ones(1, np.int64), exact=True)
    assert game.confidence(everything.strategies)[1][0] == 0
    for found in (game.evaluate(everything).success_probability[0], game.record_game.outcome(0).response.success[0]):
        assert found == pytest.approx(1 / 3)
