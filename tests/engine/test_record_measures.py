"""The distance of lattice-based search from the optimum, by the paper."""

import numpy as np
import pytest
from hypothesis import given
from small_games import game_of
from small_scenario import releases, study_of
from tiers import examples

from reidsim.kinds.tables.kind import TABLES
from reidsim.kinds.tables.outcomes import play
from reidsim.scenarios.study import equilibria_of


def deviations(small):
    with study_of(small, policies=["basic"], solver="lattice-search") as study:
        return TABLES.further_measures(study, equilibria_of(play(study))).loc["basic"]


@given(small=releases())
@examples(25)
def test_deviations_compare_lattice_search_with_the_optimum(small):
    found = deviations(small)
    d_p, d_a, same, nodes = [], [], [], []
    for i in range(small.n_records):
        paper = small.paper(i)
        searched, seen = paper.algorithm_2()
        got, best = paper.play(searched), paper.play(paper.algorithm_1())
        d_p.append(abs(got[0] - best[0]))
        d_a.append(abs(got[1] - best[1]))
        same.append(d_p[-1] <= 1e-9 * small.scale[0])
        nodes.append(len(seen))
    close = {"rel": 1e-9, "abs": 1e-9 * small.scale[0]}
    assert found["publisher_payoff_difference"] == pytest.approx(np.mean(d_p), **close)
    assert found["adversary_payoff_difference"] == pytest.approx(np.mean(d_a), **close)
    assert found["share_optimal"] == pytest.approx(np.mean(same))
    assert found["evaluated"] == pytest.approx(np.mean(nodes))


def test_the_adversary_may_get_less_from_lattice_search_than_from_the_optimum():
    # The search continues from (2, 0), 10/3 - 30/3 with 9 for the adversary, to (2, 1), which it charges 30/4: a loss
    # of 1.37 for the publisher and of 2.5 for the adversary. Differences are absolute.
    people = [(0, 1), (1, 0), (2, 0), (0, 0)]
    levels = ((0, 1, 2), (0, 0, 1), (0, 0, 0)), ((0, 1), (0, 0))
    game = game_of(levels, people, [(0, 0)], benefit=10.0, loss=30.0, gain=30.0, cost=1.0)
    row = deviations(game)
    assert row["publisher_payoff_difference"] == pytest.approx(10 * np.log(2) / np.log(6) - 2.5)
    assert row["adversary_payoff_difference"] == pytest.approx(2.5)
    assert row["share_optimal"] == 0
