"""The masking game against partial knowledge, by enumeration of people and sets."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from masking_worlds import person_table
from small_knowledge import probabilities
from tiers import examples

from reidsim.adversaries.knowledge.groups import AttributeGroup, Knowledge, Source, SourceProfile
from reidsim.adversaries.multistage.attack import (
    Identify,
    MultistageAttack,
    MultistageWorld,
)
from reidsim.games.masking.game import PartialKnowledgeGame
from reidsim.games.masking.searches import best_first, masking_backward_induction
from reidsim.releases.lattice import MaskingSpace

# The register has three of four attributes; the second has a middle level of pairs of values.
NAMES, LINKED = ("a", "b", "c", "d"), ("a", "b", "d")
SHAPE = (2, 3, 2, 2)
PAIRS = np.array([0, 0, 1, 1, 2, 2])


@st.composite
def small_games(draw):
    """Draw a game, its tables, and each subject's probability of every known set."""
    subjects = [[draw(st.integers(0, 3)) for _ in NAMES] for _ in range(draw(st.integers(1, 4)))]
    others = [[draw(st.integers(0, 3)) for _ in LINKED] for _ in range(draw(st.integers(1, 5)))]
    registered = [draw(st.booleans()) for _ in subjects]
    linked = [[row[NAMES.index(name)] for name in LINKED] for row in subjects]
    register = others + [row for row, there in zip(linked, registered, strict=True) if there]
    told = [([draw(probabilities) for _ in LINKED], draw(probabilities)) for _ in range(2)]
    profiles = tuple(
        SourceProfile(tuple(AttributeGroup((name,), p) for name, p in zip(LINKED, chances, strict=True)), presence)
        for chances, presence in told
    )
    kind = [draw(st.integers(0, 1)) for _ in subjects]
    knowledge = Knowledge(LINKED, (Source("s", profiles, np.array(kind, dtype=np.intp)),))
    sets = [dict(_known_sets(*told[k])) for k in kind]
    weights = np.array([draw(st.sampled_from([0.0, 1.0, 2.5])) for _ in NAMES[:3]] + [1.0])
    kept = tuple(np.array([1.0, 0.4, 0.0] if size == 3 else [1.0, 0.0]) for size in SHAPE)
    space = MaskingSpace(NAMES, weights, len(subjects), kept, ((), (PAIRS,), (), ()))
    world = MultistageWorld(
        person_table("subjects", NAMES, np.array(subjects)),
        {"register": person_table("register", LINKED, np.array(register))},
        np.array(registered),
    )
    gain, cost = draw(st.sampled_from([50.0, 150.0])), draw(st.sampled_from([0.0, 10.0, 40.0]))
    attack = MultistageAttack((Identify(LINKED, "register"),), gain, cost)
    return PartialKnowledgeGame(space, attack, world, 100.0, 150.0, knowledge=knowledge), linked, register, sets


def _known_sets(chances, presence):
    for told in itertools.product((False, True), repeat=len(chances)):
        p = presence * np.prod([c if t else 1 - c for t, c in zip(told, chances, strict=True)])
        yield told, p + (1 - presence) * (not any(told))


def oracle(case, subject, strategy):
    """Return believed success, true success, the attack and the subject's payoff."""
    game, linked, register, sets = case
    levels = [game.space.all_levels(strategy)[NAMES.index(name)] for name in LINKED]
    believed = 0.0
    for known, p in sets[subject].items():
        same = sum(
            all(
                not k
                or (level == 0 and mine == theirs)
                or (name == "b" and level == 1 and mine // 2 == theirs // 2)
                or level == SHAPE[NAMES.index(name)] - 1
                for name, k, level, mine, theirs in zip(LINKED, known, levels, linked[subject], person, strict=True)
            )
            for person in register
        )
        believed += p / same if same else 0.0
    true = believed if game.world.registered[subject] else 0.0
    attacked = game.attack.gain * believed > game.attack.cost * (1 + 1e-12)
    utility = game.space.utility(strategy)[subject]
    return believed, true, attacked, 100 * utility - 150 * true * attacked


@given(case=small_games())
@examples(40)
def test_every_strategy_is_what_going_through_people_and_sets_gives(case):
    game = case[0]
    for strategy in range(game.space.size):
        outcome = game.record_game.outcome(strategy)
        expected = [oracle(case, i, strategy) for i in range(game.n_records)]
        believed, true, attacked, payoff = map(np.array, zip(*expected, strict=True))
        np.testing.assert_allclose(outcome.response.believed_success, believed, atol=1e-12)
        np.testing.assert_allclose(outcome.response.success, true, atol=1e-12)
        np.testing.assert_array_equal(outcome.response.attacks, attacked)
        np.testing.assert_allclose(outcome.publisher_payoff, payoff, atol=1e-9)


@given(case=small_games(), no_attack=st.booleans())
@examples(40)
def test_subjects_best_respond_whatever_the_solver(case, no_attack):
    game = case[0]
    best = []
    for i in range(game.n_records):
        payoffs = {strategy: oracle(case, i, strategy) for strategy in range(game.space.size)}
        allowed = {s: out[3] for s, out in payoffs.items() if not (no_attack and out[2])}
        # Withholding pays 0; the lowest number wins ties, and a record worth exactly 0 is shared.
        top = max(allowed.values(), default=-np.inf)
        best.append(min(s for s, pay in allowed.items() if pay > top - 1e-9) if top > -1e-9 else -1)
    for solver in (best_first, masking_backward_induction):
        choice = solver(game, no_attack=no_attack)
        assert choice.strategies.tolist() == best
        assert choice.exact
        found = game.evaluate(choice)
        expected = [0.0 if s < 0 else oracle(case, i, s)[3] for i, s in enumerate(best)]
        np.testing.assert_allclose(found.publisher_payoff, expected, atol=1e-9)
    solvers = [solve(game).solver for solve in (best_first, masking_backward_induction)]
    assert solvers == ["branch-and-bound", "backward-induction"]
