"""Perturbed files scored by likelihood, against a sum over all people written from the noise itself."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError

AGES, SEXES = [str(age) for age in range(20, 26)], ["F", "M"]
LOSS, COST, BENEFIT = 300, 40, 100
TOWN = f"""
[release]
path = "people.csv"
[attributes.age]
hierarchy = {{ rule = "intervals", widths = [2, 4] }}
[attributes.sex]
hierarchy = {{ rule = "suppress" }}
[economics]
benefit = {BENEFIT}
loss = {LOSS}
cost = {COST}
[adversary]
risk = "prosecutor"
[publisher]
policies = ["no-protection"]
"""


def scenario_of(people, noise, direction="record", **more):
    return reidsim.Scenario.from_frames(
        people,
        hierarchies={"age": reidsim.intervals(2, 4), "sex": "suppress"},
        adversary={"risk": "prosecutor", "direction": direction},
        economics={"benefit": BENEFIT, "loss": LOSS, "gain": LOSS, "cost": COST},
        policies=["no-protection"],
    ).with_(noise=noise, **more)


def drawn(rng, n):
    """Draw people; the first ones have every value, so that all values are categories."""
    whole = [(age, SEXES[place % 2]) for place, age in enumerate(AGES)]
    others = [(rng.choice(AGES), rng.choice(SEXES)) for _ in range(n - len(whole))]
    return pd.DataFrame(whole + others, columns=["age", "sex"])


def guess(likelihood, place):
    """Return the highest posterior probability, and the chance that a guess of the most probable is right."""
    best = [each for each, value in enumerate(likelihood) if value >= max(likelihood) * (1 - 1e-12)]
    return max(likelihood) / sum(likelihood), (place in best) / len(best)


def expected_outcomes(people, released, chances, direction):
    """Return believed success, true success and utility of each released row.

    `chances` has, by attribute, a function of a released label and a true value.
    """
    found, everybody = [], []
    for row in released.to_numpy():
        likelihood = [
            np.prod([chance(label, value) for chance, label, value in zip(chances, row, person, strict=True)])
            for person in people.to_numpy()
        ]
        everybody.append(likelihood)
    everybody = np.array(everybody)
    # Odds of a row, if the other rows come from the other people.
    total = everybody.sum(axis=1, keepdims=True)
    odds = everybody / np.maximum(total - everybody, 1e-12 * total)
    for place, (row, likelihood) in enumerate(zip(released.to_numpy(), everybody, strict=True)):
        by_record, by_person = guess(likelihood, place), guess(odds[:, place], place)
        is_better = direction == "person" or by_person[0] > by_record[0] * (1 + 1e-12)
        lost = 0.0
        for chance, label, values in zip(chances, row, (AGES, SEXES), strict=True):
            shares = np.array([chance(label, value) for value in values])
            shares = shares[shares > 0] / shares.sum()
            lost -= (shares * np.log(shares)).sum()
        utility = max(1 - lost / np.log(len(AGES) * len(SEXES)), 0.0)
        found.append((*(by_person if is_better and direction != "record" else by_record), utility))
    return np.array(found)


def exact(label, value):
    return float(label == value)


def normal(deviation):
    return lambda label, value: np.exp(-0.5 * ((float(label) - float(value)) / deviation) ** 2)


def estimate(labels, ages):
    """Return the estimated probability of each label and value: the table that predicts the records left out best."""
    pairs, n = [*zip(labels, ages, strict=True)], len(ages)
    share = {label: np.mean(labels == label) for label in labels}
    same = np.mean([share.get(age, 0.0) for age in ages])
    keep = 1.0 if same == 1 else max((np.mean(labels == ages) - same) / (1 - same), 0.0)
    deviation = np.sqrt(np.mean((labels.astype(float) - ages.astype(float)) ** 2))
    density = normal(deviation or 1.0)
    simple = [
        lambda label, value: share[label],
        lambda label, value: keep * (label == value) + (1 - keep) * share[label],
        lambda label, value: share[label] * density(label, value) / np.mean([density(label, age) for age in ages]),
    ]

    def chance(label, value, base, weight, left_out=()):
        rows = [pair for place, pair in enumerate(pairs) if place not in left_out]
        counts = rows.count((label, value)) + weight * base(label, value)
        return counts / (sum(pair[1] == value for pair in rows) + weight)

    def fit(each):
        with np.errstate(divide="ignore"):
            return sum(np.log(chance(*pairs[place], *each, left_out=(place,))) for place in range(n))

    tried = [(base, weight) for base in simple[: 3 if deviation else 2] for weight in (1.0, 1e15)]
    fits = [fit(each) for each in tried]
    # Of models that fit equally well, either may be taken.
    assume(np.sum(np.array(fits) > max(fits) - 1e-9) == 1)
    best = tried[int(np.argmax(fits))]
    return {pair: chance(*pair, *best) for pair in itertools.product(share, AGES)}


@examples(60, fast=10)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["keep", "matrix", "deviation", "estimated", "unknown"]),
    st.sampled_from(["record", "person", "both"]),
    st.sampled_from([40, 120, 200]),
)
def test_posterior_equals_the_sum_over_all_links(tmp_path_factory, seed, kind, direction, cost):
    rng = np.random.default_rng(seed)
    people = drawn(rng, rng.integers(6, 9))
    ages = people["age"].to_numpy()
    if kind in ("keep", "unknown", "estimated"):
        labels = np.where(rng.random(len(ages)) < 0.6, ages, rng.choice(AGES, len(ages)))
    shares = {label: np.mean(labels == label) for label in AGES} if kind in ("keep", "estimated") else {}
    match kind:
        case "keep":
            model, chance = {"keep": 0.6}, lambda label, value: 0.6 * (label == value) + 0.4 * shares[label]
        case "unknown":
            model, chance = "unknown", lambda label, value: 1.0
        case "deviation":
            labels = (ages.astype(float) + rng.normal(0, 1.5, len(ages))).round(2).astype(str)
            model, chance = {"deviation": 1.5}, normal(1.5)
        case "matrix":
            labels = rng.choice(["young", "old"], len(ages))
            table = pd.DataFrame({"young": rng.uniform(0.1, 0.9, len(AGES))}, index=pd.Index(AGES, name="age"))
            table["old"] = 1 - table["young"]
            path = tmp_path_factory.mktemp("matrix") / "pram.csv"
            table.to_csv(path)
            model, chance = {"matrix": str(path)}, lambda label, value: table.loc[value, label]
        case "estimated":
            model, table = "estimated", estimate(labels, ages)
            chance = lambda label, value: table[label, value]  # noqa: E731
    released = pd.DataFrame({"age": labels, "sex": people["sex"]})
    result = scenario_of(people, {"age": model}, direction, economics__cost=cost).score(released)
    expected = expected_outcomes(people, released, (chance, exact), direction)
    believed, success, utility = expected.T
    attacked = LOSS * believed > cost * (1 + 1e-9)
    records = result.records
    assert result.summary.iloc[0][["generalization_intensity", "share_unchanged", "share_suppressed"]].isna().all()
    np.testing.assert_array_equal(records["attacked"], attacked)
    np.testing.assert_allclose(records["utility"], utility, atol=1e-9)
    np.testing.assert_allclose(records["success_probability"][attacked], success[attacked], atol=1e-9)
    np.testing.assert_allclose(records["publisher_payoff"], BENEFIT * utility - LOSS * success * attacked, atol=1e-6)
    np.testing.assert_allclose(records["adversary_payoff"], (LOSS * success - cost) * attacked, atol=1e-6)


@pytest.mark.parametrize(("direction", "overlap"), [("record", True), ("person", False), ("both", False)])
def test_likelihood_of_a_file_without_noise_gives_the_result_of_its_groups(direction, overlap):
    people = drawn(np.random.default_rng(3), 60)
    scenario = scenario_of(people, {}, direction)
    bands = people["age"].astype(int) // 2 * 2
    bands = "[" + bands.astype(str) + ", " + (bands + 2).astype(str) + "["
    released = people.assign(age=people["age"].where(people["sex"] == "F", bands))
    if overlap:
        # In the other directions, rows that few people fit are more probable than in the game of groups.
        released["sex"] = people["sex"].where(people["age"] > "23", "*")
    found = [scenario.with_(noise=noise).score(released) for noise in ("exact", {"age": {"keep": 1.0}})]
    for name in ("records", "summary"):
        for column in ("success_probability", "publisher_payoff", "adversary_payoff", "utility"):
            if column in getattr(found[0], name):
                first, second = (getattr(each, name)[column].to_numpy(float) for each in found)
                np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("noise", [{"keep": 0.7}, "estimated"])
def test_attacks_on_swapped_values_succeed_as_often_as_predicted(noise):
    # 1,500 records and 2 noisy columns: the mean of the posterior is the frequency of right guesses up to 4 standard
    # errors, also if the model is estimated.
    rng = np.random.default_rng(11)
    people = pd.DataFrame({name: rng.integers(10, 40, 1500).astype(str) for name in ("age", "town", "job")})
    released = people.copy()
    for name in ("age", "town"):
        changed = rng.random(1500) < 0.3
        released.loc[changed, name] = rng.choice(people[name], changed.sum())
    scenario = reidsim.Scenario.from_frames(
        people,
        hierarchies=dict.fromkeys(people.columns, "suppress"),
        # Every attack pays.
        economics={"benefit": 1, "loss": 1, "gain": 1, "cost": 0},
        policies=["no-protection"],
    ).with_(noise={"age": noise, "town": noise})
    records = scenario.score(released).records
    assert records["attacked"].all()
    success = records["success_probability"]
    known = {"keep": 0.7} if noise == "estimated" else noise
    assert abs(success.mean() - believed_by_hand(people, released, known["keep"])) < 4 * success.std() / np.sqrt(1500)


def believed_by_hand(people, released, keep):
    """Return the mean posterior of the best person, from the probability that a value was kept."""
    likelihood = (released[["job"]].to_numpy() == people["job"].to_numpy()).astype(float)
    for name in ("age", "town"):
        share = released[name].map(released[name].value_counts(normalize=True)).to_numpy()
        same = released[[name]].to_numpy() == people[name].to_numpy()
        likelihood *= np.where(same, keep, 0.0) + (1 - keep) * share[:, None]
    return (likelihood.max(axis=1) / likelihood.sum(axis=1)).mean()


def test_estimated_decimal_noise_is_normal_noise_and_does_not_reveal_single_labels():
    rng = np.random.default_rng(2)
    people = drawn(rng, 80)
    noisy = people.assign(age=(people["age"].astype(float) + rng.normal(0, 2, 80)).round(6).astype(str))
    estimated = scenario_of(people, "estimated").score(noisy)
    deviation = float(np.sqrt(((noisy["age"].astype(float) - people["age"].astype(float)) ** 2).mean()))
    given = scenario_of(people, {"age": {"deviation": deviation}, "sex": "estimated"}).score(noisy)
    pd.testing.assert_frame_equal(estimated.records, given.records)


def test_a_model_for_all_columns_is_set_on_the_command_line(tmp_path, monkeypatch, reidsim_):
    monkeypatch.chdir(tmp_path)
    people = drawn(np.random.default_rng(1), 40)
    people.to_csv("people.csv", index=False)
    people.assign(age=np.roll(people["age"], 1)).to_csv("swapped.csv", index=False)
    Path("town.toml").write_text(TOWN)
    code, out, err = reidsim_(
        "score", "swapped.csv", "--scenario", "town.toml", "--set", "noise=estimated", "-o", "out"
    )
    assert code == 0, err
    assert "swapped.csv" in out
    expected = scenario_of(people, "estimated").score("swapped.csv").records
    pd.testing.assert_frame_equal(reidsim.load_result("out").records, expected)


@pytest.mark.parametrize(
    ("noise", "change", "says"),
    [
        ({"age": "exact"}, None, "row 1, column 'age': the row does not belong to this record.*noise.age"),
        ({"town": "exact"}, None, "noise: no such attribute; found 'town'"),
        (
            {"age": {"keep": 1.5}},
            None,
            r"noise\.age\.keep: value not allowed; found 1\.5; expected less than or equal to 1",
        ),
        ({"age": {"deviation": 0}}, None, r"noise\.age\.deviation: value not allowed; found 0"),
        ({"age": {}}, None, "noise.age: not exactly one model of noise"),
        ({"age": {"keep": 0.5, "deviation": 1.0}}, None, "noise.age: not exactly one model of noise"),
        ({"age": "unknown", "sex": {"deviation": 1.0}}, None, "noise.sex: normal noise needs numbers; found 'F'"),
        ({"age": {"keep": 0.5}}, lambda frame: frame.assign(age="old"), "row 1, column 'age': the cell cannot be read"),
        ({"age": {"deviation": 1.0}}, lambda frame: frame.assign(age="inf"), "the cell cannot be read; found 'inf'"),
        ({"age": {"matrix": "pram.csv"}}, None, "no such label in the matrix"),
    ],
)
def test_wrong_models_of_noise_are_refused(tmp_path, monkeypatch, noise, change, says):
    monkeypatch.chdir(tmp_path)
    noise = {key: {"matrix": str(tmp_path / "pram.csv")} if "matrix" in each else each for key, each in noise.items()}
    Path("pram.csv").write_text("age,a,b\n" + "".join(f"{age},0.5,0.5\n" for age in AGES))
    people = drawn(np.random.default_rng(1), 20)
    released = people.assign(age=np.roll(people["age"], 1))
    with pytest.raises(InputError, match=says):
        scenario_of(people, noise).score(released if change is None else change(released))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("20,0.5,0.4\n", r"pram.csv: row 1: probabilities that do not sum to 1; found 0.9"),
        ("20,0.5,x\n", r"row 1, column 'b': not a number of 0 or more; found 'x'"),
        ("20,0.5,0.5\n20,0.5,0.5\n", "row 2, column 'age': value with several rows; found '20'"),
        ("20,0.5,0.5\n", "value without a row in the matrix; found '21'"),
        ("".join(f"{age},1,0\n" for age in AGES), "row 1, column 'age': the label has probability 0 for every value"),
    ],
)
def test_wrong_matrices_are_refused(tmp_path, monkeypatch, rows, says):
    monkeypatch.chdir(tmp_path)
    whole = "".join(f"{age},0.5,0.5\n" for age in AGES)
    complete = rows.count("\n") > 2 or "without" in says
    given = rows if complete else rows + whole.replace("20,0.5,0.5\n", "")
    Path("pram.csv").write_text("age,a,b\n" + given)
    people = drawn(np.random.default_rng(1), 20)
    with pytest.raises(InputError, match=says):
        scenario_of(people, {"age": {"matrix": str(tmp_path / "pram.csv")}}).score(people.assign(age="b"))


@examples(40, fast=6)
@given(st.integers(0, 10_000), st.sampled_from(["record", "person", "both"]), st.sampled_from([40, 120, 200]))
def test_people_with_several_rows_are_found_as_in_the_sum_over_all_links(seed, direction, cost):
    rng = np.random.default_rng(seed)
    people = drawn(rng, 7)
    owner = np.concatenate([rng.integers(0, 7, 3), rng.permutation(7)])
    records, shares = people.iloc[owner].reset_index(drop=True), np.full(len(AGES), 1 / len(AGES))
    released = records.assign(age=np.where(rng.random(10) < 0.6, records["age"], rng.choice(AGES, 10)))
    table = pd.DataFrame(0.6 * np.eye(len(AGES)) + 0.4 * shares, columns=AGES).assign(age=AGES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pram.csv"
        table[["age", *AGES]].to_csv(path, index=False)
        scenario = scenario_of(records, {"age": {"matrix": str(path)}}, direction, economics__cost=cost)
        scenario = scenario.with_({"release.path": records.assign(pid=owner.astype(str)), "release.person": "pid"})
        result = scenario.score(released)
    likelihood = np.array(
        [
            [(0.6 * (row.age == each.age) + 0.4 / len(AGES)) * (row.sex == each.sex) for each in people.itertuples()]
            for row in released.itertuples()
        ]
    )
    odds = likelihood / np.maximum(likelihood.sum(axis=1, keepdims=True) - likelihood, 1e-12)
    order, found = pd.unique(owner), []
    for person in order:
        by_record = max(guess(likelihood[row], owner[row]) for row in np.flatnonzero(owner == person))
        own = odds[:, person]
        ties, once = own >= own.max() * (1 - 1e-12), 1 / np.bincount(owner)[owner]
        # Of equally probable labels, the first in order; it competes with one row of each other person.
        named = released.groupby(["age", "sex"]).ngroup().to_numpy()
        named = np.flatnonzero(named == named[ties].min())
        rivals = [(own * once)[owner != owner[row]].sum() for row in named]
        believed, right = own.max() / (own.max() + np.mean(rivals)), once[ties & (owner == person)].sum()
        by_person = believed, right / once[ties].sum()
        is_better = direction == "person" or by_person[0] > by_record[0] * (1 + 1e-12)
        found.append(by_person if is_better and direction != "record" else by_record)
    attacked = np.array([LOSS * believed > cost * (1 + 1e-9) for believed, _ in found])
    np.testing.assert_array_equal(result.records["attacked"], attacked)
    success = result.records["success_probability"][attacked]
    np.testing.assert_allclose(success, np.array([success for _, success in found])[attacked], atol=1e-9)


@pytest.mark.parametrize("direction", ["record", "person", "both"])
def test_people_with_several_rows_without_noise_are_counted(direction):
    # Four of five people have three rows. A model that keeps all values gives the numbers of the exact file.
    rng = np.random.default_rng(4)
    people = drawn(rng, 60)
    owner = np.concatenate([np.arange(60), *[np.flatnonzero(rng.random(60) < 0.8)] * 2])
    records = people.iloc[owner].assign(pid=owner.astype(str)).reset_index(drop=True)
    scenario = scenario_of(people, {}, direction, release__path=records, release__person="pid")
    bands = records["age"].astype(int) // 2 * 2
    released = records.assign(age="[" + bands.astype(str) + ", " + (bands + 2).astype(str) + "[")
    found = [scenario.with_(noise=noise).score(released) for noise in ("exact", {"age": {"keep": 1.0}})]
    columns = ["attacked", "success_probability", "publisher_payoff", "adversary_payoff", "utility"]
    first, second = (each.records[columns].to_numpy(float) for each in found)
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


def test_people_whose_rows_differ_are_refused():
    people = drawn(np.random.default_rng(1), 20).assign(pid=[f"P{place // 2}" for place in range(20)])
    with pytest.raises(InputError, match=r"row 2, column 'age': .*differ in age, but perturbation"):
        scenario_of(people, "estimated", release__person="pid").score(people)
