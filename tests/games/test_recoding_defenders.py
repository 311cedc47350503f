"""Defenders between full-domain and record-level forms, against plain Python."""

import math
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
from contract_worlds import PLAYERS
from full_domain_oracle import SmallDataset, datasets, game_of, variants
from hypothesis import given
from hypothesis import strategies as st
from recoding_defenders import WholeTable, in_regions, in_rounds, k_anonymous, one_node
from tiers import examples

from reidsim.adversaries.one_shot import OneShotAdversary
from reidsim.core.errors import InputError
from reidsim.games.defenders import defender
from reidsim.games.defenders.defender import SameForm, outcome_of
from reidsim.games.full_domain.recoding import multi_dimensional
from reidsim.games.record_game import WITHHELD, PopulationLinker, RecordGame
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Population

WORLDS = variants(datasets()).map(lambda small: replace(small, no_attack=False))


class Unattacked(SmallDataset):
    """A dataset that withholds records which would be attacked."""

    def record(self, i, node):
        size = max(self.class_size(self.records[i], node), 1)
        worth = self.benefit[i] * (1 - self.information_loss(self.records[i], node))
        if self.gain[i] > self.cost[i] * size:
            return 0.0, False, False
        return worth, False, True


def unattacked(small):
    given = {item.name: getattr(small, item.name) for item in fields(small)}
    return Unattacked(**{**given, "no_attack": True})


UNATTACKED = variants(datasets()).map(unattacked)


def record_game(small):
    """Return the record-level game of a dataset, and the number of the lowest node."""
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
    """Return the best node for some records, its payout and the records kept.

    The first of equal nodes wins.
    """
    best = None
    for node in small.nodes():
        outcomes = {i: small.record(i, node) for i in members}
        total = sum(paid for paid, _, _ in outcomes.values())
        if best is None or total > best[1] + 1e-7:
            best = node, total, [i for i in members if outcomes[i][2]]
    return best


def nodes_in_rounds(small):
    """Return the node of each record after all rounds; None if it is withheld."""
    nodes, left = [None] * small.n, list(range(small.n))
    while left:
        node, total, kept = best_node(small, left)
        if total <= 1e-9:
            break
        for i in kept:
            nodes[i] = node
        left = [i for i in left if i not in kept]
    return nodes if len(left) <= math.floor(small.limit * small.n) else [None] * small.n


@given(WORLDS | UNATTACKED)
@examples(60)
def test_local_recoding_takes_the_best_form_of_who_is_left(small):
    game, lowest = record_game(small)
    choice = WholeTable(in_rounds, limit=small.limit, minimum=lowest, no_attack=small.no_attack).choose(game)
    chosen = choice.strategies.tolist()
    assert not (small.no_attack and outcome_of(game, choice).attacked.any())
    assert [None if form == WITHHELD else game.space.levels(form) for form in chosen] == nodes_in_rounds(small)


def test_rounds_are_counted_and_records_weigh_what_they_stand_for():
    game = PLAYERS["lattice-fmdp"].game
    weights = np.array([0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    once = WholeTable(partial(in_rounds, rounds=1), weights=weights).choose(game)
    same = WholeTable(one_node, weights=weights).choose(game)
    # A row that represents no person needs no decision.
    np.testing.assert_array_equal(once.strategies[1:], same.strategies[1:])
    more = WholeTable(in_rounds, weights=weights).choose(game)
    assert len(set(more.strategies.tolist()) - {WITHHELD}) > 1
    reached = [outcome_of(game, choice).publisher_payoff @ weights for choice in (once, more)]
    assert reached[1] > reached[0]


@given(WORLDS | UNATTACKED)
@examples(60)
def test_no_other_way_of_splitting_pays_more(small):
    game, lowest = record_game(small)
    chosen = WholeTable(in_regions, limit=small.limit, minimum=lowest, no_attack=small.no_attack).choose(game)
    assert not (small.no_attack and outcome_of(game, chosen).attacked.any())
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


@given(WORLDS, st.integers(1, 4))
@examples(60)
def test_k_anonymity_keeps_most_where_nobody_is_rare(small, k):
    game, lowest = record_game(small)
    chosen = WholeTable(partial(k_anonymous, k=k), limit=small.limit, minimum=lowest).choose(game).strategies
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


def alone(n_alone, n_alike, share):
    """Return a game without attacks: unique people, and people with one common value."""
    size = n_alone + 1
    values = [*range(n_alone), *[n_alone] * n_alike]
    prices = [(amount,) * len(values) for amount in (1, 1, 0, 1)]
    return SmallDataset((((*range(size),),),), tuple((value,) for value in values), None, *prices, limit=share)


@pytest.mark.parametrize(
    "made",
    [
        lambda limit: WholeTable(partial(k_anonymous, k=2), limit=limit),
        lambda limit: WholeTable(one_node, limit=limit, no_attack=True),
        lambda limit: WholeTable(in_rounds, limit=limit, no_attack=True),
        lambda limit: WholeTable(in_regions, limit=limit, no_attack=True),
    ],
    ids=["k-anonymity", "one node", "local recoding", "multi-dimensional"],
)
def test_a_limit_of_29_of_100_records_allows_29(made):
    """Unique records are withheld: by k-anonymity, or because they would be attacked."""
    for withheld, shared in ((29, 71), (30, 0)):
        small = alone(withheld, 100 - withheld, 0.29)
        game, _ = record_game(replace(small, gain=(3,) * 100, cost=(2,) * 100))
        assert (made(0.29).choose(game).strategies != WITHHELD).sum() == shared


def test_too_many_forms_are_refused(monkeypatch):
    monkeypatch.setattr(defender, "_MOST_FORMS", 5)
    with pytest.raises(InputError, match="same: too many releases to compare; found 12; expected at most 5"):
        SameForm("same").choose(PLAYERS["lattice-one-shot"].game)
