"""The publisher against the sequential adversary: replies and best replies."""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from sequential_programs.attacks import attacks
from sequential_programs.paper_attack import paper_of
from small_games import game_of, small_games
from tiers import examples

from reidsim.adversaries.response import Linkage
from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import SequentialAdversary
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import WITHHELD, Constraint, PopulationLinker, RecordGame
from reidsim.games.solvers import backward_induction, branch_and_bound
from reidsim.linkage.group_sizes import GroupSizes


def binomial(n, p):
    return {k: math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}


@dataclass(frozen=True)
class Setting:
    """A small game against a sequential adversary with a (complete) registry."""

    small: object
    attack: SequentialAttack
    listed: tuple | None
    registry_size: int | None  # before access, the adversary knows only the registry's size

    def game(self):
        lattice = self.small.lattice()
        everybody = GroupSizes(self.small.population(), lattice)
        if self.listed is None:
            linker = PopulationLinker(everybody, population=everybody)
        else:
            registry = GroupSizes(self.small.population(self.listed), lattice, holds_records=False)
            linker = PopulationLinker(registry, population=everybody)
        adversary = SequentialAdversary(self.attack, self.registry_size)
        return RecordGame(lattice, linker, adversary, np.array(self.small.benefit), np.array(self.small.loss))

    def worked_out(self):
        """Return payoff, attack, success and adversary's payoff by record and strategy.

        Strategies are in lexicographic order.
        """
        process, outcomes, seen = paper_of(self.attack), [], set()
        play, margin = cache(process.play), cache(process.margin)
        for i in range(self.small.n_records):
            paper = self.small.paper(i)
            rows = []
            for g in paper.strategies:
                match = paper.n_p(g)
                size = match if self.listed is None else replace(paper, people=self.listed)._matching(self.listed, g)
                share = match / len(self.small.people)
                belief = {size: 1.0} if self.registry_size is None else binomial(self.registry_size, share)
                hoped = process.hope(belief)
                seen |= {abs(hoped) or 1.0, *(margin(k) for k in {size, *belief} if k)}
                success, exploits, payoff = play(size, hoped > 0)
                rows.append((paper.v(g) - paper.L * success, hoped > 0, success, payoff, exploits))
            outcomes.append(rows)
        return outcomes, min(seen) > 1e-9 * self.attack.gain

    def best(self, rows, i, no_attack):
        """Return the first strategy within rounding of the best, -1 if none is allowed."""
        best = WITHHELD
        for number, (payoff, is_attacked, *_) in enumerate(rows):
            if no_attack and is_attacked:
                continue
            if best == WITHHELD or payoff - rows[best][0] > 1e-12 * (self.small.benefit[i] + self.small.loss[i]):
                best = number
        return best


@st.composite
def small_settings(draw):
    small = draw(small_games(max_attributes=3, max_strategies=24, max_records=3))
    some = st.lists(st.sampled_from(small.people), min_size=1, max_size=12).map(tuple)
    return Setting(
        small=small,
        attack=draw(attacks(limits=(None, 1, 2))),
        listed=draw(st.one_of(st.none(), some)),
        registry_size=draw(st.sampled_from([None, None, 1, 2, 16])),
    )


@given(setting=small_settings())
@examples(150, fast=5)
def test_the_publishers_best_reply_is_that_of_trying_every_strategy(setting):
    outcomes, clear = setting.worked_out()
    assume(clear)
    game, small = setting.game(), setting.small
    for name in ("basic", "no-attack"):
        choice = backward_induction(game, Constraint(no_attack=name == "no-attack"))
        expected = [setting.best(rows, i, name == "no-attack") for i, rows in enumerate(outcomes)]
        assert choice.strategies.tolist() == expected
        assert branch_and_bound(game, Constraint(no_attack=name == "no-attack")).strategies.tolist() == expected
        equilibrium = evaluate(game, choice)
        for i, best in enumerate(expected):
            if best == WITHHELD:
                assert all(is_attacked for _, is_attacked, *_ in outcomes[i])
                continue
            payoff, attacks, success, adversary, _ = outcomes[i][best]
            event(f"{name}: attacked {attacks}")
            close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
            assert equilibrium.publisher_payoff[i] == pytest.approx(payoff, **close)
            assert equilibrium.attacked[i] == attacks
            assert equilibrium.success_probability[i] == pytest.approx(success, rel=1e-9)
            assert equilibrium.adversary_payoff[i] == pytest.approx(adversary, rel=1e-9, abs=1e-9 * setting.attack.gain)
            assert name == "basic" or not attacks


@given(setting=small_settings())
@examples(100)
def test_every_reply_is_the_adversarys_best(setting):
    outcomes, clear = setting.worked_out()
    assume(clear)
    game = setting.game()
    for strategy in range(game.space.size):
        response = game.outcome(strategy).response
        for i, rows in enumerate(outcomes):
            _, attacks, success, payoff, exploits = rows[strategy]
            assert response.attacks[i] == attacks
            assert response.success[i] == pytest.approx(success, rel=1e-9)
            assert response.reidentified[i] == pytest.approx(success, rel=1e-9)
            assert response.adversary_payoff[i] == pytest.approx(payoff, rel=1e-9, abs=1e-9 * setting.attack.gain)
            assert response.exploits[i] == pytest.approx(exploits, rel=1e-9)


XIA = SequentialAttack(gain=8000, exploit_cost=10, penalty=10_000, access_cost=100, prior=0.63)


def linked(sizes, believed=None, share=None):
    sizes = np.array(sizes)
    return Linkage(sizes, sizes if believed is None else np.array(believed), None if share is None else np.array(share))


def test_decisions_rest_on_belief_and_outcomes_on_truth():
    response = SequentialAdversary(XIA).respond(linked([60, 10, 48, 10, 0], believed=[10, 60, 10, 10, 10]))
    assert response.attacks.tolist() == [True, False, True, True, True]
    # After access, it continues up to groups of 50; for larger groups, it has paid for nothing.
    np.testing.assert_allclose(response.success, [0, 0, 0.63, 0.63, 0])
    np.testing.assert_allclose(response.believed_success, [0.63, 0, 0.63, 0.63, 0.63])
    assert response.adversary_payoff[[0, 1, 4]].tolist() == [-100, 0, -100]
    assert -100 < response.adversary_payoff[2] < 0 < response.adversary_payoff[3]
    assert response.exploits[[0, 1, 4]].tolist() == [0, 0, 0]


def test_publishers_leave_alone_what_is_too_rare_to_be_looked_up():
    # One attribute: 1 of 1000 people, then 300, then all. The registry lists 16 of them, and the access cost is lost if
    # no entry matches.
    levels = (tuple(range(3)), (0, 0, 1), (0, 0, 0))
    people = [(0,)] + [(1,)] * 299 + [(2,)] * 700
    small = game_of([levels], people, [(0,)], benefit=100.0, loss=100.0, gain=0.0, cost=0.0)
    attack = SequentialAttack(gain=100, access_cost=20, exploit_cost=11, discount=1.0)
    setting = Setting(small, attack, tuple([(1,)] * 5 + [(2,)] * 11), 16)
    outcomes, clear = setting.worked_out()
    assert clear
    assert [is_attacked for _, is_attacked, *_ in outcomes[0]] == [False, True, False]  # not monotone
    game = setting.game()
    assert [bool(game.outcome(strategy).response.attacks[0]) for strategy in range(3)] == [False, True, False]
    for constraint in (Constraint(), Constraint(no_attack=True)):
        assert branch_and_bound(game, constraint).strategies.tolist() == [0]
        assert backward_induction(game, constraint).strategies.tolist() == [0]
    # From the second level on: branch and bound must search beyond the attacked form.
    below = Constraint(no_attack=True, minimum=np.array([1]))
    assert branch_and_bound(game, below).strategies.tolist() == [2]
    assert backward_induction(game, below).strategies.tolist() == [2]
