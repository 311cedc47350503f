"""The contract of every defender, against every adversary on every strategy space."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from contract_worlds import BENEFIT, LOSS, PLAYERS, SMALL, every_game, knowledge_of, masking_world
from found import at_least
from hypothesis import given
from masking_worlds import small_worlds
from recoding_defenders import WholeTable, in_regions, in_rounds, one_node
from tiers import cases, examples

from reidsim.adversaries.response import AlwaysAttacks
from reidsim.games.cross_play import BestReply, FixedForms, OptIn, SameForm, outcome_of, record_game_of
from reidsim.games.masking.game import PartialKnowledgeGame
from reidsim.games.record_game import WITHHELD

GAMES = every_game()
WEIGHTS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
DEFENDERS = {
    "best-reply": BestReply(),
    "best-reply-or-nothing": BestReply(may_withhold=True),
    "no-attack": BestReply("no-attack", no_attack=True),
    "same-form": SameForm(),
    "one-node": WholeTable(one_node),
    "one-node-limited": WholeTable(one_node, limit=0.3),
    "one-node-no-attack": WholeTable(one_node, no_attack=True),
    "same-form-unattacked": SameForm(no_attack=True),
    "opt-in": OptIn(),
    "share-all": FixedForms("share-all", 0),
    "share-nothing": FixedForms("share-nothing", WITHHELD),
    "local-recoding": WholeTable(in_rounds),
    "local-recoding-no-attack": WholeTable(in_rounds, no_attack=True, limit=0.5),
    "multi-dimensional": WholeTable(in_regions),
    "multi-dimensional-no-attack": WholeTable(in_regions, no_attack=True, limit=0.3),
}
COMPILED = ("masking-compiled", "masking-one-stage-compiled")


def can_play(defender, game):
    """Return whether a defender supports a game.

    Some defenders need levels of hierarchies.
    """
    return game.startswith("lattice") or not defender.startswith(("one-node", "local", "multi-dimensional"))


EVERY_PAIR = at_least(280, ((defender, game) for defender in DEFENDERS for game in GAMES if can_play(defender, game)))


def one_game_each():
    """Return one pair per defender and adversary, alternating between strategy spaces."""
    games_of = {}
    for defender, game in EVERY_PAIR:
        games_of.setdefault((defender, game.split("-", 1)[1]), []).append(game)
    return [(key[0], games[turn % len(games)]) for turn, (key, games) in enumerate(games_of.items())]


PAIRS = cases(EVERY_PAIR, one_game_each())


@cache
def payoffs_of_all_forms(game):
    """Return publisher payoffs and attacks under every form.

    Both arrays have shape (n_forms, n_records); forms are evaluated one after the other.
    """
    plain = record_game_of(GAMES[game])
    outcomes = [plain.outcome(form) for form in range(plain.space.size)]
    return np.array([o.publisher_payoff for o in outcomes]), np.array([o.response.attacks for o in outcomes])


@cache
def chosen_by(defender, game):
    return DEFENDERS[defender].choose(GAMES[game])


@pytest.mark.parametrize(("defender", "game"), PAIRS)
def test_choices_are_well_formed_and_no_better_than_the_best_reply(defender, game):
    choice = chosen_by(defender, game)
    n, size = GAMES[game].n_records, record_game_of(GAMES[game]).space.size
    assert choice.strategies.shape == choice.evaluated.shape == (n,)
    assert choice.strategies.dtype == np.int64
    assert ((choice.strategies >= WITHHELD) & (choice.strategies < size)).all()
    payoff, _ = payoffs_of_all_forms(game)
    reached = outcome_of(GAMES[game], choice).publisher_payoff
    assert (reached <= np.maximum(payoff.max(axis=0), 0.0) + 1e-9).all()


COPIED = ("lattice-one-shot", "masking-multistage", "masking-compiled", "lattice-types-all")


@pytest.mark.parametrize(
    ("defender", "game"),
    cases(
        [pair for pair in EVERY_PAIR if pair[1] in COPIED],
        {pair[0]: pair for pair in one_game_each() if pair[1] in COPIED}.values(),
    ),
)
def test_defenders_and_games_survive_pickling(defender, game):
    copies = pickle.loads(pickle.dumps((DEFENDERS[defender], GAMES[game])))  # noqa: S301
    np.testing.assert_array_equal(copies[0].choose(copies[1]).strategies, chosen_by(defender, game).strategies)


@pytest.mark.parametrize("game", GAMES)
def test_the_best_reply_is_the_best_of_all_forms(game):
    payoff, attacks = payoffs_of_all_forms(game)
    chosen = chosen_by("best-reply-or-nothing", game)
    assert chosen.exact
    reached = outcome_of(GAMES[game], chosen).publisher_payoff
    np.testing.assert_allclose(reached, np.maximum(payoff.max(axis=0), 0.0), atol=1e-9)
    safe = outcome_of(GAMES[game], chosen_by("no-attack", game))
    assert not safe.attacked.any()
    allowed = np.where(attacks, -np.inf, payoff).max(axis=0)
    np.testing.assert_allclose(safe.publisher_payoff, np.maximum(allowed, 0.0), atol=1e-9)


@pytest.mark.parametrize("game", GAMES)
def test_the_same_form_is_the_best_one_for_all(game):
    payoff, attacks = payoffs_of_all_forms(game)
    weights = WEIGHTS[: GAMES[game].n_records]

    def most(shared, limit=1.0):
        withheld = (weights * ~shared).sum(axis=1)
        sums = np.where(shared, payoff, 0.0) @ weights
        return max([0.0, *sums[withheld <= np.floor(limit * weights.sum())].tolist()])

    everybody, pays = np.ones(payoff.shape, dtype=bool), payoff > 1e-9
    for defender, expected in (
        (SameForm(weights=weights), most(everybody, 0.0)),
        (WholeTable(one_node, weights=weights), most(pays)),
        (WholeTable(one_node, weights=weights, limit=0.3), most(pays, 0.3)),
        (WholeTable(one_node, weights=weights, no_attack=True), most(pays & ~attacks)),
    )[: 4 if game.startswith("lattice") else 1]:
        chosen = defender.choose(GAMES[game])
        assert len(set(chosen.strategies.tolist()) - {WITHHELD}) <= 1
        reached = outcome_of(GAMES[game], chosen).publisher_payoff @ weights
        assert reached == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("game", COMPILED)
def test_one_strategy_for_all_is_that_of_the_compiled_search(game):
    compiled = SameForm().choose(GAMES[game])
    general = SameForm().choose(record_game_of(GAMES[game]))
    np.testing.assert_array_equal(compiled.strategies, general.strategies)


@given(world=small_worlds(chain="three-stage"))
@examples(5)
def test_one_strategy_for_all_against_a_longer_chain(world):
    """Compiled solvers do not support this attack; the oracle tries every strategy."""
    chosen = SameForm().choose(world.game)
    sums = [
        sum(target.payoff(world.levels(strategy)) for target in world.plain) for strategy in range(world.space.size)
    ]
    reached = outcome_of(world.game, chosen).publisher_payoff.sum()
    assert reached == pytest.approx(max(0.0, *sums), abs=1e-9)


def test_a_minimum_is_kept_to():
    lattice = SMALL.lattice()
    minimum, game = lattice.index((1, 0, 1)), GAMES["lattice-one-shot"]
    chosen = WholeTable(one_node, minimum=minimum).choose(game).strategies
    assert lattice.at_least(int(chosen.max()), np.array([minimum])).all()


@pytest.mark.parametrize("name", sorted(DEFENDERS))
def test_who_does_not_plan_does_not_look_at_the_adversary(name):
    """A defender that plans against it changes its choice in some pair of games."""
    chosen = {
        space: [chosen_by(name, game).strategies for game in GAMES if game.startswith(space) and can_play(name, game)]
        for space in ("lattice", "masking")
    }
    alike = all((one == other).all() for games in chosen.values() for one in games for other in games)
    assert alike == (not DEFENDERS[name].plans)


def test_a_choice_rests_on_the_game_that_is_believed_in():
    """Payoff parameters of an adversary who always attacks change no choice."""
    game = GAMES["lattice-always"]
    richer = replace(game, adversary=AlwaysAttacks(1e6, 0.0))
    for defender in (each for name, each in DEFENDERS.items() if can_play(name, "lattice-always")):
        np.testing.assert_array_equal(defender.choose(game).strategies, defender.choose(richer).strategies)


@pytest.mark.parametrize("space", ["lattice", "masking"])
def test_opting_in_pays_or_is_left(space):
    for name in GAMES:
        if name.startswith(space):
            payoff, _ = payoffs_of_all_forms(name)
            chosen = OptIn().choose(GAMES[name]).strategies
            np.testing.assert_array_equal(chosen, np.where(payoff[0] > 0, 0, WITHHELD))


def partial_knowledge():
    game = masking_world()
    on = ("age", "state")
    attack = replace(game.attack, stages=(replace(game.attack.identify, on=on),))
    known = knowledge_of(on, game.n_records)
    return PartialKnowledgeGame(game.space, attack, game.world, BENEFIT, LOSS, knowledge=known)


def test_partial_knowledge_in_a_masking_game_is_replied_to_exactly():
    game, player = partial_knowledge(), PLAYERS["masking-partial-knowledge"]
    found = outcome_of(game, BestReply().choose(game)).publisher_payoff
    expected = outcome_of(player.game, BestReply(may_withhold=True).choose(player.game)).publisher_payoff
    np.testing.assert_allclose(found, expected, atol=1e-9)
