"""Strategies that may win, found once, against working out all of them in every game to which they belong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, game_of, small_games
from tiers import examples

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.adversaries.simple_behaviours import AlwaysAttacks, NeverAttacks
from reidsim.games.adversary_types import AdversaryType, TypesGame
from reidsim.games.backward_induction import backward_induction
from reidsim.games.contenders import Contenders
from reidsim.games.memory import RememberingAdversary, RememberingLinker
from reidsim.games.record_game import Constraint, PopulationLinker, RecordGame
from reidsim.releases.lattice import GeneralizationLattice

PAIRS = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
# A record in crowds of 40 to 100 people: what generalizing saves is less than what it costs.
CROWD = game_of([PAIRS], [(0,)] * 40 + [(1,)] * 20 + [(3,)] * 40, [(0,)], benefit=100.0, loss=100.0, gain=9.0, cost=1.0)


@st.composite
def rounds(draw):
    """Two games on the same links: as many types, with other amounts and weights, who meet the publisher otherwise.

    In some they remember what was released before, and link by that, too.
    """
    small = draw(small_games(max_attributes=3, max_strategies=24, max_records=3))
    lattice, n = small.lattice(), small.n_records
    people = [draw(st.sampled_from([small.people, small.people[: len(small.people) // 2 + 1]])) for _ in range(2)]
    linkers = [replace(small, people=each).linker(lattice) for each in people[: draw(st.integers(1, 2))]]

    past = draw(st.none() | st.lists(st.integers(-1, lattice.size - 1), min_size=n, max_size=n).map(np.array))
    rows, which = np.arange(n), np.zeros(n, dtype=np.intp)

    def remembering(linker, adversary):
        if past is None:
            return linker, adversary
        return RememberingLinker((linker,), which, rows, past, lattice.meet), RememberingAdversary(adversary)

    def game():
        shares = [draw(st.integers(1, 4)) for _ in linkers]
        types = [
            AdversaryType(
                str(number),
                share / sum(shares),
                *remembering(
                    linker, OneShotAdversary(np.array([draw(amounts) for _ in range(n)]), draw(amounts) / 100)
                ),
            )
            for number, (share, linker) in enumerate(zip(shares, linkers, strict=True))
        ]
        nobody = AdversaryType("nobody", 0.0, linkers[0], NeverAttacks())
        together = draw(st.sampled_from(["one-of", "all", "worst"]))
        return TypesGame(lattice, [*types, nobody], np.array(small.benefit), np.array(small.loss), together)

    minimum = draw(st.sampled_from([None, small.minimum_numbers()]))
    return game(), game(), Constraint(minimum=minimum)


@given(case=rounds())
@examples(60)
def test_they_decide_every_game_on_their_links_as_all_strategies_do(case):
    first, second, constraint = case
    contenders = Contenders.of(first, constraint)
    for game in (first, second):
        assert contenders.are_of(game, constraint)
        full = backward_induction(game, {"it": constraint})["it"]
        thinned = backward_induction(game, {"it": constraint}, contenders=contenders)["it"]
        np.testing.assert_array_equal(thinned.strategies, full.strategies)
        np.testing.assert_array_equal(thinned.evaluated, full.evaluated)


def test_what_pays_less_than_another_one_under_attack_is_left_out():
    game = CROWD.game()
    contenders = Contenders.of(game, Constraint())
    assert contenders.pairs[0].strategies.tolist() == [0]
    # With so much to lose even a crowd of forty may be worth leaving.
    dear = replace(game, loss=np.array([3000.0]))
    assert not contenders.are_of(dear, Constraint())
    assert Contenders.of(dear, Constraint()).pairs[0].strategies.tolist() == [0, 1]
    # What is below the minimum is not held against the others.
    lowest = Constraint(minimum=np.array([1]))
    assert not contenders.are_of(game, lowest)
    assert Contenders.of(game, lowest).pairs[0].strategies.tolist() == [1]


def test_they_are_those_of_the_same_links_and_stakes():
    game = CROWD.game()
    contenders = Contenders.of(game, Constraint())
    assert contenders.are_of(replace(game, adversary=OneShotAdversary(7.0, 0.5)), Constraint())
    other = PopulationLinker(game.linker.group_sizes)
    assert not contenders.are_of(replace(game, linker=other), Constraint())
    assert not contenders.are_of(replace(game, benefit=game.benefit + 1.0), Constraint())
    assert not contenders.are_of(replace(game, adversary=AlwaysAttacks(9.0, 1.0)), Constraint())
    assert not contenders.are_of(game, Constraint(no_attack=True))


@pytest.mark.parametrize(
    ("adversary", "constraint"),
    [(AlwaysAttacks(9.0, 1.0), Constraint()), (OneShotAdversary(9.0, 1.0), Constraint(no_attack=True))],
)
def test_none_are_known_of_other_adversaries_and_where_no_attack_is_allowed(adversary, constraint):
    assert Contenders.of(replace(CROWD.game(), adversary=adversary), constraint) is None


def test_without_records_none_are_listed():
    game = CROWD.game()
    nobody = RecordGame(game.space.of(slice(0)), game.linker, game.adversary, np.zeros(0), np.zeros(0))
    contenders = Contenders.of(nobody, Constraint())
    assert len(backward_induction(nobody, {"it": Constraint()}, contenders=contenders)["it"].strategies) == 0


def test_where_nearly_all_may_win_none_are_listed():
    many = 40
    levels = (tuple(range(many)), *(tuple(max(value, level) for value in range(many)) for level in range(1, many)))
    game = game_of(
        [tuple(tuple(np.unique(level, return_inverse=True)[1].tolist()) for level in levels)],
        [(0,)], [(0,)], benefit=1.0, loss=1e9, gain=1.0, cost=1.0,
    ).game()  # fmt: skip
    contenders = Contenders.of(game, Constraint())
    assert contenders.pairs is None
    choice = backward_induction(game, {"it": Constraint()}, contenders=contenders)["it"]
    assert choice.strategies.tolist() == backward_induction(game, {"it": Constraint()})["it"].strategies.tolist()


def test_a_lattice_of_somebodys_own_is_worth_what_it_says():
    class Own(GeneralizationLattice):
        def utility(self, strategy, rows=None):
            return np.maximum(super().utility(strategy, rows), 0.0) ** 0.2

    levels = ((0, 1, 2), (0, 0, 0))
    small = game_of(
        [levels] * 2, [(0, 0)] * 30 + [(0, 1)] * 30, [(0, 0), (0, 1)], benefit=900.0, loss=8e3, gain=300.0, cost=4.0
    )
    of_losses = small.game()
    game = replace(of_losses, space=Own(of_losses.space.hierarchies, of_losses.space.codes))
    payoffs = np.array([game.outcome(strategy).publisher_payoff for strategy in range(game.space.size)])
    chosen = backward_induction(game, {"basic": Constraint()})["basic"].strategies
    assert chosen.tolist() == payoffs.argmax(axis=0).tolist()
    assert chosen.tolist() != backward_induction(of_losses, {"basic": Constraint()})["basic"].strategies.tolist()
