"""Class sizes under prosecutor and journalist risk."""

import numpy as np
import pandas as pd
import pytest
from full_domain_oracle import datasets, game_of
from hypothesis import given

from reidsim.errors import InputError
from reidsim.games.full_domain.nodes import every_node
from reidsim.games.full_domain.risk import finest_classes, records_outside, require_part_of
from reidsim.linkage.group_sizes import GroupSizes
from reidsim.populations.domain import Attribute, Domain
from reidsim.populations.population import Population
from reidsim.releases.hierarchy import Hierarchy
from reidsim.releases.lattice import GeneralizationLattice


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
