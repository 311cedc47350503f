"""Exact and anytime search, against every node computed record by record."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from full_domain_oracle import SmallDataset, datasets, game_of, variants
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from reidsim.core.errors import InputError
from reidsim.games.full_domain.class_table import finest_classes, records_outside, require_part_of
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.search import best_nodes, every_node, explore, pareto_front, search
from reidsim.games.record_game import Prices
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.population import Attribute, Domain, Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice


def assert_solution(solution, game, expected):
    if expected is None:
        assert solution.node == -1
        assert solution.payout == 0
        assert solution.suppressed == game.n_records
        return
    node, (payout, suppressed, attacked, adversary) = expected
    assert game.lattice.levels(solution.node) == node
    assert solution.payout == pytest.approx(payout, abs=1e-7, rel=1e-9)
    assert solution.suppressed == suppressed
    assert solution.attacked == attacked
    assert solution.adversary_payoff == pytest.approx(adversary, abs=1e-7, rel=1e-9)


@settings(max_examples=max(50, examples(250).max_examples))
@given(variants(datasets()), st.booleans())
def test_exact_search_is_the_best_of_all_nodes(small, prune):
    game = game_of(small)
    solution = search(game, prune=prune)
    assert_solution(solution, game, small.best())
    assert solution.exact
    assert solution.gap == 0


@given(variants(datasets()))
def test_every_node_is_worked_out_as_the_paper_says(small):
    game = game_of(small)
    nodes = every_node(game)
    assert [game.lattice.levels(node) for node in nodes.nodes.tolist()] == small.nodes()
    for at, node in enumerate(small.nodes()):
        payout, suppressed, attacked, adversary = small.node(node)
        assert nodes.payout[at] == pytest.approx(payout, abs=1e-7)
        assert nodes.suppressed[at] == suppressed
        assert nodes.attacked[at] == attacked
        assert nodes.adversary_payoff[at] == pytest.approx(adversary, abs=1e-7)
        kept = game.kept_at(int(nodes.nodes[at]))
        assert kept.tolist() == [small.record(i, node)[2] for i in range(small.n)]


@given(variants(datasets()))
def test_pareto_front_and_best_nodes(small):
    nodes = every_node(game_of(small))
    pairs = [(p, a) for p, a, f in zip(nodes.payout, nodes.attacked, nodes.feasible, strict=True) if f]
    front = pareto_front(nodes)
    for payout, attacked in zip(front.payout, front.attacked, strict=True):
        assert not any(p > payout + 1e-7 and a <= attacked for p, a in pairs)
        assert not any(a < attacked and p > payout - 1e-9 for p, a in pairs)
    for payout, attacked in pairs:
        assert any(p >= payout - 1e-7 and a <= attacked for p, a in zip(front.payout, front.attacked, strict=True))
    best = best_nodes(nodes, 3)
    assert best.payout.tolist() == sorted((p for p, _ in pairs), reverse=True)[:3]
    # Of payouts that differ by rounding, the node with the lower number comes first.
    rounded = nodes.iloc[[0, 0]].assign(nodes=[0, 1], payout=[2e6, 2e6 + 1e-8], feasible=True)
    assert best_nodes(rounded, 2).nodes.tolist() == [0, 1]


@examples(150)
@given(variants(datasets()), st.integers(1, 30))
def test_anytime_search_never_reports_a_gap_that_the_optimum_contradicts(small, budget):
    game = game_of(small)
    solution, expected = explore(game, nodes=budget)[0], small.best()
    best = 0.0 if expected is None else expected[1][0]
    assert solution.evaluated <= budget
    assert solution.payout <= best + 1e-7
    assert solution.bound >= best - 1e-7
    if solution.best_case:
        assert solution.payout + solution.gap * solution.best_case >= best - 1e-7
    if solution.exact:
        assert_solution(solution, game, expected)


@pytest.mark.parametrize("gain", [0.0, 900.0])
def test_a_budget_may_end_before_the_proof(gain):
    random = np.random.default_rng(3)
    levels = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
    records = tuple(map(tuple, random.integers(0, 4, (60, 6)).tolist()))
    game = game_of(SmallDataset((levels,) * 6, records, None, *[(100,) * 60] * 4))
    game = replace(game, prices=Prices(1200, 900, gain, 40))
    # Without a gain no record is attacked, so the lowest node is optimal at once.
    assert explore(game, nodes=8)[0].exact == (gain == 0.0)
    assert search(game).exact


@given(variants(datasets()), st.integers(1, 30))
def test_nodes_worked_out_within_a_budget_are_those_of_the_whole_list(small, budget):
    game = game_of(small)
    solution, listed = explore(game, nodes=budget)
    assert len(listed.nodes) == solution.evaluated <= budget
    whole = every_node(game)
    rows = np.searchsorted(whole.nodes, listed.nodes)
    assert whole.nodes[rows].tolist() == listed.nodes.tolist()
    for column in ("payout", "suppressed", "attacked", "adversary_payoff", "feasible"):
        assert listed[column].tolist() == pytest.approx(whole[column][rows].tolist())
    if solution.node >= 0:
        assert best_nodes(listed, 1).payout.iloc[0] == pytest.approx(solution.payout)


def test_anytime_search_stops_in_time_and_on_a_lattice_of_a_million_nodes():
    random = np.random.default_rng(7)
    levels = ((0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0))
    records = tuple(map(tuple, random.integers(0, 4, (300, 13)).tolist()))
    small = SmallDataset((levels,) * 13, records, None, (1200,) * 300, (1100,) * 300, (900,) * 300, (4,) * 300)
    game = game_of(small)
    assert game.lattice.size == 3**13
    some = explore(game, nodes=100)[0]
    assert not some.exact
    assert 0 < some.gap < 1
    assert 1 < some.evaluated <= 100
    more = explore(game, nodes=900)[0]
    assert more.payout >= some.payout
    assert more.bound <= some.bound
    assert explore(game, seconds=1e-9)[0].evaluated >= 1


def by_hand(game, node):
    """Return a node's payout from the lattice's utility and class sizes, cell by cell."""
    benefit, loss, gain, cost = (
        array[0] for array in (game.prices.benefit, game.prices.loss, game.prices.gain, game.prices.cost)
    )
    sizes = game.sizes_at(node)
    payoff = benefit * game.lattice.utility(node) - np.where(gain > cost * sizes, loss / sizes, 0)
    return float(np.maximum(payoff, 0) @ game.released)


def test_levels_that_cost_nothing_leave_different_losses_in_a_class():
    """A free merger of groups of two and one charges each value as the group below."""
    attribute = Attribute("race", ("a", "b", "c", "d"))
    hierarchy = Hierarchy.from_labels(
        attribute, [["ab", "ab", "c", "d"], ["abc", "abc", "abc", "d"]], costless_levels=[2]
    )
    lattice = GeneralizationLattice((hierarchy,), np.arange(4, dtype=np.int32)[:, None])
    game = FullDomainGame(lattice, np.array([2, 1, 3, 6]), Prices(100, 200, 24, 4))
    assert not game.by_class
    payouts = [by_hand(game, node) for node in range(lattice.size)]
    solution = search(game)
    assert solution.payout == pytest.approx(max(payouts))
    assert solution.node == int(np.argmax(payouts))
    assert every_node(game).payout.tolist() == pytest.approx(payouts)


def test_expected_counts_below_one_make_classes_of_one():
    domain = Domain((Attribute("sex", ("F", "M")),))
    lattice = GeneralizationLattice(
        (Hierarchy.from_labels(domain.attributes[0], [["*", "*"]]),), np.array([[0], [1]], dtype=np.int32)
    )
    people = Population(domain, np.array([[0], [1]], dtype=np.int32), np.array([0.25, 2.5]))
    prices = Prices(100, 50, 20, 4)
    solution = search(FullDomainGame(lattice, np.array([1, 1]), prices, population=people))
    assert solution.payout == pytest.approx((100 - 50) + (100 - 50 / 2.5))
    assert solution.adversary_payoff == pytest.approx((20 - 4) + (20 / 2.5 - 4))


def one_attribute(sizes, benefit, loss, gain, cost, **options):
    """Return records with one attribute of two values, `sizes` records of each."""
    records = tuple((value,) for value, size in enumerate(sizes) for _ in range(size))
    n = len(records)
    return SmallDataset(
        (((0, 1), (0, 0)),), records, None, (benefit,) * n, (loss,) * n, (gain,) * n, (cost,) * n, **options
    )


@pytest.mark.parametrize("gain", [1050, 1170, 1230])
def test_a_class_of_exactly_gain_over_cost_is_not_attacked(gain):
    """At cost 10 and these gains, G / k - C at k = G / C is positive by rounding."""
    small = one_attribute((gain // 10, 0), 100, 100, gain, 10)
    assert search(game_of(small)).attacked == 0
    assert search(game_of(replace(small, no_attack=True))).suppressed == small.n


def test_a_limit_of_29_of_100_records_allows_29():
    """The product .29 x 100 is below 29 by rounding."""
    assert game_of(one_attribute((29, 71), 1, 1, 0, 1, limit=0.29)).most_suppressed == 29


def test_values_that_need_too_many_bits_are_refused():
    wide = (tuple(range(300)), (0,) * 300)
    records = tuple((value,) * 8 for value in range(300))
    small = SmallDataset((wide,) * 8, records, None, *[(1,) * 300] * 4)
    game: FullDomainGame = game_of(small)
    with pytest.raises(InputError, match="72 bits"):
        search(game)


# Class sizes under prosecutor and journalist risk.


@given(datasets())
def test_sizes_at_every_node_are_those_of_the_table_of_people(small):
    game = game_of(small)
    for node in small.nodes():
        sizes = game.sizes_at(game.lattice.index(node))
        assert sizes.tolist() == [max(small.class_size(row, node), 1) for row in small.records]


@given(datasets(same_prices=True, risk="prosecutor"))
def test_no_attack_under_prosecutor_risk_is_k_anonymity(small):
    """Records in classes smaller than k are suppressed, with k from Eq. 8 as in ARX."""
    gain, cost = small.gain[0], small.cost[0]
    if gain == 0:
        k = 1
    elif cost == 0:
        k = small.n + 1
    else:
        k = gain // cost + 1 if gain % cost == 0 else -(-gain // cost)
    game = game_of(small)
    nodes = every_node(type(game)(game.lattice, game.released, game.prices, no_attack=True))
    for at, node in enumerate(small.nodes()):
        table = pd.DataFrame([small.generalized(row, node) for row in small.records])
        size = table.groupby(list(table.columns))[0].transform("size")
        assert nodes.suppressed[at] == (size < k).sum()


def town(counts, released=((0, 0), (0, 0), (1, 0))):
    attributes = (Attribute("sex", ("F", "M")), Attribute("age", ("young", "old")))
    domain = Domain(attributes)
    cells = np.array([[0, 0], [1, 0], [1, 1]], dtype=np.int32)
    lattice = GeneralizationLattice(
        tuple(Hierarchy.from_labels(attribute, [["*", "*"]]) for attribute in attributes),
        np.array(released, dtype=np.int32),
    )
    return lattice, np.ones(len(released), dtype=np.int64), Population(domain, cells, np.array(counts), name="the town")


@pytest.mark.parametrize("count", [1, 1.5])
def test_a_release_that_is_not_part_of_its_population_is_refused(count):
    lattice, released, population = town([count, 1, 5])
    with pytest.raises(InputError, match="the town: the released table is not part of its population") as refused:
        require_part_of(lattice, released, population)
    assert "2 records and 1 person with sex = F, age = young" in str(refused.value)
    assert records_outside(lattice, released, population) == 1


def test_expected_counts_are_sizes_and_an_empty_class_has_one():
    lattice, released, population = town([2.5, 0.25, 0.25])
    sizes = GroupSizes(population, lattice)
    _, table, group_of = finest_classes(lattice, released, population)
    assert table.people[group_of].tolist() == [2.5, 2.5, 0.25]
    assert sizes.at(0).tolist() == [2.5, 2.5, 1.0]


def test_a_population_of_other_categories_is_refused():
    lattice, released, population = town([2, 1, 5])
    with pytest.raises(InputError, match="different categories"):
        finest_classes(lattice, released, population.marginal(["sex"]))
