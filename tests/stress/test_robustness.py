"""Regret, ranks of policies and best-policy maps, against plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tiers import examples

from reidsim.engine.stress.analyses import best_policies, regret, robustness_table

payoff_tables = st.tuples(st.integers(1, 4), st.integers(1, 6)).flatmap(
    lambda shape: arrays(
        np.float64, shape, elements=st.one_of(st.sampled_from([0.0, 1.0, 2.0, np.nan]), st.floats(-1e3, 1e3))
    )
)


@examples(60)
@given(payoff_tables)
def test_regret_is_never_negative_and_zero_for_the_best_at_each_point(payoffs):
    behind = regret(payoffs)
    whole = np.isfinite(payoffs).all(axis=0)
    assert np.isnan(behind[:, ~whole]).all()
    assert (behind[:, whole] >= 0).all()
    best, margin = best_policies(payoffs)
    for point in range(payoffs.shape[1]):
        column = payoffs[:, point].tolist()
        if any(np.isnan(column)):
            assert best[point] == -1
            assert np.isnan(margin[point])
            continue
        assert behind[best[point], point] == pytest.approx(0, abs=1e-9)
        assert best[point] == min(
            i for i, value in enumerate(column) if max(column) - value <= 1e-12 * max(map(abs, column))
        )
        if len(column) > 1:
            others = sorted(column)
            assert margin[point] == pytest.approx(others[-1] - others[-2], abs=1e-9)
        else:
            assert np.isnan(margin[point])


@examples(60)
@given(payoff_tables, st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_ranks_of_policies_are_those_of_their_definitions(payoffs, quantile):
    names = [f"policy-{number}" for number in range(len(payoffs))]
    table = robustness_table(names, payoffs, quantile)
    columns = [column for column in payoffs.T.tolist() if not any(np.isnan(column))]
    assert table["points"].eq(len(columns)).all()
    if not columns:
        assert table[["mean_payoff", "worst_payoff", "largest_regret", "share_best"]].isna().all(axis=None)
        assert not table[["maximin", "minimax_regret", "quantile_best"]].any(axis=None)
        return
    for number, row in enumerate(table.to_dict("records")):
        own = sorted(column[number] for column in columns)
        behind = [max(column) - column[number] for column in columns]
        # The smallest payoff that the given share of points does not exceed.
        reached = next(value for k, value in enumerate(own, start=1) if k / len(own) >= quantile - 1e-12)
        assert row["mean_payoff"] == pytest.approx(sum(own) / len(own))
        assert row["worst_payoff"] == own[0]
        assert row["quantile_payoff"] == reached
        assert row["mean_regret"] == pytest.approx(sum(behind) / len(behind))
        assert row["largest_regret"] == max(behind)
    assert table.loc[table["maximin"], "policy"].tolist() == [names[int(table["worst_payoff"].argmax())]]
    assert table.loc[table["minimax_regret"], "policy"].tolist() == [names[int(table["largest_regret"].argmin())]]
    assert table.loc[table["quantile_best"], "policy"].tolist() == [names[int(table["quantile_payoff"].argmax())]]
