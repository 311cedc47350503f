"""Figures of the masking game: positions of the data, and refused tables."""

import numpy as np
import pandas as pd
from layout import misplaced

from reidsim.figures import style
from reidsim.games.outcomes import RISK
from reidsim.kinds.masking.figures import (
    effectiveness,
    masking_lines,
    search_path_figure,
    strategy_map,
    usefulness_and_fairness,
)
from reidsim.kinds.masking.kind import SUBJECT_PAYOFF

RUNS = pd.DataFrame(
    {
        "replication": [0, 0, 1, 1, 2, 2],
        "policy": ["masking", "no-protection"] * 3,
        "publisher_payoff": [80.0, -10.0, 82.0, -12.0, 87.0, -10.0],
        "utility": [0.9, 1.0, 0.8, 1.0, 0.85, 1.0],
        "risk": [0.01, 0.75, 0.0, 0.8, 0.02, 0.7],
    }
)
RECORDS = pd.DataFrame(
    {
        "record": [0, 1, 2, 3] * 2,
        "policy": ["masking"] * 4 + ["no-protection"] * 4,
        "strategy": "",
        "publisher_payoff": [50.0, 60.0, 75.0, 25.0, -50.0, -50.0, 100.0, 100.0],
        "adversary_payoff": 0.0,
        "attacked": [False, False, False, True, True, True, False, False],
        "success_probability": [0.9, 0.0, 0.0, 0.5, 1.0, 1.0, 0.0, 0.0],
        "utility": [0.5, 0.6, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0],
        "generalization_intensity": 0.0,
        "age": ["30", None, "group of 40", "50", "30", "35", "42", "50"],
        "state": [None, None, "TN", "TN", "NC", "NC", "TN", "TN"],
    }
)


def panels(figure):
    """Return the axes of each panel of a map: above the map, the map, beside it."""
    return [(part.axes[0], part.axes[2], part.axes[3]) for part in figure.subfigs]


def levels_drawn(axes):
    """Return the grey of each cell of a map, shape (n_attributes, n_subjects).

    Colours are taken at the middles of the cells.
    """
    image = axes.images[0]
    pixels = np.round(np.asarray(image.get_array()) * 255).astype(int)
    _, n_subjects, bottom, top = image.get_extent()
    n_attributes = round(bottom - top)
    rows = ((np.arange(n_attributes) + 0.5) / n_attributes * pixels.shape[0]).astype(int)
    columns = ((np.arange(int(n_subjects)) + 0.5) / n_subjects * pixels.shape[1]).astype(int)
    return pixels[np.ix_(rows, columns)]


# Effectiveness.


def medians_of(axes):
    return [line.get_xdata().item() for line in axes.lines if line.get_marker() == "o"]


def test_effectiveness_shows_utility_and_privacy_of_every_policy():
    figure = effectiveness(RUNS, RECORDS)
    assert not misplaced(figure)
    _, utility, privacy = figure.axes
    np.testing.assert_allclose(medians_of(utility), [1, 0.85])
    np.testing.assert_allclose(medians_of(privacy), [0.25, 0.99])
    assert utility.lines[3].get_xdata().tolist() == [0.8, 0.9]


def test_payoffs_are_of_replications_if_there_are_several_and_of_records_if_not():
    for runs, policy_medians in ((RUNS, [-10.0, 82.0]), (RUNS[:2], [25.0, 55.0])):
        axes = effectiveness(runs, RECORDS).axes[0]
        assert medians_of(axes) == policy_medians
        assert [label.get_text() for label in axes.get_yticklabels()] == ["No protection", "Masking"]
    assert "Payoff of a subject" in axes.get_xlabel()


# Maps.


def test_subjects_who_are_attacked_stand_on_the_right_and_those_who_mask_most_on_the_left():
    figure = strategy_map(RECORDS, ["masking"])
    assert not misplaced(figure)
    ((top, centre, side),) = panels(figure)
    cells = levels_drawn(centre)
    # Records 1 (masks both), 0 (masks the state), 2 (age in a group), 3 (attacked).
    black, white = [0, 0, 0], [255, 255, 255]
    assert cells[0, 0].tolist() == cells[1, 0].tolist() == cells[1, 1].tolist() == black
    assert cells[0, 1].tolist() == cells[1, 2].tolist() == white
    assert 0 < cells[0, 2, 0] < 255
    assert len(set(cells[0, 2].tolist())) == 1
    assert cells[0, 3].tolist() == cells[1, 3].tolist()
    assert cells[0, 3].tolist() not in (black, white)
    assert top.patches[0].get_data().values.tolist() == [2, 1, 0, 0]
    assert [bar.get_width() for bar in side.patches] == [0.25, 0.5]
    assert centre.get_xlabel() == "Subjects: 3 not attacked, 1 attacked"
    assert [label.get_text() for label in centre.get_yticklabels()] == ["age", "state"]


def test_fairness_shows_the_range_of_each_measure_over_complete_replications():
    runs = RUNS.assign(
        usefulness=np.linspace(0.1, 0.6, 6), usefulness_fairness=np.linspace(0.5, 1, 6), privacy_fairness=0.9
    )
    runs.loc[5, "usefulness"] = np.nan
    figure = usefulness_and_fairness(runs)
    assert not misplaced(figure)
    complete = runs.dropna().assign(privacy=1 - runs["risk"])
    columns = ("usefulness", "usefulness_fairness", "privacy", "privacy_fairness")
    for axes, column in zip(figure.axes, columns, strict=True):
        ranges, medians = axes.lines[::3], axes.lines[2::3]
        for place, policy in enumerate(("no-protection", "masking")):
            values = complete.loc[complete["policy"] == policy, column]
            np.testing.assert_allclose(ranges[place].get_xdata(), [values.min(), values.max()])
            np.testing.assert_allclose(medians[place].get_xdata(), values.median())
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["No protection", "Masking"]


def test_lines_are_means_of_replications_with_their_confidence_intervals():
    lines = pd.DataFrame(
        {"line": "cost", "value": ["1", "1", "4", "4", "9"], "policy": "masking",
         "publisher_payoff": [1.0, 3.0, 5.0, 5.0, 6.0], "risk": [0.0, 0.5, 0.5, 0.5, 0.25]}
    )  # fmt: skip
    # Two replications, two equal ones, or one without an interval; the t quantile has one degree of freedom.
    quantile = np.tan(0.475 * np.pi)
    for measure, means, errors in ((SUBJECT_PAYOFF, [2, 5, 6], [1, 0]), (RISK, [0.75, 0.5, 0.75], [0.25, 0])):
        figure = masking_lines(lines, measure)
        assert not misplaced(figure)
        (axes,) = figure.axes
        (bars,) = axes.collections
        np.testing.assert_allclose(axes.get_lines()[0].get_xydata(), np.column_stack([[1, 4, 9], means]))
        drawn = [np.ptp(bar[:, 1]) / 2 for bar in bars.get_segments() if len(bar)]
        np.testing.assert_allclose(drawn, quantile * np.array(errors))


def test_names_of_lines_that_coincide_stand_apart_beside_their_last_points():
    policies = ["masking", "no-attack-masking", "opt-in", "no-protection", "random-masking"]
    values = ["1", "2", "3"]
    rows = [(value, policy, place // 3) for place, policy in enumerate(policies) for value in values]
    table = pd.DataFrame(rows, columns=["value", "policy", "publisher_payoff"]).assign(line="cost")
    figure = masking_lines(pd.concat([table, table.assign(line="loss")]), SUBJECT_PAYOFF)
    assert not misplaced(figure)
    first, last = figure.axes
    assert not first.texts
    assert {text.get_text() for text in last.texts if text.get_text()} == set(map(style.policy_name, policies))
    leaders = [tuple(text.xy) for text in last.texts if not text.get_text()]
    assert sorted(leaders) == [(3, place // 3) for place in range(len(policies))]


def test_two_points_have_no_line_between_them():
    lines = pd.DataFrame({"line": "cost", "value": ["1", "2"], "policy": "masking", "publisher_payoff": [1.0, 3.0]})
    (axes,) = masking_lines(lines, SUBJECT_PAYOFF).axes
    assert axes.get_lines()[0].get_linestyle() == "None"


def test_a_search_path_is_drawn_in_its_order_with_who_is_attacked_and_recommended():
    path = pd.DataFrame(
        {"step": pd.array([1, 0, None], dtype="Int64"), "confidence": [0.4, 0.6, 0.1], "attacked": [False, True, True],
         "utility": [0.8, 1.0, 0.0], "payoff": [80.0, 25.0, 0.0], "privacy": [1.0, 0.5, 1.0],
         "recommended_by": ["masking", "", "opt-in"]}
    )  # fmt: skip
    figure = search_path_figure(path)
    assert not misplaced(figure)
    for axes, name in zip(figure.axes, ("utility", "payoff", "privacy"), strict=True):
        line = axes.get_lines()[0]
        assert list(line.get_xdata()) == [0.6, 0.4]
        assert list(line.get_ydata()) == list(path[name][[1, 0]])
        attacked, safe, ringed = (list(map(tuple, marks.get_offsets())) for marks in axes.collections)
        assert (attacked, safe, ringed) == ([(0.6, path[name][1])], [(0.4, path[name][0])], [(0.4, path[name][0])])
