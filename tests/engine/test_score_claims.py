"""Claims about people from scored files, against sums over all rows, and on files with known answers."""

from collections import Counter
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import examples

import reidsim
from reidsim.core.errors import InputError

GAIN, COST = 300, 40
COLUMNS = ["age", "town", "job"]


def drawn(rng, n, values=4):
    return pd.DataFrame({name: rng.integers(10, 10 + values, n).astype(str) for name in COLUMNS})


def scenario_of(people, noise="exact", cost=COST, **more):
    return reidsim.Scenario.from_frames(
        people,
        hierarchies={"age": "suppress", "town": "suppress"},
        economics={"benefit": 100, "loss": 300, "gain": GAIN, "cost": cost},
        policies=["no-protection"],
    ).with_(noise=noise, **more)


def by_hand(people, control, rows, keep, reference):
    """Return, by claim, the numbers of claims and of right claims about members and strangers.

    Values are kept with probability `keep`, or drawn from the values of the rows.
    """
    shares = {name: Counter(rows[name]) for name in COLUMNS[:2]}

    def chance(row, name, value):
        return keep * (row[name] == value) + (1 - keep) * shares[name][row[name]] / len(rows)

    def likelihood(row, person):
        found = 1.0
        for name in COLUMNS[:2]:
            of_value = {value: chance(row, name, value) for value in set(people[name])}
            # A value that no record has fits no label.
            found *= of_value.get(person[name], 0.0) / max(of_value.values())
        return found

    def usual(row):
        """Return the mean likelihood in the reference and one person more, whose values are independent."""
        independent = 1.0
        for name in COLUMNS[:2]:
            counts = {value: np.sum(reference[name] == value) + 1 for value in {*people[name]}}
            # One count of each value, and of all values that no record has.
            every = len(reference) + len(counts) + 1
            best = max(chance(row, name, value) for value in counts)
            independent *= sum(chance(row, name, value) / best * count for value, count in counts.items()) / every
        total = sum(likelihood(row, other) for _, other in reference.iterrows())
        return (total + independent) / (len(reference) + 1)

    def rights(persons):
        guessed, member = [], []
        for _, person in persons.iterrows():
            each = np.array([likelihood(row, person) for _, row in rows.iterrows()])
            weights = {job: each[rows["job"].to_numpy() == job].sum() for job in set(rows["job"])}
            weights = weights if each.sum() > 0 else Counter(rows["job"])
            best = [job for job, weight in weights.items() if weight >= max(weights.values()) * (1 - 1e-12)]
            guessed.append((person["job"] in best) / len(best))
            member.append(np.mean(each / [usual(row) for _, row in rows.iterrows()]) > 1)
        return np.array(guessed), np.array(member)

    n = min(len(people), len(control))
    members = people.iloc[np.arange(n) * len(people) // n]
    strangers = control.iloc[np.arange(n) * len(control) // n]
    (guessed, member), (other_guesses, other_members) = rights(members), rights(strangers)
    return {
        "attribute job": (n, guessed.sum(), other_guesses.mean()),
        "membership": (member.sum() + other_members.sum(), member.sum(), 0.5),
    }


@pytest.mark.deep
@examples(30, fast=5)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_claims_equal_the_sums_over_all_rows(seed, is_noisy, has_population):
    rng = np.random.default_rng(seed)
    people, control, rows = drawn(rng, rng.integers(4, 9)), drawn(rng, rng.integers(4, 9), values=5), drawn(rng, 8)
    rows = rows[rows["age"].isin(people["age"]) & rows["town"].isin(people["town"])]
    if rows.empty or not all(control[name].isin(people[name]).any() for name in COLUMNS[:2]):
        return
    scenario = scenario_of(people, {name: {"keep": 0.6} for name in ("age", "town")} if is_noisy else "exact")
    reference, tested = control.iloc[::2], control.iloc[1::2]
    if has_population:
        # Every combination of values of the records, so that these are all values of the population.
        whole = pd.concat([people, people.assign(town=np.roll(people["town"], 1))])
        scenario, reference, tested = scenario.with_(population=whole[COLUMNS[:2]]), whole, control
    found = scenario.score(rows, control=control, sensitive=["job"], synthetic=True)
    assert found.records.empty
    assert list(found.summary.index) == ["no-protection"]
    expected = by_hand(people, tested, rows, 0.6 if is_noisy else 1.0, reference)
    assert list(found.claims["claim"]) == list(expected)
    for _, row in found.claims.iterrows():
        claims, right, baseline = expected[row["claim"]]
        assert row["claims"] == claims
        assert row["right"] == pytest.approx(right)
        assert row["baseline"] == pytest.approx(baseline)
        if claims:
            assert row["success"] == pytest.approx(right / claims)
            assert row["advantage"] == pytest.approx(right / claims - baseline)
            assert row["adversary_payoff"] == pytest.approx(GAIN * right / claims - COST)
            assert row["pays"] == (GAIN * right / claims > COST)
            assert row["lower"] <= row["advantage"] <= row["upper"]


def wilson(share, n):
    """Return the shares that differ from a found one by the normal quantile times their own standard error."""
    z2 = NormalDist().inv_cdf(0.975) ** 2
    return sorted(np.roots([1 + z2 / n, -2 * share - z2 / n, share**2]))


def test_intervals_are_those_of_wilson_and_newcombe():
    rng = np.random.default_rng(4)
    people, control = drawn(rng, 60, 8), drawn(rng, 60, 8)
    claims = scenario_of(people).score(people, control=control, sensitive=["job"]).claims.set_index("claim")
    member, job = claims.loc["membership"], claims.loc["attribute job"]
    expected = np.array(wilson(member["success"], member["claims"]))
    np.testing.assert_allclose((member["lower"], member["upper"]), expected - 0.5, atol=1e-12)
    (low, high), (least, most) = (wilson(job[name], job["claims"]) for name in ("success", "baseline"))
    below = np.sqrt((job["success"] - low) ** 2 + (most - job["baseline"]) ** 2)
    above = np.sqrt((high - job["success"]) ** 2 + (job["baseline"] - least) ** 2)
    assert job["lower"] == pytest.approx(job["success"] - job["baseline"] - below)
    assert job["upper"] == pytest.approx(job["success"] - job["baseline"] + above)


def test_a_copy_is_worse_for_members_and_unrelated_rows_are_not():
    rng = np.random.default_rng(7)
    people, control, fresh = (drawn(rng, 2000, 30) for _ in range(3))
    for name in COLUMNS:
        # Every value occurs among the records.
        people.loc[:29, name] = [str(value) for value in range(10, 40)]
    score = scenario_of(people).score
    copy, unrelated = (
        score(rows, control=control, sensitive=["job"], synthetic=True).claims.set_index("claim")
        for rows in (people.sample(frac=1, random_state=1), fresh)
    )
    assert (copy["lower"] > 0.03).all()
    assert (unrelated["lower"] < 0).all()
    assert (unrelated["upper"] > 0).all()


def test_identity_claims_are_the_attacks_on_the_records():
    rng = np.random.default_rng(3)
    people, control = drawn(rng, 100, 8), drawn(rng, 40, 8)
    result = scenario_of(people, cost=200).score(people, control=control)
    attacked = result.records["attacked"]
    assert 0 < attacked.sum() < len(people)
    row = result.claims.set_index("claim").loc["identity"]
    assert row["claims"] == attacked.sum()
    assert row["right"] == pytest.approx(result.records.loc[attacked, "success_probability"].sum())
    assert row["baseline"] == pytest.approx(1 / len(people))
    assert row["adversary_payoff"] == pytest.approx(result.records.loc[attacked, "adversary_payoff"].mean())
    assert list(result.claims["claim"]) == ["identity", "membership"]
    nobody = scenario_of(people, cost=301).score(people, control=control).claims.set_index("claim").loc["identity"]
    assert nobody["claims"] == 0
    assert np.isnan(nobody["success"])
    assert not nobody["pays"]


def test_claims_are_printed_and_stored(tmp_path, monkeypatch, reidsim_):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    people, control = drawn(rng, 40), drawn(rng, 40)
    people.to_csv("people.csv", index=False)
    control.to_csv("others.csv", index=False)
    Path("town.toml").write_text(
        '[release]\npath = "people.csv"\n[attributes.age]\nhierarchy = { rule = "suppress" }\n'
        '[attributes.town]\nhierarchy = { rule = "suppress" }\n[economics]\nbenefit = 100\nloss = 300\ncost = 40\n'
        '[adversary]\nrisk = "prosecutor"\n[publisher]\npolicies = ["no-protection"]\n'
    )
    options = ("--scenario", "town.toml", "--synthetic", "--control", "others.csv", "--sensitive", "job", "-o", "out")
    code, out, err = reidsim_("score", "people.csv", *options)
    assert code == 0, err
    assert "membership" in out
    expected = scenario_of(people).score("people.csv", control="others.csv", sensitive=["job"], synthetic=True)
    pd.testing.assert_frame_equal(reidsim.load_result("out").claims, expected.claims)
    code, out, err = reidsim_("score", "people.csv", "--scenario", "town.toml", "--synthetic")
    assert code == 2
    assert "--control: synthetic rows need a control" in err


@pytest.mark.parametrize(
    ("options", "noise", "says"),
    [
        ({"synthetic": True}, "exact", "control: synthetic rows need a control"),
        ({"synthetic": True, "control": True, "key": "age"}, "exact", "key: synthetic rows belong to no record"),
        ({"synthetic": True, "control": True}, "estimated", "noise.age: a model can be estimated only from rows that"),
        ({"control": True, "sensitive": ["income"]}, "exact", "column 'income': column missing"),
        ({"sensitive": ["job"]}, "exact", "sensitive: claims need a control; found 'job'; expected"),
        (
            {"control": True, "sensitive": ["age"]},
            "exact",
            "sensitive: the adversary knows quasi-identifiers; found 'age'",
        ),
        ({"control": True, "sensitive": ["job", "job"]}, "exact", "sensitive: column named twice; found 'job'"),
        ({"control": pd.DataFrame({"age": ["10"], "town": ["10"]})}, "exact", "argument 'control': too few people"),
        ({"control": pd.DataFrame({"age": ["10", "11"]})}, "exact", "argument 'control': column 'town'"),
        ({"control": pd.DataFrame({"age": ["1O", ""], "town": ["10", "10"]})}, "exact", "'age': none .*'1O'.* as '1"),
        ({"control": [1]}, "exact", r"argument 'control': .*\[1\]; expected a table"),
        ({"control": True, "sensitive": "job"}, "exact", "score: sensitive: .*'job'; expected a list"),
        ({"key": 5}, "exact", "score: key: .*5; expected text"),
        ({"synthetic": "no"}, "exact", "score: synthetic: .*'no'; expected"),
        ({"sensitve": ["job"]}, "exact", "score: .*'sensitve'; expected arguments .*sensitive"),
    ],
)
def test_impossible_claims_are_refused(options, noise, says):
    rng = np.random.default_rng(5)
    people = drawn(rng, 40)
    options = {**options, "control": drawn(rng, 20)} if options.get("control") is True else options
    with pytest.raises(InputError, match=says):
        scenario_of(people, noise).score(people, **options)


OTHERS = "not scored, as if no adversary knew them: job; in these columns, 0 of 100 rows have values of their own"


def test_a_control_in_another_form_is_named():
    rng = np.random.default_rng(6)
    people, control = drawn(rng, 100), drawn(rng, 100)
    score = scenario_of(people).score
    assert [*score(people, control=control).warnings] == [OTHERS]
    half = control.assign(town=control["town"].where(np.arange(100) % 2 == 0, "0" + control["town"]))
    _, warning = score(people, control=half).warnings
    assert "'town': 50 of 100 people of the control have an unknown value" in warning
    missing = people.assign(age=people["age"].where(people.index > 0, ""))
    _, warning = scenario_of(missing).score(missing, control=control.assign(age="")).warnings
    assert "'age': 0 of 100 people of the control have an unknown value, and 1 of 100 records" in warning


def test_people_of_the_file_are_no_control():
    rng = np.random.default_rng(8)
    people, control, synthetic = (drawn(rng, 200, 20) for _ in range(3))
    score = scenario_of(people).score
    for released, others in ((people, people), (synthetic, people), (synthetic, synthetic)):
        with pytest.raises(InputError, match=r"control': the people are those of the .*200 equal rows"):
            score(released, control=others, synthetic=True)
    mixed = pd.concat([control.head(150), people.head(50)]).sample(frac=1, random_state=1)
    equal = mixed.merge(people.drop_duplicates())
    (warning,) = score(synthetic, control=mixed, synthetic=True).warnings
    assert f"{len(equal)} of 200 rows of the control equal a record" in warning
    assert not score(synthetic, control=control, synthetic=True).warnings
    # The released file may have the names of the attributes, and then no column of the control.
    named = scenario_of(people).with_(attributes={"years": {"column": "age", "hierarchy": {"rule": "suppress"}}})
    assert len(named.score(people[["age"]].set_axis(["years"], axis=1), control=control).claims) == 2
