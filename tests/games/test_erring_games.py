"""Games against adversaries who err: exact searches against full enumeration.

Quantal responses and subgame-perfect equilibria are compared with Gambit.
"""

import math
from fractions import Fraction
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from contract_worlds import PLAYERS, SPACES, in_steps
from found import at_least
from hypothesis import given
from hypothesis import strategies as st
from recoding_defenders import WholeTable, in_regions, in_rounds
from small_games import small_games
from tiers import cases, examples

from reidsim.adversaries.rationality import ErringAdversary, ProspectTheory
from reidsim.games.composite import AdversaryType, TypesGame, averaged
from reidsim.games.cross_play import BestReply, SameForm
from reidsim.games.full_domain.game import AnyAdversaryGame, FullDomainGame
from reidsim.games.full_domain.search import explore, search
from reidsim.games.outcomes import evaluate
from reidsim.games.record_game import WITHHELD, Constraint, Prices, RecordGame
from reidsim.games.solvers import backward_induction, branch_and_bound, lattice_search
from reidsim.releases.lattice import GeneralizationLattice

THEORY = ProspectTheory(loss_aversion=1.2)
# Parameters of each kind of error; prospects are of a single attempt.
ERRORS = {"coin": (0.0, None), "logit": (0.08, None), "prospect": (None, THEORY), "prospect-logit": (0.3, THEORY)}
ERRING = at_least(
    36,
    [
        (name, errors)
        for name in sorted(PLAYERS)
        for errors, (_, prospect) in ERRORS.items()
        if name.split("-")[1] not in ("always", "never", "random") and not (prospect and in_steps(name))
    ],
)

FEW = [
    ("lattice-one-shot", "coin"), ("lattice-multistage", "prospect"), ("lattice-partial-knowledge", "logit"),
    ("lattice-fmdp-unconfirmed", "logit"), ("masking-multistage", "prospect-logit"), ("masking-fmdp", "coin"),
]  # fmt: skip


def erring(game, precision, prospect=None):
    return RecordGame(
        game.space, game.linker, ErringAdversary(game.adversary, precision, prospect), game.benefit, game.loss
    )


def by_paper(small, i, precision):
    """Return payoffs and attack worths of a record by strategy.

    From the paper's formulas and the quantal response.
    """
    paper = small.paper(i)
    payoffs, worths = [], []
    for g in paper.strategies:
        worth = paper.G * paper.believed_pi(g) - paper.c
        chance = 1 / (1 + math.exp(-max(min(precision * worth, 700), -700)))
        payoffs.append(paper.v(g) - chance * paper.L * paper.pi(g))
        worths.append(worth)
    return payoffs, worths


@given(small=small_games(mistaken_adversary=True), precision=st.sampled_from([0.0, 1e-3, 0.05, 1.0, 1e9]))
@examples(100)
def test_branch_and_bound_pays_what_the_best_of_all_strategies_does(small, precision):
    game = erring(small.game(), precision)
    bounded, enumerated = branch_and_bound(game), backward_induction(game, Constraint())
    np.testing.assert_array_equal(bounded.strategies, enumerated.strategies)
    assert (bounded.evaluated <= enumerated.evaluated).all()
    found = evaluate(game, bounded)
    for i in range(small.n_records):
        payoffs, worths = by_paper(small, i, precision)
        close = {"rel": 1e-9, "abs": 1e-9 * small.scale[i]}
        # If an attack is worth zero up to rounding, a high precision amplifies the rounding error.
        if precision > 1 and min(map(abs, worths)) < 1e-6 * small.scale[i]:
            continue
        assert found.publisher_payoff[i] == pytest.approx(max(payoffs), **close)


@given(small=small_games(), precision=st.sampled_from([0.0, 0.05, 1.0]))
@examples(60)
def test_no_attack_keeps_to_forms_at_which_an_attack_does_not_pay(small, precision):
    game = erring(small.game(), precision)
    constraint = Constraint(no_attack=True, minimum=small.minimum_numbers())
    choice = branch_and_bound(game, constraint)
    np.testing.assert_array_equal(choice.strategies, backward_induction(game, constraint).strategies)
    for i, strategy in enumerate(choice.strategies.tolist()):
        paper, (payoffs, _) = small.paper(i), by_paper(small, i, precision)
        allowed = [
            number
            for number, g in enumerate(paper.strategies)
            if not paper.attacks(g) and all(a >= b for a, b in zip(g, small.minimum[i], strict=True))
        ]
        assert (strategy == WITHHELD) == (not allowed)
        if allowed:
            assert strategy in allowed
            assert payoffs[strategy] == pytest.approx(max(payoffs[a] for a in allowed), abs=1e-9 * small.scale[i])


@pytest.mark.parametrize(("name", "errors"), cases(ERRING, FEW))
def test_every_search_agrees_with_enumeration_of_every_linkage(name, errors):
    game = erring(PLAYERS[name].game, *ERRORS[errors])
    n, size = game.n_records, game.space.size
    payoffs = np.stack([game.outcome(strategy).publisher_payoff for strategy in range(size)])
    # Every bound rests on this rule: no reply makes a form pay more than its benefit.
    benefits = np.stack([game.benefit_of(strategy) for strategy in range(size)])
    assert (payoffs <= benefits + 1e-12).all()
    best = payoffs.max(axis=0)
    np.testing.assert_allclose(evaluate(game, BestReply().choose(game)).publisher_payoff, best, atol=1e-9)
    alike = SameForm().choose(game)
    assert evaluate(game, alike).publisher_payoff.sum() == pytest.approx(max(payoffs.sum(axis=1).max(), 0.0))
    greedy = evaluate(game, lattice_search(game))
    assert (greedy.publisher_payoff <= best + 1e-9).all()
    if isinstance(game.space, GeneralizationLattice):
        suppressing = np.maximum(payoffs, 0.0).sum(axis=1)
        released = np.ones(n, dtype=np.int64)
        prices = Prices(game.benefit[0], game.loss[0], 0.0, 0.0)
        whole = AnyAdversaryGame.from_record_game(FullDomainGame(game.space, released, prices), game)
        for prune in (True, False):
            assert search(whole, prune=prune).payout == pytest.approx(suppressing.max())
        assert explore(whole, nodes=10 * size)[0].payout == pytest.approx(suppressing.max())
        rounds = evaluate(game, WholeTable(in_rounds).choose(game)).publisher_payoff.sum()
        assert rounds >= suppressing.max() - 1e-9
        assert evaluate(game, WholeTable(in_regions).choose(game)).publisher_payoff.sum() >= suppressing.max() - 1e-9


def test_the_whole_table_without_inviting_attacks_suppresses_the_rest():
    game = erring(PLAYERS["lattice-one-shot"].game, 0.08)
    prices = Prices(game.benefit[0], game.loss[0], 0.0, 0.0)
    released = np.ones(game.n_records, dtype=np.int64)
    table = FullDomainGame(game.space, released, prices, no_attack=True, safe_class="at-least")
    whole = AnyAdversaryGame.from_record_game(table, game)
    best = -1.0
    for strategy in range(game.space.size):
        outcome = game.outcome(strategy)
        kept = ~outcome.response.invited & (outcome.publisher_payoff >= 0)
        np.testing.assert_array_equal(whole.kept_at(strategy), kept)
        best = max(best, outcome.publisher_payoff[kept].sum())
    solution = search(whole)
    assert solution.payout == pytest.approx(best)
    # Random attacks remain: no shared record is safe from them.
    kept = whole.kept_at(solution.node)
    assert kept.any()
    assert (game.outcome(solution.node).response.attack_probability[kept] > 0).all()


@pytest.mark.parametrize(("space", "together"), [("lattice", "one-of"), ("lattice", "worst"), ("masking", "all")])
def test_types_who_err_are_weighed_by_how_often_they_attack(space, together):
    players, weights = [SPACES[space][name] for name in ("one-shot", "multistage", "fmdp")], (0.5, 0.3, 0.2)
    errors = ((0.05, None), (0.2, THEORY), (0.1, None))
    types = [
        AdversaryType(str(number), weight, player.linker, ErringAdversary(player.adversary, *errs))
        for number, (player, weight, errs) in enumerate(zip(players, weights, errors, strict=True))
    ]
    one = players[0].game
    game = TypesGame(one.space, types, one.benefit, one.loss, together)
    payoffs = []
    for strategy in range(game.space.size):
        replies = [each.adversary.respond(each.linker.link(strategy)) for each in types]
        risks = np.stack([reply.reidentified for reply in replies])
        shares = np.array(weights)[:, None] * risks
        risk = {"one-of": shares.sum(axis=0), "all": 1 - np.prod(1 - shares, axis=0), "worst": risks.max(axis=0)}
        outcome = game.outcome(strategy)
        expected = game.benefit_of(strategy) - game.loss * risk[together]
        np.testing.assert_allclose(outcome.publisher_payoff, expected, atol=1e-9)
        invited = np.stack([reply.invited for reply in replies]).any(axis=0)
        np.testing.assert_array_equal(outcome.response.invited, invited)
        payoffs.append(expected)
    best = np.stack(payoffs).max(axis=0)
    np.testing.assert_allclose(evaluate(game, branch_and_bound(game)).publisher_payoff, best, atol=1e-9)
    average = averaged(types)[0]
    assert isinstance(average.adversary, ErringAdversary)
    assert average.adversary.precision == 0.05


# The game as an explicit tree, solved by Gambit and by hand, against reidsim.


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
    choice = backward_induction(small.game(), Constraint())
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
@given(small=games(max_strategies=4), precision=st.sampled_from([0.01, 0.05, 0.1]))
@examples(25)
def test_attacks_are_those_of_gambits_logit_branch(small, precision):
    game, tree = erring(small.game(), precision), gambit_tree(small.paper(0))
    (response,) = gambit().qre.logit_solve_lambda(tree, precision)
    size, payoffs = game.space.size, []
    # The publisher's actions come first, then two actions of the adversary for each.
    assert len(response) == 3 * size
    for strategy in range(size):
        outcome = game.outcome(strategy)
        attacks = response[size + 2 * strategy + 1]
        assert outcome.response.attack_probability[0] == pytest.approx(attacks, abs=1e-6)
        payoffs.append(outcome.publisher_payoff[0])
    found = evaluate(game, branch_and_bound(game))
    assert found.publisher_payoff[0] == pytest.approx(max(payoffs), abs=1e-9)
