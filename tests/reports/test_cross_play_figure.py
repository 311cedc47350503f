"""Heat maps of cross-play: a number in every cell, and unusual tables."""

import numpy as np
import pandas as pd
from layout import misplaced

from reidsim.figures.maps import cross_play_maps


def table(values):
    values = np.asarray(values, dtype=float)
    rows = [f"defender {row}" for row in range(len(values))]
    return pd.DataFrame(values, index=rows, columns=[f"adversary {column}" for column in range(values.shape[1])])


def drawn(payoff, risk):
    figure = cross_play_maps(table(payoff), table(risk))
    panels = [axes for axes in figure.axes if axes.images]
    assert len(panels) == 2
    return figure, panels, [[text.get_text() for text in axes.texts] for axes in panels]


def test_every_cell_has_its_number():
    figure, panels, texts = drawn(
        [[1195.456, -20.9], [0.0, -0.0004], [7.0, 3.0]], [[0.0111, 0.0], [1.0, 0.5], [0.0, 1e-9]]
    )
    assert texts[0] == ["1,195.46", "\N{MINUS SIGN}20.90", "0.00", "0.00", "7.00", "3.00"]
    assert texts[1] == ["0.0111", "0.0000", "1.0000", "0.5000", "0.0000", "0.0000"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["defender 0", "defender 1", "defender 2"]
    assert [label.get_text() for label in panels[1].get_xticklabels()] == ["adversary 0", "adversary 1"]
    assert misplaced(figure) == []
    assert figure.get_size_inches()[0] > figure.get_size_inches()[1]
