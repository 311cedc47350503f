"""The game as an explicit tree, solved by Gambit and by hand, against reidsim.

The publisher picks a strategy, the adversary sees it and attacks or not, chance decides whether the attack succeeds.
The tree's money and probabilities are fractions, so that ties are exact. Subgame-perfect equilibria differ in the
reply of an indifferent adversary. Reidsim returns the equilibrium with the best payoff for the publisher: an
indifferent adversary does not attack, which never hurts the publisher.
"""

from fractions import Fraction
from functools import cache
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import small_games
from tiers import examples

from reidsim.games.backward_induction import backward_induction
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
