"""Figures of the full-domain game."""

import pandas as pd
from layout import misplaced

from reidsim.kinds.tables.figures import payout_curves, payout_front


def curves(policies=("safe-harbor", "basic", "no-attack", "record-level"), risks=("prosecutor", "journalist")):
    rows = [
        {"parameter": "loss", "value": value, "policy": policy, "risk": risk, "relative_payout": 1 - value / 4000}
        for policy in policies
        for risk in (("",) if policy == "safe-harbor" else risks)
        for value in (0.0, 500.0, 1000.0)
    ]
    return pd.DataFrame(rows)


def test_payout_curves_has_a_panel_per_game_and_risk():
    figure = payout_curves(curves())
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "(a) Basic game, risks from the dataset", "(b) Basic game, risks from the population",
        "(c) No-Attack game, risks from the dataset", "(d) No-Attack game, risks from the population",
    ]  # fmt: skip
    assert [len(axes.lines) for axes in figure.axes] == [3, 3, 2, 2]
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {"Safe Harbor", "Full-domain", "Record-level"}
    assert misplaced(figure) == []
    line = figure.axes[0].lines[1]
    assert line.get_xdata().tolist() == [0, 500, 1000]
    assert line.get_ydata().tolist() == [1, 0.875, 0.75]


def test_front_rings_the_node_chosen():
    front = pd.DataFrame(
        {
            "policy": ["basic"] * 2 + ["no-attack"],
            "node": ["1,0", "0,0", "1,1"],
            "relative_payout": [0.5, 0.9, 0.4],
            "share_attacked": [0.0, 0.7, 0.0],
        }
    )
    chosen = pd.DataFrame({"policy": ["basic", "no-attack"], "node": ["0,0", "1,1"]})
    figure = payout_front(front, chosen)
    (axes,) = figure.axes
    ring = axes.lines[-1]
    assert (list(ring.get_xdata()), list(ring.get_ydata())) == ([0.7], [0.9])
    assert [text.get_text() for text in axes.texts] == ["ring: chosen, levels 0, 0"]
    assert misplaced(figure) == []
