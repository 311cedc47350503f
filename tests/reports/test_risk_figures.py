"""Figures of risk under partial knowledge, checked by the data in their artists."""

import itertools

import numpy as np
import pandas as pd
import pytest
from layout import misplaced
from matplotlib.figure import Figure

from reidsim.kinds.assessment.figures import capability_reductions, risk_curves

ADVERSARIES = ("worst-case", "twitter", "voters")


def records_table(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    worst = rng.choice([0.0, 0.5, 1.0], n)
    parts = [
        pd.DataFrame(
            {
                "record": np.arange(n),
                "records": n,
                "knowledge": name,
                "journalist": 0.66 * worst * factor,
                "prosecutor": worst * factor,
                "marketer": worst * factor,
            }
        )
        for name, factor in zip(ADVERSARIES, (1, 0.1, 0.5), strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def settings_table() -> pd.DataFrame:
    rows = [
        {"p_m": m, "p_fm": 0.5, "p_cu": 0.5, "p_c": c, "replication": r, "knowledge": name, "q1": 50, "q3": 99,
         "median": 0 if name == "worst-case" else 80 + 10 * m + c + r}
        for m, c, r, name in itertools.product((0.2, 0.5), (0.2, 0.8), range(2), ADVERSARIES)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def panels(figure: Figure) -> list:
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def test_curves_show_the_share_of_persons_with_at_most_each_risk():
    table = records_table()
    figure = risk_curves(table)
    assert misplaced(figure) == []
    for axes, risk in zip(panels(figure), ("journalist", "prosecutor", "marketer"), strict=True):
        curves = {line.get_label(): line for line in axes.get_lines()}
        for name, label in zip(ADVERSARIES, ("Worst case", "Twitter", "Voters"), strict=True):
            risks = table.loc[table["knowledge"] == name, risk].to_numpy()
            x, y = curves[label].get_data()
            for value in np.unique(risks):
                assert y[x == value].max() == pytest.approx((risks <= value).mean())
            assert x.max() <= axes.get_xlim()[1]


def test_capabilities_are_shown_as_shares_of_settings():
    figure = capability_reductions(settings_table())
    (axes,) = panels(figure)
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"Twitter", "Voters"}
    np.testing.assert_allclose(
        lines["Twitter"].get_xdata(), sorted(80.5 + 10 * m + c for m in (0.2, 0.5) for c in (0.2, 0.8))
    )
    np.testing.assert_allclose(lines["Twitter"].get_ydata(), [0.25, 0.5, 0.75, 1])
