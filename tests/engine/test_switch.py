"""Switch points, against playing every policy at many values."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_scenario import releases, write_scenario
from tiers import cases, examples

from reidsim.core.errors import InputError
from reidsim.engine import switch as switch_run
from reidsim.engine.batch.design import at_point
from reidsim.engine.switch import INTERVAL_COLUMNS, SWITCH_COLUMNS, switch_loaded
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.scenario import Scenario

KEYS = ("economics.loss", "economics.benefit", "economics.gain", "economics.cost")
POLICIES = ["basic", "no-attack", "no-protection", "suppress-all", "k-anonymity-2"]
CLINIC = """
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2, 4] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "prosecutor"
[publisher]
unit = "table"
policies = ["no-protection", "full-domain", "full-domain-no-attack", "k-anonymity-3"]
"""
MASKED = """
game = "masking"
[targets]
file = "patients.csv"
[resources.people]
file = "people.csv"
attributes = ["age", "sex"]
[economics]
benefit = 100
loss = 150
cost = 10
[subjects]
attributes = ["age", "sex"]
policies = ["opt-in", "no-protection", "masking", "no-attack-masking", "same-strategy"]
[[adversary.stages]]
stage = "identify"
resource = "people"
on = ["age", "sex"]
"""


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    rows = [f"{age},{sex}\n" for age, sex in zip(rng.integers(20, 30, 40), rng.choice(["F", "M"], 40), strict=True)]
    Path("people.csv").write_text("age,sex\n" + "".join(rows))
    Path("clinic.toml").write_text(CLINIC)
    return lambda **more: Scenario.load("clinic.toml", {key.replace("__", "."): value for key, value in more.items()})


STUDIES = {}


def study_of(loaded):
    """Return the study of a scenario; only the last scenario's study is kept."""
    if id(loaded) not in STUDIES:
        STUDIES.clear()
        STUDIES[id(loaded)] = (loaded, kind_of(loaded.scenario).build(loaded))
    return STUDIES[id(loaded)][1]


def payoffs_at(loaded, key, value, *, link_gain):
    """Play all policies at a value; the gain stays fixed unless it is linked."""
    economics = loaded.scenario.economics
    gain = {} if key == "economics.gain" else {"economics.gain": value if link_gain else economics.adversary_gain}
    there = at_point(loaded, {**gain, key: float(value)})
    kind = kind_of(there.scenario)
    study = study_of(loaded).with_loaded(there)
    played = [kind.summarise(study, d, {p: o.equilibrium for p, o in kind.play(study, d).items()})["publisher_payoff"]
              for d in range(study.draws)]  # fmt: skip
    return pd.concat(played, axis=1).mean(axis=1)


def assert_best_everywhere(loaded, result, values, *, link_gain, near=1e-6):
    """Check that the policies named by the intervals are best at each value."""
    table = result.intervals
    width = table["high"].iloc[-1] - table["low"].iloc[0]
    assert np.array_equal(table["low"].to_numpy()[1:], table["high"].to_numpy()[:-1])
    edges = np.unique([*table["low"], *table["high"]])
    checked = 0
    for value in values:
        if np.abs(edges - value).min() <= near * width:
            continue
        paid = payoffs_at(loaded, result.key, value, link_gain=link_gain)
        row = table[(table["low"] <= value) & (value <= table["high"])].iloc[0]
        scale = loaded.scenario.economics.benefit + loaded.scenario.economics.loss + value
        best = set(row["best"].split(", "))
        most = paid.max()
        assert (paid[list(best)] >= most - 1e-8 * scale).all(), (value, row, paid)
        assert all(paid[name] < most + 1e-12 * scale for name in paid.index if name not in best), (value, row, paid)
        others = [name for name in paid.index if name not in best]
        # Near a switch both payoffs are almost equal, by their slopes.
        far = np.abs(edges - value).min() > 1e-3 * width
        assert not far or (paid[others] < most - 1e-10 * scale).all(), (value, row, paid)
        checked += 1
    assert checked > len(values) / 2


@pytest.mark.deep
@examples(6, fast=4)
@given(st.data(), st.sampled_from(KEYS), st.booleans())
def test_intervals_name_the_best_policies_at_every_value(tmp_path_factory, data, key, link):
    small = data.draw(releases())
    folder = tmp_path_factory.mktemp("small")
    loaded = Scenario.load(write_scenario(folder, small, policies=POLICIES))
    link_gain = link and key == "economics.loss"
    own = max(small.benefit[0], small.loss[0], small.gain[0], small.cost[0], 1.0)
    low, high = (0.01 if key == "economics.cost" else 0.0), 2.0 * own
    result = switch_loaded(loaded, key, low=low, high=high, link_gain=link_gain)
    assert result.manifest["switch"]["exact"]
    assert (result.switches["precision"] <= 1e-8 * high).all()
    assert_best_everywhere(loaded, result, np.linspace(low, high, 6), link_gain=link_gain)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("key", "link_gain"),
    cases([("economics.loss", True), *((key, False) for key in KEYS[1:])], [("economics.loss", True)]),
)
def test_a_table_in_one_generalization(clinic, key, link_gain):
    loaded = clinic()
    result = switch_loaded(loaded, key, high=600.0, link_gain=link_gain)
    assert list(result.intervals.columns) == list(INTERVAL_COLUMNS)
    assert list(result.switches.columns) == list(SWITCH_COLUMNS)
    assert len(result.switches) >= 1
    assert (result.switches["precision"] == 0).all()
    assert (result.lines["value"].min(), result.lines["value"].max()) == (0, 600)
    assert_best_everywhere(loaded, result, np.linspace(0.5, 600, 10), link_gain=link_gain)


def test_the_value_of_a_switch_between_two_lines_is_their_crossing(clinic):
    """Unchanged, all records in classes of fewer than 15 are attacked; withheld, none."""
    loaded = clinic(publisher__unit="record", publisher__policies=["no-protection", "suppress-all"])
    result = switch_loaded(loaded, "economics.loss", high=5_000.0)
    frame = pd.read_csv("people.csv")
    sizes = frame.groupby(["age", "sex"])["age"].transform("size")
    attacked = 300 / sizes > 20
    # Fully suppressed, all records are in one group of 40, where 300 / 40 is below the cost.
    crossing = 100 / float((attacked / sizes).mean())
    (row,) = result.switches.to_dict("records")
    assert row["value"] == pytest.approx(crossing, rel=1e-12)
    assert (row["below"], row["above"], row["precision"]) == ("no-protection", "suppress-all", 0.0)
    assert row["times_own"] == pytest.approx(crossing / 300)
    assert result.best_now == ("no-protection" if crossing > 300 else "suppress-all")
    assert result.intervals["gain_low"].tolist() == [300.0, 300.0]
    linked = switch_loaded(loaded, "economics.loss", high=5_000.0, link_gain=True)
    assert linked.intervals["gain_low"].tolist() == linked.intervals["low"].tolist()
    assert linked.intervals["gain_high"].tolist() == linked.intervals["high"].tolist()


@pytest.mark.deep
def test_the_safer_of_equally_good_policies_is_named(clinic):
    loaded = clinic(publisher__policies=["full-domain", "full-domain-no-attack"])
    result = switch_loaded(loaded, "economics.cost", low=1.0, high=400.0)
    last = result.intervals.iloc[-1]
    # At a cost above the gain no record is attacked, so the guarantee costs utility for nothing.
    assert (last["policy"], last["best"]) == ("full-domain-no-attack", "full-domain, full-domain-no-attack")
    assert last["risk"] == 0


FEW_POLICIES = {"beliefs__cost": 60, "publisher__policies": ["no-protection", "full-domain"]}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("more", "reason"),
    cases(
        [
            ({"publisher__policies": ["full-domain", "local-recoding"]}, "policy local-recoding is a search"),
            ({"beliefs__cost": 60}, "plans use beliefs"),
            (FEW_POLICIES, "plans use beliefs"),
        ],
        [(FEW_POLICIES, "plans use beliefs")],
    ),
)
def test_switches_without_an_envelope_are_found_by_halving(clinic, more, reason):
    loaded = clinic(**more)
    result = switch_loaded(loaded, "economics.loss", high=1_200.0)
    assert not result.manifest["switch"]["exact"]
    (warning,) = result.warnings
    assert warning.startswith("switches are located only to within 0.0012")
    assert reason in warning
    assert (result.switches["precision"] > 0).all()
    assert (result.switches["precision"] <= 0.0012).all()
    assert_best_everywhere(loaded, result, np.linspace(0, 1_200, 6), link_gain=False, near=1e-5)


def test_a_belief_about_the_loss_leaves_plans_as_they_are(clinic):
    """Fixed plans have payoffs linear in the loss, even if the beliefs are wrong."""
    loaded = clinic(beliefs__loss=900)
    result = switch_loaded(loaded, "economics.loss", high=5_000.0)
    assert result.manifest["switch"]["exact"]
    assert_best_everywhere(loaded, result, np.linspace(0, 5_000, 6), link_gain=False)


@pytest.mark.deep
def test_another_adversary_is_played_along_loss_exactly_and_along_cost_by_halving(clinic):
    loaded = clinic(adversary__planner="fmdp", publisher__unit="record", publisher__policies=["basic", "no-protection"])
    exact = switch_loaded(loaded, "economics.loss", high=3_000.0)
    assert exact.manifest["switch"]["exact"]
    assert_best_everywhere(loaded, exact, np.linspace(0, 3_000, 5), link_gain=False)
    halved = switch_loaded(loaded, "economics.cost", high=100.0)
    assert "the values at which attacks begin are unknown" in halved.warnings[0]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("key", "high"), cases([("economics.loss", 4_000.0), ("economics.cost", 60.0)], [("economics.loss", 4_000.0)])
)
def test_subjects_who_mask(tmp_path, monkeypatch, key, high):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"age": rng.choice([30, 40, 50], 60), "sex": rng.choice(["F", "M"], 60)})
    people.to_csv("people.csv", index=False)
    people.head(9).to_csv("patients.csv", index=False)
    Path("mask.toml").write_text(MASKED)
    loaded = Scenario.load("mask.toml")
    result = switch_loaded(loaded, key, high=high)
    assert result.manifest["switch"]["exact"] == (key == "economics.loss")
    assert len(result.switches) >= (key == "economics.loss")
    assert_best_everywhere(loaded, result, np.linspace(1, high, 6), link_gain=False, near=1e-5)


def test_a_budget_of_values_leaves_the_rest_open(clinic, monkeypatch):
    monkeypatch.setattr(switch_run, "MOST_VALUES", 3)
    result = switch_loaded(clinic(), "economics.gain", high=600.0)
    assert result.manifest["switch"]["unsettled"]
    assert any("was not determined after 3 values" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("key", "options", "says"),
    [
        ("economics.los", {}, r"clinic\.toml: --key: not a payoff parameter of the scenario; found 'economics\.los'"),
        ("economics.cost", {"link_gain": True}, "--link-gain: the gain can be linked to the loss only"),
        ("economics.loss", {"low": 5.0, "high": 2.0}, "--from, --to: invalid range; found '5 to 2'"),
        ("economics.loss", {"high": np.inf}, "--from, --to: invalid range"),
    ],
)  # fmt: skip
def test_impossible_options_are_refused_in_one_line(clinic, key, options, says):
    with pytest.raises(InputError, match=says) as error:
        switch_loaded(clinic(), key, **options)
    assert "\n" not in str(error.value)


def test_an_amount_of_0_needs_a_range_and_one_of_a_column_has_none(clinic):
    with pytest.raises(InputError, match=r"invalid range; .*set the range"):
        switch_loaded(clinic(economics__loss=0, economics__gain=300), "economics.loss")
    frame = pd.read_csv("people.csv").assign(loss=range(40))
    frame.to_csv("people.csv", index=False)
    with pytest.raises(
        InputError, match=r"--key: the payoff parameter differs by record; found \"economics\.loss, column"
    ):
        switch_loaded(clinic(economics__columns={"loss": "loss"}), "economics.loss")
