"""The game as an explicit tree, solved by Gambit and by hand, against reidsim.

The publisher picks a strategy, the adversary sees it and attacks or not, chance decides whether the attack succeeds.
The tree's money and probabilities are fractions, so that ties are exact. Subgame-perfect equilibria differ in the
reply of an indifferent adversary. Reidsim returns the equilibrium with the best payoff for the publisher: an
indifferent adversary does not attack, which never hurts the publisher.
"""

from fractions import Fraction
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games
from tiers import examples

from reidsim.games.backward_induction import backward_induction
from reidsim.games.branch_and_bound import branch_and_bound
from reidsim.games.equilibrium import evaluate
from reidsim.games.record_game import Constraint


@cache
def gambit():
    """Return Gambit, which is slow to import.

    The test extra installs it on platforms with a wheel, where the import must succeed.
    """
    import pygambit

    return pygambit


with_gambit = pytest.mark.skipif(find_spec("pygambit") is None, reason="needs the extra `oracles`")


@st.composite
def whole_money(draw, paper):
    """Draw whole dollar amounts.

    An attack on some group is often worth exactly its cost.
    """
    benefit, cost = draw(st.integers(0, 60)), draw(st.integers(0, 8))
    n = paper.n_p(draw(st.sampled_from(paper.strategies)))
    gain = draw(st.one_of(st.just(cost * n), st.integers(0, 100)))
    loss = draw(st.one_of(st.just(gain), st.integers(0, 100)))
    return float(benefit), float(loss), float(gain), float(cost)


def games(**limits):
    return small_games(max_records=1, same_money=True, money=whole_money, **limits)


def gambit_tree(paper):
    """Build the game tree with the publisher's moves in the order of `strategies`."""
    loss, gain, cost = (Fraction(amount) for amount in (paper.L, paper.G, paper.c))
    tree = gambit().Game.new_tree(players=["Publisher", "Adversary"])

    def end(node, *payoffs):
        outcome = tree.add_outcome(label=str(len(tree.outcomes)), payoffs=[gambit().Rational(p) for p in payoffs])
        tree.set_outcome(node, outcome)

    tree.append_move(tree.root, "Publisher", [str(g) for g in paper.strategies])
    for node, g in zip(tree.root.children, paper.strategies, strict=True):
        v, n = Fraction(paper.v(g)), paper.n_p(g)
        tree.append_move(node, "Adversary", ["no attack", "attack"])
        left_alone, attacked = node.children
        end(left_alone, v, 0)
        if n == 1:
            end(attacked, v - loss, gain - cost)
        else:
            tree.append_move(attacked, tree.players.chance, ["success", "failure"])
            tree.set_chance_probs(attacked.infoset, [gambit().Rational(1, n), gambit().Rational(n - 1, n)])
            success, failure = attacked.children
            end(success, v - loss, gain - cost)
            end(failure, v, -cost)
    return tree


def undecided_publisher(tree, profile):
    """Copy a profile with a fully mixed publisher, so that every subgame is reached."""
    everywhere = profile.copy()
    for action in tree.root.infoset.actions:
        everywhere[action] = gambit().Rational(1, len(tree.root.children))
    return everywhere


def adversary_regrets(tree, profile):
    everywhere = undecided_publisher(tree, profile)
    return [everywhere.infoset_regret(node.infoset) for node in tree.root.children]


def pure_profile(tree, strategy, attacks):
    """Return the profile of a publisher's strategy and the attacks by strategy."""
    profile = tree.mixed_behavior_profile(rational=True)
    for number, action in enumerate(tree.root.infoset.actions):
        profile[action] = int(number == strategy)
    for node, attacked in zip(tree.root.children, attacks, strict=True):
        for action, played in zip(node.infoset.actions, (not attacked, attacked), strict=True):
            profile[action] = int(played)
    return profile


def equilibrium_of(small):
    choice = backward_induction(small.game(), {"basic": Constraint()})["basic"]
    return evaluate(small.game(), choice)


@with_gambit
@given(small=games(max_strategies=7))
@examples(60)
def test_the_payoff_is_that_of_the_best_subgame_perfect_equilibrium_that_gambit_enumerates(small):
    tree = gambit_tree(small.paper(0))
    found = gambit().nash.enumpure_agent_solve(tree).equilibria
    # An equilibrium may rest on a threat that the adversary would not carry out; a subgame-perfect equilibrium may not.
    perfect = [profile for profile in found if not any(adversary_regrets(tree, profile))]
    best = max(perfect, key=lambda profile: profile.payoff("Publisher"))
    assert equilibrium_of(small).publisher_payoff[0] == pytest.approx(float(best.payoff("Publisher")), abs=1e-9)


@with_gambit
@given(small=games())
@examples(60)
def test_gambit_finds_nothing_to_regret_in_the_equilibrium(small):
    game, tree = small.game(), gambit_tree(small.paper(0))
    equilibrium = equilibrium_of(small)
    attacks = [bool(game.outcome(strategy).response.attacks[0]) for strategy in range(game.space.size)]
    profile = pure_profile(tree, int(equilibrium.strategies[0]), attacks)
    # v(g) is a logarithm, so equal payoffs of two strategies are equal up to rounding.
    assert float(profile.infoset_regret(tree.root.infoset)) <= 1e-9
    assert not any(adversary_regrets(tree, profile))
    assert float(profile.payoff("Publisher")) == pytest.approx(equilibrium.publisher_payoff[0], abs=1e-9)
    assert float(profile.payoff("Adversary")) == pytest.approx(equilibrium.adversary_payoff[0], abs=1e-9)


@with_gambit
@given(small=games())
@examples(60)
def test_the_payoff_is_that_of_backward_induction_over_gambits_nodes(small):
    tree = gambit_tree(small.paper(0))
    uniform = tree.mixed_behavior_profile(rational=True)
    replies = []
    for node in tree.root.children:
        left_alone, attack = node.infoset.actions
        replies.append(uniform.action_value(attack) > uniform.action_value(left_alone))
    solved = undecided_publisher(tree, pure_profile(tree, 0, replies))
    worth = [float(solved.node_value("Publisher", node)) for node in tree.root.children]
    equilibrium = equilibrium_of(small)
    assert equilibrium.publisher_payoff[0] == pytest.approx(max(worth), abs=1e-9)
    # The chosen strategy is the first of equal payoffs.
    assert equilibrium.strategies[0] == next(i for i, value in enumerate(worth) if value >= max(worth) - 1e-9)
    assert equilibrium.attacked[0] == replies[equilibrium.strategies[0]]


def solve(node):
    """Return both payoffs of a node in a tree of tuples, by backward induction."""
    kind, content = node
    if kind == "end":
        return content
    if kind == "chance":
        return tuple(sum(p * solve(child)[who] for p, child in content) for who in (0, 1))
    who = ("publisher", "adversary").index(kind)
    best = None
    for child in content:  # the first child wins ties: no attack comes first
        payoffs = solve(child)
        if best is None or payoffs[who] > best[who]:
            best = payoffs
    return best


def tuple_tree(paper, allowed=lambda g: True):
    loss, gain, cost = (Fraction(amount) for amount in (paper.L, paper.G, paper.c))
    moves = []
    for g in filter(allowed, paper.strategies):
        v, p = Fraction(paper.v(g)), Fraction(1, paper.n_p(g))
        ends = [(p, ("end", (v - loss, gain - cost))), (1 - p, ("end", (v, -cost)))]
        moves.append(("adversary", [("end", (v, Fraction(0))), ("chance", ends)]))
    return ("publisher", moves)


@given(small=games())
def test_both_payoffs_are_those_of_the_tree_solved_by_hand(small):
    publisher, _ = solve(tuple_tree(small.paper(0)))
    for choice in (backward_induction(small.game(), {"it": Constraint()})["it"], branch_and_bound(small.game())):
        equilibrium = evaluate(small.game(), choice)
        assert equilibrium.publisher_payoff[0] == pytest.approx(float(publisher), abs=1e-9)
        tied = [
            solve(move)[1]
            for move in tuple_tree(small.paper(0))[1]
            if abs(solve(move)[0] - publisher) <= Fraction(1, 10**9)
        ]
        # Strategies with equal publisher payoffs may have different adversary payoffs.
        assert min(abs(float(payoff) - equilibrium.adversary_payoff[0]) for payoff in tied) <= 1e-9
        assert equilibrium.adversary_payoff[0] >= 0


@given(small=games())
def test_constraints_prune_the_publishers_moves_from_the_tree(small):
    paper = small.paper(0)
    safe = tuple_tree(paper, lambda g: Fraction(paper.G) / paper.n_p(g) <= Fraction(paper.c))
    at_least = tuple_tree(paper, lambda g: all(a >= b for a, b in zip(g, small.minimum[0], strict=True)))
    minimum = small.minimum_numbers()
    for tree, constraint in ((safe, Constraint(no_attack=True)), (at_least, Constraint(minimum=minimum))):
        equilibrium = evaluate(small.game(), backward_induction(small.game(), {"it": constraint})["it"])
        payoffs = solve(tree)
        assert bool(equilibrium.withheld[0]) == (payoffs is None)
        if payoffs is not None:
            assert equilibrium.publisher_payoff[0] == pytest.approx(float(payoffs[0]), abs=1e-9)


@with_gambit
def test_gambits_tree_of_an_example_worked_out_by_hand():
    """Check the tree: 10 - 20/2 attacked, 4 unattacked; the adversary nets 20/2 - 3."""

    class Example:
        strategies = ((0,), (1,))
        L, G, c = 20.0, 20.0, 3.0

        def v(self, g):
            return (10.0, 4.0)[g[0]]

        def n_p(self, g):
            return (2, 10)[g[0]]

    tree = gambit_tree(Example())
    attacked = pure_profile(tree, 0, [True, False])
    assert (attacked.payoff("Publisher"), attacked.payoff("Adversary")) == (0, 7)
    assert attacked.max_regret() == attacked.infoset_regret(tree.root.infoset) == 4  # of the second strategy
    solved = pure_profile(tree, 1, [True, False])
    assert (solved.payoff("Publisher"), solved.payoff("Adversary"), solved.max_regret()) == (4, 0, 0)
    empty_threat = pure_profile(tree, 1, [False, False])
    assert adversary_regrets(tree, empty_threat) == [7, 0]
    np.testing.assert_array_equal(solve(tuple_tree(Example())), (4, 0))
