"""Figures of the full-domain game."""

import numpy as np
import pandas as pd
from layout import misplaced

from reidsim.kinds.tables.figures import full_domain_runtimes, payout_curves, payout_front


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
        "(c) No-attack game, risks from the dataset", "(d) No-attack game, risks from the population",
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
    rings = [line for line in axes.lines if line.get_marker() == "o" and line.get_markersize() > 10]
    assert sorted((*ring.get_xdata(), *ring.get_ydata()) for ring in rings) == [(0.0, 0.4), (0.7, 0.9)]
    assert misplaced(figure) == []


def test_runtimes_are_medians_of_replications_with_their_range():
    times = {0.0: [0.3, 0.1, 0.2], 500.0: [0.4, 0.4, 0.4], 1000.0: [0.5, 0.1, 0.3]}
    runs = [
        {"value": loss, "policy": policy, "pruned": pruned, "seconds": seconds, "nodes_evaluated": 7 if pruned else 288}
        for policy in ("basic", "no-attack", "record-level")
        for pruned in (True, False)
        for loss, each in times.items()
        for seconds in each
    ]
    figure = full_domain_runtimes(pd.DataFrame(runs).sample(frac=1, random_state=1))
    assert misplaced(figure) == []
    basic, _, nodes, _ = figure.axes
    # The runs have no record-level generalization of the No-Attack game.
    assert [len(axes.lines) for axes in figure.axes] == [9, 6, 6, 6]
    names = [line.get_label() for line in basic.lines if line.get_label().startswith(("full", "record"))]
    assert names == ["full-domain, with pruning", "full-domain, every node", "record-level"]
    for line in (line for line in basic.lines if line.get_label() in names):
        np.testing.assert_allclose(line.get_xydata(), [[0, 200], [500, 400], [1000, 300]])
    ranges = basic.collections[0].get_segments()
    np.testing.assert_allclose([part[:, 1] for part in ranges], [[100, 300], [400, 400], [100, 500]])
    assert {tuple(line.get_ydata()) for line in nodes.lines if line.get_label() in names} == {(7,) * 3, (288,) * 3}
