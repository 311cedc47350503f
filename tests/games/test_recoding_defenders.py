"""Defenders between one form and a form for each, against records worked out one by one in plain Python."""

import math
from dataclasses import replace

import numpy as np
import pytest
from contract_worlds import PLAYERS
from full_domain_oracle import datasets, game_of, variants
from hypothesis import given, settings
from hypothesis import strategies as st

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.errors import InputError
from reidsim.games.defenders import recoding
from reidsim.games.defenders.defender import outcome_of
from reidsim.games.defenders.k_anonymity import KAnonymity
from reidsim.games.defenders.recoding import LocalRecoding, MultiDimensional
from reidsim.games.defenders.same_form import AnytimeForm, SameForm
from reidsim.games.full_domain.multi_dimensional import multi_dimensional
from reidsim.games.record_game import WITHHELD, PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population

WORLDS = variants(datasets()).map(lambda small: replace(small, no_attack=False))


def record_game(small):
    """The small dataset's records one by one, and the lowest node as a number."""
    game = game_of(small)
    people = game.population or Population.from_records(game.lattice.domain, game.lattice.codes)
    linker = PopulationLinker(GroupSizes(people, game.lattice))
    prices = {name: np.array(getattr(small, name), dtype=float) for name in ("benefit", "loss", "gain", "cost")}
    adversary = OneShotAdversary(prices["gain"], prices["cost"])
    plain = RecordGame(game.lattice, linker, adversary, prices["benefit"], prices["loss"])
    return plain, game.lattice.index(game.lowest)


def payoff(game, choice):
    return float(outcome_of(game, choice).publisher_payoff.sum())


def best_node(small, members):
    """The node that pays most for some records, the first of equals; its payout and the records kept there."""
    best = None
    for node in small.nodes():
        outcomes = {i: small.record(i, node) for i in members}
        total = sum(paid for paid, _, _ in outcomes.values())
        if best is None or total > best[1] + 1e-7:
            best = node, total, [i for i in members if outcomes[i][2]]
    return best


def in_rounds(small):
    """The node of each record after all rounds, None where it is withheld."""
    nodes, left = [None] * small.n, list(range(small.n))
    while left:
        node, total, kept = best_node(small, left)
        if total <= 1e-9:
            break
        for i in kept:
            nodes[i] = node
        left = [i for i in left if i not in kept]
    return nodes if len(left) <= math.floor(small.limit * small.n) else [None] * small.n


@given(WORLDS)
@settings(max_examples=60)
def test_local_recoding_takes_the_best_form_of_who_is_left(small):
    game, lowest = record_game(small)
    chosen = LocalRecoding(limit=small.limit, minimum=lowest).choose(game).strategies.tolist()
    assert [None if form == WITHHELD else game.space.levels(form) for form in chosen] == in_rounds(small)


def test_rounds_are_counted_and_records_weigh_what_they_stand_for():
    game = PLAYERS["lattice-fmdp"].game
    weights = np.array([0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    once = LocalRecoding(weights=weights, rounds=1).choose(game)
    same = SameForm(weights=weights, suppresses=True).choose(game)
    # A row that stands for nobody is not decided on.
    np.testing.assert_array_equal(once.strategies[1:], same.strategies[1:])
    more = LocalRecoding(weights=weights).choose(game)
    assert len(set(more.strategies.tolist()) - {WITHHELD}) > 1
    reached = [outcome_of(game, choice).publisher_payoff @ weights for choice in (once, more)]
    assert reached[1] > reached[0]


@given(WORLDS)
@settings(max_examples=60)
def test_no_other_way_of_splitting_pays_more(small):
    game, lowest = record_game(small)
    chosen = MultiDimensional(limit=small.limit, minimum=lowest).choose(game)
    assert (chosen.strategies == WITHHELD).sum() in range(math.floor(small.limit * small.n) + 1) or (
        chosen.strategies == WITHHELD
    ).all()
    allowed = [paid for number, paid in small.recodings().items() if number <= math.floor(small.limit * small.n)]
    best = max([0.0, *allowed])
    assert payoff(game, chosen) <= best + 1e-7
    if chosen.exact:
        assert payoff(game, chosen) == pytest.approx(best, abs=1e-7)
    other = multi_dimensional(game_of(small))
    assert chosen.exact == other.exact
    assert payoff(game, chosen) == pytest.approx(other.payout, abs=1e-7)


@given(WORLDS, st.integers(1, 12))
@settings(max_examples=60)
def test_a_budget_finds_no_more_than_there_is_and_a_large_one_all(small, budget):
    game, lowest = record_game(small)
    rule = {"suppresses": True, "limit": small.limit, "minimum": lowest}
    exact = payoff(game, SameForm(**rule).choose(game))
    found = [AnytimeForm(most_evaluated=most, **rule).choose(game) for most in (budget, budget + 3, 10_000)]
    paid = [payoff(game, choice) for choice in found]
    assert (found[0].evaluated <= budget).all()
    assert paid[0] <= paid[1] + 1e-7
    assert all(pays <= exact + 1e-7 for pays in paid)
    assert all(pays == pytest.approx(exact, abs=1e-7) for pays, choice in zip(paid, found, strict=True) if choice.exact)
    assert found[2].exact


@given(WORLDS, st.integers(1, 4))
@settings(max_examples=60)
def test_k_anonymity_keeps_most_where_nobody_is_rare(small, k):
    game, lowest = record_game(small)
    chosen = KAnonymity(k=k, limit=small.limit, minimum=lowest).choose(game).strategies
    kept = {}
    for node in small.nodes():
        forms = [small.generalized(row, node) for row in small.records]
        shared = [forms.count(form) >= k for form in forms]
        if shared.count(False) <= math.floor(small.limit * small.n):
            losses = [small.information_loss(row, node) for row in small.records]
            kept[node] = sum(1 - loss for loss, is_shared in zip(losses, shared, strict=True) if is_shared)
    if not kept:
        assert (chosen == WITHHELD).all()
        return
    form = chosen.max()
    forms = [small.generalized(row, game.space.levels(form)) for row in small.records] if form != WITHHELD else []
    shared = np.flatnonzero(chosen != WITHHELD)
    for i in shared:
        assert forms.count(forms[i]) >= k
    utility = game.space.utility(form)[shared].sum() if len(shared) else 0.0
    assert utility == pytest.approx(max(kept.values()), abs=1e-7)
    assert (chosen == WITHHELD).sum() <= math.floor(small.limit * small.n)


def test_too_many_classes_are_refused(monkeypatch):
    monkeypatch.setattr(recoding, "_MOST_CLASSES", 100)
    with pytest.raises(InputError, match="multi-dimensional: too many classes to compare; found 144; expected records"):
        MultiDimensional().choose(PLAYERS["lattice-one-shot"].game)
