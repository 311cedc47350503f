"""Equilibria of cross-play with added best replies."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reidsim.core.errors import InputError
from reidsim.engine.batch.design import Design
from reidsim.engine.cross_play import CONCEPTS, equilibrium_tables
from reidsim.engine.scenario import cross_play
from reidsim.games.matrix_games import zero_sum

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"


@pytest.fixture(scope="module")
def single():
    return cross_play(TOWN, equilibrium=True, double_oracle="zero-sum", tolerance=1e-6)


def test_equilibria_are_of_the_matrices(single):
    tables, payoff = single.equilibria, single.matrix("publisher_payoff").to_numpy()
    theirs, regret = single.matrix("adversary_payoff").to_numpy(), single.matrix("regret").to_numpy()
    assert list(tables["equilibria"]["concept"]) == list(CONCEPTS)
    found = tables["equilibria"].set_index("concept")
    assert found.loc["maximin", "value"] == pytest.approx(zero_sum(payoff).row_payoff, abs=1e-9)
    assert (found["exploitability"] < 1e-6).all()
    assert (found["exploitability"] >= 0).all()
    names = list(single.matrix("risk").index)
    for concept in CONCEPTS:
        rows = tables["mixtures"][tables["mixtures"]["concept"] == concept]
        mine, other = (rows[rows["player"] == player] for player in ("defender", "adversary"))
        x = np.zeros(len(names))
        for row in mine.itertuples():
            x[names.index(f"{row.strategy} vs {row.plans_against}" if row.plans_against else row.strategy)] = (
                row.probability
            )
        y = other.set_index("strategy")["probability"].reindex(single.matrix("risk").columns).fillna(0).to_numpy()
        assert x.sum() == pytest.approx(1.0)
        assert x @ payoff @ y == pytest.approx(found.loc[concept, "publisher_payoff"], abs=1e-9)
        if concept == "maximin":
            assert (x @ payoff).min() == pytest.approx(found.loc[concept, "value"], abs=1e-9)
        elif concept == "minimax-regret":
            assert (x @ regret).max() == pytest.approx(found.loc[concept, "value"], abs=1e-9)
        else:
            assert (x @ theirs).max() == pytest.approx(x @ theirs @ y, abs=1e-6)
            assert (payoff @ y).max() == pytest.approx(x @ payoff @ y, abs=1e-6)


def test_every_defender_alone_has_its_exploitability(single):
    table, payoff = single.equilibria["exploitability"], single.matrix("publisher_payoff")
    value = single.equilibria["equilibria"].set_index("concept").loc["maximin", "value"]
    np.testing.assert_allclose(table["least_payoff"], payoff.min(axis=1))
    np.testing.assert_allclose(table["exploitability"], value - payoff.min(axis=1), atol=1e-9)
    reply = single.matrix("adversary_payoff").idxmax(axis=1)
    assert table["best_reply"].tolist() == reply.tolist()
    then = [payoff.loc[name, adversary] for name, adversary in reply.items()]
    np.testing.assert_allclose(table["payoff_then"], then)
    np.testing.assert_allclose(table["gain_then"], [payoff[a].max() - p for a, p in zip(reply, then, strict=True)])


def test_a_defender_who_cannot_play_everywhere_takes_no_part():
    cells = [("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 9.0)]
    runs = pd.DataFrame(cells, columns=["defender", "adversary", "publisher_payoff"])
    runs = runs.assign(plans_against="", point=0, adversary_payoff=0.0, regret=0.0)
    tables, left_out = equilibrium_tables(runs, Design(pd.DataFrame(index=range(1))))
    assert left_out == ("left out of equilibria, because payoffs against some adversaries are missing: b",)
    assert set(tables["mixtures"]["strategy"]) <= {"a", "x", "y"}
    assert tables["equilibria"]["value"].iloc[0] == 1.0


def test_equilibria_of_a_sweep_name_its_values_at_each_point():
    runs = pd.DataFrame({"point": [0, 1], "publisher_payoff": [1.0, 4.0], "defender": "a", "adversary": "x"})
    runs = runs.assign(plans_against="", adversary_payoff=0.0, regret=0.0)
    tables, _ = equilibrium_tables(runs, Design(pd.DataFrame({"economics.loss": [30, 60]}), swept=("economics.loss",)))
    for table in tables.values():
        assert list(table.columns[:2]) == ["economics.loss", "concept" if "concept" in table else "defender"]
    values = tables["equilibria"].pivot(index="economics.loss", columns="concept", values="publisher_payoff")
    assert values["maximin"].to_dict() == {30: 1.0, 60: 4.0}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"double_oracle": "zero"}, "double_oracle: unknown kind of game; found 'zero'; expected one of"),
        ({"double_oracle": "zero-sum", "tolerance": -1}, "tolerance: tolerance out of range"),
        ({"double_oracle": "zero-sum", "tolerance": float("inf")}, "tolerance: tolerance out of range"),
    ],
)
def test_impossible_options_are_refused(options, problem):
    with pytest.raises(InputError, match=problem):
        cross_play(TOWN, **options)
