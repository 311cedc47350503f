"""The check of a batch's points before its first run: the same verdict and words as of every point on its own."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

from reidsim.engine.batch import design as designs
from reidsim.engine.batch.design import Design, at_point, check_points, design_of
from reidsim.errors import InputError
from reidsim.scenarios.load import load_scenario

TOWN = Path(__file__).resolve().parents[1] / "scenarios" / "town" / "town.toml"
# One of each kind that has amounts.
SCENARIOS = {name: load_scenario(name) for name in (TOWN, "dynamic-release", "guo2023")}
GOOD = (0, 1, 2.5, 1e15)
BAD = (-1, 1.1e15, float("nan"), float("inf"), "5", "\ud800", True, [1], {"a": 1})
OTHERS = {
    "adversary.planner": ("one-shot", "fmdp", "two-shot"),
    "publisher.policies": (["basic"], ["basic", "basic"], ["no-protection"], "basic"),
    "subjects.concern": (0, 2, -1),
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(designs, "_BLOCK", data.draw(st.sampled_from([1, 3, 1000])))
        told = refused(lambda: check_points(loaded, design))
    number = first_refused(loaded, design)
    if number is None:
        assert not told
    else:
        alone = refused(lambda: at_point(loaded, design.values(number)).refuse_code())
        assert f"point {number}" in told
        assert alone.partition("; found ")[0].rpartition(": ")[2] in told


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({}, ""),
        ({77_777: -3.0, 99_000: -4.0}, r"point 77777: economics\.loss: value not allowed; found -3\.0.*the point is"),
    ],
    ids=["good", "bad"],
)
def test_of_many_points_that_differ_in_amounts_few_are_checked_whole(monkeypatch, bad, message):
    values = [number / 100 for number in range(100_000)]
    for number, value in bad.items():
        values[number] = value
    loaded = load_scenario(TOWN, {"sweep.values": {"economics.loss": values}})
    whole = []
    monkeypatch.setattr(designs, "at_point", lambda loaded, values: whole.append(values) or at_point(loaded, values))
    if message:
        with pytest.raises(InputError, match=message):
            check_points(loaded, design_of(loaded))
    else:
        check_points(loaded, design_of(loaded))
    assert len(whole) == 1 + bool(bad)
