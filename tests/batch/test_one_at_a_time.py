"""Sweeps that change one key at a time, and studies kept between points."""

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reidsim
from reidsim.core.errors import InputError
from reidsim.core.validation import validated
from reidsim.engine.batch.design import Design, RunTask, ScenarioWork, content_of_run, design_of, sweep_points
from reidsim.engine.batch.runner import evaluate, tasks_of
from reidsim.scenarios.scenario import Scenario
from reidsim.scenarios.schema import SweepSection

TABLE_PROGRAM = """
[adversary]
risk = "prosecutor"
[release]
path = "records.csv"
[population]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [10, 20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 80
cost = 10
[publisher]
unit = "table"
safe_class = "above"
policies = ["basic", "no-attack", "record-level", "local-recoding", "no-protection"]
"""


def sweep(**content):
    return validated(SweepSection, content, "test")


@pytest.fixture
def town(work):
    """Return a scenario in a copy of the town, which is the working folder."""
    return "town.toml"


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a small full-domain scenario in the working folder."""
    records = [(20 + 7 * number % 40, "FM"[number % 3 == 0], 50 + 10 * (number % 4)) for number in range(30)]
    lines = [f"{age},{sex},{worth}" for age, sex, worth in records]
    (tmp_path / "records.csv").write_text("\n".join(["age,sex,worth", *lines]) + "\n")
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,worth", *lines, *lines[:11]]) + "\n")
    (tmp_path / "table.toml").write_text(TABLE_PROGRAM)
    monkeypatch.chdir(tmp_path)
    return "table.toml"


def test_other_keys_are_crossed_and_groups_change_together():
    section = sweep(
        values={"z": ["p", "q"], "a": [1, 2], "b": [10, 20], "c": [0.5]},
        together=[["a", "b"]],
        one_at_a_time=["a", "b", "c"],
    )
    assert section.n_points == 6
    points = sweep_points(section, {"a": 3, "b": 30, "c": 0.1})
    own = [(1, 10, 0.1), (2, 20, 0.1), (3, 30, 0.5)]
    assert list(points.itertuples(index=False, name=None)) == [("p", *row) for row in own] + [
        ("q", *row) for row in own
    ]


values = st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True)


@given(
    values,
    values,
    st.lists(st.sampled_from("pqr"), min_size=1, max_size=3, unique=True),
    st.tuples(*[st.integers(0, 6)] * 2),
)
def test_points_are_the_stars_around_the_scenario_each_once(x, y, z, own):
    section = sweep(values={"x": x, "z": z, "y": y}, one_at_a_time=["y", "x"])
    points = list(sweep_points(section, {"x": own[0], "y": own[1]}).itertuples(index=False, name=None))
    expected = {(value, letter, own[1]) for value in x for letter in z}
    expected |= {(own[0], letter, value) for value in y for letter in z}
    assert len(points) == len(expected) <= section.n_points
    assert set(points) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"values": {"a": [1], "b": [2]}, "one_at_a_time": ["a", "c"]}, "the key has no values .* found 'c'"),
        ({"values": {"a": [1], "b": [2]}, "one_at_a_time": ["a", "a"]}, "one_at_a_time: too few keys"),
        (
            {"values": {"a": [1], "b": [2], "c": [3]}, "together": [["a", "b"]], "one_at_a_time": ["a", "c"]},
            "one_at_a_time: only some keys of a group",
        ),
    ],
)
def test_keys_that_cannot_change_in_turn_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        sweep(**content)


def test_a_key_that_stays_needs_a_value_in_the_scenario(town):
    changes = {"sweep": {"values": {"economics.gain": [1], "economics.loss": [2]},
                         "one_at_a_time": ["economics.gain", "economics.loss"]}}  # fmt: skip
    with pytest.raises(
        InputError, match=r"town.toml: sweep.one_at_a_time: the scenario sets no value for the key; found 'econ"
    ):
        reidsim.run_batch(town, overrides=changes)


def task(values, seed=7):
    return RunTask("key", 0, 0, seed, values)


RECORD_POINTS = [
    {"economics.loss": 30}, {"economics.loss": 90, "publisher.policies": ["no-protection"]}, {"beliefs.cost": 20},
    {"adversary.risk": "prosecutor"}, {"economics.cost": 3}, {"attributes.sex.draw": True},
    {"adversary.planner": "fmdp", "adversary.sequential.penalty": 50},
    {"adversary.planner": "fmdp", "adversary.sequential.belief": "unknown", "adversary.sequential.access_cost": 1},
    {"adversary.planner": "fmdp", "adversary.sequential.penalty": 5, "economics.gain": 90}, {"economics.loss": 31},
]  # fmt: skip
TABLE_POINTS = [
    {"economics.loss": 30}, {"economics.benefit": 60}, {"beliefs.risk": "journalist"}, {"adversary.risk": "journalist"},
    {"economics.cost": 3, "publisher.suppression_limit": 0.1}, {"economics.columns.benefit": "worth"},
    {"economics.columns.benefit": "worth", "economics.loss": 300}, {"economics.gain": 5}, {"publisher.prune": False},
    {"attributes.age.minimum_level": 1},
]  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["town", "table"])
def test_a_kept_study_gives_what_a_new_one_gives(kind, request):
    loaded = Scenario.load(request.getfixturevalue(kind))
    kept = ScenarioWork(loaded)
    points = RECORD_POINTS if kind == "town" else TABLE_POINTS
    for point in [*points, points[0]]:
        tables, warnings = kept(task(point, loaded.scenario.seed))
        new, warned = ScenarioWork(loaded)(task(point, loaded.scenario.seed))
        for each in (tables, new):
            each.pop("runtimes", None)
        # Compared as text, because NaN is not equal to itself.
        assert (repr(tables), warnings) == (repr(new), warned), point


@pytest.mark.deep
def test_a_long_sweep_of_losses_gives_what_single_runs_give(town):
    """The records' strategies are reduced after some points; the first points are solved without this."""
    loaded = Scenario.load(town, {"publisher.policies": ["basic", "no-attack"]})
    kept = ScenarioWork(loaded)
    for loss in range(1, 50):
        tables, warnings = kept(task({"economics.loss": 2.5 * loss, "economics.gain": 100}))
        if loss in (1, 40, 41, 49):
            new, warned = ScenarioWork(loaded)(task({"economics.loss": 2.5 * loss, "economics.gain": 100}))
            assert (repr(tables), warnings) == (repr(new), warned), loss
    assert len(kept.studies.planner.thinned) == 1


AGE_FIRST = {
    "age": {"hierarchy": {"rule": "intervals", "widths": [10, 20]}, "minimum_level": 2},
    "sex": {"hierarchy": {"rule": "suppress"}},
}
SEX_FIRST = {name: AGE_FIRST[name] for name in ("sex", "age")}


def test_attributes_in_another_order_are_another_study(table):
    """Levels are given by position, and sex has no level 2."""
    points = pd.DataFrame({"attributes": [AGE_FIRST, SEX_FIRST]}, dtype=object)
    loaded = Scenario.load(table, {"publisher.policies": ["basic", "record-level", "no-protection"]})
    tasks = tasks_of(loaded, Design(points), content_of_run(loaded))
    assert tasks[0].key != tasks[1].key
    runs = evaluate(loaded, points)["runs"]
    assert runs["state"].tolist() == ["complete"] * 6, runs["error"].tolist()
    one, other = (runs[runs["point"] == point].reset_index(drop=True) for point in (0, 1))
    same = ["policy", "publisher_payoff", "adversary_payoff", "share_attacked"]
    pd.testing.assert_frame_equal(one[same], other[same])


def test_runs_are_told_apart_by_the_order_of_names_and_not_of_keys(table):
    """The order of keys in a section and of key paths in a sweep changes no run."""
    loaded = Scenario.load(table)

    def key(content, **values):
        design = Design(pd.DataFrame({name: [value] for name, value in values.items()}, index=[0]))
        changed = replace(loaded, content=content)
        return tasks_of(changed, design, content_of_run(changed))[0].key

    content = loaded.content
    turned = {name: dict(reversed(content[name].items())) for name in ("economics", "attributes")}
    plain = key(content)
    assert key(dict(reversed(content.items()))) == plain
    assert key({**content, "economics": turned["economics"]}) == plain
    assert key({**content, "attributes": turned["attributes"]}) != plain
    assert key(content, seed=1, title="x") == key(content, title="x", seed=1) != plain


def test_bundled_sweeps_can_all_be_run():
    for name in ("wan2015-sweep", "wan2015-map", "wan2015-map-records", "wan2015-search", "prasser2017-sweep",
                 "prasser2017-runtimes", "xia2015-sweep"):  # fmt: skip
        design = design_of(Scenario.load(name))
        assert len(design.points.drop_duplicates()) == len(design.points) > 10


def test_policies_that_a_point_does_not_have_are_no_rows_of_the_summary(town):
    lists = [["basic"], ["basic", "no-attack"]]
    summary = reidsim.run_batch(town, overrides={"sweep.values": {"publisher.policies": lists}}).summary
    assert summary.index.tolist() == [
        ('["basic"]', "basic"),
        ('["basic", "no-attack"]', "basic"),
        ('["basic", "no-attack"]', "no-attack"),
    ]
    assert summary["publisher_payoff"].notna().all()
