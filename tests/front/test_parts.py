"""Adversaries, hierarchies and figures of games built in Python."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import reidsim
from reidsim.adversaries.sequential.planning import BinomialBelief, plan_known, plan_unknown
from reidsim.releases.hierarchy import Hierarchy
from reidsim.scenarios.adversary_schema import SequentialSection
from reidsim.tables import read_table, text_table


def test_defaults_of_the_sequential_adversary_are_those_of_scenario_files():
    own = {item.name: item.default for item in fields(reidsim.Sequential)}
    schema = {name: field.default for name, field in SequentialSection.model_fields.items() if name != "unconfirmed"}
    assert {name: own[name] for name in schema} == schema


def test_the_planner_alone_plans_as_its_functions_do():
    planner, sizes = reidsim.Sequential(500, 10, access_cost=20, penalty=100, prior=0.6), np.arange(1, 60)
    pd.testing.assert_series_equal(
        pd.Series(planner.plan(sizes).reidentified), pd.Series(plan_known(planner.attack, sizes).reidentified)
    )
    shares = sizes / 0.6 / 10_000
    unknown = planner.plan(sizes, registry_size=6_000, match_probability=shares)
    np.testing.assert_array_equal(
        unknown.reidentified, plan_unknown(planner.attack, sizes, BinomialBelief(6_000, shares)).reidentified
    )


def test_unknown_groups_need_both_the_registry_and_the_shares():
    with pytest.raises(reidsim.InputError, match="match_probability"):
        reidsim.Sequential(500, 10).plan([1], registry_size=5)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_an_attack_at_random_is_a_mean_of_always_and_never(rate):
    patients = pd.DataFrame({"age": [20, 21, 21, 30, 31, 31, 45]})
    records = reidsim.Records(patients, {"age": reidsim.intervals(5, 15)})

    def payoff(adversary):
        game = reidsim.Game(records, adversary=adversary, benefit=100, loss=300)
        return game.play(["no-protection"]).summary.loc["no-protection", ["publisher_payoff", "adversary_payoff"]]

    mean = rate * payoff(reidsim.Always(60, 12)) + (1 - rate) * payoff(reidsim.Never())
    np.testing.assert_allclose(payoff(reidsim.Random(60, 12, rate)).astype(float), mean.astype(float), rtol=1e-12)


def test_a_hierarchy_a_table_and_its_file_are_one(tmp_path):
    rows = [["F", "x", "*"], ["M", "x", "*"], ["X", "y", "*"]]
    (tmp_path / "levels.csv").write_text("".join(";".join(row) + "\n" for row in rows))
    attribute = reidsim.Attribute("sex", ("F", "M", "X"))
    given = (
        pd.DataFrame(rows), tmp_path / "levels.csv", str(tmp_path / "levels.csv"),
        Hierarchy.from_labels(attribute, [["x", "x", "y"], ["*", "*", "*"]]),
    )  # fmt: skip
    patients = pd.DataFrame({"sex": list("FMMX")})
    fingerprints = {
        reidsim.Game(
            reidsim.Records(patients, {"sex": levels}), adversary=reidsim.OneShot(60, 12), benefit=1, loss=1
        ).fingerprint
        for levels in given
    }
    assert len(fingerprints) == 1


def test_rules_say_what_scenario_files_say():
    assert reidsim.prefix(4, 3, pool=["036"]).model_dump(exclude_defaults=True) == {
        "rule": "prefix", "digits": (4, 3), "pool": ("036",),
    }  # fmt: skip
    assert reidsim.groups([["a", "b"], ["c"]]).groups == ((("a", "b"), ("c",)),)
    assert reidsim.suppress().rule == "suppress"


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


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a "]), "column named twice; found 'a'"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(frame, says):
    with pytest.raises(reidsim.InputError, match=says):
        text_table(frame, "t")


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


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"age": [9, None]}, "people: row 2, column 'age': value missing"),
        ({"n": [1, -1]}, "people: row 2, column 'n': not a number of 0 or more"),
        ({"n": [0, 0]}, "people: the population is empty"),
    ],
)
def test_people_that_cannot_be_counted_are_told(changes, says):
    frame = pd.DataFrame({"age": [9, 10], "n": [1, 2]}).assign(**changes)
    with pytest.raises(reidsim.InputError, match=says):
        reidsim.Population.from_frame(frame, "n", name="people")
    with pytest.raises(reidsim.InputError, match="people: column 'm': column missing"):
        reidsim.Population.from_frame(frame, "m", name="people")


# Figures.


def test_every_result_has_a_figure():
    patients = pd.DataFrame({"age": [20, 21, 21, 30, 31, 31, 45]})
    records = reidsim.Records(patients, {"age": reidsim.intervals(5, 15)})
    game = reidsim.Game(records, adversary=reidsim.OneShot(60, 12), benefit=100, loss=300)
    played = game.play(["basic", "suppress-all"]).plot()
    widths = [bar.get_width() for bar in played.axes[0].patches]
    assert widths == pytest.approx(game.play(["basic", "suppress-all"]).summary["publisher_payoff"].tolist())
    assert [text.get_text() for text in played.axes[0].get_yticklabels()] == ["Basic game", "Suppress all"]
    assert len(game.sweep(loss=[1, 100, 200]).plot().axes) >= 1
    assert len(game.cross_play().plot().axes) >= 2
    stressed = game.stress(loss=(100, 500), samples=4, parts={"robustness": {}})
    assert len(stressed.plot().axes) >= 1
    assert str(reidsim.plot(stressed)).startswith("Figure")


def test_a_result_without_policies_has_the_first_figure_of_its_kind(monkeypatch):
    assessed = reidsim.run("xia2021", overrides={"release.sizes": [200], "release.samples": 1, "figures": {}})
    assert assessed.plot().axes[0].get_title(loc="left") == "Journalist risk"
    monkeypatch.setattr("reidsim.reports.illustration.figures_of", lambda result: iter(()))
    result = reidsim.RunResult("r", pd.DataFrame({"a": [1]}), pd.DataFrame(), None, {}, ())
    with pytest.raises(reidsim.InputError, match="r: the result has no payoffs to draw"):
        result.plot()


def test_what_is_shown_in_a_line_is_short():
    people = reidsim.load_individuals("adult")
    records = reidsim.Records(pd.DataFrame({"age": [30, 34, 52]}), {"age": reidsim.intervals(5)})
    game = reidsim.Game(records, adversary=reidsim.OneShot(60, 40), benefit=100, loss=300)
    lattice = game.study.lattice
    assert repr(people) == "Individuals('adult': 32,561 people, Domain(age 73, race 5, sex 2))"
    assert repr(people.domain.attributes[1]) == "Attribute('race', 5 categories)"
    assert repr(lattice) == "GeneralizationLattice(3 records, 3 strategies: age)"
    assert repr(lattice.hierarchies[0]) == "Hierarchy('age', 3 levels)"
    assert repr(game.study.belief) == f"RecordGame({lattice}, OneShotAdversary)"
    title = "Record-level re-identification game: Adult records in Tennessee"
    assert repr(reidsim.Scenario.load("wan2015")) == f"Scenario('wan2015': {title})"


@pytest.mark.parametrize("weight", ["w", [10, 12.5, 3, 4, 50], (10, 12.5, 3, 4, 50)])
def test_weights_of_records(weight):
    table = pd.DataFrame({"age": [30, 34, 52, 30, 61], "sex": list("FFMFM"), "w": [10, 12.5, 3, 4, 50]})
    records = reidsim.Records(table, {"age": reidsim.intervals(5, 15), "sex": "suppress"}, weight=weight)
    adversary = reidsim.OneShot(gain=100, cost=4, risk="sample")
    study = reidsim.Game(records, adversary=adversary, benefit=100, loss=100).study
    # A model estimates the people outside the sample, so the total is near the sum of weights.
    assert study.people("sample").total == pytest.approx(79.5, rel=0.01)
    assert records.content("", {})[0]["release"]["weight"] == ("w" if weight == "w" else "weight")


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("x", "argument 'weight': no such column; found 'x'; expected one of age, w"),
        ([1, 2], "argument 'weight': not a weight for each record; found 'int64 of shape (2,)'"),
        (["a", "b", "c"], "argument 'weight': not a weight for each record"),
    ],
)
def test_weights_that_are_none(weight, said):
    table = pd.DataFrame({"age": [30, 34, 52], "w": [1, 2, 3]})
    with pytest.raises(reidsim.InputError) as error:
        reidsim.Records(table, {"age": reidsim.intervals(5)}, weight=weight)
    assert said in str(error.value)


def test_a_column_of_weights_does_not_take_the_place_of_another():
    table = pd.DataFrame({"age": [30, 34, 52], "weight": [70, 80, 90]})
    records = reidsim.Records(table, {"age": reidsim.intervals(5)}, weight=[4, 5, 6])
    content, tables = records.content("", {})
    assert content["release"]["weight"] == "weight of the records"
    assert tables["records.csv"]["weight"].tolist() == ["70", "80", "90"]
