"""The greedy search step by step, as in Table 4, equals the compiled search."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from masking_worlds import small_worlds
from tiers import examples

import reidsim
from reidsim.adversaries.response import INDIFFERENCE
from reidsim.games.masking.game import MaskingGame, PartialMaskingSpace, is_ahead
from reidsim.games.masking.searches import greedy, greedy_path
from reidsim.games.record_game import WITHHELD, Choice

COLUMNS = [
    "record", "step", "strategy", "masked", "shared_loci", "inferred_surname", "confidence", "attacked", "utility",
    "privacy", "benefit", "loss", "payoff", "recommended_by",
]  # fmt: skip


def plain_path(game, record):
    """Search greedily, strategy by strategy, with the published rule."""
    tie = INDIFFERENCE * float(np.asarray(game.benefit)[record] + np.asarray(game.loss)[record])

    def play(strategy):
        one = np.full(game.n_records, WITHHELD)
        one[record] = strategy
        outcome = game.evaluate(Choice(one, "", np.zeros(game.n_records, dtype=np.int64), exact=False))
        return strategy, outcome.publisher_payoff[record], game.confidence(one)[1][record], outcome.attacked[record]

    def ahead(one, other):
        return is_ahead(*one[1:3], *other[1:3], tie) > 0

    at = best = play(game.space.most_specific)
    path = [at[0]]
    while True:
        step = None
        for strategy in reversed(list(game.space.successors(at[0]))):
            below = play(strategy)
            if step is None or ahead(below, step):
                step = below
        if step is None:
            return tuple(path)
        at = step
        path.append(at[0])
        if ahead(at, best):
            best = at
        elif not at[3]:
            return tuple(path)


@examples(40)
@given(small_worlds(levels=True), st.integers(0, 1))
def test_the_path_is_that_of_the_compiled_search(small, n_always):
    game = small.game
    if n_always:
        space = game.space
        rest = (space.n_records, space.kept, space.groups, space.total_weight)
        limited = PartialMaskingSpace(space.attributes, space.weights, *rest, n_always=n_always)
        game = MaskingGame(limited, game.attack, game.world, game.benefit, game.loss)
    choice = greedy(game)
    for record in range(game.n_records):
        path = greedy_path(game, record)
        assert path == plain_path(game, record)
        payoffs = []
        for strategy in path:
            one = np.full(game.n_records, WITHHELD)
            one[record] = strategy
            outcome = game.evaluate(Choice(one, "", choice.evaluated, exact=False))
            payoffs.append(outcome.publisher_payoff[record])
        found = choice.strategies[record]
        if found == WITHHELD:
            assert max(payoffs) < 0
        else:
            assert payoffs[path.index(found)] == pytest.approx(max(payoffs), abs=1e-9)
        # Every neighbour of every visited strategy was computed, and no other strategy.
        worked_out = 1 + sum(len(list(game.space.successors(strategy))) for strategy in path[:-1])
        assert choice.evaluated[record] == worked_out


@pytest.mark.deep
def test_the_case_goes_like_the_published_one():
    """Masking some loci lowers the confidence below theta, so the surname is not used.

    As in the published case (Table 4).
    """
    case = reidsim.run("wan2021-case")
    table = case.analysis.search_path
    assert list(table.columns) == COLUMNS
    assert (table["record"] == 0).all()
    searched = table[table["step"].notna()]
    assert searched["step"].tolist() == searched["masked"].tolist() == list(range(len(searched)))
    assert searched["shared_loci"].tolist() == [45 - n for n in range(len(searched))]
    np.testing.assert_allclose(table["payoff"], table["benefit"] - table["loss"], atol=1e-9)
    np.testing.assert_allclose(table["benefit"], 100 * table["utility"], atol=1e-9)
    np.testing.assert_allclose(table["loss"], 150 * (1 - table["privacy"]), atol=1e-9)
    assert (table.loc[~table["attacked"], "privacy"] == 1).all()
    best = searched["payoff"].idxmax()
    before, after = searched.loc[: best - 1], searched.loc[best:]
    # Two men of the registry share age, state and surname.
    assert (before["privacy"] == 0.5).all()
    assert (before["inferred_surname"] == "GILLESPIE").all()
    assert (before["confidence"] >= 0.5).all()
    assert (after["confidence"] < 0.5).all()
    assert not after["attacked"].any()
    assert "masking" in searched.loc[best, "recommended_by"].split(", ")
    # The search stops one step after the best strategy, at a lower payoff.
    assert len(after) == 2
    named = [policy for cell in table["recommended_by"] for policy in cell.split(", ") if policy]
    assert sorted(named) == sorted(case.runs["policy"])
    records = case.records.set_index("policy")
    for _, row in table.iterrows():
        for policy in filter(None, row["recommended_by"].split(", ")):
            assert records.loc[policy, "publisher_payoff"] == pytest.approx(row["payoff"], abs=1e-9)
            assert records.loc[policy, "strategy"] == row["strategy"]
    # Without inference, all loci are shared; one man of 14,002 is not worth $10 for $150.
    one_stage = table[table["recommended_by"] == "one-stage-masking"].iloc[0]
    assert pd.isna(one_stage["inferred_surname"])
    assert pd.isna(one_stage["confidence"])
    assert (one_stage["shared_loci"], one_stage["attacked"]) == (45, False)
