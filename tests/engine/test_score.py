"""Released files played as policies: files of this package, and files of others."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_files import unknown
from tiers import cases, examples

import reidsim
from reidsim.core.errors import InputError
from reidsim.engine.score import score_loaded
from reidsim.reports.page.sources import open_results
from reidsim.reports.shared.file import write_shared
from reidsim.reports.shared.records import shared_records
from reidsim.scenarios.scenario import Scenario

SCENARIO = """
[population]
path = "everybody.csv"
[release]
path = "people.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [2, 4] }
[attributes.sex]
column = "Geschlecht"
values = { w = "F", m = "M" }
hierarchy = { rule = "suppress" }
[attributes.town]
hierarchy = { rule = "prefix", digits = [1] }
[economics]
benefit = 100
loss = 300
cost = 20
[adversary]
risk = "RISK"
direction = "DIRECTION"
[publisher]
unit = "UNIT"
policies = ["no-protection", "basic", "no-attack", "k-anonymity-3"]
"""
AGES, SEXES, TOWNS = range(20, 30), "wm", ("11", "12", "21")
MEASURES = ["publisher_payoff", "adversary_payoff", "utility", "share_attacked", "risk"]
COST, GAIN, BENEFIT = 20, 300, 100


def write_people(folder, n=50, seed=1):
    rng = np.random.default_rng(seed)

    def drawn(size):
        columns = (rng.choice(AGES, size), rng.choice(list(SEXES), size), rng.choice(TOWNS, size))
        return pd.DataFrame(dict(zip(("age", "Geschlecht", "town"), columns, strict=True)))

    # The population has every combination, so that all categories are known.
    whole = pd.DataFrame(itertools.product(AGES, SEXES, TOWNS), columns=["age", "Geschlecht", "town"])
    people = drawn(n).assign(pid=[f"P{i}" for i in range(n)])
    people.to_csv(folder / "people.csv", index=False)
    pd.concat([whole, people[whole.columns], drawn(200)]).to_csv(folder / "everybody.csv", index=False)


def load(folder, unit="record", risk="prosecutor", direction="record", **more):
    text = SCENARIO.replace("UNIT", unit).replace("RISK", risk).replace("DIRECTION", direction)
    (folder / "town.toml").write_text(text)
    return Scenario.load(folder / "town.toml", {key.replace("__", "."): value for key, value in more.items()})


def assert_unprotected(result, name):
    """Check that a file has the measures of no protection."""
    own, played = (result.summary.loc[each, MEASURES].to_numpy(float) for each in (name, "no-protection"))
    np.testing.assert_allclose(own, played, atol=1e-12)


@pytest.fixture
def town(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    return tmp_path


@pytest.mark.deep
@pytest.mark.parametrize(
    ("unit", "risk", "direction", "rows"),
    cases(
        [
            ("record", "journalist", "record", 1),
            ("table", "prosecutor", "record", 1),
            ("record", "prosecutor", "both", 1),
            ("table", "journalist", "person", 1),
            ("record", "journalist", "both", 2),
            ("record", "prosecutor", "person", 2),
            ("table", "prosecutor", "both", 2),
        ],
        [("table", "prosecutor", "record", 1), ("record", "prosecutor", "both", 1), ("table", "prosecutor", "both", 2)],
    ),
)
def test_a_shared_file_has_the_measures_of_its_policy(town, unit, risk, direction, rows):
    loaded = load(town, unit, risk, direction)
    if rows > 1:
        people = pd.read_csv("people.csv", dtype=str)
        people.assign(owner=[f"Q{i // rows}" for i in range(len(people))]).to_csv("people.csv", index=False)
        text = Path("town.toml").read_text()
        Path("town.toml").write_text(text.replace("[release]", '[release]\nperson = "owner"'))
        loaded = Scenario.load("town.toml")
    reidsim.run("town.toml").save("results")
    run = open_results(Path("results"))
    withheld = 0
    for policy in loaded.scenario.publisher.policies:
        shared = shared_records(run, policy=policy, kept=unknown(identifiers=["pid"]))
        path = Path(f"{policy}.csv")
        write_shared(path, run, shared)
        withheld += shared.withheld
        result = score_loaded(loaded, path, key="pid")
        own, played = result.summary.loc[path.name, MEASURES], result.summary.loc[policy, MEASURES]
        np.testing.assert_allclose(own.to_numpy(float), played.to_numpy(float), rtol=0, atol=1e-12)
        # A group that occurs at two levels counts as the lower level.
        intensity = result.summary["generalization_intensity"]
        assert intensity[path.name] <= intensity[policy] + 1e-12
        assert rows * (~result.records["shared"]).sum() == shared.withheld
        with pytest.raises(InputError, match=r"\.csv: the rows of a file that share wrote are sorted; .* --key COLUMN"):
            score_loaded(loaded, path)
        if policy == "no-protection":
            in_order = pd.read_csv(path, dtype=str).set_index("pid").loc[pd.read_csv("people.csv")["pid"]]
            in_order.reset_index().to_csv("in-order.csv", index=False)
            summary = score_loaded(loaded, Path("in-order.csv")).summary.rename(index={"in-order.csv": path.name})
            pd.testing.assert_frame_equal(summary, result.summary, check_exact=True)
    assert withheld > 0 or (unit, risk, direction) != ("table", "prosecutor", "record")


def by_hand(released, people, everybody):
    """Return payoff, success and utility of each released row, counted one by one.

    A released row is a list of value sets.
    """
    found = []
    for sets in released:
        size = sum(all(value in values for value, values in zip(person, sets, strict=True)) for person in everybody)
        loss = sum(np.log(len(values)) for values in sets) / np.log(len(AGES) * len(SEXES) * len(TOWNS))
        utility = max(1 - loss, 0) if loss < 1 - 1e-12 else 0.0
        attacked = GAIN / max(size, 1) > COST
        found.append((BENEFIT * utility - 300 * attacked / max(size, 1), 1 / max(size, 1), utility, attacked))
    return np.array(found)


def written(values, kind):
    """Write a set of values in the notation of one of several programs."""
    values = sorted(values)
    numbers = all(str(value).isdigit() for value in values)
    whole = numbers and [int(v) for v in values] == list(range(int(values[0]), int(values[-1]) + 1))
    if len(values) == 1 and kind != 2:
        return str(values[0])
    if whole and kind == 0:
        return f"[{values[0]}, {int(values[-1]) + 1}["
    if whole and kind == 1:
        return f"{values[0]}-{values[-1]}"
    return "{" + ", ".join(map(str, values)) + "}"


@pytest.mark.deep
@examples(40, fast=5)
@given(st.integers(0, 10_000), st.sampled_from(["prosecutor", "journalist"]))
def test_any_sets_are_counted_one_by_one(tmp_path_factory, seed, risk):
    folder = tmp_path_factory.mktemp("sets")
    write_people(folder, n=25, seed=seed)
    loaded = load(folder, risk=risk, publisher__policies=["suppress-all"])
    rng = np.random.default_rng(seed)
    frame = pd.read_csv(folder / "people.csv", dtype=str)
    domains = ([str(age) for age in AGES], list(SEXES), list(TOWNS))
    released = []
    for person in frame[["age", "Geschlecht", "town"]].itertuples(index=False):
        sets = []
        for value, domain in zip(person, domains, strict=True):
            if rng.random() < 0.2:
                sets.append(set(domain))
                continue
            sets.append({value, *rng.choice(domain, rng.integers(0, len(domain))).tolist()})
        released.append(sets)
    cells = [
        ["*" if len(s) == len(d) and rng.random() < 0.5 else written(s, rng.integers(3)) for s, d in pairs]
        for pairs in (list(zip(row, domains, strict=True)) for row in released)
    ]
    pd.DataFrame(cells, columns=["age", "Geschlecht", "town"]).to_csv(folder / "made.csv", index=False, sep=";")
    result = score_loaded(loaded, folder / "made.csv")
    people = [tuple(row) for row in frame[["age", "Geschlecht", "town"]].to_numpy()]
    every = pd.read_csv(folder / "everybody.csv", dtype=str)[["age", "Geschlecht", "town"]].to_numpy()
    everybody = people if risk == "prosecutor" else [tuple(row) for row in every]
    expected = by_hand(released, people, everybody)
    records = result.records
    np.testing.assert_allclose(records["publisher_payoff"], expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(records["success_probability"], expected[:, 1], atol=1e-12)
    np.testing.assert_allclose(records["utility"], expected[:, 2], atol=1e-12)
    np.testing.assert_array_equal(records["attacked"], expected[:, 3].astype(bool))
    row = result.summary.loc["made.csv"]
    assert row["publisher_payoff"] == pytest.approx(expected[:, 0].mean(), abs=1e-9)
    assert row["share_attacked"] == pytest.approx(expected[:, 3].mean())
    assert 0 <= row["generalization_intensity"] <= 1


def test_rows_find_their_records_by_a_key_in_any_order(town):
    loaded = load(town)
    frame = pd.read_csv("people.csv", dtype=str)
    shuffled = frame.sample(frac=1, random_state=3)
    shuffled.to_csv("shuffled.csv", index=False)
    frame.to_csv("same.csv", index=False)
    one, other = (score_loaded(loaded, Path(name), key="pid") for name in ("shuffled.csv", "same.csv"))
    pd.testing.assert_frame_equal(one.records, other.records)
    # Missing rows count as withheld.
    shuffled.head(30).to_csv("part.csv", index=False)
    part = score_loaded(loaded, Path("part.csv"), key="pid")
    kept = set(shuffled.head(30)["pid"])
    assert part.records["shared"].tolist() == [pid in kept for pid in frame["pid"]]
    there = part.records["shared"]
    pd.testing.assert_series_equal(
        part.records.loc[there, "publisher_payoff"], one.records.loc[there, "publisher_payoff"]
    )
    assert (part.records.loc[~there, ["publisher_payoff", "success_probability", "utility"]] == 0).all(axis=None)
    np.testing.assert_allclose(
        part.summary.loc["part.csv", "publisher_payoff"], part.records["publisher_payoff"].mean()
    )


def test_rows_of_one_person_are_in_the_order_of_the_release(town):
    loaded = load(town)
    frame = pd.read_csv("people.csv", dtype=str)
    frame["pid"] = [f"P{i // 2}" for i in range(len(frame))]
    frame.to_csv("people.csv", index=False)
    by_person = frame.sort_values("pid", kind="stable")
    by_person.to_csv("sorted.csv", index=False)
    result = score_loaded(loaded, Path("sorted.csv"), key="pid")
    assert_unprotected(result, "sorted.csv")
    by_person.drop(index=[1]).to_csv("part.csv", index=False)
    with pytest.raises(InputError, match=r"row 1, column 'pid': the key has fewer rows than records .*found 'P0'"):
        score_loaded(loaded, Path("part.csv"), key="pid")


def test_a_column_that_the_file_lacks_is_suppressed(town):
    loaded = load(town)
    frame = pd.read_csv("people.csv", dtype=str)
    frame.drop(columns="town").to_csv("lacking.csv", index=False)
    frame.assign(town="*").to_csv("stars.csv", index=False)
    lacking, stars = (score_loaded(loaded, Path(name)) for name in ("lacking.csv", "stars.csv"))
    pd.testing.assert_frame_equal(lacking.records, stars.records)
    others = "not scored, as if no adversary knew them: pid; in these columns, 50 of 50 rows have values of their own"
    suppressed = "the file has no column for town: the attribute counts as suppressed in every row"
    assert lacking.warnings == (suppressed, others)
    assert stars.warnings == (others,)
    # A description by another program is no sidecar of `share`.
    Path("stars.csv.json").write_text('{"format": "a table"}')
    assert score_loaded(loaded, Path("stars.csv"), key="pid").warnings == ()
    frame.rename(columns={"town": "Town "}).to_csv("spelling.csv", index=False)
    with pytest.raises(InputError, match=r"spelling.csv: header: column with another spelling; found 'Town"):
        score_loaded(loaded, Path("spelling.csv"))


def test_numbers_of_a_set_that_no_record_has_are_ignored(town):
    """As an interval may be wider than the ages of the records."""
    loaded = load(town)
    frame = pd.read_csv("people.csv", dtype=str)
    frame.assign(age=[f"{{{age}, 998; 150-160}}" for age in frame["age"]]).to_csv("sets.csv", index=False)
    sets, exact = (score_loaded(loaded, Path(name)) for name in ("sets.csv", "people.csv"))
    pd.testing.assert_frame_equal(sets.records, exact.records)


def test_another_way_of_counting_is_named(town):
    """One cell that is no group of the hierarchy changes how rows are weighed by an adversary who looks people up."""
    loaded = load(town, "table", "prosecutor", "both")
    frame = pd.read_csv("people.csv", dtype=str)
    frame["age"] = [f"[{age}, {int(age) + 3}]" for age in frame["age"]]
    frame.to_csv("intervals.csv", index=False)
    assert any("weighs the rows of this" in each for each in score_loaded(loaded, Path("intervals.csv")).warnings)
    frame.assign(age="*").to_csv("stars.csv", index=False)
    assert not any("weighs the rows" in each for each in score_loaded(loaded, Path("stars.csv")).warnings)


def spoil(column, row, value):
    def spoiled(frame):
        frame.loc[row - 1, column] = value
        return frame

    return spoiled


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        (spoil("age", 7, "young"), None, r"made\.csv: row 7, column 'age': the cell cannot be read; found 'young'"),
        (
            spoil("town", 3, "{11, centre, 99}"),
            None,
            r"row 3, column 'town': the cell cannot be read; found '\{11, centre, 99\}'; expected another element than "
            "'centre'",
        ),
        (spoil("town", 3, "{98, 99}"), None, r"row 3, column 'town': the cell cannot be read; found '\{98, 99\}'"),
        (
            lambda frame: frame.assign(age=frame["age"].shift(1, fill_value="20")),
            None,
            "row does not belong to this",
        ),
        (lambda frame: frame.head(20), None, r"found .20 rows.; expected 50 records.*--key COLUMN"),
        (spoil("pid", 4, "P999"), "pid", r"row 4, column 'pid': no such record; found 'P999'"),
        (spoil("pid", 4, "P1"), "pid", r"row 4, column 'pid': no such record; found 'P1'"),
        (lambda frame: frame[["pid"]], None, r"made\.csv: the file has no quasi-identifier; found 'pid'"),
    ],
)
def test_unreadable_files_are_refused_with_row_and_column(town, change, key, says):
    loaded = load(town)
    change(pd.read_csv("people.csv", dtype=str)).to_csv("made.csv", index=False)
    with pytest.raises(InputError, match=says) as error:
        score_loaded(loaded, Path("made.csv"), key=key)
    assert "\n" not in str(error.value)


def test_an_adversary_who_knows_more_is_played_on_hierarchies_only(town):
    (town / "club.toml").write_text(
        '[[sources]]\nkind = "groups"\nname = "club"\n[[sources.profile]]\npresence = 0.5\n'
        '[[sources.profile.groups]]\nattributes = ["age"]\n'
    )
    loaded = load(town, risk="journalist", adversary__knowledge=str(town / "club.toml"))
    frame = pd.read_csv("people.csv", dtype=str)
    frame.to_csv("made.csv", index=False)
    assert_unprotected(score_loaded(loaded, Path("made.csv")), "made.csv")
    age = int(frame["age"][4])
    frame.loc[4, "age"] = "{" + f"{age}, {20 if age != 20 else 25}" + "}"
    frame.to_csv("made.csv", index=False)
    with pytest.raises(InputError, match=r"adversary: this adversary is supported only .*; found 'row 5 of the"):
        score_loaded(loaded, Path("made.csv"))


@pytest.mark.deep
@pytest.mark.parametrize(
    ("scenario", "changes", "says"),
    [
        ("wan2021", {}, "this kind of scenario cannot evaluate released files; found 'masking'"),
        # Before its data are read.
        ("xia2021", {"population.recipe": "nowhere"}, "this kind of scenario has no policies"),
    ],
)
def test_files_of_other_games_are_refused(town, scenario, changes, says):
    with pytest.raises(InputError, match=says):
        score_loaded(Scenario.load(scenario, changes), Path("people.csv"))


def test_a_file_with_values_as_the_original_file_writes_them_is_read():
    original = pd.DataFrame({"born": ["07.10.1970", "1.2.1971", "01.02.1971"], "visits": ["1,012", "9999", "3.0"]})
    reading = {"born": {"type": "date"}, "visits": {"type": "number", "thousands": ",", "missing": ["9999"]}}
    content = {
        "release": {"path": original},
        "attributes": {name: {"reading": reading[name], "hierarchy": {"rule": "suppress"}} for name in original},
        "economics": {"benefit": 100, "loss": 300, "cost": 20},
        "adversary": {"risk": "prosecutor"},
        "publisher": {"policies": ["no-protection"]},
    }
    loaded = reidsim.Scenario.load(content)
    assert_unprotected(loaded.score(original), "data.csv")
    shared = loaded.run().share("no-protection", accept_risk=True)
    # Sorted by date, the rows are in the order of the records.
    assert_unprotected(loaded.score(pd.DataFrame(shared.to_dict("list"))), "data.csv")
