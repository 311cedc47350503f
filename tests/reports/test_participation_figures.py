"""Figures of equilibria among people who may join: positions of the data."""

import numpy as np
import pandas as pd
import pytest
from layout import misplaced

from reidsim.core.numerics import wilson_interval
from reidsim.kinds.participation.figures import equilibria_found, survival_of_losses
from reidsim.kinds.participation.kind import PARTICIPATION_KIND
from reidsim.reports.page.report import caption

PARTICIPATION = [0.0, 0.25, 0.9875]
SURVIVAL = pd.DataFrame(
    {
        "equilibrium": np.repeat([0, 1, 2], 2),
        "participation": np.repeat(PARTICIPATION, 2),
        "lost": [0.01, 0.2] * 3,
        "returned": [1.0, 1.0, 0.9, 0.0, 1.0, 0.5],
    }
)


def test_every_equilibrium_has_its_payoff_in_its_row():
    payoffs = [0.0, -4.854, 3.5]
    figure = equilibria_found(pd.DataFrame({"participation": PARTICIPATION, "publisher_payoff": payoffs}))
    assert misplaced(figure) == []
    (axes,) = figure.axes
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.column_stack([payoffs, [0, 1, 2]]))
    assert [text.get_text() for text in axes.texts] == ["0.00", "\N{MINUS SIGN}4.85", "3.50"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0% join", "25% join", "98.75% join"]


@pytest.mark.parametrize("draws", [0, 10])
def test_survival_has_a_mark_per_equilibrium_and_loss_with_an_interval_where_draws_are_random(draws):
    figure = survival_of_losses(SURVIVAL, draws)
    assert misplaced(figure) == []
    (axes,) = figure.axes
    marks = [line for line in axes.lines if line.get_marker() != "None"]
    assert [line.get_xdata().tolist() for line in marks] == [[1.0, 0.9, 1.0], [1.0, 0.0, 0.5]]
    assert [np.round(line.get_ydata()).tolist() for line in marks] == [[0, 1, 2], [0, 1, 2]]
    intervals = [tuple(line.get_xdata()) for line in axes.lines if line.get_marker() == "None"]
    # Nobody can drop out of nobody.
    random = SURVIVAL[SURVIVAL["participation"] > 0].sort_values(["lost", "equilibrium"])
    assert intervals == ([wilson_interval(share, draws) for share in random["returned"]] if draws else [])


@pytest.mark.parametrize("sort", ["figures", "tables"])
def test_captions_of_the_kind_come_before_general_ones(sort):
    assert caption(sort, "equilibria", PARTICIPATION_KIND) == "Participation and mean payoff at every equilibrium found"
    assert caption(sort, "reidentified", PARTICIPATION_KIND) == caption(sort, "reidentified", None)
