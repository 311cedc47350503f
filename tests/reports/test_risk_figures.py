"""Figures of risk under partial knowledge, checked by the data in their artists."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from reidsim.kinds.assessment.figures import capability_reductions, risk_maps

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


def test_maps_show_shares_of_persons():
    table = records_table()
    figure = risk_maps(table)
    assert len(panels(figure)) == 6
    for axes in panels(figure):
        (mesh,) = [artist for artist in axes.collections if isinstance(artist, QuadMesh)]
        assert np.nansum(mesh.get_array()) == pytest.approx(1)
    assert [axes.get_title("left") for axes in panels(figure)[:3]] == [
        "Journalist risk", "Prosecutor risk", "Marketer risk",
    ]  # fmt: skip
    # Prosecutor risk against voters: worst-case 1 is halved, so its persons are at x = 1, y = .5.
    (mesh,) = [artist for artist in panels(figure)[4].collections if isinstance(artist, QuadMesh)]
    shares = np.asarray(mesh.get_array().filled(0) if np.ma.isMaskedArray(mesh.get_array()) else mesh.get_array())
    shares = shares.reshape(20, 20)
    worst = table[table["knowledge"] == "worst-case"]["prosecutor"]
    assert shares[10, 19] == pytest.approx((worst == 1).mean())


def test_capabilities_are_shown_as_shares_of_settings():
    figure = capability_reductions(settings_table())
    (axes,) = panels(figure)
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"Twitter", "Voters"}
    np.testing.assert_allclose(
        lines["Twitter"].get_xdata(), sorted(80.5 + 10 * m + c for m in (0.2, 0.5) for c in (0.2, 0.8))
    )
    np.testing.assert_allclose(lines["Twitter"].get_ydata(), [0.25, 0.5, 0.75, 1])
