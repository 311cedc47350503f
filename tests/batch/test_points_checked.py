"""The check of a batch's points before its first run: the same verdict and words as of every point on its own."""

from functools import cached_property
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field, model_validator
from tiers import examples

from reidsim.engine.batch import design as designs
from reidsim.engine.batch.design import Design, at_point, check_points, design_of
from reidsim.engine.batch.one_run import ScenarioWork
from reidsim.errors import InputError
from reidsim.scenarios.load import LoadedScenario, load_scenario
from reidsim.scenarios.schema import ScenarioHead
from reidsim.validation import Section, may_be_read, noting_reads, validated

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
# One of each kind that has amounts.
SCENARIOS = {name: load_scenario(name) for name in (TOWN, "dynamic-release", "guo2023", "market", "xia2021")}
GOOD = (0, 1, 2.5, 1e15)
BAD = (-1, 1.1e15, float("nan"), float("inf"), "5", "\ud800", True, [1], {"a": 1})
OTHERS = {
    "adversary.planner": ("one-shot", "fmdp", "two-shot"),
    "publisher.policies": (["basic"], ["basic", "basic"], ["no-protection"], "basic"),
    "subjects.concern": (0, 2, -1),
    # Of sections that others look at, by values that they look at or not.
    "adversary.rate": (0.2, 0.3, 2),
    "adversary.sequential.penalty": (1, 2, -1),
    "adversaries.journalist.weight": (0.3, 0.6, 0.7, -1),
    "adversaries.journalist.cost": (1, 2, -1),
    "adversaries": ({}, {"one": {}}),
    "publisher.k": (3, [2, 4], 0),
    "publisher.suppression_limit": (0.1, 0.2, 2),
    "publisher.search": ("exact", "anytime"),
    "release.sampling_fraction": (0.1, 2),
    "uniqueness": ({"method": "fixed", "value": 0.3}, {"method": "published"}, {"method": "fixed"}),
    "replications": (2, 0),
    "economics.columns.loss": ("age", 3),
    "beliefs": ({}, {"loss": 3}, {"loss": -3}, 4),
    "economics": ({"benefit": 1, "loss": 2, "cost": 3}, {"benefit": 1}),
    "economics.benefit.by": (1,),
    "nonsense.at.all": (1,),
}


def refused(do):
    try:
        do()
    except InputError as error:
        return str(error)
    return ""


def first_refused(loaded, design):
    """Return the number of the first point that a scenario cannot have, taking each whole."""
    told = (refused(lambda number=number: at_point(loaded, design.values(number)).refuse_code())
            for number in range(len(design.points)))  # fmt: skip
    return next((number for number, words in enumerate(told) if words), None)


@st.composite
def points(draw, loaded):
    amounts = [*designs.kind_of(loaded.scenario).amount_keys]
    keys = draw(st.lists(st.sampled_from([*amounts, *OTHERS]), min_size=1, max_size=4, unique=True))
    keys = [key for key in keys if not any(other != key and key.startswith(f"{other}.") for other in keys)]
    # Few bad values, so that what is wrong comes late or never.
    pool = {key: GOOD * 4 + (draw(st.sampled_from(BAD)),) if key in amounts else OTHERS[key] for key in keys}
    rows = draw(st.lists(st.tuples(*(st.sampled_from(values) for values in pool.values())), min_size=1, max_size=12))
    columns = {key: designs._column([row[place] for row in rows]) for place, key in enumerate(keys)}
    return Design(pd.DataFrame(columns))


@pytest.mark.parametrize("name", SCENARIOS, ids=lambda name: Path(name).stem)
@examples(200)
@given(data=st.data())
def test_the_first_point_that_cannot_be_is_named_as_if_each_was_checked_alone(name, data):
    loaded = SCENARIOS[name]
    design = data.draw(points(loaded))
    told = refused(lambda: check_points(loaded, design))
    number = first_refused(loaded, design)
    if number is None:
        assert not told
    else:
        alone = refused(lambda: at_point(loaded, design.values(number)).refuse_code())
        assert f"point {number}" in told
        assert alone.partition("; found ")[0].rpartition(": ")[2] in told


@pytest.mark.parametrize(
    ("key", "bad", "message"),
    [
        ("economics.loss", {}, ""),
        ("adversary.rate", {}, ""),
        (
            "economics.loss",
            {7_777: -3.0, 9_000: -4.0},
            r"point 7777: economics\.loss: value not allowed; found -3\.0.*the point is",
        ),
    ],
    ids=["amount", "other", "bad"],
)
def test_of_many_points_few_are_checked_whole(monkeypatch, key, bad, message):
    values = [number / 10_000 for number in range(10_000)]
    for number, value in bad.items():
        values[number] = value
    loaded = load_scenario(TOWN, {"adversary.planner": "random", "sweep.values": {key: values}})
    whole = []
    monkeypatch.setattr(designs, "at_point", lambda loaded, values: whole.append(values) or at_point(loaded, values))
    if message:
        with pytest.raises(InputError, match=message):
            check_points(loaded, design_of(loaded))
    else:
        check_points(loaded, design_of(loaded))
    assert len(whole) == 1 + bool(bad)


def test_of_many_points_few_are_made_to_tell_their_parts(monkeypatch):
    values = {"from": 0, "to": 1, "points": 20_000}
    loaded = load_scenario(TOWN, {"adversary.planner": "random", "sweep.values": {"adversary.rate": values}})
    made = []
    monkeypatch.setattr(designs, "at_point", lambda *asked: made.append(asked) or at_point(*asked))
    design = design_of(loaded)
    assert designs.makers_of(loaded, design) == {}
    assert len(made) == 1
    groups = ScenarioWork(loaded, design).groups
    assert groups == [(point,) for point in range(20_000)]
    # All with another rate, which changes no data.
    assert len(made) < 20


def test_parts_that_only_some_points_name_are_all_imported():
    planners = ["one-shot", "no_such_module:thing"]
    loaded = load_scenario(TOWN, {"sweep.values": {"adversary.planner": planners}}, allow_code=True)
    with pytest.raises(InputError, match="no_such_module"):
        designs.makers_of(loaded, design_of(loaded))


def test_defaults_of_several_adversaries_are_checked_as_theirs():
    several = {name: {"weight": 0.5} for name in ("one", "other")}
    sweep = {"adversary.risk": ["prosecutor", "journalist", "sample"]}
    loaded = load_scenario(TOWN, {"adversaries": several, "sweep.values": sweep})
    with pytest.raises(InputError, match=r"point 2: release: sample risk needs to know .*adversary\.risk = 'sample'"):
        check_points(loaded, design_of(loaded))


class Weather(Section):
    rain: float = Field(ge=0)
    umbrella: bool = False


class Walk(Section):
    miles: float = 1
    dry: bool = False


class Day(ScenarioHead):
    """A day whose walk matters to its weather only where it is to be dry, and then by its length."""

    weather: Weather
    walk: Walk = Walk()

    @model_validator(mode="after")
    def _fits(self) -> "Day":
        if self.walk.dry and not self.weather.umbrella and self.weather.rain > self.walk.miles:
            raise InputError("wet", where="weather.rain", found=self.weather.rain)
        return self


class LoadedDay(LoadedScenario[Day]):
    own_parts = ()


@examples(60)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, 3, -1]), st.booleans(), st.sampled_from([0, 2]), st.booleans()), min_size=1
    )
)
@example([(0, False, 0, False), (0, False, 0, True), (1, False, 0, True)])
def test_what_matters_at_some_points_alone_is_checked_there(rows):
    content = {"weather": {"rain": 0}}
    loaded = LoadedDay("day", Path("day.toml"), validated(Day, content, "day.toml"), content)
    keys = ("weather.rain", "weather.umbrella", "walk.miles", "walk.dry")
    design = Design(pd.DataFrame(rows, columns=keys))
    wrong = [number for number, (rain, kept, miles, dry) in enumerate(rows)
             if rain < 0 or (dry and not kept and rain > miles)]  # fmt: skip
    told = refused(lambda: check_points(loaded, design))
    assert f"point {wrong[0]}: weather.rain: " in told if wrong else not told


def test_sections_remember_nothing_that_they_read():
    kinds, seen = [Section], []
    while kinds:
        kind = kinds.pop()
        seen.append(kind)
        kinds += kind.__subclasses__()
    # What was read before it was noted would be missed.
    assert len(seen) > 50
    assert not [kind for kind in seen if any(isinstance(part, cached_property) for part in vars(kind).values())]


def test_what_is_read_of_sections_is_noted_and_no_longer():
    scenario = SCENARIOS[TOWN].scenario
    with noting_reads() as noted:
        assert scenario.economics.loss
        noted_then = set(noted)
        assert scenario.economics == scenario.economics.model_copy()
    assert scenario.publisher.policies
    told = {key: may_be_read(scenario, key, noted_then) for key in ("economics.loss", "economics.cost", "publisher.k")}
    assert told == {"economics.loss": True, "economics.cost": False, "publisher.k": False}
    assert may_be_read(scenario, "economics.cost", noted)
    assert not may_be_read(scenario, "publisher.k", noted)
