"""Attacks on released files: known worlds, a matcher by brute force, wrong input."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from tiers import cases

import reidsim
from reidsim.__main__ import main
from reidsim.engine.red_team import AttackResult

pytest.importorskip("splink")

PLACES = [f"{letter}{number:02d}" for letter in "abcdef" for number in range(30)]


def released_and_sets(rng, people):
    """Return a released table of half of the people, and the values that each cell may denote, by column."""
    own = rng.permutation(len(people))[: len(people) // 2]
    true, cells, sets = people.iloc[own].reset_index(drop=True), {}, {}
    ages = true["age"].replace("", "40").astype(int)
    narrow = rng.random(len(true)) < 0.5
    cells["age"] = [f"[{a // 5 * 5}, {a // 5 * 5 + 5}[" if n else str(a) for a, n in zip(ages, narrow, strict=True)]
    sets["age"] = [
        {str(v) for v in range(a // 5 * 5, a // 5 * 5 + 5)} if n else {str(a)}
        for a, n in zip(ages, narrow, strict=True)
    ]
    masked = rng.random(len(true)) < 0.3
    cells["place"] = [f"{p[:2]}*" if m else p for p, m in zip(true["place"], masked, strict=True)]
    sets["place"] = [
        {v for v in PLACES if v[:2] == p[:2]} if m else {p} for p, m in zip(true["place"], masked, strict=True)
    ]
    form = rng.integers(0, 3, len(true))
    cells["sex"] = [(s, "*", f"{{{s}, X}}")[f] for s, f in zip(true["sex"], form, strict=True)]
    sets["sex"] = [({s}, {"F", "M", "X"}, {s, "X"})[f] for s, f in zip(true["sex"], form, strict=True)]
    return own, pd.DataFrame(cells), sets


@pytest.fixture(scope="module")
def mixed():
    """Attack on 400 rows with intervals, masked codes, sets and stars; some people have no known age."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(800)],
            "age": rng.integers(20, 60, 800).astype(str),
            "place": rng.choice(PLACES[:40], 800),
            "sex": rng.choice(["F", "M", "X"], 800, p=[0.48, 0.48, 0.04]),
        }
    )
    people.loc[rng.random(800) < 0.05, "age"] = ""
    own, released, sets = released_and_sets(rng, people)
    truth = pd.DataFrame({"name": people["name"].to_numpy()[own]})
    found = reidsim.attack(released, people, truth=truth, id="name", gain=100, cost=5)
    return people, own, released, sets, found


@pytest.mark.deep
def test_the_prediction_is_that_of_a_matcher_by_brute_force(mixed):
    people, _, _, sets, found = mixed
    likelihood = np.ones((len(sets["age"]), len(people)))
    for name, of_rows in sets.items():
        values = people[name].to_numpy()
        fits = np.array([[value in each for value in values] for each in of_rows], dtype=float)
        share = fits[:, values != ""].mean(axis=1)
        likelihood *= np.where(values == "", share[:, None], fits)
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    claims = found.claims
    place = people.reset_index().set_index("name")["index"]
    assert len(claims) > 200
    np.testing.assert_allclose(claims["predicted"], posterior[claims["row"], place[claims["person"]]], rtol=1e-9)


@pytest.mark.deep
def test_claims_pay_are_of_different_people_and_as_often_right_as_predicted(mixed):
    people, own, _, _, found = mixed
    claims, summary = found.claims, found.summary.iloc[0]
    assert claims["person"].is_unique
    assert claims["row"].is_unique
    assert (claims["probability"] * 100 > 5).all()
    right = people["name"].to_numpy()[own][claims["row"]] == claims["person"]
    assert (claims["correct"] == right).all()
    assert summary["payoff"] == 100 * right.sum() - 5 * len(claims)
    deviation = np.sqrt((claims["predicted"] * (1 - claims["predicted"])).sum())
    assert abs(right.sum() - claims["predicted"].sum()) < 4 * deviation
    assert summary["brier_predicted"] == pytest.approx(((claims["predicted"] - right) ** 2).mean())
    # The attack estimates the same probabilities without knowing the prediction.
    assert abs(claims["probability"] - claims["predicted"]).mean() < 0.06


def test_results_can_be_saved_loaded_and_drawn(mixed, tmp_path):
    found = mixed[-1]
    found.save(tmp_path / "attack")
    stored = reidsim.load_result(tmp_path / "attack")
    assert isinstance(stored, AttackResult)
    pd.testing.assert_frame_equal(stored.claims, found.claims, check_dtype=False)
    assert stored.figures == ("reliability",)


def test_unique_people_are_found_and_a_group_of_four_one_time_in_four():
    # 60 groups of four people, and 60 people who are alone.
    group = np.r_[np.repeat(np.arange(60), 4), np.arange(60, 120)]
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"a": group % 11, "b": group // 11, "c": group % 7})
    order = rng.permutation(len(people))
    truth = pd.DataFrame({"person": order})
    found = reidsim.attack(people.iloc[order], people, truth=truth, gain=10, cost=1)
    alone = found.claims["predicted"] == 1
    assert alone.sum() == 60
    assert found.claims.loc[alone, "correct"].all()
    others = found.claims[~alone]
    assert len(others) == 240
    assert (others["predicted"] == 0.25).all()
    # The number of right claims of a group has mean 1 and variance 1.
    assert abs(others["correct"].sum() - 60) < 4 * np.sqrt(60)


def test_files_in_another_encoding_are_read_by_option(folder, reidsim_):
    people = pd.DataFrame({"name": [f"n{number}" for number in range(20)], "town": ["Köln", *["Bonn"] * 19]})
    people.to_csv("people.csv", index=False, encoding="latin-1")
    options = ("people.csv", "--register", "people.csv", "--id", "name", "--gain", "100", "--cost", "20", "-o", "out")
    code, _, err = reidsim_("attack", *options)
    assert code == 2
    assert "line 2: not a text file in UTF-8" in err
    assert "--encoding" in err
    assert reidsim_("attack", *options, "--encoding", "latin-1")[0] == 0
    assert reidsim.load_result("out").claims["person"].tolist() == ["n0"]
    with pytest.raises(
        reidsim.InputError, match="encoding: attack: argument 'data': a table in memory has no encoding"
    ):
        reidsim.attack(people, "people.csv", gain=100, cost=20, encoding="latin-1")


@pytest.mark.deep
def test_people_outside_the_register_are_predicted_by_its_coverage():
    rng = np.random.default_rng(7)
    people = pd.DataFrame({"age": rng.integers(0, 60, 2000), "place": rng.choice(PLACES[:20], 2000)})
    listed = np.flatnonzero(rng.random(2000) < 0.6)
    own = rng.permutation(2000)[:750]
    truth = pd.Series(np.arange(len(listed)), index=listed).reindex(own)
    key = pd.DataFrame({"person": truth.map(lambda row: "" if pd.isna(row) else str(int(row))).to_numpy()})
    options = {"truth": key, "gain": 100, "cost": 1, "coverage": 0.6}
    found = reidsim.attack(people.iloc[own], people.iloc[listed], **options)
    claims = found.claims
    right, deviation = claims["correct"].sum(), np.sqrt((claims["predicted"] * (1 - claims["predicted"])).sum())
    assert abs(right - claims["predicted"].sum()) < 4 * deviation
    # Without the coverage, the prediction would be too high.
    assert right < claims["predicted"].sum() / 0.6 - 4 * deviation


@pytest.mark.deep
def test_typos_are_repaired_or_found_by_the_other_columns():
    rng = np.random.default_rng(2)
    names = ["".join(rng.choice(list("bcdfgklmnprst"), 7)) for _ in range(300)]
    people = pd.DataFrame({"surname": names, "year": rng.integers(1940, 2000, 300).astype(str)})
    people["place"] = rng.choice(PLACES, 300)
    released = people.copy()
    # One letter of ten names is wrong, and ten people have the year of somebody else.
    released.loc[:9, "surname"] = ["z" + name[1:] for name in names[:10]]
    released.loc[10:19, "year"] = [str(int(year) + 1) for year in people["year"][10:20]]
    released.loc[20:29, "place"] = ""
    truth = pd.DataFrame({"person": np.arange(300)})
    found = reidsim.attack(released, people, truth=truth, gain=10, cost=1)
    claims = found.claims.set_index("row")
    assert claims["correct"].mean() > 0.99
    assert (claims.loc[:9, "predicted"] > 0.9).all()
    assert any("similar spelling" in warning for warning in found.warnings)
    # The game has no claim for a person who does not fit.
    assert (claims.loc[10:19, "predicted"] == 0).all()
    assert claims.loc[10:29, "correct"].all()


@pytest.mark.deep
def test_rows_of_a_person_count_for_the_person_and_can_be_linked():
    register = pd.DataFrame({"pid": list("AAABCCDD"), "age": [30, 30, 30, 30, 40, 45, 40, 50], "sex": list("FFFFMMMM")})
    released = register.drop(columns="pid").assign(key=[1, 1, 1, 2, 3, 3, 4, 4])
    options = {"truth": register[["pid"]], "id": "pid", "gain": 10, "cost": 1}
    alone = reidsim.attack(released[["age", "sex"]], register, **options)
    # Three of four rows of age 30 are A's: one of the rows claims A, and none claims B, who is less probable.
    first = alone.claims.set_index("person")
    assert first.loc["A", "predicted"] == pytest.approx(0.75)
    assert "B" not in first.index
    assert first.loc["C", "row"] == 5
    assert first.loc["D", "row"] == 7
    linked = reidsim.attack(released, register, person="key", **options)
    found = linked.claims.set_index("row")
    assert found.loc[[4, 6], "person"].tolist() == ["C", "D"]
    assert found.loc[[4, 6], "predicted"].tolist() == [1.0, 1.0]
    assert found.loc[0, "predicted"] == pytest.approx(0.5)


def test_a_scenario_gives_hierarchies_and_amounts_and_the_truth_may_be_unknown():
    patients = pd.DataFrame({"age": [30, 34, 52, 55, 71], "job": ["cook", "baker", "nurse", "judge", "cook"]})
    trade = pd.DataFrame({"job": ["cook", "baker", "nurse", "judge"], "trade": ["food", "food", "office", "office"]})
    scenario = reidsim.Scenario.from_frames(
        patients,
        hierarchies={"age": reidsim.intervals(5), "job": trade},
        economics={"loss": 60, "benefit": 9, "cost": 4},
    )
    released = pd.DataFrame({"age": ["*", "30-34"], "job": ["office", "*"]})
    found = reidsim.attack(released, patients, scenario=scenario)
    assert found.claims["predicted"].tolist() == [0.5, 0.5]
    assert set(found.claims["person"]) <= {0, 1, 2, 3}
    assert (found.manifest["attack"]["gain"], found.warnings) == (60, ())
    assert not {"correct", "precision"} & {*found.summary, *found.claims, *found.thresholds}
    assert found.figures == ()


@pytest.mark.deep
def test_the_register_is_read_as_the_records_of_the_scenario(tmp_path):
    # Dates and missing values of the register have the spelling of the records; the released file has labels.
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(np.arange(40) * 500, unit="D")
    records = pd.DataFrame({"born": born.strftime("%d.%m.%Y"), "work": ["0110", "9999"] * 20})
    records.to_csv(tmp_path / "records.csv", index=False)
    scenario = reidsim.Scenario.from_frames(
        tmp_path / "records.csv",
        attributes={
            "born": {"reading": {"type": "date"}, "hierarchy": {"rule": "dates", "levels": ["year"]}},
            "work": {"reading": {"type": "text", "missing": ["9999"]}, "hierarchy": {"rule": "suppress"}},
        },
        economics={"benefit": 9, "loss": 60, "cost": 4},
        policies=["no-protection"],
    )
    shared = scenario.run().share("no-protection", accept_risk=True)
    found = reidsim.attack(shared, records, truth=pd.DataFrame({"person": range(40)}), scenario=scenario)
    assert found.claims["predicted"].tolist() == [1.0] * 40
    assert found.claims["correct"].all()


def test_columns_that_the_register_lacks_are_named():
    people = pd.DataFrame({"age": [30, 31, 52], "zip": ["01067", "01069", "80331"], "lab": [1, 2, 3]})
    found = reidsim.attack(people, people[["age"]], gain=3, cost=1)
    assert found.warnings == ("columns of the file that the register lacks are not compared: zip, lab",)


def test_columns_that_cannot_be_compared_are_no_protection():
    people = pd.DataFrame({"age": [30, 31, 52], "sex": ["F", "M", "F"]})
    with pytest.raises(reidsim.InputError, match=r"column with another spelling; found 'Age'; expected 'age'"):
        reidsim.attack(people, people.rename(columns={"age": "Age"}), gain=3, cost=1)
    words = people.assign(sex=people["sex"].map({"F": "female", "M": "male"}))
    with pytest.raises(reidsim.InputError, match=r"sex: no value of the register fits; found 'F, M'; .* female, male"):
        reidsim.attack(people, words, gain=3, cost=1)


def test_a_file_of_share_is_its_own_truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame({"name": [f"N{i}" for i in range(40)], "age": range(40), "sex": ["F", "M"] * 20})
    people.iloc[::-1].to_csv("people.csv", index=False)
    options = {"keep_identifier": ["name"], "unknown_to_outsiders": ["name"], "accept_risk": True}
    reidsim.new("people.csv", drop=["name"]).run().share("no-protection", path="shared.csv", **options)
    with pytest.raises(reidsim.InputError, match=r"truth: the rows of a file that share wrote are sorted; .*people"):
        reidsim.attack("shared.csv", "people.csv", truth="people.csv", id="name", gain=3, cost=1)
    found = reidsim.attack("shared.csv", "people.csv", truth="shared.csv", id="name", gain=3, cost=1)
    assert found.claims["correct"].all()


WRONG = [
    (["--gain", "3"], "cost: amount missing; expected an amount, or a scenario"),
    (["--scenario", "xia2021"], "gain: amount missing; expected an amount, or a scenario with economics"),
    (["--gain", "3", "--cost", "1", "--person", "visit"], "shared.csv: row 2, column 'visit': value missing"),
    (["--gain", "3", "--cost", "1", "--coverage", "0"], "coverage: value not allowed; found 0.0; expected greater"),
    (["--gain", "3", "--cost", "1", "--id", "nme"], "people.csv: column 'nme': column missing"),
    (["--gain", "3", "--cost", "1", "--person", "key"], "shared.csv: column 'key': column missing"),
    (["--gain", "3", "--cost", "1", "--truth", "short.csv"], "short.csv: the key does not fit the file; found '1 row'"),
    (["--gain", "3", "--cost", "1", "--id", "name", "--truth", "key.csv"], "key.csv: row 2, column 'name'"),
    (["--gain", "3", "--cost", "1", "--truth", "twice.csv"], "twice.csv: row 2, column 'record'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_input_is_one_line_with_exit_code_2(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared.csv").write_text("age,visit\n30-39,a\n50-59,\n")
    (tmp_path / "people.csv").write_text("name,age\nAnn,31\nBob,52\n")
    (tmp_path / "short.csv").write_text("person\n0\n")
    (tmp_path / "key.csv").write_text("name\nAnn\nEve\n")
    (tmp_path / "twice.csv").write_text("record,person\n0,0\n0,1\n")
    monkeypatch.setattr(sys, "argv", ["reidsim", "attack", "shared.csv", "--register", "people.csv", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert message in error
    assert error.count("\n") == 1


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "splink", None)
    people = pd.DataFrame({"age": [30, 31]})
    with pytest.raises(reidsim.InputError, match=r"pip install 'reidsim\[attack\]'"):
        reidsim.attack(people, people, gain=2, cost=1)


def test_files_without_a_common_column_are_refused():
    with pytest.raises(reidsim.InputError, match="no column in common"):
        reidsim.attack(pd.DataFrame({"age": [1]}), pd.DataFrame({"sex": ["F"]}), gain=2, cost=1)


@pytest.mark.deep
def test_the_prediction_follows_the_noise_of_the_scenario():
    rng = np.random.default_rng(8)
    ages, places, sexes = (
        rng.integers(20, 80, 1500).astype(str),
        rng.choice(PLACES[:12], 1500),
        rng.choice(["F", "M"], 1500),
    )
    people = pd.DataFrame({"age": ages, "place": places, "sex": sexes})
    own = rng.permutation(1500)[:400]
    records = people.iloc[own].reset_index(drop=True)
    shared = records.assign(age=(records["age"].astype(int) + rng.normal(0, 2, 400).round().astype(int)).astype(str))
    drawn = rng.random(400) < 0.25
    shared.loc[drawn, "place"] = rng.choice(shared["place"], int(drawn.sum()))
    scenario = reidsim.Scenario.from_frames(
        records,
        population=people,
        hierarchies=dict.fromkeys(people, "suppress"),
        economics={"benefit": 100, "loss": 300, "gain": 100, "cost": 5},
        noise={"age": {"deviation": 2.0}, "place": {"keep": 0.75}},
    )
    found = reidsim.attack(shared, people, truth=pd.DataFrame({"person": own}), scenario=scenario)
    # The scenario states the rates of the file.
    wrong = [(shared[name] != records[name]).mean() for name in people]
    np.testing.assert_allclose(found.errors["stated"], wrong, atol=0.04)
    assert found.errors["column"].tolist() == [*people]
    claims, values = found.claims, people.to_numpy()
    # The posterior of each claimed person, from all people.
    released = shared.to_numpy()[claims["row"]]
    distance = released[:, :1].astype(float) - values[None, :, 0].astype(float)
    shares = shared["place"].value_counts(normalize=True)
    likelihood = np.exp(-(distance**2) / 8) * (released[:, 2:] == values[None, :, 2])
    same = released[:, 1:2] == values[None, :, 1]
    likelihood = likelihood * (0.75 * same + 0.25 * shares[released[:, 1]].to_numpy()[:, None])
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    expected = posterior[np.arange(len(claims)), claims["person"].astype(int)]
    np.testing.assert_allclose(claims["predicted"], expected, rtol=1e-9)
    # The sum of independent trials, within 4 standard errors.
    error = np.sqrt((expected * (1 - expected)).sum())
    assert abs(claims["correct"].sum() - expected.sum()) < 4 * error


# Error rates by column.
ERRORS = [{"age": 0.3, "place": 0.3, "job": 0.3}, {"age": 0.5}, {}]


def noisy(rng, n_people, n_rows, errors):
    """Return people, released rows and their people; a value is drawn anew with the error rate of its column."""
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n_people).astype(str),
            "place": rng.choice(PLACES[:40], n_people),
            "job": rng.choice(["cook", "nurse", "judge", "baker", "smith"], n_people),
        }
    )
    own = rng.permutation(n_people)[:n_rows]
    released = people.iloc[own].reset_index(drop=True)
    for name, rate in errors.items():
        drawn = rng.random(n_rows) < rate
        released.loc[drawn, name] = rng.choice(people[name], int(drawn.sum()))
    return people, released, own


@pytest.mark.deep
@pytest.mark.parametrize("errors", cases(ERRORS, ERRORS[:1]))
def test_the_attack_is_calibrated_if_it_does_not_know_the_errors(errors):
    people, released, own = noisy(np.random.default_rng(4), 4000, 1500, errors)
    found = reidsim.attack(released, people, truth=pd.DataFrame({"person": own}), gain=100, cost=2)
    claims = found.claims
    assert len(claims) > 500
    # Half of the claims have higher probabilities than the others.
    order = claims["probability"].argsort()
    for half in np.array_split(order, 2):
        chances, correct = claims["probability"].iloc[half], claims["correct"].iloc[half]
        assert abs(correct.sum() - chances.sum()) < 4 * np.sqrt((chances * (1 - chances)).sum()) + 0.02 * len(half)


@pytest.mark.deep
def test_the_attack_has_the_probabilities_of_a_matcher_who_knows_the_error_rates():
    errors = {"age": 0.2, "place": 0.4, "job": 0.1}
    people, released, own = noisy(np.random.default_rng(6), 1500, 1200, errors)
    found = reidsim.attack(released, people, truth=pd.DataFrame({"person": own}), gain=100, cost=1)
    likelihood = np.ones((len(released), len(people)))
    for name, rate in errors.items():
        share = released[name].map(people[name].value_counts(normalize=True)).to_numpy()[:, None]
        same = released[name].to_numpy()[:, None] == people[name].to_numpy()
        likelihood *= (1 - rate) * same + rate * share
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    expected = posterior[found.claims["row"], found.claims["person"].astype(int)]
    assert abs(found.claims["probability"] - expected).mean() < 0.04
    assert found.summary["brier_probability"][0] < ((expected - found.claims["correct"]) ** 2).mean() * 1.05


@pytest.mark.deep
def test_a_prediction_whose_errors_are_not_those_of_the_file_is_told_with_the_column_and_both_rates():
    people, released, own = noisy(np.random.default_rng(5), 1500, 800, {"place": 0.4})
    found = reidsim.attack(released, people, truth=pd.DataFrame({"person": own}), gain=100, cost=20)
    summary, errors = found.summary.iloc[0], found.errors.set_index("column")
    wrong = (released["place"].to_numpy() != people["place"].to_numpy()[own]).mean()
    assert errors["stated"].eq(0).all()
    assert errors.loc["place", "estimated"] == pytest.approx(wrong, abs=0.06)
    assert errors.drop("place")["estimated"].max() < 0.03
    (warning,) = found.warnings
    assert "0.0% of the cells of column 'place'" in warning
    assert f"the attack estimates {errors.loc['place', 'estimated']:.1%}" in warning
    # The attack expects about the number of correct claims that it has; the prediction without errors does not.
    chances = found.claims["probability"]
    assert summary["expected"] == pytest.approx(chances.sum())
    assert abs(summary["correct"] - chances.sum()) < 4 * np.sqrt((chances * (1 - chances)).sum())
    assert not summary["predicted_low"] <= summary["correct"] <= summary["predicted_high"]


@pytest.mark.deep
def test_exact_files_of_unique_people_give_no_warning():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({name: rng.integers(0, 60, 200).astype(str) for name in ("age", "place", "job")})
    people = people.drop_duplicates(ignore_index=True)
    found = reidsim.attack(people, people, gain=100, cost=5)
    assert found.summary["predicted"][0] == len(people) > found.summary["expected"][0]
    assert found.warnings == ()


def test_noise_predicts_people_with_several_rows_in_the_register():
    rng = np.random.default_rng(2)
    register = pd.DataFrame({"name": rng.choice([*"abcdefgh"], 40), "age": rng.integers(20, 60, 40).astype(str)})
    own = rng.permutation(40)[:30]
    shared = register[["age"]].iloc[own].reset_index(drop=True)
    scenario = reidsim.Scenario.from_frames(
        shared,
        population=register[["age"]],
        hierarchies={"age": "suppress"},
        economics={"benefit": 100, "loss": 300, "gain": 100, "cost": 0},
        noise={"age": {"keep": 0.9}},
    )
    claims = reidsim.attack(shared, register, id="name", scenario=scenario).claims
    # Each row of the register is equally probable.
    same = shared["age"].to_numpy()[:, None] == register["age"].to_numpy()
    share = shared["age"].map(shared["age"].value_counts(normalize=True)).to_numpy()[:, None]
    likelihood = 0.9 * same + 0.1 * share
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    expected = [
        posterior[row, (register["name"] == name).to_numpy()].sum()
        for row, name in claims[["row", "person"]].to_numpy()
    ]
    np.testing.assert_allclose(claims["predicted"], expected, rtol=1e-9)


@pytest.mark.deep
def test_noise_predicts_people_whose_rows_are_linked():
    # Each person of the register has one to three equal rows, and one to three linked rows in the file.
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"name": [*"abcdefghij"], "age": rng.integers(20, 60, 10), "sex": rng.choice(["F", "M"], 10)})
    people = people.astype(str)
    register = people.iloc[np.repeat(np.arange(10), rng.integers(1, 4, 10))]
    shared = people.iloc[np.repeat(np.arange(8), rng.integers(1, 4, 8))].rename(columns={"name": "pid"})
    shared = shared.sample(frac=1, random_state=1).reset_index(drop=True)
    for column in ("age", "sex"):
        shared[column] = shared[column].where(rng.random(len(shared)) < 0.8, rng.permutation(shared[column]))
    scenario = reidsim.Scenario.from_frames(
        shared[["age", "sex"]],
        population=people[["age", "sex"]],
        hierarchies={"age": "suppress", "sex": "suppress"},
        economics={"benefit": 100, "loss": 300, "gain": 100, "cost": 0},
        noise={"age": {"keep": 0.8}, "sex": {"keep": 0.8}},
    )
    claims = reidsim.attack(shared, register, id="name", person="pid", scenario=scenario).claims
    likelihood = np.ones((len(shared), 10))
    for column in ("age", "sex"):
        share = shared[column].map(shared[column].value_counts(normalize=True)).to_numpy()[:, None]
        likelihood *= 0.8 * (shared[[column]].to_numpy() == people[column].to_numpy()) + 0.2 * share
    joint = pd.DataFrame(likelihood, columns=people["name"]).groupby(shared["pid"]).prod()
    posterior = joint.div(joint.sum(axis=1), axis=0)
    expected = [posterior.loc[shared["pid"][row], name] for row, name in claims[["row", "person"]].to_numpy()]
    assert len(expected) > 3
    np.testing.assert_allclose(claims["predicted"], expected, rtol=1e-9)


def test_noise_and_linked_rows_need_people_with_one_row_in_the_register():
    people = pd.DataFrame({"name": ["a", "a", "b"], "age": ["30", "31", "40"]})
    scenario = reidsim.Scenario.from_frames(
        people[["age"]],
        hierarchies={"age": "suppress"},
        economics={"benefit": 100, "loss": 300, "gain": 100, "cost": 5},
        noise={"age": {"keep": 0.9}},
    )
    with pytest.raises(reidsim.InputError, match="id: people of the register have different rows; found '2 rows'"):
        reidsim.attack(people, people, id="name", person="name", scenario=scenario)


PEOPLE = pd.DataFrame({"name": ["Ann", "Bob"], "age": ["31", "52"]})
ARGUMENTS = [
    ({"gain": "a lot"}, r"attack: gain: .*'a lot'; expected a valid number"),
    ({"cost": -1}, r"attack: cost: .*-1; expected"),
    ({"gain": float("inf")}, r"attack: gain: .*inf; expected a finite number"),
    ({"gain": np.array([1, 2])}, r"attack: gain: .*\[1, 2\]; expected"),
    ({"coverage": 1.5}, r"attack: coverage: .*1.5; expected"),
    ({"seed": 0.5}, r"attack: seed: .*0.5; expected"),
    ({"id": ["name"]}, r"attack: id: .*\['name'\]; expected text"),
    ({"person": 3}, r"attack: person: .*3; expected text"),
    ({"data": [1]}, r"attack: argument 'data': .*\[1\]; expected a table"),
    ({"register": 7}, r"attack: argument 'register': .*7; expected a table"),
    ({"truth": {}}, r"attack: argument 'truth': .*{}; expected a table"),
    ({"gains": 5}, r"attack: .*'gains'; expected arguments data, register, truth, .*gain"),
]


@pytest.mark.parametrize(("wrong", "message"), ARGUMENTS)
def test_a_wrong_argument_is_named_with_the_value_expected(wrong, message):
    with pytest.raises(reidsim.InputError, match=message):
        reidsim.attack(**{"data": PEOPLE, "register": PEOPLE, "gain": 2, "cost": 1, **wrong})


@pytest.mark.deep
def test_an_attack_without_claims_or_truth_is_stored_and_has_no_report(tmp_path, reidsim_):
    for number, options in enumerate(({"gain": 2}, {"gain": 0, "truth": pd.DataFrame({"person": [0, 1]})})):
        folder = tmp_path / str(number)
        found = reidsim.attack(PEOPLE, PEOPLE, cost=1, **options)
        found.save(folder)
        stored = reidsim.load_result(folder)
        assert len(stored.claims) == (2 if number == 0 else 0)
        pd.testing.assert_frame_equal(stored.reliability, found.reliability, check_dtype=False)
        for words in (("report", folder), ("share", folder, "-o", tmp_path / "out.csv")):
            code, _, error = reidsim_(*words)
            assert code == 2
            assert error.count("\n") == 1
            assert "'results of reidsim attack'; expected results of reidsim run" in error
        assert not (folder / "report.html").exists()
        code, told, _ = reidsim_("report", folder, "--figures", "svg")
        assert code == 0
        assert told == f"The results in {folder} have no figures\n"
        assert not (folder / "figures").exists()
