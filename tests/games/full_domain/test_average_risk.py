"""Limit on the average risk, against every node computed record by record."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from full_domain_oracle import SmallDataset, datasets, game_of
from hypothesis import given
from hypothesis import strategies as st
from tiers import cases, examples

from reidsim.games.full_domain.game import AverageRiskGame
from reidsim.games.full_domain.search import every_node, search
from reidsim.games.record_game import Prices
from reidsim.kinds.tables.build import build_study
from reidsim.scenarios.scenario import Scenario

RISKS = st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.7, 1.0])
LIMITS = st.sampled_from([0.0, 0.2, 0.5, 1.0])


def limited(small, risk, limit=1.0):
    """Return the game in which a released record pays its utility."""
    small = replace(small, people=None, no_attack=True, limit=limit)
    ones = (1,) * small.n
    game = game_of(replace(small, benefit=ones, loss=ones, gain=ones, cost=ones))
    return AverageRiskGame(**vars(game), max_average_risk=risk)


def node_by_hand(small, node, risk):
    """Return payout and kept records of a node, with the smallest k that keeps the mean of 1 / size within `risk`."""
    sizes = [small.class_size(row, node) for row in small.records]
    for k in range(1, small.n + 2):
        kept = [i for i, size in enumerate(sizes) if size >= k]
        if sum(1 / sizes[i] for i in kept) <= risk * len(kept) + 1e-9:
            return sum(1 - small.information_loss(small.records[i], node) for i in kept), kept
    raise AssertionError("without records, the mean is within every limit")


def small_datasets():
    return datasets().map(lambda small: replace(small, people=None))


@examples(250)
@given(small_datasets(), RISKS, LIMITS, st.booleans())
def test_search_is_the_best_of_all_nodes(small, risk, limit, prune):
    game = limited(small, risk, limit)
    best = None
    for node in small.nodes():
        payout, kept = node_by_hand(small, node, risk)
        if small.n - len(kept) > math.floor(limit * small.n + 1e-9):
            continue
        rank = round(payout, 7), -sum(node), tuple(-level for level in node)
        best = max(best or (rank, node, len(kept)), (rank, node, len(kept)))
    solution = search(game, prune=prune)
    if best is None:
        assert solution.node == -1
        return
    (payout, *_), node, n_kept = best
    assert solution.payout == pytest.approx(payout, abs=1e-6)
    assert game.lattice.levels(solution.node) == node
    assert small.n - solution.suppressed == n_kept
    assert solution.attacked == 0


@given(small_datasets(), RISKS)
def test_every_node_keeps_the_classes_of_the_smallest_size_within_the_limit(small, risk):
    game = limited(small, risk)
    for number, payout in zip(*every_node(game)[["nodes", "payout"]].to_numpy().T, strict=True):
        expected, kept = node_by_hand(small, game.lattice.levels(int(number)), risk)
        assert payout == pytest.approx(expected, abs=1e-9)
        assert np.flatnonzero(game.kept_at(int(number))).tolist() == kept


@given(small_datasets(), RISKS, RISKS, LIMITS)
def test_a_higher_limit_never_lowers_the_utility(small, one, other, limit):
    low, high = sorted((one, other))
    assert search(limited(small, high, limit)).payout >= search(limited(small, low, limit)).payout - 1e-9


@given(small_datasets(), st.integers(1, 5), LIMITS)
def test_k_anonymity_has_at_most_the_utility_of_an_average_risk_of_one_in_k(small, k, limit):
    game = limited(small, 1 / k, limit)
    given = {name: value for name, value in vars(game).items() if name != "max_average_risk"}
    anonymous = game_of(small).__class__(**given | {"prices": Prices(1, 0, k, 1), "safe_class": "at-least"})
    assert search(game).payout >= search(anonymous).payout - 1e-9


def one_attribute(*sizes):
    """Return records with one attribute, `sizes` records of each value; the upper level suppresses it."""
    records = tuple((value,) for value, size in enumerate(sizes) for _ in range(size))
    levels = tuple(range(len(sizes))), (0,) * len(sizes)
    return SmallDataset((levels,), records, None, *[(1,) * len(records)] * 4)


@pytest.mark.parametrize(
    ("sizes", "risk", "kept"),
    [
        # The means are 1/5 for the largest class, 2/7 for two classes and 3/8 for all.
        ((5, 2, 1), 0.19, 0),
        ((5, 2, 1), 0.2, 5),
        ((5, 2, 1), 0.3, 7),
        ((5, 2, 1), 0.375, 8),
        # Classes of equal size are kept or suppressed together: with both of size 2, the mean is 3/8.
        ((4, 2, 2), 0.34, 4),
        ((4, 2, 2), 0.375, 8),
    ],
)
def test_the_smallest_classes_are_suppressed_first(sizes, risk, kept):
    game = limited(one_attribute(*sizes), risk)
    assert search(game).payout == pytest.approx(kept)
    assert game.kept_at(0).sum() == kept


def test_a_suppression_limit_generalizes_instead():
    game = limited(one_attribute(5, 2, 1), 0.3, limit=0.1)
    assert search(game).node == 1
    assert search(replace(game, max_average_risk=0.12)).node == -1


@pytest.mark.parametrize("policy", cases(["k-anonymity-2", "average-risk"], ["average-risk"]))
def test_policies_search_more_than_a_million_nodes(tmp_path, policy):
    names = [f"q{number}" for number in range(13)]
    codes = np.random.default_rng(1).integers(0, 4, (100, len(names)))
    pd.DataFrame(codes, columns=names).to_csv(tmp_path / "records.csv", index=False)
    attributes = "".join(f'[attributes.{name}]\nhierarchy = {{rule = "intervals", widths = [2]}}\n' for name in names)
    publisher = f'[publisher]\nunit = "table"\npolicies = ["{policy}"]\nsuppression_limit = 0.5\n'
    economics = '[adversary]\nrisk = "prosecutor"\n[economics]\nbenefit = 1\nloss = 1\ncost = 1\n'
    path = tmp_path / "scenario.toml"
    path.write_text('[release]\npath = "records.csv"\n' + attributes + economics + publisher)
    study = build_study(Scenario.load(path))
    assert study.lattice.size == 3**13
    assert (study.solve(policy, study.game()).strategies >= 0).mean() >= 0.5


@pytest.mark.deep
@pytest.mark.parametrize(("unit", "limit"), [("table", 0.05), ("record", 0.0)])
def test_policy_releases_records_with_a_mean_within_the_limit(unit, limit):
    changes = {"release.table": "adult-arx-sample", "publisher.policies": ["average-risk"], "publisher.unit": unit}
    if unit == "table":
        changes["publisher.suppression_limit"] = limit
    study = build_study(Scenario.load("arx-example", changes | {"publisher.max_average_risk": 0.1}))
    choice = study.solve("average-risk", study.game())
    cells = np.repeat(np.arange(len(choice.strategies)), study.weights)
    kept = choice.strategies[cells] >= 0
    assert 1 - limit <= kept.mean()
    table = study.lattice.released(choice.strategies[cells], cells)
    assert table[kept].groupby(list(table.columns), observed=True).ngroups / kept.sum() <= 0.1
