"""Full studies, from files to means, against the paper's algorithms."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_games import amounts, game_of
from small_scenario import (
    PAIRS,
    expected_measures,
    releases,
    safe_harbor_study,
    strategies_by_the_paper,
    study_of,
    write_scenario,
)
from tiers import examples

from reidsim.core.wording import columns_of
from reidsim.games.outcomes import MEASURES
from reidsim.kinds.tables.build import build_study
from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.outcomes import figure_tables
from reidsim.scenarios.kind import equilibria_of
from reidsim.scenarios.scenario import Scenario

POLICIES = ("basic", "no-attack", "no-protection", "suppress-all")


TOWN = game_of(
    [PAIRS, ((0, 1), (0, 0))],
    people=[(0, 0)] * 3 + [(1, 0)] * 4 + [(2, 1)] * 30 + [(3, 0)],
    records=[(0, 0), (2, 1), (0, 0), (3, 0), (2, 1)],
    benefit=10.0,
    loss=6.0,
    gain=6.0,
    cost=1.0,
)


def assert_measures_are(row, expected, small):
    assert set(expected) == set(columns_of(MEASURES)) == set(row.index)
    for name in columns_of(MEASURES):
        assert row[name] == pytest.approx(expected[name], rel=1e-9, abs=1e-9 * small.scale[0], nan_ok=True), name


@given(
    small=releases(),
    solver=st.sampled_from(["backward-induction", "branch-and-bound"]),
    risk=st.sampled_from(["journalist", "prosecutor"]),
)
@examples(60, fast=5)
def test_every_policy_is_averaged_over_all_records_of_the_release(small, solver, risk):
    """Under prosecutor risk, groups are counted in the released records."""
    with study_of(small, policies=POLICIES, solver=solver, risk=risk) as study:
        summary = TABLES.summarise(study, 0, equilibria_of(TABLES.play(study)))
    assert list(summary.index) == list(POLICIES)
    assert list(summary.columns) == columns_of(MEASURES)
    counted = small if risk == "journalist" else replace(small, people=small.records)
    for policy in POLICIES:
        expected = expected_measures(counted, strategies_by_the_paper(counted, policy))
        assert_measures_are(summary.loc[policy], expected, small)


@given(small=releases(), data=st.data())
@examples(40, fast=5)
def test_a_publisher_with_beliefs_chooses_by_them_and_is_paid_by_the_truth(small, data):
    believed = {name: data.draw(amounts) for name in data.draw(st.sets(st.sampled_from(["loss", "gain", "cost"])))}
    more = "[beliefs]\n" + "".join(f"{name} = {amount!r}\n" for name, amount in believed.items())
    n = small.n_records
    imagined = replace(small, **{name: (amount,) * n for name, amount in believed.items()})
    with study_of(small, policies=["basic", "no-attack"], more=more) as study:
        summary = TABLES.summarise(study, 0, equilibria_of(TABLES.play(study)))
    for policy in ("basic", "no-attack"):
        expected = expected_measures(small, strategies_by_the_paper(imagined, policy))
        assert_measures_are(summary.loc[policy], expected, small)


def assert_row_is_the_papers(row, small, i, g):
    """Compare a row of a table with the paper's outcome of record i released as g."""
    paper, close = small.paper(i), {"rel": 1e-9, "abs": 1e-9 * small.scale[0]}
    publisher, adversary, attacks = paper.play(g)
    assert row["strategy"] == ",".join(map(str, g))
    assert row["publisher_payoff"] == pytest.approx(publisher, **close)
    assert row["adversary_payoff"] == pytest.approx(adversary, **close)
    assert row["attacked"] == attacks
    assert row["success_probability"] == paper.pi(g)
    for name, level, value, levels in zip(small.names, g, small.records[i], small.hierarchies, strict=True):
        assert row[name] == (f"{name}{value}" if level == 0 else f"{name}/{level}/{levels[level][value]}")


@given(small=releases())
@examples(25, fast=5)
def test_the_table_of_records_has_every_record_in_the_order_of_the_release(small):
    policies = ["no-attack", "no-protection"]
    with study_of(small, policies=policies) as study:
        table = TABLES.records(study, 0, equilibria_of(TABLES.play(study))).frame()
    n = small.n_records
    assert table["policy"].tolist() == [policy for policy in policies for _ in range(n)]
    assert table["record"].tolist() == list(range(n)) * 2
    played = [g for policy in policies for g in strategies_by_the_paper(small, policy)]
    for (_, row), g, i in zip(table.iterrows(), played, list(range(n)) * 2, strict=True):
        if g is None:
            assert row["strategy"] == "withheld"
            assert row[list(small.names)].isna().all()
            assert row["publisher_payoff"] == row["adversary_payoff"] == row["utility"] == 0
            assert row["generalization_intensity"] == 1
            continue
        assert_row_is_the_papers(row, small, i, g)


@pytest.mark.parametrize(
    ("counted", "zip_level"),
    [
        ("us-2010", 1),  # areas 372 and 380 have far more than 20,000 people
        ("population", 2),  # neither has: three digits are released only if both areas are pooled
    ],
)
def test_safe_harbor_and_its_friendly_game_are_those_of_the_paper(tmp_path, counted, zip_level):
    small, study = safe_harbor_study(tmp_path, counted)
    rule = [((1 if a >= 2 else 0), zip_level) for a, _ in small.records]
    assert [study.lattice.levels(s) for s in study.safe_harbor[study.cell_of_record].tolist()] == rule
    summary = TABLES.summarise(study, 0, equilibria_of(TABLES.play(study)))
    assert list(summary.index) == ["safe-harbor", "basic", "sh-friendly", "no-attack"]
    for policy, row in summary.iterrows():
        assert_measures_are(row, expected_measures(small, strategies_by_the_paper(small, policy, rule)), small)


def test_attributes_drawn_from_the_population_agree_with_what_is_known(tmp_path):
    path = write_scenario(tmp_path, TOWN, policies=["basic"])
    path.write_text(path.read_text().replace("[attributes.b]\n", "[attributes.b]\ndraw = true\n"))
    pd.read_csv(tmp_path / "records.csv")[["a"]].to_csv(tmp_path / "records.csv", index=False)
    study = build_study(Scenario.load(path))
    completed = study.lattice.codes[study.cell_of_record]
    assert completed[:, 0].tolist() == [record[0] for record in TOWN.records]
    assert {tuple(row) for row in completed.tolist()} <= set(TOWN.people)
    again = build_study(Scenario.load(path))
    np.testing.assert_array_equal(completed, again.lattice.codes[again.cell_of_record])


@given(small=releases())
@examples(25, fast=5)
def test_the_whole_strategy_space_of_a_record_is_listed_with_both_payoffs(small):
    pairs = list(zip(small.names, small.records[0], strict=True))
    record = ", ".join(f'{name} = "{name}{value}"' for name, value in pairs)
    with study_of(small, policies=["basic"], more=f"[figures]\nstrategies = {{ {record} }}\n") as study:
        table = figure_tables(study).strategies
    assert set(table["record"]) == {", ".join(f"{name}{value}" for name, value in pairs)}
    paper = small.paper(0)
    assert len(table) == len(paper.strategies)
    for (_, row), g in zip(table.iterrows(), paper.strategies, strict=True):
        assert_row_is_the_papers(row, small, 0, g)
        assert row["generalization_intensity"] == pytest.approx(paper.intensity(g))
        assert row["utility"] == pytest.approx(replace(paper, V=1.0).v(g), abs=1e-12)


@given(small=releases())
@examples(25, fast=5)
def test_deviations_compare_lattice_search_with_the_optimum(small):
    with study_of(small, policies=["basic"], solver="lattice-search") as study:
        found = TABLES.further_measures(study, equilibria_of(TABLES.play(study))).loc["basic"]
    differences, nodes = [], []
    for i in range(small.n_records):
        paper = small.paper(i)
        searched, seen = paper.algorithm_2()
        differences.append(np.abs(np.subtract(paper.play(searched)[:2], paper.play(paper.algorithm_1())[:2])))
        nodes.append(len(seen))
    close = {"rel": 1e-9, "abs": 1e-9 * small.scale[0]}
    of_publisher, of_adversary = np.transpose(differences)
    assert found["publisher_payoff_difference"] == pytest.approx(np.mean(of_publisher), **close)
    assert found["adversary_payoff_difference"] == pytest.approx(np.mean(of_adversary), **close)
    assert found["share_optimal"] == pytest.approx(np.mean(of_publisher <= 1e-9 * small.scale[0]))
    assert found["evaluated"] == pytest.approx(np.mean(nodes))
