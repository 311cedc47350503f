"""Settings in which ARX 3.9.2 and an exhaustive search agreed, on ARX's table."""

import numpy as np
import pytest

from reidsim.core.tables import read_table
from reidsim.games.full_domain.game import FullDomainGame
from reidsim.games.full_domain.search import explore, record_level, search
from reidsim.games.record_game import Prices
from reidsim.populations.population import Attribute, Domain, Population, distinct_rows
from reidsim.releases.hierarchy import hierarchy_from_rows, read_hierarchy_rows
from reidsim.releases.lattice import GeneralizationLattice

# Game, released rows, quasi-identifiers, G = L, optimum, payout, suppressed; B 1200, C 4, suppression limit 1.
SETTINGS = """
prosecutor    all    3 0    0,0,0             36194400.00 0
prosecutor    all    3 300  0,0,0             36063000.00 0
prosecutor    all    3 1000 0,0,0             35705400.00 0
prosecutor    all    4 100  0,0,0,0           36047800.00 0
prosecutor    all    4 300  0,0,0,0           35712900.00 0
prosecutor    all    4 2000 0,0,0,0           33248800.00 543
prosecutor-na all    3 0    0,0,0             36194400.00 0
prosecutor-na all    3 300  0,0,0             29660400.00 5445
prosecutor-na all    3 1000 1,0,0             25984603.61 6093
prosecutor-na all    4 100  0,0,0,0           28266000.00 6607
prosecutor-na all    4 1000 1,1,0,0           20725696.28 6820
journalist    sample 3 0    0,0,0             3619200.00  0
journalist    sample 3 300  0,0,0             3605543.41  0
journalist    sample 3 1000 0,0,0             3568732.81  0
journalist    sample 4 300  0,0,0,0           3568942.83  0
journalist    sample 4 2000 0,0,0,0           3321350.95  68
journalist-na sample 3 0    0,0,0             3619200.00  0
journalist-na sample 3 300  0,0,0             2950800.00  557
journalist-na sample 3 1000 1,0,0             2603966.26  604
journalist-na sample 4 300  0,1,0,0           2459563.00  511
prosecutor    all    9 300  0,0,0,0,0,0,0,0,0 30343800.00 0
prosecutor    all    9 1000 0,3,0,0,0,0,0,2,0 22005870.55 2913
prosecutor-na all    9 300  1,3,0,0,3,0,0,2,0 16087608.81 6284
journalist    sample 9 1000 0,3,0,0,2,0,0,0,0 2212530.29  359
"""
RECORD_LEVEL = {
    (3, 300): 36_066_391.74, (3, 1000): 35_783_507.06, (4, 300): 35_759_553.71, (4, 1000): 35_127_100.16,
    (9, 300): 32_082_440.78, (9, 1000): 29_789_867.57,
}  # fmt: skip


@pytest.fixture(scope="module")
def arx(adult_folder):
    """Return the table, its sample and the nine hierarchies."""
    whole = read_table(adult_folder / "arx_adult.csv", delimiter=";")
    sample = read_table(adult_folder / "arx_adult_subset.csv", delimiter=";")
    hierarchies = []
    for name in whole.columns:
        path = adult_folder / "arx_hierarchies" / f"adult_hierarchy_{name}.csv"
        rows = read_hierarchy_rows(path)
        hierarchies.append(hierarchy_from_rows(Attribute(name, tuple(row[0] for row in rows)), rows))
    return whole, sample, tuple(hierarchies)


def game_of(arx, kind, rows, count, amount):
    whole, sample, hierarchies = arx
    domain = Domain(tuple(h.attribute for h in hierarchies[:count]))
    everybody = domain.encode(whole)
    codes = everybody if rows == "all" else domain.encode(sample)
    first, cell = distinct_rows(list(codes.T), len(codes))
    return FullDomainGame(
        GeneralizationLattice(hierarchies[:count], codes[first]),
        np.bincount(cell),
        Prices(1200, amount, amount, 4),
        population=Population.from_records(domain, everybody) if kind.startswith("journalist") else None,
        no_attack=kind.endswith("na"),
    )


@pytest.mark.parametrize("line", SETTINGS.strip().splitlines())
def test_settings_of_the_reference(arx, line):
    kind, rows, count, amount, node, payout, suppressed = line.split()
    game = game_of(arx, kind, rows, int(count), float(amount))
    solution = search(game)
    assert game.lattice.describe(solution.node) == node
    # Payouts are printed to the cent.
    assert solution.payout == pytest.approx(float(payout), abs=0.006)
    assert solution.suppressed == int(suppressed)


@pytest.mark.deep
@pytest.mark.parametrize("setting", RECORD_LEVEL)
def test_record_level_sums_of_the_reference(arx, setting):
    count, amount = setting
    game = game_of(arx, "prosecutor", "all", count, amount)
    solution = record_level(game)
    assert float(solution.payoff @ game.released) == pytest.approx(RECORD_LEVEL[setting], abs=0.006)


@pytest.mark.deep
def test_the_anytime_search_gives_the_reference_too(arx):
    anytime = explore(game_of(arx, "prosecutor", "all", 9, 1000.0), nodes=1000)[0]
    assert anytime.payout == pytest.approx(22_005_870.55, abs=0.006)
    assert anytime.exact
    assert anytime.bound >= anytime.payout
