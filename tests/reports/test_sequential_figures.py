"""The figures of the sequential attack, checked by the data in their artists."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reidsim.adversaries.sequential.attack import SequentialAttack
from reidsim.adversaries.sequential.planning import BinomialBelief, plan_baseline, plan_known, plan_unknown
from reidsim.kinds.tables.figures import (
    attack_thresholds,
    belief_risks,
    by_group_size,
)

A, B, C = (
    "a: constant detection, every penalty",
    "b: constant detection, one penalty",
    "c: rising detection, every penalty",
)
BASELINE = "Baseline: one exploit"
KNOWN, UNKNOWN = "risk only if the group is known", "risk only if it is unknown"


def attack(setting: str) -> SequentialAttack:
    """Return the attack of the paper's case study (section 7.2) under a setting."""
    constant = SequentialAttack(gain=8000, access_cost=100, exploit_cost=10, penalty=10000, prior=0.63)
    changes: dict[str, dict[str, Any]] = {A: {}, B: {"max_penalties": 1}, C: {"detection_slope": 0.18}}
    return replace(constant, **changes[setting])


def attacks_table(most: int = 60) -> pd.DataFrame:
    sizes = np.arange(1, most + 1)
    frames = []
    for setting, planner in itertools.product((A, B, C), ("baseline", "fmdp")):
        plan = (plan_known if planner == "fmdp" else plan_baseline)(attack(setting), sizes)
        # No plan reports the number of exploits without detection, so it is not tested here.
        frame = pd.DataFrame({"group_size": sizes, "value": plan.value, "risk": plan.reidentified})
        frame["exploits"] = np.round(plan.reidentified * sizes / 0.63)
        frames.append(frame.assign(setting=setting, planner=planner).sample(frac=1, random_state=len(frames)))
    return pd.concat(frames, ignore_index=True)


def beliefs_table(settings: tuple[str, ...] = (A, B)) -> pd.DataFrame:
    population = 6018999
    pairs = list(itertools.product(range(0, 60, 3), (1e-9, 4e-6, 6e-6, 9e-6, 2e-5)))
    sizes = np.array([size for size, _ in pairs])
    share = np.array([match for _, match in pairs])
    frames = []
    for setting in settings:
        known = plan_known(attack(setting), sizes).reidentified
        unknown = plan_unknown(attack(setting), sizes, BinomialBelief(population, share)).reidentified
        frames.append(
            pd.DataFrame(
                {
                    "setting": setting,
                    "group_size": sizes,
                    "match_probability": share,
                    "risk_known": known,
                    "risk_unknown": unknown,
                    "records": 1 + np.arange(len(sizes)) % 7,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def thresholds_table() -> pd.DataFrame:
    values = {
        "detection": (0.001, 0.01, 0.1, 0.5),
        "penalty": (0.0, 10000.0, 20000.0, 30000.0),
        "access_cost": (0.0, 100.0, 200.0),
        "exploit_cost": (0.0, 10.0, 20.0),
    }
    rows = [
        (parameter, value, setting, 44 // (1 + place * (2 + rank)) + 1)
        for parameter, all_values in values.items()
        for place, value in reversed(list(enumerate(all_values)))
        for rank, setting in enumerate((A, B, C))
    ]
    return pd.DataFrame(rows, columns=["parameter", "value", "setting", "threshold"])


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def line_of(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    (line,) = [line for line in axes.get_lines() if line.get_label() == label]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def assert_differ_without_colour(axes: Axes, labels: list[str]) -> None:
    lines = [line for line in axes.get_lines() if line.get_label() in labels]
    assert len({line.get_marker() for line in lines}) == len(lines)
    # The dash patterns from the fifth line on have no names.
    assert len({line.get_linestyle() for line in lines[:4]}) == len(lines[:4])


# ---------------------------------------------------------------------------------------------- all figures


# ------------------------------------------------------------------------------------------- Figs. 6 to 8


@pytest.mark.parametrize("column", ["risk", "value", "exploits"])
def test_lines_by_group_size_are_those_of_the_table(column: str) -> None:
    table = attacks_table()
    figure = by_group_size(table, column)
    (axes,) = figure.axes
    last = "Everybody in the group" if column == "exploits" else BASELINE
    assert legend_of(figure) == [A, B, C, last]
    for setting in (A, B, C):
        rows = table[(table["setting"] == setting) & (table["planner"] == "fmdp")].sort_values("group_size")
        assert line_of(axes, setting) == (rows["group_size"].tolist(), rows[column].tolist())
    if column != "exploits":
        rows = table[(table["setting"] == A) & (table["planner"] == "baseline")].sort_values("group_size")
        assert line_of(axes, BASELINE) == (rows["group_size"].tolist(), rows[column].tolist())
    assert_differ_without_colour(axes, [A, B, C, BASELINE])
    assert axes.get_xscale() == "linear"


def test_the_case_study_shows_the_thresholds_of_the_paper() -> None:
    (axes,) = by_group_size(attacks_table(), "risk").axes
    for setting, first_safe in ((A, 45), (B, 48), (C, 29), (BASELINE, 24)):
        sizes, risks = line_of(axes, setting)
        assert min(size for size, risk in zip(sizes, risks, strict=True) if risk == 0) == first_safe
    assert line_of(axes, A)[1][:44] == pytest.approx([0.63] * 44)


# ------------------------------------------------------------------------------------------------- Fig. 9


def points_of(axes: Axes, label: str) -> dict[tuple[float, float], float]:
    (points,) = [item for item in axes.collections if item.get_label() == label]
    offsets = [(x, round(y, 9)) for x, y in np.asarray(points.get_offsets()).tolist()]
    sizes = np.broadcast_to(points.get_sizes(), len(offsets)).tolist()
    return dict(zip(offsets, sizes, strict=True))


def test_beliefs_show_the_records_whose_risk_differs_with_area_by_number() -> None:
    table = beliefs_table()
    nobody = table.assign(group_size=table["group_size"] + 0.5, records=0)
    figure = belief_risks(pd.concat([table, nobody]))
    assert len(figure.axes) == 2
    scale = set()
    for setting, axes in zip((A, B), figure.axes, strict=True):
        rows = table[table["setting"] == setting]
        same = rows.loc[rows["risk_known"] == rows["risk_unknown"], "records"].sum()
        assert axes.texts[0].get_text().endswith(f"\nsame risk: {same} records")
        for label, kind in ((KNOWN, rows["risk_known"] > rows["risk_unknown"]),
                            (UNKNOWN, rows["risk_known"] < rows["risk_unknown"])):  # fmt: skip
            here = rows[kind]
            assert len(here) >= 2
            places = zip(here["group_size"], (1e6 * here["match_probability"]).round(9), strict=True)
            records = dict(zip(places, here["records"], strict=True))
            drawn = points_of(axes, label)
            assert drawn.keys() == records.keys()
            scale |= {round(size / records[place], 9) for place, size in drawn.items()}
        assert axes.get_title(loc="left") == setting
    assert len(scale) == 1
    assert legend_of(figure) == [KNOWN, UNKNOWN, "7 records (area of the marker)"]
    reference = figure.legends[0].legend_handles[2]
    assert isinstance(reference, Line2D)
    assert reference.get_markersize() ** 2 == pytest.approx(7 * scale.pop())


# ------------------------------------------------------------------------------------------------ Fig. 10


def test_thresholds_are_those_of_the_table_in_the_order_of_the_paper() -> None:
    table = thresholds_table()
    figure = attack_thresholds(table)
    assert legend_of(figure) == [A, B, C]
    for parameter, letter, axes in zip(
        ("access_cost", "exploit_cost", "penalty", "detection"), "abcd", figure.axes, strict=True
    ):
        for setting in (A, B, C):
            rows = table[(table["parameter"] == parameter) & (table["setting"] == setting)].sort_values("value")
            assert line_of(axes, setting) == (rows["value"].tolist(), rows["threshold"].tolist())
        assert axes.get_title(loc="left") == f"({letter})"
        assert axes.get_xscale() == ("log" if parameter == "detection" else "linear")
        assert axes.get_yscale() == "linear"
        assert axes.get_ylim()[0] == 0
        assert all(tick == round(tick) for tick in axes.get_yticks())
        assert_differ_without_colour(axes, [A, B, C])
