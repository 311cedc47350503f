"""Adversaries, hierarchies and figures of games built in Python."""

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.core.tables import read_table, text_table
from reidsim.releases.hierarchy import Hierarchy
from reidsim.scenarios.kind import AnalysisTables


def test_a_hierarchy_a_table_and_its_file_are_one(tmp_path):
    rows = [["F", "x", "*"], ["M", "x", "*"], ["X", "y", "*"]]
    (tmp_path / "levels.csv").write_text("".join(";".join(row) + "\n" for row in rows))
    attribute = reidsim.Attribute("sex", ("F", "M", "X"))
    given = (
        pd.DataFrame(rows), tmp_path / "levels.csv", str(tmp_path / "levels.csv"),
        Hierarchy.from_labels(attribute, [["x", "x", "y"], ["*", "*", "*"]]),
    )  # fmt: skip
    patients = pd.DataFrame({"sex": list("FMMX")})
    built = [scenario_of(patients, {"sex": levels}).build().fingerprint for levels in given]
    assert len(set(built)) == 1


def scenario_of(records, hierarchies, **changes):
    economics = {"benefit": 100, "loss": 300, "gain": 60, "cost": 12}
    return reidsim.Scenario.from_frames(records, hierarchies=hierarchies, economics=economics, **changes)


# Tables in memory.


def test_a_table_in_memory_is_text_as_its_file_is(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "float": [1.0, 2.5, np.nan],
            "text": [" a ", "b", None],
            "category": pd.Categorical([48, 50, 48]),
            "truth": [True, False, True],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    read = read_table(tmp_path / "t.csv").replace({"float": {"1.0": "1"}})
    pd.testing.assert_frame_equal(text_table(frame, "t"), read, check_dtype=False)


def test_people_are_counted_from_a_table():
    frame = pd.DataFrame({"age": [9, 10, 9, 10], "sex": ["F", "M", "F", "M"], "n": [1, 2, 3, 0.5]})
    each = reidsim.Population.from_frame(frame[["age", "sex"]])
    assert each.domain["age"].categories == ("9", "10")
    assert each.counts.tolist() == [2, 2]
    assert each.counts.dtype == np.int64
    counted = reidsim.Population.from_frame(frame, "n")
    assert counted.domain.names == ("age", "sex")
    assert counted.counts.tolist() == [4.0, 2.5]
    whole = reidsim.Population.from_frame(frame.iloc[:3], "n")
    assert (whole.counts.tolist(), whole.counts.dtype) == ([4, 2], np.int64)


# Figures.


@pytest.mark.deep
def test_every_result_has_a_figure():
    patients = pd.DataFrame({"age": [20, 21, 21, 30, 31, 31, 45]})
    scenario = scenario_of(
        patients, {"age": reidsim.intervals(5, 15)}, policies=["basic", "suppress-all"],
        stress={"robustness": {"samples": 4}},
    )  # fmt: skip
    result = scenario.run()
    drawn = result.plot()
    widths = [bar.get_width() for bar in drawn.axes[0].patches]
    assert widths == pytest.approx(result.summary["publisher_payoff"].tolist())
    assert [text.get_text() for text in drawn.axes[0].get_yticklabels()] == ["Basic", "Suppress all"]
    assert len(scenario.sweep(loss=[1, 100, 200]).plot().axes) >= 1
    assert len(scenario.cross_play().plot().axes) >= 2
    for other in (scenario.score(patients), scenario.with_(replications=2).batch(), scenario.rounds(2)):
        assert other.figures[0] == "payoffs"
        amounts = [text.get_text() for text in other.plot("payoffs").axes[0].texts]
        expected = [f"{payoff:.2f}" for payoff in other.summary["publisher_payoff"]]
        assert [amount.replace("\N{MINUS SIGN}", "-") for amount in amounts] == expected
    stressed = scenario.stress(loss=(100, 500))
    assert len(stressed.plot().axes) >= 1
    assert str(reidsim.plot(stressed)).startswith("Figure")


@pytest.mark.deep
def test_a_result_without_policies_has_the_first_figure_of_its_kind(monkeypatch):
    assessed = reidsim.run("xia2021", overrides={"release.sizes": [200], "release.samples": 1, "figures": {}})
    assert assessed.plot().axes[0].get_title(loc="left") == "Journalist risk"
    monkeypatch.setattr("reidsim.reports.drawing.figures_of", lambda result: iter(()))
    result = reidsim.RunResult(
        pd.DataFrame({"a": [1]}), pd.DataFrame(), AnalysisTables(), name="r", manifest={}, warnings=()
    )
    with pytest.raises(reidsim.InputError, match="r: the result has no payoffs to draw"):
        result.plot()


def test_weights_of_records_determine_the_population_size():
    table = pd.DataFrame({"age": [30, 34, 52, 30, 61], "sex": list("FFMFM"), "w": [10, 12.5, 3, 4, 50]})
    rules = {"age": reidsim.intervals(5, 15), "sex": "suppress"}
    study = scenario_of(table, rules, release={"weight": "w"}, adversary={"risk": "sample"}).build()
    # A model estimates the people outside the sample, so the total is near the sum of weights.
    assert study.people("sample").total == pytest.approx(79.5, rel=0.01)
